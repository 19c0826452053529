//! A sweep that several ranks carry out together: here ranks of one process, each with a clock of
//! its own; the command line's tests have processes under MPI.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{path::Path, sync::Arc, thread, time::Duration};
use tailmark_cluster::{
    Cluster,
    channels::{Clock, ranks},
};
use tailmark_engine::{Observer, PhaseKind, PhaseStart, Silent, Stop};
use tailmark_model::{Kind, Point, RankPart};
use tailmark_plan::{Plan, RawPlan};
use tailmark_runner::{Cleaning, Error, Ranks, Results, Summary, follow, run_on};
use tailmark_study::Study;

fn plan(database: &str, sweep: &str) -> Plan {
    let text = format!(
        "{database}\n[dataset]\nrecords = 1000\nfields = 1\nfield_length = 100\n[machine]\ndrop_caches = false\n\
         [sweep]\n{sweep}\n"
    );
    RawPlan::parse("test", &text).unwrap().check().unwrap()
}

/// Runs a plan on ranks with these clocks.
fn run_with(
    plan: &Plan,
    out: &Path,
    clocks: &[Clock],
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Summary, Error> {
    let mut all = ranks(clocks).into_iter();
    let leader: Arc<dyn Cluster> = Arc::new(all.next().unwrap());
    thread::scope(|scope| {
        for rank in all {
            scope.spawn(|| follow(Arc::new(rank), &Stop::new()).unwrap());
        }
        let host = leader.host();
        let ranks = Ranks::lead(leader, plan, stop)?;
        run_on(&ranks, &plan.clone().at_rank(0, &host), out, observer, stop)
    })
}

fn run(plan: &Plan, out: &Path, ranks: usize) -> Result<Summary, Error> {
    let clocks = vec![Clock::default(); ranks];
    run_with(plan, out, &clocks, &Silent, &Stop::new())
}

fn points(out: &Path) -> Vec<Point> {
    Study::open(out).unwrap().points().unwrap()
}

const NULL: &str = "[database]\ndriver = 'null'\n[[system]]\nname = 'a'";

const SIMULATED: &str =
    "[database]\ndriver = 'sim'\nmodel = 'constant 100us'\n[[system]]\nname = 'a'";

#[test]
fn clients_are_spread_and_every_operation_is_counted_once() {
    let out = tempfile::tempdir().unwrap();
    let sweep = "workloads = ['ycsb-a']\nthreads = [1, 3, 10]\nduration = '1s'\nwarmup = '200ms'";
    let summary = run(&plan(NULL, sweep), out.path(), 4).unwrap();
    assert_eq!(summary.points_measured, 3);
    let threads = |point: &Point| {
        point
            .phase
            .ranks
            .iter()
            .map(|r| r.threads)
            .collect::<Vec<_>>()
    };
    let points = points(out.path());
    let spread: Vec<_> = points.iter().map(threads).collect();
    assert_eq!(spread, [vec![1], vec![1, 1, 1], vec![3, 3, 2, 2]]);
    for Point { phase, .. } in points {
        let of_ranks = phase.ranks.iter().map(|rank| rank.operations);
        assert_eq!(of_ranks.sum::<u64>(), phase.operations);
        let of_kinds = phase.kinds.values().map(|kind| kind.count);
        assert_eq!(of_kinds.sum::<u64>(), phase.operations);
        let of_seconds = phase.intervals.iter().map(|second| second.operations);
        assert_eq!(of_seconds.sum::<u64>(), phase.operations);
        let ranks = &phase.ranks;
        // A rank that a busy machine starts after the end has nothing to do.
        let has_worked = |rank: &RankPart| rank.operations > 0 || rank.late_ns > 900_000_000;
        assert!(ranks.iter().all(has_worked), "{ranks:?}");
        assert!((phase.duration_s - 1.0).abs() < 1e-9);
    }
}

#[test]
fn a_point_ends_for_all_when_one_rank_has_spent_its_share() {
    let out = tempfile::tempdir().unwrap();
    // The second rank has one of three clients, and a third of the operations.
    let sweep = "workloads = ['ycsb-c']\nthreads = [3]\noperations = 90_000\nwarmup = '0s'";
    run(&plan(NULL, sweep), out.path(), 2).unwrap();
    let point = &points(out.path())[0].phase;
    let of_ranks: Vec<u64> = point.ranks.iter().map(|rank| rank.operations).collect();
    assert!(
        of_ranks[0] <= 60_000 && of_ranks[1] <= 30_000,
        "{of_ranks:?}"
    );
    assert!(
        of_ranks[0] == 60_000 || of_ranks[1] == 30_000,
        "{of_ranks:?}"
    );
}

#[test]
fn at_a_rate_every_rank_does_what_is_due_of_a_budget() {
    for arrivals in ["even", "poisson"] {
        let out = tempfile::tempdir().unwrap();
        let sweep = format!(
            "workloads = ['ycsb-c']\nthreads = [7]\nrate = 500\narrivals = '{arrivals}'\n\
             operations = 1001\nwarmup = '0s'"
        );
        // In simulated time none of them is late.
        run(&plan(SIMULATED, &sweep), out.path(), 4).unwrap();
        let point = &points(out.path())[0].phase;
        assert_eq!(point.operations, 1_001, "{arrivals}");
        let is_as_long = |expected: f64| (point.duration_s - expected).abs() < 1e-6;
        assert!(
            is_as_long(2.002) || arrivals == "poisson",
            "{}",
            point.duration_s
        );
    }
}

#[test]
fn all_begin_at_one_instant_whatever_their_clocks_say() {
    let out = tempfile::tempdir().unwrap();
    let sweep =
        "workloads = ['ycsb-c']\nthreads = [6]\nrate = 3000\nduration = '3s'\nwarmup = '1s'";
    let clock = |ahead_s: i64, drift_ppm| Clock {
        ahead_ns: ahead_s * 1_000_000_000,
        drift_ppm,
    };
    let clocks = [clock(0, 0.0), clock(3_600, 100.0), clock(-20, -100.0)];
    run_with(
        &plan(NULL, sweep),
        out.path(),
        &clocks,
        &Silent,
        &Stop::new(),
    )
    .unwrap();
    let point = &points(out.path())[0].phase;
    // At a rate, the operations due in each second are known. A rank whose seconds are shifted
    // would move some of them to the next second.
    for rank in &point.ranks {
        assert_eq!(rank.operations, 3_000, "{rank:?}");
    }
    assert_eq!(point.operations, 9_000);
    let ahead = |rank: &RankPart| rank.clock_ahead_ns as f64 / 1e9;
    let ahead: Vec<f64> = point.ranks.iter().map(ahead).collect();
    assert!(
        (ahead[1] - 3_600.0).abs() < 0.1 && (ahead[2] + 20.0).abs() < 0.1,
        "{ahead:?}"
    );
    // 100 parts per million of 4 s leave 0.4 ms to see after the phase, as well as clocks can be
    // compared before and after it on a busy machine.
    for (rank, sign) in [(1, 1), (2, -1)] {
        let rank = &point.ranks[rank];
        let bound_ns = 2 * rank.clock_bound_ns.cast_signed() + 10_000;
        assert!(sign * rank.clock_drift_ns > 400_000 - bound_ns, "{rank:?}");
    }
}

/// Simulated reads at a rate, on as many ranks.
fn simulated(ranks: usize) -> Point {
    let out = tempfile::tempdir().unwrap();
    let database = "[database]\ndriver = 'sim'\nmodel = 'exponential 1ms'\n[[system]]\nname = 'a'";
    let sweep = "workloads = ['ycsb-c']\nthreads = [64]\nrate = 8000\nduration = '60s'\n\
                 warmup = '0s'\narrivals = 'poisson'";
    run(&plan(database, sweep), out.path(), ranks).unwrap();
    points(out.path()).remove(0)
}

#[test]
fn quantiles_of_ranks_are_those_of_all_their_samples_and_the_same_seed_gives_the_same() {
    let (one, four) = (simulated(1), simulated(4));
    let read = |point: &Point| point.phase.kinds[&Kind::Read].clone();
    let (of_one, of_four) = (read(&one), read(&four));
    assert_eq!(of_four.service.len(), four.phase.operations);
    for quantile in [0.5, 0.9, 0.99, 0.999] {
        let values =
            [&of_one, &of_four].map(|kind| kind.service.value_at_quantile(quantile) as f64);
        // Independent samples of one distribution, nearly half a million of each.
        assert!(
            (values[0] / values[1] - 1.0).abs() < 0.04,
            "{quantile}: {values:?}"
        );
    }
    let ranks = &four.phase.ranks;
    let most = ranks.iter().map(|rank| rank.quantile(1.0).unwrap()).max();
    assert_eq!(most, Some(of_four.response().value_at_quantile(1.0)));
    assert!(
        ranks
            .windows(2)
            .all(|two| two[0].quantiles != two[1].quantiles),
        "the same draws"
    );
    let again = simulated(4);
    assert_eq!(read(&again), of_four);
}

#[test]
fn each_rank_has_an_embedded_database_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let (out, data) = (dir.path().join("study"), dir.path().join("data"));
    std::fs::create_dir(&data).unwrap();
    let database = |place: &str| {
        let place = data.join(place);
        format!(
            "[database]\ndriver = 'rocksdb'\n[[system]]\nname = 'a'\npath = '{}'",
            place.display()
        )
    };
    let sweep = "workloads = ['ycsb-a', 'ycsb-d']\nthreads = [4]\nduration = '1s'\nwarmup = '0s'\nload_threads = 1";
    let plan = plan(&database("db-{rank}"), sweep);
    run(&plan, &out, 2).unwrap();
    let study = Study::open(&out).unwrap();
    let load = &study.loads().unwrap()[0];
    let loaded: Vec<u64> = load
        .phase
        .ranks
        .iter()
        .map(|rank| rank.operations)
        .collect();
    assert_eq!(loaded, [1_000, 1_000], "each has all records");
    for point in study.points().unwrap() {
        let reads = &point.phase.kinds[&Kind::Read];
        assert_eq!((reads.not_found, reads.errors), (0, 0), "{:?}", point.key);
        assert!(point.phase.ranks.iter().all(|rank| rank.operations > 0));
    }
    assert!(study.systems().unwrap()[0].place.ends_with("db-{rank}"));
    drop(study);
    // The same run resumes. Another number of ranks is another run.
    let summary = run(&plan, &out, 2).unwrap();
    assert_eq!((summary.points_measured, summary.points_kept), (0, 2));
    let other = run(&plan, &out, 3);
    assert!(
        matches!(&other, Err(Error::ChangedPlan { differences, .. }) if differences.contains("ranks")),
        "{other:?}"
    );
    // If the data of one rank is gone, all ranks load again.
    std::fs::remove_dir_all(data.join("db-1/rocksdb")).unwrap();
    std::fs::remove_dir_all(dir.path().join("study")).unwrap();
    run(&plan, &out, 2).unwrap();
    let again = Study::open(&out).unwrap();
    assert_eq!(again.loads().unwrap().len(), 1);
    assert_eq!(again.points().unwrap().len(), 2);
}

