//! The identity of a device, which survives changes of the kernel's names, and the lookup of the
//! device that a plan names.

use super::nvme;
use super::{Error, Watch, ioctl, watch::wait_until};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    time::Duration,
};
use tailmark_machine::{BlockDevice, block::SYS, sysfs};

/// The prefix of a serial number in a plan: `serial:S6CKNT0W1`, or `serial:S6CKNT0W1/2` if a
/// controller has several namespaces.
pub const BY_SERIAL: &str = "serial:";
/// Where names are that lead to the same device after a restart.
const BY_ID: &str = "/dev/disk/by-id";

/// How long a device may take to reappear.
const APPEARS: Duration = Duration::from_secs(30);

/// The identity of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Major and minor number while it is attached.
    pub number: (u32, u32),
    /// The kernel's name at this moment.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
    /// Vendor and model, if known.
    pub model: Option<String>,
    /// Serial number; of a loop device the path of its file.
    pub serial: Option<String>,
    /// The world wide name: NGUID, EUI-64, NAA.
    pub wwid: Option<String>,
    /// The number of an NVMe namespace in its subsystem.
    pub namespace: Option<u32>,
    /// Of a loop device: device and inode of its file.
    pub file: Option<(u64, u64)>,
}

impl Identity {
    /// The identity of the device with a number, from `/sys`.
    pub(super) fn of_number(sys: &Path, number: (u32, u32)) -> Option<(Self, BlockDevice)> {
        let device = BlockDevice::of_number(sys, number.0, number.1)?;
        let directory = fs::canonicalize(sys.join("class/block").join(&device.name)).ok()?;
        let text = |attribute: &str| sysfs::text(&directory.join(attribute));
        let backing = device.backing_file.as_ref();
        let identity = Self {
            number,
            name: device.name.clone(),
            bytes: device.size_bytes,
            model: device.model.clone(),
            serial: match backing {
                Some(file) => Some(file.display().to_string()),
                None => device.serial.clone(),
            },
            wwid: text("wwid").or_else(|| text("device/wwid")),
            namespace: sysfs::number(&directory.join("nsid")),
            file: None,
        };
        Some((identity, device))
    }

    /// The identity of the device behind an open file: from `/sys` by its number, and from the
    /// device itself.
    ///
    /// # Errors
    /// If it is not a block device, or `/sys` and the device contradict each other.
    pub fn of_file(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if !metadata.file_type().is_block_device() {
            return Err(io::Error::other("it is not a block device"));
        }
        let number = (
            rustix::fs::major(metadata.rdev()),
            rustix::fs::minor(metadata.rdev()),
        );
        let Some((mut identity, device)) = Self::of_number(Path::new(SYS), number) else {
            return Err(io::Error::other("it is not in `/sys`"));
        };
        if device.backing_file.is_some() {
            let status = ioctl::loop_status(file)?;
            identity.file = Some((status.device, status.inode));
        }
        if identity.namespace.is_some() {
            let says = nvme::identify_controller(file)?;
            if Some(&says.serial) != identity.serial.as_ref() {
                return Err(io::Error::other(format!(
                    "the drive reports the serial number `{}`, but `/sys` reports `{}`",
                    says.serial,
                    identity.serial.unwrap_or_default()
                )));
            }
            if ioctl::nvme_namespace(file)? != identity.namespace {
                return Err(io::Error::other(
                    "the drive and `/sys` report different namespaces",
                ));
            }
        }
        Ok(identity)
    }

    /// Its name in messages: `/dev/nvme0n1 (Micron_7450, serial number S6CK, 7.68 TB)`.
    #[must_use]
    pub fn describe(&self) -> String {
        let model = self.model.as_deref().unwrap_or("no known model");
        let serial = self.serial.as_deref().unwrap_or("none");
        format!(
            "/dev/{} ({model}, serial number {serial}, {} bytes)",
            self.name, self.bytes
        )
    }
}

/// A device that a plan names, found and not opened.
#[derive(Debug, Clone)]
pub struct Target {
    /// As it was named.
    pub given: String,
    /// Its identity.
    pub identity: Identity,
    /// What else `/sys` says of it.
    pub device: BlockDevice,
    /// Why the name may lead to another device later; `None` if it is stable.
    pub unstable: Option<String>,
}

