//! Files that appear completely or not at all.
//!
//! Content is written to a draft in the target's directory, synced to the disk and renamed. A full
//! disk or a kill leaves the old file, and never half of the new one. A draft is a new file with a
//! random name. It never opens, follows or replaces another program's file, and two programs that
//! write the same file do not share a draft.

use rustix::fs::{FlockOperation, OFlags, flock};
use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, BufWriter, ErrorKind, Read, Write},
    os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// The beginning and end of a draft's name. Between them are [`RANDOM`] random letters and digits,
/// so that no other program has a file of that name.
const DRAFT: (&str, &str) = (".tailmark-", ".new");
const RANDOM: usize = 32;
/// The permissions of a new file, before the umask.
pub(crate) const MODE: u32 = 0o666;

/// A file that is being written. Dropped before [`Self::finish`], it leaves nothing.
#[derive(Debug)]
pub struct NewFile {
    out: Out,
    path: PathBuf,
}

#[derive(Debug)]
enum Out {
    Draft(BufWriter<NamedTempFile>),
    /// A pipe or a terminal, which is written as it is.
    Direct(BufWriter<File>),
}

impl NewFile {
    /// Begins to write `path`. A link is followed; a file that is there keeps its owner and permissions.
    ///
    /// # Errors
    /// If nothing can be written there, or it is a block device.
    pub fn create(path: &Path) -> io::Result<Self> {
        refuse_output(path)?;
        let found = fs::metadata(path).ok();
        let is_stream = is_open_stream(path);
        if is_stream || found.as_ref().is_some_and(|found| !found.is_file()) {
            // What the shell has opened has others' output before and after this one.
            let file = File::options().append(is_stream).write(true).open(path)?;
            return Ok(Self {
                out: Out::Direct(BufWriter::new(file)),
                path: path.to_owned(),
            });
        }
        let path = match &found {
            Some(_) => path.canonicalize()?,
            None => path.to_owned(),
        };
        let draft = draft(directory_of(&path), MODE)?;
        if let Some(found) = found {
            // Others than root cannot give a file away; to them it is theirs.
            let _ = fchown(draft.as_file(), Some(found.uid()), Some(found.gid()));
            draft.as_file().set_permissions(plain_mode(&found))?;
        }
        Ok(Self {
            out: Out::Draft(BufWriter::new(draft)),
            path,
        })
    }

    /// Brings it to the disk and gives it its name.
    ///
    /// # Errors
    /// If that fails; then nothing is left of it.
    pub fn finish(self) -> io::Result<()> {
        match self.out {
            Out::Direct(mut out) => out.flush(),
            Out::Draft(out) => rename(out.into_inner()?, &self.path).map(drop),
        }
    }
}

/// Refuses an output whose content would be lost: a block device, a study or another SQLite
/// database. The same holds for the journal of a database, which would then be rolled back.
///
/// # Errors
/// If it is one.
pub fn refuse_output(path: &Path) -> io::Result<()> {
    let is_block_device = |found: fs::Metadata| found.file_type().is_block_device();
    if fs::metadata(path).is_ok_and(is_block_device) {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it is a block device; write to a file or a pipe",
        ));
    }
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if is_database(&real) || database_of(&real).is_some_and(|database| is_database(&database)) {
        return Err(io::Error::new(
            ErrorKind::AlreadyExists,
            "it belongs to a study or another SQLite database; name another file",
        ));
    }
    Ok(())
}

/// The database to which a file with this name belongs, if it is one of SQLite's own.
fn database_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let mut endings = ["-journal", "-wal", "-shm"].into_iter();
    let database = endings.find_map(|ending| name.strip_suffix(ending))?;
    Some(path.with_file_name(database))
}

fn is_database(path: &Path) -> bool {
    let mut head = [0; 15];
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    let mut read = || File::open(path)?.read_exact(&mut head);
    is_file && read().is_ok() && head == *b"SQLite format 3"
}

/// Whether a path leads to an open file of a process, such as `/dev/stdout`.
fn is_open_stream(path: &Path) -> bool {
    /// The most links that are followed.
    const LINKS: usize = 8;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let directory = directory_of(&path).canonicalize().unwrap_or_default();
        if directory.starts_with("/proc") && directory.ends_with("fd") {
            return true;
        }
        match fs::read_link(&path) {
            Ok(target) => path = directory.join(target),
            Err(_) => return false,
        }
    }
    false
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Out::Draft(out) => out.write(bytes),
            Out::Direct(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::Draft(out) => out.flush(),
            Out::Direct(out) => out.flush(),
        }
    }
}

