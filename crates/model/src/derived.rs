//! What follows from the samples of a phase: how long requests waited at the devices, bytes at the
//! device for each byte that clients asked for, processor time of an operation. The one place that
//! computes it, so that reports and exports say the same.
//!
//! Everything is a mean over the measured part, and both sides of a ratio are of it: operations and
//! bytes that were done after its end are left out. Of several devices what can be summed is summed,
//! and of several hosts of servers nothing that was not sampled on each.

use crate::{
    Kind, KindResult, Phase, Series, SeriesKind, cpu_shares::is_busy, server::leave_out_no_host,
};
use std::collections::BTreeSet;

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
pub(crate) const STORED: [&str; 3] = ["sst_bytes", "disk_bytes", "used_bytes"];

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
    pub(crate) fn per_byte(&self, counter: &str, kinds: &[Kind]) -> Option<f64> {
        let of_kinds = kinds.iter().filter_map(|kind| self.kinds.get(kind));
        let bytes: u64 = of_kinds.map(KindResult::bytes_in_time).sum();
        let at_device = self.sampled("disk").rate(counter)? * self.duration_s;
        (bytes > 0).then(|| at_device / bytes as f64)
    }

    /// Of counters in seconds, for each operation and each request of background clients,
    /// microseconds.
    pub(crate) fn per_operation_us(&self, probe: &'static str, counters: [&str; 2]) -> Option<f64> {
        let [a, b] = counters.map(|name| self.sampled(probe).rate(name));
        let seconds = (a? + b?) * self.duration_s;
        let done = self.operations_in_time() + self.background_requests();
        (done > 0).then(|| seconds * 1e6 / done as f64)
    }

    /// Seconds a second that these counters have of the time of all processors, and all of it: of the
    /// clients' machine, or of the host of a server.
    pub(crate) fn cpu_times(
        &self,
        server: Option<&str>,
        is_meant: fn(&str) -> bool,
    ) -> Option<(f64, f64)> {
        let (mut all, mut meant) = (0.0, None);
        for series in self.of_machine("cpu", server) {
            if series.kind != SeriesKind::Counter || !series.name.ends_with("_s") {
                continue;
            }
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
    pub(crate) fn io_stalled(&self, server: Option<&str>) -> Option<f64> {
        let mut of_machine = self.of_machine("pressure", server);
        let stalled = of_machine.find(|series| series.name == "io_some_s")?;
        stalled.mean_rate(self.duration_s)
    }

    /// What a probe sampled of a whole machine: the clients', or the host of a server.
    fn of_machine<'a>(
        &'a self,
        probe: &'a str,
        server: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Series> {
        self.series.iter().filter(move |series| {
            series.probe == probe && series.own_subject() == "machine" && series.server() == server
        })
    }

    /// The share of the time of all processors of all hosts of servers that was not idle: a host with
    /// more processors counts for more. None where there is no host, or one was not sampled.
    pub(crate) fn servers_cpu_busy(&self) -> Option<f64> {
        let times = |server: &str| self.cpu_times(Some(server), is_busy);
        let times: Option<Vec<_>> = self.servers().into_iter().map(times).collect();
        let (busy, all): (Vec<f64>, Vec<f64>) = times?.into_iter().unzip();
        let all: f64 = all.iter().sum();
        (all > 0.0).then(|| busy.iter().sum::<f64>() / all)
    }

    /// The share of the time in which some task of a server's host waited for I/O, in their mean: that
    /// is a share of a host's time, however many processors it has. None as above.
    pub(crate) fn servers_io_stalled(&self) -> Option<f64> {
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
    fn sum(&self, name: &str, figure: impl Fn(&Series) -> Option<f64>) -> Option<f64> {
        self.named(name).next()?;
        let sum = self.named(name).map(figure).sum::<Option<f64>>();
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
    pub(crate) fn last(&self, name: &str) -> Option<f64> {
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
    pub(crate) fn at_most_us(&self, direction: &str, share: f64) -> Option<f64> {
        let wanted = self.rate(&format!("{direction}s"))? * share;
        let sampled = self.phase.series.iter();
        let bound = |series: &Series| {
            let name = series.name.strip_prefix(direction)?;
            let us = name.strip_prefix("_le_")?.strip_suffix("us")?;
            us.parse::<u64>().ok()
        };
        let bounds: BTreeSet<u64> = sampled
            .filter(|series| series.probe == self.probe)
            .filter_map(bound)
            .collect();
        let is_enough = |us: &u64| {
            let rate = self.rate(&format!("{direction}_le_{us}us"));
            wanted > 0.0 && rate.is_some_and(|rate| rate >= wanted * (1.0 - 1e-9))
        };
        bounds.into_iter().find(is_enough).map(|us| us as f64)
    }

    /// Time for each of what was counted meanwhile, microseconds; none where nothing was.
    pub(crate) fn mean_us(&self, seconds: &str, count: &str) -> Option<f64> {
        let (seconds, count) = (self.rate(seconds)?, self.rate(count)?);
        (count > 0.0).then(|| seconds * 1e6 / count)
    }
}

#[cfg(test)]
mod tests;
