//! The disks behind the places: every counter of `/proc/diskstats`.
//!
//! Disks, not partitions, because all activity on a disk affects the run. The fields are those of
//! `Documentation/admin-guide/iostats.rst`.

use super::{Probe, ProbeRow, Reading, readings, unread};
use crate::{Error, block::SECTOR_BYTES, block_device_of};
use procfs::{Current, DiskStat, DiskStats};
use std::collections::BTreeSet;
use tailmark_model::SeriesKind::{Counter, Gauge};

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "disk",
    about: "the disks of the places: reads, writes, discards, flushes, bytes, time, in flight",
    period_s: 1,
    is_default: true,
    open: |target| {
        let places = target.places.iter();
        let devices = places.filter_map(|place| block_device_of(place));
        let names: BTreeSet<String> = devices.map(|device| device.disk).collect();
        if names.is_empty() {
            return Ok(None);
        }
        let stats = stats()?;
        let disk = |name: String| Disk {
            counted: counted(&name, &stats),
            name,
        };
        Ok(Some(Box::new(Disks(names.into_iter().map(disk).collect()))))
    },
};

/// Each has readings of its own.
struct Disks(Vec<Disk>);

struct Disk {
    name: String,
    /// The devices whose counters are summed: the disk itself, or the paths to it.
    counted: Vec<String>,
}

impl Probe for Disks {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let stats = stats()?;
        let of_each: Result<Vec<_>, _> = self.0.iter().map(|disk| disk.sum(&stats)).collect();
        Ok(of_each?.concat())
    }
}

impl Disk {
    fn sum(&self, stats: &[DiskStat]) -> Result<Vec<Reading>, Error> {
        let counted = stats.iter().filter(|s| self.counted.contains(&s.name));
        let each = counted.map(|stat| read(&self.name, stat));
        let add = |mut sums: Vec<Reading>, one: Vec<Reading>| {
            let pairs = sums.iter_mut().zip(one);
            pairs.for_each(|(sum, own)| sum.value += own.value);
            sums
        };
        each.reduce(add).ok_or_else(|| Error::NoDevice {
            device: self.name.clone(),
        })
    }
}

fn stats() -> Result<Vec<DiskStat>, Error> {
    Ok(DiskStats::current().map_err(unread("/proc/diskstats"))?.0)
}

/// The devices that count the requests of a disk. A multipath NVMe disk `nvme0n1` has paths
/// `nvme0c1n1`. Before Linux 6.4 only those count, and the disk stays at zero.
fn counted(disk: &str, stats: &[DiskStat]) -> Vec<String> {
    let is_idle = |stat: &DiskStat| stat.reads == 0 && stat.writes == 0;
    let idle = stats.iter().any(|stat| stat.name == disk && is_idle(stat));
    let paths: Vec<&DiskStat> = stats
        .iter()
        .filter(|stat| is_path(&stat.name, disk))
        .collect();
    if idle && paths.iter().any(|stat| !is_idle(stat)) {
        return paths.iter().map(|stat| stat.name.clone()).collect();
    }
    vec![disk.to_owned()]
}

/// Whether `nvme0c1n1` is a path to `nvme0n1`: the same numbers of subsystem and namespace.
fn is_path(name: &str, disk: &str) -> bool {
    let numbers = |own: &str| {
        let (subsystem, namespace) = own.strip_prefix("nvme")?.split_once('n')?;
        Some((subsystem.to_owned(), namespace.to_owned()))
    };
    let (Some((path, namespace)), Some(disk)) = (numbers(name), numbers(disk)) else {
        return false;
    };
    path.split_once('c')
        .is_some_and(|(subsystem, _)| (subsystem.to_owned(), namespace) == disk)
}

