//! What the lines of a timeline show of stalls, long phases and samples at uneven times.

use super::*;
use tailmark_model::{IntervalKind, Packed, SeriesKind};

fn counter(at_s: &[f64], values: &[f64]) -> Series {
    Series {
        probe: "disk".into(),
        subject: "nvme0n1".into(),
        name: "reads".into(),
        kind: SeriesKind::Counter,
        at_s: at_s.into(),
        values: values.into(),
    }
}

#[test]
fn a_rate_stands_in_the_middle_of_its_span() {
    let series = counter(&[0.0, 1.0, 2.0], &[5.0, 15.0, 35.0]);
    assert_eq!(spans(&series), [(0.5, 10.0), (1.5, 20.0)]);
}

#[test]
fn a_sample_right_after_another_is_skipped() {
    let series = counter(&[0.0, 1.0, 2.0, 2.001], &[0.0, 10.0, 20.0, 30.0]);
    assert_eq!(spans(&series), [(0.5, 10.0), (1.5, 10.0)]);
}

/// A second with this many reads of 1 ms, or in which nothing was done.
fn second(start_s: u32, reads: u64) -> Interval {
    let mut latencies = tailmark_model::new_latencies();
    latencies.record_n(1_000_000, reads).unwrap();
    let read = IntervalKind {
        count: reads,
        errors: 0,
        service: Packed::pack(&latencies),
        response: None,
    };
    let kinds = (reads > 0).then_some((Kind::Read, read));
    Interval {
        start_s: start_s.into(),
        length_s: 1.0,
        operations: reads,
        failed: 0,
        kinds: kinds.into_iter().collect(),
    }
}

fn drawn(intervals: &[Interval]) -> Vec<TimelineLine> {
    let mut lines = TimelineLines {
        start_s: 0.0,
        color: "#000",
        panels: &Panels::from_phases(std::iter::empty()),
        lines: Vec::new(),
    };
    lines.intervals([&[], intervals]);
    lines.lines
}

#[test]
fn a_stall_is_a_rate_of_zero_and_a_hole_in_the_latency() {
    let seconds: Vec<_> = (0..).zip([5_000, 5_000, 0, 0, 5_000, 0]).collect();
    let intervals: Vec<_> = seconds
        .iter()
        .map(|&(at, reads)| second(at, reads))
        .collect();
    let lines = drawn(&intervals);
    let values = |name| -> Vec<Option<f64>> {
        let line = lines.iter().find(|line| line.name == name).unwrap();
        line.data.iter().map(|(_, value)| *value).collect()
    };
    let rates = [5e3, 5e3, 0.0, 0.0, 5e3, 0.0].map(Some);
    assert_eq!(values("ops/s"), rates);
    let is_drawn: Vec<_> = values("read p99").iter().map(Option::is_some).collect();
    assert_eq!(is_drawn, [true, true, false, false, true, false]);
}

#[test]
fn seconds_taken_together_divide_by_all_of_their_time() {
    // Every other second of 600, two to a point.
    let intervals: Vec<_> = (0..600)
        .map(|at| second(at, if at % 2 == 0 { 1_000 } else { 0 }))
        .collect();
    let lines = drawn(&intervals);
    assert!(lines[0].data.iter().all(|(_, rate)| *rate == Some(500.0)));
}

#[test]
fn a_point_alone_between_holes_is_marked() {
    let intervals = |alone: &dyn Fn(u32) -> bool| -> Vec<Interval> {
        let reads = |at| if alone(at) { 5_000 } else { 0 };
        (0..100).map(|at| second(at, reads(at))).collect()
    };
    let is_marked = |all: &[Interval]| drawn(all)[1].is_sparse();
    assert!(is_marked(&intervals(&|at| at == 50 || at > 90)));
    assert!(!is_marked(&intervals(&|at| at > 50)));
}

#[test]
fn no_line_has_more_points_than_can_be_seen() {
    let samples: Vec<(f64, f64)> = (0..1_201).map(|i| (f64::from(i), 1.0)).collect();
    let line = thinned(0.0, &samples);
    assert!(
        line.len() <= POINTS_MAX && line.len() > POINTS_MAX / 2,
        "{}",
        line.len()
    );
}

/// A value at each instant, or a hole.
fn line_of(series: &Series, start_s: f64) -> LineData {
    thinned(start_s, &spans(series))
}

