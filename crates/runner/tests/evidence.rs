//! What is said of a plan before anything is measured: what former studies know of its systems, and
//! whether its points are long enough for the quantile that its report is about.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use std::{path::Path, sync::Mutex};
use support::run;
use tailmark_engine::{Observer, PhaseStart, Stop};
use tailmark_model::{
    Header, Kind, KindResult, Phase, Point, PointKey, System, new_latencies, number,
};
use tailmark_plan::{Plan, RawPlan};
use tailmark_runner::{Facts, dry_run};
use tailmark_stats::statistics::{Look, smallest_difference};
use tailmark_study::Study;
use tailmark_testing::assert_says;
use tempfile::TempDir;

fn checked(sweep: &str) -> Plan {
    let text = format!(
        "[database]\ndriver = 'null'\n[dataset]\nrecords = 1000\n[[system]]\nname = 'a'\n\
         [sweep]\nthreads = [1, 2]\nwarmup = '0s'\n{sweep}"
    );
    let raw = RawPlan::parse("test", &text).unwrap();
    raw.check().unwrap()
}

/// What is said before the first phase, and after.
#[derive(Default)]
struct Said(Mutex<(Vec<String>, Vec<String>, bool)>);

impl Observer for Said {
    fn notice(&self, text: &str) {
        let mut said = self.0.lock().unwrap();
        if said.2 {
            said.1.push(text.to_owned())
        } else {
            said.0.push(text.to_owned())
        }
    }
    fn phase_started(&self, _: &PhaseStart<'_>) {
        self.0.lock().unwrap().2 = true;
    }
}

/// What a run says of points that are too short, all of it before it measures anything.
fn too_short(plan: &Plan, out: &Path) -> Vec<String> {
    let said = Said::default();
    tailmark_runner::run(plan, out, &said, &Stop::new()).unwrap();
    let (before, after, _) = said.0.into_inner().unwrap();
    let is_it = |text: &String| text.contains("make points");
    assert!(!after.iter().any(is_it), "{after:?}");
    before.into_iter().filter(is_it).collect()
}

#[test]
fn a_plan_that_is_too_short_for_its_quantile_says_so_before_it_measures() {
    let said = |operations: u32, latency: &str| {
        let out = TempDir::new().unwrap();
        let sweep = format!("operations = {operations}\n[report]\nmetric = '{latency}'");
        too_short(&checked(&sweep), out.path())
    };
    let given = said(50, "p99.9 read");
    let [given] = &given[..] else {
        panic!("{given:?}")
    };
    let parts = [
        "p99.9 read of workload `ycsb-a` will not be printed",
        "a point of `a` at 1 thread has about 25 read requests",
        "10,000 to print it and 100,000 to be certain",
        "make points 4,000 times as long (sweep.operations)",
    ];
    assert_says(given, &parts);
    // 200 requests are enough for the median, and half of the operations are reads.
    assert_eq!(said(400, "p50 read"), [""; 0]);
    let certain = said(398, "p50 read");
    assert!(certain[0].contains("will not be certain"), "{certain:?}");
    assert!(certain[0].contains("1.1 times as long"), "{certain:?}");
    assert_eq!(said(50, "mean read"), [""; 0], "a mean needs no tail");
}

#[test]
fn what_is_measured_already_is_not_said_to_be_too_short() {
    let out = TempDir::new().unwrap();
    let plan = checked("operations = 50\n[report]\nmetric = 'p99.9 read'");
    assert_eq!(too_short(&plan, out.path()).len(), 1);
    assert_eq!(too_short(&plan, out.path()), [""; 0]);
}