/// Requests a stop when the first rank has loaded some.
struct StopsLoad(Stop);

impl Observer for StopsLoad {
    fn recorded(&self, _: u32, _: &tailmark_engine::IntervalStats) {
        self.0.request();
    }
}

#[test]
fn a_load_that_was_stopped_goes_on_with_each_ranks_own_records() {
    // If the machine loads all records before it is stopped, it gets more.
    let was_stopped = (17..24).any(|power| a_load_goes_on(1 << power));
    assert!(was_stopped, "every load was done before it was stopped");
}

/// Stops a load of so many records a rank, and runs the same again; whether the first rank was
/// stopped before its last record.
fn a_load_goes_on(records: u64) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let plan = large(dir.path(), records);
    stop_load(&plan, dir.path());
    let loaded = loaded_to_its_end(&plan, dir.path());
    // The first rank had begun; another one may not have.
    loaded[0] < records
}

#[test]
fn a_load_is_not_done_before_the_last_rank_has_all_records() {
    let was_stopped = (17..24).any(|power| a_load_waits_for_all(1 << power));
    assert!(was_stopped, "every load was done before it was stopped");
}

/// Stops a load of which the first rank has but one record left; whether others had more.
fn a_load_waits_for_all(records: u64) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let plan = large(dir.path(), records);
    run(&plan, &dir.path().join("study"), 3).unwrap();
    for left in ["study", "db-1", "db-2"] {
        std::fs::remove_dir_all(dir.path().join(left)).unwrap();
    }
    let marker = dir.path().join("db-0/rocksdb.dataset.json");
    let text = std::fs::read_to_string(&marker).unwrap();
    let started = text.replace("\"complete\": true", "\"complete\": false");
    assert_ne!(started, text);
    std::fs::write(marker, started).unwrap();
    stop_load(&plan, dir.path());
    let study = Study::open(&dir.path().join("study")).unwrap();
    let loads = study.loads().unwrap();
    drop(study);
    let loaded = loaded_to_its_end(&plan, dir.path());
    // Its records are kept.
    assert_eq!(loaded[0], 1);
    let had_more = loaded[1..].iter().any(|left| *left > 1);
    assert!(loads.is_empty() || !had_more, "{loads:?}");
    had_more
}

