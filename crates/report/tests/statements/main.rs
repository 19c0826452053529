//! Every form of statement of the published studies, on a study where it is true and on one where it
//! is not.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod bounds;
mod brief;
mod distributions;
mod ended;
mod first_page;
mod fixed;
mod hard;
mod peaks;
#[path = "../sections/mod.rs"]
mod sections;
mod shape;
mod studies;
mod subject;
mod support;
#[path = "../systems/mod.rs"]
mod systems;

use support::*;
use tailmark_model::{Fact, Metric, finding::CLIENT_SATURATED};
use tailmark_report::{Block, Cell, Data};

#[test]
fn improvement_at_each_thread_count_its_average_and_where_it_lies() {
    let data = one(&[A, B]);
    let expected = "On average over thread counts, A delivers 36 % more ops/s than B (geometric mean of the ratios: \
                    +35 %), from +25 % at 4 and 16 threads to +60 % at 32 threads.";
    assert_said(&data, expected);
    let table = &tables("workloads", &data)[0];
    let at = table.columns.iter().position(|c| c.title == "difference");
    let cells = table
        .rows
        .iter()
        .map(|row| row.cells[at.unwrap()].text.as_str());
    assert_eq!(
        cells.collect::<Vec<_>>(),
        ["+25 %", "+33 %", "+25 %", "+60 %", "+36 %"]
    );
    let alone = one(&[A]);
    assert_not_said(&alone, "On average");
}

#[test]
fn higher_at_every_thread_count() {
    let every = "at every thread count (4 to 32)";
    assert_said(
        &one(&[A, B]),
        &format!("A delivers more ops/s than B {every}."),
    );
    let all = format!("A delivers more ops/s than every other system {every}.");
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
    let expected = "The lead in ops/s changes: A leads at 8, 16 and 32 threads, B at 4 threads.";
    assert_said(&one(&[A, crossing]), expected);
    assert_not_said(&one(&[A, B]), "The lead");
}

#[test]
fn at_the_lowest_thread_count_against_the_nearest_competitor() {
    let begin = "At 4 threads, the lowest thread count, A delivers";
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
    let expected = "At peak, A delivers 60 % more ops/s than B and 208 % more than C: 400 at 32 \
                    threads against 250 at 32 threads (B) and 130 at 32 threads (C).";
    assert_said(&data, expected);
    let table = &tables("peaks", &data)[0];
    let titles: Vec<&str> = table.columns.iter().map(|c| c.title.as_str()).collect();
    assert_eq!(titles[7..], ["Highest", "over B", "over C"]);
    let row: Vec<&str> = table.rows[0]
        .cells
        .iter()
        .map(|c| c.text.as_str())
        .collect();
    assert_eq!(row[7..], ["A", "+60 %", "+208 %"]);
}

#[test]
fn a_share_of_peaks_is_stated_only_if_all_have_the_same_thread_counts() {
    let share = "The peak of C reaches only";
    let all = said(&one(&[A, B, C]));
    assert!(all.iter().any(|line| line.starts_with(share)), "{all:#?}");
    let mut data = one(&[A, B, C]);
    data.points
        .retain(|point| point.key.system == "A" || point.key.threads != 32);
    assert_not_said(&data, share);
}

#[test]
fn with_a_baseline_and_too_few_runs_nothing_is_called_no_difference() {
    let mut near = A;
    near.0 = "N";
    let text = headline(&with_baseline(one(&[A, near]), "A"));
    assert!(
        text.contains("N and A are within 3 % of each other at peak in YCSB A."),
        "{text}"
    );
    assert!(!text.contains("no difference"), "{text}");
}

