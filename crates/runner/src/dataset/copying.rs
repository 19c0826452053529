//! Copies the files of a closed database: by hard links where those keep them, by clones where the
//! file system has them, otherwise byte by byte.
//!
//! Each file is there whole or not at all, and those that identify the database come first. So what
//! a killed copy leaves is recognized, and can be removed.

use super::marker::failed;
use crate::Error;
use rustix::fs::ioctl_ficlone;
use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read},
    os::unix::fs::{MetadataExt, fchown},
    path::Path,
};
use tailmark_driver::DataFiles;
use tailmark_engine::Stop;
use tailmark_study::draft;

/// Bytes that are copied between two looks for a stop.
const CHUNK: u64 = 16 << 20;

/// How files that are never changed are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Final {
    /// By a hard link.
    Linked,
    /// Like the others.
    Copied,
}

/// Copies a file, or the files of a directory; false if it was stopped. The copy is durable.
///
/// # Errors
/// If something cannot be read, written or linked.
pub(super) fn copy(
    from: &Path,
    to: &Path,
    (files, how): (&DataFiles, Final),
    stop: &Stop,
) -> Result<bool, Error> {
    if !from.is_dir() {
        return copy_file(from, to, stop);
    }
    if !to.is_dir() {
        tailmark_study::owner::create_dir(to).map_err(failed("create", to))?;
    }
    for name in names(from, files)? {
        if stop.requested() {
            return Ok(false);
        }
        let (from, to) = (from.join(&name), to.join(&name));
        let is_final = files.is_final.is_some_and(|is_final| is_final(&name));
        if is_final && how == Final::Linked {
            fs::hard_link(&from, &to).map_err(|source| link_failed(&from, &to, source))?;
        } else if !copy_file(&from, &to, stop)? {
            return Ok(false);
        }
    }
    sync(to)?;
    to.parent().map_or(Ok(()), sync)?;
    Ok(true)
}

/// The needed files of a database, those that identify it first.
fn names(from: &Path, files: &DataFiles) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for entry in fs::read_dir(from).map_err(failed("read", from))? {
        let entry = entry.map_err(failed("read", from))?;
        let is_file = entry.file_type().map_err(failed("read", from))?.is_file();
        let name = entry.file_name().into_string();
        names.extend(name.ok().filter(|name| is_file && (files.is_needed)(name)));
    }
    let place = |name: &String| files.first.iter().position(|first| first == name);
    names.sort_by_key(|name| (place(name).unwrap_or(usize::MAX), name.clone()));
    Ok(names)
}

fn copy_file(from: &Path, to: &Path, stop: &Stop) -> Result<bool, Error> {
    let directory = to.parent().unwrap_or(Path::new("/"));
    let mut draft = draft(directory, 0o644).map_err(failed("write", to))?;
    let mut file = File::open(from).map_err(failed("read", from))?;
    let found = file.metadata().map_err(failed("read", from))?;
    // Not every file system has clones, and none has them from one file system to another.
    if ioctl_ficlone(draft.as_file(), &file).is_err() {
        loop {
            if stop.requested() {
                return Ok(false);
            }
            let mut chunk = (&mut file).take(CHUNK);
            let copied = io::copy(&mut chunk, draft.as_file_mut());
            if copied.map_err(failed("write", to))? == 0 {
                break;
            }
        }
    }
    let copy = draft.as_file();
    let is_like_it = || {
        fchown(copy, Some(found.uid()), Some(found.gid()))?;
        copy.set_permissions(found.permissions())?;
        copy.sync_all()
    };
    is_like_it().map_err(failed("write", to))?;
    let named = draft.persist_noclobber(to).map_err(|failed| failed.error);
    named.map_err(failed("write", to))?;
    sync(directory)?;
    Ok(true)
}

fn sync(directory: &Path) -> Result<(), Error> {
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(failed("sync", directory))
}

fn link_failed(from: &Path, to: &Path, source: io::Error) -> Error {
    let can_link = !matches!(
        source.kind(),
        ErrorKind::CrossesDevices | ErrorKind::Unsupported | ErrorKind::PermissionDenied
    );
    if can_link {
        return failed("link", to)(source);
    }
    let why = format!(
        "`{}` cannot be linked to there ({source}): use dataset.restore = \"copy\"",
        from.display()
    );
    failed("link", to)(io::Error::new(source.kind(), why))
}
