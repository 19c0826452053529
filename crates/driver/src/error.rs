//! Errors of opening, configuring or maintaining a database.

/// A cause of any type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An error of this crate. Failures of single requests are [`crate::Failure`] instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database could not be opened.
    #[error("failed to open the {driver} database at `{place}`")]
    Open {
        /// The driver's name.
        driver: &'static str,
        /// The place.
        place: String,
        /// The reason.
        source: BoxError,
    },
    /// The server answered with a refusal that every further attempt would get too.
    #[error("the {driver} server at `{place}` refused")]
    Refused {
        /// The driver's name.
        driver: &'static str,
        /// The place.
        place: String,
        /// The answer.
        source: BoxError,
    },
    /// Another process holds the database.
    #[error("the {driver} database at `{place}` is in use by another process{holder}")]
    Locked {
        /// The driver's name.
        driver: &'static str,
        /// The place.
        place: String,
        /// ` (pid N, NAME)` if it is known, or empty.
        holder: String,
    },
    /// The version that wrote the database could not read it afterwards.
    #[error(
        "the {driver} database at `{place}` was written by {writer}, which cannot read it after \
         this program {change}; work on a copy, or allow it with --upgrade"
    )]
    Upgrade {
        /// The driver's name.
        driver: &'static str,
        /// The place.
        place: String,
        /// The version that wrote it.
        writer: String,
        /// The change that this program would have made: `added ...`.
        change: String,
    },
    /// An action other than an opening or a request failed.
    #[error("failed to {action} the {driver} database at `{place}`")]
    Database {
        /// `flush`, `remove`, ...
        action: &'static str,
        /// The driver's name.
        driver: &'static str,
        /// The place.
        place: String,
        /// The reason.
        source: BoxError,
    },
    /// The driver is a feature that this build lacks.
    #[error("this program was built without driver `{name}`; `./dev build` builds one with it")]
    DriverNotBuilt {
        /// The driver's name.
        name: String,
    },
    /// No driver has this name.
    #[error("there is no driver `{name}`{hint}; drivers: {known}")]
    UnknownDriver {
        /// As given.
        name: String,
        /// `; did you mean ...?` or empty.
        hint: String,
        /// All names.
        known: String,
    },
    /// The driver has no such setting.
    #[error("driver `{driver}` has no setting `{name}`{hint}; settings: {known}")]
    UnknownSetting {
        /// The driver's name.
        driver: &'static str,
        /// As given.
        name: String,
        /// `; did you mean ...?` or empty.
        hint: String,
        /// All names.
        known: String,
    },
    /// A setting has a value that is not accepted.
    #[error("database.{name} is `{value}`, but it must be {accepted}")]
    BadSetting {
        /// The setting.
        name: String,
        /// As given.
        value: String,
        /// What is accepted.
        accepted: String,
    },
}
