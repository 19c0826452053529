//! What was written to a simulated database, kept in a file so that it ages from point to point.

use super::DRIVER;
use crate::{Error, Settings, error::BoxError, read_text};
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// The words around the number. A file without them is foreign.
const TEXT: (&str, &str) = ("simulated database, bytes written: ", "\n");
/// The longest text of this form.
const TEXT_BYTES_MAX: u64 = 100;

/// The file of an open database.
pub(super) struct State {
    path: PathBuf,
    /// The number in it.
    pub(super) written: u64,
}

impl State {
    /// Reads the file that the settings name; a missing one says that nothing was written.
    pub(super) fn open(settings: &Settings) -> Result<Option<Self>, Error> {
        let Some(path) = path(settings) else {
            return Ok(None);
        };
        let written = read(&path).map_err(|source| failed("open", &path, source.into()))?;
        Ok(Some(Self { path, written }))
    }

    /// Writes another number.
    pub(super) fn note(&self, written: u64) -> io::Result<()> {
        if written == self.written {
            return Ok(());
        }
        read(&self.path)?;
        fs::write(&self.path, format!("{}{written}{}", TEXT.0, TEXT.1))
    }
}

/// Removes the file: the database is then new.
pub(super) fn remove(settings: &Settings) -> Result<(), Error> {
    let Some(path) = path(settings) else {
        return Ok(());
    };
    let removed = read(&path).and_then(|_| match fs::remove_file(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    });
    removed.map_err(|source| failed("remove", &path, source.into()))
}

fn path(settings: &Settings) -> Option<PathBuf> {
    let path = settings.text("state").filter(|path| !path.is_empty());
    path.map(PathBuf::from)
}

/// The number in a file, 0 without one.
fn read(path: &Path) -> io::Result<u64> {
    let text = match read_text(path, TEXT_BYTES_MAX) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        read => read?,
    };
    let number = text.strip_prefix(TEXT.0);
    let number = number.and_then(|rest| rest.strip_suffix(TEXT.1)?.parse().ok());
    number.ok_or_else(|| io::Error::other("it is not the state of a simulated database"))
}

fn failed(action: &'static str, path: &Path, source: BoxError) -> Error {
    Error::Database {
        action,
        driver: DRIVER.name,
        place: path.display().to_string(),
        source,
    }
}
