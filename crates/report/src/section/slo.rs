//! The highest rate that holds the plan's limits: the result for each system and workload, and
//! every trial.

use super::Section;
use crate::{
    Block, Cell, Chart, Column, Data, Figure, Table, TableRow, Text, chart::trials, data::Search,
    grid_name::workload_title, style, sweep::SweepTable,
};
use tailmark_model::{Arrivals, Bounded, Limit, number};
use tailmark_stats::slo::{Slo, Status, Trial, TrialResult, words::percent};

pub const SECTION: Section = Section {
    name: "slo",
    title: "The highest rate that holds",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    if data.searches.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Text(about(data)), Block::Table(answers(data))];
    for (index, searches) in by_workload(data).into_iter().enumerate() {
        blocks.push(Block::Figure(Figure {
            anchor: format!("slo-{}", index + 1),
            controls: Vec::new(),
            charts: charts(data, &searches),
        }));
        blocks.push(Block::Table(trials_of(&searches)));
    }
    blocks
}

fn about(data: &Data) -> Text {
    let text = "A trial offers a rate and counts, block by block, the share of requests that took longer \
                than the limit, failed or were never done. It holds if the 95 % interval of that \
                share lies below the allowed share, and does not hold if it lies above. Each end of \
                an answer was measured twice. Latency is response time, from when a request was due.";
    let text = Text::plain(text);
    if data.searches.iter().any(|search| search.settings.quick) {
        text.and(" ").and_strong(
            "These were quick searches, with short blocks and a coarse resolution, so a compaction or \
             two can decide them.",
        )
    } else {
        text
    }
}

/// The searches of each workload, with the same limits, in the order of the study.
fn by_workload(data: &Data) -> Vec<Vec<&Search>> {
    let mut groups: Vec<Vec<&Search>> = Vec::new();
    for search in &data.searches {
        let is_like = |group: &&mut Vec<&Search>| {
            let first = group[0];
            first.slo.workload == search.slo.workload
                && first.slo.distribution == search.slo.distribution
                && first.settings.latency == search.settings.latency
        };
        match groups.iter_mut().find(is_like) {
            Some(group) => group.push(search),
            None => groups.push(vec![search]),
        }
    }
    groups
}

/// The workload, with its distribution.
fn titled(slo: &Slo) -> String {
    format!(
        "{}, {} keys",
        workload_title(&slo.workload),
        slo.distribution
    )
}

fn answers(data: &Data) -> Table {
    let columns = vec![
        Column::text("Workload"),
        Column::text("System"),
        Column::text("Limits"),
        Column::number("Highest rate that holds").unit("ops/s"),
        Column::number("Lowest that does not").unit("ops/s"),
        Column::text("Result"),
        Column::number("Trials"),
    ];
    Table {
        caption: "The highest rate that holds the limits".into(),
        columns,
        rows: data.searches.iter().map(answer_row).collect(),
        note: "Both ends are measured rates, rounded outward. – is an end that was not confirmed."
            .into(),
    }
}

fn answer_row(search: &Search) -> TableRow {
    let (slo, settings, answer) = (&search.slo, &search.settings, search.answer());
    let rate = |rate: Option<f64>, bound: fn(f64) -> Bounded| match rate {
        Some(rate) => Cell::new(number::bound_rate(bound(rate))).with_value(rate),
        None => Cell::none(),
    };
    let evidence = slo.trials.iter().rev().find_map(|t| t.evidence.as_ref());
    let evidence = evidence.filter(|_| answer.status == Status::ClientLimit);
    let remark = match slo.background_text() {
        Some(missed) => format!("{}; {missed}", answer.remark()),
        None => answer.remark().to_owned(),
    };
    let found = Cell::new(remark);
    let found = match (evidence, settings.quick) {
        (Some(evidence), _) => found.with_detail(evidence.clone()),
        (None, true) => found.with_detail(settings.quick_remark()),
        (None, false) => found,
    };
    let quick = |cell: Cell| {
        if settings.quick && cell.value.is_some() {
            cell.with_detail(settings.quick_remark())
        } else {
            cell
        }
    };
    let trials = slo.trials.len();
    TableRow {
        cells: vec![
            Cell::new(titled(slo)),
            Cell::new(slo.system.clone()),
            Cell::new(settings.target()),
            quick(rate(answer.low, Bounded::at_least)),
            quick(rate(answer.high, Bounded::at_most)),
            found,
            Cell::new(trials.to_string()).with_value(trials as f64),
        ],
        total: false,
    }
}

