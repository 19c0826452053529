//! What the file driver promises: where records lie, and that reads tell what they found.

use crate::support::*;
use std::{
    collections::HashMap,
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    thread,
    time::Duration,
};
use tailmark_driver::{
    Access, Cause, Completion, Error, Fields, Key, Location, Operation, Outcome, Values, db,
};
use tailmark_testing::{LoopDevice, Mounted, test};
use tempfile::TempDir;

/// Bytes of the stamp, before the slots.
const STAMP: u64 = 1 << 20;

fn slot_bytes(bench: &Bench) -> u64 {
    bench.open().facts()["slot_bytes"].parse().unwrap()
}

#[test]
fn slots_are_rounded_up_and_a_tenth_is_in_reserve() {
    let bench = Bench::new("file");
    let facts = bench.open().facts();
    let (slot, block) = (&facts["slot_bytes"], &facts["block_bytes"]);
    let (slot, block): (u64, u64) = (slot.parse().unwrap(), block.parse().unwrap());
    assert_eq!(slot, (23 + 3 * 200_u64).next_multiple_of(block));
    assert_eq!(facts["slots"], "110");
    let bytes = fs::metadata(bench.data_path()).unwrap().len();
    assert_eq!(bytes, STAMP + 110 * slot);
}

#[test]
fn inserts_wrap_and_leave_the_loaded_records_alone() {
    let bench = Bench::new("file");
    let database = bench.open();
    let mut session = database.session().unwrap();
    for number in 0..125 {
        insert(&mut *session, number).unwrap();
    }
    let mut found = |number| read(&mut *session, number, Fields::All).unwrap().records;
    assert!((0..100).all(|number| found(number) == 1));
    // 100 to 114 were overwritten by 110 to 124.
    assert!((100..115).all(|number| found(number) == 0));
    assert!((115..125).all(|number| found(number) == 1));
}

/// Of blocks of 64 bytes, how many stand elsewhere in the file too.
fn repeated(path: &Path) -> (usize, usize) {
    let bytes = fs::read(path).unwrap().split_off(STAMP as usize);
    let mut times = HashMap::<&[u8], usize>::new();
    let blocks = bytes
        .chunks_exact(64)
        .filter(|b| b.iter().any(|byte| *byte != 0));
    blocks.for_each(|block| *times.entry(block).or_default() += 1);
    let twice = times.values().filter(|times| **times > 1);
    (twice.sum(), times.values().sum())
}

#[test]
fn every_slot_that_is_written_is_fresh_data() {
    let mut bench = Bench::new("file");
    bench.params.data.field_length = 1024;
    let database = bench.open();
    let mut session = database.session().unwrap();
    let mut random = 7_u64;
    let mut byte = || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) as u8
    };
    let mut write = |number: u64, first: u32, lengths: &[u32]| {
        let bytes: Vec<u8> = (0..lengths.iter().sum()).map(|_| byte()).collect();
        let name = name(number);
        let values = Values {
            first,
            lengths,
            bytes: &bytes,
        };
        let key = Key {
            number,
            name: &name,
        };
        // The buffer of a write still holds what was read before.
        read(&mut *session, number, Fields::All).unwrap();
        let update = Operation::Update { key, values };
        let Completion::Ready(reply) = session.execute(update) else {
            panic!("the file driver answers at once");
        };
        reply.unwrap();
    };
    (0..100).for_each(|number| write(number, 0, &[1024; 3]));
    (0..100).for_each(|number| write(number, (number % 3) as u32, &[1024]));
    (0..50).for_each(|number| write(number, 1, &[300, 1000]));
    let (twice, all) = repeated(bench.data_path());
    assert!(all > 100 * 3 * 1024 / 64, "{all}");
    assert_eq!(twice, 0, "of {all} blocks");
}

#[test]
fn a_slot_with_another_record_is_corruption() {
    let bench = Bench::new("file");
    let slot = slot_bytes(&bench);
    insert(&mut *bench.open().session().unwrap(), 5).unwrap();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(bench.data_path())
        .unwrap();
    file.write_all_at(&77_u64.to_le_bytes(), STAMP + 5 * slot)
        .unwrap();
    file.sync_all().unwrap();
    drop(file);
    let mut session = bench.open().session().unwrap();
    let failure = read(&mut *session, 5, Fields::All).unwrap_err();
    assert_eq!(failure.cause, Cause::Corruption);
    assert!(
        failure.message.contains("record 5 holds record 76"),
        "{failure}"
    );
    assert_eq!(
        scan(&mut *session, 0, 10).unwrap_err().cause,
        Cause::Corruption
    );
}

