//! Every form of statement of the published studies, on a study where it is true and on one where it
//! is not.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

use std::collections::BTreeMap;
use tailmark_report::{Block, Cell, Data, SECTIONS, Table, Text};
use tailmark_results::{
    Arrivals, Fact, Finding, Header, Kind, KindResult, Metric, Phase, Point, PointKey, System,
    new_latencies,
};

/// The thread counts of all curves.
const THREADS: [u32; 4] = [4, 8, 16, 32];
const MS: u64 = 1_000_000;

/// Operations per second and p99 read latency in milliseconds at each thread count.
#[derive(Clone, Copy)]
struct Curve(&'static str, [(f64, f64); 4]);

const A: Curve = Curve(
    "A",
    [(100.0, 1.0), (200.0, 1.0), (300.0, 2.0), (400.0, 3.0)],
);
const B: Curve = Curve(
    "B",
    [(80.0, 2.0), (150.0, 3.0), (240.0, 9.0), (250.0, 21.0)],
);
const C: Curve = Curve("C", [(50.0, 2.0), (90.0, 3.0), (120.0, 9.0), (130.0, 22.0)]);

fn phase(ops: f64, ms: f64) -> Phase {
    let count = (ops * 100.0).round() as u64;
    let mut service = new_latencies();
    service.record_n((ms * MS as f64) as u64, count).unwrap();
    let read = KindResult {
        count,
        service,
        ..KindResult::default()
    };
    Phase {
        duration_s: 100.0,
        operations: count,
        kinds: BTreeMap::from([(Kind::Read, read)]),
        ..Phase::default()
    }
}

fn point(system: &str, workload: &str, threads: u32, (ops, ms): (f64, f64)) -> Point {
    let key = PointKey {
        system: system.into(),
        workload: workload.into(),
        distribution: "uniform".into(),
        threads,
        repeat: 1,
        target_rate: None,
        arrivals: None,
    };
    let phase = phase(ops, ms);
    Point { key, phase }
}

/// Each workload with its curves.
fn study(workloads: &[(&str, &[Curve])]) -> Data {
    let mut names: Vec<&str> = Vec::new();
    let mut points = Vec::new();
    for (workload, curves) in workloads {
        for Curve(system, values) in *curves {
            if !names.contains(system) {
                names.push(system);
            }
            let all = THREADS.into_iter().zip(values);
            points.extend(all.map(|(threads, at)| point(system, workload, threads, *at)));
        }
    }
    let system = |name: &&str| System {
        name: (*name).into(),
        driver: "rocksdb".into(),
        place: format!("/mnt/{name}"),
        semantics: "faithful".into(),
        settings: BTreeMap::new(),
        ceiling_for: None,
    };
    Data {
        headers: vec![Header::without_plan("Statements", String::new())],
        systems: names.iter().map(system).collect(),
        points,
        ..Data::default()
    }
}

fn one(curves: &[Curve]) -> Data {
    study(&[("ycsb-a", curves)])
}

fn blocks(section: &str, data: &Data) -> Vec<Block> {
    let section = SECTIONS.iter().find(|s| s.name == section).unwrap();
    (section.render)(data)
}

/// The statements of a section.
fn lines(section: &str, data: &Data) -> Vec<String> {
    let of = |block| match block {
        Block::Statements(lines) => lines.iter().map(Text::to_plain).collect(),
        _ => Vec::new(),
    };
    blocks(section, data).into_iter().flat_map(of).collect()
}

fn said(data: &Data) -> Vec<String> {
    lines("workloads", data)
}

fn headline(data: &Data) -> String {
    match &blocks("summary", data)[0] {
        Block::Text(text) => text.to_plain(),
        other => panic!("{other:?}"),
    }
}

fn tables(section: &str, data: &Data) -> Vec<Table> {
    let of = |block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    };
    blocks(section, data).into_iter().filter_map(of).collect()
}

#[track_caller]
fn assert_said(data: &Data, line: &str) {
    let said = said(data);
    assert!(said.iter().any(|other| other == line), "{line}\n{said:#?}");
}

