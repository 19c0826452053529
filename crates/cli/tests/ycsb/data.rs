//! The database that calls load, read and leave as it is.

use super::*;

/// A data set that is loaded is found, and checks.
#[cfg(feature = "rocksdb")]
#[test]
fn what_is_loaded_is_read_back_whole() {
    let dir = TempDir::new().unwrap();
    let common = "-P workloada -threads 2 -p rocksdb.dir=db -p dataintegrity=true";
    let load = ycsb(dir.path(), &format!("load rocksdb {common}"));
    assert_eq!(load.status.code(), Some(0), "{}", err(&load));
    let run = ycsb(dir.path(), &format!("run rocksdb {common}"));
    let out = out(&run);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    let count = |name: &str| {
        out.lines()
            .find_map(|l| l.strip_prefix(name)?.parse::<u64>().ok())
    };
    assert_eq!(
        count("[VERIFY], Return=OK, "),
        count("[READ], Operations, ")
    );
    assert!(
        count("[VERIFY], Return=OK, ").is_some() && !out.contains("UNEXPECTED_STATE"),
        "{out}"
    );
    let other = ycsb(
        dir.path(),
        &format!("run rocksdb {common} -p fieldlength=50"),
    );
    assert_eq!(other.status.code(), Some(3), "{}", err(&other));
    assert!(self::out(&other).contains("[VERIFY], Return=UNEXPECTED_STATE, "));
    let beyond = ycsb(
        dir.path(),
        "run rocksdb -P workloada -p rocksdb.dir=db -p recordcount=4000",
    );
    assert!(self::out(&beyond).contains("[READ], Return=NOT_FOUND, "));
    assert!(self::out(&beyond).contains("[READ-FAILED], Operations, "));
}

/// The options that RocksDB wrote down last.
#[cfg(feature = "rocksdb")]
fn options(db: &Path) -> String {
    let files = std::fs::read_dir(db)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let newest = files
        .filter(|path| path.to_str().unwrap().contains("OPTIONS-"))
        .max();
    std::fs::read_to_string(newest.unwrap()).unwrap()
}

#[cfg(feature = "rocksdb")]
#[test]
fn a_load_writes_what_ycsb_reads_unless_another_format_is_asked_for() {
    let dir = TempDir::new().unwrap();
    let call = |line: &str| {
        let done = ycsb(dir.path(), line);
        assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    };
    let has = |db: &str, format: &str, checksum: &str| {
        let text = options(&dir.path().join(db));
        let table = text
            .split("[TableOptions/BlockBasedTable \"usertable\"]")
            .nth(1);
        let table = table.unwrap_or_else(|| panic!("{text}"));
        for line in [
            format!("format_version={format}"),
            format!("checksum={checksum}"),
        ] {
            assert!(table.lines().any(|l| l.trim() == line), "{line} in {table}");
        }
    };
    call("load rocksdb -P workloada -p rocksdb.dir=old");
    has("old", "4", "kCRC32c");
    let names = std::fs::read_to_string(dir.path().join("old/CF_NAMES")).unwrap();
    assert_eq!(names, "default\nusertable\n");
    call("run rocksdb -P workloada -p rocksdb.dir=old");
    has("old", "4", "kCRC32c");
    call(
        "load rocksdb -P workloada -p rocksdb.dir=new -p rocksdb.format_version=7 \
         -p rocksdb.checksum=xxh3",
    );
    has("new", "7", "kXXH3");
    call("load rocksdb -P workloada -p rocksdb.dir=new");
    has("new", "7", "kXXH3");
    call("run rocksdb -P workloada -p rocksdb.dir=new --for-ycsb");
    has("new", "4", "kCRC32c");
}

#[test]
fn calls_over_other_data_are_no_repeats() {
    let dir = TempDir::new().unwrap();
    for records in [1000, 2000, 1000] {
        let line = format!("run basic -P workloada -p recordcount={records} -o study");
        let run = ycsb(dir.path(), &line);
        assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    }
    let study = tailmark_study::Study::open(&dir.path().join("study")).unwrap();
    let keys = study.point_keys().unwrap();
    let keys: Vec<_> = keys
        .iter()
        .map(|key| (key.system.as_str(), key.repeat))
        .collect();
    let (first, other) = (keys[0].0, keys[1].0);
    assert_eq!(keys, [(first, 1), (other, 1), (first, 2)]);
    assert_eq!(other, format!("{first} (records 2000)"));
}

