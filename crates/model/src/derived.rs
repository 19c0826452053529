//! Values derived from the samples of a phase: wait time at the devices, device bytes per requested
//! byte, processor time per operation. Computed here only, so that reports and exports agree.
//!
//! Everything is a mean over the measured part. Both sides of a ratio exclude operations and bytes
//! that were done after its end. Several devices are summed where that makes sense. Several hosts
//! of servers are combined only if each was sampled.

use crate::{
    Kind, KindResult, Phase, Series, SeriesKind, cpu_shares::is_busy, server::leave_out_no_host,
};
use std::collections::BTreeSet;

impl Phase {
    /// Mean bytes of keys and values per read that found a record; `None` if there was no such
    /// read, or if bytes were not counted.
    pub fn read_bytes(&self) -> Option<f64> {
        let reads = self.kinds.get(&Kind::Read)?;
        let found = reads.count.saturating_sub(reads.not_found);
        (found > 0 && reads.bytes > 0).then(|| reads.bytes as f64 / found as f64)
    }
}

/// The names that databases give to stored bytes: RocksDB, Cassandra, Aerospike.
pub(crate) const STORED: [&str; 3] = ["sst_bytes", "disk_bytes", "used_bytes"];

/// The series of one probe during a phase.
#[derive(Debug, Clone, Copy)]
pub struct Sampled<'a> {
    phase: &'a Phase,
    probe: &'static str,
}

