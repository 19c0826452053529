//! Each workload: its sentences, curves, bars, and the table by thread count.

use super::{Section, compared_table::tables, ladder, rates, scaling};
use crate::{
    Block, Chart, Control, Data, Figure, Text,
    axis::Axis,
    block::anchor,
    chart::{
        bars,
        curve::{self, Along, CurveLines, Reading},
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

/// What its clients did and how its keys were drawn: `50 % read, 50 % update; uniform keys`.
pub fn about(group: &WorkloadGrid<'_>, more: &[&str]) -> String {
    let measured = mix::mix(group);
    let mix = Some(measured.as_str()).filter(|mix| !mix.is_empty());
    let mix = mix.or(mix::defined(group));
    let parts = mix.into_iter().chain(more.iter().copied());
    let parts = parts.chain([group.conditions.as_str()]);
    let known: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    known.join("; ")
}

fn workload<'a>(
    data: &Data,
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    index: &Index<'_>,
) -> Vec<Block> {
    let use_case: Vec<&str> = group.use_case.as_deref().into_iter().collect();
    let about = about(group, &use_case);
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
        blocks.push(Block::Text(Text::plain(format!(
            "At a fixed rate, {}; compare latencies.",
            rates::reached(group.arrivals)
        ))));
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
    let clocks = group.clocks();
    let is_by_threads = group.axis == Axis::Threads;
    let is_swept = is_by_threads && group.steps.len() > 1;
    let along = if is_by_threads {
        Along::Rate
    } else {
        Along::Offered
    };
    // Published figures may have rates alone.
    let latency = sweep.latency_metric(group).map(Reading::new);
    let (readings, controls) = latency.map_or_else(Default::default, |first| {
        (readings(&kinds, clocks), controls(&kinds, clocks, first))
    });
    let mut charts = Vec::new();
    charts.extend(latency.map(|first| curves(group, sweep, &readings, first, along)));
    charts.extend(
        latency
            .into_iter()
            .flat_map(|first| of_sets(group, sweep, &readings, (first, along))),
    );
    charts.extend(is_swept.then(|| Chart {
        wide: latency.is_none(),
        ..bars_chart(group, sweep)
    }));
    let by_threads = latency.filter(|_| is_swept);
    charts.extend(by_threads.map(|first| curves(group, sweep, &readings, first, Along::Threads)));
    // The report's metric, if it is not a latency.
    let figure = sweep.metric(group);
    let figure = figure
        .filter(|metric| sweep.has_one_unit(*metric))
        .map(Reading::new);
    if let Some(figure) = figure.filter(|figure| !figure.is_latency()) {
        let alongs = [Some(along), is_swept.then_some(Along::Threads)];
        let drawn = alongs.into_iter().flatten();
        let drawn = drawn.map(|axis| curves(group, sweep, &[figure], figure, axis));
        charts.extend(drawn.filter(|chart| !chart.variants[0].is_null()));
    }
    (!charts.is_empty()).then(|| Figure {
        anchor: anchor(&[&group.anchor, "charts"]),
        controls,
        charts,
    })
}

/// Sets of systems that the report names, each with a curve of its own.
pub fn of_sets(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    readings: &[Reading],
    first: (Reading, Along),
) -> Vec<Chart> {
    let sets = sweep.settings.chart_systems.iter();
    let set = |names: &Vec<String>| {
        let only = |name: &str| names.iter().any(|own| own == name);
        let chart = curves_of(group, sweep, readings, first, &only);
        Chart {
            title: format!("{}: {}", chart.title, names.join(", ")),
            ..chart
        }
    };
    sets.map(set).collect()
}

/// Every latency, in the order of the controls.
fn readings(kinds: &[Kind], clocks: &[TimeBasis]) -> Vec<Reading> {
    let of_clock = |kind, clock| {
        STATISTICS.iter().map(move |&statistic| Reading {
            metric: Metric::from_latency(kind, statistic),
            clock,
        })
    };
    let of_kind = |&kind| clocks.iter().flat_map(move |&clock| of_clock(kind, clock));
    kinds.iter().flat_map(of_kind).collect()
}

/// Lines of these values, each in a variant; `first` is shown without a choice.
pub fn curves(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    readings: &[Reading],
    first: Reading,
    along: Along,
) -> Chart {
    curves_of(group, sweep, readings, (first, along), &|_| true)
}

/// The same of some systems.
fn curves_of(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    readings: &[Reading],
    (first, along): (Reading, Along),
    is_drawn: &dyn Fn(&str) -> bool,
) -> Chart {
    let lines = |reading| CurveLines {
        group,
        sweep,
        reading,
        along,
        is_drawn,
    };
    let (title, noun) = if first.is_latency() {
        ("Latency".to_owned(), "latency")
    } else {
        (statement::title(first.metric), first.metric.noun())
    };
    let better = compare::better(first.metric);
    let workload = &group.title;
    let (title, better, about) = match along {
        Along::Rate => (
            format!("{title} against operations per second"),
            format!("{better} and further right is better; labels are thread counts"),
            format!("One line per system of {workload}, one point per thread count."),
        ),
        Along::Threads => (
            format!("{title} by threads"),
            format!("{better} is better"),
            format!("Lines of {noun} of each system in {workload} by thread count."),
        ),
        Along::Offered => (
            format!("{title} against offered rate"),
            format!("{better} is better; ≥ marks values that may be higher"),
            format!("One line per system of {workload}, one point per offered rate."),
        ),
    };
    let has_ceiling = sweep
        .ceilings
        .iter()
        .any(|ceiling| group.has(&ceiling.name));
    let ceiling = if has_ceiling && curve::ceilings_in_sight(group, sweep) {
        "; ceiling: the bare device with the same requests"
    } else {
        ""
    };
    let labels: Vec<String> = group.steps.iter().map(|step| step.label()).collect();
    let is_wide = along != Along::Threads;
    Chart {
        title,
        hint: hint(&better, sweep) + ceiling,
        about,
        height: if is_wide { 400 } else { 300 },
        wide: is_wide,
        base: curve::option(along, first, &labels, sweep.settings.latency_axis),
        variants: readings.iter().map(|&r| lines(r).variant()).collect(),
        plot: is_wide.then(|| lines(first).plot()).flatten(),
    }
}

/// Bars of operations per second by thread count.
fn bars_chart(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Chart {
    let (base, plot) = bars::by_threads(group, sweep);
    Chart {
        title: "Operations per second by threads".into(),
        hint: hint("higher is better", sweep),
        about: format!(
            "Bars of ops/s of each system in {} by thread count.",
            group.title
        ),
        height: 300,
        wide: false,
        base,
        variants: vec![serde_json::json!({})],
        plot: Some(plot),
    }
}

/// What is better, and the meaning of error bars, if there are any.
pub fn hint(better: &str, sweep: &SweepTable<'_>) -> String {
    match measure::error_bars(sweep.repeats()) {
        "" => better.to_owned(),
        bars => format!("{better}; {bars}"),
    }
}

/// In the order in which readings are made: kind, clock, measure.
fn controls(kinds: &[Kind], clocks: &[TimeBasis], first: Reading) -> Vec<Control> {
    let (kind, statistic) = first.metric.latency().unzip();
    vec![
        Control::new(
            "kind",
            "Requests",
            kinds.iter().map(|k| k.name()),
            kinds.iter().position(|known| Some(*known) == kind),
        ),
        Control::new("clock", "Clock", clocks.iter().map(|c| c.name()), None),
        Control::new(
            "measure",
            "Latency",
            STATISTICS.iter().map(|m| m.name),
            STATISTICS
                .iter()
                .position(|known| Some(*known) == statistic),
        ),
    ]
}