/// The readings of one line; what an old kernel does not count stays zero.
fn read(subject: &str, stat: &DiskStat) -> Vec<Reading> {
    let count = |value: u64| value as f64;
    let bytes = |sectors: u64| (sectors * SECTOR_BYTES) as f64;
    let seconds = |milliseconds: u64| milliseconds as f64 / 1e3;
    let newer = |value: Option<u64>| value.unwrap_or(0);
    readings(
        subject,
        &[
            ("reads", Counter, count(stat.reads)),
            ("reads_merged", Counter, count(stat.merged)),
            ("read_bytes", Counter, bytes(stat.sectors_read)),
            ("read_s", Counter, seconds(stat.time_reading)),
            ("writes", Counter, count(stat.writes)),
            ("writes_merged", Counter, count(stat.writes_merged)),
            ("write_bytes", Counter, bytes(stat.sectors_written)),
            ("write_s", Counter, seconds(stat.time_writing)),
            ("in_flight", Gauge, count(stat.in_progress)),
            ("busy_s", Counter, seconds(stat.time_in_progress)),
            (
                "weighted_s",
                Counter,
                seconds(stat.weighted_time_in_progress),
            ),
            ("discards", Counter, count(newer(stat.discards))),
            (
                "discards_merged",
                Counter,
                count(newer(stat.discards_merged)),
            ),
            (
                "discard_bytes",
                Counter,
                bytes(newer(stat.sectors_discarded)),
            ),
            ("discard_s", Counter, seconds(newer(stat.time_discarding))),
            ("flushes", Counter, count(newer(stat.flushes))),
            ("flush_s", Counter, seconds(newer(stat.time_flushing))),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Vec<DiskStat> {
        text.lines()
            .map(|line| DiskStat::from_line(line).unwrap())
            .collect()
    }

    #[test]
    fn every_field_is_read_in_its_unit() {
        let stats = parse("259 0 nvme0n1 10 1 16 1500 20 2 64 2500 3 4000 4500 5 6 8 700 9 800");
        let readings = read("nvme0n1", &stats[0]);
        let value = |name: &str| readings.iter().find(|r| r.name == name).unwrap().value;
        assert_eq!(
            (value("reads"), value("reads_merged"), value("read_bytes")),
            (10.0, 1.0, 8192.0)
        );
        assert_eq!(
            (value("writes"), value("write_bytes"), value("write_s")),
            (20.0, 32768.0, 2.5)
        );
        assert_eq!(
            (value("in_flight"), value("busy_s"), value("weighted_s")),
            (3.0, 4.0, 4.5)
        );
        assert_eq!((value("discards"), value("discard_bytes")), (5.0, 4096.0));
        assert_eq!(
            (value("flushes"), value("flush_s"), value("read_s")),
            (9.0, 0.8, 1.5)
        );
    }

    #[test]
    fn an_old_kernel_without_discards_and_flushes_reads_as_zero() {
        let stats = parse("8 0 sda 10 1 16 1500 20 2 64 2500 3 4000 4500");
        let readings = read("sda", &stats[0]);
        assert_eq!(readings.len(), 17);
        assert_eq!(readings.last().unwrap().value, 0.0);
    }

    #[test]
    fn paths_are_counted_only_where_the_multipath_disk_is_not() {
        let idle = "0 0 nvme0c0n1 5 0 8 0 5 0 8 0 0 0 0\n0 0 nvme0c1n1 6 0 8 0 6 0 8 0 0 0 0\n\
                    0 0 nvme0c1n2 6 0 8 0 6 0 8 0 0 0 0\n0 0 nvme1c0n1 6 0 8 0 6 0 8 0 0 0 0\n\
                    259 1 nvme0n1 0 0 0 0 0 0 0 0 0 0 0";
        assert_eq!(counted("nvme0n1", &parse(idle)), ["nvme0c0n1", "nvme0c1n1"]);
        let busy = idle.replace("nvme0n1 0", "nvme0n1 11");
        assert_eq!(counted("nvme0n1", &parse(&busy)), ["nvme0n1"]);
        assert_eq!(
            counted("sda", &parse("8 0 sda 0 0 0 0 0 0 0 0 0 0 0")),
            ["sda"]
        );
    }

    #[test]
    fn a_disk_that_is_gone_is_an_error() {
        let gone = Disk {
            name: "gone".to_owned(),
            counted: vec!["gone".to_owned()],
        };
        assert!(matches!(
            Disks(vec![gone]).sample(),
            Err(Error::NoDevice { .. })
        ));
    }

    #[test]
    fn a_place_without_a_device_has_no_disk() {
        for place in ["/proc/self", "10.0.0.1:9042"] {
            let target = super::super::Target {
                system: String::new(),
                places: vec![place.into()],
                ..Default::default()
            };
            assert!((PROBE.open)(&target).unwrap().is_none(), "{place}");
        }
    }
}
