//! Data of other programs on a Redis: what is there first, what appears later, and what takes the place
//! of ours.

use super::{OwnServer, keys, own};
use crate::support::*;
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};
use tailmark_driver::{Access, Database, Error, Fields, Location, Settled};
use tailmark_testing::{resp, test};

/// An id as tailmark draws them.
const ANOTHER: &str = "0123456789abcdef0123456789abcdef";

/// `"user00000001".hashCode()` of Java.
const SCORE: &str = "-2006513460";

/// Asserts that no access that may write opens the database.
fn refused_to_write(bench: &Bench) {
    for access in [Access::Create, Access::CreateNew, Access::Write] {
        let params = tailmark_driver::Params {
            access,
            ..bench.params.clone()
        };
        let refused = (bench.driver.open)(&params).err();
        assert!(matches!(refused, Some(Error::Open { .. })), "{refused:?}");
    }
}

#[test]
fn a_database_with_keys_of_others_is_looked_at_and_left_alone() {
    let (hosts, bench) = own(1003, &[]);
    let _ = resp(&hosts, 1003, &["SET", "session:1", "mine"]);
    let look = (bench.driver.look.unwrap().at)(&bench.params).unwrap();
    assert_eq!(look.foreign.as_deref(), Some("database 1003"));
    assert!(!look.is_empty && !look.is_nothing && !look.exists && look.removes.is_none());
    refused_to_write(&bench);
    assert!((bench.driver.check_destroy)(&bench.params).is_err());
    assert!((bench.driver.destroy)(&bench.params, &|_| Ok(())).is_err());
    assert_eq!(keys(&hosts, 1003), ["session:1"]);
}

#[test]
fn looking_at_an_empty_database_changes_nothing_and_says_what_would() {
    let (hosts, bench) = own(1004, &[]);
    let look = (bench.driver.look.unwrap().at)(&bench.params).unwrap();
    assert!(look.is_nothing && look.is_empty && look.foreign.is_none());
    assert!(look.creates[0].contains("tailmark") && look.removes.is_some());
    assert!(keys(&hosts, 1004).is_empty());
    let of_empty = (bench.driver.look.unwrap().of_empty)(&bench.params);
    assert_eq!(look, of_empty);
}

#[test]
fn only_records_of_the_index_and_the_marker_are_removed() {
    let (hosts, bench) = own(1005, &[]);
    let database = bench.open();
    let mut session = database.session().unwrap();
    for number in 0..1100 {
        insert(&mut *session, number).unwrap();
    }
    database.set_marker("ours").unwrap();
    let _ = resp(&hosts, 1005, &["SET", "user_of_mine", "kept"]);
    assert_eq!(keys(&hosts, 1005).len(), 1103);
    let said = database.removal(&database.made()).unwrap();
    assert_eq!(database.remove(&database.made()).unwrap(), said);
    assert_eq!(keys(&hosts, 1005), ["user_of_mine"]);
}

#[test]
fn what_another_program_puts_in_place_of_tailmarks_hash_ends_the_writes() {
    let theirs: [&[&str]; 2] = [
        &["HSET", "tailmark", "id", "another"],
        &["SET", "tailmark", "mine"],
    ];
    for words in theirs {
        let (hosts, bench) = own(1046, &[]);
        let database = bench.open();
        let mut session = database.session().unwrap();
        insert(&mut *session, 1).unwrap();
        assert_eq!(resp(&hosts, 1046, &["FLUSHDB"]), ["OK"]);
        let _ = resp(&hosts, 1046, words);
        let settled = database.settle(std::time::Duration::from_secs(10), &|| false);
        assert_eq!(settled.unwrap(), Settled::Yes);
        assert!(insert(&mut *session, 2).is_err(), "{words:?}");
        assert_eq!(keys(&hosts, 1046), ["tailmark"]);
    }
}

#[test]
fn an_index_with_a_member_of_another_program_is_not_removed() {
    let (hosts, bench) = own(1064, &[]);
    let database = bench.open();
    insert(&mut *database.session().unwrap(), 1).unwrap();
    let _ = resp(&hosts, 1064, &["SET", "foo", "mine"]);
    let _ = resp(&hosts, 1064, &["ZADD", "_indices", "5", "foo"]);
    let refused = format!("{:?}", database.remove(&database.made()).err());
    assert!(refused.contains("names `foo`"), "{refused}");
    assert_eq!(keys(&hosts, 1064).len(), 4);
}

