//! `tailmark ycsb` on servers that are really there: `TEST_CASSANDRA`, `TEST_AEROSPIKE` and
//! `TEST_REDIS` name contact points. Without them the tests are ignored.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{
    path::Path,
    process::{Command, Output},
};
use tailmark_testing::{not_installed, resp, server, test};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailmark");

/// YCSB's workloads: what their files hold besides the counts.
const WORKLOADS: &[(&str, &str)] = &[
    (
        "workloada",
        "readproportion=0.5\nupdateproportion=0.5\nrequestdistribution=zipfian\n",
    ),
    (
        "workloadb",
        "readproportion=0.95\nupdateproportion=0.05\nrequestdistribution=zipfian\n",
    ),
    (
        "workloadc",
        "readproportion=1\nupdateproportion=0\nrequestdistribution=zipfian\n",
    ),
    (
        "workloadd",
        "readproportion=0.95\nupdateproportion=0\ninsertproportion=0.05\n\
         requestdistribution=latest\n",
    ),
    (
        "workloade",
        "readproportion=0\nupdateproportion=0\nscanproportion=0.95\ninsertproportion=0.05\n\
         requestdistribution=zipfian\nmaxscanlength=100\nscanlengthdistribution=uniform\n",
    ),
    (
        "workloadf",
        "readproportion=0.5\nupdateproportion=0\nreadmodifywriteproportion=0.5\n\
         requestdistribution=zipfian\n",
    ),
];

fn ycsb(dir: &Path, call: [&str; 2], properties: &[&str], workload: &str) -> Output {
    Command::new(PROGRAM)
        .arg("ycsb")
        .args(call)
        .args(["-P", workload, "-threads", "8", "-s"])
        .args(properties.iter().flat_map(|pair| ["-p", pair]))
        .current_dir(dir)
        .output()
        .unwrap()
}

/// The value of a line of the final block.
fn value(output: &Output, line: &str) -> Option<u64> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .find_map(|l| l.strip_prefix(line)?.strip_prefix(", ")?.parse().ok())
}

/// Loads, and runs each of the workloads on what was loaded: every read is found and is what was
/// written.
fn load_and_run(binding: &str, properties: &[&str], workloads: &[&str]) {
    let dir = TempDir::new().unwrap();
    let chosen = WORKLOADS
        .iter()
        .filter(|(name, _)| workloads.contains(name));
    let mut loaded = false;
    for (name, text) in chosen {
        let common = "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=1000\n\
                      operationcount=1000\ndataintegrity=true\n";
        std::fs::write(dir.path().join(name), format!("{common}{text}")).unwrap();
        for action in ["load", "run"] {
            if action == "load" && loaded {
                continue;
            }
            loaded = true;
            let output = ycsb(dir.path(), [action, binding], properties, name);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{action} {name}: {said}");
            if action == "load" {
                assert_eq!(value(&output, "[INSERT], Return=OK"), Some(1000), "{name}");
                continue;
            }
            let out = String::from_utf8_lossy(&output.stdout);
            assert!(out.contains("\n[OVERALL], "), "{out}");
            for word in ["NOT_FOUND", "UNEXPECTED_STATE", "-FAILED", "Return=ERROR"] {
                assert!(!out.contains(word), "{name}: {out}");
            }
            let reads = value(&output, "[READ], Operations");
            assert_eq!(
                value(&output, "[VERIFY], Return=OK"),
                reads,
                "{name}: {out}"
            );
            assert!(said.contains(" sec: 1000 operations; "), "{name}: {said}");
        }
    }
}

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn workloads_a_to_f_run_on_cassandra() {
    let address = server("cassandra");
    let (host, port) = address.rsplit_once(':').unwrap();
    let keyspace = format!("cassandra.keyspace=drop_in_{}", std::process::id());
    let (hosts, port) = (format!("hosts={host}"), format!("port={port}"));
    let level = "cassandra.readconsistencylevel=ONE";
    let all: Vec<_> = WORKLOADS.iter().map(|(name, _)| *name).collect();
    load_and_run("cassandra-cql", &[&hosts, &port, &keyspace, level], &all);
}

#[test]
fn workloads_without_scans_run_on_aerospike() {
    let hosts = server("aerospike");
    let (host, port) = hosts.rsplit_once(':').unwrap();
    let (host, port) = (format!("as.host={host}"), format!("as.port={port}"));
    let table = format!("table=drop_in_{}", std::process::id());
    load_and_run(
        "aerospike",
        &[&host, &port, "as.namespace=test", &table],
        &[
            "workloada",
            "workloadb",
            "workloadc",
            "workloadd",
            "workloadf",
        ],
    );
}

/// Database 0 is the only one that YCSB's binding knows; a setting of tailmark's own names another.
#[test]
fn workloads_a_to_f_run_on_redis() {
    let hosts = server("redis");
    assert_eq!(resp(&hosts, 1054, &["FLUSHDB"]), ["OK"]);
    let (host, port) = hosts.rsplit_once(':').unwrap();
    let (host, port) = (format!("redis.host={host}"), format!("redis.port={port}"));
    let own = [
        "redis.database=1054",
        "redis.timeout=5000",
        "redis.cluster=false",
    ];
    let all: Vec<_> = WORKLOADS.iter().map(|(name, _)| *name).collect();
    let properties = [&[&*host, &*port], &own[..]].concat();
    load_and_run("redis", &properties, &all);
}

/// What the drop-in writes is found by redis-py, and what that writes as YCSB's binding does is found
/// and compared by the drop-in, field by field.
#[test]
fn records_are_exchanged_with_another_client_of_redis() {
    let hosts = server("redis");
    let (host, port) = hosts.rsplit_once(':').unwrap();
    let (host, port) = (format!("redis.host={host}"), format!("redis.port={port}"));
    let dir = TempDir::new().unwrap();
    let text = "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=200\noperationcount=400\n\
                dataintegrity=true\nreadproportion=1\nupdateproportion=0\n";
    std::fs::write(dir.path().join("workloadc"), text).unwrap();
    for database in [1055, 1056] {
        assert_eq!(resp(&hosts, database, &["FLUSHDB"]), ["OK"]);
    }
    let call = |action, database: &str| {
        let output = ycsb(
            dir.path(),
            [action, "redis"],
            &[&host, &port, database],
            "workloadc",
        );
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{action}: {said}");
        output
    };
    call("load", "redis.database=1055");
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/reference/exchange_redis.py"
    );
    let (host_name, port_number) = hosts.rsplit_once(':').unwrap();
    // Debian's, which has Debian's modules.
    let exchanged = Command::new("/usr/bin/python3")
        .args([script, host_name, port_number, "1055", "1056"])
        .output()
        .unwrap();
    let why = String::from_utf8_lossy(&exchanged.stderr);
    if why.contains("No module named 'redis'") {
        not_installed("Python's module redis is missing (Debian: python3-redis)");
    }
    assert_eq!(exchanged.stdout, b"200\n", "{why}");
    let output = call("run", "redis.database=1056");
    assert_eq!(value(&output, "[READ], Return=OK"), Some(400));
    assert_eq!(value(&output, "[VERIFY], Return=OK"), Some(400));
    assert_eq!(resp(&hosts, 1056, &["EXISTS", "tailmark"]), ["0"]);
}
