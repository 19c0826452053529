//! Verdicts on two systems, or on the systems of two studies, and gates on them: the output of
//! `tailmark compare`.

mod blocks;
mod condition;
mod gate;
mod gate_words;
mod json;
mod near;
mod points;
mod ratio;
mod sides;

pub use condition::{Condition, any_metric, band, metric, report_metric};
pub use gate::GateOutcome;
pub(crate) use ratio::interval_text;

use crate::{Error, Report};
use gate::Gate;
use points::{PointRuns, Points};
use serde_json::Value;
use sides::{Pair, Sides};
use std::{collections::BTreeSet, path::PathBuf};
use tailmark_model::{Metric, PointName, Statistic, printable};
use tailmark_stats::{
    Comparison, Inequality, Run,
    comparison::{Place, comparisons},
};

/// The request: what is compared, and the conditions.
#[derive(Debug, Clone, Default)]
pub struct VerdictsRequest {
    /// The study whose systems are judged.
    pub study: PathBuf,
    /// The baseline, if that is another study.
    pub baseline_study: Option<PathBuf>,
    /// The system that is judged.
    pub system: Option<String>,
    /// The system that it is judged against.
    pub baseline: Option<String>,
    /// The metrics to show; empty: ops/s, mean, p99 and p99.9 of each kind of request, and what the
    /// plans report.
    pub metrics: Vec<Metric>,
    /// The conditions of gates.
    pub fail_if: Vec<Condition>,
    /// The band of practical equivalence, as a fraction; `None`: the plan's.
    pub equivalence: Option<f64>,
}

/// Everything that is compared, and how it compares.
#[derive(Debug)]
pub struct Verdicts {
    pairs: Vec<Pair>,
    points: Points,
    /// When the first run and the last one began, milliseconds since 1970.
    began: Option<(u64, u64)>,
    /// The metrics that are shown, in the order of reports.
    metrics: BTreeSet<Metric>,
    comparisons: Vec<Comparison>,
    /// Pairs over which p is adjusted, including those that were not requested.
    pairs_of_family: usize,
    /// What is compared in a pair, if it is not the device.
    compared: Vec<(usize, Inequality)>,
    unequal: Vec<(usize, Inequality)>,
    /// The band of practical equivalence, as a fraction.
    band: f64,
    gates: Vec<Gate>,
}

/// A point that is in no comparison.
struct Skipped<'v> {
    pair: &'v Pair,
    point: &'v PointName,
    reason: &'static str,
}

/// Values of money at a point in two currencies, or with the energy of different parts.
struct UnlikeMoney<'v> {
    pair: &'v Pair,
    point: &'v PointName,
    metric: Metric,
    runs: [&'v PointRuns; 2],
}

impl Verdicts {
    /// Compares, and judges the conditions.
    ///
    /// # Errors
    /// If a study cannot be read, or lacks what is to be compared.
    pub fn new(request: &VerdictsRequest) -> Result<Self, Error> {
        let sides = Sides::open(request)?;
        let mut runs = sides.runs()?;
        refuse_unknown_workload(&request.fail_if, &runs)?;
        let (mut compared, mut unequal) = (Vec::new(), Vec::new());
        for (index, pair) in sides.pairs.iter().enumerate() {
            if let Some((a, b)) = sides.conditions(pair, &runs) {
                let is_same = pair.is_same_system();
                compared.extend(a.compared_library(&b, is_same).map(|found| (index, found)));
                unequal.extend(
                    a.unequal(&b, is_same)
                        .into_iter()
                        .map(|found| (index, found)),
                );
            }
        }
        let times = || runs.iter().filter_map(|run| run.started_ms);
        let began = times().min().zip(times().max());
        let metrics = metrics(request, sides.report_metrics(), &runs);
        keep(&mut runs, &metrics);
        let family = sides.family();
        let band = request.equivalence.unwrap_or_else(|| sides.equivalence());
        let all = comparisons(&runs, &family, band);
        let of_pairs = all.iter().filter_map(|c| asked_for(&sides.pairs, c));
        let mut verdicts = Self {
            comparisons: of_pairs.collect(),
            pairs_of_family: family.len(),
            pairs: sides.pairs,
            points: Points::from_runs(runs),
            began,
            metrics,
            compared,
            unequal,
            band,
            gates: Vec::new(),
        };
        let gates = request.fail_if.iter();
        verdicts.gates = gates
            .map(|condition| gate::judge(condition, &verdicts))
            .collect();
        Ok(verdicts)
    }

