//! NVMe controllers and their namespaces.
//!
//! A namespace `nvme0n1` is found in the directory of its controller `nvme0`. With the kernel's
//! multipath it is there as a path, `nvme0c0n1`, and the disk is `nvme1n1` of the subsystem given
//! by the first number of the path.

use crate::{BlockDevice, block::SYS, sysfs};
use std::path::{Path, PathBuf};

/// The names of the namespaces of a controller (`nvme0`), sorted by their numbers.
pub fn namespaces(sys: &Path, controller: &str) -> Vec<String> {
    let names = sysfs::names(&sys.join("class/nvme").join(controller));
    let mut namespaces: Vec<(u32, String)> = names.iter().filter_map(|name| disk(name)).collect();
    namespaces.sort();
    namespaces.dedup();
    namespaces.into_iter().map(|(_, name)| name).collect()
}

/// The number and the disk of a controller's entry `nvme0n1` or `nvme0c1n1`.
fn disk(name: &str) -> Option<(u32, String)> {
    let (first, namespace) = name.strip_prefix("nvme")?.split_once('n')?;
    let number = namespace.parse().ok()?;
    let subsystem = first
        .split_once('c')
        .map_or(first, |(subsystem, _)| subsystem);
    subsystem.parse::<u32>().ok()?;
    Some((number, format!("nvme{subsystem}n{number}")))
}

/// The devices that a place stands for: the namespaces of an NVMe controller (`/dev/nvme0`),
/// otherwise the place itself.
pub fn places_of(place: &Path) -> Vec<PathBuf> {
    let device = place.strip_prefix("/dev").ok().and_then(Path::to_str);
    let controller = device.filter(|name| is_controller(name));
    let namespaces = controller.map(|name| namespaces(Path::new(SYS), name));
    match namespaces.filter(|names| !names.is_empty()) {
        Some(names) => names
            .iter()
            .map(|name| Path::new("/dev").join(name))
            .collect(),
        None => vec![place.to_owned()],
    }
}

/// Whether this is the name of a controller: `nvme0`.
fn is_controller(name: &str) -> bool {
    let number = name.strip_prefix("nvme");
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The controllers of a disk, if it is an NVMe namespace; several if it has several paths.
pub fn controllers_of(sys: &Path, disk: &str) -> Vec<String> {
    let mut controllers = sysfs::names(&sys.join("class/nvme"));
    controllers.retain(|controller| namespaces(sys, controller).iter().any(|name| name == disk));
    controllers
}

impl BlockDevice {
    /// Bytes of the whole device. For an NVMe namespace, those of all namespaces of its controller.
    pub fn controller_bytes(&self) -> Option<u64> {
        controller_bytes(Path::new(SYS), &self.disk)
    }
}

/// Bytes of all namespaces of a disk's controller together; `None` if it has none.
pub fn controller_bytes(sys: &Path, disk: &str) -> Option<u64> {
    let controller = controllers_of(sys, disk).into_iter().next()?;
    let namespaces = namespaces(sys, &controller).into_iter();
    let sizes = namespaces.map(|name| BlockDevice::of_name(sys, &name).map_or(0, |d| d.disk_bytes));
    Some(sizes.sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tailmark_testing::sys_with;

    #[test]
    fn namespaces_are_those_of_a_controller_and_paths_stand_for_their_disks() {
        let sys = sys_with(&[
            ("pci/nvme0/nvme0n1", &[("dev", "259:0"), ("size", "1000")]),
            ("pci/nvme0/nvme0n2", &[("dev", "259:1"), ("size", "3000")]),
            ("sub/nvme3n1", &[("dev", "259:2"), ("size", "7000")]),
        ]);
        for name in [
            "nvme0/nvme0n10",
            "nvme0/nvme0n2",
            "nvme0/nvme0n1",
            "nvme0/hwmon1",
            "nvme4/nvme3c4n1",
        ] {
            fs::create_dir_all(sys.path().join("class/nvme").join(name)).unwrap();
        }
        let names = |controller| namespaces(sys.path(), controller);
        assert_eq!(names("nvme0"), ["nvme0n1", "nvme0n2", "nvme0n10"]);
        assert_eq!(names("nvme4"), ["nvme3n1"]);
        assert_eq!(names("nvme9"), Vec::<String>::new());
        assert_eq!(controllers_of(sys.path(), "nvme3n1"), ["nvme4"]);
        assert_eq!(controller_bytes(sys.path(), "nvme0n2"), Some(4000 * 512));
        assert_eq!(controller_bytes(sys.path(), "sda"), None);
    }

    #[test]
    fn what_is_no_controller_stands_for_itself() {
        for place in [
            "/dev/nvme0n1",
            "/mnt/nvme0",
            "/dev/sda",
            "relative",
            "/dev/nvme9999",
        ] {
            assert_eq!(places_of(Path::new(place)), [PathBuf::from(place)]);
        }
        assert!(is_controller("nvme12") && !is_controller("nvme") && !is_controller("nvme0n1"));
    }
}
