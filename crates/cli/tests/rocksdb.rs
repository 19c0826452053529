//! RocksDB in plans, reports and drop-ins: releases from Maven Central, and work that it leaves undone.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};
use tailmark_driver::db;
use tailmark_testing::{assert_says, err, not_installed, out, test};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailmark");

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

/// The jar of a version; the test is ignored without it.
fn jar(version: &str) -> std::path::PathBuf {
    let jar = db::libraries_directory()
        .unwrap()
        .join(db::jar_name(version));
    if !jar.exists() {
        not_installed(format!("RocksDB {version} was not fetched"));
    }
    jar
}

/// Runs the program in a directory.
fn tailmark(dir: &Path, words: &[&str]) -> Output {
    let mut program = Command::new(PROGRAM);
    program.args(words).current_dir(dir).output().unwrap()
}

/// The same, with a cache of its own in the directory.
fn with_cache(dir: &Path, words: &[&str]) -> Output {
    let mut program = Command::new(PROGRAM);
    program.env("XDG_CACHE_HOME", dir.join("cache"));
    program.args(words).current_dir(dir).output().unwrap()
}

/// A plan of small points with these systems, each with a library.
fn plan(dir: &Path, systems: &[(&str, &str)]) {
    let mut text = "title = 'releases'\nsame_device = true\n[dataset]\nrecords = 500\n\
                    field_length = 20\n[sweep]\nworkloads = ['ycsb-c']\nthreads = [1]\n\
                    operations = 500\nrepeats = 1\nwarmup = '0s'\n"
        .to_owned();
    for (name, library) in systems {
        let system = format!(
            "[[system]]\nname = '{name}'\npath = './{name}'\ndatabase = {{ library = '{library}' }}\n"
        );
        text.push_str(&system);
    }
    fs::write(dir.join("plan.toml"), text).unwrap();
}

#[test]
fn a_library_that_stands_in_for_a_missing_one_is_named_in_the_dry_run_the_run_and_the_report() {
    const SAID: &str = "systems a and b: RocksDB 0.1.2 is not fetched, so the embedded 11.12.0 is \
                        used; get it with: tailmark rocksdb fetch 0.1.2";
    let dir = TempDir::new().unwrap();
    plan(
        dir.path(),
        &[("a", "0.1.2 or embedded"), ("b", "0.1.2 or embedded")],
    );
    let dry = tailmark(dir.path(), &["run", "plan.toml", "-o", "out", "--dry-run"]);
    assert_says(&out(&dry), &[SAID]);
    let run = tailmark(dir.path(), &["run", "plan.toml", "-o", "out"]);
    assert!(run.status.success(), "{}", err(&run));
    assert_says(&err(&run), &[SAID]);
    let report = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert_says(&report, &[SAID]);
}

#[test]
fn what_two_releases_differ_in_is_named_once() {
    jar("9.10.0");
    jar("8.1.1.1");
    let dir = TempDir::new().unwrap();
    plan(dir.path(), &[("new", "9.10.0"), ("old", "8.1.1.1")]);
    let run = tailmark(dir.path(), &["run", "plan.toml", "-o", "out"]);
    assert!(run.status.success(), "{}", err(&run));
    let compared = out(&tailmark(dir.path(), &["compare", "out"]));
    let words: Vec<_> = compared.split_whitespace().collect();
    let said = "library 9.10.0 (rocksdbjni-9.10.0.jar) against 8.1.1 (rocksdbjni-8.1.1.1.jar)";
    assert_eq!(words.join(" ").matches(said).count(), 1, "{compared}");
    for misplaced in ["library_sha256", "database build", "format_version"] {
        assert!(!compared.contains(misplaced), "{misplaced}: {compared}");
    }
    let exported = out(&tailmark(
        dir.path(),
        &["export", "out", "--format", "json"],
    ));
    let document: serde_json::Value = serde_json::from_str(&exported).unwrap();
    let unequal = document["unequal"].as_array().unwrap();
    let names = unequal.iter().map(|one| one["condition"].as_str().unwrap());
    let of_database: Vec<_> = names.filter(|name| name.starts_with("database ")).collect();
    assert_eq!(of_database, [""; 0]);
}

