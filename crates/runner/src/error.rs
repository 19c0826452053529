//! Errors of carrying out a plan.

mod preparation;
mod restore;

pub use preparation::PreparationError;
pub use restore::RestoreError;

use std::{io, path::PathBuf};
use tailmark_driver::Location;

pub(crate) use tailmark_model::in_one_line;

/// An error of the crate. Failures of single requests are counted, not this.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A database refused.
    #[error(transparent)]
    Driver(#[from] tailmark_driver::Error),
    /// A workload cannot be drawn.
    #[error(transparent)]
    Workload(#[from] tailmark_workload::Error),
    /// A phase could not be measured.
    #[error(transparent)]
    Engine(#[from] tailmark_engine::Error),
    /// The machine could not be examined.
    #[error(transparent)]
    Host(#[from] tailmark_machine::Error),
    /// The host of a server cannot be used.
    #[error("system `{system}`: `ssh` cannot be used: {why}")]
    NoServerHost {
        /// The system's name.
        system: String,
        /// Why.
        why: String,
    },
    /// Something speaks against preparing the host of a server.
    #[error("system `{system}` cannot be prepared on {host}: {why}")]
    ServerRefuses {
        /// The system's name.
        system: String,
        /// The host.
        host: String,
        /// Everything that does.
        why: String,
    },
    /// The host of a server did not carry out a request.
    #[error("failed to act on a host of system `{system}`")]
    Server {
        /// The system's name.
        system: String,
        /// Why.
        source: tailmark_remote::Error,
    },
    /// The study refused.
    #[error(transparent)]
    Results(#[from] tailmark_study::Error),
    /// The plan names a probe that there is not.
    #[error(
        "machine.probes has `{name}`, but it must be one of {known} (see `tailmark list \
             probes`)"
    )]
    UnknownProbe {
        /// As it is in the plan.
        name: String,
        /// All that there are.
        known: String,
    },
    /// Another process of the run could not do its part.
    #[error("rank {rank} on {host}: {why}")]
    Rank {
        /// Its number.
        rank: u32,
        /// The host.
        host: String,
        /// Why.
        why: String,
        /// Whether the request was wrong.
        is_usage: bool,
    },
    /// Two processes of the run would open one directory.
    #[error(
        "ranks {} and {} on {host} would both open `{place}`, the place of system `{system}`; put \
         {{rank}} into the path, so that each rank has its own",
        ranks.0,
        ranks.1
    )]
    SharedPlace {
        /// The system's name.
        system: String,
        /// The place.
        place: Location,
        /// Two of the ranks.
        ranks: (u32, u32),
        /// Their host.
        host: String,
    },
    /// The plan of another process cannot be carried out by this one.
    #[error("{0}")]
    WrongPlan(String),
    /// This process cannot do what another asks.
    #[error("{0}")]
    Unready(String),
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
    /// The run directory cannot be written, and nothing was measured.
    #[error(transparent)]
    Unwritable(Box<Error>),
    /// Another run uses the directory.
    #[error("another tailmark run is using `{}`; wait for it to end or give another \
        -o", dir.display())]
    Busy {
        /// The run directory.
        dir: PathBuf,
    },
    /// Another run has the place of a system.
    #[error(
        "system `{system}`: another tailmark run is using `{}`; wait for it to end or give another \
         `path`",
        place.display()
    )]
    PlaceInUse {
        /// The system's name.
        system: String,
        /// Where.
        place: PathBuf,
    },
    /// The directory holds a study of another plan.
    #[error(
        "`{}` holds a study of another plan: {differences}; give another -o, or the original plan",
        dir.display()
    )]
    ChangedPlan {
        /// The run directory.
        dir: PathBuf,
        /// `key is x, was y; ...`
        differences: String,
    },
    /// A system's directories are on another disk than at the points of its study.
    #[error(
        "system `{system}` was measured on {was}, and its directory is now on {is}; mount the disk of \
         the study again, or begin a new study with another -o"
    )]
    MovedSystem {
        /// The system's name.
        system: String,
        /// The fact as it was.
        was: String,
        /// The fact as it is.
        is: String,
    },
    /// A system's place does not exist.
    #[error(
        "system `{system}`: neither `{}` nor its parent directory exists; create or mount it first",
        place.display()
    )]
    MissingPlace {
        /// The system's name.
        system: String,
        /// Where.
        place: PathBuf,
    },
    /// A directory apart from the data set cannot be used.
    #[error("system `{system}`: {setting} is `{}`, but {why}", directory.display())]
    BadDirectory {
        /// The system's name.
        system: String,
        /// The setting that names it.
        setting: String,
        /// Where.
        directory: PathBuf,
        /// Why not, and what to do.
        why: String,
    },
    /// A symbolic link is in the place of a database's directory or file.
    #[error(
        "system `{system}`: `{}` is a symbolic link to `{}`, which may be on another device than \
         the measured one; give the system a path without such a link",
        place.display(), target.display()
    )]
    LinkedData {
        /// The system's name.
        system: String,
        /// The link.
        place: PathBuf,
        /// The target of the link.
        target: PathBuf,
    },
    /// A device is named that is not one.
    #[error(
        "system `{system}`: there is no block device `{}`; give an existing one, or use `path` for \
         a directory",
        place.display()
    )]
    NoDevice {
        /// The system's name.
        system: String,
        /// The place as given.
        place: PathBuf,
    },
    /// The places of a plan are examples.
    #[error("the places in this plan are examples; give the places of its systems: {flags}")]
    Placeholders {
        /// `--system "NAME=WHERE"` for each of them.
        flags: String,
    },
    /// Systems do not meet the plan's expectations.
    #[error(
        "not as the plan expects: {mismatches}. Or remove the expectation from the plan, or \
         measure what is there with --unexpected=finding"
    )]
    Unexpected {
        /// Each expectation with the actual state, its system and the remedy.
        mismatches: String,
    },
    /// Two systems are on one device.
    #[error(
        "systems `{first}` and `{second}` ({places}) are on one physical device ({devices}), so it \
         would be compared with itself; give them places on different devices or, to compare \
         settings on one device, write `same_device = true` at the top of the plan (--set \
         same_device=true)"
    )]
    SameDevice {
        /// One system.
        first: String,
        /// The other.
        second: String,
        /// The places of both.
        places: String,
        /// The device that both are on.
        devices: String,
    },
    /// There is too little room.
    #[error(
        "system `{system}`: the data set needs about {needed} in `{}`, but only {available} are \
         free{together}; load fewer records (dataset.records, --scale), or give it another place",
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
        "system `{system}`: {found} was not loaded by tailmark ({why}) and is left alone; give \
         another {other}, or use this data with --adopt (dataset.adopt = true), which first reads \
         a sample of its records and changes nothing"
    )]
    ForeignData {
        /// The system's name.
        system: String,
        /// What was found.
        found: String,
        /// The missing marker.
        why: String,
        /// What else the plan may name: `path`, `contact_points`.
        other: &'static str,
    },
    /// The adopted data was replaced during the run.
    #[error(
        "system `{system}`: `{place}` was replaced after this run adopted it ({why}) and is left \
         alone, because later points would measure different data; restore the adopted data and \
         run the same command again, or start a new run with another -o"
    )]
    AdoptedReplaced {
        /// The system's name.
        system: String,
        /// Where.
        place: Location,
        /// The evidence for that.
        why: String,
    },
    /// There is no data, but something that tailmark did not create, in which it would create tables.
    #[error(
        "system `{system}`: {place} at `{location}` was not created by tailmark and is left alone; \
         give another `keyspace`, or load the data set into this one with --into-existing \
         (dataset.into_existing = true)"
    )]
    ForeignKeyspace {
        /// The system's name.
        system: String,
        /// The server.
        location: Location,
        /// `keyspace ycsb`.
        place: String,
    },
    /// Records would have to be removed where other programs may keep their own.
    #[error(
        "system `{system}`: {place} at `{location}` existed before the run, so tailmark removes no \
         records from it: set dataset.restore = \"none\", leave out workloads that begin with an \
         empty database, or give another `keyspace`"
    )]
    KeptRecords {
        /// The system's name.
        system: String,
        /// The server.
        location: Location,
        /// `table ycsb.usertable`.
        place: String,
    },
    /// The data to be adopted is missing or incomplete.
    #[error(
        "system `{system}`: nothing can be adopted in {place}: {why}; --adopt (dataset.adopt) \
         never creates or loads data: give the place of the data, or run without --adopt to load it"
    )]
    NothingToAdopt {
        /// The system's name.
        system: String,
        /// Where.
        place: String,
        /// What is missing.
        why: String,
    },
    /// Data that is to be taken as it is lies beside the marker of a load that was begun.
    #[error(
        "system `{system}`: tailmark cannot tell who created the data in `{place}`: {marker} \
         records the start of a load but no loaded record; the data is left alone: move the marker \
         away to adopt the data, or give another place"
    )]
    UnknownData {
        /// The system's name.
        system: String,
        /// The place.
        place: Location,
        /// The name of the marker.
        marker: String,
    },
    /// The data to be adopted does not match the plan.
    #[error(
        "system `{system}`: the data in `{place}` cannot be adopted: record {number} (key \
         `{key}`): {why}; the data is left alone: correct [dataset] in the plan, or give another \
         place"
    )]
    NotAdopted {
        /// The system's name.
        system: String,
        /// Where.
        place: Location,
        /// The first record that does not match.
        number: u64,
        /// Its key.
        key: String,
        /// The problem.
        why: String,
    },
    /// The data set was loaded with other parameters.
    #[error(
        "system `{system}`: tailmark loaded the data set in `{place}` with other parameters \
         ({marker}): {differences}; give another place, or remove what tailmark loaded there with \
         `tailmark clean`"
    )]
    OtherData {
        /// The system's name.
        system: String,
        /// Where.
        place: Location,
        /// What says so.
        marker: String,
        /// `key is x, was y; ...`
        differences: String,
    },
    /// The marker beside the data cannot be understood.
    #[error(
        "{marker} does not say what was loaded, so the data is left alone; give another place, or \
         move the marker away to treat the data as another program's"
    )]
    BadMarker {
        /// The marker.
        marker: String,
        /// Why.
        source: serde_json::Error,
    },
    /// The marker beside the data was written by a later program.
    #[error(
        "{marker} has version {version}, but this program reads version {known}: a later tailmark \
         loaded the data; use that one, or give another place"
    )]
    LaterMarker {
        /// The marker.
        marker: String,
        /// Its version.
        version: u32,
        /// The latest that is known.
        known: u32,
    },
    /// What ended a sweep that had measured something by then.
    #[error(transparent)]
    Midway(Box<Self>),
    /// Some records could not be written.
    #[error(
        "system `{system}`: loading failed for {failed} of {records} records and stopped after \
         {loaded}; first error: {example}. Run the same command again to resume"
    )]
    LoadFailed {
        /// The system's name.
        system: String,
        /// The number of records that were not written.
        failed: u64,
        /// The number of records to write.
        records: u64,
        /// The start of this attempt.
        from: u64,
        /// The number of records written, from the first on without a gap.
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
        /// `: ` and the reason if it is not in the log, or empty. Not a source, because the log
        /// comes last.
        why: String,
        /// `; its log ends: ...` or empty.
        log: String,
    },
    /// A server does not answer.
    #[error(
        "system `{system}`: its server did not answer within {waited} (sweep.ready_timeout){why}; \
         finished points are kept; run the same command again to resume{log}"
    )]
    NotReady {
        /// The system's name.
        system: String,
        /// How long tailmark waited for it.
        waited: String,
        /// `: ` and what became of the last attempt, or empty. Not a source: the log comes last.
        why: String,
        /// `; its log ends: ...` or empty.
        log: String,
    },
    /// A device or a setting of the machine could not be prepared.
    #[error(transparent)]
    Prepare(#[from] tailmark_prepare::Error),
    /// The preparation was not agreed to, or is impossible.
    #[error(transparent)]
    Preparation(#[from] PreparationError),
    /// A data set cannot be kept or restored.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// It was asked to stop.
    #[error("stopped while {doing}")]
    Stopped {
        /// The activity.
        doing: String,
    },
    /// A limit of the plan was broken.
    #[error(
        "stopped by [abort]: system `{system}` broke the limit `{limit}` while {what}: {value}. \
         Finished points are in the study; run the same command again to resume"
    )]
    Aborted {
        /// The limit.
        limit: String,
        /// The observed value.
        value: String,
        /// The system's name.
        system: String,
        /// The activity in the meantime.
        what: String,
    },
    /// A study has no id, which would distinguish its data.
    #[error(
        "`{}` has no id, so tailmark cannot tell which data belongs to it and removes nothing",
        study.display()
    )]
    NoStudyId {
        /// Its file.
        study: PathBuf,
    },
    /// Every system of the plan was left out.
    #[error("no system is left to measure: {reasons}")]
    NoSystem {
        /// Why each was left out.
        reasons: String,
    },
}

