//! `tailmark db-bench` against RocksDB's own: output, data sets both ways, studies.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test that cannot be set up has failed, and says so"
)]
#![cfg(feature = "rocksdb")]

use std::{
    path::Path,
    process::{Command, Output},
};

const TAILMARK: &str = env!("CARGO_BIN_EXE_tailmark");

/// What Debian's db_bench 7.8 can read.
const OLD: [&str; 2] = ["--format_version=5", "--checksum_type=1"];

fn ours(db: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(TAILMARK);
    command
        .arg("db-bench")
        .arg(format!("--db={}", db.display()))
        .args(flags);
    command.output().unwrap()
}

/// The reference; none where it is not installed.
fn theirs(db: &Path, flags: &[&str]) -> Option<Output> {
    let db = format!("--db={}", db.display());
    match Command::new("db_bench").arg(db).args(flags).output() {
        Ok(output) => Some(output),
        Err(_) => {
            eprintln!("skipped: db_bench is not installed (Debian: rocksdb-tools)");
            None
        }
    }
}

fn stdout(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// The result line of a benchmark.
fn result<'a>(text: &'a str, name: &str) -> &'a str {
    let is_result = |line: &&str| line.starts_with(name) && line.contains("micros/op");
    text.lines()
        .find(is_result)
        .unwrap_or_else(|| panic!("{name} is missing in\n{text}"))
}

/// `(632 of 1000 found)`
fn found(line: &str) -> &str {
    &line[line.find('(').expect(line)..]
}

/// The same found ratio: their random streams differ, so the counts of 20,000 draws may differ by
/// five standard deviations of that difference.
fn assert_same_ratio(our: &str, their: &str) {
    let count = |text| -> f64 {
        let message = found(result(text, "readrandom"));
        assert!(message.ends_with(" of 20000 found)"), "{message}");
        let count = message.trim_start_matches('(').split(' ').next();
        count.and_then(|count| count.parse().ok()).unwrap()
    };
    let (ours, theirs) = (count(our), count(their));
    let share = theirs / 20_000.0;
    let sigma = (2.0 * 20_000.0 * share * (1.0 - share)).sqrt();
    assert!(
        (ours - theirs).abs() <= 5.0 * sigma,
        "{ours} against {theirs}"
    );
}

#[test]
fn a_data_set_of_db_bench_is_read_with_the_same_found_count() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let fill = ["--benchmarks=fillrandom", "--num=20000", "--seed=7"];
    let Some(filled) = theirs(&db, &fill) else {
        return;
    };
    stdout(&filled);
    let read = [
        "--benchmarks=readrandom",
        "--use_existing_db",
        "--num=20000",
        "--seed=42",
    ];
    let their = stdout(&theirs(&db, &read).unwrap());
    let our = stdout(&ours(&db, &read));
    assert_same_ratio(&our, &their);
}

#[test]
fn db_bench_reads_our_data_set_with_the_same_found_count() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let mut fill = vec![
        "--benchmarks=fillrandom,flush",
        "--num=20000",
        "--seed=7",
        "--threads=2",
    ];
    fill.extend(OLD);
    stdout(&ours(&db, &fill));
    let read = [
        "--benchmarks=readrandom",
        "--use_existing_db",
        "--num=20000",
        "--seed=42",
    ];
    let Some(their) = theirs(&db, &read) else {
        return;
    };
    let (their, our) = (stdout(&their), stdout(&ours(&db, &read)));
    assert_same_ratio(&our, &their);
}

#[test]
fn every_benchmark_runs_and_prints_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let list = "fillseq,overwrite,readrandom,readmissing,readseq,readreverse,multireadrandom,\
                seekrandom,seekrandomwhilewriting,readwhilewriting,readrandomwriterandom,\
                updaterandom,mixgraph,deleteseq,deleterandom,filluniquerandom,fillrandom,\
                flush,waitforcompaction,compact,levelstats,stats,memstats";
    let benchmarks = format!("--benchmarks={list}");
    let flags = [
        &benchmarks[..],
        "--num=5000",
        "--threads=2",
        "--seed=1",
        "--seek_nexts=5",
        "--batch_size=4",
        "--mix_get_ratio=0.8",
        "--mix_put_ratio=0.1",
        "--mix_seek_ratio=0.1",
        "--statistics",
        "--histogram",
    ];
    let text = stdout(&ours(&db, &flags));
    for name in list.split(',').take(17) {
        let line = result(&text, name);
        assert!(line.contains(" operations;"), "{line}");
    }
    assert!(found(result(&text, "readmissing")).starts_with("(0 of 10000 found)"));
    assert!(found(result(&text, "readrandom ")).starts_with("(10000 of 10000 found)"));
    assert!(found(result(&text, "multireadrandom")).starts_with("(10000 of 10000 found)"));
    assert!(
        result(&text, "readseq").contains(" 10000 operations;"),
        "{text}"
    );
    for part in [
        "Microseconds per read:",
        "Compaction Stats",
        "STATISTICS:",
        "rocksdb.block.cache.hit COUNT : ",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn a_benchmark_is_a_point_of_a_study() {
    let dir = tempfile::tempdir().unwrap();
    let (db, out) = (dir.path().join("db"), dir.path().join("study"));
    let flags = [
        "--benchmarks=fillseq,readwhilewriting",
        "--num=20000",
        "--threads=2",
        "-o",
    ];
    let flags: Vec<_> = flags.into_iter().chain([out.to_str().unwrap()]).collect();
    stdout(&ours(&db, &flags));
    assert!(out.join("report.html").exists());
    let export = Command::new(TAILMARK)
        .args(["export", "--format", "json"])
        .arg(&out)
        .output();
    let json: serde_json::Value = serde_json::from_slice(&export.unwrap().stdout).unwrap();
    let points = json["points"].as_array().unwrap();
    let point = points
        .iter()
        .find(|point| point["workload"] == "readwhilewriting")
        .unwrap();
    assert_eq!(point["operations"], 40_000, "the writer's are not counted");
    assert!(
        point["kinds"]["insert"]["count"].as_u64().unwrap() > 0,
        "but recorded"
    );
    assert_eq!(point["kinds"]["read"]["count"], 40_000);
}

#[test]
fn a_rate_limit_of_the_writer_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    // 116 bytes a record: 500 writes a second, for two seconds.
    let flags = [
        "--benchmarks=fillseq,readwhilewriting",
        "--num=20000",
        "--duration=2",
        "--benchmark_write_rate_limit=58000",
    ];
    let output = ours(&db, &flags);
    stdout(&output);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = said
        .lines()
        .find(|line| line.starts_with("insert (beside the point): "))
        .expect(&said);
    let rate: f64 = line.split_whitespace().nth(4).unwrap().parse().unwrap();
    assert!((400.0..=510.0).contains(&rate), "{line}");
    assert!(line.contains("response us"), "{line}");
}

#[test]
fn wrong_flags_are_refused_before_anything_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    for (flags, said) in [
        (["--benchmarks=readrandm"], "did you mean `readrandom`"),
        (["--value_siz=1"], "--value_size"),
        (["--compression_type=best"], "must be one of"),
        (["--threads=0"], "from 1 to 1024"),
    ] {
        let output = ours(&db, &flags);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && text.contains(said),
            "{flags:?}: {text}"
        );
        assert!(!db.exists(), "{flags:?} made a database");
    }
}
