//! What a study, a run directory and a message hold when a sweep is done, whatever happened before.

use crate::{
    broken::{Kept, expect},
    program::Ended,
    round::Round,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};
use tailmark_model::number;
use tailmark_model::{Interval, Kind, KindResult, Load, Phase, Point};
use tailmark_study::Study;

/// The points of an exported study, by the name that the program gives them on the way.
pub fn by_name(study: &Value) -> BTreeMap<String, Value> {
    let points = study["points"].as_array().into_iter().flatten();
    points.map(|point| (name(point), point.clone())).collect()
}

fn name(point: &Value) -> String {
    let word = |key: &str| point[key].as_str().unwrap_or("?").to_owned();
    let (threads, repeat) = (&point["threads"], point["repeat"].as_u64().unwrap_or(0));
    let plural = if *threads == 1 { "" } else { "s" };
    let repeat = match repeat {
        1 => String::new(),
        repeat => format!(", repeat {repeat}"),
    };
    let (system, workload, distribution) = (word("system"), word("workload"), word("distribution"));
    let rate = point["target_rate"].as_f64();
    let rate = rate.map_or_else(String::new, |rate| format!(" at {}", number::ops(rate)));
    format!("{system} {workload} {distribution}, {threads} thread{plural}{rate}{repeat}")
}

/// Only the paths of the report and its brief are on standard output, and the report is whole.
pub fn of_output(ended: &Ended, out: &str) -> Kept {
    let paths = ["report.html", "brief.pdf", "brief.html"];
    let paths: String = paths.iter().map(|page| format!("{out}/{page}\n")).collect();
    expect(
        ended.out == paths,
        "standard output has the paths of the report and its brief",
        || ended.seen(),
    )
}

/// Beside study and report nothing is left, and beside the data their marker.
pub fn of_directory(round: &Round) -> Kept {
    let found = names(&round.out());
    let markers = round
        .sweep
        .systems()
        .map(|system| format!("{system}.dataset.json"));
    let mut allowed: BTreeSet<_> = markers.collect();
    let pages = ["report.html", "brief.pdf", "brief.html"];
    allowed.extend(pages.map(str::to_owned));
    allowed.extend(["study.sqlite", ".tailmark-files"].map(str::to_owned));
    let is_clean = found.is_subset(&allowed) && found.contains("report.html");
    expect(
        is_clean,
        "the run directory holds the study and its report",
        || format!("{found:?}"),
    )?;
    for system in round.sweep.systems() {
        let data = names(&round.ground.disk().join("data").join(system));
        let own = ["rocksdb", "slots.dat"];
        let keeps = ["checkpoint", "copy"].contains(&round.sweep.restore);
        let strange = |name: &String| {
            let is_start = keeps && name.ends_with(".tailmark-start");
            let mut own = own.iter();
            !is_start && !own.any(|own| name == own || *name == format!("{own}.dataset.json"))
        };
        let is_own = !data.iter().any(strange);
        expect(
            is_own,
            "beside the data is only their marker and start",
            || format!("{data:?}"),
        )?;
    }
    let page = fs::read_to_string(round.out().join("report.html")).unwrap_or_default();
    expect(
        page.trim_end().ends_with("</html>"),
        "the report is whole",
        || format!("{} bytes", page.len()),
    )
}

