//! The control groups that account for and limit this process, in version 1 or 2.

use crate::{
    mount::{self, Mount},
    sysfs,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The interface version of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// A hierarchy of its own (`memory.limit_in_bytes`).
    V1,
    /// The unified hierarchy (`memory.max`).
    V2,
}

impl Version {
    /// The file of a group that holds its limit in bytes.
    pub const fn limit_file(self) -> &'static str {
        match self {
            Self::V1 => "memory.limit_in_bytes",
            Self::V2 => "memory.max",
        }
    }

    /// The file that limits swap, and what to write to it for a memory limit of that many bytes, so
    /// that nothing is swapped. Version 1 limits memory and swap together.
    pub fn swap_limit(self, bytes: u64) -> (&'static str, u64) {
        match self {
            Self::V1 => ("memory.memsw.limit_in_bytes", bytes),
            Self::V2 => ("memory.swap.max", 0),
        }
    }
}

/// The hierarchy with a controller, and where in it this process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    /// Its interface.
    pub version: Version,
    /// The directory of the topmost group that can be seen.
    pub top: PathBuf,
    /// The directory of the group of this process: `top` or below it.
    pub own: PathBuf,
}

impl Hierarchy {
    /// The memory group of this process; `None` if no mounted hierarchy accounts for memory.
    pub fn of_memory() -> Option<Self> {
        Self::from_controller("memory")
    }

    /// The group for a controller, by its name in version 1. Version 2 has `io` for `blkio`.
    pub fn from_controller(controller: &str) -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::find(&groups, &mount::mounts(), controller)
    }

    /// Finds it in the text of `/proc/self/cgroup`: lines of hierarchy, controllers and group
    /// (cgroups(7)). A controller is in version 2 only if no version 1 hierarchy has it.
    fn find(groups: &str, mounts: &[Mount], controller: &str) -> Option<Self> {
        let lines = || {
            groups.lines().filter_map(|line| {
                let mut fields = line.splitn(3, ':');
                Some((fields.next()?, fields.next()?, fields.next()?))
            })
        };
        let has = |controllers: &str| controllers.split(',').any(|name| name == controller);
        if let Some((_, _, group)) = lines().find(|(_, controllers, _)| has(controllers)) {
            let mounted =
                |m: &&Mount| m.kind == "cgroup" && m.options.iter().any(|o| o == controller);
            return Self::at(Version::V1, mounts.iter().rfind(mounted)?, group);
        }
        let (_, _, group) = lines().find(|(number, _, _)| *number == "0")?;
        let found = Self::at(
            Version::V2,
            mounts.iter().rfind(|m| m.kind == "cgroup2")?,
            group,
        )?;
        let name = if controller == "blkio" {
            "io"
        } else {
            controller
        };
        found.has_controller(name).then_some(found)
    }

    fn at(version: Version, mount: &Mount, group: &str) -> Option<Self> {
        // In a container the group is named from the machine's top, and the mount starts below it.
        let below = Path::new(group).strip_prefix(&mount.root).ok()?;
        let own = if below.as_os_str().is_empty() {
            mount.point.clone()
        } else {
            mount.point.join(below)
        };
        Some(Self {
            version,
            top: mount.point.clone(),
            own,
        })
    }

    fn has_controller(&self, controller: &str) -> bool {
        let controllers = sysfs::text(&self.top.join("cgroup.controllers"));
        controllers.is_some_and(|names| names.split(' ').any(|name| name == controller))
    }

    /// The groups from that of this process up to the top.
    pub fn groups(&self) -> impl Iterator<Item = &Path> {
        self.own
            .ancestors()
            .take_while(|group| group.starts_with(&self.top))
    }

    /// The lowest limit, in bytes, of all groups around this process.
    pub fn limit(&self) -> Option<u64> {
        self.groups().filter_map(|group| self.limit_of(group)).min()
    }

    /// The limit of one group, in bytes; `None` if it is `max` or, in version 1, absurdly high.
    pub fn limit_of(&self, group: &Path) -> Option<u64> {
        sysfs::number(&group.join(self.version.limit_file())).filter(|&bytes| bytes < u64::MAX / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hierarchy in a directory of our own.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = top.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        top
    }

    #[test]
    fn a_version_1_hierarchy_with_memory_goes_before_version_2() {
        let mounts = mount::parse(
            "1 0 0:1 / /cg/memory rw - cgroup cgroup rw,memory\n\
             2 0 0:2 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
             3 0 0:3 / /cg/unified rw - cgroup2 cgroup2 rw\n",
        );
        let found = Hierarchy::find(
            "5:cpu,cpuacct:/\n4:memory:/a/b\n0::/init\n",
            &mounts,
            "memory",
        )
        .unwrap();
        assert_eq!(found.version, Version::V1);
        assert_eq!(found.own, Path::new("/cg/memory/a/b"));
        let groups: Vec<_> = found.groups().collect();
        assert_eq!(groups.len(), 3);
        assert_eq!(groups[2], Path::new("/cg/memory"));
    }

    #[test]
    fn a_container_sees_its_group_at_the_mount_point() {
        let mounts = mount::parse("1 0 0:1 /docker/abc /cg/memory ro - cgroup cgroup rw,memory\n");
        let found = Hierarchy::find("4:memory:/docker/abc\n", &mounts, "memory").unwrap();
        assert_eq!(
            (&found.own, &found.top),
            (&found.top, &PathBuf::from("/cg/memory"))
        );
        assert_eq!(
            Hierarchy::find("4:memory:/elsewhere\n", &mounts, "memory"),
            None
        );
    }

    #[test]
    fn version_2_counts_only_with_its_memory_controller() {
        for (controllers, expected) in [("cpu io memory", true), ("hugetlb", false)] {
            let top = tree(&[("cgroup.controllers", controllers)]);
            let line = format!(
                "1 0 0:1 / {} rw - cgroup2 cgroup2 rw\n",
                top.path().display()
            );
            let found = Hierarchy::find("0::/user.slice\n", &mount::parse(&line), "memory");
            assert_eq!(found.is_some(), expected, "{controllers}");
        }
    }

    #[test]
    fn the_lowest_limit_around_the_process_holds() {
        let top = tree(&[
            ("memory.max", "max\n"),
            ("a/memory.max", "1048576\n"),
            ("a/b/memory.max", "4194304\n"),
        ]);
        let (version, top) = (Version::V2, top.path().to_owned());
        let hierarchy = Hierarchy {
            version,
            own: top.join("a/b"),
            top: top.clone(),
        };
        assert_eq!(hierarchy.limit(), Some(1 << 20));
        assert_eq!(hierarchy.limit_of(&top), None);
    }

    #[test]
    fn the_unlimited_value_of_version_1_is_no_limit() {
        let top = tree(&[("memory.limit_in_bytes", "9223372036854771712\n")]);
        let own = top.path().to_owned();
        let hierarchy = Hierarchy {
            version: Version::V1,
            top: own.clone(),
            own,
        };
        assert_eq!(hierarchy.limit(), None);
    }
}
