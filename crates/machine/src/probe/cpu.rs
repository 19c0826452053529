//! CPU time of the machine, in total and for each core.
//!
//! The times of the machine are disjoint: each instant counts in one of them, and their sum is all
//! available time. For each core only those are kept that show a saturated core while others are
//! idle. On a large machine, everything would be most of a study.

use super::{Probe, ProbeRow, Reading, readings, unread};
use crate::Error;
use procfs::{CpuTime, CurrentSI, KernelStats};
use tailmark_model::SeriesKind::{Counter, Gauge};

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "cpu",
    about: "time of all CPUs together by use, and of each CPU: busy, stolen",
    period_s: 1,
    is_default: true,
    open: |_| Ok(Some(Box::new(Cpu))),
};

struct Cpu;

impl Probe for Cpu {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let stats = KernelStats::current().map_err(unread("/proc/stat"))?;
        let second = procfs::ticks_per_second() as f64;
        let mut all = of_machine(&stats.total, second);
        all.extend(readings(
            "machine",
            &[("cores", Gauge, stats.cpu_time.len() as f64)],
        ));
        for (number, core) in stats.cpu_time.iter().enumerate() {
            all.extend(of_core(&format!("cpu{number}"), core, second));
        }
        Ok(all)
    }
}

/// Ticks that an old kernel does not count are none.
fn ticks(count: Option<u64>) -> u64 {
    count.unwrap_or(0)
}

/// Of all cores; the kernel counts guests in user time too (proc(5)), which is taken off here.
fn of_machine(total: &CpuTime, second: f64) -> Vec<Reading> {
    let (guest, guest_nice) = (ticks(total.guest), ticks(total.guest_nice));
    let values = [
        ("user_s", total.user.saturating_sub(guest)),
        ("nice_s", total.nice.saturating_sub(guest_nice)),
        ("system_s", total.system),
        ("iowait_s", ticks(total.iowait)),
        ("irq_s", ticks(total.irq)),
        ("softirq_s", ticks(total.softirq)),
        ("steal_s", ticks(total.steal)),
        ("guest_s", guest + guest_nice),
        ("idle_s", total.idle),
    ];
    readings(
        "machine",
        &values.map(|(name, ticks)| (name, Counter, ticks as f64 / second)),
    )
}

/// The busy and the stolen time of one core.
fn of_core(name: &str, core: &CpuTime, second: f64) -> Vec<Reading> {
    let interrupts = ticks(core.irq) + ticks(core.softirq);
    let values = [
        ("busy_s", core.user + core.nice + core.system + interrupts),
        ("steal_s", ticks(core.steal)),
    ];
    readings(
        name,
        &values.map(|(counter, ticks)| (counter, Counter, ticks as f64 / second)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::{ExplicitSystemInfo, FromBufReadSI};

    /// A hundred ticks a second, whatever this machine has.
    const SYSTEM: ExplicitSystemInfo = ExplicitSystemInfo {
        boot_time_secs: 0,
        ticks_per_second: 100,
        page_size: 4096,
        is_little_endian: true,
    };

    const STAT: &str = "cpu  1000 200 300 4000 500 60 70 80 90 10\n\
        cpu0 600 100 200 2000 300 30 40 50 90 10\n\
        cpu1 400 100 100 2000 200 30 30 30 0 0\n\
        intr 5\nctxt 9\nbtime 1\nprocesses 2\nprocs_running 1\nprocs_blocked 0\n";

    fn value(readings: &[Reading], subject: &str, name: &str) -> f64 {
        let is_it = |r: &&Reading| r.subject == subject && r.name == name;
        readings.iter().find(is_it).unwrap().value
    }

    #[test]
    fn the_times_of_the_machine_are_parts_of_one_whole() {
        let stats = KernelStats::from_buf_read(STAT.as_bytes(), &SYSTEM).unwrap();
        let read = of_machine(&stats.total, 100.0);
        assert_eq!(value(&read, "machine", "user_s"), 9.1);
        assert_eq!(value(&read, "machine", "nice_s"), 1.9);
        assert_eq!(value(&read, "machine", "guest_s"), 1.0);
        assert_eq!(value(&read, "machine", "softirq_s"), 0.7);
        let sum: f64 = read.iter().map(|reading| reading.value).sum();
        assert!((sum - 62.1).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn a_core_is_busy_with_all_but_waiting_and_what_was_stolen() {
        let stats = KernelStats::from_buf_read(STAT.as_bytes(), &SYSTEM).unwrap();
        let read = of_core("cpu0", &stats.cpu_time[0], 100.0);
        assert_eq!(value(&read, "cpu0", "busy_s"), 9.7);
        assert_eq!(value(&read, "cpu0", "steal_s"), 0.5);
    }
}
