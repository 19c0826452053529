//! What gates say: a line each, and why at each point that decides.

use super::{
    Verdicts,
    gate::{Disturbance, Gate, GateOutcome, Judged, Reason},
    ratio::{form, improvement, interval_text},
};
use crate::{
    compare::{OVER_COMMON, is_over_common},
    section::probability,
};
use tailmark_model::{Bounded, Metric, number};
use tailmark_stats::{Comparison, statistics::RUNS_MIN};

/// What tells a change of the systems from a change of the machine.
pub(super) const IN_TURNS: &str = "A machine that changes between the runs looks like a system that changed. \
                        To tell them apart, measure in turns on an idle machine: before, after, \
                        before, after. Both differences must be there, and none between the two \
                        measurements of one side.";

/// Whether something besides the systems may have caused what a gate looks for.
pub(super) fn is_doubtful(gate: &Gate) -> bool {
    let mut judged = gate.judged.iter();
    judged.any(|judged| matches!(judged.reason, Reason::Disturbed | Reason::Hidden))
}

/// One line for each gate: its outcome, the condition, and the figures of the point that decides.
pub(super) fn gate_lines(verdicts: &Verdicts) -> Vec<String> {
    let line = |gate: &Gate| {
        let distance = |judged: &&Judged| {
            let compared = judged.comparison.as_ref();
            compared.map_or(f64::INFINITY, |c| gate.condition.distance(c.ratio.value))
        };
        let by_distance = |a: &&Judged, b: &&Judged| distance(a).total_cmp(&distance(b));
        // The largest difference if the condition is met, otherwise the closest to it.
        let decides = match gate.outcome {
            GateOutcome::Fail => decisive(gate).max_by(by_distance),
            _ => decisive(gate).min_by(by_distance),
        };
        match decides {
            Some(judged) => format!("{}: {}", head(gate), reasoned(verdicts, gate, judged)),
            None => head(gate),
        }
    };
    verdicts.gates.iter().map(line).collect()
}

/// The points by which a gate has its outcome.
fn decisive(gate: &Gate) -> impl Iterator<Item = &Judged> {
    let judged = gate.judged.iter();
    judged.filter(|judged| judged.outcome() == gate.outcome)
}

/// A condition with its outcome.
pub(super) fn head(gate: &Gate) -> String {
    let all = gate.judged.len();
    let what = if gate.condition.is_of_peaks {
        "peak"
    } else {
        "point"
    };
    let of_all = number::plural(all as u64, what);
    let head = format!("{}: {}", gate.outcome.name(), gate.condition);
    match gate.outcome {
        _ if all == 0 => format!("{head} (no {what} of both has {})", gate.condition.metric),
        GateOutcome::Pass => format!("{head} (ruled out at {of_all})"),
        _ => format!("{head} (at {} of {of_all})", decisive(gate).count()),
    }
}

/// Why, at each of the points that decide.
pub(super) fn lines(all: &Verdicts, gate: &Gate) -> Vec<String> {
    decisive(gate)
        .map(|judged| reasoned(all, gate, judged))
        .collect()
}

/// A place with the reason for the outcome there.
fn reasoned(all: &Verdicts, gate: &Gate, judged: &Judged) -> String {
    let place = match &judged.point {
        Some(point) => point.to_string(),
        None => {
            let is_over_common = judged.comparison.as_ref().is_some_and(is_over_common);
            let common = if is_over_common {
                format!(" {OVER_COMMON}")
            } else {
                String::new()
            };
            format!("{} {}, peaks{common}", judged.workload, judged.distribution)
        }
    };
    format!("{}: {}", all.name(&judged.pair, &place), why(gate, judged))
}

