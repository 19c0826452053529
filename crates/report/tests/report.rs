//! The report of a synthetic study: what it says, that it is one file, and how large it is.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod synthetic;

use std::{collections::BTreeSet, fs, path::Path};
use synthetic::{SMALL, Shape};
use tailmark_model::{ErrorCount, Kind, KindResult, Metric, Point, Summary, finding::NO_ANSWER};
use tailmark_report::{Block, Data, Error, FORMATS, SECTIONS, html};

/// Compares with a file of `golden`, as `cargo insta` reviews them; `INSTA_UPDATE=always` writes it.
fn assert_golden(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// A row, a paragraph or an item a line, and the version of the crate as a word.
fn normalised(html: &str) -> String {
    let version = concat!("tailmark ", env!("CARGO_PKG_VERSION"), ".");
    let mut text = html.replace(version, "tailmark VERSION.");
    for tag in [
        "tr",
        "p",
        "li",
        "h",
        "table",
        "div",
        "a class=\"card",
        "form",
        "label",
        "details",
    ] {
        text = text.replace(&format!("><{tag}"), &format!(">\n<{tag}"));
    }
    text
}

fn page(data: &Data) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = tailmark_report::write("html", data, directory.path()).unwrap();
    assert_eq!(path, directory.path().join("report.html"));
    fs::read_to_string(path).unwrap()
}

#[test]
fn each_section_is_as_its_golden_file_has_it() {
    let mut data = synthetic::study(SMALL);
    // More workloads would say the same again.
    data.points
        .retain(|point| ["ycsb-a", "ycsb-c"].contains(&point.key.workload.as_str()));
    let body = html::body(&data);
    let mut parts = body.split("<section id=\"");
    let mut frame = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("\">").unwrap();
        let (section, between) = rest.split_once("</section>").unwrap();
        assert_golden(name, &normalised(section));
        frame.push_str(between);
    }
    assert_golden("frame", &normalised(&frame));
}

#[test]
fn the_chart_of_a_workload_is_as_the_golden_file_has_it() {
    let data = synthetic::study(SMALL);
    let workloads = SECTIONS.iter().find(|s| s.name == "workloads").unwrap();
    let figure = (workloads.render)(&data)
        .into_iter()
        .find_map(|block| match block {
            Block::Figure(figure) => Some(figure),
            _ => None,
        })
        .unwrap();
    let chart = &figure.charts[0];
    let text = format!("{:#}\n{:#}\n", chart.base, chart.variants[0]);
    assert_golden("curve", &text);
}

#[test]
fn sections_and_formats_have_unique_names_and_one_line_about_them() {
    let rows = SECTIONS
        .iter()
        .map(|s| (s.name, s.title))
        .chain(FORMATS.iter().map(|f| (f.name, f.about)));
    let mut names = BTreeSet::new();
    for (name, about) in rows {
        assert!(names.insert(name), "{name} twice");
        assert!(
            !about.is_empty() && !about.contains('\n') && about.len() <= 100,
            "{name}"
        );
    }
    assert!(FORMATS.is_sorted_by_key(|f| f.name));
}

#[test]
fn every_chart_has_one_variant_for_each_combination_of_choices() {
    let data = synthetic::study(SMALL);
    let mut figures = 0;
    for block in SECTIONS.iter().flat_map(|s| (s.render)(&data)) {
        let Block::Figure(figure) = block else {
            continue;
        };
        figures += 1;
        for chart in &figure.charts {
            let variants = chart.variants.len();
            assert!(
                variants == 1 || variants == figure.combinations(),
                "{}",
                figure.anchor
            );
        }
    }
    assert_eq!(
        figures, 14,
        "peaks, a heat map, five workloads and their distributions, bandwidth, timelines"
    );
}

#[test]
fn every_row_of_a_table_has_a_cell_for_each_column() {
    let data = synthetic::study(Shape {
        repeats: 2,
        ..SMALL
    });
    for block in SECTIONS.iter().flat_map(|s| (s.render)(&data)) {
        let Block::Table(table) = block else { continue };
        for row in &table.rows {
            assert_eq!(row.cells.len(), table.columns.len(), "{:?}", table.columns);
        }
    }
}

