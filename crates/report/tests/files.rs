//! The formats of several files: pictures, tables and the Markdown that refers to them.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod synthetic;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};
use synthetic::SMALL;
use tailmark_model::{Fact, Finding, Observation, Observed, System};
use tailmark_report::{Block, Data, FORMATS as FORMATS_OF_REPORTS, SECTIONS, Table, Written};
use tailmark_testing::{HOSTILE_NAMES, is_raw};

/// A directory of a test's own that stays for those who want to look.
fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    directory
}

const FORMATS: [&str; 5] = ["md", "csv", "terminal", "png", "html"];

/// A report in several formats, written once for all tests, and what was said of it.
fn report() -> &'static Written {
    static WRITTEN: LazyLock<Written> = LazyLock::new(|| {
        let directory = directory("formats");
        tailmark_report::write_data(&synthetic::study(SMALL), &FORMATS, &directory).unwrap()
    });
    &WRITTEN
}

fn written() -> &'static Path {
    report().path().parent().unwrap()
}

/// The files of a directory, without the lists of what was written.
fn names(directory: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(directory).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with('.')).collect()
}

#[test]
fn any_formats_are_written_together_and_say_where_they_are() {
    let expected = ["report.md", "tables", "report.txt", "charts", "report.html"];
    let paths = expected.map(|name| written().join(name));
    assert_eq!(report().paths, paths);
    assert_eq!(names(written()), BTreeSet::from(expected.map(String::from)));
}

#[test]
fn every_chart_is_a_picture_and_its_text_takes_no_font() {
    let directory = written().join("charts");
    let files = names(&directory);
    assert_eq!(files.len(), 2 * 29, "{files:?}");
    for name in files.iter().filter(|name| name.ends_with(".svg")) {
        let svg = fs::read_to_string(directory.join(name)).unwrap();
        assert!(svg.contains("<title>") && svg.contains("<desc>"), "{name}");
        assert!(
            !svg.contains("<text") && !svg.contains("http://127"),
            "{name}"
        );
        assert!(svg.matches("<path").count() > 40, "{name}");
        let png = fs::read(directory.join(name.replace(".svg", ".png"))).unwrap();
        assert!(png.starts_with(b"\x89PNG"), "{name}");
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert!([1_976, 1_336].contains(&number(16)), "{name}");
    }
    assert!(
        files.contains("peaks.svg") && files.contains("timeline.png"),
        "{files:?}"
    );
}

/// Says to this program, begun again where there are no fonts, where to write to.
const OUT: &str = "TEST_WITHOUT_FONTS";

#[test]
fn pictures_are_the_same_where_no_font_is_installed() {
    if let Some(out) = std::env::var_os(OUT) {
        let out = PathBuf::from(out);
        tailmark_report::write_data(&synthetic::study(SMALL), &["svg", "png"], &out).unwrap();
        return;
    }
    let out = directory("without-fonts");
    let hide = ["/usr/share/fonts", "/usr/local/share/fonts", "/etc/fonts"];
    let hide = hide.into_iter().filter(|path| Path::new(path).exists());
    let hidden: String = hide
        .map(|path| format!("mount -t tmpfs none {path} && "))
        .collect();
    let program = std::env::current_exe().unwrap();
    let again = format!(
        "{hidden}exec {} --exact pictures_are_the_same_where_no_font_is_installed",
        program.display()
    );
    let inside = ["--user", "--map-root-user", "--mount", "sh", "-c", &again];
    let output = Command::new("unshare")
        .args(inside)
        .env(OUT, &out)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let charts = names(&written().join("charts"));
    assert_eq!(charts, names(&out.join("charts")));
    for name in charts {
        let content = |directory: &Path| fs::read(directory.join("charts").join(&name)).unwrap();
        assert!(content(written()) == content(&out), "{name} differs");
    }
}

/// Every table of a report.
fn tables(data: &Data) -> Vec<Table> {
    let blocks = SECTIONS.iter().flat_map(|section| (section.render)(data));
    let of_block = |block: Block| match block {
        Block::Table(table) => vec![table],
        Block::Findings(entries) => {
            let evidence = entries.into_iter().flat_map(|entry| entry.evidence);
            evidence.map(|evidence| evidence.table).collect()
        }
        _ => Vec::new(),
    };
    blocks.flat_map(of_block).collect()
}

