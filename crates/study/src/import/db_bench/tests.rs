//! Output of db_bench, old and new, and its tables.

use super::*;
use std::path::PathBuf;

fn import(text: &str) -> Vec<Imported> {
    let source = Source {
        path: PathBuf::from("nvme.log"),
        bytes: text.as_bytes().to_vec(),
    };
    read(&[source], &Given::default()).unwrap()
}

#[test]
fn reads_that_a_limit_held_back_are_at_a_rate_and_writes_are_not() {
    let text = "Read rate: 2000 ops/second\n\
                fillseq : 10.0 micros/op 100000 ops/sec 1.0 seconds 100000 operations;\n\
                readrandom : 500.0 micros/op 2000 ops/sec 10.0 seconds 20000 operations;\n";
    let rates = |printed: &str| -> Vec<Option<f64>> {
        let all = output(printed, "a", &Given::default());
        all.iter().map(|imported| imported.target_rate).collect()
    };
    assert_eq!(rates(text), [None, Some(2_000.0)]);
    let without = text.replace("Read rate: 2000", "Read rate: 0");
    assert_eq!(rates(&without), [None, None]);
}

#[test]
fn at_a_rate_the_response_time_is_unknown() {
    let text = "Read rate: 2000 ops/second\n\
                readrandom : 500.0 micros/op 2000 ops/sec 10.0 seconds 20000 operations;\n\
                Microseconds per read:\n\
                Count: 20000 Average: 12.0000  StdDev: 1.0\n\
                Min: 5  Median: 11.0000  Max: 90\n\
                Percentiles: P50: 11.00 P75: 12.00 P99: 30.00 P99.9: 60.00 P99.99: 80.00\n";
    let source = Source {
        path: PathBuf::from("nvme.log"),
        bytes: text.as_bytes().to_vec(),
    };
    let all = IMPORT.import(&[source], &Given::default()).unwrap();
    let read = &all[0].phase.kinds[&Kind::Read];
    let mean = read.ranked_service().mean().map(|mean| mean.value);
    assert_eq!(
        (mean, read.ranked_response().mean()),
        (Some(12_000.0), None)
    );
}

#[test]
fn a_short_result_has_the_rate_that_is_printed() {
    let text = "readrandom : 4.368 micros/op 457823 ops/sec 0.004 seconds 2000 operations;\n\
                readrandom : 10000000.000 micros/op 3 ops/sec 30.512 seconds 100 operations;\n";
    let rates = import(text)
        .into_iter()
        .map(|own| own.phase.ops_per_sec().round());
    // The seconds of the first, and the rate of the second, have one digit.
    assert_eq!(rates.collect::<Vec<_>>(), [457_823.0, 3.0]);
    let long = &import(text)[1].phase;
    assert_eq!(long.duration_s, 30.512);
}

#[test]
fn a_result_is_read_with_its_histogram() {
    let text = include_str!("../../../tests/inputs/db_bench.txt");
    let all = import(text);
    assert_eq!(all.len(), 2);
    let read = &all[0];
    assert_eq!(
        (read.system.as_str(), read.workload.as_deref()),
        ("nvme", Some("readrandom"))
    );
    assert_eq!((read.threads, read.phase.operations), (4, 2_000_000));
    let kind = &read.phase.kinds[&Kind::Read];
    assert_eq!((kind.count, kind.not_found), (2_000_000, 736_000));
    assert!(kind.service.is_empty());
    let summary = kind.summary.as_ref().unwrap();
    let numbers = ["min", "mean", "p50", "p99.9", "max"].map(|name| summary.number(name));
    for (number, ns) in numbers
        .into_iter()
        .zip([1e3, 3512.3, 3330.0, 14_810.0, 890e3])
    {
        assert!((number.unwrap() - ns).abs() < 1e-6, "{number:?} {ns}");
    }
    let codes = |at: usize| {
        all[at]
            .phase
            .findings
            .iter()
            .map(|finding| finding.code.as_str())
    };
    // All threads were busy to the end, so their number is certain.
    assert_eq!(codes(0).collect::<Vec<_>>(), [SUMMARY_ONLY.name]);
    assert_eq!(
        (all[1].threads, codes(1).next()),
        (1, Some(SUMMARY_ONLY.name))
    );
}

