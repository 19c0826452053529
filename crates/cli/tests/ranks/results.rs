//! What several ranks measure is one result: budgets, quantiles, places and hosts.

use crate::{END, TAILMARK, done, program, ranks, shown};
use serde_json::Value;
use std::fs;
use tailmark_testing::{Hosts, Mpirun, test};
use tempfile::TempDir;

/// A run of this driver at a place, on 1,000 records and from the first request on.
fn run(driver: &str, place: &str, more: &[&str]) -> Vec<String> {
    let system = [format!("--driver={driver}"), format!("--system=a={place}")];
    let fixed = ["run", "--records=1k", "--warmup=0s", "--output=out"];
    let words = fixed.iter().chain(more).map(|word| (*word).to_owned());
    words.chain(system).collect()
}

/// Simulated requests.
fn simulated(model: &str, more: &[&str]) -> Vec<String> {
    let model = format!("--set=database.model={model}");
    run("sim", "x", &[&[model.as_str()], more].concat())
}

/// The points that so many ranks measure.
fn measured(count: u32, run: &[String]) -> Vec<Value> {
    let dir = TempDir::new().unwrap();
    done(&ranks(count, dir.path(), run).run(END));
    TAILMARK.points(dir.path())
}

/// A number of a point.
fn number(point: &Value, path: &[&str]) -> f64 {
    let value = path.iter().fold(point, |value, key| &value[key]);
    value.as_f64().unwrap_or_else(|| panic!("no {path:?}"))
}

/// The operations of each rank.
fn operations(point: &Value) -> Vec<u64> {
    let ranks = point["ranks"].as_array().unwrap().iter();
    ranks
        .map(|rank| rank["operations"].as_u64().unwrap())
        .collect()
}

/// A point ends for all when one rank has done its share; before that nobody has done more.
#[test]
fn ranks_share_a_budget_and_every_operation_is_counted_once() {
    let flags = ["--workload=ycsb-a", "--threads=2,6", "--operations=600001"];
    let points = measured(4, &run("null", "x", &flags));
    // As the threads are shared: 1 and 1; 2, 2, 1 and 1.
    let shares: [&[u64]; 2] = [&[300_001, 300_000], &[200_001, 200_000, 100_000, 100_000]];
    assert_eq!(points.len(), shares.len());
    for (point, expected) in points.iter().zip(shares) {
        let of_ranks = operations(point);
        assert_eq!(of_ranks.len(), expected.len(), "{}", shown(point));
        let each = of_ranks.iter().zip(expected);
        assert!(
            each.clone().all(|(did, share)| did <= share),
            "{}",
            shown(point)
        );
        assert!(
            each.clone().any(|(did, share)| did == share),
            "{}",
            shown(point)
        );
        let kinds = point["kinds"].as_object().unwrap().values();
        let counts: u64 = kinds.map(|kind| kind["count"].as_u64().unwrap()).sum();
        assert_eq!(counts, of_ranks.iter().sum::<u64>(), "{}", shown(point));
        assert_eq!(point["operations"], counts, "{}", shown(point));
    }
}

/// Neither number can be divided by three, and 16 clients are 6, 5 and 5.
#[test]
fn at_a_rate_count_and_rate_of_all_ranks_are_those_of_the_plan() {
    for (threads, arrivals) in [("16", "even"), ("3", "even"), ("16", "poisson")] {
        let flags = [
            &format!("--threads={threads}"),
            &format!("--set=sweep.arrivals={arrivals}"),
            "--rate=5k",
            "--workload=ycsb-c",
            "--operations=15001",
        ];
        let point = &measured(3, &simulated("constant 100us", &flags))[0];
        assert_eq!(point["operations"], 15_001, "{}", shown(point));
        let ops_per_sec = number(point, &["ops_per_sec"]);
        // The last of a Poisson process is due when chance has it.
        let tolerance = if arrivals == "even" { 1e-6 } else { 0.2 };
        let off = ops_per_sec / 5_000.0 - 1.0;
        assert!(off.abs() < tolerance, "{ops_per_sec}: {}", shown(point));
    }
}

/// Of two requests that are under way at once in one process each takes twice as long. Of five
/// clients rank 0 has two, and they do a quarter of all: on average over the ranks p99 would be 1.25 ms.
#[test]
fn quantiles_are_those_of_all_requests_and_no_mean_of_the_ranks() {
    let flags = ["--workload=ycsb-c", "--threads=5", "--duration=20s"];
    let points = measured(4, &simulated("constant 1ms; contention 1 0", &flags));
    let [point] = &points[..] else {
        panic!("{} points", points.len())
    };
    let read = |name: &str| number(point, &["kinds", "read", "service_us", name]);
    for (name, us) in [
        ("p50", 1_000.0),
        ("p99", 2_000.0),
        ("max", 2_000.0),
        ("mean", 1_250.0),
    ] {
        assert!(
            (read(name) / us - 1.0).abs() < 0.002,
            "{name}: {}",
            read(name)
        );
    }
    let operations = number(point, &["operations"]);
    assert!((operations - 80_000.0).abs() <= 10.0, "{operations}");
    assert!((number(point, &["ops_per_sec"]) - 4_000.0).abs() < 2.0);
}