#[track_caller]
fn assert_not_said(data: &Data, part: &str) {
    let said = said(data);
    assert!(!said.iter().any(|line| line.contains(part)), "{said:#?}");
}

fn with_baseline(mut data: Data, name: &str) -> Data {
    data.settings.baseline = Some(name.into());
    data
}

#[test]
fn improvement_at_each_thread_count_its_average_and_where_it_lies() {
    let data = one(&[A, B]);
    let expected = "Average over thread counts: +36 % for A over B, from +25 % at 4 and 16 threads to \
                    +60 % at 32 threads.";
    assert_said(&data, expected);
    let table = &tables("workloads", &data)[0];
    let at = table.columns.iter().position(|c| c.title == "improvement");
    let cells = table
        .rows
        .iter()
        .map(|row| row.cells[at.unwrap()].text.as_str());
    assert_eq!(
        cells.collect::<Vec<_>>(),
        ["+25 %", "+33 %", "+25 %", "+60 %", "+36 %"]
    );
    let alone = one(&[A]);
    assert_not_said(&alone, "Average");
}

#[test]
fn higher_at_every_thread_count() {
    let every = "at every thread count (4 to 32)";
    assert_said(&one(&[A, B]), &format!("A does more ops/s than B {every}."));
    let all = format!("A does more ops/s than every other system {every}.");
    assert_said(&one(&[A, B, C]), &all);
    let lower = format!("A has a lower p99 read latency than B {every}.");
    assert_said(&one(&[A, B]), &lower);
    let mut crossing = B;
    crossing.1[0].0 = 130.0;
    let data = one(&[A, crossing]);
    assert_not_said(&data, "more ops/s than B at every");
}

#[test]
fn the_lead_changes_along_the_curve() {
    let mut crossing = B;
    crossing.1[0].0 = 130.0;
    let expected = "The lead changes: at 8, 16 and 32 threads A is ahead, at 4 threads B.";
    assert_said(&one(&[A, crossing]), expected);
    assert_not_said(&one(&[A, B]), "The lead");
}

#[test]
fn at_the_lowest_thread_count_against_the_nearest_competitor() {
    let begin = "At 4 threads, the lowest thread count, A does";
    let nearest =
        format!("{begin} 25 % more ops/s than B, its nearest competitor: 100 against 80.0.");
    assert_said(&one(&[A, B, C]), &nearest);
    let mut tied = B;
    tied.1[0].0 = 101.0;
    assert_not_said(&one(&[A, tied]), "the lowest thread count");
}

#[test]
fn peaks_against_each_competitor_and_the_table_against_all() {
    let data = one(&[A, B, C]);
    let expected = "At peak, A does 60 % more ops/s than B and does 3.1X the ops/s of C: 400 at 32 \
                    threads against 250 at 32 threads and 130 at 32 threads.";
    assert_said(&data, expected);
    let table = &tables("peaks", &data)[0];
    let titles: Vec<&str> = table.columns.iter().map(|c| c.title.as_str()).collect();
    assert_eq!(titles[7..], ["Highest", "over A", "over B", "over C"]);
    let row: Vec<&str> = table.rows[0]
        .cells
        .iter()
        .map(|c| c.text.as_str())
        .collect();
    assert_eq!(row[7..], ["A", "", "+60 %", "3.1X"]);
}

#[test]
fn the_latency_of_all_workloads_is_a_table_with_the_lowest_against_all() {
    let data = one(&[A, B, C]);
    let table = &tables("latency", &data)[0];
    let row: Vec<&str> = table.rows[0]
        .cells
        .iter()
        .map(|c| c.text.as_str())
        .collect();
    let expected = [
        "YCSB A",
        "p99 read",
        "32 threads",
        "3.00 ms",
        "21.0 ms",
        "22.0 ms",
        "A",
        "",
        "7.0X lower",
        "7.3X lower",
    ];
    assert_eq!(row, expected);
    let row = &tables("latency", &with_baseline(data, "B"))[0].rows[0].cells;
    let row: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!(row[6..], ["A", "7.0X lower", "\u{2212}5 %"]);
    let mut without = one(&[A, B]);
    let phases = without.points.iter_mut().map(|point| &mut point.phase);
    phases.for_each(|phase| phase.kinds.clear());
    assert!(tables("latency", &without).is_empty());
}

