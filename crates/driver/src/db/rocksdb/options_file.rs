//! The user's options file: what it must not contain, and errors about it.

use super::{
    NAME,
    ini::Ini,
    kept::FORMAT,
    library::{EMBEDDED, Library, SETTING},
    load, wal,
};
use crate::{Error, INPUT_BYTES_MAX, Settings, read_text};
use std::path::Path;

/// Tries the options without a database. The log directory of an options file becomes a setting.
/// Other directories in it are refused.
pub(super) fn check(settings: &mut Settings) -> Result<(), Error> {
    refuse_lines(settings)?;
    let library = Library::resolve(settings)?;
    if !library.is_embedded() {
        // It keeps its own table format, unless one is given.
        FORMAT.iter().for_each(|name| settings.remove_default(name));
    }
    load::refuse_unknown(library, settings)?;
    load::load(library, settings, "usertable", None)
        .map(drop)
        .map_err(|e| refused(settings, e))?;
    if let Some(wal) = wal::of_options_file(settings) {
        settings.set_default(
            "wal_dir",
            &crate::settings::directory(&wal.to_string_lossy()),
        );
    }
    Ok(())
}

/// Options that name a directory in which RocksDB removes each file that has a database file's name
/// and is not of this database. So it would remove files of other databases.
const DIRECTORIES: &[&str] = &["cf_paths", "db_log_dir", "db_paths"];

/// Refuses the lines of an options file with which RocksDB would touch files of other databases, or
/// leave none by which this one is known.
fn refuse_lines(settings: &Settings) -> Result<(), Error> {
    let Some(path) = settings.text("options_file") else {
        return Ok(());
    };
    let Ok(text) = read_text(Path::new(path), INPUT_BYTES_MAX) else {
        return Ok(()); // RocksDB's parser reports it
    };
    let file = Ini::parse(&text);
    let accepted = if let Some((key, value)) = file.named(DIRECTORIES) {
        format!(
            "an options file without {key}, which is `{value}`: RocksDB would remove files of \
             other databases there; use a copy of the file without that line, so that the database \
             keeps everything in its own directory"
        )
    } else if file.says("write_identity_file", "false") {
        "an options file in which write_identity_file is not `false`: tailmark recognizes a \
         database by its file IDENTITY"
            .to_owned()
    } else {
        return Ok(());
    };
    Err(Error::BadSetting {
        name: "options_file".to_owned(),
        value: path.to_owned(),
        accepted,
    })
}

/// Only an options file can be refused, because every other setting is checked by its row and by the
/// library. Without one, the options could not be written.
pub(super) fn refused(settings: &Settings, why: String) -> Error {
    match settings.text("options_file") {
        Some(path) => Error::BadSetting {
            name: "options_file".to_owned(),
            value: path.to_owned(),
            accepted: match settings.text(SETTING) {
                None | Some(EMBEDDED) => {
                    format!("an options file that RocksDB can read ({why})")
                }
                Some(library) => {
                    format!("an options file that RocksDB of library `{library}` can read ({why})")
                }
            },
        },
        None => Error::Database {
            action: "write the options of",
            driver: NAME,
            place: std::env::temp_dir().display().to_string(),
            source: why.into(),
        },
    }
}
