//! One key of a plan: a row of the table of keys, and what can be said in one.

use super::{Accept, Plan, SystemPlan};
use std::time::Duration;
use tailmark_model::Role;

/// One key of a plan. Reading a plan, rejecting one, listing its keys and taking a flag all use
/// this row, so nothing is stated twice.
#[derive(Debug, Clone, Copy)]
pub struct PlanKey {
    /// The table that it is in; empty: the top of the plan.
    pub table: &'static str,
    /// Its name in that table.
    pub name: &'static str,
    /// Its role for readers of a study.
    pub role: Role,
    /// What it accepts: type, unit and range.
    pub accept: Accept,
    /// One line for `list`.
    pub about: &'static str,
    /// The default.
    pub default: DefaultValue,
    /// The flag of `tailmark run` that stands for it.
    pub flag: Option<KeyFlag>,
    /// The effective value as text, for a key that is in the effective plan under its own path;
    /// `None` if the plan goes without.
    pub sets: Option<fn(&Plan) -> Option<String>>,
    /// The same of a key of a system, or of a table in one.
    pub sets_in_system: Option<fn(&SystemPlan) -> Option<String>>,
}

/// The value of a key that is not given, as it would be written.
#[derive(Debug, Clone, Copy)]
pub enum DefaultValue {
    /// There is none: the plan goes without, or is refused.
    None,
    /// Always the same.
    Fixed(&'static str),
    /// Computed from other keys.
    Computed(fn(&DefaultInputs<'_>) -> Option<String>),
}

/// The values from which a default is computed.
#[derive(Debug, Default)]
pub struct DefaultInputs<'a> {
    /// The name of the table that contains the key; at the top of a plan, the names of the compared
    /// systems.
    pub names: Vec<&'a str>,
    /// The value of `sweep.operations`.
    pub operations: Option<u64>,
    /// The value of `sweep.duration`, scaled.
    pub duration: Option<Duration>,
    /// The value of `sweep.repeats`.
    pub repeats: u32,
    /// The value of `slo.quick`.
    pub quick: bool,
}

/// A flag that stands for a key.
#[derive(Debug, Clone, Copy)]
pub struct KeyFlag {
    /// With its dashes.
    pub name: &'static str,
    /// What its value is called in the help; empty: it takes none, and sets `true`.
    pub value: &'static str,
    /// Whether it may be given without its value, and then sets `true`.
    pub is_optional: bool,
    /// The text of the help.
    pub help: &'static str,
    /// Its place in the help, from 0.
    pub place: usize,
}

impl PlanKey {
    /// A key without anything else.
    pub(super) const fn new(
        table: &'static str,
        name: &'static str,
        role: Role,
        accept: Accept,
    ) -> Self {
        Self {
            table,
            name,
            role,
            accept,
            about: "",
            default: DefaultValue::None,
            flag: None,
            sets: None,
            sets_in_system: None,
        }
    }

    /// Whether it configures the report, so that it can be changed when the report is written
    /// again.
    #[must_use]
    pub fn is_of_reports(&self) -> bool {
        self.table == "report" || self.path() == "title"
    }

    /// The key with what `list` says of it.
    pub(super) const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// The key with this default.
    pub(super) const fn or(self, default: &'static str) -> Self {
        Self {
            default: DefaultValue::Fixed(default),
            ..self
        }
    }

    /// The key with a default that is computed from other keys.
    pub(super) const fn or_else(self, default: fn(&DefaultInputs<'_>) -> Option<String>) -> Self {
        Self {
            default: DefaultValue::Computed(default),
            ..self
        }
    }

    /// The key with a flag: its place in the help, its name and what its value is called.
    pub(super) const fn flag(self, place: usize, name: &'static str, value: &'static str) -> Self {
        Self {
            flag: Some(KeyFlag {
                name,
                value,
                is_optional: false,
                help: "",
                place,
            }),
            ..self
        }
    }

    /// The key with a flag that may be given without its value.
    pub(super) const fn with_optional_value(self) -> Self {
        match self.flag {
            Some(flag) => Self {
                flag: Some(KeyFlag {
                    is_optional: true,
                    ..flag
                }),
                ..self
            },
            None => self,
        }
    }

    /// Adds the help of its flag.
    pub(super) const fn help(self, help: &'static str) -> Self {
        match self.flag {
            Some(flag) => Self {
                flag: Some(KeyFlag { help, ..flag }),
                ..self
            },
            None => self,
        }
    }

    /// Adds the function for its effective value.
    pub(super) const fn sets(self, in_effect: fn(&Plan) -> Option<String>) -> Self {
        Self {
            sets: Some(in_effect),
            ..self
        }
    }

    /// Adds the function for the effective value in a system.
    pub(super) const fn sets_in_system(self, in_effect: fn(&SystemPlan) -> Option<String>) -> Self {
        Self {
            sets_in_system: Some(in_effect),
            ..self
        }
    }

    /// The dotted path, for example `sweep.threads`.
    #[must_use]
    pub fn path(&self) -> String {
        match self.table {
            "" => self.name.to_owned(),
            table => format!("{table}.{}", self.name),
        }
    }

    /// The default if it is fixed; otherwise empty.
    #[must_use]
    pub const fn fixed_default(&self) -> &'static str {
        match self.default {
            DefaultValue::Fixed(default) => default,
            DefaultValue::None | DefaultValue::Computed(_) => "",
        }
    }
}
