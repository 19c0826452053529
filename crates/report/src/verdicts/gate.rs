//! The outcome of a condition, given the runs: pass, fail or unsure.
//!
//! A gate that noise can open is useless. So if the runs leave room for what the condition forbids,
//! the outcome is unsure. It is also unsure if something besides the systems may have caused the
//! difference, or may hide one.

use super::{Verdicts, condition::Condition, sides::Pair};
use std::collections::BTreeSet;
use tailmark_model::{Metric, PointName, RepeatRange, number};
use tailmark_stats::{
    Comparison,
    comparison::{DISTURBANCES, Place, QUICKENING, Verdict},
    statistics::{Look, RUNS_MIN, SIGNIFICANCE, noise, smallest_difference, smallest_ruled_out},
};

/// More repeats than this are not proposed.
const REPEATS_MAX: usize = 1000;

/// The outcome of a condition, in rising weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateOutcome {
    /// The condition is ruled out with 95 % confidence.
    Pass,
    /// Neither.
    Unsure,
    /// It is met, with p adjusted under 0.05, in runs that nothing disturbed.
    Fail,
}

impl GateOutcome {
    /// The first word of the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Unsure => "UNSURE",
            Self::Fail => "FAIL",
        }
    }
}

/// The reason for an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The difference is as large, and shown.
    Met,
    /// The same, but runs have findings of something else that may have caused it.
    Disturbed,
    /// The runs leave no room for it.
    RuledOut,
    /// The same, but such findings may hide it: more runs have them of the side that would have to be
    /// slowed or, if a finding may also mean faster, of either side.
    Hidden,
    /// The noise is large enough to hide it, or the value is close to the condition.
    Noise,
    /// Under four runs of one of the two.
    TooFewRuns,
    /// No run of either differs from the others of its system.
    NoNoise,
    /// A value is a bound only, or both are.
    Bound,
    /// The prices of the two are in different currencies, or their energy covers different parts.
    UnlikeMoney,
    /// A run did not reach its rate, so that no latency of it is compared.
    RateNotMet,
    /// The lower peak belongs to a system without a valid point at some of the other's thread
    /// counts, or they would be equivalent but have different thread counts.
    UnlikePeaks,
    /// A run of the point failed, so that it is in no comparison.
    Failed,
    /// The metric is not known of every run.
    Unknown,
}

impl Reason {
    const fn outcome(self) -> GateOutcome {
        match self {
            Self::Met => GateOutcome::Fail,
            Self::RuledOut => GateOutcome::Pass,
            _ => GateOutcome::Unsure,
        }
    }
}

/// How many repeats of each would show a difference in this noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// So many.
    About(usize),
    /// More than is practical.
    More,
}

impl Repeats {
    /// `about 12 repeats`
    pub fn text(self) -> String {
        match self {
            Self::About(RUNS_MIN) => format!("{RUNS_MIN} repeats"),
            Self::About(count) => format!("about {} repeats", number::count(count as u64)),
            Self::More => format!("more than {} repeats", number::count(REPEATS_MAX as u64)),
        }
    }
}

/// A finding that makes a comparison doubtful, and the number of runs of each side that have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disturbance {
    /// The name of the finding.
    pub code: &'static str,
    /// Runs of the first.
    pub runs_a: usize,
    /// Runs of the second.
    pub runs_b: usize,
}

/// The outcome at one point, or at the peaks of a workload.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Of which two.
    pub pair: Pair,
    /// The workload.
    pub workload: String,
    /// The distribution of its keys.
    pub distribution: String,
    /// The point; `None`: the peaks.
    pub point: Option<PointName>,
    /// The reason.
    pub reason: Reason,
    /// The comparison behind it.
    pub comparison: Option<Comparison>,
    /// The number of repeats that would decide it, if more would help.
    pub repeats: Option<Repeats>,
    /// What else may have caused a difference, or may hide one.
    pub disturbances: Vec<Disturbance>,
}

impl Judged {
    /// The outcome.
    pub const fn outcome(&self) -> GateOutcome {
        self.reason.outcome()
    }