/// A run of 64 threads, some of which ended early.
const OF_64: &str = "readrandom   :       9.281 micros/op 6765443 ops/sec 4.021 seconds 27206592 \
                     operations;  748.5 MB/s (413000 of 425000 found)\n";

#[test]
fn threads_that_are_not_stated_are_an_estimate_with_a_finding() {
    let estimated = &import(OF_64)[0];
    assert_eq!(estimated.threads, 63);
    let mut findings = estimated.phase.findings.iter();
    let finding = findings
        .find(|finding| THREADS_ESTIMATED.is_of(finding))
        .unwrap();
    assert!(
        finding.text().contains("62.79 of them"),
        "{}",
        finding.text()
    );
    let named = |path: &str, text: &str, threads| {
        let source = Source {
            path: path.into(),
            bytes: text.as_bytes().to_vec(),
        };
        let given = Given {
            threads,
            ..Given::default()
        };
        let point = IMPORT.import(&[source], &given).unwrap().remove(0);
        assert!(!THREADS_ESTIMATED.is_among(&point.phase.findings));
        point.threads
    };
    assert_eq!(named("readrandom.t64.log", OF_64, None), 64);
    let command = format!("db_bench --benchmarks=readrandom --threads=64 --num=1\n{OF_64}");
    assert_eq!(named("out.txt", &command, None), 64);
    assert_eq!(named("out.txt", &command, Some(65)), 65);
}

#[test]
fn progress_on_the_line_of_a_result_is_no_part_of_its_name() {
    let progress = "... finished 100 ops            \r... finished 200 ops            \r";
    let all = import(&format!("{OF_64}{progress}{OF_64}"));
    let names: Vec<_> = all.iter().map(|point| point.workload.as_deref()).collect();
    assert_eq!(names, [Some("readrandom"); 2]);
}

#[test]
fn what_was_not_found_is_counted_of_every_benchmark_that_reads() {
    let histogram = "Microseconds per read:\nCount: 36000 Average: 2.0000 StdDev: 1.00\n";
    for (line, expected) in [
        (
            "readrandom : 7.7 micros/op 250000 ops/sec 0.160 seconds 40000 operations; 46.0 MB/s (34693 of 40000 found)",
            5307,
        ),
        (
            "readrandom : 7.7 micros/op 250000 ops/sec 0.160 seconds 40000 operations; 46.0 MB/s (41 of 40 found)",
            0,
        ),
        (
            "mixgraph : 17.2 micros/op 115920 ops/sec 0.345 seconds 40000 operations; 22.1 MB/s ( Gets:36000 Puts:4000 \
          Seek:0, reads 33379 in 36000 found, avg size: 10.0 value, nan scan)",
            2621,
        ),
        (
            "readrandomwriterandom : 25.3 micros/op 78922 ops/sec 0.507 seconds 40000 operations; ( reads:36000 \
          writes:4000 total:40000 found:33068)",
            2932,
        ),
    ] {
        let text = format!("{line}\n{histogram}");
        let point = &import(&text)[0];
        let read = &point.phase.kinds[&Kind::Read];
        assert_eq!(read.not_found, expected, "{line}");
    }
}

#[test]
fn a_result_of_an_old_version_says_that_its_length_is_unknown() {
    let text = "readrandom   :      10.218 micros/op 3131616 ops/sec; 1254.3 MB/s (1 of 1 found)\n";
    let point = &import(text)[0];
    assert!((point.phase.ops_per_sec() - 3_131_616.0).abs() < 1.0);
    assert_eq!(point.threads, 32);
    assert_eq!(point.phase.findings[0].code, LENGTH_UNKNOWN.name);
}

#[test]
fn a_number_that_nothing_was_measured_as_is_none() {
    for seconds in ["NaN", "inf", "2.1e-320", "-1"] {
        let text =
            format!("fillseq : 2.000 micros/op 500 ops/sec {seconds} seconds 500 operations;");
        let phase = &import(&text)[0].phase;
        assert!((phase.ops_per_sec() - 500.0).abs() < 1e-9, "{seconds}");
        assert_eq!(phase.findings[0].code, LENGTH_UNKNOWN.name);
    }
}