/// A run of a point of a former study.
fn point(threads: u32, repeat: u32, rate: Option<f64>, ops_per_sec: f64, read_ns: u64) -> Point {
    let mut service = new_latencies();
    service.record_n(read_ns, 1_000).unwrap();
    let read = KindResult {
        count: 1_000,
        service,
        ..KindResult::default()
    };
    Point {
        key: PointKey {
            system: "a".into(),
            workload: "ycsb-a".into(),
            distribution: "zipfian".into(),
            threads,
            repeat,
            target_rate: rate,
            arrivals: None,
        },
        phase: Phase {
            duration_s: 1_000.0 / ops_per_sec,
            operations: 1_000,
            kinds: [(Kind::Read, read)].into(),
            ..Phase::default()
        },
    }
}

/// A former study in a directory, made at this time.
fn earlier(dir: &Path, created_ms: u64, system: &System, points: &[Point]) {
    let header = Header {
        created_ms,
        ..checked("").header
    };
    let study = Study::create(dir, &header, std::slice::from_ref(system)).unwrap();
    points
        .iter()
        .for_each(|point| study.add_point(point).unwrap());
}

fn null() -> System {
    System {
        name: "a".into(),
        driver: "null".into(),
        place: String::new(),
        semantics: "faithful".into(),
        settings: [].into(),
        ceiling_for: None,
    }
}

/// Runs a factor apart: the logarithms differ by ln(1.1), so their deviation is that.
fn runs(threads: u32, ops_per_sec: f64) -> [Point; 3] {
    [(1, 1.0), (2, 1.1), (3, 1.21)].map(|(repeat, factor)| {
        let (ops, ns) = (ops_per_sec * factor, 1_000_000.0 * factor * factor);
        point(threads, repeat, None, ops, ns as u64)
    })
}

fn said(plan: &Plan, out: &Path) -> String {
    dry_run(plan, out, &Facts::gather(plan, out))
        .lines
        .join("\n")
}

#[test]
fn the_noise_is_that_of_the_newest_former_study_of_the_same_system() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    let plan = checked("operations = 500\nrepeats = 5\n[report]\nmetric = 'p99 read'");
    let unknown = said(&plan, &at("out"));
    assert_says(&unknown, &["      ops/s: ", "      p99 read: "]);
    earlier(
        &at("old"),
        1_000,
        &null(),
        &[runs(1, 500.0), runs(2, 900.0)].concat(),
    );
    let elsewhere = System {
        place: "/elsewhere".into(),
        ..null()
    };
    earlier(&at("elsewhere"), 3_000, &elsewhere, &runs(1, 500.0));
    // Newer, but none of its points was repeated.
    earlier(&at("single"), 2_000, &null(), &runs(1, 500.0)[..1]);
    let known = said(&plan, &at("out"));
    let old = at("old").display().to_string();
    // Logarithms that differ by ln(1.1) from run to run have that deviation; latencies twice.
    let difference =
        |noise: f64| number::percent(smallest_difference(noise, (5, Look::ONLY), 2, 0.03).unwrap());
    let ops = difference(1.1_f64.ln());
    let parts = [
        format!("ops/s of a: {ops} or more, because its runs differ by 9.5% in the study `{old}`"),
        format!("its runs differ by 19% in the study `{old}`"),
    ];
    assert_says(&known, &parts);
    assert!(!known.contains("      ops/s: "), "{known}");
    // The study of the run itself counts too, and is the newest.
    earlier(&at("out"), 4_000, &null(), &runs(2, 700.0));
    let report = said(&plan, &at("out"));
    let part = format!("in the study `{}`", at("out").display());
    assert!(report.contains(&part), "{report}");
}

#[test]
fn runs_at_a_rate_and_runs_that_failed_say_nothing_of_noise() {
    let dir = TempDir::new().unwrap();
    let mut points = vec![point(1, 1, None, 500.0, 1), point(1, 2, None, 510.0, 1)];
    points[1].phase.failed = 500;
    points.extend([1, 2].map(|repeat| point(2, repeat, Some(600.0), 600.0, 1)));
    earlier(&dir.path().join("old"), 1_000, &null(), &points);
    let plan = checked("operations = 500\nrepeats = 5");
    let said = said(&plan, &dir.path().join("out"));
    assert!(!said.contains("ops/s of a"), "{said}");
}

