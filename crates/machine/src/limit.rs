//! A memory limit for this process, including the page cache, by a control group.
//!
//! A new group is created where the kernel allows it. In version 1 that is below the group of this
//! process. In version 2 a group has either processes or groups with controllers (the "no internal
//! processes" rule of `Documentation/admin-guide/cgroup-v2.rst`). So the group is created below the
//! nearest group that delegates the memory controller. If this process is alone in its group, it is
//! created below that one, which then delegates the controller.

use crate::{
    cgroup::{Hierarchy, Version},
    error::LimitError,
    sysfs,
};
use bytesize::ByteSize;
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

/// The least that a limit must leave beyond the memory already in use: 16 MiB.
const MARGIN_BYTES: u64 = 16 << 20;

/// The names of our groups, before the process id.
const PREFIX: &str = "tailmark-";

/// The file that moves a process, all its threads included, into a group.
const PROCESSES: &str = "cgroup.procs";

/// The file of version 2 that hands controllers on to the groups below.
const SUBTREE: &str = "cgroup.subtree_control";

/// Limits the memory of this process until it is dropped. Then the process returns to its old
/// group.
///
/// Memory allocated earlier stays accounted to the old group.
#[derive(Debug)]
pub struct MemoryLimit {
    version: Version,
    bytes: u64,
    group: PathBuf,
    /// The group to go back to.
    old: PathBuf,
    delegation: Delegation,
}

/// How the new group got its memory controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delegation {
    /// The parent group delegates it, or it is in version 1, where all do.
    Given,
    /// The old group was made to hand it on, once this process had left it.
    Made,
}

impl MemoryLimit {
    /// Moves this process, with all its threads, into a new group of that many bytes. Swap does not
    /// extend it, if the kernel accounts for swap.
    ///
    /// # Errors
    /// Names what is needed: privileges, a delegated group, or a higher limit. Nothing has changed
    /// then.
    pub fn enter(bytes: u64) -> Result<Self, LimitError> {
        let used = used_bytes();
        let min = used + MARGIN_BYTES;
        if bytes < min {
            return Err(LimitError::TooLow {
                requested: bytes,
                used,
                min,
            });
        }
        let hierarchy = Hierarchy::of_memory().ok_or(LimitError::NoController)?;
        let own_id = rustix::process::getpid().as_raw_nonzero().get();
        let (parent, delegation) = parent_of_new(&hierarchy, bytes, own_id)?;
        sweep(hierarchy.version, &parent);
        let group = parent.join(format!("{PREFIX}{own_id}"));
        fs::create_dir(&group).map_err(|source| LimitError::Refused {
            action: "create",
            path: group.clone(),
            source,
        })?;
        let version = hierarchy.version;
        // From here on dropping it undoes whatever was done.
        let limit = Self {
            version,
            bytes,
            group,
            old: hierarchy.own,
            delegation,
        };
        match delegation {
            Delegation::Given => {
                limit.set()?;
                write(&limit.group.join(PROCESSES), "0")?;
            }
            Delegation::Made => {
                write(&limit.group.join(PROCESSES), "0")?;
                write(&limit.old.join(SUBTREE), "+memory")?;
                limit.set()?;
            }
        }
        Ok(limit)
    }

    /// Sets the limit of the new group.
    fn set(&self) -> Result<(), LimitError> {
        write(
            &self.group.join(self.version.limit_file()),
            &self.bytes.to_string(),
        )?;
        // Absent where the kernel does not account swap; then there is nothing to close.
        let (file, swap) = self.version.swap_limit(self.bytes);
        let _ = fs::write(self.group.join(file), swap.to_string());
        Ok(())
    }

    /// Its description, for the facts of a study.
    pub fn describe(&self) -> String {
        let version = match self.version {
            Version::V1 => 1,
            Version::V2 => 2,
        };
        format!(
            "{}, page cache included, by cgroup v{version}",
            ByteSize(self.bytes)
        )
    }

    /// The directory of the control group.
    pub fn group(&self) -> &Path {
        &self.group
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        if self.delegation == Delegation::Made {
            let _ = fs::write(self.old.join(SUBTREE), "-memory");
        }
        // This process, and whatever it started and left behind.
        for process in processes(&self.group) {
            let _ = fs::write(self.old.join(PROCESSES), process.to_string());
        }
        let _ = fs::remove_dir(&self.group);
    }
}

