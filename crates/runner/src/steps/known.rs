//! The knowledge from which the next step is chosen: the content of the study, and the results of
//! steps since. Every step follows from it and the plan alone, so a resumed run takes the same
//! steps as an uninterrupted one.

use super::open::{self, Open};
use crate::{Error, retry, warmup::WarmupLength};
use std::time::Duration;
use tailmark_model::{
    Fault, Point, PointKey, PointName, ResolvedRate,
    finding::{CLIENT_SATURATED, NO_ANSWER},
};
use tailmark_plan::{AskedRate, Plan, PlanPoint, SystemPlan};
use tailmark_stats::statistics;
use tailmark_study::Study;
use tailmark_workload::Workload;

/// What two warm-ups may differ by and still be equally long, seconds.
const SAME_S: f64 = 0.5;

/// The points and rates of a study.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Known {
    /// In the order in which they were added.
    runs: Vec<Run>,
    /// Points that are measured again, although they are there.
    retried: Vec<PointKey>,
    rates: Vec<ResolvedRate>,
    /// Points whose requests were taken apart.
    taken_apart: Vec<PointKey>,
    /// Which points get a further repeat.
    pub(super) open: Open,
}

/// Facts about a measured point.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub key: PointKey,
    pub ops_per_sec: f64,
    pub is_client_saturated: bool,
    pub fault: Option<Fault>,
    /// The length of its warm-up, seconds, if a rule ended it. A warm-up that was cut off because
    /// the database went away does not show how long one must be.
    pub warmup_s: Option<f64>,
    /// Its numbers, if repeats end once a verdict is reached.
    pub judged: Option<tailmark_stats::Run>,
}

impl Run {
    fn new(plan: &Plan, point: &Point) -> Self {
        let Point { key, phase } = point;
        let warmup = phase.warmup.as_ref();
        let warmup = warmup.filter(|warmup| !NO_ANSWER.is_among(&warmup.phase.findings));
        Self {
            key: key.clone(),
            ops_per_sec: phase.ops_per_sec(),
            is_client_saturated: CLIENT_SATURATED.is_among(&phase.findings),
            fault: phase.fault(plan.sweep.allow_errors),
            warmup_s: warmup.map(|warmup| warmup.length_s()),
            judged: open::judged(plan, point),
        }
    }
}

impl Known {
    /// The knowledge in a study.
    pub fn from_study(plan: &Plan, study: &Study) -> Result<Self, Error> {
        let warmups = study.warmups()?;
        let mut known = Self {
            runs: Vec::new(),
            retried: retry::retried(plan, study)?,
            rates: study.resolved_rates()?,
            taken_apart: study.anatomy_keys()?,
            open: Open::default(),
        };
        study.each_point_total(|point| {
            let kept = warmups.iter().find(|kept| kept.key == point.key);
            let warmup_s = kept.filter(|kept| !kept.is_cut).map(|kept| kept.length_s);
            known.runs.push(Run {
                warmup_s,
                ..Run::new(plan, &point)
            });
        })?;
        known.open = known.open_after(plan, Open::default(), 0);
        Ok(known)
    }

    /// Takes up a point that was measured.
    pub fn add(&mut self, plan: &Plan, point: &Point) {
        self.runs.retain(|run| run.key != point.key);
        self.retried.retain(|key| *key != point.key);
        self.runs.push(Run::new(plan, point));
        let open = std::mem::take(&mut self.open);
        self.open = self.open_after(plan, open, point.key.repeat);
    }

