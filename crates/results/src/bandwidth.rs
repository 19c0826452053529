//! How much went to and from device and database over a phase: the one place that computes it, so
//! that reports and exports say the same.

use crate::{Kind, Phase, Series};

/// Means over a phase, MB/s of a million bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// Of the device, where one was watched: whatever was done to it.
    pub device: Option<DeviceBandwidth>,
    /// Keys and values as clients gave and got them, those of background clients included.
    pub database: f64,
}

/// What a device did, MB/s of a million bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceBandwidth {
    /// Read from it.
    pub read: f64,
    /// Written to it.
    pub written: f64,
}

impl DeviceBandwidth {
    /// Both together.
    #[must_use]
    pub fn total(self) -> f64 {
        self.read + self.written
    }
}

/// Bytes of a MB.
const MB: f64 = 1e6;

impl Phase {
    /// The bandwidth of device and database. That of the device is in the series, so it is not known
    /// of a phase that was read without them.
    #[must_use]
    pub fn bandwidth(&self) -> Bandwidth {
        let rate = |name: &str| {
            let is_it = |s: &&Series| s.probe == "disk" && s.name == name;
            let series = self.series.iter().find(is_it)?;
            Some(series.mean_rate(self.duration_s)? / MB)
        };
        let device = rate("read_bytes").zip(rate("write_bytes"));
        Bandwidth {
            device: device.map(|(read, written)| DeviceBandwidth { read, written }),
            database: self.database_bytes() as f64 / MB / self.duration_s.max(1e-9),
        }
    }

    /// Bytes of keys and values. A read-modify-write is in the counts of its two halves.
    fn database_bytes(&self) -> u64 {
        let kinds = self.kinds.iter();
        let halves = kinds.filter(|(kind, _)| **kind != Kind::ReadModifyWrite);
        halves.map(|(_, result)| result.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KindResult, SeriesKind};
    use std::collections::BTreeMap;

    fn phase() -> Phase {
        let disk = |name: &str, per_s: f64| Series {
            probe: "disk".to_owned(),
            subject: "nvme0n1".to_owned(),
            name: name.to_owned(),
            kind: SeriesKind::Counter,
            // One sample before the phase and one after it, which do not count.
            at_s: vec![-5.0, 0.0, 5.0, 10.0, 20.0],
            values: [0.0, 5.0, 10.0, 15.0, 1000.0].map(|t| t * per_s).to_vec(),
        };
        let kind = |bytes| KindResult {
            count: 1,
            bytes,
            ..KindResult::default()
        };
        let kinds = [
            (Kind::Read, kind(30_000_000)),
            (Kind::Update, kind(10_000_000)),
            (Kind::ReadModifyWrite, kind(40_000_000)),
        ];
        Phase {
            duration_s: 10.0,
            operations: 2,
            kinds: BTreeMap::from(kinds),
            series: vec![disk("read_bytes", 70e6), disk("write_bytes", 2e6)],
            ..Phase::default()
        }
    }

    #[test]
    fn a_device_counts_what_it_did_in_the_measured_part() {
        let device = phase().bandwidth().device.unwrap();
        assert_eq!((device.read, device.written), (70.0, 2.0));
        let without = Phase {
            series: Vec::new(),
            ..phase()
        };
        assert_eq!(without.bandwidth().device, None);
    }

    #[test]
    fn a_read_modify_write_is_counted_by_its_halves() {
        assert!((phase().bandwidth().database - 4.0).abs() < 1e-9);
    }
}
