//! What a run refuses before it measures anything, its dry run refuses too, and changes nothing.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use rust_rocksdb::{DB, DBCompactionStyle, Options};
use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs,
    path::Path,
    process::Output,
};
use tailmark_testing::{Mounted, Program, assert_says, contents, err, out, test};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

/// A few reads of 1,000 records.
const RUN: &str = "run --records 1000 --set dataset.fields=1 --operations 100 \
                   --threads 1 --warmup 0s --workload ycsb-c --set machine.drop_caches=false";

/// Runs with these flags, on `place` and into `out` unless they name others.
fn run(dir: &Path, flags: &str) -> Output {
    let unless = |named, usual| if flags.contains(named) { "" } else { usual };
    let system = unless("--system", "--system disk=place");
    let line = format!("{RUN} {system} {} {flags}", unless("-o ", "-o out"));
    let words: Vec<&str> = line.split_whitespace().collect();
    TAILMARK.run(dir, &words)
}

/// A case: its flags, what is done before to a database of another program in `place`, and words of
/// the refusal.
struct Case {
    flags: &'static str,
    before: fn(&Path),
    says: &'static str,
}

const CASES: &[Case] = &[
    Case {
        flags: "--adopt=overwrite --workload ycsb-a",
        before: |dir| reopen(dir, DBCompactionStyle::Fifo),
        says: "keeps records for 3600 s (FIFO compaction",
    },
    Case {
        flags: "--adopt=overwrite --workload ycsb-a --set database.options_file=o.ini",
        before: |dir| {
            let fifo = "[CFOptions \"default\"]\ncompaction_style=kCompactionStyleFIFO\n\
                        [CFOptions \"usertable\"]\ncompaction_style=kCompactionStyleFIFO\n";
            options_file(dir, fifo);
        },
        says: "does not use FIFO compaction",
    },
    Case {
        flags: "--adopt --set dataset.field_length=77",
        before: |_| {},
        says: "but the plan says 77",
    },
    Case {
        flags: "--adopt=overwrite --workload ycsb-a --set database.format_version=7",
        before: by_an_older_version,
        says: "--upgrade",
    },
    Case {
        flags: "--adopt=overwrite --workload ycsb-a --set database.checksum=xxh3",
        before: by_an_older_version,
        says: "--upgrade",
    },
    Case {
        flags: "--adopt --set database.wal_dir=logs",
        before: |_| {},
        says: "it does not exist, and adopted data has its log there",
    },
    Case {
        flags: "--system disk=new --set database.options_file=o.ini",
        before: |dir| options_file(dir, REFUSED),
        says: "direct I/O reads",
    },
    Case {
        flags: "--adopt=overwrite --workload ycsb-a --set database.options_file=o.ini",
        before: |dir| options_file(dir, REFUSED),
        says: "direct I/O reads",
    },
    Case {
        flags: "--adopt",
        before: |dir| {
            let tables = contents(&dir.join("place/rocksdb")).into_keys();
            let mut tables = tables.filter(|path| path.extension() == Some(OsStr::new("sst")));
            fs::remove_file(tables.next().unwrap()).unwrap();
        },
        says: ".sst",
    },
    Case {
        flags: "--adopt -o file/out",
        before: |dir| fs::write(dir.join("file"), "").unwrap(),
        says: "file/out",
    },
    Case {
        flags: "--adopt -o first --set sweep.seed=5",
        before: |_| {},
        says: "holds a study of another plan",
    },
];

/// Lines of an options file that RocksDB reads, and then refuses together.
const REFUSED: &str = "use_direct_reads=true\nallow_mmap_reads=true\n[CFOptions \"default\"]\n";

fn options_file(dir: &Path, lines: &str) {
    let head = "[Version]\nrocksdb_version=8.1.1\noptions_file_version=1.1\n[DBOptions]\n";
    fs::write(dir.join("o.ini"), format!("{head}{lines}")).unwrap();
}