#[test]
fn the_latency_of_all_workloads_is_a_table_with_the_lowest_against_all() {
    let data = one(&[A, B, C]);
    let row = |given: &Data| -> Vec<String> {
        let row = tables("latency", given).remove(0).rows.remove(0);
        row.cells.into_iter().map(|cell| cell.text).collect()
    };
    let expected = [
        "YCSB A",
        "p99 read",
        "32 threads",
        "3.00 ms",
        "21.0 ms",
        "22.0 ms",
        "A",
        "7.0X lower",
        "7.3X lower",
    ];
    assert_eq!(row(&data), expected);
    let against_b = row(&with_baseline(data, "B"));
    assert_eq!(against_b[6..], ["A", "7.0X lower", "1.05X higher"]);
    let mut without = one(&[A, B]);
    let phases = without.points.iter_mut().map(|point| &mut point.phase);
    phases.for_each(|phase| phase.kinds.clear());
    assert!(tables("latency", &without).is_empty());
    // Of ops/s alone there is still a chart.
    let charts = blocks("workloads", &without)
        .into_iter()
        .find_map(|block| match block {
            Block::Figure(figure) => Some(figure.charts.len()),
            _ => None,
        });
    assert_eq!(charts, Some(1));
}

#[test]
fn the_share_of_the_lowest() {
    let data = one(&[A, B, C]);
    assert_said(
        &data,
        "The peak of C reaches only 52 % of B's and 32 % of A's.",
    );
    assert_not_said(&one(&[A, B]), "reaches only");
    let tied = Curve("C", B.1);
    assert_not_said(&one(&[A, B, tied]), "reaches only");
}

#[test]
fn the_share_of_a_peak_that_is_a_lower_bound_is_at_most_that() {
    for (limited, expected) in [
        (&["A"][..], "52 % of B's and at most 33 % of A's"),
        (&["B"], "at most 52 % of B's and 32 % of A's"),
        (&["A", "B"], "at most 52 % of B's and at most 33 % of A's"),
    ] {
        let mut data = one(&[A, B, C]);
        let points = data.points.iter_mut();
        let at_peak =
            points.filter(|p| p.key.threads == 32 && limited.contains(&p.key.system.as_str()));
        at_peak.for_each(|point| point.phase.findings.push(CLIENT_SATURATED.finding("95 %")));
        assert_said(&data, &format!("The peak of C reaches only {expected}."));
    }
}

#[test]
fn latency_at_the_highest_thread_count_and_at_the_peaks() {
    let data = one(&[A, B]);
    let highest = "At 32 threads, the highest thread count, the p99 read latency of A is 7.0X lower \
                   than B's (3.00 ms against 21.0 ms).";
    assert_said(&data, highest);
    // Both have their peaks there.
    assert_not_said(&data, "the peaks");
    let mut falling = B;
    falling.1[3].0 = 200.0;
    let peaks = "As measured at the peaks (32 and 16 threads), the p99 read latency of A is 3.0X lower \
                 than B's (3.00 ms against 9.00 ms).";
    assert_said(&one(&[A, falling]), peaks);
    let range = "Across thread counts, the p99 read latency of A ranges from 2.0X lower than B's at 4 \
                 threads to 7.0X lower at 32 threads.";
    assert_said(&data, range);
}

#[test]
fn the_latency_that_the_plan_names_is_the_one_of_sentences_tables_and_charts() {
    let mut data = one(&[A, B]);
    data.headers[0].settings.report.metric = Metric::from_name("p99.9 read");
    assert!(
        said(&data)
            .concat()
            .contains("At 32 threads, the highest thread count, the p99.9 read latency of A ")
    );
    assert!(!said(&data).concat().contains("p99 read"));
    assert!(headline(&data).contains("lower p99.9 read latency"));
    let groups: Vec<String> = tables("workloads", &data)[0]
        .columns
        .iter()
        .map(|column| column.group.clone())
        .collect();
    assert!(groups.contains(&"p99.9 read latency".to_owned()));
    let initial = |given: &Data| {
        let mut blocks = blocks("workloads", given).into_iter();
        let figure = blocks.find_map(|block| match block {
            Block::Figure(figure) => Some(figure),
            _ => None,
        });
        let control = figure.unwrap().controls.into_iter();
        let measure = control.into_iter().find(|c| c.key == "measure").unwrap();
        measure.choices[measure.initial].label.clone()
    };
    assert_eq!(initial(&data), "p99.9");
    // What was asked for counts before what the study says.
    data.settings.metric = Metric::from_name("mean read");
    assert_eq!(initial(&data), "mean");
    assert!(headline(&data).contains("lower mean read latency"));
}

