//! Data that is adopted: it is the same for the whole run, and its sample is read until a stop.

use crate::{
    At, Bench, contents,
    support::{plan, points, run, system},
};
use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};
use tailmark_driver::{Completion, Database, Driver, FieldVisitor, Key, Operation, Session, db};
use tailmark_engine::{Silent, Stop};
use tailmark_plan::Adopt;
use tailmark_runner::Error;
use tailmark_testing::test;

/// Loads a data set as another program would have it: without a marker.
fn load_as_theirs(place: &Path, driver: &str, entry: &str) {
    let theirs = plan(vec![system("a", driver, place)], &["ycsb-c"], &[1]);
    run(&theirs, tempfile::tempdir().unwrap().path()).unwrap();
    fs::remove_file(place.join(format!("{entry}.dataset.json"))).unwrap();
}

#[test]
fn data_that_takes_the_place_of_what_was_adopted_is_neither_opened_nor_changed() {
    for (driver, entry) in [("file", "slots.dat"), ("rocksdb", "rocksdb")] {
        for adopt in [Adopt::Read, Adopt::Overwrite] {
            let places = tempfile::tempdir().unwrap();
            let place = |name: &str| {
                let place = places.path().join(name);
                fs::create_dir_all(&place).unwrap();
                place
            };
            let workload = match adopt {
                Adopt::Overwrite => "ycsb-a",
                _ => "ycsb-c",
            };
            let (ours, theirs) = (place("ours").join(entry), place("theirs").join(entry));
            load_as_theirs(&place("ours"), driver, entry);
            load_as_theirs(&place("theirs"), driver, entry);
            let before = contents(&theirs);
            let mut plan = plan(
                vec![system("a", driver, &place("ours"))],
                &[workload],
                &[1, 2],
            );
            plan.dataset.adopt = adopt;
            let openings = AtomicU32::new(0);
            let swap = At("opening the database", || {
                if openings.fetch_add(1, Relaxed) == 1 {
                    fs::rename(&ours, places.path().join("moved")).unwrap();
                    fs::rename(&theirs, &ours).unwrap();
                }
            });
            let out = places.path().join("out");
            let ended = tailmark_runner::run(&plan, &out, &swap, &Stop::new());
            let Err(Error::Midway(error)) = ended else {
                panic!("{driver}: {ended:?}");
            };
            let is_replaced = matches!(*error, Error::AdoptedReplaced { .. });
            assert!(is_replaced, "{driver}: {error:?}");
            assert!(contents(&ours) == before, "{driver}: it changed");
            assert_eq!(points(&out).len(), 1);
        }
    }
}

/// The driver `file` on a slow device: each read takes a while.
struct Slow(Box<dyn Database>);

impl Database for Slow {
    fn session(&self) -> Result<Box<dyn Session>, tailmark_driver::Error> {
        Ok(Box::new(SlowSession(self.0.session()?)))
    }
}

struct SlowSession(Box<dyn Session>);

impl Session for SlowSession {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        self.0.execute(operation)
    }

    fn read_verified<'a>(&'a mut self, key: Key<'a>, visit: FieldVisitor<'a>) -> Completion<'a> {
        thread::sleep(Duration::from_millis(100));
        self.0.read_verified(key, visit)
    }
}

/// The driver `file` behind a network: no read is ever answered.
struct Silenced;

impl Database for Silenced {
    fn session(&self) -> Result<Box<dyn Session>, tailmark_driver::Error> {
        Ok(Box::new(SilencedSession))
    }
}

struct SilencedSession;

impl Session for SilencedSession {
    fn execute<'a>(&'a mut self, _: Operation<'a>) -> Completion<'a> {
        Completion::Pending(Box::pin(std::future::pending()))
    }

    fn read_verified<'a>(&'a mut self, _: Key<'a>, _: FieldVisitor<'a>) -> Completion<'a> {
        Completion::Pending(Box::pin(std::future::pending()))
    }
}

#[test]
fn a_stop_ends_the_sample_of_adopted_records_within_a_second() {
    let mut bench = Bench::new("ycsb-c");
    load_as_theirs(bench.place.path(), "file", "slots.dat");
    bench.plan.dataset.adopt = Adopt::Read;
    let file = bench.plan.systems[0].driver;
    let slow = |params: &_| -> Result<Box<dyn Database>, _> {
        Ok(Box::new(Slow((db::find("file")?.open)(params)?)))
    };
    let silenced = |_: &_| -> Result<Box<dyn Database>, _> { Ok(Box::new(Silenced)) };
    for open in [slow as fn(&_) -> _, silenced] {
        // An optional system is not left out because of it.
        for optional in [false, true] {
            bench.plan.systems[0].driver = Box::leak(Box::new(Driver { open, ..*file }));
            bench.plan.systems[0].optional = optional;
            let stop = Stop::new();
            let ended = thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(Duration::from_millis(500));
                    stop.request();
                });
                let started = Instant::now();
                let ended = tailmark_runner::run(&bench.plan, bench.out.path(), &Silent, &stop);
                assert!(started.elapsed() < Duration::from_millis(1500));
                ended
            });
            assert!(matches!(ended, Err(Error::Stopped { .. })), "{ended:?}");
        }
    }
}
