//! The contract of drivers, tried with every driver of the build that keeps data; and what single
//! drivers promise beyond it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

#[cfg(feature = "cassandra")]
mod cassandra;
mod file;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "rocksdb")]
mod rocksdb;
#[cfg(feature = "net")]
mod server;
mod sim;
mod support;
mod uring;

use std::{thread, time::Duration};
use support::*;
use tailmark_driver::{Access, Cause, Error, Fields, OperationKind, Outcome, Settled};
use tailmark_testing::test;

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn what_was_written_is_read_back() {
    for driver in drivers() {
        let bench = Bench::new(driver.name);
        let database = bench.open();
        let mut session = database.session().unwrap();
        let whole = Outcome {
            records: 1,
            bytes: RECORD,
        };
        for number in 0..100 {
            assert_eq!(insert(&mut *session, number), Ok(whole), "{}", driver.name);
        }
        for number in 0..100 {
            assert_eq!(
                read(&mut *session, number, Fields::All),
                Ok(whole),
                "{}",
                driver.name
            );
        }
        let field = read(&mut *session, 42, Fields::One(1)).unwrap();
        assert_eq!(field.bytes, KEY + u64::from(LENGTH), "{}", driver.name);
    }
}

#[test]
fn a_record_that_was_never_written_is_a_miss() {
    for driver in drivers() {
        let bench = Bench::new(driver.name);
        let database = bench.open();
        let mut session = database.session().unwrap();
        insert(&mut *session, 7).unwrap();
        let missed = read(&mut *session, 8, Fields::All);
        assert_eq!(missed, Ok(Outcome::default()), "{}", driver.name);
    }
}

#[test]
fn a_scan_finds_consecutive_records_to_the_end() {
    for driver in drivers() {
        let bench = Bench::new(driver.name);
        let database = bench.open();
        let mut session = database.session().unwrap();
        for number in (0..100).rev() {
            insert(&mut *session, number).unwrap();
        }
        let ten = Outcome {
            records: 10,
            bytes: 10 * RECORD,
        };
        assert_eq!(scan(&mut *session, 30, 10), Ok(ten), "{}", driver.name);
        let last = scan(&mut *session, 95, 50).unwrap();
        assert_eq!(last.records, 5, "{}", driver.name);
    }
}

#[test]
fn a_kind_is_supported_or_fails_as_unsupported() {
    for driver in drivers() {
        let bench = Bench::new(driver.name);
        let database = bench.open();
        let mut session = database.session().unwrap();
        insert(&mut *session, 1).unwrap();
        let replies = [
            (OperationKind::Read, read(&mut *session, 1, Fields::All)),
            (OperationKind::Update, update(&mut *session, 1, 2, LENGTH)),
            (OperationKind::Insert, insert(&mut *session, 2)),
            (OperationKind::Scan, scan(&mut *session, 1, 2)),
            (OperationKind::Delete, delete(&mut *session, 1)),
        ];
        for (kind, reply) in replies {
            let done = match reply {
                Ok(outcome) => outcome.records > 0,
                Err(failure) => {
                    assert_eq!(
                        failure.cause,
                        Cause::Unsupported,
                        "{} {kind:?}",
                        driver.name
                    );
                    false
                }
            };
            assert_eq!(
                done,
                driver.supports.contains(&kind),
                "{} {kind:?}",
                driver.name
            );
        }
    }
}

#[test]
fn data_outlives_the_database_that_wrote_it() {
    for driver in drivers() {
        let mut bench = Bench::new(driver.name);
        let database = bench.open();
        insert(&mut *database.session().unwrap(), 3).unwrap();
        database.sync().unwrap();
        assert!(database.flush(&|| false).unwrap());
        drop(database);
        bench.params.access = Access::Write;
        let reopened = bench.open();
        let found = read(&mut *reopened.session().unwrap(), 3, Fields::All).unwrap();
        assert_eq!(found.bytes, RECORD, "{}", driver.name);
    }
}

