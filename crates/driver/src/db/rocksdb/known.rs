//! Whether a version of RocksDB knows an option.

use super::{
    capi::Options,
    ini::{Ini, OptionsSection, key},
    library::Library,
};
use crate::Error;

/// A text in RocksDB's options format for the library of a setting: without the lines that its
/// version does not know, except those of options that were given.
///
/// # Errors
/// If the library is missing or cannot be used.
pub fn options_for(
    library: &str,
    text: &str,
    is_given: impl Fn(&str) -> bool,
) -> Result<String, Error> {
    let defaults = Options::new(Library::named(library)?.0.functions);
    let mut ini = Ini::parse(text);
    ini.retain(|section, line| is_given(key(line)) || is_known(&defaults, section, line));
    Ok(ini.to_string())
}

/// Whether a version knows the option of a line, and its value.
pub(super) fn is_known(defaults: &Options, section: OptionsSection, line: &str) -> bool {
    parse(defaults, section, line).is_ok()
}

/// The options of a line.
///
/// # Errors
/// RocksDB's own.
pub(super) fn parse(
    defaults: &Options,
    section: OptionsSection,
    line: &str,
) -> Result<Options, String> {
    match section {
        OptionsSection::Table => defaults.with(&format!("block_based_table_factory={{{line}}}")),
        OptionsSection::Database | OptionsSection::Family => defaults.with(line),
    }
}
