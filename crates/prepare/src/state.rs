//! The directory in which tailmark records its changes to a machine.
//!
//! Root restores settings from it, so only its owner may write to it, whatever the umask of the run
//! that created it. The lock and the journal are private, because another user who could open the
//! lock could hold it.

use rustix::fs::OFlags;
use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

/// The place of a machine's journal.
pub const JOURNAL_DIRECTORY: &str = "/var/lib/tailmark";

/// The permissions of the directory.
const DIRECTORY_MODE: u32 = 0o755;
/// Permissions of the lock and the journal.
pub(super) const PRIVATE_MODE: u32 = 0o600;
/// Permissions of files for every user.
pub(super) const PUBLIC_MODE: u32 = 0o644;

/// Bytes of the longest file that is read.
const BYTES_MAX: u64 = 16 << 20;

/// Creates the directory, or checks that an existing one is safe: it belongs to this user, and no
/// other may write to it. A link is followed if it belongs to this user too.
///
/// # Errors
/// If it is anything else.
pub(super) fn make_directory(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(DIRECTORY_MODE);
    builder.create(directory)?;
    let link = fs::symlink_metadata(directory)?;
    if link.is_symlink() {
        refuse_other_owner("the link", &link)?;
    }
    let open = File::open(directory)?;
    let found = open.metadata()?;
    if !found.is_dir() {
        return Err(io::Error::other("it is not a directory"));
    }
    refuse_other_owner("the directory", &found)?;
    set_mode(&open, &found, DIRECTORY_MODE)
}

/// Opens a file of the directory that only this user may open, and makes it if it is missing.
///
/// # Errors
/// If it is a link, no plain file, or another user's.
pub(super) fn open_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE_MODE)
        // A pipe would wait for a program that reads it.
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    refuse_other_owner("the file", &found)?;
    set_mode(&file, &found, PRIVATE_MODE)?;
    Ok(file)
}

/// Reads a file of the directory; `None` if it is missing.
///
/// # Errors
/// If it is a link, no plain file, or longer than any that tailmark writes.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match open_to_read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Opens a file of the directory, without waiting for the other end of a pipe.
///
/// # Errors
/// As [`read`], and if it is missing.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    let found = file.metadata()?;
    if found.is_file() && found.len() <= BYTES_MAX {
        return Ok(file);
    }
    let most = BYTES_MAX >> 20;
    Err(io::Error::other(format!(
        "it is not a regular file of at most {most} MiB"
    )))
}

/// Replaces a file of the directory so that a crash leaves the old or the new one.
///
/// # Errors
/// If it cannot be written.
pub(super) fn replace(path: &Path, text: &[u8], mode: u32) -> io::Result<()> {
    let draft = path.with_extension("new");
    // Only the owner of the directory can have put something there: a run that was killed.
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).open(&draft)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    let directory = path.parent().expect("the file is in the directory");
    File::open(directory)?.sync_all()
}

/// Refuses what belongs to another user, who could change it at any time.
pub(super) fn refuse_other_owner(what: &str, found: &fs::Metadata) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    if found.uid() == own {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{what} belongs to user {}, but must belong to user {own}, who runs tailmark",
        found.uid()
    )))
}

fn set_mode(file: &File, found: &fs::Metadata, mode: u32) -> io::Result<()> {
    if found.mode() & 0o7777 == mode {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn the_directory_and_its_files_have_their_permissions_whatever_they_were_before() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        fs::create_dir(&state).unwrap();
        fs::set_permissions(&state, Permissions::from_mode(0o777)).unwrap();
        let lock = state.join("lock");
        fs::write(&lock, "").unwrap();
        fs::set_permissions(&lock, Permissions::from_mode(0o666)).unwrap();
        make_directory(&state).unwrap();
        open_private(&lock).unwrap();
        assert_eq!((mode(&state), mode(&lock)), (0o755, 0o600));
        for (name, expected) in [("journal", PRIVATE_MODE), ("left", PUBLIC_MODE)] {
            replace(&state.join(name), b"text", expected).unwrap();
            assert_eq!(mode(&state.join(name)), expected, "{name}");
        }
    }

    #[test]
    fn a_file_is_not_reached_through_a_link_and_a_file_is_no_directory() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("other"), "mine").unwrap();
        symlink(path("other"), path("lock")).unwrap();
        symlink(path("other"), path("left.new")).unwrap();
        assert!(open_private(&path("lock")).is_err());
        assert!(make_directory(&path("other")).is_err());
        replace(&path("left"), b"text", PUBLIC_MODE).unwrap();
        assert_eq!(fs::read(path("other")).unwrap(), b"mine");
    }

    #[test]
    fn a_pipe_and_a_file_of_gigabytes_are_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, large) = (dir.path().join("pipe"), dir.path().join("large"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        File::create(&large).unwrap().set_len(8 << 30).unwrap();
        assert!(open_private(&pipe).is_err());
        for path in [&pipe, &large] {
            let error = read(path).unwrap_err().to_string();
            assert!(
                error.contains("not a regular file of at most 16 MiB"),
                "{error}"
            );
        }
        assert!(read(&dir.path().join("missing")).unwrap().is_none());
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        // Of another user than root and this one.
        let own = rustix::process::geteuid();
        let dir = tempfile::tempdir().unwrap();
        let (state, link) = (dir.path().join("state"), dir.path().join("link"));
        fs::create_dir(&state).unwrap();
        symlink(&state, &link).unwrap();
        make_directory(&link).unwrap();
        let other = Some(4242);
        if !own.is_root() {
            let error = make_directory(Path::new("/")).unwrap_err().to_string();
            assert!(error.contains("belongs to user 0"), "{error}");
            return;
        }
        std::os::unix::fs::lchown(&link, other, None).unwrap();
        let refused = |path| make_directory(path).unwrap_err().to_string();
        assert!(refused(&link).contains("the link belongs to user 4242"));
        make_directory(&state).unwrap();
        std::os::unix::fs::chown(&state, other, None).unwrap();
        assert!(refused(&state).contains("the directory belongs"));
    }
}