#[test]
fn the_share_of_the_lowest() {
    let data = one(&[A, B, C]);
    assert_said(
        &data,
        "At its peak, C reaches only 52 % of B and 32 % of A.",
    );
    assert_not_said(&one(&[A, B]), "reaches only");
    let tied = Curve("C", B.1);
    assert_not_said(&one(&[A, B, tied]), "reaches only");
}

#[test]
fn latency_at_the_highest_thread_count_and_at_the_peaks() {
    let data = one(&[A, B]);
    let highest = "p99 read latency at 32 threads, the highest: A is 7.0X lower than B (3.00 ms \
                   against 21.0 ms).";
    assert_said(&data, highest);
    // Both have their peaks there.
    assert_not_said(&data, "at the peaks");
    let mut falling = B;
    falling.1[3].0 = 200.0;
    let peaks = "p99 read latency at the peaks (32 and 16 threads), as measured: A is 3.0X lower than \
                 B (3.00 ms against 9.00 ms).";
    assert_said(&one(&[A, falling]), peaks);
    let range = "p99 read latency over thread counts: A against B from 2.0X lower at 4 threads to 7.0X \
                 lower at 32 threads.";
    assert_said(&data, range);
}

#[test]
fn the_latency_that_the_plan_names_is_the_one_of_sentences_tables_and_charts() {
    let mut data = one(&[A, B]);
    data.headers[0]
        .plan
        .insert("report.latency".into(), "p99.9 read".into());
    assert!(
        said(&data)
            .concat()
            .contains("p99.9 read latency at 32 threads")
    );
    assert!(!said(&data).concat().contains("p99 read"));
    assert!(headline(&data).contains("lowest p99.9 read latency"));
    let groups: Vec<String> = tables("workloads", &data)[0]
        .columns
        .iter()
        .map(|column| column.group.clone())
        .collect();
    assert!(groups.contains(&"p99.9 read latency".to_owned()));
    let initial = |data: &Data| {
        let figure = blocks("workloads", data)
            .into_iter()
            .find_map(|block| match block {
                Block::Figure(figure) => Some(figure),
                _ => None,
            });
        let control = figure.unwrap().controls.into_iter();
        let measure = control.into_iter().find(|c| c.key == "measure").unwrap();
        measure.choices[measure.initial].label.clone()
    };
    assert_eq!(initial(&data), "p99.9");
    // What was asked for counts before what the study says.
    data.settings.latency = Metric::latency("mean read");
    assert_eq!(initial(&data), "mean");
    assert!(headline(&data).contains("lowest mean read latency"));
}

#[test]
fn saturation_a_flat_curve_a_spike_and_a_curve_that_still_rises() {
    let saturated = Curve(
        "S",
        [(100.0, 1.0), (200.0, 2.0), (203.0, 5.0), (201.0, 12.0)],
    );
    let expected = "S is saturated from 8 threads on: up to 32 threads ops/s gain 1.5 %, while p99 read \
                    latency rises 6.0X (2.00 ms to 12.0 ms).";
    assert_said(&one(&[saturated]), expected);
    assert_not_said(&one(&[A]), "saturated");
    let rising = "A still gains at 32 threads (+33 % over 16): more threads were not tested.";
    assert_said(&one(&[A]), rising);
    assert_not_said(&one(&[saturated]), "still gains");
    let flat = Curve(
        "F",
        [(100.0, 1.0), (200.0, 1.1), (300.0, 1.1), (400.0, 1.2)],
    );
    let expected = "F's p99 read latency stays flat from 4 to 32 threads: 1.00 ms to 1.20 ms.";
    assert_said(&one(&[flat]), expected);
    assert_not_said(&one(&[A]), "flat");
    let spike = Curve(
        "K",
        [(100.0, 1.0), (200.0, 9.0), (300.0, 2.0), (400.0, 3.0)],
    );
    let expected = "K's p99 read latency has a spike at 8 threads: 9.00 ms, with 1.00 ms and 2.00 ms \
                    beside it.";
    assert_said(&one(&[spike]), expected);
    assert_not_said(&one(&[A]), "spike");
}

