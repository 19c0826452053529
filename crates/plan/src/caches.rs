//! Whose caches are dropped before each point.

use super::{Accept, Plan, SystemPlan, accept::Accepted, units};
use tailmark_driver::Place;
use toml::Value;

/// Whose caches are dropped before each point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DropCaches {
    /// None.
    #[default]
    Never,
    /// Caches of databases that the run opens itself, and of servers that it starts.
    Own,
    /// Caches of every reachable machine, whatever else runs there.
    Always,
}

impl DropCaches {
    /// The names in plans.
    pub(super) const NAMES: &[&str] = &[Self::Own.name(), Self::Never.name(), Self::Always.name()];

    /// The name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "false",
            Self::Own => "true",
            Self::Always => "always",
        }
    }
}

impl Accepted for DropCaches {
    fn read(value: &Value, _: Accept) -> Option<Self> {
        if value.as_str() == Some(Self::Always.name()) {
            return Some(Self::Always);
        }
        units::flag(value).map(|drops| if drops { Self::Own } else { Self::Never })
    }
}

impl Plan {
    /// Whether the caches of a system are dropped. A server that the plan does not start may serve
    /// other programs. So the page cache of its machine is left alone unless the plan says
    /// `always`.
    #[must_use]
    pub fn drops_caches_of(&self, system: &SystemPlan) -> bool {
        match self.machine.drop_caches {
            DropCaches::Never => false,
            DropCaches::Always => true,
            DropCaches::Own => system.driver.place != Place::Hosts || system.service.is_some(),
        }
    }
}