#[test]
fn points_of_a_curve_stay_in_the_order_of_threads() {
    let data = synthetic::study(Shape {
        threads: &[64, 1, 256, 16],
        ..SMALL
    });
    let workloads = SECTIONS.iter().find(|s| s.name == "workloads").unwrap();
    let mut turns_back = false;
    for block in (workloads.render)(&data) {
        let Block::Figure(figure) = block else {
            continue;
        };
        for series in figure.charts[0].variants[0]["series"].as_array().unwrap() {
            let points: Vec<(f64, u64)> = series["data"]
                .as_array()
                .unwrap()
                .iter()
                .map(|p| (p[0].as_f64().unwrap(), p[2].as_u64().unwrap()))
                .collect();
            assert!(points.is_sorted_by_key(|(_, threads)| *threads));
            turns_back |= points.windows(2).any(|w| w[1].0 < w[0].0);
        }
    }
    assert!(turns_back, "some curve is past its peak");
}

#[test]
fn the_page_refers_to_nothing_outside_itself() {
    let page = page(&synthetic::study(SMALL));
    for reference in ["src=\"", "href=\"http", "@import", "url(", "<link"] {
        let own = page.replace("src=\"data:", "");
        // The script of the charts writes some of these words; what counts is the page around it.
        let outside: String = own
            .split("<script>")
            .map(|part| {
                part.split_once("</script>")
                    .map_or(part, |(_, after)| after)
            })
            .collect();
        assert!(!outside.contains(reference), "{reference}");
    }
    assert!(page.contains("Licensed to the Apache Software Foundation"));
}

#[test]
fn text_of_a_study_cannot_end_a_script_or_become_markup() {
    let mut data = synthetic::study(SMALL);
    let evil = "</script><img src=x onerror=alert(1)>";
    data.headers[0].title = evil.into();
    for system in &mut data.systems {
        system.name += evil;
    }
    for point in &mut data.points {
        point.key.system += evil;
    }
    let page = page(&data);
    assert!(!page.contains(evil));
    assert!(
        page.contains("\\u003c/script>"),
        "the data of the charts is escaped"
    );
}

#[test]
fn a_hundred_long_points_stay_below_ten_megabytes() {
    let mut data = synthetic::study(Shape {
        threads: &[4, 8, 16, 32, 48, 64, 96, 128, 192, 256],
        repeats: 1,
        seconds: 12,
    });
    data.systems.retain(|s| s.ceiling_for.is_none());
    data.points.retain(|p| !p.key.system.ends_with("ceiling"));
    assert_eq!(data.points.len(), 100);
    for point in &mut data.points {
        synthetic::lengthen(&mut point.phase, 100);
        assert_eq!(point.phase.intervals.len(), 1_200);
    }
    let bytes = page(&data).len();
    assert!(bytes < 10_000_000, "{bytes}");
}

#[test]
fn a_study_of_one_system_and_one_point_has_a_report() {
    let mut data = synthetic::study(SMALL);
    data.points.truncate(1);
    data.systems.truncate(1);
    data.loads.clear();
    let body = html::body(&data);
    assert!(body.contains("peaks at"));
    assert!(
        !body.contains(">difference<"),
        "there is nothing to compare with"
    );
}

#[test]
fn a_point_whose_database_went_away_is_no_peak() {
    let mut data = synthetic::study(SMALL);
    data.systems.truncate(1);
    let workload = data.points[0].key.workload.clone();
    let system = data.systems[0].name.clone();
    data.points
        .retain(|p| p.key.system == system && p.key.workload == workload);
    let said = |given: &Data| {
        let body = html::body(given).replace('\u{a0}', " ");
        let (_, peak) = body.split_once("peaks at ").unwrap();
        peak.split_once('.').unwrap().0.to_owned()
    };
    let best = data
        .points
        .iter()
        .max_by(|a, b| a.phase.ops_per_sec().total_cmp(&b.phase.ops_per_sec()))
        .unwrap();
    let threads = format!("with {} thread", best.key.threads);
    let mut went_away = best.clone();
    let no_answer = NO_ANSWER.finding("Nothing answered.");
    went_away.phase.findings.push(no_answer);
    assert!(said(&data).contains(&threads));
    data.points.retain(|p| p.key != went_away.key);
    data.points.push(went_away);
    assert!(!said(&data).contains(&threads));
}

