//! Sentences about the shape of one system's curve: saturated, nearly flat, with a spike, or still rising
//! where the sweep ended. Of what was measured, without a test.

use crate::{axis::Step, block::Text, grid_cell::GridCell, sweep::WorkloadGrid};
use tailmark_model::{Bounded, Metric, System, finding::CLIENT_SATURATED, number};
use tailmark_stats::statistics;

/// A step that gains no more than this gains next to nothing.
const NEXT_TO_NOTHING: f64 = 0.03;
/// A latency that rises by this factor rises steeply.
const STEEP: f64 = 1.25;
/// A latency this many times that of both its neighbours is a spike.
const SPIKE: f64 = 2.0;
/// A latency is flat over this factor of thread counts or more.
const WIDE: u32 = 4;

/// One valid point of the curve.
struct CurvePoint {
    step: Step,
    ops: f64,
    /// Operations per second of each run.
    runs: Vec<f64>,
    /// Nanoseconds, where it is known and no bound.
    ns: Option<f64>,
    /// Whether the clients were the limit.
    is_client_limit: bool,
}

/// What can be said of a system's curve.
pub fn of_curve(group: &WorkloadGrid<'_>, system: &System, latency: Option<Metric>) -> Vec<Text> {
    let point = |cell: &GridCell<'_>| {
        let ns = latency.and_then(|metric| cell.value(metric));
        let ns = ns.filter(|ns| ns.middle.is_exact());
        Some(CurvePoint {
            step: cell.step,
            ops: cell.ops()?.middle,
            runs: cell
                .ops_by_repeat()
                .into_iter()
                .map(|(_, ops)| ops)
                .collect(),
            ns: ns.map(|ns| ns.middle.value),
            is_client_limit: cell.has_finding(&CLIENT_SATURATED),
        })
    };
    let steps = group.steps.iter();
    let cells = steps.filter_map(|&step| group.valid_cell(&system.name, step));
    let curve: Vec<CurvePoint> = cells.filter_map(point).collect();
    let is_whole = group.cells_of(&system.name).count() == curve.len();
    if curve.len() < 3 || !is_whole {
        return Vec::new();
    }
    let name = latency
        .map(|metric| format!("{metric} latency"))
        .unwrap_or_default();
    let texts = [
        saturation(&curve, &name).or_else(|| still_rising(&curve)),
        flat(&curve, &name),
        spike(&curve, &name),
    ];
    let said = texts.into_iter().flatten();
    said.map(|text| Text::strong(&*system.name).and(text))
        .collect()
}

/// From which thread count on more clients gain next to nothing while latency climbs steeply.
fn saturation(curve: &[CurvePoint], name: &str) -> Option<String> {
    let last = curve.last()?;
    let later = |from: usize| curve[from + 1..].iter().map(|p| p.ops).fold(0.0, f64::max);
    let mut knees = 0..curve.len() - 1;
    let knee = knees.find(|&at| later(at) <= curve[at].ops * (1.0 + NEXT_TO_NOTHING))?;
    let at = &curve[knee];
    // It is the clients that do no more there.
    if curve[knee..].iter().any(|point| point.is_client_limit) {
        return None;
    }
    let (from_ns, to_ns) = at.ns.zip(last.ns)?;
    if to_ns < from_ns * STEEP {
        return None;
    }
    // At the count whose latency is named.
    let gain = last.ops / at.ops - 1.0;
    let gain = if gain <= -NEXT_TO_NOTHING {
        format!("fall by {}", number::share(-gain))
    } else if gain < 0.005 {
        "gain nothing".to_owned()
    } else {
        format!("gain {}", number::share(gain))
    };
    Some(format!(
        " is saturated from {} on: up to {} ops/s {gain}, while {name} rises {} ({} to {}).",
        at.step.place(),
        last.step.place(),
        rise(to_ns / from_ns),
        number::latency(from_ns),
        number::latency(to_ns),
    ))
}

/// `30 %`, from twice on `2.1X`.
fn rise(ratio: f64) -> String {
    let text = Metric::OPS_PER_SEC.improvement(Bounded::exact(ratio));
    text.trim_start_matches('+').to_owned()
}

/// That the highest thread count is the best, and how much it gained, where the runs tell it from none.
fn still_rising(curve: &[CurvePoint]) -> Option<String> {
    let [.., before, last] = curve else {
        return None;
    };
    let is_highest = curve.iter().all(|point| point.ops <= last.ops);
    let gain = last.ops / before.ops - 1.0;
    let is_more = statistics::welch(&last.runs, &before.runs)
        .is_none_or(|difference| difference.ratio.low > 1.0);
    (is_highest && gain > NEXT_TO_NOTHING && is_more).then(|| {
        format!(
            " still gains at {} ({} over {}): more threads were not tested.",
            last.step.place(),
            Metric::OPS_PER_SEC.improvement(Bounded::exact(1.0 + gain)),
            before.step.label(),
        )
    })
}

fn flat(curve: &[CurvePoint], name: &str) -> Option<String> {
    let all: Vec<f64> = curve.iter().map(|point| point.ns).collect::<Option<_>>()?;
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(0.0, f64::max);
    let (first, last) = (curve.first()?.step, curve.last()?.step);
    let is_wide = last.threads >= first.threads.saturating_mul(WIDE);
    (is_wide && high < low * STEEP).then(|| {
        format!(
            "'s {name} stays within {} from {} to {}: {} to {}.",
            number::share(STEEP - 1.0),
            first.label(),
            last.place(),
            number::latency(low),
            number::latency(high),
        )
    })
}

fn spike(curve: &[CurvePoint], name: &str) -> Option<String> {
    let spike = |three: &&[CurvePoint]| {
        let [before, at, after] = [0, 1, 2].map(|i| three[i].ns);
        let (Some(before), Some(at), Some(after)) = (before, at, after) else {
            return false;
        };
        at >= before.max(after) * SPIKE
    };
    let three = curve.windows(3).find(spike)?;
    let [before, at, after] = [0, 1, 2].map(|i| number::latency(three[i].ns.unwrap_or(0.0)));
    let place = three[1].step.place();
    Some(format!(
        "'s {name} has a spike at {place}: {at}, with {before} and {after} beside it."
    ))
}
