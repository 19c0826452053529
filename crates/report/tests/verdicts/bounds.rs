//! Verdicts on values that are known as bounds.

use super::*;

#[test]
fn none_leads_at_its_peak_where_the_bound_of_another_leaves_it_open() {
    const A: Runs = Runs("a", &[1_001.0, 1_002.0, 1_003.0, 1_004.0, 1_005.0]);
    const B: Runs = Runs("b", &[1_000.0, 1_001.0, 1_002.0, 1_003.0, 1_004.0]);
    const C: Runs = Runs("c", &[900.0, 901.0, 902.0, 903.0, 904.0]);
    let mut data = study(&[A, B, C]);
    let points = data.points.iter_mut().filter(|p| p.key.system != "c");
    for point in points {
        let saturated = CLIENT_SATURATED.finding("The clients were busy.".to_owned());
        point.phase.findings.push(saturated);
    }
    let summary = said("summary", &data);
    assert!(
        !summary.contains("has the highest peak ops/s") && !summary.contains("has a higher peak"),
        "{summary}"
    );
    for expected in [
        "a and b are not compared at peak in YCSB C: a value is 0 or only a bound",
        "At peak, a delivers at least 11 % more ops/s than c",
        "ops/s at peak, a over c; not compared: b",
    ] {
        assert!(summary.contains(expected), "{expected}\n{summary}");
    }
    let cells = &tables("peaks", &data)[0].rows[0].cells;
    assert!(cells.iter().all(|cell| !cell.strong), "{cells:?}");
}

#[test]
fn a_rate_that_one_did_not_reach_is_in_no_ratio_and_in_no_headline() {
    let mut data = study(&[FAST, SLOW]);
    for point in &mut data.points {
        point.key.target_rate = Some(1_000.0 * f64::from(point.key.threads));
        point.key.arrivals = Some(Arrivals::Even);
        if (point.key.system.as_str(), point.key.threads) == ("slow", 16) {
            let missed = RATE_NOT_MET.finding("Half of the rate was reached.".to_owned());
            point.phase.findings.push(missed);
        }
    }
    data.headers[0].settings.has_rates = true;
    let summary = said("summary", &data);
    assert!(summary.contains("at 4,000 ops/s"), "{summary}");
    assert!(!summary.contains("at 16,000 ops/s"), "{summary}");
    let improvement = |table: Table| {
        let at = table.columns.iter().position(|c| c.title == "difference")?;
        Some(table.rows[0].cells[at].text.clone())
    };
    let tables = tables("workloads", &data).into_iter();
    let improvements: Vec<String> = tables.filter_map(improvement).collect();
    // At the rate that one missed no two are compared, so that there is no such column.
    assert_eq!(improvements.len(), 1, "{improvements:?}");
    assert!(improvements[0].contains('%'), "{improvements:?}");
}

#[test]
fn without_a_comparison_no_verdict_is_said_to_be_adjusted() {
    let mut data = study(&[FAST, SLOW]);
    for point in &mut data.points {
        point.key.target_rate = Some(1_000.0 * f64::from(point.key.threads));
        point.key.arrivals = Some(Arrivals::Even);
        if point.key.system == "slow" {
            let missed = RATE_NOT_MET.finding("Half of the rate was reached.".to_owned());
            point.phase.findings.push(missed);
        }
    }
    data.headers[0].settings.has_rates = true;
    let summary = said("summary", &data);
    assert!(!summary.contains("adjusted (Holm)"), "{summary}");
    // If both reached it there is a comparison, and the sentence names its family.
    for point in &mut data.points {
        point.phase.findings.clear();
    }
    let compared = said("summary", &data.clone());
    let family = "adjusted (Holm) for 2 comparisons of p99 read at points, and";
    assert!(compared.contains(family), "{compared}");
}

#[test]
fn a_bound_within_the_band_leaves_it_open_whether_two_differ() {
    let mut data = study(&[SLOW, Runs("other", SLOW.1)]);
    for point in &mut data.points {
        point.key.target_rate = Some(1_000.0 * f64::from(point.key.threads));
        point.key.arrivals = Some(Arrivals::Even);
        if point.key.system == "slow" {
            let read = point.phase.kinds.get_mut(&Kind::Read).unwrap();
            let mut failed = read.service.clone();
            failed.reset();
            failed.record_n(5 * MS, 1).unwrap();
            read.failed = Some(failed);
            read.errors = 1;
            point.phase.failed = 1;
        }
    }
    data.headers[0].settings.has_rates = true;
    data.settings.metric = Metric::from_name("mean read");
    let summary = said("summary", &data);
    assert!(!summary.contains("no difference"), "{summary}");
    assert!(
        summary.contains("a value is 0 or only a bound"),
        "{summary}"
    );
    let workloads = said("workloads", &data);
    let open = "may or may not differ (a value is a bound)";
    assert!(workloads.contains(open), "{workloads}");
    let note = &tables("workloads", &data)[0].note;
    assert!(note.contains("at most): requests failed."), "{note}");
}

#[test]
fn a_bound_has_a_verdict_where_its_values_as_they_stand_have_one() {
    let with_never_done = |never: u64| {
        let mut data = study(&[SLOW, FAST]);
        for point in &mut data.points {
            point.key.target_rate = Some(1_000.0 * f64::from(point.key.threads));
            point.key.arrivals = Some(Arrivals::Even);
            if point.key.system == "slow" {
                let read = point.phase.kinds.get_mut(&Kind::Read).unwrap();
                let mut censored = Censored::default();
                censored.service.record_n(50 * MS, never).unwrap();
                censored.response.record_n(50 * MS, never).unwrap();
                read.censored = Some(Box::new(censored));
                point.phase.censored = never;
            }
        }
        data.headers[0].settings.has_rates = true;
        data
    };
    let improvement = |data: &Data| {
        let table = &tables("workloads", data)[0];
        let is_it = |column: &tailmark_report::Column| column.title == "difference";
        let at = table.columns.iter().position(is_it).unwrap();
        table.rows[0].cells[at].clone()
    };
    // Above 1 % of the requests in every run, and in three of five, whose p99 is 12 times the others'.
    let shown = with_never_done(200);
    let workloads = said("workloads", &shown);
    assert!(workloads.contains("fast is at least "), "{workloads}");
    let cell = improvement(&shown);
    assert!(cell.text.starts_with('≥'), "{}", cell.text);
    assert_eq!(cell.detail, "better");
    let open = with_never_done(100);
    let undecided = said("workloads", &open);
    let expected = "fast and slow may or may not differ (a value is a bound)";
    assert!(undecided.contains(expected), "{undecided}");
    let open_cell = improvement(&open);
    assert!(open_cell.text.starts_with('≥'), "{}", open_cell.text);
    assert_eq!(open_cell.detail, "not testable");
}
