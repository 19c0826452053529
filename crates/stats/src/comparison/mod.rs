//! Compares two systems at each point that both were measured at, and at their peaks: the ratio,
//! its interval, and the verdict. Computed here only; reports, exports, the terminal and gates use
//! it.
//!
//! A verdict is about the runs that were made: these devices, under this load, on these days.

mod copies;
mod ends;
mod family;
mod judged;
mod peaks;
mod run;
mod turns;
mod verdict;

pub use copies::RunsRead;
pub use judged::{Sought, judged_points};
pub use run::{BACKGROUND_DONE, BACKGROUND_DUE, DISTURBANCES, QUICKENING, Run, background_kept};
pub use verdict::{Verdict, is_within};

use crate::statistics::{self, EQUIVALENCE, Estimate, Look, RUNS_MIN};
use ends::is_between;
use family::Families;
use std::collections::{BTreeMap, BTreeSet};
use tailmark_model::{Arrivals, Bound, Bounded, Header, Metric, PointKey, PointName, RepeatRange};
use turns::Positions;
use verdict::judge;

/// Where two systems are compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// At one point.
    Point {
        /// Clients.
        threads: u32,
        /// Operations per second over all clients; `None` for a closed loop.
        target_rate: Option<f64>,
        /// How operations arrive.
        arrivals: Option<Arrivals>,
    },
    /// At the peak of each over the thread counts of a closed loop.
    Peak {
        /// The thread count of the first peak; [`tailmark_model::PointKey::PEAK`] if unknown. The
        /// same applies to the second.
        threads_a: u32,
        /// The thread count of the second peak.
        threads_b: u32,
        /// Whether only those thread counts count that both were measured at, because the peak of
        /// one may be where the other was not measured.
        is_over_common: bool,
    },
}

/// The test that gives interval and p.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// Welch's t test.
    Welch,
    /// Least squares with a trend that both systems share, if they took turns.
    InTurns,
    /// The simultaneous interval over all thread counts that may be the peak.
    Peaks,
}

impl Test {
    /// The name in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Welch => "welch",
            Self::InTurns => "least squares with trend",
            Self::Peaks => "peaks",
        }
    }
}

/// Results of other tests. Verdicts do not use them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Diagnostics {
    /// The ratio with its interval by the bootstrap.
    pub bootstrap: Estimate,
    /// The rank-sum test of Mann and Whitney.
    pub rank_sum_p: f64,
    /// Student's paired test over repeats, if systems took turns at a point.
    pub paired_p: Option<f64>,
}

/// How one system compares with another.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The workload.
    pub workload: String,
    /// How its keys are drawn.
    pub distribution: String,
    /// The place of comparison.
    pub place: Place,
    /// The metric.
    pub metric: Metric,
    /// The system that is compared.
    pub a: String,
    /// The system that it is compared with.
    pub b: String,
    /// The geometric means of `values`.
    pub centers: [Bounded; 2],
    /// The estimate of the test: the geometric mean of the runs of `a` relative to that of `b`,
    /// without drift if the systems took turns. One-sided if values are bounds.
    pub ratio: Bounded,
    /// The test.
    pub test: Test,
    /// The 95 % interval of the ratio, which lies in it; `None` under two runs, and for bounds.
    pub interval: Option<(f64, f64)>,
    /// The one-sided 95 % ends: the true ratio is not below the first and not above the second. For
    /// a bound, one of them is 0 or infinite, unless values are known between two ends.
    pub one_sided: Option<(f64, f64)>,
    /// The number of runs of `a`.
    pub runs_a: usize,
    /// The number of runs of `b`.
    pub runs_b: usize,
    /// The most runs, if repeats end once a verdict is reached.
    pub runs_most: Option<u32>,
    /// The p of the test; `None` if there is no verdict.
    pub p: Option<f64>,
    /// The p after Holm's adjustment over its family.
    pub p_adjusted: Option<f64>,
    /// The number of comparisons of the metric, at points or at peaks, that could give a verdict.
    pub family: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// The value of each run of `a`, and of each run of `b`; latencies in nanoseconds. For a peak,
    /// the value of each repeat at the thread count that the other repeats choose.
    pub values: [Vec<f64>; 2],
}

