//! This process: the clients and, if it is embedded, the database.

mod background;

use super::{Probe, ProbeRow, Reading, readings, unread};
use crate::Error;
use background::Background;
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeVal,
};
use procfs::process::Process as Status;
use tailmark_model::SeriesKind::{Counter, Gauge};

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "process",
    about: "this process: CPU time, memory, bytes read and written, page faults, context switches",
    period_s: 1,
    is_default: true,
    open: |target| {
        let background = match target.background_threads {
            "" => None,
            name => Some(Background::new(name)),
        };
        Ok(Some(Box::new(Process { background })))
    },
};

struct Process {
    background: Option<Background>,
}

impl Probe for Process {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        // Of all threads, those that have ended included, which /proc/self/status does not count.
        let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|errno| Error::Usage(errno.into()))?;
        let own = Status::myself().map_err(unread("/proc/self"))?;
        let memory = own.statm().map_err(unread("/proc/self/statm"))?;
        let io = own.io().map_err(unread("/proc/self/io"))?;
        let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        let mut read = readings(
            "process",
            &[
                ("user_s", Counter, seconds(usage.user_time())),
                ("system_s", Counter, seconds(usage.system_time())),
                (
                    "rss_bytes",
                    Gauge,
                    (memory.resident * procfs::page_size()) as f64,
                ),
                ("read_bytes", Counter, io.read_bytes as f64),
                ("write_bytes", Counter, io.write_bytes as f64),
                ("major_faults", Counter, usage.major_page_faults() as f64),
                (
                    "voluntary_switches",
                    Counter,
                    usage.voluntary_context_switches() as f64,
                ),
                (
                    "involuntary_switches",
                    Counter,
                    usage.involuntary_context_switches() as f64,
                ),
            ],
        );
        if let Some(background) = &mut self.background {
            let values = [("background_s", Counter, background.sample()?)];
            read.extend(readings("process", &values));
        }
        Ok(read)
    }
}
