//! Whose data it is on a Redis: data of others that is there before, that appears meanwhile, or that
//! takes the place of ours.

use super::{OwnServer, keys, own};
use crate::support::*;
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};
use tailmark_driver::{Access, Database, Error, Location, Settled};
use tailmark_testing::{resp, test};

/// An id as tailmark draws them.
const ANOTHER: &str = "0123456789abcdef0123456789abcdef";

/// `"user00000001".hashCode()` of Java.
const SCORE: &str = "-2006513460";

#[test]
fn a_database_with_keys_of_others_is_looked_at_and_left_alone() {
    let (hosts, bench) = own(1003, &[]);
    let _ = resp(&hosts, 1003, &["SET", "session:1", "mine"]);
    let look = (bench.driver.look.unwrap().at)(&bench.params).unwrap();
    assert_eq!(look.foreign.as_deref(), Some("database 1003"));
    assert!(!look.is_empty && !look.is_nothing && !look.exists && look.removes.is_none());
    for access in [Access::Create, Access::CreateNew, Access::Write] {
        let params = tailmark_driver::Params {
            access,
            ..bench.params.clone()
        };
        let refused = (bench.driver.open)(&params).err();
        assert!(matches!(refused, Some(Error::Open { .. })), "{refused:?}");
    }
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

/// An address that leads to a server, and does something right before the server is sent a command of
/// this name.
fn before(command: &'static str, hosts: &str, act: impl Fn() + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (hosts, act) = (hosts.to_owned(), Arc::new(Mutex::new(act)));
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut server = TcpStream::connect(&hosts).unwrap();
            let mut back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut back.0, &mut back.1));
            let act = Arc::clone(&act);
            thread::spawn(move || {
                let mut bytes = vec![0; 1 << 20];
                while let Ok(n @ 1..) = client.read(&mut bytes) {
                    if bytes[..n]
                        .windows(command.len())
                        .any(|w| w == command.as_bytes())
                    {
                        act.lock().unwrap()();
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
/// server is sent a command of this name.
fn swapped_before(command: &'static str, theirs: &[&[&str]]) -> (String, Bench) {
    let (hosts, mut bench) = own(1041, &[]);
    assert_eq!(resp(&hosts, 1042, &["FLUSHDB"]), ["OK"]);
    for words in theirs {
        let _ = resp(&hosts, 1042, words);
    }
    let target = hosts.clone();
    let swap = move || assert_eq!(resp(&target, 0, &["SWAPDB", "1041", "1042"]), ["OK"]);
    bench.params.location = Location::of_hosts(&before(command, &hosts, swap));
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
        let (hosts, mut bench) = swapped_before(command, &theirs);
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
fn keys_that_appear_right_before_a_data_set_is_created_stay_alone() {
    let (hosts, bench) = swapped_before("HSETNX", &[&["SET", "mine", "kept"]]);
    assert!(bench.try_open().is_err());
    assert_eq!(keys(&hosts, 1041), ["mine"]);
}

#[test]
fn a_database_that_is_emptied_is_noticed_by_what_samples_it() {
    let (hosts, bench) = own(1040, &[]);
    let database = bench.open();
    let mut session = database.session().unwrap();
    insert(&mut *session, 1).unwrap();
    assert_eq!(resp(&hosts, 1040, &["FLUSHDB"]), ["OK"]);
    // An answer that takes too long is none.
    while database.statistics().is_none() {}
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
    for access in [Access::Create, Access::CreateNew, Access::Write] {
        let params = tailmark_driver::Params {
            access,
            ..bench.params.clone()
        };
        assert!((bench.driver.open)(&params).is_err(), "{access:?}");
    }
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
        for access in [Access::Create, Access::CreateNew, Access::Write] {
            let params = tailmark_driver::Params {
                access,
                ..bench.params.clone()
            };
            assert!((bench.driver.open)(&params).is_err(), "{access:?}");
        }
        assert!((bench.driver.destroy)(&bench.params, &|_| Ok(())).is_err());
        assert_eq!(keys(&hosts, 1044), ["tailmark"]);
    }
}

#[test]
fn keys_that_another_program_adds_end_a_load_that_goes_on() {
    let (hosts, bench) = own(1045, &[]);
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    bench.open();
    let _ = resp(&hosts, 1045, &["SET", "user00000002", "mine"]);
    let refused = format!("{:?}", bench.try_open().err());
    assert!(refused.contains("holds 1 keys"), "{refused}");
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
    // Without a time to live it is not evicted by this policy.
    assert_eq!(resp(&hosts, 0, &["PERSIST", "cached"]), ["1"]);
    bench.open();
    assert_eq!(keys(&hosts, 0), ["cached", "kept"]);
}

#[test]
fn data_of_another_program_is_written_to_on_the_server_that_was_opened_alone() {
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
    assert!(refused[1].message.contains("no id by which"), "{refused:?}");
    assert_eq!(resp(&hosts, 0, &["ZCARD", "_indices"]), ["2"]);
}
