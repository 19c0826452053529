//! What the driver of Redis promises beyond the contract: YCSB's format from both sides, data of
//! others, full memory, missing persistence, encryption and clusters. Wants `TEST_REDIS`; servers
//! with other settings are started by `tests/redis/server`.

mod harm;

use crate::support::*;
use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};
use tailmark_driver::{
    Access, Cause, Completion, Database, Error, Fields, Key, Location, Operation, Outcome,
    RemarkCode, Session, Values,
};
use tailmark_testing::{not_installed, resp, server, test};
use tempfile::TempDir;

const WHOLE: Outcome = Outcome {
    records: 1,
    bytes: RECORD,
};

/// A logical database of a test's own on the server of all tests, without a key.
fn own(database: u32, settings: &[(&str, &str)]) -> (String, Bench) {
    let hosts = server("redis");
    assert_eq!(resp(&hosts, database, &["FLUSHDB"]), ["OK"]);
    let number = database.to_string();
    let mut bench = Bench::with("redis", &[&[("database", &*number)], settings].concat());
    bench.params.location = Location::of_hosts(&hosts);
    (hosts, bench)
}

fn keys(hosts: &str, database: u32) -> Vec<String> {
    let mut keys = resp(hosts, database, &["KEYS", "*"]);
    keys.sort();
    keys
}

/// A server of a test's own; ended and removed with it.
struct OwnServer {
    dir: TempDir,
    port: u16,
    options: String,
    secure: &'static str,
}

impl OwnServer {
    fn start(port: u16, options: &str, secure: &'static str) -> Self {
        if Command::new("redis-cli").arg("--version").output().is_err() {
            not_installed("redis-tools is missing");
        }
        let own = Self {
            dir: TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
            port,
            options: options.to_owned(),
            secure,
        };
        own.act("start");
        own
    }

    fn act(&self, action: &str) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/redis/server");
        let status = Command::new(script)
            .arg(action)
            .env("REDIS_DIR", self.dir.path().join("server"))
            .env("REDIS_PORT", self.port.to_string())
            .env("REDIS_OPTIONS", &self.options)
            .env("REDIS_SECURE", self.secure)
            .status()
            .unwrap();
        assert!(status.success(), "{action}");
    }

    fn hosts(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn bench(&self, settings: &[(&str, &str)]) -> Bench {
        let mut bench = Bench::with("redis", settings);
        bench.params.location = Location::of_hosts(&self.hosts());
        bench
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.act("kill");
    }
}

fn codes(database: &dyn Database) -> Vec<&'static str> {
    let remarks = database.remarks().into_iter();
    remarks.map(|remark| remark.code.name()).collect()
}

/// The fields of a record, read by the driver.
fn verified(session: &mut dyn Session, name: &str) -> Vec<(u32, String)> {
    let mut fields = Vec::new();
    let mut visit = |field, value: &[u8]| {
        fields.push((field, String::from_utf8_lossy(value).into_owned()));
    };
    let key = Key {
        number: 0,
        name: name.as_bytes(),
    };
    match session.read_verified(key, &mut visit) {
        Completion::Ready(reply) => reply,
        Completion::Pending(reply) => pollster::block_on(reply),
    }
    .unwrap();
    fields.sort();
    fields
}

#[test]
fn records_and_their_index_are_as_ycsbs_binding_keeps_them() {
    let (hosts, bench) = own(1001, &[]);
    let database = bench.open();
    let mut session = database.session().unwrap();
    insert(&mut *session, 66).unwrap();
    let field = "B".repeat(LENGTH as usize);
    assert_eq!(
        resp(
            &hosts,
            1001,
            &["HMGET", "user00000066", "field0", "field1", "field2"]
        ),
        [field.as_str(); 3]
    );
    assert_eq!(resp(&hosts, 1001, &["HLEN", "user00000066"]), ["3"]);
    // `"user00000066".hashCode()` of Java.
    let score = resp(&hosts, 1001, &["ZSCORE", "_indices", "user00000066"]);
    assert_eq!(score, ["-2006513269"]);
    assert_eq!(keys(&hosts, 1001), ["_indices", "tailmark", "user00000066"]);
    delete(&mut *session, 66).unwrap();
    assert_eq!(keys(&hosts, 1001), ["tailmark"], "the index too");
}