#[test]
fn a_database_that_is_not_there_is_opened_only_to_be_made() {
    for driver in drivers() {
        let mut bench = Bench::new(driver.name);
        bench.params.access = Access::Write;
        let refused = bench.try_open().err();
        assert!(
            matches!(refused, Some(Error::Open { .. })),
            "{} {refused:?}",
            driver.name
        );
        assert!(!bench.data_path().exists(), "{}", driver.name);
    }
}

#[test]
fn what_was_destroyed_is_made_again() {
    for driver in drivers() {
        let bench = Bench::new(driver.name);
        let database = bench.open();
        insert(&mut *database.session().unwrap(), 3).unwrap();
        drop(database);
        (driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
        assert!(bench.is_empty(), "{}", driver.name);
        let found = read(&mut *bench.open().session().unwrap(), 3, Fields::All);
        assert_eq!(found, Ok(Outcome::default()), "{}", driver.name);
    }
}

#[test]
fn destroying_nothing_is_no_error() {
    for driver in drivers() {
        let bench = Bench::new(driver.name);
        assert!(
            (driver.destroy)(&bench.params, &|_| Ok(())).is_ok(),
            "{}",
            driver.name
        );
    }
}

#[test]
fn an_open_database_is_neither_opened_again_nor_destroyed() {
    for driver in drivers() {
        let bench = Bench::new(driver.name);
        let database = bench.open();
        insert(&mut *database.session().unwrap(), 3).unwrap();
        for refused in [
            bench.try_open().err(),
            (driver.destroy)(&bench.params, &|_| Ok(())).err(),
        ] {
            assert!(
                matches!(refused, Some(Error::Locked { .. })),
                "{} {refused:?}",
                driver.name
            );
        }
        let found = read(&mut *database.session().unwrap(), 3, Fields::All).unwrap();
        assert_eq!(found.records, 1, "{}", driver.name);
    }
}

#[test]
fn clients_write_and_read_at_the_same_time() {
    for driver in drivers() {
        let bench = Bench::new(driver.name);
        let database = bench.open();
        thread::scope(|scope| {
            for client in 0..8 {
                let mut session = database.session().unwrap();
                scope.spawn(move || {
                    for number in (0..100).filter(|n| n % 8 == client) {
                        insert(&mut *session, number).unwrap();
                        read(&mut *session, number, Fields::All).unwrap();
                    }
                });
            }
        });
        let mut session = database.session().unwrap();
        let found = (0..100).filter(|&n| read(&mut *session, n, Fields::All).unwrap().records == 1);
        assert_eq!(found.count(), 100, "{}", driver.name);
    }
}

#[test]
fn background_work_comes_to_rest() {
    for driver in drivers() {
        let bench = Bench::new(driver.name);
        let database = bench.open();
        insert(&mut *database.session().unwrap(), 3).unwrap();
        assert!(database.flush(&|| false).unwrap());
        let settled = database.settle(Duration::from_secs(60), &|| false).unwrap();
        assert_eq!(settled, Settled::Yes, "{}", driver.name);
    }
}

#[test]
fn the_files_of_a_database_are_there_and_within_the_space_it_names() {
    for driver in drivers() {
        let bench = Bench::new(driver.name);
        let database = bench.open();
        let mut session = database.session().unwrap();
        for number in 0..100 {
            insert(&mut *session, number).unwrap();
        }
        assert!(database.flush(&|| false).unwrap());
        let files = database.files();
        assert!(!files.is_empty(), "{}", driver.name);
        let bytes: u64 = files
            .iter()
            .map(|file| file.metadata().unwrap().len())
            .sum();
        let space = (driver.space)(&bench.params.data, &bench.params.settings);
        assert!(
            (1..=space).contains(&bytes),
            "{}: {bytes} of {space}",
            driver.name
        );
        assert!(!database.facts().is_empty(), "{}", driver.name);
    }
}