/// A plan in this directory that loads so many records on each rank.
fn large(dir: &Path, records: u64) -> Plan {
    let database = format!(
        "[database]\ndriver = 'rocksdb'\n[[system]]\nname = 'a'\npath = '{}/db-{{rank}}'",
        dir.display()
    );
    let sweep = "workloads = ['ycsb-c']\ndistribution = 'uniform'\nthreads = [4]\noperations = 60_000\n\
                 warmup = '0s'\nload_threads = 5";
    let text = plan(&database, sweep)
        .header
        .source
        .replace("records = 1000", &format!("records = {records}"));
    RawPlan::parse("test", &text).unwrap().check().unwrap()
}

/// Runs it on three ranks, and stops it when the first one has loaded some.
fn stop_load(plan: &Plan, dir: &Path) {
    let stops = StopsLoad(Stop::new());
    let clocks = [Clock::default(); 3];
    let summary = run_with(plan, &dir.join("study"), &clocks, &stops, &stops.0).unwrap();
    assert!(summary.interrupted);
}

/// Runs it to its end; how many records each rank has loaded in that. No read misses.
fn loaded_to_its_end(plan: &Plan, dir: &Path) -> Vec<u64> {
    let out = dir.join("study");
    run(plan, &out, 3).unwrap();
    let study = Study::open(&out).unwrap();
    let load = &study.loads().unwrap()[0];
    let ranks = load.phase.ranks.iter();
    let loaded: Vec<u64> = ranks.map(|rank| rank.operations).collect();
    assert_eq!(load.records, loaded.iter().sum::<u64>());
    // If one percent were missing, hundreds of these would have found nothing.
    let reads = &study.points().unwrap()[0].phase.kinds[&Kind::Read];
    assert_eq!((reads.not_found, reads.errors), (0, 0));
    loaded
}

