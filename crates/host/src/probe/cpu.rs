//! The CPUs of the machine: where their time went.

use super::{Probe, ProbeRow, Reading, readings, unread};
use crate::Error;
use procfs::{CurrentSI, KernelStats};
use tailmark_results::SeriesKind::{Counter, Gauge};

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "cpu",
    about: "time of all CPUs of the machine: user, system, waiting for I/O, interrupts, stolen, \
        idle",
    open: |_| Ok(Some(Box::new(Cpu))),
};

struct Cpu;

impl Probe for Cpu {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let stats = KernelStats::current().map_err(unread("/proc/stat"))?;
        let per_second = procfs::ticks_per_second() as f64;
        let total = &stats.total;
        let seconds = |ticks: &[Option<u64>]| {
            ticks
                .iter()
                .flatten()
                .map(|&ticks| ticks as f64)
                .sum::<f64>()
                / per_second
        };
        // Time of guests is part of user time (proc(5)) and not counted again.
        Ok(readings(
            "machine",
            &[
                (
                    "user_s",
                    Counter,
                    seconds(&[Some(total.user), Some(total.nice)]),
                ),
                ("system_s", Counter, seconds(&[Some(total.system)])),
                ("iowait_s", Counter, seconds(&[total.iowait])),
                ("irq_s", Counter, seconds(&[total.irq, total.softirq])),
                ("steal_s", Counter, seconds(&[total.steal])),
                ("idle_s", Counter, seconds(&[Some(total.idle)])),
                ("cores", Gauge, stats.cpu_time.len() as f64),
            ],
        ))
    }
}
