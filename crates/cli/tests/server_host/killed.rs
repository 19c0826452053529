//! A database that is killed on its host while clients are at work.

use crate::{
    Cassandra, TAILMARK,
    agents::{self, DRIFTING},
    code, codes, instants, said, start, until_busy, until_said,
};
use std::{thread, time::Duration};
use tailmark_testing::{SSH_GREETED, SshHosts, test};
use tempfile::TempDir;

#[test]
fn a_point_whose_database_was_killed_is_kept_and_the_next_one_has_it_started_over_ssh() {
    let (hosts, dir) = (SshHosts::new(1), TempDir::new().unwrap());
    let (dir, cassandra) = (dir.path(), Cassandra::new(&hosts));
    let act = |action: &str| hosts.on(2, &cassandra.act(action));
    let service = format!(
        "ssh = '{SSH_GREETED}@db2'\nagent = '{}'\nservice = {{ start = '{}', stop = '{}' }}",
        agents::program(dir, DRIFTING).display(),
        cassandra.act("start"),
        cassandra.act("stop")
    );
    let sweep = "threads = [1, 2]\nduration = '25s'\nwarmup = '0s'";
    let mut run = start(&hosts, dir, &cassandra.plan(sweep, &service));
    until_said(dir, "loaded", &mut run);
    until_busy(&hosts, &mut run);
    let _ = act("kill");
    // Longer than a phase goes on without an answer.
    thread::sleep(Duration::from_secs(12));
    let _ = act("start");
    // Points that failed are told by the code.
    assert_eq!(code(&mut run), Some(3), "{}", said(dir));
    let points = TAILMARK.points(dir);
    assert_eq!(points.len(), 2, "{}", said(dir));
    let found = codes(&points[0]);
    assert!(
        found.contains(&"no-answer") && found.contains(&"errors"),
        "{found:?}"
    );
    // The connection to its host was there all the while.
    assert!(!found.contains(&"server-unwatched"), "{found:?}");
    for point in &points {
        // Over the seconds of a point its clock gained more than clocks do; its samples are of the point.
        assert!(codes(point).contains(&"server-clock"), "{:?}", codes(point));
        let at_s = instants(point, "cpu", "machine on server db2");
        let is_within = at_s.iter().all(|at| (-60.0..=60.0).contains(at));
        assert!(
            at_s.len() >= 10 && at_s.is_sorted() && is_within,
            "{at_s:?}"
        );
    }
    assert_eq!(points[1]["errors"], 0, "{}", points[1]["errors"]);
    let _ = act("stop");
}
