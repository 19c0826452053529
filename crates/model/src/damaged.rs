//! Bytes of a study that are not what they should be.

/// Bytes of a study that do not decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} is damaged")]
pub struct Damaged {
    /// `a histogram`, `a series`, ...
    pub what: &'static str,
}
