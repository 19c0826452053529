//! What the drop-ins leave as it is: databases of other programs, files beside them.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]
#![cfg(feature = "rocksdb")]

use rust_rocksdb::{DB, Options};
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};
use tailmark_testing::{assert_says, err, out};
use tempfile::TempDir;

/// Calls a drop-in on the database `db` in a directory.
fn tailmark(dir: &Path, line: &str) -> Output {
    let mut tailmark = Command::new(env!("CARGO_BIN_EXE_tailmark"));
    let words = line.split_whitespace();
    tailmark.args(words).current_dir(dir).output().unwrap()
}

fn ycsb(dir: &Path, action: &str, more: &str) -> Output {
    let core =
        "-p workload=site.ycsb.workloads.CoreWorkload -p recordcount=500 -p operationcount=500";
    let place = "-p rocksdb.dir=db";
    tailmark(dir, &format!("ycsb {action} rocksdb {core} {place} {more}"))
}

/// Every file of the database but RocksDB's own log of what it does, and what is in it.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir.join("db")).unwrap();
    let entries = entries.map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let files = entries.map(|path| (name(&path), fs::read(path).unwrap()));
    files.filter(|(file, _)| !file.starts_with("LOG")).collect()
}

/// Another program makes a database, with one record in its log: to recover it RocksDB writes a table,
/// and begins a new log.
fn make_theirs(dir: &Path) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    let database = DB::open(&options, dir.join("db")).unwrap();
    database.put("theirs", "kept").unwrap();
    options
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn ycsb_looks_at_a_database_that_ycsb_did_not_make_before_it_changes_a_file() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    let options = make_theirs(dir);
    let before = files(dir);
    for mix in ["readproportion=1", "updateproportion=1"] {
        for upgrade in ["", "--upgrade"] {
            let run = ycsb(dir, "run", &format!("-p {mix} {upgrade}"));
            assert_eq!(code(&run), Some(2), "{}", err(&run));
            let parts = ["no column family `usertable`, only `default`", "name the"];
            assert_says(&err(&run), &parts);
        }
    }
    let load = ycsb(dir, "load", "");
    assert_eq!(code(&load), Some(2), "{}", err(&load));
    assert_says(&err(&load), &["adds the column family", "--upgrade"]);
    assert!(files(dir) == before, "a file changed");
    // Its own program, which knows of no column family, can open it.
    let reopened = DB::open(&options, dir.join("db")).unwrap();
    assert_eq!(reopened.get("theirs").unwrap().unwrap(), b"kept");
    drop(reopened);
    for action in ["load", "run"] {
        let done = ycsb(dir, action, "--upgrade");
        assert_eq!(code(&done), Some(0), "{}", err(&done));
    }
}

#[test]
fn a_path_that_means_another_place_once_it_is_made_or_is_inside_a_database_is_refused() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    let mut options = Options::default();
    options.create_if_missing(true);
    let database = DB::open(&options, dir.join("db")).unwrap();
    database.put("theirs", "kept").unwrap();
    drop(database);
    let before = files(dir);
    let bench = "--num=100 --benchmarks=fillseq";
    let core = "-p workload=site.ycsb.workloads.CoreWorkload -p recordcount=100";
    for (place, why) in [
        ("none/../db", "has `..` after `none`"),
        ("db/sub", "another database"),
    ] {
        for line in [
            format!("db-bench --db={place} {bench}"),
            format!("ycsb load rocksdb {core} -p rocksdb.dir={place}"),
        ] {
            let refused = tailmark(dir, &line);
            assert!(!refused.status.success(), "{line}");
            assert_says(&err(&refused), &[place, why]);
        }
    }
    assert!(files(dir) == before && !dir.join("none").exists());
}

#[test]
fn ycsb_loads_a_database_of_which_a_killed_load_made_nothing_but_its_default_family() {
    let dir = TempDir::new().unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    drop(DB::open(&options, dir.path().join("db")).unwrap());
    let load = ycsb(dir.path(), "load", "");
    assert_eq!(code(&load), Some(0), "{}", err(&load));
}

