//! Output and logs of YCSB, and texts that are none.

use super::*;
use tailmark_model::Bounded;
use tailmark_model::{finding::RATE_NOT_MET, new_latencies};

const TEXT: &str = include_str!("../../../tests/inputs/ycsb.txt");

fn source(path: &str, bytes: &[u8]) -> Source {
    Source {
        path: path.into(),
        bytes: bytes.to_vec(),
    }
}

fn one(sources: &[Source]) -> Imported {
    IMPORT.import(sources, &Given::default()).unwrap().remove(0)
}

fn at_least(ns: f64) -> Option<Bounded> {
    Some(Bounded::at_least(ns))
}

#[test]
fn a_text_tells_the_point_and_its_counts() {
    let imported = one(&[source("disk-a.txt", TEXT.as_bytes())]);
    assert_eq!((imported.system.as_str(), imported.threads), ("disk", 16));
    assert_eq!(imported.workload.as_deref(), Some("workloada"));
    assert_eq!(
        (imported.distribution.as_str(), imported.target_rate),
        ("zipfian", Some(5000.0))
    );
    let phase = imported.phase;
    assert_eq!((phase.operations, phase.duration_s), (90_000, 20.0));
    let read = &phase.kinds[&Kind::Read];
    assert_eq!((read.count, read.not_found, read.errors), (44_960, 60, 40));
    assert_eq!(phase.errors(), 40);
    assert_eq!((phase.failed, phase.ops_per_sec()), (40, 4498.0));
    let known = read.ranked_service();
    // YCSB's numbers are of the 44,960 that succeeded; 40 failed.
    assert_eq!((known.mean(), known.max()), (at_least(120_500.0), None));
    assert_eq!(
        known.quantile(tailmark_model::QUANTILES[2]),
        at_least(300_000.0)
    );
    let counts: Vec<_> = phase.intervals.iter().map(|i| i.operations).collect();
    assert_eq!(counts, [50_000, 40_000]);
    assert_eq!(phase.findings[0].code, SUMMARY_ONLY.name);
    let missed = phase
        .findings
        .iter()
        .find(|found| RATE_NOT_MET.is_of(found));
    let missed = missed.unwrap().text();
    assert!(missed.contains("4,498 ops/s of 5,000 ops/s"), "{missed}");
}

#[test]
fn response_times_at_a_rate_are_unknown_if_the_output_lacks_them() {
    let is_service = |line: &&str| !line.starts_with("[Intended-");
    let lines: Vec<&str> = TEXT.lines().filter(is_service).collect();
    let imported = one(&[source("disk-a.txt", lines.join("\n").as_bytes())]);
    let read = &imported.phase.kinds[&Kind::Read];
    assert!(read.ranked_service().mean().is_some());
    assert!(read.has_response());
    let response = read.ranked_response();
    assert_eq!((response.mean(), response.max()), (None, None));
    // As fast as possible there is one time.
    let fast = lines.join("\n").replace("-target", "-p target_of_old=");
    let fast = one(&[source("disk-a.txt", fast.as_bytes())]);
    assert_eq!(fast.target_rate, None);
    assert!(!fast.phase.kinds[&Kind::Read].has_response());
}

#[test]
fn every_way_to_sum_up_latencies_is_read() {
    let known = |text: &str, group: &str| {
        let lines: Vec<_> = text.lines().filter_map(text_line).collect();
        let summary = summary(group, &lines).unwrap_or_default();
        let numbers = summary.numbers().map(|(name, ns)| format!("{name} {ns}"));
        numbers.collect::<Vec<_>>().join(", ")
    };
    let hdr = "[READ], Operations, 5\n[READ], AverageLatency(us), 1.5\n\
               [READ], MinLatency(us), 1\n[READ], MaxLatency(us), 9\n\
               [READ], 50thPercentileLatency(us), 2\n[READ], 99.9PercentileLatency(us), 8\n\
               [READ], Return=OK, 5\n[READ], 0, 5.0\n\
               [Intended-READ], 99thPercentileLatency(us), 70\n";
    assert_eq!(
        known(hdr, "READ"),
        "max 9000, mean 1500, min 1000, p50 2000, p99.9 8000"
    );
    assert_eq!(known(hdr, "Intended-READ"), "p99 70000");
    assert_eq!(known(hdr, "UPDATE"), "");
    let raw = "[READ], Total Operations, 5\n\
               [READ], Below is a summary of latency in microseconds:, -1\n\
               [READ], Average, 1.5\n[READ], p99.99, 7\n[READ], Return=OK, 5\n";
    assert_eq!(known(raw, "READ"), "mean 1500, p99.99 7000");
    let milliseconds = "[READ], AverageLatency(us), 3.3\n[READ], LatencyVariance(us), 7.0\n\
                        [READ], 95thPercentileLatency(us), 0\n\
                        [READ], 99thPercentileLatency(us), 120000\n";
    assert_eq!(known(milliseconds, "READ"), "mean 3300, p99 120000000");
}

