//! How two systems compare at each point that both were measured at, and at their peaks: the ratio,
//! its interval, and the verdict. The one place that computes them; reports, exports, the terminal
//! and gates read them from here.
//!
//! A verdict is about the runs that were made: these devices, under this load, on these days.

mod copies;
mod family;
mod peaks;
mod run;
mod turns;

pub use copies::RunsRead;
pub use run::Run;

use crate::statistics::{self, EQUIVALENCE, Estimate, RUNS_MIN, SIGNIFICANCE};
use family::Families;
use std::collections::BTreeMap;
use tailmark_model::{Arrivals, Bound, Bounded, Header, Metric, PointKey, PointName};
use turns::Positions;

/// Where two systems are compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// At one point.
    Point {
        /// Clients.
        threads: u32,
        /// Operations per second over all clients; none: a closed loop.
        target_rate: Option<f64>,
        /// How they arrive.
        arrivals: Option<Arrivals>,
    },
    /// Each at its peak over the thread counts of a closed loop.
    Peak {
        /// Where the first has it; [`tailmark_model::PointKey::PEAK`] where that is not known, as of the second.
        threads_a: u32,
        /// Where the second has it.
        threads_b: u32,
    },
}

/// The verdict on two systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The first is better: p, adjusted, is under 0.05, and the ratio lies outside the band of
    /// practical equivalence.
    Better,
    /// The first is worse, by the same rule.
    Worse,
    /// The whole interval of the ratio lies within the band.
    Equivalent,
    /// None of these.
    NoDifferenceShown,
    /// Fewer than four runs of one of them, copies of a run not counted. Or no run of either differs
    /// from the others, so that nothing is known of their noise.
    TooFewRuns,
    /// A value is a bound, because requests failed, operations were due and never done, or the clients
    /// were the limit, and the runs do not show which one is better whatever lies beyond it. Or a peak
    /// is above another whose system has no valid point at some of the thread counts.
    NotTestable,
}

impl Verdict {
    /// In words, and in exports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::NoDifferenceShown => "no difference shown",
            Self::TooFewRuns => "too few runs",
            Self::NotTestable => "not testable",
        }
    }

    /// Whether it calls one of the two better.
    #[must_use]
    pub const fn is_difference(self) -> bool {
        matches!(self, Self::Better | Self::Worse)
    }

    /// The same, said of the second against the first.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Better => Self::Worse,
            Self::Worse => Self::Better,
            other => other,
        }
    }
}

/// How interval and p of a comparison are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// Welch's t test.
    Welch,
    /// Least squares with the trend that both systems share, where they took turns.
    InTurns,
    /// The simultaneous interval over the thread counts that may be the peak.
    Peaks,
}

impl Test {
    /// In exports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Welch => "welch",
            Self::InTurns => "least squares with trend",
            Self::Peaks => "peaks",
        }
    }
}

/// What other tests say, which no verdict goes by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Diagnostics {
    /// The ratio with its interval by the bootstrap.
    pub bootstrap: Estimate,
    /// The rank-sum test of Mann and Whitney.
    pub rank_sum_p: f64,
    /// Student's paired test over repeats, where systems took turns at a point.
    pub paired_p: Option<f64>,
}

/// How one system compares with another.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The workload.
    pub workload: String,
    /// How its keys are drawn.
    pub distribution: String,
    /// At which point.
    pub place: Place,
    /// In what.
    pub metric: Metric,
    /// The system that is compared.
    pub a: String,
    /// The one it is compared with.
    pub b: String,
    /// The geometric means of `values`.
    pub centers: [Bounded; 2],
    /// What the test estimates: the geometric mean of the runs of `a` to that of `b`, without the
    /// drift where systems took turns. One-sided where values are bounds.
    pub ratio: Bounded,
    /// By which test.
    pub test: Test,
    /// The 95 % interval of the ratio; none under two runs, and of bounds.
    pub interval: Option<(f64, f64)>,
    /// The one-sided ends with 95 %: the true ratio is not below, and not above. Of a bound one of them
    /// is 0 or infinite.
    pub one_sided: Option<(f64, f64)>,
    /// Runs of `a`.
    pub runs_a: usize,
    /// Runs of `b`.
    pub runs_b: usize,
    /// By the test; none where there is no verdict.
    pub p: Option<f64>,
    /// After Holm, over its family.
    pub p_adjusted: Option<f64>,
    /// How many comparisons of the metric at points, or at peaks, could give a verdict.
    pub family: usize,
    /// What is said.
    pub verdict: Verdict,
    /// The value of each run, those of `a` and those of `b`; of a latency, nanoseconds. Of a peak the
    /// value of each repeat at the thread count that the others choose.
    pub values: [Vec<f64>; 2],
}

