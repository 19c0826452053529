//! The points of a study as the published studies show them: workloads, and in each a grid of
//! systems and client counts with combined repeats.

use crate::{
    Data,
    axis::{self, Axis, Step},
    compared::{Comparisons, peaks},
    grid_cell::{GridCell, SpreadPeak},
    grid_name::{GridName, Rates},
    style::{self, SystemStyle},
};
use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};
use tailmark_model::{
    Arrivals, Fact, Fault, Kind, KindResult, LatencyAxis, Metric, MoneyBasis, Point, PointName,
    ReportSettings, STATISTICS, Statistic, System, TimeBasis, number,
};
use tailmark_stats::Comparison;

/// All points, by workload.
#[derive(Debug)]
pub struct SweepTable<'a> {
    /// The systems that are compared, in the order of the plan.
    pub systems: Vec<&'a System>,
    /// The systems that measure the ceiling of another.
    pub ceilings: Vec<&'a System>,
    /// One for each workload, distribution and rate, in the order measured, by client count.
    pub groups: Vec<WorkloadGrid<'a>>,
    /// One for each workload and distribution that was offered several rates, by rate. They are no
    /// sweep of clients and have no peak.
    pub rate_groups: Vec<WorkloadGrid<'a>>,
    /// What it was arranged from.
    pub data: &'a Data,
    /// The comparisons of the systems.
    pub comparisons: &'a Comparisons,
    /// The report settings.
    pub settings: ReportSettings,
    /// The leading system, once known.
    pub leader: OnceCell<Option<usize>>,
}

/// The points of one workload, distribution and rate.
#[derive(Debug)]
pub struct WorkloadGrid<'a> {
    /// Unique in the report.
    pub anchor: String,
    identity: Vec<String>,
    /// The workload's name.
    pub workload: String,
    /// The workload in words.
    pub title: String,
    /// The distribution of keys.
    pub distribution: String,
    /// The distribution of keys, and the rate, in words.
    pub conditions: String,
    /// The use case of the workload in a few words, if the study has one.
    pub use_case: Option<String>,
    /// The axis of the steps.
    pub axis: Axis,
    /// Operations per second over all clients; `None` for a closed loop, or several rates.
    pub rate: Option<f64>,
    /// How operations arrive at a fixed rate, if known.
    pub arrivals: Option<Arrivals>,
    /// Its clients, on an axis of rates where others of the workload have more or fewer.
    pub clients: Option<String>,
    /// The kinds of request that background clients alone send.
    pub background: BTreeSet<Kind>,
    /// Client counts or rates, ascending.
    pub steps: Vec<Step>,
    cells: BTreeMap<(&'a str, Step), GridCell<'a>>,
}

impl<'a> SweepTable<'a> {
    /// Arranges the points of `data`.
    #[must_use]
    pub fn new(data: &'a Data) -> Self {
        let (systems, ceilings) = data.systems_and_ceilings();
        let rates = Rates::from_data(data);
        let mut groups: Vec<WorkloadGrid<'a>> = Vec::new();
        for point in &data.points {
            let name = GridName::new(point, &rates);
            let index = groups
                .iter()
                .position(|g| g.identity == name.identity)
                .unwrap_or_else(|| {
                    groups.push(WorkloadGrid::named(name, point));
                    groups.len() - 1
                });
            groups[index].add(point, data.fault(point));
        }
        tell_apart(&mut groups);
        let settings = data.report_settings();
        for group in &mut groups {
            let plans = data.headers.iter().map(|own| &own.settings.background);
            let background = plans.filter_map(|own| own.get(&group.workload));
            group.background = background.flatten().copied().collect();
            let own = settings.use_cases.get(&group.workload).cloned();
            group.use_case = own.or_else(|| use_case(data, &group.workload));
        }
        let by_clients = |group: &WorkloadGrid<'_>| group.axis == Axis::Threads;
        let (groups, rate_groups) = groups.into_iter().partition(by_clients);
        Self {
            systems,
            ceilings,
            groups,
            rate_groups,
            data,
            comparisons: data.comparisons(),
            settings,
            leader: OnceCell::new(),
        }
    }

    /// Whether latencies are drawn from 0 at first.
    #[must_use]
    pub fn is_linear(&self) -> bool {
        self.settings.latency_axis == Some(LatencyAxis::Linear)
    }

