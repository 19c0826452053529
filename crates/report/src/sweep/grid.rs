//! The points of one workload: their values at each step, and the peaks.

use super::WorkloadGrid;
use crate::{
    axis::{self, Axis, Step},
    grid_cell::{GridCell, SpreadPeak},
    grid_name::GridName,
};
use std::collections::{BTreeMap, BTreeSet};
use tailmark_model::{Fault, Kind, KindResult, Point, TimeBasis, number};

impl<'a> WorkloadGrid<'a> {
    pub(super) fn named(name: GridName, point: &Point) -> Self {
        let by_clients = name.axis == Axis::Threads;
        Self {
            anchor: name.anchor,
            identity: name.identity,
            workload: point.key.workload.clone(),
            title: name.title,
            distribution: point.key.distribution.clone(),
            conditions: name.conditions,
            use_case: None,
            axis: name.axis,
            rate: point.key.target_rate.filter(|_| by_clients),
            arrivals: point.key.arrivals,
            clients: name.clients,
            background: BTreeSet::new(),
            steps: Vec::new(),
            cells: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, point: &'a Point, fault: Option<Fault>) {
        let step = self.axis.step(&point.key);
        // A peak at an unknown thread count is a peak, and at no place of the axis.
        match self.steps.binary_search(&step) {
            Err(at) if !point.key.is_peak() => self.steps.insert(at, step),
            _ => {}
        }
        let cell = self.cells.entry((&point.key.system, step));
        let cell = cell.or_insert_with(|| GridCell {
            step,
            points: Vec::new(),
            fault: None,
        });
        cell.points.push(point);
        // Of several runs in which operations failed, the most of one.
        cell.fault = match (cell.fault, fault) {
            (Some(Fault::Failed(one)), Some(Fault::Failed(other))) => {
                Some(Fault::Failed(one.max(other)))
            }
            (known, other) => known.or(other),
        };
    }

    /// The title, and the rates if there are any.
    #[must_use]
    pub fn title_with_conditions(&self) -> String {
        let title = match (self.axis, self.rate) {
            (Axis::Rates, _) => {
                let clients = self.clients.as_ref();
                let clients = clients.map_or_else(String::new, |n| format!(" with {n}"));
                format!("{} at fixed rates{clients}", self.title)
            }
            (Axis::Threads, None) => self.title.clone(),
            (Axis::Threads, Some(rate)) => {
                format!("{} at {} ops/s", self.title, number::rate(rate))
            }
        };
        match self.arrivals {
            None => title,
            Some(arrivals) => format!("{title} ({})", axis::arrivals(arrivals)),
        }
    }

    /// The cell of a system at a step, if it was measured and is valid.
    #[must_use]
    pub fn valid_cell(&self, system: &'a str, step: Step) -> Option<&GridCell<'a>> {
        self.cell(system, step).filter(|cell| cell.fault.is_none())
    }

    /// The cell of a system at a step, if it was measured.
    #[must_use]
    pub fn cell(&self, system: &'a str, step: Step) -> Option<&GridCell<'a>> {
        self.cells.get(&(system, step))
    }

    /// The cells of a system in the order of steps.
    pub fn cells_of(&self, system: &'a str) -> impl Iterator<Item = &GridCell<'a>> {
        self.cells
            .range((system, Step::FIRST)..=(system, Step::LAST))
            .map(|(_, cell)| cell)
    }

    /// Whether a system has a cell at a step, or most of the others have, so that it lacks one.
    #[must_use]
    pub fn is_expected(&self, system: &'a str, step: Step) -> bool {
        let all: BTreeSet<&str> = self.cells.keys().map(|(name, _)| *name).collect();
        let others = all.iter().filter(|name| **name != system);
        let with = others
            .clone()
            .filter(|name| self.cells.contains_key(&(**name, step)));
        self.cell(system, step).is_some() || 2 * with.count() > others.count()
    }

    /// Whether the system was measured here.
    #[must_use]
    pub fn has(&self, system: &'a str) -> bool {
        self.cells_of(system).next().is_some()
    }

    /// Whether it is a sweep of clients in a closed loop. At a fixed rate the offered rate is the
    /// limit, and no peak is compared.
    #[must_use]
    pub fn has_peaks(&self) -> bool {
        self.axis == Axis::Threads && self.rate.is_none()
    }

    /// The peak of a system, if it was measured. Of equal peaks, the one with fewer clients.
    /// Invalid points are excluded, and so are points at several rates, because the offered rate is
    /// the limit there.
    #[must_use]
    pub fn peak(&self, system: &'a str) -> Option<SpreadPeak> {
        if self.axis == Axis::Rates {
            return None;
        }
        let cells = self.cells_of(system);
        let counts: Vec<_> = cells.filter(|cell| cell.fault.is_none()).collect();
        let mut highest: Option<(&GridCell<'_>, f64)> = None;
        for &cell in &counts {
            let Some(ops) = cell.ops() else { continue };
            if highest.is_none_or(|(_, most)| ops.middle > most) {
                highest = Some((cell, ops.middle));
            }
        }
        SpreadPeak::new(highest?.0, &counts)
    }

    /// The mean over all runs at the thread count of a system's peak, if the peak is lower: corrected for
    /// having been chosen.
    #[must_use]
    pub fn mean_above_peak(&self, system: &'a str) -> Option<f64> {
        let peak = self.peak(system)?;
        let mut cells = self.cells_of(system);
        let cell = cells.find(|cell| cell.step.threads == peak.threads)?;
        let mean = cell.ops()?.middle;
        let [low, high] = [peak.ops.middle, mean].map(number::rate);
        (mean > peak.ops.middle && low != high).then_some(mean)
    }

    /// The number of runs of each cell.
    pub fn cell_sizes(&self) -> impl Iterator<Item = usize> {
        self.cells.values().map(|cell| cell.points.len())
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

    /// The kind that stands for the workload: the first in the order of reports that is at least a tenth
    /// of its requests. What background clients or a few inserts do is not what it is about.
    #[must_use]
    pub fn main_kind(&self) -> Option<Kind> {
        let mut counts: BTreeMap<Kind, u64> = BTreeMap::new();
        let kinds = self.points().flat_map(|point| &point.phase.kinds);
        for (kind, result) in kinds.filter(|(kind, _)| !self.background.contains(kind)) {
            *counts.entry(*kind).or_default() += result.count;
        }
        let most = counts.values().copied().max()?;
        let all: u64 = counts.values().sum();
        let is_main = |count: u64| count == most || count.saturating_mul(10) >= all;
        let mut main = counts.iter().filter(|(_, count)| is_main(**count));
        main.next().map(|(kind, _)| *kind)
    }

    /// Whether response time differs from service time anywhere.
    #[must_use]
    pub fn has_response(&self) -> bool {
        self.points()
            .any(|p| p.phase.kinds.values().any(KindResult::has_response))
    }

    /// The clocks of its latencies: one if response time is service time everywhere.
    #[must_use]
    pub fn clocks(&self) -> &'static [TimeBasis] {
        if self.has_response() {
            &TimeBasis::ALL
        } else {
            &TimeBasis::ALL[..1]
        }
    }

    /// All points of the group.
    pub fn points(&self) -> impl Iterator<Item = &'a Point> {
        self.cells.values().flat_map(|c| c.points.iter().copied())
    }
}
