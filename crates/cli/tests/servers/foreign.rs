//! A Cassandra that other programs use: what is theirs is left alone, and what a run would change is
//! printed before.

use crate::TAILMARK;
use std::{
    process::{Child, Command, Output},
    thread::sleep,
    time::Duration,
};
use tailmark_testing::{assert_says, cql, err, out, server, test};
use tempfile::TempDir;

/// A keyspace of a test's own on a real server.
pub(super) struct Keyspace {
    pub(super) hosts: String,
    pub(super) name: String,
    pub(super) dir: TempDir,
}

impl Keyspace {
    /// Not there.
    pub(super) fn missing(name: &str) -> Self {
        let hosts = server("cassandra");
        let name = format!("{name}_{}", std::process::id());
        cql(&hosts, &format!("DROP KEYSPACE IF EXISTS {name}"));
        let dir = TempDir::new().unwrap();
        Self { hosts, name, dir }
    }

    /// With a table `accounts` that holds one row.
    fn of_user(name: &str) -> Self {
        let keyspace = Self::missing(name);
        let create = "CREATE KEYSPACE $ WITH replication = \
                      {'class': 'SimpleStrategy', 'replication_factor': 1}";
        keyspace.cql(create);
        keyspace.cql("CREATE TABLE $.accounts (id varchar PRIMARY KEY, owner varchar)");
        keyspace.cql("INSERT INTO $.accounts (id, owner) VALUES ('1', 'Ada')");
        keyspace
    }

    /// Where `$` is the name of the keyspace.
    pub(super) fn cql(&self, statement: &str) -> Vec<Vec<String>> {
        cql(&self.hosts, &statement.replace('$', &self.name))
    }

    pub(super) fn run(&self, more: &[&str]) -> Output {
        let words = self.words(more);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        TAILMARK.run(self.dir.path(), &words)
    }

    pub(super) fn words(&self, more: &[&str]) -> Vec<String> {
        let keyspace = format!("database.keyspace={}", self.name);
        let system = format!("c={}", self.hosts);
        let words = ["run", "--driver", "cassandra", "--system", &system, "--set"];
        let small = ["--records=200", "--threads=1", "--warmup=0s"];
        let usual = ["--operations=100", "--workload=ycsb-c"].into_iter();
        let is_said = |flag: &str| more.iter().any(|word| word.starts_with(flag));
        let usual = usual.filter(|word| !is_said(word.split('=').next().unwrap()));
        let usual: Vec<&str> = usual.collect();
        let words = [&words[..], &[keyspace.as_str()], &small, &usual, more].concat();
        words.into_iter().map(str::to_owned).collect()
    }

    pub(super) fn start(&self, more: &[&str]) -> Child {
        let mut run = Command::new(TAILMARK.0);
        let run = run.args(self.words(more)).current_dir(self.dir.path());
        run.spawn().unwrap()
    }

    /// Waits until a run has changed a record.
    pub(super) fn until_changed(&self, mut run: Child) -> Child {
        let records = "SELECT field0, field1, field2, field3 FROM $.usertable";
        let before = self.cql(records);
        while self.cql(records) == before {
            assert!(run.try_wait().unwrap().is_none(), "it ended");
            sleep(Duration::from_millis(50));
        }
        run
    }

    /// YCSB's own load.
    fn load(&self) -> Output {
        self.load_into(&[])
    }

    fn load_into(&self, more: &[&str]) -> Output {
        let workload = "workload=site.ycsb.workloads.CoreWorkload";
        let (host, port) = self.hosts.rsplit_once(':').unwrap();
        let hosts = format!("hosts={host}");
        let (port, keyspace) = (
            format!("port={port}"),
            format!("cassandra.keyspace={}", self.name),
        );
        let properties = [workload, "recordcount=100", &hosts, &port, &keyspace];
        let words = ["ycsb", "load", "cassandra-cql"].into_iter();
        let words = words.chain(properties.into_iter().flat_map(|property| ["-p", property]));
        TAILMARK.run(
            self.dir.path(),
            &words.chain(more.iter().copied()).collect::<Vec<_>>(),
        )
    }

    /// Its tables by name, with their comments; empty if the keyspace is missing.
    pub(super) fn tables(&self) -> Vec<Vec<String>> {
        let (schema, name) = ("system_schema.tables", &self.name);
        let columns = "table_name, comment";
        let select = format!("SELECT {columns} FROM {schema} WHERE keyspace_name = '{name}'");
        let mut tables = cql(&self.hosts, &select);
        let comments = tables.iter_mut().flat_map(|table| table.last_mut());
        comments.for_each(|comment| *comment = without_study(comment));
        tables
    }

