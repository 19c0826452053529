//! Preparation before a system is measured: its devices, and settings of the machine.
//!
//! `[prepare]` applies to all systems, `prepare` of a system to that one. Settings belong to the
//! machine, which all systems share, so only `[prepare]` has them. Destructive steps are done only
//! for devices whose serial numbers are given on the command line.

use super::{
    emulate::Emulate,
    roles::{EVERY_POINT, PREPARATION},
    steady::Steady,
};
use crate::{
    Accept::{Choice, Count, Size, Table, Text, Words},
    Error, PlanKey,
    device_options::{refused_by_mkfs, refused_by_mount},
    reader::TableReader,
    units,
};
use std::path::{Component, Path, PathBuf};
use tailmark_driver::{Driver, Location};

/// The ways to erase a device.
pub const ERASES: &[&str] = &["discard", "format", "sanitize"];
/// File systems that can be created.
pub const FILE_SYSTEMS: &[&str] = &["ext4", "xfs"];
/// Values of transparent huge pages.
pub const HUGE_PAGES: &[&str] = &["always", "madvise", "never"];
/// The most namespaces for a drive.
pub const NAMESPACES_MAX: u64 = 128;

/// Keys of the machine, which a system cannot have.
const OF_MACHINE: &[&str] = &[
    "sysctls",
    "governor",
    "huge_pages",
    "memory_limit",
    "memory_group",
];
/// Keys of a single system, which `[prepare]` cannot have.
const OF_SYSTEM: &[&str] = &["device", "mount"];

/// The keys of `prepare`.
pub(super) const PREPARE_KEYS: &[PlanKey] = &[
    PlanKey::new("prepare", "device", PREPARATION, Words)
        .about("devices to prepare: /dev/disk/by-id/... or serial:NUMBER; only in a system"),
    PlanKey::new("prepare", "erase", PREPARATION, Choice(ERASES))
        .about("how to erase the devices; needs --erase with the serial number of each"),
    PlanKey::new(
        "prepare",
        "namespaces",
        PREPARATION,
        Count(1, NAMESPACES_MAX),
    )
    .about("split the drive into this many equal NVMe namespaces; needs --erase"),
    PlanKey::new("prepare", "precondition", PREPARATION, Count(1, 10))
        .about("times to write the whole device in order; needs --erase"),
    PlanKey::new("prepare", "steady", PREPARATION, Table)
        .about("send requests in rounds until the device is steady; needs --erase"),
    PlanKey::new("prepare", "filesystem", PREPARATION, Choice(FILE_SYSTEMS))
        .about("file system to make and mount; needs --erase"),
    PlanKey::new("prepare", "mkfs_options", PREPARATION, Words)
        .about("options of mkfs: [\"-m\", \"crc=1\"]"),
    PlanKey::new("prepare", "mount", PREPARATION, Text)
        .about("where to mount it during the run; only in a system"),
    PlanKey::new("prepare", "mount_options", PREPARATION, Words)
        .about("options of the mount: [\"noatime\"]"),
    PlanKey::new("prepare", "sysctls", EVERY_POINT, Words)
        .about("kernel settings during the run: [\"vm.swappiness=1\"]")
        .sets(|plan| plan.settings.sysctl_text()),
    PlanKey::new("prepare", "governor", EVERY_POINT, Text)
        .about("CPU frequency governor during the run: performance")
        .sets(|plan| plan.settings.governor.clone()),
    PlanKey::new("prepare", "huge_pages", EVERY_POINT, Choice(HUGE_PAGES))
        .about("transparent huge pages during the run")
        .sets(|plan| plan.settings.huge_pages.clone()),
    PlanKey::new(
        "prepare",
        "memory_limit",
        EVERY_POINT,
        Size(1 << 20, 1 << 60),
    )
    .about("memory of the control group `memory_group` during the run")
    .sets(|plan| Some(plan.settings.memory.as_ref()?.0.to_string())),
    PlanKey::new("prepare", "memory_group", EVERY_POINT, Text)
        .about("control group of a server, which must exist: /system.slice/database.slice")
        .sets(|plan| Some(plan.settings.memory.as_ref()?.1.clone())),
];

