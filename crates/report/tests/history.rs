//! Studies over time: a report against an earlier study, and the index page of a folder.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod synthetic;

use std::{collections::BTreeSet, fs, path::Path};
use synthetic::{SMALL, Shape};
use tailmark_model::{PlanValue, Role, Subject, number};
use tailmark_report::{Block, Data, Error, SECTIONS, write_history};
use tailmark_study::{Error as Refused, Study};

const SLOWER: &str = "Drive A 3.84TB";

/// A study of one workload with `factor` times the ops/s of one system.
fn study(repeats: u32, factor: f64) -> Data {
    let mut data = synthetic::study(Shape {
        repeats,
        seconds: 4,
        ..SMALL
    });
    let workload = data.points[0].key.workload.clone();
    data.points.retain(|point| point.key.workload == workload);
    data.systems.retain(|system| system.ceiling_for.is_none());
    data.points
        .retain(|point| data.systems.iter().any(|s| s.name == point.key.system));
    for point in data
        .points
        .iter_mut()
        .filter(|point| point.key.system == SLOWER)
    {
        point.phase.duration_s /= factor;
    }
    data
}

fn write(dir: &Path, data: &Data, created_ms: u64) {
    let mut header = data.headers[0].clone();
    header.created_ms = created_ms;
    let study = Study::create(dir, &header, &data.systems).unwrap();
    data.points
        .iter()
        .for_each(|point| study.add_point(point).unwrap());
}

fn section(data: &Data) -> (String, Vec<Vec<String>>) {
    let section = SECTIONS
        .iter()
        .find(|section| section.name == "against")
        .unwrap();
    let mut said = String::new();
    let mut rows = Vec::new();
    for block in (section.render)(data) {
        match block {
            Block::Text(text) => said.push_str(&text.to_plain()),
            Block::Table(table) => {
                let cells = |row: &tailmark_report::TableRow| -> Vec<String> {
                    row.cells
                        .iter()
                        .map(|cell| format!("{} {}", cell.text, cell.detail))
                        .collect()
                };
                rows.extend(table.rows.iter().map(cells));
            }
            _ => {}
        }
    }
    (said, rows)
}

#[test]
fn a_system_is_compared_with_what_it_was() {
    let (earlier, now) = (study(5, 1.0), study(5, 0.8));
    let (said, rows) = section(&now.clone().against(&earlier).unwrap());
    assert!(said.contains("0 are better and 1 worse"), "{said}");
    assert!(
        said.contains("the others show no significant difference"),
        "{said}"
    );
    assert_eq!(rows.len(), 4, "peak and latency of two systems: {rows:?}");
    assert!(
        rows[0][0].starts_with(SLOWER) && rows[0][5].contains("20 %"),
        "{rows:?}"
    );
    assert!(
        rows[2][5].contains("no difference") || rows[2][5].contains("equivalent"),
        "{rows:?}"
    );

    let (same, _) = section(&earlier.clone().against(&earlier).unwrap());
    assert!(
        same.contains("no change is shown in 4 comparisons"),
        "{same}"
    );
    assert!(
        section(&earlier).0.is_empty(),
        "nothing is said without an earlier study"
    );
}

#[test]
fn a_system_that_began_to_fail_is_named_as_not_compared() {
    let mut now = study(5, 1.0);
    let own = now.points.iter_mut();
    for point in own.filter(|point| point.key.system == SLOWER) {
        point.phase.failed = point.phase.operations;
    }
    let (said, rows) = section(&now.against(&study(5, 1.0)).unwrap());
    assert!(
        said.contains(&format!("Not compared: {SLOWER} in ")),
        "{said}"
    );
    assert_eq!(rows.len(), 2, "peak and latency of the other: {rows:?}");
}

#[test]
fn peaks_at_unlike_thread_counts_are_compared_and_shown_over_those_in_common() {
    let (mut earlier, mut now) = (study(5, 1.0), study(5, 0.8));
    let counts: BTreeSet<u32> = now.points.iter().map(|point| point.key.threads).collect();
    let [.., second, last] = counts.iter().copied().collect::<Vec<_>>()[..] else {
        panic!("{counts:?}");
    };
    now.points.retain(|point| point.key.threads != last);
    earlier.points.retain(|point| point.key.threads != second);
    let (_, rows) = section(&now.against(&earlier).unwrap());
    let peak = &rows[0];
    assert!(
        peak[2].starts_with("peak over the thread counts in common"),
        "{peak:?}"
    );
    let ops = |cell: &str| -> f64 {
        let digits = cell.split(' ').next().unwrap().replace(',', "");
        digits.parse().unwrap()
    };
    let ratio = ops(&peak[4]) / ops(&peak[3]);
    assert!(
        (0.78..0.82).contains(&ratio),
        "the values are those of the ratio: {peak:?}"
    );
}

