//! The PCI Express link of a device: its current generation and width, and the device's maximum.

use crate::{BlockDevice, block::SYS, controller, sysfs};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

/// Lane speed in GT/s, and its generation.
const GENERATIONS: &[(f64, u32)] = &[
    (2.5, 1),
    (5.0, 2),
    (8.0, 3),
    (16.0, 4),
    (32.0, 5),
    (64.0, 6),
];

/// A generation and a number of lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSpeed {
    /// 1 to 6.
    pub generation: u32,
    /// Lanes.
    pub width: u32,
}

/// The link of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PcieLink {
    /// As it is.
    pub current: LinkSpeed,
    /// The most that the device can.
    pub most: LinkSpeed,
}

impl PcieLink {
    /// Whether it is slower or narrower than the device can.
    pub const fn is_degraded(self) -> bool {
        self.current.generation < self.most.generation || self.current.width < self.most.width
    }

    /// Reads the link of a PCI device; `None` if it has none.
    fn read(device: &Path) -> Option<Self> {
        let speed = |when: &str| {
            let speed = sysfs::text(&device.join(format!("{when}_link_speed")))?;
            let speed: f64 = speed.split(' ').next()?.parse().ok()?;
            let row = GENERATIONS
                .iter()
                .find(|(known, _)| (known - speed).abs() < 0.1)?;
            let width = sysfs::number(&device.join(format!("{when}_link_width")))?;
            (width > 0).then_some(LinkSpeed {
                generation: row.1,
                width,
            })
        };
        Some(Self {
            current: speed("current")?,
            most: speed("max")?,
        })
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PCIe {}.0 x{}", self.generation, self.width)
    }
}

impl BlockDevice {
    /// The PCI Express link of a disk; `None` if there is none, or it is unknown.
    pub fn pcie_link(&self) -> Option<PcieLink> {
        link(Path::new(SYS), &self.disk)
    }
}

/// The link of a disk: of the nearest PCI device on the way to it.
pub fn link(sys: &Path, disk: &str) -> Option<PcieLink> {
    let own = fs::canonicalize(sys.join("class/block").join(disk)).ok();
    // A namespace with several paths is no child of its controller.
    let controllers = controller::controllers_of(sys, disk);
    let of_controller = |name: &String| {
        let device = sys.join("class/nvme").join(name).join("device");
        fs::canonicalize(device).ok()
    };
    let starts: Vec<PathBuf> = own
        .into_iter()
        .chain(controllers.iter().filter_map(of_controller))
        .collect();
    let sys = fs::canonicalize(sys).ok()?;
    let mut ways = starts.iter().map(|start| {
        let above = start
            .ancestors()
            .take_while(|above| above.starts_with(&sys));
        above.filter_map(PcieLink::read).next()
    });
    ways.find_map(|link| link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_testing::sys_with;

    fn attributes(current: (&str, &str), most: (&str, &str), at: &Path) {
        for (name, value) in [
            ("current_link_speed", current.0),
            ("current_link_width", current.1),
            ("max_link_speed", most.0),
            ("max_link_width", most.1),
        ] {
            fs::create_dir_all(at).unwrap();
            fs::write(at.join(name), format!("{value}\n")).unwrap();
        }
    }

    #[test]
    fn a_link_is_that_of_the_nearest_pci_device() {
        let sys = sys_with(&[
            (
                "pci0000:00/0000:00:1c.0/0000:01:00.0/nvme/nvme0/nvme0n1",
                &[("dev", "259:0")],
            ),
            ("virtual/loop0", &[("dev", "7:0")]),
        ]);
        let port = sys.path().join("devices/pci0000:00/0000:00:1c.0");
        attributes(
            ("8.0 GT/s PCIe", "2"),
            ("16.0 GT/s PCIe", "4"),
            &port.join("0000:01:00.0"),
        );
        attributes(("8.0 GT/s PCIe", "8"), ("8.0 GT/s PCIe", "8"), &port);
        let found = link(sys.path(), "nvme0n1").unwrap();
        assert_eq!(found.current.to_string(), "PCIe 3.0 x2");
        assert_eq!(found.most.to_string(), "PCIe 4.0 x4");
        assert!(found.is_degraded());
        assert_eq!(link(sys.path(), "loop0"), None);
    }

    #[test]
    fn a_namespace_of_several_paths_has_the_link_of_its_controller() {
        let sys = sys_with(&[(
            "virtual/nvme-subsystem/nvme-subsys0/nvme0n1",
            &[("dev", "259:0")],
        )]);
        let pci = sys.path().join("devices/pci0000:00/0000:02:00.0");
        attributes(("32.0 GT/s PCIe", "4"), ("32.0 GT/s PCIe", "4"), &pci);
        let controller = sys.path().join("class/nvme/nvme2");
        fs::create_dir_all(controller.join("nvme0c2n1")).unwrap();
        std::os::unix::fs::symlink(&pci, controller.join("device")).unwrap();
        let found = link(sys.path(), "nvme0n1").unwrap();
        assert!(!found.is_degraded() && found.current.generation == 5);
    }

    #[test]
    fn a_speed_that_is_not_known_is_none() {
        let dir = tempfile::tempdir().unwrap();
        attributes(("Unknown", "0"), ("Unknown", "255"), dir.path());
        assert_eq!(PcieLink::read(dir.path()), None);
    }
}