#[test]
fn ties_and_overlapping_points() {
    let mut near = A;
    near.0 = "N";
    near.1[3] = (405.0, 3.0);
    near.1[0].0 = 70.0;
    let data = one(&[A, near]);
    let overlap =
        "N and A overlap at 8, 16 and 32 threads: ops/s and p99 read latency lie within 3 %.";
    assert_said(&data, overlap);
    assert!(said(&data)[0].starts_with("At peak, N is tied with A"));
    assert!(headline(&data).contains("No system leads at its peak in any workload."));
    assert_not_said(&one(&[A, B]), "overlap");
}

#[test]
fn mixed_leads_are_told_with_their_workloads() {
    let swapped = [Curve("B", A.1), Curve("A", B.1)];
    let even = [Curve("A", A.1), Curve("B", A.1)];
    let data = study(&[
        ("ycsb-a", &swapped),
        ("ycsb-b", &[A, B]),
        ("ycsb-c", &[A, B]),
        ("ycsb-d", &even),
    ]);
    let text = headline(&data);
    let expected = "A has the highest peak in YCSB B and C, by 60 %; B in YCSB A, by 60 % over the \
                    nearest competitor. No system leads at its peak in YCSB D.";
    assert!(text.contains(expected), "{text}");
    let ranges = study(&[("ycsb-a", &[A, B]), ("ycsb-b", &[A, C])]);
    let expected = "A has the highest peak in all 2 workloads, by 60 % (YCSB A) to 3.1X (YCSB B) over \
                    the nearest competitor.";
    assert!(
        headline(&ranges).contains(expected),
        "{}",
        headline(&ranges)
    );
}

