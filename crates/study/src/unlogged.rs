//! Data for which a histogram log has no line: failures and their ages, misses, bytes, operations
//! that were never done, the failures of each interval, quantiles over blocks, and the findings that
//! make a point invalid. Our export writes it as a JSON comment before the lines of a phase, and our
//! import reads it. Without it, a point with half of its operations failed would come back as a good
//! one.

use crate::study::BlockQosRow;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailmark_model::{
    Censored, ErrorCount, Finding, Interval, IntervalKind, Kind, KindResult, Latencies, Packed,
    Phase, RunRules, finding, histogram, new_latencies, observation,
};

/// The words between the tag of a phase and the data missing from its lines.
const NOT_IN_LINES: &str = ": not in its lines: ";

/// The words before the settings of a study's plan for all of its points.
const OF_THE_STUDY: &str = "of the study: ";

/// Settings of a plan that decide which points are valid and compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedSettings {
    /// What the plan says of how its points are judged.
    #[serde(flatten)]
    pub rules: RunRules,
    /// The systems that are ceilings, and of which systems.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ceilings: BTreeMap<String, String>,
}

impl LoggedSettings {
    /// As a comment.
    pub fn comment(&self) -> serde_json::Result<String> {
        Ok(format!(" {OF_THE_STUDY}{}", serde_json::to_string(self)?))
    }

    /// Parses such a comment from a line.
    ///
    /// # Errors
    /// If it is one and damaged.
    pub fn parse(line: &str) -> Option<Result<Self, String>> {
        let json = line.strip_prefix("# ")?.strip_prefix(OF_THE_STUDY)?;
        let damaged = |error| format!("the comment `of the study` is damaged: {error}");
        let settings: Result<Self, _> = serde_json::from_str(json).map_err(damaged);
        Some(settings.and_then(|settings| {
            let share = settings.rules.allow_errors;
            let is_share = (0.0..=1.0).contains(&share);
            is_share.then_some(settings).ok_or_else(|| {
                format!(
                    "allow_errors is {share}, but it must be a fraction from 0 \
                                        to 1"
                )
            })
        }))
    }
}

/// Of one phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unlogged {
    duration_s: f64,
    operations: u64,
    failed: u64,
    drained: u64,
    drained_failed: u64,
    censored: u64,
    kinds: BTreeMap<Kind, UnloggedKind>,
    errors: Vec<ErrorCount>,
    findings: Vec<Finding>,
    /// Intervals that the lines do not describe completely.
    intervals: Vec<UnloggedInterval>,
    /// Quantiles over blocks, which depend on data that is in no line.
    blocks: BTreeMap<Kind, Vec<BlockQosRow>>,
}

/// Of one interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct UnloggedInterval {
    start_s: f64,
    length_s: f64,
    operations: u64,
    failed: u64,
    errors: BTreeMap<Kind, u64>,
}

impl UnloggedInterval {
    /// `None` if its lines describe it completely.
    fn from_interval(interval: &Interval) -> Option<Self> {
        let kinds = interval.kinds.iter().map(|(kind, own)| (*kind, own.errors));
        let errors: BTreeMap<_, _> = kinds.filter(|(_, errors)| *errors > 0).collect();
        let is_in_lines = interval.operations == operations_in_lines(interval);
        (interval.failed > 0 || !errors.is_empty() || !is_in_lines).then_some(Self {
            start_s: interval.start_s,
            length_s: interval.length_s,
            operations: interval.operations,
            failed: interval.failed,
            errors,
        })
    }

    /// Adds it to the interval that was read from lines.
    fn add_to(self, intervals: &mut Vec<Interval>) {
        let interval = interval_at(intervals, self.start_s, self.length_s);
        interval.failed = self.failed;
        // Lines contain the successful half of a pair whose other half failed or was done later.
        interval.operations = self.operations;
        for (kind, errors) in self.errors {
            let nothing = || Packed::pack(&new_latencies());
            let measured = interval.kinds.entry(kind).or_insert_with(|| IntervalKind {
                count: 0,
                errors: 0,
                service: nothing(),
                response: None,
            });
            measured.errors = errors;
        }
    }
}

