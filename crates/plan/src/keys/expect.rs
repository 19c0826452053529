//! What a plan expects of a system's place: its file system, its device, the host of its clients.
//! The runner checks it before anything is measured.

use super::roles::PREPARATION;
use crate::{
    Accept::{Choice, Flag, Size, Text, Words},
    Error, PlanKey,
    reader::TableReader,
};
use tailmark_driver::{Driver, Place};

/// The keys of `expect`.
pub(super) const EXPECT_KEYS: &[PlanKey] = &[
    PlanKey::new("expect", "mount", PREPARATION, Flag)
        .about("the place is on its own mount, not on the root file system")
        .or("false"),
    PlanKey::new("expect", "filesystem", PREPARATION, Text)
        .about("type of the file system: xfs, ext4"),
    PlanKey::new("expect", "mount_options", PREPARATION, Words)
        .about("mount options that are in effect: [\"noatime\"]"),
    PlanKey::new("expect", "model", PREPARATION, Text)
        .about("text that the model of each disk contains"),
    PlanKey::new("expect", "capacity", PREPARATION, Size(1, 1 << 60))
        .about("size of each disk, within 1 %"),
    PlanKey::new(
        "expect",
        "transport",
        PREPARATION,
        Choice(tailmark_model::TRANSPORTS),
    )
    .about("how each disk is attached"),
    PlanKey::new(
        "expect",
        "client_host",
        PREPARATION,
        Choice(ClientHost::NAMES),
    )
    .about("whether server and clients share a machine"),
    PlanKey::new("expect", "version", PREPARATION, Text)
        .about("start of the database version; a mismatch is always a finding"),
];

/// Expectations about one system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expect {
    /// Whether its place must be on a separate mount point, not on the root file system.
    pub mount: bool,
    /// The type of the file system.
    pub filesystem: Option<String>,
    /// Required mount options.
    pub mount_options: Vec<String>,
    /// Text that the model of its device must contain, ignoring case.
    pub model: Option<String>,
    /// Bytes of its device, within 1 %.
    pub capacity: Option<u64>,
    /// How its device is attached: one of [`tailmark_model::TRANSPORTS`].
    pub transport: Option<String>,
    /// The machine of its server relative to the clients.
    pub client_host: Option<ClientHost>,
    /// The beginning of the version of its database: `8.1`.
    pub version: Option<String>,
}

/// Where the clients are, as seen from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientHost {
    /// On another machine.
    Other,
    /// On the same machine.
    Same,
}

/// What happens if an expectation is not met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unexpected {
    /// Nothing is measured.
    #[default]
    Error,
    /// It is measured, and a finding qualifies every number of the system.
    Finding,
}

impl ClientHost {
    /// The names in plans.
    pub const NAMES: &[&str] = &[Self::Other.name(), Self::Same.name()];

    /// The word in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Same => "same",
        }
    }
}

impl Unexpected {
    /// The names in plans.
    pub const NAMES: &[&str] = &[Self::Error.name(), Self::Finding.name()];

    /// The word in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Finding => "finding",
        }
    }

    /// The setting of a plan.
    pub(crate) fn read(top: &TableReader<'_>) -> Result<Self, Error> {
        let name: String = top.get("unexpected")?;
        Ok(if name == Self::Finding.name() {
            Self::Finding
        } else {
            Self::Error
        })
    }
}

impl Expect {
    /// Reads the table `expect` of a system, and refuses expectations that its driver cannot have.
    pub(crate) fn read(system: &TableReader<'_>, driver: &Driver) -> Result<Self, Error> {
        let table = system.table("expect", &[])?;
        let refuse = |key: &str, why: &str| match table.given().get(key) {
            Some(value) => Err(Error::BadValue {
                key: table.label(key),
                value: crate::units::text(value),
                accepted: format!("absent: driver `{}` {why}", driver.name),
            }),
            None => Ok(()),
        };
        if driver.place != Place::Hosts {
            refuse("client_host", "has no server")?;
        }
        if !matches!(driver.place, Place::Directory | Place::Hosts) {
            refuse("version", "opens no database")?;
        }
        let client_host: Option<String> = table.optional("client_host")?;
        Ok(Self {
            mount: table.get("mount")?,
            filesystem: table.optional("filesystem")?,
            mount_options: table.optional("mount_options")?.unwrap_or_default(),
            model: table.optional("model")?,
            capacity: table.optional("capacity")?,
            transport: table.optional("transport")?,
            client_host: client_host.map(|name| {
                if name == ClientHost::Same.name() {
                    ClientHost::Same
                } else {
                    ClientHost::Other
                }
            }),
            version: table.optional("version")?,
        })
    }

    /// Each expectation by its key, as text for the study.
    #[must_use]
    pub fn keys(&self) -> Vec<(&'static str, String)> {
        let options = self.mount_options.join(",");
        let keys = [
            ("mount", self.mount.then(|| true.to_string())),
            ("filesystem", self.filesystem.clone()),
            ("mount_options", (!options.is_empty()).then_some(options)),
            ("model", self.model.clone()),
            ("capacity", self.capacity.map(|bytes| bytes.to_string())),
            ("transport", self.transport.clone()),
            (
                "client_host",
                self.client_host.map(|host| host.name().to_owned()),
            ),
            ("version", self.version.clone()),
        ];
        let given = keys.into_iter();
        given.filter_map(|(key, text)| Some((key, text?))).collect()
    }
}
