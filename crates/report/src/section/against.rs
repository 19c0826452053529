//! What has changed since an earlier study: each system compared with what it was, at its peaks and in the
//! latency that the report is about.

use super::{
    Section,
    compared_table::{self, RATIO},
};
use crate::{
    Block, Cell, Column, Data, Earlier, Table, TableRow, Text,
    compare::{self, Outcome},
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_results::{Comparison, Metric, number};

pub const SECTION: Section = Section {
    name: "against",
    title: "Since the earlier study",
    about: "each system against itself in an earlier study, where one is given",
    render,
};

/// Differences of plans that are named.
const NAMED: usize = 4;

fn render(data: &Data) -> Vec<Block> {
    let Some(earlier) = &data.earlier else {
        return Vec::new();
    };
    let all: Vec<Of> = earlier.pairs.iter().flat_map(of_pair).collect();
    let rows = all.iter().map(|of| of.row.clone()).collect();
    let table = Table {
        columns: vec![
            Column::text("System"),
            Column::text("Workload"),
            Column::text("Of"),
            Column::number("before"),
            Column::number("now"),
            Column::number("change").unit(RATIO),
        ],
        rows,
        note: "The change is that of now over before. Better and worse are verdicts, adjusted for all \
               comparisons of a system."
            .to_owned(),
        ..Table::default()
    };
    let mut blocks = vec![Block::Text(summary(earlier, &all))];
    blocks.extend(plans(earlier).map(Block::Text));
    blocks.push(Block::Table(table));
    blocks
}

/// A row, and whether it is better (`Some(true)`) or worse.
struct Of {
    row: TableRow,
    outcome: Option<bool>,
}

fn of_pair(pair: &Data) -> Vec<Of> {
    let sweep = SweepTable::new(pair);
    let [now, before] = [0, 1].map(|i| pair.systems[i].name.as_str());
    let groups = sweep.all_groups();
    groups
        .flat_map(|group| rows(group, &sweep, (now, before)))
        .collect()
}

fn rows(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>, pair: (&str, &str)) -> Vec<Of> {
    let peak = sweep.comparisons.at_peak(group, pair).map(|comparison| {
        let value = |name: &str| {
            let peak = group.peak(name);
            peak.map_or_else(Cell::none, |peak| {
                Cell::new(format!("{} ops/s", peak.text()))
                    .with_detail(peak.ops.range(number::rate))
                    .with_stated(peak.stated())
            })
        };
        row(
            group,
            "peak",
            [value(pair.1), value(pair.0)],
            &comparison,
            sweep,
        )
    });
    let latency = sweep.latency_metric(group).and_then(|metric| {
        let step = compare::last_common(group, sweep, metric)?;
        let comparison = sweep.comparisons.at(group, step, metric, pair)?;
        let value = |name: &str| {
            let cell = group.cell(name, step).and_then(|cell| cell.value(metric));
            cell.map_or_else(Cell::none, |value| {
                Cell::new(value.middle.text(number::latency)).with_stated(value.middle)
            })
        };
        let of = format!("{metric}, {}", step.place());
        Some(row(
            group,
            &of,
            [value(pair.1), value(pair.0)],
            &comparison,
            sweep,
        ))
    });
    peak.into_iter().chain(latency).collect()
}

fn row(
    group: &WorkloadGrid<'_>,
    of: &str,
    [before, now]: [Cell; 2],
    comparison: &Comparison,
    sweep: &SweepTable<'_>,
) -> Of {
    let differs = Outcome::of(comparison, sweep.comparisons.band) == Outcome::Differ;
    let is_better = match comparison.metric {
        Metric::OpsPerSec => comparison.ratio.value > 1.0,
        Metric::Latency { .. } => comparison.ratio.value < 1.0,
    };
    let outcome = differs.then_some(is_better);
    let change = compared_table::improvement(comparison, sweep.comparisons);
    Of {
        row: TableRow {
            cells: vec![
                Cell::new(&comparison.a),
                Cell::new(group.title_with_conditions()),
                Cell::new(of),
                before,
                now,
                Cell {
                    strong: outcome.is_some(),
                    ..change
                },
            ],
            total: false,
        },
        outcome: outcome.filter(|_| compare::has_verdict(comparison)),
    }
}

fn summary(earlier: &Earlier, all: &[Of]) -> Text {
    let count = |outcome| all.iter().filter(|of| of.outcome == outcome).count();
    let text = Text::plain(format!("Compared with {}: ", earlier.name));
    let of = number::plural(all.len() as u64, "comparison");
    match (count(Some(true)), count(Some(false))) {
        (0, 0) => text
            .and_strong("no change is shown")
            .and(format!(" in {of}.")),
        (better, worse) => text
            .and(format!("of {of} "))
            .and_strong(format!("{better} are better and {worse} worse"))
            .and("; for the others no difference is shown."),
    }
}

/// What the plans differ in.
fn plans(earlier: &Earlier) -> Option<Text> {
    let named = earlier.changed.len().min(NAMED);
    let more = match earlier.changed.len() - named {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let text = Text::strong("The plans differ: ")
        .and(earlier.changed[..named].join(", "))
        .and(format!("{more}. That may be why numbers do."));
    (!earlier.changed.is_empty()).then_some(text)
}