    /// The same, but unsure if something disturbed the runs so that they met the condition, or did not.
    fn with_disturbances(mut self, condition: &Condition, verdicts: &Verdicts) -> Self {
        let Some(comparison) = &self.comparison else {
            return self;
        };
        let Some([a, b]) = verdicts.points.compared(comparison) else {
            return self;
        };
        let of_both = DISTURBANCES.iter().map(|code| Disturbance {
            code: code.name,
            runs_a: a.with_finding(code.name),
            runs_b: b.with_finding(code.name),
        });
        self.disturbances = of_both
            .filter(|found| found.runs_a + found.runs_b > 0)
            .collect();
        let [by_a, by_b] = condition.is_hidden_by();
        // What disturbed both sides alike hides nothing.
        let hides = |found: &Disturbance| {
            let of_a = found.runs_a * comparison.runs_b;
            let of_b = found.runs_b * comparison.runs_a;
            let is_quickening = QUICKENING.iter().any(|code| code.name == found.code);
            (by_a || is_quickening) && of_a > of_b || (by_b || is_quickening) && of_b > of_a
        };
        self.reason = match self.reason {
            Reason::Met if !self.disturbances.is_empty() => Reason::Disturbed,
            Reason::RuledOut if self.disturbances.iter().any(hides) => Reason::Hidden,
            reason => reason,
        };
        self
    }
}

/// The outcomes of a condition.
#[derive(Debug, Clone)]
pub struct Gate {
    /// The condition.
    pub condition: Condition,
    /// The weightiest at any point.
    pub outcome: GateOutcome,
    /// At each point.
    pub judged: Vec<Judged>,
}

/// Judges a condition at every point, or at the peaks, of every pair.
pub fn judge(condition: &Condition, verdicts: &Verdicts) -> Gate {
    let at = if condition.is_of_peaks {
        at_peaks
    } else {
        at_points
    };
    let pairs = verdicts.pairs.iter();
    let mut judged: Vec<_> = pairs
        .flat_map(|pair| at(condition, pair, verdicts))
        .map(|judged| judged.with_disturbances(condition, verdicts))
        .collect();
    let only = condition.workload.as_deref();
    judged.retain(|judgement| only.is_none_or(|only| only == judgement.workload));
    let outcome = judged.iter().map(Judged::outcome).max();
    Gate {
        condition: condition.clone(),
        // If nothing was compared, the outcome is unknown.
        outcome: outcome.unwrap_or(GateOutcome::Unsure),
        judged,
    }
}

fn at_points(condition: &Condition, pair: &Pair, verdicts: &Verdicts) -> Vec<Judged> {
    let (a, b) = (&pair.a.label, &pair.b.label);
    let points = &verdicts.points;
    let mut found = Vec::new();
    for name in points.names(a) {
        let Some(both) = points.get(a, name).zip(points.get(b, name)) else {
            continue;
        };
        let are_valid = both.0.are_valid() && both.1.are_valid();
        let metric = condition.metric;
        let is_asked_for = match metric.latency() {
            Some((kind, _)) => both.0.have(kind) || both.1.have(kind),
            None => [both.0, both.1]
                .iter()
                .any(|runs| !runs.values(metric).is_empty()),
        };
        // A point that failed has no metric that its workload never has.
        let is_impossible = metric
            .latency()
            .is_some_and(|(kind, _)| points.lack(&name.workload, kind));
        if is_impossible || (are_valid && !is_asked_for) {
            continue;
        }
        let is_here = |c: &&Comparison| {
            (&c.a, &c.b, c.metric) == (a, b, condition.metric) && c.point().as_ref() == Some(name)
        };
        let comparison = verdicts.comparisons.iter().find(is_here);
        let (reason, repeats) = match comparison {
            _ if !are_valid => (Reason::Failed, None),
            None if both.0.has(metric)
                && both.1.has(metric)
                && !both.0.is_comparable(both.1, metric) =>
            {
                (Reason::UnlikeMoney, None)
            }
            None if both.0.have_bounds(condition.metric)
                && both.1.have_bounds(condition.metric) =>
            {
                (Reason::Bound, None)
            }
            None if !both.0.met_their_rate() || !both.1.met_their_rate() => {
                (Reason::RateNotMet, None)
            }
            None => (Reason::Unknown, None),
            Some(comparison) => said(condition, comparison, verdicts),
        };
        found.push(Judged {
            pair: pair.clone(),
            workload: name.workload.clone(),
            distribution: name.distribution.clone(),
            point: Some(name.clone()),
            reason,
            comparison: comparison.cloned(),
            repeats,
            disturbances: Vec::new(),
        });
    }
    found
}