/// Another program opens the database.
fn reopen(dir: &Path, style: DBCompactionStyle) {
    let mut options = Options::default();
    options.set_compaction_style(style);
    if style == DBCompactionStyle::Fifo {
        options.set_ttl(3600);
    }
    let families = ["default", "usertable"].map(|name| (name, options.clone()));
    drop(DB::open_cf_with_opts(&options, dir.join("place/rocksdb"), families).unwrap());
}

/// As RocksDB 6.2.2 would have written the database.
fn by_an_older_version(dir: &Path) {
    for (path, text) in contents(&dir.join("place/rocksdb")) {
        if path.to_string_lossy().contains("/OPTIONS-") {
            let text = String::from_utf8(text).unwrap();
            let older = text.replace("rocksdb_version=11.12.0", "rocksdb_version=6.2.2");
            assert_ne!(older, text);
            fs::write(path, older).unwrap();
        }
    }
}

/// A directory with a database of another program in `place`.
fn with_theirs() -> TempDir {
    let dir = TempDir::new().unwrap();
    let loaded = run(dir.path(), "-o first");
    assert_eq!(loaded.status.code(), Some(0), "{}", err(&loaded));
    fs::remove_file(dir.path().join("place/rocksdb.dataset.json")).unwrap();
    reopen(dir.path(), DBCompactionStyle::Level);
    dir
}

/// The names in a directory, also of empty directories.
fn names(dir: &Path) -> BTreeSet<OsString> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

/// Asserts that a dry run is refused and changes nothing, and that the run is refused.
fn refused(dir: &Path, flags: &str, says: &str) {
    let before = (names(dir), contents(dir));
    let dry = run(dir, &format!("{flags} --dry-run"));
    assert_eq!(
        dry.status.code(),
        Some(2),
        "{flags}: {}{}",
        out(&dry),
        err(&dry)
    );
    assert_says(&out(&dry), &["cannot be run", says]);
    let after = (names(dir), contents(dir));
    assert!(after == before, "{flags}: the dry run changed something");
    let ran = run(dir, flags);
    assert_eq!(ran.status.code(), Some(2), "{flags}: {}", err(&ran));
    assert_says(&err(&ran), &[says]);
}

#[test]
fn a_dry_run_is_refused_wherever_its_run_is_refused_and_changes_nothing() {
    for Case {
        flags,
        before,
        says,
    } in CASES
    {
        let dir = with_theirs();
        before(dir.path());
        refused(dir.path(), flags, says);
    }
}

#[test]
fn a_dry_run_of_what_runs_ends_with_success() {
    let dir = with_theirs();
    for flags in [
        "--adopt",
        "--adopt=overwrite --workload ycsb-a",
        "--system disk=new",
        "--system disk=new --driver file",
        "--system disk=new --set database.wal_dir=logs",
    ] {
        let before = (names(dir.path()), contents(dir.path()));
        let dry = run(dir.path(), &format!("{flags} --dry-run"));
        assert_eq!(dry.status.code(), Some(0), "{flags}: {}", out(&dry));
        let after = (names(dir.path()), contents(dir.path()));
        assert!(after == before, "{flags}: the dry run changed something");
    }
    // A second dry run sees what the first run left.
    let new = "--system disk=new --set database.wal_dir=logs";
    for more in ["", "--dry-run"] {
        let ran = run(dir.path(), &format!("{new} {more}"));
        assert_eq!(ran.status.code(), Some(0), "{}{}", out(&ran), err(&ran));
    }
}

#[test]
fn a_dry_run_is_refused_if_a_directory_is_mounted_read_only() {
    let dir = with_theirs();
    let point = dir.path().join("mounted");
    fs::create_dir(&point).unwrap();
    let args = ["-ttmpfs", "-oro", "tailmark-test"].map(OsStr::new);
    let _mounted = Mounted::new(&args, &point);
    for flags in [
        "--adopt -o mounted/out",
        "--system disk=mounted/data",
        "--system disk=mounted --driver file",
        "--system disk=new --set database.wal_dir=mounted",
    ] {
        refused(dir.path(), flags, "Read-only file system");
    }
}
