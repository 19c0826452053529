//! What can go wrong in carrying out a plan.

use std::{io, path::PathBuf};

/// An error of the crate. Failures of single requests are counted, not this.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A database refused.
    #[error(transparent)]
    Driver(#[from] tailmark_driver::Error),
    /// A workload cannot be drawn.
    #[error(transparent)]
    Workload(#[from] tailmark_workload::Error),
    /// The study refused.
    #[error(transparent)]
    Results(#[from] tailmark_results::Error),
    /// The system has too few threads.
    #[error("failed to start {threads} client threads")]
    Thread {
        /// How many were asked for.
        threads: u32,
        /// Why.
        source: io::Error,
    },
    /// A file or directory refused.
    #[error("failed to {action} `{}`", path.display())]
    Io {
        /// `create`, `read`, ...
        action: &'static str,
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another run uses the directory.
    #[error("another tailmark run is using `{}`; wait for it to end or give another -o", dir.display())]
    Busy {
        /// The run directory.
        dir: PathBuf,
    },
    /// The directory holds a study of another plan.
    #[error(
        "`{}` holds a study of another plan: {differences}; give another -o, or the plan as it was",
        dir.display()
    )]
    ChangedPlan {
        /// The run directory.
        dir: PathBuf,
        /// `key is x, was y; ...`
        differences: String,
    },
    /// A system's place does not exist.
    #[error(
        "system `{system}`: neither `{}` nor the directory it would be in exists; create or mount it first",
        place.display()
    )]
    MissingPlace {
        /// The system's name.
        system: String,
        /// Where.
        place: PathBuf,
    },
    /// There is too little room.
    #[error(
        "system `{system}`: the data set needs about {needed} in `{}`, but only {available} are free{together}",
        place.display()
    )]
    NoRoom {
        /// The system's name.
        system: String,
        /// Where.
        place: PathBuf,
        /// Bytes, for people.
        needed: String,
        /// Bytes, for people.
        available: String,
        /// Who else needs room there, or empty.
        together: String,
    },
    /// There is data that tailmark did not load.
    #[error(
        "system `{system}`: `{}` was not loaded by tailmark (there is no `{}`); it is left alone: \
         remove it or give another path",
        place.display(), marker.display()
    )]
    ForeignData {
        /// The system's name.
        system: String,
        /// Where.
        place: PathBuf,
        /// The file that is missing.
        marker: PathBuf,
    },
    /// The data set was loaded with other parameters.
    #[error(
        "system `{system}`: the data set in `{}` was loaded with other parameters: {differences}; \
         remove it together with `{}`, or give another path",
        place.display(), marker.display()
    )]
    OtherData {
        /// The system's name.
        system: String,
        /// Where.
        place: PathBuf,
        /// The file that says so.
        marker: PathBuf,
        /// `key is x, was y; ...`
        differences: String,
    },
    /// The marker beside the data cannot be understood.
    #[error("`{}` does not say what was loaded; remove it together with the data", path.display())]
    BadMarker {
        /// The marker.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// Some records could not be written.
    #[error(
        "system `{system}`: loading failed for {failed} of {records} records, and was ended when {loaded} \
         were written; the same command goes on with it; first: {example}"
    )]
    LoadFailed {
        /// The system's name.
        system: String,
        /// How many were not written.
        failed: u64,
        /// How many there were to write.
        records: u64,
        /// How many were written, from the first on without a gap.
        loaded: u64,
        /// The first failure.
        example: String,
    },
    /// A command of a service failed.
    #[error("system `{system}`: failed to {action} its service{why}{log}")]
    Service {
        /// The system's name.
        system: String,
        /// `start`, `stop`, ...
        action: &'static str,
        /// `: ` and why, where that is not in its log, or empty. Not a source: the log comes last.
        why: String,
        /// `; its log ends: ...` or empty.
        log: String,
    },
    /// A server does not answer.
    #[error(
        "system `{system}`: its server did not answer within {waited} (sweep.ready_timeout){why}; \
         the finished points are kept, and the same command goes on with the others{log}"
    )]
    NotReady {
        /// The system's name.
        system: String,
        /// How long it was waited for.
        waited: String,
        /// `: ` and what became of the last attempt, or empty. Not a source: the log comes last.
        why: String,
        /// `; its log ends: ...` or empty.
        log: String,
    },
    /// Every system of the plan was left out.
    #[error("no system is left to measure: {reasons}")]
    NoSystem {
        /// Why each was left out.
        reasons: String,
    },
}
