//! The worst seconds of each system's peak in each workload, and what was unusual in them. Part of
//! the section on timelines.

use crate::{Block, Cell, Column, Table, TableRow, Text, findings::point_title, sweep::SweepTable};
use tailmark_model::{Kind, Point, Statistic, number};
use tailmark_stats::{Unusual, Watched, WorstSecond, worst_seconds};

/// Empty if there are no intervals with latencies.
pub fn blocks(sweep: &SweepTable<'_>) -> Vec<Block> {
    let mut rows = Vec::new();
    for (runs, (kind, wanted)) in peaks(sweep) {
        let worst = |point: &&'_ Point| {
            let (statistic, seconds) = worst_seconds(&point.phase, kind, wanted)?;
            Some((point_title(point), point.key.repeat, statistic, seconds))
        };
        let of_runs = runs.iter().filter_map(worst);
        let highest = |seconds: &[WorstSecond]| seconds.first().map_or(0.0, |s| s.latency.value);
        let order = |(.., a): &(_, _, _, Vec<_>), (.., b): &(_, _, _, Vec<_>)| {
            highest(b).total_cmp(&highest(a))
        };
        let Some((mut point, repeat, statistic, seconds)) = of_runs.min_by(order) else {
            continue;
        };
        if runs.len() > 1 {
            point.push_str(&format!(", run {repeat}"));
        }
        let metric = format!("{} {}", statistic.name, kind.name());
        let of_point = seconds.iter().enumerate();
        rows.extend(of_point.map(|(at, second)| row(&point, &metric, at, second)));
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::text("Point"),
        Column::number("From").unit("s"),
        Column::text("Latency"),
        Column::number("Value").unit("ns"),
        Column::text("Unusual in that second"),
    ];
    let about = "The seconds of the worst latency at the peak of each system, or at the most threads at a \
                 fixed rate (in its worst run), and what was unusual then: five standard deviations from its median, estimated from the \
                 median of the deviations, and a factor of 1.5. What happens at the same time is not \
                 necessarily the cause.";
    let table = Table {
        caption: "The worst seconds".into(),
        columns,
        rows,
        note: "In parentheses: the median over the measured part.".into(),
    };
    vec![Block::Text(Text::plain(about)), Block::Table(table)]
}

/// The runs of each peak, with the latency that the report is about.
fn peaks<'g, 'a>(
    sweep: &'g SweepTable<'a>,
) -> impl Iterator<Item = (Vec<&'a Point>, (Kind, Statistic))> + 'g {
    let groups = sweep.groups.iter();
    groups.flat_map(move |group| {
        let systems = sweep.systems.iter();
        systems.filter_map(move |system| {
            let threads = if group.has_peaks() {
                group.peak(&system.name)?.threads
            } else {
                group.steps.last()?.threads
            };
            let mut cells = group.cells_of(&system.name);
            let cell = cells.find(|cell| cell.step.threads == threads)?;
            Some((cell.points.clone(), sweep.latency(group)?))
        })
    })
}

fn row(point: &str, metric: &str, at: usize, second: &WorstSecond) -> TableRow {
    let first = |text: String| match at {
        0 => Cell::new(text),
        _ => Cell::new(String::new()),
    };
    // What reads the same is not worth a word.
    let is_told = |one: &&Unusual| text(one.value, one.what) != text(one.usual, one.what);
    let unusual: Vec<String> = second.unusual.iter().filter(is_told).map(said).collect();
    let unusual = if unusual.is_empty() {
        Cell::none()
    } else {
        Cell::new(unusual.join("; "))
    };
    let latency = Cell::new(number::bounded_latency(second.latency));
    TableRow {
        cells: vec![
            first(point.to_owned()),
            Cell::new(number::rate(second.start_s)).with_value(second.start_s),
            first(metric.to_owned()),
            latency.with_value(second.latency.value),
            unusual,
        ],
        total: false,
    }
}

/// `written to the device: 412 MB/s (31.0 MB/s), nvme0n1`.
fn said(unusual: &Unusual) -> String {
    let text = |value| text(value, unusual.what);
    let subject = match unusual.subject.as_str() {
        "machine" | "process" => String::new(),
        subject => format!(", {subject}"),
    };
    format!(
        "{}: {} ({}){subject}",
        unusual.what.name,
        text(unusual.value),
        text(unusual.usual)
    )
}

fn text(value: f64, what: &Watched) -> String {
    match what.unit {
        "s" => number::latency(value * 1e9),
        "bytes" => number::bytes(value),
        "bytes/s" => format!("{}/s", number::bytes(value)),
        "1/s" => format!("{}/s", number::rate(value)),
        "s/s" => format!("{:.0} % of the time", 100.0 * value),
        unit => format!("{value:.1} {unit}").trim_end().to_owned(),
    }
}
