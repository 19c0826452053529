//! Directories that a container has on top of its image: overlays.
//!
//! A lock belongs to the file that an overlay shows, so that what a program in the container has open
//! looks free in the directory below it.

use std::{
    fs,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

/// Where an overlay is mounted whose upper directory a path is in, if one is.
pub(super) fn overlay_above(path: &Path) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    find(&mounts, &fs::canonicalize(path).ok()?)
}

fn find(mounts: &str, path: &Path) -> Option<PathBuf> {
    let above = |line: &str| {
        let (before, after) = line.split_once(" - overlay ")?;
        let options = after.split(' ').nth(1)?;
        let mut options = options.split(',');
        let upper = options.find_map(|option| option.strip_prefix("upperdir="))?;
        let mounted = before.split(' ').nth(4)?;
        path.starts_with(unescaped(upper))
            .then(|| unescaped(mounted))
    };
    mounts.lines().find_map(above)
}

/// Blanks and the like are three octal digits after a backslash.
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
    fn a_directory_in_the_upper_one_of_an_overlay_is_found() {
        let mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
             42 22 0:50 / /run/c\\0401 rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/srv/up\\0401/diff,workdir=/w\n";
        let found = |path: &str| find(mounts, Path::new(path));
        let mounted = Some(PathBuf::from("/run/c 1"));
        assert_eq!(found("/srv/up 1/diff/var/db"), mounted);
        assert_eq!(found("/srv/up 1/diff"), mounted);
        assert_eq!(found("/srv/up 1/different"), None);
        assert_eq!(found("/l/var/db"), None);
    }
}
