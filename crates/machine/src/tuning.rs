//! Tuning of the machine and its effects: frequencies, temperature, swap, huge pages.

use crate::sysfs;
use procfs::{Current, Meminfo};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The place where the kernel shows its processors.
const CPUS: &str = "/sys/devices/system/cpu";

/// The directories of the processors.
fn cpus(base: &Path) -> Vec<PathBuf> {
    let is_cpu = |name: &&String| {
        let number = name.strip_prefix("cpu");
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let names = sysfs::names(base);
    names
        .iter()
        .filter(is_cpu)
        .map(|name| base.join(name))
        .collect()
}

/// The number of processors for each frequency governor; empty if the kernel does not control
/// frequencies, as in most virtual machines.
pub fn governors() -> BTreeMap<String, usize> {
    governors_of(Path::new(CPUS))
}

fn governors_of(base: &Path) -> BTreeMap<String, usize> {
    let mut governors = BTreeMap::new();
    let cpus = cpus(base).into_iter();
    for name in cpus.filter_map(|cpu| sysfs::text(&cpu.join("cpufreq/scaling_governor"))) {
        *governors.entry(name).or_default() += 1;
    }
    governors
}

/// How often cores throttled for their temperature since the machine was started; `None` if it does
/// not say.
pub fn thermal_throttles() -> Option<u64> {
    throttles_of(Path::new(CPUS))
}

fn throttles_of(base: &Path) -> Option<u64> {
    let cpus = cpus(base).into_iter();
    let counts = cpus
        .filter_map(|cpu| sysfs::number::<u64>(&cpu.join("thermal_throttle/core_throttle_count")));
    counts.reduce(u64::saturating_add)
}

/// Bytes of memory that are swapped out; `None` without swap.
pub fn swapped() -> Option<u64> {
    let info = Meminfo::current().ok()?;
    (info.swap_total > 0).then(|| info.swap_total.saturating_sub(info.swap_free))
}

/// When memory is put into huge pages: `always`, `madvise`, `never`.
pub fn huge_pages() -> Option<String> {
    let text = sysfs::text(Path::new("/sys/kernel/mm/transparent_hugepage/enabled"))?;
    Some(sysfs::chosen(&text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn processors_are_counted_by_their_governor_and_throttles_are_summed() {
        let base = tempfile::tempdir().unwrap();
        for (cpu, governor) in [
            ("cpu0", "powersave"),
            ("cpu1", "performance"),
            ("cpu10", "powersave"),
        ] {
            let directory = base.path().join(cpu);
            fs::create_dir_all(directory.join("cpufreq")).unwrap();
            fs::create_dir_all(directory.join("thermal_throttle")).unwrap();
            fs::write(directory.join("cpufreq/scaling_governor"), governor).unwrap();
            fs::write(
                directory.join("thermal_throttle/core_throttle_count"),
                "3\n",
            )
            .unwrap();
        }
        fs::create_dir_all(base.path().join("cpufreq")).unwrap();
        let governors = governors_of(base.path());
        assert_eq!(governors["powersave"], 2);
        assert_eq!(governors.len(), 2);
        assert_eq!(throttles_of(base.path()), Some(9));
    }

    #[test]
    fn a_machine_that_says_nothing_is_no_throttled_one() {
        let base = tempfile::tempdir().unwrap();
        assert!(governors_of(base.path()).is_empty());
        assert_eq!(throttles_of(base.path()), None);
    }
}
