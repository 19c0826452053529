//! One client's requests to RocksDB in the raw layout: a key and one value, as db_bench stores
//! them.
//!
//! Besides the common requests it supports batches, reads of several keys, seeks, and iterators
//! that stay open between requests. Bytes are those of keys and values.

use super::{
    Store,
    session::{failure, value_length},
};
use crate::{
    Cause, Completion, Direction, Failure, Key, Keys, Operation, Outcome, Reply, Session, Special,
    Values,
};
use rust_rocksdb::{DB, DBRawIteratorWithThreadMode, ReadOptions, WriteBatch, WriteOptions};
use std::sync::Arc;

/// A seek reads this many bytes of each value on its way, as in db_bench.
const LOOK_BYTES: usize = 256;

type Iterator = DBRawIteratorWithThreadMode<'static, DB>;

/// One client.
pub(super) struct RawSession {
    /// The position of the walk of `Special::Next`. Declared before `store`, so that it is dropped
    /// first.
    walk: Option<Iterator>,
    read: ReadOptions,
    write: WriteOptions,
    batch: WriteBatch,
    /// The buffer for bytes that are read.
    look: [u8; LOOK_BYTES],
    store: Arc<Store>,
}

impl RawSession {
    pub(super) fn new(store: &Arc<Store>) -> Self {
        let mut write = WriteOptions::default();
        write.set_sync(store.sync);
        write.disable_wal(store.disable_wal);
        Self {
            walk: None,
            read: store.read_options(),
            write,
            batch: WriteBatch::default(),
            look: [0; LOOK_BYTES],
            store: Arc::clone(store),
        }
    }

    fn get(&self, key: Key<'_>) -> Reply {
        let found = value_length(&self.store, key.name, &self.read)?;
        Ok(found.map_or_else(Outcome::default, |length| one(key.name, length)))
    }

    fn put(&self, key: Key<'_>, values: &Values<'_>) -> Reply {
        let store = &*self.store;
        let put = store
            .db
            .put_cf_opt(store.table, key.name, values.bytes, &self.write);
        put.map_err(failure)?;
        Ok(one(key.name, values.bytes.len()))
    }

    fn delete(&self, key: Key<'_>) -> Reply {
        let store = &*self.store;
        store
            .db
            .delete_cf_opt(store.table, key.name, &self.write)
            .map_err(failure)?;
        Ok(one(key.name, 0))
    }

    fn scan(&self, start: Key<'_>, records: u32) -> Reply {
        let store = &*self.store;
        let options = store.read_options();
        let mut iterator = store.db.raw_iterator_cf_opt(store.table, options);
        let mut found = Outcome::default();
        iterator.seek(start.name);
        while let Some((key, value)) = iterator.item() {
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
        let store = &*self.store;
        let values = store
            .db
            .batched_multi_get_cf_opt(store.table, keys.iter(), false, &self.read);
        let mut found = Outcome::default();
        for (key, value) in keys.iter().zip(values) {
            if let Some(value) = value.map_err(failure)? {
                found.records += 1;
                found.bytes += one(key, value.len()).bytes;
            }
        }
        Ok(found)
    }

    /// Sends the content of the batch and empties it.
    fn send_batch(&mut self, records: usize, bytes: usize) -> Reply {
        let sent = self.store.db.write_opt(&self.batch, &self.write);
        self.batch.clear();
        sent.map_err(failure)?;
        Ok(Outcome {
            records: records as u32,
            bytes: bytes as u64,
        })
    }

    fn insert_many(&mut self, keys: Keys<'_>, values: &Values<'_>) -> Reply {
        for (key, (_, value)) in keys.iter().zip(values.iter()) {
            self.batch.put_cf(self.store.table, key, value);
        }
        self.send_batch(keys.iter().len(), keys.names.len() + values.bytes.len())
    }

    fn delete_many(&mut self, keys: Keys<'_>) -> Reply {
        for key in keys.iter() {
            self.batch.delete_cf(self.store.table, key);
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
            (Some(bound), Direction::Forward) => options.set_iterate_upper_bound(bound),
            (Some(bound), Direction::Backward) => options.set_iterate_lower_bound(bound),
        }
        let store = &*self.store;
        let mut iterator = store.db.raw_iterator_cf_opt(store.table, options);
        iterator.seek(start.name);
        let mut found = Outcome {
            records: u32::from(iterator.key() == Some(start.name)),
            bytes: 0,
        };
        for _ in 0..records {
            let Some((key, value)) = iterator.item() else {
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
            (Some(walk), Direction::Forward) if walk.valid() => walk.next(),
            (Some(walk), Direction::Backward) if walk.valid() => walk.prev(),
            (walk, Direction::Forward) => iterator(walk, &self.store).seek_to_first(),
            (walk, Direction::Backward) => iterator(walk, &self.store).seek_to_last(),
        }
        let Some(walk) = &self.walk else {
            return Ok(Outcome::default());
        };
        match walk.item() {
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
}

/// A new iterator without a position, replacing the previous one.
#[expect(
    unsafe_code,
    reason = "an iterator that stays open lies beside the store it walks"
)]
fn iterator<'a>(walk: &'a mut Option<Iterator>, store: &Arc<Store>) -> &'a mut Iterator {
    let made = store
        .db
        .raw_iterator_cf_opt(store.table, store.read_options());
    // SAFETY: the iterator borrows the database, which the store owns. The session that keeps the
    // iterator also keeps an `Arc` of the store, never replaces it, and drops it last.
    let made =
        unsafe { std::mem::transmute::<DBRawIteratorWithThreadMode<'_, DB>, Iterator>(made) };
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
