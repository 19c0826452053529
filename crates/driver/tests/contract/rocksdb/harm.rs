//! What the RocksDB driver leaves as it is: files of other programs, databases of other versions,
//! symbolic links.

use super::logs::{foreign, with_log};
use crate::support::*;
use rust_rocksdb::DB;
use std::{
    collections::BTreeMap,
    error::Error as _,
    fs,
    os::unix::fs::{PermissionsExt, chown, lchown, symlink},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};
use tailmark_driver::{Access, Error, Fields, Location};
use tailmark_testing::{Mounted, test};

/// Every file in a directory but RocksDB's own log of what it does, and what is in it.
pub(super) fn contents(place: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(place).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_kept = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        path.is_file() && !name.starts_with("LOG")
    };
    let kept = paths.filter(is_kept);
    kept.map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// What an error says, causes included.
fn says(error: &Error) -> String {
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    format!("{error}: {cause}")
}

pub(super) fn refusal<T>(result: Result<T, Error>) -> String {
    says(&result.err().expect("it is refused"))
}

/// RocksDB removes every file of that ending, in its directory and in that of its log.
#[test]
fn a_file_that_rocksdb_would_take_for_rubbish_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let wal = folder.path().join("wal");
    for bench in [Bench::new("rocksdb"), with_log(&wal)] {
        drop(bench.open());
        let place = if wal.exists() {
            &wal
        } else {
            bench.data_path()
        };
        let theirs = place.join("notes.trash");
        fs::write(&theirs, "theirs").unwrap();
        assert!(refusal(bench.try_open()).contains("such as `notes.trash`"));
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
        fs::remove_file(&theirs).unwrap();
        drop(bench.open());
    }
}

#[test]
fn a_pipe_or_a_link_in_a_database_is_refused_before_rocksdb_sees_it() {
    let mut bench = Bench::new("rocksdb");
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    let elsewhere = bench.path("elsewhere");
    let [identity, lock] = ["IDENTITY", "LOCK"].map(|name| bench.data_path().join(name));
    let text = fs::read(&identity).unwrap();
    for access in [Access::Read, Access::Write] {
        bench.params.access = access;
        fs::remove_file(&identity).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &identity, 0o644.into()).unwrap();
        assert!(refusal(bench.try_open()).contains("`IDENTITY` in it is not a file"));
        fs::remove_file(&identity).unwrap();
        fs::write(&identity, &text).unwrap();
        fs::remove_file(&lock).unwrap();
        symlink(&elsewhere, &lock).unwrap();
        assert!(refusal(bench.try_open()).contains("`LOCK` in it is not a file"));
        fs::remove_file(&lock).unwrap();
        fs::write(&lock, "").unwrap();
    }
    assert!(!elsewhere.exists());
    drop(bench.open());
}

#[test]
fn an_archive_that_is_a_link_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (wal, victim) = (folder.path().join("wal"), folder.path().join("victim"));
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("000004.log"), "theirs").unwrap();
    for mut bench in [Bench::new("rocksdb"), with_log(&wal)] {
        drop(bench.open());
        let logs = if wal.exists() {
            &wal
        } else {
            bench.data_path()
        };
        symlink(&victim, logs.join("archive")).unwrap();
        for access in [Access::Create, Access::Write, Access::Upgrade] {
            bench.params.access = access;
            let refused = refusal(bench.try_open());
            // The link of a log directory leads to foreign logs.
            let says = ["`archive` in it is not a directory", "archive/000004.log"];
            assert!(says.iter().any(|text| refused.contains(text)), "{refused}");
        }
    }
    assert_eq!(
        fs::read_to_string(victim.join("000004.log")).unwrap(),
        "theirs"
    );
}

#[test]
fn another_database_inside_ours_is_not_removed_with_it() {
    for name in ["archive", "lost"] {
        let bench = Bench::new("rocksdb");
        insert(&mut *bench.open().session().unwrap(), 1).unwrap();
        let inside = bench.data_path().join(name);
        let theirs = foreign(&inside, &inside);
        let before = fs::read(&theirs).unwrap();
        let destroyed = (bench.driver.destroy)(&bench.params, &|_| Ok(()));
        let says = format!("`{name}/");
        assert!(refusal(destroyed).contains(&says));
        assert_eq!(fs::read(&theirs).unwrap(), before);
        assert!(read(&mut *bench.open().session().unwrap(), 1, Fields::All).is_ok());
    }
}

#[test]
fn files_in_lost_or_archive_stay_if_there_is_no_database() {
    for (directory, file) in [
        ("lost", "000009.sst"),
        ("lost", "MANIFEST-000005"),
        ("archive", "LOG"),
        ("archive", "000008.log"),
    ] {
        let bench = Bench::new("rocksdb");
        let theirs = bench.data_path().join(directory).join(file);
        fs::create_dir_all(theirs.parent().unwrap()).unwrap();
        fs::write(&theirs, "theirs").unwrap();
        let destroyed = (bench.driver.destroy)(&bench.params, &|_| Ok(()));
        assert!(refusal(destroyed).contains(&format!("`{directory}/{file}`")));
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
    }
}

