//! Files that appear whole or not at all.
//!
//! What is written goes to a file beside the place asked for, is brought to the disk and renamed: a
//! full disk or a kill leaves what was there before, and nothing half written under its name.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// A file that is being written. Dropped before [`Self::finish`], it leaves nothing.
#[derive(Debug)]
pub struct NewFile {
    out: BufWriter<File>,
    path: PathBuf,
    /// Where it is until it is whole; none for a pipe or a device, which is written as it is.
    draft: Option<PathBuf>,
}

impl NewFile {
    /// Begins to write `path`. A link is followed; a file that is there keeps its permissions.
    ///
    /// # Errors
    /// Where nothing can be written there.
    pub fn create(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path).ok();
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            let out = BufWriter::new(File::options().write(true).open(path)?);
            let path = path.to_owned();
            return Ok(Self {
                out,
                path,
                draft: None,
            });
        }
        let path = match &found {
            Some(_) => path.canonicalize()?,
            None => path.to_owned(),
        };
        let mut draft = path.clone().into_os_string();
        draft.push(".new");
        let draft = PathBuf::from(draft);
        let new = Self {
            out: BufWriter::new(File::create(&draft)?),
            path,
            draft: Some(draft),
        };
        crate::owner::give(new.out.get_ref())?;
        if let Some(found) = found {
            new.out.get_ref().set_permissions(found.permissions())?;
        }
        Ok(new)
    }

    /// Brings it to the disk and gives it its name.
    ///
    /// # Errors
    /// Where that fails; nothing is left of it then.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        if let Some(draft) = &self.draft {
            self.out.get_ref().sync_all()?;
            fs::rename(draft, &self.path)?;
            self.draft = None;
        }
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            let _ = fs::remove_file(draft);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

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
        let mut new = NewFile::create(&path).unwrap();
        new.write_all(b"old").unwrap();
        new.finish().unwrap();
        let mut new = NewFile::create(&path).unwrap();
        new.write_all(b"half of the n").unwrap();
        drop(new);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(dir.path()), ["a.csv"]);
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
        assert!(!Path::new("/dev/null.new").exists());
    }
}