/// Where to make the new group.
fn parent_of_new(
    hierarchy: &Hierarchy,
    bytes: u64,
    own_id: i32,
) -> Result<(PathBuf, Delegation), LimitError> {
    let own = &hierarchy.own;
    if hierarchy.version == Version::V1 {
        return Ok((own.clone(), Delegation::Given));
    }
    let lists_memory = |group: &Path, file: &str| {
        sysfs::text(&group.join(file)).is_some_and(|text| text.split(' ').any(|n| n == "memory"))
    };
    let alone = processes(own) == [own_id];
    for group in hierarchy.groups() {
        if lists_memory(group, SUBTREE) {
            return Ok((group.to_owned(), Delegation::Given));
        }
        if group == own && alone && lists_memory(group, "cgroup.controllers") {
            return Ok((group.to_owned(), Delegation::Made));
        }
        // The new group would be outside this one, so it must not be the wider of the two.
        if let Some(limit) = hierarchy.limit_of(group).filter(|&limit| limit < bytes) {
            return Err(LimitError::LowerLimit {
                group: group.to_owned(),
                limit,
                requested: bytes,
            });
        }
    }
    Err(LimitError::NotDelegated { group: own.clone() })
}

/// A group of a run that was killed, which is removed now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftGroup {
    /// The process id of the run.
    pub process: u32,
    /// The limit, bytes.
    pub limit: Option<u64>,
    /// Processes that the kernel killed because they needed more.
    pub killed: u64,
}

impl LeftGroup {
    /// What to say of it: nothing where another hand ended the run.
    pub fn notice(&self) -> Option<String> {
        let limit = self.limit.map(|limit| format!(" of {}", ByteSize(limit)));
        (self.killed > 0).then(|| {
            format!(
                "the kernel killed an earlier run (process {}) because it exceeded its memory \
                 limit{} (machine.memory_limit): raise the limit",
                self.process,
                limit.unwrap_or_default()
            )
        })
    }
}

/// Removes the groups that killed runs left around this process. Returns a line for each.
pub fn remove_left_groups() -> Vec<LeftGroup> {
    let Some(hierarchy) = Hierarchy::of_memory() else {
        return Vec::new();
    };
    let sweep = |parent| sweep(hierarchy.version, parent);
    hierarchy.groups().flat_map(sweep).collect()
}

/// Removes the groups of runs that were killed; the kernel refuses to remove one in use.
fn sweep(version: Version, parent: &Path) -> Vec<LeftGroup> {
    let left = left_below(version, parent).into_iter();
    let removed = left.filter(|(group, _)| fs::remove_dir(group).is_ok());
    removed.map(|(_, found)| found).collect()
}

/// The groups below another that killed runs left.
fn left_below(version: Version, parent: &Path) -> Vec<(PathBuf, LeftGroup)> {
    let left = |name: String| {
        let process = name.strip_prefix(PREFIX)?.parse::<u32>().ok()?;
        let group = parent.join(&name);
        if may_use(process, &group) {
            return None;
        }
        let found = LeftGroup {
            process,
            limit: sysfs::number(&group.join(version.limit_file())),
            killed: killed(version, &group),
        };
        Some((group, found))
    };
    sysfs::names(parent).into_iter().filter_map(left).collect()
}

/// Whether a process may be about to enter the group that is named after it: it is there, and was
/// before the group. A later process has the id by chance.
fn may_use(process: u32, group: &Path) -> bool {
    let made = |path: &Path| fs::metadata(path)?.modified();
    let started = || {
        let process = procfs::process::Process::new(i32::try_from(process).ok()?).ok()?;
        let since_boot = process.stat().ok()?.starttime / procfs::ticks_per_second();
        let at = procfs::boot_time_secs().ok()? + since_boot;
        Some(UNIX_EPOCH + Duration::from_secs(at))
    };
    match (started(), made(group)) {
        (None, _) => Path::new(&format!("/proc/{process}")).exists(),
        // The boot is known to the second.
        (Some(started), Ok(made)) => started <= made + Duration::from_secs(2),
        (Some(_), Err(_)) => true,
    }
}

/// How many processes of a group the kernel has killed because memory ran out.
fn killed(version: Version, group: &Path) -> u64 {
    let file = match version {
        Version::V1 => "memory.oom_control",
        Version::V2 => "memory.events",
    };
    let text = fs::read_to_string(group.join(file)).unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}

/// The control groups that killed runs left in the group of this process and above it. A process
/// in one keeps the kernel from removing it.
pub fn left_groups() -> Vec<PathBuf> {
    let Some(hierarchy) = Hierarchy::of_memory() else {
        return Vec::new();
    };
    let below = |parent| left_below(hierarchy.version, parent);
    let found = hierarchy.groups().flat_map(below);
    found.map(|(group, _)| group).collect()
}

