//! Changes since an earlier study: each system compared with its former self, at its peaks and in
//! the report's latency.

use super::{
    Section,
    compared_table::{self, RATIO},
};
use crate::{
    Block, Cell, Column, Data, Earlier, Table, TableRow, Text, compare,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::number;
use tailmark_stats::{Comparison, Verdict, statistics::RUNS_MIN};

pub const SECTION: Section = Section {
    name: "against",
    title: "Since the earlier study",
    render,
};

/// Differences of plans that are named.
const NAMED: usize = 4;

/// Why a comparison has no verdict, however many runs there are.
const UNTESTED: &str = "values are bounds, or peaks are over different thread counts.";

fn render(data: &Data) -> Vec<Block> {
    let Some(earlier) = &data.earlier else {
        return Vec::new();
    };
    let Pairs {
        all,
        missing,
        unlike,
    } = of_pairs(earlier);
    let rows: Vec<TableRow> = all.iter().map(|change| change.row.clone()).collect();
    let has_rows = !rows.is_empty();
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
        note: "The change is from before to now. Better and worse are verdicts, adjusted for the \
               comparisons of all systems."
            .to_owned(),
        ..Table::default()
    };
    let mut blocks = vec![Block::Text(summary(earlier, &all))];
    if !missing.is_empty() {
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        blocks.push(Block::Text(Text::strong("Not compared: ").and(format!(
            "{}. In one of the studies the points failed, are missing, or have only bounds.",
            number::list(&missing)
        ))));
    }
    if !unlike.is_empty() {
        let unlike: Vec<&str> = unlike.iter().map(String::as_str).collect();
        let text = Text::strong("Not compared: ");
        blocks.push(Block::Text(text.and(format!("{}.", number::list(&unlike)))));
    }
    blocks.extend(plans(earlier).map(Block::Text));
    blocks.extend(has_rows.then_some(Block::Table(table)));
    blocks
}

/// A row, with the comparison of the system to its former self.
struct Of {
    row: TableRow,
    verdict: Verdict,
}

/// The comparisons of all pairs.
struct Pairs {
    all: Vec<Of>,
    /// The systems with the workloads of which there is none.
    missing: Vec<String>,
    /// The same of which amounts of money cannot be compared, and why.
    unlike: Vec<String>,
}

fn of_pairs(earlier: &Earlier) -> Pairs {
    let mut sweep = SweepTable::new(&earlier.both);
    sweep.comparisons = &earlier.comparisons;
    let groups = std::mem::take(&mut sweep.groups);
    let groups: Vec<_> = groups
        .into_iter()
        .chain(std::mem::take(&mut sweep.rate_groups))
        .collect();
    let systems = std::mem::take(&mut sweep.systems);
    let (mut all, mut missing, mut unlike) = (Vec::new(), Vec::new(), Vec::new());
    for (now, before) in &earlier.pairs {
        let pair = systems
            .iter()
            .filter(|system| [now, before].contains(&&system.name));
        sweep.systems = pair.copied().collect();
        for group in &groups {
            let own = rows(group, &sweep, (now, before));
            let place = format!("{now} in {}", group.title_with_conditions());
            let money = sweep.metric(group).and_then(|metric| {
                let why = sweep.unlike_money(metric, (now, before))?;
                Some(format!("{} of {place} ({why})", metric.noun()))
            });
            let is_missing = own.is_empty() && (group.has(now) || group.has(before));
            match money {
                Some(money) => unlike.push(money),
                None if is_missing => missing.push(place),
                None => {}
            }
            all.extend(own);
        }
    }
    Pairs {
        all,
        missing,
        unlike,
    }
}