#[test]
fn db_bench_uses_a_database_with_foreign_files_and_removes_none() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    assert_eq!(code(&ycsb(dir, "load", "")), Some(0));
    fs::write(dir.join("db/notes.txt"), "mine").unwrap();
    let before = files(dir);
    let foreign =
        || ["CF_NAMES", "notes.txt"].map(|name| fs::read(dir.join("db").join(name)).unwrap());
    let theirs = foreign();
    // Without the flag it would remove the database first.
    let fresh = "db-bench --db=db --num=500 --benchmarks=fillrandom,readrandom";
    let refused = tailmark(dir, fresh);
    assert_eq!(code(&refused), Some(2), "{}", err(&refused));
    assert_says(
        &err(&refused),
        &["does not belong to this database; move it elsewhere"],
    );
    assert!(files(dir) == before, "a file changed");
    let used = tailmark(
        dir,
        "db-bench --db=db --num=500 --use_existing_db=1 --benchmarks=overwrite,compact,readrandom",
    );
    assert_eq!(code(&used), Some(0), "{}", err(&used));
    assert_eq!(foreign(), theirs);
    // YCSB's records are in a column family of their own.
    let run = ycsb(dir, "run", "-p readproportion=1 -p updateproportion=0");
    assert_eq!(code(&run), Some(0), "{}", err(&run));
    assert_says(&out(&run), &["[READ], Return=OK, 500"]);
}

#[test]
fn db_bench_removes_the_database_of_another_program_only_if_the_call_asks_for_it() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    let options = make_theirs(dir);
    let before = files(dir);
    let fill = "db-bench --db=db --num=500 --benchmarks=fillrandom";
    let refused = tailmark(dir, fill);
    assert_eq!(code(&refused), Some(2), "{}", err(&refused));
    assert_says(
        &err(&refused),
        &["holds a database of another program", "--use_existing_db=1"],
    );
    assert!(files(dir) == before, "a file changed");
    // What this call makes, the next ones may replace.
    for line in [
        format!("{fill} --use_existing_db=0"),
        fill.to_owned(),
        fill.to_owned(),
    ] {
        let done = tailmark(dir, &line);
        assert_eq!(code(&done), Some(0), "{line}: {}", err(&done));
    }
    // Used by another program, it is that program's.
    drop(DB::open(&options, dir.join("db")).unwrap());
    let foreign = tailmark(dir, fill);
    assert_eq!(code(&foreign), Some(2), "{}", err(&foreign));
}

#[test]
fn a_load_of_ycsb_writes_no_file_that_a_link_in_its_directory_names() {
    let dir = tempfile::tempdir().unwrap();
    let (theirs, names) = (dir.path().join("theirs"), dir.path().join("db/CF_NAMES"));
    fs::write(&theirs, "mine\n").unwrap();
    fs::create_dir(dir.path().join("db")).unwrap();
    std::os::unix::fs::symlink(&theirs, &names).unwrap();
    let linked = ycsb(dir.path(), "load", "");
    fs::remove_file(&names).unwrap();
    let fifo = Command::new("mkfifo").arg(&names).status().unwrap();
    assert!(fifo.success());
    let piped = ycsb(dir.path(), "load", "");
    for refused in [&linked, &piped] {
        assert_eq!(code(refused), Some(2), "{refused:?}");
        assert_says(
            &err(refused),
            &["CF_NAMES` is a link, a pipe or a directory"],
        );
    }
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "mine\n");
    assert!(!dir.path().join("db/CURRENT").exists());
}

#[test]
fn a_load_of_ycsb_leaves_a_list_of_families_without_a_database() {
    let dir = tempfile::tempdir().unwrap();
    let names = dir.path().join("db/CF_NAMES");
    fs::create_dir(dir.path().join("db")).unwrap();
    fs::write(&names, "mine\n").unwrap();
    let refused = ycsb(dir.path(), "load", "");
    assert_eq!(code(&refused), Some(2), "{refused:?}");
    assert_says(&err(&refused), &["of a database that is missing"]);
    assert_eq!(fs::read_to_string(&names).unwrap(), "mine\n");
    assert!(!dir.path().join("db/CURRENT").exists());
}