impl Target {
    /// The device for a word in a plan: a link in `/dev/disk/by-id`, `serial:...`, or any other
    /// path of a block device.
    ///
    /// # Errors
    /// If it leads to no device, or to several.
    pub fn find(given: &str) -> Result<Self, Error> {
        let error = |why: String| Error::Target {
            given: given.to_owned(),
            why,
        };
        let (number, link) = match given.strip_prefix(BY_SERIAL) {
            Some(serial) => (of_serial(Path::new(SYS), serial).map_err(error)?, None),
            None => {
                let path = Path::new(given);
                let metadata = fs::metadata(path).map_err(|source| error(source.to_string()))?;
                if !metadata.file_type().is_block_device() {
                    return Err(error(
                        "it is not a block device; for an NVMe drive, name a namespace or use \
                         `serial:NUMBER`"
                            .to_owned(),
                    ));
                }
                let number = metadata.rdev();
                let number = (rustix::fs::major(number), rustix::fs::minor(number));
                (number, Some(path.to_owned()))
            }
        };
        let (mut identity, device) = Identity::of_number(Path::new(SYS), number)
            .ok_or_else(|| error("it is not in `/sys`".to_owned()))?;
        if let Some(file) = &device.backing_file
            && let Ok(metadata) = fs::metadata(file)
        {
            identity.file = Some((metadata.dev(), metadata.ino()));
        }
        let alone = serials(Path::new(SYS), identity.serial.as_deref()) < 2;
        Ok(Self {
            unstable: link.and_then(|link| unstable(&link, &identity, alone)),
            given: given.to_owned(),
            identity,
            device,
        })
    }

    /// The devices for a word in a plan that may mean several: `serial:NUMBER` is every namespace
    /// of that drive.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn find_all(given: &str) -> Result<Vec<Self>, Error> {
        let Some(serial) = given.strip_prefix(BY_SERIAL) else {
            return Ok(vec![Self::find(given)?]);
        };
        let all = disks(Path::new(SYS)).filter(|disk| disk.serial.as_deref() == Some(serial));
        let numbers: Vec<_> = all.filter_map(|disk| disk.namespace).collect();
        match numbers.len() {
            0 | 1 => Ok(vec![Self::find(given)?]),
            _ => numbers
                .iter()
                .map(|number| Self::find(&format!("{given}/{number}")))
                .collect(),
        }
    }

    /// The device for a word in a plan, once it is there. After a format, or after creating
    /// namespaces, the kernel and udev need a moment.
    ///
    /// # Errors
    /// If it does not appear within half a minute, or before a stop.
    pub fn appears(given: &str, watch: &dyn Watch) -> Result<Self, Error> {
        let what = format!("the kernel shows `{given}` again");
        let is_there =
            |found: &Result<Self, Error>| matches!(found, Ok(target) if target.identity.bytes > 0);
        let mut found = Self::find(given);
        wait_until(&what, APPEARS, watch, || {
            found = Self::find(given);
            is_there(&found)
        });
        found
    }

    /// The path in `/dev` of the kernel's name.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Path::new("/dev").join(&self.identity.name)
    }
}

/// Why a path may lead to another device another time.
fn unstable(path: &Path, identity: &Identity, alone: bool) -> Option<String> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // A loop device has no name but its own; it is known by its file.
    if identity.file.is_some() {
        return None;
    }
    let Ok(name) = path.strip_prefix(BY_ID) else {
        return Some(format!(
            "`{}` may be another device after a restart; use `{BY_ID}/...` or `{BY_SERIAL}{}`",
            path.display(),
            identity.serial.as_deref().unwrap_or("NUMBER")
        ));
    };
    let name = name.to_string_lossy();
    let holds = |text: &str| !text.is_empty() && name.contains(&text.replace(' ', "_"));
    let wwid = identity.wwid.as_deref().unwrap_or_default();
    let bare = wwid.split_once('.').map_or(wwid, |(_, bare)| bare);
    if holds(wwid) || (bare.len() >= 16 && holds(bare)) {
        return None;
    }
    let serial = identity.serial.as_deref().unwrap_or_default();
    let numbered = |number: u32| name.ends_with(&format!("_{number}"));
    match holds(serial) {
        true if alone || identity.namespace.is_some_and(numbered) => None,
        true => Some(format!(
            "several namespaces have the serial number `{serial}`, and `{name}` does not say which \
             one"
        )),
        false => Some(format!(
            "`{name}` leads to a device with another serial number and name: `{serial}`, `{wwid}`"
        )),
    }
}

