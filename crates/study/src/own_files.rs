//! Files that tailmark writes under names of its own choice, such as those of a report.
//!
//! A name does not show who wrote a file. So the directory has a list of the files that tailmark
//! wrote there, each with its SHA-256, in the format of `sha256sum`. A file is replaced or removed
//! only if it is unchanged.
//!
//! The list is input: it may come with a study from a stranger. It can name only files beside it,
//! and only those whose content its author knows.
//!
//! A new hash is listed beside the old one before its file is renamed. The old one is removed when
//! all files are there. So the existing file is in the list even after a kill. The list is locked
//! meanwhile, so that two reports into one directory run one after the other.

use crate::{
    Error,
    file::{self, is_missing, open_own, plain_mode},
    owner,
};
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, Permissions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};
use tailmark_model::printable::{hex, is_file_name};

/// The permissions of a list.
const LIST_MODE: u32 = 0o640;
/// The most bytes of a list, and of a file that may be in one.
const LIST_MAX: u64 = 4 << 20;
const FILE_MAX: u64 = 1 << 30;
/// How long one report waits for another, and how often it checks.
const BUSY: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

const FOREIGN: &str = "was not written by tailmark, or was changed since";
const NO_FOLDER: &str = "is not a directory that tailmark created (links are not followed)";
const NO_LIST: &str = "was not written by tailmark: it is not a list of its files";

/// The files that tailmark wrote in a directory.
#[derive(Debug)]
pub struct OwnFiles {
    dir: PathBuf,
    /// The permitted hashes by name.
    listed: BTreeMap<String, BTreeSet<String>>,
}

/// The state of a file's place.
#[derive(Debug)]
pub enum Held {
    /// Nothing.
    Nothing,
    /// A file as tailmark wrote it.
    Own(OwnFile),
    /// Anything else.
    Foreign,
}

/// A file as tailmark wrote it.
#[derive(Debug)]
pub struct OwnFile {
    hash: String,
    permissions: Permissions,
}

impl OwnFiles {
    /// The name of the list.
    pub const LIST: &'static str = ".tailmark-files";

    /// The files in a folder of a directory; with an empty name, in the directory itself.
    ///
    /// # Errors
    /// If the folder or the list is something else, such as a symbolic link, or cannot be read.
    pub fn read(directory: &Path, folder: &str) -> Result<Self, Error> {
        let dir = directory.join(folder);
        let kind = match fs::symlink_metadata(&dir) {
            Ok(found) => Some(found.file_type()),
            Err(error) if is_missing(&error) => None,
            Err(error) => return Err(failed("read", &dir)(error)),
        };
        // The directory itself is named by the user, and may be a link.
        if !folder.is_empty() && kind.is_some_and(|kind| !kind.is_dir()) {
            return Err(foreign(dir, NO_FOLDER));
        }
        let listed = match open_list(&dir)? {
            Some(list) => parse(list, &dir)?,
            None => BTreeMap::new(),
        };
        Ok(Self { dir, listed })
    }

    /// The names in the list.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.listed.keys().map(String::as_str)
    }

    /// The state of a file's place.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn look(&self, name: &str) -> Result<Held, Error> {
        let path = self.dir.join(name);
        self.held(name).map_err(failed("read", &path))
    }

    /// Refuses to replace anything that tailmark did not write.
    ///
    /// # Errors
    /// If one of the files would replace such a thing, or if an existing file cannot be read.
    pub fn refuse_foreign<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<(), Error> {
        for name in names {
            if let Held::Foreign = self.look(name)? {
                return Err(foreign(self.dir.join(name), FOREIGN));
            }
        }
        Ok(())
    }

    fn held(&self, name: &str) -> io::Result<Held> {
        let path = self.dir.join(name);
        let Some(hashes) = self.listed.get(name) else {
            return Ok(match fs::symlink_metadata(&path) {
                Err(error) if is_missing(&error) => Held::Nothing,
                _ => Held::Foreign,
            });
        };
        let mut file = match open_own(&path, File::options().read(true)) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(Held::Nothing),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(Held::Foreign),
            Err(error) => return Err(error),
        };
        let found = file.metadata()?;
        if found.len() > FILE_MAX {
            return Ok(Held::Foreign);
        }
        let mut hash = Sha256::new();
        let mut part = vec![0; 64 << 10];
        loop {
            match file.read(&mut part)? {
                0 => break,
                n => hash.update(&part[..n]),
            }
        }
        let hash = hex(&hash.finalize());
        Ok(if hashes.contains(&hash) {
            Held::Own(OwnFile {
                hash,
                permissions: plain_mode(&found),
            })
        } else {
            Held::Foreign
        })
    }

    /// Lists the permitted content of each file until all are written: the existing and the new
    /// one.
    fn list_all(&mut self, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Error> {
        for (name, bytes) in files {
            let mut hashes = BTreeSet::from([hex(&Sha256::digest(bytes))]);
            match self.look(name)? {
                Held::Nothing => {}
                Held::Own(own) => drop(hashes.insert(own.hash)),
                Held::Foreign => return Err(foreign(self.dir.join(name), FOREIGN)),
            }
            self.listed.insert(name.clone(), hashes);
        }
        Ok(())
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.dir.join(name);
        let held = self.look(name)?;
        let put = || {
            let mut draft = file::draft(&self.dir, file::MODE)?;
            draft.write_all(bytes)?;
            match held {
                Held::Own(own) => {
                    draft.as_file().set_permissions(own.permissions)?;
                    file::rename(draft, &path)
                }
                Held::Nothing => file::rename_new(draft, &path),
                Held::Foreign => Err(ErrorKind::AlreadyExists.into()),
            }
        };
        match put() {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(foreign(path, FOREIGN)),
            put => put.map(drop).map_err(failed("write", &path)),
        }
    }

    /// Removes the files of an earlier report that a new one does not have, if they are as they were
    /// written.
    fn remove_former(
        &mut self,
        files: &BTreeMap<String, Vec<u8>>,
        endings: &[&str],
    ) -> Result<(), Error> {
        let is_former = |name: &&String| {
            let ending = name.rsplit_once('.').map(|(_, ending)| ending);
            !files.contains_key(*name) && ending.is_some_and(|ending| endings.contains(&ending))
        };
        let earlier: Vec<String> = self.listed.keys().filter(is_former).cloned().collect();
        for name in earlier {
            if let Held::Own(_) = self.look(&name)? {
                let path = self.dir.join(&name);
                fs::remove_file(&path).map_err(failed("remove", &path))?;
            }
            self.listed.remove(&name);
        }
        Ok(())
    }

    /// Writes the list. It stays locked while the returned file is open.
    fn save(&self) -> Result<File, Error> {
        let path = self.dir.join(Self::LIST);
        let mut text = String::new();
        for (name, hashes) in &self.listed {
            for hash in hashes {
                text.push_str(&format!("{hash}  {name}\n"));
            }
        }
        let put = || {
            let mut draft = file::draft(&self.dir, LIST_MODE)?;
            draft.write_all(text.as_bytes())?;
            file::rename(draft, &path)
        };
        put().map_err(failed("write", &path))
    }
}