#[test]
fn a_file_of_another_data_set_is_refused() {
    let mut bench = Bench::new("file");
    drop(bench.open());
    bench.params.data = data(101);
    let error = bench.try_open().err().unwrap();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("it holds another data set"), "{source}");
}

#[test]
fn a_full_file_system_is_found_out_before_the_load() {
    let mut bench = Bench::new("file");
    bench.params.data = data(1_000_000_000_000);
    assert!(matches!(bench.try_open(), Err(Error::Open { .. })));
}

#[test]
fn buffered_io_is_never_taken_in_silence() {
    let places = [
        Path::new(env!("CARGO_TARGET_TMPDIR")),
        Path::new("/dev/shm"),
    ];
    for place in places.into_iter().filter(|place| place.exists()) {
        let folder = TempDir::new_in(place).unwrap();
        let bench = Bench::in_folder("file", &[], folder);
        let database = bench.open();
        let codes: Vec<_> = database
            .remarks()
            .iter()
            .map(|remark| remark.code.name())
            .collect();
        match database.facts()["direct"].as_str() {
            "true" => assert_eq!(codes, [""; 0], "{place:?}"),
            _ => assert_eq!(codes, ["buffered-io"], "{place:?}"),
        }
        let mut session = database.session().unwrap();
        insert(&mut *session, 1).unwrap();
        assert_eq!(read(&mut *session, 1, Fields::All).unwrap().records, 1);
    }
}

#[test]
fn buffered_io_that_was_asked_for_needs_no_remark() {
    let buffered = Bench::with("file", &[("direct", "false")]);
    assert!((buffered.driver.page_cache)(&buffered.params.settings));
    assert_eq!(buffered.open().remarks(), []);
    let synced = Bench::with("file", &[("sync", "true")]);
    assert!(!(synced.driver.page_cache)(&synced.params.settings));
    insert(&mut *synced.open().session().unwrap(), 1).unwrap();
}

#[test]
fn a_block_device_is_used_as_it_is() {
    let mut bench = Bench::new("file");
    let device = LoopDevice::new(&bench.path("device"), 2 << 20);
    bench.params.location = Location::Device(device.path().to_owned());
    stamp(&device);
    let database = bench.open();
    let mut session = database.session().unwrap();
    assert_eq!(read(&mut *session, 9, Fields::All), Ok(Outcome::default()));
    insert(&mut *session, 9).unwrap();
    assert_eq!(read(&mut *session, 9, Fields::All).unwrap().bytes, RECORD);
    assert_eq!(database.marker().unwrap().as_deref(), Some("new"));
    for text in ["0 records", "100 records"] {
        database.set_marker(text).unwrap();
        assert_eq!(database.marker().unwrap().as_deref(), Some(text));
    }
    insert(&mut *session, 0).unwrap();
    drop((session, database));
    let stamp = db::stamp::read(bench.data_path()).unwrap();
    assert_eq!(
        stamp.as_deref(),
        Some("100 records"),
        "the records lie behind it"
    );
    bench.params.data = data(10_000);
    let error = bench.try_open().err().unwrap();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("the device has 2097152 bytes"), "{source}");
}

fn stamp(device: &LoopDevice) {
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(device.path());
    db::stamp::stamp(&file.unwrap(), "new").unwrap();
}

#[test]
fn a_device_without_a_stamp_is_read_and_never_written() {
    let mut bench = Bench::new("file");
    let device = LoopDevice::new(&bench.path("device"), 16 << 20);
    device.make_ext4();
    let before = fs::read(device.path()).unwrap();
    bench.params.location = Location::Device(device.path().to_owned());
    for access in [Access::Create, Access::Write] {
        bench.params.access = access;
        let error = bench.try_open().err().expect("it is no device of ours");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains("has no stamp"), "{source}");
        assert!((bench.driver.destroy)(&bench.params, &|_| Ok(())).is_err());
    }
    bench.params.access = Access::Read;
    let database = bench.open();
    assert!(database.set_marker("mine").is_err());
    assert!(insert(&mut *database.session().unwrap(), 1).is_err());
    drop(database);
    assert_eq!(fs::read(device.path()).unwrap(), before);
}

#[test]
fn a_device_that_is_in_use_for_a_moment_is_waited_for() {
    let mut bench = Bench::new("file");
    let device = LoopDevice::new(&bench.path("device"), 16 << 20);
    stamp(&device);
    bench.params.location = Location::Device(device.path().to_owned());
    let held = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::EXCL.bits().cast_signed())
        .open(device.path())
        .unwrap();
    let release = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        drop(held);
    });
    let opened = bench.try_open();
    release.join().unwrap();
    assert!(opened.is_ok(), "{:?}", opened.err());
}

