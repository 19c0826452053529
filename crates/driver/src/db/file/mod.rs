//! One file or block device of fixed slots, read and written in place. It shows what the device
//! itself can do with the same keys and mixes, which is the ceiling for any database on it.
//!
//! A read is one `pread` of the record's slot, a write is one `pwrite` of it, and a scan is one
//! `pread` of consecutive slots. With io_uring ([`uring`]) they are the same requests, of which a
//! few threads keep many in flight; the clients of a thread share a [`ring`]. O_DIRECT bypasses the
//! page cache. Space is allocated when the file is created. But the file system only marks it as
//! unwritten and would answer reads without touching the device, so a load writes every slot. An
//! update writes the whole slot without reading it; the fields that it does not name get fresh data
//! ([`fresh`]). Deletes are not supported: a slot is never empty again.
//!
//! The slots begin after a stamp ([`stamp`]), which has the marker of a device, or the name of a
//! file. Without a stamp, nothing is written or removed.

mod buffer;
mod fresh;
mod layout;
mod open;
mod ring;
pub mod stamp;
mod uring;

pub use open::erase_stamp;

use crate::{
    Cause, Clients, Completion, Confirm, Connecting, DataFiles, DataSet, Database, Driver, Error,
    Failure, Fields, Key, LockedFile, Operation, OperationKind, Outcome, Params, Place, Remark,
    RemarkCode, Reply, Session, Setting, SettingKind, Settings, Settled, Stopped, Values,
};
use buffer::Buffer;
use fresh::Fresh;
use layout::{Layout, SlotContent};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::{FileExt, FileTypeExt},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use uring::UringSession;

const NAME: &str = "file";

/// The row of the driver.
pub const DRIVER: Driver = Driver {
    name: NAME,
    about: "fixed slots in a file or block device, written in place: shows the device's ceiling",
    place: Place::DirectoryOrDevice,
    port: None,
    clients: Clients::Threads,
    depth: |settings| is_uring(settings).then(|| depth(settings)),
    supports_special: false,
    supports: &[
        OperationKind::Read,
        OperationKind::Update,
        OperationKind::Insert,
        OperationKind::Scan,
    ],
    settings: &[
        Setting {
            name: "depth",
            about: "requests that each thread keeps in flight; more than 1 needs io = \"uring\"",
            kind: SettingKind::Integer { min: 1, max: 1024 },
            default: "1",
        },
        Setting {
            name: "direct",
            about: "O_DIRECT: bypasses the page cache",
            kind: SettingKind::Flag,
            default: "true",
        },
        Setting {
            name: "io",
            about: "how requests are sent: psync (one thread each) or uring (many of a few threads)",
            kind: SettingKind::Choice(&["psync", "uring"]),
            default: "psync",
        },
        Setting {
            name: "sync",
            about: "each write waits until it is on the device (O_DSYNC)",
            kind: SettingKind::Flag,
            default: "false",
        },
    ],
    stored: &[],
    entry: "slots.dat",
    files: DataFiles::CHANGED,
    check,
    open: |params| Ok(Box::new(Slots::open(params)?)),
    check_open: open::check,
    look: None,
    identity: open::identity,
    destroy,
    check_destroy: open::check_kind,
    space,
    cache: |_, _| 0,
    page_cache: |settings| !settings.flag("direct"),
    adopted: |_, settings| settings.clone(),
    background_threads: "",
    tells_nodes: false,
    reshapes: |_| false,
    semantics: |_| None,
    snapshot: None,
};

fn is_uring(settings: &Settings) -> bool {
    settings.text("io") == Some("uring")
}

fn depth(settings: &Settings) -> u32 {
    settings.integer("depth").unwrap_or(1)
}

/// Refuses io_uring where the kernel does: one after the other, the same requests would show
/// another ceiling.
fn check(settings: &mut Settings) -> Result<(), Error> {
    if !is_uring(settings) && depth(settings) > 1 {
        return Err(settings.refuse("depth", "1, unless io is `uring`"));
    }
    if is_uring(settings)
        && let Err(why) = uring::probe()
    {
        let accepted = format!(
            "psync, because the kernel refuses io_uring ({why}); permit it (sysctl \
             kernel.io_uring_disabled=0, or a container's seccomp profile that has it), or use \
             psync with more threads"
        );
        return Err(settings.refuse("io", &accepted));
    }
    Ok(())
}

/// An open file or device.
struct Slots {
    store: Arc<Store>,
    place: PathBuf,
    /// Whether O_DIRECT was requested, and whether it is in use.
    direct: (bool, bool),
    is_device: bool,
    is_uring: bool,
}

