//! The drop-in against YCSB itself: the jar `site.ycsb:core:0.17.0` and what it needs, in the
//! directory `tailmark/ycsb` of the user's cache. Without it, or without Java, the tests are
//! ignored.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::PathBuf,
    process::{Command, Output},
    sync::Arc,
};
use tailmark_driver::{DataSet, Operation, Schema};
use tailmark_testing::{not_installed, test};
use tailmark_workload::{
    ClientGroup, Distribution, Item, KeySpace, Mix, Stream, StreamConfig, Workload, key,
    key::KeyName,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailmark");
const DRAWS: u32 = 1_000_000;
/// Single keys that are counted besides.
const FIRST: usize = 50;

/// The class path of the reference.
fn class_path() -> String {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let cache = cache.unwrap_or_else(|| home().join(".cache"));
    let jars = cache.join("tailmark/ycsb");
    let has_java = Command::new("java")
        .arg("-version")
        .output()
        .is_ok_and(|o| o.status.success());
    if has_java && jars.join("core-0.17.0.jar").exists() {
        return jars.join("*").display().to_string();
    }
    let jars = jars.display();
    not_installed(format!("no Java, or no core-0.17.0.jar in {jars}"))
}

fn java(class_path: &str, words: &[&str]) -> String {
    let output = Command::new("java")
        // A file in /tmp by its process number, which a Java of another host of the tests may have:
        // that it is locked is said on standard output.
        .arg("-XX:-UsePerfData")
        .args(["-cp", class_path])
        .args(words)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

fn draws(class_path: &str, words: &[&str]) -> String {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/Draws.java");
    java(class_path, &[&[source], words].concat())
}

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn keys_have_the_names_of_the_reference() {
    let class_path = class_path();
    let mut name = KeyName::new();
    let names = draws(&class_path, &["names", "100000"]);
    assert_eq!(names.lines().count(), 100_000);
    for (number, expected) in (0..).zip(names.lines()) {
        name.set(number);
        assert_eq!(name.key().name, expected.as_bytes(), "key {number}");
    }
}

/// A stream of reads from so many records.
fn reads(distribution: Distribution, records: u64) -> Stream {
    let mix = Mix {
        read: 1.0,
        ..Mix::NONE
    };
    let fields = vec!["field0".to_owned()];
    Stream::new(&StreamConfig {
        workload: Arc::new(Workload::new(
            "reads",
            "",
            ClientGroup::new(mix, distribution),
        )),
        group: 0,
        data: DataSet {
            schema: Schema {
                table: "usertable".to_owned(),
                fields,
            },
            records,
            field_length: 1,
        },
        keys: Arc::new(KeySpace::new(records, records)),
        seed: 1,
        client: 0,
        operations: None,
        write_all_fields: false,
        compressibility: 0.0,
    })
    .unwrap()
}

/// The key that a distribution is to favour at a rank.
fn favoured(name: &str, rank: u64, records: u64) -> u64 {
    match name {
        "zipfian" => key::hash(rank) % (records + 1),
        "latest" | "exponential" => records - 1 - rank,
        _ => rank,
    }
}

/// Over a thousand parts of the records, the tail among them, and for the first ranks one by one.
#[test]
fn every_distribution_draws_as_the_reference_does() {
    let class_path = class_path();
    for records in [1_000_u64, 1_000_000] {
        for name in [
            "uniform",
            "zipfian",
            "latest",
            "hotspot",
            "exponential",
            "sequential",
        ] {
            let words = [name, &records.to_string(), &DRAWS.to_string()];
            let theirs = draws(&class_path, &words);
            let theirs: Vec<f64> = theirs.lines().map(|count| count.parse().unwrap()).collect();
            let mut ours = vec![0.0; 1000 + FIRST];
            let mut first = BTreeMap::new();
            for rank in 0..FIRST {
                first
                    .entry(favoured(name, rank as u64, records))
                    .or_insert(1000 + rank);
            }
            let mut stream = reads(Distribution::parse(name).unwrap(), records);
            for _ in 0..DRAWS {
                let Item::One(Operation::Read { key, .. }) = stream.next_item() else {
                    panic!("only reads are drawn")
                };
                ours[(key.number * 1000 / records) as usize] += 1.0;
                if let Some(rank) = first.get(&key.number) {
                    ours[*rank] += 1.0;
                }
            }
            assert_eq!(theirs.len(), ours.len());
            for (bin, (a, b)) in ours.iter().zip(&theirs).enumerate() {
                // Both counts vary; their difference has the variance of their sum.
                let bound = 6.0 * (a + b).max(1.0_f64).sqrt();
                assert!(
                    (a - b).abs() <= bound,
                    "{name} of {records}, bin {bin}: {a} and {b}"
                );
            }
        }
    }
}

/// Runs both on the database that does nothing; the lines of both without their values.
fn lines(class_path: &str, more: &[&str]) -> [BTreeSet<String>; 2] {
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("workload");
    let text = "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=1000\noperationcount=20000\n\
                readproportion=0.4\nupdateproportion=0.3\nscanproportion=0.1\ninsertproportion=0.1\n\
                readmodifywriteproportion=0.1\nrequestdistribution=zipfian\n";
    std::fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    let common = ["-P", &file, "-threads", "2", "-p", "basicdb.verbose=false"];
    let theirs = ["site.ycsb.Client", "-db", "site.ycsb.BasicDB"];
    let theirs = java(class_path, &[&theirs[..], &common, more].concat());
    let ours: Output = Command::new(PROGRAM)
        .args(["ycsb", "-db", "site.ycsb.BasicDB"])
        .args(common)
        .args(more)
        .output()
        .unwrap();
    assert!(
        ours.status.success(),
        "{}",
        String::from_utf8_lossy(&ours.stderr)
    );
    let ours = String::from_utf8(ours.stdout).unwrap();
    // What Java says of its garbage collectors by name is none of ours, and how many seconds of a
    // series there are depends on how busy the machine is.
    let is_own = |line: &&str| {
        let at: Option<u64> = line.split(", ").nth(1).and_then(|name| name.parse().ok());
        let is_counted = !line.starts_with("[TOTAL_GC")
            || line.starts_with("[TOTAL_GCs]")
            || line.starts_with("[TOTAL_GC_TIME]")
            || line.starts_with("[TOTAL_GC_TIME_%]");
        is_counted && at.is_none_or(|ms| ms == 0)
    };
    let names = |printed: &str| {
        let lines = printed.lines().filter(is_own);
        lines
            .map(|line| {
                line.rsplit_once(", ")
                    .map_or(line, |(name, _)| name)
                    .to_owned()
            })
            .collect()
    };
    [names(&ours), names(&theirs)]
}

#[test]
fn the_output_has_the_lines_of_the_reference() {
    let class_path = class_path();
    for more in [
        &["-t"][..],
        &["-load"],
        &["-t", "-p", "measurement.interval=both", "-target", "100000"],
        &["-t", "-p", "measurementtype=histogram"],
        &["-t", "-p", "measurementtype=hdrhistogram+histogram"],
        &["-t", "-p", "hdrhistogram.percentiles=50,99.9,99.99"],
        &["-t", "-p", "measurementtype=timeseries"],
    ] {
        let [ours, theirs] = lines(&class_path, more);
        assert_eq!(ours, theirs, "{more:?}");
    }
}

/// Data sets of one are read and changed by the other.
#[cfg(feature = "rocksdb")]
mod rocksdb {
    use super::{PROGRAM, class_path, java};
    use std::{
        collections::BTreeMap,
        path::{Path, PathBuf},
        process::Command,
    };
    use tailmark_testing::{not_installed, test};

    /// YCSB's client with records in this version of RocksDB, as its binding stores them; the
    /// class is compiled into `dir`.
    fn with_rocksdb(dir: &Path, version: &str) -> String {
        let jars = PathBuf::from(class_path().trim_end_matches('*'));
        let all = std::fs::read_dir(&jars)
            .unwrap()
            .map(|entry| entry.unwrap().path().display().to_string());
        let jar = format!("rocksdbjni-{version}.jar");
        let is_taken = |path: &String| path.ends_with(&jar) || !path.contains("/rocksdbjni-");
        let all: Vec<_> = all.filter(is_taken).collect();
        if !all.iter().any(|path| path.ends_with(&jar)) {
            not_installed(format!("no {jar} in {}", jars.display()));
        }
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/Records.java");
        let out = dir.display().to_string();
        let path = all.join(":");
        let compiler = Command::new("java")
            .args([
                "-m",
                "jdk.compiler/com.sun.tools.javac.Main",
                "-cp",
                &path,
                "-d",
                &out,
                source,
            ])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&compiler.stderr);
        assert!(compiler.status.success(), "{said}");
        format!("{path}:{out}")
    }

    /// What both do with the database `db` in `dir`: records that tell what they must be.
    fn common(dir: &Path, records: u64) -> Vec<String> {
        let file = dir.join("workload");
        let text = format!(
            "workload=site.ycsb.workloads.CoreWorkload\nrecordcount={records}\n\
         operationcount={records}\nreadproportion=1\nupdateproportion=0\n\
         requestdistribution=sequential\ndataintegrity=true\nrocksdb.dir={}\n",
            dir.join("db").display()
        );
        std::fs::write(&file, text).unwrap();
        vec!["-P".to_owned(), file.display().to_string()]
    }

    /// The value of a line of the output.
    fn value(text: &str, name: &str) -> Option<u64> {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.parse().ok())
    }

    /// Has the reference do something; every request of it must succeed.
    fn reference(class_path: &str, dir: &Path, records: u64, more: &[&str]) -> String {
        let common = common(dir, records);
        let words = ["site.ycsb.Client", "-db", "Records"].into_iter();
        let words = words
            .chain(common.iter().map(String::as_str))
            .chain(more.iter().copied());
        let text = java(class_path, &words.collect::<Vec<_>>());
        let returns = text.lines().filter(|line| line.contains("Return="));
        let failed: Vec<_> = returns.filter(|line| !line.contains("Return=OK")).collect();
        assert!(failed.is_empty() && text.contains("Return=OK"), "{text}");
        text
    }

    /// The same, of ours, with memtables so small that much is flushed and compacted.
    fn tailmark(dir: &Path, records: u64, action: &str, more: &[&str]) -> String {
        let output = Command::new(PROGRAM)
            .args([
                "ycsb",
                action,
                "rocksdb",
                "-p",
                "rocksdb.write_buffer=256KiB",
            ])
            .args(common(dir, records))
            .args(more)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let files = std::fs::read_dir(dir.join("db")).unwrap();
        let is_table = |name: std::ffi::OsString| name.to_string_lossy().ends_with(".sst");
        let tables = files
            .filter(|file| is_table(file.as_ref().unwrap().file_name()))
            .count();
        assert!(tables > 0, "nothing was flushed");
        String::from_utf8(output.stdout).unwrap()
    }

    const CHANGE: [&str; 6] = [
        "-p",
        "readproportion=0",
        "-p",
        "updateproportion=0.7",
        "-p",
        "insertproportion=0.3",
    ];

    #[test]
    fn what_the_reference_loaded_it_reads_after_it_was_changed_here() {
        let dir = tempfile::TempDir::new().unwrap();
        let class_path = with_rocksdb(dir.path(), "6.2.2");
        reference(&class_path, dir.path(), 5000, &["-load"]);
        let changed = tailmark(dir.path(), 5000, "run", &CHANGE);
        let inserted = value(&changed, "[INSERT], Return=OK, ").unwrap();
        assert!(value(&changed, "[UPDATE], Return=OK, ").unwrap() > 3000);
        let all = 5000 + inserted;
        let read = reference(&class_path, dir.path(), all, &["-t"]);
        assert_eq!(value(&read, "[VERIFY], Return=OK, "), Some(all), "{read}");
    }

    #[test]
    fn what_is_loaded_the_reference_reads_and_changes() {
        let dir = tempfile::TempDir::new().unwrap();
        let class_path = with_rocksdb(dir.path(), "6.2.2");
        tailmark(dir.path(), 5000, "load", &[]);
        let read = reference(&class_path, dir.path(), 5000, &["-t"]);
        assert_eq!(value(&read, "[VERIFY], Return=OK, "), Some(5000), "{read}");
        let more = [&["-t"][..], &CHANGE].concat();
        let changed = reference(&class_path, dir.path(), 5000, &more);
        let all = 5000 + value(&changed, "[INSERT], Return=OK, ").unwrap();
        let verified = tailmark(dir.path(), all, "run", &[]);
        assert_eq!(
            value(&verified, "[VERIFY], Return=OK, "),
            Some(all),
            "{verified}"
        );
    }

    #[test]
    fn with_the_rocksdb_of_the_released_ycsb_each_reads_and_changes_what_the_other_wrote() {
        let classes = class_path();
        let jars = classes.trim_end_matches('*');
        let jar = format!("tailmark.library={jars}rocksdbjni-5.11.3.jar");
        let library = ["-p", &*jar];
        let change = [&library[..], &CHANGE].concat();
        for loads_here in [true, false] {
            let dir = tempfile::TempDir::new().unwrap();
            let class_path = with_rocksdb(dir.path(), "5.11.3");
            if loads_here {
                tailmark(dir.path(), 5000, "load", &library);
            } else {
                reference(&class_path, dir.path(), 5000, &["-load"]);
            }
            let read = reference(&class_path, dir.path(), 5000, &["-t"]);
            assert_eq!(value(&read, "[VERIFY], Return=OK, "), Some(5000), "{read}");
            let inserts = |text: &str| value(text, "[INSERT], Return=OK, ").unwrap();
            let here = 5000 + inserts(&tailmark(dir.path(), 5000, "run", &change));
            let more = [&["-t"][..], &CHANGE].concat();
            let there = reference(&class_path, dir.path(), here, &more);
            let all = here + inserts(&there);
            let verified = tailmark(dir.path(), all, "run", &library);
            assert_eq!(
                value(&verified, "[VERIFY], Return=OK, "),
                Some(all),
                "{verified}"
            );
            let last = reference(&class_path, dir.path(), all, &["-t"]);
            assert_eq!(value(&last, "[VERIFY], Return=OK, "), Some(all), "{last}");
        }
    }

    /// Every file of the database with its bytes; RocksDB's own logs of what it does apart.
    fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = std::fs::read_dir(dir.join("db")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let is_log = |path: &PathBuf| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("LOG")
        };
        let kept = paths.filter(|path| !is_log(path));
        kept.map(|path| (path.clone(), std::fs::read(path).unwrap()))
            .collect()
    }

    /// The rows of the driver's table whose jars are collected.
    #[test]
    fn a_version_reads_what_the_table_says_after_a_run_here() {
        for (version, reads_what_is_written) in [("5.11.3", false), ("6.2.2", true)] {
            let dir = tempfile::TempDir::new().unwrap();
            let class_path = with_rocksdb(dir.path(), version);
            reference(&class_path, dir.path(), 3000, &["-load"]);
            let before = files(dir.path());
            let ycsb = |more: &[&str]| {
                let words = [
                    "ycsb",
                    "run",
                    "rocksdb",
                    "-p",
                    "rocksdb.write_buffer=256KiB",
                ];
                let common = common(dir.path(), 3000);
                let output = Command::new(PROGRAM)
                    .args(words)
                    .args(common)
                    .args(more)
                    .output();
                let output = output.unwrap();
                (output.status.success(), tailmark_testing::err(&output))
            };
            let (reads, unchanged) = ycsb(&[]);
            assert!(reads, "{unchanged}");
            assert!(
                files(dir.path()) == before,
                "reads changed what {version} wrote"
            );
            let (writes, said) = ycsb(&CHANGE);
            assert_eq!(writes, reads_what_is_written, "{version}: {said}");
            if !reads_what_is_written {
                assert!(said.contains("--upgrade"), "{said}");
                assert!(files(dir.path()) == before, "a refused run changed it");
                reference(&class_path, dir.path(), 3000, &["-t"]);
                let (upgraded, upgrade) = ycsb(&[&CHANGE[..], &["--upgrade"]].concat());
                assert!(upgraded, "{upgrade}");
            }
            let words = ["site.ycsb.Client", "-db", "Records", "-t"].map(str::to_owned);
            let read = Command::new("java")
                .args(["-XX:-UsePerfData", "-cp", &class_path])
                .args(words.iter().chain(&common(dir.path(), 3000)))
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&read.stdout);
            let is_read = value(&text, "[VERIFY], Return=OK, ") == Some(3000);
            assert_eq!(is_read, reads_what_is_written, "{version}: {text}");
        }
    }
}
