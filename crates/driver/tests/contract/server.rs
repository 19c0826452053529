//! What drivers of servers promise, tried against a live one: `TEST_CASSANDRA`, `TEST_AEROSPIKE`
//! and `TEST_REDIS` name contact points; a test whose server is not named is ignored.

use crate::support::*;
use std::{
    collections::BTreeSet, fs, net::TcpListener, os::unix::fs::PermissionsExt, time::Duration,
};
use tailmark_driver::{
    Access, Cause, Completion, Database, Driver, Error, Fields, Location, Operation, OperationKind,
    Outcome, Place, Reply, Session, Settled, db,
};
use tailmark_testing::{cql, not_here, resp, server, test};

const WHOLE: Outcome = Outcome {
    records: 1,
    bytes: RECORD,
};

/// A database of a test's own on the server of a driver.
fn own(driver: &str, test: &str) -> Bench {
    if db::find(driver).is_err() {
        not_here(format!("this build has no driver {driver}"));
    }
    on(driver, &server(driver), test, &[])
}

fn on(driver: &str, hosts: &str, test: &str, settings: &[(&str, &str)]) -> Bench {
    let database = number_of(test);
    let number = database.to_string();
    let own: &[_] = match driver {
        "aerospike" => &[("namespace", "test")],
        "cassandra" => &[("keyspace", test)],
        "redis" => &[("database", &*number)],
        other => panic!("add a branch for {other}"),
    };
    let mut bench = Bench::with(driver, &[own, settings].concat());
    bench.params.location = Location::of_hosts(hosts);
    match driver {
        "aerospike" => {
            bench.params.data.schema.table = test.to_owned();
            (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
        }
        "cassandra" => {
            cql(hosts, &format!("DROP KEYSPACE IF EXISTS {test}"));
        }
        _ => assert_eq!(resp(hosts, database, &["FLUSHDB"]), ["OK"]),
    }
    bench
}

/// A logical database of a test's own: 1 to 997, of the 1100 that the tests' server has.
fn number_of(test: &str) -> u32 {
    let fold = |sum: u32, byte: u8| (sum * 31 + u32::from(byte)) % 997;
    1 + test.bytes().fold(0, fold)
}

#[test]
fn each_test_has_a_database_of_its_own() {
    let source = include_str!("server.rs");
    let names = source.split("own(driver, \"").skip(1);
    let names: BTreeSet<&str> = names.filter_map(|rest| rest.split('"').next()).collect();
    let names: BTreeSet<&str> = names
        .into_iter()
        .filter(|name| !name.contains('\\'))
        .collect();
    let numbers: BTreeSet<u32> = names.iter().map(|name| number_of(name)).collect();
    assert_eq!(numbers.len(), names.len());
    assert!(names.len() > 5, "{names:?}");
}

#[test(aerospike, cassandra, redis)]
fn what_was_written_is_read_back(driver: &str) {
    let bench = own(driver, "written");
    let database = bench.open();
    let mut session = database.session().unwrap();
    for number in 0..100 {
        assert_eq!(insert(&mut *session, number), Ok(WHOLE));
    }
    for number in 0..100 {
        let found = read(&mut *session, number, Fields::All);
        assert_eq!(found, Ok(WHOLE), "{}", bench.driver.name);
    }
    let field = read(&mut *session, 42, Fields::One(1)).unwrap();
    assert_eq!(
        field.bytes,
        KEY + u64::from(LENGTH),
        "{}",
        bench.driver.name
    );
    let missed = read(&mut *session, 100, Fields::All);
    assert_eq!(missed, Ok(Outcome::default()), "{}", bench.driver.name);
}

#[test(aerospike, cassandra, redis)]
fn an_update_of_one_field_keeps_the_others(driver: &str) {
    let bench = own(driver, "updated");
    let database = bench.open();
    let mut session = database.session().unwrap();
    insert(&mut *session, 1).unwrap();
    let shorter = LENGTH / 2;
    assert!(update(&mut *session, 1, 2, shorter).is_ok());
    let found = read(&mut *session, 1, Fields::All).unwrap();
    assert_eq!(
        found.bytes,
        RECORD - u64::from(LENGTH - shorter),
        "{}",
        bench.driver.name
    );
}

#[test(aerospike, cassandra, redis)]
fn an_insert_overwrites_and_a_delete_removes(driver: &str) {
    let bench = own(driver, "overwritten");
    let database = bench.open();
    let mut session = database.session().unwrap();
    for _ in 0..2 {
        assert_eq!(insert(&mut *session, 1), Ok(WHOLE), "{}", bench.driver.name);
    }
    assert_eq!(read(&mut *session, 1, Fields::All), Ok(WHOLE));
    assert!(delete(&mut *session, 1).is_ok());
    let missed = read(&mut *session, 1, Fields::All);
    assert_eq!(missed, Ok(Outcome::default()), "{}", bench.driver.name);
}

#[test(aerospike, cassandra, redis)]
fn a_scan_returns_records_of_the_ring_from_its_start_on(driver: &str) {
    let bench = own(driver, "scanned");
    let database = bench.open();
    let mut session = database.session().unwrap();
    for number in 0..50 {
        insert(&mut *session, number).unwrap();
    }
    if !bench.driver.supports.contains(&OperationKind::Scan) {
        let refused = scan(&mut *session, 0, 1).unwrap_err();
        assert_eq!(refused.cause, Cause::Unsupported, "{}", bench.driver.name);
        return;
    }
    // The number of records to the end of the ring differs for every record: 1 to 50.
    let mut lengths = BTreeSet::new();
    for number in 0..50 {
        let found = scan(&mut *session, number, 100).unwrap();
        assert_eq!(found.bytes, u64::from(found.records) * RECORD);
        lengths.insert(found.records);
        assert_eq!(scan(&mut *session, number, 1), Ok(WHOLE));
    }
    assert_eq!(lengths, (1..=50).collect(), "{}", bench.driver.name);
}

#[test(aerospike, cassandra, redis)]
fn the_marker_and_the_data_outlive_the_client_and_a_destruction_keeps_the_marker(driver: &str) {
    let bench = own(driver, "marked");
    let new = bench.open();
    new.set_marker("nothing yet").unwrap();
    assert!(new.is_empty().unwrap(), "{}", bench.driver.name);
    insert(&mut *new.session().unwrap(), 7).unwrap();
    new.set_marker("seven").unwrap();
    new.sync().unwrap();
    assert!(new.flush(&|| false).unwrap());
    drop(new);
    let database = bench.open();
    assert_eq!(database.marker().unwrap().as_deref(), Some("seven"));
    assert!(!database.is_empty().unwrap(), "{}", bench.driver.name);
    assert_eq!(
        read(&mut *database.session().unwrap(), 7, Fields::All),
        Ok(WHOLE)
    );
    drop(database);
    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    let destroyed = bench.open();
    assert!(destroyed.is_empty().unwrap(), "{}", bench.driver.name);
    assert_eq!(destroyed.marker().unwrap().as_deref(), Some("seven"));
}

#[test(aerospike, cassandra, redis)]
fn a_server_tells_its_version_and_whether_it_is_at_rest(driver: &str) {
    let bench = own(driver, "told");
    let database = bench.open();
    assert!(
        database.facts().contains_key("version"),
        "{:?}",
        database.facts()
    );
    let settled = database.settle(Duration::from_secs(60), &|| false).unwrap();
    assert_ne!(settled, Settled::No, "{}", bench.driver.name);
}

#[test]
fn a_server_that_is_not_there_is_an_error_that_names_it() {
    for driver in db::DRIVERS.iter().filter(|d| d.place == Place::Hosts) {
        let mut bench = Bench::with(driver.name, &[("connect_timeout_ms", "500")]);
        bench.params.location = Location::of_hosts("127.0.0.1:1");
        let refused = bench.try_open().err();
        let Some(Error::Open { place, .. }) = refused else {
            panic!("{}: {refused:?}", driver.name);
        };
        assert_eq!(place, "127.0.0.1:1");
    }
}

#[test]
fn a_server_that_takes_connections_and_says_nothing_is_an_error() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let quick = ("connect_timeout_ms", "50");
    for driver in db::DRIVERS.iter().filter(|d| d.place == Place::Hosts) {
        let encrypted: &[_] = match driver.name {
            "cassandra" | "redis" => &[quick, ("tls", "true")],
            _ => &[quick],
        };
        for settings in [&[quick], encrypted] {
            let mut bench = Bench::with(driver.name, settings);
            bench.params.location = Location::of_hosts(&silent.local_addr().unwrap().to_string());
            let Some(Error::Open { source, .. }) = bench.try_open().err() else {
                panic!("{}: it was opened", driver.name);
            };
            let said = source.to_string();
            assert!(said.contains("did not answer within 200ms"), "{said}");
        }
    }
}