#[test]
fn a_ratio_at_the_end_of_the_band_is_none_in_practice() {
    let edge = Curve("E", A.1.map(|(ops, ms)| (ops * 1.03, ms)));
    assert_said(
        &one(&[A, edge]),
        "At peak, E is within 3 % of A: 412 against 400, both at 32 threads.",
    );
}

#[test]
fn a_peak_without_a_verdict_says_so_where_its_points_have_one() {
    let runs = |system, threads, all: &[f64]| {
        let run = |(repeat, ops): (u32, &f64)| {
            let mut point = point(system, "ycsb-a", threads, (*ops, 1.0));
            point.key.repeat = repeat;
            point
        };
        (1..).zip(all).map(run).collect::<Vec<_>>()
    };
    let mut data = one(&[Curve("B", A.1), Curve("C", A.1)]);
    data.points = [
        runs("B", 4, &[2_080.0, 2_100.0, 2_060.0, 2_090.0]),
        runs("B", 8, &[3_074.0, 3_010.0, 3_130.0, 3_080.0]),
        // Three runs at a count that may be the peak.
        runs("C", 4, &[2_055.0, 1_855.0, 2_353.0]),
        runs("C", 8, &[2_748.0, 2_600.0, 2_900.0, 2_990.0]),
    ]
    .concat();
    let said = said(&data);
    let peak = said.iter().find(|line| line.starts_with("At peak, B"));
    let peak = peak.unwrap_or_else(|| panic!("{said:#?}"));
    assert!(
        peak.contains("10 % more ops/s than C (too few runs for a verdict)"),
        "{peak}"
    );
}

#[test]
fn an_average_of_latencies_is_the_same_in_headline_and_sentence() {
    // Half at the first count and 1.9 times at the others: the mean of the ratios says higher, that of
    // their logarithms lower.
    let s1 = Curve(
        "S1",
        [(100.0, 1.0), (200.0, 1.0), (300.0, 1.0), (400.0, 1.0)],
    );
    let s2 = Curve(
        "S2",
        [(100.0, 0.3), (200.0, 0.5), (300.0, 1.9), (400.0, 1.9)],
    );
    let mut data = one(&[s1, s2]);
    data.settings.metric = tailmark_model::Metric::from_name("mean read");
    data.settings.subject = Some("S2".into());
    let sentences = said(&data).join(" ");
    assert!(
        sentences.contains("mean read latency of S2 is 14 % lower"),
        "{sentences}"
    );
    assert!(headline(&data).contains("14 %"), "{}", headline(&data));
}

#[test]
fn the_average_of_equal_ratios_is_that_ratio_to_its_last_digit() {
    // A nanosecond against a second.
    let fast = Curve("A", [(10.0, 1e-6); 4]);
    let slow = Curve("B", [(10.0, 1e3); 4]);
    let mut data = one(&[fast, slow]);
    data.settings.metric = tailmark_model::Metric::from_name("mean read");
    let rows: Vec<_> = sections::tables("workloads", &data)
        .into_iter()
        .flat_map(|table| table.rows)
        .collect();
    let apart = |name: &str| {
        let of_name = rows.iter().filter(|row| row.cells[0].text == name);
        let mut cells = of_name.flat_map(|row| &row.cells);
        cells
            .find(|cell| cell.text.contains("X lower"))
            .unwrap()
            .text
            .clone()
    };
    assert_eq!(apart("average"), apart("4"));
}

#[test]
fn percentages_that_differ_are_a_range() {
    let a = Curve(
        "A",
        [
            (6_164.0, 2.0),
            (6_164.0, 2.0),
            (6_146.0, 2.0),
            (6_146.0, 2.0),
        ],
    );
    let b = Curve("B", [(10_000.0, 2.0); 4]);
    let mut data = one(&[a, b]);
    data.settings.subject = Some("A".into());
    let said = said(&data).join(" ");
    let range = "from \u{2212}39 % at 16 and 32 threads to \u{2212}38 % at 4 and 8 threads";
    assert!(said.contains(range), "{said}");
}

