//! Sweeps with rates: which points they have, what percentages come to, and that they stay so.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use std::{path::Path, sync::Mutex};
use support::{RECORDS, plan, points, restoring, run, system, system_with};
use tailmark_engine::{Observer, PhaseStart, Stop};
use tailmark_model::{Arrivals, Load, Point, PointKey, ResolvedRate, finding::ERRORS};
use tailmark_plan::{AskedRate, Plan, RawPlan, Restore, RestoreBefore, SystemPlan};
use tailmark_runner::{Error, Summary};
use tailmark_study::Study;

/// A rate that any machine holds for the few operations of these plans, and one that none does: no
/// test waits for either.
const FAST: f64 = 5e4;

/// In virtual time, each request takes so long.
fn sim(name: &str, latency_us: &str) -> SystemPlan {
    system_with(name, "sim", Path::new("x"), &[("latency_us", latency_us)])
}

fn null(name: &str) -> SystemPlan {
    system(name, "null", Path::new("x"))
}

fn with(systems: Vec<SystemPlan>, threads: &[u32], rates: &[AskedRate]) -> Plan {
    let mut plan = plan(systems, &["ycsb-c"], threads);
    plan.sweep.rates = rates.to_vec();
    plan.sweep.operations = Some(200);
    plan
}

fn resolved(out: &Path) -> Vec<ResolvedRate> {
    let study = Study::open_read_only(out).unwrap();
    study.resolved_rates().unwrap()
}

fn rates(out: &Path) -> Vec<Option<f64>> {
    let points = points(out).into_iter();
    points.map(|point| point.key.target_rate).collect()
}

#[test]
fn rates_are_measured_behind_the_thread_counts_that_give_their_peak() {
    let out = tempfile::tempdir().unwrap();
    let requested = [AskedRate::Fixed(500.0), AskedRate::OfPeak(0.6)];
    let mut plan = with(vec![sim("a", "1000")], &[1, 2], &requested);
    plan.sweep.arrivals = Some(Arrivals::Poisson);
    let summary = run(&plan, out.path()).unwrap();
    assert_eq!((summary.points_measured, summary.points_skipped), (4, 0));
    // Two clients do 1,000 a second each.
    let peak = resolved(out.path()).remove(0);
    assert!((peak.peak_ops_per_sec - 2_000.0).abs() < 1.0, "{peak:?}");
    assert_eq!(
        peak,
        ResolvedRate {
            system: "a".into(),
            workload: "ycsb-c".into(),
            distribution: "zipfian".into(),
            requested: "60%".into(),
            of_system: "a".into(),
            rate: 1_200.0,
            ..peak.clone()
        }
    );
    let points = points(out.path());
    let keys = points
        .iter()
        .map(|p| (p.key.threads, p.key.target_rate, p.key.arrivals));
    let poisson = Some(Arrivals::Poisson);
    assert_eq!(
        keys.collect::<Vec<_>>(),
        [
            (1, None, None),
            (2, None, None),
            (4, Some(500.0), poisson),
            (4, Some(1_200.0), poisson),
        ]
    );
}

#[test]
fn rates_alone_are_measured_without_thread_counts() {
    let out = tempfile::tempdir().unwrap();
    let requested = [AskedRate::Fixed(FAST), AskedRate::Fixed(2.0 * FAST)];
    run(&with(vec![null("a")], &[], &requested), out.path()).unwrap();
    assert_eq!(rates(out.path()), [Some(FAST), Some(2.0 * FAST)]);
    assert_eq!(resolved(out.path()), []);
}

/// Requests a stop when a point at a rate begins.
struct StopsAtRate(Stop);

impl Observer for StopsAtRate {
    fn phase_started(&self, phase: &PhaseStart<'_>) {
        if phase.point.is_some_and(|key| key.target_rate.is_some()) {
            self.0.request();
        }
    }
}

