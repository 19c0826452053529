//! Tables that another program drops and creates again while a run has them.

use super::foreign::{FIELDS, Keyspace, refused, succeeded};
use crate::TAILMARK;
use tailmark_testing::{assert_says, err, out, test};

#[test]
fn a_table_that_was_created_again_with_the_same_id_is_not_ours() {
    let keyspace = Keyspace::missing("same_id");
    succeeded(&keyspace.run(&["-o", "out"]));
    // The marker has the id in its name.
    let name = keyspace
        .cql("SELECT name FROM $.tailmark")
        .concat()
        .concat();
    let id = name.split(' ').nth(1).unwrap();
    keyspace.cql("DROP TABLE $.usertable");
    let with = format!("WITH id = {id} AND comment = 'payroll'");
    keyspace.cql(&format!("CREATE TABLE $.usertable ({FIELDS}) {with}"));
    keyspace.cql("INSERT INTO $.usertable (y_id, field0) VALUES ('mine', 'precious')");
    let cleaned = TAILMARK.run(keyspace.dir.path(), &["clean", "out", "--yes"]);
    assert_says(&out(&cleaned), &["not touched", "no marker of this study"]);
    refused(
        &keyspace.run(&["-o", "other"]),
        &["was not loaded by tailmark"],
    );
    assert_eq!(keyspace.cql("SELECT y_id FROM $.usertable"), [["mine"]]);
}

#[test]
fn a_load_ends_at_once_when_its_table_is_created_again() {
    let keyspace = Keyspace::missing("again");
    let said = std::thread::scope(|scope| {
        let load = scope.spawn(|| keyspace.run(&["--load-rate", "40", "-o", "out"]));
        let has_records = || {
            // The server lists a table a moment before it can be asked for its records.
            let records = || keyspace.cql("SELECT y_id FROM $.usertable LIMIT 1");
            let found = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(records));
            keyspace.tables().len() == 2 && found().is_ok_and(|rows| !rows.is_empty())
        };
        while !has_records() {
            assert!(!load.is_finished(), "it ended");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        keyspace.cql("DROP TABLE $.usertable");
        keyspace.cql(&format!("CREATE TABLE $.usertable ({FIELDS})"));
        keyspace.cql("INSERT INTO $.usertable (y_id, field0) VALUES ('mine', 'precious')");
        err(&load.join().unwrap())
    });
    let parts = [
        "dropped or recreated the table while it was loaded",
        "is left alone",
    ];
    assert_says(&said, &parts);
    assert_eq!(keyspace.cql("SELECT y_id FROM $.usertable"), [["mine"]]);
}

#[test]
fn adopted_records_are_left_alone_when_their_table_is_created_again_between_points() {
    let keyspace = Keyspace::missing("adopted_again");
    succeeded(&keyspace.run(&["-o", "loaded"]));
    keyspace.cql("DROP TABLE $.tailmark");
    // Each point takes five seconds.
    let rate = ["--rate=20", "--set=sweep.repeats=4"];
    let adopts = ["--adopt=overwrite", "--workload=ycsb-a", "-o", "out"];
    let said = std::thread::scope(|scope| {
        let run = scope.spawn(|| keyspace.run(&[&rate[..], &adopts].concat()));
        let study = keyspace.dir.path().join("out/study.sqlite");
        while !study.exists() || TAILMARK.points(keyspace.dir.path()).is_empty() {
            assert!(!run.is_finished(), "it ended");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        keyspace.cql("DROP TABLE $.usertable");
        keyspace.cql(&format!("CREATE TABLE $.usertable ({FIELDS})"));
        keyspace.cql("INSERT INTO $.usertable (y_id, field0) VALUES ('mine', 'precious')");
        err(&run.join().unwrap())
    });
    // The run may look before the new table is there, or find that it is another one.
    let replaced = said.contains("was replaced after this run adopted it");
    let missing = ["it no longer exists", "there is no table"];
    let is_missing = missing.iter().any(|why| said.contains(why));
    let is_another = replaced && said.contains("its identity was");
    assert!(is_another || is_missing, "{said}");
}

#[test]
fn a_point_ends_when_its_table_is_created_again_between_two_requests() {
    let keyspace = Keyspace::missing("between");
    succeeded(&keyspace.run(&["-o", "loaded"]));
    // Two seconds lie between requests, and none fails.
    let slow = ["--rate=0.5", "--operations=15", "--workload=ycsb-a"];
    let run = keyspace.start(&[&slow[..], &["-o", "out"]].concat());
    let mut run = keyspace.until_changed(run);
    keyspace.cql("DROP TABLE $.usertable");
    keyspace.cql(&format!("CREATE TABLE $.usertable ({FIELDS})"));
    // The point fails, or nothing answers for so long that the table is looked at first.
    let code = run.wait().unwrap().code();
    assert!(matches!(code, Some(2 | 3)), "{code:?}");
}

/// Shuts down every TCP connection of a process to a port, as an outage does.
fn cut(pid: rustix::process::Pid, port: u16) {
    use rustix::{
        net::{Shutdown, getpeername, shutdown},
        process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open},
    };
    let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", pid.as_raw_pid())).unwrap();
    for entry in descriptors.flatten() {
        let number = entry.file_name().to_str().unwrap().parse().unwrap();
        let Ok(ours) = pidfd_getfd(&process, number, PidfdGetfdFlags::empty()) else {
            continue;
        };
        let peer = getpeername(&ours).ok().flatten();
        let peer = peer.and_then(|peer| std::net::SocketAddr::try_from(peer).ok());
        if peer.is_some_and(|peer| peer.port() == port) {
            shutdown(&ours, Shutdown::Both).unwrap();
        }
    }
}

#[test]
fn a_point_does_not_go_on_in_a_table_that_took_the_place_while_the_connection_was_lost() {
    use rustix::process::{Pid, Signal, kill_process};
    let keyspace = Keyspace::missing("outage");
    succeeded(&keyspace.run(&["-o", "loaded"]));
    let run = keyspace.start(&["--rate=20", "--workload=ycsb-a", "-o", "out"]);
    let mut run = keyspace.until_changed(run);
    let pid = Pid::from_child(&run);
    kill_process(pid, Signal::STOP).unwrap();
    let port = keyspace.hosts.rsplit_once(':').unwrap().1;
    cut(pid, port.parse().unwrap());
    keyspace.cql("DROP TABLE $.usertable");
    keyspace.cql(&format!("CREATE TABLE $.usertable ({FIELDS})"));
    keyspace.cql("INSERT INTO $.usertable (y_id, field0) VALUES ('mine', 'precious')");
    kill_process(pid, Signal::CONT).unwrap();
    let ended = run.wait().unwrap();
    assert_ne!(ended.code(), Some(0));
    assert_eq!(keyspace.cql("SELECT y_id FROM $.usertable"), [["mine"]]);
}