#[test]
fn another_library_than_the_one_that_loaded_a_data_set_is_named_with_it() {
    jar("9.10.0");
    let dir = TempDir::new().unwrap();
    plan(dir.path(), &[("a", "9.10.0")]);
    let loaded = tailmark(dir.path(), &["run", "plan.toml", "-o", "out"]);
    assert!(loaded.status.success(), "{}", err(&loaded));
    plan(dir.path(), &[("a", "embedded")]);
    let other = tailmark(dir.path(), &["run", "plan.toml", "-o", "other"]);
    assert!(!other.status.success());
    assert_says(
        &err(&other),
        &["database.library is `embedded`, was `9.10.0`"],
    );
}

#[test]
fn errors_of_db_bench_about_a_library_name_its_flags() {
    jar("5.11.3");
    jar("8.1.1.1");
    let dir = TempDir::new().unwrap();
    for (flags, said) in [
        (
            &["--library=5.11.3", "--enable_blob_files=1"][..],
            "--enable_blob_files is `true`, which RocksDB 5.11.3 does not take (",
        ),
        (
            &["--library=5.11.3", "--compression_level=3"],
            "--compression_level is `3`, which RocksDB 5.11.3 does not take (",
        ),
        (
            &["--library=5.11.3", "--checksum_type=4"],
            "--checksum_type is `4`, which RocksDB 5.11.3 does not take (",
        ),
        (
            &["--library=5.11.3", "--cache_type=hyper_clock_cache"],
            "--cache_type is `hyper_clock_cache`, but it must be left out: RocksDB 5.11.3",
        ),
        (
            &["--library=5.11.3", "--async_io"],
            "--async_io is `true`, but it must be false with the loaded RocksDB 5.11.3",
        ),
        (
            &["--library=8.1.1", "--format_version=7"],
            "--format_version is `7`, but it must be a value that RocksDB 8.1.1 knows (",
        ),
        (
            &["--library=8.99"],
            "--library is `8.99`, but it must be a library that is there: RocksDB 8.99 is not",
        ),
        (
            &["--subcompactions=-3"],
            "--subcompactions is `-3`, which RocksDB 11.12.0 does not take (",
        ),
    ] {
        let words = [&["db-bench", "--db=db", "--benchmarks=fillseq"][..], flags].concat();
        let refused = tailmark(dir.path(), &words);
        assert!(!refused.status.success(), "{flags:?}");
        assert_says(&err(&refused), &[said]);
        assert!(!dir.path().join("db").exists(), "{flags:?}");
    }
}

#[test]
fn db_bench_warns_once_of_what_holds_for_all_its_databases() {
    jar("8.1.1.1");
    let dir = TempDir::new().unwrap();
    for (library, said) in [
        ("8.1.1 or embedded", "computes CRC32C"),
        (
            "0.1.2 or embedded",
            "warning: RocksDB 0.1.2 is not fetched, so the embedded 11.12.0 is used",
        ),
    ] {
        let library = format!("--library={library}");
        let list = ["--num=100", "--benchmarks=fillseq,fillrandom", &library];
        let ran = tailmark(dir.path(), &[&["db-bench", "--db=db"][..], &list].concat());
        assert!(ran.status.success(), "{}", err(&ran));
        assert_eq!(err(&ran).matches(said).count(), 1, "{}", err(&ran));
        fs::remove_dir_all(dir.path().join("db")).unwrap();
    }
}

#[test]
fn a_jar_in_the_cache_that_holds_another_version_than_its_name_says_is_refused() {
    let dir = TempDir::new().unwrap();
    let cache = dir.path().join("cache/tailmark/rocksdb-libraries");
    fs::create_dir_all(&cache).unwrap();
    fs::copy(jar("9.10.0"), cache.join("rocksdbjni-8.1.1.jar")).unwrap();
    let call = |words: &[&str]| with_cache(dir.path(), words);
    let said = "it is RocksDB 9.10.0, but its name says 8.1.1";
    let words = [
        "db-bench",
        "--db=db",
        "--benchmarks=fillseq",
        "--library=8.1.1",
    ];
    let refused = call(&words);
    assert!(!refused.status.success());
    assert_says(&err(&refused), &[said]);
    assert_says(
        &out(&call(&["rocksdb", "list", "--format", "json"])),
        &[said],
    );
}