#[test]
fn values_far_below_another_are_not_rounded_to_nothing() {
    let (p, q) = ([(40.0, 0.1); 4], [(10_000.0, 370.0); 4]);
    let mut data = one(&[Curve("P", p), Curve("Q", q)]);
    data.settings.ratios = Some(tailmark_model::number::Ratios::Percent);
    data.settings.subject = Some("P".into());
    let percent = said(&data).join(" ");
    assert!(percent.contains("99.97 % lower"), "{percent}");
    assert!(!percent.contains("100 % lower"), "{percent}");
}

#[test]
fn figures_come_in_the_order_of_the_names_before_them() {
    let flat = |name, ops| Curve(name, [(ops, 2.0); 4]);
    let mut data = one(&[
        flat("X", 1_500.0),
        flat("Zed", 3_000.0),
        flat("W4", 1_500.0),
    ]);
    data.settings.subject = Some("X".into());
    let at_peak = said(&data)
        .into_iter()
        .find(|line| line.contains("At peak"));
    let at_peak = at_peak.unwrap();
    let figures =
        "1,500 at 4 threads against 1,500 at 4 threads (W4) and 3,000 at 4 threads (Zed).";
    assert!(at_peak.ends_with(figures), "{at_peak}");
}

#[test]
fn ties_and_overlapping_points() {
    let mut near = A;
    near.0 = "N";
    near.1[3] = (405.0, 3.0);
    near.1[0].0 = 70.0;
    let data = one(&[A, near]);
    let overlap = "Points overlap (within 3 % in ops/s and p99 read latency): A and N at 8, 16 and 32 \
                   threads.";
    assert_said(&data, overlap);
    assert!(said(&data)[0].starts_with("At peak, N is within 3 % of A"));
    let text = headline(&data);
    assert!(text.contains("At peak, N is within 3 % of A."), "{text}");
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
    let several = "A has higher peak ops/s than B in YCSB B and C, by 60 %. B has higher peak ops/s than A in \
                   YCSB A, by 60 %. At peak, A is within 3 % of B, in YCSB D.";
    assert!(text.contains(several), "{text}");
    let ranges = headline(&study(&[("ycsb-a", &[A, B]), ("ycsb-b", &[A, C])]));
    let one = "A has the highest peak ops/s in both workloads, by 60 % (YCSB A) to 208 % (YCSB B) over \
               the nearest competitor.";
    assert!(ranges.contains(one), "{ranges}");
}

