//! Power of phases whose samples are known.

use super::*;
use crate::SERVER_CLOCK;

fn series(probe: &str, subject: &str, name: &str, kind: SeriesKind, values: [f64; 3]) -> Series {
    Series {
        probe: probe.to_owned(),
        subject: subject.to_owned(),
        name: name.to_owned(),
        kind,
        at_s: vec![0.0, 5.0, 10.0],
        values: values.to_vec(),
    }
}

fn energy(subject: &str, watts: f64) -> Series {
    let values = [7.0, 7.0 + 5.0 * watts, 7.0 + 10.0 * watts];
    series("power", subject, "energy_j", SeriesKind::Counter, values)
}

fn gauge(probe: &str, subject: &str, name: &str, values: [f64; 3]) -> Series {
    series(probe, subject, name, SeriesKind::Gauge, values)
}

fn phase(series: Vec<Series>) -> Phase {
    Phase {
        duration_s: 10.0,
        series,
        ..Phase::default()
    }
}

#[test]
fn packages_and_their_memory_are_summed() {
    let phase = phase(vec![
        energy("package-0", 90.0),
        energy("package-0 dram", 10.0),
        energy("package-1", 50.0),
    ]);
    assert_eq!(phase.watts(PowerOf::Processors), Some(150.0));
    assert_eq!(phase.watts(PowerOf::Devices), None);
    assert_eq!(phase.power_source(PowerOf::Processors), Some("power"));
}

#[test]
fn a_servers_power_is_of_the_log_else_the_command_else_the_sensor() {
    let meter = gauge(POWER_LOG, "meter", SERVER_POWER, [300.0, 310.0, 320.0]);
    let command = gauge(POWER_COMMAND, "command", SERVER_POWER, [250.0; 3]);
    let sensor = gauge("hwmon-power", "power_meter", SERVER_POWER, [200.0; 3]);
    let mut all = vec![sensor, command, meter];
    for (watts, source) in [
        (310.0, POWER_LOG),
        (250.0, POWER_COMMAND),
        (200.0, "hwmon-power"),
    ] {
        let phase = phase(all.clone());
        assert_eq!(phase.watts(PowerOf::Server), Some(watts));
        assert_eq!(phase.power_source(PowerOf::Server), Some(source));
        all.pop();
    }
}

#[test]
fn power_of_servers_leaves_out_the_clients_machine_and_no_server() {
    let clock = |server: &str| Series {
        at_s: Vec::new(),
        values: Vec::new(),
        ..gauge(
            SERVER_CLOCK,
            &format!("clock on server {server}"),
            "offset_s",
            [0.0; 3],
        )
    };
    let own = energy("package-0", 40.0);
    let db1 = energy("package-0 on server db1", 100.0);
    let db2 = energy("package-0 on server db2", 120.0);
    let clocks = [clock("db1"), clock("db2")];
    let with = |more: &[&Series]| {
        let more = more.iter().map(|series| (*series).clone());
        phase(clocks.iter().cloned().chain(more).collect())
    };
    let watts = |phase: Phase| phase.watts(PowerOf::Processors);
    assert_eq!(watts(with(&[&own, &db1, &db2])), Some(220.0));
    assert_eq!(watts(with(&[&own, &db1])), None);
    assert_eq!(watts(with(&[&own])), None);
    // What the plan names is about the system, wherever it is sampled.
    let command = gauge(POWER_COMMAND, "command", SERVER_POWER, [400.0; 3]);
    assert_eq!(with(&[&command]).watts(PowerOf::Server), Some(400.0));
}

#[test]
fn idle_power_is_what_a_phase_without_work_drew() {
    let idle = phase(vec![energy("package-0", 30.0)]);
    let kept = idle.idle_series();
    assert_eq!(kept.len(), 1);
    let mut later = phase(vec![energy("package-0", 90.0)]);
    later.series.extend(kept);
    assert_eq!(later.idle_watts(PowerOf::Processors), Some(30.0));
    assert_eq!(later.watts(PowerOf::Processors), Some(90.0));
    assert_eq!(later.idle_watts(PowerOf::Server), None);
}

#[test]
fn the_power_of_drives_is_known_to_a_watt_each_and_so_is_what_follows() {
    use crate::{Bound, Metric, SystemCost};
    let mut both = phase(vec![
        gauge("nvme-ocp", "nvme0n1", DEVICE_POWER, [9.0, 10.0, 11.0]),
        gauge("nvme-ocp", "nvme1n1", DEVICE_POWER, [10.0; 3]),
    ]);
    both.operations = 100_000;
    both.figures = both.sampled_figures(None);
    both.set_stated_figures(&SystemCost::default());
    for (name, ends) in [
        ("device_watts", [18.0, 20.0, 22.0]),
        ("device_joules_per_million_ops", [1_800.0, 2_000.0, 2_200.0]),
        (
            "ops_per_device_watt",
            [10_000.0 / 22.0, 500.0, 10_000.0 / 18.0],
        ),
    ] {
        let value = Metric::from_name(name).unwrap().value(&both).unwrap();
        for (found, expected) in [value.low(), value.value, value.high()].iter().zip(ends) {
            assert!((found / expected - 1.0).abs() < 1e-9, "{name}: {value:?}");
        }
    }
    // A hundred watts are known to 1 %.
    let one = phase(vec![gauge("nvme-ocp", "nvme0n1", DEVICE_POWER, [100.0; 3])]);
    let figures = one.sampled_figures(None);
    assert_eq!(
        figures[&Metric::from_name("device_watts").unwrap()].bound,
        Bound::Exact
    );
}

#[test]
fn a_drives_own_statement_is_a_limit_and_no_measurement() {
    let state = gauge("nvme-power", "nvme0n1", "power_state", [0.0; 3]);
    let most = gauge("nvme-power", "nvme0n1", "power_w_max", [25.0; 3]);
    let other = gauge("nvme-power", "nvme1n1", "power_state", [2.0; 3]);
    let stated = phase(vec![state, most, other]);
    assert_eq!(stated.watts(PowerOf::Devices), None);
    assert_eq!(
        stated.stated_limits(),
        [
            "nvme0n1 is in power state 0, at most 25.0 W by its descriptor",
            "nvme1n1 is in power state 2, whose descriptor states no power"
        ]
    );
}

#[test]
fn a_sensor_that_ends_within_a_phase_measures_no_power_of_it() {
    let each_second = |from: u32, until: u32| {
        let at_s = (from..=until).map(f64::from).collect::<Vec<_>>();
        let series = Series {
            values: at_s.iter().map(|at| 100.0 * at).collect(),
            at_s,
            ..energy("package-0", 100.0)
        };
        Phase {
            duration_s: 60.0,
            ..phase(vec![series])
        }
    };
    let watts = |from, until| each_second(from, until).watts(PowerOf::Processors);
    assert_eq!(watts(0, 60), Some(100.0));
    assert_eq!(watts(2, 58), Some(100.0));
    assert_eq!(watts(0, 30), None);
    assert_eq!(watts(30, 60), None);
}
