//! What is said of two systems over several runs: sentences, cards, cells and error bars follow one
//! comparison.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod bounds;
mod gates;
mod many;
#[path = "../sections/mod.rs"]
mod sections;
mod stepped;
mod studies;
#[path = "../systems/mod.rs"]
mod systems;
mod turns;

use sections::{blocks, tables};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use systems::system;
use tailmark_model::{
    Arrivals, Censored, Fact, Header, Kind, KindResult, Metric, Phase, Point, PointKey, RunRules,
    finding::{CLIENT_SATURATED, RATE_NOT_MET},
    number,
};
use tailmark_report::{Block, Cell, Data, Figure, Table, Text, Verdicts, VerdictsRequest, html};
use tailmark_stats::{Comparison, Run, comparison::Place, comparisons, statistics};
use tailmark_study::Study;

const MS: u64 = 1_000_000;

/// The runs of a system at 4 threads, operations per second; with 16 threads it does twice as many.
struct Runs(&'static str, &'static [f64]);

fn phase(ops: f64) -> Phase {
    let operations = (ops * 10.0) as u64;
    let mut read = KindResult {
        count: operations,
        ..KindResult::default()
    };
    let ns = (4e9 / ops) as u64;
    read.service.record_n(ns, operations).unwrap();
    Phase {
        duration_s: 10.0,
        operations,
        kinds: BTreeMap::from([(Kind::Read, read)]),
        ..Phase::default()
    }
}

fn key(system: &str, threads: u32, repeat: u32) -> PointKey {
    PointKey {
        system: system.into(),
        workload: "ycsb-c".into(),
        distribution: "uniform".into(),
        threads,
        repeat,
        target_rate: None,
        arrivals: None,
    }
}

fn study(systems: &[Runs]) -> Data {
    let points = systems.iter().flat_map(|Runs(system, runs)| {
        runs.iter().zip(1..).flat_map(|(ops, repeat)| {
            [(4, 1.0), (16, 2.0)].map(|(threads, factor)| Point {
                key: key(system, threads, repeat),
                phase: phase(ops * factor),
            })
        })
    });
    Data {
        headers: vec![Header::without_plan("Verdicts", String::new())],
        systems: systems.iter().map(|Runs(name, _)| system(name)).collect(),
        points: points.collect(),
        ..Data::default()
    }
}

const FAST: Runs = Runs("fast", &[1_210.0, 1_190.0, 1_205.0, 1_195.0, 1_200.0]);
const SLOW: Runs = Runs("slow", &[1_000.0, 1_010.0, 990.0, 1_005.0, 995.0]);

/// Statements, texts and cards.
fn said(section: &str, data: &Data) -> String {
    let texts = blocks(section, data)
        .into_iter()
        .flat_map(|block| match block {
            Block::Text(text) => vec![text.to_plain()],
            Block::Statements(texts) => texts.iter().map(Text::to_plain).collect(),
            Block::Cards(cards) => cards
                .iter()
                .flat_map(|card| &card.figures)
                .map(|figure| format!("{}: {}", figure.value, figure.about))
                .collect(),
            _ => Vec::new(),
        });
    texts.collect::<Vec<_>>().join("\n").replace('\u{a0}', " ")
}

/// The improvement cell of operations per second in a row of the first workload's table.
fn improvement(data: &Data, row: usize) -> Cell {
    let table = &tables("workloads", data)[0];
    let at = table.columns.iter().position(|c| c.title == "difference");
    let mut cell = table.rows[row].cells[at.unwrap()].clone();
    cell.detail = cell.detail.replace('\u{a0}', " ");
    cell
}

fn compared(data: &Data, pair: (&str, &str)) -> Vec<Comparison> {
    let runs: Vec<Run> = data
        .points
        .iter()
        .map(|p| Run::from_point(p, RunRules::default()))
        .collect();
    comparisons(&runs, &[(pair.0.into(), pair.1.into())], 0.03)
}

fn at_peak(comparisons: &[Comparison]) -> &Comparison {
    let is_peak = |c: &&Comparison| matches!(c.place, Place::Peak { .. });
    comparisons.iter().find(is_peak).unwrap()
}

