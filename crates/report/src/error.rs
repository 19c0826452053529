//! Errors of making a report.

use std::path::PathBuf;
use tailmark_study::Error as ResultsError;

/// Why a report was not made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such format.
    #[error("unknown report format `{name}`; known: {known}")]
    UnknownFormat {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
    },
    /// There is no such system.
    #[error("`{name}` is not a system of this report; they are: {known}")]
    UnknownSystem {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
    },
    /// There is no such section.
    #[error("`{name}` is not a section of a report; they are: {known}")]
    UnknownSection {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
    },
    /// An earlier study has none of the systems.
    #[error("the earlier study has none of the systems of this report; it has: {known}")]
    NothingInCommon {
        /// Its content.
        known: String,
    },
    /// An earlier study has the systems, but no point that could be compared.
    #[error("the earlier study has no point in common with this report; it has: {known}")]
    NoPointInCommon {
        /// The first points that it has of these systems.
        known: String,
    },
    /// No request of the kind was sent.
    #[error("there is no `{latency}` latency in this report; requests are: {known}")]
    UnknownLatency {
        /// The requested latency.
        latency: String,
        /// The known ones.
        known: String,
    },
    /// The systems to compare are missing or ambiguous. The text lists the known ones.
    #[error("{0}")]
    Refused(String),
    /// A study could not be read.
    #[error("failed to read a study")]
    Study(#[source] ResultsError),
    /// A folder has no study in it.
    #[error("there is no study in `{folder}` that can be read")]
    NoStudies {
        /// The folder.
        folder: PathBuf,
    },
    /// There is nothing to report.
    #[error("no study has a finished point or load")]
    Empty,
    /// A chart could not be drawn.
    #[error("failed to draw a chart: {0}")]
    Draw(String),
    /// A document could not be written.
    #[error("failed to make the PDF: {0}")]
    Pdf(String),
    /// A file would be written over something else, or could not be written.
    #[error(transparent)]
    Files(#[from] ResultsError),
}