fn rows(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>, pair: (&str, &str)) -> Vec<Of> {
    let peak = sweep.comparisons.at_peak(group, pair).map(|comparison| {
        let value = |name: &str| {
            let peak = group.peak(name);
            peak.map_or_else(Cell::none, |peak| {
                Cell::new(format!("{} ops/s", peak.text()))
                    .with_detail(peak.ops.range(number::bounded_rate))
                    .with_bounded(peak.bounded())
            })
        };
        if compare::is_over_common(&comparison) {
            let [now, before] = comparison.centers.map(|center| {
                Cell::new(format!("{} ops/s", number::bounded_rate(center))).with_bounded(center)
            });
            let what = format!("peak {}", compare::OVER_COMMON);
            return row(group, &what, [before, now], &comparison, sweep);
        }
        row(
            group,
            "peak",
            [value(pair.1), value(pair.0)],
            &comparison,
            sweep,
        )
    });
    let latency = sweep.metric(group).and_then(|metric| {
        let step = compare::last_common(group, sweep, metric)?;
        let comparison = sweep.comparisons.at(group, step, metric, pair)?;
        let value = |name: &str| {
            let cell = group.cell(name, step).and_then(|cell| cell.value(metric));
            cell.map_or_else(Cell::none, |value| {
                let text = if metric.is_money() {
                    metric.text_with_unit(value.middle, sweep.currency(name))
                } else {
                    metric.text(value.middle)
                };
                Cell::new(text).with_bounded(value.middle)
            })
        };
        let what = format!("{}, {}", metric.noun(), step.place());
        Some(row(
            group,
            &what,
            [value(pair.1), value(pair.0)],
            &comparison,
            sweep,
        ))
    });
    peak.into_iter().chain(latency).collect()
}

fn row(
    group: &WorkloadGrid<'_>,
    what: &str,
    [before, now]: [Cell; 2],
    comparison: &Comparison,
    sweep: &SweepTable<'_>,
) -> Of {
    let change = compared_table::improvement(comparison, sweep.comparisons);
    Of {
        row: TableRow {
            cells: vec![
                Cell::new(&comparison.a),
                Cell::new(group.title_with_conditions()),
                Cell::new(what),
                before,
                now,
                Cell {
                    strong: matches!(comparison.verdict, Verdict::Better | Verdict::Worse),
                    ..change
                },
            ],
            total: false,
        },
        verdict: comparison.verdict,
    }
}

fn summary(earlier: &Earlier, all: &[Of]) -> Text {
    let count = |verdict| all.iter().filter(|c| c.verdict == verdict).count();
    let comparisons = |n: usize| number::plural(n as u64, "comparison");
    let text = Text::plain(format!("Compared with {}: ", earlier.name));
    let (few, untested) = (count(Verdict::TooFewRuns), count(Verdict::NotTestable));
    let judged = all.len() - few - untested;
    let few_runs = format!("a verdict needs {RUNS_MIN} runs of each study.");
    let text = match (count(Verdict::Better), count(Verdict::Worse)) {
        _ if all.is_empty() => {
            return text
                .and_strong("nothing could be compared")
                .and(": the studies have no valid point in common.");
        }
        _ if judged == 0 && few > 0 => text
            .and_strong("there are too few runs for a verdict")
            .and(format!(" in {}: {few_runs}", comparisons(few))),
        _ if judged == 0 => text.and_strong("no verdict is possible"),
        (0, 0) => text
            .and_strong("no change is shown")
            .and(format!(" in {}.", comparisons(judged))),
        (better, worse) => text
            .and(format!("of {} ", comparisons(judged)))
            .and_strong(format!(
                "{better} {} better and {worse} worse",
                if better == 1 { "is" } else { "are" }
            ))
            .and(
                match (judged - better - worse, count(Verdict::Equivalent)) {
                    (0, _) => ".".to_owned(),
                    (others, alike) if others == alike => "; the others are equivalent.".to_owned(),
                    (_, 0) => "; the others show no significant difference.".to_owned(),
                    (_, alike) => {
                        let are = if alike == 1 { "is" } else { "are" };
                        format!(
                            "; {alike} {are} equivalent, the others show no significant difference."
                        )
                    }
                },
            ),
    };
    let text = match (judged, few) {
        (0, _) | (_, 0) => text,
        _ => text.and(format!(
            " There are too few runs for a verdict in {}: {few_runs}",
            comparisons(few)
        )),
    };
    match (judged + few, untested) {
        (_, 0) => text,
        (0, n) => text.and(format!(" in {}: {UNTESTED}", comparisons(n))),
        (_, n) => text.and(format!(
            " No verdict is possible in {}: {UNTESTED}",
            comparisons(n)
        )),
    }
}

/// The differences between the plans.
fn plans(earlier: &Earlier) -> Option<Text> {
    let named = earlier.changed.len().min(NAMED);
    let more = match earlier.changed.len() - named {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let text = Text::strong("The plans differ: ")
        .and(earlier.changed[..named].join(", "))
        .and(format!("{more}. This may explain changes."));
    (!earlier.changed.is_empty()).then_some(text)
}
