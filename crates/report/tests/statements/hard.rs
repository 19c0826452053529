//! Studies that are hard to tell right: values that are bounds, names that read alike, points that are
//! missing or not valid.

use super::support::*;
use tailmark_model::{Arrivals, Censored, Interval, Kind, Metric, Phase, Point, ReportSettings};
use tailmark_report::{Block, Data, Error};

/// The same points at a rate of their own, of one client count.
fn at_rates(mut data: Data) -> Data {
    for point in &mut data.points {
        point.key.target_rate = Some(100.0 * f64::from(point.key.threads));
        point.key.arrivals = Some(Arrivals::Even);
        point.key.threads = 64;
    }
    data.headers[0].settings.has_rates = true;
    data
}

#[test]
fn a_study_of_rates_alone_has_its_values_at_a_rate() {
    let mut data = at_rates(one(&[A, B]));
    data.settings.at_rate = vec![800.0];
    let said = lines("fixed", &data);
    let expected = "YCSB A, p99 read latency at 800 ops/s: A is 3.0X lower than B (1.00 ms against 3.00 \
                    ms; measured, even arrivals).";
    assert_eq!(said, [expected]);
}

#[test]
fn what_was_offered_at_every_thread_count_is_no_peak() {
    let mut data = one(&[A, B]);
    for point in &mut data.points {
        point.key.target_rate = Some(100.0);
        point.key.arrivals = Some(Arrivals::Even);
    }
    let peaks = tables("peaks", &data);
    assert!(peaks.iter().all(|table| table.rows.is_empty()), "{peaks:?}");
    // Beside a closed loop it has no row and no bar either.
    data.points.extend(study(&[("ycsb-c", &[A, B])]).points);
    let closed = tables("peaks", &data).remove(0);
    let titles = closed.rows.iter().map(|row| row.cells[0].text.as_str());
    assert_eq!(titles.collect::<Vec<_>>(), ["YCSB C"]);
    let charts = blocks("peaks", &data)
        .into_iter()
        .find_map(|block| match block {
            Block::Figure(figure) => Some(figure.charts),
            _ => None,
        });
    let plot = charts.unwrap().remove(0).plot.unwrap();
    for of_system in plot.series {
        let bars = of_system.marks.iter().flatten().count();
        assert_eq!(bars, 1, "{}", of_system.name);
    }
}

#[test]
fn of_runs_that_failed_the_most_of_one_is_said() {
    let mut data = repeated(one(&[A, B]));
    let of_a = |point: &&mut Point| (point.key.system.as_str(), point.key.threads) == ("A", 8);
    for point in data.points.iter_mut().filter(of_a) {
        point.phase.failed = match point.key.repeat {
            1 => point.phase.operations / 500,
            4 => point.phase.operations / 2,
            _ => 0,
        };
    }
    let expected = "Not compared: A at 8 threads (up to 50% failed). A point where more than 0.1 % of the \
                    operations failed cannot be a peak.";
    assert_said(&data, expected);
    let cell = &tables("workloads", &data)[0].rows[1].cells[1];
    assert_eq!(cell.detail, "up to 50% failed");
}

/// Every point five times.
fn repeated(mut data: Data) -> Data {
    let once = std::mem::take(&mut data.points);
    for repeat in 1..=5 {
        data.points
            .extend(once.iter().cloned().map(|mut point: Point| {
                point.key.repeat = repeat;
                // Runs that do not differ have no verdict.
                point.phase.duration_s *= 1.0 + f64::from(repeat) * 1e-3;
                point.phase.started_ms = Some(u64::from(repeat));
                point
            }));
    }
    data
}

/// Adds reads that never got an answer: one for every `of` that did.
fn never_answered(phase: &mut Phase, of: u64) {
    let read = phase.kinds.get_mut(&Kind::Read).unwrap();
    let mut censored = Censored::default();
    let never = read.count / of;
    censored.service.record_n(900_000_000, never).unwrap();
    censored.response.record_n(900_000_000, never).unwrap();
    read.censored = Some(Box::new(censored));
    phase.censored = never;
}