impl Error {
    /// Whether the request itself is wrong, which was detected before anything was measured.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        use tailmark_prepare::Error as Prepare;
        match self {
            Self::Rank { is_usage, .. } => *is_usage,
            Self::Io { source, .. } => tailmark_study::is_wrong_place(source),
            Self::Results(error) => error.is_usage(),
            Self::Driver(error) => !matches!(error, tailmark_driver::Error::Database { .. }),
            Self::Prepare(error) => !matches!(
                error,
                Prepare::Step { .. } | Prepare::Journal { .. } | Prepare::Damaged { .. }
            ),
            Self::Busy { .. }
            | Self::PlaceInUse { .. }
            | Self::Unwritable(_)
            | Self::SharedPlace { .. }
            | Self::WrongPlan(_)
            | Self::ChangedPlan { .. }
            | Self::MovedSystem { .. }
            | Self::MissingPlace { .. }
            | Self::BadDirectory { .. }
            | Self::Restore(RestoreError::Refused { .. })
            | Self::LinkedData { .. }
            | Self::NoDevice { .. }
            | Self::Placeholders { .. }
            | Self::SameDevice { .. }
            | Self::Unexpected { .. }
            | Self::NoRoom { .. }
            | Self::ForeignData { .. }
            | Self::ForeignKeyspace { .. }
            | Self::KeptRecords { .. }
            | Self::NothingToAdopt { .. }
            | Self::OtherData { .. }
            | Self::UnknownData { .. }
            | Self::NotAdopted { .. }
            | Self::BadMarker { .. }
            | Self::LaterMarker { .. }
            | Self::NoSystem { .. }
            | Self::Preparation(_)
            | Self::NoStudyId { .. }
            | Self::NoServerHost { .. }
            | Self::ServerRefuses { .. }
            | Self::UnknownProbe { .. } => true,
            _ => false,
        }
    }
}
