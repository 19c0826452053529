//! One client's requests to RocksDB in the raw layout: a key and one value, as db_bench stores
//! them.
//!
//! Besides the common requests it supports batches, reads of several keys, seeks, and iterators
//! that stay open between requests. Bytes are those of keys and values.

use super::{
    Store,
    capi::{Batch, ReadOptions, Walk, WriteOptions},
    contexts::Contexts,
    session::failure,
};
use crate::{
    Cause, Completion, Direction, Failure, Key, Keys, Operation, OperationKind, Outcome, Parts,
    Reply, Session, Special, Values,
};
use std::sync::Arc;

/// A seek reads this many bytes of each value on its way, as in db_bench.
const LOOK_BYTES: usize = 256;

/// One client.
pub(super) struct RawSession {
    /// The position of the walk of `Special::Next`. Declared before `store`, so that it is dropped
    /// first.
    walk: Option<Walk<'static>>,
    read: ReadOptions,
    write: WriteOptions,
    batch: Batch,
    /// The buffer for bytes that are read.
    look: [u8; LOOK_BYTES],
    contexts: Contexts,
    store: Arc<Store>,
}

impl RawSession {
    pub(super) fn new(store: &Arc<Store>) -> Self {
        Self {
            walk: None,
            read: store.read_options(),
            write: store.write_options(),
            batch: Batch::new(store.functions),
            look: [0; LOOK_BYTES],
            contexts: Contexts::new(store.functions),
            store: Arc::clone(store),
        }
    }

    fn get(&self, key: Key<'_>) -> Reply {
        let found = self.store.db.value_length(key.name, &self.read);
        let found = found.map_err(failure)?;
        Ok(found.map_or_else(Outcome::default, |length| one(key.name, length)))
    }

    fn put(&self, key: Key<'_>, values: &Values<'_>) -> Reply {
        let store = &*self.store;
        let put = store.db.put(key.name, values.bytes, &self.write);
        put.map_err(failure)?;
        Ok(one(key.name, values.bytes.len()))
    }

    fn delete(&self, key: Key<'_>) -> Reply {
        let store = &*self.store;
        store.db.delete(key.name, &self.write).map_err(failure)?;
        Ok(one(key.name, 0))
    }

    fn scan(&self, start: Key<'_>, records: u32) -> Reply {
        let store = &*self.store;
        let mut iterator = store.db.walk(store.read_options());
        let mut found = Outcome::default();
        iterator.seek(start.name);
        while let Some((key, value)) = iterator.record() {
            found.bytes += one(key, value.len()).bytes;
            found.records += 1;
            if found.records >= records {
                break;
            }
            iterator.next();
        }
        iterator.status().map_err(failure)?;
        Ok(found)
    }

    fn read_many(&self, keys: Keys<'_>) -> Reply {
        let keys: Vec<_> = keys.iter().collect();
        let mut found = Outcome::default();
        let count = |at: usize, length| {
            found.records += 1;
            found.bytes += one(keys[at], length).bytes;
        };
        let read = self.store.db.get_many(&keys, &self.read, count);
        read.map_err(failure)?;
        Ok(found)
    }

    /// Sends the content of the batch and empties it.
    fn send_batch(&mut self, records: usize, bytes: usize) -> Reply {
        let sent = self.store.db.write(&self.batch, &self.write);
        self.batch.clear();
        sent.map_err(failure)?;
        Ok(Outcome {
            records: records as u32,
            bytes: bytes as u64,
        })
    }

    fn insert_many(&mut self, keys: Keys<'_>, values: &Values<'_>) -> Reply {
        for (key, (_, value)) in keys.iter().zip(values.iter()) {
            self.store.db.put_later(&mut self.batch, key, value);
        }
        self.send_batch(keys.iter().len(), keys.names.len() + values.bytes.len())
    }

    fn delete_many(&mut self, keys: Keys<'_>) -> Reply {
        for key in keys.iter() {
            self.store.db.delete_later(&mut self.batch, key);
        }
        self.send_batch(keys.iter().len(), keys.names.len())
    }