#[test]
fn of_two_measurements_the_histograms_are_read() {
    let both = |line: &str| match line.strip_prefix("[READ]") {
        Some(rest) => format!("[HdrREAD]{rest}\n[RawREAD], Total Operations, 9\n"),
        None => line.replace("[UPDATE]", "[HdrUPDATE]") + "\n",
    };
    let text: String = TEXT.lines().map(both).collect();
    let kinds = |of: &str| one(&[source("disk-a.txt", of.as_bytes())]).phase.kinds;
    assert_eq!(kinds(&text), kinds(TEXT));
}

#[test]
fn json_says_the_same_as_text() {
    let object = |(group, name, value): ResultValue| {
        serde_json::json!({ "metric": group, "measurement": name, "value": value }).to_string()
    };
    let objects: Vec<_> = TEXT.lines().filter_map(text_line).map(object).collect();
    for text in [objects.join(" "), format!("[{}]", objects.join(","))] {
        let imported = one(&[source("disk-t8.json", text.as_bytes())]);
        assert_eq!((imported.threads, imported.phase.operations), (8, 90_000));
        assert_eq!(imported.phase.kinds[&Kind::Update].count, 45_000);
        let read = &imported.phase.kinds[&Kind::Read];
        assert_eq!(read.ranked_response().mean(), at_least(120_500.0));
    }
}

#[test]
fn what_the_user_says_counts_first() {
    let given = Given {
        system: Some("Disk A".into()),
        workload: Some("a".into()),
        threads: Some(3),
        ..Given::default()
    };
    let imported = read(&[source("x-t8.txt", TEXT.as_bytes())], &given)
        .unwrap()
        .remove(0);
    assert_eq!((imported.system.as_str(), imported.threads), ("Disk A", 3));
    assert_eq!(imported.workload.as_deref(), Some("a"));
}

#[test]
fn a_log_brings_the_whole_histogram() {
    use hdrhistogram::serialization::{
        V2DeflateSerializer, interval_log::IntervalLogWriterBuilder,
    };
    use std::time::{Duration, UNIX_EPOCH};
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .with_start_time(UNIX_EPOCH + Duration::from_secs(1_000_000))
        .begin_log_with(&mut bytes, &mut serializer)
        .unwrap();
    for second in 0..2 {
        let mut us = new_latencies();
        us.record_n(100 + second * 900, 22_450).unwrap();
        let at = Duration::from_secs(1_000_000 + second * 10);
        writer
            .write_histogram(&us, at, Duration::from_secs(10), None)
            .unwrap();
    }
    drop(writer);
    // Without status lines the logs say what was done, if there is one of each kind.
    let lines = TEXT.lines().filter(|line| !line.contains(" sec: "));
    let all: String = lines.map(|line| format!("{line}\n")).collect();
    let reads = all.replace("[UPDATE]", "[OTHER]");
    let intervals = |text: &str| -> Vec<u64> {
        let log = source("out/READ.hdr", &bytes);
        let phase = one(&[source("d.txt", text.as_bytes()), log]).phase;
        phase.intervals.iter().map(|i| i.operations).collect()
    };
    assert_eq!(intervals(&reads), [22_450, 22_450]);
    assert!(intervals(&all).is_empty());
    let imported = one(&[
        source("d.txt", TEXT.as_bytes()),
        source("out/READ.hdr", &bytes),
    ]);
    assert_eq!(imported.phase.started_ms, Some(1_000_000_000));
    let read = &imported.phase.kinds[&Kind::Read];
    assert_eq!(read.service.len(), 44_900);
    assert!(read.service.equivalent(read.service.max(), 1_000_000));
    let interval = &imported.phase.intervals[1].kinds[&Kind::Read];
    assert_eq!(interval.service.unpack().len(), 22_450);
}

