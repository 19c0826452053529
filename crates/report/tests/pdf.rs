//! The document that one sends, read again by the programs of Poppler.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod synthetic;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};
use synthetic::{SMALL, Shape};
use tailmark_report::Data;
use tailmark_testing::{not_installed, test};

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

fn written(data: &Data, name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    tailmark_report::write("pdf", data, &directory).unwrap()
}

/// The documents of two studies, written once for all tests.
fn documents() -> &'static [PathBuf; 2] {
    static WRITTEN: LazyLock<[PathBuf; 2]> = LazyLock::new(|| {
        [
            written(&synthetic::study(SMALL), "pdf-two"),
            written(&synthetic::four_systems(3, 5), "pdf-four"),
        ]
    });
    &WRITTEN
}

/// What a program says of a document.
fn said(program: &str, args: &[&str], document: &Path, rest: &[&str]) -> String {
    let output = Command::new(program)
        .args(args)
        .arg(document)
        .args(rest)
        .output();
    let output = output.unwrap_or_else(|_| not_installed(format!("{program} is not installed")));
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn pages(document: &Path) -> Vec<String> {
    let text = said("pdftotext", &["-layout"], document, &["-"]);
    let mut pages: Vec<String> = text.split('\u{c}').map(str::to_owned).collect();
    pages.pop();
    pages
}

#[test]
fn the_first_page_has_headline_chart_and_table() {
    let page = &pages(&documents()[0])[0];
    let first = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "Drive A against Drive B, RocksDB",
        "has higher peak ops/s than Drive B 3.84TB in all 5 workloads",
        "Peak operations per second by workload",
        "69.5k",
        "69,500",
        "55,798",
    ] {
        assert!(first.contains(text), "{text}: {first}");
    }
}

#[test]
fn every_page_has_its_number_and_the_title_and_the_method_is_last() {
    for document in documents() {
        let pages = pages(document);
        for (i, page) in pages.iter().enumerate() {
            assert!(
                page.contains(&format!("{} / {}", i + 1, pages.len())),
                "{page}"
            );
            assert!(page.contains("Drive A against Drive B, RocksDB"), "{page}");
        }
        let whole = pages.concat();
        let last = whole.rfind("How we tested").unwrap();
        for section in [
            "Peaks",
            "Latency",
            "Workloads",
            "Findings",
            "Errors",
            "Load",
        ] {
            assert!(
                whole
                    .rfind(&format!("\n{section}\n"))
                    .is_none_or(|at| at < last),
                "{section}"
            );
        }
    }
}

#[test]
fn no_text_is_cut_off_by_an_edge() {
    for document in documents() {
        let boxes = said("pdftotext", &["-bbox"], document, &["-"]);
        let mut words = 0;
        for word in boxes.lines().filter(|line| line.contains("<word ")) {
            let number = |name: &str| -> f64 {
                let (_, rest) = word.split_once(&format!("{name}=\"")).unwrap();
                rest.split_once('"').unwrap().0.parse().unwrap()
            };
            words += 1;
            assert!(number("xMin") > 45.0 && number("xMax") < 550.0, "{word}");
            assert!(number("yMin") > 20.0 && number("yMax") < 825.0, "{word}");
        }
        assert!(words > 1_000, "{words}");
    }
}

#[test]
fn the_document_is_tagged_and_says_what_its_charts_show() {
    for document in documents() {
        let info = said("pdfinfo", &[], document, &[]);
        for line in [
            "Tagged:          yes",
            "Page size:       595.28 x 841.89 pts (A4)",
        ] {
            assert!(info.contains(line), "{line}: {info}");
        }
        let tags = said("pdfinfo", &["-struct"], document, &[]);
        let names: BTreeSet<&str> = tags
            .lines()
            .filter_map(|line| line.trim().split([' ', ':']).next())
            .collect();
        for tag in [
            "H1", "H2", "H3", "Table", "TR", "TH", "TD", "Figure", "Link", "LBody",
        ] {
            assert!(names.contains(tag), "{tag}: {names:?}");
        }
    }
}

#[test]
fn links_lead_to_pages_of_the_document() {
    let document = &documents()[0];
    let pages = pages(document).len();
    let xml = said("pdftohtml", &["-xml", "-stdout", "-i"], document, &[]);
    let targets: Vec<usize> = xml
        .split("<a href=\"")
        .skip(1)
        .filter_map(|rest| rest.split_once('"')?.0.split_once('#')?.1.parse().ok())
        .collect();
    assert!(
        targets.len() > 30,
        "contents and findings: {}",
        targets.len()
    );
    assert!(
        targets.iter().all(|page| (1..=pages).contains(page)),
        "{targets:?}"
    );
    // The contents are in order of pages.
    assert!(targets.iter().max() >= Some(&(pages - 1)), "{targets:?}");
}