    /// The subject that the report names, if that system is there.
    #[must_use]
    pub fn named_subject(&self) -> Option<&'a str> {
        self.named(self.settings.subject.as_deref())
    }

    fn named(&self, name: Option<&str>) -> Option<&'a str> {
        let named = self
            .systems
            .iter()
            .find(|system| Some(&*system.name) == name);
        named.map(|system| system.name.as_str())
    }

    /// The system that every other one is compared with, if one is named and present.
    #[must_use]
    pub fn baseline(&self) -> Option<&'a str> {
        self.named(self.settings.baseline.as_deref())
    }

    /// Whether a peak is known as a lower bound only.
    #[must_use]
    pub fn has_peaks_at_least(&self) -> bool {
        let peaks = self.groups.iter().flat_map(|group| {
            let systems = self.systems.iter();
            systems.filter_map(|system| group.peak(&system.name))
        });
        peaks.into_iter().any(|peak| peak.is_at_least)
    }

    /// The stated latency of a workload: the report's, applied to its main kind if it has no
    /// requests of the given kind. Without a setting, the 99th percentile if every point has it,
    /// otherwise the mean, or else the highest quantile that any point has.
    #[must_use]
    pub fn latency(&self, group: &WorkloadGrid<'a>) -> Option<(Kind, Statistic)> {
        let main = group.main_kind()?;
        if let Some((kind, statistic)) = self.settings.metric.and_then(Metric::latency) {
            let is_there = group.kinds().contains(&kind);
            return Some((if is_there { kind } else { main }, statistic));
        }
        let has = |statistic: Statistic, cell: &GridCell<'_>| {
            let known = cell.latency(main, TimeBasis::Response, statistic);
            known.is_some()
        };
        let systems = self.systems.iter();
        let cells = || {
            systems
                .clone()
                .flat_map(|system| group.cells_of(&system.name))
        };
        // Published figures may have but one.
        let others = [Statistic::MEAN]
            .into_iter()
            .chain(STATISTICS.into_iter().rev());
        let statistic = if cells().all(|cell| has(Statistic::P99, cell)) {
            Some(Statistic::P99)
        } else {
            let mut others = others;
            others.find(|statistic| cells().any(|cell| has(*statistic, cell)))
        };
        Some((main, statistic.unwrap_or(Statistic::MEAN)))
    }

    /// The same as a compared metric.
    #[must_use]
    pub fn latency_metric(&self, group: &WorkloadGrid<'a>) -> Option<Metric> {
        let (kind, statistic) = self.latency(group)?;
        Some(Metric::from_latency(kind, statistic))
    }

    /// The stated metric of a workload besides operations per second: the report's metric if any
    /// point has it, or a latency.
    #[must_use]
    pub fn metric(&self, group: &WorkloadGrid<'a>) -> Option<Metric> {
        let figure = self
            .settings
            .metric
            .filter(|metric| metric.latency().is_none() && self.has(group, *metric));
        figure.or_else(|| self.latency_metric(group))
    }

    /// The compared metrics in the tables of a workload besides operations per second: its metric,
    /// and its tail.
    pub fn compared(&self, group: &WorkloadGrid<'a>) -> impl Iterator<Item = Metric> {
        let (metric, latency) = (self.metric(group), self.latency(group));
        let tail = latency.map(|(kind, _)| Metric::from_latency(kind, Statistic::P9999));
        let both = metric
            .into_iter()
            .chain(tail.filter(|tail| metric != Some(*tail)));
        // What no system has anywhere would be a column of dashes.
        both.filter(|of_table| self.has(group, *of_table))
    }

    /// Whether any system has a value of a metric at any step.
    fn has(&self, group: &WorkloadGrid<'a>, metric: Metric) -> bool {
        let systems = self.systems.iter();
        let mut cells = systems.flat_map(|system| group.cells_of(&system.name));
        cells.any(|cell| cell.value(metric).is_some())
    }

    /// All groups: those by client count, then those by rate.
    pub fn all_groups(&self) -> impl Iterator<Item = &WorkloadGrid<'a>> {
        self.groups.iter().chain(&self.rate_groups)
    }

    /// The appearance of a system. A ceiling has none of its own. A named subject has the first.
    #[must_use]
    pub fn look(&self, system: &str) -> Option<SystemStyle> {
        let place = |name: &str| self.systems.iter().position(|s| s.name == name);
        let own = place(system)?;
        let index = match self.named_subject().and_then(place) {
            Some(subject) if own == subject => 0,
            Some(subject) if own < subject => own + 1,
            _ => own,
        };
        let look = style::look(index);
        let named = self.settings.colors.get(system);
        let color = named.and_then(|name| style::color(name));
        Some(SystemStyle {
            color: color.unwrap_or(look.color),
            ..look
        })
    }

    /// The currency of a system's figures of money; empty without any.
    #[must_use]
    pub fn currency(&self, system: &str) -> &'a str {
        let own = self
            .data
            .points
            .iter()
            .filter(|point| point.key.system == system);
        let mut known = own.map(|point| point.phase.money.currency.as_str());
        known.find(|currency| !currency.is_empty()).unwrap_or("")
    }

    /// What the energy in a system's costs covers, of each point.
    fn energy_of(&self, system: &str) -> BTreeSet<&'a str> {
        let points = self.data.points.iter();
        let own = points.filter(|point| point.key.system == system);
        let known = own.filter(|point| point.phase.figure("cost_of_ownership").is_some());
        let parts = known.map(|point| point.phase.money.energy_of.as_str());
        parts.collect()
    }

    /// Why money of two systems has no comparison: `prices in EUR and USD`. `None` if money is not
    /// the reason.
    #[must_use]
    pub fn unlike_money(&self, metric: Metric, pair: (&str, &str)) -> Option<String> {
        let (a, b) = (self.currency(pair.0), self.currency(pair.1));
        if !metric.is_money() || a.is_empty() || b.is_empty() {
            return None;
        }
        if a != b {
            return Some(format!("prices in {a} and {b}"));
        }
        let energy = [pair.0, pair.1].map(|system| self.energy_of(system));
        let all: BTreeSet<&str> = energy.iter().flatten().copied().collect();
        let is_unlike = metric.includes_energy() && all.len() > 1;
        (is_unlike && !all.contains(MoneyBasis::RENT)).then(|| {
            let [one, other] = energy.map(energy_in_words);
            format!("energy of {one} and of {other}")
        })
    }

    /// The colour of a system or a ceiling.
    #[must_use]
    pub fn color(&self, system: &str) -> &'static str {
        self.look(system).map_or(style::CEILING, |l| l.color)
    }

    /// The most repeats of any point.
    #[must_use]
    pub fn repeats(&self) -> usize {
        self.fewest_and_most_repeats().map_or(0, |(_, most)| most)
    }

    /// The repeats of the points with the fewest and the most.
    #[must_use]
    pub fn fewest_and_most_repeats(&self) -> Option<(usize, usize)> {
        let sizes = || self.all_groups().flat_map(WorkloadGrid::cell_sizes);
        sizes().min().zip(sizes().max())
    }
}

