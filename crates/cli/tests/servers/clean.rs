//! `tailmark clean` on a server: what a study made there goes, and what others put there stays.

use crate::TAILMARK;
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};
use tailmark_model::{Header, System};
use tailmark_study::Study;
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
        let ran = self.command(dir, "out", &[]).output().unwrap();
        assert!(ran.status.success(), "{}", err(&ran));
    }

    fn command(&self, dir: &Path, out: &str, more: &[&str]) -> Command {
        let (system, keyspace) = (
            format!("c={}", self.hosts),
            format!("database.keyspace={}", self.name),
        );
        let words = ["run", "--driver", "cassandra", "--system", &system, "--set"];
        let small = ["--records", "1k", "--operations", "100", "--threads", "2"];
        let rest = ["--warmup", "0s", "-o", out];
        let words = [&words[..], &[keyspace.as_str()], &small, &rest, more].concat();
        TAILMARK.command(dir, &words)
    }

    /// Begins to load it and is killed; then it is as if that was right before the marker.
    fn run_killed(&self, dir: &Path) {
        let mut run = self.command(dir, "out", &["--load-rate", "100"]);
        let mut run = run
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let has_marker = || !self.cql("SELECT name FROM $.tailmark").is_empty();
        while self.tables().len() < 2 || !has_marker() {
            assert!(run.try_wait().unwrap().is_none(), "it ended");
            std::thread::sleep(Duration::from_millis(50));
        }
        run.kill().unwrap();
        run.wait().unwrap();
        for table in ["tailmark", "usertable"] {
            self.cql(&format!("TRUNCATE $.{table}"));
        }
    }

    /// Where `$` is the name of the keyspace.
    fn cql(&self, statement: &str) -> Vec<Vec<String>> {
        cql(&self.hosts, &statement.replace('$', self.name))
    }

    fn exists(&self) -> bool {
        let select = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = '$'";
        !self.cql(select).is_empty()
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
    assert!(!keyspace.exists());
}

/// A way to the server on which, when armed, the next statement that drops something is passed on only
/// after another one, which another program sends to the server itself.
struct Way {
    address: String,
    statement: Arc<Mutex<Option<String>>>,
}

impl Way {
    fn new(hosts: &str) -> Self {
        // The client takes the port of a node from the connection, and its address from the server.
        let (ip, _) = hosts.rsplit_once(':').unwrap();
        let listener = TcpListener::bind((ip, 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let statement = Arc::new(Mutex::new(None));
        let (hosts, armed) = (hosts.to_owned(), Arc::clone(&statement));
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let server = TcpStream::connect(&hosts).unwrap();
                let answers = (server.try_clone().unwrap(), client.try_clone().unwrap());
                pass(answers, |_| {});
                let (hosts, armed) = (hosts.clone(), Arc::clone(&armed));
                pass((client, server), move |bytes| {
                    let is_drop = bytes.windows(5).any(|word| word == b"DROP ");
                    let other: Option<String> =
                        is_drop.then(|| armed.lock().unwrap().take()).flatten();
                    other.iter().for_each(|other| drop(cql(&hosts, other)));
                });
            }
        });
        Self { address, statement }
    }
}

