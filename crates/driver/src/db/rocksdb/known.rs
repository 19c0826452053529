//! Whether a version of RocksDB knows an option.

use super::{capi::Options, ini::OptionsSection};

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
