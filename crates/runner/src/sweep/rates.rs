//! The rates of a sweep: what a percentage of a peak comes to, resolved once and kept in the study.

use super::Sweeper;
use crate::Error;
use tailmark_model::{Point, PointKey, ResolvedRate, number};
use tailmark_plan::{AskedRate, Plan, Step, SystemPlan};
use tailmark_stats::statistics;
use tailmark_study::Study;

/// The rate of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StepRate {
    /// Operations per second; none: as fast as the clients can.
    Known(Option<f64>),
    /// A percentage whose peak is not known yet.
    Unresolved(AskedRate),
}

/// The rates of a study that are known.
pub struct KnownRates(Vec<ResolvedRate>);

impl KnownRates {
    /// As the study has them.
    pub fn from_study(study: &Study) -> Result<Self, Error> {
        Ok(Self(study.resolved_rates()?))
    }

    /// The rate of a step on a system.
    pub fn of_step(&self, step: &Step<'_>, system: &SystemPlan) -> StepRate {
        match step.rate {
            Some(requested @ AskedRate::OfPeak(_)) => {
                let text = requested.to_string();
                let is_it = |rate: &&ResolvedRate| {
                    rate.system == system.name
                        && rate.requested == text
                        && is_of_workload(rate, step)
                };
                match self.0.iter().find(is_it) {
                    Some(known) => StepRate::Known(Some(known.rate)),
                    None => StepRate::Unresolved(requested),
                }
            }
            _ => StepRate::Known(step.fixed_rate()),
        }
    }

    /// The name of a step in the study; none where its rate is not known yet.
    pub fn key(&self, plan: &Plan, step: &Step<'_>, system: &SystemPlan) -> Option<PointKey> {
        match self.of_step(step, system) {
            StepRate::Known(rate) => Some(step.key(plan, system, rate)),
            StepRate::Unresolved(_) => None,
        }
    }

    /// What another system has of the same peak: all are to be measured at one rate.
    fn of_same_peak(&self, step: &Step<'_>, of: &str, requested: &str) -> Option<&ResolvedRate> {
        let mut rates = self.0.iter();
        rates.find(|rate| {
            rate.of_system == of && rate.requested == requested && is_of_workload(rate, step)
        })
    }
}

fn is_of_workload(rate: &ResolvedRate, step: &Step<'_>) -> bool {
    rate.workload == step.workload.name && rate.distribution == step.workload.distribution_name()
}

/// Makes a rate of a percentage and writes it into the study; none where there is no peak.
fn resolve(
    plan: &Plan,
    study: &Study,
    step: &Step<'_>,
    system: &SystemPlan,
    requested: AskedRate,
) -> Result<Option<ResolvedRate>, Error> {
    let AskedRate::OfPeak(part) = requested else {
        return Ok(None);
    };
    let of_system = plan.sweep.peak_of(system);
    let text = requested.to_string();
    let known = KnownRates::from_study(study)?;
    let (peak, rate) = match known.of_same_peak(step, of_system, &text) {
        Some(same) => (same.peak_ops_per_sec, same.rate),
        None => match peak(plan, &study.point_totals()?, step, of_system) {
            Some(peak) => (peak, three_digits(part * peak)),
            None => return Ok(None),
        },
    };
    let resolved = ResolvedRate {
        system: system.name.clone(),
        workload: step.workload.name.clone(),
        distribution: step.workload.distribution_name().to_owned(),
        requested: text,
        of_system: of_system.to_owned(),
        peak_ops_per_sec: peak,
        rate,
    };
    study.add_resolved_rate(&resolved)?;
    Ok(Some(resolved))
}

/// The peak of a system over the thread counts of the plan and its repeats so far, as the report has
/// it: each repeat at the thread count that the others choose. A thread count of which a repeat is
/// not valid has none.
fn peak(plan: &Plan, points: &[Point], step: &Step<'_>, system: &str) -> Option<f64> {
    let at = |threads: u32| -> Vec<(u32, f64)> {
        let repeats = points.iter().filter(move |point| {
            let key = &point.key;
            key.system == system
                && key.workload == step.workload.name
                && key.distribution == step.workload.distribution_name()
                && key.target_rate.is_none()
                && key.threads == threads
        });
        let of = |point: &Point| {
            let is_valid = point.phase.fault(plan.sweep.allow_errors).is_none();
            is_valid.then(|| (point.key.repeat, point.phase.ops_per_sec()))
        };
        let runs: Option<Vec<_>> = repeats.map(of).collect();
        runs.unwrap_or_default()
    };
    let threads = plan.sweep.threads.iter();
    let counts = threads.map(|&threads| at(threads));
    let counts: Vec<_> = counts.filter(|runs| !runs.is_empty()).collect();
    let value = |(index, repeat): &(usize, u32)| {
        let run = counts[*index].iter().find(|(of, _)| of == repeat);
        run.map(|(_, ops)| *ops)
    };
    let chosen = statistics::leave_one_out(&counts);
    let values: Vec<f64> = chosen.iter().filter_map(value).collect();
    statistics::geometric_mean(&values)
}

