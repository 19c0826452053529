//! Counters whose steps are known.

use super::*;
use crate::{Bound, Metric, SeriesKind};

fn counter(probe: &str, name: &str, at_s: &[f64], values: &[f64]) -> Series {
    Series {
        probe: probe.to_owned(),
        subject: "nvme0n1".to_owned(),
        name: name.to_owned(),
        kind: SeriesKind::Counter,
        at_s: at_s.to_vec(),
        values: values.to_vec(),
    }
}

/// Counters that are sampled every ten seconds, for as long as they have readings.
fn phase(counters: &[(&str, &str, &[f64])]) -> Phase {
    let longest = counters.iter().map(|(.., values)| values.len()).max();
    let at_s: Vec<f64> = (0..longest.unwrap_or(0)).map(|i| 10.0 * i as f64).collect();
    let series = counters
        .iter()
        .map(|(probe, name, values)| counter(probe, name, &at_s[..values.len()], values));
    Phase {
        duration_s: at_s.last().copied().unwrap_or(0.0),
        operations: 1_000,
        series: series.collect(),
        ..Phase::default()
    }
}

fn value(phase: &Phase, name: &str) -> Option<Bounded> {
    let figures = phase.sampled_figures(None);
    figures.get(&Metric::from_name(name).unwrap()).copied()
}

fn is_near(found: Bounded, ends: [f64; 3]) {
    let all = [found.low(), found.value, found.high()];
    let near = all
        .iter()
        .zip(ends)
        .all(|(a, b)| (a / b - 1.0).abs() < 1e-9);
    assert!(near, "{all:?}, not {ends:?}");
}

#[test]
fn three_data_units_between_two_readings_are_two_to_four() {
    let unit = NVME_DATA_UNIT;
    let host = [1_000.0 * unit, 1_003.0 * unit];
    let phase = phase(&[
        (SMART, WRITTEN, &host),
        (OCP, MEDIA, &[1_000_001.0, 1_000_001.0 + 6.0 * unit]),
    ]);
    let amplification = value(&phase, "device_write_amplification").unwrap();
    is_near(amplification, [1.5, 2.0, 3.0]);
    // Without the kernel's counter the host's writes are the drive's: 1.024 to 2.048 MB.
    let per_op = value(&phase, "host_write_bytes_per_op").unwrap();
    is_near(per_op, [1_024.0, 1_536.0, 2_048.0]);
    // The media are counted in bytes.
    let media = value(&phase, "media_write_bytes_per_op").unwrap();
    assert_eq!(media, Bounded::exact(6.0 * unit / 1_000.0));
}

#[test]
fn steps_below_a_hundredth_leave_a_value_plain() {
    let bound = |units: f64| {
        let unit = NVME_DATA_UNIT;
        let phase = phase(&[
            (SMART, WRITTEN, &[unit, (1.0 + units) * unit]),
            (OCP, MEDIA, &[1.0, 1.0 + 2.0 * units * unit]),
        ]);
        value(&phase, "device_write_amplification").unwrap().bound
    };
    assert_eq!(bound(102.0), Bound::Exact);
    assert!(matches!(bound(98.0), Bound::Between(..)));
    assert_eq!(bound(1.0), Bound::AtLeast);
}

#[test]
fn a_media_counter_has_the_step_that_divides_its_readings() {
    let mb32 = f64::from(32 << 20);
    let with = |readings: &[f64]| {
        let phase = phase(&[(OCP, MEDIA, readings)]);
        value(&phase, "media_write_bytes_per_op").unwrap()
    };
    let steps = with(&[35.0 * mb32, 40.0 * mb32, 43.0 * mb32]);
    is_near(steps, [7.0, 8.0, 9.0].map(|count| count * mb32 / 1e3));
    // A drive that has written nothing before shows no step by its 0.
    assert!(with(&[0.0, 40.0 * mb32]).is_exact());
    assert!(with(&[0.0, 4_096.0 * 7.0, 1e9]).is_exact());
}

#[test]
fn a_counter_that_is_updated_every_minute_is_bounded_by_its_updates() {
    // 100 MB in ten seconds; the log of the media, twice as much, is updated every minute.
    let host: Vec<f64> = (0..=30).map(|i| f64::from(i) * 1e8).collect();
    let shown = |i: u32| 1.0 + f64::from((i + 3) / 6) * 1.2e9;
    let media: Vec<f64> = (0..=30).map(shown).collect();
    let phase = phase(&[(DISK, WRITTEN, &host), (OCP, MEDIA, &media)]);
    // Five updates are seen: four lie between two of them, and one more may be missing.
    let per_op = value(&phase, "media_write_bytes_per_op").unwrap();
    is_near(per_op, [4.8e6, 6e6, 7.2e6]);
    assert!(per_op.low() <= 6e6 && 6e6 <= per_op.high());
}

#[test]
fn a_counter_that_stands_still_while_nothing_is_written_is_not_late() {
    let idle = [0.0, 1e9, 1e9, 1e9, 2e9];
    let media = [1.0, 2e9 + 1.0, 2e9 + 1.0, 2e9 + 1.0, 4e9 + 1.0];
    let bursts = phase(&[(DISK, WRITTEN, &idle), (OCP, MEDIA, &media)]);
    assert!(
        value(&bursts, "media_write_bytes_per_op")
            .unwrap()
            .is_exact()
    );
}

#[test]
fn a_counter_that_never_moves_while_the_host_writes_says_nothing() {
    let silent = phase(&[(DISK, WRITTEN, &[0.0, 1e9, 2e9]), (OCP, MEDIA, &[5.0; 3])]);
    assert_eq!(value(&silent, "media_write_bytes_per_op"), None);
    assert_eq!(silent.silent_counters(), ["media writes"]);
    // Within a point without writes it is right.
    let idle = phase(&[(DISK, WRITTEN, &[1e9; 3]), (OCP, MEDIA, &[5.0; 3])]);
    assert_eq!(
        value(&idle, "media_write_bytes_per_op"),
        Some(Bounded::exact(0.0))
    );
}

#[test]
fn steps_of_several_drives_add_up() {
    let unit = NVME_DATA_UNIT;
    let mut both = phase(&[(SMART, WRITTEN, &[unit, 5.0 * unit])]);
    let mut other = both.series[0].clone();
    other.subject = "nvme1n1".to_owned();
    both.series.push(other);
    let per_op = value(&both, "host_write_bytes_per_op").unwrap();
    is_near(per_op, [6.0 * 512.0, 8.0 * 512.0, 10.0 * 512.0]);
}
