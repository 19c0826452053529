//! What follows from the samples of a phase: how long requests waited at the devices, bytes at the
//! device for each byte that clients asked for, processor time of an operation. The one place that
//! computes it, so that reports and exports say the same.
//!
//! Everything is a mean over the measured part, and both sides of a ratio are of it: operations and
//! bytes that were done after its end are left out. Of several devices what can be summed is summed,
//! and of several hosts of servers nothing that was not sampled on each.

use crate::{
    Kind, KindResult, Phase, Series, SeriesKind,
    cpu_shares::{CPU_S, is_busy},
    series::{DATABASE, PENDING_COMPACTION},
    server::leave_out_no_host,
};
use std::collections::BTreeSet;

/// A figure: a row of [`DERIVED`].
#[derive(Debug, Clone, Copy)]
pub struct Derived {
    /// Its name in exports, unit last.
    pub name: &'static str,
    /// What a report calls it, with its unit.
    pub title: &'static str,
    /// Its unit; empty for a ratio.
    pub unit: &'static str,
    /// Where it comes from, in one line.
    pub about: &'static str,
    /// The figure; none where it was not sampled, or there was nothing to divide by. The second is the
    /// size of the data set, see [`Header::value_bytes`](crate::Header::value_bytes).
    pub of: fn(&Phase, Option<f64>) -> Option<f64>,
}

/// The name of what a read found. It is counted, not sampled: a report has it only where systems
/// differ in it.
pub const READ_BYTES: &str = "bytes_per_read";