#[test]
fn a_bound_is_said_to_be_lower_and_not_to_have_too_few_runs() {
    let mut data = repeated(at_rates(one(&[A, B])));
    for point in &mut data.points {
        if point.key.system == "A" {
            let ms = 1.0 + 0.01 * f64::from(point.key.repeat);
            point.phase = phase(point.phase.ops_per_sec(), ms);
            continue;
        }
        never_answered(&mut point.phase, 10);
    }
    let text = headline(&data);
    assert!(!text.contains("Too few runs"), "{text}");
    let expected = "A has a lower p99 read latency than B at 3,200 ops/s in YCSB A at fixed rates";
    assert!(text.contains(expected), "{text}");
    let table = &tables("latency", &data)[0].rows[0];
    assert!(table.cells[4].text.starts_with('≥'), "{:?}", table.cells[4]);
    assert!(!table.cells[4].value.unwrap().is_exact());
}

#[test]
fn what_was_measured_at_a_rate_has_the_verdict_of_its_comparison() {
    let noisy = |data: Data, by: f64| {
        let mut data = repeated(data);
        for (i, point) in data.points.iter_mut().enumerate() {
            let factor = 1.0 + by * ((i * 7) % 5) as f64;
            let ops = point.phase.ops_per_sec();
            let ms = if point.key.system == "A" { 2.0 } else { 2.2 };
            let key = point.key.clone();
            *point = Point {
                key,
                phase: phase(ops, ms * factor),
            };
        }
        data
    };
    for (noise, expected) in [
        (0.5, "A and B show no difference"),
        (0.001, "A is 9 % lower than B"),
    ] {
        let mut data = noisy(at_rates(one(&[A, B])), noise);
        data.settings.at_rate = vec![800.0];
        let said = lines("fixed", &data);
        assert!(said[0].contains(expected), "{said:?}");
    }
}

#[test]
fn workloads_whose_names_read_alike_are_told_apart() {
    let alike = study(&[("get put", &[A, B]), ("get-put", &[B, C])]);
    let headings: Vec<(String, String)> = blocks("workloads", &alike)
        .into_iter()
        .filter_map(|block| match block {
            Block::Heading { anchor, title, .. } => Some((anchor, title)),
            _ => None,
        })
        .collect();
    assert_eq!(headings.len(), 2);
    assert_ne!(headings[0].0, headings[1].0, "{headings:?}");
    let data = study(&[("ycsb-a", &[A]), ("YCSB A", &[B])]);
    let peaks = tables("peaks", &data).remove(0);
    let titles: Vec<&str> = peaks
        .rows
        .iter()
        .map(|row| row.cells[0].text.as_str())
        .collect();
    assert_eq!(
        titles,
        ["YCSB A, uniform, ycsb-a", "YCSB A, uniform, YCSB A"]
    );
}

#[test]
fn a_baseline_that_failed_is_not_called_unmeasured() {
    let mut data = with_baseline(one(&[A, B]), "B");
    for point in data
        .points
        .iter_mut()
        .filter(|point| point.key.system == "B")
    {
        point.phase.failed = point.phase.operations;
    }
    let expected = "B, the baseline, has no valid point here, so nothing is compared.";
    assert_said(&data, expected);
    assert_eq!(
        headline(&data),
        "B, the baseline, has no valid point, so nothing is compared."
    );
    let cards = blocks("summary", &data)
        .into_iter()
        .find_map(|block| match block {
            Block::Cards(cards) => Some(cards),
            _ => None,
        });
    assert_eq!(
        cards.unwrap()[0].figures[0].about,
        "ops/s at peak of A, 32 threads"
    );
}

#[test]
fn a_thread_count_that_one_does_not_have_is_not_every_one() {
    let mut data = one(&[A, B]);
    data.points
        .retain(|point| point.key.system == "A" || point.key.threads != 8);
    let expected = "A delivers more ops/s than B at every thread count that they share (4 to 32).";
    assert_said(&data, expected);
}

#[test]
fn a_thread_count_at_which_bounds_leave_it_open_is_not_led() {
    let mut data = one(&[A, B]);
    let lead = "A has a lower p99 read latency than B at every thread count";
    assert_said(&data, &format!("{lead} (4 to 32)."));
    data = data.clone();
    for point in data.points.iter_mut().filter(|p| p.key.threads == 32) {
        never_answered(&mut point.phase, 10);
    }
    assert_not_said(&data, lead);
}