#[test]
fn sentence_card_and_cells_say_what_their_comparison_says() {
    // The slower one is the first of the plan, so that the comparison is read the other way round.
    let data = study(&[SLOW, FAST]);
    let all = compared(&data, ("fast", "slow"));
    let peak = at_peak(&all);
    let (low, high) = peak.interval.unwrap();
    let interval = format!(
        "{} to {}",
        number::change(low - 1.0),
        number::change(high - 1.0)
    );
    let workloads = said("workloads", &data);
    let sentence = format!(
        "At peak, fast delivers 20 % more ops/s than slow ({interval}): 2,400 against 2,000, both \
         at 16 threads."
    );
    assert!(workloads.contains(&sentence), "{workloads}");
    let summary = said("summary", &data);
    let card = format!("+20 %: ops/s at peak, fast over slow: {interval}");
    assert!(summary.contains(&card), "{summary}");
    for row in [0, 1] {
        let cell = improvement(&data, row);
        assert_eq!(
            (cell.text.as_str(), cell.detail),
            ("+20 %", format!("{interval}, better"))
        );
        assert!(
            cell.hint.starts_with("p below 0.0001, adjusted "),
            "{}",
            cell.hint
        );
    }
    let peaks = &tables("peaks", &data)[0].rows[0].cells;
    let last = peaks.len() - 1;
    assert_eq!(peaks[last - 1].text, "fast");
    assert_eq!(peaks[last].text, "+20 %");
    assert_eq!(peaks[last].value, Some(peak.ratio));
}

#[test]
fn the_headline_counts_verdicts_and_says_what_they_are_about() {
    let summary = said("summary", &study(&[FAST, SLOW]));
    assert!(
        summary.contains("fast has higher peak ops/s than slow in YCSB C, by 20 %."),
        "{summary}"
    );
    let about = "Differences marked better or worse are significant at the 5 % level, adjusted (Holm) \
                 for 1 comparison of peaks, 2 comparisons of ops/s at points and 2 comparisons of p99 \
                 read at points, and larger than 3 %. They hold for these devices under this load on \
                 these days.";
    assert!(summary.contains(about), "{summary}");
    assert!(!summary.contains("not tested"), "{summary}");
}

#[test]
fn who_leads_in_another_workload_is_named_too() {
    let mut data = study(&[FAST, SLOW]);
    let swapped = study(&[Runs("slow", FAST.1), Runs("fast", SLOW.1)]);
    data.points
        .extend(swapped.points.into_iter().map(|mut point| {
            point.key.workload = "ycsb-a".into();
            point
        }));
    let summary = said("summary", &data);
    let expected = "fast has higher peak ops/s than slow in YCSB C, by 20 %. slow has higher peak ops/s than fast \
                    in YCSB A, by 20 %.";
    assert!(summary.starts_with(expected), "{summary}");
}

#[test]
fn systems_that_are_as_fast_are_equivalent_and_none_leads() {
    const AGAIN: Runs = Runs("again", &[1_002.0, 1_008.0, 992.0, 1_003.0, 997.0]);
    let data = study(&[SLOW, AGAIN]);
    assert!(said("workloads", &data).contains("is equivalent (within 3 %) to "));
    assert!(
        improvement(&data, 0)
            .detail
            .ends_with("equivalent (within 3 %)")
    );
    let summary = said("summary", &data);
    assert!(summary.contains("\nequivalent: "), "{summary}");
    let peaks = "At peak, again is equivalent (within 3 %) to slow.";
    assert!(summary.starts_with(peaks), "{summary}");
    let mut with_baseline = data;
    with_baseline.settings.baseline = Some("slow".into());
    let expected = "again and slow are equivalent at peak in YCSB C.";
    let against_slow = said("summary", &with_baseline);
    assert!(against_slow.starts_with(expected), "{against_slow}");
}

#[test]
fn what_noise_hides_is_no_difference_shown() {
    const NOISY: Runs = Runs("noisy", &[900.0, 1_400.0, 1_000.0, 1_300.0, 800.0]);
    let data = study(&[NOISY, SLOW]);
    let all = compared(&data, ("noisy", "slow"));
    assert!(
        at_peak(&all).ratio.value > 1.03,
        "outside the band, and still nothing is shown"
    );
    assert!(said("workloads", &data).contains("noisy shows no difference from slow ("));
    let cell = improvement(&data, 0);
    assert!(
        cell.muted && cell.detail.ends_with(", no difference shown"),
        "{cell:?}"
    );
    let summary = said("summary", &data);
    assert!(summary.contains("\nno difference shown: "), "{summary}");
    let nobody = "At peak, noisy shows no difference from slow: the 95 % interval of 5 runs, ";
    assert!(summary.starts_with(nobody), "{summary}");
    let peaks = &tables("peaks", &data)[0].rows[0].cells;
    assert!(
        !peaks[1].strong && !peaks[3].strong,
        "neither is the highest"
    );
}

