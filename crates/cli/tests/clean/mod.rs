//! `tailmark clean` removes what a study made, and nothing that a study only names.

mod protected;
mod replaced;

use super::{PROGRAM, bytes_below, run, run_with, succeeded};
use rust_rocksdb::{DB, IteratorMode, Options};
use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
};
use tailmark_model::{Header, System};
use tailmark_study::Study;
use tailmark_testing::{assert_says, err, out};
use tempfile::TempDir;

fn clean(out: &Path, more: &[&str]) -> Output {
    let mut clean = Command::new(PROGRAM);
    clean.arg("clean").arg(out).args(more).output().unwrap()
}

/// A short run that has nothing on a disk.
fn null_run() -> Command {
    let words = "run --driver null --system a=x --threads 1 --duration 100ms --warmup 0s";
    let mut command = Command::new(PROGRAM);
    command.args(words.split(' '));
    command
}

#[test]
fn clean_lists_what_a_study_made_and_removes_it_with_yes() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    succeeded(&run(&place, &study));
    let before = bytes_below(dir.path());
    let listed = clean(&study, &[]);
    let made = [
        place.join("rocksdb"),
        place.join("rocksdb.dataset.json"),
        place.clone(),
    ];
    let made = made.map(|path| format!("would remove `{}`", path.display()));
    assert_says(&out(&listed), &made);
    assert_says(&out(&listed), &["add --yes"]);
    assert_eq!(listed.status.code(), Some(0));
    assert_eq!(bytes_below(dir.path()), before, "listing changed something");
    let removed = clean(&study, &["--yes"]);
    assert_eq!(removed.status.code(), Some(0), "{}", err(&removed));
    assert!(!place.exists(), "the directory was made by the run");
    assert!(study.join("report.html").exists() && Study::exists(&study));
    let again = clean(&study, &["--yes"]);
    assert_says(&out(&again), &["nothing of this study is left"]);
    assert_eq!(again.status.code(), Some(0));
}

#[test]
fn clean_leaves_directories_and_files_that_the_run_did_not_make() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    fs::create_dir(&place).unwrap();
    fs::write(place.join("mine.txt"), "mine").unwrap();
    succeeded(&run(&place, &study));
    fs::write(study.join("notes.txt"), "mine").unwrap();
    succeeded(&clean(&study, &["--results", "--yes"]));
    let left = bytes_below(dir.path());
    let left: Vec<&Path> = left.keys().map(PathBuf::as_path).collect();
    assert_eq!(left, [place.join("mine.txt"), study.join("notes.txt")]);
}

#[test]
fn a_directory_that_existed_before_the_load_is_never_replaced() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    let data = place.join("rocksdb");
    fs::create_dir_all(&data).unwrap();
    fs::set_permissions(&data, Permissions::from_mode(0o2700)).unwrap();
    let known = || {
        let found = fs::metadata(&data).unwrap();
        (found.ino(), found.mode())
    };
    let before = known();
    succeeded(&run_with(
        &place,
        &study,
        &[
            "--set",
            "dataset.restore=reload",
            "--set",
            "dataset.restore_before=repeat",
            "--repeats",
            "2",
        ],
    ));
    assert_eq!(known(), before, "a load or a reload replaced the directory");
    let listed = out(&clean(&study, &[]));
    assert_says(&listed, &["the database in `", "not the directory"]);
    let removed = clean(&study, &["--yes"]);
    assert_eq!(removed.status.code(), Some(0), "{}", err(&removed));
    assert_eq!(known(), before);
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
    // db_bench removes what is in its directory, too.
    let mut bench = Command::new(PROGRAM);
    bench.args(["db-bench", "--benchmarks=fillseq", "--num=10"]);
    let bench = bench
        .arg(format!("--db={}", data.display()))
        .output()
        .unwrap();
    assert!(bench.status.success(), "{}", err(&bench));
    assert_eq!(known(), before);
}

