//! A database that another program made in the place of a data set, beside its marker.

use super::super::{PROGRAM, begun_by, promising_nothing, refused, run, run_with, succeeded};
use super::clean;
use rust_rocksdb::{DB, Options};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use tailmark_study::Study;
use tailmark_testing::{assert_says, contents, err, out};
use tempfile::TempDir;

/// Another program makes a database, with one record in its log.
fn make_theirs(database: &Path) {
    let mut options = Options::default();
    options.create_if_missing(true);
    let theirs = DB::open(&options, database).unwrap();
    theirs.put("acknowledged", "yes").unwrap();
}

/// What a creation by tailmark leaves that is killed; these are the newest options of a database of its
/// own.
fn make_begun(database: &Path, own: &str) {
    let mut options = Options::default();
    options.create_if_missing(true);
    drop(DB::open(&options, database).unwrap());
    fs::write(database.join("OPTIONS-000099"), own).unwrap();
}

fn newest_options(database: &Path) -> String {
    let entries = fs::read_dir(database).unwrap().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_options = |path: &PathBuf| path.to_string_lossy().contains("/OPTIONS-");
    fs::read_to_string(paths.filter(is_options).max().unwrap()).unwrap()
}

fn assert_left(cleaned: &Output) {
    let parts = [
        "not touched",
        "left: another program created it",
        "identity",
    ];
    assert_says(&out(cleaned), &parts);
    assert_eq!(cleaned.status.code(), Some(3), "{}", err(cleaned));
}

fn assert_foreign(ran: &Output) {
    let parts = [
        "was not loaded by tailmark",
        "identity",
        "is left alone",
        "another `path`",
    ];
    refused(ran, &parts);
    assert_eq!(ran.status.code(), Some(2));
    let said = err(ran);
    assert!(
        !["delete", "remove", "drop"]
            .iter()
            .any(|word| said.contains(word)),
        "{said}"
    );
}

#[test]
fn a_database_that_another_program_made_in_the_place_of_ours_is_left_alone() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    succeeded(&run(&place, &study));
    let database = place.join("rocksdb");
    // Its directory is a new one, or the same.
    for is_new in [true, false] {
        if is_new {
            fs::remove_dir_all(&database).unwrap();
        } else {
            DB::destroy(&Options::default(), &database).unwrap();
        }
        make_theirs(&database);
        let before = contents(&place);
        assert_left(&clean(&study, &["--yes"]));
        let other = |more: &[&str]| run_with(&place, &dir.path().join("other"), more);
        assert_foreign(&other(&[]));
        assert_foreign(&other(&["--set", "dataset.restore=reload"]));
        for workload in ["fillrandom", "overwrite"] {
            let workload = format!("sweep.workloads=[\"{workload}\"]");
            let raw = ["--set", "database.layout=raw", "--set", &workload];
            assert_foreign(&other(&raw));
        }
        refused(&other(&["--adopt"]), &["no column family `usertable`"]);
        assert!(contents(&place) == before, "a file changed");
    }
    let theirs = DB::open(&Options::default(), &database).unwrap();
    assert_eq!(theirs.get("acknowledged").unwrap().unwrap(), b"yes");
}

#[test]
fn a_database_that_replaced_ours_is_adopted_as_any_other() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    succeeded(&run(&at("place"), &at("study")));
    succeeded(&run(&at("theirs"), &at("their-study")));
    fs::remove_dir_all(at("place/rocksdb")).unwrap();
    fs::rename(at("theirs/rocksdb"), at("place/rocksdb")).unwrap();
    let before = contents(&at("place"));
    succeeded(&run_with(&at("place"), &at("adopted"), &["--adopt"]));
    let study = Study::open_read_only(&at("adopted")).unwrap();
    let phase = &study.points().unwrap()[0].phase;
    let is_adopted = phase.findings.iter().any(|f| f.code == "data-adopted");
    assert!(is_adopted);
    let after = contents(&at("place"));
    assert!(after == before, "a file changed");
}

#[test]
fn a_data_set_that_its_owner_copied_elsewhere_is_not_loaded_again() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    for driver in ["rocksdb", "file"] {
        let (from, to) = (at(&format!("{driver}-from")), at(&format!("{driver}-to")));
        let driver = ["--driver", driver];
        succeeded(&run_with(&from, &from.with_extension("study"), &driver));
        let copied = Command::new("cp").arg("-a").arg(&from).arg(&to).status();
        assert!(copied.unwrap().success());
        let study = to.with_extension("study");
        succeeded(&run_with(&to, &study, &driver));
        let study = Study::open_read_only(&study).unwrap();
        assert_eq!(study.loads().unwrap(), [], "{driver:?}");
    }
}

