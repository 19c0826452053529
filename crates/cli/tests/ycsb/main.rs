//! `tailmark ycsb` and `tailmark import ycsb` as they are typed.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod data;

use std::{
    path::Path,
    process::{Command, Output},
};
use tailmark_testing::{err, out};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailmark");
const WORKLOAD: &str = "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=2000\n\
                        operationcount=5000\nreadproportion=0.5\nupdateproportion=0.5\n";

fn ycsb(dir: &Path, line: &str) -> Output {
    std::fs::write(dir.join("workloada"), WORKLOAD).unwrap();
    Command::new(PROGRAM)
        .arg("ycsb")
        .args(line.split_whitespace())
        .current_dir(dir)
        .output()
        .unwrap()
}

#[test]
fn a_call_writes_status_lines_and_the_final_block() {
    let dir = TempDir::new().unwrap();
    let run = ycsb(dir.path(), "run basic -P workloada -s -threads 4 -l lab:");
    let (out, err) = (out(&run), err(&run));
    assert_eq!(run.status.code(), Some(0), "{err}");
    assert!(out.starts_with("[OVERALL], RunTime(ms), "), "{out}");
    assert!(out.contains("[READ], Return=OK, ") && out.contains("[UPDATE], Operations, "));
    assert!(out.contains("[CLEANUP], Operations, 4\n"), "{out}");
    assert!(
        err.contains("Command line: -db site.ycsb.BasicDB -P workloada -s -threads 4 -l lab: -t\n")
    );
    assert!(err.contains("YCSB Client 0.17.0\n") && err.contains("Starting test.\n"));
    assert!(
        err.lines().any(|line| line.starts_with("lab:2")
            && line.contains(" sec: 5000 operations; ")
            && line.contains("[CLEANUP: Count=4, ")),
        "{err}"
    );
}