/// Whole disks with their numbers below `sys`.
fn disks(sys: &Path) -> impl Iterator<Item = Identity> {
    let names = sysfs::names(&sys.join("class/block")).into_iter();
    let devices = names.filter_map(move |name| BlockDevice::of_name(sys, &name));
    let whole = devices.filter(|device| device.name == device.disk && device.size_bytes > 0);
    whole.filter_map(move |device| {
        Identity::of_number(sys, (device.major, device.minor)).map(|(identity, _)| identity)
    })
}

/// The number of disks with a serial number.
fn serials(sys: &Path, serial: Option<&str>) -> usize {
    disks(sys)
        .filter(|disk| serial.is_some() && disk.serial.as_deref() == serial)
        .count()
}

/// The one disk of `SERIAL` or `SERIAL/NAMESPACE`.
fn of_serial(sys: &Path, given: &str) -> Result<(u32, u32), String> {
    let exact: Vec<_> = disks(sys)
        .filter(|disk| disk.serial.as_deref() == Some(given))
        .collect();
    let found = match (exact.is_empty(), given.rsplit_once('/')) {
        (true, Some((serial, namespace))) => {
            let number: Option<u32> = namespace.parse().ok();
            let is_it = |disk: &Identity| {
                disk.serial.as_deref() == Some(serial)
                    && number.is_some()
                    && disk.namespace == number
            };
            disks(sys).filter(is_it).collect()
        }
        _ => exact,
    };
    match &found[..] {
        [one] => Ok(one.number),
        [] => Err("no disk of this machine has that serial number".to_owned()),
        several => {
            let names: Vec<_> = several.iter().map(|disk| disk.name.as_str()).collect();
            Err(format!(
                "{} have it; write `{BY_SERIAL}{given}/NAMESPACE`",
                names.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_testing::sys_with;

    fn drive() -> Identity {
        Identity {
            number: (259, 0),
            name: "nvme0n1".to_owned(),
            bytes: 1 << 30,
            model: Some("Quick 7000".to_owned()),
            serial: Some("S-0001".to_owned()),
            wwid: Some("eui.0025385b91b0a1c2".to_owned()),
            namespace: Some(1),
            file: None,
        }
    }

    fn why_unstable(path: &str, alone: bool) -> Option<String> {
        unstable(Path::new(path), &drive(), alone)
    }

    #[test]
    fn a_kernel_name_is_not_stable_and_the_refusal_says_what_is() {
        let why = why_unstable("/dev/nvme0n1", true).unwrap();
        assert!(why.contains("serial:S-0001"), "{why}");
        assert!(why_unstable("/dev/disk/by-path/pci-0000:01:00.0-nvme-1", true).is_some());
    }

    #[test]
    fn a_link_must_hold_the_identity_that_it_leads_to() {
        let by_id = |name: &str, alone| why_unstable(&format!("/dev/disk/by-id/{name}"), alone);
        assert_eq!(by_id("nvme-eui.0025385b91b0a1c2", false), None);
        assert_eq!(by_id("nvme-Quick_7000_S-0001", true), None);
        assert_eq!(by_id("nvme-Quick_7000_S-0001_1", false), None);
        let several = by_id("nvme-Quick_7000_S-0001", false).unwrap();
        assert!(several.contains("does not say which"), "{several}");
        // A link that is out of date, or made by hand.
        let other = by_id("nvme-Quick_7000_S-0002", true).unwrap();
        assert!(other.contains("another serial number"), "{other}");
    }

    #[test]
    fn a_serial_number_must_lead_to_one_disk() {
        let namespace = |number: &'static str, nsid: &'static str| {
            [
                ("dev", number),
                ("size", "2048"),
                ("nsid", nsid),
                ("device/serial", "S-1"),
            ]
        };
        let (first, second) = (namespace("259:0", "1"), namespace("259:1", "2"));
        let sys = sys_with(&[
            ("pci/nvme0/nvme0n1", &first),
            ("pci/nvme0/nvme0n2", &second),
            (
                "sata/sda",
                &[("dev", "8:0"), ("size", "2048"), ("device/serial", "W/3")],
            ),
        ]);
        let found = |given| of_serial(sys.path(), given);
        assert_eq!(found("S-1/2"), Ok((259, 1)));
        assert_eq!(found("W/3"), Ok((8, 0)));
        let both = found("S-1").unwrap_err();
        assert!(both.contains("nvme0n1, nvme0n2 have it"));
        assert!(found("S-1/3").is_err() && found("S-").is_err() && found("").is_err());
    }
}
