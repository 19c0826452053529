//! Sentences about the report's latency: at the highest thread count or rate, and at the peaks.

use super::{Detail, place, title};
use crate::{
    axis::Step,
    block::Text,
    compare::{self, ComparedAt, Outcome},
    grid_cell::GridCell,
    measure::Measured,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Bounded, Metric, PointKey};
use tailmark_stats::Comparison;

/// At the highest thread count or rate that the systems have in common.
pub fn at_the_highest<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    metric: Metric,
    detail: Detail,
) -> Vec<Text> {
    let Some(step) = compare::last_common(group, sweep, metric) else {
        return Vec::new();
    };
    let spot = ComparedAt::Step(step);
    let pairs = compare::pairs(group, sweep, spot, metric);
    let has_figures = detail == Detail::Full || pairs.len() == 1;
    let said = pairs.into_iter().filter_map(|pair| {
        let value = |system| group.valid_cell(system, step)?.value(metric);
        let values = (value(pair.0)?, value(pair.1)?);
        let known = compare::at(group, sweep, spot, metric, pair);
        let figures = if has_figures {
            figures(metric, values.0, values.1)
        } else {
            String::new()
        };
        let said = which_is_better(sweep, metric, pair, values, known.as_ref(), &figures);
        Some(said)
    });
    lines(&format!("{} {}: ", title(metric), place(group, spot)), said)
}

/// A statement about two latencies.
enum Said<'a> {
    /// One `is` lower or higher than another by some amount.
    Is(&'a str, Text),
    /// Anything else, as it stands.
    Sentence(Text),
}

/// The statements after a common beginning. Those about one system are in one sentence.
fn lines<'a>(begin: &str, sayings: impl Iterator<Item = Said<'a>>) -> Vec<Text> {
    let mut lines = Vec::new();
    let mut of_one: Vec<(&str, Vec<Text>)> = Vec::new();
    for said in sayings {
        match said {
            Said::Sentence(text) => lines.push(Text::plain(begin).and_all(text)),
            Said::Is(name, text) => match of_one.iter_mut().find(|(known, _)| *known == name) {
                Some((_, texts)) => texts.push(text),
                None => of_one.push((name, vec![text])),
            },
        }
    }
    let sentence = |(name, texts): (&str, Vec<Text>)| {
        let last = texts.len() - 1;
        let mut text = Text::plain(begin).and_strong(name).and(" is ");
        for (i, one) in texts.into_iter().enumerate() {
            let joint = match i {
                0 => "",
                i if i == last => " and ",
                _ => ", ",
            };
            text = text.and(joint).and_all(one);
        }
        text.and(".")
    };
    let mut all: Vec<Text> = of_one.into_iter().map(sentence).collect();
    all.append(&mut lines);
    all
}

/// Which of two values is better, and by how much, as far as that is certain.
fn which_is_better<'a>(
    sweep: &SweepTable<'_>,
    metric: Metric,
    (a, b): (&'a str, &'a str),
    (of_a, of_b): (Measured, Measured),
    comparison: Option<&Comparison>,
    figures: &str,
) -> Said<'a> {
    let uncertain = || {
        let text = if has_zero(of_a) || has_zero(of_b) {
            no_ratio((a, b), figures)
        } else {
            let better = compare::better(metric);
            format!("which of {a} and {b} is {better} is not certain{figures}.")
        };
        Said::Sentence(Text::plain(text))
    };
    let Some(comparison) = comparison else {
        return uncertain();
    };
    let ratio = comparison.ratio;
    if !compare::is_certain(ratio) {
        return uncertain();
    }
    let after = |text: Option<String>| text.map_or_else(String::new, |text| format!(", {text}"));
    let interval = after(compare::interval(comparison, sweep.comparisons));
    let outcome = Outcome::new(comparison, sweep.comparisons.band);
    match compare::alike(outcome, (a, b), sweep.comparisons) {
        Some(words) => {
            let sentence = format!("{words}{figures}{interval}.");
            Said::Sentence(Text::plain(sentence))
        }
        None => {
            let lower = sweep
                .comparisons
                .ratio(metric, ratio)
                .replace("≥ ", "at least ");
            let far = after(compare::interval(comparison, sweep.comparisons));
            let text = Text::strong(lower).and(format!(" than {b}{figures}{far}"));
            Said::Is(a, text)
        }
    }
}

