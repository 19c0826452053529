//! Damaged bytes in a study.

/// Bytes of a study that cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} is damaged")]
pub struct Damaged {
    /// `a histogram`, `a series`, ...
    pub what: &'static str,
}
