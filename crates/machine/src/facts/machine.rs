//! Facts of the machine: CPU, memory, kernel, operating system.

use super::{FactGroup, binary, dmi, surroundings};
use crate::{cgroup::Hierarchy, memory, sysfs};
use procfs::{CpuInfo, Current};
use std::{collections::BTreeSet, fs, path::Path};
use tailmark_model::Fact;

/// Settings of the kernel that decide how storage and memory behave, and their files.
const SETTINGS: &[(&str, &str)] = &[
    ("swappiness", "/proc/sys/vm/swappiness"),
    ("dirty ratio, %", "/proc/sys/vm/dirty_ratio"),
    (
        "dirty background ratio, %",
        "/proc/sys/vm/dirty_background_ratio",
    ),
    (
        "dirty data expires after, s / 100",
        "/proc/sys/vm/dirty_expire_centisecs",
    ),
    (
        "free memory kept at least, KiB",
        "/proc/sys/vm/min_free_kbytes",
    ),
    (
        "memory maps of a process at most",
        "/proc/sys/vm/max_map_count",
    ),
    ("zone reclaim", "/proc/sys/vm/zone_reclaim_mode"),
    ("overcommit", "/proc/sys/vm/overcommit_memory"),
    ("huge pages reserved", "/proc/sys/vm/nr_hugepages"),
    ("NUMA balancing", "/proc/sys/kernel/numa_balancing"),
    ("open files, system", "/proc/sys/fs/file-max"),
    ("dirty data at most, bytes", "/proc/sys/vm/dirty_bytes"),
    (
        "dirty background data at most, bytes",
        "/proc/sys/vm/dirty_background_bytes",
    ),
    (
        "dirty data is written every, s / 100",
        "/proc/sys/vm/dirty_writeback_centisecs",
    ),
    (
        "pressure on the cache of names, %",
        "/proc/sys/vm/vfs_cache_pressure",
    ),
    (
        "pages swapped in at once, power of 2",
        "/proc/sys/vm/page-cluster",
    ),
    (
        "watermark scale factor",
        "/proc/sys/vm/watermark_scale_factor",
    ),
    ("asynchronous requests, system", "/proc/sys/fs/aio-max-nr"),
    ("open files of a process at most", "/proc/sys/fs/nr_open"),
    (
        "connections that wait at most",
        "/proc/sys/net/core/somaxconn",
    ),
    (
        "receive buffer at most, bytes",
        "/proc/sys/net/core/rmem_max",
    ),
    ("send buffer at most, bytes", "/proc/sys/net/core/wmem_max"),
    (
        "TCP congestion control",
        "/proc/sys/net/ipv4/tcp_congestion_control",
    ),
    (
        "transparent huge pages",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    ),
    (
        "clock source",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
];

/// Words of the kernel's command line that change performance, by their beginning.
const COMMAND_LINE: &[&str] = &[
    "amd_iommu",
    "amd_pstate",
    "cgroup",
    "clocksource",
    "default_hugepagesz",
    "elevator",
    "hugepages",
    "idle",
    "intel_idle",
    "intel_iommu",
    "intel_pstate",
    "iommu",
    "isolcpus",
    "maxcpus",
    "mem=",
    "memmap",
    "mitigations",
    "nohz",
    "nosmt",
    "numa",
    "nvme",
    "pcie_aspm",
    "preempt",
    "processor.",
    "psi",
    "rcu_nocbs",
    "scsi_mod",
    "spectre",
    "spec_store",
    "systemd.unified",
    "transparent_hugepage",
    "tsc",
];

/// The machine that this runs on, in the groups `machine`, `cpu`, `memory`, `kernel`, `control group`
/// and `network`.
pub fn machine_facts() -> Vec<Fact> {
    let groups = [
        machine(),
        cpu(),
        memory_facts(),
        kernel(),
        surroundings::limits(),
        surroundings::network(Path::new("/sys")),
    ];
    groups.into_iter().flat_map(|group| group.facts).collect()
}

fn machine<'a>() -> FactGroup<'a> {
    let mut group = FactGroup::new(None, "machine");
    let uname = rustix::system::uname();
    group.add(Fact::HOSTNAME, super::hostname());
    group.add(
        "architecture",
        uname.machine().to_string_lossy().into_owned(),
    );
    dmi::add_machine(&mut group, Path::new(dmi::DMI));
    group.add("boot drive", surroundings::boot_drive());
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    group.add("operating system", os_name(&release));
    group.add(
        "virtualisation",
        virtualisation(&VirtualMachineSigns::of_this_machine()),
    );
    group.add("container", container());
    group
}

/// `PRETTY_NAME` of os-release(5).
fn os_name(release: &str) -> Option<String> {
    let value = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches(['"', '\'']).to_owned())
}

