//! What is said of two systems over several runs: sentences, cards, cells and error bars follow one
//! comparison.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod sections;
mod systems;

use sections::{blocks, tables};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use systems::system;
use tailmark_model::{
    Arrivals, Censored, Fact, Header, Kind, KindResult, Metric, Phase, Point, PointKey,
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
                .map(|c| format!("{}: {}", c.value, c.about))
                .collect(),
            _ => Vec::new(),
        });
    texts.collect::<Vec<_>>().join("\n").replace('\u{a0}', " ")
}

/// The improvement cell of operations per second in a row of the first workload's table.
fn improvement(data: &Data, row: usize) -> Cell {
    let table = &tables("workloads", data)[0];
    let at = table.columns.iter().position(|c| c.title == "improvement");
    let mut cell = table.rows[row].cells[at.unwrap()].clone();
    cell.detail = cell.detail.replace('\u{a0}', " ");
    cell
}

fn compared(data: &Data, pair: (&str, &str)) -> Vec<Comparison> {
    let runs: Vec<Run> = data
        .points
        .iter()
        .map(|p| Run::from_point(p, 0.001))
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
        "At peak, fast does 20 % more ops/s than slow ({interval}): 2,400 at 16 threads against \
         2,000 at 16 threads."
    );
    assert!(workloads.contains(&sentence), "{workloads}");
    let summary = said("summary", &data);
    let card = format!("+20 %: fast over slow, ops/s at peak: {interval}");
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
        summary.contains("fast has the highest peak in YCSB C, by 20 % over slow."),
        "{summary}"
    );
    let about = "verdicts about these devices under this load on these days: with a chance of error \
                 of 5 %, adjusted (Holm) for 1 comparison of peaks, 2 comparisons of ops/s at \
                 points and 2 comparisons of p99 read at points, and by more than 3 %.";
    assert!(summary.contains(about), "{summary}");
    assert!(!summary.contains("Too few runs"), "{summary}");
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
    let expected = "fast has the highest peak in YCSB C, by 20 %; slow in YCSB A, by 20 % over the \
                    nearest competitor.";
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
    assert!(
        summary.starts_with("No system leads") && summary.contains("\nequivalent: "),
        "{summary}"
    );
    let peaks = "No system leads at its peak in any workload: they are equivalent (within 3 %).";
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
    assert!(said("workloads", &data).contains("noisy shows no difference to slow ("));
    let cell = improvement(&data, 0);
    assert!(
        cell.muted && cell.detail.ends_with(", no difference shown"),
        "{cell:?}"
    );
    let summary = said("summary", &data);
    assert!(
        summary.starts_with("No system leads") && summary.contains("\nno difference shown: "),
        "{summary}"
    );
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
    assert_eq!(body.matches("Too few runs").count(), 1);
    let summary = said("summary", &data);
    let expected = "Too few runs for a verdict. As it was measured: fast has the highest peak in \
                    YCSB C, by 20 % over slow.";
    assert!(summary.starts_with(expected), "{summary}");
    assert!(summary.contains("A verdict takes 4 runs of each point on either side."));
    let cell = improvement(&data, 0);
    assert_eq!((cell.text.as_str(), cell.detail.as_str()), ("+20 %", ""));
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
fn who_is_not_shown_to_be_above_every_other_leads_nowhere() {
    const HIGHEST: Runs = Runs("A", &[1_100.0, 1_101.0, 1_102.0, 1_099.0, 1_098.0]);
    const LOWER: Runs = Runs("B", &[1_050.0, 1_051.0, 1_052.0, 1_049.0, 1_048.0]);
    const NOISY: Runs = Runs("C", &[1_300.0, 800.0, 1_200.0, 900.0, 1_080.0]);
    let data = study(&[HIGHEST, LOWER, NOISY]);
    let summary = said("summary", &data);
    assert!(
        summary.starts_with("No system leads at its peak"),
        "{summary}"
    );
    let card = "no difference shown: A over C, ops/s at peak";
    assert!(summary.contains(card), "{summary}");
    let table = &tables("peaks", &data)[0];
    let cells = &table.rows[0].cells;
    let highest = table.columns.iter().position(|c| c.title == "Highest");
    assert_eq!(cells[highest.unwrap()].text, "A or C");
    assert!(cells.iter().all(|cell| !cell.strong), "{cells:?}");
}