#[test]
fn db_bench_writes_nothing_where_the_call_says_that_it_reads() {
    let dir = tempfile::tempdir().unwrap();
    make_theirs(dir.path());
    let before = files(dir.path());
    for flag in ["--readonly", "--use_secondary_db", "--open_as_follower"] {
        let line =
            |list| format!("db-bench --db=db --num=5 --use_existing_db {flag} --benchmarks={list}");
        for list in [
            "overwrite",
            "readrandom,readwhilewriting",
            "readrandom,compact",
        ] {
            let refused = tailmark(dir.path(), &line(list));
            assert_eq!(code(&refused), Some(2), "{refused:?}");
            assert_says(&err(&refused), &["opens the database read-only"]);
        }
        let fresh = tailmark(
            dir.path(),
            &format!("db-bench --db=db {flag} --benchmarks=fillseq"),
        );
        assert_eq!(code(&fresh), Some(2), "{fresh:?}");
        let read = tailmark(dir.path(), &line("readrandom"));
        assert!(!err(&read).contains("has no effect"), "{read:?}");
        assert_eq!(files(dir.path()), before);
    }
}

#[test]
fn db_bench_takes_no_address_for_a_directory() {
    let dir = TempDir::new().unwrap();
    for address in ["127.0.0.1:9042", "db1:9042"] {
        let line = format!("db-bench --db={address} --benchmarks=fillrandom --num=10");
        let refused = tailmark(dir.path(), &line);
        assert_eq!(code(&refused), Some(2), "{}", err(&refused));
        assert_says(&err(&refused), &["--db", address, "directory"]);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_that_an_options_file_names_keeps_the_database_of_others() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    let prod = dir.join("db");
    let fill = "db-bench --benchmarks=fillseq,flush --num=3000 --db=db";
    assert_eq!(code(&tailmark(dir, fill)), Some(0));
    let before = files(dir);
    assert!(before.keys().any(|name| name.ends_with(".sst")));
    let run = "run --system a=new --records 1000 --threads 1 --duration 1s --warmup 0s --workload \
               ycsb-c --set machine.drop_caches=false --set database.options_file=o.ini -o out";
    let core = "-p workload=site.ycsb.workloads.CoreWorkload -p recordcount=500";
    for (section, key) in [
        ("[DBOptions]", "db_log_dir"),
        ("[ DBOptions ]", "db_log_dir"),
        ("[DBOptions]", "db_paths"),
        ("[CFOptions \"default\"]", "cf_paths"),
    ] {
        let text = "[Version]\nrocksdb_version=8.1.1\noptions_file_version=1.1\n[DBOptions]\n\
                    [CFOptions \"default\"]\n[TableOptions/BlockBasedTable \"default\"]\n";
        let plain = section.replace("[ ", "[").replace(" ]", "]");
        let line = format!("{section}\n  {key} = {}\n", prod.display());
        let text = text.replace(&format!("{plain}\n"), &line);
        fs::write(dir.join("o.ini"), text).unwrap();
        for call in [
            run.to_owned(),
            format!("{run} --dry-run"),
            format!("ycsb load rocksdb {core} -p rocksdb.dir=new -p rocksdb.optionsfile=o.ini"),
            "db-bench --db=new --num=100 --benchmarks=fillseq --options_file=o.ini".to_owned(),
        ] {
            let refused = tailmark(dir, &call);
            assert_eq!(code(&refused), Some(2), "{call}: {}", err(&refused));
            let parts = ["o.ini", key, prod.to_str().unwrap(), "a copy of the file"];
            assert_says(&err(&refused), &parts);
            assert!(!dir.join("new/CURRENT").exists(), "{call}");
            assert!(files(dir) == before, "{call}: a file changed");
        }
    }
    // Nor is a database made that nothing identifies.
    let text = "[Version]\nrocksdb_version=8.1.1\noptions_file_version=1.1\n[DBOptions]\n\
                write_identity_file=false\n[CFOptions \"default\"]\n";
    fs::write(dir.join("o.ini"), text).unwrap();
    let refused = tailmark(dir, run);
    assert_eq!(code(&refused), Some(2), "{}", err(&refused));
    assert_says(&err(&refused), &["write_identity_file", "IDENTITY"]);
    assert!(!dir.join("new/CURRENT").exists());
}

/// Every file of the directory `db` and below it, and what is in it; but for RocksDB's lock, which is
/// empty, and which a process that has it gives up if it reads it.
fn all_files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for below in ["db", "db/archive"] {
        let entries = fs::read_dir(dir.join(below)).into_iter().flatten();
        let files = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file() && !path.ends_with("LOCK"));
        all.extend(files.map(|path| (path.display().to_string(), fs::read(&path).unwrap())));
    }
    all
}