#[test]
fn a_rank_that_cannot_open_its_database_is_named() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("db-1"), "no directory").unwrap();
    let database = format!(
        "[database]\ndriver = 'rocksdb'\n[[system]]\nname = 'a'\npath = '{}/db-{{rank}}'",
        dir.path().display()
    );
    let sweep = "workloads = ['ycsb-c']\nthreads = [2]\nduration = '1s'";
    let failed = run(&plan(&database, sweep), &dir.path().join("study"), 2);
    let Err(error @ Error::Rank { rank: 1, .. }) = failed else {
        panic!("{failed:?}");
    };
    assert!(error.to_string().contains("db-1"), "{error}");
}

/// Requests a stop in the measured part.
struct Stops(Stop);

impl Observer for Stops {
    fn phase_started(&self, phase: &PhaseStart<'_>) {
        if phase.kind == PhaseKind::Measure {
            let stop = self.0.clone();
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(300));
                stop.request();
            });
        }
    }
}

#[test]
fn a_stop_ends_the_phase_on_all_ranks_and_the_run_goes_on_later() {
    let out = tempfile::tempdir().unwrap();
    let sweep = "workloads = ['ycsb-a']\nthreads = [4]\nduration = '600s'\nwarmup = '0s'";
    let stops = Stops(Stop::new());
    let clocks = [Clock::default(); 3];
    let summary = run_with(&plan(NULL, sweep), out.path(), &clocks, &stops, &stops.0).unwrap();
    assert!(summary.interrupted);
    assert_eq!((summary.points_measured, points(out.path()).len()), (0, 0));
}