#[test(aerospike, cassandra, redis)]
fn clients_of_a_runtime_share_its_connection_and_answer_together(driver: &str) {
    let bench = own(driver, "together");
    let database = bench.open();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let found = runtime.block_on(async {
        let mut sessions = Vec::new();
        for _ in 0..32 {
            sessions.push(database.connect().await.unwrap());
        }
        let mut found = 0;
        for (number, session) in (0..).zip(&mut sessions) {
            let lengths = [LENGTH; FIELDS as usize];
            let bytes = vec![b'x'; (LENGTH * FIELDS) as usize];
            let values = tailmark_driver::Values {
                first: 0,
                lengths: &lengths,
                bytes: &bytes,
            };
            let name = name(number);
            let key = key(number, &name);
            answer(&mut **session, Operation::Insert { key, values })
                .await
                .unwrap();
            let read = Operation::Read {
                key,
                fields: Fields::All,
            };
            found += answer(&mut **session, read).await.unwrap().records;
        }
        found
    });
    assert_eq!(found, 32, "{}", bench.driver.name);
}

async fn answer(session: &mut dyn Session, operation: Operation<'_>) -> Reply {
    match session.execute(operation) {
        Completion::Ready(reply) => reply,
        Completion::Pending(future) => future.await,
    }
}

