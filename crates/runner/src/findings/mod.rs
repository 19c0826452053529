//! What qualifies a point's numbers: each rule looks at the evidence and says what it saw and what
//! to do about it.

mod machine;
mod memory;
mod processors;
mod ranks;
mod rate;
mod servers;
mod steady;

pub(crate) use memory::{Cached, cached};
pub(crate) use servers::of_load;

use crate::{CachesKept, expect, links, point::Measured};
use bytesize::ByteSize;
use std::time::Duration;
use tailmark_driver::{DataSet, Database, Driver, Params, Place, Remark, RemarkCode, Settled};
use tailmark_model::{Finding, FindingCode, Kind, Phase, PointKey, Sentence, Unit, finding};
use tailmark_stats::steady::SteadyRule;
use tailmark_workload::{Workload, db_bench::Op};

/// What the rules look at.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// What opened the database.
    pub driver: &'a Driver,
    /// What it opened.
    pub params: &'a Params,
    /// The data set that was worked on.
    pub data: &'a DataSet,
    /// What the data set is at full scale, where the plan scales it down.
    pub unscaled: Option<&'a DataSet>,
    /// Which point.
    pub key: &'a PointKey,
    /// What was measured.
    pub phase: &'a Phase,
    /// Bytes of memory the run may use: the limit, or the machine's.
    pub memory: u64,
    /// Processors of the machine.
    pub cpus: usize,
    /// How long background work was waited for at most.
    pub settle: Duration,
    /// Whether background work came to rest before the point.
    pub settled_before: Settled,
    /// Whether it did after the point.
    pub settled_after: Settled,
    /// Why caches were not dropped, if they were not.
    pub caches_kept: Option<&'a CachesKept>,
    /// The version of the database that the plan speaks of, and its own.
    pub version: Option<(&'a str, &'a str)>,
    /// Devices whose link is slower than they can use, each in a few words.
    pub links: &'a [String],
    /// What of the system is not as the plan expects, in sentences.
    pub unexpected: &'a [String],
    /// The hosts of its server on which what was prepared was put back meanwhile.
    pub put_back: &'a [String],
    /// Whether the data is on this machine, whose memory is known.
    pub is_here: bool,
    /// The limit of memory that was asked for, bytes, and why there is none.
    pub memory_unlimited: Option<(u64, &'a str)>,
    /// How far the wall clock was set forwards against the monotonic clock during the point, or
    /// backwards where negative, milliseconds.
    pub clock_step_ms: i64,
    /// What is known of a data set that somebody else has loaded.
    pub adopted: Option<&'a str>,
    /// When what was measured is steady; none: that is not asked, as of a load.
    pub steady: Option<SteadyRule>,
}

impl<'a> Evidence<'a> {
    /// Of a point that was measured as it came: nothing waited for, dropped, limited or scaled.
    #[must_use]
    pub fn new(
        driver: &'a Driver,
        params: &'a Params,
        key: &'a PointKey,
        measured: &'a Measured,
    ) -> Self {
        Self {
            driver,
            params,
            data: &params.data,
            unscaled: None,
            key,
            phase: &measured.phase,
            memory: tailmark_machine::memory().total,
            cpus: tailmark_machine::cpus(),
            settle: Duration::ZERO,
            settled_before: Settled::Unknown,
            settled_after: Settled::Unknown,
            caches_kept: None,
            version: None,
            links: &[],
            unexpected: &[],
            put_back: &[],
            is_here: driver.place != Place::Hosts || params.location.is_here(),
            memory_unlimited: None,
            clock_step_ms: measured.clock_step_ms,
            adopted: None,
            steady: Some(SteadyRule::default()),
        }
    }
}

