//! Sentences about the shape of curves: saturated, nearly flat, with a spike, or still rising at
//! the end of the sweep, and which of two is flatter. They describe measurements, without a test.

use crate::{
    axis::Step,
    block::Text,
    compare,
    grid_cell::GridCell,
    sweep::{SweepTable, WorkloadGrid},
};
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
    /// Nanoseconds, if known and not a bound.
    ns: Option<f64>,
    /// Whether the clients were the limit.
    is_client_limit: bool,
}

/// A curve is steeper if its latency rises by this many times another's rise.
const STEEPER: f64 = 1.5;
/// From this factor on the other curve is much flatter.
const MUCH: f64 = 3.0;
/// A latency that rises this many times with the last step increases dramatically, if it is also
/// [`STEEPER`] than the other's.
const DRAMATIC: f64 = 2.0;
/// A last step that gains less than this, while latency rises, nears the limit.
const NEAR_LIMIT: f64 = 0.1;

/// How the shape of the subject's curve differs from the others': how much the latency rises over
/// all thread counts, the steepest first, and with the last step.
pub fn compared<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> [Vec<Text>; 2] {
    let one = sweep.baseline().or(compare::subject(sweep));
    let Some((one, metric)) = one.zip(sweep.latency_metric(group)) else {
        return Default::default();
    };
    let curve = |name: &'a str| {
        let cells = group.steps.iter().map(|&step| group.valid_cell(name, step));
        let points = cells.map(|cell| curve_point(cell?, Some(metric)));
        points.collect::<Option<Vec<CurvePoint>>>()
    };
    let Some(own) = curve(one).filter(|own| own.len() > 2) else {
        return Default::default();
    };
    let others = sweep.systems.iter().map(|system| system.name.as_str());
    let others = others.filter(|name| *name != one);
    let others = others.filter_map(|name| Some((name, curve(name)?)));
    let others: Vec<(&str, Vec<CurvePoint>)> = others.collect();
    let name = format!("{metric} latency");
    let both = others.iter();
    let lasts = both.clone();
    let lasts = lasts.filter_map(|other| last_step(&name, (one, &own), other));
    let mut slopes: Vec<(f64, Text)> = both
        .filter_map(|other| slope(&name, (one, &own), other))
        .collect();
    slopes.sort_by(|(less, _), (more, _)| more.total_cmp(less));
    let slopes = slopes.into_iter().map(|(_, text)| text);
    [slopes.collect(), lasts.collect()]
}

/// Describes a change of latency by its ratio: `rises 4.0X`, `falls by 10 %`.
fn change(times: f64) -> String {
    match times {
        ..0.95 => format!("falls by {:.0} %", 100.0 * (1.0 - times)),
        0.95..1.05 => "hardly changes".to_owned(),
        _ => format!("rises {}", number::ratio(times)),
    }
}

/// Which of two curves is flatter over all thread counts, and by what factor.
fn slope(
    name: &str,
    (one, own): (&str, &[CurvePoint]),
    (other, of_other): &(&str, Vec<CurvePoint>),
) -> Option<(f64, Text)> {
    // Of a curve with a hump or a dip the ends alone say nothing of how flat it is.
    let rise = |curve: &[CurvePoint]| {
        let rise = curve.last()?.ns? / curve.first()?.ns?;
        let values = curve
            .iter()
            .map(|point| point.ns)
            .collect::<Option<Vec<f64>>>()?;
        let [low, high] = [f64::min, f64::max].map(|end| values.iter().copied().reduce(end));
        (high? / low? <= rise.max(1.0 / rise) * STEEP).then_some(rise)
    };
    let (own_rise, other_rise) = (rise(own)?, rise(of_other)?);
    let (flat, steep, flat_rise, steep_rise) = if own_rise <= other_rise {
        (one, *other, own_rise, other_rise)
    } else {
        (*other, one, other_rise, own_rise)
    };
    // A curve that falls has no slope to be compared.
    let apart = steep_rise / flat_rise.max(1.0);
    let much = if apart >= MUCH { "much " } else { "" };
    let (from, to) = (own.first()?.step, own.last()?.step);
    (apart >= STEEPER).then(|| {
        let text = Text::strong(flat).and(format!(" has a {much}flatter curve than "));
        let text = text.and_strong(steep).and(format!(
            ": from {} to {}, its {name} {}, that of {steep} {}.",
            from.label(),
            to.place(),
            change(flat_rise),
            change(steep_rise)
        ));
        (apart, text)
    })
}

/// A sentence that the last step increases the latency of one system dramatically but not the
/// other's, and whether it nears its limit.
fn last_step(
    name: &str,
    (one, own): (&str, &[CurvePoint]),
    (other, of_other): &(&str, Vec<CurvePoint>),
) -> Option<Text> {
    let last = |curve: &[CurvePoint]| {
        let [.., before, last] = curve else {
            return None;
        };
        Some((last.ns? / before.ns?, last.ops / before.ops - 1.0))
    };
    let (of_own, of_other) = (last(own)?, last(of_other)?);
    let (steep, (rise, gain), calm, (calm_rise, calm_gain)) = if of_own.0 >= of_other.0 {
        (one, of_own, *other, of_other)
    } else {
        (*other, of_other, one, of_own)
    };
    let [.., before, end] = own else {
        return None;
    };
    let is_dramatic = rise >= DRAMATIC && rise >= calm_rise * STEEPER;
    let limit = if (0.0..NEAR_LIMIT).contains(&gain) && gain < calm_gain {
        ": it is nearing its limit"
    } else {
        ""
    };
    is_dramatic.then(|| {
        let change = |more| Metric::OPS_PER_SEC.improvement(Bounded::exact(1.0 + more), None);
        let text = Text::plain(format!(
            "From {} to {}, the {name} of ",
            before.step.label(),
            end.step.place()
        ));
        let text = text.and_strong(steep).and(" rises dramatically, ");
        text.and(format!(
            "{}, with {} ops/s{limit}; that of {calm} {}, with {}.",
            number::ratio(rise),
            change(gain),
            self::change(calm_rise),
            change(calm_gain)
        ))
    })
}

