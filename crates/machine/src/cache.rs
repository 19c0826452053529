//! Drops cached data, so that a point does not profit from the previous one.

use rustix::fs::{Access, Advice};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// Writing 3 drops the page cache, dentries and inodes (`Documentation/admin-guide/sysctl/vm.rst`).
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// The outcome of dropping caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheDrop {
    /// The caches of the whole machine were dropped.
    Dropped,
    /// The kernel was advised to forget this many files.
    Advised(usize),
    /// Nothing, and why.
    Skipped(String),
}

/// Whether this process may drop the caches of the whole machine.
pub fn can_drop_caches() -> bool {
    rustix::fs::access(DROP_CACHES, Access::WRITE_OK).is_ok()
}

/// Writes dirty pages, then drops the caches of the whole machine or, if that is not permitted,
/// only cached pages of these files and devices.
pub fn drop_caches(files: &[PathBuf]) -> CacheDrop {
    rustix::fs::sync();
    let refused = match fs::write(DROP_CACHES, "3") {
        Ok(()) => return CacheDrop::Dropped,
        Err(error) => error,
    };
    if files.is_empty() {
        return CacheDrop::Skipped(format!(
            "writing to {DROP_CACHES} needs root ({refused}), and the database does not list its \
             files"
        ));
    }
    forget_all(files)
}

/// Advises the kernel to drop cached pages of these files and devices. Missing files need no
/// advice.
pub fn forget_all(files: &[PathBuf]) -> CacheDrop {
    let (mut advised, mut failure) = (0, None);
    for file in files {
        match forget(file) {
            Ok(()) => advised += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                failure = Some(format!(
                    "failed to drop the cached pages of {}: {error}",
                    file.display()
                ))
            }
        }
    }
    match failure {
        Some(why) if advised == 0 => CacheDrop::Skipped(why),
        _ => CacheDrop::Advised(advised),
    }
}

fn forget(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    // Dirty pages stay whatever the advice, so they are written first.
    rustix::fs::fdatasync(&file)?;
    Ok(rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_gone_are_not_counted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let files = [file.path().to_owned(), file.path().with_extension("gone")];
        assert_eq!(forget_all(&files), CacheDrop::Advised(1));
    }

    #[test]
    fn a_file_that_refuses_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let below = file.path().join("below");
        let CacheDrop::Skipped(why) = forget_all(std::slice::from_ref(&below)) else {
            panic!("advice on a path below a file was accepted");
        };
        assert!(why.contains(&below.display().to_string()), "{why}");
    }
}