fn at_peaks(condition: &Condition, pair: &Pair, verdicts: &Verdicts) -> Vec<Judged> {
    let points = &verdicts.points;
    let workloads = |system: &str| -> BTreeSet<_> {
        let names = points.names(system).into_iter();
        let closed = names.filter(|name| name.target_rate().is_none());
        closed
            .map(|name| (name.workload.as_str(), name.distribution.as_str()))
            .collect()
    };
    let (a, b) = (&pair.a.label, &pair.b.label);
    let (of_a, of_b) = (workloads(a), workloads(b));
    let judged = of_a.intersection(&of_b).map(|&(workload, distribution)| {
        let is_here = |c: &&Comparison| {
            matches!(c.place, Place::Peak { .. })
                && (&c.a, &c.b) == (a, b)
                && (c.workload.as_str(), c.distribution.as_str()) == (workload, distribution)
        };
        let comparison = verdicts.comparisons.iter().find(is_here);
        let has_peak = |system: &str| {
            let names = points.names(system).into_iter();
            let mut own = names.filter(|name| name.is_closed_loop_of(workload, distribution));
            own.any(|name| {
                let runs = points.get(system, name);
                runs.is_some_and(|runs| {
                    runs.are_valid() && runs.center(Metric::OPS_PER_SEC).is_some()
                })
            })
        };
        let (reason, repeats) = match comparison {
            // Only bounds of both leave no ratio.
            None if has_peak(a) && has_peak(b) => (Reason::Bound, None),
            None => (Reason::Failed, None),
            Some(comparison) => said(condition, comparison, verdicts),
        };
        Judged {
            pair: pair.clone(),
            workload: workload.to_owned(),
            distribution: distribution.to_owned(),
            point: None,
            reason,
            comparison: comparison.cloned(),
            repeats,
            disturbances: Vec::new(),
        }
    });
    judged.collect()
}

/// The outcome of a comparison, and the number of repeats that would show more.
fn said(
    condition: &Condition,
    comparison: &Comparison,
    verdicts: &Verdicts,
) -> (Reason, Option<Repeats>) {
    let needed = || needed(condition, comparison, verdicts);
    let is_few = comparison.runs_a.min(comparison.runs_b) < RUNS_MIN;
    match comparison.verdict {
        Verdict::NotTestable if comparison.ratio.is_exact() => return (Reason::UnlikePeaks, None),
        // A bound on the side of the better one is not testable, however many runs there are.
        Verdict::TooFewRuns | Verdict::NotTestable if is_few => {
            return (Reason::TooFewRuns, needed());
        }
        Verdict::TooFewRuns => return (Reason::NoNoise, None),
        _ => {}
    }
    let is_significant = comparison.p_adjusted.is_some_and(|p| p < SIGNIFICANCE);
    if is_significant && condition.is_met_by(comparison.ratio.value) {
        return (Reason::Met, None);
    }
    match comparison.one_sided {
        Some(ends) if condition.is_ruled_out(ends) => (Reason::RuledOut, None),
        _ if !comparison.ratio.is_exact() => (Reason::Bound, None),
        _ => (Reason::Noise, needed()),
    }
}

/// How many repeats would decide it, if the true ratio is the measured one, in the noise of these
/// runs: as many as confirm it if the condition is met, otherwise as many as rule it out. `None` if
/// that many were made.
fn needed(condition: &Condition, comparison: &Comparison, verdicts: &Verdicts) -> Option<Repeats> {
    let is_peak = |c: &Comparison| matches!(c.place, Place::Peak { .. });
    let of_family =
        |c: &&Comparison| c.metric == comparison.metric && is_peak(c) == is_peak(comparison);
    let tests = verdicts.comparisons.iter().filter(of_family).count();
    // With more runs all of them could give a verdict, and so could those of the pairs not asked for.
    let tests = tests * verdicts.pairs_of_family / verdicts.pairs.len();
    let tests = tests.max(comparison.family);
    let distance = condition.distance(comparison.ratio.value);
    let runs = verdicts.points.compared(comparison)?;
    let ranges = runs.iter().filter_map(|runs| runs.repeat_range());
    let range = ranges.reduce(RepeatRange::and);
    let values = runs.map(|runs| {
        let values = runs.values(comparison.metric).into_iter();
        values.map(|bounded| bounded.value).collect::<Vec<_>>()
    });
    // Of single runs nothing is known but that they are too few.
    let noise = noise(values.iter().map(Vec::as_slice)).unwrap_or_default();
    let finds = |count| {
        let look = (count, Look::after(count, range));
        let found = if condition.is_met_by(comparison.ratio.value) {
            smallest_difference(noise, look, tests, 0.0)
        } else {
            smallest_ruled_out(noise, look)
        };
        found.is_some_and(|found| found <= distance)
    };
    let made = comparison.runs_a.min(comparison.runs_b);
    if !finds(REPEATS_MAX) {
        return Some(Repeats::More);
    }
    // More runs find smaller differences.
    let (mut low, mut high) = (RUNS_MIN, REPEATS_MAX);
    while low < high {
        let middle = low.midpoint(high);
        if finds(middle) {
            high = middle
        } else {
            low = middle + 1
        }
    }
    (low > made).then_some(Repeats::About(low))
}