#[test]
fn a_directory_with_files_of_a_database_but_no_current_is_left_as_it_is() {
    for names in [
        &["000012.sst", "LOG", "IDENTITY"][..],
        &["000009.log"],
        &["archive/000009.log"],
        &["CURRENT"],
        &["IDENTITY"],
        &["LOG"],
        &["LOG.old.1"],
        &["000001.dbtmp"],
        &["MANIFEST-000001"],
    ] {
        let dir = TempDir::new().unwrap();
        let dir = dir.path();
        fs::create_dir_all(dir.join("db/archive")).unwrap();
        for name in names {
            fs::write(dir.join("db").join(name), "acknowledged").unwrap();
        }
        let before = all_files(dir);
        let bench = "db-bench --db=db --num=10 --benchmarks";
        for output in [
            ycsb(dir, "load", ""),
            ycsb(dir, "load", "--upgrade"),
            ycsb(dir, "run", ""),
            tailmark(dir, &format!("{bench}=fillseq")),
            tailmark(dir, &format!("{bench}=readrandom")),
            tailmark(dir, &format!("{bench}=overwrite --use_existing_db=1")),
        ] {
            assert_eq!(code(&output), Some(2), "{}", err(&output));
            assert!(all_files(dir) == before, "{names:?}: {}", err(&output));
        }
        let load = ycsb(dir, "load", "");
        assert_says(
            &err(&load),
            &[names[0], "no `CURRENT`", "another directory"],
        );
    }
}

#[test]
fn db_bench_leaves_the_log_directory_of_another_database() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_wal_dir(dir.join("db"));
    let theirs = DB::open(&options, dir.join("theirs")).unwrap();
    theirs.put("acknowledged", "yes").unwrap();
    drop(theirs);
    let before = all_files(dir);
    for more in ["--db=db", "--db=new --wal_dir=db", "--db=db --wal_dir=db"] {
        let bench = tailmark(
            dir,
            &format!("db-bench --num=10 --benchmarks=fillseq {more}"),
        );
        assert_eq!(code(&bench), Some(2), "{more}: {}", err(&bench));
        assert!(all_files(dir) == before, "{more}: {}", err(&bench));
    }
    let reopened = DB::open(&options, dir.join("theirs")).unwrap();
    assert_eq!(reopened.get("acknowledged").unwrap().unwrap(), b"yes");
}

#[test]
fn a_database_that_is_in_use_is_refused_and_no_file_of_it_changes() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    assert_eq!(code(&ycsb(dir, "load", "")), Some(0));
    fs::remove_file(dir.join("db/CF_NAMES")).unwrap();
    let families = ["default", "usertable"];
    let mut options = Options::default();
    // Statistics would go into its log meanwhile.
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    let open = DB::open_cf(&options, dir.join("db"), families).unwrap();
    let before = all_files(dir);
    let bench = "db-bench --db=db --num=10 --benchmarks";
    for output in [
        ycsb(dir, "load", ""),
        ycsb(dir, "run", "-p readproportion=1 -p updateproportion=0"),
        ycsb(dir, "run", ""),
        tailmark(dir, &format!("{bench}=fillseq --use_existing_db=0")),
        tailmark(dir, &format!("{bench}=readrandom --use_existing_db=1")),
        tailmark(dir, &format!("{bench}=overwrite --use_existing_db=1")),
    ] {
        assert_eq!(code(&output), Some(2), "{}", err(&output));
        assert_says(&err(&output), &["in use by another process"]);
        assert!(all_files(dir) == before, "{}", err(&output));
    }
    drop(open);
}

