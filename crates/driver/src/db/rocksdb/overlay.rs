//! Overlays: the directories that a container has on top of its image.
//!
//! A lock belongs to the file in the overlay. So files that a program in the container has open
//! look free in the directory below.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::{ffi::OsStringExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

/// The mount point of an overlay whose upper directory contains a path, if there is one. Searches
/// the mount namespaces of all visible processes, because a container has its own.
pub(super) fn overlay_above(path: &Path) -> Option<PathBuf> {
    let above = directories_above(path);
    namespaces().iter().find_map(|root| {
        let mounts = fs::read_to_string(root.with_file_name("mountinfo")).ok()?;
        find(&mounts, root, &above)
    })
}

/// The identity of a path and of each directory above it, independent of how they are reached.
fn directories_above(path: &Path) -> BTreeSet<(u64, u64)> {
    let path = fs::canonicalize(path).unwrap_or_default();
    let identities = path.ancestors().filter_map(identity);
    identities.collect()
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// The root of each mount namespace, as seen through one of its processes, this process's first.
fn namespaces() -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let own = PathBuf::from("/proc/self");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.map(|entry| entry.path());
    let all = std::iter::once(own).chain(processes);
    let mut is_new = |process: &PathBuf| {
        let namespace = fs::read_link(process.join("ns/mnt"));
        namespace.is_ok_and(|namespace| seen.insert(namespace))
    };
    let new = all.filter(|process| is_new(process));
    new.map(|process| process.join("root")).collect()
}

fn find(mounts: &str, root: &Path, above: &BTreeSet<(u64, u64)>) -> Option<PathBuf> {
    let mounted_above = |line: &str| {
        let (before, options) = line.split_once(" - overlay ")?;
        // The kernel writes them in this order; a comma in a name has a backslash before it, both in octal.
        let (_, upper) = options.split_once("upperdir=")?;
        let (upper, _) = upper.split_once(",workdir=")?;
        let upper = unescaped(&upper.replace("\\134\\054", ","));
        let upper = root.join(upper.strip_prefix("/").ok()?);
        let mounted = before.split(' ').nth(4)?;
        above
            .contains(&identity(&upper)?)
            .then(|| unescaped(mounted))
    };
    mounts.lines().find_map(mounted_above)
}

/// Spaces and similar characters are written as a backslash and three octal digits.
fn unescaped(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = bytes.get(at + 1..at + 4).filter(|_| bytes[at] == b'\\');
        let octal = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 4;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_in_the_upper_one_of_an_overlay_is_found_whatever_it_is_called() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["up 1,a/diff/var/db", "up 1,a/different", "l/var/db"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        std::os::unix::fs::symlink(at("up 1,a"), at("link")).unwrap();
        let base = dir.path().display();
        let found = |upper: &str, path: &str| {
            let mounts = format!(
                "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n42 22 0:50 / /run/c\\0401 rw,relatime - overlay \
                 overlay rw,lowerdir=/l,upperdir={base}/{upper},workdir=/w\n"
            );
            find(&mounts, Path::new("/"), &directories_above(&at(path)))
        };
        let mounted = Some(PathBuf::from("/run/c 1"));
        for upper in ["up\\0401\\134\\054a/diff", "link/diff"] {
            assert_eq!(found(upper, "up 1,a/diff/var/db"), mounted, "{upper}");
            assert_eq!(found(upper, "up 1,a/diff"), mounted);
            assert_eq!(found(upper, "link/diff/var/db"), mounted);
            assert_eq!(found(upper, "up 1,a/different"), None);
            assert_eq!(found(upper, "l/var/db"), None);
        }
    }
}