fn why(gate: &Gate, judged: &Judged) -> String {
    let repeats = judged.repeats.map(|repeats| repeats.text());
    let metric = gate.condition.metric;
    let comparison = judged.comparison.as_ref();
    let ratios = comparison.and_then(form);
    let found = comparison.map(|comparison| improvement(metric, comparison.ratio, ratios));
    let found = found.unwrap_or_default();
    match (judged.reason, comparison) {
        (Reason::Met | Reason::Disturbed, Some(comparison)) => {
            let p = comparison.p_adjusted.map_or_else(String::new, probability);
            let interval = comparison.interval;
            let interval = interval.map(|ends| interval_text(metric, ends, ratios));
            let interval = interval.map_or_else(String::new, |ends| format!(" ({ends})"));
            let may_be_why = disturbances(comparison, judged, "; but ", " may be the cause");
            format!("{found}{interval}, p {p}{may_be_why}")
        }
        (Reason::RuledOut | Reason::Hidden, Some(comparison)) => {
            let bounds = bounds(gate, comparison);
            let hidden = match judged.reason {
                Reason::Hidden => disturbances(comparison, judged, "; but ", " may hide more"),
                _ => String::new(),
            };
            format!("{found}, {bounds}{hidden}")
        }
        (Reason::TooFewRuns, Some(comparison)) => {
            let runs = format!("{} and {} runs", comparison.runs_a, comparison.runs_b);
            let needed = repeats.unwrap_or_else(|| format!("{RUNS_MIN} repeats"));
            format!("{found}, but {runs} are too few: {needed} of each are needed")
        }
        (Reason::NoNoise, _) => {
            format!("{found}, but the runs of a system are identical, so their noise is unknown")
        }
        (Reason::Noise, Some(comparison)) => {
            let room = room(gate, comparison);
            let why = match repeats {
                Some(repeats) => format!("{repeats} of each are needed"),
                None => "too close to the limit".to_owned(),
            };
            let noisy = disturbances(comparison, judged, "; ", " may be the noise");
            format!("{found}, but {room} not ruled out: {why}{noisy}")
        }
        (Reason::Bound, known) if metric.may_have_ends() => {
            let found = known.map_or("both are", |_| found.as_str());
            format!("{found}: only a bound, because a drive reports it in coarse steps")
        }
        (Reason::UnlikeMoney, _) => {
            "costs are not compared: their currencies differ, or their energy covers different parts".to_owned()
        }
        (Reason::Bound, bound) => {
            let (both, why) = match judged.point {
                Some(_) => ("both are", "requests failed, or were due and never done"),
                None => ("both peaks are", "the clients were the limit"),
            };
            match bound {
                Some(_) => format!("{found}: only a bound, because {why}"),
                None => format!("{both} lower bounds, because {why}"),
            }
        }
        (Reason::RateNotMet, _) => {
            "the rate was not reached, so latencies are not compared".to_owned()
        }
        (Reason::UnlikePeaks, _) => format!(
            "{found} as measured, but one system has no valid point at a thread count of the other, \
             and its peak may be there"
        ),
        (Reason::Failed, _) => match judged.point {
            Some(_) => "a run failed, so the point is not compared".to_owned(),
            None => "one of them has no peak: its points failed or reached 0 ops/s".to_owned(),
        },
        _ => unknown(metric),
    }
}

fn unknown(metric: Metric) -> String {
    let why = if metric.latency().is_some() {
        ": too few samples, or none"
    } else {
        ""
    };
    format!("{metric} of some run is unknown or 0{why}")
}

/// Findings with the runs that have them, between two texts: `; but machine-busy in 2 of 5 runs of A
/// may be the cause`. Empty without findings.
fn disturbances(comparison: &Comparison, judged: &Judged, before: &str, after: &str) -> String {
    let runs = |have: usize, of: usize, side: &str| {
        (have > 0).then(|| format!("{have} of {of} runs of {side}"))
    };
    let of_both = |own: &Disturbance| {
        let a = runs(own.runs_a, comparison.runs_a, "A");
        let b = runs(own.runs_b, comparison.runs_b, "B");
        let sides: Vec<String> = a.into_iter().chain(b).collect();
        format!("{} in {}", own.code, sides.join(" and "))
    };
    let found: Vec<String> = judged.disturbances.iter().map(of_both).collect();
    if found.is_empty() {
        return String::new();
    }
    format!("{before}{}{after}", found.join(", "))
}

/// The one-sided bounds on the sides of a condition: `at worst −1.2 %`.
fn bounds(gate: &Gate, comparison: &Comparison) -> String {
    let (at_least, at_most) = comparison.one_sided.unwrap_or((0.0, f64::INFINITY));
    let end = |ratio| improvement(gate.condition.metric, Bounded::exact(ratio), None);
    let (low, high) = (gate.condition.low(), gate.condition.high());
    let far = match (low, high) {
        (Some(_), Some(_)) => return format!("from {} to {}", end(at_least), end(at_most)),
        (Some(_), None) => end(at_least),
        _ => end(at_most),
    };
    match gate.condition.is_hidden_by() {
        [true, _] => format!("at best {far}"),
        _ => format!("at worst {far}"),
    }
}

/// What the one-sided bounds leave open.
fn room(gate: &Gate, comparison: &Comparison) -> String {
    let Some((at_least, at_most)) = comparison.one_sided else {
        return "nothing is".to_owned();
    };
    let metric = gate.condition.metric;
    let end = |ratio| improvement(metric, Bounded::exact(ratio), None);
    let low = gate.condition.low().filter(|low| at_least <= *low);
    let high = gate.condition.high().filter(|high| at_most >= *high);
    match (low, high) {
        (Some(_), Some(_)) => format!("{} and {} are", end(at_least), end(at_most)),
        (Some(_), None) => format!("{} is", end(at_least)),
        _ => format!("{} is", end(at_most)),
    }
}