#[test]
fn a_library_in_the_cache_that_others_can_write_is_not_loaded() {
    let dir = TempDir::new().unwrap();
    let cache = dir.path().join("cache/tailmark/rocksdb-libraries");
    fs::create_dir_all(&cache).unwrap();
    let copy = cache.join("rocksdbjni-8.1.1.1.jar");
    fs::copy(jar("8.1.1.1"), &copy).unwrap();
    let words = [
        "db-bench",
        "--db=db",
        "--benchmarks=fillseq",
        "--num=10",
        "--library=8.1.1",
    ];
    let call = || with_cache(dir.path(), &words);
    for part in [&copy, &cache] {
        let own = fs::metadata(part).unwrap().permissions();
        fs::set_permissions(part, Permissions::from_mode(0o777)).unwrap();
        let refused = call();
        assert!(!refused.status.success());
        let says = ["may be another user's code", "tailmark rocksdb fetch"];
        assert_says(&err(&refused), &says);
        assert!(!dir.path().join("db").exists());
        fs::set_permissions(part, own).unwrap();
    }
    let used = call();
    assert!(used.status.success(), "{}", err(&used));
}

#[test]
fn maven_prints_no_control_sequences_into_our_messages_and_all_versions_are_named() {
    if Command::new("mvn").arg("--version").output().is_err() {
        not_installed("mvn is missing (package maven)");
    }
    let dir = TempDir::new().unwrap();
    // Without the network, in colours as a user's settings may ask for.
    fs::create_dir(dir.path().join(".mvn")).unwrap();
    fs::write(
        dir.path().join(".mvn/maven.config"),
        "-o\n-Dstyle.color=always\n",
    )
    .unwrap();
    let mut program = Command::new(PROGRAM);
    program.env("XDG_CACHE_HOME", dir.path().join("cache"));
    program
        .args(["rocksdb", "fetch", "0.0.1"])
        .current_dir(dir.path());
    let failed = program.output().unwrap();
    assert!(!failed.status.success());
    let said = err(&failed);
    assert_says(&said, &["[ERROR]", "mvn failed", "all versions: https://"]);
    assert!(
        !said.contains('\u{1b}') && !said.contains("u{1b}"),
        "{said}"
    );
}

#[test]
fn a_version_to_fetch_must_be_whole() {
    let dir = TempDir::new().unwrap();
    for version in ["8.1", "v8.1.1", "newest"] {
        let refused = tailmark(dir.path(), &["rocksdb", "fetch", version]);
        assert!(!refused.status.success());
        let said =
            format!("VERSION is `{version}`, but it must be a whole version such as 8.1.1.1");
        assert_says(&err(&refused), &[&said, db::ALL_VERSIONS]);
    }
}

#[test]
fn compactions_that_never_start_are_a_finding_of_the_load_and_of_the_point() {
    let dir = TempDir::new().unwrap();
    plan(dir.path(), &[("a", "embedded")]);
    let family = "disable_auto_compactions=true\nwrite_buffer_size=65536\n";
    let options = format!("[CFOptions \"default\"]\n{family}[CFOptions \"usertable\"]\n{family}");
    fs::write(dir.path().join("options"), options).unwrap();
    let sets = ["dataset.records=5000", "database.options_file=options"];
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let words: Vec<_> = ["run", "plan.toml", "-o", "out"]
        .into_iter()
        .chain(sets)
        .collect();
    let run = tailmark(dir.path(), &words);
    assert!(run.status.success(), "{}", err(&run));
    let exported = out(&tailmark(
        dir.path(),
        &["export", "out", "--format", "json"],
    ));
    for when in ["after the load", "before the point"] {
        let said = format!("was left {when}, and the database did not start it");
        assert_says(&exported, &[said]);
    }
}