/// The first cell of the column of a quantity in the table of the first workload, where it has one.
fn first_cell(data: &Data, quantity: &str) -> Option<String> {
    let workloads = SECTIONS.iter().find(|s| s.name == "workloads").unwrap();
    let blocks = (workloads.render)(data);
    let table = blocks.iter().find_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    let table = table.unwrap();
    let is_of = |column: &tailmark_report::Column| column.group == quantity;
    let at = table.columns.iter().position(is_of)?;
    Some(table.rows[0].cells[at].text.clone())
}

/// A small study, its reads replaced.
fn with_reads(read: &KindResult) -> Data {
    let mut data = synthetic::study(SMALL);
    for point in &mut data.points {
        point.phase.kinds = [(Kind::Read, read.clone())].into();
    }
    data
}

#[test]
fn quantiles_with_too_few_samples_are_not_numbers() {
    let mut few = KindResult::default();
    few.service.record_n(1_000_000, 500).unwrap();
    let mut data = with_reads(&few);
    assert_eq!(first_cell(&data, "p99.99 read latency"), None);
    let mean = first_cell(&data, "mean read latency");
    assert_eq!(mean.unwrap(), "1.00 ms");
    data.settings.metric = Metric::from_name("p99 read");
    assert_eq!(first_cell(&data, "p99 read latency"), None);
    // Where one point has it, it is a column, in which the others have none.
    let mut data = data.clone();
    let is_last = |point: &&mut Point| point.key.workload == "ycsb-a" && point.key.threads == 64;
    let last = data.points.iter_mut().find(is_last).unwrap();
    let read = last.phase.kinds.get_mut(&Kind::Read).unwrap();
    read.service.record_n(1_000_000, 100_000).unwrap();
    assert_eq!(first_cell(&data, "p99 read latency").unwrap(), "–");
}

#[test]
fn an_imported_summary_is_in_the_table_and_on_the_curve() {
    let mut summary = Summary::default();
    summary.set(Summary::MEAN, 234_000.0);
    summary.set_percentile(99.0, 5_670_000.0);
    let imported = KindResult {
        count: 100_000,
        summary: Some(summary),
        ..KindResult::default()
    };
    let mut data = with_reads(&imported);
    data.settings.metric = Metric::from_name("mean read");
    assert_eq!(first_cell(&data, "mean read latency").unwrap(), "234 us");
    data.settings.metric = Metric::from_name("p99 read");
    assert_eq!(first_cell(&data, "p99 read latency").unwrap(), "5.67 ms");
    let workloads = SECTIONS.iter().find(|s| s.name == "workloads").unwrap();
    let blocks = (workloads.render)(&data);
    let figure = blocks.iter().find_map(|block| match block {
        Block::Figure(figure) => Some(figure),
        _ => None,
    });
    let figure = figure.unwrap();
    let measures = figure.controls.iter().find(|c| c.key == "measure").unwrap();
    let drawn = |name: &str| {
        let at = measures.choices.iter().position(|c| c.label == name);
        figure.charts[0].variants[at.unwrap()].to_string()
    };
    assert!(drawn("p99").contains("5670"), "{}", drawn("p99"));
    assert_eq!(drawn("p99.9"), "null", "what was not imported is not drawn");
}

#[test]
fn an_unknown_format_is_refused_and_the_known_are_named() {
    let error = tailmark_report::write("doc", &Data::default(), Path::new("/nowhere"));
    let Err(Error::UnknownFormat { name, known }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (name.as_str(), known.as_str()),
        ("doc", "brief, csv, html, md, pdf, png, svg, terminal")
    );
}

/// Has most of the operations of a point fail, at ten times its rate: a full disk fails quickly.
fn fill_up(data: &mut Data, system: &str, threads: u32) {
    let is_it = |p: &&mut Point| p.key.system == system && p.key.threads == threads;
    for point in data.points.iter_mut().filter(is_it) {
        let phase = &mut point.phase;
        phase.failed = phase.operations * 9;
        phase.operations *= 10;
        for interval in &mut phase.intervals {
            interval.failed = interval.operations * 9;
            interval.operations *= 10;
        }
        phase.kinds.entry(Kind::Update).or_default().errors += phase.failed;
        phase.errors.push(ErrorCount {
            kind: Kind::Update,
            cause: "io".into(),
            count: phase.failed,
            example: "no space".into(),
        });
    }
}

