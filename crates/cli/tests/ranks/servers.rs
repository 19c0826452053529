//! Two and four ranks on a real Cassandra of two nodes: what they load and insert together is what
//! one process does, and no read misses.

use crate::{END, TAILMARK, done, ranks, shown};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};
use tailmark_testing::{cql, err, server, test};
use tempfile::TempDir;

/// Nodes of a test's own; stopped and removed with it.
struct Nodes {
    directories: Vec<TempDir>,
}

const PORT: u16 = 9342;

impl Nodes {
    /// So many nodes of one cluster.
    fn start(count: usize) -> Self {
        // Where there is no server at all, none can be started either.
        let _ = server("cassandra");
        let mut nodes = Self {
            directories: Vec::new(),
        };
        for node in 1..=count {
            let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            nodes.directories.push(directory);
            assert!(nodes.act(node, "start"), "node {node} does not start");
        }
        nodes
    }

    fn act(&self, node: usize, action: &str) -> bool {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cassandra/server");
        let status = Command::new(script)
            .arg(action)
            .env("CASSANDRA_DIR", self.directories[node - 1].path())
            .env("CASSANDRA_ADDRESS", format!("127.0.42.{node}"))
            .env("CASSANDRA_SEED", "127.0.42.1")
            .env("CASSANDRA_PORT", PORT.to_string())
            .status();
        status.unwrap().success()
    }

    fn hosts() -> String {
        format!("127.0.42.1:{PORT}")
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in 1..=self.directories.len() {
            self.act(node, "kill");
        }
    }
}

/// The keys of a keyspace.
fn keys(keyspace: &str) -> BTreeSet<String> {
    let all = format!("SELECT y_id FROM {keyspace}.usertable");
    cql(&Nodes::hosts(), &all).into_iter().flatten().collect()
}

/// The arguments of a run on both nodes into a keyspace.
fn run(keyspace: &str, workload: &str) -> Vec<String> {
    [
        "run".to_owned(),
        "--driver=cassandra".to_owned(),
        format!("--system=cassandra={}", Nodes::hosts()),
        format!("--set=database.keyspace={keyspace}"),
        "--set=database.replication=2".to_owned(),
        "--records=2003".to_owned(),
        format!("--workload={workload}"),
        "--threads=9".to_owned(),
        "--operations=6000".to_owned(),
        "--warmup=0s".to_owned(),
        "--output=out".to_owned(),
    ]
    .into()
}

/// Loads and measures by so many processes; the points and the keys that are there then.
fn measured(processes: u32, workload: &str) -> (Vec<Value>, BTreeSet<String>) {
    let name = workload.replace([',', '-'], "_");
    let keyspace = format!("ranks_{processes}_{name}");
    let dir: PathBuf = std::env::temp_dir();
    let dir = TempDir::new_in(dir).unwrap();
    let args = run(&keyspace, workload);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if processes == 1 {
        let plain = TAILMARK.run(dir.path(), &args);
        assert_eq!(plain.status.code(), Some(0), "{}", err(&plain));
    } else {
        done(&ranks(processes, dir.path(), &args[..]).run(END));
    }
    (TAILMARK.points(dir.path()), keys(&keyspace))
}

#[test]
fn ranks_on_two_nodes_load_what_one_process_does_and_no_read_misses() {
    let _nodes = Nodes::start(2);
    let (_, loaded) = measured(1, "ycsb-c");
    assert_eq!(loaded.len(), 2_003);
    for processes in [2, 4] {
        let (points, keys) = measured(processes, "ycsb-c,ycsb-d");
        assert_eq!(points.len(), 2);
        for point in &points {
            let operations = point["operations"].as_u64().unwrap();
            assert!((1_000..=6_000).contains(&operations), "{}", shown(point));
            assert_eq!(point["errors"], 0, "{}", shown(point));
            for (kind, of_kind) in point["kinds"].as_object().unwrap() {
                assert_eq!(of_kind["not_found"], 0, "{kind}: {}", shown(point));
            }
        }
        assert!(loaded.is_subset(&keys), "of {processes}");
        // Each insert is a key of its own.
        let inserts = points[1]["kinds"]["insert"]["count"].as_u64().unwrap();
        assert!(inserts > 0, "{}", shown(&points[1]));
        assert_eq!(keys.len() as u64, 2_003 + inserts, "{}", shown(&points[1]));
    }
}
