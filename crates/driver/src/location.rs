//! Where the data of a system is.

use crate::{HostPort, INPUT_BYTES_MAX, read_text};
use std::{
    fmt, fs,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
};

/// Where the data of a system is. Displayed as users write it, because studies store and compare
/// that text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Nowhere: the driver stores nothing.
    None,
    /// A directory on a file system. In an opened database, its own directory or file.
    Directory(PathBuf),
    /// A block device.
    Device(PathBuf),
    /// Contact points of a server.
    Hosts(Vec<HostPort>),
}

/// Whether a directory belongs to a RocksDB database.
#[must_use]
pub fn is_rocksdb(directory: &Path) -> bool {
    let current = read_text(&directory.join("CURRENT"), INPUT_BYTES_MAX);
    current.is_ok_and(|current| current.starts_with("MANIFEST-"))
}

impl Location {
    /// The contact points of `host[:port][,host[:port]]`.
    #[must_use]
    pub fn of_hosts(text: &str) -> Self {
        Self::Hosts(text.split(',').map(HostPort::parse).collect())
    }

    /// The directory of a database, as typed.
    ///
    /// # Errors
    /// If it goes back (`..`) from a directory that does not exist, so that it would mean another
    /// place once that is created. Or if it is inside the directory of another database.
    pub fn of_directory(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let mut before = PathBuf::new();
        for part in path.components() {
            if part == Component::ParentDir && !before.as_os_str().is_empty() && !before.exists() {
                return Err(format!(
                    "it has `..` after `{}`, which does not exist: write the path without `..`",
                    before.display()
                ));
            }
            before.push(part);
        }
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        let absolute = absolute.canonicalize().unwrap_or(absolute);
        match absolute.ancestors().skip(1).find(|above| is_rocksdb(above)) {
            Some(database) => Err(format!(
                "it is inside the directory of another database, `{}`: name another directory",
                database.display()
            )),
            None => Ok(Self::Directory(path)),
        }
    }

    /// The directory or device, if it is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Directory(path) | Self::Device(path) => Some(path),
            Self::None | Self::Hosts(_) => None,
        }
    }

    /// The contact points; none unless it is a server.
    pub fn hosts(&self) -> impl Iterator<Item = &HostPort> {
        let hosts = match self {
            Self::Hosts(hosts) => &hosts[..],
            _ => &[],
        };
        // A comma with nothing after it names no host.
        hosts.iter().filter(|point| !point.host().is_empty())
    }

    /// The contact points as `host:port`, with the driver's port as the default.
    #[must_use]
    pub fn addresses(&self, port: u16) -> Vec<String> {
        self.hosts().map(|point| point.address(port)).collect()
    }

    /// Whether it is on this machine: not a server, or a server that is reached only over the
    /// loopback.
    #[must_use]
    pub fn is_here(&self) -> bool {
        match self {
            Self::Hosts(hosts) => hosts.iter().all(HostPort::is_loopback),
            _ => true,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Directory(path) | Self::Device(path) => write!(f, "{}", path.display()),
            Self::Hosts(hosts) => {
                for (index, point) in hosts.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{point}")?;
                }
                Ok(())
            }
        }
    }
}

/// Whether a user is this one, root, or the one who called `sudo`.
pub(crate) fn is_own(user: u32) -> bool {
    let sudo = std::env::var("SUDO_UID").ok();
    let sudo = sudo.and_then(|number| number.parse().ok());
    [Some(0), Some(rustix::process::geteuid().as_raw()), sudo].contains(&Some(user))
}

/// Why a directory may be another user's trap: that user created it, a directory above it or a link
/// to it in a place where everybody can create files. So that user can replace what is written
/// there by links.
#[must_use]
pub fn of_another_user(directory: &Path) -> Option<String> {
    let typed = std::path::absolute(directory).ok()?;
    let there = typed
        .ancestors()
        .find_map(|above| above.canonicalize().ok())?;
    typed.ancestors().chain(there.ancestors()).find_map(|part| {
        let owner = fs::symlink_metadata(part).ok()?.uid();
        let above = part.parent()?;
        let is_of_everybody = fs::metadata(above).ok()?.mode() & 0o002 != 0;
        (!is_own(owner) && is_of_everybody).then(|| {
            format!(
                "`{}` belongs to user {owner}, and every user can create files in `{}`: choose a \
                 directory that you own",
                part.display(),
                above.display()
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_what_studies_have_kept_so_far() {
        for hosts in [
            "10.0.0.1",
            "10.0.0.1:9042,10.0.0.2:9142",
            "a, b:1",
            "::1,[::1]:9043,[fe80::1]",
            "db:cql,",
        ] {
            assert_eq!(Location::of_hosts(hosts).to_string(), hosts);
        }
        let path = PathBuf::from("/mnt/nvme0");
        assert_eq!(Location::Directory(path.clone()).to_string(), "/mnt/nvme0");
        assert_eq!(Location::Device(path).to_string(), "/mnt/nvme0");
        assert_eq!(Location::None.to_string(), "");
    }

    #[test]
    fn a_server_is_here_where_every_contact_point_is_of_the_loopback() {
        assert!(Location::of_hosts("localhost:9042,[::1]:9042").is_here());
        assert!(!Location::of_hosts("localhost:9042,10.0.0.1").is_here());
        assert!(Location::Directory("/x".into()).is_here() && Location::None.is_here());
    }

    #[test]
    fn what_names_no_host_is_not_asked() {
        let points = Location::of_hosts("a, ,b:1,");
        let hosts: Vec<_> = points.hosts().map(HostPort::host).collect();
        assert_eq!(hosts, ["a", "b"]);
    }
}
