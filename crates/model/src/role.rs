//! The roles of plan keys, so that readers of a study need not know the names of keys.

use serde::{Deserialize, Serialize};

/// The role of a plan key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It shapes numbers: points that differ in it are not compared as equals.
    Condition(Subject),
    /// It says what is measured and how often. The study shows that elsewhere.
    Scope(Scope),
    /// It configures the report.
    Report,
    /// Its value is left out when a study is shown to others.
    Private(Secret),
}

/// The subject of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The data that is loaded.
    DataSet,
    /// How it is loaded.
    Load,
    /// A setting of the database of one system.
    Setting,
    /// What a workload consists of.
    Workload,
    /// How a workload draws its keys.
    Distribution,
    /// How every point is measured, and on what machine.
    Run,
}

/// The subject of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// A system. The study describes it.
    System,
    /// What is expected of a system, and how its devices are prepared. The study's facts say what
    /// was found and done.
    Preparation,
    /// Which points are measured.
    Points,
    /// Which trials a search makes.
    Trials,
    /// When a run is refused or ended. It affects no point that was measured to its end.
    Run,
}

/// Why a value is private.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Secret {
    /// It is a command.
    Command,
    /// It names hosts.
    Hosts,
}

impl Role {
    /// Whether keys of this role shape the points of a study. Such a key cannot change while the
    /// study grows.
    pub const fn shapes_points(self) -> bool {
        match self {
            Self::Condition(Subject::Load)
            | Self::Scope(Scope::Preparation | Scope::Trials | Scope::Run)
            | Self::Report => false,
            Self::Condition(_) | Self::Scope(Scope::System | Scope::Points) | Self::Private(_) => {
                true
            }
        }
    }

    /// Whether keys of this role shape the trials of searches. Such a key can change until the
    /// study has a trial.
    pub const fn shapes_trials(self) -> bool {
        matches!(self, Self::Scope(Scope::Trials))
    }
}

/// The effective value of a plan key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanValue {
    /// As text.
    pub value: String,
    /// What the key is.
    pub role: Role,
}

impl PlanValue {
    /// A value of a key of this role.
    pub fn new(value: impl Into<String>, role: Role) -> Self {
        Self {
            value: value.into(),
            role,
        }
    }
}
