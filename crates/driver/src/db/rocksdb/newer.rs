//! Data that a later version of RocksDB wrote than the one that opens it.

use super::{library::EMBEDDED_VERSION, newest_options::NewestOptions};
use std::path::Path;

/// How a version of RocksDB reports data in a form that only later versions know.
const UNKNOWN: &[&str] = &[
    "unknown checksum type",
    "unknown footer version",
    "unknown tag",
    "unsupported blockbasedtable format_version",
];

/// An error of opening the database in `place` with the version `opener`: with its cause if a later
/// version wrote data in a form that `opener` does not know.
pub(super) fn explained(place: &Path, opener: &str, error: String) -> String {
    let lower = error.to_ascii_lowercase();
    let newest = NewestOptions::read(place).ok().flatten();
    let writer = newest.and_then(|newest| newest.version);
    let is_later = |later: &String| parse(later) > parse(opener);
    let is_unknown = UNKNOWN.iter().any(|known| lower.contains(known));
    let Some(writer) = writer.filter(|writer| is_unknown && is_later(writer)) else {
        return error;
    };
    let library = if writer == EMBEDDED_VERSION {
        "the embedded RocksDB (leave `library` out)".to_owned()
    } else {
        format!("library `{writer}` (tailmark rocksdb fetch {writer})")
    };
    format!(
        "RocksDB {writer} wrote to it last, in a form that {opener} does not know ({error}). The \
         data is intact. Open it with {library}, or name another directory for {opener}"
    )
}

/// The numbers of a version.
pub(super) fn parse(version: &str) -> Option<[u32; 3]> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    let mut next = || parts.next().unwrap_or(Some(0));
    Some([next()?, next()?, next()?])
}
