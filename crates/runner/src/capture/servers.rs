//! Samples from the host of a server during a phase. The host sends them with its own instants,
//! which are converted to the clock of the intervals.
//!
//! Subjects distinguish its series from those of this machine (`machine on server db1`).

use super::{Recorded, Watched};
use crate::{counters::Counters, error::in_one_line};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};
use tailmark_machine::probe::{PROBES, Reading};
use tailmark_model::{SERVER_CLOCK, Series, SeriesKind, subject_on_server};
use tailmark_remote::agent::protocol::WatchRequest;
use tailmark_remote::{Received, Server, own_ns};

/// The probe of this process, which on another machine would be the agent.
const OWN_PROCESS: &str = "process";

/// The samples of one host.
#[derive(Debug)]
pub(super) struct FromServer {
    server: Arc<Server>,
    recorded: BTreeMap<String, OfProbe>,
    began_ns: u64,
    /// An instant of this machine's clock, and the same on the clock of the intervals.
    at: (u64, f64),
}

/// The samples of one probe there.
#[derive(Debug)]
struct OfProbe {
    recorded: Recorded,
    /// How many samples have arrived. Not all of them are kept.
    seen: u64,
    counters: Counters,
}

impl FromServer {
    /// Starts sampling of what is watched there. If that is impossible, it says why.
    pub fn open(
        server: &Arc<Server>,
        watched: &Watched,
        system: &str,
        not_sampled: &mut Vec<String>,
    ) -> Option<Self> {
        // Known and reported from the start.
        if server.without_agent().is_some() {
            return None;
        }
        let rows = PROBES.iter().filter(|row| row.name != OWN_PROCESS);
        let rows = rows.filter(|row| watched.has(row.name, row.is_default));
        let watch = WatchRequest {
            system: system.to_owned(),
            places: watched.server_places.iter().map(PathBuf::from).collect(),
            hosts: any_address(&watched.hosts),
            probes: rows.map(|row| row.name.to_owned()).collect(),
        };
        if watch.probes.is_empty() {
            return None;
        }
        let began_ns = own_ns();
        match server.watch(watch) {
            Ok(refused) => {
                let there = |why: String| format!("{why}, on server {}", server.name());
                not_sampled.extend(refused.into_iter().map(there));
            }
            // A connection that comes back delivers samples again; until then there is a gap.
            Err(error) if error.may_pass() => {}
            Err(error) => {
                let (why, name) = (in_one_line(&error), server.name());
                not_sampled.push(format!("probes on server {name}: {why}"));
                return None;
            }
        }
        Some(Self {
            server: Arc::clone(server),
            recorded: BTreeMap::new(),
            began_ns,
            at: (began_ns, 0.0),
        })
    }

    /// Takes samples that have arrived. If `now` is set, everything is sampled first.
    pub fn sample(&mut self, now_s: &dyn Fn() -> f64, now: bool, not_sampled: &mut Vec<String>) {
        if now {
            // A lost connection leaves a gap, which a finding reports.
            let _ = self.server.sample();
        }
        self.at = (own_ns(), now_s());
        for why in self.take(u64::MAX) {
            if !not_sampled.contains(&why) {
                not_sampled.push(why);
            }
        }
    }

    /// Takes samples up to an instant of this machine's clock. Returns what could not be sampled.
    fn take(&mut self, until_ns: u64) -> Vec<String> {
        let (received, refused) = self.server.take();
        for sample in received.chunk_by(|a, b| a.probe == b.probe && a.at_ns == b.at_ns) {
            if sample[0].at_ns <= until_ns {
                self.add(sample);
            }
        }
        let there = |why| format!("{why}, on server {}", self.server.name());
        refused.into_iter().map(there).collect()
    }

    /// Adds the values of one sample.
    fn add(&mut self, sample: &[Received]) {
        let Some(row) = PROBES.iter().find(|row| row.name == sample[0].probe) else {
            return;
        };
        let at_s = self.at_s(sample[0].at_ns);
        let of_probe = self.recorded.entry(row.name.to_owned());
        let of_probe = of_probe.or_insert_with(|| OfProbe {
            recorded: Recorded::new(row.name),
            seen: 0,
            counters: Counters::default(),
        });
        let readings = sample.iter().map(|value| Reading {
            subject: subject_on_server(&value.subject, self.server.name()),
            name: value.name.clone(),
            kind: value.kind,
            value: value.value,
        });
        let mut readings: Vec<Reading> = readings.collect();
        // Also for a sample that is not kept.
        of_probe.counters.go_on(&mut readings);
        of_probe.seen += 1;
        if (of_probe.seen - 1).is_multiple_of(of_probe.recorded.stride) {
            of_probe.recorded.add_all(at_s, readings);
        }
    }

    /// An instant of this machine's clock on that of the intervals.
    fn at_s(&self, at_ns: u64) -> f64 {
        let (own_ns, now_s) = self.at;
        now_s + (at_ns as f64 - own_ns as f64) / 1e9
    }

    /// The samples so far.
    pub fn series_so_far(&self) -> impl Iterator<Item = Series> {
        let recorded = self.recorded.values();
        let recorded = recorded.flat_map(|of_probe| &of_probe.recorded.series);
        let clock = clock_unknown(self.server.name());
        recorded.cloned().chain([clock])
    }

    /// The samples, and the measurements of the clock there.
    pub fn into_series(mut self) -> Vec<Series> {
        self.server.rest();
        // It arrived late, but was sampled before the end.
        self.take(self.at.0);
        let clocks = self.server.clocks_since(self.began_ns);
        let clock = |name: &str, value: fn(&tailmark_remote::Clock) -> f64| Series {
            name: name.to_owned(),
            at_s: clocks.iter().map(|clock| self.at_s(clock.at_ns)).collect(),
            values: clocks.iter().map(value).collect(),
            ..clock_unknown(self.server.name())
        };
        let mut all = vec![
            clock("bound_s", |clock| clock.bound_s),
            clock("offset_s", |clock| clock.offset_s),
        ];
        let recorded = self.recorded.into_values();
        all.extend(recorded.flat_map(|of_probe| of_probe.recorded.series));
        all
    }
}

/// The ports of contact points, each on any address. The host does not know which of them lead to
/// it, or whether any does, and names are not looked up there.
fn any_address(contact_points: &[String]) -> Vec<String> {
    let ports = contact_points
        .iter()
        .filter_map(|point| point.rsplit_once(':')?.1.parse::<u16>().ok());
    let ports: BTreeSet<u16> = ports.collect();
    ports.iter().map(|port| format!("0.0.0.0:{port}")).collect()
}

/// Of a host nothing but that it is one of the server's: no sum over its hosts is whole without it.
pub(super) fn clock_unknown(server: &str) -> Series {
    Series {
        probe: SERVER_CLOCK.to_owned(),
        subject: subject_on_server("clock", server),
        name: "offset_s".to_owned(),
        kind: SeriesKind::Gauge,
        at_s: Vec::new(),
        values: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_looks_for_the_ports_of_contact_points_and_not_for_their_addresses() {
        let points = ["db1:9042", "10.0.0.5:9042", "[fe80::1]:9043", "db2"];
        let points = points.map(str::to_owned);
        assert_eq!(any_address(&points), ["0.0.0.0:9042", "0.0.0.0:9043"]);
    }
}