#[test]
fn the_same_seed_and_ranks_give_the_same_requests() {
    let flags = ["--workload=ycsb-a", "--threads=6", "--operations=20000"];
    let kinds = || measured(4, &simulated("exponential 1ms", &flags))[0]["kinds"].clone();
    assert_eq!(kinds(), kinds());
}

#[test]
fn an_exponential_database_has_the_quantiles_that_are_known() {
    let flags = ["--workload=ycsb-c", "--threads=16", "--duration=30s"];
    let points = measured(4, &simulated("exponential 1ms", &flags));
    for (name, us) in [("p50", 693.1), ("p99", 4_605.2), ("p99.9", 6_907.8)] {
        let ratio = number(&points[0], &["kinds", "read", "service_us", name]) / us;
        assert!((ratio - 1.0).abs() < 0.05, "{name}: {ratio}");
    }
}

#[test]
fn hosts_whose_clocks_are_apart_measure_the_same_seconds() {
    let (dir, hosts) = (
        TempDir::new().unwrap(),
        Hosts::with_clocks(&[0, 3600, -100]),
    );
    let mpirun = Mpirun::on(&hosts, &program(), dir.path());
    let flags = ["--rates=3k", "--duration=5s"];
    done(&mpirun.args(run("null", "x", &flags)).run(END));
    let point = TAILMARK.points(dir.path()).remove(0);
    assert_eq!(point["operations"], 15_000, "{}", shown(&point));
    for (rank, ahead_s) in [0.0, 3_600.0, -100.0].into_iter().enumerate() {
        let part = &point["ranks"][rank];
        assert_eq!(part["host"], format!("node{}", rank + 1));
        let off_ns = number(part, &["clock_ahead_ns"]) - ahead_s * 1e9;
        assert!(off_ns.abs() <= number(part, &["clock_bound_ns"]), "{part}");
    }
}

#[test]
fn each_rank_has_an_embedded_database_of_its_own() {
    let dir = TempDir::new().unwrap();
    let flags = ["--workload=ycsb-a", "--threads=2", "--operations=1000"];
    let by_two = |path: &str| ranks(2, dir.path(), &run("rocksdb", path, &flags)).run(END);
    let refused = by_two("data");
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("{rank}"), "{}", refused.err);
    assert!(!dir.path().join("data").exists());
    done(&by_two("data-{rank}"));
    for rank in 0..2 {
        assert!(dir.path().join(format!("data-{rank}")).is_dir(), "{rank}");
    }
    let points = TAILMARK.points(dir.path());
    // A point ends for all when one of them has spent its share.
    let of_ranks = operations(&points[0]);
    assert_eq!((points.len(), of_ranks.iter().max()), (1, Some(&500)));
    assert_eq!(points[0]["operations"], of_ranks.iter().sum::<u64>());
}

#[test]
fn a_run_goes_on_with_as_many_ranks_and_no_others() {
    let dir = TempDir::new().unwrap();
    let run = run("null", "x", &["--threads=4", "--operations=1000"]);
    let by = |count: u32| ranks(count, dir.path(), &run).run(END);
    done(&by(2));
    let refused = by(3);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("ranks"), "{}", refused.err);
    done(&by(2));
    let words: Vec<&str> = run.iter().map(String::as_str).collect();
    let plain = TAILMARK.run(dir.path(), &words);
    assert_eq!(plain.status.code(), Some(2));
}

/// Refused as by one process, and said once.
fn is_refused(count: u32, directory: &TempDir, run: &[String], said: &str) {
    let refused = ranks(count, directory.path(), run).run(END);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert_eq!(refused.err.matches("error: ").count(), 1, "{}", refused.err);
    assert!(refused.err.contains(said), "{}", refused.err);
}

#[test]
fn a_wrong_plan_is_one_error_and_ends_all_ranks() {
    let wrong = run("null", "x", &["--threads=0"]);
    is_refused(4, &TempDir::new().unwrap(), &wrong, "threads");
}

#[test]
fn wrong_flags_are_one_error_and_end_all_ranks() {
    let wrong = run("null", "x", &["--thread=4"]);
    is_refused(4, &TempDir::new().unwrap(), &wrong, "'--thread'");
}

#[test]
fn help_is_said_once() {
    let dir = TempDir::new().unwrap();
    let helped = ranks(3, dir.path(), &["run", "--help"]).run(END);
    done(&helped);
    assert_eq!(helped.out.matches("Usage:").count(), 1, "{}", helped.out);
}

#[test]
fn a_place_that_one_rank_does_not_have_is_refused_as_a_wrong_plan() {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("disk-0")).unwrap();
    let run = run("rocksdb", "disk-{rank}/db", &["--operations=100"]);
    is_refused(2, &dir, &run, "rank 1 on ");
    fs::create_dir(dir.path().join("disk-1")).unwrap();
    done(&ranks(2, dir.path(), &run).run(END));
}

/// Each of several would measure everything, into one directory.
#[cfg(not(feature = "mpi"))]
#[test]
fn a_program_without_mpi_refuses_to_be_one_of_several() {
    let dir = TempDir::new().unwrap();
    let plain = Mpirun::new(2, std::path::Path::new(TAILMARK.0), dir.path());
    let refused = plain.args(run("null", "x", &[])).run(END);
    assert_ne!(refused.code, Some(0), "{}", refused.err);
    let said = "one of 2 processes of mpirun";
    assert_eq!(refused.err.matches(said).count(), 1, "{}", refused.err);
    assert!(!dir.path().join("out").exists());
}