#[test]
fn settings_that_the_table_cannot_check_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    fs::write(&file, "secret\n").unwrap();
    let open = fs::Permissions::from_mode(0o644);
    fs::set_permissions(&file, open).unwrap();
    let readable = folder.path().join("readable");
    fs::copy(&file, &readable).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let readable = readable.to_str().unwrap();
    let file = file.to_str().unwrap();
    let has_logins = |d: &&&Driver| d.settings.iter().any(|setting| setting.name == "user");
    let servers = db::DRIVERS.iter().filter(|d| d.place == Place::Hosts);
    for driver in servers.filter(has_logins) {
        // Certificates are refused without the other settings of TLS.
        let alone = match driver.name {
            "aerospike" => "tls_name",
            _ => "tls_ca",
        };
        for (settings, named) in [
            (
                vec![("password_file", "/nowhere/secret"), ("user", "me")],
                "password_file",
            ),
            (
                vec![("password_file", readable), ("user", "me")],
                "password_file",
            ),
            (vec![("user", "me")], "user"),
            (vec![("tls_ca", "/nowhere/ca.pem")], "tls_ca"),
            (vec![("tls_ca", file)], alone),
        ] {
            let refused = check(driver, &settings, &data(1)).unwrap_err().to_string();
            assert!(
                refused.contains(&format!("database.{named} is")),
                "{refused}"
            );
        }
        let accepted = check(driver, &[("user", "me"), ("password_file", file)], &data(1));
        assert!(accepted.is_ok(), "{accepted:?}");
    }
}

#[test]
fn virtual_keyspaces_of_the_servers_are_refused() {
    let mut drivers = db::DRIVERS.iter();
    let cassandra = drivers.find(|d| d.name == "cassandra");
    for (keyspace, is_taken) in [
        ("system_views", false),
        ("system_virtual_schema", false),
        ("system_auth", true),
        ("ycsb", true),
    ] {
        let checked = check(cassandra.unwrap(), &[("keyspace", keyspace)], &data(1));
        assert_eq!(checked.is_ok(), is_taken, "{keyspace}: {checked:?}");
    }
}

