//! Exit codes, for scripts that do not parse output.

use std::process::ExitCode;

/// The exit code of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done.
    Done = 0,
    /// Something failed while it was being done.
    Failed = 1,
    /// The arguments, the plan or a place in it are wrong; nothing was measured.
    Usage = 2,
    /// Everything was measured, but there are points that failed; or a check found problems; or a
    /// study may have left something that could not be removed.
    Errors = 3,
    /// A gate of a comparison failed.
    GateFailed = 4,
    /// The existing runs cannot decide whether a gate fails.
    Unsure = 5,
    /// Stopped by Ctrl-C or a closed terminal; the same command resumes.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
