//! The memory available to a run.

use crate::cgroup::Hierarchy;
use procfs::{Current, Meminfo};

/// Memory that this process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Bytes in all: the machine's, or the lowest limit of a control group around this process.
    pub total: u64,
    /// Bytes that can be had without swapping; never more than `total`.
    pub available: u64,
}

/// The memory that this process may use; zeros if the kernel does not say.
pub fn memory() -> Memory {
    let machine = machine();
    let limit = Hierarchy::of_memory()
        .and_then(|hierarchy| hierarchy.limit())
        .unwrap_or(u64::MAX);
    let total = machine.total.min(limit);
    Memory {
        total,
        available: machine.available.min(total),
    }
}

/// The memory of the machine.
pub fn machine() -> Memory {
    Meminfo::current().map_or(
        Memory {
            total: 0,
            available: 0,
        },
        |info| Memory {
            total: info.mem_total,
            available: info.mem_available.unwrap_or(info.mem_free + info.cached),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_part_of_all() {
        let memory = memory();
        assert!(memory.available > 0);
        assert!(memory.available <= memory.total);
        assert!(memory.total <= machine().total);
    }
}
