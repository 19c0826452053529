//! What a YCSB call requires of a session beyond sending: inserts that are tried again, reads that
//! are compared with what was written, samples that are kept one by one.
//!
//! Each is a session around the driver's, made only where it was asked for, so that the loop that
//! measures stays the one of every run.

use super::{core::Retry, tally::Tally};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tailmark_driver::{
    Clients, Completion, Connecting, Database, Error, Key, Operation, OperationKind, Remark, Reply,
    Session, Settled, Statistic, Stopped,
};
use tailmark_engine::block_on;
use tailmark_workload::append_checked;

/// A database whose sessions do more.
pub struct Decorated {
    /// The driver's.
    pub database: Box<dyn Database>,
    /// How the driver's clients are run.
    pub clients: Clients,
    /// Tries inserts again.
    pub retry: Option<Retry>,
    /// Compares what is read.
    pub verify: Option<Arc<Verify>>,
    /// Keeps samples.
    pub samples: Option<Samples>,
}

impl Decorated {
    fn around(&self, mut session: Box<dyn Session>) -> Box<dyn Session> {
        if let Some(verify) = &self.verify {
            let (verify, tally) = (Arc::clone(verify), Tally::default());
            session = Box::new(Verifying {
                session,
                verify,
                clients: self.clients,
                tally,
                expected: Vec::new(),
            });
        }
        if let Some(retry) = self.retry {
            session = Box::new(Retrying {
                session,
                retry,
                clients: self.clients,
            });
        }
        if let Some(all) = &self.samples {
            let (all, samples) = (Arc::clone(all), Vec::new());
            session = Box::new(Sampling {
                session,
                all,
                samples,
            });
        }
        session
    }
}

impl Database for Decorated {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        Ok(self.around(self.database.session()?))
    }

    fn connect(&self) -> Connecting<'_> {
        Box::pin(async { Ok(self.around(self.database.connect().await?)) })
    }

    fn sync(&self) -> Result<(), Error> {
        self.database.sync()
    }

    fn flush(&self) -> Result<(), Error> {
        self.database.flush()
    }

    fn settle(&self, timeout: Duration, stop: Stopped<'_>) -> Result<Settled, Error> {
        self.database.settle(timeout, stop)
    }

    fn facts(&self) -> BTreeMap<String, String> {
        self.database.facts()
    }

    fn remarks(&self) -> Vec<Remark> {
        self.database.remarks()
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        self.database.counters()
    }

    fn statistics(&self) -> Option<Vec<Statistic>> {
        self.database.statistics()
    }
}

/// Tries an insert that failed again. Its latency is that of all trials and pauses together.
struct Retrying {
    session: Box<dyn Session>,
    retry: Retry,
    clients: Clients,
}

impl Session for Retrying {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        let clients = self.clients;
        completion(clients, self.try_often(operation))
    }
}

/// What a request comes back with that is made of others.
fn completion<'a>(clients: Clients, reply: impl Future<Output = Reply> + 'a) -> Completion<'a> {
    match clients {
        // The sessions of threads never wait.
        Clients::Threads => Completion::Ready(block_on(reply)),
        Clients::Tasks => Completion::Pending(Box::pin(reply)),
    }
}

async fn answer(completion: Completion<'_>) -> Reply {
    match completion {
        Completion::Ready(reply) => reply,
        Completion::Pending(reply) => reply.await,
    }
}

impl Retrying {
    async fn try_often(&mut self, operation: Operation<'_>) -> Reply {
        let mut left = self.retry.limit;
        loop {
            let reply = answer(self.session.execute(operation)).await;
            if reply.is_ok() || left == 0 || operation.kind() != OperationKind::Insert {
                return reply;
            }
            left -= 1;
            let pause = self.retry.interval.mul_f64(0.8 + 0.4 * spread());
            match self.clients {
                Clients::Threads => thread::sleep(pause),
                // The other clients of the thread go on meanwhile.
                Clients::Tasks => tokio::time::sleep(pause).await,
            }
        }
    }
}

/// A number from 0 to 1 that differs from call to call: enough to keep clients from trying again
/// at the same instant.
fn spread() -> f64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    f64::from(since.subsec_nanos() % 1_000_000) / 1e6
}

/// What reads are compared with, and what came of it.
#[derive(Debug)]
pub struct Verify {
    /// The names of the fields.
    pub fields: Vec<String>,
    /// The length of every value, bytes.
    pub field_length: u32,
    /// Of all clients that have ended.
    pub tally: Mutex<Tally>,
}

