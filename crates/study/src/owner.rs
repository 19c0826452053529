//! The owner of a run's files: under `sudo` they belong to the calling user.
//!
//! Only files and directories that this program has just created change owner, and only through
//! their open file, because a path could lead elsewhere by then.

use std::{
    env,
    fs::{self, DirBuilder, File},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, MetadataExt, fchown},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

/// The user and the group that `sudo` was called by; `None` without it.
pub(crate) fn caller() -> Option<(u32, u32)> {
    let number = |name: &str| env::var(name).ok()?.parse().ok();
    rustix::process::geteuid()
        .is_root()
        .then(|| Some((number("SUDO_UID")?, number("SUDO_GID")?)))?
}

/// Gives a new file to the user who called `sudo`.
///
/// # Errors
/// If the file system refuses. File systems without owners (FAT, some network file systems) are no
/// error.
pub fn give(file: &File) -> io::Result<()> {
    let Some((user, group)) = caller() else {
        return Ok(());
    };
    match fchown(file, Some(user), Some(group)) {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        given => given,
    }
}

/// Creates a directory and its parents, like [`std::fs::create_dir_all`].
///
/// # Errors
/// If one cannot be created.
pub fn create_dir_all(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent() {
        create_dir_all(above)?;
    }
    match create_dir(path) {
        Ok(()) => give(&open_directory(path)?),
        // Another program may have made it at the same time.
        Err(_) if path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes a directory that only its owner can write, whatever the umask.
///
/// # Errors
/// As [`std::fs::create_dir`].
pub fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o755).create(path)?;
    if let Some(made) = number(path) {
        lock_made().push(made);
    }
    Ok(())
}

/// Whether this process made a directory.
pub(crate) fn has_made(directory: &Path) -> bool {
    number(directory).is_some_and(|number| lock_made().contains(&number))
}

/// Device, inode and creation time, if the file system knows it, because the inode of a removed
/// directory is reused.
type Number = (u64, u64, Option<SystemTime>);

/// The directories that this process made.
static MADE: Mutex<Vec<Number>> = Mutex::new(Vec::new());

fn lock_made() -> MutexGuard<'static, Vec<Number>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn number(directory: &Path) -> Option<Number> {
    let found = fs::symlink_metadata(directory).ok()?;
    Some((found.dev(), found.ino(), found.created().ok()))
}

/// Opens a directory that is no link.
fn open_directory(path: &Path) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(openat(CWD, path, flags, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn directories_are_made_with_those_above() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/c");
        create_dir_all(&path).unwrap();
        create_dir_all(&path).unwrap();
        assert!(path.is_dir());
        fs::write(path.join("file"), "").unwrap();
        assert!(create_dir_all(&path.join("file/x")).is_err());
    }
}
