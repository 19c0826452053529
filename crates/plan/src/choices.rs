//! Keys whose values are one of several words.

use super::{Accept, accept::Accepted};
use tailmark_model::Arrivals;
use toml::Value;

/// Whether data that tailmark did not load is used. Such data is never loaded or removed, and
/// nothing is created next to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Adopt {
    /// It is refused.
    #[default]
    No,
    /// Workloads read it.
    Read,
    /// Workloads may also write to it.
    Overwrite,
}

impl Adopt {
    /// The word that allows workloads to write.
    pub(super) const OVERWRITE: &str = "overwrite";

    /// The value in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::No => "false",
            Self::Read => "true",
            Self::Overwrite => Self::OVERWRITE,
        }
    }
}

/// `true`, `false` or `overwrite`.
impl Accepted for Adopt {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let Accept::FlagOr(word) = accept else {
            return None;
        };
        match (bool::read(value, Accept::Flag), value.as_str()) {
            (Some(true), _) => Some(Self::Read),
            (Some(false), _) => Some(Self::No),
            (None, Some(text)) if text == word => Some(Self::Overwrite),
            _ => None,
        }
    }
}

/// How a point gets the data set as it was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Restore {
    /// It does not: it starts from what the points before it have left.
    #[default]
    None,
    /// The data set is loaded again.
    Reload,
    /// From hard links of the files that the database never changes, and copies of the others.
    Checkpoint,
    /// From a copy of all files.
    Copy,
    /// From a snapshot that the server makes.
    Snapshot,
    /// By a command of the plan.
    Command,
}

impl Restore {
    /// Every one.
    const ALL: [Self; 6] = [
        Self::None,
        Self::Reload,
        Self::Checkpoint,
        Self::Copy,
        Self::Snapshot,
        Self::Command,
    ];
    /// The names in plans.
    pub(super) const NAMES: &[&str] = &[
        Self::None.name(),
        Self::Reload.name(),
        Self::Checkpoint.name(),
        Self::Copy.name(),
        Self::Snapshot.name(),
        Self::Command.name(),
    ];

    /// The name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Reload => "reload",
            Self::Checkpoint => "checkpoint",
            Self::Copy => "copy",
            Self::Snapshot => "snapshot",
            Self::Command => "command",
        }
    }

    /// Whether the loaded data set is kept, so that it can be put back without a load.
    #[must_use]
    pub const fn keeps(self) -> bool {
        matches!(
            self,
            Self::Checkpoint | Self::Copy | Self::Snapshot | Self::Command
        )
    }

    /// Whether files beside the data set keep it.
    #[must_use]
    pub const fn keeps_files(self) -> bool {
        matches!(self, Self::Checkpoint | Self::Copy)
    }
}

/// Before what the data set is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RestoreBefore {
    /// Each point.
    #[default]
    Point,
    /// Each workload.
    Workload,
    /// Each repeat except the first, which uses the existing data.
    Repeat,
}

impl RestoreBefore {
    /// Every one.
    const ALL: [Self; 3] = [Self::Point, Self::Workload, Self::Repeat];
    /// The names in plans.
    pub(super) const NAMES: &[&str] = &[
        Self::Point.name(),
        Self::Workload.name(),
        Self::Repeat.name(),
    ];

    /// The name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Workload => "workload",
            Self::Repeat => "repeat",
        }
    }
}

/// The order in which the points of several systems are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Each point on all systems, there and back: A B, then B A. Gradual changes, such as room
    /// temperature, wear of a device or other load on the machine, then affect all systems alike.
    Interleaved,
    /// All points of one system, then all of the next.
    Systems,
}

impl Order {
    /// Every one.
    const ALL: [Self; 2] = [Self::Interleaved, Self::Systems];
    /// The names in plans.
    pub(super) const NAMES: &[&str] = &[Self::Interleaved.name(), Self::Systems.name()];

    /// The name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interleaved => "interleaved",
            Self::Systems => "systems",
        }
    }

    /// The default. Repeated points are compared run by run, so they are interleaved.
    pub(super) const fn of_repeats(repeats: u32) -> Self {
        match repeats {
            0 | 1 => Self::Systems,
            _ => Self::Interleaved,
        }
    }
}

impl Accepted for Order {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let name = String::read(value, accept)?;
        Self::ALL.into_iter().find(|order| order.name() == name)
    }
}

impl Accepted for Restore {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let name = String::read(value, accept)?;
        Self::ALL.into_iter().find(|how| how.name() == name)
    }
}

impl Accepted for RestoreBefore {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let name = String::read(value, accept)?;
        Self::ALL.into_iter().find(|before| before.name() == name)
    }
}

impl Accepted for Arrivals {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let name = String::read(value, accept)?;
        Self::ALL
            .into_iter()
            .find(|arrivals| arrivals.name() == name)
    }
}