/// Every figure, in the order of reports.
pub const DERIVED: &[Derived] = &[
    Derived {
        name: "device_reads_per_sec",
        title: "reads/s",
        unit: "1/s",
        about: "requests to read that the devices completed",
        of: |phase, _| phase.sampled("disk").rate("reads"),
    },
    Derived {
        name: "device_writes_per_sec",
        title: "writes/s",
        unit: "1/s",
        about: "requests to write that the devices completed",
        of: |phase, _| phase.sampled("disk").rate("writes"),
    },
    Derived {
        name: "device_read_await_us",
        title: "read await, us",
        unit: "us",
        about: "how long a request to read took at the devices in the mean, queueing included",
        of: |phase, _| phase.sampled("disk").mean_us("read_s", "reads"),
    },
    Derived {
        name: "device_write_await_us",
        title: "write await, us",
        unit: "us",
        about: "how long a request to write took at the devices in the mean, queueing included",
        of: |phase, _| phase.sampled("disk").mean_us("write_s", "writes"),
    },
    Derived {
        name: "device_queue",
        title: "queue",
        unit: "",
        about: "requests queued or under way at the devices, in the mean",
        of: |phase, _| phase.sampled("disk").rate("weighted_s"),
    },
    Derived {
        name: "device_read_p99_us",
        title: "read p99 at the device, us, at most",
        unit: "us",
        about: "99 % of the requests to read took the devices no longer, without queueing before them",
        of: |phase, _| phase.sampled("block-latency").at_most_us("read", 0.99),
    },
    Derived {
        name: "device_write_p99_us",
        title: "write p99 at the device, us, at most",
        unit: "us",
        about: "99 % of the requests to write took the devices no longer, without queueing before them",
        of: |phase, _| phase.sampled("block-latency").at_most_us("write", 0.99),
    },
    Derived {
        name: "read_amplification",
        title: "read at the device per byte",
        unit: "",
        about: "bytes read from the devices for each byte that clients read",
        of: |phase, _| phase.per_byte("read_bytes", &[Kind::Read, Kind::Scan]),
    },
    Derived {
        name: "write_amplification",
        title: "written at the device per byte",
        unit: "",
        about: "bytes written to the devices for each byte that clients wrote",
        of: |phase, _| phase.per_byte("write_bytes", &[Kind::Insert, Kind::Update]),
    },
    Derived {
        name: "space_amplification",
        title: "stored per byte",
        unit: "",
        about: "bytes that the database stored at the end for each byte of values in the data set",
        of: |phase, value_bytes| {
            let stored = STORED
                .iter()
                .find_map(|name| phase.sampled(DATABASE).last(name));
            Some(stored? / value_bytes.filter(|bytes| *bytes > 0.0)?)
        },
    },
    Derived {
        name: "device_write_amplification",
        title: "written inside the device per byte",
        unit: "",
        about: "bytes that the drives wrote to their media for each byte that they were given",
        of: |phase, _| {
            let given = phase.sampled("nvme-smart").rate("write_bytes")?;
            let written = phase.sampled("nvme-ocp").rate("media_write_bytes")?;
            (given > 0.0).then(|| written / given)
        },
    },
    Derived {
        name: READ_BYTES,
        title: "bytes a read",
        unit: "bytes",
        about: "bytes of keys and values that a read found, of those that found a record",
        of: |phase, _| phase.read_bytes(),
    },
    Derived {
        name: "client_cpu_us_per_op",
        title: "client CPU per operation, us",
        unit: "us",
        about: "processor time of this process for each operation, an embedded database included",
        of: |phase, _| phase.per_operation_us("process", CPU_S),
    },
    Derived {
        name: "server_cpu_us_per_op",
        title: "server CPU per operation, us",
        unit: "us",
        about: "processor time of the database's servers for each operation, where they can be seen",
        of: |phase, _| phase.per_operation_us("database-process", CPU_S),
    },
    Derived {
        name: "cpu_busy_percent",
        title: "processors busy, %",
        unit: "%",
        about: "share of the time of all processors of the machine that was not idle",
        of: |phase, _| Some(100.0 * phase.cpu_busy()?),
    },
    Derived {
        name: "cpu_client_percent",
        title: "processors: clients, %",
        unit: "%",
        about: "share of the time of all processors that the clients' threads had",
        of: |phase, _| Some(100.0 * phase.cpu_shares()?.client),
    },
    Derived {
        name: "cpu_database_percent",
        title: "processors: database, %",
        unit: "%",
        about: "the same of an embedded database's background threads, or of a server on this machine",
        of: |phase, _| {
            let share = phase.cpu_shares()?.database;
            (share > 0.0).then_some(100.0 * share)
        },
    },
    Derived {
        name: "cpu_others_percent",
        title: "processors: others, %",
        unit: "%",
        about: "the same of other programs and of the kernel's threads",
        of: |phase, _| Some(100.0 * phase.cpu_shares()?.others),
    },
    Derived {
        name: "cpu_steal_percent",
        title: "steal, %",
        unit: "%",
        about: "share of the time of all processors that the hypervisor gave to others",
        of: |phase, _| Some(100.0 * phase.cpu_steal()?),
    },
    Derived {
        name: "io_stalled_percent",
        title: "waited for I/O, %",
        unit: "%",
        about: "share of the time in which some task of the machine waited for I/O",
        of: |phase, _| Some(100.0 * phase.io_stalled(None)?),
    },
    Derived {
        name: "server_cpu_busy_percent",
        title: "servers' processors busy, %",
        unit: "%",
        about: "share of the time of all processors of the servers' hosts that was not idle",
        of: |phase, _| Some(100.0 * phase.servers_cpu_busy()?),
    },
    Derived {
        name: "server_io_stalled_percent",
        title: "waited for I/O at the servers, %",
        unit: "%",
        about: "share of the time in which some task of a server's host waited for I/O, in their mean",
        of: |phase, _| Some(100.0 * phase.servers_io_stalled()?),
    },
    Derived {
        name: "database_stalled_percent",
        title: "database stalled, %",
        unit: "%",
        about: "time in which writers were held back by the database, of all of them together",
        of: |phase, _| Some(100.0 * phase.sampled(DATABASE).rate("stall_s")?),
    },
    Derived {
        name: "pending_compaction_bytes",
        title: "compaction pending",
        unit: "bytes",
        about: "what compactions had yet to rewrite, in the mean",
        of: |phase, _| phase.sampled(DATABASE).mean(PENDING_COMPACTION),
    },
];

impl Phase {
    /// Bytes of keys and values that a read found, on average of those that found a record; none
    /// where there was none, or where nobody counted bytes.
    #[must_use]
    pub fn read_bytes(&self) -> Option<f64> {
        let reads = self.kinds.get(&Kind::Read)?;
        let found = reads.count.saturating_sub(reads.not_found);
        (found > 0 && reads.bytes > 0).then(|| reads.bytes as f64 / found as f64)
    }
}

/// What databases call the bytes that they store: RocksDB, Cassandra, Aerospike.
const STORED: [&str; 3] = ["sst_bytes", "disk_bytes", "used_bytes"];

/// The series of one probe during a phase.
#[derive(Debug, Clone, Copy)]
pub struct Sampled<'a> {
    phase: &'a Phase,
    probe: &'static str,
}