    fn seek(
        &mut self,
        start: Key<'_>,
        records: u32,
        direction: Direction,
        bound: Option<&[u8]>,
    ) -> Reply {
        let mut options = self.store.read_options();
        match (bound, direction) {
            (None, _) => {}
            (Some(bound), Direction::Forward) => options.set_upper_bound(bound),
            (Some(bound), Direction::Backward) => options.set_lower_bound(bound),
        }
        let mut iterator = self.store.db.walk(options);
        iterator.seek(start.name);
        let mut found = Outcome {
            records: u32::from(iterator.record().is_some_and(|(key, _)| key == start.name)),
            bytes: 0,
        };
        for _ in 0..records {
            let Some((key, value)) = iterator.record() else {
                break;
            };
            let looked = value.len().min(LOOK_BYTES);
            self.look[..looked].copy_from_slice(&value[..looked]);
            std::hint::black_box(&self.look);
            found.bytes += one(key, value.len()).bytes;
            match direction {
                Direction::Forward => iterator.next(),
                Direction::Backward => iterator.prev(),
            }
        }
        iterator.status().map_err(failure)?;
        Ok(found)
    }

    /// The next record of a walk that starts at one end of the data and wraps to the other.
    fn next(&mut self, direction: Direction) -> Reply {
        match (&mut self.walk, direction) {
            (Some(walk), Direction::Forward) if walk.is_at_record() => walk.next(),
            (Some(walk), Direction::Backward) if walk.is_at_record() => walk.prev(),
            (walk, Direction::Forward) => iterator(walk, &self.store).seek_to_first(),
            (walk, Direction::Backward) => iterator(walk, &self.store).seek_to_last(),
        }
        let Some(walk) = &self.walk else {
            return Ok(Outcome::default());
        };
        match walk.record() {
            Some((key, value)) => Ok(one(key, value.len())),
            None => walk.status().map(|()| Outcome::default()).map_err(failure),
        }
    }

    fn special(&mut self, special: Special<'_>) -> Reply {
        match special {
            Special::ReadMany { keys } => self.read_many(keys),
            Special::InsertMany { keys, values } => self.insert_many(keys, &values),
            Special::DeleteMany { keys } => self.delete_many(keys),
            Special::Seek {
                start,
                records,
                direction,
                bound,
            } => self.seek(start, records, direction, bound),
            Special::Next { direction } => self.next(direction),
        }
    }
}

impl Session for RawSession {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        Completion::Ready(match operation {
            Operation::Read { key, .. } => self.get(key),
            Operation::Insert { key, values } | Operation::Update { key, values } => {
                match values.lengths {
                    [_] => self.put(key, &values),
                    _ => Err(fields()),
                }
            }
            Operation::Scan { start, records, .. } => self.scan(start, records),
            Operation::Delete { key } => self.delete(key),
            Operation::Special(special) => self.special(special),
        })
    }

    fn take_apart(&mut self, kind: OperationKind) {
        self.contexts.take_apart(kind);
    }

    fn parts(&mut self, parts: &mut Parts) {
        self.contexts.parts(parts);
    }
}

/// A new iterator without a position, replacing the previous one.
#[expect(
    unsafe_code,
    reason = "an iterator that stays open lies beside the store it walks"
)]
fn iterator<'a>(walk: &'a mut Option<Walk<'static>>, store: &Arc<Store>) -> &'a mut Walk<'static> {
    let made = store.db.walk(store.read_options());
    // SAFETY: the iterator borrows the database, which the store owns. The session that keeps the
    // iterator also keeps an `Arc` of the store, never replaces it, and drops it last.
    let made = unsafe { std::mem::transmute::<Walk<'_>, Walk<'static>>(made) };
    walk.insert(made)
}

/// What one record counts as.
fn one(key: &[u8], value_length: usize) -> Outcome {
    Outcome {
        records: 1,
        bytes: (key.len() + value_length) as u64,
    }
}

#[cold]
fn fields() -> Failure {
    Failure {
        cause: Cause::Unsupported,
        message: "the raw layout has one field per record".to_owned(),
    }
}