#[test]
fn what_a_load_left_that_was_killed_before_its_marker_named_it_is_taken_only_without_a_record() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    succeeded(&run(&place, &study));
    let database = place.join("rocksdb");
    let marker = place.join("rocksdb.dataset.json");
    let other = dir.path().join("other");
    let named = begun_by(&fs::read_to_string(&marker).unwrap());
    fs::write(&marker, &named).unwrap();
    let own = newest_options(&database);
    fs::remove_dir_all(&database).unwrap();
    make_theirs(&database);
    let before = contents(&place);
    assert_foreign(&run(&place, &other));
    assert_left(&clean(&study, &["--yes"]));
    assert!(contents(&place) == before, "a file changed");
    // A marker that promises records is of a database that it names.
    fs::write(&marker, named.replace("\"loaded\": 0", "\"loaded\": 9")).unwrap();
    assert_foreign(&run(&place, &other));
    fs::write(&marker, &named).unwrap();
    // Of another program's database the tables may be in other directories.
    fs::remove_dir_all(&database).unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    drop(DB::open(&options, &database).unwrap());
    assert_foreign(&run(&place, &other));
    fs::remove_dir_all(&database).unwrap();
    make_begun(&database, &own);
    succeeded(&run(&place, &other));
    succeeded(&clean(&other, &["--yes"]));
    assert!(!place.exists());
}

#[test]
fn a_file_that_another_program_made_in_the_place_of_ours_is_left_alone() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    let file = ["--driver", "file"];
    succeeded(&run_with(&place, &study, &file));
    let slots = place.join("slots.dat");
    let theirs = vec![b'x'; fs::metadata(&slots).unwrap().len() as usize];
    for is_new in [false, true] {
        if is_new {
            fs::remove_file(&slots).unwrap();
        }
        fs::write(&slots, &theirs).unwrap();
        assert_left(&clean(&study, &["--yes"]));
        for more in ["dataset.restore=reload", "sweep.workloads=[\"ycsb-a\"]"] {
            let more = [&file[..], &["--set", more]].concat();
            assert_foreign(&run_with(&place, &dir.path().join("other"), &more));
        }
        assert!(fs::read(&slots).unwrap() == theirs, "it was written");
    }
}

#[test]
fn a_pipe_in_the_place_of_the_data_or_its_marker_is_refused_at_once() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("place");
    for (name, part) in [
        ("rocksdb.dataset.json", "not a regular file"),
        ("rocksdb", "is left alone"),
        ("slots.dat", "is left alone"),
    ] {
        fs::create_dir(&place).unwrap();
        let pipe = place.join(name);
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let driver = if name == "slots.dat" {
            "file"
        } else {
            "rocksdb"
        };
        let ran = run_with(&place, &dir.path().join("out"), &["--driver", driver]);
        refused(&ran, &[part, name]);
        let left = fs::read_dir(&place)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        assert_eq!(left.collect::<Vec<_>>(), std::slice::from_ref(&pipe));
        fs::remove_file(&pipe).unwrap();
        fs::remove_dir(&place).unwrap();
    }
}

#[test]
fn a_directory_in_the_place_of_a_trial_is_used_only_if_it_holds_nothing_of_others() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    let trial = place.join("rocksdb.tailmark-trial");
    let mark = |id: &str| format!("{{\"trial_of_study\":\"{id}\",\"made\":true}}");
    let id = "0123456789abcdef0123456789abcdef";
    for (text, with) in [
        ("", "notes.txt"),
        ("mine", ""),
        (&mark(id), "notes.txt"),
        (&mark(id), "data/000007.log"),
        (&mark(id), "data/notes.txt"),
    ] {
        fs::create_dir_all(trial.join("data")).unwrap();
        fs::write(trial.join("made-by-tailmark"), text).unwrap();
        if !with.is_empty() {
            fs::write(trial.join(with), "mine").unwrap();
        }
        let before = contents(&place);
        let ran = run(&place, &study);
        assert!(!ran.status.success(), "{text} {with}: {}", err(&ran));
        assert!(contents(&place) == before, "{text} {with}: a file changed");
        fs::remove_dir_all(&place).unwrap();
    }
    // What a killed trial left is removed, whichever study it was for, also before it had its mark.
    fs::create_dir_all(&trial).unwrap();
    succeeded(&run(&place, &study));
    assert!(!trial.exists());
    let own = newest_options(&place.join("rocksdb"));
    fs::create_dir(&trial).unwrap();
    succeeded(&clean(&study, &["--yes"]));
    assert!(!trial.exists());
    make_begun(&trial.join("data"), &own);
    fs::write(trial.join("made-by-tailmark"), mark(id)).unwrap();
    succeeded(&run(&place, &dir.path().join("other")));
    assert!(!trial.exists());
}

