//! Which findings a point gets: each rule on a driver that does what the rule looks for.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use std::{path::Path, sync::Mutex, time::Duration};
use support::{plan, points, run, system, system_with};
use tailmark_driver::{
    Database, Driver, Error, Location, Params, Place, ServerContents, ServerLook, Session, db,
};
use tailmark_model::{Arrivals, Finding, Metric, Point};
use tailmark_plan::{AskedRate, DropCaches, Plan, Service, ServiceControl};
use tailmark_testing::assert_says;

/// The only point of a plan.
fn point(plan: &Plan) -> Point {
    let out = tempfile::tempdir().unwrap();
    run(plan, out.path()).unwrap();
    points(out.path()).remove(0)
}

fn text(point: &Point, code: &str) -> String {
    let found = point.phase.findings.iter().find(|f| f.code == code);
    found.map_or_else(String::new, Finding::text)
}

fn scripted(settings: &[(&str, &str)]) -> Plan {
    plan(
        vec![system_with("a", "sim-threads", Path::new("x"), settings)],
        &["ycsb-c"],
        &[1],
    )
}

#[test]
fn failures_are_a_finding_with_their_cause() {
    let point = point(&scripted(&[("error_every", "10"), ("cause", "timeout")]));
    assert_eq!(point.phase.errors(), 50);
    assert_eq!(
        (
            point.phase.operations,
            point.phase.kinds.values().next().unwrap().count
        ),
        (500, 450)
    );
    let text = text(&point, "errors");
    assert!(
        text.contains("50 of 500") && text.contains("read timeout"),
        "{text}"
    );
}

#[test]
fn misses_are_a_finding() {
    let point = point(&scripted(&[("miss_every", "10")]));
    assert!(
        text(&point, "misses").starts_with("50 of 500 reads"),
        "{}",
        text(&point, "misses")
    );
}

#[test]
fn a_rate_that_is_not_reached_is_a_finding() {
    let mut plan = scripted(&[("latency_us", "10000")]);
    plan.sweep.rate = Some(1000.0);
    plan.sweep.operations = Some(40);
    let slow = point(&plan);
    assert!(
        text(&slow, "rate-not-met").contains("of the offered 1,000"),
        "{:?}",
        slow.phase.findings
    );
    // A client does 100 requests of 10 ms a second: the last of 40 is due after 39 ms, and ends
    // after 400 ms.
    let read = slow.phase.kinds.values().next().unwrap();
    assert!(
        read.response().max() > 100_000_000,
        "a client that is late keeps its due times"
    );
    assert!(read.service.value_at_quantile(0.5) < 100_000_000);
    // The only client was free only for the first operation.
    let waited = text(&slow, "no-free-client");
    assert!(
        waited.contains("sweep.rate_threads"),
        "{:?}",
        slow.phase.findings
    );
    assert_eq!(text(&slow, "started-late"), "");
}

#[test]
fn a_rate_that_is_reached_is_none() {
    let mut plan = scripted(&[]);
    plan.sweep.rate = Some(10.0);
    plan.sweep.operations = Some(20);
    // One of several tries: a busy machine may be late at any of them.
    let mut runs = std::iter::repeat_with(|| point(&plan)).take(5);
    assert!(runs.any(|point| text(&point, "rate-not-met").is_empty()));
}

/// 10 s in virtual time at 1,000 operations a second, by so many clients.
fn at_a_rate(model: &str, clients: u32, arrivals: Arrivals) -> Point {
    let sim = system_with("a", "sim", Path::new("x"), &[("model", model)]);
    let mut plan = plan(vec![sim], &["ycsb-c"], &[]);
    let sweep = &mut plan.sweep;
    sweep.rates = vec![AskedRate::Fixed(1_000.0)];
    (sweep.rate_threads, sweep.arrivals) = (clients, Some(arrivals));
    (sweep.operations, sweep.duration) = (None, Some(Duration::from_secs(10)));
    point(&plan)
}

/// The findings that only a point at a rate can have.
fn of_rate(point: &Point) -> Vec<&str> {
    const CODES: [&str; 5] = [
        "censored",
        "no-free-client",
        "rate-not-met",
        "started-late",
        "woken-late",
    ];
    let found = CODES.into_iter();
    found.filter(|code| !text(point, code).is_empty()).collect()
}

#[test]
fn too_few_clients_for_a_rate_are_a_finding_and_enough_are_none() {
    for arrivals in Arrivals::ALL {
        // 10 are busy on average.
        let few = at_a_rate("constant 10ms", 8, arrivals);
        assert_eq!(
            of_rate(&few),
            ["no-free-client", "rate-not-met"],
            "{arrivals:?}"
        );
        let waited = text(&few, "no-free-client");
        assert!(waited.contains("for 8 clients"), "{waited}");
        let enough = at_a_rate("constant 10ms", 64, arrivals);
        assert!(of_rate(&enough).is_empty(), "{:?}", enough.phase.findings);
    }
}