/// Writes files into a folder of a directory, and removes those with one of these endings that an
/// earlier call wrote there. Creates both if they are missing.
///
/// # Errors
/// If something else is in the place of a file, or one cannot be written or removed.
pub fn write(
    directory: &Path,
    folder: &str,
    files: &BTreeMap<String, Vec<u8>>,
    endings: &[&str],
) -> Result<(), Error> {
    // Nothing is made in a folder that is a link.
    let dir = OwnFiles::read(directory, folder)?.dir;
    owner::create_dir_all(&dir).map_err(failed("make the directory", &dir))?;
    let lock = lock(&dir)?;
    let mut own = OwnFiles::read(directory, folder)?;
    let is_new = own.listed.is_empty();
    let listed = own.list_all(files).and_then(|()| own.save());
    let next_lock = listed.inspect_err(|_| {
        // On a full disk not even an empty list is left.
        if is_new {
            let _ = fs::remove_file(dir.join(OwnFiles::LIST));
        }
    })?;
    drop(lock);
    for (name, bytes) in files {
        own.replace(name, bytes)?;
        let hash = hex(&Sha256::digest(bytes));
        own.listed.insert(name.clone(), BTreeSet::from([hash]));
    }
    own.remove_former(files, endings)?;
    own.save()?;
    drop(next_lock);
    Ok(())
}

/// Holds the list of a directory, created if missing, until the returned file is closed.
fn lock(dir: &Path) -> Result<File, Error> {
    let path = dir.join(OwnFiles::LIST);
    let end = Instant::now() + BUSY;
    loop {
        let Some(list) = open_list(dir)? else {
            let draft = file::draft(dir, LIST_MODE).map_err(failed("write in", dir))?;
            match file::rename_new(draft, &path) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(failed("write", &path)(error));
                }
                _ => continue,
            }
        };
        match flock(&list, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if Instant::now() > end => {
                let why = io::Error::new(ErrorKind::WouldBlock, "another program has locked it");
                return Err(failed("lock", &path)(why));
            }
            Err(Errno::WOULDBLOCK) => thread::sleep(POLL),
            // Another one may have replaced it before it was held.
            Ok(()) if !is_at(&list, &path) => {}
            // Some file systems have no locks.
            _ => return Ok(list),
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let same = || -> io::Result<bool> {
        let (open, named) = (file.metadata()?, fs::symlink_metadata(path)?);
        Ok((open.dev(), open.ino()) == (named.dev(), named.ino()))
    };
    same().unwrap_or(false)
}

/// The list of a directory, if there is one.
fn open_list(dir: &Path) -> Result<Option<File>, Error> {
    let path = dir.join(OwnFiles::LIST);
    match open_own(&path, File::options().read(true)) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(foreign(path, NO_LIST)),
        opened => opened.map_err(failed("read", &path)),
    }
}

fn parse(list: File, dir: &Path) -> Result<BTreeMap<String, BTreeSet<String>>, Error> {
    let path = dir.join(OwnFiles::LIST);
    let mut bytes = Vec::new();
    let read = list.take(LIST_MAX + 1).read_to_end(&mut bytes);
    read.map_err(failed("read", &path))?;
    let text = String::from_utf8(bytes).ok();
    let text = text.filter(|text| text.len() as u64 <= LIST_MAX);
    let mut listed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in text.ok_or_else(|| foreign(path.clone(), NO_LIST))?.lines() {
        let parts = line.split_once("  ");
        let is_hash = |hash: &str| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        let Some((hash, name)) = parts.filter(|(hash, name)| is_hash(hash) && is_file_name(name))
        else {
            return Err(foreign(path, NO_LIST));
        };
        let hashes = listed.entry(name.to_owned()).or_default();
        hashes.insert(hash.to_owned());
    }
    Ok(listed)
}

fn foreign(path: PathBuf, why: &'static str) -> Error {
    Error::ForeignFile { path, why }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests;