    /// Which points get a further repeat, after runs of this one.
    fn open_after(&self, plan: &Plan, open: Open, repeat: u32) -> Open {
        let judged = self.runs.iter().filter_map(|run| run.judged.clone());
        let judged: Vec<tailmark_stats::Run> = judged.collect();
        let name = |point: &PlanPoint<'_>, system: &SystemPlan| {
            Some(PointName::from(&self.key(plan, point, system)?))
        };
        open.after(plan, &judged, name, repeat)
    }

    /// Takes up a point whose requests were taken apart.
    pub fn add_anatomy(&mut self, key: PointKey) {
        self.taken_apart.push(key);
    }

    /// Whether the requests of a point were taken apart.
    pub fn is_taken_apart(&self, key: &PointKey) -> bool {
        self.taken_apart.contains(key)
    }

    /// The mean operations per second of a point over its repeats; `None` if there is none, or one
    /// is invalid.
    pub fn ops_per_sec(
        &self,
        plan: &Plan,
        point: &PlanPoint<'_>,
        system: &SystemPlan,
    ) -> Option<f64> {
        let key = self.key(plan, point, system)?;
        let repeats = self.runs.iter().filter(|run| {
            let repeat = key.repeat;
            let same = PointKey {
                repeat,
                ..run.key.clone()
            };
            same == key
        });
        let ops: Option<Vec<f64>> = repeats
            .map(|run| run.fault.is_none().then_some(run.ops_per_sec))
            .collect();
        let ops = ops.filter(|ops| !ops.is_empty())?;
        Some(ops.iter().sum::<f64>() / ops.len() as f64)
    }

    /// Adds a resolved rate.
    pub fn add_rate(&mut self, rate: ResolvedRate) {
        self.rates.push(rate);
    }

    /// The points of a system that are there and are not measured again.
    pub fn kept(&self, system: &SystemPlan) -> usize {
        let own = self.runs.iter().filter(|run| run.key.system == system.name);
        own.filter(|run| !self.retried.contains(&run.key)).count()
    }

    /// The points of a system that are there and are measured again.
    pub fn retried(&self, system: &SystemPlan) -> usize {
        let own = self.retried.iter().filter(|key| key.system == system.name);
        own.count()
    }

    /// A point that is there and is not measured again.
    pub fn run(&self, key: &PointKey) -> Option<&Run> {
        let run = self.runs.iter().find(|run| run.key == *key)?;
        (!self.retried.contains(key)).then_some(run)
    }

    /// The resolved rate of a percentage of a peak on a system.
    pub fn rate(
        &self,
        system: &SystemPlan,
        workload: &Workload,
        requested: &AskedRate,
    ) -> Option<f64> {
        let text = requested.to_string();
        let mut rates = self.rates.iter().filter(|rate| is_of(rate, workload));
        let rate = rates.find(|rate| rate.system == system.name && rate.requested == text)?;
        Some(rate.rate)
    }

    /// The name of a point in the study; `None` while its rate is unknown.
    pub fn key(&self, plan: &Plan, point: &PlanPoint<'_>, system: &SystemPlan) -> Option<PointKey> {
        let rate = match &point.rate {
            Some(requested @ AskedRate::OfPeak(_)) => {
                Some(self.rate(system, point.workload, requested)?)
            }
            _ => point.fixed_rate(),
        };
        Some(point.key(plan, system, rate))
    }

    /// The repeat of the last point of a system that is there, in the order of the plan.
    pub fn last_repeat(&self, plan: &Plan, system: &SystemPlan) -> Option<u32> {
        let points = plan.points();
        let kept = points.filter(|point| !self.is_pending(plan, point, system));
        kept.last().map(|point| point.repeat)
    }

    /// Whether a point is to be measured. One whose rate is not known yet is.
    pub fn is_pending(&self, plan: &Plan, point: &PlanPoint<'_>, system: &SystemPlan) -> bool {
        let key = self.key(plan, point, system);
        key.is_none_or(|key| self.run(&key).is_none())
    }

    /// Resolves a percentage of a peak; `None` if there is no peak. If rates refer to one common
    /// peak, all systems are measured at the same rate.
    pub fn resolve(
        &self,
        plan: &Plan,
        point: &PlanPoint<'_>,
        system: &SystemPlan,
    ) -> Option<ResolvedRate> {
        let Some(requested @ AskedRate::OfPeak(part)) = point.rate else {
            return None;
        };
        let (of_system, text) = (plan.sweep.peak_of(system), requested.to_string());
        let same = self.rates.iter().find(|rate| {
            rate.of_system == of_system && rate.requested == text && is_of(rate, point.workload)
        });
        let (peak_ops_per_sec, rate) = match same {
            Some(same) => (same.peak_ops_per_sec, same.rate),
            None => {
                let peak = self.peak(plan, point, of_system)?;
                (peak, three_digits(part * peak))
            }
        };
        Some(ResolvedRate {
            system: system.name.clone(),
            workload: point.workload.name.clone(),
            distribution: point.workload.distribution_name().to_owned(),
            requested: text,
            of_system: of_system.to_owned(),
            peak_ops_per_sec,
            rate,
        })
    }

    /// The peak of a system over the thread counts of the plan and its repeats so far, as in the
    /// report ([`statistics::leave_one_out`]). A thread count with an invalid repeat is excluded.
    fn peak(&self, plan: &Plan, point: &PlanPoint<'_>, system: &str) -> Option<f64> {
        let at = |threads: u32| -> Vec<(u32, f64)> {
            let repeats = self.runs.iter().filter(|run| {
                let key = &run.key;
                key.system == system
                    && key.workload == point.workload.name
                    && key.distribution == point.workload.distribution_name()
                    && key.target_rate.is_none()
                    && key.threads == threads
            });
            let runs: Option<Vec<_>> = repeats
                .map(|run| (run.fault.is_none()).then_some((run.key.repeat, run.ops_per_sec)))
                .collect();
            runs.unwrap_or_default()
        };
        let threads = plan.sweep.threads.iter();
        let counts = threads.map(|&threads| at(threads));
        let counts: Vec<_> = counts.filter(|runs| !runs.is_empty()).collect();
        let value = |(index, repeat): &(usize, u32)| {
            let run = counts[*index].iter().find(|(number, _)| number == repeat);
            run.map(|(_, ops)| *ops)
        };
        let chosen = statistics::leave_one_out(&counts);
        let values: Vec<f64> = chosen.iter().filter_map(value).collect();
        statistics::geometric_mean(&values)
    }

    /// The longest warm-up of a point, in any repeat, on the systems that are compared with this one.
    fn longest_warmup_s(
        &self,
        plan: &Plan,
        point: &PlanPoint<'_>,
        system: &SystemPlan,
    ) -> Option<f64> {
        let peers = plan
            .systems
            .iter()
            .filter(|peer| are_compared(peer, system));
        let keys = peers.filter_map(|peer| self.key(plan, point, peer));
        let lengths = keys.flat_map(|key| {
            let any_repeat = self.runs.iter().filter(move |run| {
                let repeat = run.key.repeat;
                run.key
                    == PointKey {
                        repeat,
                        ..key.clone()
                    }
            });
            any_repeat.filter_map(|run| run.warmup_s)
        });
        lengths.reduce(f64::max)
    }

    fn warmup_s(&self, key: &PointKey) -> Option<f64> {
        let run = self.runs.iter().find(|run| run.key == *key);
        run.and_then(|run| run.warmup_s)
    }

    /// Whether the warm-up of a point was shorter than that of points it is compared with.
    pub fn is_short(&self, plan: &Plan, point: &PlanPoint<'_>, system: &SystemPlan) -> bool {
        let key = self.key(plan, point, system);
        let own = key.and_then(|key| self.warmup_s(&key));
        let longest = self.longest_warmup_s(plan, point, system);
        own.zip(longest)
            .is_some_and(|(own, longest)| own + SAME_S < longest)
    }

    /// How many points of these systems had a shorter warm-up than points they are compared with.
    pub fn short(&self, plan: &Plan, systems: &[&SystemPlan]) -> usize {
        if !plan.sweep.warmup.is_auto() {
            return 0;
        }
        let short = systems.iter().flat_map(|system| {
            let points = plan.points();
            points.filter(|point| self.is_short(plan, point, system))
        });
        short.count()
    }

    /// The length of a point's warm-up; `None` if no rule decides. The first repeat finds out, and
    /// lasts at least as long as others did. Further repeats, and points that are measured again to
    /// even them out, take the longest.
    pub fn warmup_length(
        &self,
        plan: &Plan,
        point: &PlanPoint<'_>,
        system: &SystemPlan,
        evens: bool,
    ) -> Option<WarmupLength> {
        let (least, most) = plan.sweep.warmup.limits()?;
        let longest = self.longest_warmup_s(plan, point, system);
        let longest = longest.map(Duration::from_secs_f64);
        let key = self.key(plan, point, system);
        let is_again = evens && key.is_some_and(|key| self.warmup_s(&key).is_some());
        let at_least = longest.unwrap_or_default();
        let most = match longest {
            Some(longest) if is_again || point.repeat > 1 => longest,
            _ => most.max(at_least),
        };
        Some(WarmupLength {
            least,
            at_least,
            most,
        })
    }
}