/// A valid point of a curve.
fn curve_point(cell: &GridCell<'_>, latency: Option<Metric>) -> Option<CurvePoint> {
    let ns = latency.and_then(|metric| cell.value(metric));
    let ns = ns.filter(|ns| ns.middle.is_exact());
    let runs = cell.ops_by_repeat().into_iter();
    Some(CurvePoint {
        step: cell.step,
        ops: cell.ops()?.middle,
        runs: runs.map(|(_, ops)| ops).collect(),
        ns: ns.map(|ns| ns.middle.value),
        is_client_limit: cell.has_finding(&CLIENT_SATURATED),
    })
}

/// The whole curve of a system, if each of its points is valid.
fn whole_curve(
    group: &WorkloadGrid<'_>,
    system: &System,
    latency: Option<Metric>,
) -> Option<Vec<CurvePoint>> {
    let steps = group.steps.iter();
    let cells = steps.filter_map(|&step| group.valid_cell(&system.name, step));
    let curve: Vec<CurvePoint> = cells
        .filter_map(|cell| curve_point(cell, latency))
        .collect();
    let is_whole = group.cells_of(&system.name).count() == curve.len();
    (curve.len() >= 3 && is_whole).then_some(curve)
}

fn latency_name(latency: Option<Metric>) -> String {
    latency.map_or_else(String::new, |metric| format!("{metric} latency"))
}

/// Sentences about a system's curve.
pub fn of_curve(group: &WorkloadGrid<'_>, system: &System, latency: Option<Metric>) -> Vec<Text> {
    let Some(curve) = whole_curve(group, system, latency) else {
        return Vec::new();
    };
    let name = latency_name(latency);
    let texts = [
        saturation(&curve, &name),
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
        "do not rise".to_owned()
    } else {
        format!("rise by {}", number::share(gain))
    };
    Some(format!(
        " is saturated from {} on: up to {}, ops/s {gain}, while {name} rises {} ({} to {}).",
        at.step.place(),
        last.step.place(),
        rise(to_ns / from_ns),
        number::latency(from_ns),
        number::latency(to_ns),
    ))
}

/// `30 %`, from twice on `2.1X`.
fn rise(ratio: f64) -> String {
    let text = Metric::OPS_PER_SEC.improvement(Bounded::exact(ratio), None);
    text.trim_start_matches('+').to_owned()
}

/// A system, and by how much its last thread count is ahead.
type Gain<'a> = (&'a str, f64);

/// One sentence about the systems that still gain at the highest thread count, for each such count.
pub fn still_rising<'a>(
    group: &WorkloadGrid<'a>,
    systems: impl Iterator<Item = &'a System>,
    latency: Option<Metric>,
) -> Vec<Text> {
    let mut all: Vec<(Step, Step, Vec<Gain<'_>>)> = Vec::new();
    for system in systems {
        let curve = whole_curve(group, system, latency);
        let is_rising = |own: &Vec<CurvePoint>| saturation(own, &latency_name(latency)).is_none();
        let gain = curve.filter(is_rising).and_then(|curve| last_gain(&curve));
        let Some((last, before, gain)) = gain else {
            continue;
        };
        let known = all
            .iter_mut()
            .find(|(at, from, _)| (*at, *from) == (last, before));
        match known {
            Some((.., own)) => own.push((&system.name, gain)),
            None => all.push((last, before, vec![(&system.name, gain)])),
        }
    }
    let sentences = all.into_iter().map(|(last, before, own)| {
        let gains = own.iter().map(|(_, gain)| *gain);
        let [least, most] = [f64::min, f64::max].map(|end| {
            let gain = gains.clone().reduce(end).unwrap_or_default();
            Metric::OPS_PER_SEC.improvement(Bounded::exact(1.0 + gain), None)
        });
        let gain = if least == most {
            most
        } else {
            format!("{least} to {most}")
        };
        let names: Vec<&str> = own.iter().map(|(name, _)| *name).collect();
        Text::strong(number::list(&names)).and(format!(
            " {} still gaining at {} ({gain} over {}): more threads were not tested.",
            if names.len() == 1 { "is" } else { "are" },
            last.place(),
            before.label(),
        ))
    });
    sentences.collect()
}

/// The highest thread count, the best one below it, and the gain, if the runs show one.
fn last_gain(curve: &[CurvePoint]) -> Option<(Step, Step, f64)> {
    let [lower @ .., last] = curve else {
        return None;
    };
    let before = lower
        .iter()
        .max_by(|one, other| one.ops.total_cmp(&other.ops))?;
    let gain = last.ops / before.ops - 1.0;
    let is_more = statistics::welch(&last.runs, &before.runs)
        .is_none_or(|difference| difference.ratio.low > 1.0);
    (gain > NEXT_TO_NOTHING && is_more).then_some((last.step, before.step, gain))
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
        "'s {name} has a spike at {place}: {at}, against {before} before it and {after} after it."
    ))
}