/// The brief of up to four systems with long names: five workloads, ten thread counts each.
fn brief(systems: usize, repeats: u32) -> PathBuf {
    const NAMES: [&str; 4] = [
        "Drive 9400 PRO 7.68TB",
        "Competitor Performance 7.68TB",
        "Competitor Mainstream 7.68TB",
        "Competitor Capacity 15.36TB",
    ];
    let mut data = synthetic::study(Shape {
        threads: &[4, 8, 16, 32, 48, 64, 96, 128, 192, 256],
        repeats,
        seconds: 2,
    });
    let old: Vec<String> = data.systems.iter().map(|own| own.name.clone()).collect();
    let place = |name: &str| old.iter().position(|own| own == name).unwrap();
    data.points
        .retain(|point| place(&point.key.system) < systems);
    for point in &mut data.points {
        point.key.system = NAMES[place(&point.key.system)].to_owned();
    }
    data.systems.truncate(systems);
    for (system, name) in data.systems.iter_mut().zip(NAMES) {
        system.name = name.to_owned();
        system.ceiling_for = None;
    }
    data.loads.clear();
    data.facts.clear();
    let name = format!("pdf-brief-{systems}-{repeats}");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    tailmark_report::write("brief", &data, &directory).unwrap();
    directory.join("brief.pdf")
}

/// How far down the words of each page reach, from 0 to 1; without what every page has at its foot.
fn fullness(document: &Path) -> Vec<f64> {
    let boxes = said("pdftotext", &["-bbox"], document, &["-"]);
    let pages = boxes.split("<page ").skip(1);
    let ends = pages.map(|page| {
        let ends = page.split("yMax=\"").skip(1);
        let ends = ends.filter_map(|rest| rest.split_once('"')?.0.parse::<f64>().ok());
        (ends.filter(|end| *end < 790.0).fold(0.0, f64::max) - 58.0) / 728.0
    });
    ends.collect()
}

#[test]
fn a_brief_of_four_systems_and_five_workloads_has_four_pages_and_none_is_half_empty() {
    for (systems, repeats) in [(4, 4), (4, 1), (2, 4), (2, 1)] {
        let document = brief(systems, repeats);
        let full = fullness(&document);
        let (last, others) = full.split_last().unwrap();
        assert!(full.len() <= 4, "{systems} systems: {full:?}");
        assert!(
            others.iter().all(|page| *page > 0.55),
            "{systems} systems: {full:?}"
        );
        assert!(*last > 0.25, "{systems} systems: {full:?}");
        let text = pages(&document).concat();
        // Each workload has its curve, and the first page its message.
        let curves = text.matches("latency against ops/s").count();
        assert_eq!(curves, 5, "{text}");
        assert!(pages(&document)[0].contains("Peak operations per second by workload"));
    }
}

#[test]
fn the_same_study_gives_the_same_document() {
    let again = written(&synthetic::study(SMALL), "pdf-again");
    let [first, second] = [&documents()[0], &again].map(|path| std::fs::read(path).unwrap());
    assert!(first == second);
}

#[test]
fn whatever_a_study_says_every_form_is_written() {
    let evil = "磁盘 \u{1}\u{7f}\u{e000}🚀 \u{202e}<b>&\"'|`*_ עברית ]]> --> \t\u{fffe} Ωж";
    let mut data = synthetic::study(SMALL);
    data.headers[0].title = evil.into();
    data.headers[0].source = evil.into();
    data.systems
        .iter_mut()
        .for_each(|system| system.name += evil);
    data.points
        .iter_mut()
        .for_each(|point| point.key.system += evil);
    data.loads.iter_mut().for_each(|load| load.system += evil);
    let workload = data.points[0].key.workload.clone();
    data.points.retain(|point| point.key.workload == workload);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pdf-evil");
    let formats = ["pdf", "svg", "png", "md", "csv", "html", "terminal"];
    let written = tailmark_report::write_data(&data, &formats, &directory).unwrap();
    let text = pages(written.path()).concat();
    assert!(text.contains("Ωж"), "{text}");
}
