//! A directory that is held open, so that its own files are removed, and not those of another
//! directory that takes its name by a move or a mount.

use rustix::fs::OFlags;
use std::{
    fs::{self, File},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

/// An open directory. A path below [`Self::path`] stays in it, even if its name is reused.
pub(crate) struct HeldDirectory {
    directory: File,
    path: PathBuf,
}

impl HeldDirectory {
    /// Holds a directory; `None` if there is nothing.
    pub(crate) fn open(place: &Path) -> io::Result<Option<Self>> {
        let mut options = File::options();
        options
            .read(true)
            .custom_flags(OFlags::DIRECTORY.bits().cast_signed());
        let directory = match options.open(place) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd()).into();
        Ok(Some(Self { directory, path }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it still has this name.
    pub(crate) fn is_at(&self, place: &Path) -> bool {
        let id = |found: fs::Metadata| (found.dev(), found.ino());
        let held = self.directory.metadata().map(id);
        matches!((held, fs::metadata(place).map(id)), (Ok(held), Ok(named)) if held == named)
    }
}