#[test]
fn three_runs_are_too_few_which_is_said_once() {
    let data = study(&[Runs("fast", &FAST.1[..3]), Runs("slow", &SLOW.1[..3])]);
    let body = html::body(&data);
    let why = "Differences are not tested for significance: that takes 4 runs of each point.";
    assert_eq!(body.matches(why).count(), 1);
    let summary = said("summary", &data);
    let expected = "fast has higher peak ops/s than slow in YCSB C, by 20 %.";
    assert!(summary.starts_with(expected), "{summary}");
    assert!(
        summary.lines().nth(1).unwrap().starts_with(why),
        "{summary}"
    );
    let cell = improvement(&data, 0);
    assert_eq!((cell.text.as_str(), cell.detail.as_str()), ("+20 %", ""));
}

#[test]
fn four_runs_that_do_not_differ_are_not_called_too_few() {
    let data = study(&[Runs("fast", &[1_200.0; 4]), Runs("slow", &[1_000.0; 4])]);
    let summary = said("summary", &data);
    let expected = "Differences are not tested for significance: the runs of a point are identical, so their noise is \
                    unknown.";
    assert!(summary.contains(expected), "{summary}");
    assert!(!summary.contains("that takes 4 runs"), "{summary}");
}

#[test]
fn where_some_points_have_runs_enough_the_others_say_so() {
    let mut data = study(&[FAST, SLOW]);
    data.points
        .retain(|p| p.key.threads == 16 || p.key.repeat < 4);
    assert_eq!(improvement(&data, 0).detail, "too few runs");
    assert!(improvement(&data, 1).detail.ends_with(", better"));
}

#[test]
fn what_has_too_few_runs_beside_verdicts_is_said_not_to_be_tested() {
    const THIRD: Runs = Runs("third", &[800.0]);
    let not_tested = "Where a side has too few runs, differences are not tested.";
    let data = study(&[FAST, SLOW, THIRD]);
    let summary = said("summary", &data);
    assert!(summary.contains(not_tested), "{summary}");
    assert!(summary.contains("adjusted (Holm) for "), "{summary}");
    let workloads = said("workloads", &data);
    assert!(
        workloads.contains(", and 50 % more than third, +50 % at every"),
        "{workloads}"
    );
    let whole = said("summary", &study(&[FAST, SLOW]));
    assert!(!whole.contains(not_tested), "{whole}");
}

#[test]
fn who_is_not_shown_to_be_above_every_other_leads_nowhere() {
    const HIGHEST: Runs = Runs("A", &[1_100.0, 1_101.0, 1_102.0, 1_099.0, 1_098.0]);
    const LOWER: Runs = Runs("B", &[1_050.0, 1_051.0, 1_052.0, 1_049.0, 1_048.0]);
    const NOISY: Runs = Runs("C", &[1_300.0, 800.0, 1_200.0, 900.0, 1_080.0]);
    let data = study(&[HIGHEST, LOWER, NOISY]);
    let summary = said("summary", &data);
    let (expected, alike) = (
        "At peak, A delivers 5 % more ops/s than B (",
        ") and shows no difference from C: the 95 % interval of 5 runs, ",
    );
    assert!(
        summary.starts_with(expected) && summary.contains(alike),
        "{summary}"
    );
    let (card, same) = (
        "\n+5 %: ops/s at peak, A over B: ",
        "; no difference shown from C",
    );
    assert!(
        summary.contains(card) && summary.contains(same),
        "{summary}"
    );
    let table = &tables("peaks", &data)[0];
    let cells = &table.rows[0].cells;
    let highest = table.columns.iter().position(|c| c.title == "Highest");
    assert_eq!(cells[highest.unwrap()].text, "A or C");
    assert!(cells.iter().all(|cell| !cell.strong), "{cells:?}");
}

#[test]
fn values_are_geometric_means_with_their_interval_so_that_their_ratio_is_the_one_compared() {
    const WIDE: Runs = Runs("wide", &[500.0, 1_000.0, 2_000.0, 1_000.0]);
    let data = study(&[WIDE, SLOW]);
    let cell = &tables("workloads", &data)[0].rows[0].cells[1];
    assert_eq!(cell.text, "1,000", "the arithmetic mean is 1,125");
    let mean = statistics::mean_of_runs(WIDE.1).unwrap();
    let range = format!("{} to {}", number::rate(mean.low), number::rate(mean.high));
    assert_eq!(cell.detail.replace('\u{a0}', " "), range);
    let three = study(&[Runs("wide", &WIDE.1[..3]), SLOW]);
    let range_cell = &tables("workloads", &three)[0].rows[0].cells[1];
    assert_eq!(range_cell.detail.replace('\u{a0}', " "), "500 to 2,000");
}

