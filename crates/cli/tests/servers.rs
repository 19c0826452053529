//! Whole sweeps on servers that are really there. Those of Cassandra need Java and Maven and start
//! one of their own where `TEST_CASSANDRA` is set; otherwise they say that they were skipped.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test that cannot be set up has failed, and says so"
)]

use serde_json::Value;
use std::{
    env,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailmark");

/// A Cassandra of a test's own; ended and removed with it.
struct Server {
    dir: TempDir,
    port: u16,
}

impl Server {
    /// Not started yet; none where servers are not to be started.
    fn new(port: u16) -> Option<Self> {
        if env::var_os("TEST_CASSANDRA").is_none() {
            eprintln!("skipped: TEST_CASSANDRA is not set");
            return None;
        }
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Some(Self { dir, port })
    }

    fn script() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cassandra/server")
    }

    /// The words of a shell that does something with it.
    fn shell(&self, action: &str) -> String {
        let (dir, port, script) = (self.dir.path().display(), self.port, Self::script());
        format!(
            "CASSANDRA_DIR={dir} CASSANDRA_PORT={port} {} {action}",
            script.display()
        )
    }

    fn act(&self, action: &str) {
        let status = Command::new("sh")
            .args(["-c", &self.shell(action)])
            .status()
            .unwrap();
        assert!(status.success(), "{action}");
    }

    fn hosts(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn pid(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("pid")).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("sh")
            .args(["-c", &self.shell("kill")])
            .status();
    }
}