/// Passes on what comes from one end to the other, after `before` has seen it.
fn pass((mut from, mut to): (TcpStream, TcpStream), before: impl Fn(&[u8]) + Send + 'static) {
    thread::spawn(move || {
        let mut bytes = [0; 65_536];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            before(&bytes[..count]);
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}

#[test]
fn a_table_that_another_program_creates_while_clean_removes_its_own_stays() {
    let (mut keyspace, dir) = (Keyspace::new("clean_meanwhile"), TempDir::new().unwrap());
    let way = Way::new(&keyspace.hosts);
    let direct = std::mem::replace(&mut keyspace.hosts, way.address.clone());
    keyspace.run(dir.path());
    let theirs = "CREATE TABLE clean_meanwhile.orders (id varchar PRIMARY KEY)";
    *way.statement.lock().unwrap() = Some(theirs.to_owned());
    let removed = TAILMARK.run(dir.path(), &["clean", "out", "--yes"]);
    keyspace.hosts = direct;
    assert_eq!(
        way.statement.lock().unwrap().take(),
        None,
        "nothing was dropped"
    );
    assert_eq!(keyspace.tables(), ["orders"], "{}", err(&removed));
    let address = &way.address;
    assert_says(
        &err(&removed),
        &[
            &format!("removed at {address}: DROP TABLE clean_meanwhile.usertable"),
            &format!("left at {address}: DROP KEYSPACE clean_meanwhile: another program"),
        ],
    );
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
    let kept = format!("not touched: keyspace clean_shared at {}", keyspace.hosts);
    assert_says(&out(&removed), &[&kept, "something of another program"]);
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

#[test]
fn clean_knows_what_a_load_created_that_was_killed_before_its_marker() {
    for (name, dropped) in [
        ("clean_unmarked", None),
        ("clean_half", Some("DROP TABLE $.usertable")),
    ] {
        let (keyspace, dir) = (Keyspace::new(name), TempDir::new().unwrap());
        keyspace.run_killed(dir.path());
        if let Some(dropped) = dropped {
            keyspace.cql(dropped);
        }
        let listed = TAILMARK.run(dir.path(), &["clean", "out"]);
        assert_says(
            &out(&listed),
            &[format!("would remove at {}: DROP", keyspace.hosts)],
        );
        let removed = TAILMARK.run(dir.path(), &["clean", "out", "--yes"]);
        assert_eq!(removed.status.code(), Some(0), "{}", err(&removed));
        assert!(!keyspace.exists(), "{name}");
        let again = TAILMARK.run(dir.path(), &["clean", "out", "--yes"]);
        assert_says(&out(&again), &["nothing of this study is left"]);
        assert_eq!(again.status.code(), Some(0));
    }
}

#[test]
fn an_empty_keyspace_of_a_killed_run_is_used_by_that_run_and_never_dropped() {
    let (keyspace, dir) = (Keyspace::new("clean_bare"), TempDir::new().unwrap());
    keyspace.run_killed(dir.path());
    // As if it was killed between the keyspace and its first table.
    for table in ["usertable", "tailmark"] {
        keyspace.cql(&format!("DROP TABLE $.{table}"));
    }
    let cleaned = TAILMARK.run(dir.path(), &["clean", "out", "--yes"]);
    let expected = ["not touched", "keyspace clean_bare is empty", "may be left"];
    assert_says(&out(&cleaned), &expected);
    assert_eq!(cleaned.status.code(), Some(3));
    assert!(keyspace.exists());

    let rate = ["--load-rate", "100"];
    let other = keyspace
        .command(dir.path(), "other", &rate)
        .output()
        .unwrap();
    assert_eq!(other.status.code(), Some(2), "{}", err(&other));
    let resumed = keyspace.command(dir.path(), "out", &rate).output().unwrap();
    assert_eq!(resumed.status.code(), Some(0), "{}", err(&resumed));
    let removed = TAILMARK.run(dir.path(), &["clean", "out", "--yes"]);
    assert_eq!(removed.status.code(), Some(0), "{}", err(&removed));
    assert!(keyspace.exists() && keyspace.tables().is_empty());
}

#[test]
fn clean_claims_nothing_of_a_server_that_it_cannot_ask() {
    let (keyspace, dir) = (Keyspace::new("clean_down"), TempDir::new().unwrap());
    keyspace.run(dir.path());
    // The same study, of a server that is down.
    let known = Study::open_read_only(&dir.path().join("out")).unwrap();
    let down = |mut system: System| {
        system.place = "127.0.0.1:9".to_owned();
        system
    };
    let systems: Vec<_> = known.systems().unwrap().into_iter().map(down).collect();
    let path = dir.path().join("down");
    Study::create(&path, &known.header().unwrap(), &systems).unwrap();
    for words in [&["clean", "down"][..], &["clean", "down", "--yes"]] {
        let cleaned = TAILMARK.run(dir.path(), words);
        let said = out(&cleaned);
        assert_says(&said, &["not touched: 127.0.0.1:9 "]);
        let last = said.lines().last().unwrap();
        assert_says(last, &["may be left", "127.0.0.1:9"]);
        assert_eq!(cleaned.status.code(), Some(3));
    }
}
