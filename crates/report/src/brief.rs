//! The brief: a short report for sending. Its first page has the headline, the cards and the main
//! chart. Then follow one curve, one table and a few sentences for each workload, and how it was
//! tested.

mod conditions;
mod settings;
mod table;

use crate::{
    Block, Chart, Data, Figure, Section, Span, Text, author,
    axis::Axis,
    block::{FindingEntry, anchor},
    chart::curve::{Along, PAPER_AXIS, Reading},
    evidence::DIFFERS,
    findings::Index,
    section::{self, Rendered, curves},
    statement,
    sweep::{SweepTable, WorkloadGrid},
};
use serde_json::Value;
use std::collections::BTreeSet;
use tailmark_model::{Metric, Words, finding::TOO_FEW_SAMPLES, number};

const FRONT: Section = Section::of_page("summary", "In brief");
const WORKLOADS: Section = Section::of_page("workloads", "Workloads");
const BANDWIDTH: Section = Section::of_page("bandwidth", "Bandwidth");
const METHOD: Section = Section::of_page("method", "How we tested");

const CONCLUSION: Section = Section::of_page("conclusion", "Conclusion");

/// The most letters of a conclusion on the first page; a longer one is at the end.
const CONCLUSION_LETTERS: usize = 600;
/// The most sentences of each workload: of more workloads fewer, for four pages.
const fn sentences_most(workloads: usize) -> usize {
    match workloads {
        0 | 1 => 7,
        2..=4 => 6,
        _ => 5,
    }
}

/// The sections of the brief.
#[must_use]
pub fn sections(data: &Data) -> Rendered {
    let sweep = SweepTable::new(data);
    let index = Index::new(data);
    let few = section::few_samples(&sweep, &index);
    let conclusion = author::words(data, Words::Conclusion);
    let (short, long) = if letters(&conclusion) <= CONCLUSION_LETTERS {
        (conclusion, Vec::new())
    } else {
        (Vec::new(), conclusion)
    };
    let all = [
        (&FRONT, front(data, &sweep, &index, (few.as_ref(), short))),
        (&WORKLOADS, workloads(&sweep)),
        (&BANDWIDTH, bandwidth(&sweep)),
        (&CONCLUSION, long),
        (&METHOD, method(data, &sweep, &index, few)),
    ];
    let said = all.into_iter().filter(|(_, blocks)| !blocks.is_empty());
    said.collect()
}

fn letters(blocks: &[Block]) -> usize {
    let texts = blocks.iter().flat_map(|block| match block {
        Block::Text(text) => std::slice::from_ref(text),
        Block::Statements(texts) => texts,
        _ => &[],
    });
    texts.map(|text| text.to_plain().len()).sum()
}

