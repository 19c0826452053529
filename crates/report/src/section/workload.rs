//! Each workload: what can be said of it, the curves, the bars, the table by thread count.

use super::{Section, compared_table::tables, ladder, rates, scaling};
use crate::{
    Block, Chart, Control, ControlChoice, Data, Figure, Text,
    axis::Axis,
    block::anchor,
    chart::{
        bars,
        curve::{self, Along, CurveLines, LatencyChoice},
    },
    compare,
    findings::Index,
    measure, mix, statement,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Kind, Metric, STATISTICS, TimeBasis};

pub const SECTION: Section = Section {
    name: "workloads",
    title: "Workloads",
    about: "ops/s against latency, both against threads, and the table, for each workload",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let index = Index::new(data);
    // What a workload did at several rates comes behind what it did by client count.
    let mut groups: Vec<&WorkloadGrid<'_>> = sweep.all_groups().collect();
    let names: Vec<&str> = groups.iter().map(|group| group.workload.as_str()).collect();
    groups.sort_by_key(|group| names.iter().position(|name| *name == group.workload));
    groups
        .into_iter()
        .flat_map(|group| workload(data, group, &sweep, &index))
        .collect()
}

fn workload<'a>(
    data: &Data,
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    index: &Index<'_>,
) -> Vec<Block> {
    let mix = Some(mix::mix(group)).filter(|mix| !mix.is_empty());
    let about = [mix.as_deref(), group.use_case, Some(&group.conditions)];
    let about: Vec<&str> = about.into_iter().flatten().collect();
    let about = about.join("; ");
    let heading = Block::Heading {
        anchor: group.anchor.clone(),
        title: group.title_with_conditions(),
        about,
    };
    let mut blocks = vec![
        heading,
        Block::Statements(statement::statements(group, sweep)),
    ];
    if group.rate.is_some() {
        blocks.push(Block::Text(Text::plain(
            "At a fixed rate, ops/s cannot exceed the rate; latency is what differs.",
        )));
    }
    blocks.extend(figure(group, sweep).map(Block::Figure));
    blocks.extend(ladder::ends(data, group, sweep));
    blocks.extend(scaling::annotation(group, sweep));
    let several = sweep.systems.iter().filter(|s| group.has(&s.name)).count() > 1;
    let has_table = !group.steps.is_empty() && (group.axis == Axis::Threads || several);
    if has_table {
        blocks.extend(tables(group, sweep, index).into_iter().map(Block::Table));
    }
    if group.axis == Axis::Rates {
        blocks.extend(rates::tables(group, sweep, index));
    }
    blocks
}

fn figure(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Figure> {
    let kinds = group.kinds();
    let clocks: &[TimeBasis] = if group.has_response() {
        &TimeBasis::ALL
    } else {
        &TimeBasis::ALL[..1]
    };
    let Some((kind, statistic)) = sweep.latency(group) else {
        // Published figures may have rates alone.
        let is_swept = group.axis == Axis::Threads && group.steps.len() > 1;
        return is_swept.then(|| Figure {
            anchor: anchor(&[&group.anchor, "charts"]),
            controls: Vec::new(),
            charts: vec![Chart {
                wide: true,
                ..bars_chart(group, sweep, Metric::OPS_PER_SEC)
            }],
        });
    };
    let initial = |index: Option<usize>| index.unwrap_or(0);
    let initial = (
        initial(kinds.iter().position(|known| *known == kind)),
        initial(STATISTICS.iter().position(|known| *known == statistic)),
    );
    let readings: Vec<LatencyChoice> = kinds
        .iter()
        .flat_map(|&kind| clocks.iter().map(move |&clock| (kind, clock)))
        .flat_map(|(kind, clock)| {
            STATISTICS.iter().map(move |&measure| LatencyChoice {
                kind,
                clock,
                measure,
            })
        })
        .collect();
    let first = LatencyChoice {
        kind: kinds[initial.0],
        clock: clocks[0],
        measure: STATISTICS[initial.1],
    };
    let charts = match group.axis {
        Axis::Threads => thread_charts(group, sweep, &readings, first),
        Axis::Rates => vec![rates::chart(group, sweep, &readings, first)],
    };
    let anchor = anchor(&[&group.anchor, "charts"]);
    Some(Figure {
        anchor,
        controls: controls(&kinds, clocks, initial),
        charts,
    })
}

fn thread_charts(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    readings: &[LatencyChoice],
    first: LatencyChoice,
) -> Vec<Chart> {
    let lines = |along, reading| CurveLines {
        group,
        sweep,
        reading,
        along,
    };
    let variants = |along| -> Vec<_> {
        let all = readings.iter();
        all.map(|&reading| lines(along, reading).variant())
            .collect()
    };
    let mut charts = vec![Chart {
        title: "Latency against operations per second".into(),
        hint: hint(
            "lower and further right is better; labels are thread counts",
            sweep,
        ),
        about: format!(
            "One line a system of {}, one point a thread count.",
            group.title
        ),
        height: 400,
        wide: true,
        base: curve::curve_base(),
        variants: variants(Along::Rate),
        plot: lines(Along::Rate, first).plot(),
    }];
    if group.steps.len() > 1 {
        charts.push(bars_chart(group, sweep, Metric::OPS_PER_SEC));
        charts.push(Chart {
            title: "Latency by threads".into(),
            hint: hint("lower is better", sweep),
            about: format!(
                "Lines of latency of each system in {} by thread count.",
                group.title
            ),
            height: 300,
            wide: false,
            base: curve::latency_base(group),
            variants: variants(Along::Threads),
            plot: None,
        });
        // A latency is in the chart above.
        let figure = sweep
            .metric(group)
            .filter(|metric| metric.latency().is_none());
        charts.extend(figure.map(|metric| bars_chart(group, sweep, metric)));
    }
    charts
}

/// Bars of a metric by thread count.
fn bars_chart(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>, metric: Metric) -> Chart {
    let (base, plot) = bars::by_threads(group, sweep, metric);
    Chart {
        title: format!("{} by threads", statement::title(metric)),
        hint: hint(&format!("{} is better", compare::better(metric)), sweep),
        about: format!(
            "Bars of {} of each system in {} by thread count.",
            metric.noun(),
            group.title
        ),
        height: 300,
        wide: false,
        base,
        variants: vec![serde_json::json!({})],
        plot: Some(plot),
    }
}

/// What is better, and what error bars are, where there are any.
pub fn hint(better: &str, sweep: &SweepTable<'_>) -> String {
    match measure::error_bars(sweep.repeats()) {
        "" => better.to_owned(),
        bars => format!("{better}; {bars}"),
    }
}

/// In the order in which readings are made: kind, clock, measure.
fn controls(
    kinds: &[Kind],
    clocks: &[TimeBasis],
    (kind, statistic): (usize, usize),
) -> Vec<Control> {
    let control = |key, label: &str, names: Vec<&str>, initial| Control {
        key,
        label: label.into(),
        choices: names.into_iter().map(ControlChoice::new).collect(),
        initial,
    };
    vec![
        control(
            "kind",
            "Requests",
            kinds.iter().map(|k| k.name()).collect(),
            kind,
        ),
        control(
            "clock",
            "Clock",
            clocks.iter().map(|c| c.name()).collect(),
            0,
        ),
        control(
            "measure",
            "Latency",
            STATISTICS.iter().map(|m| m.name).collect(),
            statistic,
        ),
    ]
}
