//! Peaks and all thread counts: a report does not contradict itself.

use super::support::*;
use std::time::Duration;
use tailmark_report::Data;

/// Repeats with their ops/s.
type Runs<'a> = &'a [(u32, f64)];

/// Runs of each system at 4, 8 and 16 threads.
fn repeated(systems: &[(&str, [Runs<'_>; 3])]) -> Data {
    let mut data = one(&[A, B]);
    data.points.clear();
    for (system, counts) in systems {
        for (threads, runs) in [4, 8, 16].into_iter().zip(counts) {
            data.points.extend(runs.iter().map(|(repeat, ops)| {
                let mut run = point(system, "ycsb-a", threads, (*ops, 1.0));
                run.key.repeat = *repeat;
                run
            }));
        }
    }
    data
}

#[test]
fn of_few_repeats_the_peak_is_the_highest_and_agrees_with_every_thread_count() {
    // A is ahead by 5 % at each thread count. Each repeat of A chooses the count at which the other
    // repeat is lower: those values are 5 % below B's.
    let data = repeated(&[
        (
            "A",
            [
                &[(1, 82.0), (2, 88.0)],
                &[(1, 110.0), (2, 91.0)],
                &[(1, 91.0), (2, 109.0)],
            ],
        ),
        (
            "B",
            [
                &[(1, 80.0), (2, 80.0)],
                &[(1, 95.0), (2, 95.0)],
                &[(1, 94.0), (2, 94.0)],
            ],
        ),
    ]);
    assert_said(
        &data,
        "A delivers more ops/s than B at every thread count (4 to 16).",
    );
    assert_said(
        &data,
        "At peak, A delivers 5 % more ops/s than B: 100 against 95.0, both at 8 threads.",
    );
    let note = tables("peaks", &data).remove(0).note;
    assert!(note.contains("the highest is too high by chance"), "{note}");
    let four = [1, 2, 3, 4].map(|repeat| (repeat, 100.0 + f64::from(repeat)));
    let enough = repeated(&[("A", [&four; 3]), ("B", [&four; 3])]);
    let of_four = tables("peaks", &enough).remove(0).note;
    assert!(
        of_four.contains("is chosen by the other repeats"),
        "{of_four}"
    );
}

#[test]
fn a_tie_over_the_thread_counts_in_common_says_so() {
    let mut data = repeated(&[
        ("A", [&[(1, 100.0)], &[], &[(1, 800.0)]]),
        ("B", [&[(1, 100.0)], &[], &[]]),
    ]);
    data.points.retain(|point| point.key.repeat == 1);
    let said = said(&data).concat();
    let tie = "A is within 3 % of B over the thread counts in common (4 threads)";
    assert!(said.contains(tie), "{said}");
}

#[test]
fn runs_of_two_at_each_thread_count_are_few_also_if_their_repeats_differ() {
    // As in a merge: four repeats, of which each thread count has two others.
    let data = repeated(&[
        (
            "A",
            [&[(1, 110.0), (2, 80.0)], &[(3, 110.0), (4, 80.0)], &[]],
        ),
        ("B", [&[(1, 88.0), (2, 88.0)], &[(3, 88.0), (4, 88.0)], &[]]),
    ]);
    assert_said(
        &data,
        "A delivers more ops/s than B at every thread count (4 to 8).",
    );
    let peak = "At peak, A delivers 7 % more ops/s than B: 93.8 against 88.0, both at 4 threads.";
    assert_said(&data, peak);
}

#[test]
fn a_bound_in_a_headline_is_in_words() {
    let wide = Curve(
        "wide",
        [(200.0, 1.0), (300.0, 2.0), (400.0, 3.0), (500.0, 4.0)],
    );
    let mut data = one(&[wide, B]);
    data.settings.at_latency = vec![Duration::from_millis(9)];
    // B holds 9 ms up to 240 ops/s; where the other would exceed them was not measured.
    let said = headline(&data);
    assert!(said.contains(", by at least 108 %"), "{said}");
    assert!(!said.contains('≥'), "{said}");
}

#[test]
fn a_workload_without_the_baseline_is_named_once_and_not_for_readings() {
    let data = study(&[("ycsb-a", &[A, B]), ("ycsb-b", &[A])]);
    let mut data = with_baseline(data, "B");
    data.settings.at_latency = vec![Duration::from_millis(9)];
    let said = headline(&data);
    assert!(said.contains(" 9.00 ms"), "{said}");
    assert_eq!(
        said.matches("No system is compared with B at peak in YCSB B.")
            .count(),
        1,
        "{said}"
    );
}

#[test]
fn an_invalid_point_is_in_brackets_in_a_brief() {
    let mut data = one(&[A, B]);
    let failed = data.points.iter_mut().find(|point| point.key.threads == 8);
    let phase = &mut failed.unwrap().phase;
    phase.failed = phase.operations / 2;
    let dir = tempfile::tempdir().unwrap();
    let written = tailmark_report::write("brief", &data, dir.path()).unwrap();
    let page = std::fs::read_to_string(written.with_file_name("brief.html")).unwrap();
    assert!(page.contains(">(100)<"), "a half of 200 succeeded");
    assert!(!page.contains("(200)") && !page.contains("(400)"));
}

#[test]
fn an_average_over_thread_counts_has_no_two_figures() {
    // Twice as slow as A at 4 threads, and more at others: no pair of latencies has their mean.
    let same = Curve("B", A.1);
    let slow = Curve(
        "C",
        [(50.0, 2.0), (90.0, 4.0), (120.0, 16.0), (130.0, 30.0)],
    );
    let mut data = one(&[A, same, slow]);
    data.settings.metric = tailmark_model::Metric::from_name("mean read");
    let said = headline(&data);
    let begin = "On average over thread counts, the mean read latency of A is ";
    assert!(said.contains(begin), "{said}");
    assert!(
        said.contains(" lower than C's and is within 3 % of B's"),
        "{said}"
    );
}

#[test]
fn what_was_measured_within_the_limit_after_a_fall_counts() {
    let dips = Curve(
        "dips",
        [
            (1_000.0, 2.0),
            (2_600.0, 5.0),
            (2_400.0, 6.0),
            (5_000.0, 8.0),
        ],
    );
    let crosses = Curve(
        "crosses",
        [
            (1_000.0, 2.0),
            (1_500.0, 20.0),
            (900.0, 5.0),
            (5_000.0, 8.0),
        ],
    );
    let mut data = one(&[dips, crosses]);
    data.settings.at_latency = vec![Duration::from_millis(9)];
    let said = lines("fixed", &data).join(" ");
    assert_eq!(said, "", "two bounds make no ratio");
    let cells = &tables("fixed", &data)[0].rows[0].cells;
    let values: Vec<&str> = cells.iter().map(|cell| cell.text.as_str()).collect();
    // The other exceeds 9 ms between 1,000 and 1,500, but not at 5,000.
    let bounds = values.iter().filter(|value| **value == "≥ 5,000");
    assert_eq!(bounds.count(), 2, "{values:?}");
}

#[test]
fn only_a_share_of_at_most_four_fifths_is_called_little() {
    let at = |ops: f64| [0.25, 0.5, 0.75, 1.0].map(|part| (ops * part, 1.0));
    let data = one(&[
        Curve("A", at(1_000.0)),
        Curve("B", at(560.0)),
        Curve("C", at(516.0)),
        Curve("D", at(480.0)),
    ]);
    assert_said(
        &data,
        "The peak of D reaches 93 % of C's, 86 % of B's and only 48 % of A's.",
    );
}

#[test]
fn a_fact_has_one_notation_in_the_whole_report() {
    // By itself the lead over B is 2.2X at the peak and 33 % at 8 threads.
    let slow = Curve("B", [(80.0, 1.0), (150.0, 1.1), (170.0, 2.2), (180.0, 3.3)]);
    let data = one(&[A, slow]);
    let text = headline(&data);
    assert!(text.contains(", by 122 %"), "{text}");
    assert!(
        cards(&data)[0].starts_with("+122 %: "),
        "{:?}",
        cards(&data)
    );
    assert_said(
        &data,
        "At peak, A delivers 122 % more ops/s than B: 400 against 180, both at 32 threads.",
    );
    let table = &tables("workloads", &data)[0];
    assert_eq!(table.rows[3].cells[3].text, "+122 %");
}
