//! Mounted file systems from `/proc/self/mountinfo`.
//!
//! Parsed here, because the order of the options and names with spaces matter (proc(5): fields
//! separated by spaces, special characters as three octal digits).

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// One mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's number of the mount.
    id: u64,
    /// Major and minor number, for example `259:1`; of no block device for btrfs, overlay, tmpfs.
    pub device: String,
    /// The directory of the file system that is mounted; `/` unless bound or in a container.
    pub root: PathBuf,
    /// The mount point.
    pub point: PathBuf,
    /// Options of the mount, then those of the file system that are not repeated.
    pub options: Vec<String>,
    /// `ext4`, `xfs`, ...
    pub kind: String,
    /// The device or whatever else the file system calls its source.
    pub source: String,
}

impl Mount {
    /// Parses a line of mountinfo.
    fn parse(line: &str) -> Option<Self> {
        // The fields after the sixth are optional; ` - ` ends them.
        let (mount, superblock) = line.split_once(" - ")?;
        let mut mount = mount.split(' ');
        let id = mount.next()?.parse().ok()?;
        let device = mount.nth(1)?.to_owned();
        let root = PathBuf::from(unescape(mount.next()?));
        let point = PathBuf::from(unescape(mount.next()?));
        let mut options: Vec<String> = mount.next()?.split(',').map(unescape).collect();
        let mut superblock = superblock.split(' ');
        let kind = superblock.next()?.to_owned();
        let source = unescape(superblock.next()?);
        for option in superblock
            .next()
            .unwrap_or_default()
            .split(',')
            .map(unescape)
        {
            if !option.is_empty() && !options.contains(&option) {
                options.push(option);
            }
        }
        Some(Self {
            id,
            device,
            root,
            point,
            options,
            kind,
            source,
        })
    }

    /// The value of an option `name=value`.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options
            .iter()
            .find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// A name that is the same for every mount of one file system and describes it.
    pub fn file_system(&self) -> String {
        format!("{} on {} ({})", self.kind, self.source, self.device)
    }
}

/// Parses the text of mountinfo; lines that do not look like it are left out.
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(Mount::parse).collect()
}

/// Everything that this process sees mounted.
pub fn mounts() -> Vec<Mount> {
    parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

/// The file system that an existing absolute path without links is on.
pub fn mount_at(path: &Path) -> Option<Mount> {
    let mut mounts = mounts();
    // The kernel knows best, for mounts can hide one another; it says so since Linux 5.8.
    let stat = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok();
    let id = stat.filter(|stat| stat.stx_mask & StatxFlags::MNT_ID.bits() != 0);
    let known = id.and_then(|known| mounts.iter().position(|mount| mount.id == known.stx_mnt_id));
    let index = known.or_else(|| deepest(&mounts, path))?;
    Some(mounts.swap_remove(index))
}

/// The file system that contains a path, or would if it does not exist yet.
pub fn mount_of(path: &Path) -> Option<Mount> {
    mount_at(&existing(path).ok()?)
}

/// The path, or its nearest parent that exists, absolute and without links.
pub(crate) fn existing(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let mut nearest = absolute.as_path();
    loop {
        match (nearest.canonicalize(), nearest.parent()) {
            (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
                nearest = parent;
            }
            (result, _) => return result,
        }
    }
}

/// The mount that contains an absolute path without links, by its text: the deepest mount point
/// above it, and of several mounts at one point the last.
fn deepest(mounts: &[Mount], path: &Path) -> Option<usize> {
    let above = mounts
        .iter()
        .enumerate()
        .filter(|(_, mount)| path.starts_with(&mount.point));
    above
        .max_by_key(|(_, mount)| mount.point.components().count())
        .map(|(index, _)| index)
}

/// Resolves the three-digit octal escapes of the kernel.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro
40 22 0:35 /@data /srv/data rw,noatime shared:20 master:3 - btrfs /dev/nvme1n1 rw,ssd,subvol=/@data
41 22 0:36 / /srv/my\\040disk\\134x rw - tmpfs tmpfs rw,size=1024k
42 22 0:50 / /ov rw - overlay overlay rw,lowerdir=/l,upperdir=/srv/up\\040per,workdir=/w
43 22 253:0 / /srv/data rw - xfs /dev/mapper/vg0-data rw,attr2
44 22 0:60 / /empty rw,nosuid - cgroup2  rw
not a mount at all
";

    #[test]
    fn escaped_characters_are_resolved() {
        let mounts = parse(MOUNTS);
        assert_eq!(mounts[2].point, Path::new("/srv/my disk\\x"));
        assert_eq!(mounts[3].option("upperdir"), Some("/srv/up per"));
        assert_eq!(unescape("a\\04"), "a\\04");
        assert_eq!(unescape("\\303\\244"), "ä");
    }

    #[test]
    fn optional_fields_and_an_empty_source_are_accepted() {
        let mounts = parse(MOUNTS);
        assert_eq!(mounts.len(), 6);
        assert_eq!(
            (mounts[0].kind.as_str(), mounts[0].source.as_str()),
            ("ext4", "/dev/nvme0n1p2")
        );
        assert_eq!(
            (mounts[5].kind.as_str(), mounts[5].source.as_str()),
            ("cgroup2", "")
        );
    }

    #[test]
    fn options_keep_their_order_without_repetition() {
        assert_eq!(
            parse(MOUNTS)[1].options,
            ["rw", "noatime", "ssd", "subvol=/@data"]
        );
    }

    #[test]
    fn the_deepest_and_last_mount_holds_a_path() {
        let mounts = parse(MOUNTS);
        let kind = |path: &str| {
            mounts[deepest(&mounts, Path::new(path)).unwrap()]
                .kind
                .as_str()
        };
        assert_eq!(kind("/srv/database"), "ext4");
        assert_eq!(kind("/srv/data/a/b"), "xfs");
        assert_eq!(kind("/ov/x"), "overlay");
    }
}