/// Replaces a file of this program, such as a marker or a journal, so that a crash leaves the old
/// or the new one. A link in its place is replaced and not followed. The new file has these
/// permissions, reduced by the umask.
///
/// # Errors
/// If it cannot be written; then the old one is still there.
pub fn replace_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut draft = draft(directory_of(path), mode)?;
    draft.write_all(bytes)?;
    rename(draft, path).map(drop)
}

/// Makes a file with this content, which is there whole or not at all.
///
/// # Errors
/// If something is there already, even a link, or it cannot be made.
pub fn create_whole(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut draft = draft(directory_of(path), mode)?;
    draft.write_all(bytes)?;
    rename_new(draft, path).map(drop)
}

/// Opens a file that this program made, if it is there: one that is no link and has no other name. It
/// waits for no pipe.
///
/// # Errors
/// If something else is there (`AlreadyExists`), or it cannot be opened.
pub fn open_own(path: &Path, options: &mut OpenOptions) -> io::Result<Option<File>> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let foreign = || {
        Err(io::Error::new(
            ErrorKind::AlreadyExists,
            "it is another file",
        ))
    };
    match fs::symlink_metadata(path) {
        Ok(found) if is_plain(&found) => {}
        Ok(_) => return foreign(),
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(error),
    }
    match options.custom_flags(flags.bits() as i32).open(path) {
        Ok(file) if is_plain(&file.metadata()?) => Ok(Some(file)),
        Ok(_) => foreign(),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether it is a file and has no other name.
fn is_plain(found: &fs::Metadata) -> bool {
    // Some file systems have no links, and count none.
    found.is_file() && found.nlink() <= 1
}

/// The permissions of a file without what lets a program act as another user.
pub(crate) fn plain_mode(found: &fs::Metadata) -> Permissions {
    Permissions::from_mode(found.mode() & 0o777)
}

pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Makes a directory, unless it is there, with this file in it. The file is written beside the directory
/// before: a crash leaves hardly ever a directory without it.
///
/// # Errors
/// If either cannot be made.
pub fn create_dir_with(directory: &Path, file: &str, bytes: &[u8]) -> io::Result<()> {
    let mut draft = draft(directory_of(directory), 0o644)?;
    draft.write_all(bytes)?;
    draft.as_file().sync_all()?;
    if !directory.is_dir() {
        crate::owner::create_dir(directory)?;
    }
    draft
        .persist(directory.join(file))
        .map_err(|failed| failed.error)?;
    Ok(())
}

/// Makes an empty draft in a directory (`O_EXCL`). It is removed when it is dropped.
///
/// # Errors
/// If it cannot be made.
pub fn draft(directory: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let (prefix, suffix) = DRAFT;
    let mut draft = tempfile::Builder::new();
    let draft = draft.prefix(prefix).suffix(suffix).rand_bytes(RANDOM);
    let draft = draft.permissions(Permissions::from_mode(mode));
    // Not the path of a temporary file in it: where it will be.
    let draft = draft.tempfile_in(directory)?;
    crate::owner::give(draft.as_file())?;
    // Whoever removes drafts that killed programs left sees that this one is being written.
    let _ = flock(draft.as_file(), FlockOperation::NonBlockingLockExclusive);
    Ok(draft)
}

/// The drafts in a directory that killed programs left, with SQLite's journals of them: files of this
/// user that are called so and that no program is writing.
pub fn left_drafts(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_draft));
    let paths = named.map(|entry| entry.path());
    let mut left: Vec<_> = paths
        .filter(|path| is_left(path).unwrap_or(false))
        .collect();
    left.sort();
    left
}

fn is_draft(name: &str) -> bool {
    let (prefix, suffix) = DRAFT;
    let name = name.strip_suffix("-journal").unwrap_or(name);
    let random = name
        .strip_prefix(prefix)
        .and_then(|name| name.strip_suffix(suffix));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn is_left(path: &Path) -> io::Result<bool> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let mut options = File::options();
    let file = options
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)?;
    let found = file.metadata()?;
    let given = crate::owner::caller().map(|(user, _)| user);
    let is_own = [Some(rustix::process::geteuid().as_raw()), given].contains(&Some(found.uid()));
    Ok(found.is_file() && is_own && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
}

/// Syncs a draft to the disk and gives it its name. The file stays locked while it is open.
pub(crate) fn rename(draft: NamedTempFile, path: &Path) -> io::Result<File> {
    draft.as_file().sync_all()?;
    let file = draft.persist(path).map_err(|failed| failed.error)?;
    sync_directory_of(path)?;
    Ok(file)
}

/// The same, but nothing may exist under that name.
pub(crate) fn rename_new(draft: NamedTempFile, path: &Path) -> io::Result<File> {
    draft.as_file().sync_all()?;
    let file = draft
        .persist_noclobber(path)
        .map_err(|failed| failed.error)?;
    sync_directory_of(path)?;
    Ok(file)
}

