//! What several ranks measure is one result: budgets, quantiles, places and hosts.

use crate::{END, TAILMARK, done, program, ranks, shown};
use serde_json::Value;
use tailmark_testing::{Hosts, Mpirun, test};
use tempfile::TempDir;

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
    let dir = TempDir::new().unwrap();
    let run = [
        "run",
        "--driver=null",
        "--system=a=x",
        "--records=1k",
        "--workload=ycsb-a",
        "--threads=2,6",
        "--operations=600001",
        "--warmup=0s",
        "--output=out",
    ];
    done(&ranks(4, dir.path(), &run).run(END));
    let points = TAILMARK.points(dir.path());
    // As the threads are shared: 1 and 1; 2, 2, 1 and 1.
    let shares: [&[u64]; 2] = [&[300_001, 300_000], &[200_001, 200_000, 100_000, 100_000]];
    assert_eq!(points.len(), shares.len());
    for (point, shares) in points.iter().zip(shares) {
        let of_ranks = operations(point);
        assert_eq!(of_ranks.len(), shares.len(), "{}", shown(point));
        let each = of_ranks.iter().zip(shares);
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

/// Of two requests that are under way at once in one process each takes twice as long. Of five
/// clients rank 0 has two, and they do a quarter of all: in the mean of the ranks p99 would be 1.25 ms.
#[test]
fn quantiles_are_those_of_all_requests_and_no_mean_of_the_ranks() {
    let dir = TempDir::new().unwrap();
    let run = [
        "run",
        "--driver=sim",
        "--system=a=x",
        "--set=database.model=constant 1ms; contention 1 0",
        "--records=1k",
        "--workload=ycsb-c",
        "--threads=5",
        "--duration=20s",
        "--warmup=0s",
        "--output=out",
    ];
    done(&ranks(4, dir.path(), &run).run(END));
    let points = TAILMARK.points(dir.path());
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
    let measure = || {
        let dir = TempDir::new().unwrap();
        let run = [
            "run",
            "--driver=sim",
            "--system=a=x",
            "--set=database.model=exponential 1ms",
            "--records=1k",
            "--workload=ycsb-a",
            "--threads=6",
            "--operations=20000",
            "--warmup=0s",
            "--output=out",
        ];
        done(&ranks(4, dir.path(), &run).run(END));
        TAILMARK.points(dir.path()).remove(0)["kinds"].clone()
    };
    assert_eq!(measure(), measure());
}

#[test]
fn an_exponential_database_has_the_quantiles_that_are_known() {
    let dir = TempDir::new().unwrap();
    let run = [
        "run",
        "--driver=sim",
        "--system=a=x",
        "--set=database.model=exponential 1ms",
        "--records=1k",
        "--workload=ycsb-c",
        "--threads=16",
        "--duration=30s",
        "--warmup=0s",
        "--output=out",
    ];
    done(&ranks(4, dir.path(), &run).run(END));
    let point = TAILMARK.points(dir.path()).remove(0);
    for (name, us) in [("p50", 693.1), ("p99", 4_605.2), ("p99.9", 6_907.8)] {
        let ratio = number(&point, &["kinds", "read", "service_us", name]) / us;
        assert!((ratio - 1.0).abs() < 0.05, "{name}: {ratio}");
    }
}

#[test]
fn hosts_whose_clocks_are_apart_measure_the_same_seconds() {
    let (dir, hosts) = (
        TempDir::new().unwrap(),
        Hosts::with_clocks(&[0, 3600, -100]),
    );
    let run = [
        "run",
        "--driver=null",
        "--system=a=x",
        "--records=1k",
        "--rates=3k",
        "--duration=5s",
        "--warmup=0s",
        "--output=out",
    ];
    let mpirun = Mpirun::on(&hosts, &program(), dir.path());
    done(&mpirun.args(run).run(END));
    let point = TAILMARK.points(dir.path()).remove(0);
    // Each rank rounds its part of the last instant up.
    let operations = number(&point, &["operations"]);
    assert!(
        (15_000.0..=15_003.0).contains(&operations),
        "{}",
        shown(&point)
    );
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
    let run = |path: &str| {
        let system = format!("--system=a={path}");
        let args = [
            "run",
            "--driver=rocksdb",
            &system,
            "--records=500",
            "--workload=ycsb-a",
            "--threads=2",
            "--operations=1000",
            "--warmup=0s",
            "--output=out",
        ];
        ranks(2, dir.path(), &args).run(END)
    };
    let refused = run("data");
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("{rank}"), "{}", refused.err);
    assert!(!dir.path().join("data").exists());
    done(&run("data-{rank}"));
    for rank in 0..2 {
        assert!(dir.path().join(format!("data-{rank}")).is_dir(), "{rank}");
    }
    let points = TAILMARK.points(dir.path());
    assert_eq!((points.len(), &points[0]["operations"]), (1, &1_000.into()));
}

#[test]
fn a_run_goes_on_with_as_many_ranks_and_no_others() {
    let dir = TempDir::new().unwrap();
    let run = |count: u32, threads: &str| {
        let threads = format!("--threads={threads}");
        let args = [
            "run",
            "--driver=null",
            "--system=a=x",
            "--records=1k",
            &threads,
            "--operations=1000",
            "--warmup=0s",
            "--output=out",
        ];
        ranks(count, dir.path(), &args).run(END)
    };
    done(&run(2, "4"));
    let refused = run(3, "4");
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("ranks"), "{}", refused.err);
    done(&run(2, "4"));
    let plain = TAILMARK.run(
        dir.path(),
        &[
            "run",
            "--driver=null",
            "--system=a=x",
            "--records=1k",
            "--threads=4",
            "--operations=1000",
            "--warmup=0s",
            "--output=out",
        ],
    );
    assert_eq!(plain.status.code(), Some(2));
}

#[test]
fn a_wrong_plan_is_one_error_and_ends_all_ranks() {
    let dir = TempDir::new().unwrap();
    let args = [
        "run",
        "--driver=null",
        "--system=a=x",
        "--threads=0",
        "--output=out",
    ];
    let refused = ranks(4, dir.path(), &args).run(END);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert_eq!(refused.err.matches("error: ").count(), 1, "{}", refused.err);
}

/// Each of several would measure everything, into one directory.
#[cfg(not(feature = "mpi"))]
#[test]
fn a_program_without_mpi_refuses_to_be_one_of_several() {
    let dir = TempDir::new().unwrap();
    let args = [
        "run",
        "--driver=null",
        "--system=a=x",
        "--records=1k",
        "--output=out",
    ];
    let plain = Mpirun::new(2, std::path::Path::new(TAILMARK.0), dir.path());
    let refused = plain.args(args).run(END);
    assert_ne!(refused.code, Some(0), "{}", refused.err);
    assert!(
        refused.err.contains("one of 2 processes of mpirun"),
        "{}",
        refused.err
    );
    assert!(!dir.path().join("out").exists());
}
