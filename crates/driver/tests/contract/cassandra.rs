//! YCSB's schema in Cassandra, from both sides: rows that somebody else wrote into it as YCSB's
//! binding does are read field by field, and what the driver writes are such rows. Wants
//! `TEST_CASSANDRA`.

use crate::support::*;
use std::collections::BTreeMap;
use tailmark_driver::{Access, Completion, Fields, Key, Location, Outcome, Reply, Session};
use tailmark_testing::{cql, server, test};

/// As YCSB's instructions have it: the keyspace and the table are made by hand.
const KEYSPACE: &str = "of_ycsb";

/// Reads a record and keeps its fields.
fn read_verified(session: &mut dyn Session, name: &str) -> (Reply, BTreeMap<u32, String>) {
    let mut fields = BTreeMap::new();
    let mut visit = |field, value: &[u8]| {
        fields.insert(field, String::from_utf8(value.to_vec()).unwrap());
    };
    let key = Key {
        number: 0,
        name: name.as_bytes(),
    };
    let reply = match session.read_verified(key, &mut visit) {
        Completion::Ready(reply) => reply,
        Completion::Pending(reply) => pollster::block_on(reply),
    };
    (reply, fields)
}

#[test]
fn rows_of_ycsbs_schema_are_read_and_written() {
    let hosts = server("cassandra");
    cql(&hosts, &format!("DROP KEYSPACE IF EXISTS {KEYSPACE}"));
    cql(
        &hosts,
        &format!(
            "CREATE KEYSPACE {KEYSPACE} WITH REPLICATION = \
             {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        ),
    );
    // A table of ten fields; a data set of three fields uses the first three.
    let columns: String = (0..10).map(|i| format!(", field{i} varchar")).collect();
    let table = format!("{KEYSPACE}.usertable");
    cql(
        &hosts,
        &format!("CREATE TABLE {table} (y_id varchar PRIMARY KEY{columns})"),
    );
    cql(
        &hosts,
        &format!(
            "INSERT INTO {table} (y_id, field0, field1, field2) \
             VALUES ('user6284781860667377211', 'a', 'bb', '\u{e9}~')"
        ),
    );
    let mut bench = Bench::with("cassandra", &[("keyspace", KEYSPACE)]);
    bench.params.location = Location::of_hosts(&hosts);
    bench.params.access = Access::Write;
    let database = bench.open();
    let mut session = database.session().unwrap();
    let (reply, fields) = read_verified(&mut *session, "user6284781860667377211");
    // The name of the key, 23 bytes, and the fields.
    let (records, bytes) = (1, 23 + 1 + 2 + 3);
    assert_eq!(reply, Ok(Outcome { records, bytes }));
    let expected = [(0, "a"), (1, "bb"), (2, "\u{e9}~")].map(|(i, text)| (i, text.to_owned()));
    assert_eq!(fields, expected.into());
    let missing = read_verified(&mut *session, "user8517097267634966620");
    assert_eq!((missing.0, missing.1.len()), (Ok(Outcome::default()), 0));

    insert(&mut *session, 7).unwrap();
    update(&mut *session, 7, 1, 5).unwrap();
    let found = read(&mut *session, 7, Fields::One(1)).unwrap();
    assert_eq!(found.records, 1);
    let key = String::from_utf8(name(7)).unwrap();
    let select = format!("SELECT field0, field1, field2 FROM {table} WHERE y_id = '{key}'");
    let whole = "\u{7}".repeat(LENGTH as usize);
    assert_eq!(cql(&hosts, &select), [[&whole, "uuuuu", &whole]]);
}

/// A keyspace of a test's own, which is not there yet.
fn own(keyspace: &str) -> (Bench, String) {
    let hosts = server("cassandra");
    cql(&hosts, &format!("DROP KEYSPACE IF EXISTS {keyspace}"));
    let mut bench = Bench::with("cassandra", &[("keyspace", keyspace)]);
    bench.params.location = Location::of_hosts(&hosts);
    bench.params.study = "0123456789abcdef0123456789abcdef".to_owned();
    (bench, hosts)
}

/// What a client finds whose address leads to another cluster since the database was opened.
#[test]
fn neither_a_client_nor_a_marker_goes_to_another_table_than_was_opened() {
    let (bench, hosts) = own("other_table");
    let database = bench.open();
    let id = database.id().unwrap();
    database.set_marker("{}").unwrap();
    let columns = "y_id varchar PRIMARY KEY, field0 varchar, field1 varchar, field2 varchar";
    cql(&hosts, "DROP TABLE other_table.usertable");
    let create = format!("CREATE TABLE other_table.usertable ({columns})");
    cql(&hosts, &create);
    cql(
        &hosts,
        "INSERT INTO other_table.usertable (y_id) VALUES ('theirs')",
    );
    for refused in [
        database.session().map(drop),
        database.set_marker("{}"),
        database.remove(&database.made()).map(drop),
    ] {
        let error = refused.unwrap_err();
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(why.contains("changed the tables of"), "{why}");
    }
    assert_ne!(bench.open().id().unwrap(), id);
    let rows = cql(&hosts, "SELECT y_id FROM other_table.usertable");
    assert_eq!(rows, [["theirs"]]);
}

/// A table that was created from the description of one of tailmark's has its comment.
#[test]
fn records_without_a_marker_are_not_removed() {
    let (bench, hosts) = own("unmarked");
    let database = bench.open();
    insert(&mut *database.session().unwrap(), 1).unwrap();
    let made = database.made();
    for refused in [
        database.removal(&made).map(drop),
        database.remove(&made).map(drop),
        (bench.driver.destroy)(&bench.params, &|_| Ok(())),
    ] {
        let error = refused.unwrap_err();
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(
            why.contains("holds records but no marker of tailmark"),
            "{why}"
        );
    }
    assert_eq!(cql(&hosts, "SELECT y_id FROM unmarked.usertable").len(), 1);
    database.set_marker("{}").unwrap();
    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    assert!(cql(&hosts, "SELECT y_id FROM unmarked.usertable").is_empty());
    assert!(!database.remove(&made).unwrap().is_empty());
}
