//! Other programs that read the same kind of records from the same server, where they are named:
//! `LATTE` for Cassandra, `ASBENCH` for Aerospike, `REDIS_BENCHMARK` for Redis. Each loads records of its own first.

use crate::{Meter, NAMESPACE, RECORDS, support::Run};
use std::{env, path::Path, process::Command, time::Duration};

/// Clients of one thread of latte: as many as tailmark gives one of its own.
const CLIENTS: u32 = 16;
/// Where asbench keeps its records.
const SET: &str = "asbench";
/// What latte runs: the statement of tailmark on a table like tailmark's.
const SCRIPT: &str = r#"
const ROWS = latte::param!("rows", 1);

pub async fn schema(db) {
    db.execute("CREATE KEYSPACE IF NOT EXISTS latte_bench WITH replication = \
        {'class': 'NetworkTopologyStrategy', 'replication_factor': 1}").await?;
    db.execute("CREATE TABLE IF NOT EXISTS latte_bench.usertable (y_id varchar PRIMARY KEY, \
        field0 varchar, field1 varchar, field2 varchar, field3 varchar)").await?;
}

pub async fn erase(db) {
    db.execute("TRUNCATE TABLE latte_bench.usertable").await?;
}

pub async fn prepare(db) {
    db.load_cycle_count = ROWS;
    db.prepare("insert", "INSERT INTO latte_bench.usertable \
        (y_id, field0, field1, field2, field3) VALUES (?, ?, ?, ?, ?)").await?;
    db.prepare("read", "SELECT * FROM latte_bench.usertable WHERE y_id = ?").await?;
}

pub async fn load(db, i) {
    let text = latte::text(i, 1024);
    db.execute_prepared("insert", [`user${i}`, text, text, text, text]).await?
}

pub async fn run(db, i) {
    db.execute_prepared("read", [`user${latte::hash(i) % ROWS}`]).await?
}
"#;

/// The program for this driver, if it is named.
pub fn runs<'a>(driver: &str, hosts: &'a str, clients: u32, time: Duration) -> Option<Run<'a>> {
    match driver {
        "cassandra" => {
            let program = env::var("LATTE").ok()?;
            let script = env::temp_dir().join(format!("tailmark-{}.rn", std::process::id()));
            std::fs::write(&script, SCRIPT).unwrap();
            for step in ["schema", "load"] {
                latte(&program, step, &script, hosts, &[]);
            }
            // What it takes to start is not what an operation takes.
            let one = latte_run(&program, &script, hosts, clients, "1");
            let time = format!("{}s", time.as_secs().max(1));
            Some((
                "latte".to_owned(),
                Box::new(move || {
                    let many = latte_run(&program, &script, hosts, clients, &time);
                    (many.0 - one.0) * 1e6 / (many.1 - one.1) as f64
                }),
            ))
        }
        "redis" => redis_benchmark(hosts, clients, time),
        _ => {
            let program = env::var("ASBENCH").ok()?;
            asbench(&program, hosts, &["-w", "I", "-z", "16"]);
            let arguments = [
                "-w".to_owned(),
                "RU,100".to_owned(),
                "-z".to_owned(),
                clients.to_string(),
                "-t".to_owned(),
                time.as_secs().max(1).to_string(),
            ];
            Some((
                "asbench".to_owned(),
                Box::new(move || {
                    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                    let (seconds, operations) = asbench(&program, hosts, &arguments);
                    seconds * 1e6 / operations as f64
                }),
            ))
        }
    }
}

/// Reads hashes of its own as tailmark's are, a thousand of them, in another logical database.
fn redis_benchmark(hosts: &str, clients: u32, time: Duration) -> Option<Run<'_>> {
    let program = env::var("REDIS_BENCHMARK").ok()?;
    let (host, port) = hosts.rsplit_once(':')?;
    let run = move |parallel: u32, count: u64, words: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["-h", host, "-p", port, "--dbnum", "14", "-q", "-r", "1000"]);
        command.args(["-c", &parallel.to_string(), "-n", &count.to_string()]);
        ran(command.args(words)).0
    };
    let field = "x".repeat(1024);
    let mut insert = vec!["HSET", "bench:__rand_int__"];
    for name in ["field0", "field1", "field2", "field3"] {
        insert.extend([name, &field]);
    }
    // All of the thousand keys, as good as surely.
    run(16, RECORDS, &insert);
    let requests = 50_000 * time.as_secs().max(1);
    let read = move || run(clients, requests, &["HGETALL", "bench:__rand_int__"]);
    Some((
        "redis-benchmark".to_owned(),
        Box::new(move || read() * 1e6 / requests as f64),
    ))
}

/// Runs a command; its processor time in seconds and what it printed.
fn ran(command: &mut Command) -> (f64, String) {
    let meter = Meter::of_children();
    let out = command.output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}: {text}{error}");
    (meter.passed_s(), text)
}

fn latte(program: &str, step: &str, script: &Path, hosts: &str, more: &[&str]) -> (f64, String) {
    let mut command = Command::new(program);
    command.arg(step).args(more);
    if step != "schema" {
        command.args(["-P", &format!("rows={RECORDS}")]);
    }
    ran(command.arg(script).arg(hosts))
}

/// Processor time in seconds, and operations.
fn latte_run(
    program: &str,
    script: &Path,
    hosts: &str,
    clients: u32,
    duration: &str,
) -> (f64, u64) {
    let processors = u32::try_from(tailmark_machine::cpus()).unwrap();
    let threads = clients.div_ceil(CLIENTS).min(processors);
    let report = script.with_extension("json");
    let _ = std::fs::remove_file(&report);
    let more = [
        "--threads",
        &threads.to_string(),
        "--concurrency",
        &(clients / threads).to_string(),
        "--warmup",
        "1",
        "--duration",
        duration,
        "--output",
        report.to_str().unwrap(),
    ];
    let (seconds, _) = latte(program, "run", script, hosts, &more);
    let report = std::fs::read_to_string(report).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let result = &report["result"];
    assert_eq!(result["error_count"], 0, "{result}");
    (seconds, result["cycle_count"].as_u64().unwrap() + 1)
}

/// Processor time in seconds, and operations: it prints how many a second there were.
fn asbench(program: &str, hosts: &str, arguments: &[&str]) -> (f64, u64) {
    let keys = RECORDS.to_string();
    let mut command = Command::new(program);
    command
        .args(["-h", hosts, "-n", NAMESPACE, "-s", SET, "-k", &keys])
        .args(["-o", "B1024,B1024,B1024,B1024"])
        .args(arguments);
    let (seconds, text) = ran(&mut command);
    let rates = text.lines().filter_map(|line| {
        let (_, total) = line.split_once(" total(tps=")?;
        let (rate, rest) = total.split_once(' ')?;
        assert!(rest.contains("miss=0) timeouts=0 errors=0"), "{line}");
        rate.parse::<u64>().ok()
    });
    (seconds, rates.sum())
}
