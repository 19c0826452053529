//! The comparisons of a report, computed once and looked up by place, so that every sentence, card,
//! table and chart uses the same one.

use std::{collections::BTreeMap, sync::Arc};
use tailmark_model::{Bounded, Metric, PointKey, PointName, Ratios, ReportSettings};
use tailmark_stats::{
    Comparison, Run, Verdict,
    comparison::{Place, Sought, judged_points, repeat_range},
    comparisons,
    statistics::RUNS_MIN,
};

/// The key of a comparison: two systems, a point, and a metric. Peaks have no thread count.
type Name = (String, String, PointName, Metric);

/// Comparisons, and where each of them is.
#[derive(Debug, Clone)]
pub(crate) struct Comparisons {
    all: Arc<Vec<Comparison>>,
    by_name: Arc<BTreeMap<Name, usize>>,
    /// The band of practical equivalence, as a fraction.
    pub band: f64,
    /// How ratios are written.
    pub ratios: Option<Ratios>,
    /// How those of a metric are, so that one fact has one notation in the whole report.
    forms: Arc<BTreeMap<Metric, Ratios>>,
    /// Of repeats that end once a verdict is reached, the most, and the points at which verdicts were
    /// sought, each with whether one is open.
    pub until_decided: Option<(u32, BTreeMap<PointName, Sought>)>,
}

impl Comparisons {
    /// Of pairs that are one family of tests.
    pub fn from_pairs(runs: &[Run], pairs: &[(String, String)], band: f64) -> Self {
        let all = comparisons(runs, pairs, band);
        let named = all.iter().map(name_of);
        let by_name = named.zip(0..).collect();
        Self {
            all: Arc::new(all),
            by_name: Arc::new(by_name),
            band,
            ratios: None,
            forms: Arc::default(),
            until_decided: None,
        }
    }

    /// The same, with ratios as the report writes them.
    pub fn with_ratios(self, ratios: Option<Ratios>) -> Self {
        Self { ratios, ..self }
    }

    /// The same, with the ratios of a metric in one notation if by themselves some would be percentages
    /// and others not, so that headline, cards, sentences and tables state a fact alike.
    pub fn with_forms(self, report: &ReportSettings) -> Self {
        if self.ratios.is_some() {
            return self;
        }
        let mut said: BTreeMap<Metric, Vec<(f64, String)>> = BTreeMap::new();
        for one in self.all.iter().flat_map(|one| as_stated(one, report)) {
            let text = self.improvement(&one);
            let own = said.entry(one.metric).or_default();
            own.push((one.ratio.value, text));
        }
        let forms = said.into_iter().filter_map(|(metric, all)| {
            let form = self.form_beside(all.into_iter())?;
            Some((metric, form))
        });
        let forms = Arc::new(forms.collect());
        Self { forms, ..self }
    }

    /// How ratios of a metric are written; `None`: each as suits it.
    pub fn form_of(&self, metric: Metric) -> Option<Ratios> {
        self.forms.get(&metric).copied().or(self.ratios)
    }

    /// The same with what these runs leave open, if repeats end once a verdict is reached.
    pub fn with_open(self, runs: &[Run], systems: &[&str], report: &ReportSettings) -> Self {
        let range = repeat_range(runs);
        let judged = || judged_points(runs, systems, report, self.band);
        Self {
            until_decided: range.map(|range| (range.most, judged())),
            ..self
        }
    }

    /// The same for comparisons in one row or sentence. If some would be percentages and some not, all
    /// are percentages; with a fivefold one, all are `X`.
    pub fn beside(&self, all: &[&Comparison]) -> Self {
        let free = all
            .iter()
            .filter(|one| !self.forms.contains_key(&one.metric));
        let ratios = free.clone().map(|one| one.ratio.value);
        let said = free.map(|one| self.improvement(one));
        let form = self.form_beside(ratios.zip(said));
        self.clone().with_ratios(form)
    }

    /// The same form for ratios, each with what it would be by itself.
    pub fn form_beside(&self, all: impl Iterator<Item = (f64, String)>) -> Option<Ratios> {
        const FIVEFOLD: f64 = 5.0;
        let all: Vec<(f64, String)> = all.collect();
        let ratios = all.iter().filter(|(_, said)| said.contains('X')).count();
        if self.ratios.is_some() || ratios == 0 || ratios == all.len() {
            return self.ratios;
        }
        let is_fivefold = |(value, _): &(f64, String)| value.max(1.0 / value) >= FIVEFOLD;
        Some(if all.iter().any(is_fivefold) {
            Ratios::Together
        } else {
            Ratios::Percent
        })
    }

