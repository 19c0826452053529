//! One client's requests to RocksDB.
//!
//! A read makes RocksDB find and pin the value, takes its length and copies nothing, as db_bench
//! does. The value is decoded only if a single field is requested. Bytes are those of keys and
//! field values, without the overhead of the encoding, so that drivers can be compared.

use super::{
    Store,
    capi::{ReadOptions, WriteOptions},
    contexts::Contexts,
    record,
};
use crate::{
    Cause, Completion, Failure, FieldVisitor, Fields, Key, Operation, OperationKind, Outcome,
    Parts, Reply, Session, Values,
};
use std::sync::{Arc, MutexGuard, PoisonError};

/// One client.
pub(super) struct RocksDbSession {
    store: Arc<Store>,
    read: ReadOptions,
    write: WriteOptions,
    /// The record that is being written.
    record: Vec<u8>,
    contexts: Contexts,
}

impl RocksDbSession {
    pub(super) fn new(store: &Arc<Store>) -> Self {
        Self {
            read: store.read_options(),
            write: store.write_options(),
            store: Arc::clone(store),
            record: Vec::new(),
            contexts: Contexts::new(store.functions),
        }
    }

    fn get(&self, key: Key<'_>, fields: Fields) -> Reply {
        let store = &*self.store;
        let found = match fields {
            Fields::All => store
                .db
                .value_length(key.name, &self.read)
                .map_err(failure)?
                .map(|length| Ok(whole_record(store, key.name, length))),
            Fields::One(_) => store
                .db
                .get(key.name, &self.read)
                .map_err(failure)?
                .map(|value| outcome(store, key.name, &value, fields)),
        };
        found.unwrap_or_else(|| Ok(Outcome::default()))
    }

    fn insert(&mut self, key: Key<'_>, values: &Values<'_>) -> Reply {
        let store = &*self.store;
        record::encode(&store.schema.fields, values, &mut self.record);
        let _guard = lock(store, key);
        put(store, key, values, &self.record, &self.write)
    }

    /// Like YCSB's binding: Get, replace the fields, Put. A missing key changes nothing.
    fn update(&mut self, key: Key<'_>, values: &Values<'_>) -> Reply {
        let store = &*self.store;
        let _guard = lock(store, key);
        let Some(old) = store.db.get(key.name, &self.read).map_err(failure)? else {
            return Ok(Outcome::default());
        };
        let names = &store.schema.fields;
        if values.first == 0 && values.lengths.len() == names.len() {
            record::encode(names, values, &mut self.record);
        } else {
            record::replace(&old, names, values, &mut self.record).map_err(|_| malformed())?;
        }
        drop(old);
        put(store, key, values, &self.record, &self.write)
    }

    /// A new iterator each time, as in YCSB's binding, so that it sees earlier writes.
    fn scan(&self, start: Key<'_>, records: u32, fields: Fields) -> Reply {
        let store = &*self.store;
        let mut iterator = store.db.walk(store.read_options());
        let mut found = Outcome::default();
        iterator.seek(start.name);
        while let Some((key, value)) = iterator.record() {
            found.bytes += outcome(store, key, value, fields)?.bytes;
            found.records += 1;
            if found.records >= records {
                break;
            }
            iterator.next();
        }
        iterator.status().map_err(failure)?;
        Ok(found)
    }

    fn delete(&self, key: Key<'_>) -> Reply {
        let store = &*self.store;
        let _guard = lock(store, key);
        store.db.delete(key.name, &self.write).map_err(failure)?;
        Ok(Outcome {
            records: 1,
            bytes: key.name.len() as u64,
        })
    }
}

impl Session for RocksDbSession {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        Completion::Ready(match operation {
            Operation::Read { key, fields } => self.get(key, fields),
            Operation::Insert { key, values } => self.insert(key, &values),
            Operation::Update { key, values } => self.update(key, &values),
            Operation::Scan {
                start,
                records,
                fields,
            } => self.scan(start, records, fields),
            Operation::Delete { key } => self.delete(key),
            Operation::Special(_) => Err(Failure::unsupported("rocksdb in YCSB's layout")),
        })
    }

    fn read_verified<'a>(&'a mut self, key: Key<'a>, visit: FieldVisitor<'a>) -> Completion<'a> {
        Completion::Ready(self.visit_fields(key, visit))
    }

    fn take_apart(&mut self, kind: OperationKind) {
        self.contexts.take_apart(kind);
    }

    fn parts(&mut self, parts: &mut Parts) {
        self.contexts.parts(parts);
    }
}

impl RocksDbSession {
    fn visit_fields(&self, key: Key<'_>, visit: FieldVisitor<'_>) -> Reply {
        let store = &*self.store;
        let found = store.db.get(key.name, &self.read).map_err(failure)?;
        let Some(record) = found else {
            return Ok(Outcome::default());
        };
        for field in record::fields(&record) {
            let (name, value) = field.map_err(|_| malformed())?;
            let mut fields = store.schema.fields.iter();
            if let Some(index) = fields.position(|f| f.as_bytes() == name) {
                visit(index as u32, value);
            }
        }
        outcome(store, key.name, &record, Fields::All)
    }
}

/// In correct semantics, excludes other writers of the key until the guard is dropped.
fn lock<'a>(store: &'a Store, key: Key<'_>) -> Option<MutexGuard<'a, ()>> {
    let stripes = store.stripes.as_deref()?;
    let stripe = &stripes[(key.number % stripes.len() as u64) as usize];
    // A panic cannot leave the guarded data half changed.
    Some(stripe.0.lock().unwrap_or_else(PoisonError::into_inner))
}

fn put(
    store: &Store,
    key: Key<'_>,
    values: &Values<'_>,
    record: &[u8],
    options: &WriteOptions,
) -> Reply {
    store.db.put(key.name, record, options).map_err(failure)?;
    Ok(Outcome {
        records: 1,
        bytes: (key.name.len() + values.bytes.len()) as u64,
    })
}

/// The outcome for a record of which every field was read.
fn whole_record(store: &Store, key: &[u8], length: usize) -> Outcome {
    Outcome {
        records: 1,
        bytes: (key.len() + length) as u64 - store.overhead_bytes.min(length as u64),
    }
}

/// The outcome for one record.
fn outcome(store: &Store, key: &[u8], value: &[u8], fields: Fields) -> Reply {
    let field = match fields {
        Fields::All => return Ok(whole_record(store, key, value.len())),
        Fields::One(field) => field,
    };
    let name = store.schema.fields[field as usize].as_bytes();
    let value = record::find(value, name).map_err(|_| malformed())?;
    let value = value.ok_or_else(malformed)?;
    Ok(Outcome {
        records: 1,
        bytes: (key.len() + value.len()) as u64,
    })
}

#[cold]
fn malformed() -> Failure {
    Failure {
        cause: Cause::Corruption,
        message: "the value is not a record with this field in YCSB's encoding".to_owned(),
    }
}

/// The category of an error is the beginning of its text (RocksDB's `Status::ToString`).
#[cold]
pub(super) fn failure(message: String) -> Failure {
    let kind = message.split([':', '(']).next().unwrap_or_default().trim();
    let cause = match kind {
        "Corruption" => Cause::Corruption,
        "IO error" => Cause::Io,
        "Operation timed out" => Cause::Timeout,
        "Resource busy" | "Operation failed. Try again." | "Result incomplete" => Cause::Overloaded,
        "Shutdown in progress" => Cause::Unavailable,
        "Not implemented" => Cause::Unsupported,
        _ => Cause::Other,
    };
    Failure { cause, message }
}
