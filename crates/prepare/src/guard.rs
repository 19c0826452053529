//! The guards: every reason not to touch a device, as rows over one set of facts.
//!
//! A row that objects names its evidence. Anything unknown counts as an objection. All rows are
//! asked, so that one refusal says everything.

use super::{
    Identity, Objection, Signature, Target,
    command::quoted,
    uses::{Below, Uses},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use tailmark_machine::{BlockDevice, chain, controller, sysfs};

/// Permitted transports: those that belong to one machine, or through which a device can be asked
/// about other users.
const TRANSPORTS: &[&str] = &["loop", "nvme", "sata", "virtio", "xen"];
/// The tolerance of sizes: a plan says 7.68 TB, a drive 7,681,501,126,656 bytes.
const SIZE_PART: f64 = 0.01;

/// The user's consent, and the plan's description of the device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// Serial numbers whose devices may be erased.
    pub serials: Vec<String>,
    /// Signatures of others that may be destroyed.
    pub destroys: Vec<String>,
    /// Text that the model must contain, ignoring case.
    pub model: Option<String>,
    /// Bytes of the device, within a hundredth.
    pub bytes: Option<u64>,
    /// Programs that are known not to use it, if their use cannot be seen.
    pub unseen: Vec<String>,
    /// Directories that must not be on the device: the results.
    pub kept: Vec<PathBuf>,
    /// The mount point of an earlier preparation. It is unmounted first, so this process seeing it
    /// mounted is no objection.
    pub own_mount: Option<PathBuf>,
    /// The files of the volumes that this run has made: no one else can use a device over them.
    #[serde(skip)]
    pub made: Vec<PathBuf>,
}

impl Consent {
    /// Whether this run has made the device.
    pub(super) fn has_made(&self, identity: &Identity) -> bool {
        use std::os::unix::fs::MetadataExt;
        let is_it = |made: &PathBuf| {
            let found = fs::metadata(made).ok();
            let found = found.map(|found| (found.dev(), found.ino()));
            identity.serial.as_deref() == made.to_str() && found.is_some() && identity.file == found
        };
        self.made.iter().any(is_it)
    }
}

/// The reach of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The device itself.
    Device,
    /// Every namespace of the NVMe subsystem.
    Subsystem,
}

/// The facts for the guards.
pub struct GuardScene<'a> {
    /// The device.
    pub target: &'a Target,
    /// Every device that the action reaches; the target is one.
    pub reached: &'a [Identity],
    /// The consent.
    pub consent: &'a Consent,
    /// The uses of devices.
    pub uses: &'a Uses,
    /// Whether this run has made the device, so that guards about use by others are not asked.
    pub is_own: bool,
    /// The content of all affected devices, or why it cannot be determined.
    pub signatures: Result<Vec<Signature>, String>,
    /// The hosts with a reservation or registration, or why that cannot be determined.
    pub reserved: Result<Option<String>, String>,
}

impl GuardScene<'_> {
    /// Whether the action reaches the disk that a device is, or is a part of.
    fn reaches(&self, device: &BlockDevice) -> bool {
        self.reached.iter().any(|own| own.name == device.disk)
    }
}

/// The subject of a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// The device and its content.
    Device,
    /// Its use by others, which a device that this run created does not have.
    Use,
}