#[test]
fn records_of_ycsbs_binding_are_adopted_and_nothing_of_tailmarks_is_added() {
    let (hosts, mut bench) = own(1002, &[]);
    for (name, score) in [("user1", "111578566"), ("user2", "111578567")] {
        let _ = resp(
            &hosts,
            1002,
            &["HSET", name, "field0", "a", "field1", "b", "field9", "c"],
        );
        let _ = resp(&hosts, 1002, &["ZADD", "_indices", score, name]);
    }
    let before = keys(&hosts, 1002);
    let look = (bench.driver.look.unwrap().at)(&bench.params).unwrap();
    assert!(
        look.exists && !look.is_empty && look.removes.is_none(),
        "{look:?}"
    );
    assert!(
        bench.try_open().is_err(),
        "it is not tailmark's to create in"
    );
    bench.params.access = Access::Read;
    let database = bench.open();
    assert_eq!((database.id(), database.made().len()), (None, 0));
    let mut session = database.session().unwrap();
    let fields = verified(&mut *session, "user1");
    assert_eq!(fields, [(0, "a".to_owned()), (1, "b".to_owned())]);
    let start = Key {
        number: 1,
        name: b"user1",
    };
    let scan = Operation::Scan {
        start,
        records: 10,
        fields: Fields::All,
    };
    let Completion::Pending(scanned) = session.execute(scan) else {
        panic!("a server does not answer at once");
    };
    assert_eq!(pollster::block_on(scanned).unwrap().records, 2);
    assert!((bench.driver.destroy)(&bench.params, &|_| Ok(())).is_err());
    assert!(database.set_marker("mine").is_err() && database.remove(&[]).is_err());
    assert_eq!(keys(&hosts, 1002), before);
}

#[test]
fn a_raw_record_is_a_plain_string() {
    let (hosts, mut bench) = own(1007, &[("record", "raw")]);
    let refused = bench.try_open().err();
    assert!(refused.is_some(), "three fields are not one value");
    bench.params.data.schema.fields.truncate(1);
    let database = bench.open();
    let mut session = database.session().unwrap();
    let name = name(5);
    let write = Operation::Insert {
        key: key(5, &name),
        values: Values {
            first: 0,
            lengths: &[5],
            bytes: b"value",
        },
    };
    let Completion::Pending(written) = session.execute(write) else {
        panic!("a server does not answer at once");
    };
    pollster::block_on(written).unwrap();
    assert_eq!(resp(&hosts, 1007, &["GET", "user00000005"]), ["value"]);
    let found = read(&mut *session, 5, Fields::All).unwrap();
    assert_eq!(found.bytes, KEY + 5);
    assert_eq!(
        verified(&mut *session, "user00000005"),
        [(0, "value".to_owned())]
    );
    assert_eq!(scan(&mut *session, 5, 10).unwrap().records, 1);
}

#[test]
fn a_server_tells_its_persistence_and_what_it_does() {
    let (_, bench) = own(1008, &[]);
    let database = bench.open();
    let facts = database.facts();
    for name in [
        "appendonly",
        "appendfsync",
        "save",
        "maxmemory-policy",
        "version",
    ] {
        assert!(facts.contains_key(name), "{name}: {facts:?}");
    }
    let told = database.statistics().unwrap();
    for name in [
        "memory_bytes",
        "delayed_fsyncs",
        "running_aof_rewrites",
        "evicted_keys",
    ] {
        assert!(told.iter().any(|one| one.name == name), "{name}: {told:?}");
    }
    assert!(!codes(&*database).contains(&"not-persistent"), "it appends");
}

