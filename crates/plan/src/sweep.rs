//! What is run: the axes of a plan, and the budget of each point.

use super::{Accept, AskedRate, Ladder, Warmup, accept::Accepted};
use std::{sync::Arc, time::Duration};
use tailmark_model::Arrivals;
use tailmark_workload::Workload;
use toml::Value;

/// The product of axes, and the budget of each point.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// In this order; each with the distribution that takes effect.
    pub workloads: Vec<Arc<Workload>>,
    /// Client counts, in this order, each from 1 to 1,024; empty where rates alone are measured.
    pub threads: Vec<u32>,
    /// Where client counts are climbed until there is no gain: `threads` are all its rungs, of which
    /// those above its end are not measured.
    pub ladder: Option<Ladder>,
    /// From 1.
    pub repeats: u32,
    /// In which order the points of several systems are measured.
    pub order: Order,
    /// Operations per second over all clients, at every thread count; none: a closed loop.
    pub rate: Option<f64>,
    /// Rates, in this order, each a point of its own beside the thread counts.
    pub rates: Vec<AskedRate>,
    /// Clients of such a point, which bound what is in flight: from 1 to 1,024.
    pub rate_threads: u32,
    /// The system whose peak percentages are of; none: of the same system.
    pub rates_of: Option<String>,
    /// How operations arrive at a rate, in one sequence that all clients share; none: each client
    /// has a schedule of its own, as in studies that were begun before there was another way.
    pub arrivals: Option<Arrivals>,
    /// Ends a point after this many operations; at least one of this and `duration` is set.
    pub operations: Option<u64>,
    /// Ends a point after this time.
    pub duration: Option<Duration>,
    /// Runs before the measured part, not counted.
    pub warmup: Warmup,
    /// Of every random draw.
    pub seed: u64,
    /// When the data set is loaded again.
    pub reload: Reload,
    /// Whether data that tailmark did not load is used.
    pub adopt: Adopt,
    /// Whether that may become unreadable for the version of the database that wrote it.
    pub upgrade: bool,
    /// Whether data is loaded into a keyspace that exists and that tailmark did not create.
    pub into_existing: bool,
    /// Clients that load.
    pub load_threads: u32,
    /// Records per second over all of them; none: as fast as they can.
    pub load_rate: Option<f64>,
    /// Whether an update writes all fields instead of one.
    pub write_all_fields: bool,
    /// How much of each value is not random: 0 (incompressible) to 1.
    pub compressibility: f64,
    /// How long to wait for background work to come to rest.
    pub settle: Duration,
    /// How long to wait for a server to answer.
    pub ready_timeout: Duration,
    /// The part of a point's operations that may fail, 0 to 1: one with more is no peak.
    pub allow_errors: f64,
}

/// Whether data that tailmark did not load is used. Such data is never loaded or removed, and nothing
/// is created next to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Adopt {
    /// It is refused.
    #[default]
    No,
    /// Workloads read it.
    Read,
    /// Workloads may write to it too.
    Overwrite,
}

impl Adopt {
    /// The word in plans that allows workloads to write.
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
    /// Before each repeat but the first, which has what is there.
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

/// In which order the points of several systems are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Each point on all systems, there and back: A B, then B A. What changes with time, such as the
    /// temperature of a room, the wear of a device or another load on the machine, then falls on all
    /// systems alike.
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

    /// That of a plan which does not say: points that are repeated are compared run by run, and are
    /// interleaved.
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
