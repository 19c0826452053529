//! What earlier studies show about the systems of a plan: the variation between runs of a point,
//! and the speed of points. The run's own study comes first, then the newest one beside it whose
//! system has the same settings.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use tailmark_model::{Metric, Point, PointName, ResolvedRate, System};
use tailmark_plan::{Plan, PlanPoint, SystemPlan};
use tailmark_stats::statistics;
use tailmark_study::Study;

/// The variation between runs of a point in an earlier study.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    /// The directory of the study.
    pub study: PathBuf,
    /// The standard deviation of the logarithm of a run's value, pooled over points with separate
    /// means: 0.02 is about 2 %.
    pub deviation: f64,
}

/// The speed of a point in a closed loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Speed {
    /// The workload's name.
    pub workload: String,
    /// How its keys were drawn.
    pub distribution: String,
    /// Clients.
    pub threads: u32,
    /// Operations per second, the mean of its valid runs.
    pub ops_per_sec: f64,
}

impl Speed {
    fn is_of_point(&self, other: &Self) -> bool {
        self.threads == other.threads
            && self.workload == other.workload
            && self.distribution == other.distribution
    }
}

/// Facts about a system from earlier studies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EarlierStudy {
    /// Of operations per second, over points in closed loops: at a rate they say nothing.
    pub ops_noise: Option<Noise>,
    /// Of the latency that the plan names.
    pub latency_noise: Option<Noise>,
    /// The speed of each point in the first study that has it.
    pub speeds: Vec<Speed>,
    /// What percentages of a peak have come to in the study of the run itself.
    pub resolved: Vec<ResolvedRate>,
}

impl EarlierStudy {
    /// The operations per second of a point in a closed loop, if a similar one was measured.
    #[must_use]
    pub fn speed(&self, point: &PlanPoint<'_>, threads: u32) -> Option<f64> {
        let mut speeds = self.of_workload(point);
        let same = speeds.find(|speed| speed.threads == threads);
        same.map(|speed| speed.ops_per_sec)
    }

    /// The highest of a workload over these client counts.
    #[must_use]
    pub fn peak(&self, point: &PlanPoint<'_>, threads: &[u32]) -> Option<f64> {
        let speeds = self.of_workload(point);
        let requested = speeds.filter(|speed| threads.contains(&speed.threads));
        requested.map(|speed| speed.ops_per_sec).reduce(f64::max)
    }

    fn of_workload<'a>(&'a self, point: &'a PlanPoint<'_>) -> impl Iterator<Item = &'a Speed> {
        self.speeds.iter().filter(|speed| {
            speed.workload == point.workload.name
                && speed.distribution == point.workload.distribution_name()
        })
    }

    /// Whether older studies have nothing to say that is asked for.
    fn is_complete(&self, plan: &Plan) -> bool {
        let points = plan.grid();
        let mut closed = points.filter(|point| point.rate.is_none());
        self.ops_noise.is_some()
            && closed.all(|point| self.speed(&point, point.threads).is_some())
            && (self.latency_noise.is_some() || plan.report.metric.is_none())
    }

    /// The rate that a percentage of a peak resolved to at a point, if the study of the run already
    /// has it.
    #[must_use]
    pub fn resolved(&self, point: &PlanPoint<'_>, requested: &str) -> Option<f64> {
        let mut rates = self.resolved.iter();
        let known = rates.find(|rate| {
            rate.requested == requested
                && rate.workload == point.workload.name
                && rate.distribution == point.workload.distribution_name()
        });
        known.map(|rate| rate.rate)
    }

    /// Takes values from a study that no study of higher rank has.
    fn add(&mut self, plan: &Plan, dir: &Path, points: &[&Point]) {
        let runs = Runs::new(plan, points);
        let noise = |values: &BTreeMap<PointName, Vec<f64>>| {
            let repeated = values.values().filter(|values| values.len() > 1);
            Some(Noise {
                study: dir.to_owned(),
                deviation: statistics::noise(repeated.map(Vec::as_slice))?,
            })
        };
        self.ops_noise = self.ops_noise.take().or_else(|| noise(&runs.ops));
        self.latency_noise = self.latency_noise.take().or_else(|| noise(&runs.latencies));
        for speed in runs.speeds() {
            if !self.speeds.iter().any(|newer| newer.is_of_point(&speed)) {
                self.speeds.push(speed);
            }
        }
    }
}

