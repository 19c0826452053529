//! Warm-ups that are ended by rule: when they end, what is found of them, and that systems that are
//! compared have equal ones, however a run came to its end.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};
use tailmark_engine::{Observer, PhaseKind, PhaseStart, Silent, Stop};
use tailmark_model::{Finding, Point, Warmup, finding::NOT_STEADY};
use tailmark_plan::{Plan, RawPlan};
use tailmark_runner::Summary;
use tailmark_stats::steady::Movement;
use tailmark_study::Study;
use tailmark_testing::assert_says;
use tempfile::TempDir;

/// A plan of simulated systems, each with its model, of 1,600 operations a second at most.
fn plan(sweep: &str, models: &[(&str, &str)]) -> Plan {
    let mut text = format!(
        "[database]\ndriver = 'sim'\n[dataset]\nrecords = 1000\n[sweep]\nworkloads = 'ycsb-c'\n\
         threads = 16\nwarmup = 'auto'\n{sweep}\n"
    );
    for (name, model) in models {
        text += &format!(
            "[[system]]\nname = '{name}'\n[system.database]\nmodel = 'constant 10ms; {model}'\n"
        );
    }
    RawPlan::parse("test", &text).unwrap().check().unwrap()
}

fn run(plan: &Plan, out: &Path) -> (Summary, Vec<Point>) {
    let summary = tailmark_runner::run(plan, out, &Silent, &Stop::new()).unwrap();
    (summary, points(out))
}

/// In the order of their names and repeats.
fn points(out: &Path) -> Vec<Point> {
    let mut points = Study::open(out).unwrap().points().unwrap();
    points.sort_by(|a, b| {
        let key = |point: &Point| (point.key.system.clone(), point.key.repeat);
        key(a).cmp(&key(b))
    });
    points
}

fn warmup(point: &Point) -> &Warmup {
    point.phase.warmup.as_deref().unwrap()
}

fn found(point: &Point) -> Option<String> {
    let found = point.phase.findings.iter().find(|f| NOT_STEADY.is_of(f));
    found.map(Finding::text)
}

/// Whether five windows of 30 s that end at an instant are steady, of a database whose requests take
/// `1 + 2 exp(-t / 60)` times as long: ops/s, and the latency at the start of each, where it is
/// highest.
fn is_steady_by_theory(end_s: f64) -> bool {
    let times = |t: f64| 1.0 + 2.0 * (-t / 60.0).exp();
    let starts: Vec<f64> = (1..=5).rev().map(|k| end_s - 30.0 * f64::from(k)).collect();
    let rate = |start: &f64| -> f64 {
        let steps = (0..300).map(|i| 1.0 / times(start + 0.1 * f64::from(i)));
        steps.sum::<f64>() / 300.0
    };
    let rates: Vec<f64> = starts.iter().map(rate).collect();
    let latencies: Vec<f64> = starts.iter().map(|start| times(*start)).collect();
    [rates, latencies]
        .iter()
        .all(|values| Movement::from_values(values).unwrap().is_steady())
}

#[test]
fn a_warm_up_ends_when_it_is_steady_and_not_before() {
    // Every 30 s from 210 s on: a minute that is ignored, and five windows.
    let requested = (0..).map(|k| 210.0 + 30.0 * f64::from(k));
    let expected = requested
        .clone()
        .find(|at| is_steady_by_theory(*at))
        .unwrap();
    assert!(expected > 210.0, "it is not steady at once");
    let out = TempDir::new().unwrap();
    let plan = plan("duration = '150s'", &[("a", "start 3 60s")]);
    let (summary, points) = run(&plan, out.path());
    assert_eq!((summary.points_measured, points.len()), (1, 1));
    let kept = warmup(&points[0]);
    assert_eq!((kept.steady_s, &kept.reason), (Some(expected), &None));
    // An interval stays open for some seconds after its end.
    let length_s = kept.length_s();
    assert!((expected..expected + 8.0).contains(&length_s), "{length_s}");
    assert_eq!(kept.phase.intervals.len(), length_s as usize);
    assert_eq!(found(&points[0]), None);
    // It continued where the warm-up ended: 1 + 2 exp(-336 / 60) times as long as at the end.
    let rate = points[0].phase.ops_per_sec();
    assert!((1_590.0..1_600.0).contains(&rate), "{rate}");
}

#[test]
fn what_is_steady_at_once_is_warmed_up_for_the_least_time() {
    let out = TempDir::new().unwrap();
    let plan = plan(
        "duration = '1s'\nwarmup_least = '20s'",
        &[("a", "noise 3% 1s")],
    );
    let kept = warmup(&run(&plan, out.path()).1[0]).clone();
    assert_eq!(kept.steady_s, Some(170.0));
}

#[test]
fn what_never_is_steady_ends_at_the_most_and_is_found() {
    let out = TempDir::new().unwrap();
    let sweep = "duration = '160s'\nwarmup_most = '4m'\n[report]\nmetric = 'p90 read'";
    let plan = plan(sweep, &[("a", "drift 50% 1m")]);
    let point = &run(&plan, out.path()).1[0];
    let kept = warmup(point);
    assert_eq!((kept.length_s(), kept.steady_s), (240.0, None));
    let text = found(point).unwrap();
    let parts = [
        "The warm-up ended after 4 min but was not steady: over the last five windows",
        "ops/s has an excursion of",
        "a slope of -",
        "read p90 has",
        "sweep.warmup_most",
        "The measured part was not steady: over the last five windows of 32s",
    ];
    assert_says(&text, &parts);
}