#[test]
fn pairs_are_told_whether_or_not_they_succeeded() {
    // Of 1,000 operations 500 are pairs; 300 of their updates failed, and 10 reads.
    let text = "[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 1000\n\
                [READ], Operations, 990\n[READ], Return=OK, 990\n[READ], Return=ERROR, 10\n\
                [UPDATE], Operations, 200\n[UPDATE], Return=ERROR, 300\n\
                [READ-MODIFY-WRITE], Operations, 500\n";
    let told = |output: &str| {
        let phase = one(&[source("d.txt", output.as_bytes())]).phase;
        let pairs = &phase.kinds[&Kind::ReadModifyWrite];
        (pairs.count, pairs.errors, phase.failed)
    };
    assert_eq!(told(text), (200, 300, 310));
    // Of 600 failed reads at least 100 were those of pairs, whose updates succeeded.
    let reads_failed = text
        .replace(", 990", ", 400")
        .replace("ERROR, 10\n", "ERROR, 600\n")
        .replace("[UPDATE], Operations, 200", "[UPDATE], Operations, 500")
        .replace("[UPDATE], Return=ERROR, 300\n", "");
    assert_eq!(told(&reads_failed), (400, 100, 600));
}

#[test]
fn reads_that_were_not_as_written_have_failed() {
    let text = |verify: &str| {
        format!(
            "[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 1000\n\
             [READ], Operations, 990\n[READ], Return=OK, 990\n[READ], Return=NOT_FOUND, 10\n\
             [VERIFY], Operations, 1000\n{verify}"
        )
    };
    let phase = |verify: &str| one(&[source("d.txt", text(verify).as_bytes())]).phase;
    // Reads that found nothing are errors of VERIFY too.
    let good = phase("[VERIFY], Return=OK, 990\n[VERIFY], Return=ERROR, 10\n");
    assert_eq!((good.failed, good.fault(0.0)), (0, None));
    let bad = phase(
        "[VERIFY], Return=OK, 960\n[VERIFY], Return=ERROR, 10\n\
         [VERIFY], Return=UNEXPECTED_STATE, 30\n",
    );
    assert_eq!((bad.failed, bad.errors()), (30, 30));
    assert_eq!(bad.ops_per_sec(), 970.0);
    assert_eq!(bad.fault(0.001), Some(tailmark_model::Fault::Failed(0.03)));
    assert_eq!(bad.errors[0].example, "VERIFY: UNEXPECTED_STATE");
}

#[test]
fn results_in_which_nothing_was_found_are_no_peak() {
    let text = "[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 100\n\
                [READ], Operations, 0\n[READ], Return=NOT_FOUND, 100\n";
    let phase = one(&[source("d.txt", text.as_bytes())]).phase;
    assert_eq!(phase.fault(1.0), Some(tailmark_model::Fault::NothingFound));
}

#[test]
fn a_number_that_nothing_was_measured_as_is_none() {
    for number in ["NaN", "inf", "1e309", "-5", "1e-320", "1e19"] {
        let run_time = TEXT.replace("20000", number);
        let error = read(&[source("d.txt", run_time.as_bytes())], &Given::default());
        assert!(error.is_err(), "{number}");
        let status = TEXT.replace(" 20 sec", &format!(" {number} sec"));
        let phase = one(&[source("d.txt", status.as_bytes())]).phase;
        assert_eq!(phase.intervals.len(), 1, "{number}");
    }
}

