//! YCSB's results: the text of its client (0.17 and later), its JSON exports, and its histogram
//! logs (`READ.hdr`, in microseconds), which belong to the text given with them.

use super::{
    Given, Import, Imported, Source,
    command::Command,
    failed, failed_at,
    held::{Held, check_json},
    is_measured, log, nothing_found, number, system_of, threads_in,
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

/// Groups and their kinds.
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
            "import histogram logs together with exactly one file of text output",
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
    let lines = of_one_measurement(lines);
    let value = |group: &str, name: &str| {
        lines
            .iter()
            .find(|(g, n, _)| g == group && n == name)
            .map(|(_, _, value)| *value)
    };
    let no_overall = || failed(source, "it contains no line `[OVERALL], RunTime(ms), ...`");
    let run_ms = value("OVERALL", "RunTime(ms)").ok_or_else(no_overall)?;
    let rate = value("OVERALL", "Throughput(ops/sec)").ok_or_else(no_overall)?;
    let mut phase = Phase {
        duration_s: run_ms / 1000.0,
        operations: (rate * run_ms / 1000.0).round() as u64,
        intervals: intervals(&text),
        ..Phase::default()
    };
    let command = Command::from_text(&text);
    for (group, kind) in GROUPS {
        add_kind(&mut phase, group, kind, &lines);
    }
    count_pairs(&mut phase);
    add_verified(&mut phase, &lines);
    // Its throughput counts them.
    phase.failed = failed_operations(phase.operations, &phase.kinds);
    let threads = given
        .threads
        .or(command.threads)
        .or_else(|| threads_in(&source.path));
    let is_load =
        command.is_load || phase.kinds.keys().eq([&Kind::Insert]) && command.workload.is_none();
    let workload = given.workload.clone().or(command.workload);
    Ok(Imported {
        system: system_of(source, given, "ycsb"),
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

/// An array of objects, or objects one after the other.
fn json_lines(text: &str) -> Option<Vec<ResultValue>> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    let mut lines = Vec::new();
    for value in values {
        let objects = match value.ok()? {
            serde_json::Value::Array(objects) => objects,
            object => vec![object],
        };
        for object in objects {
            let member = |name: &str| object.get(name)?.as_str().map(str::to_owned);
            let (metric, measurement) = (member("metric")?, member("measurement")?);
            let number = object.get("value").and_then(serde_json::Value::as_f64);
            // One that JSON does not have is a text: of nothing there is no average.
            if let Some(number) = number.filter(|number| is_measured(*number)) {
                lines.push((metric, measurement, number));
            }
        }
    }
    Some(lines)
}

/// The groups of the histograms by their plain names, if YCSB measured each request twice
/// (`measurementtype=hdrhistogram+raw`) and named the groups accordingly: `HdrREAD`, `RawREAD`.
fn of_one_measurement(mut lines: Vec<ResultValue>) -> Vec<ResultValue> {
    if lines.iter().any(|(group, _, _)| group.starts_with("Hdr")) {
        lines.retain(|(group, _, _)| !group.starts_with("Raw") && !group.starts_with("Bucket"));
        for (group, _, _) in &mut lines {
            if let Some(plain) = group.strip_prefix("Hdr") {
                *group = plain.to_owned();
            }
        }
    }
    lines
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
    let counts = [found as u64, not_found, errors];
    let intended = format!("Intended-{group}");
    let differs = lines.iter().any(|(name, ..)| *name == intended);
    let unknown = || differs.then(Summary::unknown);
    let result = KindResult {
        count: found as u64 + not_found,
        not_found,
        errors,
        summary: of_all(group, lines, counts),
        response_summary: of_all(&intended, lines, counts).or_else(unknown),
        ..KindResult::default()
    };
    phase.kinds.insert(kind, result);
}

/// The latencies of a group including reads that found nothing, which YCSB measures separately, and
/// failed ones. If none failed, the mean and the ends of both together are known, but quantiles are
/// not.
fn of_all(group: &str, lines: &[ResultValue], counts: [u64; 3]) -> Option<Summary> {
    let [found, not_found, errors] = counts;
    let own = summary(group, lines);
    if not_found == 0 || errors > 0 {
        return own;
    }
    let missed = summary(&format!("{group}-FAILED"), lines)?;
    let own = own.unwrap_or_default();
    let mut all = Summary::default();
    let both = |name| {
        [(&own, found), (&missed, not_found)].map(|(one, count)| {
            // Of none there is no number, whatever is printed.
            (count > 0).then(|| one.number(name).unwrap_or(f64::NAN))
        })
    };
    type End = fn(f64, f64) -> f64;
    let ends: [(_, End); 2] = [(Summary::MIN, f64::min), (Summary::MAX, f64::max)];
    for (name, end) in ends {
        let known = both(name).into_iter().flatten();
        // A number that is missing leaves both unknown.
        let value = known.reduce(|a, b| {
            if a.is_nan() || b.is_nan() {
                f64::NAN
            } else {
                end(a, b)
            }
        });
        all.set(name, value.unwrap_or(f64::NAN));
    }
    let [of_found, of_missed] = both(Summary::MEAN).map(|mean| mean.unwrap_or(0.0));
    let sum = of_found * found as f64 + of_missed * not_found as f64;
    all.set(Summary::MEAN, sum / (found + not_found) as f64);
    all.if_any()
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

/// Removes failed pairs from the reported ones, because YCSB measures a pair whether or not its
/// halves succeeded. Each failed update is one, and so are failed reads that cannot have been
/// separate reads.
fn count_pairs(phase: &mut Phase) {
    let all = phase.requests().saturating_sub(phase.operations);
    let counted = |kind| phase.kinds.get(&kind).map_or((0, 0), Counted::counted);
    let ((read, reads_failed), (_, updates_failed)) = (counted(Kind::Read), counted(Kind::Update));
    if let Some(pairs) = phase.kinds.get_mut(&Kind::ReadModifyWrite) {
        let all = all.max(pairs.count);
        let alone = (read + reads_failed).saturating_sub(all);
        let failed = updates_failed + reads_failed.saturating_sub(alone);
        pairs.errors = failed.min(all);
        pairs.count = all - pairs.errors;
    }
}

/// The latencies that a group reports: `95thPercentileLatency(us)` of histograms, and `p95` of the
/// summary of raw samples. Those of `measurementtype=histogram`, which also reports a variance, are
/// the lower ends of whole milliseconds, and are used only if that is within a hundredth.
fn summary(group: &str, lines: &[ResultValue]) -> Option<Summary> {
    let mut summary = Summary::default();
    let own = || lines.iter().filter(|(other, _, _)| other == group);
    let is_of_milliseconds = own().any(|(_, name, _)| name == "LatencyVariance(us)");
    for (_, name, us) in own() {
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
            (_, Some(_)) if is_of_milliseconds && *us < 100_000.0 => {}
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

/// If no status line has the operations of an interval, uses the logs, if there is one of each
/// kind. Otherwise intervals are removed, because they would show an idle database.
fn count_operations(phase: &mut Phase) {
    if phase.intervals.iter().any(|i| i.operations > 0) {
        return;
    }
    let is_unlogged = |kind: &KindResult| kind.count > 0 && kind.service.is_empty();
    if Kind::sent(&phase.kinds).any(is_unlogged) {
        phase.intervals.clear();
    }
    for interval in &mut phase.intervals {
        let all: u64 = interval.kinds.values().map(|kind| kind.count).sum();
        // A pair is reported beside its halves.
        let pairs = interval.kinds.get(&Kind::ReadModifyWrite);
        interval.operations = all.saturating_sub(2 * pairs.map_or(0, |pairs| pairs.count));
    }
}

/// Adds findings about data that the files lack.
fn conclude(phase: &mut Phase) {
    let is_missing = phase
        .kinds
        .values()
        .any(|kind| kind.service.is_empty() && kind.count > 0);
    if is_missing {
        phase.findings.push(SUMMARY_ONLY.finding(
            "Only a summary of the latencies was imported, so other quantiles are unknown. Import \
             the .hdr logs too (hdrhistogram.fileoutput=true) to get every quantile.",
        ));
    }
    phase.findings.extend(nothing_found(phase));
}

#[cfg(test)]
mod tests;