fn front(
    data: &Data,
    sweep: &SweepTable<'_>,
    index: &Index<'_>,
    (few, conclusion): (Option<&Text>, Vec<Block>),
) -> Vec<Block> {
    let mut blocks = section::front(data);
    // It is among the conditions.
    blocks.retain(|block| !matches!(block, Block::Text(text) if Some(text) == few));
    let legend = letters_in_words(&blocks, &index.entries(data));
    blocks.extend(legend.map(Block::Text));
    blocks.extend(message(sweep).map(|chart| figure("brief-message", chart)));
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

/// What the letters of findings on the page stand for: `Machine busy [a]: see Findings at the end.`
fn letters_in_words(blocks: &[Block], entries: &[FindingEntry]) -> Option<Text> {
    let mut codes: BTreeSet<&str> = BTreeSet::new();
    for block in blocks {
        match block {
            Block::Text(text) => codes.extend(text.0.iter().filter_map(|span| match span {
                Span::Badge(badge) => Some(badge.code.as_str()),
                _ => None,
            })),
            Block::Cards(cards) => {
                let badges = cards.iter().flat_map(|card| &card.badges);
                codes.extend(badges.map(|badge| badge.code.as_str()));
            }
            _ => {}
        }
    }
    let used = entries
        .iter()
        .filter(|entry| codes.contains(entry.badge.code.as_str()));
    let text = used.enumerate().fold(Text::default(), |text, (i, entry)| {
        let (joint, title) = match i {
            0 => ("", entry.title.clone()),
            _ => (", ", entry.title.to_lowercase()),
        };
        let badge = vec![entry.badge.clone()];
        text.and(format!("{joint}{title}")).and_badges(badge)
    });
    (!text.0.is_empty()).then(|| text.and(": see Findings at the end."))
}

/// The bandwidth of the devices, as the study of 2023 shows it.
fn bandwidth(sweep: &SweepTable<'_>) -> Vec<Block> {
    let chart = section::bandwidth_chart(sweep).into_iter();
    let chart = chart.map(|chart| Chart {
        height: 240,
        ..chart
    });
    chart
        .map(|chart| figure("brief-bandwidth", chart))
        .collect()
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
    let along = along(group);
    let latency = sweep.latency_metric(group).map(|metric| (metric, along));
    let ops = (group.axis == Axis::Threads).then_some((Metric::OPS_PER_SEC, Along::Threads));
    let drawn = latency.into_iter().chain(ops).map(|(metric, axis)| {
        let reading = Reading::new(metric);
        curves(group, sweep, &[reading], reading, axis)
    });
    let mut drawn = drawn.filter(|chart| !chart.variants[0].is_null());
    drawn
        .next()
        .map(|chart| titled(chart, latency.map(|(metric, _)| metric)))
}

fn along(group: &WorkloadGrid<'_>) -> Along {
    match group.axis {
        Axis::Threads => Along::Rate,
        Axis::Rates => Along::Offered,
    }
}

/// The chart with the name of its latency and the scale of its axis in its title, because an axis
/// beside a table is too short for them.
fn titled(mut chart: Chart, latency: Option<Metric>) -> Chart {
    const SCALE: &str = " (log scale)";
    explain_hollow(&mut chart);
    if let Some(metric) = latency {
        let title = chart.title.replacen("Latency", metric.row().title, 1);
        chart.title = title.replace("operations per second", "ops/s");
    }
    let variant = &mut chart.variants[0];
    let is_linear = variant[PAPER_AXIS] == "linear";
    let name = variant["yAxis"]["name"].as_str().unwrap_or_default();
    if let Some(name) = name.strip_suffix(SCALE) {
        variant["yAxis"]["name"] = name.into();
        let scale = if is_linear { "linear" } else { "log" };
        chart.base[PAPER_AXIS] = scale.into();
        if !is_linear {
            let ticks = few_ticks(&variant["yAxis"]["axisLabel"]["customValues"]);
            for part in ["axisTick", "axisLabel", "splitLine"] {
                variant["yAxis"][part]["customValues"] = ticks.clone();
            }
            chart.hint = format!("log scale; {}", chart.hint);
        }
    }
    chart
}

/// Says what hollow points mean, where there are some. If all are, none is marked.
fn explain_hollow(chart: &mut Chart) {
    let mut marks: Vec<&mut Value> = Vec::new();
    let series = chart.variants[0]["series"].as_array_mut();
    for one in series.into_iter().flatten() {
        if one["type"] == "line" {
            let data = one["data"].as_array_mut().into_iter().flatten();
            marks.extend(data.filter(|item| !item.is_null()));
        }
    }
    let is_hollow = |item: &Value| item["itemStyle"].is_object() && item["symbol"].is_null();
    let hollow = marks.iter().filter(|item| is_hollow(item)).count();
    let all = marks.len();
    if hollow == 0 {
        return;
    }
    chart.hint.push_str(if hollow < all {
        "; hollow: fewer than 100 samples"
    } else {
        "; each point: fewer than 100 samples"
    });
    if hollow == all {
        for item in marks {
            if let Some(item) = item.as_object_mut() {
                item.remove("itemStyle");
            }
        }
    }
}

/// The curves of sets of systems that the report names.
fn sets(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Block> {
    let (metric, along) = (sweep.latency_metric(group)?, along(group));
    let reading = Reading::new(metric);
    let charts = section::of_sets(group, sweep, &[reading], (reading, along)).into_iter();
    let charts = charts.filter(|chart| !chart.variants[0].is_null());
    let charts: Vec<Chart> = charts
        .map(|chart| Chart {
            height: 330,
            ..titled(chart, Some(metric))
        })
        .collect();
    (!charts.is_empty()).then(|| {
        Block::Figure(Figure {
            anchor: anchor(&["brief-sets", &group.anchor]),
            controls: Vec::new(),
            charts,
        })
    })
}

/// A chart beside a table or sentences. The first tells how to read them.
fn small(mut chart: Chart, is_first: bool) -> Chart {
    if !is_first {
        chart.hint = chart.hint.replace("; labels are thread counts", "");
    }
    chart.base["legend"]["short"] = true.into();
    chart.base["legend"]["itemWidth"] = 22.into();
    chart.base["legend"]["textStyle"]["fontSize"] = 11.into();
    Chart {
        wide: false,
        height: 290,
        ..chart
    }
}

/// Of the ticks of a logarithmic axis as many as a low chart has room for: if there are enough, the
/// powers of ten.
fn few_ticks(ticks: &Value) -> Value {
    const MOST: usize = 5;
    let mut ticks: Vec<f64> = ticks
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_f64)
        .collect();
    let is_power = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
    if ticks.len() > MOST && ticks.iter().filter(|tick| is_power(tick)).count() > 2 {
        ticks.retain(is_power);
    }
    let step = ticks.len().div_ceil(MOST).max(1);
    ticks.into_iter().step_by(step).collect()
}

fn workloads(sweep: &SweepTable<'_>) -> Vec<Block> {
    let count = sweep.all_groups().count();
    let is_single = count == 1;
    let all = sweep.all_groups().enumerate().flat_map(|(index, group)| {
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
        let sentences = statement::in_brief(group, sweep, sentences_most(count));
        // The curve of a single workload is on the first page.
        match curve(group, sweep).filter(|_| !is_single) {
            Some(chart) => blocks.push(Block::Beside(
                Figure {
                    anchor: anchor(&["brief-curve", &group.anchor]),
                    controls: Vec::new(),
                    charts: vec![small(chart, index == 0)],
                },
                sentences,
            )),
            None => blocks.push(Block::Statements(sentences)),
        }
        blocks.extend(table::table(group, sweep).map(Block::Table));
        // Beside other workloads there is no room.
        if is_single {
            blocks.extend(sets(group, sweep));
        }
        blocks
    });
    all.collect()
}

/// The first sentence of what was seen, if the same was seen everywhere and it is short.
fn seen(entry: &FindingEntry) -> String {
    const LETTERS_MAX: usize = 160;
    let [only] = &entry.evidence[..] else {
        return String::new();
    };
    let text = only.text.to_plain();
    let first = text.split_once(". ").map(|(first, _)| format!("{first}. "));
    let short =
        first.filter(|first| first.chars().count() <= LETTERS_MAX && !first.contains(DIFFERS));
    short.unwrap_or_default()
}

fn method(data: &Data, sweep: &SweepTable<'_>, index: &Index<'_>, few: Option<Text>) -> Vec<Block> {
    let has_few = few.is_some();
    let mut blocks = author::words(data, Words::Notes);
    let few = few.map(|text| text.to_plain());
    blocks.push(Block::Table(conditions::conditions(data, sweep, few)));
    let entries = index.entries(data);
    let findings = entries.iter().filter(|entry| {
        let is_few = entry.badge.code == TOO_FEW_SAMPLES.name;
        entry.changes_headline || (is_few && has_few)
    });
    let findings = findings.map(|entry| {
        let count = entry.places() as u64;
        let places = match entry.of_runs {
            Some(all) => format!("{count} of {}", number::plural(all as u64, "run")),
            None => number::plural(count, "place"),
        };
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
