//! The points of a study as the published studies show them: workloads, and in each a grid of
//! systems and client counts with combined repeats.

mod grid;
mod money;

use crate::{
    Data,
    axis::{Axis, Step},
    compared::{Comparisons, peaks},
    grid_cell::GridCell,
    grid_name::{GridName, Rates},
    style::{self, SystemStyle},
};
pub use money::energy_in_words;
use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};
use tailmark_model::{
    Arrivals, Color, Fact, Kind, LatencyAxis, Metric, PointName, ReportSettings, STATISTICS,
    Statistic, System, TimeBasis,
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

    /// Whether values of a metric rest on few samples, and whether those are marked: not if all do.
    #[must_use]
    pub fn few_samples(&self, group: &WorkloadGrid<'a>, metric: Metric) -> (bool, bool) {
        let systems = self.systems.iter();
        let cells = systems.flat_map(|system| group.cells_of(&system.name));
        let values = cells.filter_map(|cell| cell.value(metric));
        let all: Vec<bool> = values.map(|value| value.solid).collect();
        let has_few = all.contains(&false);
        (has_few, has_few && all.contains(&true))
    }

    /// Whether latencies are drawn from 0 at first.
    #[must_use]
    pub fn is_linear(&self) -> bool {
        self.settings.latency_axis == Some(LatencyAxis::Linear)
    }

    /// Whether these latencies are drawn from 0 on paper: unless the report says otherwise, if they
    /// are close enough to each other that the lowest can be told from 0.
    #[must_use]
    pub fn is_linear_on_paper(&self, values: &[f64]) -> bool {
        const SPAN: f64 = 30.0;
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        match self.settings.latency_axis {
            Some(chosen) => chosen == LatencyAxis::Linear,
            None => high <= SPAN * low,
        }
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
        let subject = self.named_subject().and_then(place);
        let look = |own: usize| {
            style::look(match subject {
                Some(subject) if own == subject => 0,
                Some(subject) if own < subject => own + 1,
                _ => own,
            })
        };
        let own = look(place(system)?);
        let chosen = |name: &str| style::color(self.settings.colors.get(name)?);
        if let Some(color) = chosen(system) {
            return Some(SystemStyle { color, ..own });
        }
        // A chosen colour is no longer that of another: whoever had it gets one that no system has.
        let mut used: Vec<&str> = self
            .systems
            .iter()
            .filter_map(|s| chosen(&s.name))
            .collect();
        let mut without = Vec::new();
        for (i, other) in self.systems.iter().enumerate() {
            if chosen(&other.name).is_some() {
            } else if used.contains(&look(i).color) {
                without.push(other.name.as_str());
            } else {
                used.push(look(i).color);
            }
        }
        let nth = without.iter().position(|name| *name == system);
        let mut free = (0..).map(style::look).take(Color::ALL.len());
        let color = nth.and_then(|nth| free.by_ref().filter(|l| !used.contains(&l.color)).nth(nth));
        Some(SystemStyle {
            color: color.map_or(own.color, |other| other.color),
            ..own
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