fn figure(data: &Data) -> Figure {
    let figures = blocks("workloads", data).into_iter();
    let mut figures = figures.filter_map(|block| match block {
        Block::Figure(figure) => Some(figure),
        _ => None,
    });
    figures.next().unwrap()
}

/// The error bars of the first system in the charts of a workload: the curve, ops/s by threads and
/// latency by threads.
fn bars(data: &Data) -> [Vec<f64>; 3] {
    let figure = figure(data);
    let first = |option: &serde_json::Value| -> Vec<f64> {
        let series = option["series"].as_array().unwrap();
        let custom = series.iter().find(|s| s["type"] == "custom").unwrap();
        let values = custom["data"][0].as_array().unwrap().iter();
        values.filter_map(serde_json::Value::as_f64).collect()
    };
    let [curve, ops, latency] = &figure.charts[..] else {
        panic!("{} charts", figure.charts.len())
    };
    [&curve.variants[0], &ops.base, &latency.variants[0]].map(first)
}

#[test]
fn error_bars_are_the_interval_of_the_mean_from_four_runs_on_else_the_extremes() {
    let is_close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 2e-3, "{a} {b}");
    let mean = statistics::mean_of_runs(FAST.1).unwrap();
    let [curve, ops, latency] = bars(&study(&[FAST, SLOW]));
    // The curve: middle and ends of both axes; latencies in microseconds.
    is_close(curve[2], mean.low);
    is_close(curve[3], mean.high);
    is_close(curve[4], 4e6 / mean.high);
    is_close(curve[5], 4e6 / mean.low);
    is_close(ops[1], mean.low);
    is_close(ops[2], mean.high);
    assert_eq!(latency[latency.len() - 3..], curve[4..]);
    let [_, range, _] = bars(&study(&[Runs("fast", &FAST.1[..3]), SLOW]));
    is_close(range[1], 1_190.0);
    is_close(range[2], 1_210.0);
    let hint = |data: &Data| figure(data).charts[1].hint.clone();
    assert!(hint(&study(&[FAST, SLOW])).contains("95 % interval"));
}

#[test]
fn a_latency_has_the_verdict_of_its_own_comparison() {
    let mut data = study(&[FAST, SLOW]);
    data.settings.metric = Metric::from_name("mean read");
    let all = compared(&data, ("fast", "slow"));
    let is_it = |c: &&Comparison| {
        let at = matches!(c.place, Place::Point { threads: 16, .. });
        at && c.metric == Metric::from_name("mean read").unwrap()
    };
    let (low, high) = all.iter().find(is_it).unwrap().interval.unwrap();
    // In the words of the sentence, the smaller difference first.
    let [near, far] = [high, low].map(|end| number::change(1.0 - end).replace('+', ""));
    let interval = format!("{near} to {far} lower");
    let workloads = said("workloads", &data);
    let sentence = format!(
        "At 16 threads, the highest thread count, the mean read latency of fast is 17 % lower than \
         slow's (1.67 ms against 2.00 ms; {interval})."
    );
    assert!(workloads.contains(&sentence), "{sentence}\n{workloads}");
}

#[test]
fn of_identical_runs_beside_verdicts_there_is_no_verdict_and_it_is_not_their_number() {
    let data = study(&[
        Runs("first", &[1_500.0; 5]),
        Runs("second", &[1_400.0; 5]),
        SLOW,
    ]);
    let summary = said("summary", &data);
    for part in [
        "There is no verdict on first and second at peak in YCSB C: there are too few runs for a \
         verdict, or the runs are identical.",
        "Where the runs of a point are identical, differences are not tested.",
    ] {
        assert!(summary.contains(part), "{summary}");
    }
    assert!(
        !summary.contains("Where a side has too few runs"),
        "{summary}"
    );
}

#[test]
fn where_no_thread_count_shows_a_difference_none_is_said_of_all() {
    const NOISY: Runs = Runs("noisy", &[1_300.0, 800.0, 1_200.0, 900.0, 1_080.0]);
    const OTHER: Runs = Runs("other", &[1_000.0, 1_100.0, 950.0, 1_150.0, 1_010.0]);
    let workloads = said("workloads", &study(&[NOISY, OTHER]));
    assert!(!workloads.contains("thread counts,"), "{workloads}");
    let apart = said("workloads", &study(&[FAST, SLOW]));
    assert!(apart.contains("On average over thread counts,"), "{apart}");
    assert!(apart.contains("Across thread counts,"), "{apart}");
}