fn section(data: &Data, name: &str) -> Vec<Block> {
    let section = SECTIONS.iter().find(|s| s.name == name).unwrap();
    (section.render)(data)
}

/// Statements, texts, cards and notes of blocks.
fn said(blocks: &[Block]) -> String {
    let texts = blocks.iter().flat_map(|block| match block {
        Block::Text(text) => vec![text.to_plain()],
        Block::Statements(texts) => texts.iter().map(tailmark_report::Text::to_plain).collect(),
        Block::Cards(cards) => cards
            .iter()
            .flat_map(|card| &card.figures)
            .map(|figure| format!("{} {}", figure.value, figure.about))
            .collect(),
        Block::Table(table) => vec![table.note.clone()],
        _ => Vec::new(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_point_that_failed_is_no_peak_and_in_no_comparison_but_marked() {
    let (a, b) = ("Drive A 3.84TB", "Drive B 3.84TB");
    let whole = synthetic::study(SMALL);
    let mut data = synthetic::study(SMALL);
    // The slower drive, where both are fast.
    fill_up(&mut data, b, 64);
    // Successes are as many as before, so that only the text about the point changes.
    let summary = said(&section(&data, "summary"));
    assert!(summary.contains("5 runs are not valid"), "{summary}");
    let workloads = section(&data, "workloads");
    let statements = said(&workloads);
    let skipped = format!("Not compared: {b} at 64 threads (90% failed).");
    assert_eq!(statements.matches(&skipped).count(), 5, "{statements}");
    assert!(!statements.contains(&format!("{b}: 64")), "{statements}");
    let averages = |blocks: &[Block]| said(blocks).matches("at 64 threads").count();
    assert!(averages(&section(&whole, "workloads")) > 0);
    let table = workloads.iter().find_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    let table = table.unwrap();
    let last = &table.rows[3];
    let of_ops = |title: &str| {
        let is_it =
            |c: &tailmark_report::Column| c.group == "operations per second" && c.title == title;
        let at = table.columns.iter().position(is_it).unwrap();
        &last.cells[at]
    };
    assert_eq!(
        (of_ops(b).detail.as_str(), of_ops(b).muted),
        ("90% failed", true)
    );
    assert_eq!(of_ops("difference").text, "–");
    assert!(!of_ops(b).strong && of_ops(a).detail.is_empty());
    let drawn = workloads.iter().find_map(|block| match block {
        Block::Figure(figure) => Some(figure.charts[0].variants[0].to_string()),
        _ => None,
    });
    assert!(drawn.unwrap().contains("64: 90% failed"));
    let errors = said(&section(&data, "errors"));
    assert!(
        errors.contains(&format!("{b}, YCSB A, 64 threads: 90% failed")),
        "{errors}"
    );
    let timelines = section(&data, "timelines");
    let Block::Figure(figure) = &timelines[1] else {
        panic!("the second block is the figure")
    };
    let failures = |variants: &[serde_json::Value]| {
        let has = |v: &&serde_json::Value| v.to_string().contains("failed ops/s");
        variants.iter().filter(has).count()
    };
    assert_eq!(failures(&figure.charts[0].variants), 5);
}

#[test]
fn a_system_of_which_every_point_failed_leads_nothing() {
    let mut data = synthetic::study(SMALL);
    for &threads in SMALL.threads {
        fill_up(&mut data, "Drive A 3.84TB", threads);
    }
    let summary = said(&section(&data, "summary"));
    assert!(
        summary.starts_with("No two systems have a valid point in common."),
        "{summary}"
    );
    let table = |name| match section(&data, name).remove(1) {
        Block::Table(table) => table,
        other => panic!("the second block is the table, not {other:?}"),
    };
    assert_eq!(table("peaks").rows[0].cells[1].detail, "no valid point");
    let share = &table("ceilings").rows[0].cells[3].text;
    assert_eq!(share, "–", "no share of the ceiling either");
}

#[test]
fn the_plan_says_how_many_operations_may_fail() {
    let mut data = synthetic::study(SMALL);
    fill_up(&mut data, "Drive B 3.84TB", 64);
    data.headers[0].settings.rules.allow_errors = 0.95;
    assert!(!said(&section(&data, "workloads")).contains("Not compared: "));
}