#[test]
fn every_table_is_a_file_of_the_name_that_the_page_saves_it_under() {
    let directory = written();
    let files = names(&directory.join("tables"));
    assert_eq!(files.len(), tables(&synthetic::study(SMALL)).len());
    let page = fs::read_to_string(directory.join("report.html")).unwrap();
    let saved = page.split("download=\"").skip(1);
    let saved = saved.map(|rest| rest.split_once('"').unwrap().0.to_owned());
    assert_eq!(saved.collect::<BTreeSet<_>>(), files);
    let peaks = fs::read_to_string(directory.join("tables/peaks.csv")).unwrap();
    assert!(
        peaks.starts_with("Workload,Drive A 3.84TB peak ops/s [ops/s]"),
        "{peaks}"
    );
}

#[test]
fn what_markdown_refers_to_is_there() {
    let directory = written();
    let text = fs::read_to_string(directory.join("report.md")).unwrap();
    let images: Vec<&str> = text.split("](charts/").skip(1).collect();
    assert_eq!(images.len(), 29);
    for image in images {
        let name = image.split_once(')').unwrap().0;
        assert!(directory.join("charts").join(name).exists(), "{name}");
    }
    for link in text.split("](#").skip(1) {
        let anchor = link.split_once(')').unwrap().0;
        assert!(
            text.contains(&format!("<a id=\"{anchor}\"></a>")),
            "{anchor}"
        );
    }
    let data = synthetic::study(SMALL);
    let is_rule = |line: &&str| line.starts_with("| ---");
    let rules: Vec<&str> = text.lines().filter(is_rule).collect();
    let cards = 1;
    assert_eq!(rules.len(), tables(&data).len() + cards);
    // Each row has as many cells as its table has columns.
    let mut width = None;
    for line in text.lines() {
        let cells = line.replace("\\|", "").matches('|').count();
        if line.starts_with('|') {
            assert_eq!(*width.get_or_insert(cells), cells, "{line}")
        } else {
            width = None
        }
    }
}

#[test]
fn long_names_of_workloads_are_cut_in_names_of_files_and_stay_apart() {
    let mut data = synthetic::study(SMALL);
    for point in &mut data.points {
        point.key.workload = format!("{} {}", "ä".repeat(200), point.key.workload);
    }
    let out = directory("long-names");
    let formats = ["md", "png", "csv"];
    tailmark_report::write_data(&data, &formats, &out).unwrap();
    let charts = names(&out.join("charts"));
    assert_eq!(charts.len(), 2 * 29, "{charts:?}");
    let files = names(&out.join("tables"));
    assert_eq!(files.len(), tables(&data).len());
    let mut all = charts.iter().chain(&files);
    assert!(all.all(|name| name.len() < 130));
    let text = fs::read_to_string(out.join("report.md")).unwrap();
    let images: BTreeSet<&str> = text.split("](charts/").skip(1).collect();
    assert_eq!(images.len(), 29);
    for image in images {
        let name = image.split_once(')').unwrap().0.replace("%C3%A4", "ä");
        assert!(charts.contains(&name), "{name}");
    }
}

#[test]
fn a_report_of_fewer_workloads_has_no_charts_and_tables_of_the_one_before() {
    let (out, fresh) = (directory("fewer"), directory("fewer-fresh"));
    let formats = ["md", "png", "csv"];
    let mut data = synthetic::study(SMALL);
    tailmark_report::write_data(&data, &formats, &out).unwrap();
    fs::write(out.join("charts/own.svg"), "of the reader").unwrap();
    let workload = data.points[0].key.workload.clone();
    data.points.retain(|point| point.key.workload == workload);
    for directory in [&out, &fresh] {
        tailmark_report::write_data(&data, &formats, directory).unwrap();
    }
    let mut expected = names(&fresh.join("charts"));
    assert!(expected.len() < 20, "{expected:?}");
    expected.insert("own.svg".to_owned());
    assert_eq!(names(&out.join("charts")), expected);
    assert_eq!(names(&out.join("tables")), names(&fresh.join("tables")));
}