    fn assert_only_accounts(&self) {
        assert_eq!(self.tables(), [["accounts", ""]]);
        let rows = self.cql("SELECT id, owner FROM $.accounts");
        assert_eq!(rows, [["1", "Ada"]]);
    }
}

impl Drop for Keyspace {
    fn drop(&mut self) {
        self.cql("DROP KEYSPACE IF EXISTS $");
    }
}

/// A comment without the id of the study that it names.
fn without_study(comment: &str) -> String {
    let Some((before, after)) = comment.split_once(" for study ") else {
        return comment.to_owned();
    };
    let id = after.bytes().take_while(u8::is_ascii_hexdigit).count();
    assert_eq!(id, 32, "{comment}");
    format!("{before}{}", &after[id..])
}

#[track_caller]
pub(super) fn refused(output: &Output, parts: &[&str]) {
    assert_eq!(output.status.code(), Some(2), "{}", err(output));
    assert_says(&err(output), parts);
}

#[track_caller]
pub(super) fn succeeded(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", err(output));
}

#[test]
fn a_table_of_the_user_that_is_called_as_that_of_the_markers_gets_no_marker() {
    let keyspace = Keyspace::of_user("markers");
    keyspace.cql(&format!("CREATE TABLE $.usertable ({FIELDS})"));
    keyspace.cql("CREATE TABLE $.tailmark (name varchar PRIMARY KEY, marker varchar)");
    keyspace.cql("INSERT INTO $.tailmark (name, marker) VALUES ('mine', 'precious')");
    let output = keyspace.run(&["--into-existing", "-o", "out"]);
    let (table, said) = (format!("{}.tailmark", keyspace.name), err(&output));
    assert_ne!(output.status.code(), Some(0));
    assert_says(&said, &["another program created the table", &table]);
    assert_eq!(keyspace.cql("SELECT name FROM $.tailmark"), [["mine"]]);
    assert!(keyspace.cql("SELECT y_id FROM $.usertable").is_empty());
}

#[test]
fn adopt_creates_and_loads_nothing_in_a_keyspace_with_only_the_users_table() {
    let keyspace = Keyspace::of_user("adopted");
    let usertable = format!("table {}.usertable", keyspace.name);
    for flag in ["--adopt", "--adopt=overwrite"] {
        let expected = ["nothing can be adopted in", &usertable, "--adopt"];
        refused(&keyspace.run(&[flag, "-o", "out"]), &expected);
        keyspace.assert_only_accounts();
    }
    keyspace.cql("CREATE TABLE $.usertable (y_id varchar PRIMARY KEY, field0 varchar)");
    let other = keyspace.run(&["--adopt", "-o", "out"]);
    refused(&other, &["no column `field1`", "give another `keyspace`"]);
    assert!(!err(&other).contains("drop"), "{}", err(&other));
    assert_eq!(keyspace.tables().len(), 2);
}

#[test]
fn a_keyspace_of_another_program_is_left_alone_without_into_existing() {
    let keyspace = Keyspace::of_user("existing");
    let expected = ["was not created by tailmark", "--into-existing"];
    refused(&keyspace.run(&["-o", "out"]), &expected);
    keyspace.assert_only_accounts();
    let dry = keyspace.run(&["-o", "out", "--dry-run"]);
    assert_says(&out(&dry), &["cannot be run", "--into-existing"]);
    assert!(!out(&dry).contains("CREATE"), "{}", out(&dry));

    succeeded(&keyspace.run(&["--into-existing", "-o", "out"]));
    let ours = "made by tailmark";
    let tables = [["accounts", ""], ["tailmark", ours], ["usertable", ours]];
    assert_eq!(keyspace.tables(), tables);
    let marker = &keyspace.cql("SELECT marker FROM $.tailmark")[0][0];
    let made: serde_json::Value = serde_json::from_str(marker).unwrap();
    let table = |name| serde_json::json!({ "table": format!("{}.{name}", keyspace.name) });
    assert_eq!(
        made["made"],
        serde_json::json!([table("tailmark"), table("usertable")])
    );
    // The marker says whose the table is from then on.
    succeeded(&keyspace.run(&["-o", "other"]));
    let rows = keyspace.cql("SELECT id, owner FROM $.accounts");
    assert_eq!(rows, [["1", "Ada"]]);
}

