//! Figures of phases whose samples are known.

use super::*;
use crate::cpu_shares::CPU_S;
use std::collections::BTreeMap;

fn counter(probe: &str, subject: &str, name: &str, per_s: f64) -> Series {
    Series {
        probe: probe.to_owned(),
        subject: subject.to_owned(),
        name: name.to_owned(),
        kind: SeriesKind::Counter,
        at_s: vec![0.0, 5.0, 10.0],
        values: vec![7.0, 7.0 + 5.0 * per_s, 7.0 + 10.0 * per_s],
    }
}

/// 1,000 reads of 100 bytes and 500 updates of 200 in 10 s, on two disks.
fn phase() -> Phase {
    let disk = |subject: &str, share: f64| {
        let rates = [
            ("reads", 50.0),
            ("read_s", 0.01),
            ("read_bytes", 20_000.0),
            ("writes", 10.0),
            ("write_s", 0.05),
            ("write_bytes", 40_000.0),
            ("weighted_s", 2.0),
        ];
        rates.map(|(name, rate)| counter("disk", subject, name, rate * share))
    };
    let cpu = [
        ("user_s", 1.0),
        ("steal_s", 0.5),
        ("idle_s", 2.0),
        ("iowait_s", 0.5),
    ];
    let cpu = cpu.map(|(name, rate)| counter("cpu", "machine", name, rate));
    let mut series: Vec<Series> = [disk("a", 1.0), disk("b", 3.0)].concat();
    series.extend(cpu);
    series.push(counter("cpu", "cpu0", "user_s", 1.0));
    series.push(counter("process", "process", "user_s", 0.1));
    series.push(counter("process", "process", "system_s", 0.05));
    series.push(counter("pressure", "machine", "io_some_s", 0.25));
    series.push(counter("database-process", "java", "user_s", 0.2));
    series.push(counter("database-process", "java", "system_s", 0.1));
    series.push(counter("database", "x", "stall_s", 0.05));
    series.push(counter("nvme-smart", "a", "write_bytes", 1e8));
    series.push(counter("nvme-ocp", "a", "media_write_bytes", 1.5e8));
    // 98 % of the reads at most 10 us, all but one in a thousand at most 20 us.
    let reads = [
        ("reads", 1_000.0),
        ("read_le_10us", 980.0),
        ("read_le_20us", 999.0),
    ];
    let reads = reads.map(|(name, rate)| counter("block-latency", "a", name, rate));
    series.extend(reads);
    series.push(Series {
        kind: SeriesKind::Gauge,
        values: vec![2_000.0, 2_500.0, 3_000.0],
        ..counter("database", "x", "sst_bytes", 0.0)
    });
    let kind = |count, bytes| KindResult {
        count,
        bytes,
        ..KindResult::default()
    };
    let kinds = [
        (Kind::Read, kind(1_000, 100_000)),
        (Kind::Update, kind(500, 100_000)),
    ];
    Phase {
        duration_s: 10.0,
        operations: 1_500,
        kinds: BTreeMap::from(kinds),
        series,
        ..Phase::default()
    }
}

fn figures(phase: &Phase, value_bytes: Option<f64>) -> BTreeMap<&'static str, f64> {
    let figures = phase.sampled_figures(value_bytes).into_iter();
    figures
        .map(|(metric, value)| (metric.row().name, value.value))
        .collect()
}

fn value(phase: &Phase, name: &str) -> Option<f64> {
    figures(phase, Some(1_000.0)).get(name).copied()
}

#[test]
fn every_figure_is_what_it_says() {
    let phase = phase();
    for (name, expected) in [
        ("device_reads_per_sec", 200.0),
        ("device_writes_per_sec", 40.0),
        ("device_read_await_us", 200.0),
        ("device_write_await_us", 5_000.0),
        ("device_queue", 8.0),
        ("read_amplification", 8.0),
        ("write_amplification", 16.0),
        ("device_read_p99_us", 20.0),
        ("space_amplification", 3.0),
        ("device_write_amplification", 1.5),
        ("client_cpu_us_per_op", 1_000.0),
        ("server_cpu_us_per_op", 2_000.0),
        ("database_stalled_percent", 5.0),
        ("cpu_busy_percent", 37.5),
        ("cpu_client_percent", 3.75),
        ("cpu_database_percent", 7.5),
        ("cpu_others_percent", 13.75),
        ("cpu_steal_percent", 12.5),
        ("io_stalled_percent", 25.0),
    ] {
        let value = value(&phase, name).unwrap();
        assert!((value / expected - 1.0).abs() < 1e-9, "{name}: {value}");
    }
}

#[test]
fn processor_time_is_shared_with_the_requests_of_background_clients() {
    let mut beside = phase();
    let kind = beside.kinds[&Kind::Read].clone();
    beside.kinds.insert(
        Kind::Insert,
        KindResult {
            count: 1_500,
            ..kind
        },
    );
    let halved = value(&beside, "client_cpu_us_per_op").unwrap();
    assert!((halved - 500.0).abs() < 1e-9, "{halved}");
    // The halves of a read-modify-write are requests of the point.
    let mut pairs = phase();
    let of_pairs = KindResult {
        count: 500,
        ..pairs.kinds[&Kind::Read].clone()
    };
    pairs.kinds.insert(Kind::ReadModifyWrite, of_pairs);
    pairs.operations = 1_000;
    assert_eq!(pairs.background_requests(), 0);
}

