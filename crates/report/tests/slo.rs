//! The highest rate that holds, as a report says it: in a table, in a chart, and in place of what would
//! be read off a curve.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "synthetic/searches.rs"]
mod searches;
mod sections;
mod synthetic;

use searches::{LIMIT, Tries, add_searches, add_two, add_two_for};
use sections::{blocks, tables};
use std::time::Duration;
use synthetic::SMALL;
use tailmark_model::{Arrivals, Metric};
use tailmark_report::{Block, Data, Figure, Table};
use tailmark_stats::slo::Verdict;

fn data(quick: bool) -> Data {
    let mut data = synthetic::study(SMALL);
    add_searches(&mut data, quick);
    data.settings.at_latency = vec![Duration::from_millis(15)];
    data
}

fn texts(table: &Table) -> Vec<Vec<&str>> {
    let rows = table.rows.iter();
    rows.map(|row| row.cells.iter().map(|cell| &*cell.text).collect())
        .collect()
}

#[test]
fn each_system_has_the_two_ends_of_its_answer() {
    let data = data(false);
    let tables = tables("slo", &data);
    let answers = texts(&tables[0]);
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0][2..5], [LIMIT, "40,000", "42,000"]);
    assert!(answers[0][5].contains("each measured twice"));
    assert_eq!(answers[1][3..5], ["60,000", "–"]);
    assert_eq!(answers[1][5], "held at the highest rate that was requested");
}

#[test]
fn every_trial_has_its_share_over_the_limit_and_its_verdict() {
    let data = data(false);
    let tables = tables("slo", &data);
    let trials = texts(&tables[1]);
    let verdicts: Vec<_> = trials.iter().map(|row| (row[1], row[10])).collect();
    let expected = [
        ("40,000", "pass"),
        ("44,000", "fail"),
        ("42,000", "fail"),
        ("40,000", "pass"),
        ("42,000", "fail"),
        ("30,000", "pass"),
        ("60,000", "pass"),
        ("60,000", "pass"),
    ];
    assert_eq!(verdicts, expected);
    assert_eq!(
        (trials[0][4], trials[0][7], trials[0][9]),
        ("0.398", "1", "20")
    );
}

#[test]
fn the_chart_draws_the_limit() {
    let data = data(false);
    let blocks = blocks("slo", &data);
    let figures = blocks.iter().filter_map(|block| match block {
        Block::Figure(Figure { charts, .. }) => Some(charts),
        _ => None,
    });
    let charts: Vec<_> = figures.flatten().collect();
    assert_eq!(charts.len(), 1);
    let series = charts[0].variants[0]["series"].as_array().unwrap();
    assert_eq!(series.len(), 2, "one for each system");
    assert_eq!(series[0]["data"].as_array().unwrap().len(), 5);
    assert_eq!(series[0]["markLine"]["data"][0]["yAxis"], 15_000.0, "us");
}

#[test]
fn what_was_searched_stands_in_place_of_what_would_be_read_off_a_curve() {
    for (quick, source) in [
        (false, "measured by a search"),
        (true, "measured by a quick search"),
    ] {
        let data = data(quick);
        let blocks = blocks("fixed", &data);
        let said = format!("{blocks:?}");
        assert!(said.contains(source), "{said}");
        let tables = tables("fixed", &data);
        let rows = tables.iter().map(texts);
        let of_c = rows.flatten().find(|row| row.contains(&"40,000 to 42,000"));
        assert!(of_c.is_some(), "{said}");
    }
}

/// The answers 40,000 to 42,000, 20,000 to 21,000, and not at any rate.
const FAST: Tries<'_> = &[
    (40_000.0, 0.004),
    (42_000.0, 0.014),
    (40_000.0, 0.005),
    (42_000.0, 0.015),
];
const SLOW: Tries<'_> = &[
    (20_000.0, 0.004),
    (21_000.0, 0.014),
    (20_000.0, 0.005),
    (21_000.0, 0.015),
];
const NEVER: Tries<'_> = &[(100.0, 0.5), (10.0, 0.6), (10.0, 0.6)];