/// The number of operations in the lines of an interval. A pair is logged in addition to its
/// halves.
pub fn operations_in_lines(interval: &Interval) -> u64 {
    let counts = interval.kinds.values().map(|kind| kind.count);
    let pairs = interval.kinds.get(&Kind::ReadModifyWrite);
    let halves = pairs.map_or(0, |pairs| pairs.count.saturating_mul(2));
    counts.fold(0, u64::saturating_add).saturating_sub(halves)
}

/// The interval that begins near an instant, created if missing.
pub fn interval_at(intervals: &mut Vec<Interval>, start_s: f64, length_s: f64) -> &mut Interval {
    let near = 0.5 * length_s.max(0.001);
    let at = intervals.partition_point(|i| i.start_s <= start_s - near);
    if intervals
        .get(at)
        .is_none_or(|i| i.start_s >= start_s + near)
    {
        intervals.insert(at, Interval::empty(start_s, length_s));
    }
    &mut intervals[at]
}

/// Of one kind of request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct UnloggedKind {
    not_found: u64,
    errors: u64,
    bytes: u64,
    drained_bytes: u64,
    /// Of requests that failed, by service time.
    failed_ages: Option<Ages>,
    /// Of the same requests, by response time, if it differs.
    failed_response_ages: Option<Ages>,
    never_done: Option<NeverDone>,
}

impl UnloggedKind {
    fn from_result(result: &KindResult) -> Self {
        let never_done = result.censored.as_deref().map(|censored| NeverDone {
            since_sent: Ages::from(&censored.service),
            since_due: Ages::from(&censored.response),
        });
        Self {
            not_found: result.not_found,
            errors: result.errors,
            bytes: result.bytes,
            drained_bytes: result.drained_bytes,
            failed_ages: result.failed.as_ref().map(Ages::from),
            failed_response_ages: result.failed_response.as_ref().map(Ages::from),
            never_done,
        }
    }

    /// Adds it to a result that was read from lines.
    fn add_to(self, result: &mut KindResult) {
        // A log may have the lines of some kinds alone.
        result.not_found = self.not_found.min(result.count);
        (result.errors, result.bytes) = (self.errors, self.bytes);
        result.drained_bytes = self.drained_bytes;
        result.failed = self.failed_ages.map(Latencies::from);
        result.failed_response = self.failed_response_ages.map(Latencies::from);
        let censored = self.never_done.map(|never_done| Censored {
            service: never_done.since_sent.into(),
            response: never_done.since_due.into(),
        });
        result.censored = censored.map(Box::new);
    }

    /// All ages.
    fn ages(&self) -> impl Iterator<Item = &Ages> {
        let never_done = self.never_done.iter();
        let of_never_done = never_done.flat_map(|own| [&own.since_sent, &own.since_due]);
        let of_failed = self.failed_ages.iter().chain(&self.failed_response_ages);
        of_never_done.chain(of_failed)
    }
}

/// The ages of operations that were never done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct NeverDone {
    since_sent: Ages,
    since_due: Ages,
}

/// Ages of operations, nanoseconds, and how many have each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Ages(Vec<(u64, u64)>);

impl Ages {
    /// The most counts of their histogram. A histogram of three digits has 1,024 counts for each
    /// doubling beyond the first 2,048.
    fn counts(&self) -> usize {
        let highest = self.0.iter().map(|(age_ns, _)| *age_ns).max();
        highest.map_or(0, |ns| 1_024 * (1 + ns.max(2_048).ilog2() as usize - 10))
    }
}

impl From<&Latencies> for Ages {
    fn from(latencies: &Latencies) -> Self {
        let recorded = latencies.iter_recorded();
        let age = recorded.map(|age| (age.value_iterated_to(), age.count_at_value()));
        Self(age.collect())
    }
}