fn stopped_at_rate(plan: &Plan, out: &Path) -> Summary {
    let observer = StopsAtRate(Stop::new());
    tailmark_runner::run(plan, out, &observer, &observer.0).unwrap()
}

#[test]
fn a_rate_stays_what_it_was_resolved_to() {
    let out = tempfile::tempdir().unwrap();
    let mut plan = with(vec![null("a")], &[1, 2], &[AskedRate::OfPeak(0.5)]);
    plan.sweep.repeats = 2;
    // The error ends the point and the run, as a kill would.
    plan.sweep.operations = None;
    plan.sweep.duration = Some(std::time::Duration::from_millis(100));
    let summary = stopped_at_rate(&plan, out.path());
    assert!(summary.interrupted);
    assert_eq!(points(out.path()).len(), 2);
    let before = resolved(out.path());
    // If it were resolved again, it would be another rate now.
    let study = Study::open(out.path()).unwrap();
    let mut faster = points(out.path()).remove(0);
    faster.phase.duration_s /= 100.0;
    study.add_point(&faster).unwrap();
    drop(study);
    let rest = run(&plan, out.path()).unwrap();
    assert_eq!((rest.points_measured, rest.points_kept), (4, 2));
    assert_eq!(resolved(out.path()), before);
    let rate = Some(before[0].rate);
    assert_eq!(rates(out.path()), [None, None, rate, None, None, rate]);
    let again = run(&plan, out.path()).unwrap();
    assert_eq!((again.points_measured, again.points_kept), (0, 6));
}

#[test]
fn the_system_whose_peak_counts_is_measured_first_and_all_have_its_rate() {
    let out = tempfile::tempdir().unwrap();
    let slow = sim("slow", "200");
    let mut plan = with(vec![null("fast"), slow], &[1], &[AskedRate::OfPeak(0.5)]);
    plan.sweep.rates_of = Some("slow".into());
    plan.sweep.repeats = 2;
    run(&plan, out.path()).unwrap();
    let measured = points(out.path());
    let systems: Vec<_> = measured.iter().map(|p| p.key.system.as_str()).collect();
    assert_eq!(systems, [["slow"; 4], ["fast"; 4]].concat());
    let [of_slow, of_fast] = &resolved(out.path())[..] else {
        panic!("one for each system")
    };
    assert_eq!(
        (of_slow.system.as_str(), of_fast.system.as_str()),
        ("slow", "fast")
    );
    // The second repeat of `slow` is measured by then, and changes nothing.
    assert_eq!(of_slow.peak_ops_per_sec, measured[0].phase.ops_per_sec());
    for rate in [of_slow, of_fast] {
        assert_eq!((rate.of_system.as_str(), rate.rate), ("slow", of_slow.rate));
    }
    let rate = Some(of_slow.rate);
    assert_eq!(rates(out.path()), [[None, rate]; 4].concat());
}

#[test]
fn each_system_has_its_own_peak_where_none_is_named() {
    let out = tempfile::tempdir().unwrap();
    let slow = sim("slow", "5000");
    let mut plan = with(vec![null("fast"), slow], &[1], &[AskedRate::OfPeak(0.5)]);
    plan.sweep.operations = Some(20);
    run(&plan, out.path()).unwrap();
    let resolved = resolved(out.path());
    let system = |index: usize| resolved[index].of_system.as_str();
    assert_eq!((system(0), system(1)), ("fast", "slow"));
    // A percentage of 200 a second.
    assert_eq!(resolved[1].rate, 100.0);
}

fn failing(settings: &[(&str, &str)]) -> Plan {
    let system = system_with("a", "sim", Path::new("x"), settings);
    let requested = [
        AskedRate::OfPeak(0.5),
        AskedRate::OfPeak(0.6),
        AskedRate::Fixed(FAST),
    ];
    with(vec![system], &[1, 2], &requested)
}

/// Keeps what is said.
#[derive(Default)]
struct Said(Mutex<Vec<String>>);

