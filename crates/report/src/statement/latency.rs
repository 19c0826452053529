//! Sentences about the report's latency: at the highest thread count or rate, and at the peaks.

use super::{Detail, amount, far, place, range};
use crate::{
    axis::Step,
    block::Text,
    compare::{self, ComparedAt, Outcome},
    compared::Comparisons,
    grid_cell::GridCell,
    measure::Quantity,
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
    let known = pairs
        .iter()
        .filter_map(|pair| compare::at(group, sweep, spot, metric, *pair));
    let known: Vec<Comparison> = known.collect();
    let comparisons = sweep.comparisons.beside(&known.iter().collect::<Vec<_>>());
    let of_several = pairs.len() > 1 && pairs.iter().all(|pair| pair.0 == pairs[0].0);
    let far = if known.len() == pairs.len() && of_several {
        far(&known, &comparisons)
    } else {
        &[]
    };
    let named = pairs.len() - far.len();
    let others = (!far.is_empty()).then(|| {
        let range = range(&comparisons, &far.iter().collect::<Vec<_>>());
        let text = Text::strong(amount(&range));
        let those = text.and(format!(" than those of {} other systems", far.len()));
        LatencyStatement::Is(pairs[0].0, those)
    });
    let said = pairs.into_iter().take(named).filter_map(|pair| {
        let value = |system| group.valid_cell(system, step)?.value(metric);
        let values = (value(pair.0)?, value(pair.1)?);
        let comparison = compare::at(group, sweep, spot, metric, pair);
        let figures = if has_figures {
            figures(sweep, metric, pair, values)
        } else {
            String::new()
        };
        let figures = (figures, of_several);
        let compared = (comparison.as_ref(), &comparisons);
        Some(which_is_better(
            sweep, metric, pair, values, compared, figures,
        ))
    });
    lines(&place(group, step), metric, said.chain(others))
}

/// A statement about two latencies.
enum LatencyStatement<'a> {
    /// One `is` lower or higher than another by some amount.
    Is(&'a str, Text),
    /// Anything else, as it stands.
    Sentence(Text),
}

/// The statements after a common beginning. Those about one system are in one sentence.
fn lines<'a>(
    begin: &str,
    metric: Metric,
    sayings: impl Iterator<Item = LatencyStatement<'a>>,
) -> Vec<Text> {
    let begin = format!("{begin}, ");
    let mut lines = Vec::new();
    let mut of_one: Vec<(&str, Vec<Text>)> = Vec::new();
    for said in sayings {
        match said {
            LatencyStatement::Sentence(text) => lines.push(Text::plain(&*begin).and_all(text)),
            LatencyStatement::Is(name, text) => {
                match of_one.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, texts)) => texts.push(text),
                    None => of_one.push((name, vec![text])),
                }
            }
        }
    }
    let sentence = |(name, texts): (&str, Vec<Text>)| {
        let last = texts.len() - 1;
        let text = Text::plain(format!("{begin}the {} of ", metric.noun()));
        let mut text = text.and_strong(name).and(" is ");
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

/// Which of two values is better, and by how much, as far as that is certain. `of_several`: other pairs
/// have the first in common, so that one sentence is about all of them.
fn which_is_better<'a>(
    sweep: &SweepTable<'_>,
    metric: Metric,
    (a, b): (&'a str, &'a str),
    (of_a, of_b): (Quantity, Quantity),
    (comparison, comparisons): (Option<&Comparison>, &Comparisons),
    (figures, of_several): (String, bool),
) -> LatencyStatement<'a> {
    let noun = metric.noun();
    if comparison.is_none()
        && let Some(why) = sweep.unlike_money(metric, (a, b))
    {
        let details = in_brackets([figures, why]);
        let text = format!("the {noun} of {a} and {b} is not compared{details}.");
        return LatencyStatement::Sentence(Text::plain(text));
    }
    let uncertain = |both: String| {
        let details = in_brackets([both, String::new()]);
        let text = if has_zero(of_a) || has_zero(of_b) {
            no_ratio(metric, (a, b), &details)
        } else {
            let better = compare::better(metric);
            format!("it is not certain whether {a} or {b} has the {better} {noun}{details}.")
        };
        LatencyStatement::Sentence(Text::plain(text))
    };
    let Some(comparison) = comparison else {
        return uncertain(figures);
    };
    let ratio = comparison.ratio;
    if !compare::is_certain(ratio) {
        return uncertain(figures);
    }
    let interval = compare::reason(comparison, comparisons).unwrap_or_default();
    let details = in_brackets([figures, interval]);
    let outcome = Outcome::new(comparison, comparisons.band);
    if outcome == Outcome::Tied && of_several {
        let within = compare::within(comparisons);
        return LatencyStatement::Is(a, Text::plain(format!("{within} of {b}'s{details}")));
    }
    if compare::is_not_significant(comparison) {
        let said = compare::in_words(&comparisons.improvement(comparison));
        let than = compare::than(&said, b);
        return LatencyStatement::Is(a, Text::plain(format!("{said}{than}{details}")));
    }
    match compare::alike(outcome, (a, b), comparisons) {
        Some(words) => {
            let sentence = format!("{words} in {noun}{details}.");
            LatencyStatement::Sentence(Text::plain(sentence))
        }
        None => {
            let lower = compare::in_words(&comparisons.improvement(comparison));
            let lower = lower.replace("≥ ", "at least ");
            let than = compare::than(&lower, b);
            let text = Text::strong(lower).and(format!("{than}{details}"));
            LatencyStatement::Is(a, text)
        }
    }
}