#[test]
fn seconds_without_a_connection_are_a_hole_in_the_line() {
    let at_s: Vec<f64> = (0..=60)
        .map(f64::from)
        .filter(|at| !(20.5..41.5).contains(at))
        .collect();
    let values: Vec<f64> = at_s.iter().map(|at| at * 7.0).collect();
    let line = line_of(&counter(&at_s, &values), 0.0);
    let holes: Vec<_> = line.iter().filter(|(_, value)| value.is_none()).collect();
    assert_eq!(holes, [&(31.0, None)]);
    let last = line.iter().position(|(_, value)| value.is_none()).unwrap();
    assert_eq!((line[last - 1].0, line[last + 1].0), (19.5, 42.5));
}

#[test]
fn a_point_that_is_thinned_more_than_its_warm_up_has_no_hole() {
    let warmup = (-400..0).map(f64::from);
    let point = (0..100).map(|i| f64::from(i) * 4.0);
    let at_s: Vec<f64> = warmup.chain(point).collect();
    let line = line_of(&counter(&at_s, &at_s), -400.0);
    assert!(line.iter().all(|(_, value)| value.is_some()));
}

#[test]
fn every_host_has_its_devices_drawn() {
    let device = |subject: &str, host: &str| Series {
        subject: tailmark_model::subject_on_server(subject, host),
        ..counter(&[0.0, 1.0], &[0.0, 5.0])
    };
    let series = ["db1", "db2", "db3", "db4"].map(|host| device("nvme0n1", host));
    let crowded = ["a", "b", "c", "d"].map(|subject| device(subject, "db5"));
    let mut lines = TimelineLines {
        start_s: 0.0,
        color: "#000",
        panels: &Panels::from_phases(std::iter::empty()),
        lines: Vec::new(),
    };
    lines.devices(&[series, crowded].concat());
    assert_eq!(lines.lines.len(), 4 + DEVICES_MAX);
}

#[test]
fn a_warm_up_by_rule_lies_shaded_before_0() {
    let seconds = |count: u32| (0..count).map(|at| second(at, 10)).collect::<Vec<_>>();
    let device = |at_s: &[f64], values: &[f64]| vec![counter(at_s, values)];
    let warmup = Phase {
        duration_s: 40.0,
        // What was waited for after its end is not drawn.
        intervals: seconds(43),
        series: device(&[0.0, 20.0, 40.0, 43.0], &[0.0, 200.0, 400.0, 420.0]),
        ..Phase::default()
    };
    let mut point = Phase {
        duration_s: 20.0,
        intervals: seconds(20),
        series: device(&[-1.0, 9.0, 20.0], &[420.0, 520.0, 630.0]),
        ..Phase::default()
    };
    let alone = timeline(
        &point,
        "#000000",
        &Panels::from_phases(std::iter::once(&point)),
    );
    assert_eq!(alone["xAxis"][0], json!({"max": 20}));
    assert!(alone["series"][0].get("markArea").is_none());
    point.warmup = Some(Box::new(tailmark_model::Warmup {
        phase: warmup,
        steady_s: None,
        reason: Some("it fell".into()),
    }));
    let both = timeline(
        &point,
        "#000000",
        &Panels::from_phases(std::iter::once(&point)),
    );
    assert_eq!(both["xAxis"][0], json!({"min": -41, "max": 20}));
    let area = &both["series"][0]["markArea"]["data"][0];
    assert_eq!(
        area[0],
        json!({"name": "warm-up, 40s, not steady", "xAxis": -41})
    );
    assert_eq!(area[1], json!({"xAxis": 0}));
    let ops = both["series"][0]["data"].as_array().unwrap();
    assert_eq!((ops.len(), &ops[0]), (60, &json!([-40.5, 10])));
    assert_eq!(ops[40], json!([0.5, 10]));
    let series = both["series"].as_array().unwrap();
    let reads = series
        .iter()
        .find(|s| s["name"] == "nvme0n1 reads")
        .unwrap();
    let data = reads["data"].as_array().unwrap().iter();
    let at: Vec<f64> = data.map(|v| v[0].as_f64().unwrap()).collect();
    assert_eq!(at, [-31.0, -11.0, 4.0, 14.5]);
    assert_eq!(reads["markArea"]["data"][0][0]["name"], "");
}