#[test]
fn a_file_that_a_call_does_not_name_is_not_written_over() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    for name in ["report.csv", "INSERT.hdr"] {
        fs::write(dir.join(name), "precious").unwrap();
    }
    let report = "db-bench --db=bench --num=100 --benchmarks=fillseq --report_interval_seconds=1";
    let logs = "-p measurementtype=hdrhistogram -p hdrhistogram.fileoutput=true";
    assert_says(
        &err(&tailmark(dir, report)),
        &["--report_file", "exists already"],
    );
    assert!(!dir.join("bench").exists());
    assert_says(
        &err(&ycsb(dir, "load", logs)),
        &["INSERT.hdr", "output.path"],
    );
    assert!(!dir.join("db").exists());
    for name in ["report.csv", "INSERT.hdr"] {
        assert_eq!(fs::read_to_string(dir.join(name)).unwrap(), "precious");
        fs::remove_file(dir.join(name)).unwrap();
    }
    // Logs of its own are written again.
    for action in ["load", "run", "run"] {
        assert_eq!(code(&ycsb(dir, action, logs)), Some(0), "{action}");
    }
}

#[test]
fn of_calls_that_begin_at_once_in_one_directory_each_has_it_whole_or_changes_nothing() {
    for _ in 0..3 {
        let dir = TempDir::new().unwrap();
        let begin = |_| {
            let mut tailmark = Command::new(env!("CARGO_BIN_EXE_tailmark"));
            tailmark
                .args(["db-bench", "--db=db", "--num=20000", "--benchmarks=fillseq"])
                .current_dir(dir.path())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            tailmark.spawn().unwrap()
        };
        let begun: Vec<_> = (0..4).map(begin).collect();
        let ended: Vec<_> = begun
            .into_iter()
            .map(|run| run.wait_with_output().unwrap())
            .collect();
        assert!(ended.iter().any(|run| code(run) == Some(0)), "{ended:?}");
        for run in ended.iter().filter(|run| code(run) != Some(0)) {
            let said = err(run);
            assert_eq!(code(run), Some(2), "{said}");
            let is_told = [
                "in use by another process",
                "another program created",
                "holds a database of another program",
            ];
            assert!(is_told.iter().any(|why| said.contains(why)), "{said}");
        }
        // RocksDB renames the log of what it does when it opens a database that is there.
        let names = fs::read_dir(dir.path().join("db")).unwrap();
        let mut names = names.map(|entry| entry.unwrap().file_name());
        let old = names.find(|name| name.to_string_lossy().starts_with("LOG.old"));
        assert_eq!(old, None);
    }
}

#[test]
fn a_link_is_not_followed_for_a_file_that_nobody_named() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    fs::write(dir.join("theirs"), "precious").unwrap();
    for name in ["report.csv", "READ.hdr"] {
        std::os::unix::fs::symlink("theirs", dir.join(name)).unwrap();
    }
    let report = tailmark(
        dir,
        "db-bench --db=bench --num=100 --benchmarks=fillseq --report_interval_seconds=1",
    );
    assert_says(
        &err(&report),
        &["failed to write --report_file", "report.csv"],
    );
    assert_eq!(code(&ycsb(dir, "load", "")), Some(0));
    let logs = "-p measurementtype=hdrhistogram -p hdrhistogram.fileoutput=true";
    ycsb(dir, "run", logs);
    assert_eq!(fs::read_to_string(dir.join("theirs")).unwrap(), "precious");
    // One that is named is, as with `cp`.
    let named = "db-bench --db=bench --num=100 --benchmarks=fillseq --report_interval_seconds=1 \
                 --report_file=report.csv";
    assert_eq!(code(&tailmark(dir, named)), Some(0));
    let written = fs::read_to_string(dir.join("theirs")).unwrap();
    assert!(written.starts_with("secs_elapsed"), "{written}");
}