/// One rule: a row of [`RULES`].
pub struct Rule {
    /// What the finding is of.
    pub code: FindingCode,
    /// The evidence and the remedy, where the rule applies.
    pub check: fn(&Evidence<'_>) -> Option<Sentence>,
}

/// Every rule, sorted by code.
pub const RULES: &[Rule] = &[
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
        code: finding::DATA_ADOPTED,
        check: |e| e.adopted.map(Sentence::from),
    },
    Rule {
        code: finding::DATABASE_SATURATED,
        check: processors::database,
    },
    Rule {
        code: finding::DEVICE_THROTTLED,
        check: |e| machine::device_throttled(e.phase),
    },
    Rule {
        code: finding::ERRORS,
        check: errors,
    },
    Rule {
        code: finding::FITS_IN_MEMORY,
        check: memory::fits_in_memory,
    },
    Rule {
        code: finding::LINK_DEGRADED,
        check: links::degraded,
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
        check: |e| machine::other_load(e.phase, e.driver.place),
    },
    Rule {
        code: finding::OTHER_VERSION,
        check: other_version,
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
        check: |e| servers::changed(e.put_back),
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
        check: |e| servers::unwatched(e.phase),
    },
    Rule {
        code: finding::STARTED_LATE,
        check: rate::started_late,
    },
    Rule {
        code: finding::STEAL,
        check: |e| machine::steal(e.phase).or_else(|| servers::steal(e.phase)),
    },
    Rule {
        code: finding::TOO_FEW_SAMPLES,
        check: too_few_samples,
    },
    Rule {
        code: finding::UNEXPECTED,
        check: |e| (!e.unexpected.is_empty()).then(|| expect::said(e.unexpected)),
    },
    Rule {
        code: finding::VOLUME_CAPPED,
        check: |e| machine::volume_capped(e.phase),
    },
    Rule {
        code: finding::WOKEN_LATE,
        check: rate::woken_late,
    },
];

/// The findings of a point.
#[must_use]
pub fn findings(evidence: &Evidence<'_>) -> Vec<Finding> {
    let apply = |rule: &Rule| (rule.check)(evidence).map(|sentence| rule.code.finding(sentence));
    RULES.iter().filter_map(apply).collect()
}

/// What a database itself has to say beside its numbers.
#[must_use]
pub fn remarks(database: &dyn Database) -> Vec<Finding> {
    let finding = |remark: Remark| code_of(remark.code).finding(remark.text);
    database.remarks().into_iter().map(finding).collect()
}

/// The code of the finding that a remark becomes.
fn code_of(remark: RemarkCode) -> &'static FindingCode {
    finding::find(remark.name()).expect("every code of a remark has a row, which a test looks up")
}

fn caches_not_dropped(e: &Evidence<'_>) -> Option<Sentence> {
    e.caches_kept.map(|kept| {
        let (why, remedy) = kept.describe();
        Sentence::new(format!(
            "Caches were not dropped before this point ({{Reason}}), so part of its reads may not \
             have reached the device. {remedy}"
        ))
        .text("Reason", why)
    })
}

fn memory_not_limited(e: &Evidence<'_>) -> Option<Sentence> {
    e.memory_unlimited.map(|(limit, why)| {
        Sentence::new(
            "The plan limits memory to {Memory limit}, but that was not applied: {Reason}.",
        )
        .text("Memory limit", ByteSize(limit).to_string())
        .text("Reason", why)
    })
}

fn clock_stepped(e: &Evidence<'_>) -> Option<Sentence> {
    let direction = match e.clock_step_ms {
        1000.. => "forwards",
        ..=-1000 => "backwards",
        _ => return None,
    };
    let sentence = Sentence::new(
        "The wall clock was set {Direction} by {Clock set by}, against the monotonic clock. Latencies \
         are not affected; times of day are. Let the clock settle before measuring.",
    );
    let by_s = e.clock_step_ms.unsigned_abs() as f64 / 1e3;
    let sentence = sentence.text("Direction", direction);
    Some(sentence.number("Clock set by", by_s, Unit::Seconds))
}

/// That settings of this machine, each as `vm.swappiness is 1, was 60`, are those of a killed run.
pub(crate) fn settings_left(settings: &[String]) -> Option<Finding> {
    (!settings.is_empty()).then(|| {
        let sentence = Sentence::new(format!(
            "This machine has settings that a killed run of tailmark set and did not put back: \
             {{Settings}}. Put them back with `{}`, and measure again.",
            tailmark_prepare::RESTORE
        ));
        finding::SETTINGS_LEFT.finding(sentence.text("Settings", settings.join("; ")))
    })
}