/// State shared by all sessions.
struct Store {
    file: LockedFile,
    layout: Layout,
}

impl Store {
    /// The offset and the length of a record's slot.
    fn slot(&self, key: Key<'_>) -> (u64, usize) {
        let layout = &self.layout;
        (layout.offset(layout.slot(key.number)), layout.slot_bytes)
    }

    /// The offset and the length of that many slots. Consecutive slots are consecutive key numbers;
    /// a scan ends with the last slot.
    fn slots(&self, start: Key<'_>, records: u32) -> (u64, usize) {
        let layout = &self.layout;
        let first = layout.slot(start.number);
        let slots = u64::from(records).min(layout.slots() - first);
        (layout.offset(first), slots as usize * layout.slot_bytes)
    }

    /// The reply to a read of this slot.
    fn found(&self, slot: &[u8], key: Key<'_>, fields: Fields) -> Reply {
        match self.layout.check(slot, key.number) {
            SlotContent::Record => Ok(Outcome {
                records: 1,
                bytes: key.name.len() as u64 + self.layout.value_bytes(fields),
            }),
            SlotContent::Nothing => Ok(Outcome::default()),
            SlotContent::Other(number) => Err(misplaced(key.number, number)),
        }
    }

    /// The reply to a scan of these slots.
    fn all_found(&self, slots: &[u8], start: Key<'_>, fields: Fields) -> Reply {
        let layout = &self.layout;
        let mut found = Outcome::default();
        let numbered = slots.chunks_exact(layout.slot_bytes);
        for (slot, index) in numbered.zip(layout.slot(start.number)..) {
            match layout.check_slot(slot, index) {
                SlotContent::Record => {
                    found.records += 1;
                    found.bytes += start.name.len() as u64 + layout.value_bytes(fields);
                }
                SlotContent::Nothing => {}
                SlotContent::Other(number) => return Err(misplaced(index, number)),
            }
        }
        Ok(found)
    }
}

/// The outcome of a write.
fn written(key: Key<'_>, values: &Values<'_>) -> Outcome {
    Outcome {
        records: 1,
        bytes: (key.name.len() + values.bytes.len()) as u64,
    }
}

/// The failure of a request that no slots can serve.
#[cold]
fn unsupported(operation: Operation<'_>) -> Failure {
    match operation {
        Operation::Delete { .. } => Failure {
            cause: Cause::Unsupported,
            message: "the file driver cannot delete".to_owned(),
        },
        _ => Failure::unsupported(NAME),
    }
}

impl Slots {
    fn open(params: &Params) -> Result<Self, Error> {
        let requested = params.settings.flag("direct");
        let opened = open::open(params, requested)?;
        Ok(Self {
            store: Arc::new(Store {
                file: opened.file,
                layout: opened.layout,
            }),
            place: params.path(NAME)?.to_owned(),
            direct: (requested, opened.direct),
            is_device: opened.is_device,
            is_uring: is_uring(&params.settings),
        })
    }

    fn failed(&self, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        let place = self.place.display().to_string();
        move |source| Error::Database {
            action,
            driver: NAME,
            place,
            source: source.into(),
        }
    }
}

impl Database for Slots {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(SlotsSession {
            buffer: Buffer::new(self.store.layout.slot_bytes),
            fresh: Fresh::default(),
            store: Arc::clone(&self.store),
        }))
    }

    fn connect(&self) -> Connecting<'_> {
        let session = if self.is_uring {
            UringSession::new(&self.store)
                .map(|session| Box::new(session) as Box<dyn Session>)
                .map_err(self.failed("set up io_uring for"))
        } else {
            self.session()
        };
        Box::pin(std::future::ready(session))
    }

    fn marker(&self) -> Result<Option<String>, Error> {
        if self.is_device {
            stamp::read_from(&self.store.file).map_err(self.failed("read the stamp of"))
        } else {
            Ok(None)
        }
    }

    fn set_marker(&self, text: &str) -> Result<(), Error> {
        if self.is_device {
            stamp::write_to(&self.store.file, text).map_err(self.failed("write the stamp of"))
        } else {
            Ok(())
        }
    }

    fn sync(&self) -> Result<(), Error> {
        self.store.file.sync_data().map_err(self.failed("sync"))
    }

    /// There is no background work.
    fn settle(&self, _: Duration, _: Stopped<'_>) -> Result<Settled, Error> {
        Ok(Settled::Yes)
    }

    fn facts(&self) -> BTreeMap<String, String> {
        let layout = &self.store.layout;
        BTreeMap::from([
            ("direct".to_owned(), self.direct.1.to_string()),
            ("block_bytes".to_owned(), layout.block_bytes.to_string()),
            ("slot_bytes".to_owned(), layout.slot_bytes.to_string()),
            ("slots".to_owned(), layout.slots().to_string()),
        ])
    }

    fn remarks(&self) -> Vec<Remark> {
        let fell_back = self.direct == (true, false);
        let text = format!(
            "the file system of `{}` refuses O_DIRECT, so reads and writes went through the page \
             cache; choose another place, or set direct = false if that is intended",
            self.place.display()
        );
        fell_back
            .then_some(Remark {
                code: RemarkCode::BufferedIo,
                text,
            })
            .into_iter()
            .collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.place.clone()]
    }
}

