//! What the file driver promises with io_uring.

use crate::support::*;
use std::{future::poll_fn, pin::Pin, task::Poll};
use tailmark_driver::{
    Cause, Clients, Completion, Error, Fields, Location, Operation, Outcome, Reply, Session, db,
};
use tailmark_testing::{LoopDevice, forbid_io_uring, test};

const URING: &[(&str, &str)] = &[("io", "uring"), ("depth", "8")];

/// Runs a client to its end on a runtime of one thread, as the engine does.
fn on_a_runtime<T>(client: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(client)
}

async fn send(session: &mut dyn Session, operation: Operation<'_>) -> Reply {
    match session.execute(operation) {
        Completion::Ready(reply) => reply,
        Completion::Pending(reply) => reply.await,
    }
}

async fn read(session: &mut dyn Session, number: u64) -> Reply {
    let (name, fields) = (name(number), Fields::All);
    let key = key(number, &name);
    send(session, Operation::Read { key, fields }).await
}

async fn scan(session: &mut dyn Session, number: u64, records: u32) -> Reply {
    let (name, fields) = (name(number), Fields::All);
    let start = key(number, &name);
    let scan = Operation::Scan {
        start,
        records,
        fields,
    };
    send(session, scan).await
}

async fn write(session: &mut dyn Session, number: u64) -> Reply {
    let (name, record) = (name(number), record(number));
    let (key, values) = (key(number, &name), values(&record));
    send(session, Operation::Insert { key, values }).await
}

#[test]
fn each_request_in_flight_is_a_client() {
    let bench = Bench::with("file", URING);
    let settings = &bench.params.settings;
    assert_eq!(bench.driver.clients(settings), Clients::Tasks);
    assert_eq!(bench.driver.client_count(settings, 3), 24);
    let plain = Bench::new("file");
    let defaults = &plain.params.settings;
    assert_eq!(plain.driver.clients(defaults), Clients::Threads);
    assert_eq!(plain.driver.client_count(defaults, 3), 3);
}

#[test]
fn depth_without_io_uring_is_refused() {
    let driver = db::find("file").unwrap();
    let error = check(driver, &[("depth", "8")], &data(100)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "database.depth is `8`, but it must be 1, unless io is `uring`"
    );
}

#[test]
fn io_uring_and_psync_read_what_the_other_wrote() {
    let bench = Bench::with("file", URING);
    let database = bench.open();
    let whole = Ok(Outcome {
        records: 1,
        bytes: RECORD,
    });
    let mut plain = database.session().unwrap();
    on_a_runtime(async {
        let mut session = database.connect().await.unwrap();
        for number in 0..50 {
            assert_eq!(write(&mut *session, number).await, whole);
            assert_eq!(insert(&mut *plain, number + 50), whole);
        }
        for number in 0..100 {
            assert_eq!(read(&mut *session, number).await, whole);
        }
        // 10 slots in reserve are empty; a scan ends with them.
        let found = scan(&mut *session, 90, 1_000).await.unwrap();
        assert_eq!((found.records, found.bytes), (10, 10 * RECORD));
        let name = name(1);
        let delete = Operation::Delete { key: key(1, &name) };
        let failure = send(&mut *session, delete).await.unwrap_err();
        assert_eq!(failure.cause, Cause::Unsupported);
    });
    for number in 0..100 {
        assert_eq!(
            crate::support::read(&mut *plain, number, Fields::All),
            whole
        );
    }
}

#[test]
fn many_clients_of_one_thread_have_a_request_in_flight_each() {
    let mut bench = Bench::with("file", URING);
    let device = LoopDevice::new(&bench.path("device"), 2 << 20);
    bench.params.location = Location::Device(device.path().to_owned());
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(device.path());
    db::stamp::stamp(&file.unwrap(), "new").unwrap();
    let database = bench.open();
    on_a_runtime(async {
        let mut sessions = Vec::new();
        for _ in 0..32 {
            sessions.push(database.connect().await.unwrap());
        }
        for (number, session) in (0..).zip(&mut sessions) {
            write(&mut **session, number).await.unwrap();
        }
        let mut replies: Vec<Pin<Box<dyn Future<Output = Reply> + '_>>> = Vec::new();
        for (number, session) in (0..).zip(&mut sessions) {
            replies.push(Box::pin(read(&mut **session, number)));
        }
        // All are sent before any is awaited.
        let mut found = vec![None; replies.len()];
        poll_fn(|context| {
            for (reply, records) in replies.iter_mut().zip(&mut found) {
                if records.is_none()
                    && let Poll::Ready(done) = reply.as_mut().poll(context)
                {
                    *records = Some(done.unwrap().records);
                }
            }
            if found.iter().all(Option::is_some) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        assert_eq!(found, vec![Some(1); 32]);
    });
}

#[test]
fn a_request_that_nothing_awaits_any_more_does_not_disturb_the_next() {
    let bench = Bench::with("file", URING);
    let database = bench.open();
    on_a_runtime(async {
        let mut session = database.connect().await.unwrap();
        for number in 0..100 {
            write(&mut *session, number).await.unwrap();
        }
        for number in 0..100 {
            // Sent by the first poll, and dropped.
            let mut dropped = Box::pin(read(&mut *session, 99 - number));
            poll_fn(|context| Poll::Ready(dropped.as_mut().poll(context).is_ready())).await;
            drop(dropped);
            let found = read(&mut *session, number).await;
            assert_eq!(found.unwrap().records, 1, "{number}");
        }
        let mut left = Box::pin(read(&mut *session, 7));
        poll_fn(|context| Poll::Ready(left.as_mut().poll(context).is_ready())).await;
    });
}

#[test]
fn a_kernel_that_forbids_io_uring_is_an_error_before_anything_is_measured() {
    let driver = db::find("file").unwrap();
    let refused = std::thread::spawn(move || {
        forbid_io_uring().unwrap();
        let refused = check(driver, URING, &data(100));
        matches!(&refused, Err(Error::BadSetting { name, .. }) if name == "io")
            .then(|| refused.unwrap_err().to_string())
    });
    let text = refused.join().unwrap().expect("io_uring is refused");
    assert!(
        text.starts_with(
            "database.io is `uring`, but it must be psync, because the kernel refuses io_uring \
             (Operation not permitted"
        ),
        "{text}"
    );
}