/// A ceiling is no system that is compared: it has its own warm-up.
fn are_compared(a: &SystemPlan, b: &SystemPlan) -> bool {
    a.name == b.name || (a.ceiling_for.is_none() && b.ceiling_for.is_none())
}

fn is_of(rate: &ResolvedRate, workload: &Workload) -> bool {
    rate.workload == workload.name && rate.distribution == workload.distribution_name()
}

/// Three significant digits: a rate that people can name.
fn three_digits(rate: f64) -> f64 {
    let text = format!("{rate:.2e}");
    text.parse().expect("a number that was just written")
}

#[cfg(test)]
impl Known {
    /// So many of the first points of each system are there.
    pub fn with_points<const N: usize>(plan: &Plan, points: [usize; N]) -> Self {
        let mut known = Self::default();
        for (system, count) in plan.systems.iter().zip(points) {
            for point in plan.points().take(count) {
                let phase = tailmark_model::Phase {
                    duration_s: 1.0,
                    operations: 1_000,
                    ..Default::default()
                };
                let key = point.key(plan, system, point.fixed_rate());
                known.add(plan, &Point { key, phase });
            }
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::Phase;
    use tailmark_plan::RawPlan;

    #[test]
    fn a_peak_is_that_of_repeats_where_the_others_have_theirs() {
        let text = "[database]\ndriver = 'null'\n[sweep]\nthreads = [4, 8]\nrepeats = 4\n\
                    [[system]]\nname = 'a'\n";
        let plan = RawPlan::parse("test", text).unwrap().check().unwrap();
        let first = plan.grid().next().unwrap();
        // 8 threads have the highest mean only in the first repeat.
        let runs = [(4, [100; 4]), (8, [140, 99, 99, 99])];
        let peak = |repeats: usize| {
            let mut known = Known::default();
            for (threads, counts) in runs {
                for (repeat, operations) in (1..).zip(counts).take(repeats) {
                    let point = PlanPoint {
                        threads,
                        repeat,
                        ..first
                    };
                    let phase = Phase {
                        duration_s: 1.0,
                        operations,
                        ..Phase::default()
                    };
                    let key = point.key(&plan, &plan.systems[0], None);
                    known.add(&plan, &Point { key, phase });
                }
            }
            known.peak(&plan, &first, "a").unwrap()
        };
        // Of fewer than four repeats it is the highest mean.
        let expected = [
            (4, (100.0 * 99.0_f64.powi(3)).powf(0.25)),
            (3, (140.0 * 99.0_f64.powi(2)).cbrt()),
            (1, 140.0),
        ];
        for (repeats, peak_of_these) in expected {
            let found = peak(repeats);
            assert!((found - peak_of_these).abs() < 1e-9, "{repeats}: {found}");
        }
    }

    #[test]
    fn a_rate_of_a_peak_has_three_digits() {
        for (rate, rounded) in [
            (12_345.6, 12_300.0),
            (999_999.0, 1_000_000.0),
            (60.06, 60.1),
            (0.123_45, 0.123),
            (7.0, 7.0),
        ] {
            assert_eq!(three_digits(rate), rounded, "{rate}");
        }
    }
}
