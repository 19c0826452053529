//! Whether the points of a plan are long enough for the quantile of its report: how many requests
//! must lie beyond a quantile to make it certain, and how many to state it at all.

use crate::earlier::EarlierStudy;
use tailmark_model::{
    Kind, Metric, Quantile, number,
    quantile::{SAMPLES_MIN, SAMPLES_SOLID, samples_beyond},
};
use tailmark_plan::{AskedRate, Plan, PlanPoint, SystemPlan, requests_per_operation};

/// The quantile of a plan's report, and what it requires.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    /// The latency.
    pub metric: Metric,
    /// Of which requests.
    pub kind: Kind,
    /// Requests of a point from which on it is certain.
    pub certain: u64,
    /// Requests of a point from which on it is given.
    pub given: u64,
}

impl Wanted {
    /// The quantile of a plan; `None` if it names none.
    pub fn from_plan(plan: &Plan) -> Option<Self> {
        let metric = plan.report.metric?;
        let (kind, statistic) = metric.latency()?;
        let quantile = statistic.quantile?;
        Some(Self {
            metric,
            kind,
            certain: requests(quantile, SAMPLES_SOLID),
            given: requests(quantile, SAMPLES_MIN),
        })
    }

    /// Operations of a point that send that many requests; `None` if the share of the kind is
    /// unknown or zero.
    pub fn operations(&self, point: &PlanPoint<'_>, requests: u64) -> Option<u64> {
        let share = self.share(point).filter(|share| *share > 0.0)?;
        Some((requests as f64 / share).ceil() as u64)
    }

    /// Requests of the kind per operation of a point, if known.
    pub fn share(&self, point: &PlanPoint<'_>) -> Option<f64> {
        requests_per_operation(point.workload, self.kind, point.threads)
    }
}

/// The fewest requests of which that many lie beyond a quantile.
fn requests(quantile: Quantile, beyond: u64) -> u64 {
    // 1 - 0.999 is not exact in binary.
    let near = (beyond as f64 / (1.0 - quantile.value)).round() as u64;
    let mut requests = near.saturating_sub(1);
    while samples_beyond(requests, quantile.value) < beyond {
        requests += 1;
    }
    requests
}

/// The speed of a point on a system, operations per second: its rate, or that of an earlier study;
/// `None` if unknown.
pub fn rate(
    plan: &Plan,
    earlier_studies: &[EarlierStudy],
    point: &PlanPoint<'_>,
    system: &SystemPlan,
) -> Option<f64> {
    let earlier = |name: &str| {
        let index = plan.systems.iter().position(|other| other.name == name);
        index.and_then(|index| earlier_studies.get(index))
    };
    match point.rate {
        Some(AskedRate::Fixed(rate)) => Some(rate),
        Some(requested @ AskedRate::OfPeak(part)) => {
            let resolved = earlier(&system.name)
                .and_then(|earlier| earlier.resolved(point, &requested.to_string()));
            if resolved.is_some() {
                return resolved;
            }
            let peak = earlier(plan.sweep.peak_of(system))?.peak(point, &plan.sweep.threads)?;
            Some(part * peak)
        }
        None => earlier(&system.name)?.speed(point, point.threads),
    }
}

/// The number of operations in the measured part of a point, if known.
fn operations(
    plan: &Plan,
    earlier_studies: &[EarlierStudy],
    point: &PlanPoint<'_>,
    system: &SystemPlan,
) -> Option<f64> {
    let budget = plan.sweep.operations.map(|operations| operations as f64);
    let by_time = plan.sweep.duration.map(|duration| {
        let known = rate(plan, earlier_studies, point, system);
        // Few requests of a database do without its device.
        let limit = system.emulate.as_ref().and_then(|volume| volume.iops);
        let rate = known.or(limit.map(|iops| iops as f64))?;
        Some(rate * duration.as_secs_f64())
    });
    match (budget, by_time) {
        // Whichever ends first. No rate sends more than the budget.
        (Some(budget), by_time) => Some(by_time.flatten().unwrap_or(budget).min(budget)),
        (None, by_time) => by_time.flatten(),
    }
}

/// The warnings of a run before it measures anything, if points of a workload are known to be too
/// short for the quantile: for each workload the shortest.
pub fn too_short(plan: &Plan, earlier_studies: &[EarlierStudy]) -> Vec<String> {
    let Some(wanted) = Wanted::from_plan(plan) else {
        return Vec::new();
    };
    let shortest = plan.sweep.workloads.iter().filter_map(|workload| {
        let shortest = shortest(plan, earlier_studies, &wanted, &workload.name)?;
        (shortest.requests < wanted.certain as f64).then_some(shortest)
    });
    shortest
        .map(|point| notice(plan, &wanted, &point))
        .collect()
}

/// A point with a known number of requests of a kind.
struct KnownPoint<'a> {
    requests: f64,
    point: PlanPoint<'a>,
    system: &'a SystemPlan,
}

/// The point of a workload with the fewest requests, among those for which it is known.
fn shortest<'a>(
    plan: &'a Plan,
    earlier_studies: &[EarlierStudy],
    wanted: &Wanted,
    workload: &str,
) -> Option<KnownPoint<'a>> {
    let points = plan.grid();
    let points = points.filter(|point| point.workload.name == workload);
    let points = points.flat_map(|point| plan.systems.iter().map(move |system| (point, system)));
    let known = points.filter_map(|(point, system)| {
        let share = wanted.share(&point).filter(|share| *share > 0.0)?;
        Some(KnownPoint {
            requests: operations(plan, earlier_studies, &point, system)? * share,
            point,
            system,
        })
    });
    known.min_by(|a, b| a.requests.total_cmp(&b.requests))
}

fn notice(plan: &Plan, wanted: &Wanted, point: &KnownPoint<'_>) -> String {
    let KnownPoint {
        requests,
        point,
        system,
    } = point;
    let what = if *requests < wanted.given as f64 {
        "will not be printed"
    } else {
        "will not be certain"
    };
    let at = match point.rate {
        Some(rate) => rate.described(plan.sweep.peak_of(system)),
        None => number::threads(point.threads),
    };
    let keys = match (plan.sweep.operations, plan.sweep.duration) {
        (Some(_), Some(_)) => "sweep.operations and sweep.duration",
        (Some(_), None) => "sweep.operations",
        _ => "sweep.duration",
    };
    let (kind, metric) = (wanted.kind.name(), wanted.metric);
    format!(
        "{metric} of workload `{}` {what}: a point of `{}` at {at} has about {} {kind} requests, \
         but it takes {} to print it and {} to be certain; make points {} times as long ({keys})",
        point.workload.name,
        system.name,
        number::count(*requests as u64),
        number::count(wanted.given),
        number::count(wanted.certain),
        times(wanted.certain as f64 / requests)
    )
}

/// A factor, rounded up so that it is enough: `1.3`, `12`.
fn times(factor: f64) -> String {
    match factor {
        ..10.0 => format!("{:.1}", (factor * 10.0).ceil() / 10.0),
        _ => number::count(factor.ceil() as u64),
    }
}