/// One client.
struct SlotsSession {
    store: Arc<Store>,
    /// Holds one slot, and grows to the longest scan.
    buffer: Buffer,
    fresh: Fresh,
}

impl SlotsSession {
    fn read(&mut self, key: Key<'_>, fields: Fields) -> Reply {
        let (at, bytes) = self.store.slot(key);
        let slot = self.buffer.first(bytes);
        self.store.file.read_exact_at(slot, at).map_err(failure)?;
        self.store.found(slot, key, fields)
    }

    fn write(&mut self, key: Key<'_>, values: &Values<'_>) -> Reply {
        let (at, bytes) = self.store.slot(key);
        let (layout, slot) = (&self.store.layout, self.buffer.first(bytes));
        layout.fill(slot, key.number, values, &mut self.fresh);
        self.store.file.write_all_at(slot, at).map_err(failure)?;
        Ok(written(key, values))
    }

    fn scan(&mut self, start: Key<'_>, records: u32, fields: Fields) -> Reply {
        let (at, bytes) = self.store.slots(start, records);
        let slots = self.buffer.first(bytes);
        self.store.file.read_exact_at(slots, at).map_err(failure)?;
        self.store.all_found(slots, start, fields)
    }
}

impl Session for SlotsSession {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        Completion::Ready(match operation {
            Operation::Read { key, fields } => self.read(key, fields),
            Operation::Insert { key, values } | Operation::Update { key, values } => {
                self.write(key, &values)
            }
            Operation::Scan {
                start,
                records,
                fields,
            } => self.scan(start, records, fields),
            Operation::Delete { .. } | Operation::Special(_) => Err(unsupported(operation)),
        })
    }
}

/// Removes the file. On a device only the reserve is erased, because the next load writes every
/// other slot.
fn destroy(params: &Params, confirm: &Confirm<'_>) -> Result<(), Error> {
    let place = params.path(NAME)?;
    let failed = |source: crate::error::BoxError| Error::Database {
        action: "remove",
        driver: NAME,
        place: place.display().to_string(),
        source,
    };
    open::finish_removal(place).map_err(|e| failed(e.into()))?;
    open::check_kind(params)?;
    let kind = match fs::metadata(place) {
        Ok(metadata) => metadata.file_type(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(failed(e.into())),
    };
    if kind.is_block_device() {
        // The caller may have opened the data set only for reading.
        let access = crate::Access::Write;
        let params = &Params {
            access,
            ..params.clone()
        };
        let opened = open::open(params, params.settings.flag("direct"))?;
        return open::zero_reserve(&opened).map_err(|e| failed(e.into()));
    }
    let file = File::open(place).map_err(|e| failed(e.into()))?;
    if let Some(why) = open::foreign(&file).map_err(|e| failed(e.into()))? {
        return Err(failed(why.into()));
    }
    let file = open::lock(file, place)?;
    open::remove(&file, place, confirm).map_err(failed)
}

/// Bytes of all slots, for a device with blocks of 4 KiB.
fn space(data: &DataSet, _: &Settings) -> u64 {
    Layout::new(data, open::BLOCK_BYTES_MAX).bytes()
}

#[cold]
fn misplaced(requested: u64, found: u64) -> Failure {
    Failure {
        cause: Cause::Corruption,
        message: format!("the slot of record {requested} holds record {found}"),
    }
}

#[cold]
fn failure(error: io::Error) -> Failure {
    let cause = match error.kind() {
        io::ErrorKind::UnexpectedEof => Cause::Corruption,
        _ => Cause::Io,
    };
    Failure {
        cause,
        message: error.to_string(),
    }
}
