//! Facts about what surrounds the processors and the devices under test: network, boot drive,
//! limits of the control groups.

use super::{FactGroup, decimal};
use crate::{chain, quota, sysfs};
use std::path::Path;

/// The network devices that are up and have hardware, each with its driver, speed and MTU.
pub fn network<'a>(sys: &Path) -> FactGroup<'a> {
    let mut group = FactGroup::new(None, "network");
    let devices = sys.join("class/net");
    for name in sysfs::names(&devices) {
        let device = devices.join(&name);
        let is_up = sysfs::text(&device.join("operstate")).is_some_and(|state| state == "up");
        if !is_up || !device.join("device").exists() {
            continue;
        }
        let driver = std::fs::canonicalize(device.join("device/driver")).ok();
        let driver = driver.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        // Virtual ones have a speed of -1, or none.
        let speed = sysfs::number::<u64>(&device.join("speed")).filter(|speed| *speed > 0);
        let mtu = sysfs::text(&device.join("mtu"));
        let parts = [
            driver,
            speed.map(|speed| format!("{speed} Mb/s")),
            mtu.map(|mtu| format!("MTU {mtu} bytes")),
        ];
        group.add(
            &name,
            parts.into_iter().flatten().collect::<Vec<_>>().join(", "),
        );
    }
    group
}

/// The drives that the root file system is on.
pub fn boot_drive() -> Option<String> {
    let disks = chain::disks(Path::new("/")).into_iter();
    let described = disks.map(|disk| {
        let model = disk.model.map(|model| format!(" {model},"));
        format!(
            "{}:{} {}",
            disk.disk,
            model.unwrap_or_default(),
            decimal(disk.disk_bytes)
        )
    });
    let described: Vec<_> = described.collect();
    (!described.is_empty()).then(|| described.join("; "))
}

/// The limits of the control groups around this process, but for memory.
pub fn limits<'a>() -> FactGroup<'a> {
    let mut group = FactGroup::new(None, "control group");
    let quota = quota::cpu_quota().and_then(|quota| quota.processors);
    group.add(
        "processors",
        quota.map(|processors| format!("{processors:.2}")),
    );
    group.add("devices", quota::io_limits().join("; "));
    group
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn network_devices_that_are_up_and_real_are_described() {
        let sys = tempfile::tempdir().unwrap();
        for (name, state, is_real) in [
            ("eth0", "up", true),
            ("eth1", "down", true),
            ("lo", "unknown", false),
            ("br0", "up", false),
        ] {
            let device = sys.path().join("class/net").join(name);
            fs::create_dir_all(&device).unwrap();
            for (file, text) in [("operstate", state), ("speed", "25000"), ("mtu", "9000")] {
                fs::write(device.join(file), text).unwrap();
            }
            if is_real {
                fs::create_dir_all(device.join("device")).unwrap();
                let driver = sys.path().join("bus/pci/drivers/mlx5_core");
                fs::create_dir_all(&driver).unwrap();
                symlink(driver, device.join("device/driver")).unwrap();
            }
        }
        let facts = network(sys.path()).facts;
        let said: Vec<_> = facts
            .iter()
            .map(|f| (f.name.as_str(), f.value.as_str()))
            .collect();
        assert_eq!(said, [("eth0", "mlx5_core, 25000 Mb/s, MTU 9000 bytes")]);
    }
}