#[test]
fn what_is_no_result_is_refused() {
    for (name, bytes, reason) in [
        ("x", "nothing of the kind", "[OVERALL]"),
        ("READ.hdr", "", "exactly one"),
    ] {
        let found = read(&[source(name, bytes.as_bytes())], &Given::default());
        let error = found.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn what_found_nothing_counts_in_mean_and_ends_and_leaves_quantiles_unknown() {
    let text = "Command line: -db rocksdb -threads 8 -P workloads/workloadc\n\
                [OVERALL], RunTime(ms), 20000\n[OVERALL], Throughput(ops/sec), 5000\n\
                [READ], Operations, 90000\n[READ], AverageLatency(us), 840\n\
                [READ], MinLatency(us), 100\n[READ], MaxLatency(us), 19000\n\
                [READ], 99thPercentileLatency(us), 3000\n\
                [READ], Return=OK, 90000\n[READ], Return=NOT_FOUND, 10000\n\
                [READ-FAILED], Operations, 10000\n[READ-FAILED], AverageLatency(us), 50000\n\
                [READ-FAILED], MinLatency(us), 20000\n[READ-FAILED], MaxLatency(us), 90000\n\
                [READ-FAILED], 99thPercentileLatency(us), 80000\n";
    let read = |output: &str| {
        let imported = one(&[source("nf.txt", output.as_bytes())]);
        imported.phase.kinds[&Kind::Read].clone()
    };
    let known = |result: &KindResult| {
        let latencies = result.ranked_service();
        let value = |bounded: Option<Bounded>| bounded.map(|bounded| bounded.value / 1e3);
        let p99 = latencies.quantile(tailmark_model::QUANTILES[3]);
        (value(latencies.mean()), value(latencies.max()), value(p99))
    };
    let import = crate::import::find("ycsb").unwrap();
    let imported = import.import(&[source("nf.txt", text.as_bytes())], &Given::default());
    let findings = imported.unwrap().remove(0).phase.findings;
    let misses = findings.iter().find(|finding| finding.code == "misses");
    assert_eq!(
        misses.unwrap().text(),
        "10,000 of 100,000 reads found nothing."
    );
    let both = read(text);
    assert_eq!((both.count, both.not_found), (100_000, 10_000));
    assert_eq!(known(&both), (Some(5_756.0), Some(90_000.0), None));
    // Every request found nothing: what is printed of the others is of none.
    let none = text
        .replace("[READ], Operations, 90000", "[READ], Operations, 0")
        .replace("Return=OK, 90000", "Return=OK, 0");
    assert_eq!(known(&read(&none)), (Some(50_000.0), Some(90_000.0), None));
    let found = text.replace("NOT_FOUND, 10000", "NOT_FOUND, 0");
    assert_eq!(
        known(&read(&found)),
        (Some(840.0), Some(19_000.0), Some(3_000.0))
    );
}

#[test]
fn misses_whose_response_times_are_not_printed_leave_them_unknown() {
    let text = "Command line: -db rocksdb -threads 8 -target 5000 -P workloads/workloadc\n\
                [OVERALL], RunTime(ms), 20000\n[OVERALL], Throughput(ops/sec), 5000\n\
                [READ], Operations, 90000\n[READ], AverageLatency(us), 840\n\
                [READ], Return=OK, 90000\n[READ], Return=NOT_FOUND, 10000\n\
                [READ-FAILED], Operations, 10000\n[READ-FAILED], AverageLatency(us), 50000\n\
                [Intended-READ], Operations, 90000\n[Intended-READ], AverageLatency(us), 900\n";
    let mean = |output: &str| {
        let imported = one(&[source("nf.txt", output.as_bytes())]);
        let response = imported.phase.kinds[&Kind::Read].ranked_response().mean();
        response.map(|mean| mean.value)
    };
    assert_eq!(mean(text), None);
    let known = "[Intended-READ-FAILED], Operations, 10000\n\
                 [Intended-READ-FAILED], AverageLatency(us), 60000\n";
    assert_eq!(mean(&format!("{text}{known}")), Some(6_810_000.0));
    let found = text.replace("NOT_FOUND, 10000", "NOT_FOUND, 0");
    assert_eq!(mean(&found), Some(900_000.0));
}