/// The sentence about two searches of which the second is the baseline.
fn said_of(tries: [Tries<'_>; 2], baseline: usize) -> String {
    let mut data = synthetic::study(SMALL);
    add_two(&mut data, false, tries);
    data.settings.at_latency = vec![Duration::from_millis(15)];
    data.settings.baseline = Some(data.systems[baseline].name.clone());
    let blocks = blocks("fixed", &data);
    let lines = blocks.iter().filter_map(|block| match block {
        Block::Statements(lines) => Some(lines),
        _ => None,
    });
    let lines = lines.flatten().map(tailmark_report::Text::to_plain);
    let tables = tables("fixed", &data);
    let rows = tables.iter().flat_map(|table| texts(table).concat());
    let rows: Vec<String> = rows.map(str::to_owned).collect();
    lines.chain(rows).collect::<Vec<_>>().join("\n")
}

#[test]
fn of_a_search_for_two_limits_each_has_its_own_answer() {
    let at = |ms: u64, latency: &str| -> Vec<String> {
        let mut data = synthetic::study(SMALL);
        add_two_for(
            &[LIMIT, "p99.9 read < 100ms"],
            &mut data,
            false,
            [FAST, NEVER],
        );
        data.settings.at_latency = vec![Duration::from_millis(ms)];
        data.settings.metric = Metric::from_name(latency);
        let tables = tables("fixed", &data);
        let mut rows = tables.iter().flat_map(texts);
        let row = rows.find(|row| row[0].contains("YCSB C")).unwrap();
        row.into_iter().map(str::to_owned).collect()
    };
    // Too many reads take 20 ms: from 42,000 ops/s on, and at every rate.
    let first = at(15, "p99 read");
    assert_eq!(first[3..5], ["40,000 to 42,000", "measured by a search"]);
    assert_eq!(first[5..7], ["not at any rate", "measured by a search"]);
    // None takes 100 ms at any rate that was tried.
    let second = at(100, "p99.9 read");
    assert_eq!(second[3..5], ["≥ 42,000", "measured by a search"]);
}

#[test]
fn answers_that_lie_apart_do_not_overlap_whichever_is_the_baseline() {
    for (answers, baseline, expected) in [
        ([FAST, SLOW], 0, "delivers at least 47 % fewer ops/s than"),
        ([FAST, SLOW], 1, "delivers at least 90 % more ops/s than"),
        ([FAST, FAST], 1, "overlap, so they show no difference"),
    ] {
        let said = said_of(answers, baseline);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn an_answer_that_no_rate_holds_is_not_replaced_by_a_reading() {
    let said = said_of([FAST, NEVER], 0);
    assert!(
        said.contains("not at any rate\nmeasured by a search"),
        "{said}"
    );
    assert!(
        said.contains("delivers at least 99 % fewer ops/s than"),
        "{said}"
    );
}

#[test]
fn a_quick_search_is_said_at_every_number() {
    let data = data(true);
    let answers = &tables("slo", &data)[0];
    for row in &answers.rows {
        let numbers = row.cells[3..5].iter().filter(|cell| cell.value.is_some());
        for cell in numbers {
            assert_eq!(cell.detail, "quick search");
        }
    }
}

#[test]
fn where_a_search_decided_nothing_no_reading_off_a_curve_takes_its_place() {
    // Until time is up, the share over the limit is what is allowed.
    let undecided = [(60_000.0, 0.01); 12];
    let said = said_of([FAST, &undecided], 0);
    let expected = "40,000 to 42,000\nmeasured by a search\nnot known\nmeasured by a search";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn searches_of_several_studies_say_what_they_say_together_in_any_order() {
    // 30,000 held, and 50,000 did not.
    let wide: Tries<'_> = &[
        (30_000.0, 0.004),
        (50_000.0, 0.02),
        (30_000.0, 0.005),
        (50_000.0, 0.02),
    ];
    let answers = |studies: [[Tries<'_>; 2]; 2]| {
        let mut data = synthetic::study(SMALL);
        for tries in studies {
            add_two(&mut data, false, tries);
        }
        data.settings.at_latency = vec![Duration::from_millis(15)];
        let tables = tables("fixed", &data);
        let row = tables
            .iter()
            .flat_map(texts)
            .find(|row| row[0].contains("YCSB C"));
        row.map(|row| [row[3].to_owned(), row[5].to_owned()])
    };
    let expected = Some(["40,000 to 42,000", "not known"].map(str::to_owned));
    // Of the second system one search held where the other did not.
    for studies in [[[FAST, FAST], [wide, SLOW]], [[wide, SLOW], [FAST, FAST]]] {
        assert_eq!(answers(studies), expected);
    }
    for studies in [[[FAST, FAST], [FAST, NEVER]], [[FAST, NEVER], [FAST, FAST]]] {
        assert_eq!(answers(studies), expected);
    }
}

#[test]
fn three_searches_that_contradict_each_other_are_not_known_in_every_order() {
    const FASTER: Tries<'_> = &[
        (45_000.0, 0.004),
        (47_000.0, 0.014),
        (45_000.0, 0.005),
        (47_000.0, 0.015),
    ];
    let all = [FAST, SLOW, FASTER];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let mut data = synthetic::study(SMALL);
        for index in order {
            add_two(&mut data, false, [FAST, all[index]]);
        }
        data.settings.at_latency = vec![Duration::from_millis(15)];
        let tables = tables("fixed", &data);
        let mut rows = tables.iter().flat_map(texts);
        let row = rows.find(|row| row[0].contains("YCSB C")).unwrap();
        assert_eq!(
            [row[3], row[5]],
            ["40,000 to 42,000", "not known"],
            "{order:?}"
        );
    }
}

#[test]
fn where_only_rates_were_measured_the_answer_of_a_search_is_given() {
    let mut data = data(false);
    data.points.retain(|point| point.key.workload == "ycsb-c");
    let expected = ["40,000 to 42,000", "measured by a search"];
    for has_rates in [false, true] {
        for (point, rate) in data.points.iter_mut().zip(1..) {
            point.key.target_rate = Some(f64::from(rate) * 1_000.0);
            point.key.arrivals = Some(Arrivals::Poisson);
        }
        data.headers[0].settings.has_rates = has_rates;
        let tables = tables("fixed", &data);
        let rows: Vec<_> = tables.iter().flat_map(texts).collect();
        assert_eq!(rows.len(), 1, "a row for each workload: {rows:?}");
        assert_eq!(rows[0][3..5], expected);
    }
}

#[test]
fn a_row_of_a_limit_has_the_verdict_of_that_limit_beside_that_of_the_trial() {
    let mut data = synthetic::study(SMALL);
    let limits = [LIMIT, "p99.9 read < 100ms"];
    add_two_for(&limits, &mut data, false, [FAST, NEVER]);
    // The trial at 42,000 ops/s breaks the first limit alone, and the client is to blame.
    let trial = &mut data.searches[0].slo.trials[1];
    trial.verdict = Verdict::ClientLimit;
    let table = &tables("slo", &data)[1];
    let columns: Vec<&str> = table.columns.iter().map(|c| c.title.as_str()).collect();
    assert_eq!(columns[10..], ["Verdict", "Trial"]);
    let rows = texts(table);
    let of_trial = &rows[2..4];
    assert_eq!(of_trial[0][1..3], ["42,000", LIMIT]);
    assert_eq!(of_trial[0][10..], ["fail", "client-limit"]);
    assert_eq!(of_trial[1][10..], ["pass", "client-limit"]);
}