/// Preparation of a system's devices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prepare {
    /// The devices, as the plan names them: `/dev/disk/by-id/...`, `serial:...`.
    pub devices: Vec<String>,
    /// How they are erased: one of [`ERASES`].
    pub erase: Option<String>,
    /// How many NVMe namespaces the drive is split into.
    pub namespaces: Option<u32>,
    /// How often the whole device is written.
    pub precondition: Option<u32>,
    /// The mix that then brings them to their steady state.
    pub steady: Option<Steady>,
    /// The file system to create: one of [`FILE_SYSTEMS`].
    pub filesystem: Option<String>,
    /// Options for the program that creates it.
    pub mkfs_options: Vec<String>,
    /// The mount point.
    pub mount: Option<PathBuf>,
    /// The mount options.
    pub mount_options: Vec<String>,
    /// Keys of `[prepare]`, with values, that would apply if the system named a device.
    pub unnamed: Vec<(&'static str, String)>,
}

/// Settings of the machine, restored afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineSettings {
    /// Names and values: `vm.swappiness`, `1`.
    pub sysctls: Vec<(String, String)>,
    /// The policy by which processors choose their frequency.
    pub governor: Option<String>,
    /// Transparent huge pages: one of [`HUGE_PAGES`].
    pub huge_pages: Option<String>,
    /// The memory limit of a control group in bytes, and the group: that of a server.
    pub memory: Option<(u64, String)>,
}

/// Consent of the user who runs a plan. It is never part of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Consent {
    /// Serial numbers of devices that may be erased.
    pub serials: Vec<String>,
    /// Foreign signatures on them that may be destroyed.
    pub destroys: Vec<String>,
    /// Programs that are known not to use them.
    pub unseen: Vec<String>,
}

impl Prepare {
    /// Prepares nothing.
    pub const NOTHING: Self = Self {
        devices: Vec::new(),
        unnamed: Vec::new(),
        erase: None,
        namespaces: None,
        precondition: None,
        steady: None,
        filesystem: None,
        mkfs_options: Vec::new(),
        mount: None,
        mount_options: Vec::new(),
    };

    /// The effective combination of `[prepare]` and the system's own table.
    pub(crate) fn read(
        top: &TableReader<'_>,
        system: &TableReader<'_>,
        driver: &Driver,
        location: &Location,
        emulate: Option<&Emulate>,
    ) -> Result<Self, Error> {
        let (common, own) = (top.table("prepare", &[])?, system.table("prepare", &[])?);
        refuse_keys(
            &own,
            OF_MACHINE,
            "it applies to the whole machine: move it to [prepare]",
        )?;
        let either = |key: &str| {
            if own.given().contains_key(key) {
                &own
            } else {
                &common
            }
        };
        let words = |key: &str| -> Result<Vec<String>, Error> {
            Ok(either(key).optional(key)?.unwrap_or_default())
        };
        let mount: Option<String> = own.optional("mount")?;
        let mount = mount.map(|mount| std::path::absolute(&mount).unwrap_or(mount.into()));
        let mut prepare = Self {
            unnamed: Vec::new(),
            devices: own.optional("device")?.unwrap_or_default(),
            erase: either("erase").optional("erase")?,
            namespaces: either("namespaces").optional("namespaces")?,
            precondition: either("precondition").optional("precondition")?,
            steady: Steady::read(either("steady"))?,
            filesystem: either("filesystem").optional("filesystem")?,
            mkfs_options: words("mkfs_options")?,
            mount,
            mount_options: words("mount_options")?,
        };
        if let Some(emulate) = emulate {
            refuse_keys(&own, &["device"], "its device is emulated")?;
            prepare.devices = vec![emulate.device().display().to_string()];
        } else if let (true, Location::Device(device)) = (prepare.devices.is_empty(), location) {
            prepare.devices = vec![device.display().to_string()];
        }
        // Without a device nothing is prepared, so that a plan can be tried anywhere.
        if prepare.devices.is_empty() {
            refuse_keys(
                &own,
                &["mount"],
                "it needs `device`, the device to mount there",
            )?;
            return Ok(Self {
                unnamed: prepare.keys(),
                ..Self::default()
            });
        }
        prepare.refuse_other_devices(&own)?;
        if let Some(path) = location.path().filter(|_| prepare.mount.is_some())
            && path.components().any(|part| part == Component::ParentDir)
        {
            return Err(Error::BadValue {
                key: own.label("mount"),
                value: path.display().to_string(),
                accepted:
                    "set without `..` in the system's path, which could lead out of the mount"
                        .to_owned(),
            });
        }
        prepare.refuse_odd(&own, driver, location)?;
        Ok(prepare)
    }

