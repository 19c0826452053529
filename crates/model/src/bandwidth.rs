//! Bytes per second to and from devices and databases over a phase. Computed here only, so that
//! reports and exports agree.

use crate::{Kind, KindResult, Phase, Series};
use std::collections::BTreeSet;

/// Means over a phase, MB/s of a million bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// All watched devices together, including those of every host: whatever was done to them.
    pub device: Option<DeviceBandwidth>,
    /// Keys and values that clients wrote and read, background clients included. `None` if requests were
    /// done but their bytes are not known, as in some imports.
    pub database: Option<f64>,
}

/// What a device did, MB/s of a million bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceBandwidth {
    /// Bytes read from it.
    pub read: f64,
    /// Bytes written to it.
    pub written: f64,
}

impl DeviceBandwidth {
    /// Reads and writes together.
    pub fn total(self) -> f64 {
        self.read + self.written
    }
}

/// Bytes of a MB.
const MB: f64 = 1e6;

impl Phase {
    /// The bandwidth of devices and database. Device bandwidth comes from the series, so it is
    /// unknown if the phase was read without them.
    pub fn bandwidth(&self) -> Bandwidth {
        let disks = self.sampled("disk");
        let device = disks.rate("read_bytes").zip(disks.rate("write_bytes"));
        Bandwidth {
            device: device.map(|(read, written)| DeviceBandwidth {
                read: read / MB,
                written: written / MB,
            }),
            database: self
                .database_bytes_in_time()
                .map(|bytes| bytes as f64 / MB / self.duration_s.max(1e-9)),
        }
    }

    /// The bandwidth of each watched device, by name.
    pub fn device_bandwidths(&self) -> Vec<(&str, DeviceBandwidth)> {
        let of_disks = || self.series.iter().filter(|s| s.probe == "disk");
        let rate = |name: &str, subject: &str| {
            let is_it = |s: &&Series| s.name == name && s.subject == subject;
            let series = of_disks().find(is_it)?;
            Some(series.mean_rate(self.duration_s)? / MB)
        };
        let names: BTreeSet<&str> = of_disks().map(|s| s.subject.as_str()).collect();
        let device = |name| {
            let (read, written) = rate("read_bytes", name).zip(rate("write_bytes", name))?;
            Some((name, DeviceBandwidth { read, written }))
        };
        names.into_iter().filter_map(device).collect()
    }

    /// Bytes of keys and values by the end of the measured part, if they are known. A
    /// read-modify-write counts through its two halves.
    fn database_bytes_in_time(&self) -> Option<u64> {
        let halves = || Kind::sent(&self.kinds);
        // An import may know of operations, and of no kind how many.
        let has_found = halves().any(|result| result.count > result.not_found)
            || halves().all(|result| result.count == 0) && self.operations > self.failed;
        let is_known = !has_found || halves().any(|result| result.bytes > 0);
        is_known.then(|| halves().map(KindResult::bytes_in_time).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SeriesKind;
    use std::collections::BTreeMap;

    fn phase() -> Phase {
        phase_of(&["nvme0n1"])
    }

    fn phase_of(devices: &[&str]) -> Phase {
        let disk = |subject: &str, name: &str, per_s: f64| Series {
            probe: "disk".to_owned(),
            subject: subject.to_owned(),
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
            series: devices
                .iter()
                .flat_map(|name| {
                    [
                        disk(name, "read_bytes", 70e6),
                        disk(name, "write_bytes", 2e6),
                    ]
                })
                .collect(),
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
    fn several_devices_are_summed_and_kept_apart() {
        let phase = phase_of(&["nvme1n1", "nvme0n1", "sda"]);
        let sum = phase.bandwidth().device.unwrap();
        assert_eq!((sum.read, sum.written), (210.0, 6.0));
        let each = phase.device_bandwidths();
        let names: Vec<_> = each.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["nvme0n1", "nvme1n1", "sda"]);
        assert!(
            each.iter()
                .all(|(_, bandwidth)| (bandwidth.read, bandwidth.written) == (70.0, 2.0))
        );
    }

    #[test]
    fn devices_of_a_host_that_was_not_watched_are_in_no_sum() {
        let on = crate::subject_on_server;
        let (one, two) = (on("nvme0n1", "db1"), on("nvme0n1", "db2"));
        let both = phase_of(&[&one, &two]).bandwidth().device.unwrap();
        assert_eq!((both.read, both.written), (140.0, 4.0));
        let mut lost = phase_of(&[&one]);
        lost.series.push(Series {
            probe: crate::SERVER_CLOCK.to_owned(),
            subject: on("clock", "db2"),
            ..lost.series[0].clone()
        });
        assert_eq!(lost.bandwidth().device, None);
        assert_eq!(lost.device_bandwidths().len(), 1);
    }

    #[test]
    fn a_read_modify_write_is_counted_by_its_halves() {
        assert!((phase().bandwidth().database.unwrap() - 4.0).abs() < 1e-9);
    }

    #[test]
    fn bytes_that_are_not_known_are_not_none() {
        let database = |not_found| {
            let read = KindResult {
                count: 10,
                not_found,
                ..KindResult::default()
            };
            let phase = Phase {
                kinds: BTreeMap::from([(Kind::Read, read)]),
                ..phase()
            };
            phase.bandwidth().database
        };
        assert_eq!(database(9), None);
        assert_eq!(
            database(10),
            Some(0.0),
            "nothing was found, so nothing was read"
        );
        let of_no_kind = Phase {
            kinds: BTreeMap::new(),
            ..phase()
        };
        assert_eq!(of_no_kind.bandwidth().database, None);
        // Of a published table latencies are known, and not of how many requests.
        let published = Phase {
            kinds: BTreeMap::from([(Kind::Read, KindResult::default())]),
            ..phase()
        };
        assert_eq!(published.bandwidth().database, None);
    }
}