#[test]
fn clean_removes_a_run_directory_only_if_the_run_made_it() {
    for is_made_before in [true, false] {
        let dir = TempDir::new().unwrap();
        let (place, study) = (dir.path().join("place"), dir.path().join("study"));
        if is_made_before {
            fs::create_dir(&study).unwrap();
        }
        succeeded(&run(&place, &study));
        let cleaned = clean(&study, &["--results", "--yes"]);
        succeeded(&cleaned);
        assert!(!place.exists() && study.exists() == is_made_before);
        if is_made_before {
            assert_says(
                &out(&cleaned),
                &["not touched", "it existed before the run"],
            );
            assert!(fs::read_dir(&study).unwrap().next().is_none());
        }
    }
    // Of a run that gives it its name.
    let dir = TempDir::new().unwrap();
    let tailmark = |args: &[&str]| {
        let mut tailmark = Command::new(PROGRAM);
        tailmark.args(args).current_dir(&dir).output().unwrap()
    };
    let run = "run --system a=place --records 1k --workload ycsb-c --operations 100 --threads 1 --warmup 0s";
    succeeded(&tailmark(&run.split(' ').collect::<Vec<_>>()));
    let mut entries = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let made = entries.find(|path| !path.ends_with("place")).unwrap();
    succeeded(&tailmark(&[
        "clean",
        made.to_str().unwrap(),
        "--results",
        "--yes",
    ]));
    assert!(!made.exists());
}

#[test]
fn clean_leaves_a_database_with_foreign_files_and_its_marker_as_they_are() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    succeeded(&run(&place, &study));
    let (folder, notes) = (place.join("rocksdb/mine"), place.join("rocksdb/notes.txt"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("000001.log"), "mine").unwrap();
    fs::write(&notes, "mine").unwrap();
    let content = || {
        let read = |path| fs::read(path).unwrap();
        (
            read(place.join("rocksdb.dataset.json")),
            bytes_below(dir.path()),
        )
    };
    let before = content();
    let refused = clean(&study, &["--yes", "--results"]);
    assert_eq!(refused.status.code(), Some(1));
    assert_says(&err(&refused), &["does not belong to this database"]);
    assert!(content() == before, "{}", err(&refused));
    fs::remove_dir_all(folder).unwrap();
    fs::remove_file(notes).unwrap();
    succeeded(&clean(&study, &["--yes"]));
    assert!(!place.exists());
}

/// Loads a data set and removes its marker, so that it is another program's.
fn make_theirs(place: &Path, study: &Path) {
    succeeded(&run(place, study));
    fs::remove_file(place.join("rocksdb.dataset.json")).unwrap();
}

#[test]
fn clean_tells_records_in_adopted_data_and_never_touches_them() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    make_theirs(&place, &dir.path().join("first"));
    // What only read it left nothing.
    succeeded(&run_with(&place, &dir.path().join("read"), &["--adopt"]));
    let only_read = clean(&dir.path().join("read"), &["--yes"]);
    succeeded(&only_read);
    assert_says(
        &out(&only_read),
        &["not touched", "nothing of this study is left"],
    );
    let inserts = ["--adopt=overwrite", "--set", "sweep.workloads=ycsb-d"];
    succeeded(&run_with(&place, &study, &inserts));
    let before = bytes_below(&place);
    for more in [&[][..], &["--yes"]] {
        let cleaned = clean(&study, more);
        assert_eq!(cleaned.status.code(), Some(3), "{}", err(&cleaned));
        let parts = [
            "adopted data, from which tailmark removes nothing",
            "inserts, each a new or an overwritten record",
            "may be left at",
        ];
        assert_says(&out(&cleaned), &parts);
    }
    assert!(bytes_below(&place) == before);
}

#[test]
fn clean_of_a_study_that_loaded_nothing_succeeds() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    succeeded(&run(&place, &dir.path().join("first")));
    // It measured the records of the first one.
    succeeded(&run(&place, &study));
    let cleaned = clean(&study, &["--yes"]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", err(&cleaned));
    assert_says(&out(&cleaned), &["no marker of this study"]);
    assert!(place.join("rocksdb/CURRENT").exists());
}

