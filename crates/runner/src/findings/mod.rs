//! Findings that qualify a point's numbers. Each rule examines the point in its context and reports
//! what it saw and the remedy.

mod background;
mod context;
mod machine;
mod memory;
mod power;
mod processors;
mod ranks;
mod rate;
mod servers;
mod start;
mod steady;

pub use context::PointContext;
pub(crate) use context::SweepContext;
pub(crate) use machine::settings_left;
pub(crate) use memory::{Cached, cached};
pub(crate) use servers::of_load;

use crate::{expect, links};
use bytesize::ByteSize;
use tailmark_driver::{Database, Remark, RemarkCode, Settled};
use tailmark_model::{Finding, FindingCode, Kind, Sentence, Statistic, Unit, finding};
use tailmark_workload::{Workload, db_bench::Op};

/// One rule: a row of [`RULES`].
pub struct Rule {
    /// The code of the finding.
    pub code: FindingCode,
    /// The evidence and the remedy, if the rule applies.
    pub check: fn(&PointContext<'_>) -> Option<Sentence>,
}

/// Every rule, sorted by code.
pub const RULES: &[Rule] = &[
    Rule {
        code: finding::BACKGROUND_RATE_NOT_MET,
        check: background::rate_not_met,
    },
    Rule {
        code: finding::CACHES_NOT_DROPPED,
        check: caches_not_dropped,
    },
    Rule {
        code: finding::CENSORED,
        check: rate::censored,
    },
    Rule {
        code: finding::CLIENT_SATURATED,
        check: processors::client,
    },
    Rule {
        code: finding::CLOCK_SKEW,
        check: ranks::clock_skew,
    },
    Rule {
        code: finding::CLOCK_STEPPED,
        check: clock_stepped,
    },
    Rule {
        code: finding::COARSE_COUNTER,
        check: power::coarse_counter,
    },
    Rule {
        code: finding::DATA_ADOPTED,
        check: |point| point.sweep.as_ref()?.adopted.map(Sentence::from),
    },
    Rule {
        code: finding::DATABASE_SATURATED,
        check: processors::database,
    },
    Rule {
        code: finding::DEVICE_THROTTLED,
        check: |point| machine::device_throttled(point.phase()),
    },
    Rule {
        code: finding::ERRORS,
        check: |point| point.phase().failures_in_words(),
    },
    Rule {
        code: finding::FITS_IN_MEMORY,
        check: memory::fits_in_memory,
    },
    Rule {
        code: finding::LIFE_EXTRAPOLATED,
        check: power::life_extrapolated,
    },
    Rule {
        code: finding::LINK_DEGRADED,
        check: degraded_links,
    },
    Rule {
        code: finding::MACHINE_BUSY,
        check: processors::others,
    },
    Rule {
        code: finding::MEMORY_NOT_LIMITED,
        check: memory_not_limited,
    },
    Rule {
        code: finding::MISSES,
        check: misses,
    },
    Rule {
        code: finding::NO_FREE_CLIENT,
        check: rate::no_free_client,
    },
    Rule {
        code: finding::NOT_SETTLED,
        check: not_settled,
    },
    Rule {
        code: finding::NOT_STEADY,
        check: steady::not_steady,
    },
    Rule {
        code: finding::NOTHING_FOUND,
        check: nothing_found,
    },
    Rule {
        code: finding::OTHER_LOAD,
        check: |point| machine::other_load(point.phase(), point.driver.place),
    },
    Rule {
        code: finding::OTHER_VERSION,
        check: other_version,
    },
    Rule {
        code: finding::POWER_COVERS_OTHERS,
        check: power::covers_others,
    },
    Rule {
        code: finding::RANK_UNEVEN,
        check: ranks::uneven,
    },
    Rule {
        code: finding::RATE_NOT_MET,
        check: rate::rate_not_met,
    },
    Rule {
        code: finding::SERVER_CHANGED,
        check: |point| servers::changed(&point.sweep.as_ref()?.put_back),
    },
    Rule {
        code: finding::SERVER_CLOCK,
        check: servers::clock,
    },
    Rule {
        code: finding::SERVER_SATURATED,
        check: servers::saturated,
    },
    Rule {
        code: finding::SERVER_UNWATCHED,
        check: |point| servers::unwatched(point.phase()),
    },
    Rule {
        code: finding::STARTED_LATE,
        check: rate::started_late,
    },
    Rule {
        code: finding::STEAL,
        check: |point| machine::steal(point.phase()).or_else(|| servers::steal(point.phase())),
    },
    Rule {
        code: finding::TOO_FEW_SAMPLES,
        check: too_few_samples,
    },
    Rule {
        code: finding::UNEQUAL_START,
        check: start::unequal,
    },
    Rule {
        code: finding::UNEXPECTED,
        check: |point| expect::said(&point.sweep.as_ref()?.unexpected),
    },
    Rule {
        code: finding::VOLUME_CAPPED,
        check: |point| machine::volume_capped(point.phase()),
    },
    Rule {
        code: finding::WOKEN_LATE,
        check: rate::woken_late,
    },
];

/// The findings of a point.
#[must_use]
pub fn findings(point: &PointContext<'_>) -> Vec<Finding> {
    let apply = |rule: &Rule| (rule.check)(point).map(|sentence| rule.code.finding(sentence));
    RULES.iter().filter_map(apply).collect()
}

/// Remarks of the database and of the program's allocator about the numbers.
#[must_use]
pub fn remarks(database: &dyn Database) -> Vec<Finding> {
    let finding = |remark: Remark| code_of(remark.code).finding(remark.text);
    let remarks = tailmark_driver::allocator_remark().into_iter();
    remarks.chain(database.remarks()).map(finding).collect()
}

/// The code of the finding that a remark becomes.
fn code_of(remark: RemarkCode) -> &'static FindingCode {
    finding::find(remark.name()).expect("every code of a remark has a row, which a test looks up")
}

