//! A connection that is lost: over a jump host whose link goes down, so that the clients reach the
//! database all the while.

use crate::{
    Cassandra, PREPARE, SETTING, TAILMARK, assert_no_socket_is_left, code, codes, instants, said,
    start, until_busy, until_said,
};
use std::{thread, time::Duration};
use tailmark_testing::{SSH_FORWARDED, SshHosts, test};
use tempfile::TempDir;

/// The jump host.
const JUMP: u32 = 3;

#[test]
fn points_outlive_a_connection_over_a_jump_host_and_the_next_one_waits_for_it() {
    let (hosts, dir) = (SshHosts::new(2), TempDir::new().unwrap());
    let (dir, cassandra) = (dir.path(), Cassandra::new(&hosts));
    cassandra.start(&hosts);
    let sweep = "threads = [1, 2, 3]\nduration = '45s'\nwarmup = '0s'";
    let before = hosts.on(2, &format!("cat {SETTING}"));
    let plan = format!("{PREPARE}{}", cassandra.plan(sweep, "ssh = 'far2'"));
    let mut run = start(&hosts, dir, &plan);
    until_said(dir, "loaded", &mut run);
    until_busy(&hosts, &mut run);
    // Of what the user's configuration forwards nothing is.
    let listening = hosts.on(2, "ss -Hltn");
    assert!(listening.contains(":22 "), "{listening}");
    assert!(
        !listening.contains(&format!(":{SSH_FORWARDED} ")),
        "{listening}"
    );
    hosts.network().link_down(JUMP);
    thread::sleep(Duration::from_secs(20));
    hosts.network().link_up(JUMP);
    until_said(dir, "[1/3]", &mut run);
    until_busy(&hosts, &mut run);
    // Until after the end of the second point: the third one waits for the connection.
    hosts.network().link_down(JUMP);
    until_said(dir, "[2/3]", &mut run);
    // What it brings back first is no agent, with which nothing would be sampled or set again.
    let tmp = hosts.tmp(2).display().to_string();
    let made = format!("mount --bind {tmp} {tmp} && mount -o remount,bind,noexec {tmp}");
    let _ = hosts.on(2, &made);
    thread::sleep(Duration::from_secs(8));
    hosts.network().link_up(JUMP);
    thread::sleep(Duration::from_secs(6));
    let _ = hosts.on(2, &format!("umount -l {tmp}"));
    assert_eq!(code(&mut run), Some(0), "{}", said(dir));
    assert_no_socket_is_left(&hosts);
    let points = TAILMARK.points(dir);
    assert_eq!(points.len(), 3);
    for point in &points {
        // The clients had a connection of their own.
        assert_eq!(point["errors"], 0, "{}", point["errors"]);
        let mut at_s = instants(point, "cpu", "machine on server far2");
        at_s.retain(|at| (0.0..=45.0).contains(at));
        at_s.splice(0..0, [0.0]);
        at_s.push(45.0);
        let longest = at_s
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .fold(0.0, f64::max);
        let is_told = codes(point).contains(&"server-unwatched");
        // A link that comes back in time has lost nothing.
        assert!(is_told || longest <= 10.0, "{at_s:?}");
    }
    // What was set there was put back with the connection, and set again.
    for code in ["server-unwatched", "server-changed"] {
        assert!(codes(&points[1]).contains(&code), "{:?}", codes(&points[1]));
    }
    assert!(!codes(&points[2]).contains(&"server-changed"));
    assert_eq!(hosts.on(2, &format!("cat {SETTING}")), before);
    // The connection was back before the third one began.
    assert!(instants(&points[2], "cpu", "machine on server far2").len() > 3);
}