#[test]
fn the_dry_run_of_a_server_changes_nothing_and_prints_what_the_run_sends() {
    let keyspace = Keyspace::missing("printed");
    let name = &keyspace.name;
    let dry = || out(&keyspace.run(&["--dry-run", "--set", "dataset.restore=reload", "-o", "dry"]));
    let said = dry();
    assert_eq!(keyspace.tables(), Vec::<Vec<String>>::new());
    let load = "load 200 records of 4 x 1,024 B with 16 threads at full rate";
    let (insert, truncate) = (
        format!("INSERT INTO {name}.tailmark"),
        format!("TRUNCATE {name}.usertable, before each further point"),
    );
    assert_says(&said, &["send to the server", &insert, load, &truncate]);
    let created: Vec<_> = said.lines().map(str::trim).collect();
    let created = created.iter().filter(|line| line.starts_with("CREATE"));
    let created: Vec<_> = created.collect();
    assert_eq!(created.len(), 3, "{said}");
    // They are the very statements: the server takes them, and they leave what a run leaves.
    created
        .iter()
        .for_each(|statement| drop(keyspace.cql(statement)));
    let by_hand = keyspace.tables();
    keyspace.cql("DROP KEYSPACE $");
    succeeded(&keyspace.run(&["-o", "out"]));
    assert_eq!(keyspace.tables(), by_hand);
    let adopted = dry();
    assert!(!adopted.contains("CREATE"), "{adopted}");
    // A reload is due before each point of this study, the first one included.
    let again = format!("remove the loaded records, and {load}");
    assert_says(&adopted, &[&again, &truncate]);
    let kept = out(&keyspace.run(&["--dry-run", "-o", "other", "--workload", "ycsb-a"]));
    let update = "it changes records: update";
    assert_says(&kept, &["keep the 200 loaded records"]);
    assert_says(&kept, &["change nothing else on the server of c", update]);
}

#[test]
fn a_preflight_that_fails_later_has_created_nothing() {
    let keyspace = Keyspace::missing("preflight");
    let lost = keyspace.dir.path().join("not").join("there");
    let plan = format!(
        "[database]\ndriver = 'cassandra'\nkeyspace = '{}'\n[dataset]\nrecords = 10\n[sweep]\n\
         workloads = ['ycsb-c']\nthreads = [1]\noperations = 10\n[[system]]\nname = 'a'\n\
         contact_points = '{}'\n[[system]]\nname = 'b'\npath = '{}'\ndatabase = {{ driver = 'file' }}\n",
        keyspace.name,
        keyspace.hosts,
        lost.display()
    );
    std::fs::write(keyspace.dir.path().join("plan.toml"), plan).unwrap();
    let run = TAILMARK.run(keyspace.dir.path(), &["run", "plan.toml", "-o", "out"]);
    refused(&run, &["system `b`"]);
    assert_eq!(keyspace.tables(), Vec::<Vec<String>>::new());
}

#[test]
fn adopted_records_are_read_and_nothing_is_written_next_to_them() {
    let keyspace = Keyspace::missing("records");
    succeeded(&keyspace.run(&["-o", "own"]));
    // Without its marker the table is one that YCSB could have loaded.
    keyspace.cql("DROP TABLE $.tailmark");
    let only = [["usertable", "made by tailmark"]];
    let foreign = keyspace.run(&["-o", "refused"]);
    refused(&foreign, &["was not loaded by tailmark", "--adopt"]);
    refused(
        &keyspace.run(&["--into-existing", "-o", "refused"]),
        &["--adopt"],
    );
    assert_eq!(keyspace.tables(), only);

    succeeded(&keyspace.run(&["--adopt", "-o", "read"]));
    assert_eq!(keyspace.tables(), only);
    let writes = ["--workload", "ycsb-a", "-o", "written"];
    let refusal = keyspace.run(&[&writes[..], &["--adopt"]].concat());
    refused(&refusal, &["workload `ycsb-a`", "--adopt=overwrite"]);
    succeeded(&keyspace.run(&[&writes[..], &["--adopt=overwrite"]].concat()));
    assert_eq!(keyspace.tables(), only);

    keyspace.cql("TRUNCATE $.usertable");
    let empty = keyspace.run(&["--adopt", "-o", "empty"]);
    refused(&empty, &["nothing can be adopted in"]);
    assert_eq!(keyspace.tables(), only);
    assert_eq!(keyspace.cql("SELECT y_id FROM $.usertable").len(), 0);
}

