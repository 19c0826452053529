//! What runs say to a condition: that it is met, that it is not, or that they cannot tell.
//!
//! A gate that passes because nobody could have seen a difference is none: where the runs leave
//! room for what the condition forbids, the outcome is that they cannot tell.

use super::{
    Compared,
    condition::Condition,
    points::{PointName, Points},
    sides::Pair,
};
use std::collections::BTreeSet;
use tailmark_results::{
    Comparison, Metric,
    comparison::{Place, Verdict},
    number,
    statistics::{RUNS_MIN, SIGNIFICANCE, noise, smallest_difference},
};

/// More repeats than this are not proposed.
const REPEATS_MAX: usize = 1000;

/// What is said to a condition, in rising weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It is ruled out with 95 % confidence.
    NotShown,
    /// Neither.
    CannotTell,
    /// It is met, with p adjusted under 0.05.
    Shown,
}

impl Outcome {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotShown => "not shown",
            Self::CannotTell => "cannot tell",
            Self::Shown => "shown",
        }
    }
}

/// Why that is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The difference is as large, and shown.
    Met,
    /// The runs leave no room for it.
    RuledOut,
    /// There is noise enough for it, or it is close to what the condition asks.
    Noise,
    /// Under four runs of one of the two.
    TooFewRuns,
    /// A value is a bound only, or both are.
    Bound,
    /// A run did not reach its rate, so that no latency of it is compared.
    RateNotMet,
    /// The lower peak is of a system that has no valid point at some thread counts of the other.
    UnlikePeaks,
    /// A run of the point failed, so that it is in no comparison.
    Failed,
    /// The metric is not known of every run.
    Unknown,
}

impl Reason {
    const fn outcome(self) -> Outcome {
        match self {
            Self::Met => Outcome::Shown,
            Self::RuledOut => Outcome::NotShown,
            _ => Outcome::CannotTell,
        }
    }
}

/// How many repeats of each would tell a difference from noise as large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// So many.
    About(usize),
    /// More than anybody makes.
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

/// What is said at one point, or at the peaks of a workload.
#[derive(Debug)]
pub struct Judged<'a> {
    /// Of which two.
    pub pair: &'a Pair,
    /// The workload.
    pub workload: &'a str,
    /// How its keys are drawn.
    pub distribution: &'a str,
    /// The point; none: the peaks.
    pub point: Option<&'a PointName>,
    /// Why it is said.
    pub reason: Reason,
    /// What it goes by.
    pub comparison: Option<&'a Comparison>,
    /// How many repeats would tell, where more of them would.
    pub repeats: Option<Repeats>,
}

impl Judged<'_> {
    /// What is said.
    pub const fn outcome(&self) -> Outcome {
        self.reason.outcome()
    }
}

/// What is said to a condition.
#[derive(Debug)]
pub struct Gate<'a> {
    /// The condition.
    pub condition: &'a Condition,
    /// The weightiest at any point.
    pub outcome: Outcome,
    /// At each point.
    pub judged: Vec<Judged<'a>>,
}

/// Judges a condition at every point, or at the peaks, of every pair.
pub fn judge<'a>(
    condition: &'a Condition,
    compared: &'a Compared,
    points: &'a Points<'_>,
) -> Gate<'a> {
    let mut judged = Vec::new();
    for pair in &compared.pairs {
        if condition.is_of_peaks {
            judged.extend(at_peaks(condition, pair, compared, points))
        } else {
            judged.extend(at_points(condition, pair, compared, points))
        }
    }
    judged.retain(|at| {
        condition
            .workload
            .as_deref()
            .is_none_or(|only| only == at.workload)
    });
    let outcome = judged.iter().map(Judged::outcome).max();
    Gate {
        condition,
        // Where nothing was compared nobody knows.
        outcome: outcome.unwrap_or(Outcome::CannotTell),
        judged,
    }
}