    /// The most severe outcome of the conditions. `None` if there are no conditions.
    #[must_use]
    pub fn outcome(&self) -> Option<GateOutcome> {
        self.gates.iter().map(|gate| gate.outcome).max()
    }

    /// One line for each condition: `FAIL: ops worse by 5% (...): −20 %, p 0.001`.
    #[must_use]
    pub fn gate_lines(&self) -> Vec<String> {
        gate_words::gate_lines(self)
    }

    /// The page for people.
    #[must_use]
    pub fn page(&self) -> Report {
        blocks::page(self)
    }

    /// The document for programs; `docs/CLI.md` describes it.
    #[must_use]
    pub fn document(&self) -> Value {
        json::document(self)
    }

    /// The name of the system before a text, if there are several.
    fn name(&self, pair: &Pair, text: &str) -> String {
        match self.pairs.len() {
            1 => text.to_owned(),
            _ => format!("{}, {text}", pair.a.system),
        }
    }

    /// The comparisons of a metric at points, or at peaks, in the order of tables.
    fn of_metric(&self, metric: Metric, are_peaks: bool) -> Vec<&Comparison> {
        let is_asked_for = |c: &&Comparison| {
            c.metric == metric && matches!(c.place, Place::Peak { .. }) == are_peaks
        };
        self.comparisons.iter().filter(is_asked_for).collect()
    }

    /// Whether A and B are from different studies, which do not take turns.
    fn are_of_two_studies(&self) -> bool {
        let mut pairs = self.pairs.iter();
        pairs.any(|pair| pair.a.study != pair.b.study)
    }

    /// The number of points that either side of a pair has, over all pairs.
    fn points_of_either(&self) -> usize {
        let of_pair = |pair: &Pair| {
            let [a, b] = [&pair.a, &pair.b].map(|side| self.points.names(&side.label));
            a.union(&b).count()
        };
        self.pairs.iter().map(of_pair).sum()
    }

    /// The values of money that are shown and not compared.
    fn unlike_money(&self) -> Vec<UnlikeMoney<'_>> {
        let mut found = Vec::new();
        for pair in &self.pairs {
            for point in self.points.names(&pair.a.label) {
                let runs = [&pair.a, &pair.b].map(|side| self.points.get(&side.label, point));
                let [Some(a), Some(b)] = runs else { continue };
                let money = self.metrics.iter().filter(|metric| {
                    a.has(**metric) && b.has(**metric) && !a.is_comparable(b, **metric)
                });
                found.extend(money.map(|metric| UnlikeMoney {
                    pair,
                    point,
                    metric: *metric,
                    runs: [a, b],
                }));
            }
        }
        found
    }

    /// The metrics that only one side has, which side, and at which of the points of both.
    fn one_sided(&self) -> Vec<(Metric, &'static str, Vec<String>)> {
        let mut found: Vec<(Metric, &'static str, Vec<String>)> = Vec::new();
        for (metric, pair) in self.metrics.iter().flat_map(|metric| {
            let pairs = self.pairs.iter();
            pairs.map(move |pair| (*metric, pair))
        }) {
            for point in self.points.names(&pair.a.label) {
                let runs = [&pair.a, &pair.b].map(|side| self.points.get(&side.label, point));
                let [Some(a), Some(b)] = runs else { continue };
                let side = match (a.has(metric), b.has(metric)) {
                    _ if !a.are_valid() || !b.are_valid() => continue,
                    (true, false) => "A",
                    (false, true) => "B",
                    _ => continue,
                };
                let place = self.name(pair, &point.to_string());
                match found.last_mut() {
                    Some((known, own, places)) if (*known, *own) == (metric, side) => {
                        places.push(place);
                    }
                    _ => found.push((metric, side, vec![place])),
                }
            }
        }
        found
    }

    /// The points that only one side has, or whose runs failed.
    fn skipped(&self) -> Vec<Skipped<'_>> {
        let mut found = Vec::new();
        for pair in &self.pairs {
            let (a, b) = (&pair.a.label, &pair.b.label);
            let (of_a, of_b) = (self.points.names(a), self.points.names(b));
            for point in of_a.union(&of_b).copied() {
                let sides = [a, b].map(|side| self.points.get(side, point));
                let reason = match sides.map(|runs| runs.map(|runs| runs.are_valid())) {
                    [Some(true), Some(true)] => continue,
                    [Some(_), None] => "only A has it",
                    [None, _] => "only B has it",
                    [Some(false), Some(true)] => "a run of A failed",
                    [Some(true), Some(false)] => "a run of B failed",
                    [Some(false), Some(false)] => "runs of both failed",
                };
                found.push(Skipped {
                    pair,
                    point,
                    reason,
                });
            }
        }
        found
    }
}