fn container() -> Option<&'static str> {
    const MARKS: &[(&str, &str)] = &[
        ("/.dockerenv", "docker"),
        ("/run/.containerenv", "podman"),
        ("/run/systemd/container", "yes"),
    ];
    MARKS
        .iter()
        .find(|(path, _)| Path::new(path).exists())
        .map(|&(_, name)| name)
}

/// What shows a virtual machine.
struct VirtualMachineSigns {
    /// The CPU says that a hypervisor is there.
    flag: bool,
    /// `/sys/hypervisor/type`, of Xen.
    hypervisor: Option<String>,
    /// Vendor and product of the machine.
    product: String,
}

impl VirtualMachineSigns {
    fn of_this_machine() -> Self {
        let dmi = |name: &str| sysfs::text(&Path::new(dmi::DMI).join(name));
        let flags = CpuInfo::current()
            .ok()
            .and_then(|info| Some(info.flags(0)?.contains(&"hypervisor")));
        Self {
            flag: flags.unwrap_or(false),
            hypervisor: sysfs::text(Path::new("/sys/hypervisor/type")),
            product: [dmi("sys_vendor"), dmi("product_name")]
                .map(Option::unwrap_or_default)
                .join(" "),
        }
    }
}

/// A guess: the product's name, else the bare word of the CPU.
fn virtualisation(evidence: &VirtualMachineSigns) -> String {
    /// Words in vendor or product, and their meanings.
    const PRODUCTS: &[(&str, &str)] = &[
        ("Amazon EC2", "Amazon EC2 (Nitro)"),
        ("Google", "Google Compute Engine"),
        ("Microsoft", "Hyper-V or Azure"),
        ("VMware", "VMware"),
        ("VirtualBox", "VirtualBox"),
        ("OpenStack", "OpenStack"),
        ("KVM", "KVM"),
        ("QEMU", "QEMU or KVM"),
        ("Xen", "Xen"),
    ];
    let known = PRODUCTS
        .iter()
        .find(|(word, _)| evidence.product.contains(word));
    let virtual_machine = evidence.flag || evidence.hypervisor.is_some();
    match (virtual_machine, known, &evidence.hypervisor) {
        // Servers of the same makers carry the names without being virtual.
        (false, _, _) => "none seen".to_owned(),
        (true, Some((_, name)), _) => format!("virtual machine, probably {name}"),
        (true, None, Some(kind)) => format!("virtual machine, probably {kind}"),
        (true, None, None) => "virtual machine".to_owned(),
    }
}