/// The processes in a group.
fn processes(group: &Path) -> Vec<i32> {
    let text = fs::read_to_string(group.join(PROCESSES)).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// What this process has in memory and swapped out.
fn used_bytes() -> u64 {
    let status = procfs::process::Process::myself().and_then(|process| process.status());
    status.map_or(0, |status| {
        (status.vmrss.unwrap_or(0) + status.vmswap.unwrap_or(0)) * 1024
    })
}

fn write(path: &Path, text: &str) -> Result<(), LimitError> {
    fs::write(path, text).map_err(|source: io::Error| LimitError::Refused {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A version 2 hierarchy of files in a directory of our own; this process is in `a/b`.
    fn version_2(files: &[(&str, &str)]) -> (tempfile::TempDir, Hierarchy) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let top = dir.path().to_owned();
        (
            dir,
            Hierarchy {
                version: Version::V2,
                own: top.join("a/b"),
                top,
            },
        )
    }

    #[test]
    fn a_version_2_group_is_made_where_memory_is_handed_on() {
        let (dir, hierarchy) = version_2(&[
            ("cgroup.subtree_control", "cpu memory"),
            ("a/cgroup.subtree_control", "cpu memory pids"),
            ("a/b/cgroup.procs", "7\n8\n"),
        ]);
        let (parent, delegation) = parent_of_new(&hierarchy, 1 << 30, 7).unwrap();
        assert_eq!(
            (parent, delegation),
            (dir.path().join("a"), Delegation::Given)
        );
    }

    #[test]
    fn a_process_alone_in_its_group_hands_memory_on_itself() {
        let files = [
            ("a/cgroup.subtree_control", "memory"),
            ("a/b/cgroup.controllers", "cpu memory"),
            ("a/b/cgroup.procs", "7\n"),
        ];
        let (dir, hierarchy) = version_2(&files);
        let (parent, delegation) = parent_of_new(&hierarchy, 1 << 30, 7).unwrap();
        assert_eq!(
            (parent, delegation),
            (dir.path().join("a/b"), Delegation::Made)
        );
    }

    #[test]
    fn a_limit_is_not_evaded_by_a_group_beside_it() {
        let (_dir, hierarchy) = version_2(&[
            ("a/cgroup.subtree_control", "memory"),
            ("a/b/memory.max", "1000000"),
            ("a/b/cgroup.procs", "7\n8\n"),
        ]);
        let error = parent_of_new(&hierarchy, 1 << 30, 7).unwrap_err();
        assert!(
            matches!(
                error,
                LimitError::LowerLimit {
                    limit: 1_000_000,
                    ..
                }
            ),
            "{error}"
        );
        assert!(parent_of_new(&hierarchy, 999_999, 7).is_ok());
    }

    #[test]
    fn without_delegation_the_error_says_how_to_start() {
        let (_dir, hierarchy) = version_2(&[("a/b/cgroup.procs", "7\n8\n")]);
        let error = parent_of_new(&hierarchy, 1 << 30, 7)
            .unwrap_err()
            .to_string();
        assert!(error.contains("systemd-run --scope"), "{error}");
    }

    #[test]
    fn a_limit_below_what_is_used_is_refused() {
        let error = MemoryLimit::enter(1 << 20).unwrap_err();
        assert!(
            matches!(error, LimitError::TooLow { min, used, .. } if min > used),
            "{error}"
        );
    }

    #[test]
    fn a_group_whose_id_another_process_has_by_now_is_left_over() {
        let (dir, hierarchy) = version_2(&[("a/b/cgroup.procs", "")]);
        let group = |id: u32| dir.path().join(format!("a/{PREFIX}{id}"));
        // This process was there before its group.
        let own = std::process::id();
        fs::create_dir(group(own)).unwrap();
        assert!(may_use(own, &group(own)));
        // Of a run long before this process.
        let file = fs::File::open(group(own)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1))
            .unwrap();
        assert!(!may_use(own, &group(own)));
        // No process has such an id.
        fs::create_dir(group(u32::MAX)).unwrap();
        let left = sweep(hierarchy.version, &dir.path().join("a"));
        assert_eq!(left.len(), 2);
        assert!(!group(own).exists() && !group(u32::MAX).exists());
    }

    #[test]
    fn a_run_that_the_kernel_killed_is_told_with_its_limit() {
        let (dir, _) = version_2(&[(
            "a/memory.events",
            "low 0\noom 3\noom_kill 2\noom_group_kill 0\n",
        )]);
        assert_eq!(killed(Version::V2, &dir.path().join("a")), 2);
        let left = LeftGroup {
            process: 7,
            limit: Some(96 << 20),
            killed: 2,
        };
        let notice = left.notice().unwrap();
        assert!(
            notice.contains("process 7") && notice.contains("96.0 MiB"),
            "{notice}"
        );
        assert_eq!(LeftGroup { killed: 0, ..left }.notice(), None);
    }
}
