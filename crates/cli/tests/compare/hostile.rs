//! Names and files from elsewhere, as they come out of the program: nothing that is printed or written
//! is obeyed by a terminal or a spreadsheet, and a bad study does not end an index.

use crate::{FAST, SLOW, TAILMARK, measured};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};
use tailmark_results::{Point, Study, System};
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

#[track_caller]
fn no_harm(text: &str) {
    let found = text.find(is_raw);
    assert!(found.is_none(), "{:?}", &text[found.unwrap_or(0)..]);
}

#[test]
fn nothing_that_is_printed_obeys_a_name() {
    let dir = TempDir::new().unwrap();
    measured(dir.path(), "out", &[("a", FAST)], 2, &["--threads", "2"]);
    for (i, names) in HOSTILE_NAMES.chunks(8).enumerate() {
        let to = format!("studies/{i}");
        renamed(dir.path(), "out", &to, names);
        let mut commands = vec![
            vec!["compare", &to],
            vec!["compare", &to, "--format", "md"],
            vec!["report", &to, "--format", "terminal"],
            vec!["report", "nowhere \u{1b}[2J \u{202e}x", "-o", "page"],
        ];
        let formats = tailmark_results::FORMATS.iter();
        commands.extend(formats.map(|of| vec!["export", &to, "--format", of.name]));
        for args in commands {
            let output = TAILMARK.run(dir.path(), &args);
            let expected = if args[1].starts_with("nowhere") { 1 } else { 0 };
            let code = output.status.code();
            assert!(
                code == Some(expected) || expected == 1 && code == Some(2),
                "{}",
                err(&output)
            );
            no_harm(&out(&output));
            no_harm(&err(&output));
        }
        for args in [
            vec!["compare", &to, "--format", "json"],
            vec!["export", &to, "--format", "json"],
        ] {
            let output = TAILMARK.run(dir.path(), &args);
            no_harm(&out(&output));
            // And it reads as the names are.
            let document: Value = serde_json::from_str(&out(&output)).unwrap();
            let texts = texts(&document);
            assert!(names.iter().all(|name| texts.contains(*name)), "{texts:?}");
        }
        cells(&out(
            &TAILMARK.run(dir.path(), &["export", &to, "--format", "csv"])
        ));
    }
    let history = TAILMARK.run(dir.path(), &["history", "studies"]);
    assert_eq!(history.status.code(), Some(0), "{}", err(&history));
    no_harm(&out(&history));
    no_harm(&err(&history));
    let page = fs::read_to_string(dir.path().join("studies/index.html")).unwrap();
    let is_obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    assert!(!page.contains(is_obeyed) && !page.contains("<script>alert"));
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
            assert!(!said.is_empty());
            no_harm(&said);
        }
    }
}

#[test]
fn a_bad_study_is_left_out_of_an_index_with_a_note() {
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
