//! YCSB's results: the text of its client (0.17 and later), its JSON exports, and its histogram
//! logs (`READ.hdr`, in microseconds), which belong to the text that is given with them.

use super::{
    Given, Import, Imported, Source,
    command::Command,
    failed, failed_at,
    held::{Held, check_json},
    is_measured, log, nothing_found, number, threads_in, words,
};
use crate::Error;
use std::collections::BTreeMap;
use tailmark_model::{
    ErrorCount, Interval, Kind, KindResult, Phase, Summary,
    failure::{Counted, failed_operations},
    finding::SUMMARY_ONLY,
};

pub const IMPORT: Import = Import {
    name: "ycsb",
    about: "YCSB's output as text or JSON, and its .hdr logs",
    read,
    leaves_out: false,
};

/// Groups, and the kinds that they are of.
const GROUPS: [(&str, Kind); 6] = [
    ("READ", Kind::Read),
    ("UPDATE", Kind::Update),
    ("INSERT", Kind::Insert),
    ("SCAN", Kind::Scan),
    ("DELETE", Kind::Delete),
    ("READ-MODIFY-WRITE", Kind::ReadModifyWrite),
];

/// Group, name, value.
type ResultValue = (String, String, f64);

fn read(sources: &[Source], given: &Given) -> Result<Vec<Imported>, Error> {
    let is_log = |source: &&Source| source.path.extension().is_some_and(|end| end == "hdr");
    let logs: Vec<&Source> = sources.iter().filter(is_log).collect();
    let texts: Vec<&Source> = sources.iter().filter(|source| !is_log(source)).collect();
    if let Some(log) = logs.first().filter(|_| texts.len() != 1) {
        return Err(failed(
            log,
            "histogram logs are imported with exactly one file of output text",
        ));
    }
    let (mut all, mut held) = (Vec::new(), Held::default());
    for source in texts {
        let mut imported = read_text(source, given, &mut held)?;
        for log in &logs {
            log::read(log, &GROUPS, &mut imported.phase, &mut held)?;
        }
        let added = held.add_phase(&imported.phase);
        added.map_err(|reason| failed(source, reason))?;
        count_operations(&mut imported.phase);
        conclude(&mut imported.phase);
        all.push(imported);
    }
    Ok(all)
}

/// Reads an output text or a JSON export.
fn read_text(source: &Source, given: &Given, held: &mut Held) -> Result<Imported, Error> {
    let text = String::from_utf8_lossy(&source.bytes);
    let is_json = text.trim_start().starts_with(['{', '[']) && text.contains("\"metric\"");
    if is_json {
        check_json(&text).map_err(|reason| failed(source, reason))?;
    }
    let rows = text.lines().zip(1..).filter(|(line, _)| is_row(line));
    for (_, number) in rows {
        let added = held.add_row();
        added.map_err(|reason| failed_at(source, number, &reason))?;
    }
    let lines = if is_json {
        json_lines(&text).ok_or_else(|| failed(source, "it is not YCSB's JSON"))?
    } else {
        text.lines().filter_map(text_line).collect()
    };
    let value = |group: &str, name: &str| {
        lines
            .iter()
            .find(|(g, n, _)| g == group && n == name)
            .map(|(_, _, value)| *value)
    };
    let no_overall = || failed(source, "it has no line `[OVERALL], RunTime(ms), ...`");
    let run_ms = value("OVERALL", "RunTime(ms)").ok_or_else(no_overall)?;
    let rate = value("OVERALL", "Throughput(ops/sec)").ok_or_else(no_overall)?;
    let mut phase = Phase {
        duration_s: run_ms / 1000.0,
        operations: (rate * run_ms / 1000.0).round() as u64,
        intervals: intervals(&text),
        ..Phase::default()
    };
    for (group, kind) in GROUPS {
        add_kind(&mut phase, group, kind, &lines);
    }
    count_pairs(&mut phase);
    add_verified(&mut phase, &lines);
    // Its throughput counts them.
    phase.failed = failed_operations(phase.operations, &phase.kinds);
    let command = Command::from_text(&text);
    let threads = given
        .threads
        .or(command.threads)
        .or_else(|| threads_in(&source.path));
    let is_load =
        command.is_load || phase.kinds.keys().eq([&Kind::Insert]) && command.workload.is_none();
    let stem = words(&source.path)
        .into_iter()
        .next()
        .unwrap_or_else(|| "ycsb".to_owned());
    let workload = given.workload.clone().or(command.workload);
    Ok(Imported {
        system: given.system.clone().unwrap_or(stem),
        workload: (!is_load).then(|| workload.unwrap_or_else(|| "ycsb".to_owned())),
        distribution: command.distribution.unwrap_or_else(|| "unknown".to_owned()),
        threads: threads.unwrap_or(1),
        target_rate: command.target,
        phase,
        file: source.path.clone(),
        ..Imported::default()
    })
}

/// Whether a line may become something: a result, or the status of an interval.
fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('[') || line.contains(" sec: ")
}

