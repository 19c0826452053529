//! A call that was refused before anything was done.

use crate::closed;

/// What is wrong with the arguments, or with a place that they name. The exit code is
/// [`crate::Exit::Usage`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

impl Refused {
    /// The refusal for an error from before anything was done. An error that only says that the
    /// reader of standard output went away stays as it is.
    #[must_use]
    pub fn because(error: anyhow::Error) -> anyhow::Error {
        match closed(&error) {
            Some(_) => error,
            None => Self(format!("{error:#}")).into(),
        }
    }
}