#[test]
fn memory_that_is_full_refuses_writes_or_drops_records_and_both_are_said() {
    let own = OwnServer::start(6391, "appendonly no\nmaxmemory 3mb", "0");
    let database = own.bench(&[]).open();
    assert_eq!(codes(&*database), [RemarkCode::NotPersistent.name()]);
    let mut session = database.session().unwrap();
    let refused = (0..20_000).find_map(|number| insert(&mut *session, number).err());
    let refused = refused.expect("20,000 records are more than 3 MB");
    assert_eq!(refused.cause, Cause::Overloaded);
    assert!(refused.message.contains("no memory left"), "{refused}");
    assert!(!codes(&*database).contains(&"data-evicted"));
    let policy = ["CONFIG", "SET", "maxmemory-policy", "allkeys-random"];
    assert_eq!(resp(&own.hosts(), 0, &policy), ["OK"]);
    for number in 20_000..24_000 {
        // The index may have been dropped too. The server must report it.
        drop(insert(&mut *session, number));
    }
    assert!(
        codes(&*database).contains(&"data-evicted"),
        "{:?}",
        database.remarks()
    );
}

#[test]
fn clients_come_back_after_a_kill_and_are_refused_if_the_data_is_lost() {
    let own = OwnServer::start(6392, "appendonly yes\nappendfsync always", "0");
    let database = own.bench(&[]).open();
    let mut session = database.session().unwrap();
    insert(&mut *session, 1).unwrap();
    own.act("kill");
    let failed = read(&mut *session, 1, Fields::All).unwrap_err();
    assert_eq!(failed.cause, Cause::Connection, "{failed}");
    own.act("start");
    assert_eq!(read(&mut *session, 1, Fields::All), Ok(WHOLE));
    own.act("kill");
    std::fs::remove_dir_all(own.dir.path().join("server/data")).unwrap();
    own.act("start");
    let refused: Vec<_> = (0..2)
        .map(|_| insert(&mut *session, 2).unwrap_err())
        .collect();
    assert!(refused[1].message.contains("lost its data"), "{refused:?}");
    assert_eq!(resp(&own.hosts(), 0, &["DBSIZE"]), ["0"]);
}

#[test]
fn what_is_saved_by_snapshots_alone_is_saved_after_a_load() {
    let own = OwnServer::start(6393, "appendonly no\nsave 3600 1", "0");
    let database = own.bench(&[]).open();
    assert!(codes(&*database).is_empty());
    insert(&mut *database.session().unwrap(), 1).unwrap();
    assert!(database.flush(&|| false).unwrap());
    own.act("kill");
    own.act("start");
    let found = read(
        &mut *own.bench(&[]).open().session().unwrap(),
        1,
        Fields::All,
    );
    assert_eq!(found, Ok(WHOLE));
}

#[test]
fn a_wait_for_a_snapshot_ends_when_a_stop_is_requested() {
    let own = OwnServer::start(6378, "appendonly no\nsave 3600 1", "0");
    let database = own.bench(&[]).open();
    for number in 0..300 {
        insert(&mut *database.session().unwrap(), number).unwrap();
    }
    let set = |name, value| {
        let said = resp(&own.hosts(), 0, &["CONFIG", "SET", name, value]);
        assert_eq!(said, ["OK"], "{name}");
    };
    // A second for each key.
    set("rdb-key-save-delay", "1000000");
    let began = Instant::now();
    let saved = database.flush(&|| began.elapsed() > Duration::from_secs(1));
    assert!(!saved.unwrap());
    assert!(began.elapsed() < Duration::from_secs(250));
    // The snapshot ends with the server.
    set("save", "");
    own.act("stop");
}

#[test]
fn a_replica_is_refused() {
    let master = server("redis");
    let (host, port) = master.split_once(':').unwrap();
    let own = OwnServer::start(6394, &format!("replicaof {host} {port}"), "0");
    let Some(Error::Open { source, .. }) = own.bench(&[]).try_open().err() else {
        panic!("it was opened");
    };
    assert!(source.to_string().contains("replica of"), "{source}");
}