/// A study in which these names are those of systems, workloads and all that has a name.
fn hostile(names: &[&str]) -> Data {
    let mut data = synthetic::study(synthetic::Shape {
        threads: &[4],
        repeats: 1,
        seconds: 4,
    });
    data.systems.truncate(1);
    data.loads.clear();
    let (system, mut point) = (data.systems.remove(0), data.points[0].clone());
    point.key.system.clear();
    data.points.clear();
    for &name in names {
        let named = || name.to_owned();
        data.systems.push(System {
            name: named(),
            place: named(),
            settings: [(named(), named())].into(),
            ..system.clone()
        });
        for workload in ["ycsb-a", name] {
            let mut point = point.clone();
            point.key.system = named();
            point.key.workload = workload.to_owned();
            point.phase.findings.push(Finding {
                code: named(),
                wording: format!("{} {{{}}}", named(), named()),
                evidence: vec![Observation {
                    name: named(),
                    value: Observed::Text(named()),
                    unit: named(),
                }],
            });
            for error in &mut point.phase.errors {
                (error.cause, error.example) = (named(), named());
            }
            for series in &mut point.phase.series {
                series.subject = named();
            }
            data.points.push(point);
        }
        data.notices.push(named());
        data.facts.push(Fact {
            system: Some(named()),
            group: named(),
            name: named(),
            value: named(),
        });
    }
    data.headers[0].title = names.join(" ");
    data.headers[0].source = names.join("\n");
    data
}

/// Every file below a directory.
fn below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let files = entries.flat_map(|entry| {
        if entry.file_type().unwrap().is_dir() {
            below(&entry.path())
        } else {
            vec![entry.path()]
        }
    });
    files.collect()
}

#[test]
fn no_name_does_harm_in_any_format() {
    let root = directory("hostile");
    let formats: Vec<&str> = FORMATS_OF_REPORTS
        .iter()
        .map(|format| format.name)
        .collect();
    for (i, names) in HOSTILE_NAMES.chunks(8).enumerate() {
        let data = hostile(names);
        let out = root.join(format!("a/b/c/d/{i}"));
        tailmark_report::write_data(&data, &formats, &out).unwrap();
        for file in below(&out) {
            no_harm(&file);
        }
    }
    // Nothing is written elsewhere.
    let inside = root.join("a/b/c/d");
    let all = below(&root);
    assert!(all.iter().all(|file| file.starts_with(&inside)), "{all:?}");
    assert!(all.len() > 60, "{}", all.len());
}

fn no_harm(file: &Path) {
    let shown = file.display();
    let name = file.file_stem().unwrap().to_str().unwrap();
    assert!(name.len() <= 110 && !name.contains(is_raw), "{shown}");
    let extension = file.extension().and_then(|extension| extension.to_str());
    let Some(extension @ ("csv" | "html" | "md" | "svg" | "txt")) = extension else {
        return;
    };
    let text = fs::read_to_string(file).unwrap();
    // Signs that turn the direction stay in pages, each name set apart.
    let is_harmful = |c: char| match extension {
        "html" | "svg" => c.is_control() && !matches!(c, '\n' | '\t' | '\r'),
        _ => is_raw(c),
    };
    let found = text.find(is_harmful);
    assert!(
        found.is_none(),
        "{shown}: {:?}",
        text[found.unwrap()..].chars().next()
    );
    if extension != "txt" && extension != "csv" {
        let visible = without_sources(&text, extension);
        for tag in [
            "<script>alert",
            "<img src=x",
            "<svg onload",
            "</script><img",
        ] {
            assert!(!visible.contains(tag), "{shown} has {tag}");
        }
    }
    if extension == "csv" {
        let mut rows = csv::ReaderBuilder::new();
        let mut rows = rows.has_headers(false).from_path(file).unwrap();
        for row in rows.records() {
            for cell in &row.unwrap() {
                let is_number = cell.trim_end_matches([' ', '%']).parse::<f64>().is_ok();
                let begins = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
                assert!(is_number || !begins, "{shown}: {cell:?}");
            }
        }
    }
}

/// Without what is in a fence of Markdown, where nothing has a meaning.
fn without_sources(text: &str, extension: &str) -> String {
    let mut is_source = false;
    let lines = text.lines().filter(|line| {
        let is_fence = extension == "md" && line.starts_with("```");
        is_source ^= is_fence;
        !is_source
    });
    lines.collect::<Vec<_>>().join("\n")
}