#[test]
fn a_warm_up_by_rule_is_judged_by_what_all_ranks_measured() {
    let out = tempfile::tempdir().unwrap();
    let database = "[database]\ndriver = 'sim'\nmodel = 'exponential 1ms'\n[[system]]\nname = 'a'";
    let sweep = "workloads = ['ycsb-c']\nthreads = [16]\nrate = 4000\nduration = '200s'\nwarmup = 'auto'\n\
                 warmup_most = '10m'";
    run(&plan(database, sweep), out.path(), 2).unwrap();
    let point = &points(out.path())[0].phase;
    let warmup = point.warmup.as_deref().unwrap();
    let lengths = |ranks: &[RankPart]| ranks.iter().map(|r| r.duration_s).collect::<Vec<_>>();
    let of_warmup = lengths(&warmup.phase.ranks);
    assert_eq!(of_warmup.len(), 2);
    assert!((of_warmup[0] - of_warmup[1]).abs() < 1e-6, "{of_warmup:?}");
    assert!(
        warmup.steady_s.is_some() && of_warmup[0] < 600.0,
        "{of_warmup:?}"
    );
    assert_eq!(point.ranks.len(), 2);
    assert!(
        point.operations.abs_diff(800_000) < 100,
        "{}",
        point.operations
    );
}

#[test]
fn what_each_rank_loaded_for_a_study_is_found_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    std::fs::create_dir(&data).unwrap();
    let database = format!(
        "[database]\ndriver = 'file'\n[[system]]\nname = 'a'\npath = '{}/{{rank}}'",
        data.display()
    );
    let sweep = "workloads = ['ycsb-c']\nthreads = [3]\noperations = 300\nwarmup = '0s'";
    run(&plan(&database, sweep), &out, 3).unwrap();
    let cleaning = || Cleaning::look(&out, None, Results::Keep).unwrap();
    let lines = cleaning().lines().join("\n");
    for rank in 0..3 {
        let file = data.join(rank.to_string()).join("slots.dat");
        assert!(lines.contains(&format!("`{}`", file.display())), "{lines}");
    }
    // Another host has the records that are missing here.
    std::fs::rename(data.join("1"), dir.path().join("elsewhere")).unwrap();
    let cleaning = cleaning();
    assert_eq!(cleaning.not_touched.len(), 1);
    let (place, why) = &cleaning.not_touched[0];
    assert_eq!(*place, data.join("1").display().to_string());
    assert!(why.contains("rank 1 had its data on host-1"), "{why}");
    assert_eq!(cleaning.remove(&|_| {}), Vec::<String>::new());
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0);
    assert!(dir.path().join("elsewhere/slots.dat").exists());
}
