//! Findings as the report groups them: one entry for each code, its evidence as tables.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod synthetic;

use synthetic::{SMALL, Shape};
use tailmark_model::{Finding, Sentence, finding};
use tailmark_report::{Block, Data, FindingEntry, SECTIONS, html};

fn section(data: &Data, name: &str) -> Vec<Block> {
    let section = SECTIONS.iter().find(|s| s.name == name).unwrap();
    (section.render)(data)
}

fn entries(data: &Data) -> Vec<FindingEntry> {
    let blocks = section(data, "findings").into_iter();
    let mut entries = blocks.filter_map(|block| match block {
        Block::Findings(entries) => Some(entries),
        _ => None,
    });
    entries.next().unwrap()
}

/// A study in which every point has too few samples, and says how many.
fn few_samples() -> Data {
    let mut data = synthetic::study(Shape {
        repeats: 2,
        ..SMALL
    });
    for point in &mut data.points {
        let samples = 1_000 * point.key.threads + point.key.repeat;
        let sentence = Sentence::new("{Samples} reads are too few to state p99.99.");
        let sentence = sentence.count("Samples", samples.into());
        point.phase.findings = vec![finding::TOO_FEW_SAMPLES.finding(sentence)];
    }
    data.loads.clear();
    data
}

#[test]
fn what_was_found_everywhere_is_one_sentence_and_a_row_for_each_system() {
    let entries = entries(&few_samples());
    let [entry] = &entries[..] else {
        panic!("one code")
    };
    assert_eq!(entry.means, finding::TOO_FEW_SAMPLES.means);
    assert_eq!(entry.places(), 5 * 4 * 4 * 2);
    let [evidence] = &entry.evidence[..] else {
        panic!("one wording")
    };
    assert!(
        evidence
            .text
            .to_plain()
            .starts_with("1,001 to 64,002 reads are too few")
    );
    let rows: Vec<Vec<&str>> = evidence
        .table
        .rows
        .iter()
        .map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect())
        .collect();
    assert_eq!(rows.len(), 4, "{rows:?}");
    let columns = evidence.table.columns.iter();
    let titles: Vec<&str> = columns.map(|column| column.title.as_str()).collect();
    let places = ["System", "Workload", "Threads", "Repeats"];
    assert_eq!(titles, [&places[..], &["Samples"]].concat());
    let all = "YCSB A, YCSB B, YCSB C, YCSB D uniform, YCSB F";
    let first = [
        "Drive A 3.84TB",
        all,
        "1, 4, 16, 64",
        "1 to 2",
        "1,001 to 64,002",
    ];
    assert_eq!(rows[0], first);
}

#[test]
fn points_found_in_different_repeats_are_different_rows() {
    let mut data = few_samples();
    let is_first = |threads: u32, repeat: u32| threads == 4 || repeat == 1;
    data.points
        .retain(|p| p.key.system == "Drive A 3.84TB" && is_first(p.key.threads, p.key.repeat));
    let entries = entries(&data);
    let rows = entries[0].evidence[0].table.rows.iter();
    let places: Vec<[&str; 2]> = rows
        .map(|row| [row.cells[2].text.as_str(), row.cells[3].text.as_str()])
        .collect();
    assert_eq!(places, [["1, 16, 64", "1"], ["4", "1 to 2"]]);
}

#[test]
fn what_could_change_the_headline_comes_first_and_open() {
    let data = synthetic::study(SMALL);
    let entries = entries(&data);
    assert!(entries.is_sorted_by_key(|entry| !entry.changes_headline));
    assert!(entries[0].changes_headline && !entries.last().unwrap().changes_headline);
    let letters: Vec<&str> = entries.iter().map(|e| e.badge.letter.as_str()).collect();
    assert_eq!(letters, ["a", "b", "c", "d"]);
    let body = html::body(&data);
    for entry in &entries {
        let open = if entry.changes_headline { " open" } else { "" };
        let tag = format!(
            "<details class=\"finding\" id=\"finding-{}\"{open}>",
            entry.badge.code
        );
        assert!(body.contains(&tag), "{tag}");
    }
}

#[test]
fn a_code_of_another_version_is_shown_with_its_evidence() {
    let mut data = few_samples();
    data.points[0].phase.findings.push(Finding {
        code: "of-the-future".into(),
        wording: "Something was found.".into(),
        evidence: Vec::new(),
    });
    let first = &entries(&data)[0];
    assert_eq!(first.badge.code, "of-the-future");
    assert!(first.changes_headline, "that cannot be ruled out");
    assert_eq!(first.evidence[0].text.to_plain(), "Something was found.");
}

#[test]
fn a_peak_carries_what_was_found_at_it_and_could_change_the_headline() {
    let ceilings = section(&synthetic::study(SMALL), "ceilings");
    let Block::Table(table) = &ceilings[1] else {
        panic!("the second block is the table")
    };
    let codes = |row: usize, column: usize| -> Vec<&str> {
        let badges = table.rows[row].cells[column].badges.iter();
        badges.map(|badge| badge.code.as_str()).collect()
    };
    // YCSB C, where 64 threads saturate the client; the other peaks have nothing.
    assert_eq!(codes(2, 1), ["client-saturated"]);
    assert!(codes(0, 1).is_empty());
}

#[test]
fn only_of_studies_measured_here_is_it_said_how_to_measure_again() {
    let mut data = few_samples();
    let failed = &mut data.points[0];
    failed.phase.failed = failed.phase.operations;
    let system = failed.key.system.clone();
    let said = |given: &Data| format!("{:?}", section(given, "errors"));
    assert!(said(&data).contains("--retry-failed"), "{}", said(&data));
    let mut systems = data.systems.iter_mut();
    let imported = systems.find(|known| known.name == system).unwrap();
    imported.driver = "fio (imported)".to_owned();
    assert!(said(&data).contains("Excluded from peaks and comparisons"));
    assert!(!said(&data).contains("--retry-failed"), "{}", said(&data));
}