#[test]
fn none_leads_at_its_peak_where_the_bound_of_another_leaves_it_open() {
    const A: Runs = Runs("a", &[1_001.0, 1_002.0, 1_003.0, 1_004.0, 1_005.0]);
    const B: Runs = Runs("b", &[1_000.0, 1_001.0, 1_002.0, 1_003.0, 1_004.0]);
    const C: Runs = Runs("c", &[900.0, 901.0, 902.0, 903.0, 904.0]);
    let mut data = study(&[A, B, C]);
    let points = data.points.iter_mut().filter(|p| p.key.system != "c");
    for point in points {
        let saturated = CLIENT_SATURATED.finding("The clients were busy.".to_owned());
        point.phase.findings.push(saturated);
    }
    let summary = said("summary", &data);
    assert!(!summary.contains("has the highest peak"), "{summary}");
    let open = "a and b are not compared at peak in YCSB C: a value is 0 or a bound";
    assert!(summary.starts_with(open), "{summary}");
    let card = "not compared: a and b: both peaks are lower bounds";
    assert!(summary.contains(card), "{summary}");
    let cells = &tables("peaks", &data)[0].rows[0].cells;
    assert!(cells.iter().all(|cell| !cell.strong), "{cells:?}");
}

#[test]
fn a_rate_that_one_did_not_reach_is_in_no_ratio_and_in_no_headline() {
    let mut data = study(&[FAST, SLOW]);
    for point in &mut data.points {
        point.key.target_rate = Some(1_000.0 * f64::from(point.key.threads));
        point.key.arrivals = Some(Arrivals::Even);
        if (point.key.system.as_str(), point.key.threads) == ("slow", 16) {
            let missed = RATE_NOT_MET.finding("Half of the rate was reached.".to_owned());
            point.phase.findings.push(missed);
        }
    }
    data.headers[0].settings.has_rates = true;
    let summary = said("summary", &data);
    assert!(summary.contains("at 4,000 ops/s"), "{summary}");
    assert!(!summary.contains("at 16,000 ops/s"), "{summary}");
    let improvement = |table: Table| {
        let at = table
            .columns
            .iter()
            .position(|c| c.title == "improvement")?;
        Some(table.rows[0].cells[at].text.clone())
    };
    let tables = tables("workloads", &data).into_iter();
    let improvements: Vec<String> = tables.filter_map(improvement).collect();
    // At the rate that one missed no two are compared, so that there is no such column.
    assert_eq!(improvements.len(), 1, "{improvements:?}");
    assert!(improvements[0].contains('%'), "{improvements:?}");
}

#[test]
fn a_bound_within_the_band_leaves_it_open_whether_two_differ() {
    let mut data = study(&[SLOW, Runs("other", SLOW.1)]);
    for point in &mut data.points {
        point.key.target_rate = Some(1_000.0 * f64::from(point.key.threads));
        point.key.arrivals = Some(Arrivals::Even);
        if point.key.system == "slow" {
            let read = point.phase.kinds.get_mut(&Kind::Read).unwrap();
            let mut failed = read.service.clone();
            failed.reset();
            failed.record_n(5 * MS, 1).unwrap();
            read.failed = Some(failed);
            read.errors = 1;
            point.phase.failed = 1;
        }
    }
    data.headers[0].settings.has_rates = true;
    data.settings.metric = Metric::from_name("mean read");
    let summary = said("summary", &data);
    assert!(!summary.contains("No difference"), "{summary}");
    assert!(summary.contains("which leaves it open"), "{summary}");
    let workloads = said("workloads", &data);
    let open = "is open, because a value is a bound";
    assert!(workloads.contains(open), "{workloads}");
    let note = &tables("workloads", &data)[0].note;
    assert!(note.contains("at most: requests failed."), "{note}");
}

#[test]
fn a_bound_has_a_verdict_where_its_values_as_they_stand_have_one() {
    let with_never_done = |never: u64| {
        let mut data = study(&[SLOW, FAST]);
        for point in &mut data.points {
            point.key.target_rate = Some(1_000.0 * f64::from(point.key.threads));
            point.key.arrivals = Some(Arrivals::Even);
            if point.key.system == "slow" {
                let read = point.phase.kinds.get_mut(&Kind::Read).unwrap();
                let mut censored = Censored::default();
                censored.service.record_n(50 * MS, never).unwrap();
                censored.response.record_n(50 * MS, never).unwrap();
                read.censored = Some(Box::new(censored));
                point.phase.censored = never;
            }
        }
        data.headers[0].settings.has_rates = true;
        data
    };
    let improvement = |data: &Data| {
        let table = &tables("workloads", data)[0];
        let is_it = |column: &tailmark_report::Column| column.title == "improvement";
        let at = table.columns.iter().position(is_it).unwrap();
        table.rows[0].cells[at].clone()
    };
    // Above 1 % of the requests in every run, and in three of five, whose p99 is 12 times the others'.
    let shown = with_never_done(200);
    let workloads = said("workloads", &shown);
    assert!(workloads.contains("fast is at least "), "{workloads}");
    let cell = improvement(&shown);
    assert!(cell.text.starts_with('≥'), "{}", cell.text);
    assert_eq!(cell.detail, "better");
    let open = with_never_done(100);
    let undecided = said("workloads", &open);
    let expected = "whether fast and slow differ is open, because a value is a bound";
    assert!(undecided.contains(expected), "{undecided}");
    let open_cell = improvement(&open);
    assert!(open_cell.text.starts_with('≥'), "{}", open_cell.text);
    assert_eq!(open_cell.detail, "not testable");
}