impl Phase {
    /// The samples of a probe.
    pub const fn sampled(&self, probe: &'static str) -> Sampled<'_> {
        Sampled { phase: self, probe }
    }

    /// Device bytes per byte requested by these kinds.
    pub(crate) fn per_byte(&self, counter: &str, kinds: &[Kind]) -> Option<f64> {
        self.per_byte_of(kinds, self.sampled("disk").rate(counter)?)
    }

    /// Bytes per second as bytes per byte requested by these kinds.
    pub(crate) fn per_byte_of(&self, kinds: &[Kind], per_s: f64) -> Option<f64> {
        let of_kinds = kinds.iter().filter_map(|kind| self.kinds.get(kind));
        let bytes: u64 = of_kinds.map(KindResult::bytes_in_time).sum();
        (bytes > 0).then(|| per_s * self.duration_s / bytes as f64)
    }

    /// Counters in seconds as microseconds per operation; requests of background clients count as
    /// operations.
    pub(crate) fn per_operation_us(&self, probe: &'static str, counters: [&str; 2]) -> Option<f64> {
        let [a, b] = counters.map(|name| self.sampled(probe).rate(name));
        let seconds = (a? + b?) * self.duration_s;
        let done = self.operations_in_time() + self.background_requests();
        (done > 0).then(|| seconds * 1e6 / done as f64)
    }

    /// Seconds per second of these counters, and of all processor time: on the clients' machine, or
    /// on the host of a server.
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

    /// The share of these counters in all processor time.
    fn cpu_share(&self, server: Option<&str>, is_meant: fn(&str) -> bool) -> Option<f64> {
        let (meant, all) = self.cpu_times(server, is_meant)?;
        Some(meant / all)
    }

    /// The share of the time of all processors that was not idle.
    pub fn cpu_busy(&self) -> Option<f64> {
        self.cpu_share(None, is_busy)
    }

    /// The same for the host of a server.
    pub fn server_cpu_busy(&self, server: &str) -> Option<f64> {
        self.cpu_share(Some(server), is_busy)
    }

    /// The share of the time of all processors that went to other guests of the host.
    pub fn cpu_steal(&self) -> Option<f64> {
        self.cpu_share(None, |name| name == "steal_s")
    }

    /// The same for the host of a server.
    pub fn server_cpu_steal(&self, server: &str) -> Option<f64> {
        self.cpu_share(Some(server), |name| name == "steal_s")
    }

    /// The hosts of servers with samples, each once.
    pub fn servers(&self) -> BTreeSet<&str> {
        self.series.iter().filter_map(Series::server).collect()
    }

    /// The share of time in which some task waited for I/O, on the clients' machine or on the host
    /// of a server.
    pub(crate) fn io_stalled(&self, server: Option<&str>) -> Option<f64> {
        let mut of_machine = self.of_machine("pressure", server);
        let stalled = of_machine.find(|series| series.name == "io_some_s")?;
        stalled.mean_rate(self.duration_s)
    }

    /// Samples of a whole machine: the clients' machine, or the host of a server.
    fn of_machine<'a>(
        &'a self,
        probe: &'a str,
        server: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Series> {
        self.series.iter().filter(move |series| {
            series.probe == probe && series.own_subject() == "machine" && series.server() == server
        })
    }

    /// The share of all processor time of all server hosts that was not idle, so that a host with
    /// more processors counts for more. `None` if there is no host, or one was not sampled.
    pub(crate) fn servers_cpu_busy(&self) -> Option<f64> {
        let times = |server: &str| self.cpu_times(Some(server), is_busy);
        let times: Option<Vec<_>> = self.servers().into_iter().map(times).collect();
        let (busy, all): (Vec<f64>, Vec<f64>) = times?.into_iter().unzip();
        let all: f64 = all.iter().sum();
        (all > 0.0).then(|| busy.iter().sum::<f64>() / all)
    }

    /// The share of time in which some task of a server host waited for I/O: the mean over hosts,
    /// whatever their number of processors. `None` as above.
    pub(crate) fn servers_io_stalled(&self) -> Option<f64> {
        let stalled = |server: &str| self.io_stalled(Some(server));
        let shares: Option<Vec<f64>> = self.servers().into_iter().map(stalled).collect();
        let shares = shares.filter(|shares| !shares.is_empty())?;
        Some(shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

impl<'a> Sampled<'a> {
    /// The phase with the samples.
    pub(crate) const fn phase(&self) -> &'a Phase {
        self.phase
    }

    fn named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Series> {
        let series = self.phase.series.iter();
        series.filter(move |series| series.probe == self.probe && series.name == name)
    }

    /// The sum over all subjects sampled under a name. `None` if there is no subject, one has no
    /// value, or one server host was not sampled: such a sum would leave out machines that did part
    /// of the work.
    pub(crate) fn sum(&self, name: &str, figure: impl Fn(&Series) -> Option<f64>) -> Option<f64> {
        self.named(name).next()?;
        let sum = self.named(name).map(figure).sum::<Option<f64>>();
        sum.filter(|_| leave_out_no_host(self.named(name), &self.phase.series))
    }

    /// Change per second of a counter, summed over all subjects that were sampled.
    pub fn rate(&self, name: &str) -> Option<f64> {
        self.sum(name, |series| self.rate_of(series))
    }

    /// The mean of a gauge in the measured part, summed over all subjects.
    pub fn mean(&self, name: &str) -> Option<f64> {
        self.sum(name, |series| self.mean_of(series))
    }

    /// Like [`Self::rate`], but summed over known values only: for statements that hold whatever
    /// the others did.
    pub fn known_rate(&self, name: &str) -> Option<f64> {
        let known = self.named(name).filter_map(|series| self.rate_of(series));
        known.reduce(|a, b| a + b)
    }

    /// Like [`Self::mean`], but summed over known values only.
    pub fn known_mean(&self, name: &str) -> Option<f64> {
        let known = self.named(name).filter_map(|series| self.mean_of(series));
        known.reduce(|a, b| a + b)
    }

    fn rate_of(&self, series: &Series) -> Option<f64> {
        series.mean_rate(self.phase.duration_s)
    }

    fn mean_of(&self, series: &Series) -> Option<f64> {
        series.mean(self.phase.duration_s)
    }

    /// A gauge at the end of the measured part, summed over all subjects.
    pub(crate) fn last(&self, name: &str) -> Option<f64> {
        let end_s = self.phase.duration_s + 0.5;
        self.sum(name, |series| {
            let mut samples = series.at_s.iter().zip(&series.values).rev();
            let last = samples.find(|(at, _)| **at <= end_s);
            last.map(|(_, value)| *value)
        })
    }

    /// The lowest bound in microseconds that this share of requests did not exceed, from counters
    /// such as `read_le_10us` next to `reads`. `None` if there were no requests, or too many
    /// exceeded the highest bound.
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

    /// Mean time of each counted item, microseconds; `None` if nothing was counted.
    pub(crate) fn mean_us(&self, seconds: &str, count: &str) -> Option<f64> {
        let (seconds, count) = (self.rate(seconds)?, self.rate(count)?);
        (count > 0.0).then(|| seconds * 1e6 / count)
    }
}

#[cfg(test)]
mod tests;