impl Comparison {
    /// Of two values that were read off curves, which nothing tests.
    #[must_use]
    pub fn of_readings(metric: Metric, (a, b): (&str, &str), ratio: Bounded) -> Self {
        Self {
            workload: String::new(),
            distribution: String::new(),
            place: Place::Point {
                threads: PointKey::PEAK,
                target_rate: None,
                arrivals: None,
            },
            metric,
            a: a.to_owned(),
            b: b.to_owned(),
            centers: [ratio, Bounded::exact(1.0)],
            ratio,
            test: Test::Welch,
            interval: None,
            one_sided: None,
            runs_a: 0,
            runs_b: 0,
            p: None,
            p_adjusted: None,
            family: 0,
            verdict: Verdict::TooFewRuns,
            values: [Vec::new(), Vec::new()],
        }
    }

    /// The point that it is at; none at peaks.
    #[must_use]
    pub fn point(&self) -> Option<PointName> {
        let Place::Point {
            threads,
            target_rate,
            arrivals,
        } = self.place
        else {
            return None;
        };
        let (workload, distribution) = (&self.workload, &self.distribution);
        Some(PointName::new(
            workload,
            distribution,
            threads,
            target_rate,
            arrivals,
        ))
    }

    /// What other tests say; none where there is no verdict, and of bounds.
    #[must_use]
    pub fn diagnostics(&self) -> Option<Diagnostics> {
        let [a, b] = &self.values;
        self.p.filter(|_| self.ratio.is_exact())?;
        Some(Diagnostics {
            bootstrap: statistics::resampled_ratio(a, b)?,
            rank_sum_p: statistics::rank_sum_p(a, b)?,
            paired_p: match self.test {
                Test::InTurns => statistics::paired_p(a, b),
                Test::Welch | Test::Peaks => None,
            },
        })
    }

    /// Makes a bound of the ratio, whose values were tested as they stand. What lies beyond it can only
    /// make the better one better still, so a difference that they show is one; anything else is open.
    fn bound_by(&mut self, bound: Bound) {
        let beyond = |low: f64, high: f64| match bound {
            Bound::Exact => true,
            Bound::AtLeast => low > 1.0,
            Bound::AtMost => high < 1.0,
        };
        let ratio = self.ratio.value;
        let is_shown = |(low, high)| self.p.is_none() || beyond(low, high);
        let is_certain = beyond(ratio, ratio) && self.interval.is_none_or(is_shown);
        self.ratio.bound = bound;
        if !is_certain {
            self.leave_open();
        }
        if bound != Bound::Exact {
            self.interval = None;
            self.one_sided = self.one_sided.map(|(low, high)| match bound {
                Bound::AtMost => (0.0, high),
                _ => (low, f64::INFINITY),
            });
        }
    }

    /// Takes back what was tested. What the ratio is not below, or not above, stays.
    fn leave_open(&mut self) {
        self.verdict = Verdict::NotTestable;
        (self.p, self.p_adjusted, self.interval) = (None, None, None);
    }

    /// The same, said of the second against the first.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let turned = |ends: (f64, f64)| (1.0 / ends.1, 1.0 / ends.0);
        Self {
            place: match self.place {
                Place::Peak {
                    threads_a,
                    threads_b,
                } => Place::Peak {
                    threads_a: threads_b,
                    threads_b: threads_a,
                },
                ref point @ Place::Point { .. } => point.clone(),
            },
            a: self.b.clone(),
            b: self.a.clone(),
            centers: [self.centers[1], self.centers[0]],
            ratio: Bounded {
                value: 1.0 / self.ratio.value,
                bound: self.ratio.bound.reversed(),
            },
            interval: self.interval.map(turned),
            one_sided: self.one_sided.map(turned),
            runs_a: self.runs_b,
            runs_b: self.runs_a,
            verdict: self.verdict.reversed(),
            values: [self.values[1].clone(), self.values[0].clone()],
            ..self.clone()
        }
    }
}

/// The runs of each system at each point; none of a point of which a run is not
/// valid.
type Cells<'a> = BTreeMap<&'a str, BTreeMap<PointName, Vec<&'a Run>>>;

