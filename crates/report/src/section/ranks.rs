//! How evenly the processes of each point performed.

use super::Section;
use crate::{Block, Cell, Column, Data, Table, TableRow};
use tailmark_model::{Point, RankPart, number};

pub const SECTION: Section = Section {
    name: "ranks",
    title: "Ranks",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let points = data
        .points
        .iter()
        .filter(|point| point.phase.ranks.len() > 1);
    let rows: Vec<TableRow> = points.filter_map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::text("System"),
        Column::text("Point"),
        Column::number("Ranks"),
        Column::number("Lowest")
            .group("ops/s of a rank")
            .unit("ops/s"),
        Column::number("Highest")
            .group("ops/s of a rank")
            .unit("ops/s"),
        Column::number("Lowest").group("p99 of a rank").unit("us"),
        Column::number("Highest").group("p99 of a rank").unit("us"),
        Column::number("Began late").unit("us"),
        Column::number("Clocks known to").unit("us"),
    ];
    vec![Block::Table(Table {
        caption: "What each rank did".into(),
        columns,
        rows,
        note:
            "Histograms of all ranks are added, second by second; percentiles are never averaged. \
               p99 is the response time of all requests of a rank. Began late is the delay of the \
               latest rank after the agreed start."
                .into(),
    })]
}

fn row(point: &Point) -> Option<TableRow> {
    let (key, ranks) = (&point.key, &point.phase.ranks);
    let rate = |part: &RankPart| {
        let cell = Cell::new(number::rate(part.ops_per_sec())).with_detail(place(part));
        cell.with_value(part.ops_per_sec())
    };
    let p99 = |part: &RankPart| part.quantile(0.99).unwrap_or(0);
    let latency = |ns: u64| Cell::new(number::latency(ns as f64)).with_value(ns as f64 / 1e3);
    let by_rate = |a: &&RankPart, b: &&RankPart| a.ops_per_sec().total_cmp(&b.ops_per_sec());
    let late = |part: &RankPart| latency(p99(part)).with_detail(place(part));
    let name = match key.target_rate {
        None => format!("{}, {}", key.workload, number::threads(key.threads)),
        Some(target) => format!("{}, {}", key.workload, number::ops(target)),
    };
    Some(TableRow {
        cells: vec![
            Cell::new(&key.system),
            Cell::new(name),
            Cell::new(ranks.len().to_string()).with_value(ranks.len() as f64),
            rate(ranks.iter().min_by(by_rate)?),
            rate(ranks.iter().max_by(by_rate)?),
            late(ranks.iter().min_by_key(|part| p99(part))?),
            late(ranks.iter().max_by_key(|part| p99(part))?),
            latency(ranks.iter().map(|part| part.late_ns).max()?),
            latency(ranks.iter().map(|part| part.clock_bound_ns).max()?),
        ],
        total: false,
    })
}

/// The rank and its host.
fn place(part: &RankPart) -> String {
    format!("rank {} on {}", part.rank, part.host)
}
