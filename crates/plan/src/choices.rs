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

/// When the data set is loaded again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// Loaded once.
    Never,
    /// Before each repeat except the first, which uses the existing data.
    Repeat,
    /// Before each workload.
    Workload,
    /// Before each point.
    Point,
}

impl Reload {
    /// Every one.
    const ALL: [Self; 4] = [Self::Never, Self::Repeat, Self::Workload, Self::Point];
    /// The names in plans.
    pub(super) const NAMES: &[&str] = &[
        Self::Never.name(),
        Self::Repeat.name(),
        Self::Workload.name(),
        Self::Point.name(),
    ];

    /// The name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Repeat => "repeat",
            Self::Workload => "workload",
            Self::Point => "point",
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

impl Accepted for Reload {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let name = String::read(value, accept)?;
        Self::ALL.into_iter().find(|reload| reload.name() == name)
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
