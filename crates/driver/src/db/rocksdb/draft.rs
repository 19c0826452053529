//! Files that tailmark writes beside those of RocksDB: whole or not at all, and never through a
//! link that another program left in their place.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The beginning and end of a draft's name. A kill can leave a draft. Between them are [`RANDOM`]
/// random letters and digits, so that no other program has a file of that name.
const DRAFT: (&str, &str) = (".tailmark-", ".new");
const RANDOM: usize = 32;

/// Writes a file in a directory, durably. It replaces an earlier file or link of that name.
pub(super) fn write_whole(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    let mut draft = tempfile::Builder::new();
    let draft = draft.prefix(DRAFT.0).suffix(DRAFT.1).rand_bytes(RANDOM);
    let draft = draft.permissions(Permissions::from_mode(0o644));
    let mut draft = draft.tempfile_in(directory)?;
    draft.write_all(text.as_bytes())?;
    draft.as_file().sync_all()?;
    draft.persist(directory.join(name))?;
    File::open(directory)?.sync_all()
}

/// Whether a file of this name is a draft.
pub(super) fn is_draft(name: &str) -> bool {
    let random = name.strip_prefix(DRAFT.0);
    let random = random.and_then(|rest| rest.strip_suffix(DRAFT.1));
    random.is_some_and(|random| random.len() == RANDOM)
}

/// Drafts that killed writers left in a directory.
pub(super) fn drafts(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let drafts = entries.filter(|entry| is_draft(&entry.file_name().to_string_lossy()));
    drafts.map(|entry| entry.path())
}
