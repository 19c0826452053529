//! Each point over time.

use super::{Section, worst};
use crate::{
    Block, Cell, Chart, Column, Control, ControlChoice, Data, Figure, Table, TableRow, Text,
    chart::timeline::{self, Panels},
    findings::point_title,
    grid_name::workload_title,
    parallel,
    sweep::SweepTable,
};
use serde_json::Value;
use tailmark_model::{Phase, Point, Warmup, number};

pub const SECTION: Section = Section {
    name: "timelines",
    title: "Timelines",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let phases = data.points.iter().map(|point| &point.phase);
    let panels = Panels::from_phases(phases.chain(data.loads.iter().map(|load| &load.phase)));
    let points = data.points.iter().map(|point| DrawnPhase {
        group: workload_title(&point.key.workload),
        label: point_title(point),
        color: sweep.color(&point.key.system),
        phase: &point.phase,
    });
    let loads = data.loads.iter().map(|load| DrawnPhase {
        group: "Load".into(),
        label: format!("{}, load", load.system),
        color: sweep.color(&load.system),
        phase: &load.phase,
    });
    let all: Vec<DrawnPhase<'_>> = points.chain(loads).collect();
    let variants = parallel::of_each(&all, |drawn| {
        packed(timeline::timeline(drawn.phase, drawn.color, &panels))
    });
    let choices = all.into_iter().map(|drawn| ControlChoice {
        group: drawn.group,
        label: drawn.label,
    });
    let choices = choices.collect();
    if variants.iter().all(Value::is_null) {
        return Vec::new();
    }
    let chart = Chart {
        title: "One point over time".into(),
        hint: "the plots share one time axis".into(),
        about: "Ops/s, tail latency, device bandwidth, device requests, background work of the \
                database and processor use on one clock."
            .into(),
        height: panels.height(),
        wide: true,
        base: timeline::timeline_base(&panels),
        variants,
        plot: None,
    };
    let control = Control {
        key: "point",
        label: "Point".into(),
        initial: initial(data, &sweep),
        choices,
    };
    let figure = Figure {
        anchor: "timeline".into(),
        controls: vec![control],
        charts: vec![chart],
    };
    let mut text = Text::plain(
        "The tail latency of an interval is shown if at least 10 samples lie beyond it. In a closed \
         loop, response time is service time; at a fixed rate, it counts from when a request was \
         due.",
    );
    if data.points.iter().any(|point| point.phase.censored > 0) {
        text = text.and(" Operations that were due and never done are in no interval.");
    }
    let mut blocks = vec![Block::Text(text), Block::Figure(figure)];
    blocks.extend(worst::blocks(&sweep));
    blocks.extend(warmups(data));
    blocks
}

/// A phase that can be chosen.
struct DrawnPhase<'a> {
    group: String,
    label: String,
    color: &'static str,
    phase: &'a Phase,
}

/// As text, which takes a twentieth of the memory, because there is one for each point but only one
/// is drawn.
fn packed(variant: Value) -> Value {
    match variant {
        Value::Null => Value::Null,
        variant => Value::String(variant.to_string()),
    }
}

/// The lengths of warm-ups that a rule ended, and when they became steady; `None` if there were
/// none.
fn warmups(data: &Data) -> Option<Block> {
    let kept = data.points.iter();
    let kept = kept.filter_map(|point| Some((point, point.phase.warmup.as_deref()?)));
    let rows: Vec<TableRow> = kept.map(|(point, warmup)| row(point, warmup)).collect();
    let columns = vec![
        Column::text("Point"),
        Column::number("Warm-up").unit("s"),
        Column::number("Steady after").unit("s"),
        Column::text("Why not steady"),
    ];
    (!rows.is_empty()).then(|| {
        Block::Table(Table {
            columns,
            rows,
            note: "These warm-ups ended when five windows neither swung nor rose or fell. Compared \
                   systems warm up equally long, as long as the slowest needs. Warm-ups are shaded, \
                   before 0."
                .into(),
            ..Table::default()
        })
    })
}

fn row(point: &Point, warmup: &Warmup) -> TableRow {
    let seconds = |s: f64| Cell::new(number::duration(s)).with_value(s);
    TableRow {
        cells: vec![
            Cell::new(point_title(point)),
            seconds(warmup.length_s()),
            warmup.steady_s.map_or_else(Cell::none, seconds),
            warmup.reason.as_deref().map_or_else(Cell::none, Cell::new),
        ],
        total: false,
    }
}

/// The busiest point of the first system in the first workload.
fn initial(data: &Data, sweep: &SweepTable<'_>) -> usize {
    let Some(system) = sweep.systems.first() else {
        return 0;
    };
    let of_system = || {
        data.points
            .iter()
            .enumerate()
            .filter(|(_, p)| p.key.system == system.name)
    };
    let Some((_, first)) = of_system().next() else {
        return 0;
    };
    of_system()
        .filter(|(_, p)| p.key.workload == first.key.workload)
        .max_by_key(|(_, p)| p.key.threads)
        .map_or(0, |(i, _)| i)
}