#[test]
#[cfg(feature = "rocksdb")]
fn a_study_of_another_program_is_refused_before_the_call() {
    for (file, says) in [
        ("study.sqlite", "not a study"),
        ("report.html", "report.html"),
    ] {
        let dir = TempDir::new().unwrap();
        let out = dir.path().join("study");
        std::fs::create_dir(&out).unwrap();
        std::fs::write(out.join(file), "of another program").unwrap();
        let run = ycsb(
            dir.path(),
            "load rocksdb -P workloada -p rocksdb.dir=data -o study",
        );
        assert_eq!(run.status.code(), Some(2), "{}", err(&run));
        assert!(err(&run).contains(says), "{}", err(&run));
        assert!(!dir.path().join("data").exists());
    }
}

/// Every file of a database with its bytes; RocksDB's own logs of what it does apart.
#[cfg(feature = "rocksdb")]
fn files(db: &Path) -> std::collections::BTreeMap<std::ffi::OsString, Vec<u8>> {
    let entries = std::fs::read_dir(db).unwrap().map(Result::unwrap);
    let kept = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with("LOG"));
    let bytes =
        |entry: std::fs::DirEntry| (entry.file_name(), std::fs::read(entry.path()).unwrap());
    kept.map(bytes).collect()
}

#[cfg(feature = "rocksdb")]
#[test]
fn reads_leave_a_database_of_another_version_to_the_byte_and_writes_need_consent() {
    let dir = TempDir::new().unwrap();
    let db = dir.path().join("db");
    let call = |line: &str| {
        let line = format!("{line} -P workloada -p rocksdb.dir=db -p dataintegrity=true");
        let done = ycsb(dir.path(), &line);
        (done.status.code(), err(&done))
    };
    assert_eq!(call("load rocksdb").0, Some(0));
    let newest = files(&db)
        .into_iter()
        .rfind(|(name, _)| name.to_string_lossy().starts_with("OPTIONS-"));
    let (name, text) = newest.unwrap();
    let text = String::from_utf8(text).unwrap();
    let version = text
        .lines()
        .find(|line| line.contains("rocksdb_version="))
        .unwrap();
    std::fs::write(
        db.join(name),
        text.replace(version, "rocksdb_version=5.11.3"),
    )
    .unwrap();
    let before = files(&db);
    let reads = "run rocksdb -p readproportion=1 -p updateproportion=0";
    let (code, said) = call(reads);
    assert_eq!(code, Some(0), "{said}");
    assert!(files(&db) == before, "reads changed the database");
    for line in ["run rocksdb", "load rocksdb"] {
        let (status, why) = call(line);
        assert_eq!(status, Some(2), "{why}");
        assert!(
            why.contains("RocksDB 5.11.3") && why.contains("--upgrade"),
            "{why}"
        );
    }
    assert!(
        files(&db) == before,
        "what was refused changed the database"
    );
    let (upgrade_code, upgraded) = call("run rocksdb --upgrade");
    assert_eq!(upgrade_code, Some(0), "{upgraded}");
    assert_eq!(call("run rocksdb").0, Some(0), "it is of this version now");
}

#[cfg(feature = "rocksdb")]
#[test]
fn a_log_directory_is_of_one_database_also_after_a_kill() {
    let dir = TempDir::new().unwrap();
    let line = |action: &str, db: &str| {
        format!("{action} rocksdb -P workloada -p rocksdb.dir={db} -p rocksdb.wal_dir=wal")
    };
    let call = |action: &str, db: &str| {
        let done = ycsb(dir.path(), &line(action, db));
        (done.status.code(), err(&done))
    };
    assert_eq!(call("load", "one").0, Some(0));
    let (code, said) = call("load", "two");
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("/one`") && said.contains("name another directory"),
        "{said}"
    );
    let endless = line("run", "one") + " -p operationcount=2000000000";
    let mut killed = Command::new(PROGRAM)
        .arg("ycsb")
        .args(endless.split_whitespace())
        .current_dir(dir.path())
        .spawn()
        .unwrap();
    let written = || {
        let logs = std::fs::read_dir(dir.path().join("wal")).unwrap();
        let bytes = logs.map(|log| log.unwrap().metadata().unwrap().len());
        bytes.max().unwrap_or(0) > 1 << 20
    };
    while !written() {
        assert!(
            killed.try_wait().unwrap().is_none(),
            "it has ended by itself"
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let (second_code, second) = call("run", "one");
    assert_eq!(second_code, Some(0), "{second}");
}
