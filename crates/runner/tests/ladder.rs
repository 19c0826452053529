//! Ladders of client counts, in virtual time on databases whose knee is known: where they end, that
//! all systems have the same rungs, and that a run which goes on has the same points.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use support::{points, run};
use tailmark_engine::{Observer, Stop};
use tailmark_model::{
    Point, PointKey,
    finding::{CLIENT_SATURATED, ERRORS},
};
use tailmark_plan::{Plan, RawPlan};
use tailmark_runner::{Facts, dry_run};
use tailmark_stats::scaling::Curves;
use tailmark_study::Study;
use tailmark_testing::assert_says;
use tempfile::TempDir;

/// Serves 16 at a time, 100 a second each: 1,600 a second from 16 clients on.
const KNEE_AT_16: &str = "constant 10ms; servers 16";

/// A plan of systems in virtual time, each a name and a model.
fn plan(systems: &[(&str, &str)], sweep: &str) -> Plan {
    let systems = systems.iter().map(|(name, model)| {
        format!("[[system]]\nname = '{name}'\ndatabase = {{ model = '{model}' }}\n")
    });
    let systems: String = systems.collect();
    let defaults = [
        ("workloads", "'ycsb-c'"),
        ("duration", "'2s'"),
        ("warmup", "'1s'"),
    ];
    let defaults = defaults.iter().filter(|(key, _)| !sweep.contains(key));
    let defaults: String = defaults
        .map(|(key, value)| format!("{key} = {value}\n"))
        .collect();
    let text = format!(
        "[database]\ndriver = 'sim'\n{systems}[dataset]\nrecords = 1000\n[machine]\n\
         drop_caches = false\n[sweep]\n{defaults}{sweep}"
    );
    let plan = RawPlan::parse("test", &text).and_then(|raw| raw.check());
    plan.unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn notices(out: &Path) -> Vec<String> {
    let study = Study::open_read_only(out).unwrap();
    let notices = study.notices().unwrap().into_iter();
    notices.filter(|text| text.contains("ladder")).collect()
}

/// The client counts at which each system was measured.
fn rungs(out: &Path) -> BTreeMap<String, BTreeSet<u32>> {
    let mut rungs = BTreeMap::<_, BTreeSet<u32>>::new();
    for Point { key, .. } in points(out) {
        rungs.entry(key.system).or_default().insert(key.threads);
    }
    rungs
}

/// The rungs of a plan with one system, and where it is said to have ended.
fn climbed(model: &str, sweep: &str) -> (Vec<u32>, String) {
    let out = TempDir::new().unwrap();
    let plan = plan(&[("a", model)], sweep);
    let summary = run(&plan, out.path()).unwrap();
    assert!(!summary.interrupted);
    let said = notices(out.path());
    assert_eq!(said.len(), 1, "{said:?}");
    let said = said[0].split("has ended ").nth(1).unwrap().to_owned();
    let threads = rungs(out.path()).remove("a").unwrap();
    let measured = points(out.path()).len();
    assert_eq!(measured, threads.len() * plan.sweep.repeats as usize);
    (threads.into_iter().collect(), said)
}

#[test]
fn it_ends_behind_the_knee() {
    let (rungs, said) = climbed(KNEE_AT_16, "threads = '1..'");
    assert_eq!(rungs, [1, 2, 4, 8, 16, 32, 64]);
    let flat = "at 64 threads: no gain: ops/s stayed the same from 16 to 32, and stayed the same \
                from 32 to 64";
    assert_eq!(said, flat);
    let (finer, end) = climbed(KNEE_AT_16, "threads = '4..40 x1.5'");
    assert_eq!(finer, [4, 6, 9, 14, 21, 32]);
    assert!(end.starts_with("at 32 threads: the highest"), "{end}");
    let (from_16, why) = climbed(KNEE_AT_16, "threads = '16..'");
    assert_eq!(from_16, [16, 32, 64], "{why}");
}

#[test]
fn it_ends_behind_the_knee_where_runs_are_noisy() {
    for noise in ["3%", "5%"] {
        for seed in 1..=2 {
            let model = format!("{KNEE_AT_16}; run-noise {noise}");
            let sweep = format!("threads = '2..'\nrepeats = 4\nseed = {seed}");
            let (rungs, said) = climbed(&model, &sweep);
            // At 32, where the rate falls by chance; a step that gains by chance delays the end.
            let highest = rungs.last().unwrap();
            assert!([32, 64, 128].contains(highest), "{noise}, {seed}: {said}");
            assert_eq!(rungs[..4], [2, 4, 8, 16], "{noise}, {seed}: {said}");
        }
    }
}

#[test]
fn it_ends_where_ops_fall() {
    // X(8) is 3.15 times that of one client, and X(16) 2.39 times.
    let (rungs, said) = climbed("constant 10ms; contention 0.06 0.02", "threads = '1..'");
    assert_eq!(rungs, [1, 2, 4, 8, 16]);
    assert!(
        said.starts_with("at 16 threads: ops/s fell by 24"),
        "{said}"
    );
    assert!(said.ends_with("% from 8 to 16"), "{said}");
}

#[test]
fn the_law_of_a_database_comes_back_from_its_points() {
    let out = TempDir::new().unwrap();
    let threads = "threads = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]";
    let plan = plan(&[("a", "constant 10ms; contention 0.05 0.002")], threads);
    run(&plan, out.path()).unwrap();
    let mut curves = Curves::default();
    let points = points(out.path());
    points.iter().for_each(|point| curves.add(point, 0.0));
    let law = curves.laws().remove(0).scaling;
    let is_near = |found: f64, known: f64| (found / known - 1.0).abs() < 0.02;
    assert!(is_near(law.lambda, 100.0), "{law:?}");
    assert!(is_near(law.sigma, 0.05), "{law:?}");
    assert!(is_near(law.kappa, 0.002), "{law:?}");
    assert!(is_near(law.peak_threads().unwrap(), 21.8), "{law:?}");
}

#[test]
fn every_system_has_the_rungs_that_any_of_them_has_reached() {
    let systems = [
        ("few", "constant 10ms; servers 2"),
        ("many", "constant 10ms; servers 16"),
        ("some", "constant 10ms; servers 4"),
    ];
    for order in ["systems", "interleaved"] {
        let out = TempDir::new().unwrap();
        let plan = plan(&systems, &format!("threads = '1..'\norder = '{order}'"));
        let summary = run(&plan, out.path()).unwrap();
        assert_eq!(summary.points_measured, 3 * 7, "{order}");
        let all: BTreeSet<u32> = (0..7).map(|rung| 1 << rung).collect();
        for (system, rungs) in rungs(out.path()) {
            assert_eq!(rungs, all, "{order}: {system}");
        }
        let said = notices(out.path());
        for (system, threads) in [("few", 8), ("many", 64), ("some", 16)] {
            let said_of = said
                .iter()
                .find(|text| text.contains(&format!("system `{system}`,")));
            let ended = format!("has ended at {threads} threads: no gain");
            assert!(said_of.unwrap().contains(&ended), "{order}: {said:?}");
        }
        let again = run(&plan, out.path()).unwrap();
        assert_eq!(
            (again.points_measured, again.points_kept),
            (0, 21),
            "{order}"
        );
        assert_eq!(notices(out.path()), said);
    }
}

#[test]
fn rates_come_behind_it_and_are_parts_of_its_peak() {
    let out = TempDir::new().unwrap();
    let plan = plan(
        &[("a", "constant 10ms; servers 4")],
        "threads = '1..'\nrates = ['50%', 100]\nworkloads = 'ycsb-c, ycsb-b'",
    );
    let summary = run(&plan, out.path()).unwrap();
    assert_eq!((summary.points_measured, summary.points_skipped), (14, 0));
    let rates = points(out.path()).into_iter();
    let rates: Vec<_> = rates.filter_map(|point| point.key.target_rate).collect();
    assert_eq!(rates, [200.0, 100.0, 200.0, 100.0]);
    assert_eq!(notices(out.path()).len(), 2);
}

/// Requests a stop once so many points were measured.
struct StopsAfter(AtomicUsize, Stop);

impl Observer for StopsAfter {
    fn point_finished(&self, _: &Point) {
        if self.0.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.1.request();
        }
    }
}