fn names(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Every point is there once, and every number agrees with every other.
pub fn of_study(round: &Round) -> Kept {
    let study = Study::open_read_only(&round.out()).unwrap();
    let points = study.points().unwrap();
    let keys: Vec<_> = points.iter().map(key).collect();
    let is_once = keys.len() as u64 == round.sweep.points()
        && keys.iter().cloned().collect::<BTreeSet<_>>() == round.sweep.keys();
    expect(is_once, "every point is there once", || format!("{keys:?}"))?;
    for point in &points {
        let name = format!("{:?}", key(point));
        of_phase(&point.phase, &name)?;
        of_point(round, point, &name)?;
    }
    of_loads(round, &study.loads().unwrap())
}

fn key(point: &Point) -> (String, String, u64, u64) {
    let key = &point.key;
    let (system, workload) = (key.system.clone(), key.workload.clone());
    (system, workload, key.threads.into(), key.repeat.into())
}

/// The budget is kept to the operation, and reads find what was loaded.
fn of_point(round: &Round, point: &Point, name: &str) -> Kept {
    let (phase, budget) = (&point.phase, round.sweep.operations);
    let is_kept = match budget {
        Some(budget) => phase.operations == budget,
        None => phase.operations > 0,
    };
    expect(
        is_kept,
        &format!("{name}: as many operations as the plan says"),
        || format!("{} of {budget:?}", phase.operations),
    )?;
    // Inserts of the `file` driver wrap onto each other.
    let missed: u64 = phase.kinds.values().map(|kind| kind.not_found).sum();
    expect(
        missed == 0,
        &format!("{name}: reads find what was loaded"),
        || format!("{missed} misses"),
    )
}

/// Kinds, intervals and operations agree.
fn of_phase(phase: &Phase, name: &str) -> Kept {
    let all = |kind: &KindResult| kind.count + kind.errors;
    let count = |kind: Kind| phase.kinds.get(&kind).map_or(0, all);
    let pairs = count(Kind::ReadModifyWrite);
    let sent: u64 = phase.kinds.values().map(all).sum();
    // A read-modify-write is one operation of three kinds: its read, its update, and the pair.
    let expected = sent.checked_sub(2 * pairs);
    expect(
        expected == Some(phase.operations),
        &format!("{name}: operations are the sum of kinds"),
        || {
            format!(
                "{} operations, {sent} requests, {pairs} pairs",
                phase.operations
            )
        },
    )?;
    let failed: u64 = phase.errors.iter().map(|error| error.count).sum();
    let errors = phase
        .kinds
        .iter()
        .filter(|(kind, _)| **kind != Kind::ReadModifyWrite);
    let errors: u64 = errors.map(|(_, kind)| kind.errors).sum();
    expect(
        failed == errors,
        &format!("{name}: failures by cause are those by kind"),
        || format!("{failed} and {errors}"),
    )?;
    for (kind, result) in &phase.kinds {
        let samples = (
            result.service.len(),
            result.failed.as_ref().map_or(0, |f| f.len()),
        );
        let counted = (result.count, result.errors);
        expect(
            samples == counted,
            &format!("{name} {kind:?}: every request has its latency"),
            || format!("{samples:?} latencies of {counted:?} requests"),
        )?;
        let response = result.response().len();
        expect(
            response == result.count,
            &format!("{name} {kind:?}: and its response time"),
            || format!("{response} of {}", result.count),
        )?;
        of_kind_in_intervals(&phase.intervals, *kind, result, name)?;
    }
    let in_intervals: u64 = phase
        .intervals
        .iter()
        .map(|interval| interval.operations)
        .sum();
    expect(
        in_intervals == phase.operations,
        &format!("{name}: intervals have all operations"),
        || format!("{in_intervals} of {}", phase.operations),
    )?;
    let in_seconds: u64 = phase.intervals.iter().map(|interval| interval.failed).sum();
    expect(
        in_seconds == phase.failed && (phase.failed == 0) == (errors == 0),
        &format!("{name}: operations that failed are those of the intervals"),
        || {
            format!(
                "{in_seconds} and {}; {errors} requests failed",
                phase.failed
            )
        },
    )?;
    of_intervals(phase, name)
}

fn of_kind_in_intervals(intervals: &[Interval], kind: Kind, all: &KindResult, name: &str) -> Kept {
    let of_kind = || {
        intervals
            .iter()
            .filter_map(|interval| interval.kinds.get(&kind))
    };
    let count: u64 = of_kind().map(|result| result.count).sum();
    let errors: u64 = of_kind().map(|result| result.errors).sum();
    let samples: u64 = of_kind().map(|result| result.service.unpack().len()).sum();
    let is_same = (count, errors, samples) == (all.count, all.errors, all.count);
    expect(
        is_same,
        &format!("{name} {kind:?}: intervals have all requests and latencies"),
        || {
            format!(
                "{count} + {errors}, {samples} latencies, of {} + {}",
                all.count, all.errors
            )
        },
    )
}

/// Intervals follow each other without a gap, from the start to the end.
fn of_intervals(phase: &Phase, name: &str) -> Kept {
    let mut end = 0.0;
    for interval in &phase.intervals {
        expect(
            (interval.start_s - end).abs() < 1e-6,
            &format!("{name}: intervals have no gap"),
            || {
                format!(
                    "one starts at {} s, the one before ends at {end} s",
                    interval.start_s
                )
            },
        )?;
        end = interval.start_s + interval.length_s;
    }
    expect(
        end + 1e-6 >= phase.duration_s,
        &format!("{name}: intervals reach the end"),
        || format!("{end} of {} s", phase.duration_s),
    )
}

/// Every load has all records, or says that it went on.
fn of_loads(round: &Round, loads: &[Load]) -> Kept {
    for load in loads {
        of_phase(&load.phase, &format!("load of {}", load.system))?;
        let is_resumed = load.phase.findings.iter().any(|f| f.code == "load-resumed");
        let is_whole = load.records == round.sweep.records;
        expect(
            is_whole || is_resumed,
            "a load has all records, or says that it went on",
            || format!("{} of {} records", load.records, round.sweep.records),
        )?;
        expect(
            load.phase.operations == load.records,
            "a load wrote its records once",
            || {
                format!(
                    "{} operations, {} records",
                    load.phase.operations, load.records
                )
            },
        )?;
    }
    let (fewest, count) = (round.sweep.loads(), loads.len() as u64);
    // What was begun before a fault is loaded again where each point has a data set of its own.
    let most = match (round.sweep.restore, round.sweep.restore_before) {
        ("none" | "checkpoint" | "copy", _) => fewest + round.taken_away,
        // Points that failed on a full disk are measured again on data of their repeat.
        (_, "repeat") if !round.had_full_disk => fewest + round.taken_away,
        _ => u64::MAX,
    };
    let is_once = (fewest..=most).contains(&count);
    expect(is_once, "every data set has the row of its load", || {
        format!(
            "{count} loads, {fewest} expected, {} data sets taken away",
            round.taken_away
        )
    })
}