#[test]
fn records_whose_index_is_gone_are_left_and_told() {
    let (hosts, bench) = own(1070, &[]);
    let database = bench.open();
    for number in 0..3 {
        insert(&mut *database.session().unwrap(), number).unwrap();
    }
    assert_eq!(resp(&hosts, 1070, &["DEL", "_indices"]), ["1"]);
    let before = keys(&hosts, 1070);
    for refused in [database.removal(&[]), database.remove(&[])] {
        let refused = format!("{:?}", refused.unwrap_err());
        assert!(
            refused.contains("`_indices` of database 1070 is missing"),
            "{refused}"
        );
        assert!(refused.contains("besides its own: 3"), "{refused}");
    }
    assert_eq!(keys(&hosts, 1070), before);
    // A data set without any record has no index either.
    for record in &before[1..] {
        let _ = resp(&hosts, 1070, &["DEL", record]);
    }
    database.remove(&[]).unwrap();
    assert!(keys(&hosts, 1070).is_empty());
}

#[test]
fn a_server_that_renamed_a_command_is_refused_at_once_by_its_name() {
    // One that is asked for first, and one of the transaction that creates the data set.
    for (port, name) in [(6375, "INFO"), (6376, "HSET")] {
        let renamed = OwnServer::start(port, &format!("rename-command {name} \"\""), "0");
        let refused = renamed.bench(&[]).try_open().err().unwrap();
        // No wait for a server that starts: it would answer the same for ever.
        assert!(matches!(refused, Error::Refused { .. }), "{refused:?}");
        let why = format!("{refused:?}");
        let expected = format!("unknown command '{name}': the server renamed it");
        assert!(why.contains(&expected), "{why}");
    }
    let safe = "rename-command FLUSHDB \"\"\nrename-command FLUSHALL \"\"\nrename-command CONFIG \"\"\n\
                rename-command KEYS \"\"";
    let hardened = OwnServer::start(6377, safe, "0");
    let database = hardened.bench(&[]).open();
    insert(&mut *database.session().unwrap(), 1).unwrap();
    assert!(database.flush(&|| false).unwrap());
    database.remove(&[]).unwrap();
    assert_eq!(resp(&hardened.hosts(), 0, &["DBSIZE"]), ["0"]);
}

#[test]
fn another_data_set_in_its_place_is_neither_written_nor_removed() {
    let (hosts, bench) = own(1006, &[]);
    let database = bench.open();
    let mut session = database.session().unwrap();
    insert(&mut *session, 1).unwrap();
    assert_eq!(resp(&hosts, 1006, &["FLUSHDB"]), ["OK"]);
    let _ = resp(&hosts, 1006, &["HSET", "tailmark", "id", ANOTHER]);
    let _ = resp(&hosts, 1006, &["SET", "user00000001", "mine"]);
    let _ = resp(&hosts, 1006, &["ZADD", "_indices", SCORE, "user00000001"]);
    assert!(database.set_marker("x").is_err());
    assert!(database.removal(&[]).is_err() && database.remove(&[]).is_err());
    assert_ne!(bench.open().id(), database.id());
    let settled = database.settle(std::time::Duration::from_secs(10), &|| false);
    assert_eq!(settled.unwrap(), Settled::Yes);
    let refused = insert(&mut *session, 2).unwrap_err();
    assert!(refused.message.contains("another program"), "{refused}");
    assert_eq!(keys(&hosts, 1006), ["_indices", "tailmark", "user00000001"]);
    assert_eq!(resp(&hosts, 1006, &["GET", "user00000001"]), ["mine"]);
}

