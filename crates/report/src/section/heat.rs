//! All comparisons of a pair at a glance: a tile for each thread count of each workload.

use super::Section;
use crate::{
    Block, Chart, Control, Data, Figure,
    axis::Step,
    chart::heat::{self, Tile},
    compare::{self, Outcome},
    sweep::{SweepTable, WorkloadGrid},
};
use std::collections::BTreeSet;
use tailmark_model::Metric;

pub const SECTION: Section = Section {
    name: "heat",
    title: "At a glance",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    figure(&SweepTable::new(data))
        .map(Block::Figure)
        .into_iter()
        .collect()
}

/// `None` of a single system, workload or thread count.
fn figure(sweep: &SweepTable<'_>) -> Option<Figure> {
    let groups: Vec<&WorkloadGrid<'_>> = sweep.groups.iter().collect();
    let steps: BTreeSet<u32> = groups
        .iter()
        .flat_map(|group| &group.steps)
        .map(|step| step.threads)
        .collect();
    let names: Vec<&str> = sweep
        .systems
        .iter()
        .map(|system| system.name.as_str())
        .collect();
    let pairs = compare::pairs_of(&names, sweep);
    if pairs.is_empty() || groups.len() < 2 || steps.len() < 2 {
        return None;
    }
    let steps: Vec<u32> = steps.into_iter().collect();
    let labels: Vec<String> = steps.iter().map(u32::to_string).collect();
    let rows: Vec<String> = groups
        .iter()
        .map(|group| group.title_with_conditions())
        .collect();
    let variants = pairs
        .iter()
        .flat_map(|pair| [(*pair, false), (*pair, true)]);
    let variants = variants.map(|(pair, is_latency)| {
        let mut tiles = Vec::new();
        for (row, group) in groups.iter().enumerate() {
            let of_row = steps.iter().enumerate().filter_map(|(column, threads)| {
                let metric = if is_latency {
                    sweep.latency_metric(group)?
                } else {
                    Metric::OPS_PER_SEC
                };
                tile(group, sweep, metric, pair, *threads).map(|tile| Tile {
                    column,
                    row,
                    ..tile
                })
            });
            tiles.extend(of_row);
        }
        heat::variant(&format!("{} against {}", pair.0, pair.1), &tiles)
    });
    let of_pair = pairs.iter().map(|(a, b)| format!("{a} against {b}"));
    let title = match &pairs[..] {
        [(a, b)] => format!("{a} relative to {b}"),
        _ => "Relative performance".to_owned(),
    };
    Some(Figure {
        anchor: "heat".to_owned(),
        controls: vec![
            Control::new("pair", "Systems", of_pair, None),
            Control::new("heat", "Of", ["ops/s", "latency"], None),
        ],
        charts: vec![Chart {
            title,
            hint:
                "times as good; blue: the first is better; orange: the second; white: no significant difference"
                    .to_owned(),
            about: "A tile for each thread count of each workload.".to_owned(),
            height: 60 + 40 * rows.len() as u32,
            wide: true,
            base: heat::option(&labels, &rows),
            variants: variants.collect(),
            plot: None,
        }],
    })
}

fn tile(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    metric: Metric,
    pair: (&str, &str),
    threads: u32,
) -> Option<Tile> {
    let step = Step {
        rate: None,
        threads,
    };
    let comparison = sweep.comparisons.at(group, step, metric, pair)?;
    let ratio = comparison.ratio.value;
    let times = if metric == Metric::OPS_PER_SEC {
        ratio
    } else {
        1.0 / ratio
    };
    let differs = Outcome::new(&comparison, sweep.comparisons.band) == Outcome::Differ;
    // A bound on the other side says nothing of how much better.
    let is_bound = !comparison.ratio.is_exact();
    (times.is_finite() && times > 0.0).then_some(Tile {
        column: 0,
        row: 0,
        times,
        is_bound,
        differs,
    })
}
