//! What is done on the hosts of a server, and what is known of them.

use crate::{
    Cassandra, END, PREPARE, SETTING, TAILMARK, assert_no_socket_is_left, code, codes, instants,
    run, said, start, until_said,
};
use serde_json::Value;
use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};
use tailmark_testing::{SSH_AHEAD, SSH_SUDOER, SshHosts, err, test};
use tempfile::TempDir;

const SWEEP: &str = "threads = [1, 2]\nduration = '5s'\nwarmup = '1s'";

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
        "ssh = ['db2', '{SSH_SUDOER}@db3']\n[system.service]\nstart = '{}'\nstop = '{}'",
        script("start"),
        script("stop")
    )
}

/// Waits until nothing of ours runs or lies on a host.
fn until_nothing_is_left(hosts: &SshHosts, host: u32) {
    let tmp = hosts.tmp(host).display().to_string();
    let script = format!(
        "ls -A {tmp}; ps -eo args | grep -E '[/]tailmark[.][^ ]*/agent|[t]ests/cassandra/server' || true"
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

/// By how much a clock was ahead at the end of a point.
fn offset_s(point: &Value, subject: &str) -> f64 {
    let mut all = point["series"].as_array().unwrap().iter();
    let offset = all.find(|series| series["subject"] == subject && series["name"] == "offset_s");
    let values = offset.unwrap()["values"].as_array().unwrap();
    values.last().unwrap().as_f64().unwrap()
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
    // Nor of the run that was killed.
    assert_no_socket_is_left(&hosts);
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
            // A second of warm-up, five that are measured, and clients that take their time.
            let is_within = at_s.iter().all(|at| (-60.0..=60.0).contains(at));
            assert!(is_within, "{host}: {at_s:?}");
        }
        let ahead_s = offset_s(point, &format!("clock on server db{}", SSH_AHEAD.0));
        assert!((ahead_s - f64::from(SSH_AHEAD.1)).abs() < 1.0, "{ahead_s}");
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

/// Without an agent less is known, and that is said. The service is one that does not end.
fn without_an_agent(hosts: &SshHosts, cassandra: &Cassandra) {
    let plain = TempDir::new().unwrap();
    let without = "ssh = 'db2'\nagent = false\nservice = { start = 'echo begins; exec sleep 600' }";
    let once = "threads = [1, 2]\noperations = 300\nwarmup = '0s'";
    let ran = run(hosts, plain.path(), &cassandra.plan(once, without));
    assert_eq!(ran.status.code(), Some(0), "{}", err(&ran));
    assert!(
        err(&ran).contains("no agent runs on `db2` (the plan disables it)"),
        "{}",
        err(&ran)
    );
    let points = TAILMARK.points(plain.path());
    assert!(
        !codes(&points[0]).contains(&"caches-not-dropped"),
        "{:?}",
        codes(&points[0])
    );
    // Each was ended before the next one was started; only the last goes on.
    let log = fs::read_to_string(plain.path().join("out/cluster.db2.service.log")).unwrap();
    let started = log.lines().filter(|line| *line == "begins").count();
    let running = hosts.on(2, "ps -eo args | grep -c '^sleep 600' || true");
    assert_eq!((started >= 2, running.trim()), (true, "1"), "{log}");
    let report = fs::read_to_string(plain.path().join("out/report.html")).unwrap();
    assert!(report.contains("server machine: hostname") && report.contains("node2"));
    until_nothing_is_left(hosts, 2);
}
