//! The comparisons of a report, computed once and found by what they are of, so that every
//! sentence, card, table and chart reads the same one.

use crate::{Data, axis::Step, sweep::WorkloadGrid};
use std::{collections::BTreeMap, sync::OnceLock};
use tailmark_model::{Metric, Point, PointKey, PointName};
use tailmark_stats::{
    Comparison, Run,
    comparison::{Place, all_pairs, equivalence},
    comparisons, statistics,
};

/// The comparisons of [`Data`], computed when they are first asked for. A clone computes its own,
/// since its data may be changed.
#[derive(Debug, Default)]
pub struct Compared(OnceLock<Comparisons>);

impl Clone for Compared {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Compared {
    /// Those of `data`, of which this is a part.
    pub(crate) fn comparisons(&self, data: &Data) -> &Comparisons {
        self.0.get_or_init(|| Comparisons::new(data))
    }
}

/// What a comparison is of: two systems, a point, and a metric. Peaks are at no thread count.
type Name = (String, String, PointName, Metric);

/// Comparisons, and where each of them is.
#[derive(Debug, Clone)]
pub(crate) struct Comparisons {
    all: Vec<Comparison>,
    by_name: BTreeMap<Name, usize>,
    /// The band of practical equivalence, as a fraction.
    pub band: f64,
}

impl Comparisons {
    fn new(data: &Data) -> Self {
        let (systems, _) = data.systems_and_ceilings();
        let systems: Vec<&str> = systems.iter().map(|system| system.name.as_str()).collect();
        Self::from_pairs(&runs(data), &all_pairs(&systems), band(data))
    }

    /// Of pairs that are one family of tests.
    pub fn from_pairs(runs: &[Run], pairs: &[(String, String)], band: f64) -> Self {
        let all = comparisons(runs, pairs, band);
        let named = all.iter().map(name_of);
        let by_name = named.zip(0..).collect();
        Self { all, by_name, band }
    }

    /// How `a` compares with `b` at a point; none where it is not known of both, where a run is not
    /// valid, and where bounds of both leave no ratio.
    pub fn at(
        &self,
        group: &WorkloadGrid<'_>,
        step: Step,
        metric: Metric,
        (a, b): (&str, &str),
    ) -> Option<Comparison> {
        let (workload, distribution) = (&group.workload, &group.distribution);
        let rate = step.rate.or(group.rate);
        let point = PointName::new(workload, distribution, step.threads, rate, group.arrivals);
        self.find(&point, metric, (a, b))
    }

    /// How the peaks of both compare in a closed loop.
    pub fn at_peak(&self, group: &WorkloadGrid<'_>, pair: (&str, &str)) -> Option<Comparison> {
        if group.has_peaks() {
            let point = peaks(&group.workload, &group.distribution);
            self.find(&point, Metric::OPS_PER_SEC, pair)
        } else {
            None
        }
    }

    fn find(&self, point: &PointName, metric: Metric, (a, b): (&str, &str)) -> Option<Comparison> {
        let name = |one: &str, two: &str| (one.to_owned(), two.to_owned(), point.clone(), metric);
        if let Some(&index) = self.by_name.get(&name(a, b)) {
            return Some(self.all[index].clone());
        }
        let index = *self.by_name.get(&name(b, a))?;
        Some(self.all[index].reversed())
    }

    /// All of operations per second at peaks, or all at points.
    pub fn of_peaks(&self, are_peaks: bool) -> impl Iterator<Item = &Comparison> {
        let is_peak = |comparison: &Comparison| matches!(comparison.place, Place::Peak { .. });
        let all = self.all.iter();
        all.filter(move |comparison| is_peak(comparison) == are_peaks)
    }

    /// Whether there are runs enough for a verdict anywhere.
    pub fn has_verdicts(&self) -> bool {
        self.all.iter().any(|comparison| comparison.p.is_some())
    }

    /// Why there is no verdict, if there is none anywhere.
    pub fn without_verdicts(&self) -> Option<&'static str> {
        (!self.has_verdicts()).then(|| {
            if self.have_too_few_runs() {
                "Too few runs for a verdict."
            } else {
                "No verdict is possible."
            }
        })
    }

    /// Whether a side has too few runs for a verdict anywhere.
    pub fn have_too_few_runs(&self) -> bool {
        let mut all = self.all.iter();
        all.any(|comparison| comparison.verdict == tailmark_stats::Verdict::TooFewRuns)
    }

    /// Whether nothing is compared.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// The runs of all systems.
pub(crate) fn runs(data: &Data) -> Vec<Run> {
    let allow_errors = data.allow_errors();
    let takes_turns = data
        .headers
        .iter()
        .all(|header| header.settings.takes_turns);
    let run = |point: &Point| Run {
        takes_turns,
        ..Run::from_point(point, allow_errors)
    };
    data.points.iter().map(run).collect()
}

/// The names of systems that two studies have in common, in the order of the first.
pub(crate) fn common<'a>(a: &[&'a str], b: &[&str]) -> Vec<&'a str> {
    let names = a.iter().copied();
    names.filter(|name| b.contains(name)).collect()
}

/// The band of practical equivalence, as a fraction; of several studies, the minimum.
pub(crate) fn band(data: &Data) -> f64 {
    let bands = data.headers.iter().map(equivalence);
    bands.reduce(f64::min).unwrap_or(statistics::EQUIVALENCE)
}

fn name_of(pair: &Comparison) -> Name {
    let point = pair.point();
    let point = point.unwrap_or_else(|| peaks(&pair.workload, &pair.distribution));
    (pair.a.clone(), pair.b.clone(), point, pair.metric)
}

/// The name of the peaks of a workload.
fn peaks(workload: &str, distribution: &str) -> PointName {
    PointName::new(workload, distribution, PointKey::PEAK, None, None)
}