/// One for each limit.
fn charts(data: &Data, group: &[&Search]) -> Vec<Chart> {
    let sweep = SweepTable::new(data);
    let look = |name: &str| sweep.look(name).unwrap_or(style::look(0));
    let limits = &group[0].settings.latency;
    let title = titled(&group[0].slo);
    let chart = |limit: &Limit| {
        let searches = group.iter();
        let lines = searches.map(|search| (look(&search.slo.system), &search.slo));
        let lines: Vec<_> = lines.collect();
        Some(Chart {
            title: format!("{title}: {limit}"),
            hint: "filled: holds, hollow: undecided, red: does not hold".into(),
            about: format!(
                "Each trial of {title} at its rate, with its measured latency; the line is the \
                 limit, {limit}."
            ),
            height: 360,
            wide: true,
            base: trials::base(*limit),
            variants: vec![trials::marks(*limit, &lines)?],
            plot: None,
        })
    };
    limits.iter().filter_map(chart).collect()
}

/// The explanation of the last two columns of a table of trials.
const VERDICTS: &str = "Verdict judges the limit in the row. Trial judges all limits together, \
                        and whether the client kept up and the database was steady.";

/// Every trial in the order in which they were made.
fn trials_of(group: &[&Search]) -> Table {
    let title = titled(&group[0].slo);
    let columns = vec![
        Column::text("System"),
        Column::number("Rate").unit("ops/s"),
        Column::text("Limit"),
        Column::number("Measured").unit("us"),
        Column::number("Over, %").unit("%"),
        Column::number("from").unit("%").group("95 % interval, %"),
        Column::number("to").unit("%").group("95 % interval, %"),
        Column::number("Allowed, %").unit("%"),
        Column::number("Requests"),
        Column::number("Blocks"),
        Column::text("Verdict"),
        Column::text("Trial"),
    ];
    let rows = group.iter().flat_map(|search| {
        let trials = search.slo.trials.iter();
        trials.flat_map(|trial| {
            let results = trial.limits.iter();
            results.map(|result| trial_row(&search.slo.system, trial, result))
        })
    });
    let arrivals = group[0].settings.arrivals;
    Table {
        caption: if group.iter().any(|search| search.settings.quick) {
            format!("Trials of {title}, quick search")
        } else {
            format!("Trials of {title}")
        },
        columns,
        rows: rows.collect(),
        note: match arrivals {
            Arrivals::Poisson => format!("Operations arrive as a Poisson process. {VERDICTS}"),
            Arrivals::Even => format!("Operations arrive evenly spaced. {VERDICTS}"),
        },
    }
}

fn trial_row(system: &str, trial: &Trial, result: &TrialResult) -> TableRow {
    let share = |share: Option<f64>| match share {
        Some(share) => Cell::new(percent(share)).with_value(share * 100.0),
        None => Cell::none(),
    };
    let count = |count: Option<u64>| match count {
        Some(n) => Cell::new(number::count(n)).with_value(n as f64),
        None => Cell::none(),
    };
    let over = result.over;
    let measured = match result.value {
        Some(value) => Cell::new(number::bounded_latency(value)).with_bounded(Bounded {
            value: value.value / 1e3,
            ..value
        }),
        None => Cell::none(),
    };
    let mut of_trial = Cell::new(trial.verdict.name());
    of_trial.hint = trial.evidence.clone().unwrap_or_default();
    TableRow {
        cells: vec![
            Cell::new(system),
            Cell::new(number::rate(trial.rate())).with_value(trial.rate()),
            Cell::new(result.limit.to_string()),
            measured,
            share(over.map(|over| over.share)),
            share(over.map(|over| over.low)),
            share(over.map(|over| over.high)),
            share(Some(result.limit.allowed())),
            count(over.map(|over| over.requests)),
            count(over.map(|over| over.blocks as u64)),
            Cell::new(result.verdict.name()),
            of_trial,
        ],
        total: false,
    }
}