/// Whether a run has 0, with which no ratio is formed.
fn has_zero(measured: Quantity) -> bool {
    measured.low.is_exact() && measured.low.value == 0.0
}

fn no_ratio(metric: Metric, (a, b): (&str, &str), figures: &str) -> String {
    let noun = metric.noun();
    format!("{a} and {b} have no ratio in {noun}, because a run of one of them has 0{figures}.")
}

/// `45.3 us against 69.3 us`.
fn figures(
    sweep: &SweepTable<'_>,
    metric: Metric,
    (a, b): (&str, &str),
    (of_a, of_b): (Quantity, Quantity),
) -> String {
    let text = |system: &str, measured: Quantity| {
        metric.text_with_unit(measured.middle, sweep.currency(system))
    };
    let (a, b) = (text(a, of_a), text(b, of_b));
    format!("{a} against {b}")
}

/// ` (45.3 us against 69.3 us; 31 % to 35 % lower)`; nothing of empty texts.
fn in_brackets(texts: [String; 2]) -> String {
    let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    if texts.is_empty() {
        String::new()
    } else {
        format!(" ({})", texts.join("; "))
    }
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
    let at_peak = |system: &'a str| -> Option<(&GridCell<'a>, Quantity)> {
        let peak = group.peak(system)?;
        let mut cells = group.cells_of(system);
        let cell = cells.find(|cell| cell.step.threads == peak.threads)?;
        Some((cell, cell.value(metric)?))
    };
    let mut said: Vec<(String, LatencyStatement<'a>)> = Vec::new();
    for pair in compare::pairs(group, sweep, ComparedAt::Peak, Metric::OPS_PER_SEC) {
        let Some(((cell_a, of_a), (cell_b, of_b))) = at_peak(pair.0).zip(at_peak(pair.1)) else {
            continue;
        };
        let steps = [cell_a.step, cell_b.step];
        if steps.iter().all(|step| Some(*step) == last) {
            continue;
        }
        if steps[0] == steps[1] && steps[0].threads != PointKey::PEAK {
            let comparison = compare::at(group, sweep, ComparedAt::Step(steps[0]), metric, pair);
            let begin = format!("At the peaks ({})", steps[0].place());
            let figures = figures(sweep, metric, pair, (of_a, of_b));
            let known = (comparison.as_ref(), sweep.comparisons);
            let figures = (figures, false);
            let which = which_is_better(sweep, metric, pair, (of_a, of_b), known, figures);
            said.push((begin, which));
            continue;
        }
        // At unlike or unknown thread counts nothing is tested: it is what was measured.
        let begin = format!("As measured at the peaks ({})", places(steps));
        let which = as_measured(sweep, metric, pair, (of_a, of_b));
        said.extend(which.map(|which| (begin, which)));
    }
    let mut all = Vec::new();
    while let Some((begin, _)) = said.first() {
        let begin = begin.clone();
        let (same, rest) = said.into_iter().partition(|(other, _)| *other == begin);
        said = rest;
        let same: Vec<(String, LatencyStatement<'a>)> = same;
        all.extend(lines(&begin, metric, same.into_iter().map(|(_, own)| own)));
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
    (of_a, of_b): (Quantity, Quantity),
) -> Option<LatencyStatement<'a>> {
    if sweep.unlike_money(metric, (a, b)).is_some() {
        return None;
    }
    let bound = of_a.middle.bound.and(of_b.middle.bound.reversed())?;
    let value = of_a.middle.value / of_b.middle.value;
    let ratio = Bounded { value, bound }.toward_one()?;
    let figures = figures(sweep, metric, (a, b), (of_a, of_b));
    let figures = in_brackets([figures, String::new()]);
    if has_zero(of_a) || has_zero(of_b) {
        let text = no_ratio(metric, (a, b), &figures);
        return Some(LatencyStatement::Sentence(Text::plain(text)));
    }
    let outcome = Outcome::as_measured(ratio, sweep.comparisons.band);
    Some(match compare::alike(outcome, (a, b), sweep.comparisons) {
        Some(words) => {
            let noun = metric.noun();
            LatencyStatement::Sentence(Text::plain(format!("{words} in {noun}{figures}.")))
        }
        None => {
            let lower = compare::in_words(&sweep.comparisons.ratio(metric, ratio));
            let than = compare::than(&lower, b);
            LatencyStatement::Is(a, Text::strong(lower).and(format!("{than}{figures}")))
        }
    })
}
