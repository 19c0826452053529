//! An open database, one client's connection to it, and what comes back.

use crate::{Error, Key, Made, Operation, VirtualClock};
use std::{collections::BTreeMap, path::PathBuf, pin::Pin, time::Duration};

/// What a request that did not fail found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Records found by a read or a scan; 1 for a write. A read that missed has 0.
    pub records: u32,
    /// Bytes of keys and values that were read or written.
    pub bytes: u64,
}

/// Why a request failed, coarse enough to count by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// No answer in time.
    Timeout,
    /// Too few replicas, or the node is down.
    Unavailable,
    /// The server refused for load.
    Overloaded,
    /// The connection was lost or refused.
    Connection,
    /// The driver cannot do this kind of request.
    Unsupported,
    /// What was read is not what was written.
    Corruption,
    /// The device or file system returned an error.
    Io,
    /// Anything else; the message tells.
    Other,
}

impl Cause {
    /// The name used in reports and exports.
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

/// A request that failed. It is counted; it never ends a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", cause.name())]
pub struct Failure {
    /// What it is counted by.
    pub cause: Cause,
    /// What the database said.
    pub message: String,
}

impl Failure {
    /// The answer to a request that the database does not know.
    #[cold]
    pub(crate) fn unsupported(driver: &str) -> Self {
        Self {
            cause: Cause::Unsupported,
            message: format!("{driver} does not know this request"),
        }
    }
}

/// What a request comes back with.
pub type Reply = Result<Outcome, Failure>;

/// A request on its way: answered at once (embedded databases), or later (network databases).
pub enum Completion<'a> {
    /// Answered; nothing was allocated.
    Ready(Reply),
    /// To be awaited.
    Pending(Pin<Box<dyn Future<Output = Reply> + 'a>>),
}

/// A client on its way to be connected.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Session>, Error>> + 'a>>;

/// What is given each field of a record: its index in the schema, and its value.
pub type FieldVisitor<'a> = &'a mut (dyn FnMut(u32, &[u8]) + 'a);

/// One client's connection, with at most one request in flight.
pub trait Session: Send {
    /// Sends one request.
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a>;

    /// Reads a whole record and hands each field's index in the schema and its value to `visit`: to
    /// check what was written. Fields that the schema does not have are left out.
    fn read_verified<'a>(&'a mut self, key: Key<'a>, visit: FieldVisitor<'a>) -> Completion<'a> {
        let _ = (key, visit);
        Completion::Ready(Err(Failure {
            cause: Cause::Unsupported,
            message: "this driver does not hand out what it reads".to_owned(),
        }))
    }
}

/// Whether background work came to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// None is left.
    Yes,
    /// Some was left when the time was up.
    No,
    /// The database cannot tell, or it was not waited for to the end.
    Unknown,
}

/// Asked whether a wait is to be ended, as by Ctrl-C.
pub type Stopped<'a> = &'a dyn Fn() -> bool;

/// Something a user must know beside the numbers, for example that a fallback was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The code of the finding that is made of it.
    pub code: RemarkCode,
    /// What was seen, and the remedy.
    pub text: String,
}

/// What a remark is of. Its name is the code of a finding, whose table is above this crate: a test
/// of `runner` looks up each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemarkCode {
    /// Flushes or compactions failed.
    BackgroundErrors,
    /// Reads and writes went through the page cache against the plan.
    BufferedIo,
    /// The database dropped records, because its memory was full.
    DataEvicted,
    /// Nodes of a cluster took no connection.
    NodesDown,
    /// The database keeps its data in memory alone.
    NotPersistent,
    /// Checksums are computed without the processor's instruction.
    SoftwareCrc,
}

impl RemarkCode {
    /// Every code.
    pub const ALL: [Self; 6] = [
        Self::BackgroundErrors,
        Self::BufferedIo,
        Self::DataEvicted,
        Self::NodesDown,
        Self::NotPersistent,
        Self::SoftwareCrc,
    ];

    /// The stable word of the finding.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BackgroundErrors => "background-errors",
            Self::BufferedIo => "buffered-io",
            Self::DataEvicted => "data-evicted",
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

/// A number that a database tells of itself: of the work that it does beside requests, of its caches
/// and its queues.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistic {
    /// The node of a cluster that it is of; none where the database is one.
    pub node: Option<String>,
    /// What it is, its unit last: `pending_compaction_bytes`. `flushes`, `compactions` and that one
    /// mean the same of every database.
    pub name: String,
    /// Whether it only grows.
    pub kind: StatisticKind,
    /// The number.
    pub value: f64,
}