/// What is in a study: each point with its operations, and what is said of ladders.
fn content(out: &Path) -> (Vec<(PointKey, u64)>, Vec<String>) {
    let all = points(out).into_iter();
    let mut all: Vec<_> = all
        .map(|point| (point.key, point.phase.operations))
        .collect();
    all.sort_by_key(|(key, _)| format!("{key:?}"));
    (all, notices(out))
}

#[test]
fn a_run_that_goes_on_has_the_same_points() {
    let systems = [("a", "constant 10ms; servers 2"), ("b", KNEE_AT_16)];
    for order in ["systems", "interleaved"] {
        let noisy = systems.map(|(name, model)| (name, format!("{model}; run-noise 3%")));
        let noisy = [&noisy[0], &noisy[1]].map(|(name, model)| (*name, model.as_str()));
        let sweep = format!("threads = '1..'\norder = '{order}'\nrepeats = 2\nduration = '1s'");
        let plan = plan(&noisy, &sweep);
        let whole = TempDir::new().unwrap();
        run(&plan, whole.path()).unwrap();
        let expected = content(whole.path());
        for each in [1, 3] {
            let out = TempDir::new().unwrap();
            let mut runs = 0;
            loop {
                let stops = StopsAfter(AtomicUsize::new(each), Stop::new());
                let summary = tailmark_runner::run(&plan, out.path(), &stops, &stops.1).unwrap();
                runs += 1;
                assert!(runs < 100, "{order}: it goes on and on");
                if !summary.interrupted {
                    break;
                }
                assert_eq!(summary.points_measured, each, "{order}");
            }
            assert!(runs > 5, "{order}: {runs}");
            assert_eq!(content(out.path()), expected, "{order}, {each}");
        }
    }
}