#[test]
fn a_table_that_the_user_created_in_the_place_of_ours_is_the_users() {
    let keyspace = Keyspace::missing("replaced");
    succeeded(&keyspace.run(&["-o", "out"]));
    keyspace.cql("DROP TABLE $.usertable");
    keyspace.cql(&format!("CREATE TABLE $.usertable ({FIELDS})"));
    let created = ["was not created by tailmark", "--into-existing"];
    let empty = keyspace.run(&["-o", "empty"]);
    refused(&empty, &created);
    keyspace.cql("INSERT INTO $.usertable (y_id, field0) VALUES ('user1', 'theirs')");

    let foreign = ["was not loaded by tailmark", "--adopt"];
    for change in ["--workload=ycsb-a", "--set=dataset.restore=reload"] {
        refused(&keyspace.run(&[change, "-o", "other"]), &foreign);
    }
    let cleaned = TAILMARK.run(keyspace.dir.path(), &["clean", "out", "--yes"]);
    assert_says(&out(&cleaned), &["not touched", "no marker of this study"]);
    let rows = keyspace.cql("SELECT y_id, field0 FROM $.usertable");
    assert_eq!(rows, [["user1", "theirs"]]);
}

pub(super) const FIELDS: &str = "y_id varchar PRIMARY KEY, field0 varchar, field1 varchar, field2 varchar, \
                      field3 varchar";

#[test]
fn records_that_others_keep_in_a_table_of_their_own_stay() {
    let keyspace = Keyspace::of_user("shared");
    keyspace.cql(&format!("CREATE TABLE $.usertable ({FIELDS})"));
    let reload = [
        "--into-existing",
        "--set",
        "dataset.restore=reload",
        "-o",
        "reload",
    ];
    refused(
        &keyspace.run(&reload),
        &["removes no records", "dataset.restore"],
    );
    succeeded(&keyspace.run(&["--into-existing", "-o", "out"]));
    keyspace.cql("INSERT INTO $.usertable (y_id, field0) VALUES ('mine', 'precious')");
    let cleaned = TAILMARK.run(keyspace.dir.path(), &["clean", "out", "--yes"]);
    let parts = ["not touched", "existed before tailmark loaded it"];
    assert_says(&out(&cleaned), &parts);
    assert_eq!(cleaned.status.code(), Some(3), "{}", err(&cleaned));
    assert_eq!(keyspace.cql("SELECT y_id FROM $.usertable").len(), 201);
    // A load that was killed before it marked a record is written over what it left.
    let marker = &keyspace.cql("SELECT name, marker FROM $.tailmark")[0];
    let mut started: serde_json::Value = serde_json::from_str(&marker[1]).unwrap();
    started["loaded"] = 0.into();
    started["complete"] = false.into();
    let name = &marker[0];
    keyspace.cql(&format!(
        "UPDATE $.tailmark SET marker = '{started}' WHERE name = '{name}'"
    ));
    succeeded(&keyspace.run(&["--into-existing", "-o", "resumed"]));
    let mine = keyspace.cql("SELECT field0 FROM $.usertable WHERE y_id = 'mine'");
    assert_eq!(mine, [["precious"]]);
    // What holds no record goes: the marker.
    keyspace.cql("TRUNCATE $.usertable");
    succeeded(&TAILMARK.run(keyspace.dir.path(), &["clean", "resumed", "--yes"]));
    assert_eq!(keyspace.tables(), [["accounts", ""], ["usertable", ""]]);
}

#[test]
fn a_view_that_has_the_name_of_a_table_is_refused_and_nothing_is_made_beside_it() {
    for (name, view) in [("view_records", "usertable"), ("view_marker", "tailmark")] {
        let keyspace = Keyspace::of_user(name);
        keyspace.cql(&format!(
            "CREATE MATERIALIZED VIEW $.{view} AS SELECT id, owner FROM $.accounts \
             WHERE id IS NOT NULL PRIMARY KEY (id)"
        ));
        let parts = ["is a materialized view", view];
        for consent in ["--into-existing", "--adopt"] {
            refused(&keyspace.run(&[consent, "-o", "out"]), &parts);
        }
        let planned = keyspace.run(&["--dry-run", "-o", "out"]);
        assert_says(&out(&planned), &parts);
        let loaded = keyspace.load();
        assert_says(&err(&loaded), &["is a materialized view", view]);
        keyspace.assert_only_accounts();
        assert_eq!(
            keyspace.cql(&format!("SELECT owner FROM $.{view}")),
            [["Ada"]]
        );
    }
}

