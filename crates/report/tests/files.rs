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
use tailmark_report::{Block, Data, SECTIONS, Table, Written};

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
    assert_eq!(files.len(), 2 * 18, "{files:?}");
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
        let of = |directory: &Path| fs::read(directory.join("charts").join(&name)).unwrap();
        assert!(of(written()) == of(&out), "{name} differs");
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
    assert_eq!(images.len(), 18);
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
        match line.starts_with('|') {
            true => assert_eq!(*width.get_or_insert(cells), cells, "{line}"),
            false => width = None,
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
    assert_eq!(charts.len(), 2 * 18, "{charts:?}");
    let files = names(&out.join("tables"));
    assert_eq!(files.len(), tables(&data).len());
    // `.new` follows while a file is written.
    let mut all = charts.iter().chain(&files);
    assert!(all.all(|name| name.len() < 250));
    let text = fs::read_to_string(out.join("report.md")).unwrap();
    let images: BTreeSet<&str> = text.split("](charts/").skip(1).collect();
    assert_eq!(images.len(), 18);
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
