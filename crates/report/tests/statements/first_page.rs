//! What qualifies the figures of the first page: why no difference is shown, remarks in words, devices
//! that are none, and the author's conclusion.

use crate::{
    brief::page,
    support::{A, B, C, Curve, blocks, cards, headline, one, phase, point, said, study, tables},
};
use tailmark_model::{
    Fact, Kind, KindResult, Load, Metric, Point, Summary, Words, finding::TOO_FEW_SAMPLES,
};
use tailmark_report::{Block, Data};
use tailmark_testing::assert_says;

/// Runs of two systems at 4 threads, each with its ops/s and a latency in ms.
fn runs(a: [f64; 4], b: [f64; 4], ms: f64) -> Data {
    let mut data = one(&[A, B]);
    let of = |system: &'static str, all: [f64; 4]| {
        (1..).zip(all).map(move |(repeat, ops)| {
            let Point { mut key, phase } = point(system, "ycsb-a", 4, (ops, ms));
            key.repeat = repeat;
            Point { key, phase }
        })
    };
    data.points = of("A", a).chain(of("B", b)).collect();
    data
}

#[test]
fn no_difference_shown_has_its_interval_repeats_and_band() {
    let data = runs(
        [100.0, 130.0, 80.0, 120.0],
        [100.0, 90.0, 125.0, 112.0],
        1.0,
    );
    let text = headline(&data);
    let interval = "\u{2212}28\u{a0}%\u{a0}to\u{a0}+39\u{a0}%";
    let expected = format!(
        "At peak, B shows no difference from A: the 95 % interval of 4 runs, {interval}, is too wide to \
         rule a difference beyond 3 % in or out."
    );
    assert!(text.starts_with(&expected), "{text}");
    let reason = format!(
        "95 % interval of 4 runs: {interval}, too wide to rule a difference beyond 3 % in or out"
    );
    assert!(cards(&data)[0].contains(&reason), "{:?}", cards(&data));
    let sentences = said(&data).join(" ");
    let in_words = format!("shows no difference from A ({reason}): 1");
    assert!(sentences.contains(&in_words), "{sentences}");
}

#[test]
fn a_difference_that_only_the_number_of_comparisons_hides_says_so() {
    let apart = (
        [1_090.0, 1_120.0, 1_060.0, 1_110.0],
        [1_000.0, 1_040.0, 1_010.0, 1_060.0],
    );
    let alike = (
        [1_000.0, 1_040.0, 1_010.0, 1_060.0],
        [1_040.0, 1_010.0, 1_060.0, 1_000.0],
    );
    let mut data = runs(apart.0, apart.1, 1.0);
    for number in 1..8 {
        let mut more = runs(alike.0, alike.1, 1.0);
        let workload = format!("own-{number}");
        let points = more.points.iter_mut();
        points.for_each(|point| point.key.workload.clone_from(&workload));
        data.points.append(&mut more.points);
    }
    data.settings.subject = Some("A".into());
    let why = "not significant after adjusting for 8 comparisons";
    let text = headline(&data);
    let open = "At peak, A shows no significant difference from B, in YCSB A (+7 %, 95 % interval \
                +2.0\u{a0}%\u{a0}to\u{a0}+11\u{a0}%, after adjusting for 8 comparisons). At peak, A shows no \
                difference from B, in own-1, own-2, own-3, own-4, own-5, own-6 and own-7: the 95 % \
                intervals of 4 runs, the widest ";
    assert!(text.starts_with(open), "{text}");
    let [card, other] = [0, 1].map(|index| cards(&data)[index].clone());
    let interval = "95 % interval of 4 runs: +2.0\u{a0}%\u{a0}to\u{a0}+11\u{a0}%, ";
    assert_says(
        &card,
        &[
            "not significant: ops/s at peak, A over B: +7 %, ",
            interval,
            why,
        ],
    );
    assert!(
        other.contains("too wide to rule") && !other.contains(why),
        "{other}"
    );
    let sentences = said(&data).join(" ");
    assert_says(
        &sentences,
        &[
            "A delivers 7 % more ops/s than B (95 % interval of 4 runs",
            why,
        ],
    );
    let detail = |row: usize| {
        let table = &tables("peaks", &data)[0];
        table.rows[row].cells.last().unwrap().detail.clone()
    };
    assert!(
        detail(0).ends_with(", not significant among 8 comparisons"),
        "{}",
        detail(0)
    );
    assert!(
        detail(1).ends_with(", no difference shown"),
        "{}",
        detail(1)
    );
    // Alone it is significant.
    let alone = headline(&runs(apart.0, apart.1, 1.0));
    assert!(
        alone.starts_with("A has higher peak ops/s than B"),
        "{alone}"
    );
}