impl Verify {
    /// Records that were not as they were written.
    pub fn failures(&self) -> u64 {
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let all: u64 = tally.returns.values().sum();
        all - tally.returns.get("OK").copied().unwrap_or(0)
    }
}

/// Compares every record that is read with what was written, as YCSB's `dataintegrity` does.
struct Verifying {
    session: Box<dyn Session>,
    verify: Arc<Verify>,
    clients: Clients,
    tally: Tally,
    expected: Vec<u8>,
}

impl Verifying {
    async fn read(&mut self, key: Key<'_>) -> Reply {
        let Self {
            session,
            verify,
            tally,
            expected,
            ..
        } = self;
        let (mut fields, mut wrong) = (0, 0);
        let mut spent = Duration::ZERO;
        let mut visit = |field: u32, value: &[u8]| {
            let started = Instant::now();
            expected.clear();
            let name = verify.fields[field as usize].as_bytes();
            append_checked(key.name, name, verify.field_length as usize, expected);
            fields += 1;
            wrong += u32::from(value != expected.as_slice());
            spent += started.elapsed();
        };
        let reply = answer(session.read_verified(key, &mut visit)).await;
        let status = match (fields, wrong) {
            (0, _) => "ERROR",
            (_, 0) => "OK",
            _ => "UNEXPECTED_STATE",
        };
        *tally.returns.entry(status).or_default() += 1;
        let ns = u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX);
        tally
            .latencies
            .record(ns)
            .expect("a histogram that grows takes any value");
        reply
    }
}

impl Session for Verifying {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        match operation {
            Operation::Read { key, .. } => {
                let clients = self.clients;
                completion(clients, self.read(key))
            }
            other => self.session.execute(other),
        }
    }
}

impl Drop for Verifying {
    fn drop(&mut self) {
        let mut all = self
            .verify
            .tally
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.latencies
            .add(&self.tally.latencies)
            .expect("a histogram that grows takes any other");
        for (status, count) in &self.tally.returns {
            *all.returns.entry(status).or_default() += count;
        }
    }
}

/// One request, as the raw measurement keeps it.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Its group.
    pub group: &'static str,
    /// When it was sent, milliseconds since 1970 UTC.
    pub at_ms: u64,
    /// How long it took, microseconds.
    pub us: u64,
}

/// The samples of all clients that have ended.
pub type Samples = Arc<Mutex<Vec<Sample>>>;

/// Keeps every request.
struct Sampling {
    session: Box<dyn Session>,
    all: Samples,
    samples: Vec<Sample>,
}

impl Session for Sampling {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        let Self {
            session, samples, ..
        } = self;
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let (at_ms, started) = (since.as_millis() as u64, Instant::now());
        let mut keep = move |reply: &Reply| {
            let group = group(operation.kind(), reply);
            let us = started.elapsed().as_micros() as u64;
            samples.push(Sample { group, at_ms, us });
        };
        match session.execute(operation) {
            Completion::Ready(reply) => {
                keep(&reply);
                Completion::Ready(reply)
            }
            Completion::Pending(reply) => Completion::Pending(Box::pin(async move {
                let reply = reply.await;
                keep(&reply);
                reply
            })),
        }
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        self.all
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .append(&mut self.samples);
    }
}