#[test]
fn connections_are_encrypted_and_a_password_is_asked_for() {
    use std::os::unix::fs::PermissionsExt;
    let own = OwnServer::start(6395, "appendonly yes", "1");
    let file = |text: &str| {
        let path = own.dir.path().join(text);
        std::fs::write(&path, format!("{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (right, wrong) = (file("redis"), file("wrong"));
    let ca = own.dir.path().join("server/ca.pem");
    let ca = ca.to_str().unwrap();
    let tls = [("tls", "true"), ("tls_ca", ca)];
    let with = |password: &str| {
        let login = [("user", "default"), ("password_file", password)];
        own.bench(&[&tls[..], &login].concat())
    };
    let bench = with(&right);
    let database = bench.open();
    insert(&mut *database.session().unwrap(), 1).unwrap();
    // A wrong password is final.
    for refused in [with(&wrong).try_open(), own.bench(&tls).try_open()] {
        let error = refused.err();
        assert!(matches!(error, Some(Error::Refused { .. })), "{error:?}");
    }
    for refused in [
        own.bench(&[]).try_open(),
        own.bench(&[("tls", "true")]).try_open(),
    ] {
        assert!(matches!(refused.err(), Some(Error::Open { .. })));
    }
}

#[test]
fn records_of_a_cluster_are_on_the_nodes_of_their_slots() {
    let ports = [6396_u16, 6397, 6398];
    let options = "appendonly yes\ncluster-enabled yes\ncluster-node-timeout 5000\ncluster-port ";
    let nodes = ports.map(|port| {
        // By default, the bus of a node uses a port that may be taken.
        OwnServer::start(port, &format!("{options}{}", port + 10_000), "0")
    });
    let create = Command::new("redis-cli")
        .args(["--cluster", "create"])
        .args(nodes.iter().map(OwnServer::hosts))
        .args(["--cluster-yes"])
        .output()
        .unwrap();
    assert!(create.status.success(), "{create:?}");
    let ready = |node: &OwnServer| {
        let said = resp(&node.hosts(), 0, &["CLUSTER", "INFO"]).join("\n");
        said.contains("cluster_state:ok")
    };
    while !nodes.iter().all(ready) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    // Any node lists all others.
    let bench = nodes[1].bench(&[("cluster", "true")]);
    let database = bench.open();
    let mut session = database.session().unwrap();
    for number in 0..300 {
        assert_eq!(insert(&mut *session, number), Ok(WHOLE));
    }
    for number in 0..300 {
        assert_eq!(read(&mut *session, number, Fields::All), Ok(WHOLE));
    }
    assert_eq!(scan(&mut *session, 0, 1), Ok(WHOLE));
    let sizes = nodes.each_ref().map(|node| {
        let size = resp(&node.hosts(), 0, &["DBSIZE"]);
        size[0].parse::<u64>().unwrap()
    });
    assert_eq!(sizes.iter().sum::<u64>(), 302);
    assert!(sizes.iter().all(|&size| size > 50), "{sizes:?}");
    assert_eq!(database.facts()["nodes"], "3");
    let told = database.statistics().unwrap();
    assert_eq!(
        told.iter().filter(|one| one.name == "memory_bytes").count(),
        3
    );
    database.set_marker("ours").unwrap();
    assert_eq!(bench.open().marker().unwrap().as_deref(), Some("ours"));
    database.remove(&database.made()).unwrap();
    for node in &nodes {
        assert_eq!(resp(&node.hosts(), 0, &["DBSIZE"]), ["0"]);
    }
    // Without `cluster = true`, each server refuses keys of the others.
    assert!(nodes[1].bench(&[]).try_open().is_err());
    // An address of the cluster that now belongs to a node of another cluster.
    let other = OwnServer::start(6399, &format!("{options}16399"), "0");
    let announced = ["CONFIG", "SET", "cluster-announce-port", "6399"];
    assert_eq!(resp(&nodes[1].hosts(), 0, &announced), ["OK"]);
    let refused = format!("{:?}", bench.try_open().err());
    assert!(
        refused.contains("the cluster reports another node"),
        "{refused}"
    );
    assert_eq!(resp(&other.hosts(), 0, &["DBSIZE"]), ["0"]);
}