#[test]
fn cards_name_what_the_competitor_is_among_several() {
    let start = |data: &Data| cards(data)[0].clone();
    let three = one(&[A, B, C]);
    let said = start(&three);
    assert!(
        said.starts_with("+60 %: ops/s at peak, A over B, the nearest; "),
        "{said}"
    );
    assert!(said.contains("A against B, the nearest"), "{said}");
    let behind = start(&crate::support::with_subject(three, "C"));
    assert!(
        behind.starts_with("−68 %: ops/s at peak, C against A, the best; "),
        "{behind}"
    );
    let two = start(&one(&[A, B]));
    assert!(two.starts_with("+60 %: ops/s at peak, A over B; "), "{two}");
}

#[test]
fn percentages_and_ratios_are_not_mixed_in_a_row_or_a_sentence() {
    let data = one(&[A, B, C]);
    let row = tables("peaks", &data)[0].rows[0].cells.clone();
    let last: Vec<&str> = row.iter().rev().take(2).map(|cell| &*cell.text).collect();
    assert_eq!(last, ["+208 %", "+60 %"]);
    let sentences = said(&data).join(" ");
    let peaks = "At peak, A delivers 60 % more ops/s than B and 208 % more than C: 400";
    assert!(sentences.contains(peaks), "{sentences}");
    // A tenfold difference would be a percentage that nobody reads.
    let far = Curve("far", C.1.map(|(ops, ms)| (ops / 10.0, ms)));
    let of_far = said(&one(&[A, B, far])).join(" ");
    let ratios = "At peak, A delivers 1.6X the ops/s of B and 31X those of far: 400";
    assert!(of_far.contains(ratios), "{of_far}");
}

#[test]
fn of_many_competitors_the_nearest_is_named_and_the_others_share_a_clause() {
    let curve = |name, by: f64| Curve(name, A.1.map(|(ops, ms)| (ops * by, ms / by)));
    let data = one(&[
        A,
        curve("b", 0.9),
        curve("c", 0.8),
        curve("d", 0.7),
        curve("e", 0.5),
    ]);
    let sentences = said(&data).join(" ");
    let peaks =
        "At peak, A delivers 11 % more ops/s than b and 25 % to 100 % more than 3 other systems.";
    assert!(sentences.contains(peaks), "{sentences}");
}

#[test]
fn an_interval_just_beyond_the_band_does_not_look_as_if_it_were_within() {
    let data = runs([100.0, 102.2, 97.8, 100.1], [100.2, 102.1, 97.9, 99.9], 1.0);
    let text = headline(&data);
    let interval = "\u{2212}3.0\u{a0}%\u{a0}to\u{a0}+3.1\u{a0}%";
    assert_says(&text, &["shows no difference from", interval]);
}

#[test]
fn a_value_and_its_interval_have_one_form() {
    let data = runs(
        [100.0, 220.0, 150.0, 190.0],
        [100.0, 90.0, 95.0, 107.0],
        1.0,
    );
    let said = said(&data).join(" ");
    let card = &cards(&data)[0];
    // Half more, but the interval reaches beyond twice.
    assert!(card.contains("0.95X\u{a0}to\u{a0}2.8X"), "{card}");
    assert!(!said.contains("% more"), "{said}");
    let row = &tables("peaks", &data)[0].rows[0];
    assert_eq!(row.cells.last().unwrap().text, "1.6X");
}

#[test]
fn ranges_over_threads_and_workloads_have_one_form() {
    let mut slow = B;
    slow.1[0].0 = 30.0;
    for (other, range) in [
        (C, "from 2.0X at 4 threads to 3.1X at 32 threads"),
        (
            slow,
            "A delivers 88 % more ops/s than B (geometric mean of the ratios: +73 %), from +25 % at 16 threads to +233 % \
             at 4 threads",
        ),
    ] {
        let sentences = said(&one(&[A, other])).join(" ");
        assert!(sentences.contains(range), "{sentences}");
    }
}

