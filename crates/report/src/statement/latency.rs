//! What is said of the latency that a report is about: at the highest thread count or rate, and at
//! the peaks.

use super::{latency_title, place};
use crate::{
    block::Text,
    compare::{self, Outcome, Spot},
    grid_cell::GridCell,
    measure::Measured,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_results::{Bound, Comparison, Metric, Stated, number};

/// At the highest thread count or rate that the systems have in common.
pub fn at_the_highest<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    metric: Metric,
) -> Vec<Text> {
    let Some(step) = compare::last_common(group, sweep, metric) else {
        return Vec::new();
    };
    let spot = Spot::Step(step);
    let pairs = compare::pairs(group, sweep, spot, metric);
    let line = |pair: (&'a str, &'a str)| {
        let value = |system| group.valid_cell(system, step)?.value(metric);
        let values = (value(pair.0)?, value(pair.1)?);
        let of = compare::at(group, sweep, spot, metric, pair);
        let begin = format!("{} {}: ", latency_title(metric), place(group, spot));
        let text = Text::plain(begin);
        Some(text.and_all(which_is_lower(sweep, pair, values, of.as_ref())))
    };
    pairs.into_iter().filter_map(line).collect()
}

/// Which of two latencies is lower, and by how much, as far as that is certain.
fn which_is_lower(
    sweep: &SweepTable<'_>,
    (a, b): (&str, &str),
    (of_a, of_b): (Measured, Measured),
    comparison: Option<&Comparison>,
) -> Text {
    let [figure_a, figure_b] = [of_a, of_b].map(|of| number::stated_latency(of.middle));
    let figures = format!("({figure_a} against {figure_b})");
    let uncertain = || {
        let text = format!("which of {a} and {b} is lower is not certain {figures}.");
        Text::plain(text)
    };
    let Some(comparison) = comparison else {
        return uncertain();
    };
    // What is a bound must be one of more than nothing: at least so much higher.
    let ratio = comparison.ratio;
    let is_certain = match ratio.bound {
        Bound::Exact => true,
        Bound::AtLeast => ratio.value > 1.0,
        Bound::AtMost => ratio.value < 1.0,
    };
    if !is_certain {
        return uncertain();
    }
    let interval = compare::interval(comparison);
    let interval = interval.map_or_else(String::new, |of| format!(", {of}"));
    let words = match Outcome::of(comparison, sweep.comparisons.band) {
        Outcome::Differ => {
            let lower = compare::lower(comparison.metric, ratio).replace("≥ ", "at least ");
            return Text::strong(a)
                .and(" is ")
                .and_strong(lower)
                .and(format!(" than {b} {figures}{interval}."));
        }
        Outcome::Equivalent => {
            let within = compare::within(sweep.comparisons);
            format!("{a} and {b} are equivalent, {within}")
        }
        Outcome::Tied => format!("no clear difference between {a} and {b}"),
        Outcome::NoDifferenceShown | Outcome::UnlikePeaks => {
            format!("no difference shown between {a} and {b}")
        }
    };
    Text::plain(format!("{words} {figures}{interval}."))
}

/// At the peak of each, where one of them is not at the highest thread count of both.
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
    let line = |pair: (&'a str, &'a str)| {
        let ((cell_a, of_a), (cell_b, of_b)) = (at_peak(pair.0)?, at_peak(pair.1)?);
        let steps = [cell_a.step, cell_b.step];
        if steps.iter().all(|step| Some(*step) == last) {
            return None;
        }
        let begin = format!("{} at the peaks ", latency_title(metric));
        if steps[0] == steps[1] {
            let of = compare::at(group, sweep, Spot::Step(steps[0]), metric, pair);
            let text = Text::plain(format!("{begin}({}): ", steps[0].place()));
            let which = which_is_lower(sweep, pair, (of_a, of_b), of.as_ref());
            return Some(text.and_all(which));
        }
        // At unlike thread counts nothing is tested: it is what was measured.
        let bound = of_a.middle.bound.and(of_b.middle.bound.reversed())?;
        let ratio = Stated {
            value: of_a.middle.value / of_b.middle.value,
            bound,
        };
        let [a, b] = steps.map(|step| step.label());
        let [figure_a, figure_b] = [of_a, of_b].map(|of| number::stated_latency(of.middle));
        let text = Text::plain(format!("{begin}({a} and {b} threads), as measured: "));
        let text = text.and_strong(pair.0).and(" is ");
        Some(
            text.and_strong(compare::lower(metric, ratio))
                .and(format!(" than {} ({figure_a} against {figure_b}).", pair.1)),
        )
    };
    let pairs = compare::pairs(group, sweep, Spot::Peak, Metric::OpsPerSec);
    pairs.into_iter().filter_map(line).collect()
}