#[test]
fn values_are_geometric_means_with_their_interval_so_that_their_ratio_is_the_one_compared() {
    const WIDE: Runs = Runs("wide", &[500.0, 1_000.0, 2_000.0, 1_000.0]);
    let data = study(&[WIDE, SLOW]);
    let cell = &tables("workloads", &data)[0].rows[0].cells[1];
    assert_eq!(cell.text, "1,000", "the arithmetic mean is 1,125");
    let mean = statistics::mean_of_runs(WIDE.1).unwrap();
    let range = format!("{} – {}", number::rate(mean.low), number::rate(mean.high));
    assert_eq!(cell.detail.replace('\u{a0}', " "), range);
    let three = study(&[Runs("wide", &WIDE.1[..3]), SLOW]);
    let range_cell = &tables("workloads", &three)[0].rows[0].cells[1];
    assert_eq!(range_cell.detail.replace('\u{a0}', " "), "500 – 2,000");
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

/// Runs of both, half of them in one study, half in the other.
fn halves() -> [Data; 2] {
    let mut first = study(&[FAST, SLOW]);
    let mut second = study(&[FAST, SLOW]);
    first.points.retain(|p| p.key.repeat <= 2);
    second.points.retain(|p| p.key.repeat > 2);
    for point in &mut second.points {
        point.key.repeat -= 2;
    }
    [first, second]
}

#[test]
fn runs_of_two_studies_are_enough_together_and_the_narrower_band_counts() {
    let [first, mut second] = halves();
    assert!(said("summary", &first).starts_with("Too few runs"));
    second.headers[0].settings.report.equivalence = Some(0.25);
    let merged = |half: &Data| Data::merged(vec![first.clone(), half.clone()]);
    let summary = said("summary", &merged(&second));
    assert!(
        summary.contains("by 20 %") && summary.contains("by more than 3 %"),
        "{summary}"
    );
    second.headers[0].settings.report.equivalence = Some(0.01);
    assert!(said("summary", &merged(&second)).contains("by more than 1 %"));
}

fn kernel(release: &str) -> Fact {
    Fact {
        system: None,
        group: "kernel".into(),
        name: "release".into(),
        value: release.into(),
    }
}

#[test]
fn conditions_that_differ_are_a_finding_beside_the_headline_and_in_a_table() {
    let study_on = |release: &str, title: &str| {
        let mut data = study(&[FAST]);
        data.headers[0].title = title.into();
        data.facts.push(kernel(release));
        data
    };
    let merged = Data::merged(vec![study_on("6.1", "old"), study_on("6.18", "new")]);
    let summary = said("summary", &merged);
    assert!(
        summary.contains("Unequal conditions: ") && summary.contains("kernel release (finding a)"),
        "{summary}"
    );
    let table = &tables("findings", &merged)[0];
    let titles: Vec<&str> = table.columns.iter().map(|c| c.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Condition",
            "fast (kernel release 6.1)",
            "fast (kernel release 6.18)"
        ]
    );
    let row: Vec<&str> = table.rows[0]
        .cells
        .iter()
        .map(|c| c.text.as_str())
        .collect();
    assert_eq!(row, ["kernel release", "6.1", "6.18"]);
    let body = html::body(&merged);
    assert!(body.contains("id=\"finding-unequal-conditions\""));
    assert!(
        body.contains("The conditions differ: <strong>kernel release 6.1 against 6.18</strong>.")
    );
}

#[test]
fn what_differs_between_any_number_of_systems_is_one_table() {
    let mut data = study(&[FAST, SLOW, Runs("third", SLOW.1)]);
    for (system, cache) in data.systems.iter_mut().zip(["1GiB", "2GiB", "1GiB"]) {
        system.settings.insert("cache_size".into(), cache.into());
    }
    let merged = Data::merged(vec![data.clone()]);
    let table = &tables("findings", &merged)[0];
    let titles: Vec<&str> = table.columns.iter().map(|c| c.title.as_str()).collect();
    assert_eq!(titles, ["Condition", "fast", "slow", "third"]);
    let rows: Vec<Vec<&str>> = table
        .rows
        .iter()
        .map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect())
        .collect();
    assert_eq!(rows, [["cache_size", "1GiB", "2GiB", "1GiB"]]);
    assert!(said("summary", &merged).contains("Unequal conditions: 2 pairs of systems differ in"));
    for system in &mut data.systems {
        system.settings.clear();
    }
    assert!(tables("findings", &Data::merged(vec![data])).is_empty());
}