/// Findings that the clients' machine disturbed a point. Nothing waits for it in virtual time.
const OF_MACHINE: &[FindingCode] = &[
    finding::CLIENT_SATURATED,
    finding::DATABASE_SATURATED,
    finding::MACHINE_BUSY,
    finding::OTHER_LOAD,
    finding::POWER_COVERS_OTHERS,
    finding::STEAL,
];

/// Findings of the rules, and remarks of the database itself.
#[must_use]
pub fn all_findings(point: &PointContext<'_>, database: &dyn Database) -> Vec<Finding> {
    let mut found = findings(point);
    if database.virtual_clock().is_some() {
        found.retain(|finding| !OF_MACHINE.iter().any(|code| code.is_of(finding)));
    }
    found.extend(remarks(database));
    found
}

fn caches_not_dropped(point: &PointContext<'_>) -> Option<Sentence> {
    let (why, remedy) = point.sweep.as_ref()?.caches_kept.as_ref()?.describe();
    let sentence = Sentence::new(format!(
        "Caches were not dropped before this point ({{Reason}}), so part of its reads may not \
         have reached the device. {remedy}"
    ));
    Some(sentence.text("Reason", why))
}

fn memory_not_limited(point: &PointContext<'_>) -> Option<Sentence> {
    let sweep = point.sweep.as_ref()?;
    let (limit, why) = (sweep.plan.machine.memory_limit?, sweep.memory_unlimited?);
    let sentence = Sentence::new(
        "The plan limits memory to {Memory limit}, but the limit was not applied: {Reason}.",
    );
    let sentence = sentence.text("Memory limit", ByteSize(limit).to_string());
    Some(sentence.text("Reason", why))
}

fn clock_stepped(point: &PointContext<'_>) -> Option<Sentence> {
    let step_ms = point.measured.clock_step_ms;
    let direction = match step_ms {
        1000.. => "forwards",
        ..=-1000 => "backwards",
        _ => return None,
    };
    let sentence = Sentence::new(
        "The wall clock was set {Direction} by {Clock set by} relative to the monotonic clock. \
         Latencies are not affected; times of day are. Let the clock settle before measuring.",
    );
    let by_s = step_ms.unsigned_abs() as f64 / 1e3;
    let sentence = sentence.text("Direction", direction);
    Some(sentence.number("Clock set by", by_s, Unit::Seconds))
}

fn degraded_links(point: &PointContext<'_>) -> Option<Sentence> {
    let degraded = &point.sweep.as_ref()?.links;
    let sentence = || {
        Sentence::new(format!("{{Links}}. {}.", links::REMEDY)).text("Links", degraded.join("; "))
    };
    (!degraded.is_empty()).then(sentence)
}

fn misses(point: &PointContext<'_>) -> Option<Sentence> {
    let read = point.phase().kinds.get(&Kind::Read)?;
    // A scan finds nothing only at the end of the data.
    let is_expected = |op| matches!(op, Op::ReadMissing | Op::Walk(_));
    let is_miss = read.not_found > 0 && !has_operation(&point.key.workload, is_expected);
    (is_miss && nothing_found(point).is_none()).then(|| {
        Sentence::new(
            "{Misses} of {Reads} reads found nothing; a miss is often cheaper than a hit. Check \
             that the data set was loaded with as many records as the workload reads.",
        )
        .count("Misses", read.not_found)
        .count("Reads", read.count)
    })
}