#[test]
fn the_speed_of_a_former_study_says_how_long_a_point_must_be() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("out");
    let plan = checked("duration = '100ms'\n[report]\nmetric = 'p99 read'");
    // Its speed is unknown.
    assert_eq!(too_short(&plan, &dir.path().join("first")), [""; 0]);
    std::fs::remove_dir_all(dir.path().join("first")).unwrap();
    let points = [point(1, 1, None, 500.0, 1), point(2, 1, None, 1_000.0, 1)];
    earlier(&dir.path().join("old"), 1_000, &null(), &points);
    let text = said(&plan, &out);
    let parts = [
        "p99 read: printed if a point has at least 1,000 read requests, and certain from 10,000 on",
        "ycsb-a: 20,000 operations, 40s on a with 1 thread (500 ops/s in an earlier study), \
         20s on a with 2 threads (1,000 ops/s in an earlier study)",
        "TOO SHORT: p99 read of workload `ycsb-a` will not be printed: a point of `a` at 1 thread has \
         about 25 read requests",
    ];
    assert_says(&text, &parts);
    let notices = too_short(&plan, &out);
    let [notice] = &notices[..] else {
        panic!("{notices:?}")
    };
    assert!(
        notice.contains("400 times as long (sweep.duration)"),
        "{notice}"
    );
}

#[test]
fn the_own_study_counts_first_and_one_of_other_settings_never() {
    let dir = TempDir::new().unwrap();
    let plan = |model: &str| {
        let text = format!(
            "[database]\ndriver = 'sim'\nmodel = '{model}'\n[dataset]\nrecords = 1000\n\
             [[system]]\nname = 'a'\n[report]\nmetric = 'p99 read'\n[sweep]\nthreads = 1\n\
             workloads = 'ycsb-c'\nrates = '50%'\nduration = '2s'\nwarmup = '0s'"
        );
        RawPlan::parse("test", &text).unwrap().check().unwrap()
    };
    let (slow, fast) = (plan("constant 1ms"), plan("constant 100us"));
    let at = |name: &str| dir.path().join(name);
    tailmark_runner::run(&fast, &at("fast"), &Said::default(), &Stop::new()).unwrap();
    // The only study is of another model.
    let unknown = said(&slow, &at("out"));
    assert!(!unknown.contains("ops/s in an earlier study"), "{unknown}");
    tailmark_runner::run(&slow, &at("out"), &Said::default(), &Stop::new()).unwrap();
    tailmark_runner::run(&fast, &at("newest"), &Said::default(), &Stop::new()).unwrap();
    let known = said(&slow, &at("out"));
    assert!(known.contains("1,000 ops/s in an earlier study"), "{known}");
    assert!(known.contains("(500 ops/s"), "{known}");
    assert!(
        !known.contains("10,000 ops/s in an earlier study"),
        "{known}"
    );
}

#[test]
fn what_the_report_is_about_may_change_between_runs_and_the_study_keeps_the_last() {
    let out = TempDir::new().unwrap();
    let keys = || {
        let plan = Study::open_read_only(out.path())
            .unwrap()
            .header()
            .unwrap()
            .plan;
        let key = |name: &str| plan.get(name).map_or("", |given| &given.value).to_owned();
        [key("report.metric"), key("report.equivalence")]
    };
    run(&checked("operations = 50"), out.path()).unwrap();
    assert_eq!(keys(), ["", "3%"]);
    let other = checked("operations = 50\n[report]\nmetric = 'mean read'\nequivalence = '5%'");
    let summary = run(&other, out.path()).unwrap();
    assert_eq!((summary.points_measured, summary.points_kept), (0, 2));
    assert_eq!(keys(), ["mean read", "5%"]);
    run(&checked("operations = 50"), out.path()).unwrap();
    assert_eq!(keys(), ["", "3%"]);
}