/// `[GROUP], name, value`
fn text_line(line: &str) -> Option<ResultValue> {
    let (group, rest) = line.trim().strip_prefix('[')?.split_once("], ")?;
    let (name, value) = rest.rsplit_once(", ")?;
    Some((group.to_owned(), name.to_owned(), number(value)?))
}

/// An array of objects, or objects one behind the other.
fn json_lines(text: &str) -> Option<Vec<ResultValue>> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    let mut lines = Vec::new();
    for value in values {
        let objects = match value.ok()? {
            serde_json::Value::Array(objects) => objects,
            object => vec![object],
        };
        for object in objects {
            let text = |name: &str| object.get(name)?.as_str().map(str::to_owned);
            let (metric, measurement) = (text("metric")?, text("measurement")?);
            let number = object.get("value").and_then(serde_json::Value::as_f64);
            // One that JSON does not have is a text: of nothing there is no average.
            if let Some(number) = number.filter(|number| is_measured(*number)) {
                lines.push((metric, measurement, number));
            }
        }
    }
    Some(lines)
}

fn add_kind(phase: &mut Phase, group: &str, kind: Kind, lines: &[ResultValue]) {
    let own: Vec<_> = lines.iter().filter(|(g, _, _)| g == group).collect();
    let value = |name: &str| own.iter().find(|(_, n, _)| n == name).map(|(_, _, v)| *v);
    let Some(found) = value("Operations").or_else(|| value("Total Operations")) else {
        return;
    };
    let not_found = value("Return=NOT_FOUND").unwrap_or(0.0) as u64;
    let mut errors = 0;
    for (_, name, count) in &own {
        let Some(status) = name.strip_prefix("Return=") else {
            continue;
        };
        let count = *count as u64;
        if matches!(status, "OK" | "BATCHED_OK" | "NOT_FOUND") || count == 0 {
            continue;
        }
        errors += count;
        let cause = status.to_ascii_lowercase();
        phase.errors.push(ErrorCount {
            kind,
            cause,
            count,
            example: status.to_owned(),
        });
    }
    let result = KindResult {
        count: found as u64 + not_found,
        not_found,
        errors,
        summary: summary(group, lines),
        response_summary: summary(&format!("Intended-{group}"), lines),
        ..KindResult::default()
    };
    phase.kinds.insert(kind, result);
}

/// Reads whose record was not as it was written (`dataintegrity`) have failed: YCSB counts them as
/// `OK`, and as something else in the group VERIFY.
fn add_verified(phase: &mut Phase, lines: &[ResultValue]) {
    let Some(reads) = phase.kinds.get_mut(&Kind::Read) else {
        return;
    };
    let statuses = lines.iter().filter_map(|(group, name, count)| {
        let status = name
            .strip_prefix("Return=")
            .filter(|status| *status != "OK")?;
        (group == "VERIFY").then_some((status, *count as u64))
    });
    for (status, count) in statuses {
        let found = reads.count.saturating_sub(reads.not_found);
        // YCSB verifies a read that failed or found nothing too, as an error: that is counted.
        let known = match status {
            "ERROR" => reads.not_found.saturating_add(reads.errors),
            _ => 0,
        };
        let count = count.saturating_sub(known).min(found);
        if count == 0 {
            continue;
        }
        reads.count -= count;
        reads.errors = reads.errors.saturating_add(count);
        phase.errors.push(ErrorCount {
            kind: Kind::Read,
            cause: "verify".to_owned(),
            count,
            example: format!("VERIFY: {status}"),
        });
    }
}

/// Takes the pairs that failed out of those that are reported: YCSB measures a pair whether or not
/// its halves succeeded. Each failed update is one, and so are the failed reads that cannot have
/// been reads alone.
fn count_pairs(phase: &mut Phase) {
    let all = phase.requests().saturating_sub(phase.operations);
    let of = |kind| phase.kinds.get(&kind).map_or((0, 0), Counted::counted);
    let ((read, reads_failed), (_, updates_failed)) = (of(Kind::Read), of(Kind::Update));
    if let Some(pairs) = phase.kinds.get_mut(&Kind::ReadModifyWrite) {
        let all = all.max(pairs.count);
        let alone = (read + reads_failed).saturating_sub(all);
        let failed = updates_failed + reads_failed.saturating_sub(alone);
        pairs.errors = failed.min(all);
        pairs.count = all - pairs.errors;
    }
}

/// What a group reports of its latencies: `95thPercentileLatency(us)` of histograms, and `p95` of
/// the summary of raw samples.
fn summary(group: &str, lines: &[ResultValue]) -> Option<Summary> {
    let mut summary = Summary::default();
    for (_, name, us) in lines.iter().filter(|(of, _, _)| of == group) {
        let name = name.strip_suffix("Latency(us)").unwrap_or(name);
        let percent = name
            .strip_suffix("Percentile")
            .map(|label| label.trim_end_matches(char::is_alphabetic))
            .or_else(|| name.strip_prefix('p'))
            .and_then(number);
        let ns = us * 1000.0;
        match (name, percent) {
            ("Average", _) => summary.set(Summary::MEAN, ns),
            ("Min", _) => summary.set(Summary::MIN, ns),
            ("Max", _) => summary.set(Summary::MAX, ns),
            (_, Some(percent)) => summary.set_percentile(percent, ns),
            _ => {}
        }
    }
    summary.if_any()
}

