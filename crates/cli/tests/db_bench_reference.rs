//! `tailmark db-bench` against RocksDB's own: what is found, data sets both ways, flags.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod db_bench_support;

use db_bench_support::{TAILMARK, found, ours, points, result, stdout};
use std::{
    path::Path,
    process::{Command, Output},
};
use tailmark_driver::db;
use tailmark_testing::{not_installed, test};

/// What Debian's db_bench 7.8 can read.
const OLD: [&str; 2] = ["--format_version=5", "--checksum_type=1"];

/// The reference, `TEST_DB_BENCH` or the one that is installed.
fn theirs(db: &Path, flags: &[&str]) -> Output {
    let db = format!("--db={}", db.display());
    let program = std::env::var_os("TEST_DB_BENCH").unwrap_or_else(|| "db_bench".into());
    let ended = Command::new(program).arg(db).args(flags).output();
    ended.unwrap_or_else(|_| not_installed("db_bench is missing (Debian: rocksdb-tools)"))
}

/// What a list of benchmarks says of what it found, a line each.
fn messages(text: &str) -> Vec<String> {
    let is_result = |line: &&str| line.contains("micros/op") && line.contains('(');
    let lines = text.lines().filter(is_result);
    let message = |line: &str| {
        let name = line.split_whitespace().next().unwrap();
        // How far a seek went depends on what lies behind its key, which the rest does not.
        let found = found(line).split(" value, ").next().unwrap().to_owned();
        format!("{name} {found}")
    };
    lines.map(message).collect()
}

/// Everything that draws keys, with seeds that go on from benchmark to benchmark.
const DRAWING: &str = "--benchmarks=readrandom,readmissing,multireadrandom,seekrandom,compact,\
    overwrite,readrandom,readrandomwriterandom,updaterandom,deleterandom,readrandom,\
    mixgraph,readrandom[X2]";

/// The flags under which they draw, besides the seed.
const DRAWN: [&str; 11] = [
    "--use_existing_db",
    "--num=20000",
    "--reads=9999",
    "--batch_size=7",
    "--mix_get_ratio=0.6",
    "--mix_put_ratio=0.3",
    "--mix_seek_ratio=0.1",
    "--mix_max_scan_len=100",
    "--key_dist_a=0.002312",
    "--key_dist_b=0.3467",
    "--readwritepercent=70",
];

/// The model of key ranges beside the power law.
const RANGES: [&str; 5] = [
    "--keyrange_dist_a=14.18",
    "--keyrange_dist_b=-2.917",
    "--keyrange_dist_c=0.0164",
    "--keyrange_dist_d=-0.08082",
    "--keyrange_num=30",
];

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn one_client_finds_exactly_what_db_bench_finds_with_the_same_seed() {
    let dir = tempfile::tempdir().unwrap();
    for (index, more) in [&[][..], &RANGES, &["--read_random_exp_range=8"]]
        .into_iter()
        .enumerate()
    {
        let db = |who: &str| dir.path().join(format!("{who}-{index}"));
        let fill = ["--benchmarks=fillrandom,flush", "--num=20000", "--seed=7"];
        let flags: Vec<_> = [DRAWING, "--seed=42"]
            .into_iter()
            .chain(DRAWN)
            .chain(OLD)
            .chain(more.iter().copied())
            .collect();
        let filled = theirs(&db("theirs"), &fill);
        stdout(&filled);
        let mut fill = fill.to_vec();
        fill.extend(OLD);
        stdout(&ours(&db("ours"), &fill));
        let their = messages(&stdout(&theirs(&db("theirs"), &flags)));
        let our = messages(&stdout(&ours(&db("ours"), &flags)));
        assert_eq!(their.len(), 11, "{their:#?}");
        assert_eq!(our, their, "{more:?}");
    }
}