#[test]
fn what_the_server_refuses_for_good_ends_a_run_at_once_with_its_message() {
    let mut keyspace = Keyspace::missing("refused");
    let own = std::mem::replace(&mut keyspace.name, "system_auth".to_owned());
    let protected = keyspace.run(&["--into-existing", "-o", "out"]);
    let code = protected.status.code();
    keyspace.name = "select".to_owned();
    let reserved = keyspace.run(&["-o", "out"]);
    keyspace.name = own;
    assert!(code == Some(1) || code == Some(2), "{}", err(&protected));
    assert_says(&err(&protected), &["refused", "system_auth"]);
    assert!(
        !err(&protected).contains("did not answer"),
        "{}",
        err(&protected)
    );
    refused(
        &reserved,
        &["database.keyspace is `select`", "reserved word"],
    );
}

#[test]
fn tables_of_another_form_are_refused() {
    let keyspace = Keyspace::of_user("formed");
    keyspace.cql("CREATE TABLE $.tailmark (id int PRIMARY KEY, other int)");
    let run = || keyspace.run(&["--into-existing", "-o", "out"]);
    refused(&run(), &["tailmark` is not tailmark's table of markers"]);
    keyspace.cql("DROP TABLE $.tailmark");
    let fields = "field0 varchar, field1 varchar, field2 varchar, field3 varchar";
    keyspace.cql(&format!(
        "CREATE TABLE $.usertable (y_id varchar, c int, {fields}, PRIMARY KEY (y_id, c))"
    ));
    refused(&run(), &["is not `y_id` of type text"]);
}

#[test]
fn a_ycsb_load_makes_nothing_next_to_a_table_of_another_program() {
    let keyspace = Keyspace::of_user("loaded");
    let refused = keyspace.load();
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert_says(
        &err(&refused),
        &["tailmark did not create", "create the table"],
    );
    keyspace.assert_only_accounts();
    // A table that is there is loaded as it is, as YCSB does.
    let fields: String = (0..10)
        .map(|number| format!(", field{number} varchar"))
        .collect();
    keyspace.cql(&format!(
        "CREATE TABLE $.usertable (y_id varchar PRIMARY KEY{fields})"
    ));
    succeeded(&keyspace.load());
    assert_eq!(keyspace.tables(), [["accounts", ""], ["usertable", ""]]);
    assert_eq!(keyspace.cql("SELECT y_id FROM $.usertable").len(), 100);
    let rows = keyspace.cql("SELECT id, owner FROM $.accounts");
    assert_eq!(rows, [["1", "Ada"]]);
}

#[test]
fn a_name_that_cql_would_read_otherwise_is_refused_or_means_what_cql_makes_of_it() {
    let keyspace = Keyspace::of_user("named");
    let load = |table: &str| keyspace.load_into(&["-p", &format!("table={table}")]);
    for bad in ["tailmark", "accounts/*", "x (y_id varchar primary key) --"] {
        let refused = load(bad);
        assert_eq!(refused.status.code(), Some(2), "{bad}: {}", err(&refused));
        keyspace.assert_only_accounts();
    }
    // CQL takes it for the user's table, which has other columns.
    let refused = load("Accounts");
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    keyspace.assert_only_accounts();
}

#[test]
fn of_runs_that_begin_at_once_one_creates_the_keyspace_and_nothing_is_left_after_clean() {
    for round in 0..6 {
        let keyspace = Keyspace::missing(&format!("at_once_{round}"));
        let outputs = std::thread::scope(|scope| {
            let keyspace = &keyspace;
            let run = |out| scope.spawn(move || keyspace.run(&["-o", out]));
            ["one", "two"].map(run).map(|run| run.join().unwrap())
        });
        let is_done = |run: &Output| run.status.success();
        assert!(outputs.iter().any(is_done), "{}", err(&outputs[0]));
        for loser in outputs.iter().filter(|run| !is_done(run)) {
            // Or both load one after the other, and the second finds nothing while it measures.
            let why = if loser.status.code() == Some(3) {
                "(nothing was found)"
            } else {
                "was not created by tailmark"
            };
            assert_says(&err(loser), &[why]);
        }
        for out in ["one", "two"] {
            succeeded(&keyspace.run(&["-o", out, "--retry-failed"]));
        }
        let cleaned = ["one", "two"]
            .map(|study| TAILMARK.run(keyspace.dir.path(), &["clean", study, "--yes"]))
            .map(|cleaned| out(&cleaned) + &err(&cleaned));
        let select = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = '$'";
        assert!(keyspace.cql(select).is_empty(), "{cleaned:?}");
    }
}