fn at_points<'a>(
    condition: &'a Condition,
    pair: &'a Pair,
    compared: &'a Compared,
    points: &'a Points<'_>,
) -> Vec<Judged<'a>> {
    let (a, b) = (&pair.a.label, &pair.b.label);
    let mut found = Vec::new();
    for name in points.common(a, b) {
        let Some(both) = points.get(a, name).zip(points.get(b, name)) else {
            continue;
        };
        let are_valid = both.0.are_valid() && both.1.are_valid();
        let is_asked_for = match condition.metric {
            Metric::OpsPerSec => true,
            Metric::Latency { kind, .. } => both.0.have(kind) || both.1.have(kind),
        };
        if are_valid && !is_asked_for {
            continue;
        }
        let is_here =
            |c: &&Comparison| (&c.a, &c.b, c.metric) == (a, b, condition.metric) && name.is_of(c);
        let comparison = compared.comparisons.iter().find(is_here);
        let (reason, repeats) = match comparison {
            _ if !are_valid => (Reason::Failed, None),
            None if both.0.have_bounds(condition.metric)
                && both.1.have_bounds(condition.metric) =>
            {
                (Reason::Bound, None)
            }
            None if !both.0.met_their_rate() || !both.1.met_their_rate() => {
                (Reason::RateNotMet, None)
            }
            None => (Reason::Unknown, None),
            Some(comparison) => said(condition, comparison, compared, points),
        };
        found.push(Judged {
            pair,
            workload: &name.workload,
            distribution: &name.distribution,
            point: Some(name),
            reason,
            comparison,
            repeats,
        });
    }
    found
}

fn at_peaks<'a>(
    condition: &'a Condition,
    pair: &'a Pair,
    compared: &'a Compared,
    points: &'a Points<'_>,
) -> Vec<Judged<'a>> {
    let workloads = |system: &str| -> BTreeSet<(&'a str, &'a str)> {
        let names = points.names(system).into_iter();
        let closed = names.filter(|name| name.rate().is_none());
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
        let comparison = compared.comparisons.iter().find(is_here);
        let has_peak = |system: &str| {
            let mut names = points.names(system).into_iter();
            let is_of = |name: &&PointName| {
                name.rate().is_none()
                    && (name.workload.as_str(), name.distribution.as_str())
                        == (workload, distribution)
            };
            names.any(|name| {
                let runs = points.get(system, name).filter(|_| is_of(&name));
                runs.is_some_and(|runs| {
                    runs.are_valid() && runs.center(Metric::OpsPerSec).is_some()
                })
            })
        };
        let (reason, repeats) = match comparison {
            // Only bounds of both leave no ratio.
            None if has_peak(a) && has_peak(b) => (Reason::Bound, None),
            None => (Reason::Failed, None),
            Some(comparison) => said(condition, comparison, compared, points),
        };
        Judged {
            pair,
            workload,
            distribution,
            point: None,
            reason,
            comparison,
            repeats,
        }
    });
    judged.collect()
}

/// What a comparison says, and how many repeats would say more.
fn said(
    condition: &Condition,
    comparison: &Comparison,
    compared: &Compared,
    points: &Points<'_>,
) -> (Reason, Option<Repeats>) {
    let needed = || needed(condition, comparison, compared, points);
    match comparison.verdict {
        Verdict::NotTestable if comparison.ratio.is_exact() => return (Reason::UnlikePeaks, None),
        Verdict::NotTestable => return (Reason::Bound, None),
        Verdict::TooFewRuns => return (Reason::TooFewRuns, needed()),
        _ => {}
    }
    let is_significant = comparison.p_adjusted.is_some_and(|p| p < SIGNIFICANCE);
    if is_significant && condition.is_met_by(comparison.ratio.value) {
        return (Reason::Met, None);
    }
    match comparison.one_sided {
        Some(ends) if condition.is_ruled_out(ends) => (Reason::RuledOut, None),
        _ => (Reason::Noise, needed()),
    }
}

/// How many repeats would tell, if the true ratio is the one that was measured, in the noise of these
/// runs: as many as show it where the condition is met, and otherwise as many as rule the condition
/// out. None where so many were made.
fn needed(
    condition: &Condition,
    comparison: &Comparison,
    compared: &Compared,
    points: &Points<'_>,
) -> Option<Repeats> {
    let is_peak = |c: &Comparison| matches!(c.place, Place::Peak { .. });
    let of_family =
        |c: &&Comparison| c.metric == comparison.metric && is_peak(c) == is_peak(comparison);
    let tests = compared.comparisons.iter().filter(of_family).count();
    let tests = tests * compared.pairs_of_family / compared.pairs.len();
    let distance = condition.distance(comparison.ratio.value);
    let values = points.compared(comparison)?.map(|runs| {
        let values = runs.values(comparison.metric).into_iter();
        values.map(|stated| stated.value).collect::<Vec<_>>()
    });
    // Of single runs nothing is known but that they are too few.
    let noise = noise(values.iter().map(Vec::as_slice)).map_or(0.0, |(noise, _)| noise);
    let finds = |runs| {
        let found = smallest_difference(noise, runs, tests, 0.0);
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
