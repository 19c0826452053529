//! Sessions that count what the recorder does not: records found by batches, records in walks,
//! bytes of values, and the end of a walk.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};
use tailmark_driver::{
    Completion, Connecting, Database, Error, Operation, Session, Special, Statistic,
};
use tailmark_engine::Stop;

/// The counts of one benchmark. Sessions add to them when they end.
#[derive(Debug, Default)]
pub struct Tally {
    records: AtomicU64,
    walked: AtomicU64,
    value_bytes: AtomicU64,
    /// Walks that have not ended yet.
    walks: AtomicU32,
    /// Requested when every walk has ended.
    pub end: Stop,
}

impl Tally {
    /// Of this many clients.
    pub fn new(clients: u32, end: Stop) -> Self {
        Self {
            walks: AtomicU32::new(clients),
            end,
            ..Self::default()
        }
    }

    /// Records found.
    pub fn records(&self) -> u64 {
        self.records.load(Relaxed)
    }

    /// Records asked for by seeks beyond their position.
    pub fn walked(&self) -> u64 {
        self.walked.load(Relaxed)
    }

    /// Bytes of values written.
    pub fn value_bytes(&self) -> u64 {
        self.value_bytes.load(Relaxed)
    }
}

/// A database whose sessions count.
pub struct Counting<'a> {
    /// Does the work.
    pub database: &'a dyn Database,
    /// Takes the counts.
    pub tally: Arc<Tally>,
}

impl Database for Counting<'_> {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        let (session, tally) = (self.database.session()?, Arc::clone(&self.tally));
        Ok(Box::new(CountingSession {
            session,
            tally,
            own: SessionTally::default(),
            ended: false,
        }))
    }

    fn connect(&self) -> Connecting<'_> {
        Box::pin(std::future::ready(self.session()))
    }

    fn end_held_requests(&self) {
        self.database.end_held_requests();
    }

    fn counters(&self) -> std::collections::BTreeMap<String, u64> {
        self.database.counters()
    }

    fn statistics(&self) -> Option<Vec<Statistic>> {
        self.database.statistics()
    }
}

/// One session's counts.
#[derive(Debug, Default)]
struct SessionTally {
    records: u64,
    walked: u64,
    value_bytes: u64,
}

struct CountingSession {
    session: Box<dyn Session>,
    tally: Arc<Tally>,
    own: SessionTally,
    ended: bool,
}

impl Session for CountingSession {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        match operation {
            Operation::Special(Special::Seek { records, .. }) => {
                self.own.walked += u64::from(records)
            }
            Operation::Insert { values, .. } => self.own.value_bytes += values.bytes.len() as u64,
            _ => {}
        }
        let done = self.session.execute(operation);
        if let Completion::Ready(Ok(outcome)) = &done {
            self.own.records += u64::from(outcome.records);
            let is_walk = matches!(operation, Operation::Special(Special::Next { .. }));
            if is_walk && outcome.records == 0 && !self.ended {
                self.ended = true;
                if self.tally.walks.fetch_sub(1, Relaxed) == 1 {
                    self.tally.end.request();
                }
            }
        }
        done
    }
}

impl Drop for CountingSession {
    fn drop(&mut self) {
        self.tally.records.fetch_add(self.own.records, Relaxed);
        self.tally.walked.fetch_add(self.own.walked, Relaxed);
        self.tally
            .value_bytes
            .fetch_add(self.own.value_bytes, Relaxed);
    }
}
