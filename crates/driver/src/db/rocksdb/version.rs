//! Which RocksDB wrote a database, and where its write-ahead log is: its newest OPTIONS file says.

use super::{
    facts,
    ini::{Ini, OptionsSection},
};
use crate::Settings;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// What the newest OPTIONS file of a RocksDB database says. RocksDB writes that file whenever it
/// opens the database for writing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewestOptions {
    /// The version of RocksDB that wrote it, for example `5.11.3`.
    pub version: Option<String>,
    /// The directory of the write-ahead log, if it is not the database's own.
    pub wal_dir: Option<PathBuf>,
}

impl NewestOptions {
    /// Reads it in the directory of a database. `None` if there is no such file: a database that
    /// was never opened, or something else.
    ///
    /// # Errors
    /// If the directory or the file cannot be read. A missing directory is no error.
    pub fn read(place: &Path) -> io::Result<Option<Self>> {
        let Some(path) = facts::newest_options(place) else {
            return Ok(None);
        };
        let ini = Ini::parse(&fs::read_to_string(path)?);
        Ok(Some(Self {
            version: ini.version().map(str::to_owned),
            wal_dir: wal_dir(&ini).filter(|wal| !is_own(wal, place)),
        }))
    }
}

/// The settings, with the directory of the log that a database in `place` has if they name none:
/// opened without its log, a database loses records.
pub(super) fn with_log(place: &Path, settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    let newest = NewestOptions::read(place).ok().flatten();
    if let Some(wal) = newest.and_then(|newest| newest.wal_dir)
        && settings.text("wal_dir").is_none()
    {
        settings.set_default("wal_dir", &wal.to_string_lossy());
    }
    settings
}

/// The `wal_dir` of an options file.
pub(super) fn wal_dir(ini: &Ini) -> Option<PathBuf> {
    let escaped = ini.value(OptionsSection::Database, "", "wal_dir")?;
    let mut path = String::new();
    let mut characters = escaped.chars();
    while let Some(character) = characters.next() {
        // RocksDB escapes `:`, `#`, `\` and the ends of lines.
        path.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    (!path.is_empty()).then(|| PathBuf::from(path))
}

/// Whether a log in `wal` is in the database's own directory. Before RocksDB 6.19, an OPTIONS file
/// names that directory too. A copy of such a database names the original's, which is a database
/// itself.
fn is_own(wal: &Path, place: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real(wal) == real(place) || wal.join("CURRENT").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(place: &Path, number: u32, wal: &str) {
        let text = format!(
            "[Version]\n  rocksdb_version={number}.1.0\n  options_file_version=1.1\n\
             [DBOptions]\n  wal_dir={wal}\n"
        );
        fs::write(place.join(format!("OPTIONS-{number:06}")), text).unwrap();
    }

    #[test]
    fn the_newest_options_file_says_version_and_log() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(NewestOptions::read(dir.path()).unwrap(), None);
        assert_eq!(NewestOptions::read(&dir.path().join("no")).unwrap(), None);
        written(dir.path(), 9, "/a");
        written(dir.path(), 10, "/b\\:c\\#\\\\");
        let newest = NewestOptions::read(dir.path()).unwrap().unwrap();
        assert_eq!(newest.version.as_deref(), Some("10.1.0"));
        assert_eq!(newest.wal_dir, Some(PathBuf::from("/b:c#\\")));
    }

    #[test]
    fn a_log_in_the_directory_of_a_database_is_not_apart() {
        let dir = tempfile::tempdir().unwrap();
        let (place, copy) = (dir.path().join("db"), dir.path().join("copy"));
        fs::create_dir(&place).unwrap();
        fs::create_dir(&copy).unwrap();
        fs::write(place.join("CURRENT"), "MANIFEST-000001\n").unwrap();
        for (number, wal) in [
            (1, String::new()),
            (2, place.display().to_string()),
            (3, format!("{}/", place.display())),
        ] {
            for at in [&place, &copy] {
                written(at, number, &wal);
                let newest = NewestOptions::read(at).unwrap().unwrap();
                assert_eq!(newest.wal_dir, None, "{wal} of {}", at.display());
            }
        }
    }
}
