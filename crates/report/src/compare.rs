//! How systems compare, in the statements of the published studies: the peaks and their ratio, the
//! average improvement and its range, who leads where. What is said of two systems follows from
//! their [`Comparison`] alone, which tables and cards read too.

use crate::{
    axis::Step,
    block::Text,
    compared::Comparisons,
    sweep::{SpreadPeak, SweepTable, WorkloadGrid},
};
use tailmark_results::{
    Bound, Comparison, Metric, Stated, Statistic, System, TimeBasis, Verdict, compare, number,
};

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

/// How a comparison is put into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// One is better: by its verdict, or without one as it was measured.
    Differ,
    /// As it was measured they lie within the band; that is no verdict.
    Tied,
    /// The interval of their ratio lies within the band.
    Equivalent,
    /// None of these.
    NoDifferenceShown,
    /// The lower peak is of a system without a valid point at some thread counts of the other.
    UnlikePeaks,
}

impl Outcome {
    /// Of a comparison whose band of practical equivalence is this fraction.
    #[must_use]
    pub fn of(comparison: &Comparison, band: f64) -> Self {
        match comparison.verdict {
            Verdict::Better | Verdict::Worse => Self::Differ,
            Verdict::Equivalent => Self::Equivalent,
            Verdict::NoDifferenceShown => Self::NoDifferenceShown,
            Verdict::NotTestable if comparison.ratio.is_exact() => Self::UnlikePeaks,
            Verdict::TooFewRuns | Verdict::NotTestable => {
                let ratio = comparison.ratio.value;
                match ratio.max(1.0 / ratio) < 1.0 + band {
                    true => Self::Tied,
                    false => Self::Differ,
                }
            }
        }
    }
}

/// Whether there were runs enough for a verdict.
#[must_use]
pub const fn has_verdict(comparison: &Comparison) -> bool {
    comparison.p_adjusted.is_some()
}

/// How much better the first is: more operations per second, less latency; as a fraction.
#[must_use]
pub fn gain(comparison: &Comparison) -> Stated {
    comparison.metric.gain(comparison.ratio)
}

/// The 95 % interval of the gain in words, where there is a verdict: `+8 % to +12 %`.
#[must_use]
pub fn gain_interval(comparison: &Comparison) -> Option<String> {
    let (low, high) = comparison.interval.filter(|_| has_verdict(comparison))?;
    let (low, high) = match comparison.metric.more_is_better() {
        true => (low - 1.0, high - 1.0),
        false => (1.0 - high, 1.0 - low),
    };
    let text = format!("{} to {}", number::change(low), number::change(high));
    Some(text.replace(' ', "\u{a0}"))
}