fn group(kind: OperationKind, reply: &Reply) -> &'static str {
    let succeeded = reply.as_ref().is_ok_and(|outcome| outcome.records > 0);
    match (
        kind,
        succeeded || kind == OperationKind::Scan && reply.is_ok(),
    ) {
        (OperationKind::Read, true) => "READ",
        (OperationKind::Read, false) => "READ-FAILED",
        (OperationKind::Update, true) => "UPDATE",
        (OperationKind::Update, false) => "UPDATE-FAILED",
        (OperationKind::Insert, true) => "INSERT",
        (OperationKind::Insert, false) => "INSERT-FAILED",
        (OperationKind::Scan, true) => "SCAN",
        (OperationKind::Scan, false) => "SCAN-FAILED",
        (OperationKind::Delete, true) => "DELETE",
        (OperationKind::Delete, false) => "DELETE-FAILED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_driver::{Cause, Failure, FieldVisitor, Fields, Outcome, Values};

    /// Fails so often, then succeeds; every record has a wrong second field.
    struct Stubborn {
        failures: u32,
    }

    impl Session for Stubborn {
        fn execute<'a>(&'a mut self, _: Operation<'a>) -> Completion<'a> {
            if self.failures == 0 {
                return Completion::Ready(Ok(Outcome {
                    records: 1,
                    bytes: 0,
                }));
            }
            self.failures -= 1;
            Completion::Ready(Err(Failure {
                cause: Cause::Timeout,
                message: String::new(),
            }))
        }

        fn read_verified<'a>(
            &'a mut self,
            key: Key<'a>,
            visit: FieldVisitor<'a>,
        ) -> Completion<'a> {
            if key.number == 9 {
                return Completion::Ready(Ok(Outcome::default()));
            }
            let mut value = Vec::new();
            append_checked(key.name, b"field0", 20, &mut value);
            visit(0, &value);
            if key.number == 1 {
                visit(1, &value);
            }
            Completion::Ready(Ok(Outcome {
                records: 1,
                bytes: 20,
            }))
        }
    }

    fn key(number: u64) -> Key<'static> {
        Key {
            number,
            name: b"user1",
        }
    }

    fn insert() -> Operation<'static> {
        Operation::Insert {
            key: key(0),
            values: Values {
                first: 0,
                lengths: &[],
                bytes: &[],
            },
        }
    }

    fn retried(failures: u32, limit: u64) -> bool {
        let interval = Duration::from_millis(1);
        let retry = Retry {
            limit,
            interval,
            keep_going: false,
        };
        let session = Box::new(Stubborn { failures });
        let mut retrying = Retrying {
            session,
            retry,
            clients: Clients::Threads,
        };
        matches!(retrying.execute(insert()), Completion::Ready(Ok(_)))
    }

    #[test]
    fn an_insert_is_tried_again_up_to_the_limit() {
        assert!(retried(0, 0) && retried(3, 3));
        assert!(!retried(3, 2) && !retried(1, 0));
    }

    #[test]
    fn a_client_that_waits_to_try_again_holds_up_no_other() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let ended = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let client = |failures| {
            let ended = std::rc::Rc::clone(&ended);
            let retry = Retry {
                limit: 1,
                interval: Duration::from_millis(50),
                keep_going: false,
            };
            tokio::task::spawn_local(async move {
                let mut retrying = Retrying {
                    session: Box::new(Stubborn { failures }),
                    retry,
                    clients: Clients::Tasks,
                };
                assert!(answer(retrying.execute(insert())).await.is_ok());
                ended.borrow_mut().push(failures);
            })
        };
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let (waits, goes_on) = (client(1), client(0));
            waits.await.unwrap();
            goes_on.await.unwrap();
        });
        assert_eq!(*ended.borrow(), [0, 1]);
    }

    #[test]
    fn what_is_read_is_compared_field_by_field() {
        let fields = vec!["field0".to_owned(), "field1".to_owned()];
        let verify = Arc::new(Verify {
            fields,
            field_length: 20,
            tally: Mutex::default(),
        });
        let (session, tally) = (Box::new(Stubborn { failures: 0 }), Tally::default());
        let expected = Vec::new();
        let mut verifying = Verifying {
            session,
            verify: verify.clone(),
            clients: Clients::Threads,
            tally,
            expected,
        };
        for number in [0, 1, 2, 9] {
            drop(verifying.execute(Operation::Read {
                key: key(number),
                fields: Fields::All,
            }));
        }
        drop(verifying);
        let tally = verify.tally.lock().unwrap();
        let expected = BTreeMap::from([("ERROR", 1), ("OK", 2), ("UNEXPECTED_STATE", 1)]);
        assert_eq!(
            (tally.returns.clone(), tally.latencies.len()),
            (expected, 4)
        );
    }

    #[test]
    fn every_request_is_kept_as_a_sample() {
        let all = Samples::default();
        let session = Box::new(Stubborn { failures: 1 });
        let mut sampling = Sampling {
            session,
            all: all.clone(),
            samples: Vec::new(),
        };
        drop(sampling.execute(insert()));
        drop(sampling.execute(insert()));
        drop(sampling);
        let groups: Vec<_> = all
            .lock()
            .unwrap()
            .iter()
            .map(|sample| sample.group)
            .collect();
        assert_eq!(groups, ["INSERT-FAILED", "INSERT"]);
    }
}
