//! An open database, one client's connection to it, and replies.

use crate::{Error, Key, Made, Operation, OperationKind, Parts, VirtualClock};
use std::{collections::BTreeMap, path::PathBuf, pin::Pin, time::Duration};

/// The outcome of a successful request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Records found by a read or a scan; 1 for a write, 0 for a read that found nothing.
    pub records: u32,
    /// Bytes of keys and values that were read or written.
    pub bytes: u64,
}

/// Why a request failed, in categories for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// No answer in time.
    Timeout,
    /// Too few replicas are available, or the node is down.
    Unavailable,
    /// The server refused because of its load.
    Overloaded,
    /// The connection was lost or refused.
    Connection,
    /// The driver cannot do this kind of request.
    Unsupported,
    /// The data that was read is not what was written.
    Corruption,
    /// The device or file system returned an error.
    Io,
    /// Anything else; see the message.
    Other,
}

impl Cause {
    /// The name in reports and exports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::Overloaded => "overloaded",
            Self::Connection => "connection",
            Self::Unsupported => "unsupported",
            Self::Corruption => "corruption",
            Self::Io => "io",
            Self::Other => "other",
        }
    }
}

/// A failed request. It is counted and never ends a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", cause.name())]
pub struct Failure {
    /// The category for counting.
    pub cause: Cause,
    /// The database's message.
    pub message: String,
}

impl Failure {
    /// The reply to a request that the database does not support.
    #[cold]
    pub(crate) fn unsupported(driver: &str) -> Self {
        Self {
            cause: Cause::Unsupported,
            message: format!("{driver} does not support this request"),
        }
    }
}

/// The reply to a request.
pub type Reply = Result<Outcome, Failure>;

/// A request in progress: answered at once (embedded databases), or later (servers).
pub enum Completion<'a> {
    /// Answered, without any allocation.
    Ready(Reply),
    /// To be awaited.
    Pending(Pin<Box<dyn Future<Output = Reply> + 'a>>),
}

/// A client that is being connected.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Session>, Error>> + 'a>>;

/// Receives each field of a record: its index in the schema, and its value.
pub type FieldVisitor<'a> = &'a mut (dyn FnMut(u32, &[u8]) + 'a);

/// One client's connection, with at most one request in flight.
pub trait Session: Send {
    /// Sends one request.
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a>;

    /// Reads a whole record and passes each field's index in the schema and its value to `visit`,
    /// to verify what was written. Fields outside the schema are left out.
    fn read_verified<'a>(&'a mut self, key: Key<'a>, visit: FieldVisitor<'a>) -> Completion<'a> {
        let _ = (key, visit);
        Completion::Ready(Err(Failure {
            cause: Cause::Unsupported,
            message: "this driver does not return the values that it reads".to_owned(),
        }))
    }

    /// Takes apart what is requested from now on, until [`Self::parts`] is called: a request of this
    /// kind. Called and answered on the client's own thread.
    fn take_apart(&mut self, kind: OperationKind) {
        let _ = kind;
    }

    /// Adds the parts of what was requested since [`Self::take_apart`]. Parts of the client itself,
    /// and the rest, are left out. A driver that knows none adds nothing.
    fn parts(&mut self, parts: &mut Parts) {
        let _ = parts;
    }
}

/// Whether background work has settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It has.
    Yes,
    /// Some was left when the time was up.
    No,
    /// Some is left, but the database starts none of it, and so it takes no time of the device.
    NotStarted,
    /// Unknown, because the database cannot tell, or because the wait was cut short.
    Unknown,
}

/// Asked whether to end a wait, as after Ctrl-C.
pub type Stopped<'a> = &'a dyn Fn() -> bool;

/// A remark that users must see next to the numbers, for example that a fallback was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The code of its finding.
    pub code: RemarkCode,
    /// What was seen, and the remedy.
    pub text: String,
}

/// The code of a remark. Its name is the code of a finding. That table is above this crate, so a
/// test of `runner` checks that each code is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemarkCode {
    /// The memory allocator has settings from outside.
    AllocatorSettings,
    /// Flushes or compactions failed.
    BackgroundErrors,
    /// Reads and writes went through the page cache against the plan.
    BufferedIo,
    /// The database dropped records because its memory was full.
    DataEvicted,
    /// The database could not use io_uring.
    IoUringRefused,
    /// Nodes of a cluster accepted no connection.
    NodesDown,
    /// The database keeps its data only in memory.
    NotPersistent,
    /// Checksums are computed in software.
    SoftwareCrc,
}

impl RemarkCode {
    /// Every code.
    pub const ALL: [Self; 8] = [
        Self::AllocatorSettings,
        Self::BackgroundErrors,
        Self::BufferedIo,
        Self::DataEvicted,
        Self::IoUringRefused,
        Self::NodesDown,
        Self::NotPersistent,
        Self::SoftwareCrc,
    ];

    /// The stable name of the finding.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllocatorSettings => "allocator-settings",
            Self::BackgroundErrors => "background-errors",
            Self::BufferedIo => "buffered-io",
            Self::DataEvicted => "data-evicted",
            Self::IoUringRefused => "io-uring-refused",
            Self::NodesDown => "nodes-down",
            Self::NotPersistent => "not-persistent",
            Self::SoftwareCrc => "software-crc",
        }
    }
}

