//! What is done on the hosts of a server, and what is known of them.

use crate::{Cassandra, END, TAILMARK, code, codes, instants, run, said, start, until_said};
use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};
use tailmark_testing::{SshHosts, err, test};
use tempfile::TempDir;

const SWEEP: &str = "threads = [1, 2]\nduration = '5s'\nwarmup = '1s'";

/// A setting of the kernel that each host has of its own, and what the plan makes of it.
const SETTING: &str = "/proc/sys/net/core/somaxconn";
const PREPARE: &str = "[prepare]\nsysctls = ['net.core.somaxconn=1234']\n";

/// A service of two hosts, which writes down who was started and stopped, and the setting; the first
/// one has the database.
fn service(cassandra: &Cassandra, order: &Path) -> String {
    let script = |action: &str| {
        format!(
            "echo {action} $(hostname) $(cat {SETTING}) >>{}; [ $(hostname) != node2 ] || {}",
            order.display(),
            cassandra.act(action)
        )
    };
    format!(
        "host = ['db2', 'db3']\n[system.service]\nstart = '{}'\nstop = '{}'",
        script("start"),
        script("stop")
    )
}

/// Waits until nothing of ours runs or lies on a host.
fn until_nothing_is_left(hosts: &SshHosts, host: u32) {
    let tmp = hosts.tmp(host).display().to_string();
    let script = format!(
        "ls -A {tmp}; ps -eo args | grep -E '[/]agent --remove|[t]ests/cassandra/server' || true"
    );
    let end = Instant::now() + END;
    loop {
        let left = hosts.on(host, &script);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "{left}");
        thread::sleep(Duration::from_millis(300));
    }
}

#[test]
fn a_cassandra_behind_ssh_is_started_and_stopped_between_points_and_a_killed_run_goes_on() {
    let (hosts, dir) = (SshHosts::new(2), TempDir::new().unwrap());
    let (dir, cassandra) = (dir.path(), Cassandra::new(&hosts));
    let order = hosts.directory().join("order");
    let plan = cassandra.plan(SWEEP, &service(&cassandra, &order));
    let plan = format!("{PREPARE}{plan}");
    let setting = |host: u32| hosts.on(host, &format!("cat {SETTING}"));
    let before = [setting(2), setting(3)];
    let mut killed = start(&hosts, dir, &plan);
    until_said(dir, "[1/2]", &mut killed);
    killed.kill().unwrap();
    killed.wait().unwrap();
    // The agents end with their connection, and take with them what was copied.
    until_nothing_is_left(&hosts, 2);
    until_nothing_is_left(&hosts, 3);
    assert_eq!([setting(2), setting(3)], before, "what was set is put back");

    // The killed run may have come to one of two hosts alone.
    fs::remove_file(&order).unwrap();
    let mut again = start(&hosts, dir, &plan);
    assert_eq!(code(&mut again), Some(0), "{}", said(dir));
    until_nothing_is_left(&hosts, 2);
    let points = TAILMARK.points(dir);
    let threads: Vec<_> = points
        .iter()
        .map(|point| point["threads"].as_u64())
        .collect();
    assert_eq!(threads, [Some(1), Some(2)]);
    for point in &points {
        // Those of the server's host were dropped.
        assert!(
            !codes(point).contains(&"caches-not-dropped"),
            "{:?}",
            codes(point)
        );
        for host in ["db2", "db3"] {
            let at_s = instants(point, "cpu", &format!("machine on server {host}"));
            assert!(at_s.len() >= 2 && at_s.is_sorted(), "{host}: {at_s:?}");
        }
        assert!(!instants(point, "database-process", "java on server db2").is_empty());
        // The clients' own machine has its series as ever.
        assert!(instants(point, "cpu", "machine").len() >= 2);
    }
    // Started in the order of the plan, stopped in the opposite one, around each point.
    let order = fs::read_to_string(order).unwrap();
    let lines: Vec<&str> = order.lines().collect();
    for pair in lines.chunks(2) {
        let in_order = [
            ["start node2 1234", "start node3 1234"],
            ["stop node3 1234", "stop node2 1234"],
        ];
        assert!(in_order.iter().any(|right| right == pair), "{order}");
    }
    assert_eq!([setting(2), setting(3)], before, "what was set is put back");
    // Both machines are in the report.
    let report = fs::read_to_string(dir.join("out/report.html")).unwrap();
    for text in [
        "server machine: hostname",
        "node2",
        "server 2 machine: hostname",
        "node3",
        "server preparation: sysctls",
    ] {
        assert!(report.contains(text), "{text}");
    }

    // The service was left running.
    without_an_agent(&hosts, &cassandra);
}

/// Without an agent less is known, and that is said.
fn without_an_agent(hosts: &SshHosts, cassandra: &Cassandra) {
    let plain = TempDir::new().unwrap();
    let without = "host = 'db2'\nagent = false";
    let once = "threads = 1\noperations = 300\nwarmup = '0s'";
    let ran = run(hosts, plain.path(), &cassandra.plan(once, without));
    assert_eq!(ran.status.code(), Some(0), "{}", err(&ran));
    assert!(
        err(&ran).contains("no agent runs on `db2` (the plan says so)"),
        "{}",
        err(&ran)
    );
    let points = TAILMARK.points(plain.path());
    assert!(
        !codes(&points[0]).contains(&"caches-not-dropped"),
        "{:?}",
        codes(&points[0])
    );
    let report = fs::read_to_string(plain.path().join("out/report.html")).unwrap();
    assert!(report.contains("server machine: hostname") && report.contains("node2"));
    until_nothing_is_left(hosts, 2);
}
