//! What the file driver promises with io_uring.

use crate::support::*;
use std::{fs::File, future::poll_fn, path::PathBuf, pin::Pin, task::Poll};
use tailmark_driver::{
    Cause, Clients, Completion, Database, Error, Fields, Location, Operation, Outcome, Reply,
    Session, db,
};
use tailmark_testing::{LoopDevice, forbid_io_uring, test};

const URING: &[(&str, &str)] = &[("io", "uring"), ("depth", "8")];

/// A record that was read or written whole.
const FOUND: Reply = Ok(Outcome {
    records: 1,
    bytes: RECORD,
});

/// Runs a client to its end on a runtime of one thread, as the engine does.
fn on_a_runtime<T>(client: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, client)
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
    let mut plain = database.session().unwrap();
    on_a_runtime(async {
        let mut session = database.connect().await.unwrap();
        for number in 0..50 {
            assert_eq!(write(&mut *session, number).await, FOUND);
            assert_eq!(insert(&mut *plain, number + 50), FOUND);
        }
        for number in 0..100 {
            assert_eq!(read(&mut *session, number).await, FOUND);
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
            FOUND
        );
    }
}

/// A database on a new device, and the file that is the device's medium.
fn on_a_device() -> (Bench, LoopDevice, PathBuf) {
    let mut bench = Bench::with("file", URING);
    let medium = bench.path("device");
    let device = LoopDevice::new(&medium, 2 << 20);
    bench.params.location = Location::Device(device.path().to_owned());
    let file = File::options().read(true).write(true).open(device.path());
    db::stamp::stamp(&file.unwrap(), "new").unwrap();
    (bench, device, medium)
}

async fn connect(database: &dyn Database, clients: usize) -> Vec<Box<dyn Session>> {
    let mut sessions = Vec::new();
    for _ in 0..clients {
        sessions.push(database.connect().await.unwrap());
    }
    sessions
}

/// Each session reads the record of its number. All reads are sent before any is awaited.
async fn read_at_once(sessions: &mut [Box<dyn Session>]) -> Vec<Reply> {
    let mut reads: Vec<Pin<Box<dyn Future<Output = Reply> + '_>>> = Vec::new();
    for (number, session) in (0..).zip(sessions) {
        reads.push(Box::pin(read(&mut **session, number)));
    }
    let mut replies = vec![None; reads.len()];
    poll_fn(|context| {
        for (read, reply) in reads.iter_mut().zip(&mut replies) {
            if reply.is_none()
                && let Poll::Ready(done) = read.as_mut().poll(context)
            {
                *reply = Some(done);
            }
        }
        if replies.iter().all(Option::is_some) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    replies.into_iter().flatten().collect()
}

/// Sends a request, and drops it before it has ended.
async fn send_and_drop(session: &mut dyn Session, number: u64) {
    let mut left = Box::pin(read(session, number));
    poll_fn(|context| Poll::Ready(left.as_mut().poll(context).is_ready())).await;
}

#[test]
fn many_clients_of_one_thread_have_a_request_in_flight_each() {
    let (bench, _device, _) = on_a_device();
    let database = bench.open();
    on_a_runtime(async {
        let mut sessions = connect(&*database, 32).await;
        for (number, session) in (0..).zip(&mut sessions) {
            write(&mut **session, number).await.unwrap();
        }
        for _ in 0..20 {
            assert_eq!(read_at_once(&mut sessions).await, vec![FOUND; 32]);
        }
        // Only some of the clients have something to do.
        for number in 0..100 {
            assert_eq!(read(&mut *sessions[7], number % 32).await, FOUND);
        }
    });
}

#[test]
fn a_read_that_fails_among_others_fails_alone() {
    let (bench, _device, medium) = on_a_device();
    let database = bench.open();
    let slot: u64 = database.facts()["slot_bytes"].parse().unwrap();
    on_a_runtime(async {
        let mut sessions = connect(&*database, 32).await;
        for (number, session) in (0..).zip(&mut sessions) {
            write(&mut **session, number).await.unwrap();
        }
        database.sync().unwrap();
        // The medium now ends after 20 records.
        let medium = File::options().write(true).open(&medium).unwrap();
        medium.set_len((1 << 20) + 20 * slot).unwrap();
        let replies = read_at_once(&mut sessions).await;
        let (whole, failed) = replies.split_at(20);
        assert_eq!(whole, vec![FOUND; 20]);
        for reply in failed {
            assert_eq!(reply.as_ref().unwrap_err().cause, Cause::Io, "{reply:?}");
        }
        // Each client continues.
        for session in &mut sessions {
            assert_eq!(read(&mut **session, 3).await, FOUND);
        }
    });
}

#[test]
fn clients_that_leave_requests_in_flight_do_not_disturb_the_others() {
    let (bench, _device, _) = on_a_device();
    let database = bench.open();
    on_a_runtime(async {
        let mut sessions = connect(&*database, 32).await;
        for number in 0..100 {
            write(&mut *sessions[0], number).await.unwrap();
        }
        for round in 0..20 {
            for session in &mut sessions[16..] {
                send_and_drop(&mut **session, 99).await;
            }
            // In every other round the kernel has the requests when the clients leave.
            if round % 2 == 0 {
                tokio::task::yield_now().await;
            }
            sessions.truncate(16);
            assert_eq!(read_at_once(&mut sessions).await, vec![FOUND; 16]);
            // They take the places of the clients that left.
            sessions.extend(connect(&*database, 16).await);
            assert_eq!(read_at_once(&mut sessions).await, vec![FOUND; 32]);
        }
    });
}

#[test]
fn a_client_works_only_in_the_thread_and_runtime_that_connected_it() {
    let (bench, _device, _) = on_a_device();
    let database = bench.open();
    let mut early = on_a_runtime(async {
        let mut session = database.connect().await.unwrap();
        write(&mut *session, 5).await.unwrap();
        session
    });
    on_a_runtime(async {
        let mut session = database.connect().await.unwrap();
        assert_eq!(read(&mut *session, 5).await, FOUND);
        let late = read(&mut *early, 5).await;
        assert_eq!(late.unwrap_err().cause, Cause::Io);
        let moved = std::thread::spawn(move || on_a_runtime(read(&mut *session, 5)));
        let failure = moved.join().unwrap().unwrap_err();
        assert_eq!(
            failure.message,
            "a client of io_uring must stay in the thread that connected it"
        );
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
            send_and_drop(&mut *session, 99 - number).await;
            let found = read(&mut *session, number).await;
            assert_eq!(found.unwrap().records, 1, "{number}");
        }
        send_and_drop(&mut *session, 7).await;
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