fn cpu<'a>() -> FactGroup<'a> {
    let mut group = FactGroup::new(None, "cpu");
    let base = Path::new("/sys/devices/system/cpu");
    let info = CpuInfo::current().ok();
    let field = |names: &[&str]| {
        let info = info.as_ref()?;
        names
            .iter()
            .find_map(|name| info.get_field(0, name).map(str::to_owned))
    };
    let topology = Topology::read(base);
    group.add(
        "model",
        field(&["model name", "Processor", "cpu model", "cpu"]).or_else(|| {
            // Arm has numbers (`CPU part`) instead of names; the board is the better name.
            sysfs::text(Path::new("/proc/device-tree/model"))
        }),
    );
    group.add("sockets", topology.sockets.to_string());
    group.add("cores", topology.cores.to_string());
    group.add("threads", topology.threads.to_string());
    group.add("usable by this process", crate::cpus().to_string());
    group.add("NUMA nodes", numa_nodes().to_string());
    group.add("microcode", field(&["microcode"]));
    let frequency = |name: &str| {
        let khz: Option<u64> = sysfs::number(&base.join("cpu0/cpufreq").join(name));
        khz.map(|khz| format!("{} MHz", khz / 1000))
    };
    group.add(
        "governor",
        sysfs::text(&base.join("cpu0/cpufreq/scaling_governor")),
    );
    group.add(
        "frequency driver",
        sysfs::text(&base.join("cpu0/cpufreq/scaling_driver")),
    );
    group.add("highest frequency", frequency("cpuinfo_max_freq"));
    group.add("allowed frequency", frequency("scaling_max_freq"));
    group.add(
        "frequency now",
        field(&["cpu MHz"]).map(|mhz| format!("{mhz} MHz")),
    );
    let boost = sysfs::flag(&base.join("cpufreq/boost"))
        .or_else(|| sysfs::flag(&base.join("intel_pstate/no_turbo")).map(|off| !off));
    group.add("boost", boost.map(|on| if on { "on" } else { "off" }));
    group
}

/// The topology of the CPUs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Topology {
    sockets: usize,
    cores: usize,
    threads: usize,
}

impl Topology {
    /// Reads the online CPUs. If the kernel does not say, one thread per core and one socket are
    /// assumed.
    fn read(base: &Path) -> Self {
        let (mut sockets, mut cores, mut threads) = (BTreeSet::new(), BTreeSet::new(), 0);
        for name in sysfs::names(base) {
            let number = name
                .strip_prefix("cpu")
                .filter(|n| n.parse::<u32>().is_ok());
            let online = sysfs::flag(&base.join(&name).join("online")).unwrap_or(true);
            let Some(number) = number.filter(|_| online) else {
                continue;
            };
            let topology = |file: &str| sysfs::text(&base.join(&name).join("topology").join(file));
            let socket = topology("physical_package_id").unwrap_or_default();
            // A die has core numbers of its own, as a socket has.
            let die = topology("die_id").unwrap_or_default();
            let core = topology("core_id").unwrap_or_else(|| number.to_owned());
            cores.insert((socket.clone(), die, core));
            sockets.insert(socket);
            threads += 1;
        }
        Self {
            sockets: sockets.len(),
            cores: cores.len(),
            threads,
        }
    }
}

fn numa_nodes() -> usize {
    let names = sysfs::names(Path::new("/sys/devices/system/node"));
    let is_node = |name: &&String| {
        name.strip_prefix("node")
            .is_some_and(|number| number.parse::<u32>().is_ok())
    };
    names.iter().filter(is_node).count().max(1)
}

fn memory_facts<'a>() -> FactGroup<'a> {
    let mut group = FactGroup::new(None, "memory");
    let machine = memory::machine();
    group.add("total", binary(machine.total));
    group.add("available at the start", binary(machine.available));
    if let Ok(info) = procfs::Meminfo::current() {
        group.add("swap", binary(info.swap_total));
    }
    let limit = Hierarchy::of_memory().and_then(|hierarchy| hierarchy.limit());
    group.add("limit of the control group", limit.map(binary));
    dmi::add_memory(&mut group);
    group
}

fn kernel<'a>() -> FactGroup<'a> {
    let mut group = FactGroup::new(None, "kernel");
    let uname = rustix::system::uname();
    group.add("release", uname.release().to_string_lossy().into_owned());
    group.add("version", uname.version().to_string_lossy().into_owned());
    let line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    group.add("command line, of note", of_note(&line));
    group.add("command line", line.trim());
    for (name, path) in SETTINGS {
        let text = sysfs::text(Path::new(path));
        group.add(name, text.map(|text| sysfs::chosen(&text).to_owned()));
    }
    group
}

/// The words of a kernel command line that change performance.
fn of_note(line: &str) -> String {
    let noted = |word: &&str| COMMAND_LINE.iter().any(|start| word.starts_with(start));
    line.split_whitespace()
        .filter(noted)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests;