/// A reason not to touch a device: a row of [`GUARDS`].
pub struct Guard {
    /// Its name in refusals and documentation.
    pub name: &'static str,
    /// What must be so, in a line.
    pub about: &'static str,
    /// Its subject.
    pub asks: Asks,
    /// Why not.
    pub check: fn(&GuardScene<'_>) -> Vec<String>,
}

/// Every guard, in the order of the documentation.
pub const GUARDS: &[Guard] = &[
    Guard {
        name: "name",
        about: "its name still means the same device after a restart",
        asks: Asks::Device,
        check: |scene| scene.target.unstable.iter().cloned().collect(),
    },
    Guard {
        name: "serial",
        about: "its full serial number is given on the command line",
        asks: Asks::Device,
        check: not_confirmed,
    },
    Guard {
        name: "kind",
        about: "it is a whole disk of a kind that no other machine can use",
        asks: Asks::Device,
        check: other_kind,
    },
    Guard {
        name: "read-only",
        about: "it is writable and not removable",
        asks: Asks::Device,
        check: read_only,
    },
    Guard {
        name: "plan",
        about: "its model and size are as in the plan",
        asks: Asks::Device,
        check: unlike_the_plan,
    },
    Guard {
        name: "kept",
        about: "the results are not on it",
        asks: Asks::Device,
        check: kept,
    },
    Guard {
        name: "start",
        about: "neither /etc/fstab nor the kernel command line names it",
        asks: Asks::Use,
        check: |scene| used(scene, &scene.uses.named, "is named as"),
    },
    Guard {
        name: "mounted",
        about: "nothing on it is mounted, in any mount namespace",
        asks: Asks::Use,
        check: mounted,
    },
    Guard {
        name: "swap",
        about: "no swap is on it",
        asks: Asks::Use,
        check: |scene| used(scene, &scene.uses.swaps, "is swap:"),
    },
    Guard {
        name: "held",
        about: "it is not part of another device: LVM, RAID, encryption, multipath",
        asks: Asks::Use,
        check: held,
    },
    Guard {
        name: "stacked",
        about: "no loop device uses it or a file on it",
        asks: Asks::Use,
        check: stacked,
    },
    Guard {
        name: "open",
        about: "no process has it open",
        asks: Asks::Use,
        check: open,
    },
    Guard {
        name: "reserved",
        about: "no host has reserved it",
        asks: Asks::Use,
        check: reserved,
    },
    Guard {
        name: "signatures",
        about: "its data is tailmark's, or its signature is named on the command line",
        asks: Asks::Device,
        check: foreign,
    },
    Guard {
        name: "unseen",
        about: "everything that may use it could be examined",
        asks: Asks::Use,
        check: unseen,
    },
];

fn unseen(scene: &GuardScene<'_>) -> Vec<String> {
    let unseen = scene.uses.unseen.iter();
    let missed = unseen.filter(|program| !scene.consent.unseen.contains(&program.name));
    let say = |program: &super::uses::Unseen| {
        format!(
            "tailmark cannot see {}; if you know that it does not use the device, add \
             --trust-program {}",
            program.what,
            quoted(&program.name)
        )
    };
    missed.map(say).collect()
}

/// Everything that speaks against touching the device.
#[must_use]
pub fn refusals(scene: &GuardScene<'_>) -> Vec<Objection> {
    let objections = |guard: &Guard| {
        let found = (guard.check)(scene).into_iter();
        let name = guard.name;
        found.map(move |text| Objection { guard: name, text })
    };
    let requested = GUARDS.iter();
    let requested = requested.filter(|guard| !(scene.is_own && guard.asks == Asks::Use));
    requested.flat_map(objections).collect()
}

fn not_confirmed(scene: &GuardScene<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let serials: BTreeSet<_> = scene.reached.iter().map(|d| d.serial.clone()).collect();
    for serial in serials {
        match serial {
            Some(serial) if scene.consent.serials.contains(&serial) => {}
            Some(serial) => wrong.push(format!(
                "its serial number is `{serial}`; if all data on it may be lost, add --erase {}",
                quoted(&serial)
            )),
            None => wrong.push("it has no serial number to confirm".to_owned()),
        }
    }
    wrong
}

/// What can be named instead.
const WHOLE_DISKS: &str = "tailmark erases and overwrites only whole disks; name one, or make a \
                           file system on this device and give its mount point as `path`";

fn other_kind(scene: &GuardScene<'_>) -> Vec<String> {
    let device = &scene.target.device;
    let mut wrong = Vec::new();
    if device.name != device.disk {
        let disk = &device.disk;
        wrong.push(format!("it is a partition of `{disk}`: {WHOLE_DISKS}"));
    } else if let Some(Below::Device((major, minor))) = scene.uses.loops.get(&device.name) {
        wrong.push(format!(
            "it is a loop device over another block device ({major}:{minor}): name that device"
        ));
    } else if !device.members.is_empty() || device.composition.is_some() {
        let kind = device.kind();
        wrong.push(format!(
            "it is made of other devices ({kind}): {WHOLE_DISKS}"
        ));
    } else {
        match device.transport {
            Some(transport) if TRANSPORTS.contains(&transport) => {}
            Some(transport) => wrong.push(format!(
                "it is attached by {transport}, so another machine may use it; accepted: {}",
                TRANSPORTS.join(", ")
            )),
            None => wrong.push("tailmark cannot tell how it is attached".to_owned()),
        }
    }
    wrong
}

fn read_only(scene: &GuardScene<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for device in scene.reached {
        let directory = scene.uses.sys.join("class/block").join(&device.name);
        // What the kernel does not say counts as a reason.
        if sysfs::flag(&directory.join("ro")) != Some(false) {
            wrong.push(format!("`{}` is read-only", device.name));
        }
        // The kernel says it of a disk alone.
        let is_part = directory.join("partition").exists();
        let disk = if is_part {
            directory.join("..")
        } else {
            directory
        };
        if sysfs::flag(&disk.join("removable")) != Some(false) {
            wrong.push(format!("`{}` is removable", device.name));
        }
    }
    wrong
}

fn unlike_the_plan(scene: &GuardScene<'_>) -> Vec<String> {
    let Identity { model, bytes, .. } = &scene.target.identity;
    let mut wrong = Vec::new();
    if let Some(expected) = &scene.consent.model {
        let model = model.as_deref().unwrap_or_default();
        if !model.to_lowercase().contains(&expected.to_lowercase()) {
            wrong.push(format!(
                "its model is `{model}`, but the plan says `{expected}`"
            ));
        }
    }
    if let Some(expected) = scene.consent.bytes {
        let whole = controller::controller_bytes(&scene.uses.sys, &scene.target.device.disk);
        let most = expected as f64 * SIZE_PART;
        let is_near = |size: u64| (size as f64 - expected as f64).abs() <= most;
        if !is_near(*bytes) && !whole.is_some_and(is_near) {
            wrong.push(format!(
                "it has {bytes} bytes, but the plan says {expected}"
            ));
        }
    }
    wrong
}

fn kept(scene: &GuardScene<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for place in &scene.consent.kept {
        let below = chain(place);
        if below.iter().any(|device| scene.reaches(device)) {
            wrong.push(format!("`{}` is on it", place.display()));
        }
    }
    wrong
}

/// Every device built on the affected ones.
fn above<'a>(scene: &'a GuardScene<'_>) -> Vec<&'a BlockDevice> {
    let devices = |identity: &Identity| scene.uses.on_disk(&identity.name);
    scene.reached.iter().flat_map(devices).collect()
}

fn used(scene: &GuardScene<'_>, uses: &[(String, (u32, u32))], how: &str) -> Vec<String> {
    let above = above(scene);
    let found = uses.iter().filter_map(|(what, number)| {
        let device = above.iter().find(|d| (d.major, d.minor) == *number)?;
        Some(format!("`{}` {how} {what}", device.name))
    });
    found.collect()
}

fn mounted(scene: &GuardScene<'_>) -> Vec<String> {
    let above = above(scene);
    let btrfs = scene.uses.btrfs_with(&above);
    let mut wrong = Vec::new();
    for (process, mount) in &scene.uses.mounts {
        let is_source = |device: &&&BlockDevice| {
            format!("{}:{}", device.major, device.minor) == mount.device
                || is_device(Path::new(&mount.source), device)
        };
        let source = Path::new(&mount.source).file_name().unwrap_or_default();
        let found = above.iter().find(is_source).map(|d| d.name.clone());
        let found = found.or_else(|| {
            let name = source.to_string_lossy().into_owned();
            (mount.kind == "btrfs" && btrfs.contains(&name)).then_some(name)
        });
        let is_own = scene.consent.own_mount.as_deref() == Some(&*mount.point);
        // Of the namespace of this process it is the one that is named.
        if let Some(name) = found.filter(|_| !(is_own && *process == std::process::id())) {
            let place = format!("`{name}` is mounted on `{}`", mount.point.display());
            let said = format!("{place} ({}), as process {process} sees it", mount.kind);
            // Other namespaces mostly have copies of what was there before them.
            if !wrong
                .iter()
                .any(|text: &String| text.starts_with(&format!("{place} (")))
            {
                wrong.push(said);
            }
        }
    }
    wrong
}

fn is_device(source: &Path, device: &BlockDevice) -> bool {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    source.starts_with("/dev")
        && fs::metadata(source).is_ok_and(|metadata| {
            let number = metadata.rdev();
            metadata.file_type().is_block_device()
                && (rustix::fs::major(number), rustix::fs::minor(number))
                    == (device.major, device.minor)
        })
}

fn held(scene: &GuardScene<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for device in above(scene) {
        let holders = scene.uses.sys.join("class/block").join(&device.name);
        let holders = sysfs::names(&holders.join("holders"));
        if !holders.is_empty() {
            wrong.push(format!(
                "`{}` is held by {}",
                device.name,
                holders.join(", ")
            ));
        }
    }
    wrong
}

fn stacked(scene: &GuardScene<'_>) -> Vec<String> {
    let above = above(scene);
    let others = above.iter().filter(|device| !scene.reaches(device));
    let say = |device: &&BlockDevice| {
        let file = device.backing_file.as_deref();
        let file = file.map_or(String::new(), |file| format!(" over `{}`", file.display()));
        format!("`{}`{file} is on it ({})", device.name, device.kind())
    };
    others.map(say).collect()
}

fn open(scene: &GuardScene<'_>) -> Vec<String> {
    let above = above(scene);
    let found = scene
        .uses
        .open
        .iter()
        .filter_map(|(process, program, number)| {
            let device = above.iter().find(|d| (d.major, d.minor) == *number)?;
            Some(format!(
                "process {process} ({program}) has `{}` open",
                device.name
            ))
        });
    let mut found: Vec<_> = found.collect();
    found.dedup();
    found
}

fn reserved(scene: &GuardScene<'_>) -> Vec<String> {
    match &scene.reserved {
        Ok(None) => Vec::new(),
        Ok(Some(who)) => vec![who.clone()],
        Err(why) => vec![format!(
            "tailmark cannot tell whether another host has reserved it: \
                                  {why}"
        )],
    }
}

fn foreign(scene: &GuardScene<'_>) -> Vec<String> {
    let signatures = match &scene.signatures {
        Ok(signatures) => signatures,
        Err(why) => return vec![format!("tailmark cannot tell what is on it: {why}")],
    };
    let agreed = |signature: &&Signature| {
        signature.is_ours || scene.consent.destroys.contains(&signature.name)
    };
    let others = signatures.iter().filter(|signature| !agreed(signature));
    let say = |signature: &Signature| {
        format!(
            "`{}` holds {}, which is not tailmark's; if it may be destroyed, add \
             --overwrite-signature {}",
            signature.device,
            signature.name,
            quoted(&signature.name)
        )
    };
    others.map(say).collect()
}

#[cfg(test)]
mod tests;
