//! Names and files from elsewhere, as they come out of the program: nothing that is printed or written
//! is obeyed by a terminal or a spreadsheet, and a bad study does not end an index.

use crate::{FAST, SLOW, TAILMARK, compared, measured};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};
use tailmark_model::{Point, System};
use tailmark_study::Study;
use tailmark_testing::{HOSTILE_NAMES, err, is_raw, out};
use tempfile::TempDir;

/// A study of the measured points, in which the systems have these names, and all else too.
fn renamed(dir: &Path, from: &str, to: &str, names: &[&str]) {
    let measured = Study::open_read_only(&dir.join(from)).unwrap();
    let mut header = measured.header().unwrap();
    header.title = names.join(" ");
    let system = measured.systems().unwrap().remove(0);
    let systems = names.iter().map(|&name| System {
        name: name.to_owned(),
        place: name.to_owned(),
        ..system.clone()
    });
    let systems: Vec<System> = systems.collect();
    let study = Study::create(&dir.join(to), &header, &systems).unwrap();
    for (i, &name) in names.iter().enumerate() {
        for point in measured.points().unwrap() {
            let mut point: Point = point;
            point.key.system = name.to_owned();
            point.key.workload = names[i / 2 * 2].to_owned();
            point.phase.warmup = None;
            if !study.has_point(&point.key).unwrap() {
                study.add_point(&point).unwrap();
            }
        }
        study.add_notice(name).unwrap();
    }
}

#[test]
fn nothing_that_is_printed_obeys_a_name() {
    let dir = TempDir::new().unwrap();
    measured(dir.path(), "out", &[("a", FAST)], 2, &["--threads", "2"]);
    for (i, names) in HOSTILE_NAMES.chunks(8).enumerate() {
        let to = format!("studies/{i}");
        renamed(dir.path(), "out", &to, names);
        harmless(dir.path(), 2, &["compare", &to]);
        harmless(dir.path(), 0, &["report", &to, "--format", "terminal"]);
        for format in tailmark_study::FORMATS {
            let export = harmless(dir.path(), 0, &["export", &to, "--format", format.name]);
            match format.name {
                "json" => reads_as(&export, names),
                "hlog" => {}
                _ => cells(&export),
            }
        }
    }
    harmless(
        dir.path(),
        2,
        &["report", "nowhere \u{1b}[2J \u{202e}x", "-o", "page"],
    );
    harmless(dir.path(), 0, &["history", "studies"]);
    let page = fs::read_to_string(dir.path().join("studies/index.html")).unwrap();
    let is_obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    assert!(!page.contains(is_obeyed) && !page.contains("<script>alert"));
}

#[test]
fn no_comparison_obeys_a_name() {
    let dir = TempDir::new().unwrap();
    measured(dir.path(), "out", &[("a", FAST)], 2, &["--threads", "2"]);
    for (i, names) in HOSTILE_NAMES.chunks_exact(2).enumerate() {
        let to = i.to_string();
        renamed(dir.path(), "out", &to, names);
        harmless(dir.path(), 0, &["compare", &to]);
        let markdown = harmless(dir.path(), 0, &["compare", &to, "--format", "md"]);
        assert!(
            !markdown.contains("<script>") && !markdown.contains("<img"),
            "{markdown}"
        );
        // Signs that turn the direction are set apart there, and not written out.
        let page = compared(dir.path(), &[&to, "--format", "html"]);
        assert_eq!(page.status.code(), Some(0), "{}", err(&page));
        assert!(!out(&page).contains("<script>alert"), "{names:?}");
        reads_as(
            &harmless(dir.path(), 0, &["compare", &to, "--format", "json"]),
            names,
        );
    }
}

/// Runs a command; what it wrote to standard output.
#[track_caller]
fn harmless(dir: &Path, code: i32, args: &[&str]) -> String {
    let output = TAILMARK.run(dir, args);
    assert_eq!(
        output.status.code(),
        Some(code),
        "{args:?}: {}",
        err(&output)
    );
    for text in [out(&output), err(&output)] {
        let found = text.find(is_raw);
        assert!(
            found.is_none(),
            "{args:?}: {:?}",
            &text[found.unwrap_or(0)..]
        );
        assert!(!text.contains("\nerror: forged"), "{args:?}: {text}");
    }
    out(&output)
}

/// That the texts of a document are the names as they are.
#[track_caller]
fn reads_as(document: &str, names: &[&str]) {
    let texts = texts(&serde_json::from_str(document).unwrap());
    assert!(names.iter().all(|name| texts.contains(*name)), "{texts:?}");
}