#[test]
fn conditions_that_differ_are_told_in_words_below_the_cards() {
    let mut data = one(&[A, B]);
    let fact = |system: &str, group: &str, name: &str, value: &str| Fact {
        system: Some(system.into()),
        group: group.into(),
        name: name.into(),
        value: value.into(),
    };
    data.facts = vec![
        fact("A", "file system", "type", "ext4"),
        fact("B", "file system", "type", "tmpfs"),
        fact("A", "file system", "options", "rw,relatime"),
        fact("B", "file system", "options", "rw,size=24683652k"),
    ];
    data.systems[1]
        .settings
        .insert("block_cache".into(), "0".into());
    let data = Data::merged(vec![data]);
    let front = blocks("summary", &data);
    let place = |is_it: &dyn Fn(&Block) -> bool| front.iter().position(is_it).unwrap();
    let remark = place(&|block| {
        matches!(block, Block::Text(text) if text.to_plain().starts_with(
            "Besides what is compared, A and B differ in block cache, mount options and file system (ext4 against \
             tmpfs), which may explain part of the results."
        ))
    });
    assert!(remark > place(&|block| matches!(block, Block::Cards(_))));
}

#[test]
fn the_first_page_says_that_devices_are_simulated_or_emulated() {
    let mut data = one(&[A, B]);
    let said = |of: &Data| {
        let texts = blocks("summary", of).into_iter();
        let texts = texts.filter_map(|block| match block {
            Block::Text(text) => Some(text.to_plain()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join(" ")
    };
    assert!(!said(&data).contains("emulated") && !said(&data).contains("simulated"));
    data.systems[0].driver = "sim".into();
    data.facts.push(Fact {
        system: Some("B".into()),
        group: Fact::PREPARATION.into(),
        name: "emulate".into(),
        value: "mkdir -p /var/lib/tailmark/emulated/B".into(),
    });
    let text = said(&data);
    for expected in [
        "A is simulated: the plan says how long a request takes.",
        "B is on an emulated device, as fast as the plan says.",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn a_peak_below_the_mean_in_its_table_is_explained() {
    let mut data = one(&[A, B]);
    // The last repeat of A peaks at 8 threads, where the others peak at 4.
    let at = |system: &'static str, threads, all: [f64; 4]| {
        (1..).zip(all).map(move |(repeat, ops)| {
            let Point { mut key, phase } = point(system, "ycsb-a", threads, (ops, 1.0));
            key.repeat = repeat;
            Point { key, phase }
        })
    };
    data.points = [
        at("A", 4, [100.0, 110.0, 105.0, 120.0]),
        at("A", 8, [112.0, 104.0, 109.0, 106.0]),
        at("B", 4, [50.0, 51.0, 52.0, 50.0]),
        at("B", 8, [40.0, 41.0, 40.0, 42.0]),
    ]
    .into_iter()
    .flatten()
    .collect();
    let (text, ..) = page("brief-below-mean", &data);
    let note = "Corrected for being chosen as the highest mean, the peak is 10";
    assert!(text.contains(note), "{text}");
    let in_chart = "peaks are corrected for being chosen as the highest";
    let charts = |of: &Data| {
        let figures = blocks("peaks", of).into_iter();
        let figures = figures.filter_map(|block| match block {
            Block::Figure(figure) => Some(figure.charts[0].hint.clone()),
            _ => None,
        });
        figures.collect::<String>()
    };
    assert!(charts(&data).contains(in_chart), "{}", charts(&data));
    let sentences = said(&data).join(" ");
    assert!(
        sentences.contains(" at 4 threads (corrected; mean 109) against "),
        "{sentences}"
    );
    let (without, ..) = page("brief-at-mean", &one(&[A, B]));
    assert!(!without.contains("Corrected for"), "{without}");
    assert!(!charts(&one(&[A, B])).contains(in_chart));
}

#[test]
fn a_short_conclusion_is_on_the_first_page_and_a_long_one_at_the_end() {
    let mut data = study(&[("ycsb-a", &[A, B]), ("ycsb-c", &[A, B])]);
    let mut order = |conclusion: &str| {
        data.settings
            .words
            .insert(Words::Conclusion, conclusion.into());
        let (text, ..) = page("brief-conclusion", &data);
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}\n{text}"));
        place("Buy drive A") < place("On average over thread counts")
    };
    assert!(order("Buy drive A if reads decide."));
    assert!(!order(&format!(
        "Buy drive A. {}",
        "It serves more reads. ".repeat(40)
    )));
}

#[test]
fn a_latency_of_few_samples_is_a_remark_and_a_finding_of_the_brief() {
    let brief_of = |name, ops| {
        let mut data = runs([ops; 4], [120.0; 4], 1.0);
        data.settings.metric = Metric::from_name("p99 read");
        for point in &mut data.points {
            let finding = TOO_FEW_SAMPLES.finding("p99.9 of reads is not known.");
            point.phase.findings.push(finding);
        }
        page(name, &data).0
    };
    let enough = brief_of("brief-samples", 100.0);
    assert!(!enough.contains("Too few samples"), "{enough}");
    let few = brief_of("brief-few-samples", 70.0);
    for expected in [
        "Fewer than 100 requests of a run are beyond the p99 read latency of A at 4 threads in YCSB A, so chance has a part in it.",
        "Too few samples, 8 of 8 runs.",
    ] {
        assert!(few.contains(expected), "{expected}\n{few}");
    }
}

#[test]
fn a_data_set_that_an_earlier_run_loaded_is_told_where_another_was_loaded_anew() {
    let mut data = one(&[A, B]);
    let mut load = phase(100.0, 1.0);
    let inserts = load.kinds.remove(&Kind::Read).unwrap();
    load.kinds.insert(Kind::Insert, inserts);
    data.loads.push(Load {
        system: "A".into(),
        records: 10_000,
        threads: 16,
        phase: load,
    });
    let (group, name) = Fact::LOADED_EARLIER;
    data.facts.push(Fact {
        system: Some("B".into()),
        group: group.into(),
        name: name.into(),
        value: "2026-11-30T08:19:12.979Z".into(),
    });
    let summary = format!("{:?}", blocks("summary", &data));
    let said = "The data set of B was loaded earlier, on 2026-11-30 08:19 UTC.";
    assert!(summary.contains(said), "{summary}");
    let rows = &tables("load", &data)[0].rows;
    let names: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row.cells[0].text.as_str(), row.cells[0].detail.as_str()))
        .collect();
    let expected = [("A", ""), ("B", "loaded earlier, on 2026-11-30 08:19 UTC")];
    assert_eq!(names, expected);
}

#[test]
fn an_import_says_nothing_of_what_nobody_knows() {
    let mut data = one(&[A, B]);
    for system in &mut data.systems {
        system.driver = "csv (imported)".into();
        data.facts.push(Fact {
            system: Some(system.name.clone()),
            group: Fact::IMPORTED.into(),
            name: "study.csv".into(),
            value: "csv".into(),
        });
        data.facts.push(Fact {
            system: Some(system.name.clone()),
            group: "database".into(),
            name: "name".into(),
            value: "Cassandra 4.0.7".into(),
        });
    }
    for point in &mut data.points {
        for kind in point.phase.kinds.values_mut() {
            let mut summary = Summary::default();
            summary.set("p99", kind.service.max() as f64);
            *kind = KindResult {
                summary: Some(summary),
                ..KindResult::default()
            };
        }
    }
    let method = format!("{:?}", blocks("method", &data));
    for wrong in [
        "faithful",
        "Welch",
        "failed (sweep.allow_errors)",
        "fewer than 10 samples",
    ] {
        assert!(!method.contains(wrong), "{wrong}: {method}");
    }
    let rows = &tables("method", &data)[0].rows;
    let row = |title: &str| {
        let mut all = rows.iter();
        let found = all.find(|row| row.cells[0].text == title);
        found.map(|row| row.cells[1].text.clone())
    };
    assert_eq!(row("imported from").as_deref(), Some("study.csv"));
    let definition = blocks("qos", &data).into_iter().next();
    assert!(
        matches!(definition, Some(Block::Heading { .. })),
        "{definition:?}"
    );
    let qos = tables("qos", &data).remove(0);
    let titles: Vec<&str> = qos.columns.iter().map(|c| c.title.as_str()).collect();
    assert_eq!(titles, ["System", "At", "Requests", "Of", "p99"]);
    assert!(!qos.note.contains("fewer than 10"), "{}", qos.note);
    let (brief, ..) = page("brief-unknown", &data);
    for expected in [
        "Database Cassandra 4.0.7",
        "imported on 20",
        "50 % read, 50 % update",
        "The import does not say how many requests there were",
    ] {
        assert!(brief.contains(expected), "{expected}: {brief}");
    }
    assert!(!brief.contains("Hollow points"), "{brief}");
}
