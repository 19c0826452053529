//! Counters of volumes in Amazon's cloud: the log D0h of EBS volumes and of instance storage on
//! Nitro instances ("Amazon EBS detailed performance statistics" in the user guide of EBS).
//!
//! It distinguishes a slow volume from a throttled one: it has the time for which requests exceeded
//! what the volume, or the instance, is allowed.

use super::{Field, Log, Value, number, open, read};
use crate::{BlockDevice, probe::row::ProbeRow};
use tailmark_model::SeriesKind::Counter;

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "cloud-volume",
    about: "Amazon volumes on NVMe: requests, time throttled by volume and instance limits, \
            latencies",
    period_s: 1,
    is_default: true,
    open: |target| open(target, &LOG),
};

const LOG: Log = Log {
    page: 0xD0,
    name: "Amazon volume statistics",
    size: 4096,
    namespace: 1,
    applies: is_amazon,
    decode,
};

/// The models of their drives.
const MODELS: [&str; 2] = [
    "Amazon Elastic Block Store",
    "Amazon EC2 NVMe Instance Storage",
];
/// The first bytes of the log, for a volume and for instance storage.
const MAGIC: [u128; 2] = [0x3C23_B510, 0xEC2C_0D7E];

const MICROSECOND: f64 = 1e-6;

pub(super) const FIELDS: &[Field] = &[
    Field::counter("reads", 8, 8),
    Field::counter("writes", 16, 8),
    Field::counter("read_bytes", 24, 8),
    Field::counter("write_bytes", 32, 8),
    Field::counter("read_s", 40, 8).in_unit(MICROSECOND),
    Field::counter("write_s", 48, 8).in_unit(MICROSECOND),
    Field::counter("volume_iops_exceeded_s", 56, 8).in_unit(MICROSECOND),
    Field::counter("volume_throughput_exceeded_s", 64, 8).in_unit(MICROSECOND),
    Field::counter("instance_iops_exceeded_s", 72, 8).in_unit(MICROSECOND),
    Field::counter("instance_throughput_exceeded_s", 80, 8).in_unit(MICROSECOND),
    Field::gauge("queue_length", 88, 8),
];

/// The start of the latencies of reads and of writes: the number of bins, then the bins, each with
/// its lower and upper bound in microseconds and its count.
const HISTOGRAMS: [(&str, usize); 2] = [("read", 512), ("write", 2056)];
const BINS_MAX: usize = 64;
const BIN_BYTES: usize = 24;

fn is_amazon(drive: &BlockDevice) -> bool {
    let model = drive.model.as_deref().unwrap_or_default();
    MODELS.iter().any(|known| model.starts_with(known))
}

fn decode(log: &[u8]) -> Option<Vec<Value>> {
    if !MAGIC.contains(&number(log, 0, 4)) {
        return None;
    }
    let mut values = read(FIELDS, log);
    for (name, at) in HISTOGRAMS {
        values.extend(latencies(name, log, at));
    }
    Some(values)
}

/// How many requests did not exceed the upper bound of each bin. The last bin has none and includes
/// all requests.
fn latencies(name: &str, log: &[u8], at: usize) -> Vec<Value> {
    let bins = (number(log, at, 8) as usize).min(BINS_MAX);
    let mut sum = 0;
    let bin = |index: usize| {
        let at = at + 8 + index * BIN_BYTES;
        sum += number(log, at + 16, 4);
        let name = format!("{name}_le_{}us", number(log, at + 8, 8));
        (name, Counter, sum as f64)
    };
    (0..bins.saturating_sub(1)).map(bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VOLUME: &[u8; 4096] = include_bytes!("../../tests/nvme/amazon.bin");

    #[test]
    fn every_field_is_read_where_the_log_has_it() {
        let expected = [
            ("reads", 1_000_001.0),
            ("writes", 2_000_002.0),
            ("read_bytes", 3_000_003.0),
            ("write_bytes", 4_000_004.0),
            ("read_s", 5.000_005),
            ("write_s", 6.000_006),
            ("volume_iops_exceeded_s", 7.5),
            ("volume_throughput_exceeded_s", 8.25),
            ("instance_iops_exceeded_s", 9.0),
            ("instance_throughput_exceeded_s", 0.125),
            ("queue_length", 32.0),
            // 3, 4 and 5 requests in bins up to 8, 16 and any number of microseconds.
            ("read_le_8us", 3.0),
            ("read_le_16us", 7.0),
            ("write_le_8us", 6.0),
            ("write_le_16us", 6.0),
        ];
        let all = decode(VOLUME).unwrap();
        assert_eq!(all.len(), expected.len());
        for ((name, _, value), (expected_name, exact)) in all.iter().zip(expected) {
            assert_eq!(name, expected_name);
            assert!((value - exact).abs() < 1e-9, "{name}: {value}");
        }
    }

    #[test]
    fn another_log_and_a_number_of_bins_that_cannot_be_are_refused() {
        assert_eq!(decode(&[0; 4096]), None);
        let mut log = *VOLUME;
        log[512..520].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(decode(&log).unwrap().len(), FIELDS.len() + 63 + 2);
    }

    #[test]
    fn instance_storage_has_the_same_log() {
        let mut log = *VOLUME;
        log[..4].copy_from_slice(&0xEC2C_0D7E_u32.to_le_bytes());
        assert_eq!(decode(&log), decode(VOLUME));
    }
}