#[test]
fn a_table_is_read_row_by_row() {
    let text = "# ops_sec - operations per second\n\
                ops_sec\tmb_sec\tusec_op\tp50\tp99\tpmax\tuptime\tstall%\ttest\n\
                1000\t3.5\t64000.0\t61.5\t900\t5000\t60\t1.5\treadwhilewriting.t64\n\
                failed\t\t\t\t\t\t\t\toverwrite.t64.s0\n";
    let all = import(text);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].threads, all[0].phase.operations), (64, 60_000));
    assert_eq!(all[0].workload.as_deref(), Some("readwhilewriting"));
    let read = &all[0].phase.kinds[&Kind::Read];
    assert_eq!((read.count, read.bytes), (60_000, 3_670_016 * 60));
    let summary = read.summary.as_ref().unwrap();
    assert_eq!(summary.number("p99"), Some(900_000.0));
    assert_eq!(summary.number(Summary::MAX), Some(5_000_000.0));
    assert_eq!(all[0].phase.counters["stall_permille"], 15);
}

#[test]
fn the_bytes_of_a_benchmark_of_several_kinds_are_known_where_it_had_one_kind_alone() {
    let line = "mixgraph     :       5.845 micros/op 342183 ops/sec 2.000 seconds 200000 operations;   \
                37.9 MB/s ( Gets:200000 Puts:0 Seek:0, reads 200000 in 200000 found, avg size: nan value, nan scan)\n";
    let block =
        |word: &str| format!("Microseconds per {word}:\nCount: 100000 Average: 2.5 StdDev: 9.1\n");
    let database = |text: &str| import(text)[0].phase.bandwidth().database;
    let one = database(&format!("{line}{}", block("read"))).unwrap();
    assert!((one - 37.9 * 1.048_576).abs() < 0.01, "{one}");
    assert_eq!(
        database(&format!("{line}{}{}", block("read"), block("write"))),
        None
    );
}

#[test]
fn warm_ups_are_no_repeats() {
    let result = |micros: u32| {
        format!("readrandom   :  {micros}.000 micros/op 500 ops/sec 1.0 seconds 500 operations;\n")
    };
    let text = [
        "Warming up benchmark by running 2 times\n".to_owned(),
        result(90),
        result(80),
        "Running benchmark for 3 times\n".to_owned(),
        result(2),
        result(3),
        "readrandom [AVG    2 runs] : 500 (\u{b1} 0) ops/sec\n".to_owned(),
        result(4),
    ];
    let all = import(&text.concat());
    let micros = all.iter().map(|i| i.phase.counters["operation_ns"]);
    assert_eq!(micros.collect::<Vec<_>>(), [2_000, 3_000, 4_000]);
}

#[test]
fn ranges_forward_and_backward_are_two_workloads() {
    let result = "seekrandom   :  2.000 micros/op 500 ops/sec 1.0 seconds 500 operations;\n";
    let workload = |path: &str, text: &str| {
        let source = Source {
            path: PathBuf::from(path),
            bytes: text.as_bytes().to_vec(),
        };
        let mut all = read(&[source], &Given::default()).unwrap();
        all.remove(0).workload.unwrap()
    };
    // The files of benchmark.sh, and a log that begins with its command.
    assert_eq!(workload("benchmark_fwdrange.t8.log", result), "fwdrange");
    assert_eq!(workload("benchmark_revrange.t8.log", result), "revrange");
    let writing = result.replace("seekrandom ", "seekrandomwhilewriting ");
    let path = "benchmark_revrangewhilewriting.t8.log";
    assert_eq!(workload(path, &writing), "revrangewhilewriting");
    let command = |flag: &str| format!("./db_bench --benchmarks=seekrandom {flag}\n{result}");
    for (flag, expected) in [
        ("--reverse_iterator=true", "revrange"),
        ("--reverse_iterator=false", "seekrandom"),
        ("", "seekrandom"),
    ] {
        assert_eq!(workload("x.log", &command(flag)), expected, "{flag}");
    }
}

#[test]
fn what_is_neither_is_refused() {
    let source = Source {
        path: PathBuf::from("x"),
        bytes: b"hello: world".to_vec(),
    };
    assert!(read(&[source], &Given::default()).is_err());
}
