//! The memory of the machine: free memory, cached files, dirty pages.

use super::{Probe, ProbeRow, Reading, readings, unread};
use crate::Error;
use procfs::{Current, Meminfo};
use tailmark_model::SeriesKind::Gauge;

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "memory",
    about: "memory of the machine: available, free, page cache, dirty, in writeback, swapped out",
    period_s: 1,
    is_default: true,
    open: |_| Ok(Some(Box::new(MemoryProbe))),
};

struct MemoryProbe;

impl Probe for MemoryProbe {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let info = Meminfo::current().map_err(unread("/proc/meminfo"))?;
        let available = info.mem_available.unwrap_or(info.mem_free + info.cached);
        let swapped = info.swap_total.saturating_sub(info.swap_free);
        Ok(readings(
            "machine",
            &[
                ("available_bytes", Gauge, available as f64),
                ("free_bytes", Gauge, info.mem_free as f64),
                ("cached_bytes", Gauge, (info.cached + info.buffers) as f64),
                ("dirty_bytes", Gauge, info.dirty as f64),
                ("writeback_bytes", Gauge, info.writeback as f64),
                ("swap_used_bytes", Gauge, swapped as f64),
            ],
        ))
    }
}
