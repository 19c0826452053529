//! `tailmark clean` on a server: what a study made there goes, and what others put there stays.

use crate::TAILMARK;
use std::path::Path;
use tailmark_results::{Header, Study};
use tailmark_testing::{assert_says, cql, err, out, server, test};
use tempfile::TempDir;

/// A keyspace of a test's own, removed with it.
struct Keyspace {
    hosts: String,
    name: &'static str,
}

impl Keyspace {
    fn new(name: &'static str) -> Self {
        let hosts = server("cassandra");
        let keyspace = Self { hosts, name };
        keyspace.drop_it();
        keyspace
    }

    fn drop_it(&self) {
        cql(
            &self.hosts,
            &format!("DROP KEYSPACE IF EXISTS {}", self.name),
        );
    }

    /// Loads it and measures a short point.
    fn run(&self, dir: &Path) {
        let (system, keyspace) = (
            format!("c={}", self.hosts),
            format!("database.keyspace={}", self.name),
        );
        let ran = TAILMARK.run(
            dir,
            &[
                "run",
                "--driver",
                "cassandra",
                "--system",
                &system,
                "--set",
                &keyspace,
                "--records",
                "1k",
                "--operations",
                "100",
                "--threads",
                "2",
                "--warmup",
                "0s",
                "-o",
                "out",
            ],
        );
        assert!(ran.status.success(), "{}", err(&ran));
    }

    /// The tables that it has.
    fn tables(&self) -> Vec<String> {
        let select = format!(
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{}'",
            self.name
        );
        cql(&self.hosts, &select).concat()
    }
}

impl Drop for Keyspace {
    fn drop(&mut self) {
        self.drop_it();
    }
}

#[test]
fn clean_drops_a_keyspace_that_the_study_made() {
    let (keyspace, dir) = (Keyspace::new("clean_own"), TempDir::new().unwrap());
    keyspace.run(dir.path());
    let listed = TAILMARK.run(dir.path(), &["clean", "out"]);
    let dropped = format!("at {}: DROP KEYSPACE clean_own", keyspace.hosts);
    assert_says(&out(&listed), &[dropped.as_str(), "add --yes"]);
    assert_eq!(keyspace.tables(), ["tailmark", "usertable"]);
    let removed = TAILMARK.run(dir.path(), &["clean", "out", "--yes"]);
    assert!(removed.status.success(), "{}", err(&removed));
    assert!(keyspace.tables().is_empty());
}

#[test]
fn clean_leaves_a_keyspace_in_which_another_program_has_a_table() {
    let (keyspace, dir) = (Keyspace::new("clean_shared"), TempDir::new().unwrap());
    keyspace.run(dir.path());
    let theirs = "CREATE TABLE clean_shared.orders (id varchar PRIMARY KEY)";
    cql(&keyspace.hosts, theirs);
    cql(
        &keyspace.hosts,
        "INSERT INTO clean_shared.orders (id) VALUES ('theirs')",
    );
    let removed = TAILMARK.run(dir.path(), &["clean", "out", "--yes"]);
    assert!(removed.status.success(), "{}", err(&removed));
    assert_eq!(keyspace.tables(), ["orders"]);
    let orders = cql(&keyspace.hosts, "SELECT id FROM clean_shared.orders");
    assert_eq!(orders, [["theirs"]]);
}

#[test]
fn a_study_of_a_stranger_has_clean_send_no_statement() {
    let (keyspace, dir) = (Keyspace::new("clean_theirs"), TempDir::new().unwrap());
    keyspace.run(dir.path());
    // It names the same keyspace, and has another id.
    let known = Study::open_read_only(&dir.path().join("out")).unwrap();
    let header = Header {
        id: "f".repeat(32),
        ..known.header().unwrap()
    };
    let hostile = dir.path().join("hostile");
    Study::create(&hostile, &header, &known.systems().unwrap()).unwrap();
    let cleaned = TAILMARK.run(dir.path(), &["clean", "hostile", "--yes"]);
    assert_says(
        &out(&cleaned),
        &["not touched: ", "no marker of this study"],
    );
    let records = cql(&keyspace.hosts, "SELECT y_id FROM clean_theirs.usertable");
    assert_eq!(records.len(), 1000);
}