#[test]
fn what_is_mounted_inside_a_database_is_not_removed_with_it() {
    for name in ["archive", "lost"] {
        let bench = Bench::new("rocksdb");
        insert(&mut *bench.open().session().unwrap(), 1).unwrap();
        let inside = bench.data_path().join(name);
        fs::create_dir(&inside).unwrap();
        // On the same file system, so that device numbers are equal.
        let theirs = bench.path("theirs");
        fs::create_dir(&theirs).unwrap();
        let _mounted = Mounted::new(&["--bind".as_ref(), theirs.as_os_str()], &inside);
        let log = inside.join("000100.log");
        fs::write(&log, "theirs").unwrap();
        let destroyed = (bench.driver.destroy)(&bench.params, &|_| Ok(()));
        assert!(refusal(destroyed).contains(&format!("`{name}`")));
        let is_opened = bench.try_open().is_ok();
        assert_eq!(is_opened, name == "lost");
        assert_eq!(fs::read_to_string(&log).unwrap(), "theirs");
    }
}

#[test]
fn what_a_link_points_to_is_emptied_and_the_link_stays() {
    let mut bench = Bench::new("rocksdb");
    let (target, link) = (bench.path("target"), bench.path("link"));
    fs::create_dir(&target).unwrap();
    symlink(&target, &link).unwrap();
    bench.params.location = Location::Directory(link.clone());
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    assert_eq!(fs::read_link(&link).unwrap(), target);
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    drop(bench.open());
    assert!(target.join("CURRENT").exists());
    fs::remove_dir_all(&target).unwrap();
    let refused = refusal(bench.try_open());
    assert!(refused.contains("symbolic link"), "{refused}");
}

#[test]
fn what_takes_the_place_of_a_database_that_is_being_removed_stays() {
    let bench = Bench::new("rocksdb");
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    let (place, aside) = (bench.data_path(), bench.path("aside"));
    let theirs = bench.path("theirs");
    foreign(&theirs, &theirs);
    let before = files(&theirs);
    (bench.driver.destroy)(&bench.params, &|held| {
        assert!(held.join("CURRENT").exists());
        fs::rename(place, &aside).unwrap();
        fs::rename(&theirs, place).unwrap();
        Ok(())
    })
    .unwrap();
    assert_eq!(files(place), before);
    assert_eq!(files(&aside).len(), 0, "it was held, wherever it went");
}

#[test]
fn where_none_was_another_database_is_not_opened() {
    for driver in ["file", "rocksdb"] {
        let mut bench = Bench::new(driver);
        drop(bench.open());
        bench.params.access = Access::CreateNew;
        let refused = refusal(bench.try_open());
        assert!(
            refused.contains("another program created a database there"),
            "{refused}"
        );
        (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
        insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    }
}

#[test]
fn a_database_that_is_moved_into_a_place_that_is_being_made_is_not_opened() {
    for round in 0..30 {
        let bench = Bench::new("rocksdb");
        let theirs = bench.path("theirs");
        drop(DB::open_default(&theirs).unwrap());
        let names = |place: &Path| -> BTreeMap<_, _> {
            let all = contents(place).into_iter();
            all.map(|(path, bytes)| (path.file_name().unwrap().to_owned(), bytes))
                .collect()
        };
        let before = names(&theirs);
        let place = bench.data_path().to_owned();
        let is_ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // It is created empty, and another directory can be renamed over an empty one.
                while !is_ended.load(Ordering::Relaxed)
                    && (!place.exists() || fs::rename(&theirs, &place).is_err())
                {
                    std::hint::spin_loop();
                }
            });
            let opened = bench.try_open();
            is_ended.store(true, Ordering::Relaxed);
            drop(opened);
        });
        if !theirs.exists() {
            assert_eq!(names(&place), before, "round {round}");
        }
    }
}

#[test]
fn what_is_not_confirmed_is_not_removed() {
    for driver in ["rocksdb", "file"] {
        let bench = Bench::new(driver);
        insert(&mut *bench.open().session().unwrap(), 1).unwrap();
        let refused = (bench.driver.destroy)(&bench.params, &|_| Err("not it".to_owned()));
        assert!(refusal(refused).contains("not it"));
        assert!(read(&mut *bench.open().session().unwrap(), 1, Fields::All).is_ok());
    }
}

/// Files of a directory, with their bytes.
pub(super) fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.file_name().unwrap().into(), fs::read(path).unwrap()))
        .collect()
}

#[test]
fn a_directory_that_another_user_made_where_everybody_can_is_not_written_to() {
    let everybody = tempfile::tempdir().unwrap();
    fs::set_permissions(everybody.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let theirs = everybody.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(4000), Some(4000)).unwrap();
    let mut bench = Bench::new("rocksdb");
    bench.params.location = Location::Directory(theirs.clone());
    assert!(refusal(bench.try_open()).contains("belongs to user 4000"));
    assert!(refusal(with_log(&theirs).try_open()).contains("belongs to user 4000"));
    // Places below that directory, and one that a link of that user leads to.
    let own = theirs.join("own");
    let link = everybody.path().join("link");
    fs::create_dir(&own).unwrap();
    symlink(bench.data_path(), &link).unwrap();
    lchown(&link, Some(4000), Some(4000)).unwrap();
    for place in [
        own.clone(),
        theirs.join("missing"),
        own.join("missing"),
        link,
    ] {
        bench.params.location = Location::Directory(place.clone());
        assert!(
            refusal(bench.try_open()).contains("belongs to user 4000"),
            "{}",
            place.display()
        );
    }
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1);
    assert_eq!(fs::read_dir(&own).unwrap().count(), 0);
}
