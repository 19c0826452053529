//! The points of a study as the studies look at them: workloads, and in each a grid of systems
//! and client counts whose repeats are taken together.

use crate::{
    Data,
    block::anchor,
    measure::{Measured, Spread, Statistic, TimeBasis},
    style::{self, SystemStyle},
};
use std::collections::{BTreeMap, BTreeSet};
use tailmark_results::{Fault, Kind, KindResult, Point, System, number};

/// All points, by workload.
#[derive(Debug)]
pub struct SweepTable<'a> {
    /// The systems that are compared, in the order of the plan.
    pub systems: Vec<&'a System>,
    /// The systems that measure the ceiling of another.
    pub ceilings: Vec<&'a System>,
    /// One for each workload, distribution and rate, in the order measured.
    pub groups: Vec<WorkloadGrid<'a>>,
    /// The part of a point's operations that may fail, 0 to 1.
    pub allow_errors: f64,
}

/// The points of one workload, distribution and rate.
#[derive(Debug)]
pub struct WorkloadGrid<'a> {
    /// Unique in the report.
    pub anchor: String,
    /// The workload in words.
    pub title: String,
    /// How keys are drawn.
    pub distribution: String,
    /// How keys are drawn, and the rate, in words.
    pub conditions: String,
    /// Operations per second over all clients; none: a closed loop.
    pub rate: Option<f64>,
    /// Client counts, ascending.
    pub threads: Vec<u32>,
    cells: BTreeMap<(&'a str, u32), GridCell<'a>>,
}

/// The repeats of one point.
#[derive(Debug)]
pub struct GridCell<'a> {
    /// Client count.
    pub threads: u32,
    /// One for each repeat.
    pub points: Vec<&'a Point>,
    /// Why it is no peak and in no comparison, where one of the repeats is not valid.
    pub fault: Option<Fault>,
}

/// The highest ops/s over all client counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpreadPeak {
    /// Where it is.
    pub threads: u32,
    /// Operations per second.
    pub ops: Spread,
}

impl<'a> SweepTable<'a> {
    /// Arranges the points of `data`.
    #[must_use]
    pub fn new(data: &'a Data) -> Self {
        let is_ceiling = |s: &&System| s.ceiling_for.is_some();
        let (ceilings, systems): (Vec<_>, Vec<_>) = data.systems.iter().partition(is_ceiling);
        let (systems, ceilings) = if systems.is_empty() {
            (ceilings, systems)
        } else {
            (systems, ceilings)
        };
        let allow_errors = data.allow_errors();
        let mut groups: Vec<WorkloadGrid<'a>> = Vec::new();
        for point in &data.points {
            let name = GridName::of(point);
            let index = groups
                .iter()
                .position(|g| g.anchor == name.anchor)
                .unwrap_or_else(|| {
                    groups.push(name.into_grid(point));
                    groups.len() - 1
                });
            groups[index].add(point, point.phase.fault(allow_errors));
        }
        tell_apart(&mut groups);
        Self {
            systems,
            ceilings,
            groups,
            allow_errors,
        }
    }

    /// How a system looks; a ceiling has no look of its own.
    #[must_use]
    pub fn look(&self, system: &str) -> Option<SystemStyle> {
        self.systems
            .iter()
            .position(|s| s.name == system)
            .map(style::look)
    }

    /// The colour of a system or a ceiling.
    #[must_use]
    pub fn color(&self, system: &str) -> &'static str {
        self.look(system).map_or(style::CEILING, |l| l.color)
    }

    /// The most repeats of any point.
    #[must_use]
    pub fn repeats(&self) -> usize {
        let cells = self.groups.iter().flat_map(|g| g.cells.values());
        cells.map(|c| c.points.len()).max().unwrap_or(0)
    }
}