impl From<Ages> for Latencies {
    fn from(Ages(ages): Ages) -> Self {
        let mut latencies = new_latencies();
        for (age_ns, count) in ages {
            histogram::record(&mut latencies, age_ns, count);
        }
        latencies
    }
}

impl Unlogged {
    /// The data of this phase that its lines lack.
    pub fn from_phase(phase: &Phase) -> Self {
        let kinds = phase.kinds.iter();
        let kinds = kinds.map(|(kind, result)| (*kind, UnloggedKind::from_result(result)));
        let mut blocks: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for qos in &phase.block_qos {
            let of_kind = blocks.entry(qos.kind).or_default();
            of_kind.push(BlockQosRow::from(qos));
        }
        Self {
            duration_s: phase.duration_s,
            operations: phase.operations,
            failed: phase.failed,
            drained: phase.drained,
            drained_failed: phase.drained_failed,
            censored: phase.censored,
            kinds: kinds.collect(),
            errors: phase.errors.clone(),
            findings: phase.findings.clone(),
            intervals: phase
                .intervals
                .iter()
                .filter_map(UnloggedInterval::from_interval)
                .collect(),
            blocks,
        }
    }

    /// The comment, without its `#`, of the phase with a tag.
    pub fn comment(&self, tag: &str) -> serde_json::Result<String> {
        let json = serde_json::to_string(self)?;
        Ok(format!(" {tag}{NOT_IN_LINES}{json}"))
    }

    /// The tag and its data, if a line is such a comment.
    ///
    /// # Errors
    /// If it is one and damaged.
    pub fn parse(line: &str) -> Option<Result<(&str, Self), String>> {
        let (tag, json) = line.strip_prefix("# ")?.split_once(NOT_IN_LINES)?;
        let unlogged = serde_json::from_str(json);
        let damaged = |error| format!("the comment `not in its lines` is damaged: {error}");
        Some(unlogged.map(|unlogged| (tag, unlogged)).map_err(damaged))
    }

    /// The most counts in its histograms: 8 bytes each.
    pub fn counts(&self) -> usize {
        let ages = self.kinds.values().flat_map(UnloggedKind::ages);
        ages.map(Ages::counts).sum()
    }

    /// Adds it to a phase that was read from lines.
    ///
    /// # Errors
    /// If it contradicts itself.
    pub fn add_to(self, phase: &mut Phase) -> Result<(), String> {
        let is_length = self.duration_s.is_finite() && self.duration_s > 0.0;
        let ended = self.failed.checked_add(self.drained);
        if !is_length || ended.is_none_or(|ended| ended > self.operations) {
            return Err(format!(
                "the comment `not in its lines` contradicts itself: {} of {} operations failed and \
                 {} were drained, in {} s",
                self.failed, self.operations, self.drained, self.duration_s
            ));
        }
        phase.duration_s = self.duration_s;
        (phase.operations, phase.failed) = (self.operations, self.failed);
        (phase.drained, phase.drained_failed) = (self.drained, self.drained_failed);
        phase.censored = self.censored;
        for (kind, unlogged) in self.kinds {
            unlogged.add_to(phase.kinds.entry(kind).or_default());
        }
        for interval in self.intervals {
            interval.add_to(&mut phase.intervals);
        }
        let blocks = self
            .blocks
            .into_iter()
            .flat_map(|(kind, own)| own.into_iter().filter_map(move |row| row.into_qos(kind)));
        phase.block_qos = blocks.collect();
        phase.errors = self.errors;
        let is_told =
            |finding: &Finding| self.findings.iter().any(|known| known.code == finding.code);
        phase.findings.retain(|finding| !is_told(finding));
        for other in self.findings {
            observation::check(&other.evidence).map_err(|damaged| damaged.to_string())?;
            phase.findings.push(finding::known(other));
        }
        Ok(())
    }
}