#[test]
fn plans_that_differ_are_told_and_studies_of_other_systems_refused() {
    let mut earlier = study(1, 1.0);
    earlier.headers[0].plan.insert(
        "sweep.duration".into(),
        PlanValue::new("7s", Role::Condition(Subject::Run)),
    );
    let (said, _) = section(&study(1, 1.0).against(&earlier).unwrap());
    assert!(
        said.contains("The plans differ: sweep.duration (7s, now"),
        "{said}"
    );
    // Also in a setting of one system, if both have it.
    let model = |text: &str| PlanValue::new(text, Role::Condition(Subject::Setting));
    let mut now = study(1, 1.0);
    for (data, text) in [(&mut earlier, "constant 1ms"), (&mut now, "constant 2ms")] {
        let plan = &mut data.headers[0].plan;
        plan.insert(format!("system.{SLOWER}.database.model"), model(text));
    }
    earlier.headers[0]
        .plan
        .insert("system.gone.database.model".into(), model("constant 1ms"));
    let (of_both, _) = section(&now.against(&earlier).unwrap());
    assert!(
        of_both.contains("database.model (constant 1ms, now constant 2ms)"),
        "{of_both}"
    );
    assert!(!of_both.contains("gone"), "{of_both}");
    for system in &mut earlier.systems {
        system.name += " of others";
    }
    let refused = study(1, 1.0).against(&earlier);
    assert!(matches!(refused, Err(Error::NothingInCommon { .. })));
}

#[test]
fn too_few_runs_are_no_answer_and_neither_is_nothing_in_common() {
    let (said, rows) = section(&study(1, 0.5).against(&study(1, 1.0)).unwrap());
    assert!(
        said.contains("there are too few runs for a verdict in 4 comparisons"),
        "{said}"
    );
    assert!(
        !said.contains("no change") && !said.contains("worse"),
        "{said}"
    );
    assert_eq!(rows.len(), 4);

    let mut failed = study(5, 1.0);
    for point in &mut failed.points {
        point.phase.failed = point.phase.operations;
    }
    let (empty, none) = section(&study(5, 1.0).against(&failed).unwrap());
    assert!(empty.contains("nothing could be compared"), "{empty}");
    assert!(!empty.contains("no change") && none.is_empty(), "{empty}");

    for point in &mut failed.points {
        point.key.workload = "another".to_owned();
    }
    match study(5, 1.0).against(&failed).unwrap_err() {
        Error::NoPointInCommon { known } => assert!(known.starts_with("another "), "{known}"),
        other => panic!("{other}"),
    }
}

#[test]
fn a_folder_has_a_page_of_its_studies_with_the_changes_marked() {
    let folder = tempfile::tempdir().unwrap();
    let day = 86_400_000;
    for (i, factor) in [1.0, 1.01, 0.99, 1.005, 0.8, 0.81, 0.79, 0.805]
        .into_iter()
        .enumerate()
    {
        let dir = folder.path().join("nightly").join(format!("run-{i}"));
        write(&dir, &study(1, factor), 1_790_000_000_000 + i as u64 * day);
        if i == 7 {
            fs::write(dir.join("report.html"), "a page").unwrap();
        }
    }
    fs::create_dir_all(folder.path().join("broken")).unwrap();
    fs::write(folder.path().join("broken/study.sqlite"), "no study").unwrap();
    let history = write_history(folder.path(), &[]).unwrap();
    assert_eq!(history.studies, 8);
    assert!(history.skipped.len() == 1 && history.skipped[0].contains("broken"));
    assert_eq!(history.changes.len(), 1, "{:?}", history.changes);
    let change = &history.changes[0];
    assert!(
        change.starts_with(SLOWER) && change.contains("20 % lower"),
        "{change}"
    );
    assert!(change.contains("run-4"), "{change}");
    let page = fs::read_to_string(&history.path).unwrap();
    assert!(page.contains("<a href=\"./nightly/run-7/report.html\">nightly/run-7</a>"));
    assert!(!page.contains("run-6/report.html"), "there is none");
    assert!(page.contains("20 % lower") && page.matches("higher peak").count() >= 8);
}

