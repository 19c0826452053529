//! What a request to a server costs its client: user and system time of the client's process per
//! operation, held against bare loops around the same client crates in one interleaved run. The
//! servers are those that `TEST_CASSANDRA`, `TEST_AEROSPIKE` and `TEST_REDIS` name; `LATTE`, `ASBENCH`
//! and `REDIS_BENCHMARK` name programs to compare with. `./dev bench servers [PAIRS] [SECONDS] [CLIENTS,...]`; the results are
//! in docs/PERFORMANCE.md.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program to look at"
)]

mod bare;
mod programs;
#[path = "../support/mod.rs"]
mod support;

use bare::{Aerospike, Cassandra, Redis};
use std::{env, path::Path, sync::Arc, time::Duration};
use support::{
    compare,
    measured::{self, Budget, uniform_reads},
    pair,
};
use tailmark_driver::{Database, Driver, db};
use tailmark_workload::Workload;

/// Enough that keys differ, and few enough to be loaded in seconds.
const RECORDS: u64 = 20_000;
/// Where Cassandra keeps them, apart from the data of others.
const KEYSPACE: &str = "tailmark_bench";
/// Where Aerospike keeps them.
const NAMESPACE: &str = "test";
/// Where Redis keeps them: a logical database of its own.
const DATABASE: &str = "15";

fn main() {
    let mut args = env::args().skip(1).filter(|a| !a.starts_with("--"));
    let pairs = args.next().and_then(|a| a.parse().ok()).unwrap_or(5);
    let seconds = Duration::from_secs_f64(args.next().and_then(|a| a.parse().ok()).unwrap_or(3.0));
    let counts: Vec<u32> = args.next().map_or_else(
        || vec![16, 128],
        |list| list.split(',').filter_map(|n| n.parse().ok()).collect(),
    );
    for name in ["cassandra", "aerospike", "redis"] {
        let variable = format!("TEST_{}", name.to_uppercase());
        let Ok(hosts) = env::var(&variable) else {
            println!("{name}: left out, {variable} names no server");
            continue;
        };
        let driver = db::find(name).unwrap();
        let settings = match name {
            "cassandra" => ("keyspace", KEYSPACE),
            "redis" => ("database", DATABASE),
            _ => ("namespace", NAMESPACE),
        };
        let database = measured::open(driver, Path::new(&hosts), &[settings], RECORDS);
        measure(driver, database.as_ref(), 16, Budget::Load);
        for &clients in &counts {
            let ours = || measure(driver, database.as_ref(), clients, Budget::Time(seconds));
            let hosts = hosts.as_str();
            let mut runs = match name {
                "cassandra" => pair(ours, || bare::run::<Cassandra>(hosts, clients, seconds)),
                "redis" => pair(ours, || bare::run::<Redis>(hosts, clients, seconds)),
                _ => pair(ours, || bare::run::<Aerospike>(hosts, clients, seconds)),
            };
            runs.extend(programs::runs(name, hosts, clients, seconds));
            let title = format!("{name}, reads, {clients} clients");
            compare(&title, "us of processor time an operation", pairs, runs);
        }
    }
}

/// Reads, or loads; processor time of this process per operation.
fn measure(driver: &Driver, database: &dyn Database, clients: u32, budget: Budget) -> f64 {
    let workload = match budget {
        Budget::Time(_) => uniform_reads(),
        Budget::Load => Arc::new(Workload::load()),
    };
    let meter = Meter::start();
    let phase = measured::run(
        database,
        driver.clients,
        &workload,
        RECORDS,
        clients,
        budget,
    );
    meter.per_operation(phase.operations)
}

/// Processor time that passes.
struct Meter {
    began: f64,
    of: Of,
}

/// Whose time it is.
#[derive(Clone, Copy)]
enum Of {
    /// This process.
    Own,
    /// The processes that it started, and that have ended.
    Children,
}

impl Meter {
    /// Of this process, from now on.
    fn start() -> Self {
        Self::new(Of::Own)
    }

    /// Of the processes that are started and have ended, from now on.
    fn of_children() -> Self {
        Self::new(Of::Children)
    }

    fn new(whose: Of) -> Self {
        let began = processor_s(whose);
        Self { began, of: whose }
    }

    /// Seconds until now.
    fn passed_s(&self) -> f64 {
        processor_s(self.of) - self.began
    }

    /// Microseconds for each of so many operations.
    fn per_operation(&self, operations: u64) -> f64 {
        self.passed_s() * 1e6 / operations as f64
    }
}

/// User and system time so far, from `/proc/self/stat`, which counts hundredths of a second.
fn processor_s(whose: Of) -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // Behind the name, which may hold blanks: the state is the third column of the manual.
    let columns: Vec<&str> = stat[stat.rfind(')').unwrap()..].split(' ').collect();
    let first = match whose {
        Of::Own => 12,
        Of::Children => 14,
    };
    let ticks = columns[first..first + 2]
        .iter()
        .map(|ticks| ticks.parse::<f64>().unwrap());
    ticks.sum::<f64>() / 100.0
}
