//! Full distributions of latency: by percentile, and the frequency of each latency.

use super::Section;
use crate::{
    Block, Chart, Control, Data, Figure, Text,
    axis::{Axis, Step},
    block::anchor,
    chart::percentiles::{self, SystemCurve},
    compare,
    sweep::{SweepTable, WorkloadGrid},
};
use serde_json::Value;
use tailmark_model::{Kind, TimeBasis};

pub const SECTION: Section = Section {
    name: "distribution",
    title: "Latency distributions",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let figures = sweep.all_groups().filter_map(|group| {
        let figure = figure(group, &sweep)?;
        let heading = Block::Heading {
            anchor: anchor(&["distribution", &group.anchor]),
            title: group.title_with_conditions(),
            about: group.conditions.clone(),
        };
        Some([heading, Block::Figure(figure)])
    });
    let mut blocks: Vec<Block> = figures.flatten().collect();
    if !blocks.is_empty() {
        let text = "With several runs, a percentile is their geometric mean, and a histogram counts \
                    the requests of all of them. A line ends where a run has fewer than 10 requests \
                    beyond the value, or where the value is a bound.";
        blocks.insert(0, Block::Text(Text::plain(text)));
    }
    blocks
}

/// What draws one variant.
type Draw = fn(&[SystemCurve<'_, '_>], Kind, TimeBasis) -> Value;

/// `None` for a workload with quantiles only, such as published figures.
fn figure(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Figure> {
    let kinds = group.kinds();
    let clocks = group.clocks();
    let (first_kind, _) = sweep.latency(group)?;
    let metric = sweep.latency_metric(group)?;
    let last = group.steps.last().copied();
    let common = compare::last_common(group, sweep, metric).or(last)?;
    // Of a bound no line is drawn, so another point opens the chart if there is one.
    let is_exact = |step: &&Step| {
        let cells = sweep.systems.iter();
        let mut cells = cells
            .filter_map(|system| group.cell(&system.name, **step))
            .peekable();
        cells.peek().is_some()
            && cells.all(|cell| {
                cell.value(metric)
                    .is_some_and(|value| value.middle.is_exact())
            })
    };
    let mut exact = group.steps.iter().rev().filter(is_exact).copied();
    let first = if is_exact(&&common) {
        common
    } else {
        exact.next().unwrap_or(common)
    };
    let mut choices: Vec<(Step, Kind, TimeBasis)> = Vec::new();
    for &step in &group.steps {
        for &kind in &kinds {
            choices.extend(clocks.iter().map(|&clock| (step, kind, clock)));
        }
    }
    let chart = |title: &str, about: String, base, draw: Draw| Chart {
        title: title.into(),
        hint: String::new(),
        about,
        height: 260,
        wide: false,
        base,
        variants: choices
            .iter()
            .map(|(step, kind, clock)| draw(&drawn(group, sweep, *step), *kind, *clock))
            .collect(),
        plot: None,
    };
    let charts = vec![
        chart(
            "Latency by percentile",
            format!(
                "One line per system of {}, from the fastest request to the slowest.",
                group.title
            ),
            percentiles::percentiles_option(),
            percentiles::percentiles,
        ),
        chart(
            "How often each latency occurred",
            format!(
                "Shares of the requests of {} by latency, one step line per system.",
                group.title
            ),
            percentiles::histogram_option(),
            percentiles::histogram,
        ),
    ];
    let is_any = charts[1].variants.iter().any(|variant| !variant.is_null());
    is_any.then(|| Figure {
        anchor: anchor(&["distribution", &group.anchor, "charts"]),
        controls: controls(group, (&kinds, clocks), (first, first_kind)),
        charts,
    })
}

/// The systems that were measured at a step, with ceilings.
fn drawn<'s, 'a>(
    group: &'s WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    step: Step,
) -> Vec<SystemCurve<'s, 'a>> {
    let systems = sweep.systems.iter();
    let drawn = systems.filter_map(|system| {
        Some(SystemCurve {
            name: &system.name,
            cell: group.cell(&system.name, step)?,
            look: sweep.look(&system.name)?,
        })
    });
    drawn.collect()
}

fn controls(
    group: &WorkloadGrid<'_>,
    (kinds, clocks): (&[Kind], &[TimeBasis]),
    (first, kind): (Step, Kind),
) -> Vec<Control> {
    let (key, label) = match group.axis {
        Axis::Threads => ("step-threads", "Threads"),
        Axis::Rates => ("step-rate", "Offered ops/s"),
    };
    vec![
        Control::new(
            key,
            label,
            group.steps.iter().map(|step| step.label()),
            group.steps.iter().position(|step| *step == first),
        ),
        Control::new(
            "kind",
            "Requests",
            kinds.iter().map(|of_choice| of_choice.name()),
            kinds.iter().position(|known| *known == kind),
        ),
        Control::new(
            "clock",
            "Clock",
            clocks.iter().map(|clock| clock.name()),
            None,
        ),
    ]
}