/// Every text of a document.
fn texts(value: &Value) -> BTreeSet<String> {
    match value {
        Value::String(text) => [text.clone()].into(),
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => BTreeSet::new(),
    }
}

/// That no line of a table begins with a formula.
fn cells(table: &str) {
    for cell in table.lines().flat_map(|line| line.split(',')) {
        let cell = cell.trim_start_matches('"');
        let is_number = cell.parse::<f64>().is_ok();
        let begins = cell.starts_with(['=', '+', '-', '@', '\t']);
        assert!(is_number || !begins, "{cell:?}");
    }
}

#[test]
fn a_dry_run_and_its_errors_print_no_commands() {
    let dir = TempDir::new().unwrap();
    let plan = |name: &str, title: &str| {
        format!(
            "title = {title:?}\n[[system]]\nname = \"{name}\"\npath = \"no where\u{9b}31m\"\n\
             driver = \"sim\"\nmodel = \"constant 1ms\"\n"
        )
    };
    let bad = "[[system]]\nname = \"a\u{202e}\u{1b}[2J\"\npath = \"x\"\n\u{1b}]0;owned\u{7}=\n";
    for (file, text) in [
        ("a.toml", plan("a \u{202e}txt", "x")),
        ("b.toml", plan("<b> \u{2028}+1", "+1")),
        ("c.toml", plan("c", "x").replace("no where", "\u{85}")),
        ("d.toml", bad.to_owned()),
        ("e.toml", bad.replace('\u{1b}', "\\u001b")),
    ] {
        fs::write(dir.path().join(file), text).unwrap();
        for more in [&["--driver", "sim"][..], &["--set", "x\u{1b}[2J=\u{202e}1"]] {
            let output = TAILMARK.run(dir.path(), &[&["run", file, "--dry-run"], more].concat());
            let said = out(&output) + &err(&output);
            assert!(!said.is_empty() && !said.contains(is_raw), "{said:?}");
        }
    }
}

#[test]
fn a_bad_study_is_skipped_by_an_index_with_a_note() {
    let dir = TempDir::new().unwrap();
    let systems = [("a", FAST), ("b", SLOW)];
    measured(dir.path(), "out", &systems, 1, &["--threads", "2"]);
    for name in ["good", "year", "bytes"] {
        fs::create_dir_all(dir.path().join("studies").join(name)).unwrap();
        let to = dir.path().join("studies").join(name).join(Study::FILE);
        fs::copy(dir.path().join("out").join(Study::FILE), to).unwrap();
    }
    let file = |name: &str| dir.path().join("studies").join(name).join(Study::FILE);
    fs::write(file("bytes"), "no study").unwrap();
    let mut header = Study::open(&file("year")).unwrap().header().unwrap();
    header.created_ms = u64::MAX >> 1;
    fs::remove_dir_all(dir.path().join("studies/year")).unwrap();
    Study::create(&dir.path().join("studies/year"), &header, &[])
        .map(drop)
        .unwrap();
    let history = TAILMARK.run(dir.path(), &["history", "studies"]);
    let said = err(&history);
    assert_eq!(history.status.code(), Some(0), "{said}");
    let page = fs::read_to_string(dir.path().join("studies/index.html")).unwrap();
    for (name, why) in [("bytes", "is not a study"), ("year", "`created_ms` is ")] {
        let is_said =
            |text: &str| text.contains(&format!("studies/{name}: ")) && text.contains(why);
        assert!(is_said(&said), "{said}");
        assert!(page.contains("Left out") && is_said(&page), "{name}");
    }
}

#[test]
fn eight_exports_at_once_succeed_and_leave_the_files_of_others() {
    let dir = TempDir::new().unwrap();
    measured(dir.path(), "out", &[("a", FAST)], 1, &["--threads", "2"]);
    let at = |name: &str| dir.path().join(name);
    fs::write(at("t.csv.new"), "of the user").unwrap();
    let args = ["export", "out", "--format", "csv", "-o", "t.csv"];
    let started = (0..8).map(|_| TAILMARK.command(dir.path(), &args).spawn().unwrap());
    for mut export in started.collect::<Vec<_>>() {
        assert!(export.wait().unwrap().success());
    }
    let printed = TAILMARK.run(dir.path(), &["export", "out", "--format", "csv"]);
    assert_eq!(fs::read_to_string(at("t.csv")).unwrap(), out(&printed));
    assert_eq!(fs::read(at("t.csv.new")).unwrap(), b"of the user");
}
