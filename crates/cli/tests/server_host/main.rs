//! A server on another host, over a real sshd: what is done there, what is sampled, and what is left
//! of it when the connection or the run ends. The hosts are network namespaces with names, process
//! numbers and an sshd each of their own; the database is a real Cassandra.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod agents;
mod connection;
mod killed;
mod measured;
mod prepared;
mod refused;
mod snapshots;

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Output},
    time::{Duration, Instant},
};
use tailmark_testing::{Program, SshHosts, server};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// No run here takes nearly so long; the machine may be busy.
const END: Duration = Duration::from_secs(900);

/// The script that starts and stops a real Cassandra.
const CASSANDRA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cassandra/server");

fn main() -> std::process::ExitCode {
    agents::as_agent().unwrap_or_else(tailmark_testing::run)
}

/// A setting of the kernel that each host has of its own, and what a plan makes of it.
const SETTING: &str = "/proc/sys/net/core/somaxconn";
const PREPARE: &str = "[prepare]\nsysctls = ['net.core.somaxconn=1234']\n";

/// A Cassandra of a host, whose data is removed with it.
struct Cassandra {
    data: PathBuf,
    /// Where that is a directory of its own.
    _own: Option<TempDir>,
    address: String,
    /// Variables of the script.
    settings: &'static str,
}

impl Cassandra {
    /// One that may be started on host 2.
    fn new(hosts: &SshHosts) -> Self {
        let own = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut cassandra = Self::with_data(hosts, own.path());
        cassandra._own = Some(own);
        cassandra
    }

    /// The same with its data in a directory there.
    fn with_data(hosts: &SshHosts, data: &Path) -> Self {
        // Where there is no server at all, none can be started either.
        let _ = server("cassandra");
        Self {
            data: data.to_owned(),
            _own: None,
            address: hosts.network().address(2),
            settings: "",
        }
    }

    /// Starts it, until it has answered for some seconds.
    fn start(&self, hosts: &SshHosts) {
        let answers = format!(
            "for i in 1 2 3 4 5; do bash -c 'exec 3<>/dev/tcp/{}/9042' || exit; sleep 1; done; echo well",
            self.address
        );
        for _ in 0..3 {
            let _ = hosts.on(2, &self.act("start"));
            if hosts
                .on(2, &format!("({answers}) 2>/dev/null || true"))
                .contains("well")
            {
                return;
            }
        }
        panic!("{}", hosts.on(2, &format!("{} 2>&1", self.act("log"))));
    }

    /// The words of a shell that have it `start` or `stop`.
    fn act(&self, action: &str) -> String {
        format!(
            "CASSANDRA_DIR={} CASSANDRA_ADDRESS={} CASSANDRA_PORT=9042 {} {CASSANDRA} {action}",
            self.data.display(),
            self.address,
            self.settings
        )
    }

    /// A plan with a system that it is, which has these keys too.
    fn plan(&self, sweep: &str, system: &str) -> String {
        format!(
            "[database]\ndriver = 'cassandra'\n[dataset]\nrecords = 500\nfields = 2\n\
             field_length = 100\n[sweep]\nworkloads = 'ycsb-c'\nsettle = '1s'\n\
             ready_timeout = '10m'\n{sweep}\n[[system]]\nname = 'cluster'\n\
             contact_points = '{}:9042'\npath = '{}'\n{system}\n",
            self.address,
            self.data.display()
        )
    }
}

/// A run of this plan into `out`, on the client's host; what it says goes to `said`.
fn start(hosts: &SshHosts, dir: &Path, plan: &str) -> Child {
    fs::write(dir.join("plan.toml"), plan).unwrap();
    let said = fs::File::create(dir.join("said")).unwrap();
    let mut command = hosts.command(TAILMARK.0, &["run", "plan.toml", "-o", "out"]);
    command.stdout(said.try_clone().unwrap()).stderr(said);
    command.current_dir(dir).spawn().unwrap()
}

/// Waits until a run has said something.
fn until_said(dir: &Path, what: &str, run: &mut Child) {
    let end = Instant::now() + END;
    while !said(dir).contains(what) {
        assert!(Instant::now() < end, "{}", said(dir));
        assert_eq!(run.try_wait().unwrap(), None, "{}", said(dir));
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until clients are at work: for three seconds in a row there are many packets. Whoever waits
/// until a server answers, and the samples of its host, make some ten a second.
fn until_busy(hosts: &SshHosts, run: &mut Child) {
    let packets = || {
        let read = hosts.on(2, "cat /sys/class/net/eth0/statistics/rx_packets");
        read.trim().parse::<u64>().unwrap()
    };
    let (mut busy, mut before) = (0, packets());
    let end = Instant::now() + END;
    while busy < 3 {
        assert!(Instant::now() < end, "no client is at work");
        assert_eq!(run.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_secs(1));
        let now = packets();
        busy = if now - before > 200 { busy + 1 } else { 0 };
        before = now;
    }
}

/// The exit code of a run.
fn code(run: &mut Child) -> Option<i32> {
    let end = Instant::now() + END;
    loop {
        if let Some(status) = run.try_wait().unwrap() {
            return status.code();
        }
        assert!(Instant::now() < end, "it does not end");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn said(dir: &Path) -> String {
    fs::read_to_string(dir.join("said")).unwrap_or_default()
}

/// Runs a plan to its end.
fn run(hosts: &SshHosts, dir: &Path, plan: &str) -> Output {
    run_with(hosts, dir, plan, &[])
}

/// The same with these arguments.
fn run_with(hosts: &SshHosts, dir: &Path, plan: &str, more: &[&str]) -> Output {
    fs::write(dir.join("plan.toml"), plan).unwrap();
    let arguments = [&["run", "plan.toml", "-o", "out"], more].concat();
    let mut command = hosts.command(TAILMARK.0, &arguments);
    command.current_dir(dir).output().unwrap()
}

/// That a run that has ended has left no socket of its connections.
fn assert_no_socket_is_left(hosts: &SshHosts) {
    let left = fs::read_dir(hosts.tmp(1)).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The codes of what was found of a point.
fn codes(point: &Value) -> Vec<&str> {
    let findings = point["findings"].as_array().unwrap().iter();
    findings.map(|f| f["code"].as_str().unwrap()).collect()
}

/// The instants of a series of a point; none where there is no such series.
fn instants(point: &Value, probe: &str, subject: &str) -> Vec<f64> {
    let mut all = point["series"].as_array().unwrap().iter();
    let found = all.find(|series| series["probe"] == probe && series["subject"] == subject);
    let at_s = found.and_then(|series| series["at_s"].as_array());
    at_s.into_iter()
        .flatten()
        .filter_map(Value::as_f64)
        .collect()
}