#[test]
fn background_work_of_a_database_has_a_plot_where_it_is_told() {
    let mut point = Phase {
        duration_s: 3.0,
        intervals: (0..3).map(|at| second(at, 10)).collect(),
        ..Phase::default()
    };
    let without = Panels::from_phases(std::iter::once(&point));
    point.series = vec![Series {
        probe: DATABASE.into(),
        name: COMPACTIONS.into(),
        ..counter(&[0.0, 1.0, 2.0, 3.0], &[4.0, 4.0, 6.0, 6.0])
    }];
    let with = Panels::from_phases(std::iter::once(&point));
    assert_eq!((without.0.len(), with.0.len()), (5, 6));
    assert!(with.height() > without.height());
    let drawn = timeline(&point, "#000000", &with);
    let jobs = &drawn["series"].as_array().unwrap()[1..];
    let jobs = jobs
        .iter()
        .find(|line| line["name"] == COMPACTIONS)
        .unwrap();
    assert_eq!(jobs["yAxisIndex"], 4);
    assert_eq!(jobs["data"], json!([[0.5, 0], [1.5, 2], [2.5, 0]]));
    assert_eq!(timeline_base(&with)["grid"].as_array().unwrap().len(), 6);
}

#[test]
fn seconds_in_which_writers_were_held_back_are_shaded_over_rate_and_latency() {
    let mut point = Phase {
        duration_s: 6.0,
        intervals: (0..6).map(|at| second(at, 10)).collect(),
        ..Phase::default()
    };
    let at_s = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let sampled = |name: &str, kind, values: [f64; 7]| Series {
        probe: DATABASE.into(),
        name: name.into(),
        kind,
        ..counter(&at_s, &values)
    };
    point.series = vec![
        sampled(
            "stall_s",
            SeriesKind::Counter,
            [0.0, 0.0, 0.4, 0.9, 0.905, 0.905, 0.905],
        ),
        sampled(
            "write_stopped",
            SeriesKind::Gauge,
            [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        ),
    ];
    let drawn = timeline(
        &point,
        "#000000",
        &Panels::from_phases(std::iter::once(&point)),
    );
    let areas = drawn["series"][0]["markArea"]["data"].as_array().unwrap();
    let spans: Vec<_> = areas
        .iter()
        .map(|area| (&area[0]["xAxis"], &area[1]["xAxis"]))
        .collect();
    assert_eq!(
        spans,
        [(&json!(1.0), &json!(3.0)), (&json!(5.0), &json!(6.0))]
    );
    assert_eq!(areas[0][0]["name"], "writers held back");
    let latency = drawn["series"].as_array().unwrap().iter();
    let mut latency = latency.filter(|line| line["yAxisIndex"] == 1);
    let areas_of = |line: &Value| line["markArea"]["data"].as_array().map(Vec::len);
    assert!(latency.any(|line| areas_of(line) == Some(2)));
}

#[test]
fn processors_of_servers_are_drawn_apart_from_those_of_the_clients() {
    let cpu = |subject: &str, name: &str, values: [f64; 3]| Series {
        probe: "cpu".into(),
        subject: subject.into(),
        name: name.into(),
        ..counter(&[0.0, 1.0, 2.0], &values)
    };
    let there = tailmark_model::subject_on_server("machine", "db1");
    let series = [
        cpu("machine", "user_s", [0.0, 1.0, 2.0]),
        cpu("machine", "idle_s", [0.0, 1.0, 2.0]),
        // Of four processors one and a half are busy, and one waits.
        cpu(&there, "user_s", [0.0, 1.5, 3.0]),
        cpu(&there, "idle_s", [0.0, 1.5, 3.0]),
        cpu(&there, "iowait_s", [0.0, 1.0, 2.0]),
        cpu(
            &tailmark_model::subject_on_server("cpu0", "db1"),
            "busy_s",
            [0.0, 1.0, 2.0],
        ),
    ];
    let phase = Phase {
        series: series.to_vec(),
        ..Phase::default()
    };
    let panels = Panels::from_phases(std::iter::once(&phase));
    assert!(panels.place(Panel::ServerProcessor).is_some());
    assert!(
        Panels::from_phases(std::iter::empty())
            .place(Panel::ServerProcessor)
            .is_none()
    );
    let mut lines = TimelineLines {
        start_s: 0.0,
        color: "#000",
        panels: &panels,
        lines: Vec::new(),
    };
    lines.processors(&phase.series);
    lines.servers(&phase.series);
    let value = |panel: Panel, name: &str| {
        let mut lines = lines.lines.iter();
        let line = lines.find(|line| line.panel == panel && line.name == name);
        line.unwrap()
            .data
            .iter()
            .map(|(_, value)| value.unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(value(Panel::Processor, "machine"), [50.0, 50.0]);
    assert_eq!(value(Panel::ServerProcessor, "db1"), [37.5, 37.5]);
    assert_eq!(
        value(Panel::ServerProcessor, "db1 waiting for I/O"),
        [25.0, 25.0]
    );
}
