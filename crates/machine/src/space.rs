//! The free space for a data set.

use crate::{
    block, block_device_of,
    mount::{existing, mount_at},
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Room on a file system or a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// Bytes that may still be written without privileges; of a device, its size.
    pub available: u64,
    /// Bytes in all.
    pub total: u64,
    /// Whether this is a block device, not a file system.
    pub is_device: bool,
    /// The file system; the same for two directories on one file system.
    pub file_system: String,
    /// What exists: the place itself, or the nearest directory above it.
    pub at: PathBuf,
    /// Options of the mount; of a device, none.
    pub options: Vec<String>,
}

/// The space at a directory, at its nearest existing parent, or on a block device.
///
/// # Errors
/// If the directory cannot be examined.
pub fn space(path: &Path) -> io::Result<Space> {
    let path = existing(path)?;
    if block::is_device(&path) {
        let device = block_device_of(&path)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the device is not in /sys"))?;
        return Ok(Space {
            available: device.size_bytes,
            total: device.size_bytes,
            is_device: true,
            file_system: format!("/dev/{}", device.name),
            at: path,
            options: Vec::new(),
        });
    }
    let stat = rustix::fs::statvfs(&path)?;
    let mount = mount_at(&path);
    let (file_system, options) = match mount {
        Some(mount) => (mount.file_system(), mount.options),
        None => (path.display().to_string(), Vec::new()),
    };
    Ok(Space {
        available: stat.f_bavail.saturating_mul(stat.f_frsize),
        total: stat.f_blocks.saturating_mul(stat.f_frsize),
        is_device: false,
        file_system,
        at: path,
        options,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_directory_has_the_room_of_its_parent() {
        let dir = tempfile::tempdir().unwrap();
        let here = space(dir.path()).unwrap();
        let below = space(&dir.path().join("a/b/c")).unwrap();
        assert!(here.available > 0 && here.available <= here.total);
        assert_eq!(
            (here.total, &here.file_system),
            (below.total, &below.file_system)
        );
        assert_eq!(below.at, dir.path().canonicalize().unwrap());
        assert_eq!(below.options, here.options);
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(space(&file.path().join("below")).is_err());
    }
}