#[test]
fn a_property_that_nobody_reads_is_named_with_the_nearest() {
    let dir = TempDir::new().unwrap();
    let run = ycsb(
        dir.path(),
        "run basic -P workloada -p requestdistributoin=zipfian",
    );
    assert_eq!(run.status.code(), Some(0));
    assert!(
        err(&run)
            .contains("`requestdistributoin` is not used; did you mean `requestdistribution`?"),
        "{}",
        err(&run)
    );
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_done() {
    let dir = TempDir::new().unwrap();
    for (line, word) in [
        ("run basic -P missing", "missing"),
        ("run basic -P workloada -foo", "Unknown option -foo"),
        ("run rocksbd -P workloada", "rocksbd"),
        ("run mongodb -P workloada", "mongodb"),
        ("run basic", "Missing property: workload"),
        ("run basic -P workloada -p requestdistribution=zipf", "zipf"),
        ("run basic -P workloada -threads 0", "threadcount"),
        (
            "run basic -P workloada -p measurementtype=x",
            "measurementtype",
        ),
    ] {
        let run = ycsb(dir.path(), line);
        assert_eq!(run.status.code(), Some(2), "{line}: {}", err(&run));
        assert!(
            err(&run).contains(word) && out(&run).is_empty(),
            "{line}: {}",
            err(&run)
        );
    }
}

#[test]
fn time_ends_a_run_without_an_operation_count() {
    let dir = TempDir::new().unwrap();
    let run = ycsb(
        dir.path(),
        "run basic -P workloada -p operationcount=0 -p maxexecutiontime=1",
    );
    assert_eq!(run.status.code(), Some(0));
    assert!(err(&run).contains("Maximum execution time specified as: 1 secs"));
    let ms = out(&run)
        .lines()
        .next()
        .and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    assert!(
        ms.is_some_and(|ms| (900..3000).contains(&ms)),
        "{}",
        out(&run)
    );
}

#[test]
fn calls_land_in_one_study() {
    let dir = TempDir::new().unwrap();
    for threads in [1, 2, 2] {
        let line = format!("run basic -P workloada -threads {threads} -o study");
        let run = ycsb(dir.path(), &line);
        assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    }
    let mut export = Command::new(PROGRAM);
    export
        .args(["export", "study", "--format", "json"])
        .current_dir(dir.path());
    let export: serde_json::Value =
        serde_json::from_slice(&export.output().unwrap().stdout).unwrap();
    let points: Vec<_> = export["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| {
            (
                p["workload"].as_str().unwrap(),
                p["threads"].as_u64().unwrap(),
                p["repeat"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        points,
        [
            ("workloada", 1, 1),
            ("workloada", 2, 1),
            ("workloada", 2, 2)
        ]
    );
    assert!(dir.path().join("study/report.html").exists());
    for point in export["points"].as_array().unwrap() {
        let findings = point["findings"].as_array().unwrap();
        let has = |code: &str| findings.iter().any(|finding| finding["code"] == code);
        assert!(has("too-few-samples"), "5,000 requests: {findings:?}");
    }
}

#[test]
fn a_summary_without_logs_keeps_its_latencies() {
    let dir = TempDir::new().unwrap();
    let args = "run basic -P workloada -p exportfile=disk-t1.txt \
                -p hdrhistogram.percentiles=50,99,99.9";
    let run = ycsb(dir.path(), args);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    let mut import = Command::new(PROGRAM);
    import
        .args(["import", "ycsb", "disk-t1.txt", "-o", "study"])
        .current_dir(dir.path());
    assert_eq!(import.output().unwrap().status.code(), Some(0));
    let text = std::fs::read_to_string(dir.path().join("disk-t1.txt")).unwrap();
    let told = |name: &str| {
        let latency = text.lines().find_map(|l| {
            l.strip_prefix("[READ], ")?
                .strip_prefix(name)?
                .strip_prefix("Latency(us), ")
        });
        latency.unwrap().parse::<f64>().unwrap()
    };
    let mut export = Command::new(PROGRAM);
    export
        .args(["export", "study", "--format", "json"])
        .current_dir(dir.path());
    let export: serde_json::Value =
        serde_json::from_slice(&export.output().unwrap().stdout).unwrap();
    let point = &export["points"][0];
    let read = &point["kinds"]["read"];
    assert_eq!(read["only_summary"], true);
    for (name, title) in [
        ("mean", "Average"),
        ("min", "Min"),
        ("p50", "50thPercentile"),
        ("p99", "99thPercentile"),
        ("max", "Max"),
    ] {
        let got = read["service_us"][name].as_f64().unwrap();
        assert!((got - told(title)).abs() < 1e-6, "{name}: {got}");
    }
    // 2,500 reads are too few for it, whoever says it.
    assert!(read["service_us"]["p99.9"].is_null());
    assert_eq!(point["findings"][0]["code"], "summary-only");
}

#[test]
fn its_own_output_and_logs_can_be_imported() {
    let dir = TempDir::new().unwrap();
    let line =
        "run basic -P workloada -threads 3 -p hdrhistogram.fileoutput=true -p exportfile=disk.txt";
    let run = ycsb(dir.path(), line);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    let import = Command::new(PROGRAM)
        .args([
            "import",
            "ycsb",
            "disk.txt",
            "READ.hdr",
            "UPDATE.hdr",
            "--threads",
            "3",
            "-o",
            "study",
        ])
        .args(["--workload", "a"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(import.status.code(), Some(0), "{}", err(&import));
    let export = Command::new(PROGRAM)
        .args(["export", "study", "--format", "csv"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let table = out(&export);
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(
        table.contains("disk,ycsb (imported),a,unknown,3,1,"),
        "{table}"
    );
}

/// Seconds since the start and text of each status line.
fn status_lines(err: &str) -> Vec<(u64, &str)> {
    let lines = err.lines().filter_map(|line| {
        let (before, _) = line.split_once(" sec: ")?;
        Some((before.rsplit(' ').next()?.parse().ok()?, line))
    });
    lines.collect()
}

/// Those who read the lines by their seconds take the first of each.
#[test]
fn the_last_status_line_has_a_second_that_was_told_already() {
    let dir = TempDir::new().unwrap();
    for more in ["-target 1000", ""] {
        let line = format!(
            "run basic -P workloada -s -p status.interval=1 -p operationcount=0 \
             -p maxexecutiontime=2 {more}"
        );
        let err = err(&ycsb(dir.path(), &line));
        let lines = status_lines(&err);
        let seconds: Vec<_> = lines.iter().map(|(second, _)| *second).collect();
        let last = seconds.len() as u64 - 2;
        let expected: Vec<_> = (0..=last).chain([last]).collect();
        assert!(last >= 2 && seconds == expected, "{err}");
        let has_cleanup = |(_, status): &(u64, &str)| status.contains("[CLEANUP: ");
        let (end, before) = lines.split_last().unwrap();
        assert!(has_cleanup(end) && !before.iter().any(has_cleanup), "{err}");
        // Each operation is in one line.
        let numbers = |status: &str, title: &str| -> u64 {
            let found = status.split(title).skip(1);
            let number = |text: &str| -> u64 { text[..text.find(',').unwrap()].parse().unwrap() };
            found.map(number).sum()
        };
        let of_kinds =
            |status: &str| numbers(status, "[READ: Count=") + numbers(status, "[UPDATE: Count=");
        let counted: u64 = lines.iter().map(|(_, status)| of_kinds(status)).sum();
        let told = format!(" sec: {counted} operations; ");
        assert!(end.1.contains(&told), "{counted} in {err}");
    }
}

#[test]
fn histogram_logs_count_their_time_from_the_start() {
    let dir = TempDir::new().unwrap();
    let run = ycsb(
        dir.path(),
        "run basic -P workloada -s -p status.interval=1 -p operationcount=0 -target 1000 \
         -p maxexecutiontime=2 -p hdrhistogram.fileoutput=true",
    );
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    let text = std::fs::read_to_string(dir.path().join("READ.hdr")).unwrap();
    let lines = text
        .lines()
        .filter(|line| line.starts_with(char::is_numeric));
    let times: Vec<[f64; 2]> = lines
        .map(|line| {
            let mut numbers = line.split(',').map(|number| number.parse().unwrap());
            [numbers.next().unwrap(), numbers.next().unwrap()]
        })
        .collect();
    // A busy machine writes several seconds as one.
    let mut end = 0.0;
    for [start, length] in times {
        assert!((start - end).abs() < 0.002, "{text}");
        end = start + length;
    }
    assert!(end > 1.99, "{text}");
    let start = text
        .lines()
        .find_map(|line| line.strip_prefix("#[StartTime: "));
    let start: f64 = start.unwrap().split(' ').next().unwrap().parse().unwrap();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    assert!(start > 1.7e9 && start < now.as_secs_f64(), "{text}");
}

/// Reads of fields that the records do not have fail: throughput is that of all that was tried, as
/// YCSB computes it, and the exit code tells.
#[cfg(feature = "rocksdb")]
#[test]
fn failures_keep_ycsbs_arithmetic_and_the_exit_code_tells_of_them() {
    let dir = TempDir::new().unwrap();
    let load = ycsb(
        dir.path(),
        "load rocksdb -P workloada -p rocksdb.dir=db -p fieldcount=1",
    );
    assert_eq!(load.status.code(), Some(0), "{}", err(&load));
    let run = ycsb(
        dir.path(),
        "run rocksdb -P workloada -p rocksdb.dir=db -p readallfields=false -p readproportion=1 \
         -p updateproportion=0 -p reportlatencyforeacherror=true",
    );
    assert_eq!(run.status.code(), Some(3), "{}", err(&run));
    let out = out(&run);
    let value = |name: &str| -> f64 {
        let value = out.lines().find_map(|line| line.strip_prefix(name));
        value
            .unwrap_or_else(|| panic!("{name} in {out}"))
            .parse()
            .unwrap()
    };
    let (ms, rate) = (
        value("[OVERALL], RunTime(ms), "),
        value("[OVERALL], Throughput(ops/sec), "),
    );
    assert!((rate * ms / 1000.0 - 5000.0).abs() < 1e-6, "{out}");
    let failed = value("[READ-UNEXPECTED_STATE], Operations, ");
    assert!(failed > 0.0);
    assert_eq!(value("[READ], Operations, ") + failed, 5000.0);
    assert_eq!(value("[READ], Return=UNEXPECTED_STATE, "), failed);
}

#[test]
fn a_summary_beside_raw_samples_is_theirs() {
    let dir = TempDir::new().unwrap();
    let run = ycsb(
        dir.path(),
        "load rocksdb -P workloada -p rocksdb.dir=db -threads 4 \
         -p measurementtype=hdrhistogram+raw -p measurement.raw.output_file=raw.csv",
    );
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    let text = std::fs::read_to_string(dir.path().join("raw.csv")).unwrap();
    let samples: Vec<u64> = text
        .lines()
        .filter_map(|line| line.strip_prefix("RawINSERT,"))
        .map(|line| line.rsplit(',').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(samples.len(), 2000, "{text}");
    let sum = samples.iter().sum::<u64>();
    let mean = sum as f64 / samples.len() as f64;
    for name in [
        "[HdrINSERT], AverageLatency(us), ",
        "[RawINSERT], Average, ",
    ] {
        let out = out(&run);
        let printed = out.lines().find_map(|line| line.strip_prefix(name));
        let printed: f64 = printed.expect("its summary").parse().unwrap();
        // Histograms keep three digits.
        assert!((printed / mean - 1.0).abs() < 0.001, "{printed} of {mean}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_found_out_before_the_run() {
    let dir = TempDir::new().unwrap();
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    let load = "load rocksdb -P workloada -p rocksdb.dir=db -p";
    for (property, said) in [
        ("exportfile=missing/out.txt", "missing/out.txt"),
        ("exportfile=folder", "`folder` is a directory"),
        (
            "measurementtype=raw -p measurement.raw.output_file=missing/raw.csv",
            "measurement.raw.output_file",
        ),
    ] {
        let run = ycsb(dir.path(), &format!("{load} {property}"));
        assert_eq!(run.status.code(), Some(2), "{property}: {}", err(&run));
        assert!(err(&run).contains(said), "{property}: {}", err(&run));
        assert!(!dir.path().join("db").exists(), "{property}");
    }
    // What is there stays until there is something to write.
    std::fs::write(dir.path().join("out.txt"), "before").unwrap();
    let run = ycsb(dir.path(), "run mongodb -P workloada -p exportfile=out.txt");
    assert_eq!(run.status.code(), Some(2));
    let kept = std::fs::read_to_string(dir.path().join("out.txt")).unwrap();
    assert_eq!(kept, "before");
}

#[test]
fn a_link_named_ycsb_does_what_ycsb_does() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("workloada"), WORKLOAD).unwrap();
    for name in ["ycsb", "ycsb.sh"] {
        let link = dir.path().join(name);
        std::os::unix::fs::symlink(PROGRAM, &link).unwrap();
        let args = ["run", "basic", "-P", "workloada"];
        let run = Command::new(&link)
            .args(args)
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(0), "{}", err(&run));
        assert!(
            out(&run).starts_with("[OVERALL], RunTime(ms), "),
            "{}",
            out(&run)
        );
    }
}
