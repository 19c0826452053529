//! `tailmark db-bench`: output, studies, and db_bench's workloads in plans.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test that cannot be set up has failed, and says so"
)]
#![cfg(feature = "rocksdb")]

mod db_bench_support;

use db_bench_support::{TAILMARK, found, ours, points, result, stdout};
use serde_json::Value;
use std::{
    path::Path,
    process::{Command, Output},
};

/// The point of the readers in a study.
fn read_while_writing(study: &Path) -> Value {
    let is_it = |point: &Value| point["workload"] == "readwhilewriting";
    points(study).into_iter().find(is_it).unwrap()
}

#[test]
fn every_benchmark_runs_and_prints_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let list = "fillseq,overwrite,readrandom,readmissing,readseq,readreverse,multireadrandom,\
                seekrandom,seekrandomwhilewriting,readwhilewriting,readrandomwriterandom,\
                updaterandom,mixgraph,deleteseq,deleterandom,filluniquerandom,fillrandom,\
                flush,compact0,waitforcompaction,compact,compact1,levelstats,stats,memstats";
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
fn a_cache_of_no_bytes_is_none() {
    for size in ["--cache_size=0", "--cache_size=-1"] {
        let dir = tempfile::tempdir().unwrap();
        let flags = ["--benchmarks=fillseq,flush,readrandom", "--num=500", size];
        let text = stdout(&ours(&dir.path().join("db"), &flags));
        assert!(found(result(&text, "readrandom")).starts_with("(500 of 500 found)"));
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
    let point = read_while_writing(&out);
    assert_eq!(point["operations"], 40_000, "the writer's are not counted");
    assert!(
        point["kinds"]["insert"]["count"].as_u64().unwrap() > 0,
        "but recorded"
    );
    assert_eq!(point["kinds"]["read"]["count"], 40_000);
}

#[test]
fn the_end_of_a_walk_is_no_missing_record() {
    let dir = tempfile::tempdir().unwrap();
    let (db, out) = (dir.path().join("db"), dir.path().join("study"));
    let (list, out) = ("--benchmarks=fillrandom,readseq", out.to_str().unwrap());
    stdout(&ours(&db, &[list, "--num=500", "-o", out]));
    let is_walk = |point: &Value| point["workload"] == "readseq";
    let walk = points(Path::new(out)).into_iter().find(is_walk).unwrap();
    assert_eq!(walk["kinds"]["read"]["not_found"], 1, "{walk}");
    let findings = walk["findings"].as_array().unwrap();
    assert!(findings.iter().all(|f| f["code"] != "misses"), "{walk}");
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
        .find(|line| line.starts_with("insert (background clients): "))
        .expect(&said);
    let rate: f64 = line.split_whitespace().nth(3).unwrap().parse().unwrap();
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

fn run(words: &[&str]) -> Output {
    Command::new(TAILMARK)
        .arg("run")
        .args(words)
        .output()
        .unwrap()
}

#[test]
fn a_plan_measures_the_readers_and_records_the_writer() {
    let dir = tempfile::tempdir().unwrap();
    let (system, out) = (
        format!("a={}", dir.path().display()),
        dir.path().join("study"),
    );
    let out = out.to_str().unwrap();
    let words = [
        "--system",
        &system,
        "--driver",
        "rocksdb",
        "--workload",
        "fillseq,readwhilewriting",
        "--records",
        "5000",
        "--threads",
        "2",
        "--operations",
        "20000",
        "--warmup",
        "0s",
        "--set",
        "database.layout=raw",
        "--set",
        "dataset.fields=1",
        "--set",
        "dataset.field_length=100",
        "--set",
        "sweep.background_rate=1000",
        "-o",
        out,
    ];
    stdout(&run(&words));
    let point = read_while_writing(out.as_ref());
    assert_eq!(point["operations"], 20_000);
    assert_eq!(point["kinds"]["read"]["not_found"], 0);
    assert!(point["kinds"]["insert"]["count"].as_u64().unwrap() > 0);
}

#[test]
fn the_plan_of_2023_is_shipped_and_can_be_scaled() {
    let output = run(&["micron-7450-dbbench", "--scale", "0.00001", "--dry-run"]);
    // Its places are examples.
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stdout);
    for workload in ["readwhilewriting", "readrandomwriterandom", "readrandom"] {
        assert!(text.contains(workload), "{text}");
    }
}

#[test]
fn records_of_db_bench_need_the_raw_layout() {
    let dir = tempfile::tempdir().unwrap();
    let system = format!("a={}", dir.path().display());
    let words = [
        "--system",
        &system,
        "--driver",
        "rocksdb",
        "--workload",
        "readrandom",
        "--set",
        "dataset.fields=1",
    ];
    let output = run(&words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("database.layout"),
        "{said}"
    );
}

/// The flags that RocksDB's benchmark.sh gives to every benchmark, with small numbers.
const SCRIPT: [&str; 36] = [
    "--undefok=use_blob_cache,multiread_batched,cache_low_pri_pool_ratio",
    "--num=20000",
    "--key_size=20",
    "--value_size=400",
    "--block_size=8192",
    "--cache_size=67108864",
    "--cache_numshardbits=6",
    "--compression_max_dict_bytes=0",
    "--compression_ratio=0.5",
    "--compression_type=zstd",
    "--bytes_per_sync=1048576",
    "--benchmark_write_rate_limit=2097152",
    "--write_buffer_size=1048576",
    "--target_file_size_base=1048576",
    "--max_bytes_for_level_base=4194304",
    "--verify_checksum=1",
    "--delete_obsolete_files_period_micros=62914560",
    "--max_bytes_for_level_multiplier=8",
    "--statistics=0",
    "--stats_per_interval=1",
    "--stats_interval_seconds=1",
    "--report_interval_seconds=1",
    "--histogram=1",
    "--memtablerep=skip_list",
    "--bloom_bits=10",
    "--open_files=-1",
    "--subcompactions=1",
    "--compaction_style=0",
    "--num_levels=8",
    "--min_level_to_compress=-1",
    "--level_compaction_dynamic_level_bytes=true",
    "--pin_l0_filter_and_index_blocks_in_cache=1",
    "--level0_file_num_compaction_trigger=4",
    "--level0_slowdown_writes_trigger=20",
    "--max_background_jobs=2",
    "--max_write_buffer_number=8",
];

/// What the script takes of a log: how a line begins and which of its words, counted from 1, hold
/// numbers.
const COLUMNS: [(&str, &[usize]); 10] = [
    ("Percentiles:", &[3, 5, 7, 9, 11]),
    ("Min: ", &[2, 4, 6]),
    ("Uptime(secs", &[2]),
    ("Cumulative stall", &[5]),
    ("Cumulative compaction", &[3, 6]),
    ("Flush(GB)", &[3]),
    (" Sum", &[3, 15, 16, 21, 22]),
    ("Blob file count:", &[4, 7]),
    ("Cumulative writes", &[3, 5]),
    ("Date:", &[4, 6]),
];

/// Benchmarks as its jobs call them.
const CASES: [(&str, &[&str]); 5] = [
    (
        "fillseq",
        &[
            "--use_existing_db=0",
            "--disable_wal=1",
            "--memtablerep=vector",
        ],
    ),
    (
        "overwrite",
        &["--use_existing_db=1", "--duration=2", "--threads=2"],
    ),
    (
        "readwhilewriting",
        &[
            "--use_existing_db=1",
            "--duration=2",
            "--merge_operator=put",
        ],
    ),
    (
        "seekrandom",
        &["--use_existing_db=1", "--duration=2", "--seek_nexts=10"],
    ),
    (
        "multireadrandom",
        &["--use_existing_db=1", "--duration=2", "--batch_size=10"],
    ),
];

#[test]
fn what_benchmark_sh_looks_for_is_where_it_looks() {
    let dir = tempfile::tempdir().unwrap();
    // A link of the name that the script calls.
    let program = dir.path().join("db_bench");
    std::os::unix::fs::symlink(TAILMARK, &program).unwrap();
    for (name, more) in CASES {
        let rows = dir.path().join(format!("{name}.csv"));
        let output = Command::new(&program)
            .arg(format!("--benchmarks={name},stats"))
            .arg(format!("--db={}", dir.path().join("db").display()))
            .arg(format!("--wal_dir={}", dir.path().join("wal").display()))
            .arg(format!("--report_file={}", rows.display()))
            .args(SCRIPT)
            .args(more)
            .output()
            .unwrap();
        let log = stdout(&output) + &String::from_utf8_lossy(&output.stderr);
        let words = |start: &str| -> Vec<&str> {
            let line = log.lines().rfind(|line| line.starts_with(start));
            line.unwrap_or_else(|| panic!("{name}: no `{start}` in\n{log}"))
                .split_whitespace()
                .collect()
        };
        let is_number = |word: &str| {
            let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
            digits.parse::<f64>().is_ok() || word.split(':').count() == 3
        };
        for (start, columns) in COLUMNS {
            let words = words(start);
            for column in columns {
                let word = words.get(column - 1).unwrap_or(&"");
                assert!(is_number(word), "{name}: word {column} of {words:?}");
            }
        }
        let line = words(name);
        assert_eq!((line[5], line[7]), ("ops/sec", "seconds"), "{line:?}");
        assert!(line.len() >= 12 && line[11] == "MB/s", "{line:?}");
        assert!(words("Cumulative writes").contains(&"ingest:"));
        let starting = log.lines().filter(|l| l.starts_with(name)).count();
        assert_eq!(starting, 1, "one line begins with the benchmark: {log}");
        if name != "fillseq" {
            let rows = std::fs::read_to_string(rows).unwrap();
            assert!(rows.starts_with("secs_elapsed,interval_qps\n1,"), "{rows}");
        }
    }
    let own = std::fs::read_to_string(dir.path().join("db/LOG")).unwrap();
    assert!(own.contains("RocksDB version:"));
}

/// The rows of a report file.
fn rows(path: &std::path::Path) -> Vec<[u64; 2]> {
    let text = std::fs::read_to_string(path).unwrap();
    let row = |line: &str| {
        let (seconds, operations) = line.split_once(',').unwrap();
        [seconds.parse().unwrap(), operations.parse().unwrap()]
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn the_report_file_has_a_row_for_every_full_interval() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows.csv");
    let report = format!("--report_file={}", file.display());
    let flags = [
        "--benchmarks=fillseq,readrandom",
        "--num=1000",
        "--report_interval_seconds=1",
        "--duration=2",
        "--threads=2",
        &report,
    ];
    let text = stdout(&ours(&dir.path().join("db"), &flags));
    let rows = rows(&file);
    let words: Vec<_> = result(&text, "readrandom").split_whitespace().collect();
    let (seconds, operations): (f64, u64) = (words[6].parse().unwrap(), words[8].parse().unwrap());
    let ends: Vec<_> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(ends, Vec::from_iter(1..=seconds as u64), "{text}");
    let told: u64 = rows.iter().map(|row| row[1]).sum();
    assert!(told > 0 && told <= operations, "{rows:?}");
}

#[test]
fn mixgraph_counts_the_bytes_that_it_reads() {
    let dir = tempfile::tempdir().unwrap();
    let line = |ratios: [&str; 2]| {
        let [get, put] = ratios;
        let flags = [
            "--benchmarks=mixgraph",
            "--num=1000",
            &format!("--mix_get_ratio={get}"),
            &format!("--mix_put_ratio={put}"),
        ];
        let text = stdout(&ours(&dir.path().join("db"), &flags));
        result(&text, "mixgraph").to_owned()
    };
    let puts = line(["0", "1"]);
    assert!(
        puts.contains(" Puts:1000 ") && !puts.contains("MB/s"),
        "{puts}"
    );
}

#[test]
fn reads_and_writes_of_all_threads_add_up_to_the_total() {
    let dir = tempfile::tempdir().unwrap();
    let flags = [
        "--benchmarks=fillseq,readrandomwriterandom",
        "--num=1000",
        "--reads=1000",
        "--threads=2",
    ];
    let text = stdout(&ours(&dir.path().join("db"), &flags));
    let line = result(&text, "readrandomwriterandom");
    assert!(line.contains(" 2000 operations;"), "{line}");
    let count = |name: &str| {
        let (_, rest) = line.split_once(name).unwrap();
        let digits = rest.split([' ', ')']).next().unwrap();
        digits.parse::<u64>().unwrap()
    };
    assert_eq!(count("total:"), 2_000, "{line}");
    assert_eq!(count("reads:") + count("writes:"), 2_000, "{line}");
    assert_eq!(count("found:"), count("reads:"), "{line}");
}

#[test]
fn a_database_is_written_in_the_format_of_db_bench_7_and_keeps_what_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let format = |more: &[&str]| {
        let flags = [&["--benchmarks=overwrite", "--num=100"], more].concat();
        stdout(&ours(&db, &flags));
        let files = std::fs::read_dir(&db)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let newest = files
            .filter(|path| path.to_str().unwrap().contains("OPTIONS-"))
            .max();
        let text = std::fs::read_to_string(newest.unwrap()).unwrap();
        let value = |name: &str| {
            let value = text.lines().find_map(|line| line.trim().strip_prefix(name));
            value.unwrap().to_owned()
        };
        [value("format_version="), value("checksum=")]
    };
    let file = dir.path().join("options.ini");
    let text = "[Version]\nrocksdb_version=7.8.3\noptions_file_version=1.1\n[DBOptions]\n\
                [CFOptions \"default\"]\n[TableOptions/BlockBasedTable \"default\"]\n";
    std::fs::write(&file, text).unwrap();
    let file = &format!("--options_file={}", file.display())[..];
    let existing = "--use_existing_db";
    for (flags, expected) in [
        (&[][..], ["5", "kXXH3"]),
        (
            &["--format_version=4", "--checksum_type=1"],
            ["4", "kCRC32c"],
        ),
        (&[existing], ["4", "kCRC32c"]),
        // A file that tells no format decides nothing.
        (&[existing, file], ["4", "kCRC32c"]),
        (&[file], ["5", "kXXH3"]),
        (&[existing, "--format_version=7"], ["7", "kXXH3"]),
    ] {
        assert_eq!(format(flags), expected, "{flags:?}");
    }
}

#[test]
fn another_databases_logs_and_version_are_left_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let (db, wal) = (dir.path().join("db"), dir.path().join("wal"));
    std::fs::create_dir(&wal).unwrap();
    std::fs::write(wal.join("000004.log"), "foreign").unwrap();
    let fill = [
        "--benchmarks=fillseq",
        "--num=100",
        &format!("--wal_dir={}", wal.display()),
    ];
    let refused = ours(&db, &fill);
    assert!(!refused.status.success());
    assert!(
        stderr(&refused).contains("(000004.log)"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(std::fs::read(wal.join("000004.log")).unwrap(), b"foreign");

    stdout(&ours(&db, &["--benchmarks=fillseq", "--num=100"]));
    let files = || {
        let entries = std::fs::read_dir(&db).unwrap().map(|entry| entry.unwrap());
        let kept = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with("LOG"));
        let files = kept.map(|entry| (entry.path(), std::fs::read(entry.path()).unwrap()));
        files.collect::<std::collections::BTreeMap<_, _>>()
    };
    let is_options = |path: &std::path::Path| path.to_str().unwrap().contains("OPTIONS-");
    let (path, text) = files()
        .into_iter()
        .rfind(|(path, _)| is_options(path))
        .unwrap();
    let text = String::from_utf8(text).unwrap();
    let line = text.lines().find(|line| line.contains("rocksdb_version="));
    let text = text.replace(line.unwrap(), "rocksdb_version=5.11.3");
    std::fs::write(path, text).unwrap();
    let before = files();
    let existing = |list: &str, more: &[&str]| {
        let benchmarks = format!("--benchmarks={list}");
        let flags = [&benchmarks, "--num=100", "--use_existing_db"];
        ours(&db, &[&flags[..], more].concat())
    };
    let read = stdout(&existing("readrandom,levelstats", &[]));
    assert!(found(result(&read, "readrandom")).starts_with("(100 of 100 found)"));
    assert!(files() == before, "reads changed the database");
    for list in ["overwrite", "readrandom,compact"] {
        let changed = existing(list, &[]);
        assert!(
            stderr(&changed).contains("--upgrade"),
            "{}",
            stderr(&changed)
        );
        assert!(files() == before, "{list} changed the database");
    }
    stdout(&existing("overwrite", &["--upgrade"]));
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