/// Three significant digits: a rate that people can name.
fn three_digits(rate: f64) -> f64 {
    let text = format!("{rate:.2e}");
    text.parse().expect("a number that was just written")
}

/// Why the points of a workload at percentages are left out, and what to do.
fn skipped(plan: &Plan, step: &Step<'_>, system: &SystemPlan) -> String {
    let (name, workload) = (&system.name, &step.workload.name);
    let of = plan.sweep.peak_of(system);
    let own = if of == name {
        "it".to_owned()
    } else {
        format!("system `{of}`")
    };
    format!(
        "system `{name}`: the points of workload `{workload}` at percentages of a peak were left \
         out: {own} had no valid point of the workload at a thread count, so there was no peak. \
         Find out why, measure those points again (--retry-failed), or give rates in operations per \
         second"
    )
}

impl Sweeper<'_> {
    /// The name of a point that is to be measured now; none where it has been measured under this
    /// name, or is left out because there is no peak for its rate.
    pub(super) fn key(
        &mut self,
        step: &Step<'_>,
        system: &SystemPlan,
    ) -> Result<Option<PointKey>, Error> {
        let plan = self.plan;
        let rate = match KnownRates::from_study(&self.study)?.of_step(step, system) {
            StepRate::Known(rate) => rate,
            StepRate::Unresolved(requested) => {
                match resolve(plan, &self.study, step, system, requested)? {
                    Some(resolved) => {
                        self.observer.notice(&describe(&resolved));
                        // An earlier run may have had no peak for it.
                        self.study.remove_notice(&skipped(plan, step, system))?;
                        Some(resolved.rate)
                    }
                    None => {
                        self.leave_out(step, system)?;
                        return Ok(None);
                    }
                }
            }
        };
        let key = step.key(plan, system, rate);
        // Two that are asked for may come to one rate.
        let is_there = self.study.has_point(&key)? && !self.retried.contains(&key);
        Ok((!is_there || self.is_evened(step, system)?).then_some(key))
    }

    fn leave_out(&mut self, step: &Step<'_>, system: &SystemPlan) -> Result<(), Error> {
        if self.skipped.is_empty() {
            self.measured_at_skipped = self.summary.points_measured;
        }
        self.summary.points_skipped += 1;
        let notice = skipped(self.plan, step, system);
        if !self.skipped.contains(&notice) {
            self.observer.notice(&notice);
            self.study.add_notice(&notice)?;
            self.skipped.push(notice);
        }
        Ok(())
    }
}

/// What a percentage has become, in words.
fn describe(rate: &ResolvedRate) -> String {
    format!(
        "system `{}`, workload `{}`: {} of the peak of {} ({}) is {}",
        rate.system,
        rate.workload,
        rate.requested,
        rate.of_system,
        number::ops(rate.peak_ops_per_sec),
        number::ops(rate.rate)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::Phase;
    use tailmark_plan::RawPlan;

    #[test]
    fn a_peak_is_that_of_repeats_where_the_others_have_theirs() {
        let text = "[database]\ndriver = 'null'\n[sweep]\nthreads = [4, 8]\nrepeats = 3\n\
                    [[system]]\nname = 'a'\n";
        let plan = RawPlan::parse("test", text).unwrap().check().unwrap();
        let step = plan.steps().next().unwrap();
        let point = |threads: u32, repeat: u32, operations: u64| Point {
            key: PointKey {
                threads,
                repeat,
                ..step.key(&plan, &plan.systems[0], None)
            },
            phase: Phase {
                duration_s: 1.0,
                operations,
                ..Phase::default()
            },
        };
        // 8 threads have the highest mean, by the first repeat alone.
        let four = [100, 100, 100].into_iter();
        let eight = [140, 99, 99].into_iter();
        let four = (1..).zip(four).map(|(repeat, ops)| point(4, repeat, ops));
        let eight = (1..).zip(eight).map(|(repeat, ops)| point(8, repeat, ops));
        let points: Vec<Point> = four.chain(eight).collect();
        let found = peak(&plan, &points, &step, "a").unwrap();
        let expected = (100.0_f64 * 99.0 * 99.0).cbrt();
        assert!((found - expected).abs() < 1e-9, "{found}");
        // Of one repeat each it is the highest.
        let first: Vec<Point> = points.into_iter().filter(|of| of.key.repeat == 1).collect();
        let found = peak(&plan, &first, &step, "a").unwrap();
        assert!((found - 140.0).abs() < 1e-9, "{found}");
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