impl Observer for Said {
    fn notice(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

#[test]
fn without_a_valid_peak_percentages_are_skipped_and_the_study_says_so() {
    let out = tempfile::tempdir().unwrap();
    let said = Said::default();
    let bad = failing(&[("error_every", "4")]);
    let summary = tailmark_runner::run(&bad, out.path(), &said, &Stop::new()).unwrap();
    assert_eq!((summary.points_measured, summary.points_skipped), (3, 2));
    assert!(!summary.interrupted);
    assert_eq!(rates(out.path()), [None, None, Some(FAST)]);
    assert!(ERRORS.is_among(&points(out.path())[0].phase.findings));
    let notices = Study::open_read_only(out.path())
        .unwrap()
        .notices()
        .unwrap();
    let notice = notices.iter().find(|notice| notice.contains("left out"));
    let notice = notice.unwrap();
    for part in ["`a`", "`ycsb-c`", "no valid point", "--retry-failed"] {
        assert!(notice.contains(part), "{notice}");
    }
    let said = said.0.into_inner().unwrap();
    assert_eq!(said.iter().filter(|text| *text == notice).count(), 1);
    // Nothing has changed, and the notice is printed again.
    let again = run(&bad, out.path()).unwrap();
    assert_eq!(
        (
            again.points_measured,
            again.points_kept,
            again.points_skipped
        ),
        (0, 3, 2)
    );
    // The database works again.
    let mut good = failing(&[]);
    good.retry_failed = true;
    let well = run(&good, out.path()).unwrap();
    assert_eq!((well.points_measured, well.points_skipped), (5, 0));
    assert_eq!(resolved(out.path()).len(), 2);
}

#[test]
fn what_was_skipped_is_measured_when_later_repeats_have_made_the_peak() {
    let out = tempfile::tempdir().unwrap();
    let mut bad = failing(&[("error_every", "4")]);
    bad.sweep.repeats = 2;
    let skipped = run(&bad, out.path()).unwrap().points_skipped;
    assert!(skipped > 0);
    // In the first repeat the thread counts of the second are not valid yet.
    let mut good = failing(&[]);
    good.sweep.repeats = 2;
    good.retry_failed = true;
    assert_eq!(run(&good, out.path()).unwrap().points_skipped, 0);
    assert_eq!(points(out.path()).len(), good.points().count());
    let study = Study::open_read_only(out.path()).unwrap();
    let notices = study.notices().unwrap();
    assert!(!notices.iter().any(|notice| notice.contains("left out")));
}

#[test]
fn a_thread_count_that_failed_gives_no_peak() {
    let out = tempfile::tempdir().unwrap();
    let plan = with(vec![null("a")], &[1, 2], &[AskedRate::OfPeak(0.5)]);
    stopped_at_rate(
        &with(vec![null("a")], &[1, 2], &[AskedRate::Fixed(FAST)]),
        out.path(),
    );
    let study = Study::open(out.path()).unwrap();
    let mut measured = points(out.path());
    measured[0].phase.duration_s /= 100.0;
    measured[0].phase.failed = measured[0].phase.operations / 2;
    study.add_point(&measured[0]).unwrap();
    drop(study);
    run(&plan, out.path()).unwrap();
    let peak = resolved(out.path())[0].peak_ops_per_sec;
    assert_eq!(peak, measured[1].phase.ops_per_sec());
}

#[test]
fn two_that_come_to_one_rate_are_one_point() {
    let out = tempfile::tempdir().unwrap();
    let requested = [AskedRate::Fixed(FAST), AskedRate::OfPeak(0.5)];
    let plan = with(vec![null("a")], &[1], &requested);
    let study = Study::create(out.path(), &plan.header, &[]).unwrap();
    let known = ResolvedRate {
        system: "a".into(),
        workload: "ycsb-c".into(),
        distribution: "zipfian".into(),
        requested: "50%".into(),
        of_system: "a".into(),
        peak_ops_per_sec: 2.0 * FAST,
        rate: FAST,
    };
    study.add_resolved_rate(&known).unwrap();
    drop(study);
    let summary = run(&plan, out.path()).unwrap();
    assert_eq!((summary.points_measured, summary.points_kept), (2, 0));
    assert_eq!(rates(out.path()), [None, Some(FAST)]);
    assert_eq!(resolved(out.path()), [known]);
}

/// What is loaded and measured, in order: `load`, `1`, `4 at 50000`.
#[derive(Default)]
struct Order(Mutex<Vec<String>>);

impl Observer for Order {
    fn load_finished(&self, load: &Load) {
        assert_eq!(load.records, RECORDS);
        self.0.lock().unwrap().push("load".to_owned());
    }
    fn point_finished(&self, point: &Point) {
        let PointKey {
            threads,
            target_rate,
            ..
        } = point.key;
        let rate = target_rate.map_or_else(String::new, |rate| format!(" at {rate}"));
        self.0.lock().unwrap().push(format!("{threads}{rate}"));
    }
}

#[test]
fn a_workload_is_loaded_once_for_its_thread_counts_and_its_rates() {
    let order = |before, threads: &[u32]| {
        let (place, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let system = system_with("a", "file", place.path(), &[("direct", "false")]);
        let mut plan = with(vec![system], threads, &[AskedRate::Fixed(FAST)]);
        let ycsb_a = plan_workload("ycsb-a");
        plan.sweep.workloads.push(ycsb_a);
        let plan = restoring(plan, Restore::Reload, before);
        let order = Order::default();
        tailmark_runner::run(&plan, out.path(), &order, &Stop::new()).unwrap();
        order.0.into_inner().unwrap()
    };
    let each = ["load", "1", "4 at 50000"];
    assert_eq!(order(RestoreBefore::Workload, &[1]), [each, each].concat());
    assert_eq!(
        order(RestoreBefore::Workload, &[]),
        ["load", "4 at 50000"].repeat(2)
    );
    let reloaded = ["load", "1", "load", "4 at 50000"];
    assert_eq!(
        order(RestoreBefore::Point, &[1]),
        [reloaded, reloaded].concat()
    );
}

fn plan_workload(name: &str) -> std::sync::Arc<tailmark_workload::Workload> {
    std::sync::Arc::new(tailmark_workload::find(name).unwrap())
}

fn checked(sweep: &str) -> Plan {
    let text = format!(
        "[database]\ndriver = 'null'\n[dataset]\nrecords = 1000\n[sweep]\nthreads = 1\n\
         operations = 50\nwarmup = '0s'\n{sweep}\n[[system]]\nname = 'a'\n"
    );
    RawPlan::parse("test", &text)
        .and_then(|raw| raw.check())
        .unwrap()
}

#[test]
fn other_rates_are_another_plan() {
    let out = tempfile::tempdir().unwrap();
    let rates = "rates = ['50k', '60%']";
    run(&checked(rates), out.path()).unwrap();
    for (other, key) in [
        ("rates = '50k'", "sweep.rates is `50000`, was `50000, 60%`"),
        (
            "rates = ['50k', '60%']\nrate_threads = 9",
            "sweep.rate_threads is `9`, was `64`",
        ),
        (
            "rates = ['50k', '60%']\nrates_of = 'a'",
            "sweep.rates_of is `a`, was not set",
        ),
        (
            "rates = ['50k', '60%']\narrivals = 'poisson'",
            "sweep.arrivals is `poisson`, was `even`",
        ),
        ("", "sweep.arrivals is not set, was `even`"),
    ] {
        let error = run(&checked(other), out.path()).unwrap_err();
        assert!(matches!(error, Error::ChangedPlan { .. }), "{error}");
        assert!(error.to_string().contains(key), "{error}");
    }
    assert_eq!(run(&checked(rates), out.path()).unwrap().points_kept, 3);
}
