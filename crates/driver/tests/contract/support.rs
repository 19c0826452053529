//! What the contract's tests share: a place to put a database, and requests in short form.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use tailmark_driver::{
    Access, Completion, DataSet, Database, Driver, Error, Fields, Key, Location, Operation, Params,
    Place, Reply, Schema, Semantics, Session, Settings, Values, db,
};
use tempfile::TempDir;

/// Fields of a record.
pub const FIELDS: u32 = 3;
/// Bytes of a field.
pub const LENGTH: u32 = 200;
/// Bytes of a key's name.
pub const KEY: u64 = 12;
/// Bytes of a whole record, as outcomes count them.
pub const RECORD: u64 = KEY + (FIELDS * LENGTH) as u64;

/// A driver, and a place for its database that is removed in the end.
pub struct Bench {
    pub driver: &'static Driver,
    pub params: Params,
    pub folder: TempDir,
}

/// The drivers of this build that keep data in files of their own.
pub fn drivers() -> impl Iterator<Item = &'static Driver> {
    db::DRIVERS
        .iter()
        .copied()
        .filter(|d| matches!(d.place, Place::Directory | Place::DirectoryOrDevice))
}

impl Bench {
    /// The directory, file or device.
    pub fn data_path(&self) -> &Path {
        self.params.location.path().unwrap()
    }

    /// Whether nothing of its data is there, not even in a directory.
    pub fn is_empty(&self) -> bool {
        match std::fs::read_dir(self.data_path()) {
            Ok(mut entries) => entries.next().is_none(),
            Err(_) => !self.data_path().exists(),
        }
    }

    /// A new place on the disk of the build, for 100 records.
    pub fn new(driver: &str) -> Self {
        Self::with(driver, &[])
    }

    /// The same, with settings.
    pub fn with(driver: &str, settings: &[(&str, &str)]) -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self::in_folder(driver, settings, folder)
    }

    /// The same, in a folder that is removed in the end.
    pub fn in_folder(driver: &str, settings: &[(&str, &str)], folder: TempDir) -> Self {
        let driver = db::find(driver).unwrap();
        let data = data(100);
        let params = Params {
            location: Location::Directory(folder.path().join(driver.entry)),
            settings: check(driver, settings, &data).unwrap(),
            data,
            semantics: Semantics::Faithful,
            access: Access::Create,
            study: String::new(),
        };
        Self {
            driver,
            params,
            folder,
        }
    }

    pub fn open(&self) -> Box<dyn Database> {
        self.try_open().unwrap()
    }

    pub fn try_open(&self) -> Result<Box<dyn Database>, Error> {
        (self.driver.open)(&self.params)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

pub fn check(
    driver: &'static Driver,
    settings: &[(&str, &str)],
    data: &DataSet,
) -> Result<Settings, Error> {
    let given: BTreeMap<_, _> = settings
        .iter()
        .map(|&(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    Settings::check(driver, &given, data, 1.0)
}

pub fn data(records: u64) -> DataSet {
    let fields = (0..FIELDS).map(|i| format!("field{i}")).collect();
    DataSet {
        schema: Schema {
            table: "usertable".to_owned(),
            fields,
        },
        records,
        field_length: LENGTH,
    }
}

/// The names of keys sort as their numbers do.
pub fn name(number: u64) -> Vec<u8> {
    format!("user{number:08}").into_bytes()
}

pub fn key(number: u64, name: &[u8]) -> Key<'_> {
    Key { number, name }
}

pub fn insert(session: &mut dyn Session, number: u64) -> Reply {
    let record = record(number);
    let name = name(number);
    let (key, values) = (key(number, &name), values(&record));
    send(session, Operation::Insert { key, values })
}

/// The bytes of all fields of a record.
pub fn record(number: u64) -> Vec<u8> {
    vec![number as u8; (FIELDS * LENGTH) as usize]
}

/// All fields of a record.
pub fn values(record: &[u8]) -> Values<'_> {
    Values {
        first: 0,
        lengths: &[LENGTH; FIELDS as usize],
        bytes: record,
    }
}

/// Replaces one field by this many bytes.
pub fn update(session: &mut dyn Session, number: u64, field: u32, length: u32) -> Reply {
    let bytes = vec![b'u'; length as usize];
    let values = Values {
        first: field,
        lengths: &[length],
        bytes: &bytes,
    };
    let name = name(number);
    let key = key(number, &name);
    send(session, Operation::Update { key, values })
}

pub fn read(session: &mut dyn Session, number: u64, fields: Fields) -> Reply {
    let name = name(number);
    let key = key(number, &name);
    send(session, Operation::Read { key, fields })
}

pub fn scan(session: &mut dyn Session, number: u64, records: u32) -> Reply {
    let name = name(number);
    let start = key(number, &name);
    let fields = Fields::All;
    send(
        session,
        Operation::Scan {
            start,
            records,
            fields,
        },
    )
}

pub fn delete(session: &mut dyn Session, number: u64) -> Reply {
    let name = name(number);
    let key = key(number, &name);
    send(session, Operation::Delete { key })
}

fn send(session: &mut dyn Session, operation: Operation<'_>) -> Reply {
    match session.execute(operation) {
        Completion::Ready(reply) => reply,
        Completion::Pending(future) => pollster::block_on(future),
    }
}
