//! The brief: a short report for sending. Its first page has the headline, the cards and the main
//! chart. Then follow one curve, one table and a few sentences for each workload, and how it was
//! tested.

mod conditions;
mod settings;

use crate::{
    Block, Cell, Chart, Column, Data, Figure, Section, Table, TableRow, Text, author,
    axis::{Axis, Step},
    block::{FindingEntry, anchor},
    chart::curve::{Along, Reading},
    compare,
    findings::Index,
    section::{self, Rendered, curves},
    statement,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Metric, System, Words, finding::TOO_FEW_SAMPLES, number};

const FRONT: Section = Section::of_page("summary", "In brief");
const WORKLOADS: Section = Section::of_page("workloads", "Workloads");
const METHOD: Section = Section::of_page("method", "How we tested");
const CONCLUSION: Section = Section::of_page("conclusion", "Conclusion");

/// The most sentences of each of several workloads, and of a single one.
const SENTENCES: [usize; 2] = [5, 7];

/// The most lines of a conclusion on the first page; a longer one is at the end.
const CONCLUSION_LINES: usize = 6;
/// Lines besides the headline for which the first page has room beside charts of full height.
const SPARE_LINES: usize = 4;

/// The sections of the brief.
#[must_use]
pub fn sections(data: &Data) -> Rendered {
    let sweep = SweepTable::new(data);
    let index = Index::new(data);
    let conclusion = author::words(data, Words::Conclusion);
    let (first, last) = if lines(&conclusion) <= CONCLUSION_LINES {
        (conclusion, Vec::new())
    } else {
        (Vec::new(), conclusion)
    };
    let all = [
        (&FRONT, front(data, &sweep, first)),
        (&WORKLOADS, workloads(&sweep)),
        (&CONCLUSION, last),
        (&METHOD, method(data, &sweep, &index)),
    ];
    let said = all.into_iter().filter(|(_, blocks)| !blocks.is_empty());
    said.collect()
}

fn front(data: &Data, sweep: &SweepTable<'_>, conclusion: Vec<Block>) -> Vec<Block> {
    let mut blocks = section::front(data);
    let more = lines(blocks.get(1..).unwrap_or_default());
    let heading = usize::from(!conclusion.is_empty()) * 2;
    let more = (more + lines(&conclusion) + heading).saturating_sub(SPARE_LINES);
    let message = message(sweep).map(|chart| shrink(chart, more));
    blocks.extend(message.map(|chart| figure("brief-message", chart)));
    // Of a single workload they stand in bold in its table.
    let with_peaks = sweep.groups.iter().filter(|group| group.has_peaks());
    if with_peaks.count() > 1 {
        blocks.push(Block::Table(section::peaks_table(sweep)));
    }
    if !conclusion.is_empty() {
        blocks.push(Block::Heading {
            anchor: "brief-conclusion".to_owned(),
            title: CONCLUSION.title.to_owned(),
            about: String::new(),
        });
        blocks.extend(conclusion);
    }
    blocks
}

/// About how many lines these texts take at the width of a page.
fn lines(blocks: &[Block]) -> usize {
    const LINE_CHARS: usize = 100;
    let of_text = |text: &Text| text.to_plain().chars().count().div_ceil(LINE_CHARS);
    let of_block = |block: &Block| match block {
        Block::Text(text) => of_text(text),
        Block::Statements(items) => items.iter().map(of_text).sum(),
        Block::Heading { .. } => 2,
        _ => 0,
    };
    blocks.iter().map(of_block).sum()
}

/// Takes the height of this many lines of text off the chart, and leaves it readable.
fn shrink(chart: Chart, lines: usize) -> Chart {
    const LINE: u32 = 18;
    const LEAST: u32 = 210;
    let lines = u32::try_from(lines).unwrap_or(u32::MAX);
    let height = chart.height.saturating_sub(lines.saturating_mul(LINE));
    Chart {
        height: height.max(LEAST),
        ..chart
    }
}