#[test]
fn operations_drained_after_the_end_are_on_neither_side_of_a_ratio() {
    let mut drained = phase();
    // As much again was done after the end, half of it in vain.
    (drained.operations, drained.failed) = (3_000, 750);
    (drained.drained, drained.drained_failed) = (750, 750);
    for result in drained.kinds.values_mut() {
        result.drained_bytes = result.bytes;
        result.bytes *= 2;
    }
    for series in drained.series.iter_mut() {
        let end = series.values[2];
        series.at_s.push(20.0);
        series.values.push(2.0 * end);
    }
    let figures_of = |phase: &Phase| figures(phase, Some(1_000.0));
    assert_eq!(figures_of(&drained), figures_of(&phase()));
    assert_eq!(drained.bandwidth(), phase().bandwidth());
    assert_eq!(
        (drained.ops_per_sec(), drained.errors_per_sec()),
        (150.0, 0.0)
    );
}

#[test]
fn what_was_not_sampled_or_has_nothing_to_be_divided_by_is_none() {
    let none = Phase {
        series: Vec::new(),
        ..phase()
    };
    assert!(figures(&none, None).is_empty());
    assert_eq!(Phase::default().read_bytes(), None);
    let idle = Phase {
        kinds: BTreeMap::new(),
        operations: 0,
        ..phase()
    };
    assert_eq!(value(&idle, "read_amplification"), None);
    assert_eq!(value(&idle, "client_cpu_us_per_op"), None);
}

#[test]
fn slower_requests_than_the_highest_bound_have_no_quantile() {
    let mut phase = phase();
    phase.series.retain(|series| series.name != "read_le_20us");
    assert_eq!(value(&phase, "device_read_p99_us"), None);
    assert_eq!(value(&phase, "device_write_p99_us"), None);
}

#[test]
fn what_servers_did_is_theirs_and_devices_are_of_all_hosts() {
    let own = phase();
    let mut with = phase();
    let at = |subject: &str, host: &str| crate::subject_on_server(subject, host);
    for (host, user, idle, stalled) in [("db1", 3.0, 1.0, 0.5), ("db2", 1.0, 3.0, 0.1)] {
        let machine = at("machine", host);
        with.series.push(counter("cpu", &machine, "user_s", user));
        with.series.push(counter("cpu", &machine, "idle_s", idle));
        with.series
            .push(counter("pressure", &machine, "io_some_s", stalled));
        with.series
            .push(counter("disk", &at("c", host), "reads", 100.0));
    }
    let figure = |phase: &Phase, name: &str| figures(phase, None).get(name).copied();
    let near = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-9, "{a:?} {b}");
    near(figure(&with, "server_cpu_busy_percent"), 50.0);
    near(figure(&with, "server_io_stalled_percent"), 30.0);
    assert_eq!(figure(&own, "server_cpu_busy_percent"), None);
    for name in [
        "cpu_busy_percent",
        "cpu_steal_percent",
        "io_stalled_percent",
    ] {
        assert_eq!(figure(&with, name), figure(&own, name), "{name}");
    }
    // 50 and 150 reads/s of the two disks here, and 100 of each host.
    near(figure(&with, "device_reads_per_sec"), 400.0);
    assert_eq!(
        with.servers().into_iter().collect::<Vec<_>>(),
        ["db1", "db2"]
    );
}

#[test]
fn processors_of_servers_count_each_and_not_each_host() {
    let mut phase = phase();
    // 64 processors at 10 %, and 4 at 90 %.
    for (host, busy, idle) in [("large", 6.4, 57.6), ("small", 3.6, 0.4)] {
        let machine = crate::subject_on_server("machine", host);
        phase.series.push(counter("cpu", &machine, "user_s", busy));
        phase.series.push(counter("cpu", &machine, "idle_s", idle));
    }
    let busy = value(&phase, "server_cpu_busy_percent").unwrap();
    assert!((busy - 100.0 * 10.0 / 68.0).abs() < 1e-9, "{busy}");
    // A host that reports no processors has no figure.
    let other = crate::subject_on_server("machine", "other");
    phase
        .series
        .push(counter("pressure", &other, "io_some_s", 0.5));
    assert_eq!(value(&phase, "server_cpu_busy_percent"), None);
}

#[test]
fn what_was_not_sampled_on_each_host_of_a_server_is_in_no_sum() {
    let on = |host: &str| {
        let process = crate::subject_on_server("java", host);
        let disk = crate::subject_on_server("sda", host);
        let of_disk = ["reads", "read_bytes"].map(|name| counter("disk", &disk, name, 100.0));
        let of_process = CPU_S.map(|name| counter("database-process", &process, name, 0.15));
        [of_disk, of_process].concat()
    };
    let of_hosts = |hosts: &[&str]| Phase {
        series: hosts.iter().flat_map(|host| on(host)).collect(),
        ..phase()
    };
    let names = [
        "device_reads_per_sec",
        "read_amplification",
        "server_cpu_us_per_op",
    ];
    let figures = |phase: &Phase| names.map(|name| value(phase, name));
    let both = of_hosts(&["db1", "db2"]);
    for (figure, expected) in figures(&both).into_iter().zip([200.0, 0.02, 4_000.0]) {
        let figure = figure.unwrap();
        assert!(
            (figure / expected - 1.0).abs() < 1e-9,
            "{figure} {expected}"
        );
    }
    // Of the other nothing but its clock is known, as where the connection to it is lost.
    let mut lost = of_hosts(&["db1"]);
    let clock = crate::subject_on_server("clock", "db2");
    lost.series
        .push(counter(crate::SERVER_CLOCK, &clock, "offset_s", 0.0));
    assert_eq!(figures(&lost), [None; 3]);
    assert_eq!(lost.sampled("disk").known_rate("reads"), Some(100.0));
}