/// A statistic of all nodes; a server that is busy may leave a gap, and is asked again.
#[cfg(feature = "net")]
fn told(database: &dyn Database, name: &str) -> f64 {
    for _ in 0..100 {
        let told = database.statistics().unwrap_or_default();
        let of_nodes: Vec<f64> = told
            .iter()
            .filter(|o| o.name == name)
            .map(|o| o.value)
            .collect();
        if !of_nodes.is_empty() {
            return of_nodes.iter().sum();
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("{name} is not told: {:?}", database.statistics());
}

#[cfg(feature = "net")]
fn insert_all(database: &dyn Database, records: u8) {
    let mut session = database.session().unwrap();
    for number in 0..records {
        insert(&mut *session, number.into()).unwrap();
    }
}

#[cfg(feature = "aerospike")]
mod aerospike {
    use super::*;
    use tailmark_testing::test;

    #[test]
    fn a_namespace_that_is_not_there_is_an_error_that_names_those_that_are() {
        let hosts = server("aerospike");
        let mut bench = Bench::with("aerospike", &[("namespace", "never_made")]);
        bench.params.location = Location::of_hosts(&hosts);
        let Some(Error::Open { source, .. }) = bench.try_open().err() else {
            panic!("it was opened");
        };
        let expected = "the server has no namespace `never_made`, but `";
        assert!(source.to_string().starts_with(expected), "{source}");
    }

    #[test]
    fn what_is_written_is_told_while_it_is_open() {
        let hosts = server("aerospike");
        let database = on("aerospike", &hosts, "told", &[]).open();
        let before = told(database.as_ref(), "writes");
        insert_all(database.as_ref(), 20);
        assert!(told(database.as_ref(), "writes") >= before + 20.0);
        assert!(told(database.as_ref(), "connections") >= 1.0);
    }

    #[test]
    fn attempts_that_failed_are_counted_where_retries_are_asked_for() {
        let hosts = server("aerospike");
        let bench = on("aerospike", &hosts, "counted", &[("retries", "2")]);
        let database = bench.open();
        insert(&mut *database.session().unwrap(), 1).unwrap();
        assert_eq!(
            database.counters().into_iter().collect::<Vec<_>>(),
            [("failed_attempts".to_owned(), 0)]
        );
    }
}

#[cfg(feature = "cassandra")]
mod cassandra {
    use super::*;
    use tailmark_testing::{cql, test};

    #[test]
    fn a_table_that_is_not_there_is_opened_only_to_be_made() {
        let hosts = server("cassandra");
        let mut bench = Bench::with("cassandra", &[("keyspace", "never_made")]);
        bench.params.location = Location::of_hosts(&hosts);
        bench.params.access = Access::Write;
        let refused = bench.try_open().err();
        assert!(matches!(refused, Some(Error::Open { .. })), "{refused:?}");
    }

    #[test]
    fn a_table_that_takes_the_place_while_background_work_is_awaited_is_not_written() {
        let hosts = server("cassandra");
        // The remains of an earlier test count as another program's table.
        cql(&hosts, "DROP KEYSPACE IF EXISTS settled");
        let bench = on("cassandra", &hosts, "settled", &[]);
        let database = bench.open();
        let mut session = database.session().unwrap();
        insert(&mut *session, 1).unwrap();
        let fields = "y_id varchar PRIMARY KEY, field0 varchar, field1 varchar";
        cql(&hosts, "DROP TABLE settled.usertable");
        cql(
            &hosts,
            &format!("CREATE TABLE settled.usertable ({fields})"),
        );
        cql(
            &hosts,
            "INSERT INTO settled.usertable (y_id) VALUES ('mine')",
        );
        database.settle(Duration::from_secs(30), &|| false).unwrap();
        let refused = insert(&mut *session, 2).unwrap_err();
        assert!(
            refused.message.contains("dropped or recreated table"),
            "{}",
            refused.message
        );
        assert_eq!(
            cql(&hosts, "SELECT y_id FROM settled.usertable"),
            [["mine"]]
        );
    }

    #[test]
    fn what_is_asked_is_told_while_it_is_open() {
        let hosts = server("cassandra");
        let database = on("cassandra", &hosts, "told", &[]).open();
        let before = told(database.as_ref(), "requests");
        insert_all(database.as_ref(), 20);
        assert!(told(database.as_ref(), "requests") >= before + 20.0);
        for name in [
            "key_cache_bytes",
            "compaction_tasks",
            "disk_bytes",
            "flushes",
            "reads_pending",
            "running_compaction_bytes",
            "writes_active",
        ] {
            assert!(told(database.as_ref(), name) >= 0.0, "{name}");
        }
    }

    #[test]
    fn a_table_of_another_type_is_refused() {
        let hosts = server("cassandra");
        on("cassandra", &hosts, "typed", &[]).open();
        let mut other = Bench::with(
            "cassandra",
            &[("keyspace", "typed"), ("field_type", "blob")],
        );
        other.params.location = Location::of_hosts(&hosts);
        let refused = other.try_open().err();
        let Some(Error::Open { source, .. }) = refused else {
            panic!("{refused:?}")
        };
        assert!(
            source
                .to_string()
                .contains("no column `field0` of type blob"),
            "{source}"
        );
    }

    #[test]
    fn every_byte_of_a_blob_is_kept_and_text_is_valid() {
        let hosts = server("cassandra");
        for (keyspace, kind) in [("blobs", "blob"), ("texts", "varchar")] {
            let bench = on("cassandra", &hosts, keyspace, &[("field_type", kind)]);
            let database = bench.open();
            let mut session = database.session().unwrap();
            // The bytes of a record are its number; 200 to 209 are not valid text.
            for number in 200..210 {
                assert_eq!(insert(&mut *session, number), Ok(WHOLE), "{kind}");
                assert_eq!(
                    read(&mut *session, number, Fields::All),
                    Ok(WHOLE),
                    "{kind}"
                );
            }
        }
    }

    #[test]
    fn retries_and_speculative_executions_are_counted_where_asked_for() {
        let hosts = server("cassandra");
        let requested = [("retries", "true"), ("speculative_ms", "1")];
        let bench = on("cassandra", &hosts, "counted", &requested);
        let database = bench.open();
        insert(&mut *database.session().unwrap(), 1).unwrap();
        let counters = database.counters();
        assert_eq!(
            counters.keys().collect::<Vec<_>>(),
            ["retries", "speculative_executions"]
        );
        assert_eq!(counters["retries"], 0);
        assert!(
            on("cassandra", &hosts, "uncounted", &[])
                .open()
                .counters()
                .is_empty()
        );
    }
}