#[test]
fn a_second_program_that_runs_or_cleans_the_same_place_changes_nothing() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    succeeded(&run(&place, &study));
    let families = ["default", "usertable"];
    let database = place.join("rocksdb");
    let open = DB::open_cf(&Options::default(), &database, families).unwrap();
    let before = contents(&place);
    let other = dir.path().join("other");
    for more in [&[][..], &["--set", "dataset.restore=reload"]] {
        let ran = run_with(&place, &other, more);
        refused(&ran, &["in use by another process (pid "]);
    }
    assert_eq!(clean(&study, &["--yes"]).status.code(), Some(1));
    let line = format!(
        "db-bench --db={} --num=10 --benchmarks=fillseq",
        database.display()
    );
    for more in [0, 1] {
        let line = format!("{line} --use_existing_db={more}");
        let bench = Command::new(PROGRAM)
            .args(line.split(' '))
            .output()
            .unwrap();
        refused(&bench, &["in use by another process"]);
    }
    assert!(contents(&place) == before, "a file changed");
    drop(open);
    succeeded(&run(&place, &other));
}

#[test]
fn our_database_without_current_is_removed_if_its_options_show_that_it_is_ours() {
    for has_options in [true, false] {
        let dir = TempDir::new().unwrap();
        let (place, study) = (dir.path().join("place"), dir.path().join("study"));
        succeeded(&run(&place, &study));
        let database = place.join("rocksdb");
        fs::remove_file(database.join("CURRENT")).unwrap();
        if has_options {
            let cleaned = clean(&study, &["--yes"]);
            assert_eq!(cleaned.status.code(), Some(0), "{}", err(&cleaned));
            assert!(!place.exists());
            continue;
        }
        let entries = fs::read_dir(&database)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let is_options = |path: &PathBuf| path.to_string_lossy().contains("OPTIONS-");
        entries
            .filter(is_options)
            .for_each(|path| fs::remove_file(path).unwrap());
        let before = contents(&place);
        let refused = clean(&study, &["--yes"]);
        assert_eq!(refused.status.code(), Some(1));
        let database = database.display().to_string();
        assert_says(
            &err(&refused),
            &[&database, "nothing in it is removed", "no `CURRENT`"],
        );
        assert!(contents(&place) == before);
    }
}

#[test]
fn a_copy_of_our_identity_makes_no_foreign_database_ours() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    succeeded(&run(&place, &study));
    let database = place.join("rocksdb");
    let identity = fs::read(database.join("IDENTITY")).unwrap();
    fs::remove_dir_all(&database).unwrap();
    make_theirs(&database);
    // As an older RocksDB makes it, whose manifest has no identity: the one in it is another here.
    fs::write(database.join("IDENTITY"), identity).unwrap();
    let before = contents(&database);
    assert_left(&clean(&study, &["--yes"]));
    assert!(contents(&database) == before, "a file changed");
}

#[test]
fn a_run_makes_nothing_inside_the_directory_of_another_database() {
    let dir = TempDir::new().unwrap();
    let theirs = dir.path().join("theirs");
    make_theirs(&theirs);
    let before = contents(&theirs);
    let wal = format!("database.wal_dir={}", theirs.display());
    for (place, more) in [
        (theirs.clone(), vec![]),
        (theirs.join("below"), vec![]),
        (dir.path().join("ours"), vec!["--set", wal.as_str()]),
    ] {
        let ran = run_with(&place, &dir.path().join("study"), &more);
        refused(
            &ran,
            &[
                "inside the directory of another database",
                "name another directory",
            ],
        );
        assert!(contents(&theirs) == before, "a file changed");
        assert!(!theirs.join("rocksdb").exists() && !theirs.join("rocksdb-wal").exists());
    }
}

#[test]
fn the_sample_of_a_database_that_db_bench_made_is_read_at_once() {
    let dir = TempDir::new().unwrap();
    let database = dir.path().join("place/rocksdb");
    fs::create_dir(dir.path().join("place")).unwrap();
    let mut fill = Command::new(PROGRAM);
    fill.args(["db-bench", "--benchmarks=fillseq", "--num=1000"]);
    fill.arg(format!("--db={}", database.display()));
    succeeded(&fill.output().unwrap());
    let mut adopt = Command::new("timeout");
    adopt.args(["-k", "5", "60", PROGRAM, "run", "--system"]);
    adopt.arg(format!("a={}", dir.path().join("place").display()));
    adopt.args(["--workload", "readrandom", "--set", "database.layout=raw"]);
    adopt.args(["--adopt", "--records", "1000", "--operations", "1000"]);
    adopt.args(["--threads", "1", "--warmup", "0s", "-o", "study"]);
    adopt.args(["--set", "dataset.fields=1", "--set"]);
    adopt.args(["dataset.field_length=100", "--set", "dataset.key_length=16"]);
    succeeded(&adopt.current_dir(dir.path()).output().unwrap());
}

