//! Each decorator by itself, around a session that fails on cue.

use super::*;
use std::sync::Mutex;
use tailmark_driver::{Cause, Failure, FieldVisitor, Fields, Key, Operation, Outcome, Values};
use tailmark_workload::append_checked;

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

    fn read_verified<'a>(&'a mut self, key: Key<'a>, visit: FieldVisitor<'a>) -> Completion<'a> {
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
        let (waits, continues) = (client(1), client(0));
        waits.await.unwrap();
        continues.await.unwrap();
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
    let mut verifying = Verifying {
        session: Box::new(Stubborn { failures: 0 }),
        verify: verify.clone(),
        clients: Clients::Threads,
        tally: Tally::default(),
        expected: Vec::new(),
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