/// Adds the distribution to titles that several groups of one rate share.
fn tell_apart(groups: &mut [WorkloadGrid<'_>]) {
    let titles: Vec<(String, Option<f64>)> =
        groups.iter().map(|g| (g.title.clone(), g.rate)).collect();
    for (group, own) in groups.iter_mut().zip(&titles) {
        if titles.iter().filter(|t| *t == own).count() > 1 {
            group.title = format!("{}, {}", group.title, group.distribution);
        }
    }
}

struct GridName {
    anchor: String,
    title: String,
    conditions: String,
}

impl GridName {
    fn of(point: &Point) -> Self {
        let key = &point.key;
        let rate = key.target_rate.map(number::ops);
        let mut parts = vec!["workload", &key.workload, &key.distribution];
        parts.extend(rate.as_deref());
        let anchor = anchor(&parts);
        let conditions = match &rate {
            None => format!("{} keys", key.distribution),
            Some(rate) => format!("{} keys, at a fixed rate of {rate}", key.distribution),
        };
        Self {
            anchor,
            title: workload_title(&key.workload),
            conditions,
        }
    }

    fn into_grid<'a>(self, point: &Point) -> WorkloadGrid<'a> {
        WorkloadGrid {
            anchor: self.anchor,
            title: self.title,
            distribution: point.key.distribution.clone(),
            conditions: self.conditions,
            rate: point.key.target_rate,
            threads: Vec::new(),
            cells: BTreeMap::new(),
        }
    }
}

/// `ycsb-a` as people write it, `YCSB A`; other names as they are.
#[must_use]
pub fn workload_title(name: &str) -> String {
    match name.strip_prefix("ycsb-") {
        None => name.to_owned(),
        Some(rest) => {
            let mut words = rest.splitn(2, '-');
            let letter = words.next().unwrap_or_default().to_uppercase();
            words.next().map_or_else(
                || format!("YCSB {letter}"),
                |more| format!("YCSB {letter} {}", more.replace('-', " ")),
            )
        }
    }
}

impl<'a> WorkloadGrid<'a> {
    fn add(&mut self, point: &'a Point, fault: Option<Fault>) {
        let threads = point.key.threads;
        if let Err(at) = self.threads.binary_search(&threads) {
            self.threads.insert(at, threads);
        }
        let cell = self.cells.entry((&point.key.system, threads));
        let cell = cell.or_insert_with(|| GridCell {
            threads,
            points: Vec::new(),
            fault: None,
        });
        cell.points.push(point);
        cell.fault = cell.fault.or(fault);
    }

    /// The title, and the rate where there is one.
    #[must_use]
    pub fn title_with_conditions(&self) -> String {
        match self.rate {
            None => self.title.clone(),
            Some(rate) => format!("{} at {} ops/s", self.title, number::rate(rate)),
        }
    }

    /// The cell of a system at a client count, where it was measured and is valid.
    #[must_use]
    pub fn valid_cell(&self, system: &'a str, threads: u32) -> Option<&GridCell<'a>> {
        self.cell(system, threads)
            .filter(|cell| cell.fault.is_none())
    }

    /// The cell of a system at a client count, where it was measured.
    #[must_use]
    pub fn cell(&self, system: &'a str, threads: u32) -> Option<&GridCell<'a>> {
        self.cells.get(&(system, threads))
    }

    /// The cells of a system by ascending client count.
    pub fn cells_of(&self, system: &'a str) -> impl Iterator<Item = &GridCell<'a>> {
        self.cells
            .range((system, 0)..=(system, u32::MAX))
            .map(|(_, cell)| cell)
    }

    /// Whether the system was measured here.
    #[must_use]
    pub fn has(&self, system: &'a str) -> bool {
        self.cells_of(system).next().is_some()
    }

    /// The peak of a system, where it was measured. Of equal peaks, that of fewer clients. Points
    /// that are not valid are none.
    #[must_use]
    pub fn peak(&self, system: &'a str) -> Option<SpreadPeak> {
        let mut peak: Option<SpreadPeak> = None;
        for cell in self.cells_of(system).filter(|cell| cell.fault.is_none()) {
            let Some(ops) = cell.ops() else { continue };
            if peak.is_none_or(|p| ops.middle > p.ops.middle) {
                peak = Some(SpreadPeak {
                    threads: cell.threads,
                    ops,
                });
            }
        }
        peak
    }

    /// The kinds that were recorded, in the order of reports.
    #[must_use]
    pub fn kinds(&self) -> Vec<Kind> {
        let kinds: BTreeSet<Kind> = self
            .points()
            .flat_map(|p| p.phase.kinds.keys().copied())
            .collect();
        kinds.into_iter().collect()
    }

    /// The kind that stands for the workload: reads where there are any.
    #[must_use]
    pub fn main_kind(&self) -> Option<Kind> {
        self.kinds().first().copied()
    }

    /// Whether response time differs from service time anywhere.
    #[must_use]
    pub fn has_response(&self) -> bool {
        self.points()
            .any(|p| p.phase.kinds.values().any(KindResult::has_response))
    }

    /// All points of the group.
    pub fn points(&self) -> impl Iterator<Item = &'a Point> {
        self.cells.values().flat_map(|c| c.points.iter().copied())
    }

    /// The mix as it was measured: `95 % read, 5 % update`.
    #[must_use]
    pub fn mix(&self) -> String {
        let mut counts: BTreeMap<Kind, u64> = BTreeMap::new();
        for point in self.points() {
            for (kind, result) in &point.phase.kinds {
                *counts.entry(*kind).or_default() += result.count + result.errors;
            }
        }
        // The two halves of a read-modify-write are in the counts of reads and updates as well.
        let pairs = counts.get(&Kind::ReadModifyWrite).copied().unwrap_or(0);
        for half in [Kind::Read, Kind::Update] {
            if let Some(count) = counts.get_mut(&half) {
                *count = count.saturating_sub(pairs);
            }
        }
        let sum: u64 = counts.values().sum();
        let parts: Vec<String> = counts
            .iter()
            .map(|(kind, count)| (kind, *count as f64 / sum.max(1) as f64))
            .filter(|(_, share)| *share >= 0.005)
            .map(|(kind, share)| format!("{:.0} % {}", share * 100.0, kind.name()))
            .collect();
        parts.join(", ")
    }
}

impl GridCell<'_> {
    /// Operations per second over the repeats.
    #[must_use]
    pub fn ops(&self) -> Option<Spread> {
        Spread::of(self.points.iter().map(|p| p.phase.ops_per_sec()).collect())
    }

    /// A latency over the repeats; none where any of them has too few samples for it.
    #[must_use]
    pub fn latency(&self, kind: Kind, clock: TimeBasis, measure: Statistic) -> Option<Measured> {
        let mut values = Vec::with_capacity(self.points.len());
        let mut solid = true;
        for point in &self.points {
            let latencies = clock.of(point.phase.kinds.get(&kind)?);
            values.push(measure.of(latencies)?);
            solid &= measure.is_solid(latencies);
        }
        Measured::of(&values, solid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_titled_as_people_write_them() {
        for (name, title) in [
            ("ycsb-a", "YCSB A"),
            ("ycsb-d-uniform", "YCSB D uniform"),
            ("sessions", "sessions"),
        ] {
            assert_eq!(workload_title(name), title);
        }
    }
}