/// Compares each pair of systems, the first with the second, in everything that is known of both.
///
/// `pairs` names them; all of them together are one family of tests for each metric, by Holm over
/// their points, and for the peaks over the workloads (`family.rs` says what counts). `band` is that of
/// practical equivalence: 0.03 takes ratios from 1 / 1.03 to 1.03 for the same.
#[must_use]
pub fn comparisons(runs: &[Run], pairs: &[(String, String)], band: f64) -> Vec<Comparison> {
    let cells = cells(runs);
    let positions = Positions::from_runs(runs);
    let mut found = Vec::new();
    for (a, b) in pairs {
        let (Some(of_a), Some(of_b)) = (cells.get(a.as_str()), cells.get(b.as_str())) else {
            continue;
        };
        for (name, runs_a) in of_a {
            let Some(runs_b) = of_b.get(name) else {
                continue;
            };
            // Peaks at unknown thread counts are at no common point.
            if runs_a[0].key.is_peak() {
                continue;
            }
            let is_rate_met = runs_a.iter().chain(runs_b).all(|run| run.is_rate_met);
            let is_comparable = |metric: &&Metric| is_rate_met || **metric == Metric::OPS_PER_SEC;
            let metrics = runs_a[0].values.keys().filter(is_comparable);
            found.extend(metrics.filter_map(|&metric| {
                let place = Place::Point {
                    threads: name.threads,
                    target_rate: name.target_rate(),
                    arrivals: name.arrivals,
                };
                compare((a, runs_a), (b, runs_b), metric, place, &positions)
            }));
        }
        found.extend(peaks::at_peaks((a, of_a), (b, of_b), band, &positions));
    }
    judge(&mut found, &Families::new(runs, pairs), band);
    found
}

/// Each pair of these, the earlier one first.
#[must_use]
pub fn all_pairs(systems: &[&str]) -> Vec<(String, String)> {
    let behind = |i: usize| systems[i + 1..].iter();
    let pairs = systems
        .iter()
        .enumerate()
        .flat_map(|(i, a)| behind(i).map(|b| ((*a).to_owned(), (*b).to_owned())));
    pairs.collect()
}

fn cells(runs: &[Run]) -> Cells<'_> {
    let mut cells = Cells::new();
    for run in runs {
        let of_system = cells.entry(run.key.system.as_str()).or_default();
        let of_point: &mut Vec<_> = of_system.entry(PointName::from(&run.key)).or_default();
        of_point.push(run);
    }
    for of_system in cells.values_mut() {
        of_system.retain(|_, repeats| repeats.iter().all(|run| run.is_valid));
        let each = of_system.values_mut();
        each.for_each(|repeats| repeats.sort_by_key(|run| run.key.repeat));
    }
    cells
}

/// A system with its runs.
type Side<'a, R> = (&'a str, R);

/// A metric of every run; none where one of them does not have it.
fn values(runs: &[&Run], metric: Metric) -> Option<Vec<Bounded>> {
    runs.iter()
        .map(|run| run.values.get(&metric).copied())
        .collect()
}

/// What runs come to together: their geometric mean, bounded where one of them is. None of nothing,
/// where one of them is not positive, and where they are bounded on different sides.
#[must_use]
pub fn center(values: &[Bounded]) -> Option<Bounded> {
    let numbers: Vec<f64> = values.iter().map(|bounded| bounded.value).collect();
    let mut bounds = values.iter().map(|bounded| bounded.bound);
    Some(Bounded {
        value: statistics::geometric_mean(&numbers)?,
        bound: bounds.try_fold(Bound::Exact, Bound::and)?,
    })
}

