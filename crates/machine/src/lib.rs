//! The machine under test: facts, devices, file systems, caches, a memory limit, probes.
//!
//! Everything is read from `/proc` and `/sys` on demand. The crate has no threads and no clock: the
//! caller that samples a probe knows the time.

mod address;
pub mod block;
mod cache;
mod cgroup;
mod chain;
pub mod controller;
mod devices;
mod error;
mod facts;
mod limit;
mod memory;
pub mod mount;
pub mod nvme;
mod pci;
mod physical;
pub mod probe;
mod quota;
mod space;
pub mod sysfs;
mod transport;
mod tuning;

pub use address::is_this_machine;
pub use block::{BlockDevice, block_device_of, is_device};
pub use cache::{CacheDrop, can_drop_caches, drop_caches, forget_all};
pub use chain::{chain, disks};
pub use controller::places_of;
pub use devices::{DeviceUse, device_named, devices};
pub use error::{Error, LimitError};
pub use facts::{device_facts, hostname, machine_facts, place_facts};
pub use limit::{LeftGroup, MemoryLimit, left_groups, remove_left_groups};
pub use memory::{Memory, memory};
pub use mount::{Mount, mount_of};
pub use pci::{LinkSpeed, PcieLink};
pub use physical::physical_devices;
pub use quota::{CpuQuota, cpu_quota, io_limits};
pub use space::{Space, space};
pub use tuning::{governors, huge_pages, swapped, thermal_throttles};

/// CPUs that this process may run on: affinity and CPU quotas are taken into account; at least 1.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Processors that this process may run on by its affinity, whatever a quota leaves of them; at least 1.
pub fn processors() -> usize {
    let allowed = rustix::thread::sched_getaffinity(None);
    allowed
        .map_or_else(|_| cpus(), |set| set.count() as usize)
        .max(1)
}

/// The kernel's identifier of this boot.
pub fn boot_id() -> Option<String> {
    sysfs::text(std::path::Path::new("/proc/sys/kernel/random/boot_id"))
}

/// Whether this process acts as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