#[test]
fn a_file_without_a_stamp_is_read_and_never_written_or_removed() {
    let mut bench = Bench::new("file");
    let bytes = {
        drop(bench.open());
        fs::metadata(bench.data_path()).unwrap().len()
    };
    // With the same size, in the same place, in the same file or another.
    let theirs = vec![b'x'; bytes as usize];
    for is_same in [true, false] {
        if !is_same {
            fs::remove_file(bench.data_path()).unwrap();
        }
        fs::write(bench.data_path(), &theirs).unwrap();
        let identity = (bench.driver.identity)(bench.data_path()).unwrap().unwrap();
        assert!(identity.id.is_none() && !identity.is_new);
        for access in [Access::Create, Access::Write, Access::Upgrade] {
            bench.params.access = access;
            let error = bench.try_open().err().expect("it is no file of ours");
            let source = std::error::Error::source(&error).unwrap().to_string();
            assert!(source.contains("has no stamp"), "{source}");
            assert!((bench.driver.destroy)(&bench.params, &|_| Ok(())).is_err());
        }
        bench.params.access = Access::Read;
        drop(bench.open());
        assert!(fs::read(bench.data_path()).unwrap() == theirs);
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
    let mut bench = Bench::new("file");
    fs::create_dir_all(bench.data_path().parent().unwrap()).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, bench.data_path(), kind, mode, 0).unwrap();
    for access in [Access::Read, Access::Write, Access::Create] {
        bench.params.access = access;
        let error = bench.try_open().err().expect("it is a pipe");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(
            source.contains("neither a file nor a block device"),
            "{source}"
        );
    }
}

#[test]
fn a_file_has_a_name_of_its_own_and_what_a_killed_creation_left_is_new() {
    let bench = Bench::new("file");
    let identity = || (bench.driver.identity)(bench.data_path()).unwrap();
    assert_eq!(identity(), None);
    let database = bench.open();
    let first = identity().unwrap();
    assert!(first.id.is_some() && first.is_new);
    insert(&mut *database.session().unwrap(), 0).unwrap();
    assert!(!identity().unwrap().is_new);
    drop(database);
    drop(bench.open());
    assert_eq!(identity().unwrap().id, first.id);
    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    for bytes in [0, 3 * 65_536, STAMP as usize] {
        fs::write(bench.data_path(), vec![0; bytes]).unwrap();
        assert!(identity().unwrap().is_new, "{bytes}");
        (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    }
    drop(bench.open());
    assert_ne!(identity().unwrap().id, first.id);
}

#[test]
fn a_mounted_device_is_refused() {
    let mut bench = Bench::new("file");
    let device = LoopDevice::new(&bench.path("device"), 16 << 20);
    device.make_ext4();
    let mounted = Mounted::new(&[device.path().as_ref()], &bench.path("mounted"));
    bench.params.location = Location::Device(device.path().to_owned());
    let refused = bench.try_open().err();
    drop(mounted);
    let error = refused.expect("a mounted device must be refused");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("the device is mounted"), "{source}");
}

#[test]
fn what_takes_the_name_of_a_file_that_is_being_removed_stays() {
    let bench = Bench::new("file");
    drop(bench.open());
    let place = bench.data_path();
    (bench.driver.destroy)(&bench.params, &|held| {
        assert_ne!(held, place);
        fs::write(place, "theirs").unwrap();
        Ok(())
    })
    .unwrap();
    assert_eq!(fs::read(place).unwrap(), b"theirs");
    assert_eq!(fs::read_dir(place.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_file_that_another_program_added_to_is_not_removed() {
    let bench = Bench::new("file");
    drop(bench.open());
    let mut file = OpenOptions::new()
        .append(true)
        .open(bench.data_path())
        .unwrap();
    file.write_all(b"theirs").unwrap();
    let refused = (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap_err();
    let source = std::error::Error::source(&refused).unwrap().to_string();
    assert!(source.contains("has added to it"), "{source}");
    assert!(fs::read(bench.data_path()).unwrap().ends_with(b"theirs"));
}

#[test]
fn a_killed_removal_is_finished_by_the_next_creation() {
    let bench = Bench::new("file");
    let aside = bench.data_path().with_extension("tailmark-removing");
    drop(bench.open());
    fs::rename(bench.data_path(), &aside).unwrap();
    drop(bench.open());
    assert!(!aside.exists());
    // A file of another program with this name is not a stamp.
    fs::remove_file(bench.data_path()).unwrap();
    fs::write(&aside, "theirs").unwrap();
    drop(bench.open());
    assert_eq!(fs::read(&aside).unwrap(), b"theirs");
}
