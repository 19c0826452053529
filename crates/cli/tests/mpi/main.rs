//! A run of several processes in which one panics in the middle of the second of three points: in a
//! client, in the thread that collects what clients measured, or in any other thread of a rank that
//! follows. The ranks are this program, with the runner and the MPI that tailmark has.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{
    env,
    path::Path,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};
use tailmark_cluster::{Cluster, launched};
use tailmark_driver::{self as driver, Completion, Database, Driver, Operation, Params, Session};
use tailmark_engine::{IntervalStats, Observer, PhaseKind, PhaseStart, Stop};
use tailmark_mpi::Mpi;
use tailmark_plan::{Plan, RawPlan};
use tailmark_runner::{Ranks, follow, run_on};
use tailmark_study::Study;
use tailmark_testing::{Hosts, Mpirun, test};
use tempfile::TempDir;

/// Who of a job panics: `client`, `collector` or `follower`; nobody else.
const PANICS: &str = "TEST_PANICS";

/// No job takes nearly so long; the machine may be busy.
const END: Duration = Duration::from_secs(120);

/// The points that have begun, in rank 0.
static BEGUN: AtomicU32 = AtomicU32::new(0);

/// By this file a rank that follows knows that the second point has begun.
const SECOND: &str = "second";

fn main() -> ExitCode {
    match env::var(PANICS) {
        Ok(who) => {
            play(&who);
            ExitCode::SUCCESS
        }
        Err(_) => tailmark_testing::run(),
    }
}

/// A rank of the run.
fn play(who: &str) {
    let cluster: Arc<dyn Cluster> = Arc::new(Mpi::join(launched().unwrap()).unwrap());
    let stop = Stop::new();
    if cluster.rank() > 0 {
        if who == "follower" && cluster.rank() == 1 {
            let started = thread::Builder::new().name("beside".to_owned());
            started.spawn(panic_in_the_second).unwrap();
        }
        return follow(cluster, &stop).unwrap();
    }
    let plan = plan(who);
    let own = plan.clone().at_rank(0, &cluster.host());
    let ranks = Ranks::lead(cluster, &plan, &stop).unwrap();
    let panics = who == "collector";
    run_on(&ranks, &own, Path::new("out"), &Begun { panics }, &stop).unwrap();
}

/// Three points on all ranks.
fn plan(who: &str) -> Plan {
    let text = "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n[dataset]\nrecords = 1000\n\
                [machine]\nprobes = []\n[sweep]\nworkloads = ['ycsb-c']\nthreads = [3, 6, 9]\n\
                duration = '2s'\nwarmup = '0s'\n";
    let mut plan = RawPlan::parse("test", text).unwrap().check().unwrap();
    if who == "client" {
        let null = driver::db::find("null").unwrap();
        plan.systems[0].driver = Box::leak(Box::new(Driver {
            open: |params| Ok(Box::new(Panicking(open_null(params)?))),
            ..*null
        }));
    }
    plan
}

fn open_null(params: &Params) -> Result<Box<dyn Database>, driver::Error> {
    (driver::db::find("null").unwrap().open)(params)
}

fn panic_in_the_second() {
    while !Path::new(SECOND).exists() {
        thread::sleep(Duration::from_millis(5));
    }
    panic!("on cue");
}

/// Counts the points that begin; may panic in what it is told.
struct Begun {
    panics: bool,
}

impl Observer for Begun {
    fn phase_started(&self, phase: &PhaseStart<'_>) {
        let is_second =
            phase.kind == PhaseKind::Measure && BEGUN.fetch_add(1, Ordering::SeqCst) == 1;
        if is_second {
            std::fs::write(SECOND, "").unwrap();
        }
    }

    fn recorded(&self, _: u32, _: &IntervalStats) {
        let is_second = BEGUN.load(Ordering::SeqCst) == 2;
        assert!(!(self.panics && is_second), "on cue");
    }
}

/// A database whose requests panic in the second point.
struct Panicking<T>(T);

impl Database for Panicking<Box<dyn Database>> {
    fn session(&self) -> Result<Box<dyn Session>, driver::Error> {
        Ok(Box::new(Panicking(self.0.session()?)))
    }
}

impl Session for Panicking<Box<dyn Session>> {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        assert!(BEGUN.load(Ordering::Relaxed) != 2, "on cue");
        self.0.execute(operation)
    }
}

/// A job on three hosts.
fn job<'a>(hosts: &'a Hosts, directory: &Path, who: &str) -> Mpirun<'a> {
    let program = env::current_exe().unwrap();
    Mpirun::on(hosts, &program, directory)
        .env(PANICS, who)
        .env("RUST_BACKTRACE", "0")
}

/// The panic is said with rank and host, all ranks end, and the points before it are in a study that
/// goes on.
fn ends_the_run(who: &str, said: &str) {
    let (dir, hosts) = (TempDir::new().unwrap(), Hosts::new(3));
    let out = dir.path().join("out");
    let mut panicked = job(&hosts, dir.path(), who).start();
    panicked.until_no_rank_lives(END);
    let ended = panicked.end(END);
    assert_eq!(ended.code, Some(101), "{}", ended.err);
    assert!(ended.err.contains("on cue"), "{}", ended.err);
    assert!(ended.err.contains(said), "no `{said}`: {}", ended.err);
    let kept = Study::open_read_only(&out).unwrap().points().unwrap();
    assert_eq!(kept.len(), 1, "{}", ended.err);
    let went_on = job(&hosts, dir.path(), "nobody").run(END);
    assert_eq!(went_on.code, Some(0), "{}", went_on.err);
    let points = Study::open_read_only(&out).unwrap().points().unwrap();
    assert_eq!(points.len(), 3);
    assert!(points.contains(&kept[0]));
    assert!(points.iter().all(|point| point.phase.ranks.len() == 3));
}

#[test]
fn a_panic_of_a_client_ends_the_run_on_all_ranks() {
    ends_the_run("client", "error: rank 0 on node1: thread `client-");
}

#[test]
fn a_panic_beside_the_clients_ends_the_run_on_all_ranks() {
    ends_the_run(
        "collector",
        "error: rank 0 on node1: thread `main` panicked",
    );
}

#[test]
fn a_panic_of_a_rank_that_follows_ends_the_run_on_all_ranks() {
    ends_the_run(
        "follower",
        "error: rank 1 on node2: thread `beside` panicked",
    );
}