/// Facts about each system of a plan, in order. An unreadable study is ignored.
#[must_use]
pub fn gather(plan: &Plan, out: &Path) -> Vec<EarlierStudy> {
    let mut earlier_studies = vec![EarlierStudy::default(); plan.systems.len()];
    for (dir, study) in studies(out) {
        if earlier_studies
            .iter()
            .all(|earlier| earlier.is_complete(plan))
        {
            break;
        }
        let Ok(systems) = study.systems() else {
            continue;
        };
        let is_there = |system: &SystemPlan| systems.iter().any(|other| is_same(system, other));
        if !plan.systems.iter().any(is_there) {
            continue;
        }
        let Ok(points) = study.point_totals() else {
            continue;
        };
        let resolved = if dir == out {
            study.resolved_rates().unwrap_or_default()
        } else {
            Vec::new()
        };
        for (system, earlier) in plan.systems.iter().zip(&mut earlier_studies) {
            let own = resolved.iter().filter(|rate| rate.system == system.name);
            earlier.resolved.extend(own.cloned());
            if is_there(system) {
                let measured = points
                    .iter()
                    .filter(|point| point.key.system == system.name);
                earlier.add(plan, &dir, &measured.collect::<Vec<_>>());
            }
        }
    }
    earlier_studies
}

/// The study of a run directory, and those beside it, the newest first. The latter are only read.
fn studies(out: &Path) -> Vec<(PathBuf, Study)> {
    let parent = out.parent().unwrap_or(Path::new(""));
    let here = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    let entries = fs::read_dir(here).into_iter().flatten().flatten();
    let mut dirs: Vec<_> = entries
        .map(|entry| parent.join(entry.file_name()))
        .collect();
    if !dirs.iter().any(|dir| dir == out) {
        dirs.push(out.to_owned());
    }
    let mut studies = Vec::new();
    for dir in dirs {
        let study = if dir == out {
            Study::open_read_only(&dir)
        } else {
            Study::look_at(&dir.join(Study::FILE))
        };
        if let Ok(study) = study
            && let Ok(header) = study.header()
        {
            studies.push((header.created_ms, dir, study));
        }
    }
    let order =
        |(created, dir, _): &(u64, PathBuf, Study)| (dir != out, Reverse(*created), dir.clone());
    studies.sort_by_key(order);
    studies
        .into_iter()
        .map(|(_, dir, study)| (dir, study))
        .collect()
}

/// Whether a system of a study is one of a plan: the same database in the same place, with the same
/// settings.
fn is_same(system: &SystemPlan, other: &System) -> bool {
    system.name == other.name
        && system.driver.name == other.driver
        && system.location.to_string() == other.place
        && system
            .settings
            .iter()
            .all(|(name, value)| other.settings.get(name).is_some_and(|own| own == value))
}

/// The values of the valid runs of each point of a system.
struct Runs {
    /// Operations per second in closed loops.
    ops: BTreeMap<PointName, Vec<f64>>,
    /// Nanoseconds of the latency that the plan names, if it is known and not a bound.
    latencies: BTreeMap<PointName, Vec<f64>>,
}

impl Runs {
    fn new(plan: &Plan, points: &[&Point]) -> Self {
        let (mut ops, mut latencies) = (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
        let is_valid = |point: &&&Point| point.phase.fault(plan.sweep.allow_errors).is_none();
        for Point { key, phase } in points.iter().filter(is_valid) {
            if key.target_rate.is_none() && phase.ops_per_sec() > 0.0 {
                let of_point = ops.entry(PointName::from(key)).or_default();
                of_point.push(phase.ops_per_sec());
            }
            let latency = plan.report.metric;
            let latency = latency.and_then(|metric: Metric| metric.value(phase));
            if let Some(latency) = latency.filter(|latency| latency.is_exact()) {
                latencies
                    .entry(PointName::from(key))
                    .or_default()
                    .push(latency.value);
            }
        }
        Self { ops, latencies }
    }

    fn speeds(self) -> impl Iterator<Item = Speed> {
        let speed = |(name, runs): (PointName, Vec<f64>)| Speed {
            workload: name.workload,
            distribution: name.distribution,
            threads: name.threads,
            ops_per_sec: runs.iter().sum::<f64>() / runs.len() as f64,
        };
        self.ops.into_iter().map(speed)
    }
}