fn sync_directory_of(path: &Path) -> io::Result<()> {
    match File::open(directory_of(path))?.sync_all() {
        // Some file systems cannot sync a directory.
        Err(error) if error.kind() != ErrorKind::InvalidInput => Err(error),
        _ => Ok(()),
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FileType, Mode, mknodat};
    use std::{os::unix::fs::symlink, thread};

    fn names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap().flatten();
        let mut names: Vec<_> = names
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_that_was_not_finished_leaves_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.csv");
        let mut old = NewFile::create(&path).unwrap();
        old.write_all(b"old").unwrap();
        old.finish().unwrap();
        let mut new = NewFile::create(&path).unwrap();
        new.write_all(b"half of the n").unwrap();
        drop(new);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(dir.path()), ["a.csv"]);
    }

    #[test]
    fn what_a_process_has_open_is_added_to_and_not_replaced() {
        use std::os::fd::AsRawFd;
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        fs::write(&log, "last week\n").unwrap();
        let held = File::options().append(true).open(&log).unwrap();
        // As /dev/stdout is one.
        let link = dir.path().join("stdout");
        symlink(format!("/proc/self/fd/{}", held.as_raw_fd()), &link).unwrap();
        let mut out = NewFile::create(&link).unwrap();
        out.write_all(b"table\n").unwrap();
        out.finish().unwrap();
        writeln!(&held, "footer").unwrap();
        assert_eq!(
            fs::read_to_string(&log).unwrap(),
            "last week\ntable\nfooter\n"
        );
        assert!(!is_open_stream(&log));
    }

    #[test]
    fn a_draft_is_left_once_no_program_writes_it() {
        let dir = tempfile::tempdir().unwrap();
        let written = draft(dir.path(), MODE).unwrap();
        assert!(left_drafts(dir.path()).is_empty());
        let (file, path) = written.keep().unwrap();
        drop(file);
        assert_eq!(left_drafts(dir.path()), [path]);
    }

    #[test]
    fn a_link_is_followed_and_permissions_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        let mut new = NewFile::create(&link).unwrap();
        new.write_all(b"new").unwrap();
        new.finish().unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[test]
    fn a_device_is_written_and_not_replaced() {
        let mut new = NewFile::create(Path::new("/dev/null")).unwrap();
        new.write_all(b"nothing").unwrap();
        new.finish().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    fn written(path: &Path, text: &str) {
        let mut new = NewFile::create(path).unwrap();
        new.write_all(text.as_bytes()).unwrap();
        new.finish().unwrap();
    }

    #[test]
    fn files_with_the_name_of_a_draft_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("t.csv.new"), "of the user").unwrap();
        fs::write(at("victim"), "of the user").unwrap();
        symlink(at("victim"), at("linked.csv.new")).unwrap();
        mknodat(
            rustix::fs::CWD,
            at("pipe.csv.new"),
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        for name in ["t.csv", "linked.csv", "pipe.csv"] {
            written(&at(name), "new");
            assert_eq!(fs::read(at(name)).unwrap(), b"new", "{name}");
        }
        for name in ["t.csv.new", "victim"] {
            assert_eq!(fs::read(at(name)).unwrap(), b"of the user", "{name}");
        }
        let link = fs::symlink_metadata(at("linked.csv.new")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(names(dir.path()).len(), 7);
    }

    #[test]
    fn eight_writers_of_a_file_all_succeed_and_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.csv");
        let texts: Vec<String> = (0..8).map(|n| n.to_string().repeat(100_000)).collect();
        thread::scope(|scope| {
            for text in &texts {
                let path = &path;
                scope.spawn(move || (0..5).for_each(|_| written(path, text)));
            }
        });
        let found = fs::read_to_string(&path).unwrap();
        assert!(texts.contains(&found), "{} bytes", found.len());
        assert_eq!(names(dir.path()), ["t.csv"]);
    }

    #[test]
    fn a_new_file_follows_the_umask() {
        let dir = tempfile::tempdir().unwrap();
        let (new, plain) = (dir.path().join("new"), dir.path().join("plain"));
        written(&new, "");
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&new), mode(&plain));
    }

    #[test]
    fn a_link_where_a_marker_belongs_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (victim, marker) = (dir.path().join("victim"), dir.path().join("marker.json"));
        fs::write(&victim, "of the user").unwrap();
        symlink(&victim, &marker).unwrap();
        replace_file(&marker, b"{}", 0o600).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"of the user");
        let found = fs::symlink_metadata(&marker).unwrap();
        assert!(found.is_file());
        assert_eq!(found.permissions().mode() & 0o777, 0o600);
        assert_eq!(names(dir.path()), ["marker.json", "victim"]);
    }
}