#[test]
fn operations_that_are_never_done_are_a_finding() {
    let hangs = at_a_rate("constant 1ms; mode 0.1% constant 60s", 64, Arrivals::Even);
    let censored = hangs.phase.censored;
    assert!((1..40).contains(&censored), "{censored}");
    let said = text(&hangs, "censored");
    let parts = [
        &format!("{censored} of 10,000 operations were due but never done"),
        "quantiles of reads above p99.",
    ];
    assert_says(&said, &parts);
    assert_eq!(of_rate(&hangs), ["censored"]);
}

#[test]
fn a_point_that_was_ended_early_says_so_of_what_had_no_answer() {
    let model = [("model", "constant 1ms; errors 2s 90s 100%")];
    let sim = system_with("a", "sim", Path::new("x"), &model);
    let mut plan = plan(vec![sim], &["ycsb-c"], &[]);
    plan.sweep.rates = vec![AskedRate::Fixed(1_000.0)];
    (plan.sweep.rate_threads, plan.sweep.arrivals) = (64, Some(Arrivals::Even));
    (plan.sweep.operations, plan.sweep.duration) = (None, Some(Duration::from_secs(60)));
    let gone = point(&plan);
    assert!(gone.phase.duration_s < 59.0, "{}", gone.phase.duration_s);
    let said = text(&gone, "censored");
    assert_says(&said, &["had no answer when the point was ended early"]);
    assert!(!said.contains("within 10 s"), "{said}");
}

#[test]
fn too_few_samples_say_how_many_it_takes_for_what_the_study_is_about() {
    let mut plan = scripted(&[]);
    let said = |of: &Plan| text(&point(of), "too-few-samples").to_owned();
    let usual = [
        "500 reads are too few to state p99 to p99.99:",
        "100,000 reads",
    ];
    assert_says(&said(&plan), &usual);
    plan.report.metric = Metric::from_name("p99.999 read");
    let asked = ["p99 to p99.999:", "1,000,000 reads"];
    assert_says(&said(&plan), &asked);
}

#[test]
fn data_that_fits_in_the_page_cache_is_a_finding() {
    let place = tempfile::tempdir().unwrap();
    let buffered = system_with("a", "file", place.path(), &[("direct", "false")]);
    let found = point(&plan(vec![buffered], &["ycsb-c"], &[1]));
    assert!(
        text(&found, "fits-in-memory").contains("page cache"),
        "{:?}",
        found.phase.findings
    );
}

#[test]
fn data_read_past_every_cache_is_none() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let found = point(&plan(
        vec![system("a", "file", place.path())],
        &["ycsb-c"],
        &[1],
    ));
    assert_eq!(
        text(&found, "fits-in-memory"),
        "",
        "{:?}",
        found.phase.findings
    );
}

#[test]
fn kept_caches_are_a_finding() {
    let mut plan = scripted(&[]);
    plan.machine.drop_caches = DropCaches::Never;
    assert!(text(&point(&plan), "caches-not-dropped").contains("machine.drop_caches"));
}

/// `sim-threads` as a server, which keeps a marker.
struct Server(Box<dyn Database>);

static MARKER: Mutex<Option<String>> = Mutex::new(None);

impl Database for Server {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        self.0.session()
    }
    fn marker(&self) -> Result<Option<String>, Error> {
        Ok(MARKER.lock().unwrap().clone())
    }
    fn set_marker(&self, text: &str) -> Result<(), Error> {
        *MARKER.lock().unwrap() = Some(text.to_owned());
        Ok(())
    }
    fn is_empty(&self) -> Result<bool, Error> {
        Ok(true)
    }
}

