//! Snapshots of a Cassandra on another host: nodetool runs there.

use crate::{Cassandra, TAILMARK, run};
use std::{fs, os::unix::fs::PermissionsExt};
use tailmark_testing::{SshHosts, err, test};
use tempfile::TempDir;

#[test]
fn snapshots_are_kept_and_imported_on_the_host_of_the_server() {
    let (hosts, dir) = (SshHosts::new(1), TempDir::new().unwrap());
    let mut cassandra = Cassandra::new(&hosts);
    cassandra.settings = "CASSANDRA_JMX=7199";
    cassandra.start(&hosts);
    let (nodetool, order) = (
        hosts.directory().join("nodetool"),
        hosts.directory().join("order"),
    );
    let script = format!(
        "#!/bin/sh\necho \"$1\" \"$(hostname)\" >>{}\nexec env {} \"$@\"\n",
        order.display(),
        cassandra.act("nodetool")
    );
    fs::write(&nodetool, script).unwrap();
    fs::set_permissions(&nodetool, fs::Permissions::from_mode(0o755)).unwrap();
    let plan = cassandra.plan(
        "threads = [2]\noperations = 1_000\nrepeats = 3",
        "ssh = ['db2']",
    );
    let keys = format!(
        "nodetool = '{}'\n[dataset]\nrestore = 'snapshot'\n",
        nodetool.display()
    );
    let plan = plan
        .replace("[dataset]\n", &keys)
        .replace("ycsb-c", "ycsb-d");
    let ended = run(&hosts, dir.path(), &plan);
    assert_eq!(ended.status.code(), Some(0), "{}", err(&ended));
    let order = fs::read_to_string(order).unwrap();
    let expected =
        ["clearsnapshot", "snapshot", "import", "import"].map(|does| format!("{does} node2"));
    assert_eq!(order.lines().collect::<Vec<_>>(), expected);
    let points = TAILMARK.points(dir.path());
    assert_eq!(points.len(), 3);
    // Each point read what was loaded: an import brings every record back.
    for point in points {
        assert_eq!(point["kinds"]["read"]["not_found"], 0);
        assert!(point["kinds"]["insert"]["count"].as_u64() > Some(0));
    }
    hosts.on(2, &cassandra.act("stop"));
}