/// Refuses a condition for a workload that no study has.
fn refuse_unknown_workload(conditions: &[Condition], runs: &[Run]) -> Result<(), Error> {
    let known: BTreeSet<&str> = runs.iter().map(|run| run.key.workload.as_str()).collect();
    for condition in conditions {
        let Some(name) = condition.workload.as_deref() else {
            continue;
        };
        if !known.contains(name) {
            let hint = near::did_you_mean(name, known.iter().copied());
            let known: Vec<String> = known.iter().map(|own| printable(own).into()).collect();
            return Err(Error::Refused(format!(
                "--fail-if is `{condition}`, but no compared point has workload `{name}`{hint}; \
                 workloads: {}",
                known.join(", ")
            )));
        }
    }
    Ok(())
}

/// A comparison in the order in which it was asked for. `None` if it was not asked for.
fn asked_for(pairs: &[Pair], comparison: &Comparison) -> Option<Comparison> {
    let (a, b) = (&comparison.a, &comparison.b);
    let is = |one: &String, other: &String| {
        let mut pairs = pairs.iter();
        pairs.any(|pair| (&pair.a.label, &pair.b.label) == (one, other))
    };
    match (is(a, b), is(b, a)) {
        (true, _) => Some(comparison.clone()),
        (_, true) => Some(comparison.reversed()),
        _ => None,
    }
}

/// The metrics to show: the requested or default ones, and those of gates.
fn metrics(
    request: &VerdictsRequest,
    of_reports: impl Iterator<Item = Metric>,
    runs: &[Run],
) -> BTreeSet<Metric> {
    let of_gates = request.fail_if.iter().map(|condition| condition.metric);
    let mut metrics: BTreeSet<_> = of_gates.chain(request.metrics.iter().copied()).collect();
    if request.metrics.is_empty() {
        metrics.extend(of_reports);
        let known = runs.iter().flat_map(|run| run.values.keys());
        let usual = [Statistic::MEAN, Statistic::P99, Statistic::P999];
        metrics.extend(known.filter(|metric| match metric.latency() {
            Some((_, statistic)) => usual.contains(&statistic),
            None => **metric == Metric::OPS_PER_SEC,
        }));
    }
    metrics
}

/// Drops all other numbers, which nobody would see. One stays for each kind of request, to show
/// that it was requested.
fn keep(runs: &mut [Run], metrics: &BTreeSet<Metric>) {
    for run in runs {
        let mut kinds = BTreeSet::new();
        run.values.retain(|metric, _| {
            let is_first = metric.latency().is_some_and(|(kind, _)| kinds.insert(kind));
            is_first || *metric == Metric::OPS_PER_SEC || metrics.contains(metric)
        });
    }
}
