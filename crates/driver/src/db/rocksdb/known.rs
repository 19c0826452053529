//! Whether a version of RocksDB knows an option.

use super::{
    capi::Options,
    ini::{Ini, OptionsSection, key},
    library::Library,
};
use crate::Error;

/// Options as far as a version of RocksDB knows them.
#[derive(Debug)]
pub struct KnownOptions {
    /// The version.
    pub version: String,
    /// The text in RocksDB's options format.
    pub text: String,
    /// The names of the options that were left out, each with RocksDB's error.
    pub left_out: Vec<(String, String)>,
}

/// Leaves the lines that the library of a setting does not read out of a text in RocksDB's options
/// format.
///
/// # Errors
/// If the library is missing or cannot be used.
pub fn options_for(library: &str, text: &str) -> Result<KnownOptions, Error> {
    let library = Library::named(library)?;
    let defaults = Options::new(library.functions);
    let mut ini = Ini::parse(text);
    let mut left_out = Vec::new();
    ini.retain(|section, line| {
        let error = parse(&defaults, section, line).err();
        let is_known = error.is_none();
        left_out.extend(error.map(|error| (key(line).to_owned(), error)));
        is_known
    });
    Ok(KnownOptions {
        version: library.version.clone(),
        text: ini.to_string(),
        left_out,
    })
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