/// What energy covers, in words: `server`, `devices or server`.
pub fn energy_in_words<'e>(parts: impl IntoIterator<Item = &'e str>) -> String {
    let name = |part: &'e str| if part.is_empty() { "nothing" } else { part };
    let names: Vec<&str> = parts.into_iter().map(name).collect();
    names.join(" or ")
}

/// The use case of a workload in the study.
fn use_case(data: &Data, workload: &str) -> Option<String> {
    let is_it = |fact: &&Fact| fact.group == Fact::USE_CASE && fact.name == workload;
    let fact = data.facts.iter().find(is_it)?;
    Some(fact.value.clone())
}

/// Adds the distribution to titles that several groups share, and the name to those that are still
/// equal; numbers their anchors.
fn tell_apart(groups: &mut [WorkloadGrid<'_>]) {
    type Part = for<'g, 'a> fn(&'g WorkloadGrid<'a>) -> &'g str;
    let ways: [Part; 2] = [|group| &group.distribution, |group| &group.workload];
    for by in ways {
        let titles: Vec<String> = groups
            .iter()
            .map(WorkloadGrid::title_with_conditions)
            .collect();
        for (group, own) in groups.iter_mut().zip(&titles) {
            if titles.iter().filter(|t| *t == own).count() > 1 {
                group.title = format!("{}, {}", group.title, by(group));
            }
        }
    }
    let mut taken = BTreeSet::new();
    for group in groups {
        let own = group.anchor.clone();
        let numbered = (2..).map(|n: u32| format!("{own}-{n}"));
        let mut all = std::iter::once(own.clone()).chain(numbered);
        let free = all.find(|anchor| taken.insert(anchor.clone()));
        group.anchor = free.expect("there are more numbers than grids");
    }
}

impl Comparisons {
    /// How `a` compares with `b` at a step of a grid, as in [`Self::find`].
    pub fn at(
        &self,
        group: &WorkloadGrid<'_>,
        step: Step,
        metric: Metric,
        (a, b): (&str, &str),
    ) -> Option<Comparison> {
        let (workload, distribution) = (&group.workload, &group.distribution);
        let rate = step.rate.or(group.rate);
        let point = PointName::new(workload, distribution, step.threads, rate, group.arrivals);
        self.find(&point, metric, (a, b))
    }

    /// How the peaks of both compare in a closed loop.
    pub fn at_peak(&self, group: &WorkloadGrid<'_>, pair: (&str, &str)) -> Option<Comparison> {
        if group.has_peaks() {
            let point = peaks(&group.workload, &group.distribution);
            self.find(&point, Metric::OPS_PER_SEC, pair)
        } else {
            None
        }
    }
}

impl<'a> WorkloadGrid<'a> {
    fn named(name: GridName, point: &Point) -> Self {
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

    fn add(&mut self, point: &'a Point, fault: Option<Fault>) {
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
