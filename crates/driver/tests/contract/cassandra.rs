//! YCSB's schema in Cassandra, from both sides: rows that somebody else wrote into it as YCSB's
//! binding does are read field by field, and what the driver writes are such rows. Wants
//! `TEST_CASSANDRA`.

use crate::support::*;
use scylla::client::{session::Session as Connection, session_builder::SessionBuilder};
use std::collections::BTreeMap;
use tailmark_driver::{Access, Completion, Fields, Key, Location, Outcome, Reply, Session};
use tailmark_testing::{server, test};

/// As YCSB's instructions have it: the keyspace and the table are made by hand.
const KEYSPACE: &str = "of_ycsb";

/// Carries out what somebody else does to the server.
fn elsewhere<T>(hosts: &str, act: impl AsyncFnOnce(Connection) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let connection = SessionBuilder::new().known_node(hosts).build().await;
        act(connection.unwrap()).await
    })
}

async fn query(connection: &Connection, text: &str) {
    connection.query_unpaged(text, ()).await.unwrap();
}

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
    elsewhere(&hosts, async |connection| {
        query(&connection, &format!("DROP KEYSPACE IF EXISTS {KEYSPACE}")).await;
        query(
            &connection,
            &format!(
                "CREATE KEYSPACE {KEYSPACE} WITH REPLICATION = \
                 {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
            ),
        )
        .await;
        // A table of ten fields, of which a data set of three uses the first.
        let columns: String = (0..10).map(|i| format!(", field{i} varchar")).collect();
        let table = format!("{KEYSPACE}.usertable");
        query(
            &connection,
            &format!("CREATE TABLE {table} (y_id varchar PRIMARY KEY{columns})"),
        )
        .await;
        let insert = format!("INSERT INTO {table} (y_id,field0,field1,field2) VALUES (?,?,?,?)");
        let row = ("user6284781860667377211", "a", "bb", "\u{e9}~");
        connection.query_unpaged(insert, row).await.unwrap();
    });
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
    let (reply, fields) = read_verified(&mut *session, "user8517097267634966620");
    assert_eq!((reply, fields.len()), (Ok(Outcome::default()), 0));

    insert(&mut *session, 7).unwrap();
    update(&mut *session, 7, 1, 5).unwrap();
    let found = read(&mut *session, 7, Fields::One(1)).unwrap();
    assert_eq!(found.records, 1);
    let row = elsewhere(&hosts, async |connection| {
        let select =
            format!("SELECT field0, field1, field2 FROM {KEYSPACE}.usertable WHERE y_id = ?");
        let key = String::from_utf8(name(7)).unwrap();
        let answer = connection.query_unpaged(select, (key,)).await.unwrap();
        let answer = answer.into_rows_result().unwrap();
        answer.single_row::<(String, String, String)>().unwrap()
    });
    let whole = "\u{7}".repeat(LENGTH as usize);
    assert_eq!(row, (whole.clone(), "uuuuu".to_owned(), whole));
}