/// A comparison whose p is not adjusted yet, and whose verdict is not given; none where one of the
/// systems does not have the metric in every run, or bounds of both leave no ratio.
fn compare(
    (a, runs_a): Side<'_, &Vec<&Run>>,
    (b, runs_b): Side<'_, &Vec<&Run>>,
    metric: Metric,
    place: Place,
    positions: &Positions,
) -> Option<Comparison> {
    let (of_a, of_b) = (values(runs_a, metric)?, values(runs_b, metric)?);
    let (center_a, center_b) = (center(&of_a)?, center(&of_b)?);
    let of_centers = center_a.value / center_b.value;
    let bound = center_a.bound.and(center_b.bound.reversed())?;
    let numbers = |values: &[Bounded]| values.iter().map(|v| v.value).collect::<Vec<_>>();
    let (of_a, of_b) = (numbers(&of_a), numbers(&of_b));
    let (test, difference) = match positions.of_turns(runs_a, runs_b) {
        Some([at_a, at_b]) => {
            let timed = |at: Vec<f64>, values: &[f64]| -> Vec<(f64, f64)> {
                at.into_iter().zip(values.iter().copied()).collect()
            };
            let (timed_a, timed_b) = (timed(at_a, &of_a), timed(at_b, &of_b));
            (Test::InTurns, statistics::in_turns(&timed_a, &timed_b))
        }
        None => (Test::Welch, statistics::welch(&of_a, &of_b)),
    };
    let is_tested = difference.is_some() && of_a.len().min(of_b.len()) >= RUNS_MIN;
    let mut found = Comparison {
        workload: runs_a[0].key.workload.clone(),
        distribution: runs_a[0].key.distribution.clone(),
        place,
        metric,
        a: a.to_owned(),
        b: b.to_owned(),
        centers: [center_a, center_b],
        ratio: Bounded::exact(difference.map_or(of_centers, |d| d.ratio.value)),
        test,
        interval: difference.map(|d| (d.ratio.low, d.ratio.high)),
        one_sided: difference.map(|d| (d.at_least(), d.at_most())),
        runs_a: of_a.len(),
        runs_b: of_b.len(),
        p: difference.filter(|_| is_tested).map(|d| d.p),
        p_adjusted: None,
        family: 0,
        verdict: if is_tested {
            Verdict::NoDifferenceShown
        } else {
            Verdict::TooFewRuns
        },
        values: [of_a, of_b],
    };
    found.bound_by(bound);
    Some(found)
}

/// Adjusts p over each family of tests and gives the verdicts.
fn judge(comparisons: &mut [Comparison], families: &Families, band: f64) {
    let mut tested: BTreeMap<(Metric, bool), Vec<(usize, f64)>> = BTreeMap::new();
    for (index, comparison) in comparisons.iter_mut().enumerate() {
        let is_peak = matches!(comparison.place, Place::Peak { .. });
        comparison.family = families.size(comparison.metric, is_peak);
        let of_family = tested.entry((comparison.metric, is_peak)).or_default();
        of_family.extend(comparison.p.map(|p| (index, p)));
    }
    for ((metric, is_peak), family) in tested {
        let p: Vec<f64> = family.iter().map(|(_, p)| *p).collect();
        let adjusted = statistics::holm(&p, families.size(metric, is_peak));
        for ((index, _), p_adjusted) in family.into_iter().zip(adjusted) {
            let comparison = &mut comparisons[index];
            comparison.p_adjusted = Some(p_adjusted);
            comparison.verdict = verdict(comparison, p_adjusted, band);
            if !comparison.ratio.is_exact() && !comparison.verdict.is_difference() {
                comparison.leave_open();
            }
        }
    }
}

/// Whether a ratio is none in practice: from 1 / 1.03 to 1.03, both included, for a band of 0.03.
#[must_use]
pub fn is_within(ratio: f64, band: f64) -> bool {
    // Quotients are not exact.
    ratio.max(1.0 / ratio) <= (1.0 + band) * (1.0 + 1e-9)
}

fn verdict(comparison: &Comparison, p_adjusted: f64, band: f64) -> Verdict {
    let ratio = comparison.ratio.value;
    let is_inside = |(from, to): (f64, f64)| is_within(from, band) && is_within(to, band);
    // Of a peak the interval need not lie around the ratio.
    let is_on_its_side = |(from, to): (f64, f64)| if ratio > 1.0 { from > 1.0 } else { to < 1.0 };
    let is_shown = comparison.interval.is_none_or(is_on_its_side);
    if p_adjusted < SIGNIFICANCE && is_shown && !is_within(ratio, band) {
        if (ratio > 1.0) == comparison.metric.more_is_better() {
            Verdict::Better
        } else {
            Verdict::Worse
        }
    } else if comparison.interval.is_some_and(is_inside) {
        Verdict::Equivalent
    } else {
        Verdict::NoDifferenceShown
    }
}

/// The band of practical equivalence that a plan asks for, as a fraction: 0.03 is 3 %.
#[must_use]
pub fn equivalence(header: &Header) -> f64 {
    header.settings.report.equivalence.unwrap_or(EQUIVALENCE)
}

#[cfg(test)]
mod tests;
