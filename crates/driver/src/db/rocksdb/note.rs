//! A note that tailmark opened a database last, with a loaded library.
//!
//! The embedded RocksDB writes tailmark's name into the options of a database
//! ([`super::newest_options::MAKER`]) and RocksDB's name for it into the manifest. Versions before 6
//! know neither option, and those up to 8.1 ignore the second one. For them, this file names the
//! newest options file with its digest. Another program that opens the database writes a newer one.

use super::{draft, facts, files};
use crate::{INPUT_BYTES_MAX, input::read_own_text, read_text};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{io, path::Path};

/// The name of the file.
pub(super) const NOTE: &str = "tailmark.opened";

/// The content of the file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    /// RocksDB's name for the database.
    identity: String,
    /// The name of the newest options file.
    options: String,
    /// Its SHA-256 digest.
    sha256: String,
}

/// Notes that the newest options file of a database was written for tailmark.
pub(super) fn write(place: &Path) -> io::Result<()> {
    let Some(note) = now(place) else {
        return Ok(());
    };
    draft::write_whole(place, NOTE, &serde_json::to_string(&note)?)
}

/// Whether tailmark opened the database last.
pub(super) fn is_newest(place: &Path) -> bool {
    let text = read_own_text(&place.join(NOTE), INPUT_BYTES_MAX).ok();
    let note = text.and_then(|text| serde_json::from_str::<Note>(&text).ok());
    note.is_some() && note == now(place)
}

fn now(place: &Path) -> Option<Note> {
    let newest = facts::newest_options(place)?;
    let text = read_text(&newest, INPUT_BYTES_MAX).ok()?;
    let digest = Sha256::digest(text.as_bytes());
    Some(Note {
        identity: files::id(place)?,
        options: newest.file_name()?.to_str()?.to_owned(),
        sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}