#[test]
fn what_was_offered_at_a_fixed_rate_has_no_peak() {
    let folder = tempfile::tempdir().unwrap();
    let mut data = study(1, 1.0);
    for point in &mut data.points {
        point.key.target_rate = Some(100.0);
        point.key.arrivals = Some(tailmark_model::Arrivals::Even);
    }
    write(&folder.path().join("one"), &data, 1_790_000_000_000);
    let latency = tailmark_model::Metric::from_name("p99 read").unwrap();
    let history = write_history(folder.path(), &[latency]).unwrap();
    let page = fs::read_to_string(&history.path).unwrap();
    assert!(page.contains("p99 read"), "{page}");
    assert!(!page.contains("Operations per second at peak"), "{page}");
}

#[test]
fn a_link_leads_to_its_study_whatever_the_directory_is_called() {
    let folder = tempfile::tempdir().unwrap();
    for (day, name) in [".", "javascript:alert(1)", "a#b?c %41"]
        .into_iter()
        .enumerate()
    {
        let dir = folder.path().join(name);
        write(&dir, &study(1, 1.0), 1_790_000_000_000 + day as u64);
        fs::write(dir.join("report.html"), "a page").unwrap();
    }
    let history = write_history(folder.path(), &[]).unwrap();
    let page = fs::read_to_string(&history.path).unwrap();
    for link in [
        "href=\"./report.html\">.</a>",
        "href=\"./javascript%3Aalert%281%29/report.html\">javascript:alert(1)</a>",
        "href=\"./a%23b%3Fc%20%2541/report.html\">a#b?c %41</a>",
    ] {
        assert!(page.contains(link), "{link}");
    }
}

#[test]
fn copies_of_a_study_count_once_and_make_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let noise = [1.0, 1.01, 0.99, 0.8];
    for (i, factor) in (0..).zip(noise) {
        let dir = folder.path().join(format!("run-{i}"));
        write(&dir, &study(1, factor), 1_790_000_000_000 + i);
    }
    for name in ["run-3-a", "run-3-b"] {
        write(&folder.path().join(name), &study(1, 0.8), 1_790_000_000_003);
    }
    // Begun in the same millisecond, and measured otherwise: no copy.
    write(
        &folder.path().join("run-4"),
        &study(1, 0.81),
        1_790_000_000_003,
    );
    let history = write_history(folder.path(), &[]).unwrap();
    assert_eq!(history.studies, 5);
    assert_eq!(history.copies.len(), 2, "{:?}", history.copies);
    assert!(history.copies[0].contains("run-3-a is a copy of"));
    assert!(history.changes.is_empty(), "{:?}", history.changes);
    let page = fs::read_to_string(&history.path).unwrap();
    assert!(page.contains("Copies count once."));
    assert!(page.contains("too few studies to show a change") && !page.contains("No change"));
}

#[test]
fn a_page_of_others_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    write(
        &folder.path().join("one"),
        &study(1, 1.0),
        1_790_000_000_000,
    );
    let path = folder.path().join("index.html");
    fs::write(&path, "<!DOCTYPE html><title>My site</title>").unwrap();
    let refused = write_history(folder.path(), &[]);
    assert!(
        matches!(refused, Err(Error::Files(Refused::ForeignFile { .. }))),
        "{refused:?}"
    );
    assert!(fs::read_to_string(&path).unwrap().contains("My site"));
    fs::remove_file(&path).unwrap();
    write_history(folder.path(), &[]).unwrap();
    write_history(folder.path(), &[]).expect("its own page is written again");
}

#[test]
fn a_folder_without_studies_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(
        write_history(folder.path(), &[]),
        Err(Error::NoStudies { .. })
    ));
}

#[test]
fn what_is_compared_with_which_study_is_named() {
    let mut earlier = study(5, 1.0);
    earlier.headers[0].title = "Before the update".into();
    let (said, rows) = section(&study(5, 0.8).against(&earlier).unwrap());
    let began = number::instant(earlier.headers[0].created_ms);
    let name = format!("Compared with Before the update, begun {began}: of 4 comparisons ");
    assert!(said.starts_with(&name), "{said}");
    let highest = earlier.points.iter().map(|point| point.key.threads).max();
    let latency = format!("p99 read latency, {} ", number::threads(highest.unwrap()));
    let of: Vec<&str> = rows.iter().map(|row| row[2].as_str()).collect();
    assert_eq!(of, ["peak ", &latency, "peak ", &latency]);
}
