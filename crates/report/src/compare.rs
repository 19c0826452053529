//! How systems compare, in the statements of the published studies: the peaks and their ratio, the
//! average improvement and its range, who leads where.

use crate::{
    axis::Axis,
    block::Text,
    measure::{Measured, Spread},
    sweep::{SpreadPeak, SweepTable, WorkloadGrid},
};
use tailmark_results::{Bound, Statistic, System, TimeBasis, compare, number};

/// Differences of less are called a tie, whatever the repeats say.
const TIE: f64 = 0.03;

/// Below, a percentage says more than a ratio of one decimal.
pub const WORTH_A_RATIO: f64 = 1.295;

/// A system's peak in a group.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// Which system.
    pub system: &'a str,
    /// Its peak.
    pub peak: SpreadPeak,
}

/// Who is ahead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// The first, by this ratio of peaks.
    Leads(f64),
    /// Less apart than [`TIE`].
    Tied,
    /// The repeats of both reach into each other.
    NoDifferenceShown,
}

/// The systems that were measured in a group, the highest peak first.
#[must_use]
pub fn standings<'a>(group: &WorkloadGrid<'a>, systems: &[&'a System]) -> Vec<Standing<'a>> {
    let mut standings: Vec<Standing<'a>> = systems
        .iter()
        .filter_map(|s| {
            group.peak(&s.name).map(|peak| Standing {
                system: &s.name,
                peak,
            })
        })
        .collect();
    standings.sort_by(|a, b| b.peak.ops.middle.total_cmp(&a.peak.ops.middle));
    standings
}

/// Whether the better of two leads.
#[must_use]
pub fn verdict(better: Spread, other: Spread) -> Verdict {
    let ratio = compare::advantage(better.middle, other.middle);
    if better.meets(other) {
        Verdict::NoDifferenceShown
    } else if ratio < 1.0 + TIE {
        Verdict::Tied
    } else {
        Verdict::Leads(ratio)
    }
}

/// The system that all improvements of a report are stated for: the one with the highest geometric
/// mean of its peaks' ratios to the best, over the workloads.
#[must_use]
pub fn leader<'a>(sweep: &SweepTable<'a>) -> Option<&'a System> {
    let score = |system: &'a System| -> f64 {
        let logs = sweep.groups.iter().map(|group| {
            let best = standings(group, &sweep.systems)
                .first()
                .map(|s| s.peak.ops.middle);
            let own = group.peak(&system.name).map(|p| p.ops.middle);
            match (own, best) {
                (Some(own), Some(best)) if own > 0.0 && best > 0.0 => (own / best).ln(),
                // Not measured here: neither helps nor harms among those that were not either.
                _ => -1.0,
            }
        });
        logs.sum()
    };
    let mut best: Option<(&'a System, f64)> = None;
    for &system in &sweep.systems {
        let score = score(system);
        if best.is_none_or(|(_, highest)| score > highest) {
            best = Some((system, score));
        }
    }
    best.map(|(system, _)| system)
}

/// The improvement of `a` over `b` at each client count where both were measured and are valid.
#[must_use]
pub fn improvements<'a>(group: &WorkloadGrid<'a>, a: &'a str, b: &'a str) -> Vec<(u32, f64)> {
    let ops = |system: &'a str, step| Some(group.valid_cell(system, step)?.ops()?.middle);
    group
        .steps
        .iter()
        .filter_map(|&step| {
            let (a, b) = (ops(a, step)?, ops(b, step)?);
            compare::improvement(a, b).map(|gain| (step.threads, gain))
        })
        .collect()
}