/// An address that leads to a server, and does something right before the server is first sent this
/// word.
fn before(word: &'static str, hosts: &str, act: impl FnOnce() + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (hosts, act) = (hosts.to_owned(), Arc::new(Mutex::new(Some(act))));
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut server = TcpStream::connect(&hosts).unwrap();
            let mut back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut back.0, &mut back.1));
            let act = Arc::clone(&act);
            thread::spawn(move || {
                let mut bytes = vec![0; 1 << 20];
                while let Ok(n @ 1..) = client.read(&mut bytes) {
                    let mut windows = bytes[..n].windows(word.len());
                    if windows.any(|window| window == word.as_bytes())
                        && let Some(act) = act.lock().unwrap().take()
                    {
                        act();
                    }
                    server.write_all(&bytes[..n]).unwrap();
                }
                let _ = server.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

/// An own database with one record, and one of another program that takes its place right before the
/// server is first sent this word.
fn swapped_before(word: &'static str, database: u32, theirs: &[&[&str]]) -> (String, Bench) {
    let (hosts, mut bench) = own(database, &[]);
    assert_eq!(resp(&hosts, database + 1, &["FLUSHDB"]), ["OK"]);
    for words in theirs {
        let _ = resp(&hosts, database + 1, words);
    }
    let target = hosts.clone();
    let numbers = [database, database + 1].map(|number| number.to_string());
    let swap = move || {
        let [first, second] = &numbers;
        assert_eq!(resp(&target, 0, &["SWAPDB", first, second]), ["OK"]);
    };
    bench.params.location = Location::of_hosts(&before(word, &hosts, swap));
    (hosts, bench)
}

#[test]
fn a_data_set_that_is_swapped_in_right_before_a_change_stays_as_it_was() {
    type Change = fn(&dyn Database) -> bool;
    let changes: [(_, Change); 3] = [
        ("UNLINK", |database| {
            database.remove(&database.made()).is_ok()
        }),
        ("DEL", |database| database.remove(&database.made()).is_ok()),
        ("ours", |database| database.set_marker("ours").is_ok()),
    ];
    for (command, change) in changes {
        let theirs: [&[&str]; 3] = [
            &["HSET", "user00000001", "field0", "mine"],
            &["ZADD", "_indices", SCORE, "user00000001"],
            &["HSET", "tailmark", "id", ANOTHER],
        ];
        let (hosts, mut bench) = swapped_before(command, 1041, &theirs);
        let address = std::mem::replace(&mut bench.params.location, Location::of_hosts(&hosts));
        insert(&mut *bench.open().session().unwrap(), 1).unwrap();
        bench.params.location = address;
        let database = bench.try_open().unwrap();
        assert!(!change(&*database), "{command}");
        assert_eq!(keys(&hosts, 1041), ["_indices", "tailmark", "user00000001"]);
        assert_eq!(resp(&hosts, 1041, &["HLEN", "tailmark"]), ["1"]);
    }
}

#[test]
fn what_appears_right_before_a_data_set_is_created_stays_as_it_was() {
    // `study` is in the request that creates tailmark's hash.
    for (database, theirs) in [
        (1060, ["SET", "mine", "kept", "EX", "1000"]),
        (1062, ["HSET", "tailmark", "id", ANOTHER, "EX"]),
    ] {
        let theirs = if theirs[0] == "HSET" {
            &theirs[..4]
        } else {
            &theirs[..]
        };
        let (hosts, bench) = swapped_before("study", database, &[theirs]);
        assert!(bench.try_open().is_err());
        assert_eq!(keys(&hosts, database), [theirs[1]]);
        let left = ["HLEN", "tailmark"];
        let left = (theirs[0] == "HSET").then(|| resp(&hosts, database, &left));
        assert!(left.is_none_or(|fields| fields == ["1"]));
    }
}

#[test]
fn a_database_that_is_emptied_is_noticed_by_what_samples_it() {
    let (hosts, bench) = own(1040, &[]);
    let database = bench.open();
    let mut session = database.session().unwrap();
    insert(&mut *session, 1).unwrap();
    assert_eq!(resp(&hosts, 1040, &["FLUSHDB"]), ["OK"]);
    // An answer that takes too long does not count.
    let told = (0..100).find_map(|_| database.statistics());
    assert!(told.is_some());
    assert!(insert(&mut *session, 2).is_err());
    assert!(keys(&hosts, 1040).is_empty());
}

#[test]
fn a_sorted_set_of_another_program_with_the_name_of_the_index_is_no_data_set() {
    let (hosts, bench) = own(1043, &[]);
    let _ = resp(&hosts, 1043, &["ZADD", "_indices", "5", "foo"]);
    let look = (bench.driver.look.unwrap().at)(&bench.params).unwrap();
    assert_eq!(look.foreign.as_deref(), Some("database 1043"));
    assert!(!look.exists);
    refused_to_write(&bench);
    assert_eq!(keys(&hosts, 1043), ["_indices"]);
}

#[test]
fn a_hash_of_another_program_with_the_name_of_tailmarks_is_refused() {
    let theirs: [&[&str]; 4] = [
        &["id", "7"],
        &["id", ANOTHER, "owner", "me"],
        &["study", "x"],
        &["marker", "x"],
    ];
    for fields in theirs {
        let (hosts, bench) = own(1044, &[]);
        let _ = resp(&hosts, 1044, &[&["HSET", "tailmark"], fields].concat());
        refused_to_write(&bench);
        assert!((bench.driver.destroy)(&bench.params, &|_| Ok(())).is_err());
        assert_eq!(keys(&hosts, 1044), ["tailmark"]);
    }
}

#[test]
fn a_server_that_would_evict_keys_of_others_is_not_written_to() {
    let own = OwnServer::start(6389, "appendonly no\nmaxmemory 30mb", "0");
    let hosts = own.hosts();
    assert_eq!(
        resp(&hosts, 0, &["SET", "cached", "mine", "EX", "1000"]),
        ["OK"]
    );
    assert_eq!(resp(&hosts, 0, &["SET", "kept", "mine"]), ["OK"]);
    let bench = own.bench(&[("database", "3")]);
    for policy in ["allkeys-lru", "volatile-ttl"] {
        let set = ["CONFIG", "SET", "maxmemory-policy", policy];
        assert_eq!(resp(&hosts, 0, &set), ["OK"]);
        let refused = bench.try_open().err();
        assert!(
            matches!(refused, Some(Error::Refused { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(resp(&hosts, 3, &["DBSIZE"]), ["0"]);
    // This policy does not evict keys without a time to live.
    assert_eq!(resp(&hosts, 0, &["PERSIST", "cached"]), ["1"]);
    bench.open();
    let _ = resp(&hosts, 4, &["ZADD", "_indices", SCORE, "user00000001"]);
    let mut adopted = own.bench(&[("database", "4")]);
    adopted.params.access = Access::Write;
    adopted.open();
    assert_eq!(keys(&hosts, 0), ["cached", "kept"]);
}

#[test]
fn adopted_data_is_written_to_only_on_the_server_that_was_opened() {
    let own = OwnServer::start(6388, "appendonly yes\nappendfsync always", "0");
    let hosts = own.hosts();
    let _ = resp(&hosts, 0, &["HSET", "user1", "field0", "a"]);
    let _ = resp(&hosts, 0, &["ZADD", "_indices", "111578566", "user1"]);
    let mut bench = own.bench(&[]);
    bench.params.access = Access::Write;
    let database = bench.open();
    let mut session = database.session().unwrap();
    insert(&mut *session, 1).unwrap();
    own.act("kill");
    own.act("start");
    let refused: Vec<_> = (0..2)
        .map(|_| insert(&mut *session, 2).unwrap_err())
        .collect();
    assert!(
        refused[1].message.contains("no id to compare"),
        "{refused:?}"
    );
    bench.params.access = Access::Read;
    let read_only = bench.open();
    let mut reader = read_only.session().unwrap();
    own.act("kill");
    assert!(read(&mut *reader, 1, Fields::All).is_err());
    own.act("start");
    assert!(read(&mut *reader, 1, Fields::All).is_ok());
    assert_eq!(resp(&hosts, 0, &["ZCARD", "_indices"]), ["2"]);
}

/// Whoever may not send MULTI has a removal done command by command, without its condition.
#[test]
fn without_the_right_to_begin_a_transaction_nothing_is_removed() {
    let server = OwnServer::start(6383, "", "0");
    let hosts = server.hosts();
    insert(&mut *server.bench(&[]).open().session().unwrap(), 1).unwrap();
    let theirs: [&[&str]; 3] = [
        &["HSET", "user00000001", "field0", "mine"],
        &["ZADD", "_indices", SCORE, "user00000001"],
        &["HSET", "tailmark", "id", ANOTHER],
    ];
    for words in theirs {
        let _ = resp(&hosts, 1, words);
    }
    assert_eq!(
        resp(&hosts, 0, &["ACL", "SETUSER", "default", "-multi"]),
        ["OK"]
    );
    let target = hosts.clone();
    let swap = move || {
        assert_eq!(resp(&target, 0, &["SWAPDB", "0", "1"]), ["OK"]);
    };
    let mut bench = server.bench(&[]);
    bench.params.location = Location::of_hosts(&before("MULTI", &hosts, swap));
    let database = bench.try_open().unwrap();
    let refused = format!("{:?}", database.remove(&database.made()).unwrap_err());
    assert!(
        refused.contains("no permissions to run the 'multi'"),
        "{refused}"
    );
    for number in [0, 1] {
        assert_eq!(
            keys(&hosts, number),
            ["_indices", "tailmark", "user00000001"]
        );
    }
}

/// An address that leads to a server, but for what it says of its slots.
fn lying_about_slots(hosts: &str, answer: String) -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let hosts = hosts.to_owned();
    let clients = listener.try_clone().unwrap();
    thread::spawn(move || {
        for mut client in clients.incoming().map_while(Result::ok) {
            let mut server = TcpStream::connect(&hosts).unwrap();
            let mut back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut back.0, &mut back.1));
            let answer = answer.clone();
            thread::spawn(move || {
                let mut bytes = vec![0; 1 << 20];
                while let Ok(n @ 1..) = client.read(&mut bytes) {
                    let is_asked = bytes[..n].windows(5).any(|word| word == b"SLOTS");
                    let (to, text) = if is_asked {
                        (&mut client, answer.as_bytes())
                    } else {
                        (&mut server, &bytes[..n])
                    };
                    to.write_all(text).unwrap();
                }
            });
        }
    });
    listener
}

#[test]
fn a_node_of_another_cluster_is_not_written_because_a_server_names_it() {
    let options = |port: u16| format!("cluster-enabled yes\ncluster-port {}", port + 10_000);
    let [ours, theirs] = [6384_u16, 6385].map(|port| {
        let node = OwnServer::start(port, &options(port), "0");
        let slots = ["CLUSTER", "ADDSLOTSRANGE", "0", "16383"];
        assert_eq!(resp(&node.hosts(), 0, &slots), ["OK"]);
        while !resp(&node.hosts(), 0, &["CLUSTER", "INFO"])
            .join("\n")
            .contains("state:ok")
        {
            thread::sleep(std::time::Duration::from_millis(20));
        }
        node
    });
    let cluster = [("cluster", "true")];
    insert(&mut *ours.bench(&cluster).open().session().unwrap(), 1).unwrap();
    assert_eq!(
        resp(
            &theirs.hosts(),
            0,
            &["HSET", "user00000001", "field0", "mine"]
        ),
        ["1"]
    );
    let slot = |key: &str| -> u16 {
        resp(&ours.hosts(), 0, &["CLUSTER", "KEYSLOT", key])[0]
            .parse()
            .unwrap()
    };
    let [own, index, record] = ["tailmark", "_indices", "user00000001"].map(slot);
    assert!(own != record && index != record);
    let id_of = |node: &OwnServer| resp(&node.hosts(), 0, &["CLUSTER", "MYID"])[0].clone();
    let range = |first: u16, last: u16, port: u16, id: &str| {
        format!(
            "*3\r\n:{first}\r\n:{last}\r\n*3\r\n$9\r\n127.0.0.1\r\n:{port}\r\n${}\r\n{id}\r\n",
            id.len()
        )
    };
    let (our_id, their_id) = (id_of(&ours), id_of(&theirs));
    let mut ranges = vec![range(record, record, theirs.port, &their_id)];
    if record > 0 {
        ranges.push(range(0, record - 1, ours.port, &our_id));
    }
    if record < 16_383 {
        ranges.push(range(record + 1, 16_383, ours.port, &our_id));
    }
    let answer = format!("*{}\r\n{}", ranges.len(), ranges.concat());
    let liar = lying_about_slots(&ours.hosts(), answer);
    let mut bench = ours.bench(&cluster);
    bench.params.location = Location::of_hosts(&liar.local_addr().unwrap().to_string());
    let refused = format!("{:?}", bench.try_open().err());
    assert!(
        refused.contains("they belong to different clusters"),
        "{refused}"
    );
    assert_eq!(
        resp(&theirs.hosts(), 0, &["HGET", "user00000001", "field0"]),
        ["mine"]
    );
}