#[test]
fn what_ended_before_it_was_said_is_said_by_the_next_run() {
    let out = TempDir::new().unwrap();
    let plan = plan(&[("a", KNEE_AT_16)], "threads = '1..'");
    run(&plan, out.path()).unwrap();
    let said = notices(out.path());
    let study = Study::open(out.path()).unwrap();
    study.remove_notice(&said[0]).unwrap();
    drop(study);
    assert_eq!(run(&plan, out.path()).unwrap().points_measured, 0);
    assert_eq!(notices(out.path()), said);
}

#[test]
fn a_saturated_client_ends_it() {
    let out = TempDir::new().unwrap();
    let plan = plan(&[("a", KNEE_AT_16)], "threads = '1..'");
    let stops = StopsAfter(AtomicUsize::new(2), Stop::new());
    tailmark_runner::run(&plan, out.path(), &stops, &stops.1).unwrap();
    let study = Study::open(out.path()).unwrap();
    let mut second = points(out.path()).remove(1);
    second.phase.findings.push(CLIENT_SATURATED.finding("busy"));
    study.add_point(&second).unwrap();
    drop(study);
    assert_eq!(run(&plan, out.path()).unwrap().points_measured, 0);
    let said = notices(out.path());
    assert!(
        said[0].contains("ended at 2 threads: the client was saturated"),
        "{said:?}"
    );
}

#[test]
fn a_rung_that_failed_ends_it_until_it_is_measured_again() {
    let out = TempDir::new().unwrap();
    let with = |every: &str| {
        let settings = [("model", KNEE_AT_16), ("error_every", every)];
        let system = support::system_with("a", "sim", Path::new("x"), &settings);
        let mut bad = support::plan(vec![system], &["ycsb-c"], &[1, 2, 4]);
        bad.sweep.ladder = plan(&[("a", "")], "threads = '1..4'").sweep.ladder;
        bad
    };
    let summary = run(&with("4"), out.path()).unwrap();
    assert_eq!((summary.points_measured, summary.failed.len()), (1, 1));
    assert!(ERRORS.is_among(&points(out.path())[0].phase.findings));
    let said = notices(out.path());
    assert!(
        said[0].contains("ended at 1 thread: it is not valid (25% failed)"),
        "{said:?}"
    );
    let mut good = with("0");
    good.retry_failed = true;
    assert_eq!(run(&good, out.path()).unwrap().points_measured, 3);
    let retried = notices(out.path());
    assert_eq!(retried.len(), 1, "{retried:?}");
    assert!(
        retried[0].contains("ended at 4 threads: the highest"),
        "{retried:?}"
    );
}

/// Keeps what is told of the number of points: `measured/known`, with `+` where more may follow.
#[derive(Default)]
struct Counts {
    known: Mutex<String>,
    done: AtomicUsize,
    seen: Mutex<Vec<String>>,
}

impl Observer for Counts {
    fn points_known(&self, points: usize, is_all: bool) {
        let more = if is_all { "" } else { "+" };
        *self.known.lock().unwrap() = format!("{points}{more}");
    }
    fn sweep_started(&self, points: usize, done: usize) {
        assert!(self.known.lock().unwrap().starts_with(&points.to_string()));
        self.done.store(done, Ordering::Relaxed);
    }
    fn point_finished(&self, _: &Point) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let known = self.known.lock().unwrap().clone();
        self.seen.lock().unwrap().push(format!("{done}/{known}"));
    }
}

#[test]
fn points_are_counted_as_far_as_they_are_known() {
    let out = TempDir::new().unwrap();
    let systems = [
        ("a", "constant 10ms; servers 1"),
        ("b", "constant 10ms; servers 2"),
    ];
    let plan = plan(
        &systems,
        "threads = '1..'\nrates = 50\norder = 'interleaved'",
    );
    let counts = Counts::default();
    tailmark_runner::run(&plan, out.path(), &counts, &Stop::new()).unwrap();
    // A rate for each, and two more for each rung that any of them has reached.
    let expected = [
        "1/6+", "2/6+", "3/8+", "4/8+", "5/8+", "6/10+", "7/10", "8/10", "9/10", "10/10",
    ];
    let seen = counts.seen.into_inner().unwrap();
    assert_eq!(seen, expected);
}

#[test]
fn a_dry_run_knows_where_it_has_ended() {
    let out = TempDir::new().unwrap();
    let plan = plan(&[("a", KNEE_AT_16)], "threads = '1..'");
    let said = || {
        dry_run(&plan, out.path(), &Facts::gather(&plan, out.path()))
            .lines
            .join("\n")
    };
    let up_to = [
        "time: up to about 33s",
        "up to 11 points, 33s in all at most",
    ];
    assert_says(&said(), &up_to);
    run(&plan, out.path()).unwrap();
    let parts = [": 7 points in all", "keep 7 points", "time: none"];
    assert_says(&said(), &parts);
}

#[test]
fn a_study_with_a_list_is_of_another_plan() {
    let out = TempDir::new().unwrap();
    run(&plan(&[("a", KNEE_AT_16)], "threads = '1..4'"), out.path()).unwrap();
    let list = plan(&[("a", KNEE_AT_16)], "threads = [1, 2, 4]");
    let error = run(&list, out.path()).unwrap_err().to_string();
    assert!(error.contains("was `1..4 x2 until no gain`"), "{error}");
}