/// A study from a stranger with this id, whose systems are in these places.
fn hostile(out: &Path, id: &str, places: &[(&str, String)]) {
    let header = Header {
        id: id.to_owned(),
        ..Header::without_plan("hostile", String::new())
    };
    let system = |(index, (driver, place)): (usize, &(&str, String))| System {
        name: format!("s{index}"),
        driver: (*driver).to_owned(),
        place: place.clone(),
        semantics: "faithful".to_owned(),
        settings: BTreeMap::new(),
        ceiling_for: None,
    };
    let systems: Vec<_> = places.iter().enumerate().map(system).collect();
    Study::create(out, &header, &systems).unwrap();
}

#[test]
fn a_study_of_a_stranger_has_clean_remove_nothing() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    // The data of another study, and directories of a user.
    succeeded(&run(&path("place"), &path("study")));
    let text = |place: PathBuf| place.display().to_string();
    let home = path("home");
    fs::create_dir_all(home.join("rocksdb")).unwrap();
    fs::write(home.join("rocksdb/000001.log"), "mine").unwrap();
    fs::write(home.join("slots.dat"), "mine").unwrap();
    // Its own marker, beside a link to what is not its own, or as a link itself.
    let id = "0123456789abcdef0123456789abcdef";
    let marker = fs::read_to_string(path("place/rocksdb.dataset.json")).unwrap();
    let theirs = Study::open_read_only(&path("study")).unwrap();
    let theirs = theirs.header().unwrap().id;
    let marker = marker.replace(&theirs, id);
    fs::create_dir(path("linked")).unwrap();
    fs::write(path("linked/rocksdb.dataset.json"), &marker).unwrap();
    symlink(path("place/rocksdb"), path("linked/rocksdb")).unwrap();
    fs::create_dir_all(path("marked/rocksdb")).unwrap();
    fs::write(path("marked/rocksdb/000001.log"), "mine").unwrap();
    symlink(
        path("linked/rocksdb.dataset.json"),
        path("marked/rocksdb.dataset.json"),
    )
    .unwrap();
    let places = [
        ("rocksdb", text(home.clone())),
        ("file", text(home.clone())),
        ("rocksdb", "/".to_owned()),
        ("rocksdb", format!("{}/../place", home.display())),
        ("rocksdb", "place".to_owned()),
        ("rocksdb", text(path("place"))),
        ("rocksdb", text(path("linked"))),
        ("rocksdb", text(path("marked"))),
        ("file", "/dev/null".to_owned()),
        ("no-such-driver", text(home)),
    ];
    hostile(&path("hostile"), id, &places);
    let before = bytes_below(dir.path());
    let cleaned = clean(&path("hostile"), &["--yes"]);
    assert_eq!(bytes_below(dir.path()), before, "{}", out(&cleaned));
    let said = out(&cleaned);
    // Another program may have prepared this machine.
    let own = said
        .lines()
        .filter(|line| line.starts_with("not touched: ") && !line.contains(": this machine ("));
    assert_eq!(own.count(), places.len(), "{said}");
    assert_says(
        &said,
        &[
            "no marker of this study there",
            "is a symbolic link",
            "it is not an absolute path",
            "may be left at ",
        ],
    );
    assert_eq!(cleaned.status.code(), Some(3));
    assert!(!said.contains("nothing of this study is left"), "{said}");
}

#[test]
fn a_marker_names_no_directory_that_is_not_around_its_data() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    succeeded(&run(&path("place"), &path("study")));
    fs::create_dir(path("empty")).unwrap();
    let marker = path("place/rocksdb.dataset.json");
    let text = fs::read_to_string(&marker).unwrap();
    let (made, other) = (path("place"), path("empty"));
    let text = text.replace(
        &format!("\"directory\": \"{}\"", made.display()),
        &format!("\"directory\": \"{}\"", other.display()),
    );
    fs::write(&marker, text).unwrap();
    succeeded(&clean(&path("study"), &["--yes"]));
    assert!(path("empty").is_dir() && path("place").is_dir());
    assert!(!path("place/rocksdb").exists());
}