fn errors(e: &Evidence<'_>) -> Option<Sentence> {
    let (failed, sent) = (e.phase.errors(), e.phase.requests());
    let first = e.phase.errors.iter().max_by_key(|c| c.count)?;
    let cause = format!("{} {} ({})", first.kind.name(), first.cause, first.example);
    let sentence = Sentence::new(
        "{Requests failed} of {Requests} requests failed, most often: {Most often}. Their latencies are \
         kept apart, and operations per second are those that succeeded. Find the cause before using \
         these numbers.",
    );
    let sentence = sentence.count("Requests failed", failed);
    let sentence = sentence.count("Requests", sent);
    Some(sentence.text("Most often", cause))
}

fn misses(e: &Evidence<'_>) -> Option<Sentence> {
    let read = e.phase.kinds.get(&Kind::Read)?;
    (read.not_found > 0 && nothing_found(e).is_none()).then(|| {
        Sentence::new(
            "{Misses} of {Reads} reads found nothing; a miss is often cheaper than a hit. Check that \
             the data set was loaded with as many records as are asked for.",
        )
        .count("Misses", read.not_found)
        .count("Reads", read.count)
    })
}

fn nothing_found(e: &Evidence<'_>) -> Option<Sentence> {
    (e.phase.found_nothing() && !misses_on_purpose(&e.key.workload)).then(|| {
        Sentence::new(
            "Every read found nothing, so nothing was read: this point is no peak and in no \
             comparison. Check that the data set is where it was loaded, with as many records as are \
             asked for.",
        )
    })
}

/// Whether a workload reads keys that are not there.
fn misses_on_purpose(workload: &str) -> bool {
    let reads_missing = |found: Workload| {
        found
            .db_bench()
            .any(|db_bench| db_bench.op == Op::ReadMissing)
    };
    tailmark_workload::find(workload).is_ok_and(reads_missing)
}

fn not_settled(e: &Evidence<'_>) -> Option<Sentence> {
    let left = |when, what| {
        let sentence = Sentence::new(format!(
            "Background work (flushes, compactions) was still going on {{Time waited}} {when} the \
             point; {what}. Raise sweep.settle."
        ));
        Some(sentence.number("Time waited", e.settle.as_secs_f64(), Unit::Seconds))
    };
    match (e.settled_before, e.settled_after) {
        (Settled::No, _) => left(
            "after waiting before",
            "it took device time from the measurement",
        ),
        (_, Settled::No) => left("after", "the next point may have started with it"),
        _ => None,
    }
}

fn other_version(e: &Evidence<'_>) -> Option<Sentence> {
    let (planned, own) = e.version?;
    (!crate::expect::is_version(planned, own)).then(|| {
        Sentence::new(
            "The plan is of a study with version {Planned version} of {Driver}, and this is version \
             {Version}. Compare the systems with one another, not with the numbers of the study.",
        )
        .text("Planned version", planned)
        .text("Driver", e.driver.name)
        .text("Version", own)
    })
}

fn too_few_samples(e: &Evidence<'_>) -> Option<Sentence> {
    let (kind, result) = e
        .phase
        .kinds
        .iter()
        .filter(|(k, _)| **k != Kind::ReadModifyWrite)
        .max_by_key(|(_, r)| r.count)?;
    let missing: Vec<_> = tailmark_model::QUANTILES
        .iter()
        .filter(|q| result.ranked_service().quantile(**q).is_none())
        .collect();
    let (first, last) = (missing.first()?, missing.last()?);
    let needed = (10.0 / (1.0 - last.value)).round();
    let rate = result.count as f64 / e.phase.duration_s.max(1e-9);
    let not_stated = if first.name == last.name {
        first.name.to_owned()
    } else {
        format!("{} to {}", first.name, last.name)
    };
    let needed_s = (needed / rate.max(1e-9)).ceil().min(1e9);
    let sentence = Sentence::new(format!(
        "{{Samples}} {{Requests}} are too few to state {{Not stated}}: it takes 10 samples beyond a \
         quantile, for {} {{Samples needed}} {{Requests}} or {{Time needed}} at this rate.",
        last.name
    ));
    let sentence = sentence.text("Requests", format!("{}s", kind.name()));
    let sentence = sentence.count("Samples", result.count);
    let sentence = sentence.text("Not stated", not_stated);
    let sentence = sentence.count("Samples needed", needed as u64);
    Some(sentence.number("Time needed", needed_s, Unit::Seconds))
}

#[cfg(test)]
mod tests;