/// `within 3 %`: the band of practical equivalence in words.
#[must_use]
pub fn within(comparisons: &Comparisons) -> String {
    let percent = (comparisons.band * 1e4).round() / 100.0;
    format!("within {percent} %")
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

/// What can be said of one workload, the most important first.
#[must_use]
pub fn statements(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Vec<Text> {
    let standings = standings(group, &sweep.systems);
    let mut lines = at_rates(group, sweep);
    match standings.as_slice() {
        [] => {}
        [only] => lines.push(alone(only)),
        _ if !group.has_peaks() => {}
        [first, rest @ ..] => {
            lines.push(peak_statement(group, sweep, first, rest));
            let pair = (first.system, rest[0].system);
            lines.extend(over_thread_counts(group, sweep.comparisons, pair));
            lines.extend(latency_statement(group, sweep.comparisons, pair.0, pair.1));
        }
    }
    lines.extend(left_out(group, sweep));
    lines
}

/// How the first compares with the second at the client counts of both: on the average, and where
/// the second is ahead.
fn over_thread_counts(
    group: &WorkloadGrid<'_>,
    comparisons: &Comparisons,
    pair: (&str, &str),
) -> Vec<Text> {
    let at = |&step: &Step| Some((comparisons.at(group, step, Metric::OpsPerSec, pair)?, step));
    let (at_steps, steps): (Vec<_>, Vec<_>) = group.steps.iter().filter_map(at).unzip();
    let both = at_steps.iter().zip(&steps);
    let gains: Vec<(u32, f64)> = both
        .map(|(comparison, step)| (step.threads, gain(comparison).value))
        .collect();
    let average = average_statement(&gains, pair.1);
    let lead = lead_statement(&at_steps, &steps, comparisons.band);
    average.into_iter().chain(lead).collect()
}

/// Of a workload at a fixed rate or at several: the first system against each of the others.
fn at_rates(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Vec<Text> {
    let mut systems = sweep.systems.iter().filter(|s| group.has(&s.name));
    match systems.next() {
        Some(first) if !group.has_peaks() => {
            let against = |other: &&System| {
                latency_statement(group, sweep.comparisons, &first.name, &other.name)
            };
            systems.filter_map(against).collect()
        }
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

fn peak_statement(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    first: &Standing<'_>,
    rest: &[Standing<'_>],
) -> Text {
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
        let comparison = sweep
            .comparisons
            .at_peak(group, (first.system, other.system));
        text = text.and(joint);
        text = against(text, comparison.as_ref(), other.system, sweep.comparisons);
    }
    let others: Vec<String> = rest.iter().map(figures).collect();
    text.and(format!(
        ": {} against {}.",
        figures(first),
        others.join(" and ")
    ))
}

/// What the first of a comparison does against `other`, at their peaks.
fn against(
    text: Text,
    comparison: Option<&Comparison>,
    other: &str,
    comparisons: &Comparisons,
) -> Text {
    let Some(comparison) = comparison else {
        return text.and("is not compared with ").and_strong(other);
    };
    let ratio = comparison.ratio.value;
    let text = match Outcome::of(comparison, comparisons.band) {
        Outcome::Differ if ratio < 1.0 => text
            .and("does ")
            .and_strong(format!("{} less", number::share(1.0 - ratio)))
            .and(" ops/s than "),
        Outcome::Differ if ratio < WORTH_A_RATIO => text
            .and("does ")
            .and_strong(format!("{} more", number::share(ratio - 1.0)))
            .and(" ops/s than "),
        Outcome::Differ => text
            .and("does ")
            .and_strong(number::ratio(ratio))
            .and(" the ops/s of "),
        Outcome::Tied => text.and("is tied with "),
        Outcome::Equivalent => {
            let within = within(comparisons);
            text.and(format!("is equivalent ({within}) to "))
        }
        Outcome::NoDifferenceShown => text.and("shows no difference to "),
        Outcome::UnlikePeaks => text.and(format!(
            "measured {} the ops/s, and is not comparable (a thread count is missing or not valid) \
             with ",
            number::ratio(ratio)
        )),
    };
    let text = text.and_strong(other);
    match gain_interval(comparison) {
        None => text,
        Some(interval) => text.and(format!(" ({interval})")),
    }
}

fn average_statement(gains: &[(u32, f64)], b: &str) -> Option<Text> {
    if gains.len() < 2 {
        return None;
    }
    let values: Vec<f64> = gains.iter().map(|(_, gain)| *gain).collect();
    let average = compare::average(&values)?;
    let (low, high) = (extreme(gains, f64::lt)?, extreme(gains, f64::gt)?);
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
fn lead_statement(at_steps: &[Comparison], steps: &[Step], band: f64) -> Option<Text> {
    let is_behind = |comparison: &Comparison| {
        Outcome::of(comparison, band) == Outcome::Differ && gain(comparison).value < 0.0
    };
    let both = at_steps.iter().zip(steps);
    let behind: Vec<String> = both
        .filter(|(comparison, _)| is_behind(comparison))
        .map(|(_, step)| step.threads.to_string())
        .collect();
    let counts: Vec<&str> = behind.iter().map(String::as_str).collect();
    let other = &at_steps.first()?.b;
    (!behind.is_empty()).then(|| {
        Text::plain("The lead changes: at ")
            .and(number::list(&counts))
            .and(if counts == ["1"] {
                " thread "
            } else {
                " threads "
            })
            .and_strong(other)
            .and(" is ahead.")
    })
}

/// Mean latency of the main kind at the highest step that both have.
fn latency_statement<'a>(
    group: &WorkloadGrid<'a>,
    comparisons: &Comparisons,
    a: &'a str,
    b: &'a str,
) -> Option<Text> {
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
    let metric = Metric::Latency {
        kind,
        statistic: Statistic::MEAN,
    };
    // The lower one first.
    let is_a = ours.middle.value <= theirs.middle.value;
    let (lower, higher) = match is_a {
        true => ((a, ours), (b, theirs)),
        false => ((b, theirs), (a, ours)),
    };
    let comparison = comparisons.at(group, step, metric, (lower.0, higher.0));
    let text = Text::plain(format!("Mean {} latency: ", kind.name()));
    let figures = format!(
        "({} against {} at {})",
        number::stated_latency(lower.1.middle),
        number::stated_latency(higher.1.middle),
        step.place(),
    );
    let pair = (lower.0, higher.0);
    Some(text.and_all(which_is_lower(
        pair,
        comparison.as_ref(),
        &figures,
        comparisons,
    )))
}

/// Which of two latencies is lower, and by how much, as far as that is certain.
fn which_is_lower(
    (lower, higher): (&str, &str),
    comparison: Option<&Comparison>,
    figures: &str,
    comparisons: &Comparisons,
) -> Text {
    let uncertain = format!("which of {lower} and {higher} is lower is not certain {figures}.");
    // What took longer may have taken longer still; what took less must be exact.
    let (comparison, least) = match comparison.map(|c| (c, c.ratio.bound)) {
        Some((comparison, Bound::Exact)) => (comparison, ""),
        Some((comparison, Bound::AtMost)) => (comparison, "at least "),
        _ => return Text::plain(uncertain),
    };
    let interval = gain_interval(comparison);
    let interval = interval.map_or_else(String::new, |of| format!(", {of}"));
    let text = match Outcome::of(comparison, comparisons.band) {
        Outcome::Differ => {
            let ratio = 1.0 / comparison.ratio.value;
            return Text::strong(lower)
                .and(" is ")
                .and_strong(format!("{least}{} lower", less(ratio)))
                .and(format!(" than {higher} {figures}{interval}."));
        }
        Outcome::Tied => "no clear difference between",
        Outcome::Equivalent => {
            let within = within(comparisons);
            let both = format!("{lower} and {higher}");
            return Text::plain(format!(
                "{both} are equivalent, {within} {figures}{interval}."
            ));
        }
        Outcome::NoDifferenceShown | Outcome::UnlikePeaks => "no difference shown between",
    };
    Text::plain(format!("{text} {lower} and {higher} {figures}{interval}."))
}

/// `7.0X`, or `23 %` where the ratio is small.
fn less(ratio: f64) -> String {
    if ratio < 1.95 {
        format!("{:.0} %", (1.0 - 1.0 / ratio) * 100.0)
    } else {
        number::ratio(ratio)
    }
}