impl Phase {
    /// What a probe sampled.
    #[must_use]
    pub const fn sampled(&self, probe: &'static str) -> Sampled<'_> {
        Sampled { phase: self, probe }
    }

    /// Bytes at the devices for each byte of these kinds.
    fn per_byte(&self, counter: &str, kinds: &[Kind]) -> Option<f64> {
        let of_kinds = kinds.iter().filter_map(|kind| self.kinds.get(kind));
        let bytes: u64 = of_kinds.map(KindResult::bytes_in_time).sum();
        let at_device = self.sampled("disk").rate(counter)? * self.duration_s;
        (bytes > 0).then(|| at_device / bytes as f64)
    }

    /// Of counters in seconds, for each operation, microseconds.
    fn per_operation_us(&self, probe: &'static str, counters: [&str; 2]) -> Option<f64> {
        let [a, b] = counters.map(|name| self.sampled(probe).rate(name));
        let seconds = (a? + b?) * self.duration_s;
        let operations = self.operations_in_time();
        (operations > 0).then(|| seconds * 1e6 / operations as f64)
    }

    /// Seconds a second that these counters have of the time of all processors, and all of it: of the
    /// clients' machine, or of the host of a server.
    pub(crate) fn cpu_times(
        &self,
        server: Option<&str>,
        is_meant: fn(&str) -> bool,
    ) -> Option<(f64, f64)> {
        let is_time = |of: &&Series| of.kind == SeriesKind::Counter && of.name.ends_with("_s");
        let machine = self.of_machine("cpu", server);
        let (mut all, mut meant) = (0.0, None);
        for series in machine.filter(is_time) {
            let rate = series.mean_rate(self.duration_s)?;
            all += rate;
            if is_meant(&series.name) {
                meant = Some(meant.unwrap_or(0.0) + rate);
            }
        }
        meant.filter(|_| all > 0.0).map(|meant| (meant, all))
    }

    /// The share that these counters have of it.
    fn cpu_share(&self, server: Option<&str>, is_meant: fn(&str) -> bool) -> Option<f64> {
        let (meant, all) = self.cpu_times(server, is_meant)?;
        Some(meant / all)
    }

    /// The share of the time of all processors that was not idle.
    #[must_use]
    pub fn cpu_busy(&self) -> Option<f64> {
        self.cpu_share(None, is_busy)
    }

    /// The same of the host of a server.
    #[must_use]
    pub fn server_cpu_busy(&self, server: &str) -> Option<f64> {
        self.cpu_share(Some(server), is_busy)
    }

    /// The share of the time of all processors that went to other guests of the host.
    #[must_use]
    pub fn cpu_steal(&self) -> Option<f64> {
        self.cpu_share(None, |name| name == "steal_s")
    }

    /// The same of the host of a server.
    #[must_use]
    pub fn server_cpu_steal(&self, server: &str) -> Option<f64> {
        self.cpu_share(Some(server), |name| name == "steal_s")
    }

    /// The hosts of servers that something was sampled on, each once.
    #[must_use]
    pub fn servers(&self) -> BTreeSet<&str> {
        self.series.iter().filter_map(Series::server).collect()
    }

    /// The share of the time in which some task waited for I/O, on the clients' machine or on the host
    /// of a server.
    fn io_stalled(&self, server: Option<&str>) -> Option<f64> {
        let mut of_machine = self.of_machine("pressure", server);
        let stalled = of_machine.find(|of| of.name == "io_some_s")?;
        stalled.mean_rate(self.duration_s)
    }

    /// What a probe sampled of a whole machine: the clients', or the host of a server.
    fn of_machine<'a>(
        &'a self,
        probe: &'a str,
        server: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Series> {
        self.series.iter().filter(move |of| {
            of.probe == probe && of.own_subject() == "machine" && of.server() == server
        })
    }

    /// The share of the time of all processors of all hosts of servers that was not idle: a host with
    /// more processors counts for more. None where there is no host, or one was not sampled.
    fn servers_cpu_busy(&self) -> Option<f64> {
        let times = |server: &str| self.cpu_times(Some(server), is_busy);
        let times: Option<Vec<_>> = self.servers().into_iter().map(times).collect();
        let (busy, all): (Vec<f64>, Vec<f64>) = times?.into_iter().unzip();
        let all: f64 = all.iter().sum();
        (all > 0.0).then(|| busy.iter().sum::<f64>() / all)
    }

    /// The share of the time in which some task of a server's host waited for I/O, in their mean: that
    /// is a share of a host's time, however many processors it has. None as above.
    fn servers_io_stalled(&self) -> Option<f64> {
        let stalled = |server: &str| self.io_stalled(Some(server));
        let shares: Option<Vec<f64>> = self.servers().into_iter().map(stalled).collect();
        let shares = shares.filter(|shares| !shares.is_empty())?;
        Some(shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

impl Sampled<'_> {
    fn named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Series> {
        let series = self.phase.series.iter();
        series.filter(move |series| series.probe == self.probe && series.name == name)
    }

    /// The sum over all that were sampled under a name; none where there is none, one has none, or it
    /// was not sampled on one of the hosts of servers: a sum without that would be of fewer machines than
    /// did the work.
    fn sum(&self, name: &str, of: impl Fn(&Series) -> Option<f64>) -> Option<f64> {
        self.named(name).next()?;
        let sum = self.named(name).map(of).sum::<Option<f64>>();
        sum.filter(|_| leave_out_no_host(self.named(name), &self.phase.series))
    }

    /// Change per second of a counter, of all that were sampled together.
    #[must_use]
    pub fn rate(&self, name: &str) -> Option<f64> {
        self.sum(name, |series| self.rate_of(series))
    }

    /// The mean of a gauge in the measured part, of all together.
    #[must_use]
    pub fn mean(&self, name: &str) -> Option<f64> {
        self.sum(name, |series| self.mean_of(series))
    }

    /// The same as [`Self::rate`], of those that are known: for what is so whatever the others did.
    #[must_use]
    pub fn known_rate(&self, name: &str) -> Option<f64> {
        let known = self.named(name).filter_map(|series| self.rate_of(series));
        known.reduce(|a, b| a + b)
    }

    /// The same as [`Self::mean`], of those that are known.
    #[must_use]
    pub fn known_mean(&self, name: &str) -> Option<f64> {
        let known = self.named(name).filter_map(|series| self.mean_of(series));
        known.reduce(|a, b| a + b)
    }

    fn rate_of(&self, series: &Series) -> Option<f64> {
        series.mean_rate(self.phase.duration_s)
    }

    fn mean_of(&self, series: &Series) -> Option<f64> {
        let samples = series.at_s.iter().zip(&series.values);
        let inside = samples.filter(|(at, _)| (0.0..=self.phase.duration_s).contains(*at));
        let (sum, n) = inside.fold((0.0, 0), |(sum, n), (_, value)| (sum + value, n + 1));
        (n > 0).then(|| sum / f64::from(n))
    }

    /// A gauge at the end of the measured part, of all together.
    fn last(&self, name: &str) -> Option<f64> {
        let end_s = self.phase.duration_s + 0.5;
        self.sum(name, |series| {
            let mut samples = series.at_s.iter().zip(&series.values).rev();
            let last = samples.find(|(at, _)| **at <= end_s);
            last.map(|(_, value)| *value)
        })
    }

    /// The lowest bound, microseconds, that this share of the requests took at most: of counters such
    /// as `read_le_10us`, beside `reads`. None without requests, and where so many took longer than
    /// the highest bound.
    fn at_most_us(&self, direction: &str, share: f64) -> Option<f64> {
        let wanted = self.rate(&format!("{direction}s"))? * share;
        let names = self.phase.series.iter().filter(|of| of.probe == self.probe);
        let bound = |of: &Series| {
            let rest = of.name.strip_prefix(direction)?.strip_prefix("_le_")?;
            rest.strip_suffix("us")?.parse::<u64>().ok()
        };
        let bounds: BTreeSet<u64> = names.filter_map(bound).collect();
        let within = |us: &u64| {
            let rate = self.rate(&format!("{direction}_le_{us}us"));
            rate.is_some_and(|rate| rate >= wanted * (1.0 - 1e-9))
        };
        let bound = bounds.into_iter().find(within).filter(|_| wanted > 0.0)?;
        Some(bound as f64)
    }

    /// Time for each of what was counted meanwhile, microseconds; none where nothing was.
    fn mean_us(&self, seconds: &str, count: &str) -> Option<f64> {
        let (seconds, count) = (self.rate(seconds)?, self.rate(count)?);
        (count > 0.0).then(|| seconds * 1e6 / count)
    }
}

#[cfg(test)]
mod tests;