/// The chart that carries the message: the peaks of several workloads, the curve of a single one.
fn message(sweep: &SweepTable<'_>) -> Option<Chart> {
    let mut groups = sweep.all_groups();
    match (groups.next(), groups.next()) {
        (Some(only), None) => curve(only, sweep).map(|chart| Chart {
            wide: true,
            height: 420,
            ..chart
        }),
        _ => section::peaks_chart(sweep).map(|chart| Chart {
            height: 320,
            ..chart
        }),
    }
}

fn figure(name: &str, chart: Chart) -> Block {
    Block::Figure(Figure {
        anchor: name.to_owned(),
        controls: Vec::new(),
        charts: vec![chart],
    })
}

/// The curve of the latency that the report is about; if none is known, operations per second by
/// threads.
fn curve(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Chart> {
    let along = match group.axis {
        Axis::Threads => Along::Rate,
        Axis::Rates => Along::Offered,
    };
    let latency = sweep.latency_metric(group).map(|metric| (metric, along));
    let ops = (group.axis == Axis::Threads).then_some((Metric::OPS_PER_SEC, Along::Threads));
    let drawn = latency.into_iter().chain(ops).map(|(metric, axis)| {
        let reading = Reading::new(metric);
        curves(group, sweep, &[reading], reading, axis)
    });
    let mut drawn = drawn.filter(|chart| !chart.variants[0].is_null());
    drawn.next()
}

/// A chart beside sentences. Where the table below is short, it is as high as they are.
fn beside(mut chart: Chart, group: &WorkloadGrid<'_>) -> Chart {
    const SCALE: &str = " (log scale)";
    const LEAST: u32 = 205;
    const OF_A_ROW: u32 = 15;
    const ROWS: u32 = 10;
    let rows = u32::try_from(group.steps.len()).unwrap_or(ROWS);
    // The room is too narrow for the scale in the name of the axis.
    for variant in &mut chart.variants {
        if let Some(name) = variant["yAxis"]["name"].as_str()
            && let Some(name) = name.strip_suffix(SCALE)
        {
            variant["yAxis"]["name"] = name.into();
            chart.hint = chart.hint.replace("lower and", "log scale; lower and");
        }
    }
    Chart {
        wide: false,
        height: LEAST + OF_A_ROW * ROWS.saturating_sub(rows.max(5)),
        ..chart
    }
}

fn workloads(sweep: &SweepTable<'_>) -> Vec<Block> {
    let is_single = sweep.all_groups().count() == 1;
    let all = sweep.all_groups().flat_map(|group| {
        let mut blocks = vec![Block::Heading {
            anchor: anchor(&["brief", &group.anchor]),
            title: match &group.use_case {
                Some(use_case) => format!("{}: {use_case}", group.title_with_conditions()),
                None => group.title_with_conditions(),
            },
            // Of several workloads it stands in the conditions.
            about: if is_single {
                section::about(group, &[])
            } else {
                String::new()
            },
        }];
        let mut sentences = statement::in_brief(group, sweep);
        sentences.truncate(SENTENCES[usize::from(is_single)]);
        // The curve of a single workload is on the first page.
        match curve(group, sweep).filter(|_| !is_single) {
            Some(chart) => blocks.push(Block::Beside(
                Figure {
                    anchor: anchor(&["brief-curve", &group.anchor]),
                    controls: Vec::new(),
                    charts: vec![beside(chart, group)],
                },
                sentences,
            )),
            None => blocks.push(Block::Statements(sentences)),
        }
        blocks.extend(table(group, sweep).map(Block::Table));
        blocks
    });
    all.collect()
}

/// Operations per second and the latency of each system at each thread count or rate; peaks in bold.
fn table<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> Option<Table> {
    let systems = sweep
        .systems
        .iter()
        .filter(|system| group.has(&system.name));
    let systems: Vec<&System> = systems.copied().collect();
    let mut metrics = Vec::new();
    if group.axis == Axis::Threads {
        metrics.push(Metric::OPS_PER_SEC);
    }
    metrics.extend(sweep.metric(group));
    let pairs = compare::main_pairs(group, sweep);
    // Of two systems there is room for how they compare.
    let pair = pairs.first().filter(|_| systems.len() == 2);
    let mut columns = vec![Column::number(group.axis.title())];
    for metric in &metrics {
        let column = |title: &str| {
            let column = Column::number(title).unit(metric.row().unit);
            column.group(metric.row().title)
        };
        columns.extend(systems.iter().map(|system| column(&system.name)));
        columns.extend(pair.map(|_| column("difference")));
    }
    // One form for a column.
    let form = |metric| {
        let pair = *pair?;
        let steps = group.steps.iter();
        let at = |step: &Step| sweep.comparisons.at(group, *step, metric, pair);
        let all: Vec<_> = steps.filter_map(at).collect();
        sweep.comparisons.form(&all.iter().collect::<Vec<_>>())
    };
    let row = |&step: &Step| {
        let mut cells = vec![Cell::new(step.label())];
        for &metric in &metrics {
            for system in &systems {
                let peak = group.peak(&system.name).map(|peak| peak.threads);
                let point = group.cell(&system.name, step);
                let known = point.and_then(|cell| Some((cell, cell.value(metric)?)));
                cells.push(known.map_or_else(Cell::none, |(cell, value)| {
                    let mut written = section::metric_cell(metric, value.middle);
                    if metric.is_money() {
                        let currency = &cell.points[0].phase.money.currency;
                        written.text = metric.text_with_unit(value.middle, currency);
                    }
                    if cell.fault.is_some() {
                        written.text = format!("({})", written.text);
                    }
                    Cell {
                        strong: metric == Metric::OPS_PER_SEC && peak == Some(step.threads),
                        muted: cell.fault.is_some() || !value.solid,
                        ..written
                    }
                }));
            }
            cells.extend(pair.map(|&pair| {
                let comparison = sweep.comparisons.at(group, step, metric, pair);
                let said = comparison.map(|known| metric.improvement(known.ratio, form(metric)));
                said.map_or_else(Cell::none, Cell::new)
            }));
        }
        TableRow {
            cells,
            total: false,
        }
    };
    (!group.steps.is_empty() && !metrics.is_empty()).then(|| Table {
        columns,
        rows: group.steps.iter().map(row).collect(),
        note: section::below_mean(group, sweep).unwrap_or_default(),
        ..Table::default()
    })
}

/// The first sentence of what was seen, if the same was seen everywhere and it is short.
fn seen(entry: &FindingEntry) -> String {
    const LETTERS_MAX: usize = 160;
    let [only] = &entry.evidence[..] else {
        return String::new();
    };
    let text = only.text.to_plain();
    let first = text.split_once(". ").map(|(first, _)| format!("{first}. "));
    let short = first.filter(|first| first.chars().count() <= LETTERS_MAX && !first.contains('…'));
    short.unwrap_or_default()
}

fn method(data: &Data, sweep: &SweepTable<'_>, index: &Index<'_>) -> Vec<Block> {
    let mut blocks = author::words(data, Words::Notes);
    blocks.push(Block::Table(conditions::conditions(data, sweep)));
    let assumed: Vec<&str> = data
        .headers
        .iter()
        .flat_map(|header| header.assumed.iter().map(String::as_str))
        .collect();
    if !assumed.is_empty() {
        let keys = assumed.join(", ");
        let text = format!("Assumed, because the published study does not say: {keys}.");
        blocks.push(Block::Text(Text::plain(text)));
    }
    let entries = index.entries(data);
    let has_few = section::has_few_samples(sweep);
    let findings = entries.iter().filter(|entry| {
        let is_few = entry.badge.code == TOO_FEW_SAMPLES.name;
        entry.changes_headline || (is_few && has_few)
    });
    let findings = findings.map(|entry| {
        let places = number::plural(entry.places() as u64, "place");
        let title = format!("[{}] {}, {places}. ", entry.badge.letter, entry.title);
        Text::strong(title).and(seen(entry)).and(&*entry.means)
    });
    let findings: Vec<Text> = findings.collect();
    if !findings.is_empty() {
        blocks.push(Block::Heading {
            anchor: "brief-findings".to_owned(),
            title: "Findings".to_owned(),
            about: String::new(),
        });
        blocks.push(Block::Statements(findings));
    }
    blocks
}
