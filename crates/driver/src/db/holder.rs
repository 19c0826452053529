//! Finds the process that holds a lock on a file.
//!
//! It reads `/proc/locks` instead of using `F_GETLK`, which needs the file open. Closing the file
//! again would drop every POSIX lock that this process has on it.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// ` (pid N, NAME)` of the process that holds a lock on `path`, or empty if it is unknown.
pub(crate) fn holder(path: &Path) -> String {
    let Ok(inode) = fs::metadata(path).map(|m| m.ino()) else {
        return String::new();
    };
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let Some(pid) = pid_in(&locks, inode) else {
        return String::new();
    };
    match fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!(" (pid {pid}, {})", name.trim()),
        Err(_) => format!(" (pid {pid})"),
    }
}

/// The process with a lock on the file of this number, from a listing such as `1: POSIX  ADVISORY
/// WRITE 4711 fe:00:131090 0 EOF`. Devices are not compared, because some file systems (overlay,
/// btrfs) report a different one in `stat`.
fn pid_in(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let mut words = line
            .split_whitespace()
            .skip_while(|w| *w != "WRITE")
            .skip(1);
        let pid: u32 = words.next()?.parse().ok()?;
        let file = words.next()?.rsplit(':').next()?.parse() == Ok(inode);
        (file && pid > 0).then_some(pid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKS: &str = "\
1: FLOCK  ADVISORY  WRITE 312 00:19:1189 0 EOF
2: POSIX  ADVISORY  READ  401 fe:00:131090 128 128
3: POSIX  ADVISORY  WRITE 4711 fe:00:131090 0 EOF
3: -> POSIX  ADVISORY  WRITE 4712 fe:00:131090 0 EOF
";

    #[test]
    fn the_writer_of_the_file_is_found() {
        assert_eq!(pid_in(LOCKS, 131_090), Some(4711));
        assert_eq!(pid_in(LOCKS, 1189), Some(312));
    }

    #[test]
    fn a_file_that_nobody_locks_has_no_holder() {
        assert_eq!(pid_in(LOCKS, 7), None);
    }
}