#[test]
fn with_a_baseline_every_improvement_is_that_of_one_system_over_it() {
    let data = with_baseline(study(&[("ycsb-a", &[A, B, C])]), "B");
    let text = headline(&data);
    for expected in [
        "A has higher peak ops/s than B in YCSB A, by 60 %.",
        "C has lower peak ops/s than B in YCSB A, by 48 %.",
        "A has a lower p99 read latency than B at 32 threads in YCSB A: 7.0X lower.",
        "C has a higher p99 read latency than B at 32 threads in YCSB A: 1.05X higher.",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert_said(
        &data,
        "At peak, C delivers 48 % fewer ops/s than B: 130 against 250, both at 32 threads.",
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
        "B, the baseline, was not measured here, so nothing is compared.",
    );
}

#[test]
fn sentence_and_table_of_a_workload_name_the_same_leader() {
    // B leads the study, and A one of its workloads: everything is about B.
    let best = Curve("B", A.1.map(|(ops, ms)| (ops * 9.0, ms)));
    let workloads: [(&str, &[Curve]); 3] = [
        ("ycsb-a", &[A, B]),
        ("ycsb-b", &[A, best]),
        ("ycsb-c", &[A, best]),
    ];
    let data = study(&workloads);
    assert!(said(&data)[0].starts_with("At peak, B delivers 0.62X the ops/s of A"));
    let table = &tables("workloads", &data)[0];
    assert!(
        table.note.contains("Differences are those of B "),
        "{}",
        table.note
    );
    let cells: Vec<&Cell> = table.rows.iter().map(|row| &row.cells[3]).collect();
    assert!(cells.iter().all(|cell| cell.text.starts_with("0.")));
    let text = headline(&data);
    let expected = "B has higher peak ops/s than A in YCSB B and C: 9.0X those of A. A has higher peak ops/s than B in YCSB A: \
                    1.6X those of B.";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn latencies_are_ratios_from_twice_on_and_never_hundreds_of_percent() {
    let slow = Curve("B", A.1.map(|(ops, ms)| (ops, ms * 16.81)));
    let data = with_baseline(one(&[A, slow]), "A");
    assert_said(
        &data,
        "At 32 threads, the highest thread count, the p99 read latency of B is 17X higher than A's \
         (50.5 ms against 3.00 ms).",
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

/// What the bars of lower bounds say in the charts of peaks.
fn bars_of_peaks(data: &Data) -> Vec<String> {
    let blocks = blocks("peaks", data).into_iter();
    let charts = blocks.filter_map(|block| match block {
        Block::Figure(figure) => Some(figure.charts),
        _ => None,
    });
    let options = charts
        .flatten()
        .flat_map(|chart| [vec![chart.base], chart.variants].concat());
    let mut texts = Vec::new();
    for option in options {
        let series = option["series"].as_array().into_iter().flatten();
        let items = series.flat_map(|series| series["data"].as_array().into_iter().flatten());
        let bounds = items.filter(|item| item["atLeast"][0] == true);
        texts.extend(
            bounds.filter_map(|item| item["label"]["formatter"].as_str().map(str::to_owned)),
        );
    }
    texts
}

#[test]
fn a_peak_where_the_clients_were_the_limit_is_a_lower_bound() {
    let mut data = one(&[A, B]);
    assert!(!said(&data).concat().contains('≥'));
    // A clone compares anew.
    data = data.clone();
    let last = data.points.iter_mut().filter(|p| p.key.threads == 32);
    last.for_each(|point| {
        let busy = CLIENT_SATURATED.finding("The processors were busy.");
        point.phase.findings.push(busy);
    });
    let peaks = &tables("peaks", &data)[0].rows[0].cells;
    assert_eq!(peaks[1].text, "≥ 400");
    assert_eq!(bars_of_peaks(&data), ["≥ 400", "≥ 250"]);
    assert_eq!(
        peaks.last().unwrap().text,
        "–",
        "two lower bounds make no ratio"
    );
    let open = "At peak, A cannot be compared with B: ≥ 400 against ≥ 250, both at 32 threads.";
    assert_said(&data, open);
    // A bound on the side of the better one makes it better still.
    data = data.clone();
    let of_b = data
        .points
        .iter_mut()
        .filter(|point| point.key.system == "B");
    of_b.for_each(|point| point.phase.findings.clear());
    let expected = "At peak, A delivers at least 60 % more ops/s than B: ≥ 400 against 250, both at 32 \
                    threads.";
    assert_said(&data, expected);
    let summary = blocks("summary", &data);
    let badges = summary.iter().find_map(|block| match block {
        Block::Cards(cards) => Some(cards[0].badges.clone()),
        _ => None,
    });
    assert_eq!(badges.unwrap()[0].code, "client-saturated");
}

#[test]
fn what_a_workload_stands_for_and_why_one_was_skipped() {
    let mut data = one(&[A, B]);
    let about = |given: &Data| match &blocks("workloads", given)[0] {
        Block::Heading { about, .. } => about.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(about(&data), "100 % read; uniform keys");
    let summary = |given: &Data| format!("{:?}", blocks("summary", given));
    assert!(!summary(&data).contains("Left out"));
    data.facts.push(Fact {
        system: None,
        group: Fact::USE_CASE.into(),
        name: "ycsb-a".into(),
        value: "recording user sessions".into(),
    });
    let skipped = "ycsb-e: not every database can scan";
    data.headers[0].settings.report.skipped = vec![skipped.into()];
    assert_eq!(
        about(&data),
        "100 % read; recording user sessions; uniform keys"
    );
    let expected = "Left out: YCSB E (not every database can scan).";
    assert!(summary(&data).contains(expected), "{}", summary(&data));
}
