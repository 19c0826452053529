//! Errors of workloads.

/// An error of this crate. All of them are detected before anything is measured.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// No workload has this name.
    #[error("there is no workload `{name}`{hint}; workloads: {known}")]
    UnknownWorkload {
        /// As given.
        name: String,
        /// `; did you mean ...?` or empty.
        hint: String,
        /// All names.
        known: String,
    },
    /// No distribution has this name.
    #[error("there is no distribution `{name}`{hint}; distributions: {known}")]
    UnknownDistribution {
        /// As given.
        name: String,
        /// `; did you mean ...?` or empty.
        hint: String,
        /// All names.
        known: String,
    },
    /// A number of a workload is out of its range.
    #[error("{what} of workload `{workload}` is {got}, but it must be {accepted}")]
    BadNumber {
        /// The workload's name.
        workload: String,
        /// The name of the number, for example `weight of read`.
        what: &'static str,
        /// As given.
        got: f64,
        /// What is accepted.
        accepted: &'static str,
    },
    /// A workload has no work.
    #[error("workload `{workload}` has no {what}")]
    Empty {
        /// The workload's name.
        workload: String,
        /// What it lacks.
        what: &'static str,
    },
    /// A client was given a group that does not exist.
    #[error("workload `{workload}` has {groups} groups, so there is no group {group}")]
    NoSuchGroup {
        /// The workload's name.
        workload: String,
        /// The number of groups.
        groups: usize,
        /// The requested group, from 0.
        group: usize,
    },
    /// A histogram of field lengths cannot be read.
    #[error("line {line} of the histogram of field lengths is not {accepted}")]
    BadHistogram {
        /// From 1.
        line: usize,
        /// What is accepted there.
        accepted: &'static str,
    },
    /// The data set has nothing to draw from.
    #[error("the data set has no {what}, but workload `{workload}` needs at least one")]
    EmptyData {
        /// The workload's name.
        workload: String,
        /// `records` or `fields`.
        what: &'static str,
    },
}