#[test]
fn a_warm_up_whose_windows_would_be_too_long_says_so() {
    let out = TempDir::new().unwrap();
    // 100,000 requests for p99.9 take 63 s, 4 s of which are left in each window.
    let sweep = "duration = '1s'\nwarmup_most = '4m'\n[report]\nmetric = 'p99.9 read'";
    let point = &run(&plan(sweep, &[("a", "drift 0% 1m")]), out.path()).1[0];
    let text = found(point).unwrap();
    assert!(text.contains("needs five windows of 1m 3s"), "{text}");
}

#[test]
fn a_fixed_warm_up_is_not_kept_and_a_point_that_drifts_is_found() {
    let out = TempDir::new().unwrap();
    let sweep = "duration = '150s'\noperations = '1G'";
    let mut plan = plan(sweep, &[("a", "drift 50% 1m")]);
    plan.sweep.warmup = tailmark_plan::Warmup::Fixed(std::time::Duration::from_secs(1));
    let point = &run(&plan, out.path()).1[0];
    assert_eq!(point.phase.warmup, None);
    assert!(
        found(point)
            .unwrap()
            .starts_with("The measured part was not steady")
    );
}

/// The first is steady at once, after 160 s; the second takes longer.
const TWO: &[(&str, &str)] = &[("a", "noise 3% 1s"), ("b", "start 3 30s")];

/// Of few operations, so that many of them can be run.
fn two(sweep: &str) -> Plan {
    let mut plan = plan(
        &format!("duration = '2s'\nwarmup_least = '10s'\n{sweep}\n[report]\nmetric = 'mean read'"),
        TWO,
    );
    plan.sweep.threads = vec![2];
    plan
}

#[test]
fn systems_that_are_compared_warm_up_equally_long() {
    for (sweep, measured) in [("repeats = 2", 5), ("repeats = 2\norder = 'systems'", 6)] {
        let out = TempDir::new().unwrap();
        let (summary, points) = run(&two(sweep), out.path());
        let lengths: Vec<f64> = points
            .iter()
            .map(|point| warmup(point).length_s())
            .collect();
        assert_eq!(lengths.len(), 4);
        assert!(
            lengths.iter().all(|length| *length == lengths[0]),
            "{lengths:?}"
        );
        // The warm-up of the slowest one.
        assert_eq!(warmup(&points[0]).steady_s, Some(160.0));
        let steady_s = warmup(&points[2]).steady_s.unwrap();
        assert!(steady_s > 160.0 && lengths[0] >= steady_s, "{lengths:?}");
        // Points of `a` that were measured before `b` was known are measured again.
        assert_eq!(summary.points_measured, measured, "{sweep}");
        assert!(!summary.interrupted);
        // There is nothing left to do.
        let again = run(&two(sweep), out.path());
        assert_eq!((again.0.points_measured, again.0.points_kept), (0, 4));
        assert_eq!(again.1, points);
    }
}

#[test]
fn a_ceiling_has_a_warm_up_of_its_own() {
    let out = TempDir::new().unwrap();
    let mut plan = two("");
    plan.systems[0].ceiling_for = Some("b".to_owned());
    let (summary, points) = run(&plan, out.path());
    assert_eq!(summary.points_measured, 2);
    assert!(warmup(&points[0]).length_s() < 170.0);
    assert!(warmup(&points[1]).length_s() > 180.0);
}

/// Requests a stop when the n-th phase that is measured begins, from 1.
struct StopsAt {
    nth: usize,
    started: AtomicUsize,
    stop: Stop,
}

impl Observer for StopsAt {
    fn phase_started(&self, phase: &PhaseStart<'_>) {
        let is_measured = phase.kind == PhaseKind::Measure;
        if is_measured && self.started.fetch_add(1, Ordering::Relaxed) + 1 == self.nth {
            self.stop.request();
        }
    }
}

/// What does not depend on when it was measured.
fn timeless(points: &[Point]) -> Vec<Point> {
    let mut points = points.to_vec();
    for point in &mut points {
        point.phase.started_ms = None;
        if let Some(warmup) = &mut point.phase.warmup {
            warmup.phase.started_ms = None;
        }
    }
    points
}

#[test]
fn a_run_that_was_stopped_anywhere_leaves_the_same_when_it_goes_on() {
    let whole = TempDir::new().unwrap();
    let expected = timeless(&run(&two("repeats = 2"), whole.path()).1);
    for nth in 1..=5 {
        let out = TempDir::new().unwrap();
        let stops = StopsAt {
            nth,
            started: AtomicUsize::new(0),
            stop: Stop::new(),
        };
        let summary =
            tailmark_runner::run(&two("repeats = 2"), out.path(), &stops, &stops.stop).unwrap();
        assert!(summary.interrupted, "stopped in {nth}");
        assert_eq!(summary.points_measured, nth - 1);
        let (resumed, points) = run(&two("repeats = 2"), out.path());
        assert!(!resumed.interrupted);
        assert_eq!(resumed.points_measured, 6 - nth, "stopped in {nth}");
        assert!(timeless(&points) == expected, "stopped in {nth}");
    }
}
