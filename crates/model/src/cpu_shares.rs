//! What kept the processors of the clients' machine busy.
//!
//! A busy processor alone says little: another program, or a database on the same machine, may have
//! used it while clients waited for storage.

use crate::{Phase, Series};

/// Shares of the time of all processors of the clients' machine, each 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuShares {
    /// Everything that was not idle: the sum of the shares below.
    pub busy: f64,
    /// The clients' process without [`Self::database`]. An embedded database serves requests in the
    /// client's thread, so that work is included.
    pub client: f64,
    /// The background threads of an embedded database, or the processes of a server on this machine.
    /// `None` if neither was sampled.
    pub database: Option<f64>,
    /// Interrupts, which are charged to no process.
    pub interrupts: f64,
    /// Other guests of the machine's host.
    pub steal: f64,
    /// The rest: other programs and kernel threads.
    pub others: f64,
}

/// Counters of processor time of a process.
pub(crate) const CPU_S: [&str; 2] = ["user_s", "system_s"];

impl CpuShares {
    /// A share relative to the time that interrupts left to processes.
    pub fn of_processes(&self, share: f64) -> f64 {
        share / (1.0 - self.interrupts).max(f64::EPSILON)
    }
}

impl Phase {
    /// What kept the processors of the clients' machine busy in the measured part; `None` if they,
    /// or this process, were not sampled.
    pub fn cpu_shares(&self) -> Option<CpuShares> {
        let (busy_s, all_s) = self.cpu_times(None, is_busy)?;
        let times = |is_meant| Some(self.cpu_times(None, is_meant)?.0);
        let interrupts_s = times(|name| matches!(name, "irq_s" | "softirq_s"));
        let interrupts_s = interrupts_s.unwrap_or_default();
        let steal_s = times(|name| name == "steal_s").unwrap_or_default();
        let process_s = self.process_cpu_s("process", &CPU_S)?;
        // No more than the process: the kernel counts its threads in larger steps.
        let background_s = self.process_cpu_s("process", &["background_s"]);
        let background_s = background_s.map(|seconds| seconds.min(process_s));
        let client_s = process_s - background_s.unwrap_or_default();
        let server_s = self.process_cpu_s("database-process", &CPU_S);
        let database_s = background_s
            .into_iter()
            .chain(server_s)
            .reduce(|a, b| a + b);
        let known_s = client_s + database_s.unwrap_or_default() + interrupts_s + steal_s;
        let share = |seconds: f64| (seconds / all_s).clamp(0.0, 1.0);
        Some(CpuShares {
            busy: share(busy_s),
            client: share(client_s),
            database: database_s.map(share),
            interrupts: share(interrupts_s),
            steal: share(steal_s),
            others: share(busy_s - known_s),
        })
    }

    /// Processor time per second that a process probe counted on this machine; `None` if it was not
    /// sampled.
    fn process_cpu_s(&self, probe: &str, counters: &[&str]) -> Option<f64> {
        // Those of other machines, and of other ranks, are named `process on db2`.
        let is_counter = |series: &&Series| {
            let is_named = series.probe == probe && counters.contains(&series.name.as_str());
            is_named && !series.subject.contains(" on ")
        };
        let own = self.series.iter().filter(is_counter);
        let rates = own.filter_map(|series| series.mean_rate(self.duration_s));
        rates.reduce(|a, b| a + b)
    }
}

/// Whether a counter of processor time counts work.
pub(crate) fn is_busy(name: &str) -> bool {
    !matches!(name, "idle_s" | "iowait_s")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Series, SeriesKind};

    /// Seconds a second, over ten seconds.
    fn phase(rates: &[(&str, &str, &str, f64)]) -> Phase {
        let series = rates.iter().map(|&(probe, subject, name, rate)| Series {
            probe: probe.to_owned(),
            subject: subject.to_owned(),
            name: name.to_owned(),
            kind: SeriesKind::Counter,
            at_s: vec![0.0, 10.0],
            values: vec![5.0, 5.0 + 10.0 * rate],
        });
        Phase {
            duration_s: 10.0,
            series: series.collect(),
            ..Phase::default()
        }
    }

    /// A machine of 10 processors: 9 are busy, 1 of them with interrupts, and half of one is
    /// stolen.
    const MACHINE: [(&str, &str, &str, f64); 5] = [
        ("cpu", "machine", "user_s", 7.5),
        ("cpu", "machine", "softirq_s", 0.8),
        ("cpu", "machine", "irq_s", 0.2),
        ("cpu", "machine", "steal_s", 0.5),
        ("cpu", "machine", "idle_s", 1.0),
    ];

    fn near(shares: &CpuShares, expected: [f64; 6]) {
        let found = [
            shares.busy,
            shares.client,
            shares.database.unwrap_or_default(),
            shares.interrupts,
            shares.steal,
            shares.others,
        ];
        let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
        assert!(found.iter().zip(&expected).all(is_near), "{found:?}");
    }

    #[test]
    fn an_embedded_databases_background_threads_are_no_clients() {
        let process = [
            ("process", "process", "user_s", 3.0),
            ("process", "process", "system_s", 1.0),
            ("process", "process", "background_s", 1.5),
        ];
        let shares = phase(&[&MACHINE[..], &process].concat())
            .cpu_shares()
            .unwrap();
        near(&shares, [0.9, 0.25, 0.15, 0.1, 0.05, 0.35]);
        assert!((shares.of_processes(0.45) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_database_that_took_no_time_is_told_from_one_that_was_not_sampled() {
        let process = [("process", "process", "user_s", 3.0)];
        let idle = [("process", "process", "background_s", 0.0)];
        let database = |counters: &[&[_]]| phase(&counters.concat()).cpu_shares().unwrap().database;
        assert_eq!(database(&[&MACHINE, &process, &idle]), Some(0.0));
        assert_eq!(database(&[&MACHINE, &process]), None);
    }

    #[test]
    fn a_server_counts_where_it_is_on_this_machine() {
        let process = [
            ("process", "process", "user_s", 1.0),
            ("database-process", "java 7", "user_s", 2.0),
            ("database-process", "java 8", "system_s", 1.0),
            ("database-process", "java on server db1", "user_s", 9.0),
            ("process", "process on db2", "user_s", 9.0),
        ];
        let shares = phase(&[&MACHINE[..], &process].concat())
            .cpu_shares()
            .unwrap();
        near(&shares, [0.9, 0.1, 0.3, 0.1, 0.05, 0.35]);
    }

    #[test]
    fn without_the_process_or_the_machine_nothing_is_known() {
        assert_eq!(phase(&MACHINE).cpu_shares(), None);
        let process = [("process", "process", "user_s", 1.0)];
        assert_eq!(phase(&process).cpu_shares(), None);
    }
}
