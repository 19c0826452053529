//! What fails in or after a load: background work, requests of a server, a disk that is full.

use crate::{
    Bench, resumed, run_up_to, started,
    support::{RECORDS, loads, plan, points, run, system, system_with},
};
use std::{
    cell::Cell,
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tailmark_driver::{
    Access, Database, Driver, Location, Params, Place, ServerContents, ServerLook, Session,
    Settled, Stopped, db,
};
use tailmark_model::Finding;
use tailmark_runner::Error;
use tailmark_testing::{Tmpfs, test};
use tempfile::TempDir;

thread_local! {
    /// The next waits for background work, until the one that fails.
    static SETTLES: Cell<u32> = const { Cell::new(0) };
}

/// The driver `file`, of which a wait for background work fails.
struct Unsettled(Box<dyn Database>);

impl Database for Unsettled {
    fn session(&self) -> Result<Box<dyn Session>, tailmark_driver::Error> {
        self.0.session()
    }
    fn settle(&self, _: Duration, _: Stopped<'_>) -> Result<Settled, tailmark_driver::Error> {
        let left = SETTLES.get();
        SETTLES.set(left.wrapping_sub(1));
        match left {
            1 => Err(tailmark_driver::Error::Database {
                action: "compact",
                driver: "file",
                place: "here".to_owned(),
                source: "no space".into(),
            }),
            _ => Ok(Settled::Yes),
        }
    }
}

/// Runs to the wait for background work of this number, which fails.
fn run_to_failed_settling(number: u32) -> TempDir {
    let mut bench = Bench::new("ycsb-c");
    let file = bench.plan.systems[0].driver;
    bench.plan.systems[0].driver = Box::leak(Box::new(Driver {
        open: |params| Ok(Box::new(Unsettled((db::find("file")?.open)(params)?))),
        ..*file
    }));
    SETTLES.set(number);
    let error = run(&bench.plan, bench.out.path());
    let Err(Error::Midway(error)) = error else {
        panic!("{error:?}");
    };
    assert!(matches!(*error, Error::Driver(_)), "{error:?}");
    bench.out
}

fn failed_settling(findings: &[Finding]) -> bool {
    let mut findings = findings.iter();
    findings.any(|f| f.code == "not-settled" && f.text().contains("no space"))
}

#[test]
fn a_load_whose_background_work_fails_says_so() {
    let out = run_to_failed_settling(1);
    let loads = loads(out.path());
    assert_eq!((loads.len(), points(out.path()).len()), (1, 0));
    assert!(failed_settling(&loads[0].phase.findings));
}

#[test]
fn a_point_whose_background_work_fails_after_it_is_kept_and_says_so() {
    let out = run_to_failed_settling(3);
    let points = points(out.path());
    assert_eq!(points.len(), 1);
    assert!(failed_settling(&points[0].phase.findings));
}

/// A server that refuses requests of its first clients, and does not keep their marks.
struct Server;

static MARKER: Mutex<Option<String>> = Mutex::new(None);
/// Clients so far.
static CLIENTS: AtomicUsize = AtomicUsize::new(0);
/// The request that fails, of the first clients.
const FAILS: [&str; 2] = ["1500", "700"];

impl Database for Server {
    fn session(&self) -> Result<Box<dyn Session>, tailmark_driver::Error> {
        let driver = db::find("sim-threads")?;
        let client = CLIENTS.fetch_add(1, Ordering::SeqCst);
        let fails = FAILS.get(client).unwrap_or(&"0");
        let system = system_with("a", "sim-threads", "x".as_ref(), &[("error_every", fails)]);
        let opened = (driver.open)(&Params {
            location: system.location,
            data: system.data,
            settings: system.settings,
            semantics: system.semantics,
            access: Access::Write,
            study: String::new(),
        });
        opened?.session()
    }
    fn marker(&self) -> Result<Option<String>, tailmark_driver::Error> {
        Ok(MARKER.lock().unwrap().clone())
    }
    fn set_marker(&self, text: &str) -> Result<(), tailmark_driver::Error> {
        let is_zero = text.contains("\"loaded\": 0");
        if is_zero || CLIENTS.load(Ordering::SeqCst) > FAILS.len() {
            *MARKER.lock().unwrap() = Some(text.to_owned());
        }
        Ok(())
    }
    fn is_empty(&self) -> Result<bool, tailmark_driver::Error> {
        Ok(true)
    }
}

#[test]
fn a_load_of_a_server_that_begins_again_goes_on_and_tells_what_failed_before() {
    let scripted = db::find("sim-threads").unwrap();
    let mut system = system("a", "sim-threads", Path::new("x"));
    system.location = Location::of_hosts("127.0.0.1:9");
    system.driver = Box::leak(Box::new(Driver {
        place: Place::Hosts,
        open: |_| Ok(Box::new(Server)),
        look: Some(ServerLook {
            at: |_| {
                Ok(ServerContents {
                    marker: Server.marker()?,
                    is_empty: Server.is_empty()?,
                    ..ServerContents::default()
                })
            },
            of_empty: |_| ServerContents::default(),
        }),
        ..*scripted
    }));
    let mut plan = plan(vec![system], &["ycsb-c"], &[1]);
    plan.sweep.load_threads = 1;
    let out = tempfile::tempdir().unwrap();
    run(&plan, out.path()).unwrap();
    let load = &loads(out.path())[0];
    let text = resumed(load).unwrap();
    assert!(
        load.records == RECORDS && text.contains("Requests failed 2 times"),
        "{text}"
    );
}

#[test]
fn what_a_load_left_behind_makes_room_for_the_next_one() {
    let small = Tmpfs::new(12 << 20);
    let mut bench = Bench::new("ycsb-c");
    bench.plan.systems[0].location = Location::Directory(small.path().to_owned());
    run_up_to(&bench.plan, bench.out.path(), "flushing the loaded data");
    let marker = small.path().join("slots.dat.dataset.json");
    let text = fs::read_to_string(&marker).unwrap();
    fs::write(&marker, started(&text, 0)).unwrap();
    // Only the space of a marker is left.
    let rest = small.path().join("rest");
    fs::write(&rest, vec![1; 12 << 20]).unwrap_err();
    let rest = fs::OpenOptions::new().write(true).open(&rest).unwrap();
    rest.set_len(rest.metadata().unwrap().len() - (64 << 10))
        .unwrap();
    let load = bench.load_after();
    assert_eq!(load.records, RECORDS);
}
