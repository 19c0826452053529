//! Reads the newest OPTIONS file of a database: who wrote it, with which RocksDB version, and where
//! its write-ahead log is. RocksDB writes that file whenever it opens the database for writing.

use super::{
    facts,
    ini::{Ini, OptionsSection},
    note,
};
use crate::{INPUT_BYTES_MAX, read_text};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The content of the newest OPTIONS file of a RocksDB database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewestOptions {
    /// The version of RocksDB that wrote it, for example `5.11.3`.
    pub version: Option<String>,
    /// The directory of the write-ahead log, if it is not the database's own.
    pub wal_dir: Option<PathBuf>,
    /// Whether tailmark created the database, and no other program has written to it since.
    pub is_tailmarks: bool,
    /// Whether tailmark created the database, and another program has since opened it with the
    /// options that it found.
    pub is_copied: bool,
}

/// The option with the creator of a database. Tailmark writes its name in place of the host name,
/// which RocksDB keeps among the options and in each table.
pub(super) const MAKER: &str = "db_host_id";

/// The name for a database that this version of RocksDB opens. A program that opens it with the
/// options that it finds copies the name, so the version is part of it.
pub(super) fn maker(version: &str) -> String {
    format!("tailmark-{version}")
}

/// Whether tailmark wrote these options; `None` if they do not name it. Another program that copied
/// its name did not write them.
pub(super) fn is_tailmarks(ini: &Ini) -> Option<bool> {
    let maker = ini.value(OptionsSection::Database, "", MAKER)?;
    let version = maker.strip_prefix("tailmark-")?;
    Some(ini.version() == Some(version))
}

impl NewestOptions {
    /// Reads it from the directory of a database. `None` if there is no such file: the database was
    /// never opened, or it is something else.
    ///
    /// # Errors
    /// If the directory or the file cannot be read. A missing directory is no error.
    pub fn read(place: &Path) -> io::Result<Option<Self>> {
        let Some(path) = facts::newest_options(place) else {
            return Ok(None);
        };
        let ini = Ini::parse(&read_text(&path, INPUT_BYTES_MAX)?);
        Ok(Some(Self {
            version: ini.version().map(str::to_owned),
            wal_dir: wal_dir(&ini).filter(|wal| !is_own(wal, place)),
            is_tailmarks: is_tailmarks(&ini).unwrap_or_else(|| note::is_newest(place)),
            is_copied: is_tailmarks(&ini) == Some(false),
        }))
    }

    /// Whether the options in `place` are tailmark's: of a database that it created or last wrote.
    /// They identify a database that lost its `CURRENT`.
    pub(super) fn is_tailmarks_at(place: &Path) -> bool {
        let newest = Self::read(place).ok().flatten();
        newest.is_some_and(|newest| newest.is_tailmarks)
    }
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

/// Whether a log in `wal` is in the database's own directory. OPTIONS files before RocksDB 6.19
/// name that directory too. A copy of such a database names the directory of the original, which is
/// a database itself.
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
