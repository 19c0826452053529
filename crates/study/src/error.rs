//! Errors of studies.

use std::{io, path::PathBuf};

/// An error of the crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no study to open.
    #[error("there is no study in `{dir}`; give the output directory of a run (`tailmark run -o`)")]
    Missing {
        /// The directory.
        dir: PathBuf,
    },
    /// A study is never overwritten.
    #[error("there is already a study at `{path}`")]
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// The file was not made by this program.
    #[error("`{path}` is not a study")]
    NotAStudy {
        /// The file.
        path: PathBuf,
    },
    /// The file has a version that this program does not know.
    #[error(
        "the study `{path}` has version {version}, but this program reads version {known}: use the \
         tailmark that wrote it"
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// The one that is known.
        known: u32,
    },
    /// SQLite would open something beside a study that is not a file.
    #[error(
        "`{path}` is not a regular file, and SQLite would open it with the study; move it elsewhere"
    )]
    NotAFile {
        /// Its path.
        path: PathBuf,
    },
    /// The output might overwrite the study of another directory.
    #[error(
        "`{path}` is a symbolic or hard link and may be the study of another directory; name that \
         directory, or copy the file"
    )]
    Linked {
        /// The link.
        path: PathBuf,
    },
    /// SQLite would act on something beside a study that no run of tailmark left.
    #[error(
        "`{path}` is not a journal of this study, and SQLite would open it with the study; move it \
         elsewhere"
    )]
    NotAJournal {
        /// Its path.
        path: PathBuf,
    },
    /// To read a study that a program is writing is to change it.
    #[error(
        "the study `{path}` is being written, or its run was killed (`{beside}` exists); run \
         `tailmark report` on it first"
    )]
    HalfWritten {
        /// The file.
        path: PathBuf,
        /// What says so.
        beside: PathBuf,
    },
    /// The file has something else in it than a study has, or lacks a part.
    #[error(
        "`{path}` is not a study that tailmark wrote: it has {what}; ask its author for the \
         original file"
    )]
    ForeignTables {
        /// The file.
        path: PathBuf,
        /// What: ``view `phase` ``.
        what: String,
    },
    /// Reading takes more steps than a file of its size can need.
    #[error("the study `{path}` returns more rows than a file of its size can hold; it is damaged")]
    Endless {
        /// The file.
        path: PathBuf,
    },
    /// A file would be written over something that tailmark did not write.
    #[error(
        "`{path}` {why}, so tailmark does not overwrite it: move it elsewhere, or name another \
         directory (-o)"
    )]
    ForeignFile {
        /// Its path.
        path: PathBuf,
        /// The problem.
        why: &'static str,
    },
    /// The file system refused.
    #[error("failed to {action} `{path}`")]
    File {
        /// `make`, `rename`, ...
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The study could not be opened, read or written.
    #[error("failed to {action} the study `{path}`")]
    Study {
        /// `open`, `read`, `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A result of another program cannot be read.
    #[error("failed to import `{path}`: {reason}")]
    Import {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// No export has this name.
    #[error("there is no format `{name}`; formats: {known}")]
    UnknownFormat {
        /// As given.
        name: String,
        /// All names.
        known: String,
    },
    /// The export could not be written.
    #[error("failed to write the {format} export")]
    Export {
        /// The name of the format.
        format: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// Whether what was named cannot be used: a missing or foreign file, or one of another version.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Missing { .. }
            | Self::Exists { .. }
            | Self::NotAStudy { .. }
            | Self::OtherVersion { .. }
            | Self::NotAFile { .. }
            | Self::Linked { .. }
            | Self::NotAJournal { .. }
            | Self::HalfWritten { .. }
            | Self::ForeignTables { .. }
            | Self::ForeignFile { .. }
            | Self::Import { .. }
            | Self::UnknownFormat { .. } => true,
            Self::File { source, .. } => is_wrong_place(source),
            Self::Endless { .. } | Self::Study { .. } | Self::Export { .. } => false,
        }
    }

    /// No import or export has this name.
    pub(crate) fn unknown_format<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Self {
        let (name, known) = (name.to_owned(), known.collect::<Vec<_>>().join(", "));
        Self::UnknownFormat { name, known }
    }
}

/// Whether a path cannot be used as it was meant, whatever is done there: a part of it is missing,
/// a file instead of a directory or the other way around, or not this user's.
#[must_use]
pub fn is_wrong_place(error: &io::Error) -> bool {
    use io::ErrorKind::{
        AlreadyExists, IsADirectory, NotADirectory, NotFound, NotSeekable, PermissionDenied,
        ReadOnlyFilesystem,
    };
    matches!(
        error.kind(),
        AlreadyExists
            | IsADirectory
            | NotADirectory
            | NotFound
            | NotSeekable
            | PermissionDenied
            | ReadOnlyFilesystem
    )
}