    /// Refuses options that could lead to another device or a file, which nobody agreed to lose.
    fn refuse_other_devices(&self, own: &TableReader<'_>) -> Result<(), Error> {
        let file_system = self.filesystem.as_deref().unwrap_or_default();
        let made = refused_by_mkfs(file_system, &self.mkfs_options);
        let mounted = refused_by_mount(&self.mount_options);
        let refused = [("mkfs_options", made), ("mount_options", mounted)];
        let mut refused = refused.into_iter();
        match refused.find_map(|(key, word)| Some((key, word?))) {
            None => Ok(()),
            Some((key, word)) => Err(Error::BadValue {
                key: own.label(key),
                value: word.clone(),
                accepted:
                    "options of `filesystem` that docs/DEVICES.md lists, each with its value, and \
                           none that names another device or a file"
                        .to_owned(),
            }),
        }
    }

    /// Refuses contradictory keys.
    fn refuse_odd(
        &self,
        own: &TableReader<'_>,
        driver: &Driver,
        location: &Location,
    ) -> Result<(), Error> {
        let refuse = |key: &str, value: &str, accepted: &str| {
            Err(Error::BadValue {
                key: own.label(key),
                value: value.to_owned(),
                accepted: accepted.to_owned(),
            })
        };
        match self.steady {
            Some(Steady { fill: None, .. }) if self.precondition.is_none() => {
                return Err(Error::Missing {
                    key: own.full("precondition"),
                    accepted: "1 to 10, because `steady` on a device follows writing the whole \
                               device in order"
                        .to_owned(),
                });
            }
            Some(Steady { fill: Some(_), .. }) if self.filesystem.is_none() => {
                let accepted = "over = \"device\" unless `filesystem` is given";
                return refuse("steady", "over = \"filesystem\"", accepted);
            }
            _ => {}
        }
        let Some(kind) = &self.filesystem else {
            return match &self.mount {
                Some(mount) => {
                    let accepted = "absent without `filesystem`, because nothing would be mounted";
                    refuse("mount", &mount.display().to_string(), accepted)
                }
                None => Ok(()),
            };
        };
        if self.devices.len() > 1 {
            return refuse(
                "device",
                &self.devices.join(", "),
                "one device if `filesystem` is given",
            );
        }
        if self.namespaces.is_some() {
            return refuse(
                "filesystem",
                kind,
                "absent with `namespaces`, which are raw devices",
            );
        }
        let Some(mount) = &self.mount else {
            return Err(Error::Missing {
                key: own.full("mount"),
                accepted: "the directory where the file system is mounted".to_owned(),
            });
        };
        match location {
            Location::Directory(path) if !path.starts_with(mount) => {
                let accepted = format!("a directory that holds `{}`", path.display());
                refuse("mount", &mount.display().to_string(), &accepted)
            }
            Location::Device(_) => {
                let accepted = format!(
                    "absent, because driver `{}` writes the device itself",
                    driver.name
                );
                refuse("filesystem", kind, &accepted)
            }
            _ if mount == Path::new("/") => refuse("mount", "/", "a directory other than /"),
            _ => Ok(()),
        }
    }

