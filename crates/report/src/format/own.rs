//! Whether a file is a report of this program, which a new one replaces.

use crate::Error;
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

/// A file that a format writes, and how it is known again.
#[derive(Debug, Clone, Copy)]
pub struct OwnFile {
    /// Its name.
    pub name: &'static str,
    /// What is in every one, near its begin or its end.
    pub mark: &'static str,
}

/// How much is looked at for that at each end, bytes.
const END_BYTES: u64 = 64 << 10;

impl OwnFile {
    /// Refuses a directory in which there is something else than this file of this program.
    ///
    /// # Errors
    /// If that is so, or what is there cannot be read.
    pub fn refuse_foreign(&self, dir: &Path) -> Result<(), Error> {
        let path = dir.join(self.name);
        let is_own = match fs::metadata(&path) {
            Err(error) if is_missing(&error) => return Ok(()),
            Err(error) => Err(error),
            // A pipe might be read for ever.
            Ok(found) => Ok(found.is_file()),
        };
        match is_own.and_then(|is_file| Ok(is_file && self.is_in(&path)?)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::ForeignPage { path }),
            Err(source) => Err(Error::Write { path, source }),
        }
    }

    fn is_in(&self, path: &Path) -> io::Result<bool> {
        let mut file = File::open(path)?;
        let mut ends = Vec::new();
        (&file).take(END_BYTES).read_to_end(&mut ends)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(END_BYTES)))?;
        file.take(END_BYTES).read_to_end(&mut ends)?;
        let mark = self.mark.as_bytes();
        Ok(ends.windows(mark.len()).any(|part| part == mark))
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
