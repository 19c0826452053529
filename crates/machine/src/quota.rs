//! The quotas of this process's control groups for processors and devices.

use crate::{
    cgroup::{Hierarchy, Version},
    sysfs,
};
use std::{path::Path, time::Duration};

/// How much of the processors this process may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuQuota {
    /// Processors: the lowest limit of all groups around this process; `None` without a limit.
    pub processors: Option<f64>,
    /// For how long processes of its own group have waited, because the group had used up its part.
    pub throttled: Duration,
}

/// The part of the processors that this process may use, and how often that held it up.
pub fn cpu_quota() -> Option<CpuQuota> {
    Some(CpuQuota::read(&Hierarchy::from_controller("cpu")?))
}

impl CpuQuota {
    fn read(hierarchy: &Hierarchy) -> Self {
        let quotas = hierarchy
            .groups()
            .filter_map(|group| quota(hierarchy.version, group));
        Self {
            processors: quotas.min_by(f64::total_cmp),
            throttled: throttled(hierarchy),
        }
    }
}

/// The processors that a group may use.
fn quota(version: Version, group: &Path) -> Option<f64> {
    let (quota, period) = match version {
        Version::V1 => (
            sysfs::text(&group.join("cpu.cfs_quota_us"))?,
            sysfs::text(&group.join("cpu.cfs_period_us"))?,
        ),
        Version::V2 => {
            let text = sysfs::text(&group.join("cpu.max"))?;
            let (quota, period) = text.split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        }
    };
    // `max` and -1 are no limit.
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// How long the groups around this process were throttled: the longest of them.
fn throttled(hierarchy: &Hierarchy) -> Duration {
    let held_up = |group: &Path| {
        let text = sysfs::text(&group.join("cpu.stat"))?;
        let value = |name: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
        };
        match hierarchy.version {
            Version::V1 => value("throttled_time ").map(Duration::from_nanos),
            Version::V2 => value("throttled_usec ").map(Duration::from_micros),
        }
    };
    let longest = hierarchy.groups().filter_map(held_up).max();
    longest.unwrap_or_default()
}

/// The device limits of this process, as the kernel writes them, each after its name.
pub fn io_limits() -> Vec<String> {
    Hierarchy::from_controller("blkio").map_or_else(Vec::new, |hierarchy| limits_of(&hierarchy))
}

fn limits_of(hierarchy: &Hierarchy) -> Vec<String> {
    let files: &[&str] = match hierarchy.version {
        Version::V1 => &[
            "blkio.throttle.read_bps_device",
            "blkio.throttle.read_iops_device",
            "blkio.throttle.write_bps_device",
            "blkio.throttle.write_iops_device",
        ],
        Version::V2 => &["io.max"],
    };
    let mut limits = Vec::new();
    for group in hierarchy.groups() {
        for file in files {
            let text = sysfs::text(&group.join(file)).unwrap_or_default();
            limits.extend(text.lines().map(|line| format!("{file} {line}")));
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A hierarchy of a group in another, with these files.
    fn hierarchy(version: Version, files: &[(&str, &str)]) -> (tempfile::TempDir, Hierarchy) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let (top, own) = (dir.path().to_owned(), dir.path().join("own"));
        (dir, Hierarchy { version, top, own })
    }

    #[test]
    fn the_lowest_quota_around_the_process_holds() {
        let read = |version, files: &[(&str, &str)]| {
            let (_dir, hierarchy) = hierarchy(version, files);
            let quota = CpuQuota::read(&hierarchy);
            (quota.processors, quota.throttled.as_millis())
        };
        let v2 = read(
            Version::V2,
            &[
                ("cpu.max", "400000 100000\n"),
                ("own/cpu.max", "max 100000\n"),
                (
                    "own/cpu.stat",
                    "usage_usec 5\nnr_throttled 3\nthrottled_usec 2500000\n",
                ),
            ],
        );
        assert_eq!(v2, (Some(4.0), 2500));
        let v1 = read(
            Version::V1,
            &[
                ("cpu.cfs_quota_us", "-1\n"),
                ("cpu.cfs_period_us", "100000\n"),
                ("own/cpu.cfs_quota_us", "150000\n"),
                ("own/cpu.cfs_period_us", "100000\n"),
                (
                    "own/cpu.stat",
                    "nr_periods 9\nnr_throttled 1\nthrottled_time 1000000000\n",
                ),
            ],
        );
        assert_eq!(v1, (Some(1.5), 1000));
    }

    #[test]
    fn limits_of_devices_are_those_of_every_group_around_the_process() {
        let limits = |version, files: &[(&str, &str)]| {
            let (_dir, hierarchy) = hierarchy(version, files);
            limits_of(&hierarchy)
        };
        let v2 = limits(Version::V2, &[("own/io.max", "259:0 wbps=1048576\n")]);
        assert_eq!(v2, ["io.max 259:0 wbps=1048576"]);
        let file = "blkio.throttle.read_iops_device";
        let v1 = limits(Version::V1, &[(file, "7:0 100\n"), ("own/x", "")]);
        assert_eq!(v1, [format!("{file} 7:0 100")]);
    }
}
