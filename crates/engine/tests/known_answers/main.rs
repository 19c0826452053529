//! Points at a fixed rate on simulated databases whose answers are known beforehand: stalls, queues
//! and what is never done. `docs/METHOD.md` gives the ranges of the tables that these tests print.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test, whose tables are looked at"
)]

mod ageing;
mod anatomy;
mod background;
mod blame;
mod decided;
mod edges;
mod failing;
mod pairs;
mod peaks;
mod queues;
mod verdicts;

#[path = "../../../stats/src/steady/tests/normal.rs"]
mod normal;

use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tailmark_driver::{
    Access, Clients, DataSet, Database, Location, Params, Schema, Semantics, Settings, db,
};
use tailmark_engine::{Enough, Silent, Spec, Stop, Terms};
use tailmark_model::{Arrivals, Interval, Kind, Latencies, Phase, PointKey, quantile::value_at};
use tailmark_workload::KeySpace;

const MS: u64 = 1_000_000;

/// How many studies are drawn of each case: those of docs/METHOD.md with `./dev method`, and an
/// eighth of them in the tests. The seeds are fixed: a test passes always or never.
fn studies() -> usize {
    if std::env::var_os("METHOD").is_some() {
        4_000
    } else {
        500
    }
}

/// Two standard errors of a share, in percent, of that many studies.
fn monte_carlo(share: f64, studies: usize) -> f64 {
    2.0 * (share * (100.0 - share) / studies as f64).sqrt()
}

/// A point of reads at a rate.
#[derive(Clone, Copy)]
struct Asked {
    workload: &'static str,
    model: &'static str,
    rate: f64,
    arrivals: Arrivals,
    threads: u32,
    warmup_s: u64,
    duration_s: u64,
    operations: Option<u64>,
    enough: Option<&'static dyn Enough>,
    at_least_s: u64,
    is_warmup: bool,
    continues: bool,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            workload: "ycsb-c",
            model: "",
            rate: 1_000.0,
            arrivals: Arrivals::Even,
            threads: 64,
            warmup_s: 0,
            duration_s: 10,
            operations: None,
            enough: None,
            at_least_s: 0,
            is_warmup: false,
            continues: false,
        }
    }
}

fn data() -> DataSet {
    DataSet {
        schema: Schema {
            table: "t".into(),
            fields: vec!["f".into()],
        },
        records: 1_000,
        field_length: 10,
    }
}

fn open(model: &str) -> Box<dyn Database> {
    let driver = db::find("sim").unwrap();
    let given = BTreeMap::from([("model".to_owned(), model.to_owned())]);
    let params = Params {
        location: Location::None,
        data: data(),
        settings: Settings::check(driver, &given, &data(), 1.0).unwrap(),
        semantics: Semantics::default(),
        access: Access::Create,
        study: String::new(),
    };
    (driver.open)(&params).unwrap()
}

fn key(threads: u32) -> PointKey {
    PointKey {
        system: "a".into(),
        workload: "ycsb-c".into(),
        distribution: "zipfian".into(),
        threads,
        repeat: 1,
        target_rate: None,
        arrivals: None,
    }
}

fn measure(requested: Asked) -> Phase {
    measure_on(open(requested.model).as_ref(), requested)
}

/// On a database that is open already.
fn measure_on(database: &dyn Database, requested: Asked) -> Phase {
    let workload = Arc::new(tailmark_workload::find(requested.workload).unwrap());
    let (data, keys) = (data(), Arc::new(KeySpace::new(1_000, 1_000)));
    let key = key(requested.threads);
    let spec = Spec {
        clients: Clients::Tasks,
        system: "a",
        point: Some(&key),
        enough: requested.enough,
        terms: Terms {
            threads: requested.threads,
            rate: Some(requested.rate),
            arrivals: Some(requested.arrivals),
            warmup: Duration::from_secs(requested.warmup_s),
            duration: Some(Duration::from_secs(requested.duration_s)),
            at_least: Duration::from_secs(requested.at_least_s),
            is_warmup: requested.is_warmup,
            continues: requested.continues,
            operations: requested.operations,
            seed: 1,
            ..Terms::default()
        },
        ..Spec::new(database, &workload, &data, &keys)
    };
    tailmark_engine::run(&spec, &mut (), &Silent, &Stop::new()).unwrap()
}

/// Begins a table, whose range docs/METHOD.md gives.
fn table(columns: &str) {
    let count = columns.split('|').count();
    println!("\n| {columns} |\n|{}", " --- |".repeat(count));
}

fn response(phase: &Phase) -> &Latencies {
    phase.kinds[&Kind::Read].response()
}

/// Requests whose response took longer.
fn slower(phase: &Phase, than_ms: u64) -> u64 {
    let latencies = response(phase);
    latencies.len() - latencies.count_between(0, than_ms * MS)
}

#[test]
fn what_a_slow_read_delays_is_what_waits_for_it_alone() {
    // 0.1 % of 40,000 a second take 4 to 12 ms. If each client had its own schedule, the 99th
    // percentile would be 8.6, 1.4 and 0.23 ms with 8, 32 and 256 clients.
    table("threads | service p99, ms | response p99, ms | no client was free");
    for threads in [8, 32, 256] {
        let phase = measure(Asked {
            model: "lognormal 100us 0.3; mode 0.1% uniform 4ms 12ms",
            rate: 40_000.0,
            threads,
            duration_s: 20,
            ..Asked::default()
        });
        let kind = &phase.kinds[&Kind::Read];
        let p99 = |latencies| value_at(latencies, 0.99) as f64 / 1e6;
        let (service, found) = (p99(&kind.service), p99(kind.response()));
        let causes = phase.start_lag.unwrap().causes.unwrap();
        let share = causes.no_client.len() as f64 / phase.operations as f64;
        println!(
            "| {threads} | {service:.3} | {found:.3} | {:.2} % |",
            share * 100.0
        );
        if threads >= 32 {
            assert!((found / service - 1.0).abs() < 0.01, "{threads}: {found}");
            assert!(share < 1e-3, "{threads}: {share}");
        }
        // In virtual time no client is woken late.
        assert_eq!(causes.woken_late.max(), 0);
    }
}

#[test]
fn an_hour_of_a_closed_loop_is_counted_as_it_passes() {
    let workload = Arc::new(tailmark_workload::find("ycsb-c").unwrap());
    let (data, keys) = (data(), Arc::new(KeySpace::new(1_000, 1_000)));
    let database = open("constant 10ms; errors 10m 5s 50% timeout");
    let key = key(8);
    let spec = Spec {
        clients: Clients::Tasks,
        system: "a",
        point: Some(&key),
        terms: Terms {
            threads: 8,
            warmup: Duration::from_secs(60),
            duration: Some(Duration::from_secs(3_600)),
            ..Terms::default()
        },
        ..Spec::new(database.as_ref(), &workload, &data, &keys)
    };
    let phase = tailmark_engine::run(&spec, &mut (), &Silent, &Stop::new()).unwrap();
    assert_eq!(phase.operations, 8 * 100 * 3_600);
    assert!(phase.failed.abs_diff(2_000) < 200, "{}", phase.failed);
    assert_eq!(phase.errors[0].cause, "timeout");
    assert!((phase.duration_s - 3_600.0).abs() < 1e-9);
    assert!(phase.start_lag.is_none());
}
