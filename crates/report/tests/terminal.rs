//! The report as text: in the width of the screen, with all that the page has first.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "synthetic/searches.rs"]
mod searches;
mod synthetic;

use synthetic::SMALL;
use tailmark_model::{RankPart, SystemCost, Words};
use tailmark_report::{Data, Report, ReportFormat, SECTIONS, Screen};

fn text(data: &Data, screen: Screen) -> String {
    let mut out = Vec::new();
    let format = ReportFormat::find("terminal").unwrap();
    let write = format.text.unwrap();
    write(&Report::new(data), screen, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// What one of several processes did of a point.
fn rank(rank: u32, host: &str, operations: u64) -> RankPart {
    RankPart {
        rank,
        host: host.to_owned(),
        threads: 1,
        operations,
        failed: 0,
        drained: 0,
        duration_s: 10.0,
        late_ns: 20_000,
        clock_ahead_ns: 0,
        clock_bound_ns: 30_000,
        clock_drift_ns: 0,
        cpu_busy: None,
        cpu_client: None,
        quantiles: vec![(0.99, 1_500_000)],
    }
}

#[test]
fn every_section_is_there_and_its_charts_are_drawn() {
    let mut data = synthetic::study(SMALL);
    data.settings.at_rate = vec![20_000.0];
    let conclusion = (Words::Conclusion, "They are alike.".to_owned());
    data.settings.words = [conclusion].into();
    searches::add_searches(&mut data, false);
    data.points[0].phase.ranks = vec![rank(0, "db1", 9_000), rank(1, "db2", 7_000)];
    let cost = SystemCost {
        price: Some(400.0),
        device_watts: Some(20.0),
        ..SystemCost::default()
    };
    let phases = data.points.iter_mut().map(|point| &mut point.phase);
    phases.for_each(|phase| phase.set_stated_figures(&cost));
    let text = text(&data, Screen::default());
    assert!(text.contains("rank 1 on db2"), "the slower rank is named");
    // There is no earlier study, a single run of each point, and no request was taken apart.
    for section in SECTIONS
        .iter()
        .filter(|one| !["against", "runs", "anatomy"].contains(&one.name))
    {
        let rule = "─".repeat(section.title.chars().count());
        let heading = format!("\n{}\n{rule}\n", section.title);
        assert!(text.contains(&heading), "{heading}");
    }
    assert_eq!(
        text.matches("\nOperations per second by threads: ").count(),
        5
    );
    assert_eq!(text.matches("p99 read latency (log scale)\n").count(), 5);
    assert!(text.contains("█ 69,500\n"), "the highest bar of YCSB A");
    assert!(text.contains("*69,500*"), "a peak is bold");
}

#[test]
fn no_line_is_wider_than_the_screen() {
    let data = synthetic::four_systems(2, 4);
    for columns in [80, 100, 200] {
        let text = text(&data, Screen::new(columns, false));
        // What is shown as it is, after the last heading, keeps its lines.
        let (text, _) = text.split_once("The plan file").unwrap();
        let widest = text
            .lines()
            .max_by_key(|line| line.chars().count())
            .unwrap();
        assert!(widest.chars().count() <= columns, "{columns}: {widest}");
    }
}

#[test]
fn there_are_colours_on_a_terminal_alone() {
    let data = synthetic::study(SMALL);
    let plain = text(&data, Screen::new(120, false));
    assert!(!plain.contains('\u{1b}'));
    let colored = text(&data, Screen::new(120, true));
    assert!(colored.contains("\u{1b}[1mPeaks") && colored.contains("\u{1b}[38;2;0;76;186m█"));
    assert!(!colored.contains("*69,500*"));
}

#[test]
fn text_of_a_study_cannot_command_a_terminal() {
    let mut data = synthetic::study(SMALL);
    let evil = "\u{1b}]0;owned\u{7}\r\u{9b}2J";
    data.headers[0].title += evil;
    data.headers[0].source += evil;
    data.notices.push(evil.into());
    data.systems.iter_mut().for_each(|s| s.name += evil);
    data.points.iter_mut().for_each(|p| p.key.system += evil);
    let text = text(&data, Screen::default());
    let commands = text.chars().filter(|c| c.is_control() && *c != '\n');
    assert_eq!(commands.count(), 0);
}

#[test]
fn what_could_change_the_headline_has_its_places_and_the_rest_a_count() {
    let text = text(&synthetic::study(SMALL), Screen::default());
    let (_, findings) = text.split_once("\nFindings\n").unwrap();
    assert!(findings.contains("[c] Client saturated: client-saturated, 2 places\n"));
    assert!(
        findings.contains("\nDrive A ceiling  YCSB C    64\n"),
        "{findings}"
    );
    let (_, few) = findings
        .split_once("[d] Too few samples: too-few-samples, 20 places\n")
        .unwrap();
    let (few, _) = few.split_once("\n\n").unwrap();
    assert!(few.contains("- p99.999 has fewer than 10 samples") && !few.contains("Drive"));
}
