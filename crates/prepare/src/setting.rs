//! Kernel settings that a plan can change: their files and permitted values.

use super::Error;
use std::{
    fs,
    path::{Component, Path, PathBuf},
};

/// A value of the kernel that is to be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name: `vm.swappiness`.
    pub key: String,
    /// Its file.
    pub path: PathBuf,
    /// The new value.
    pub value: String,
}

/// The places of the kernel's files.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
}

/// Whether a step can name a path.
type NamesPath = fn(&Kernel, &Path) -> bool;

/// The values that each step of the machine changes: the name of its row in [`super::STEPS`], and
/// which paths it can name.
const PLACES: &[(&str, NamesPath)] = &[
    ("sysctls", |kernel, path| {
        let path = path.strip_prefix(kernel.proc.join("sys"));
        let part = |part: Component<'_>| part.as_os_str().to_str().map(str::to_owned);
        let parts = path
            .ok()
            .and_then(|path| path.components().map(part).collect());
        parts.is_some_and(|parts: Vec<String>| may_be_set(&parts.join(".")))
    }),
    ("governor", |kernel, path| {
        let policies = kernel.sys.join("devices/system/cpu/cpufreq");
        let name = path.strip_prefix(policies).ok().and_then(Path::to_str);
        let number = name
            .and_then(|name| name.strip_prefix("policy"))
            .and_then(|name| name.strip_suffix("/scaling_governor"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    }),
    ("huge_pages", |kernel, path| {
        path == kernel.sys.join(HUGE_PAGES)
    }),
    ("memory_limit", |kernel, path| {
        let is_limit = MEMORY_LIMITS.iter().any(|name| path.ends_with(name));
        is_limit && path.starts_with(kernel.sys.join("fs/cgroup"))
    }),
];
/// The sysctls that a plan or a journal can name. One that ends in `*` stands for all that begin so.
/// They bear on speed, and give no user more rights.
pub const SYSCTLS: &[&str] = &[
    "fs.aio-max-nr",
    "fs.epoll.*",
    "fs.file-max",
    "fs.inotify.*",
    "fs.nr_open",
    "fs.pipe-*",
    "fs.xfs.*",
    "kernel.numa_balancing*",
    "kernel.pid_max",
    "kernel.sched_*",
    "kernel.threads-max",
    "kernel.timer_migration",
    "net.*",
    "vm.*",
];
/// Settings among [`SYSCTLS`] that are refused anyway: they protect against attacks, act once and
/// cannot be restored, or halt the machine.
pub const NO_SYSCTLS: &[&str] = &[
    "net.core.bpf_jit_*",
    "vm.compact_memory",
    "vm.drop_caches",
    "vm.memfd_noexec",
    "vm.mmap_min_addr",
    "vm.mmap_rnd_*",
    "vm.panic_on_oom",
    "vm.unprivileged_userfaultfd",
];
/// Where transparent huge pages are chosen.
const HUGE_PAGES: &str = "kernel/mm/transparent_hugepage/enabled";
/// The limit of a control group, of version 2 and 1.
const MEMORY_LIMITS: [&str; 2] = ["memory.max", "memory.limit_in_bytes"];

impl Default for Kernel {
    fn default() -> Self {
        Self {
            proc: "/proc".into(),
            sys: "/sys".into(),
        }
    }
}

impl Kernel {
    /// A sysctl, such as `vm.swappiness`.
    ///
    /// # Errors
    /// If its name is none of [`SYSCTLS`], or the kernel has no such value.
    pub fn sysctl(&self, name: &str, value: &str) -> Result<Setting, Error> {
        let is_word = |word: &str| {
            !word.is_empty()
                && word
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_-:@".contains(c))
        };
        if !may_be_set(name) {
            let why = format!(
                "[prepare] sysctls may set {}, but not {}; set others yourself before the run",
                SYSCTLS.join(", "),
                NO_SYSCTLS.join(", ")
            );
            return Err(refused(name, value, &why));
        }
        // A dot within a part, such as that of the network device `eth0.5`, is written as `/`.
        if !name.split('.').all(|part| part.split('/').all(is_word)) {
            return Err(refused(name, value, "names look like vm.swappiness"));
        }
        let parts = name.split('.').map(|part| part.replace('/', "."));
        let path = self.proc.join("sys").join(parts.collect::<PathBuf>());
        self.existing(name, path, value)
    }

    /// The frequency policy of each processor.
    ///
    /// # Errors
    /// If the kernel does not offer it.
    pub fn governor(&self, value: &str) -> Result<Vec<Setting>, Error> {
        let directory = self.sys.join("devices/system/cpu/cpufreq");
        let policies = tailmark_machine::sysfs::names(&directory);
        let policies = policies.iter().filter(|name| name.starts_with("policy"));
        let mut settings = Vec::new();
        for policy in policies {
            let known =
                fs::read_to_string(directory.join(policy).join("scaling_available_governors"));
            let known = known.unwrap_or_default();
            if !known.split_whitespace().any(|word| word == value) {
                let why = format!("{policy} has {}", known.trim());
                return Err(refused("governor", value, &why));
            }
            let path = directory.join(policy).join("scaling_governor");
            settings.push(self.existing(&format!("governor of {policy}"), path, value)?);
        }
        if settings.is_empty() {
            Err(refused("governor", value, "this machine has no governor"))
        } else {
            Ok(settings)
        }
    }

    /// Transparent huge pages: `always`, `madvise` or `never`.
    ///
    /// # Errors
    /// If the kernel has none.
    pub fn transparent_huge_pages(&self, value: &str) -> Result<Setting, Error> {
        let path = self.sys.join(HUGE_PAGES);
        self.existing("transparent huge pages", path, value)
    }

    /// The memory limit of an existing control group, bytes, including the page cache.
    ///
    /// # Errors
    /// If there is no such group.
    pub fn memory_limit(&self, group: &str, bytes: u64) -> Result<Setting, Error> {
        // The kernel counts pages, so the limit is rounded like there.
        let page = rustix::param::page_size() as u64;
        let value = (bytes / page * page).to_string();
        let is_plain = Path::new(group)
            .components()
            .all(|part| !matches!(part, Component::ParentDir));
        let top = self.sys.join("fs/cgroup");
        let bare = group.trim_start_matches('/');
        let places = ["", "memory"].map(|version| top.join(version).join(bare));
        let found = places
            .iter()
            .flat_map(|place| MEMORY_LIMITS.map(|name| place.join(name)))
            .find(|path| path.exists());
        match found.filter(|_| is_plain && !bare.is_empty()) {
            Some(path) => self.existing(&format!("memory limit of {group}"), path, &value),
            None => Err(refused(
                "memory limit",
                &value,
                &format!("there is no control group `{group}` with a memory limit"),
            )),
        }
    }

    /// The step that changes the value at a path; `None` if no step does. Links that lead elsewhere
    /// are followed.
    #[must_use]
    pub fn step_of(&self, path: &Path) -> Option<&'static str> {
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        let is_within = |root: &Path| {
            let root = super::real_path(root);
            super::real_path(path).starts_with(root)
        };
        let is_there = is_within(&self.proc.join("sys")) || is_within(&self.sys);
        let mut places = PLACES.iter();
        let found = places.find(|(_, is_its)| is_its(self, path));
        found
            .filter(|_| is_plain && is_there)
            .map(|(step, _)| *step)
    }

    fn existing(&self, key: &str, path: PathBuf, value: &str) -> Result<Setting, Error> {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        match fs::read_to_string(&path) {
            Ok(_) if !value.is_empty() => Ok(Setting {
                key: key.to_owned(),
                path,
                value,
            }),
            Ok(_) => Err(refused(key, &value, "a value is needed")),
            Err(error) => Err(refused(
                key,
                &value,
                &format!("`{}`: {error}", path.display()),
            )),
        }
    }
}

impl Setting {
    /// As a dry run says it: the command of a shell.
    #[must_use]
    pub fn command(&self) -> String {
        format!("echo '{}' > {}", self.value, self.path.display())
    }

    /// The current value.
    #[must_use]
    pub fn current(&self) -> Option<String> {
        let text = fs::read_to_string(&self.path).ok()?;
        Some(tailmark_machine::sysfs::chosen(text.trim()).to_owned())
    }
}

/// Whether a sysctl of this name is one that can be set.
fn may_be_set(name: &str) -> bool {
    let is_among = |rows: &[&str]| {
        rows.iter().any(|row| match row.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == *row,
        })
    };
    is_among(SYSCTLS) && !is_among(NO_SYSCTLS)
}