/// Whether a statistic only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatisticKind {
    /// It only grows while the database is open.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// A number that a database reports about itself: about its background work, caches and queues.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistic {
    /// The node of a cluster; `None` if the database has only one.
    pub node: Option<String>,
    /// Its name, with the unit last: `pending_compaction_bytes`. This name, `flushes` and
    /// `compactions` mean the same for every database.
    pub name: String,
    /// Whether it only grows.
    pub kind: StatisticKind,
    /// The number.
    pub value: f64,
}

impl Statistic {
    /// A statistic that only grows.
    pub fn counter(name: impl Into<String>, value: f64) -> Self {
        Self {
            node: None,
            name: name.into(),
            kind: StatisticKind::Counter,
            value,
        }
    }

    /// A statistic that goes up and down.
    pub fn gauge(name: impl Into<String>, value: f64) -> Self {
        Self {
            kind: StatisticKind::Gauge,
            ..Self::counter(name, value)
        }
    }
}

/// The purpose of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The data set is written.
    Load,
    /// A workload is run.
    Run,
}

/// An open database, shared by all clients. Dropping it closes it.
pub trait Database: Send + Sync {
    /// Connects one more client.
    fn session(&self) -> Result<Box<dyn Session>, Error>;

    /// Connects one more client whose requests are awaited on the current runtime, so that the same
    /// thread also drives its sockets and tasks. Called in a `LocalSet`, where the client stays.
    /// Drivers whose clients are threads keep the default, [`Self::session`].
    fn connect(&self) -> Connecting<'_> {
        Box::pin(std::future::ready(self.session()))
    }

    /// The clock of its requests, if it is not the machine's. Every client is then a task of one
    /// thread, which advances the clock.
    fn virtual_clock(&self) -> Option<VirtualClock> {
        None
    }

    /// Called before the clients of a phase are connected. A simulated database draws from the
    /// seed, which is unique within the plan.
    fn begin_phase(&self, stage: Stage, seed: u64) {
        let _ = (stage, seed);
    }

    /// The text that [`Self::set_marker`] stored with the data. Only databases without a directory
    /// of their own store one: servers, and those on a block device.
    fn marker(&self) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Stores a text with the data, in a separate table or set, as durably as a write; on a block
    /// device, durable when it returns.
    fn set_marker(&self, text: &str) -> Result<(), Error> {
        let _ = text;
        Ok(())
    }

    /// The server's id of the opened table, if it has ids. A table that is dropped and created
    /// again has another id, and so does a table of another cluster at the same address.
    fn id(&self) -> Option<String> {
        None
    }

    /// Everything that tailmark created on a server, in this or an earlier opening, and that still
    /// exists: keyspaces, tables, sets.
    fn made(&self) -> Vec<Made> {
        Vec::new()
    }

    /// The statements that remove from a server what a load put there: the records, their marker,
    /// and the items of `made` that then hold nothing else. Changes nothing.
    fn removal(&self, made: &[Made]) -> Result<Vec<String>, Error> {
        let _ = made;
        Ok(Vec::new())
    }

    /// Executes the statements of [`Self::removal`], and returns those that it executed. Items that
    /// hold something else by then stay.
    fn remove(&self, made: &[Made]) -> Result<Vec<String>, Error> {
        let _ = made;
        Ok(Vec::new())
    }

    /// Whether the table holds no record at all. Asked only if there is no marker.
    fn is_empty(&self) -> Result<bool, Error> {
        Ok(false)
    }

    /// Makes every acknowledged write survive a crash of the machine. Cheap enough for every few
    /// seconds of a load.
    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Writes all that is held in memory to where it is kept, as at the end of a load. Returns whether
    /// that is done: a wait for a server ends some tenths of a second after `stop` says so.
    fn flush(&self, stop: Stopped<'_>) -> Result<bool, Error> {
        let _ = stop;
        self.sync().map(|()| true)
    }

    /// Waits until background work (flushes, compactions) has settled, for at most `timeout`, and
    /// no longer than some tenths of a second after `stop` says so. An error if it cannot settle,
    /// for example on a full disk.
    fn settle(&self, timeout: Duration, stop: Stopped<'_>) -> Result<Settled, Error> {
        let _ = (timeout, stop);
        Ok(Settled::Unknown)
    }

    /// Ends requests that wait for the database's background work, which never catches up on a full
    /// disk. They return an error. Called if clients are still busy some seconds after a stop.
    /// Afterwards the database is only closed.
    fn end_held_requests(&self) {}

    /// Version and effective settings, as reported by the database, for the study.
    fn facts(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Remarks that users must see next to the numbers.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }

    /// Counters since the database was opened, by name, if it keeps any (statistics).
    fn counters(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    /// The database's statistics, if it has any. Asked once a second while clients are at work. It
    /// never takes longer than half a second; statistics that are missing by then are left out.
    fn statistics(&self) -> Option<Vec<Statistic>> {
        None
    }

    /// The state that earlier writes have left: files and bytes of its tree, and the work that is
    /// left. Asked before a point. `files`, `bytes` and `pending_compaction_bytes` mean the same for
    /// every database.
    fn shape(&self) -> Vec<Statistic> {
        Vec::new()
    }

    /// How many nodes of the cluster are down, as far as its client knows; `None` if it cannot
    /// tell. Asked once a second while clients are at work, without sending anything.
    fn nodes_down(&self) -> Option<u64> {
        None
    }

    /// The data files, whose cached pages are dropped between points.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}
