//! One key of a plan: a row of the table of keys, and what can be said in one.

use super::{Accept, Plan, SystemPlan};
use std::time::Duration;
use tailmark_model::Role;

/// One key of a plan. Whoever reads a plan, refuses one, lists what can be said in one or takes a
/// flag for one goes by its row; nobody repeats what is in it.
#[derive(Debug, Clone, Copy)]
pub struct PlanKey {
    /// The table that it is in; empty: the top of the plan.
    pub table: &'static str,
    /// Its name in that table.
    pub name: &'static str,
    /// What it is to those who read a study.
    pub role: Role,
    /// What it accepts: type, unit and range.
    pub accept: Accept,
    /// One line for `list`.
    pub about: &'static str,
    /// The value where none is given.
    pub default: DefaultValue,
    /// The flag of `tailmark run` that stands for it.
    pub flag: Option<KeyFlag>,
    /// What it sets, of a key that is in the effective plan under its own path: the text of the
    /// value in effect, none where the plan goes without.
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

/// What is known of a plan when a default is computed from it.
#[derive(Debug, Default)]
pub struct DefaultInputs<'a> {
    /// The name of the table that the key is in; of the top of a plan: those of the systems that
    /// are compared.
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
    /// What the help says.
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

    /// Whether it says what a report is about: whoever writes the report again may say it anew.
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

    /// The key with what the help says of its flag.
    pub(super) const fn help(self, help: &'static str) -> Self {
        match self.flag {
            Some(flag) => Self {
                flag: Some(KeyFlag { help, ..flag }),
                ..self
            },
            None => self,
        }
    }

    /// The key with what it sets.
    pub(super) const fn sets(self, in_effect: fn(&Plan) -> Option<String>) -> Self {
        Self {
            sets: Some(in_effect),
            ..self
        }
    }

    /// The key of a system with what it sets there.
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

    /// The default where it is always the same; otherwise empty.
    #[must_use]
    pub const fn fixed_default(&self) -> &'static str {
        match self.default {
            DefaultValue::Fixed(default) => default,
            DefaultValue::None | DefaultValue::Computed(_) => "",
        }
    }
}