#[test]
fn what_was_drained_is_in_no_rate_of_requests() {
    let mut data = at_rates(one(&[A]));
    data.points.truncate(1);
    let phase = &mut data.points[0].phase;
    phase.drained = phase.operations / 2;
    let reached = phase.ops_per_sec();
    let all = tables("qos", &data);
    let scaled = all.iter().find(|table| table.caption.contains("at scale"));
    let row = &scaled.unwrap().rows[0];
    assert_eq!(row.cells[2].text, "p99");
    let beyond = row.cells[4].value.unwrap().value;
    assert!(
        (beyond - reached / 100.0).abs() < 1e-9,
        "{beyond} of {reached}"
    );
}

#[test]
fn failures_after_the_end_are_in_no_rate_and_those_before_it_are() {
    let mut data = at_rates(one(&[A]));
    data.points.truncate(1);
    let phase = &mut data.points[0].phase;
    let failed = phase.operations / 10;
    let seconds = phase.duration_s;
    let succeeded = phase.ops_per_sec();
    phase.kinds.get_mut(&Kind::Read).unwrap().errors = failed;
    phase.operations += failed;
    (phase.failed, phase.drained_failed) = (failed, failed / 2);
    phase.errors = vec![tailmark_model::ErrorCount {
        kind: Kind::Read,
        cause: "timeout".to_owned(),
        count: failed,
        example: "no answer".to_owned(),
    }];
    data.headers[0].settings.rules.allow_errors = 1.0;
    let in_time = (failed - failed / 2) as f64 / seconds;
    let errors = &tables("errors", &data)[0].rows[0];
    let stated = errors.cells[5].value.unwrap().value;
    assert!((stated - in_time).abs() < 1e-6, "{stated} of {in_time}");
    let all = tables("qos", &data);
    let scaled = all.iter().find(|table| table.caption.contains("at scale"));
    let beyond = scaled.unwrap().rows[0].cells[4].value.unwrap().value;
    let expected = (succeeded + in_time) / 100.0;
    assert!((beyond - expected).abs() < 1e-9, "{beyond} of {expected}");
}

#[test]
fn that_runs_are_too_few_is_said_only_if_they_are() {
    let mut data = repeated(one(&[A, B]));
    data.points.retain(|point| {
        let only = if point.key.system == "A" { 4 } else { 8 };
        point.key.threads == only
    });
    let text = headline(&data);
    assert!(!text.contains("Too few runs"), "{text}");
    assert!(
        text.contains("they have no thread count in common"),
        "{text}"
    );
    assert!(!said(&data).concat().contains("that takes"));
}

#[test]
fn a_peak_of_0_is_called_so() {
    let mut data = repeated(one(&[A, B]));
    for point in data.points.iter_mut().filter(|p| p.key.system == "A") {
        point.phase.failed = point.phase.operations;
        let read = point.phase.kinds.get_mut(&Kind::Read).unwrap();
        (read.errors, read.count) = (read.count, 0);
    }
    data.headers[0].settings.rules.allow_errors = 1.0;
    let cards = blocks("summary", &data).into_iter();
    let cards: Vec<String> = cards.map(|block| format!("{block:?}")).collect();
    let cards = cards.concat();
    assert!(
        cards.contains("a peak is 0, so there is no ratio"),
        "{cards}"
    );
    assert!(!cards.contains("lower bounds"), "{cards}");
    let peaks = format!("{:?}", blocks("peaks", &data));
    assert!(peaks.contains("not compared"), "{peaks}");
    assert!(!peaks.contains("not certain"), "{peaks}");
}

#[test]
fn halves_are_rounded_alike_whatever_the_numbers() {
    for (a, b) in [(103.5, 100.0), (20_700.0, 20_000.0)] {
        let data = study(&[(
            "ycsb-a",
            &[Curve("A", [(a, 1.0); 4]), Curve("B", [(b, 1.0); 4])],
        )]);
        let peaks = &tables("peaks", &data)[0].rows[0].cells;
        assert_eq!(peaks.last().unwrap().text, "+4 %", "{a} over {b}");
    }
}

#[test]
fn a_latency_that_nobody_has_and_a_baseline_that_is_none_are_refused() {
    let ask = |latency: Option<&str>, baseline: Option<&str>| {
        one(&[A, B]).with_settings(ReportSettings {
            metric: latency.and_then(Metric::from_name),
            baseline: baseline.map(ToOwned::to_owned),
            ..ReportSettings::default()
        })
    };
    assert!(ask(Some("p99 read"), Some("B")).is_ok());
    let unknown_latency = ask(Some("p99 scan"), None).unwrap_err();
    assert!(matches!(unknown_latency, Error::UnknownLatency { .. }));
    let latencies = "there is no `p99 scan` latency in this report; requests are: read";
    assert_eq!(unknown_latency.to_string(), latencies);
    let unknown_system = ask(None, Some("nobody")).unwrap_err();
    let systems = "`nobody` is not a system of this report; they are: A, B";
    assert_eq!(unknown_system.to_string(), systems);
}

