//! What a report is about: the subject that it names, and without one the system that leads, the same
//! in headline, cards, sentences, tables and charts.

use crate::support::*;
use serde_json::Value;
use tailmark_model::ReportSettings;
use tailmark_report::{Block, Data, Error};

/// P is ahead of A in one workload of three, and level with it in another.
fn mixed() -> Data {
    let ahead = Curve("P", A.1.map(|(ops, ms)| (ops * 1.12, ms * 0.5)));
    let level = Curve("P", A.1);
    let behind = Curve("P", B.1);
    let workloads: [(&str, &[Curve]); 3] = [
        ("ycsb-a", &[A, behind, C]),
        ("ycsb-b", &[A, ahead, C]),
        ("ycsb-c", &[A, level, C]),
    ];
    study(&workloads)
}

#[test]
fn a_headline_is_about_the_subject_also_where_it_does_not_lead() {
    let text = headline(&with_subject(mixed(), "A"));
    for expected in [
        "A has the highest peak ops/s in YCSB A, by 60 % over the nearest competitor.",
        "P has higher peak ops/s than A in YCSB B, by 12 %.",
        "At peak, A delivers 208 % more ops/s than C (400 against 130) and is within 3 % of P, in YCSB C.",
        "P has a lower p99 read latency than A at 32 threads in YCSB B: 2.0X lower.",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let about_c = headline(&with_subject(mixed(), "C"));
    let expected = "A has higher peak ops/s than C in all 3 workloads, by 208 %; so has P, by 92 % (YCSB A) to \
                    245 % (YCSB B).";
    assert!(about_c.starts_with(expected), "{about_c}");
}

#[test]
fn every_card_is_about_the_subject() {
    let said = cards(&with_subject(mixed(), "A"));
    let expected = [
        "+60 %: ops/s at peak, A over P, the nearest; 7.0X lower: p99 read latency at 32 threads, A against P, the nearest",
        "−11 %: ops/s at peak, A against P, the best; 2.0X higher: p99 read latency at 32 threads, A against P, the best",
        "tie: ops/s at peak within 3 %, A and P; +208 % over C; tie: p99 read latency at 32 threads within 3 %, \
         A and P; 7.3X lower than C's",
    ];
    assert_eq!(said, expected);
    // Without a subject the one that leads most is: in one workload at its peak each, so the first.
    assert_eq!(cards(&mixed()), expected);
    for line in cards(&with_subject(mixed(), "C")) {
        assert!(
            line.starts_with('−') && line.matches(", C against ").count() == 2,
            "{line}"
        );
    }
}

#[test]
fn sentences_and_tables_are_about_the_subject_against_each_competitor() {
    let data = with_subject(one(&[A, B, C]), "B");
    let expected = "At peak, B delivers 38 % fewer ops/s than A and 92 % more than C: 250 at 32 threads \
                    against 400 at 32 threads (A) and 130 at 32 threads (C).";
    assert_said(&data, expected);
    let latency = "Across thread counts, the p99 read latency of B ranges from 7.0X higher than A's at 32 \
                   threads to 2.0X higher at 4 threads, and from equal to C's at 4, 8 and 16 \
                   threads to 1.05X lower at 32 threads.";
    assert_said(&data, latency);
    let table = &tables("workloads", &data)[0];
    let titles: Vec<&str> = table.columns.iter().map(|c| c.title.as_str()).collect();
    assert_eq!(titles, ["Threads", "A", "B", "C", "over A", "over C"]);
    assert!(
        table.note.contains("Differences are those of B "),
        "{}",
        table.note
    );
}

#[test]
fn the_subject_has_the_first_colour_and_is_drawn_over_the_others() {
    let lines = |data: &Data| -> Vec<(String, String, u64)> {
        let figure = blocks("workloads", data)
            .into_iter()
            .find_map(|block| match block {
                Block::Figure(figure) => Some(figure),
                _ => None,
            });
        let figure = figure.unwrap();
        let variant = figure.initial_variant(&figure.charts[0]).unwrap();
        let series = variant["series"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let line = |one: &Value| {
            let color = text(&one["itemStyle"]["color"]);
            (text(&one["name"]), color, one["z"].as_u64().unwrap())
        };
        series.map(line).collect()
    };
    let plain = lines(&one(&[A, B, C]));
    let about_b = lines(&with_subject(one(&[A, B, C]), "B"));
    let colors = |all: &[(String, String, u64)]| -> Vec<String> {
        all.iter().map(|(_, color, _)| color.clone()).collect()
    };
    let [first, second, third] = [0, 1, 2].map(|i| colors(&plain)[i].clone());
    assert_eq!(colors(&about_b), [second, first, third]);
    let highest = about_b.iter().max_by_key(|(.., z)| z).unwrap();
    assert_eq!(highest.0, "B");
    assert!(about_b.iter().filter(|(.., z)| *z == highest.2).count() == 1);
}

#[test]
fn a_subject_that_is_not_there_is_refused_and_one_of_the_study_is_noticed() {
    let settings = ReportSettings {
        subject: Some("nobody".into()),
        ..ReportSettings::default()
    };
    let refused = one(&[A, B]).with_settings(settings.clone());
    assert!(
        matches!(refused, Err(Error::UnknownSystem { .. })),
        "{refused:?}"
    );
    let mut data = one(&[A, B]);
    data.headers[0].settings.report = settings;
    let notice = lines("findings", &data).concat();
    assert!(
        notice.contains("`nobody` is not among the systems here"),
        "{notice}"
    );
    assert!(headline(&data).starts_with("A has higher peak ops/s than B"));
}

#[test]
fn a_subject_that_is_asked_for_replaces_the_baseline_of_the_study() {
    let mut data = one(&[A, B, C]);
    data.headers[0].settings.report.baseline = Some("C".into());
    assert!(headline(&data).starts_with("A has higher peak ops/s than C"));
    let text = headline(&with_subject(data, "A"));
    assert!(
        text.starts_with("A has the highest peak ops/s in YCSB A, by 60 %"),
        "{text}"
    );
}

#[test]
fn a_mean_latency_is_stated_on_average_over_thread_counts() {
    let mut data = one(&[A, B]);
    data.headers[0].settings.report.metric = tailmark_model::Metric::from_name("mean read");
    // 1 - 1/2, 1 - 1/3, 1 - 2/9 and 1 - 3/21 of A over B.
    let average: f64 = 100.0 * (1.0 - (1.0 / 2.0 + 1.0 / 3.0 + 2.0 / 9.0 + 3.0 / 21.0) / 4.0);
    assert_eq!(average.round(), 70.0);
    let expected = "On average over thread counts, the mean read latency of A is 3.3X lower than B's, from 2.0X lower at 4 \
                    threads to 7.0X lower at 32 threads.";
    assert_said(&data, expected);
    let card = &cards(&data)[0];
    let of_card = "3.3X lower: mean read latency on average over thread counts, A against B";
    assert!(card.ends_with(of_card), "{card}");
    let text = headline(&data);
    let of_headline = "A has a lower mean read latency than B on average over thread counts in YCSB A: 3.3X lower.";
    assert!(text.contains(of_headline), "{text}");
}

#[test]
fn an_average_is_that_of_the_system_which_the_sentence_is_about() {
    // Means of 1 - a/b: Q is lower by 0, 0, 0 and 90 %. The mean of the ratios of P to Q is 3.25.
    const P: Curve = Curve(
        "P",
        [(100.0, 1.0), (200.0, 1.0), (400.0, 1.0), (410.0, 10.0)],
    );
    const Q: Curve = Curve("Q", [(90.0, 1.0), (190.0, 1.0), (360.0, 1.0), (370.0, 1.0)]);
    for subject in ["P", "Q"] {
        let mut data = with_subject(one(&[P, Q]), subject);
        data.settings.metric = tailmark_model::Metric::from_name("mean read");
        let text = headline(&data);
        assert!(
            text.contains(": 1.3X lower.") && !text.contains("3.3X"),
            "{subject}: {text}"
        );
    }
}
