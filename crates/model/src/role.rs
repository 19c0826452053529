//! What a key of a plan is to those who read a study: so they need not know what keys are called.

use serde::{Deserialize, Serialize};

/// What a key of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It shapes numbers: what differs in it is not compared as equal.
    Condition(Subject),
    /// It says what is measured and how often, which the study shows in other ways.
    Scope(Scope),
    /// It says what the report is about.
    Report,
    /// Its value is left out where a study is shown to others.
    Private(Secret),
}

/// What a condition is of.
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

/// What is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// A system: the study describes it.
    System,
    /// What is expected of a system, and done to its devices before: what was found and done is in
    /// the facts of the study.
    Preparation,
    /// Which points are measured.
    Points,
    /// Which trials a search makes.
    Trials,
    /// When a run is refused or ended: nothing of a point that was measured to its end.
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
    /// Whether such a key shapes the points of a study: then it stays as it is as long as the study
    /// grows.
    #[must_use]
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

    /// Whether such a key shapes the trials of searches: it may change as long as a study has none.
    #[must_use]
    pub const fn shapes_trials(self) -> bool {
        matches!(self, Self::Scope(Scope::Trials))
    }
}

/// The value of a key of a plan as it takes effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanValue {
    /// As text.
    pub value: String,
    /// What the key is.
    pub role: Role,
}

impl PlanValue {
    /// A value of a key of this role.
    #[must_use]
    pub fn new(value: impl Into<String>, role: Role) -> Self {
        Self {
            value: value.into(),
            role,
        }
    }
}