/// The operations of each stretch between two status lines.
fn intervals(text: &str) -> Vec<Interval> {
    let status = |line: &str| -> Option<(f64, u64)> {
        let (before, after) = line.split_once(" sec: ")?;
        let seconds = number(before.rsplit(' ').next()?)?;
        Some((seconds, after.split_once(" operations;")?.0.parse().ok()?))
    };
    let reported: Vec<_> = text.lines().filter_map(status).collect();
    let pairs = reported.windows(2).filter(|pair| pair[1].0 > pair[0].0);
    pairs
        .map(|pair| Interval {
            start_s: pair[0].0,
            length_s: pair[1].0 - pair[0].0,
            operations: pair[1].1.saturating_sub(pair[0].1),
            // A status line does not say.
            failed: 0,
            kinds: BTreeMap::new(),
        })
        .collect()
}

/// Where no status line says what was done in an interval the logs do, if there is one of each
/// kind; otherwise nothing does, and intervals would show a database that did nothing.
fn count_operations(phase: &mut Phase) {
    if phase.intervals.iter().any(|i| i.operations > 0) {
        return;
    }
    let mut sent = phase
        .kinds
        .iter()
        .filter(|(kind, _)| **kind != Kind::ReadModifyWrite);
    if sent.any(|(_, kind)| kind.count > 0 && kind.service.is_empty()) {
        phase.intervals.clear();
    }
    for interval in &mut phase.intervals {
        let all: u64 = interval.kinds.values().map(|kind| kind.count).sum();
        // A pair is reported beside its halves.
        let pairs = interval.kinds.get(&Kind::ReadModifyWrite);
        interval.operations = all.saturating_sub(2 * pairs.map_or(0, |pairs| pairs.count));
    }
}

/// Gives a finding of what the files do not report.
fn conclude(phase: &mut Phase) {
    let is_missing = phase
        .kinds
        .values()
        .any(|kind| kind.service.is_empty() && kind.count > 0);
    if is_missing {
        phase.findings.push(SUMMARY_ONLY.finding(
            "Only a summary of the latencies was imported: quantiles that it does not name are \
             not known. Import the .hdr logs with it (hdrhistogram.fileoutput=true) to have every \
             quantile.",
        ));
    }
    phase.findings.extend(nothing_found(phase));
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::Bounded;
    use tailmark_model::new_latencies;

    const TEXT: &str = include_str!("../../tests/inputs/ycsb.txt");

    fn source(path: &str, bytes: &[u8]) -> Source {
        Source {
            path: path.into(),
            bytes: bytes.to_vec(),
        }
    }

    fn one(sources: &[Source]) -> Imported {
        read(sources, &Given::default()).unwrap().remove(0)
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
        let text = TEXT.lines().filter(|line| !line.contains(" sec: "));
        let all: String = text.map(|line| format!("{line}\n")).collect();
        let reads = all.replace("[UPDATE]", "[OTHER]");
        let intervals = |text: &str| {
            let log = source("out/READ.hdr", &bytes);
            let phase = one(&[source("d.txt", text.as_bytes()), log]).phase;
            phase
                .intervals
                .iter()
                .map(|i| i.operations)
                .collect::<Vec<_>>()
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
        let phase = one(&[source("d.txt", text.as_bytes())]).phase;
        let pairs = &phase.kinds[&Kind::ReadModifyWrite];
        assert_eq!((pairs.count, pairs.errors), (200, 300));
        assert_eq!(phase.failed, 310);
        // Of 600 failed reads at least 100 were those of pairs, whose updates succeeded.
        let text = text
            .replace(", 990", ", 400")
            .replace("ERROR, 10\n", "ERROR, 600\n");
        let text = text.replace("[UPDATE], Operations, 200", "[UPDATE], Operations, 500");
        let text = text.replace("[UPDATE], Return=ERROR, 300\n", "");
        let phase = one(&[source("d.txt", text.as_bytes())]).phase;
        let pairs = &phase.kinds[&Kind::ReadModifyWrite];
        assert_eq!((pairs.count, pairs.errors), (400, 100));
        assert_eq!(phase.failed, 600);
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
            let text = TEXT.replace("20000", number);
            let error = read(&[source("d.txt", text.as_bytes())], &Given::default());
            assert!(error.is_err(), "{number}");
            let text = TEXT.replace(" 20 sec", &format!(" {number} sec"));
            let phase = one(&[source("d.txt", text.as_bytes())]).phase;
            assert_eq!(phase.intervals.len(), 1, "{number}");
        }
    }

    #[test]
    fn what_is_no_result_is_refused() {
        let error = read(&[source("x", b"nothing of the kind")], &Given::default()).unwrap_err();
        assert!(error.to_string().contains("[OVERALL]"), "{error}");
        let error = read(&[source("READ.hdr", b"")], &Given::default()).unwrap_err();
        assert!(error.to_string().contains("exactly one"), "{error}");
    }
}
