//! Errors of restoring a data set before a point.

/// A data set cannot be kept or restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Not as the plan says.
    #[error("system `{system}`: dataset.restore is `{how}`, but {why}")]
    Refused {
        /// The system's name.
        system: String,
        /// The way.
        how: &'static str,
        /// Why not, and what to do.
        why: String,
    },
    /// A command did not keep or restore it.
    #[error(
        "system `{system}`: dataset.restore = `{how}` failed to {does} the data set: {why}. Run the \
         same command again to resume"
    )]
    Failed {
        /// The system's name.
        system: String,
        /// The way.
        how: &'static str,
        /// `keep`, `find`, `restore` or `remove`.
        does: &'static str,
        /// How it ended, and what it printed.
        why: String,
    },
}