impl Statistic {
    /// One that only grows.
    pub fn counter(name: impl Into<String>, value: f64) -> Self {
        Self {
            node: None,
            name: name.into(),
            kind: StatisticKind::Counter,
            value,
        }
    }

    /// One that goes up and down.
    pub fn gauge(name: impl Into<String>, value: f64) -> Self {
        Self {
            kind: StatisticKind::Gauge,
            ..Self::counter(name, value)
        }
    }
}

/// What a phase is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The data set is written.
    Load,
    /// A workload is run.
    Run,
}

/// An open database, shared by all clients; dropped, it is closed.
pub trait Database: Send + Sync {
    /// Connects one more client.
    fn session(&self) -> Result<Box<dyn Session>, Error>;

    /// Connects one more client whose requests are awaited on the runtime that awaits this: what
    /// the driver needs beside them (sockets, tasks) is then driven by the same thread. Drivers
    /// whose clients are threads leave it at [`Self::session`].
    fn connect(&self) -> Connecting<'_> {
        Box::pin(std::future::ready(self.session()))
    }

    /// The clock that its requests take time of, where that is not the machine's: every client is
    /// then a task of one thread, which moves the clock.
    fn virtual_clock(&self) -> Option<VirtualClock> {
        None
    }

    /// Called before the clients of a phase are connected. What a simulated database draws follows
    /// from the seed, which no other phase of the plan has.
    fn begin_phase(&self, stage: Stage, seed: u64) {
        let _ = (stage, seed);
    }

    /// What [`Self::set_marker`] kept beside the data. Only databases without a directory of their
    /// own keep one: servers, and those on a block device.
    fn marker(&self) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Keeps a text beside the data, in a table or set of its own, as durable as a write; on a
    /// block device, durable when it returns.
    fn set_marker(&self, text: &str) -> Result<(), Error> {
        let _ = text;
        Ok(())
    }

    /// What a server names the table by that was opened, if it names tables: one that is dropped and
    /// created again has another name, and so has one of another cluster at the same address.
    fn id(&self) -> Option<String> {
        None
    }

    /// What tailmark made on a server, by this or an earlier opening, and still exists there: keyspaces,
    /// tables, sets.
    fn made(&self) -> Vec<Made> {
        Vec::new()
    }

    /// The statements that remove from a server what a load put there: the records, their marker, and
    /// of `made` what then holds nothing else. Nothing is changed.
    fn removal(&self, made: &[Made]) -> Result<Vec<String>, Error> {
        let _ = made;
        Ok(Vec::new())
    }

    /// Carries out what [`Self::removal`] says, and returns the statements that it did. What holds
    /// something else by then stays.
    fn remove(&self, made: &[Made]) -> Result<Vec<String>, Error> {
        let _ = made;
        Ok(Vec::new())
    }

    /// Whether the table holds no record at all; asked only where there is no marker.
    fn is_empty(&self) -> Result<bool, Error> {
        Ok(false)
    }

    /// Makes every acknowledged write survive a crash of the machine. Cheap enough to be called
    /// every few seconds of a load.
    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Writes all that is held in memory to where it is kept, as at the end of a load. Returns whether
    /// that is done: a wait for a server ends some tenths of a second after `stop` says so.
    fn flush(&self, stop: Stopped<'_>) -> Result<bool, Error> {
        let _ = stop;
        self.sync().map(|()| true)
    }

    /// Waits until background work (flushes, compactions) has come to rest, at most for `timeout`,
    /// and no longer than some tenths of a second after `stop` says so. Where it cannot come to
    /// rest, for example on a full disk, that is an error.
    fn settle(&self, timeout: Duration, stop: Stopped<'_>) -> Result<Settled, Error> {
        let _ = (timeout, stop);
        Ok(Settled::Unknown)
    }

    /// Ends requests that wait until the database's background work catches up, which on a full disk
    /// never happens. They return an error. Called when clients are still busy some seconds
    /// after a stop. Afterwards the database is only closed.
    fn end_held_requests(&self) {}

    /// Version and effective settings, as the database itself tells them, for the study.
    fn facts(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// What the user must know beside the numbers.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }

    /// Counters since the database was opened, by name, where it keeps any (statistics).
    fn counters(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    /// What it tells of itself, where it does; asked once a second while it works, beside its
    /// clients. It never takes longer than half a second: what is not told by then is left out.
    fn statistics(&self) -> Option<Vec<Statistic>> {
        None
    }

    /// How many nodes of the cluster are down, as far as its client knows; none if it cannot tell.
    /// Asked once a second while clients are at work: it sends nothing.
    fn nodes_down(&self) -> Option<u64> {
        None
    }

    /// The files that hold the data, whose cached pages are to be dropped between points.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}