/// Whether a run has 0, with which no ratio is formed.
fn has_zero(measured: Measured) -> bool {
    measured.low.is_exact() && measured.low.value == 0.0
}

fn no_ratio((a, b): (&str, &str), figures: &str) -> String {
    format!("{a} and {b} have no ratio, as a run of one of them has 0{figures}.")
}

/// ` (45.3 us against 69.3 us)`.
fn figures(metric: Metric, a: Measured, b: Measured) -> String {
    let [a, b] = [a, b].map(|measured| metric.text_with_unit(measured.middle));
    format!(" ({a} against {b})")
}

/// At the peak of each, if one of them is not at the highest thread count of both.
pub fn at_the_peaks<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    metric: Metric,
) -> Vec<Text> {
    if !group.has_peaks() {
        return Vec::new();
    }
    let last = compare::last_common(group, sweep, metric);
    let at_peak = |system: &'a str| -> Option<(&GridCell<'a>, Measured)> {
        let peak = group.peak(system)?;
        let mut cells = group.cells_of(system);
        let cell = cells.find(|cell| cell.step.threads == peak.threads)?;
        Some((cell, cell.value(metric)?))
    };
    let mut said: Vec<(String, Said<'a>)> = Vec::new();
    for pair in compare::pairs(group, sweep, ComparedAt::Peak, Metric::OPS_PER_SEC) {
        let Some(((cell_a, of_a), (cell_b, of_b))) = at_peak(pair.0).zip(at_peak(pair.1)) else {
            continue;
        };
        let steps = [cell_a.step, cell_b.step];
        if steps.iter().all(|step| Some(*step) == last) {
            continue;
        }
        let begin = format!("{} at the peaks ", title(metric));
        if steps[0] == steps[1] && steps[0].threads != PointKey::PEAK {
            let comparison = compare::at(group, sweep, ComparedAt::Step(steps[0]), metric, pair);
            let begin = format!("{begin}({}): ", steps[0].place());
            let figures = figures(metric, of_a, of_b);
            let known = comparison.as_ref();
            let which = which_is_better(sweep, metric, pair, (of_a, of_b), known, &figures);
            said.push((begin, which));
            continue;
        }
        // At unlike or unknown thread counts nothing is tested: it is what was measured.
        let begin = format!("{begin}({}), as measured: ", places(steps));
        let which = as_measured(sweep, metric, pair, (of_a, of_b));
        said.extend(which.map(|which| (begin, which)));
    }
    let mut all = Vec::new();
    while let Some((begin, _)) = said.first() {
        let begin = begin.clone();
        let (same, rest) = said.into_iter().partition(|(other, _)| *other == begin);
        said = rest;
        let same: Vec<(String, Said<'a>)> = same;
        all.extend(lines(&begin, same.into_iter().map(|(_, own)| own)));
    }
    all
}

/// `16 and 64 threads`.
fn places([a, b]: [Step; 2]) -> String {
    if a == b {
        a.place()
    } else if [a, b].iter().any(|step| step.threads == PointKey::PEAK) {
        format!("{} and {}", a.place(), b.place())
    } else {
        format!("{} and {} threads", a.label(), b.label())
    }
}

/// Compares two values without a test. `None` if both are bounds and have no ratio.
fn as_measured<'a>(
    sweep: &SweepTable<'_>,
    metric: Metric,
    (a, b): (&'a str, &'a str),
    (of_a, of_b): (Measured, Measured),
) -> Option<Said<'a>> {
    let bound = of_a.middle.bound.and(of_b.middle.bound.reversed())?;
    let value = of_a.middle.value / of_b.middle.value;
    let ratio = Bounded { value, bound };
    let figures = figures(metric, of_a, of_b);
    if has_zero(of_a) || has_zero(of_b) {
        return Some(Said::Sentence(Text::plain(no_ratio((a, b), &figures))));
    }
    let outcome = Outcome::as_measured(ratio, sweep.comparisons.band);
    Some(match compare::alike(outcome, (a, b), sweep.comparisons) {
        Some(words) => Said::Sentence(Text::plain(format!("{words}{figures}."))),
        None => {
            let lower = Text::strong(sweep.comparisons.ratio(metric, ratio));
            Said::Is(a, lower.and(format!(" than {b}{figures}")))
        }
    })
}