impl Comparison {
    /// A comparison of two values that were read off curves and cannot be tested.
    pub fn of_readings(
        metric: Metric,
        (a, b): (&str, &str),
        ratio: Bounded,
        centers: [Bounded; 2],
    ) -> Self {
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
            centers,
            ratio,
            test: Test::Welch,
            interval: None,
            one_sided: None,
            runs_a: 0,
            runs_b: 0,
            runs_most: None,
            p: None,
            p_adjusted: None,
            family: 0,
            verdict: Verdict::TooFewRuns,
            values: [Vec::new(), Vec::new()],
        }
    }

    /// The point; `None` at peaks.
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

    /// Results of other tests; `None` if there is no verdict, and for bounds.
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

    /// Turns the tested ratio into a bound. True values can only make the better system better
    /// still, so a difference that was found remains; anything else stays open.
    fn bound_by(&mut self, bound: Bound) {
        let beyond = |low: f64, high: f64| match bound {
            Bound::Exact => true,
            Bound::AtLeast => low > 1.0,
            Bound::AtMost => high < 1.0,
            // No ratio is one; see `ends.rs`.
            Bound::Between(..) => false,
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

    /// Removes the test's result. One-sided ends of the ratio stay.
    fn leave_open(&mut self) {
        self.verdict = Verdict::NotTestable;
        (self.p, self.p_adjusted, self.interval) = (None, None, None);
    }

    /// The comparison of the second against the first.
    pub fn reversed(&self) -> Self {
        let turned = |ends: (f64, f64)| (1.0 / ends.1, 1.0 / ends.0);
        Self {
            place: match self.place {
                Place::Peak {
                    threads_a,
                    threads_b,
                    is_over_common,
                } => Place::Peak {
                    threads_a: threads_b,
                    threads_b: threads_a,
                    is_over_common,
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

/// The runs of each system at each point, without points of which a run is not valid.
type Cells<'a> = BTreeMap<&'a str, BTreeMap<PointName, Vec<&'a Run>>>;

/// Compares each pair of systems, the first with the second, in every metric that both have.
///
/// `pairs` names them. For each metric, all of them are one family of tests in Holm's adjustment:
/// over their points, and over the workloads for peaks (`family.rs` says what counts). `band` is
/// the band of practical equivalence: with 0.03, ratios from 1 / 1.03 to 1.03 count as equal.
pub fn comparisons(runs: &[Run], pairs: &[(String, String)], band: f64) -> Vec<Comparison> {
    let cells = cells(runs);
    let measured = measured(runs);
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
        found.extend(peaks::at_peaks(
            (a, of_a),
            (b, of_b),
            [&measured[a.as_str()], &measured[b.as_str()]],
            band,
            &positions,
        ));
    }
    judge(&mut found, &Families::new(runs, pairs), band);
    found
}

/// Each pair of these systems, the earlier one first.
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

/// The points of each system, valid or not.
fn measured(runs: &[Run]) -> BTreeMap<&str, BTreeSet<PointName>> {
    let mut points: BTreeMap<&str, BTreeSet<PointName>> = BTreeMap::new();
    for run in runs {
        let of_system = points.entry(run.key.system.as_str()).or_default();
        of_system.insert(PointName::from(&run.key));
    }
    points
}

/// A system with its runs.
type Side<'a, R> = (&'a str, R);

/// A metric of every run; `None` if a run lacks it.
fn values(runs: &[&Run], metric: Metric) -> Option<Vec<Bounded>> {
    runs.iter()
        .map(|run| run.values.get(&metric).copied())
        .collect()
}

/// The geometric mean of runs, bounded if one of them is. `None` without runs, if one is not
/// positive, or if they are bounded on different sides.
pub fn center(values: &[Bounded]) -> Option<Bounded> {
    Bounded::combined(values, |numbers| statistics::geometric_mean(&numbers))
}

/// A comparison without adjusted p and verdict. `None` if a run of either system lacks the metric,
/// if bounds of both leave no ratio, or for money that is not alike.
fn compare(
    (a, runs_a): Side<'_, &Vec<&Run>>,
    (b, runs_b): Side<'_, &Vec<&Run>>,
    metric: Metric,
    place: Place,
    positions: &Positions,
) -> Option<Comparison> {
    let is_comparable = |one: &&Run| runs_b.iter().all(|other| one.is_comparable(other, metric));
    if !runs_a.iter().all(is_comparable) {
        return None;
    }
    let known = [values(runs_a, metric)?, values(runs_b, metric)?];
    let compare = |stated: [Vec<Bounded>; 2]| {
        let place = place.clone();
        compare_values((a, runs_a), (b, runs_b), stated, metric, place, positions)
    };
    if known.iter().flatten().any(is_between) {
        ends::compare(&known, compare)
    } else {
        compare(known)
    }
}

/// The same of values that are exact or bounds on one side.
fn compare_values(
    (a, runs_a): Side<'_, &Vec<&Run>>,
    (b, runs_b): Side<'_, &Vec<&Run>>,
    [of_a, of_b]: [Vec<Bounded>; 2],
    metric: Metric,
    place: Place,
    positions: &Positions,
) -> Option<Comparison> {
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
    let range = repeat_range(runs_a.iter().chain(runs_b).copied());
    let look = Look::after(of_a.len().min(of_b.len()), range);
    let difference = difference.map(|difference| difference.at(look));
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
        runs_most: range.map(|range| range.most),
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

/// The range of repeats of these runs, if they end once a verdict is reached; of several ranges, the
/// widest.
pub fn repeat_range<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Option<RepeatRange> {
    let ranges = runs.into_iter().filter_map(|run| run.rules.repeats);
    ranges.reduce(RepeatRange::and)
}

/// The band of practical equivalence of a plan, as a fraction: 0.03 is 3 %.
pub fn equivalence(header: &Header) -> f64 {
    header.settings.report.equivalence.unwrap_or(EQUIVALENCE)
}

#[cfg(test)]
mod tests;