#[test]
fn an_export_never_writes_over_a_study_or_its_journals() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    succeeded(&run(&place, &study));
    let file = study.join(Study::FILE);
    let before = fs::read(&file).unwrap();
    let other = dir.path().join("other.sqlite");
    fs::copy(&file, &other).unwrap();
    let link = dir.path().join("link");
    symlink(&file, &link).unwrap();
    let with = |of: &Path, ending: &str| PathBuf::from(format!("{}{ending}", of.display()));
    let endings = ["-journal", "-wal", "-shm"].into_iter();
    let journals = endings.flat_map(|end| [with(&file, end), with(&other, end)]);
    let journals: Vec<_> = journals.collect();
    for to in [&file, &other, &link].into_iter().chain(&journals) {
        let mut export = Command::new(PROGRAM);
        export.arg("export").arg(&study).args(["--format", "csv"]);
        let exported = export.arg("-o").arg(to).output().unwrap();
        assert_eq!(exported.status.code(), Some(2), "{}", to.display());
        refused(&exported, &["belongs to a study", "another file"]);
    }
    assert!(fs::read(&file).unwrap() == before && fs::read(&other).unwrap() == before);
    assert!(journals.iter().all(|journal| !journal.exists()));
}

#[test]
fn a_place_that_another_run_has_is_refused_also_while_its_database_is_closed() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    succeeded(&run(&place, &study));
    let other = fs::File::open(&place).unwrap();
    other.lock().unwrap();
    let before = contents(&place);
    let parts = ["another tailmark run is using", "give another `path`"];
    refused(&run(&place, &dir.path().join("other")), &parts);
    assert!(contents(&place) == before);
    drop(other);
    succeeded(&run(&place, &dir.path().join("other")));
}

#[test]
fn of_runs_that_begin_at_once_in_one_place_one_has_it_and_nothing_is_left_after_clean() {
    for _ in 0..5 {
        let dir = TempDir::new().unwrap();
        let place = dir.path().join("place");
        let studies = ["1", "2", "3"].map(|name| dir.path().join(name));
        let outputs = std::thread::scope(|scope| {
            let place = &place;
            let runs = studies
                .each_ref()
                .map(|study| scope.spawn(move || run(place, study)));
            runs.map(|run| run.join().unwrap())
        });
        assert!(outputs.iter().any(|run| run.status.success()));
        for loser in outputs.iter().filter(|run| !run.status.success()) {
            refused(loser, &["another tailmark run is using"]);
        }
        // Whichever it was: the same command resumes, or finds the data of the other.
        for study in &studies {
            succeeded(&run(&place, study));
        }
        for study in &studies {
            clean(study, &["--yes"]);
        }
        assert!(!place.exists(), "{:?}", contents(&place).keys());
    }
}

#[test]
fn what_a_killed_removal_left_is_removed_and_makes_no_foreign_database_ours() {
    // Which files of ours the removal left, and whether theirs has a name.
    for (theirs, has_name) in [(false, true), (true, true), (true, false)] {
        let dir = TempDir::new().unwrap();
        let (place, study) = (dir.path().join("place"), dir.path().join("study"));
        succeeded(&run(&place, &study));
        let (database, marker) = (place.join("rocksdb"), place.join("rocksdb.dataset.json"));
        let (identity, note) = (
            database.join("IDENTITY"),
            database.join("tailmark.removing"),
        );
        fs::write(
            &marker,
            promising_nothing(&fs::read_to_string(&marker).unwrap()),
        )
        .unwrap();
        fs::hard_link(&identity, &note).unwrap();
        if theirs {
            let own = fs::read(&note).unwrap();
            DB::destroy(&Options::default(), &database).unwrap();
            make_theirs(&database);
            fs::write(&note, own).unwrap();
        }
        if !has_name {
            fs::remove_file(&identity).unwrap();
        }
        let before = contents(&place);
        if theirs {
            assert_foreign(&run(&place, &dir.path().join("other")));
            assert_left(&clean(&study, &["--yes"]));
            assert!(contents(&place) == before, "a file changed");
        } else {
            succeeded(&clean(&study, &["--yes"]));
            assert!(!place.exists());
        }
    }
}