fn nothing_found(point: &PointContext<'_>) -> Option<Sentence> {
    let is_expected = has_operation(&point.key.workload, |op| op == Op::ReadMissing);
    (point.phase().found_nothing() && !is_expected).then(|| {
        Sentence::new(
            "Every read, or every scan, found nothing: the point is excluded from peaks and \
             comparisons. Check that the data set is where it was loaded, with as many records as \
             the workload reads.",
        )
    })
}

/// Whether a workload has such an operation of db_bench.
fn has_operation(workload: &str, is_it: impl Fn(Op) -> bool) -> bool {
    let has = |found: Workload| found.db_bench().any(|db_bench| is_it(db_bench.op));
    tailmark_workload::find(workload).is_ok_and(has)
}

fn not_settled(point: &PointContext<'_>) -> Option<Sentence> {
    let sweep = point.sweep.as_ref()?;
    let left = |when, what| {
        let sentence = Sentence::new(format!(
            "Background work (flushes, compactions) was still running {{Time waited}} {when} the \
             point; {what}. Raise sweep.settle."
        ));
        let settle = sweep.plan.sweep.settle;
        Some(sentence.number("Time waited", settle.as_secs_f64(), Unit::Seconds))
    };
    match (sweep.settled_before, sweep.settled_after) {
        (Settled::No, _) => left(
            "after waiting before",
            "it took device time from the measurement",
        ),
        (_, Settled::No) => left("after", "the next point may have started with it"),
        (Settled::NotStarted, _) => Some(Sentence::new(not_started("before the point"))),
        (_, Settled::NotStarted) => Some(Sentence::new(not_started("after the point"))),
        _ => None,
    }
}

/// That a database leaves background work undone before or after a point or load.
pub fn not_started(when: &str) -> String {
    format!(
        "Background work (flushes, compactions) was left {when}, and the database did not start \
         it. The numbers do not include it, and reads may search more files. Check whether \
         automatic compactions are off, or whether the files are too large to be merged."
    )
}

fn other_version(point: &PointContext<'_>) -> Option<Sentence> {
    let sweep = point.sweep.as_ref()?;
    let (planned, own) = (sweep.system.version.as_deref()?, sweep.version.as_deref()?);
    (!crate::expect::is_version(planned, own)).then(|| {
        Sentence::new(
            "The plan describes a study with version {Planned version} of {Driver}, but this is \
             version {Version}. Compare the systems with each other, not with the numbers of that \
             study.",
        )
        .text("Planned version", planned)
        .text("Driver", point.driver.name)
        .text("Version", own)
    })
}

fn too_few_samples(point: &PointContext<'_>) -> Option<Sentence> {
    let (kind, result) = point
        .phase()
        .kinds
        .iter()
        .filter(|(k, _)| **k != Kind::ReadModifyWrite)
        .max_by_key(|(_, r)| r.count)?;
    let highest = highest_stated(point);
    let missing: Vec<_> = tailmark_model::QUANTILES
        .iter()
        .filter(|q| q.value <= highest && result.ranked_response().quantile(**q).is_none())
        .collect();
    let (first, last) = (missing.first()?, missing.last()?);
    let needed = (10.0 / (1.0 - last.value)).round();
    // Requests that failed or were never done are samples too.
    let samples = result.ranked_response().samples();
    let rate = samples as f64 / point.phase().duration_s.max(1e-9);
    let not_stated = if first.name == last.name {
        first.name.to_owned()
    } else {
        format!("{} to {}", first.name, last.name)
    };
    let needed_s = (needed / rate).ceil();
    // Nobody can wait for 30 years.
    let has_time = needed_s < 1e9;
    let time = if has_time {
        " or {Time needed} at this rate"
    } else {
        ""
    };
    let sentence = Sentence::new(format!(
        "{{Samples}} {{Requests}} are too few to state {{Not stated}}: it takes 10 samples beyond a \
         quantile, for {} {{Samples needed}} {{Requests}}{time}.",
        last.name
    ));
    let sentence = sentence.text("Requests", format!("{}s", kind.name()));
    let sentence = sentence.count("Samples", samples);
    let sentence = sentence.text("Not stated", not_stated);
    let sentence = sentence.count("Samples needed", needed as u64);
    Some(if has_time {
        sentence.number("Time needed", needed_s, Unit::Seconds)
    } else {
        sentence
    })
}

/// The highest quantile that the study is about: p99.99, or that of the plan's metric if it is
/// higher.
fn highest_stated(point: &PointContext<'_>) -> f64 {
    let sweep = point.sweep.as_ref();
    let metric = sweep.and_then(|sweep| sweep.plan.report.metric?.latency());
    let stated = [
        Some(Statistic::P9999),
        metric.map(|(_, statistic)| statistic),
    ];
    let quantiles = stated.into_iter().flatten().filter_map(|s| s.quantile);
    quantiles.map(|q| q.value).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
