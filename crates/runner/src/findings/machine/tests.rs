use super::*;
use tailmark_model::{
    Series,
    SeriesKind::{self, Counter, Gauge},
    subject_on_server,
};

/// A phase of 100 s with these counters, each with its change per second, and gauges.
fn phase(series: &[(&str, &str, SeriesKind, f64)]) -> Phase {
    let series = series.iter().map(|&(probe, name, kind, value)| Series {
        probe: probe.to_owned(),
        subject: if probe == "cpu" { "machine" } else { "x" }.to_owned(),
        name: name.to_owned(),
        kind,
        at_s: vec![0.0, 100.0],
        values: match kind {
            Counter => vec![7.0, 7.0 + 100.0 * value],
            Gauge => vec![value, value],
        },
    });
    Phase {
        duration_s: 100.0,
        series: series.collect(),
        ..Phase::default()
    }
}

#[test]
fn a_drive_that_was_too_hot_is_named_with_its_counters() {
    let hot = phase(&[
        ("nvme-smart", "light_throttlings", Counter, 0.02),
        ("nvme-smart", "warning_temperature_s", Counter, 0.6),
        ("nvme-smart", "critical_temperature_s", Counter, 0.0),
    ]);
    let text = device_throttled(&hot).unwrap().to_string();
    assert!(
        text.contains("2 transitions to its first thermal state and 60 s above its warning"),
        "{text}"
    );
    let status = |value| phase(&[("nvme-ocp", "throttling_status", Gauge, value)]);
    assert!(
        device_throttled(&status(1.0))
            .unwrap()
            .to_string()
            .contains("status other than 0")
    );
    assert_eq!(device_throttled(&status(0.0)), None);
    assert_eq!(device_throttled(&phase(&[])), None);
}

#[test]
fn a_volume_at_its_limit_says_which() {
    let capped = phase(&[
        ("cloud-volume", "volume_iops_exceeded_s", Counter, 0.5),
        (
            "cloud-volume",
            "instance_throughput_exceeded_s",
            Counter,
            0.001,
        ),
    ]);
    let text = volume_capped(&capped).unwrap().to_string();
    assert!(
        text.contains("the IOPS of the volume for 50 % of the time."),
        "{text}"
    );
    let below = phase(&[("cloud-volume", "volume_iops_exceeded_s", Counter, 0.009)]);
    assert_eq!(volume_capped(&below), None);
}

#[test]
fn stolen_time_is_a_share_of_that_of_all_processors() {
    let recorded = |steal| {
        phase(&[
            ("cpu", "user_s", Counter, 1.0),
            ("cpu", "idle_s", Counter, 3.0 - steal),
            ("cpu", "steal_s", Counter, steal),
        ])
    };
    assert!(
        steal(&recorded(0.1))
            .unwrap()
            .to_string()
            .starts_with("2.5 % of the processors' time")
    );
    assert_eq!(steal(&recorded(0.03)), None);
    assert_eq!(steal(&phase(&[])), None);
}

#[test]
fn what_others_did_on_the_device_is_what_the_database_did_not_ask_for() {
    let recorded = |device: [f64; 2], process: &'static str, requested: [f64; 2]| {
        phase(&[
            ("disk", "read_bytes", Counter, device[0]),
            ("disk", "write_bytes", Counter, device[1]),
            (process, "read_bytes", Counter, requested[0]),
            (process, "write_bytes", Counter, requested[1]),
        ])
    };
    let busy = recorded([50e6, 20e6], "process", [40e6, 20e6]);
    let text = other_load(&busy, Place::Directory).unwrap().to_string();
    assert!(
        text.contains(": 10.0 MB/s of 50.0 MB/s read from it. Stop"),
        "{text}"
    );
    // Read-ahead, a journal and small amounts are ignored.
    for (device, requested) in [
        ([50e6, 20e6], [46e6, 11e6]),
        ([900e3, 0.0], [0.0, 0.0]),
        ([0.0, 10e6], [50e6, 30e6]),
    ] {
        assert_eq!(
            other_load(&recorded(device, "process", requested), Place::Directory),
            None
        );
    }
    // Flushing a log also writes the journal.
    let mut synced = recorded([0.0, 18e6], "process", [0.0, 6e6]);
    assert!(other_load(&synced, Place::Directory).is_some());
    synced
        .series
        .extend(phase(&[("disk", "flushes", Counter, 300.0)]).series);
    assert_eq!(other_load(&synced, Place::Directory), None);
    // The bytes of a server are those of its process; if that is hidden, there is no finding.
    assert_eq!(other_load(&busy, Place::Hosts), None);
    let server = recorded([50e6, 0.0], "database-process", [10e6, 0.0]);
    assert!(other_load(&server, Place::Hosts).is_some());
}

/// The same with all of it on the host of a server.
fn on(host: &str, mut phase: Phase) -> Vec<Series> {
    for series in &mut phase.series {
        series.subject = subject_on_server(&series.subject, host);
    }
    phase.series
}

#[test]
fn of_others_nothing_is_said_unless_the_process_of_each_host_is_seen() {
    let host = |name: &str, is_seen: bool| {
        let mut sampled = phase(&[("disk", "read_bytes", Counter, 50e6)]);
        if is_seen {
            let process = phase(&[("database-process", "read_bytes", Counter, 45e6)]);
            sampled.series.extend(process.series);
        }
        on(name, sampled)
    };
    let recorded = |is_seen: [bool; 2]| Phase {
        series: [host("db1", is_seen[0]), host("db2", is_seen[1])].concat(),
        ..phase(&[])
    };
    assert!(other_load(&recorded([true, true]), Place::Hosts).is_some());
    assert_eq!(other_load(&recorded([true, false]), Place::Hosts), None);
    assert_eq!(other_load(&recorded([false, true]), Place::Hosts), None);
}

#[test]
fn a_drive_that_was_too_hot_is_found_whatever_other_hosts_have() {
    let hot = phase(&[("nvme-smart", "light_throttlings", Counter, 0.02)]);
    let other = phase(&[("disk", "reads", Counter, 10.0)]);
    let both = Phase {
        series: [on("db1", hot), on("db2", other)].concat(),
        ..phase(&[])
    };
    assert!(device_throttled(&both).is_some());
}