#[test]
fn with_a_baseline_every_improvement_is_that_of_one_system_over_it() {
    let data = with_baseline(study(&[("ycsb-a", &[A, B, C])]), "B");
    let text = headline(&data);
    for expected in [
        "A peaks higher than B in YCSB A, by 60 %.",
        "C peaks lower than B in YCSB A, by 48 %.",
        "A has a lower p99 read latency than B at 32 threads in YCSB A, by 7.0X.",
        "C has a higher p99 read latency than B at 32 threads in YCSB A, by 5 %.",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert_said(
        &data,
        "At peak, C does 48 % less ops/s than B: 130 at 32 threads against 250 at 32 threads.",
    );
    let ops = &tables("workloads", &data)[0];
    let titles: Vec<&str> = ops.columns.iter().map(|c| c.title.as_str()).collect();
    assert_eq!(titles, ["Threads", "A", "B", "C", "A over B", "C over B"]);
    let last: Vec<&str> = ops.rows[3].cells.iter().map(|c| c.text.as_str()).collect();
    assert_eq!(last[4..], ["+60 %", "\u{2212}48 %"]);
    let peaks = &tables("peaks", &data)[0].rows[0].cells;
    let texts: Vec<&str> = peaks.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!(texts[7..], ["A", "+60 %", "\u{2212}48 %"]);
    // Of a system that is not there nothing is the improvement.
    let elsewhere = study(&[("ycsb-a", &[A, B]), ("ycsb-b", &[A])]);
    assert_said(
        &with_baseline(elsewhere, "B"),
        "B was not measured here: without the baseline nothing is compared.",
    );
}

#[test]
fn sentence_and_table_of_a_workload_name_the_same_leader() {
    // B leads the study, and A one of its workloads.
    let best = Curve("B", A.1.map(|(ops, ms)| (ops * 9.0, ms)));
    let data = study(&[("ycsb-a", &[A, B]), ("ycsb-b", &[A, best])]);
    assert!(said(&data)[0].starts_with("At peak, A does 60 % more"));
    let table = &tables("workloads", &data)[0];
    assert!(
        table.note.contains("Improvements are those of A "),
        "{}",
        table.note
    );
    let cells: Vec<&Cell> = table.rows.iter().map(|row| &row.cells[3]).collect();
    assert!(cells.iter().all(|cell| cell.text.starts_with('+')));
}

#[test]
fn latencies_are_ratios_from_twice_on_and_never_hundreds_of_percent() {
    let slow = Curve("B", A.1.map(|(ops, ms)| (ops, ms * 16.81)));
    let data = with_baseline(one(&[A, slow]), "A");
    assert_said(
        &data,
        "p99 read latency at 32 threads, the highest: B is 17X higher than A (50.5 ms against 3.00 \
         ms).",
    );
    for table in tables("workloads", &data) {
        let cells = table.rows.iter().flat_map(|row| &row.cells);
        let percents = cells.filter_map(|cell| cell.text.strip_suffix(" %"));
        for percent in percents {
            let digits = percent.trim_start_matches(['+', '±', '\u{2212}']);
            assert!(digits.parse::<u32>().unwrap() < 100, "{percent}");
        }
    }
}

#[test]
fn a_peak_where_the_clients_were_the_limit_is_a_lower_bound() {
    let mut data = one(&[A, B]);
    assert!(!said(&data).concat().contains('≥'));
    let last = data.points.iter_mut().filter(|p| p.key.threads == 32);
    last.for_each(|point| {
        point.phase.findings.push(Finding {
            code: "client-saturated".into(),
            text: "The processors were busy.".into(),
        });
    });
    let expected = "At peak, A does 60 % more ops/s than B: ≥ 400 at 32 threads against ≥ 250 at 32 \
                    threads.";
    assert_said(&data, expected);
    assert_eq!(tables("peaks", &data)[0].rows[0].cells[1].text, "≥ 400");
    let summary = blocks("summary", &data);
    let badges = summary.iter().find_map(|block| match block {
        Block::Cards(cards) => Some(cards[0].badges.clone()),
        _ => None,
    });
    assert_eq!(badges.unwrap()[0].code, "client-saturated");
}

#[test]
fn what_a_workload_stands_for_and_why_one_was_left_out() {
    let mut data = one(&[A, B]);
    let about = |data: &Data| match &blocks("workloads", data)[0] {
        Block::Heading { about, .. } => about.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(about(&data), "100 % read; uniform keys");
    let summary = |data: &Data| format!("{:?}", blocks("summary", data));
    assert!(!summary(&data).contains("Left out"));
    data.facts.push(Fact {
        system: None,
        group: Fact::USE_CASE.into(),
        name: "ycsb-a".into(),
        value: "recording user sessions".into(),
    });
    data.headers[0].plan.insert(
        "report.left_out".into(),
        "ycsb-e: not every database can scan".into(),
    );
    assert_eq!(
        about(&data),
        "100 % read; recording user sessions; uniform keys"
    );
    let expected = "Left out: YCSB E (not every database can scan).";
    assert!(summary(&data).contains(expected), "{}", summary(&data));
}

/// The study of 2022: about 10 and 23 ms at 40,000 ops/s; 45,000 and 23,000 ops/s at 15 ms.
const OF_2022: [Curve; 2] = [
    Curve(
        "new",
        [
            (20_000.0, 2.0),
            (30_000.0, 5.0),
            (40_000.0, 10.0),
            (48_000.0, 20.0),
        ],
    ),
    Curve(
        "old",
        [
            (10_000.0, 4.0),
            (23_000.0, 15.0),
            (40_000.0, 23.0),
            (42_000.0, 40.0),
        ],
    ),
];

#[test]
fn at_a_fixed_rate_and_at_a_fixed_latency_off_the_curve() {
    let mut data = one(&OF_2022);
    assert!(blocks("fixed", &data).is_empty());
    let plan = &mut data.headers[0].plan;
    plan.insert("report.at_rate".into(), "40000, 90000".into());
    plan.insert("report.at_latency".into(), "15ms".into());
    let said = lines("fixed", &data);
    let rate = "YCSB A, p99 read latency at 40,000 ops/s: new is 2.3X lower than old (10.0 ms against \
                23.0 ms; interpolated).";
    assert_eq!(said[0], rate);
    let latency = "YCSB A, ops/s at 15.0 ms of p99 read latency: new does 94 % more ops/s than old (44,677 \
                   against 22,995; interpolated).";
    assert_eq!(said[1], latency);
    let tables = tables("fixed", &data);
    assert_eq!(tables.len(), 2, "no curve reaches 90,000 ops/s");
    assert_eq!(tables[0].rows[0].cells[2].detail, "interpolated");
    // 40,000 + 8,000 ln(1.5) / ln(2), but for the three digits of histograms.
    let ops = tables[1].rows[0].cells[2].value.unwrap();
    assert!((ops - 44_679.7).abs() < 20.0, "{ops}");
}

#[test]
fn a_measured_value_is_in_no_ratio_with_an_interpolated_one() {
    let mut data = one(&OF_2022);
    data.settings.at_rate = vec![40_000.0];
    let mut at_rate = point("new", "ycsb-a", 64, (40_000.0, 12.0));
    at_rate.key.target_rate = Some(40_000.0);
    at_rate.key.arrivals = Some(Arrivals::Poisson);
    data.points.push(at_rate.clone());
    let table = &tables("fixed", &data)[0];
    let cells = &table.rows[0].cells;
    assert_eq!(
        (cells[2].text.as_str(), cells[2].detail.as_str()),
        ("12.0 ms", "measured, poisson arrivals")
    );
    assert_eq!(cells[3].detail, "interpolated");
    assert!(lines("fixed", &data).is_empty());
    at_rate.key.system = "old".into();
    at_rate.phase = phase(40_000.0, 24.0);
    data.points.push(at_rate);
    let said = lines("fixed", &data);
    assert!(said[0].contains("new is 2.0X lower than old (12.0 ms against 24.0 ms; measured"));
}

#[test]
fn of_points_at_one_rate_it_is_latency_that_is_compared() {
    let slow = Curve("B", A.1.map(|(ops, ms)| (ops, ms * 43.0)));
    let mut data = one(&[A, slow]);
    for point in &mut data.points {
        point.key.target_rate = Some(100.0);
        point.key.arrivals = Some(Arrivals::Even);
    }
    let text = headline(&data);
    let expected = "A has the lowest p99 read latency at 32 threads in YCSB A";
    assert!(text.contains(expected) && !text.contains("peak"), "{text}");
    let cards = blocks("summary", &data)
        .into_iter()
        .find_map(|block| match block {
            Block::Cards(cards) => Some(cards),
            _ => None,
        });
    assert_eq!(cards.unwrap()[0].value, "43X lower");
}

#[test]
fn the_arithmetic_of_scale_is_that_of_the_study() {
    let mut data = one(&[A]);
    data.points.truncate(1);
    let read = data.points[0].phase.kinds.get_mut(&Kind::Read).unwrap();
    *read = KindResult {
        count: 100_000_000,
        ..KindResult::default()
    };
    read.service.record_n(MS, 100_000_000).unwrap();
    data.points[0].phase.operations = 100_000_000;
    let tables = tables("qos", &data);
    let scaled = tables
        .iter()
        .find(|table| table.caption.contains("at scale"));
    let rows = &scaled.unwrap().rows;
    let five_nines = rows
        .iter()
        .find(|row| row.cells[2].text == "p99.999")
        .unwrap();
    let texts: Vec<&str> = five_nines.cells[4..]
        .iter()
        .map(|c| c.text.as_str())
        .collect();
    assert_eq!(texts, ["10.0", "100", "2,000", "40,000"]);
}