    /// How much better the first is, in the notation of the report: `+44 %`, `2.2X lower`.
    pub fn improvement(&self, comparison: &Comparison) -> String {
        let ratios = self.form(&[comparison]);
        comparison.metric.improvement(comparison.ratio, ratios)
    }

    /// How the figures of a phrase about these comparisons are written: their ratios, and the
    /// intervals that stand beside them.
    pub fn form(&self, all: &[&Comparison]) -> Option<Ratios> {
        let metric = all.first().map(|one| one.metric);
        let figures = all.iter().flat_map(|one| {
            let ends = one.interval.filter(|_| one.p_adjusted.is_some());
            let ends = ends.into_iter().flat_map(|(low, high)| [low, high]);
            ends.chain([one.ratio.value])
        });
        let figures: Vec<f64> = figures.collect();
        metric.map_or(self.ratios, |metric| {
            metric.together(&figures, self.form_of(metric))
        })
    }

    /// A ratio of two values of a metric, as the report writes it.
    pub fn ratio(&self, metric: Metric, ratio: Bounded) -> String {
        metric.improvement(ratio, self.form_of(metric))
    }

    /// How `a` compares with `b` at a point; `None` if a value is unknown, a run is not valid, or
    /// bounds of both leave no ratio.
    pub fn find(
        &self,
        point: &PointName,
        metric: Metric,
        (a, b): (&str, &str),
    ) -> Option<Comparison> {
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

    /// Why differences are not tested, if there is no verdict anywhere. `repeats`
    /// are the runs of the point that has the most.
    pub fn without_verdicts(&self, repeats: usize) -> Option<String> {
        let once = if repeats < RUNS_MIN {
            ""
        } else {
            "; identical runs count once"
        };
        let why = if self.have_too_few_runs() {
            format!("that takes {RUNS_MIN} runs of each point{once}")
        } else if self.have_no_noise() {
            "the runs of a point are identical, so their noise is unknown".to_owned()
        } else {
            "no point has the runs for it".to_owned()
        };
        (!self.has_verdicts())
            .then(|| format!("Differences are not tested for significance: {why}."))
    }

    /// Whether a side has too few runs for a verdict anywhere.
    pub fn have_too_few_runs(&self) -> bool {
        let untested = |own: &&Comparison| own.verdict == Verdict::TooFewRuns;
        let mut untested = self.all.iter().filter(untested);
        untested.any(|comparison| !has_no_noise(comparison))
    }

    /// Whether some cell has enough runs but none of them differs from the others.
    pub fn have_no_noise(&self) -> bool {
        self.all.iter().any(has_no_noise)
    }

    /// Whether nothing is compared.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// Whether there is no verdict although there are runs enough: none of them differs from the others.
fn has_no_noise(comparison: &Comparison) -> bool {
    let has_enough = comparison.runs_a.min(comparison.runs_b) >= RUNS_MIN;
    comparison.verdict == Verdict::TooFewRuns && has_enough && comparison.interval.is_none()
}

/// A comparison as a report may state it: with the subject first and, if that is worse, seen from the
/// other one; with the baseline last; without either, with the better one first.
fn as_stated(one: &Comparison, report: &ReportSettings) -> Vec<Comparison> {
    let is_worse = |own: &Comparison| own.metric.gain(own.ratio).value < 0.0;
    let named = |name: &Option<String>, system: &str| name.as_deref() == Some(system);
    let (baseline, subject) = (&report.baseline, &report.subject);
    if baseline.is_some() {
        return match [&one.a, &one.b].map(|system| named(baseline, system)) {
            [true, _] => vec![one.reversed()],
            [_, true] => vec![one.clone()],
            _ => Vec::new(),
        };
    }
    if subject.is_none() {
        let better = if is_worse(one) {
            one.reversed()
        } else {
            one.clone()
        };
        return vec![better];
    }
    let own = match [&one.a, &one.b].map(|system| named(subject, system)) {
        [true, _] => one.clone(),
        [_, true] => one.reversed(),
        _ => return Vec::new(),
    };
    if is_worse(&own) {
        let other = own.reversed();
        vec![own, other]
    } else {
        vec![own]
    }
}

/// The names of systems that two studies have in common, in the order of the first.
pub(crate) fn common<'a>(a: &[&'a str], b: &[&str]) -> Vec<&'a str> {
    let names = a.iter().copied();
    names.filter(|name| b.contains(name)).collect()
}

fn name_of(pair: &Comparison) -> Name {
    let point = pair.point();
    let point = point.unwrap_or_else(|| peaks(&pair.workload, &pair.distribution));
    (pair.a.clone(), pair.b.clone(), point, pair.metric)
}

/// The name of the peaks of a workload.
pub(crate) fn peaks(workload: &str, distribution: &str) -> PointName {
    PointName::new(workload, distribution, PointKey::PEAK, None, None)
}