#[test]
fn two_devices_of_a_study_are_unequal_in_their_settings_alone() {
    let mut data = study(&[FAST, SLOW]);
    let merged = Data::merged(vec![data.clone()]);
    assert!(
        merged.unequal_pairs().is_empty(),
        "{:?}",
        merged.unequal_pairs()
    );
    data.systems[0]
        .settings
        .insert("cache_size".into(), "1GiB".into());
    data.systems[1]
        .settings
        .insert("cache_size".into(), "2GiB".into());
    let resized = Data::merged(vec![data]);
    let pairs = resized.unequal_pairs();
    let said: Vec<String> = pairs[0].unequal.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["cache_size 1GiB against 2GiB"]);
}

/// A study file with this data.
fn stored(data: &Data, dir: &Path) -> PathBuf {
    let study = Study::create(dir, &data.headers[0], &data.systems).unwrap();
    for point in &data.points {
        study.add_point(point).unwrap();
    }
    dir.to_owned()
}

#[test]
fn two_studies_have_the_same_verdicts_in_a_report_and_by_compare() {
    const X: [f64; 5] = [1_000.0, 1_060.0, 970.0, 1_040.0, 1_030.0];
    const Y: [f64; 5] = [2_000.0, 2_010.0, 1_990.0, 2_005.0, 1_995.0];
    let faster = X.map(|ops| ops * 1.06);
    let faster = Box::leak(Box::new([
        faster[1], faster[0], faster[3], faster[2], faster[4],
    ]));
    let before = study(&[Runs("x", &X), Runs("y", &Y), Runs("z", &Y)]);
    let mut now = study(&[Runs("x", faster), Runs("y", &Y), Runs("z", &Y)]);
    now.headers[0].title = "Now".into();
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let paths = [&now, &before].into_iter().zip(&dirs);
    let paths: Vec<PathBuf> = paths.map(|(data, dir)| stored(data, dir.path())).collect();
    let compared = |system: Option<&str>| {
        let request = VerdictsRequest {
            study: paths[0].clone(),
            baseline_study: Some(paths[1].clone()),
            system: system.map(str::to_owned),
            metrics: vec![Metric::OPS_PER_SEC, Metric::from_name("p99 read").unwrap()],
            ..VerdictsRequest::default()
        };
        let document = Verdicts::new(&request).unwrap().document();
        let all = document["comparisons"].as_array().unwrap().clone();
        let is_x = |row: &Value| row["a"].as_str().unwrap().starts_with("x in ");
        all.into_iter().filter(is_x).collect::<Vec<_>>()
    };
    let all = compared(None);
    assert_eq!(all, compared(Some("x")), "whichever system is asked for");
    let find = |place: &str, metric: &str| {
        let is_it =
            |row: &&Value| row["place"] == place && row["metric"] == metric && row["threads"] != 4;
        all.iter().find(is_it).unwrap()
    };
    let rows = tables("against", &now.against(&before).unwrap())
        .remove(0)
        .rows;
    let of_x = rows.iter().filter(|row| row.cells[0].text == "x");
    let changes: Vec<&Cell> = of_x.map(|row| row.cells.last().unwrap()).collect();
    assert_eq!(changes.len(), 2);
    for (cell, row) in changes
        .into_iter()
        .zip([find("peak", "ops_per_sec"), find("point", "p99 read")])
    {
        let [p, adjusted] = ["p", "p_adjusted"].map(|name| row[name].as_f64().unwrap());
        assert!(adjusted > p && adjusted < 1.0, "{row}");
        assert_eq!(cell.hint, format!("p {p:.4}, adjusted {adjusted:.4}"));
        let verdict = row["verdict"].as_str().unwrap();
        assert!(cell.detail.ends_with(verdict), "{cell:?} {row}");
    }
    let points = find("point", "p99 read");
    let [p, adjusted] = ["p", "p_adjusted"].map(|name| points[name].as_f64().unwrap());
    // Two points of each of three systems: these two have the lowest p, times 6 and 5.
    assert!((4.99..6.01).contains(&(adjusted / p)), "{points}");
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
    let interval = format!(
        "{} to {}",
        number::change(1.0 - high),
        number::change(1.0 - low)
    );
    let workloads = said("workloads", &data);
    let sentence = format!(
        "Mean read latency at 16 threads, the highest: fast is 17 % lower than slow (1.67 ms against \
         2.00 ms), {interval}."
    );
    assert!(workloads.contains(&sentence), "{sentence}\n{workloads}");
}