fn refused(key: &str, value: &str, why: &str) -> Error {
    Error::Setting {
        key: key.to_owned(),
        value: value.to_owned(),
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> (tempfile::TempDir, Kernel) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("proc/sys/vm/swappiness", "60\n"),
            ("proc/sys/net/ipv4/conf/eth0.5/forwarding", "0\n"),
            (
                "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
                "powersave\n",
            ),
            (
                "sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors",
                "performance powersave\n",
            ),
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "always [madvise] never\n",
            ),
            ("sys/fs/cgroup/databases/memory.max", "max\n"),
            ("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "1\n"),
        ] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let kernel = Kernel {
            proc: dir.path().join("proc"),
            sys: dir.path().join("sys"),
        };
        (dir, kernel)
    }

    #[test]
    fn each_setting_is_found_where_the_kernel_keeps_it() {
        let (dir, kernel) = kernel();
        let end = |setting: Setting| {
            let path = setting.path.strip_prefix(dir.path()).unwrap();
            path.display().to_string()
        };
        let sysctl = |name| kernel.sysctl(name, "1").map(end);
        assert_eq!(sysctl("vm.swappiness").unwrap(), "proc/sys/vm/swappiness");
        let dotted = sysctl("net.ipv4.conf.eth0/5.forwarding").unwrap();
        assert_eq!(dotted, "proc/sys/net/ipv4/conf/eth0.5/forwarding");
        let governor = kernel.governor("performance").unwrap();
        assert_eq!(
            (governor.len(), governor[0].current().unwrap()),
            (1, "powersave".to_owned())
        );
        let pages = kernel.transparent_huge_pages("never").unwrap();
        assert_eq!(pages.current().unwrap(), "madvise");
        let limit = |group| kernel.memory_limit(group, 1 << 30).map(end);
        assert_eq!(
            limit("/databases").unwrap(),
            "sys/fs/cgroup/databases/memory.max"
        );
        assert!(limit("old").unwrap().ends_with("memory.limit_in_bytes"));
        // As the kernel rounds it, or it would not be known as ours when it is read again.
        let odd = kernel.memory_limit("old", 3_000_000_001).unwrap();
        let page_bytes = rustix::param::page_size() as u64;
        let rounded = 3_000_000_001 / page_bytes * page_bytes;
        assert_eq!(odd.value, rounded.to_string());
    }

    /// What gives a user more rights, or stops the machine.
    const REFUSED: &[&str] = &[
        "fs.binfmt_misc.register",
        "fs.protected_symlinks",
        "fs.suid_dumpable",
        "kernel.core_pattern",
        "kernel.modprobe",
        "kernel.randomize_va_space",
        "kernel.sysrq",
        "net.core.bpf_jit_harden",
        "vm.drop_caches",
        "vm.mmap_min_addr",
        "vm.panic_on_oom",
    ];

    #[test]
    fn the_documentation_has_every_sysctl_that_can_be_set() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/DEVICES.md");
        let docs = fs::read_to_string(docs).unwrap();
        for (name, rows) in [("may set", SYSCTLS), ("refused", NO_SYSCTLS)] {
            let all: Vec<_> = rows.iter().map(|row| format!("`{row}`")).collect();
            let row = format!("| {name} | {} |", all.join(", "));
            assert!(docs.contains(&row), "DEVICES.md lacks: {row}");
        }
    }

    #[test]
    fn every_step_of_the_machine_names_its_values_and_nothing_else() {
        use crate::{Changes, STEPS};
        let of_machine = STEPS.iter().filter(|step| step.changes == Changes::Machine);
        let of_machine: Vec<_> = of_machine.map(|step| step.name).collect();
        let rows: Vec<_> = PLACES.iter().map(|(step, _)| *step).collect();
        assert_eq!(rows, of_machine);
        let (_dir, kernel) = kernel();
        let all = [
            kernel.sysctl("vm.swappiness", "1").map(|one| vec![one]),
            kernel.governor("performance"),
            kernel.transparent_huge_pages("never").map(|one| vec![one]),
            kernel.memory_limit("old", 1 << 30).map(|one| vec![one]),
        ];
        for (step, settings) in of_machine.iter().zip(all) {
            for setting in settings.unwrap() {
                assert_eq!(kernel.step_of(&setting.path), Some(*step));
            }
        }
        for path in ["/etc/passwd", "proc/sys/vm/swappiness", ""] {
            assert_eq!(kernel.step_of(Path::new(path)), None, "{path}");
        }
        for name in REFUSED {
            let path = kernel.proc.join("sys").join(name.replace('.', "/"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "1").unwrap();
            assert_eq!(kernel.step_of(&path), None, "{name}");
            let error = kernel.sysctl(name, "0").unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("vm.*"), "{error}");
        }
        let above = kernel.proc.join("sys/vm/../../mounts");
        assert_eq!(kernel.step_of(&above), None);
    }

    #[test]
    fn what_is_not_there_or_leads_elsewhere_is_refused() {
        let (_dir, kernel) = kernel();
        for name in [
            "",
            "vm",
            "vm.none",
            "..vm",
            "vm.../../../etc/passwd",
            "vm/swappiness/",
            "vm. x",
        ] {
            assert!(kernel.sysctl(name, "1").is_err(), "{name}");
        }
        assert!(kernel.sysctl("vm.swappiness", " ").is_err());
        let error = kernel.governor("ondemand").unwrap_err().to_string();
        assert!(error.contains("performance powersave"), "{error}");
        for group in ["", "/", "none", "../cgroup/databases"] {
            assert!(kernel.memory_limit(group, 1).is_err(), "{group}");
        }
    }
}
