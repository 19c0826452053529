//! File systems and devices for a single test, removed with it. If this machine or user cannot
//! create them, the test is ignored.

use crate::not_here;
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// Every file below a directory with its content, except RocksDB's lock. That is empty, and a
/// process that holds it would release it by reading it.
///
/// # Panics
/// If one cannot be read.
pub fn contents(place: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(place).expect("the directory is read");
    let mut all = BTreeMap::new();
    for path in entries.map(|entry| entry.expect("the directory is read").path()) {
        if path.is_dir() {
            all.extend(contents(&path));
        } else if !path.ends_with("LOCK") {
            all.insert(path.clone(), fs::read(&path).expect("the file is read"));
        }
    }
    all
}

/// Runs a program of the system to completion. Returns its standard output.
///
/// # Errors
/// Its standard error.
pub fn system<T: AsRef<OsStr>>(program: &str, args: &[T]) -> Result<String, String> {
    let output = Command::new(program).args(args).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!(
            "{program}: {}",
            String::from_utf8_lossy(&output.stderr)
                .trim()
                .replace('\n', " ")
        ))
    }
}

/// A file system, mounted while this lives.
#[derive(Debug)]
pub struct Mounted(PathBuf);

impl Mounted {
    /// Mounts with these arguments of `mount` on a directory, which is created if missing.
    ///
    /// # Panics
    /// If the directory cannot be created.
    pub fn new(args: &[&OsStr], directory: &Path) -> Self {
        fs::create_dir_all(directory).expect("a directory in a test's own can be made");
        match system("mount", &[args, &[directory.as_os_str()]].concat()) {
            Ok(_) => Self(directory.to_owned()),
            Err(why) => not_here(why),
        }
    }

    /// Its root.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let directory = self.0.as_os_str();
        if system("umount", &[directory]).is_err() {
            drop(system("umount", &[OsStr::new("--lazy"), directory]));
        }
    }
}

/// A small file system in memory.
#[derive(Debug)]
pub struct Tmpfs {
    mounted: Mounted,
    _dir: TempDir,
}

impl Tmpfs {
    /// A file system of this many bytes.
    ///
    /// # Panics
    /// If there is no temporary directory.
    pub fn new(bytes: u64) -> Self {
        let dir = TempDir::new().expect("there is a temporary directory");
        let size = format!("-osize={bytes}");
        let args = ["-ttmpfs", &size, "tailmark-test"].map(OsStr::new);
        let mounted = Mounted::new(&args, dir.path());
        Self { mounted, _dir: dir }
    }

    /// Its root.
    pub fn path(&self) -> &Path {
        self.mounted.path()
    }

    /// The file that [`Tmpfs::fill`] makes.
    pub fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }

    /// Uses up all space but this many bytes, to the last page.
    ///
    /// # Panics
    /// If that fails for any reason other than a full file system.
    pub fn fill(&self, but: u64) {
        let mut file = File::create(self.filler()).expect("a file of no bytes can be made");
        for size in [1 << 16, 4096, 1] {
            let bytes = vec![1; size];
            let full = loop {
                if let Err(error) = file.write_all(&bytes) {
                    break error;
                }
            };
            assert_eq!(full.kind(), ErrorKind::StorageFull);
        }
        let bytes = file.metadata().expect("the file is there").len();
        file.set_len(bytes - but).expect("a file can be cut");
    }
}

/// A loop device over a file.
#[derive(Debug)]
pub struct LoopDevice(PathBuf);

impl LoopDevice {
    /// A loop device over a new file of this many bytes.
    ///
    /// # Panics
    /// If the file cannot be created.
    pub fn new(file: &Path, bytes: u64) -> Self {
        let backing = File::create(file).expect("a file in a test's own directory can be made");
        backing
            .set_len(bytes)
            .expect("a file without blocks has room");
        let words = [OsStr::new("--find"), OsStr::new("--show"), file.as_ref()];
        match system("losetup", &words) {
            Ok(name) => Self(name.trim().into()),
            Err(why) => not_here(why),
        }
    }

    /// Makes an ext4 file system on it.
    pub fn make_ext4(&self) {
        make_ext4(&self.0);
    }

    /// The block device.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Its name in `/dev`.
    ///
    /// # Panics
    /// If the name is not text.
    pub fn name(&self) -> &str {
        let name = self.0.file_name().and_then(OsStr::to_str);
        name.expect("the kernel's names are text")
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        drop(system(
            "losetup",
            &[OsStr::new("--detach"), self.0.as_ref()],
        ));
    }
}

/// Makes an ext4 file system on a device or in a file.
pub fn make_ext4(place: &Path) {
    if let Err(why) = system("mkfs.ext4", &[OsStr::new("-q"), place.as_ref()]) {
        not_here(why);
    }
}
