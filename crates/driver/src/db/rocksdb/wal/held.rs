//! The removal of a log directory.

use super::{
    super::{draft::drafts, files::ARCHIVE},
    LogDirectory, MARKER,
    files::missing_is_fine,
};
use crate::held::HeldDirectory;
use std::{collections::BTreeSet, fs, io};

/// A log directory that is held.
pub struct HeldLog<'a> {
    pub(super) log: &'a LogDirectory,
    pub(super) held: HeldDirectory,
}

impl HeldLog<'_> {
    /// Removes these log files, the marker, and the directory if this program created it.
    pub fn remove(self, files: &BTreeSet<String>) -> io::Result<()> {
        let Self { log, held } = self;
        if !held.is_at(&log.directory) {
            return Err(io::Error::other(
                "another directory has replaced its wal_dir",
            ));
        }
        let made = log.marker().ok().flatten().map(|marker| marker.made);
        for file in files {
            missing_is_fine(fs::remove_file(held.path().join(file)))?;
        }
        if let Some(made) = made {
            for draft in drafts(held.path()) {
                missing_is_fine(fs::remove_file(draft))?;
            }
            missing_is_fine(fs::remove_file(held.path().join(MARKER)))?;
            let _ = fs::remove_dir(held.path().join(ARCHIVE));
            if made {
                // The directory stays if it holds anything else.
                let _ = fs::remove_dir(&log.directory);
            }
        }
        Ok(())
    }
}