fn start(dir: &Path, args: &[&str]) -> Child {
    let mut program = Command::new(PROGRAM);
    program
        .args(args)
        .current_dir(dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    program.spawn().unwrap()
}

fn tailmark(dir: &Path, args: &[&str]) -> Output {
    start(dir, args).wait_with_output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn points(dir: &Path) -> Vec<Value> {
    let json = tailmark(dir, &["export", "out", "--format", "json"]).stdout;
    let document: Value = serde_json::from_slice(&json).unwrap();
    document["points"].as_array().unwrap().clone()
}

fn has_finding(point: &Value, code: &str) -> bool {
    point["findings"]
        .as_array()
        .unwrap()
        .iter()
        .any(|finding| finding["code"] == code)
}

/// Runs YCSB's workloads on a server of this driver, and returns what was measured.
fn sweep(driver: &str, hosts: &str, setting: &str, workloads: &str) -> Vec<Value> {
    let dir = TempDir::new().unwrap();
    let system = format!("server={hosts}");
    let command = [
        "run",
        "--driver",
        driver,
        "--system",
        &system,
        "--set",
        setting,
        "--records",
        "2k",
        "--workload",
        workloads,
        "--threads",
        "1,20",
        "--operations",
        "1000",
        "--warmup",
        "0s",
        "-o",
        "out",
    ];
    let run = tailmark(dir.path(), &command);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    let points = points(dir.path());
    // Another run directory finds the data set by its marker, and refuses to take it for another.
    let mut again = command;
    again[again.len() - 1] = "other";
    again[8] = "3k";
    let refused = tailmark(dir.path(), &again);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(
        said(&refused).contains("records is `3000`, was `2000`"),
        "{}",
        said(&refused)
    );
    points
}

#[test]
fn ycsb_a_to_f_run_on_cassandra_without_an_error_or_a_miss() {
    let Ok(hosts) = env::var("TEST_CASSANDRA") else {
        eprintln!("skipped: TEST_CASSANDRA is not set");
        return;
    };
    let keyspace = format!("database.keyspace=sweep_{}", std::process::id());
    let all = "ycsb-a,ycsb-b,ycsb-c,ycsb-d,ycsb-e,ycsb-f";
    let points = sweep("cassandra", &hosts, &keyspace, all);
    assert_eq!(points.len(), 12);
    for point in points {
        assert_eq!(
            (&point["operations"], &point["errors"]),
            (&1000.into(), &0.into()),
            "{point}"
        );
        for (name, kind) in point["kinds"].as_object().unwrap() {
            assert_eq!(kind["not_found"], 0, "{name} of {}", point["workload"]);
        }
    }
}

#[test]
fn ycsb_a_b_c_d_f_run_on_aerospike_without_an_error() {
    let Ok(hosts) = env::var("TEST_AEROSPIKE") else {
        eprintln!("skipped: TEST_AEROSPIKE is not set");
        return;
    };
    let mut points = sweep(
        "aerospike",
        &hosts,
        "database.namespace=test",
        "ycsb-a,ycsb-b,ycsb-c,ycsb-d,ycsb-f",
    );
    assert_eq!(points.len(), 10);
    points.retain(|point| point["errors"] != 0 || point["operations"] != 1000);
    assert!(points.is_empty(), "{points:?}");
}

#[test]
fn a_server_that_is_killed_ends_the_point_and_the_same_command_goes_on_when_it_is_back() {
    let Some(server) = Server::new(9242) else {
        return;
    };
    server.act("start");
    let dir = TempDir::new().unwrap();
    let system = format!("server={}", server.hosts());
    let command = [
        "run",
        "--driver",
        "cassandra",
        "--system",
        &system,
        "--records",
        "2k",
        "--workload",
        "ycsb-a",
        "--threads",
        "4,8",
        "--duration",
        "25s",
        "--warmup",
        "0s",
        "--set",
        "sweep.ready_timeout=5s",
        "--set",
        "database.request_timeout_ms=2000",
        "-o",
        "out",
    ];
    let run = start(dir.path(), &command);
    sleep(Duration::from_secs(15));
    server.act("kill");
    let killed = Instant::now();
    let ended = run.wait_with_output().unwrap();
    assert!(
        killed.elapsed() < Duration::from_secs(45),
        "{:?}",
        killed.elapsed()
    );
    assert_eq!(ended.status.code(), Some(1), "{}", said(&ended));
    assert!(
        said(&ended).contains("did not answer within 5s"),
        "{}",
        said(&ended)
    );
    let kept = points(dir.path()).len();
    assert!(kept < 2, "a point that lost its server is measured again");
    server.act("start");
    let run = start(dir.path(), &command);
    sleep(Duration::from_secs(8));
    server.act("kill");
    server.act("start");
    let ended = run.wait_with_output().unwrap();
    let points = points(dir.path());
    assert_eq!(points.len(), 2, "{}", said(&ended));
    assert_eq!(ended.status.code(), Some(3), "{}", said(&ended));
    let hurt: Vec<_> = points.iter().filter(|point| point["errors"] != 0).collect();
    assert!(
        !hurt.is_empty(),
        "the point in progress counted its failures"
    );
    for point in hurt {
        assert!(has_finding(point, "errors"), "{point}");
        assert!(
            point["kinds"]["read"]["count"].as_u64().unwrap() > 0,
            "{point}"
        );
    }
}

#[test]
fn a_service_is_stopped_and_started_around_each_point() {
    let Some(server) = Server::new(9243) else {
        return;
    };
    let dir = TempDir::new().unwrap();
    let plan = |start: &str| {
        format!(
            "[database]\ndriver = 'cassandra'\n[dataset]\nrecords = 500\n[sweep]\n\
             workloads = ['ycsb-c']\nthreads = [1, 2]\noperations = 500\nwarmup = '0s'\n\
             ready_timeout = '2m'\n[[system]]\nname = 'server'\nhosts = ['{}']\npath = '{}'\n\
             [system.service]\nstart = '{start}'\nstop = '{}'\n",
            server.hosts(),
            server.dir.path().display(),
            server.shell("stop"),
        )
    };
    let file = dir.path().join("plan.toml");
    std::fs::write(&file, plan("echo no such luck; exit 3")).unwrap();
    let failed = tailmark(dir.path(), &["run", "plan.toml", "-o", "failed"]);
    assert_eq!(failed.status.code(), Some(1), "{}", said(&failed));
    assert!(
        said(&failed).contains("its log ends:\nno such luck"),
        "{}",
        said(&failed)
    );
    server.act("start");
    let before = server.pid();
    std::fs::write(&file, plan(&server.shell("start"))).unwrap();
    let run = tailmark(dir.path(), &["run", "plan.toml", "-o", "out"]);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    assert_eq!(points(dir.path()).len(), 2);
    assert_ne!(
        server.pid(),
        before,
        "another process serves the last point"
    );
}