/// Data sets of one are read by the other, whatever compresses them.
#[test]
fn data_sets_are_read_in_both_directions() {
    let dir = tempfile::tempdir().unwrap();
    for compression in ["none", "snappy", "zlib", "lz4", "zstd"] {
        let compression = format!("--compression_type={compression}");
        let mut fill = vec![
            "--benchmarks=fillrandom,flush",
            "--num=20000",
            "--seed=7",
            &compression,
        ];
        fill.extend(OLD);
        let read = [
            "--benchmarks=readrandom,readseq",
            "--use_existing_db",
            "--num=20000",
            "--seed=42",
        ];
        let (a, b) = (
            dir.path().join(format!("a{compression}")),
            dir.path().join(format!("b{compression}")),
        );
        let filled = theirs(&a, &fill);
        stdout(&filled);
        stdout(&ours(&b, &fill));
        let mut said = Vec::new();
        for db in [&a, &b] {
            for text in [stdout(&ours(db, &read)), stdout(&theirs(db, &read))] {
                let walked = result(&text, "readseq").split_whitespace().nth(8);
                let walked = walked.unwrap().to_owned();
                said.push((found(result(&text, "readrandom")).to_owned(), walked));
            }
        }
        assert!(said[0].0.ends_with(" of 20000 found)"), "{said:?}");
        assert!(
            said.iter().all(|one| *one == said[0]),
            "{compression}: {said:?}"
        );
    }
}

#[test]
fn every_flag_of_db_bench_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let help = theirs(dir.path(), &["--help"]);
    // `    -name (what it is) type: int32 default: 7`, over several lines.
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    let words: Vec<_> = text.split_whitespace().collect();
    let mut flags: Vec<String> = Vec::new();
    let mut name = None;
    for (at, word) in words.iter().enumerate() {
        let begins = words.get(at + 1).is_some_and(|next| next.starts_with('('));
        if let Some(flag) = word.strip_prefix('-').filter(|_| begins) {
            name = Some(flag);
        } else if *word == "default:"
            && let Some(name) = name.take()
        {
            let default = words[at + 1].trim_matches('"');
            let asks = name.starts_with("help") || ["version", "flagfile"].contains(&name);
            if !asks {
                flags.push(format!("--{name}={default}"));
            }
        }
    }
    assert!(flags.len() > 350, "{}", flags.len());
    flags.push("--help".to_owned());
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    let printed = stdout(&ours(dir.path(), &flags));
    assert!(printed.contains("--benchmarks="), "{printed}");
}

#[test]
fn what_db_bench_printed_is_imported() {
    let dir = tempfile::tempdir().unwrap();
    let flags = [
        "--benchmarks=fillrandom,readrandom,compact,readrandomwriterandom,stats",
        "--num=20000",
        "--seed=7",
        "--histogram",
    ];
    let their = theirs(&dir.path().join("a"), &flags);
    let our = ours(&dir.path().join("b"), &flags);
    for (name, output) in [("theirs", &their), ("ours", &our)] {
        let log = dir.path().join(format!("{name}.log"));
        std::fs::write(log, stdout(output)).unwrap();
    }
    let out = dir.path().join("study");
    let import = Command::new(TAILMARK)
        .args(["import", "db_bench", "theirs.log", "ours.log", "-o"])
        .arg(&out)
        .current_dir(&dir)
        .output();
    stdout(&import.unwrap());
    let points = points(&out);
    assert_eq!(points.len(), 6, "a compaction is no point");
    let misses = |system: &str| {
        let is_it = |p: &&serde_json::Value| p["system"] == system && p["workload"] == "readrandom";
        let point = points.iter().find(is_it).unwrap();
        let read = &point["kinds"]["read"];
        assert_eq!(
            (&point["threads"], &read["count"]),
            (&1.into(), &20_000.into())
        );
        assert!(read["service_us"]["p99"].as_f64().unwrap() > 0.0, "{read}");
        assert_eq!(read["only_summary"], true);
        read["not_found"].as_u64().unwrap()
    };
    assert_eq!(misses("ours"), misses("theirs"));
    let both = points
        .iter()
        .filter(|p| p["workload"] == "readrandomwriterandom");
    for point in both {
        let kinds = ["read", "insert"].map(|kind| point["kinds"][kind]["count"].as_u64());
        assert_eq!(kinds, [Some(18_000), Some(2_000)], "{point}");
    }
}