#[test]
fn clean_is_refused_while_a_run_is_in_progress() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    succeeded(&run(&place, &study));
    let lock = File::open(&study).unwrap();
    lock.lock().unwrap();
    let refused = clean(&study, &["--yes"]);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(place.join("rocksdb/CURRENT").exists());
}

#[test]
fn a_run_says_what_it_leaves_and_the_command_that_removes_it() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    let ran = run(&place, &study);
    let said = err(&ran);
    let line = said.lines().find(|line| line.starts_with("left: "));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    let (left, command) = line.split_once("; remove it with: tailmark ").unwrap();
    assert!(
        left.ends_with(&format!("MiB in {}", place.display())),
        "{left}"
    );
    let words = command.split(' ').chain(["--yes"]);
    succeeded(&Command::new(PROGRAM).args(words).output().unwrap());
    assert!(!place.exists());
    // A study that has nothing on a disk leaves nothing.
    let null = null_run().arg("-o").arg(dir.path().join("null")).output();
    let null = null.unwrap();
    assert!(!err(&null).contains("left: "), "{}", err(&null));
}

#[test]
fn clean_removes_the_log_that_an_options_file_puts_elsewhere() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("wal")).unwrap();
    fs::write(path("wal/notes.txt"), "mine").unwrap();
    let text = format!(
        "[Version]\n  rocksdb_version=8.1.1\n  options_file_version=1.1\n[DBOptions]\n  wal_dir={}\n\
         [CFOptions \"default\"]\n",
        path("wal").display()
    );
    fs::write(path("options.ini"), text).unwrap();
    let options = format!("database.options_file={}", path("options.ini").display());
    let ran = run_with(&path("place"), &path("study"), &["--set", &options]);
    succeeded(&ran);
    assert!(path("wal/rocksdb-wal").is_dir());
    // What another program's options file says now does not count.
    fs::remove_file(path("options.ini")).unwrap();
    let listed = out(&clean(&path("study"), &[]));
    let log = format!(
        "`{}`, the log of that database",
        path("wal/rocksdb-wal").display()
    );
    assert_says(&listed, &[&log]);
    succeeded(&clean(&path("study"), &["--yes"]));
    assert!(!path("place").exists() && !path("wal/rocksdb-wal").exists());
    assert_eq!(fs::read_to_string(path("wal/notes.txt")).unwrap(), "mine");
}

#[test]
fn a_database_that_another_program_has_open_keeps_its_data_and_its_marker() {
    let dir = TempDir::new().unwrap();
    let (place, study) = (dir.path().join("place"), dir.path().join("study"));
    succeeded(&run(&place, &study));
    let families = ["default", "usertable"];
    let open = DB::open_cf(&Options::default(), place.join("rocksdb"), families).unwrap();
    let marker = || fs::read_to_string(place.join("rocksdb.dataset.json")).unwrap();
    let before = marker();
    let refused = clean(&study, &["--yes", "--results"]);
    assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
    assert_says(&err(&refused), &["rocksdb", "process"]);
    assert_eq!(marker(), before);
    assert!(Study::exists(&study), "what is left can be found again");
    // Nor does a run remove it, which would load it again.
    super::mark_nothing(&place);
    let unmarked = marker();
    let ran = run(&place, &dir.path().join("other"));
    assert_eq!(ran.status.code(), Some(2), "{}", err(&ran));
    assert_eq!(marker(), unmarked);
    let usertable = open.cf_handle("usertable").unwrap();
    let records = open.iterator_cf(usertable, IteratorMode::Start);
    assert_eq!(records.count(), 20_000);
    drop(open);
    succeeded(&clean(&study, &["--yes"]));
    assert!(!place.exists());
}