    /// Whether it writes to devices, or creates file systems on them.
    pub(crate) const fn destroys(&self) -> bool {
        self.erase.is_some()
            || self.namespaces.is_some()
            || self.precondition.is_some()
            || self.steady.is_some()
            || self.filesystem.is_some()
    }

    /// Each effective key as text, for the study.
    #[must_use]
    pub fn keys(&self) -> Vec<(&'static str, String)> {
        let list =
            |words: &[String], between: &str| (!words.is_empty()).then(|| words.join(between));
        let keys = [
            ("device", list(&self.devices, ", ")),
            ("erase", self.erase.clone()),
            ("namespaces", self.namespaces.map(|count| count.to_string())),
            (
                "precondition",
                self.precondition.map(|count| count.to_string()),
            ),
            ("steady", self.steady.as_ref().map(Steady::text)),
            ("filesystem", self.filesystem.clone()),
            ("mkfs_options", list(&self.mkfs_options, " ")),
            (
                "mount",
                self.mount.as_ref().map(|path| path.display().to_string()),
            ),
            ("mount_options", list(&self.mount_options, ",")),
        ];
        keys.into_iter()
            .filter_map(|(key, text)| Some((key, text?)))
            .collect()
    }
}

impl MachineSettings {
    /// Reads `[prepare]`, and refuses keys that belong to a single system.
    pub(crate) fn read(top: &TableReader<'_>) -> Result<Self, Error> {
        let table = top.table("prepare", &[])?;
        refuse_keys(
            &table,
            OF_SYSTEM,
            "it applies to one system: move it to that system's `prepare`",
        )?;
        let sysctls: Vec<String> = table.optional("sysctls")?.unwrap_or_default();
        let sysctl = |text: &String| {
            let parts = text.split_once('=');
            let parts = parts.map(|(name, value)| (name.trim(), value.trim()));
            let parts = parts.filter(|(name, value)| !name.is_empty() && !value.is_empty());
            let (name, value) = parts.ok_or_else(|| Error::BadValue {
                key: table.label("sysctls"),
                value: text.clone(),
                accepted: "NAME=VALUE, such as \"vm.swappiness=1\"".to_owned(),
            })?;
            Ok((name.to_owned(), value.to_owned()))
        };
        let limit: Option<u64> = table.optional("memory_limit")?;
        let group: Option<String> = table.optional("memory_group")?;
        let memory = match (limit, group) {
            (Some(limit), Some(group)) => Some((limit, group)),
            (None, None) => None,
            (limit, _) => {
                let missing = if limit.is_some() {
                    "memory_group"
                } else {
                    "memory_limit"
                };
                return Err(Error::Missing {
                    key: table.full(missing),
                    accepted: "both keys: the amount of memory and the control group of the server"
                        .to_owned(),
                });
            }
        };
        Ok(Self {
            sysctls: sysctls.iter().map(sysctl).collect::<Result<_, _>>()?,
            governor: table.optional("governor")?,
            huge_pages: table.optional("huge_pages")?,
            memory,
        })
    }

    /// Whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The sysctls as a plan writes them.
    #[must_use]
    pub fn sysctl_text(&self) -> Option<String> {
        let each = self.sysctls.iter();
        let each: Vec<_> = each
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        (!each.is_empty()).then(|| each.join(", "))
    }
}

/// Refuses keys that a table cannot have.
fn refuse_keys(table: &TableReader<'_>, keys: &[&str], why: &str) -> Result<(), Error> {
    for &key in keys {
        if let Some(value) = table.given().get(key) {
            return Err(Error::BadValue {
                key: table.label(key),
                value: units::text(value),
                accepted: format!("absent: {why}"),
            });
        }
    }
    Ok(())
}