/// How many of the records each finds: of a data set that one of them made, by default.
#[test]
fn db_bench_reads_what_was_written_here_and_its_own_after_it_was_written_to_here() {
    let dir = tempfile::tempdir().unwrap();
    let fill = ["--benchmarks=fillrandom,flush", "--num=20000", "--seed=7"];
    let read = [
        "--benchmarks=readrandom",
        "--use_existing_db",
        "--num=20000",
        "--seed=42",
    ];
    let write = [
        "--benchmarks=overwrite,flush,compact,overwrite",
        "--use_existing_db",
        "--num=20000",
        "--seed=9",
    ];
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let filled = theirs(&a, &fill);
    stdout(&filled);
    stdout(&ours(&b, &fill));
    for db in [&a, &b] {
        stdout(&ours(db, &write));
        let [our, their] = [ours(db, &read), theirs(db, &read)].map(|output| {
            let text = stdout(&output);
            found(result(&text, "readrandom")).to_owned()
        });
        assert_eq!(our, their);
    }
}

/// Here db_bench cannot read its own afterwards, so that needs consent.
#[test]
fn a_ycsb_load_into_a_database_of_db_bench_is_refused_and_db_bench_reads_it_still() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    stdout(&theirs(&db, &["--benchmarks=fillrandom", "--num=1000"]));
    let load = |more: &[&str]| {
        let place = format!("rocksdb.dir={}", db.display());
        let core = "workload=site.ycsb.workloads.CoreWorkload";
        let words = ["ycsb", "load", "rocksdb", "-p", core, "-p", &place];
        let words = words.iter().chain(&["-p", "recordcount=10"]);
        let mut command = Command::new(TAILMARK);
        command.args(words).args(more).output().unwrap()
    };
    let read = || {
        let flags = ["--benchmarks=readrandom", "--use_existing_db", "--num=1000"];
        theirs(&db, &flags)
    };
    let refused = load(&[]);
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("--upgrade"), "{said}");
    stdout(&read());
    stdout(&load(&["--upgrade"]));
    let locked_out = read();
    let locked = String::from_utf8_lossy(&locked_out.stderr);
    assert!(locked.contains("Column families not opened"), "{locked}");
}

#[test]
fn benchmarks_run_with_another_rocksdb_and_its_data_stays_readable_to_it() {
    let libraries = db::libraries_directory().unwrap_or_default();
    for (version, printed) in [
        ("5.11.3", "5.11.3"),
        ("6.22.1.1", "6.22.1"),
        ("8.1.1.1", "8.1.1"),
    ] {
        if !libraries.join(db::jar_name(version)).exists() {
            not_installed(format!("RocksDB {version} was not fetched"));
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let library = format!("--library={version}");
        let call = |more: &[&str]| ours(&path, &[&["--num=1000"], more].concat());
        let list = "--benchmarks=fillseq,overwrite,readrandom,seekrandom,multireadrandom";
        let ran = call(&[list, &library]);
        let line = format!("RocksDB:    version {printed}\n");
        assert!(stderr(&ran).contains(&line), "{}", stderr(&ran));
        let all_found = "(1000 of 1000 found)";
        assert!(found(result(&stdout(&ran), "readrandom")).starts_with(all_found));

        let overwrite = ["--benchmarks=overwrite", "--use_existing_db"];
        let embedded = stderr(&call(&overwrite));
        assert_eq!(
            embedded.contains("--upgrade"),
            version == "5.11.3",
            "{embedded}"
        );
        let again = call(&[
            "--benchmarks=overwrite,readrandom",
            "--use_existing_db",
            &library,
        ]);
        assert!(found(result(&stdout(&again), "readrandom")).starts_with(all_found));
    }
    let dir = tempfile::tempdir().unwrap();
    let missing = ours(
        &dir.path().join("db"),
        &["--benchmarks=fillseq", "--library=0.1.2"],
    );
    let said = stderr(&missing);
    assert!(said.contains("tailmark rocksdb fetch 0.1.2"), "{said}");
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