/// What can be said of one workload, the most important first.
#[must_use]
pub fn statements(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Vec<Text> {
    let standings = standings(group, &sweep.systems);
    let mut lines = at_rates(group, sweep);
    match standings.as_slice() {
        [] => {}
        [only] => lines.push(alone(only)),
        [first, rest @ ..] => {
            lines.push(peak_statement(first, rest));
            let second = &rest[0];
            lines.extend(average_statement(group, first.system, second.system));
            lines.extend(lead_statement(group, first.system, second.system));
            lines.extend(latency_statement(group, first.system, second.system));
        }
    }
    lines.extend(left_out(group, sweep));
    lines
}

/// Of a workload at several rates: the first system against each of the others.
fn at_rates(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Vec<Text> {
    let mut systems = sweep.systems.iter().filter(|s| group.has(&s.name));
    match (group.axis, systems.next()) {
        (Axis::Rates, Some(first)) => systems
            .filter_map(|other| latency_statement(group, &first.name, &other.name))
            .collect(),
        _ => Vec::new(),
    }
}

/// The points that are no peak and in no comparison, and why.
fn left_out(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Text> {
    let mut text = Text::plain("In no comparison: ");
    let said = text.0.len();
    for system in sweep.systems.iter().chain(&sweep.ceilings) {
        let cells = group.cells_of(&system.name);
        let points = cells.filter_map(|cell| {
            let place = cell.step.place();
            cell.fault.map(|fault| format!("{place} ({fault})"))
        });
        let points: Vec<String> = points.collect();
        if points.is_empty() {
            continue;
        }
        let joint = if text.0.len() == said { "" } else { "; " };
        let points: Vec<&str> = points.iter().map(String::as_str).collect();
        text = text
            .and(joint)
            .and_strong(&*system.name)
            .and(format!(" at {}", number::list(&points)));
    }
    let rule = format!(
        ". A point with more than {} of failed operations is no peak.",
        number::percent(sweep.allow_errors)
    );
    (text.0.len() > said).then(|| text.and(rule))
}

fn alone(only: &Standing<'_>) -> Text {
    Text::strong(only.system)
        .and(" peaks at ")
        .and_strong(number::ops(only.peak.ops.middle))
        .and(format!(" with {}.", number::threads(only.peak.threads)))
}

fn peak_statement(first: &Standing<'_>, rest: &[Standing<'_>]) -> Text {
    let figures = |s: &Standing<'_>| {
        format!(
            "{} at {}",
            number::rate(s.peak.ops.middle),
            number::threads(s.peak.threads)
        )
    };
    let mut text = Text::plain("At peak, ").and_strong(first.system);
    for (i, other) in rest.iter().enumerate() {
        let joint = match i {
            0 => " ",
            i if i + 1 == rest.len() => " and ",
            _ => ", ",
        };
        text = text.and(joint);
        text = match verdict(first.peak.ops, other.peak.ops) {
            Verdict::Leads(ratio) if ratio < WORTH_A_RATIO => text
                .and("does ")
                .and_strong(format!("{} more", number::share(ratio - 1.0)))
                .and(" ops/s than "),
            Verdict::Leads(ratio) => text
                .and("does ")
                .and_strong(number::ratio(ratio))
                .and(" the ops/s of "),
            Verdict::Tied => text.and("is tied with "),
            Verdict::NoDifferenceShown => text.and("shows no difference beyond its repeats to "),
        };
        text = text.and_strong(other.system);
    }
    let others: Vec<String> = rest.iter().map(figures).collect();
    text.and(format!(
        ": {} against {}.",
        figures(first),
        others.join(" and ")
    ))
}

fn average_statement<'a>(group: &WorkloadGrid<'a>, a: &'a str, b: &'a str) -> Option<Text> {
    let gains = improvements(group, a, b);
    if gains.len() < 2 {
        return None;
    }
    let values: Vec<f64> = gains.iter().map(|(_, gain)| *gain).collect();
    let average = compare::average(&values)?;
    let (low, high) = (extreme(&gains, f64::lt)?, extreme(&gains, f64::gt)?);
    let place = |(threads, gain): (u32, f64)| {
        format!("{} at {}", number::change(gain), number::threads(threads))
    };
    Some(
        Text::plain("Average over thread counts: ")
            .and_strong(number::change(average))
            .and(format!(
                " over {b}, from {} to {}.",
                place(low),
                place(high)
            )),
    )
}

fn extreme(gains: &[(u32, f64)], beats: fn(&f64, &f64) -> bool) -> Option<(u32, f64)> {
    gains
        .iter()
        .copied()
        .reduce(|best, next| if beats(&next.1, &best.1) { next } else { best })
}

/// Says where the other one is ahead, if anywhere.
fn lead_statement<'a>(group: &WorkloadGrid<'a>, a: &'a str, b: &'a str) -> Option<Text> {
    let gains = improvements(group, a, b);
    let behind: Vec<String> = gains
        .iter()
        .filter(|(_, gain)| *gain < -TIE)
        .map(|(t, _)| t.to_string())
        .collect();
    if behind.is_empty() {
        return None;
    }
    let counts: Vec<&str> = behind.iter().map(String::as_str).collect();
    Some(
        Text::plain("The lead changes: at ")
            .and(number::list(&counts))
            .and(if counts == ["1"] {
                " thread "
            } else {
                " threads "
            })
            .and_strong(b)
            .and(" is ahead."),
    )
}

/// Mean latency of the main kind at the highest step that both have.
fn latency_statement<'a>(group: &WorkloadGrid<'a>, a: &'a str, b: &'a str) -> Option<Text> {
    let kind = group.main_kind()?;
    let mean = |system: &'a str, step| {
        group
            .valid_cell(system, step)?
            .latency(kind, TimeBasis::Response, Statistic::MEAN)
    };
    let step = *group
        .steps
        .iter()
        .rev()
        .find(|&&step| mean(a, step).is_some() && mean(b, step).is_some())?;
    let (ours, theirs) = (mean(a, step)?, mean(b, step)?);
    let place = step.place();
    let name = format!("Mean {} latency: ", kind.name());
    Some(Text::plain(name).and_all(which_is_lower((a, ours), (b, theirs), &place)))
}

/// Which of two latencies is lower, and by how much, as far as that is certain.
#[must_use]
pub fn which_is_lower(a: (&str, Measured), b: (&str, Measured), place: &str) -> Text {
    let is_a = a.1.middle.value <= b.1.middle.value;
    let ((lower, low), (higher, high)) = if is_a { (a, b) } else { (b, a) };
    let figures = format!(
        "({} against {} at {place})",
        number::stated_latency(low.middle),
        number::stated_latency(high.middle),
    );
    let unclear = || format!("no clear difference between {lower} and {higher} {figures}.");
    let ratio = compare::advantage(high.middle.value, low.middle.value);
    // What took longer may have taken longer still; of what took less that is no matter.
    let least = match (low.middle.bound, high.middle.bound) {
        (Bound::Exact, Bound::Exact) => "",
        (Bound::Exact, _) => "at least ",
        (_, _) => {
            return Text::plain(format!(
                "which of {lower} and {higher} is lower is not certain {figures}."
            ));
        }
    };
    if high.meets(low) || ratio < 1.0 + TIE {
        return Text::plain(unclear());
    }
    Text::strong(lower)
        .and(" is ")
        .and_strong(format!("{least}{} lower", less(ratio)))
        .and(format!(" than {higher} {figures}."))
}

/// `7.0X`, or `23 %` where the ratio is small.
fn less(ratio: f64) -> String {
    if ratio < 1.95 {
        format!("{:.0} %", (1.0 - 1.0 / ratio) * 100.0)
    } else {
        number::ratio(ratio)
    }
}