#[test]
fn a_few_requests_of_another_kind_are_not_what_a_workload_is_about() {
    let mut data = one(&[A, B]);
    for point in &mut data.points {
        let scans = point.phase.kinds.remove(&Kind::Read).unwrap();
        let mut inserts = scans.clone();
        inserts.count /= 20;
        point.phase.kinds = [(Kind::Scan, scans), (Kind::Insert, inserts)].into();
    }
    let text = headline(&data);
    assert!(text.contains("p99 scan latency"), "{text}");
}

#[test]
fn few_failures_have_no_median_and_more_have_that_of_the_export() {
    let median = |failures: u64| {
        let mut data = one(&[A]);
        for point in &mut data.points {
            let read = point.phase.kinds.get_mut(&Kind::Read).unwrap();
            let mut failed = tailmark_model::new_latencies();
            failed.record_n(1_000_000, failures).unwrap();
            (read.failed, read.errors) = (Some(failed), failures);
            point.phase.errors = vec![tailmark_model::ErrorCount {
                kind: Kind::Read,
                cause: "timeout".into(),
                count: failures,
                example: String::new(),
            }];
        }
        tables("errors", &data)[0].rows[0].cells[6].text.clone()
    };
    assert_eq!((median(2).as_str(), median(40).as_str()), ("–", "1.00 ms"));
}

#[test]
fn a_workload_is_about_no_request_that_background_clients_alone_send() {
    let mut data = one(&[A, B]);
    for point in &mut data.points {
        let inserts = point.phase.kinds[&Kind::Read].clone();
        let twenty_times = tailmark_model::KindResult {
            count: inserts.count * 20,
            ..inserts
        };
        point.phase.kinds.insert(Kind::Insert, twenty_times);
    }
    assert!(headline(&data).contains("insert"), "{}", headline(&data));
    let background = &mut data.headers[0].settings.background;
    background.insert("ycsb-a".into(), [Kind::Insert].into());
    assert!(headline(&data).contains("read"), "{}", headline(&data));
    assert!(!headline(&data).contains("insert"), "{}", headline(&data));
}

#[test]
fn a_curve_with_a_hump_is_not_called_flat_by_its_ends() {
    const HUMP: Curve = Curve(
        "P",
        [(100.0, 1.0), (200.0, 50.0), (400.0, 60.0), (800.0, 1.0)],
    );
    const RISING: Curve = Curve(
        "Q",
        [(100.0, 1.0), (200.0, 1.5), (400.0, 2.0), (800.0, 4.0)],
    );
    const FALLING: Curve = Curve(
        "P",
        [(100.0, 1.0), (200.0, 0.98), (400.0, 0.95), (800.0, 0.9)],
    );
    assert_not_said(&one(&[HUMP, RISING]), "flatter");
    let said = said(&one(&[FALLING, RISING]));
    let part = "its p99 read latency falls by 10 %, that of Q rises 4.0X";
    assert!(said.iter().any(|line| line.contains(part)), "{said:#?}");
}

#[test]
fn what_a_quality_leaves_is_of_the_requests_of_the_kind_whatever_a_writer_does_beside() {
    let mut data = one(&[A]);
    data.points.truncate(1);
    // 10,000 reads in 100 s, and four times as many inserts that are no operations of the point.
    let inserts = phase(400.0, 1.0).kinds.remove(&Kind::Read).unwrap();
    let of_point = &mut data.points[0].phase;
    of_point.kinds.insert(Kind::Insert, inserts);
    of_point.intervals.push(Interval {
        start_s: 0.0,
        length_s: 100.0,
        operations: 10_000,
        failed: 0,
        kinds: [].into(),
    });
    let tables = tables("qos", &data);
    let row = |kind: &str| {
        let rows = tables[0].rows.iter();
        let mut rows = rows.skip_while(|row| row.cells[2].text != kind);
        let row = rows
            .find(|row| row.cells[3].text.contains("at or above"))
            .unwrap();
        row.cells[4].text.clone()
    };
    assert_eq!(
        (row("read"), row("insert")),
        ("1.0".to_owned(), "4.0".to_owned())
    );
}