#[test]
fn the_caches_of_a_server_on_another_machine_are_left_alone_and_that_is_said() {
    let open = |params: &Params| -> Result<Box<dyn Database>, Error> {
        Ok(Box::new(Server((db::find("sim-threads")?.open)(params)?)))
    };
    let scripted = db::find("sim-threads").unwrap();
    let driver: &'static Driver = Box::leak(Box::new(Driver {
        place: Place::Hosts,
        open,
        look: Some(ServerLook {
            at: |_| {
                Ok(ServerContents {
                    marker: MARKER.lock().unwrap().clone(),
                    is_empty: true,
                    ..ServerContents::default()
                })
            },
            of_empty: |_| ServerContents::default(),
        }),
        ..*scripted
    }));
    let mut system = system("a", "sim-threads", Path::new("x"));
    system.location = Location::of_hosts("10.0.0.1:9042,127.0.0.1:9042");
    system.driver = driver;
    let mut plan = plan(vec![system], &["ycsb-c"], &[1]);
    plan.machine.drop_caches = DropCaches::Own;
    let alone = point(&plan);
    let said = text(&alone, "caches-not-dropped");
    assert!(said.contains("they are on the server's machine"), "{said}");
    assert!(!said.contains("as root"), "{said}");
    plan.systems[0].service = Some(Service {
        control: ServiceControl::Commands {
            start: "true".to_owned(),
            stop: Some("true".to_owned()),
        },
        ready: None,
        log: None,
    });
    let restarted = point(&plan);
    let after_restart = text(&restarted, "caches-not-dropped");
    assert!(
        after_restart.contains("a restart empties the caches of the database"),
        "{after_restart}"
    );
    plan.systems[0].location = Location::of_hosts("127.0.0.1:9042");
    assert!(plan.systems[0].is_here());
}

#[test]
fn an_embedded_database_of_another_version_than_the_plans_is_a_finding() {
    let found = |version: &str| {
        let place = tempfile::tempdir().unwrap();
        let mut system = system("a", "rocksdb", place.path());
        system.version = Some(version.to_owned());
        let point = point(&plan(vec![system], &["ycsb-c"], &[1]));
        text(&point, "other-version").to_owned()
    };
    let other = found("6.22");
    assert!(
        other.contains("version 6.22 of rocksdb") && other.contains("this is version 11."),
        "{other}"
    );
    assert_eq!(found("11"), "");
}

#[test]
fn a_memory_limit_that_cannot_be_applied_is_a_finding() {
    let mut plan = scripted(&[]);
    plan.machine.memory_limit = Some(1 << 20); // less than the program itself uses
    assert!(text(&point(&plan), "memory-not-limited").contains("1.0 MiB"));
}

#[test]
fn processors_are_full_by_whose_work_they_do() {
    let mut plan = plan(
        vec![system("a", "null", Path::new("x"))],
        &["ycsb-c"],
        &[64],
    );
    plan.sweep.operations = None;
    plan.sweep.duration = Some(Duration::from_secs(3));
    let point = point(&plan);
    let shares = point.phase.cpu_shares().unwrap();
    assert!(shares.client > 0.0, "{shares:?}");
    assert_eq!(shares.database, None, "it has no threads of its own");
    // The share of the machine that 64 busy clients get depends on what else runs there.
    let is_full = shares.of_processes(shares.client) >= 0.90;
    let is_disturbed = shares.busy >= 0.90 && shares.others >= 0.10;
    let said = text(&point, "client-saturated");
    assert_eq!(said.contains("took"), is_full, "{said} {shares:?}");
    let busy = text(&point, "machine-busy");
    assert_eq!(busy.contains("took"), is_disturbed, "{busy} {shares:?}");
}

#[test]
fn a_client_that_is_waited_for_at_the_end_is_a_finding() {
    // One of two clients does at least 5 of 9 operations, and its fifth takes a second.
    let settings = [("stall_every", "5"), ("stall_us", "1000000")];
    let mut plan = scripted(&settings);
    (plan.sweep.threads, plan.sweep.operations) = (vec![2], Some(9));
    let found = point(&plan);
    assert_eq!(found.phase.operations, 9);
    let said = text(&found, "straggler");
    assert!(
        said.contains("% of the time") && said.contains("which lowers ops/s"),
        "{said}"
    );
    // If a point ends by time, each client's own time counts, so none waits for another.
    (plan.sweep.operations, plan.sweep.duration) = (None, Some(Duration::from_millis(100)));
    let timed = point(&plan);
    assert_eq!(text(&timed, "straggler"), "");
    assert!(timed.phase.duration_s >= 0.1);
    assert!(timed.phase.duration_s <= timed.phase.elapsed_s());
    // A part of the stall may be before the measured part.
    assert!(
        timed.phase.elapsed_s() >= 0.9,
        "{}",
        timed.phase.elapsed_s()
    );
}

#[test]
fn requests_that_hang_until_the_end_are_a_finding() {
    // The second request of each client takes 14 s; the point is to end after 2.
    let hangs = [("stall_every", "2"), ("stall_us", "14000000")];
    let mut plan = scripted(&hangs);
    (plan.sweep.operations, plan.sweep.duration) = (None, Some(Duration::from_secs(2)));
    plan.sweep.threads = vec![2];
    let found = point(&plan);
    assert_eq!(found.phase.errors(), 0);
    let said = text(&found, "no-answer");
    assert!(said.contains("after the last success"), "{said}");
}
