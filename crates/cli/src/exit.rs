//! Exit codes: what a script can know without reading.

use std::{path::PathBuf, process::ExitCode};
use tailmark_driver as driver;
use tailmark_runner::{self as runner, plan};

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done.
    Done = 0,
    /// Something failed while it was being done.
    Failed = 1,
    /// The arguments, the plan or a place in it are wrong; nothing was measured.
    Usage = 2,
    /// Everything was measured, but requests failed.
    Errors = 3,
    /// Stopped by Ctrl-C; the same command goes on.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Exit {
    /// The exit code of an error.
    pub fn of(error: &anyhow::Error) -> Self {
        let is_usage = error.chain().any(|cause| {
            cause.is::<plan::Error>()
                || cause.is::<NoStudy>()
                || cause
                    .downcast_ref::<runner::Error>()
                    .is_some_and(is_wrong_plan)
        });
        if is_usage { Self::Usage } else { Self::Failed }
    }
}

/// A directory that was to hold a study, and does not.
#[derive(Debug)]
pub struct NoStudy(pub PathBuf);

impl std::fmt::Display for NoStudy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dir = self.0.display();
        write!(
            f,
            "there is no study in `{dir}`; give the directory of a `tailmark run -o`"
        )
    }
}

impl std::error::Error for NoStudy {}

/// Whether it is what was asked for that is wrong.
fn is_wrong_plan(error: &runner::Error) -> bool {
    use runner::Error as E;
    match error {
        E::Driver(error) => !matches!(error, driver::Error::Database { .. }),
        E::Busy { .. }
        | E::ChangedPlan { .. }
        | E::MissingPlace { .. }
        | E::NoRoom { .. }
        | E::ForeignData { .. }
        | E::OtherData { .. }
        | E::BadMarker { .. }
        | E::NoSystem { .. } => true,
        _ => false,
    }
}
