//! `dataset.restore = "snapshot"`: each point starts from the table as it was loaded.

use crate::{TAILMARK, own::Server};
use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Output};
use tailmark_testing::{assert_says, cql, err, out, server, test};
use tempfile::TempDir;

const RECORDS: usize = 1_000;
/// What a point inserts: about one in twenty of its operations (YCSB D).
const OPERATIONS: usize = 2_000;

/// A plan whose points insert, with this command in place of nodetool.
fn plan(dir: &Path, hosts: &str, nodetool: &str) {
    let plan = format!(
        "title = 'Snapshots'\n[database]\ndriver = 'cassandra'\nkeyspace = 'snapshotted'\n\
         nodetool = '{nodetool}'\n[dataset]\nrecords = {RECORDS}\nrestore = 'snapshot'\n\
         [sweep]\nworkloads = ['ycsb-d']\nthreads = [2]\noperations = {OPERATIONS}\nwarmup = '0s'\n\
         repeats = 3\n[[system]]\nname = 'c'\ncontact_points = ['{hosts}']\n"
    );
    fs::write(dir.join("plan.toml"), plan).unwrap();
}

fn run(dir: &Path) -> Output {
    TAILMARK.run(dir, &["run", "plan.toml", "-o", "out"])
}

fn records(hosts: &str) -> usize {
    cql(hosts, "SELECT y_id FROM snapshotted.usertable").len()
}

/// The directories of the table's snapshots.
fn snapshots(server: &Server) -> usize {
    let keyspace = server.dir.path().join("data/snapshotted");
    let tables = fs::read_dir(keyspace).into_iter().flatten().flatten();
    let snapshots = tables.filter_map(|table| fs::read_dir(table.path().join("snapshots")).ok());
    snapshots.flatten().flatten().count()
}

#[test]
fn every_point_starts_from_the_snapshot_of_the_loaded_table() {
    let mut own = Server::new(9249);
    own.settings = "CASSANDRA_JMX=7249";
    own.act("start");
    let (dir, hosts) = (TempDir::new().unwrap(), own.hosts());
    // Kills tailmark, from which the shells that run nodetool descend, while the first import runs.
    let (nodetool, once) = (dir.path().join("nodetool"), dir.path().join("once"));
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = import ] && mkdir '{}' 2>/dev/null; then\n\
         up=$PPID\nwhile [ \"$(cat /proc/$up/comm)\" != tailmark ]; do\n\
         up=$(cut -d ' ' -f 4 \"/proc/$up/stat\")\ndone\nkill -9 \"$up\"; exit 1\nfi\n{} \"$@\"\n",
        once.display(),
        own.shell("nodetool"),
    );
    fs::write(&nodetool, script).unwrap();
    fs::set_permissions(&nodetool, fs::Permissions::from_mode(0o755)).unwrap();
    plan(dir.path(), &hosts, &nodetool.display().to_string());

    let killed = run(dir.path());
    assert_eq!(killed.status.code(), None, "{}", err(&killed));
    assert_eq!(records(&hosts), 0, "truncated, and not yet imported");
    let resumed = run(dir.path());
    assert_eq!(resumed.status.code(), Some(0), "{}", err(&resumed));
    assert!(
        !err(&resumed).contains("loaded 1,000 records"),
        "{}",
        err(&resumed)
    );
    let points = TAILMARK.points(dir.path());
    let repeats: Vec<_> = points.iter().map(|point| &point["repeat"]).collect();
    assert_eq!(repeats, [1, 2, 3]);
    // What the last point inserted is there, and nothing of those before it.
    let inserted = |point: &serde_json::Value| point["kinds"]["insert"]["count"].as_u64().unwrap();
    let last = usize::try_from(inserted(&points[2])).unwrap();
    assert!(
        last > 0 && records(&hosts) == RECORDS + last,
        "{}",
        records(&hosts)
    );

    // A snapshot that another program removed is noticed before the table is truncated.
    own.act("nodetool clearsnapshot --all");
    let other = ["run", "plan.toml", "-o", "other"];
    let gone = TAILMARK.run(dir.path(), &other);
    assert_eq!(gone.status.code(), Some(1), "{}", err(&gone));
    assert_says(
        &err(&gone),
        &["dataset.restore = `snapshot` failed to find the data set"],
    );
    assert_eq!(records(&hosts), RECORDS + last);
    let again = TAILMARK.run(dir.path(), &other);
    assert_eq!(again.status.code(), Some(0), "{}", err(&again));
    assert_says(&err(&again), &["loaded 1,000 records"]);
    assert_eq!(snapshots(&own), 1);

    let without = TAILMARK.run(dir.path(), &["clean", "other", "--yes"]);
    assert_says(&out(&without), &["not touched", "tailmark clean PLAN.toml"]);
    assert_eq!(snapshots(&own), 1);
    let clean = ["clean", "plan.toml", "-o", "other", "--yes"];
    let cleaned = TAILMARK.run(dir.path(), &clean);
    assert_eq!(
        cleaned.status.code(),
        Some(0),
        "{}{}",
        out(&cleaned),
        err(&cleaned)
    );
    assert_eq!(snapshots(&own), 0);
}

#[test]
fn a_server_without_nodetool_is_not_measured_and_the_error_says_what_failed() {
    let (dir, hosts) = (TempDir::new().unwrap(), server("cassandra"));
    plan(dir.path(), &hosts, "no-such-nodetool");
    let failed = run(dir.path());
    assert_eq!(failed.status.code(), Some(1), "{}", err(&failed));
    let parts = [
        "dataset.restore = `snapshot` failed to keep",
        "no-such-nodetool",
    ];
    assert_says(&err(&failed), &parts);
    assert!(TAILMARK.points(dir.path()).is_empty());
    let dry = TAILMARK.run(dir.path(), &["run", "plan.toml", "-o", "out", "--dry-run"]);
    assert_says(
        &out(&dry),
        &["keep a snapshot", "TRUNCATE, then import the snapshot"],
    );
    cql(&hosts, "DROP KEYSPACE snapshotted");
}
