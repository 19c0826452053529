//! Errors in plans. Each names the key, the value and what is accepted.

use std::{error::Error as _, io, path::PathBuf};
use tailmark_driver::Location;

/// An error in a plan. Nothing has been done yet.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a file nor a shipped plan has this name.
    #[error("there is no plan file and no shipped plan `{name}`{hint}; shipped plans: {known}")]
    UnknownPlan {
        /// As given.
        name: String,
        /// `; did you mean ...?` or empty.
        hint: String,
        /// All names.
        known: String,
    },
    /// The plan file cannot be read.
    #[error("failed to read the plan `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The plan is not TOML.
    #[error("{at}: {message}")]
    Syntax {
        /// The plan, line and column.
        at: String,
        /// The parser's message.
        message: String,
    },
    /// An error with its place in the plan file.
    #[error("{place}: {}", with_causes(error))]
    At {
        /// The plan and the line.
        place: String,
        /// The error.
        error: Box<Error>,
    },
    /// Several errors, in the order of the file.
    #[error("{}", listed(*count, errors))]
    Several {
        /// How many were found.
        count: usize,
        /// The first of them.
        errors: Vec<Error>,
    },
    /// What `--set` was given is not `KEY=VALUE`.
    #[error("--set is `{given}`, but it must be KEY=VALUE, such as `dataset.records=100k`")]
    BadAssignment {
        /// As given.
        given: String,
    },
    /// The argument of `--system` is not `NAME=WHERE`.
    #[error("--system is `{given}`, but it must be NAME=WHERE, such as `disk=/mnt/nvme0`")]
    BadSystem {
        /// As given.
        given: String,
    },
    /// A key that no plan has.
    #[error("there is no key `{key}`{hint}; keys there: {known}")]
    UnknownKey {
        /// Its dotted path.
        key: String,
        /// `; did you mean ...?` or empty.
        hint: String,
        /// All keys of the same table.
        known: String,
    },
    /// A value of the wrong type or unit, or out of range.
    #[error("{key} is `{value}`, but it must be {accepted}")]
    BadValue {
        /// Its dotted path, and the flag that set it.
        key: String,
        /// As given.
        value: String,
        /// What is accepted.
        accepted: String,
    },
    /// A required key is missing.
    #[error("{key} is missing: {accepted}")]
    Missing {
        /// Its dotted path.
        key: String,
        /// What is accepted.
        accepted: String,
    },
    /// The plan names no system.
    #[error("the plan names no system to test; add a [[system]] table, or --system NAME=WHERE")]
    NoSystem,
    /// Two tables have the same name.
    #[error("two [[{table}]] tables are named `{name}`; names must be unique")]
    Duplicate {
        /// `system` or `workload`.
        table: &'static str,
        /// The name.
        name: String,
    },
    /// A key names a system or workload that the plan does not have.
    #[error("{key} is `{name}`, but the plan has no such {table}{hint}; it has: {known}")]
    NotThere {
        /// Its dotted path.
        key: String,
        /// As given.
        name: String,
        /// `system` or `workload`.
        table: &'static str,
        /// `; did you mean ...?` or empty.
        hint: String,
        /// All names.
        known: String,
    },
    /// Two systems would share one database.
    #[error(
        "systems `{first}` and `{second}` would share one {driver} database in `{location}`; give \
         each its own directory"
    )]
    SharedPlace {
        /// One system.
        first: String,
        /// The other.
        second: String,
        /// The driver of both.
        driver: &'static str,
        /// The place of both.
        location: Location,
    },
    /// A driver does not support a request of a workload.
    #[error(
        "workload `{workload}` needs `{kind}`, which driver `{driver}` of system `{system}` does \
         not support; remove the workload or the system from the plan"
    )]
    Unsupported {
        /// The workload.
        workload: String,
        /// The kind of request.
        kind: &'static str,
        /// The driver.
        driver: &'static str,
        /// The system.
        system: String,
    },
    /// A driver, or one of its settings, is not accepted.
    #[error("{key} is not accepted")]
    Driver {
        /// The table of the settings.
        key: String,
        /// The reason.
        source: tailmark_driver::Error,
    },
    /// A workload or distribution is not accepted.
    #[error("{key} is not accepted")]
    Workload {
        /// Its dotted path.
        key: String,
        /// The reason.
        source: tailmark_workload::Error,
    },
}

impl Error {
    /// The key that it is about, with the flag that set it, if it is about one.
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Self::UnknownKey { key, .. }
            | Self::BadValue { key, .. }
            | Self::Missing { key, .. }
            | Self::NotThere { key, .. }
            | Self::Driver { key, .. }
            | Self::Workload { key, .. } => Some(key),
            _ => None,
        }
    }
}

/// Each error with its cause in a line of its own.
fn listed(count: usize, errors: &[Error]) -> String {
    let mut lines = vec![match errors.len() {
        shown if shown < count => format!("the plan has {count} errors; the first {shown}:"),
        _ => format!("the plan has {count} errors:"),
    }];
    lines.extend(errors.iter().map(with_causes));
    lines.join("\n")
}

/// An error and its causes in one line.
fn with_causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text += &format!(": {inner}");
        cause = inner.source();
    }
    text
}
