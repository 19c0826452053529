//! The files of a closed database that a copy of it needs, and those of which links are enough.

use super::{
    draft::is_draft,
    files::{IDENTITY, TRASH, is_name, is_table},
    note::NOTE,
};
use crate::DataFiles;

/// The files of a closed database. Its lock, its logs for people, and what is on its way to be
/// written or removed are not needed.
pub(super) const KEPT: DataFiles = DataFiles {
    is_final: Some(is_table),
    is_needed: |name| {
        let is_passing = [TRASH, ".dbtmp"].iter().any(|end| name.ends_with(end));
        let is_needed = is_name(name) && !name.starts_with("LO") && !is_passing;
        name == NOTE || (is_needed && !is_draft(name))
    },
    // Without `CURRENT`, the other files would be those of a damaged database.
    first: &[IDENTITY, "CURRENT"],
};
