//! Electric power during a phase, by what the sensors cover. Computed here only, so that energy,
//! cost and findings agree.

use crate::{Bounded, Phase, Series, SeriesKind, number};
use std::collections::BTreeSet;

/// What a power figure covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PowerOf {
    /// Processor packages and their memory.
    Processors,
    /// The storage devices under test.
    Devices,
    /// A whole server, all other hardware and programs included.
    Server,
}

/// One sensor: which series has its values.
struct PowerSource {
    of: PowerOf,
    probe: &'static str,
    /// A counter of joules, or a gauge of watts.
    series: &'static str,
    /// Whether the plan names it, so that it is about the system wherever it is sampled.
    is_of_plan: bool,
}

/// Watts of a whole server.
pub const SERVER_POWER: &str = "server_power_w";
/// Mean watts of a drive by its OCP log, which has whole ones.
pub const DEVICE_POWER: &str = "power_w_mean";
/// The probe of the vendor's statements of the power that drives may draw.
const STATED_POWER: &str = "nvme-power";
/// The probe of the command that a plan names.
pub const POWER_COMMAND: &str = "power-command";
/// The source of the values of a wall meter's log.
pub const POWER_LOG: &str = "power-log";
/// The source of values that were measured before the first point, while nothing ran.
pub const IDLE_POWER: &str = "idle-power";

/// Every sensor; of those that cover the same, the first with values counts.
const SOURCES: [PowerSource; 5] = [
    PowerSource::new(PowerOf::Processors, "power", "energy_j"),
    PowerSource::new(PowerOf::Devices, "nvme-ocp", DEVICE_POWER),
    PowerSource::new(PowerOf::Server, POWER_LOG, SERVER_POWER).of_plan(),
    PowerSource::new(PowerOf::Server, POWER_COMMAND, SERVER_POWER).of_plan(),
    PowerSource::new(PowerOf::Server, "hwmon-power", SERVER_POWER),
];

impl PowerSource {
    const fn new(of: PowerOf, probe: &'static str, series: &'static str) -> Self {
        Self {
            of,
            probe,
            series,
            is_of_plan: false,
        }
    }

    const fn of_plan(self) -> Self {
        Self {
            is_of_plan: true,
            ..self
        }
    }

    /// The sum over all its series. If servers were sampled, they are the system, and the clients'
    /// machine is not. `None` if one of them has no value, or none for a part of the phase.
    fn watts(&self, phase: &Phase) -> Option<f64> {
        let servers = if self.is_of_plan {
            BTreeSet::new()
        } else {
            phase.servers()
        };
        let is_own = |series: &&Series| {
            series.probe == self.probe
                && series.name == self.series
                && (servers.is_empty() || series.server().is_some())
        };
        let own: Vec<&Series> = phase.series.iter().filter(is_own).collect();
        let covered: BTreeSet<&str> = own.iter().filter_map(|series| series.server()).collect();
        if own.is_empty() || servers.iter().any(|server| !covered.contains(server)) {
            return None;
        }
        if !own.iter().all(|series| covers(series, phase.duration_s)) {
            return None;
        }
        own.into_iter().map(|series| watts(series, phase)).sum()
    }
}

/// Whether the samples of a phase begin at its start and continue to its end, to within one and a
/// half of their usual pauses and a tenth of the phase.
fn covers(series: &Series, end_s: f64) -> bool {
    let inside = series
        .at_s
        .iter()
        .filter(|at| (-0.5..=end_s + 0.5).contains(*at));
    let inside: Vec<f64> = inside.copied().collect();
    let [first, .., last] = inside[..] else {
        return !inside.is_empty();
    };
    let mut pauses: Vec<f64> = inside.windows(2).map(|two| two[1] - two[0]).collect();
    pauses.sort_by(f64::total_cmp);
    let off = 1.5 * pauses[pauses.len() / 2] + 0.1 * end_s;
    first <= off && end_s - last <= off
}

fn watts(series: &Series, phase: &Phase) -> Option<f64> {
    match series.kind {
        SeriesKind::Counter => series.mean_rate(phase.duration_s),
        SeriesKind::Gauge => series.mean_over_time(phase.duration_s),
    }
}

impl PowerOf {
    /// Every one, in the order of reports.
    pub const ALL: [Self; 3] = [Self::Processors, Self::Devices, Self::Server];

    /// In the subjects of series, in tables and sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Processors => "processors",
            Self::Devices => "devices",
            Self::Server => "server",
        }
    }

    /// The names of the probes with its sensors.
    pub fn probes(self) -> impl Iterator<Item = &'static str> {
        let own = SOURCES.iter().filter(move |source| source.of == self);
        own.map(|source| source.probe)
    }
}

impl Phase {
    /// Mean power during the measured part, watts; `None` without a sensor.
    pub fn watts(&self, of: PowerOf) -> Option<f64> {
        let mut sources = SOURCES.iter().filter(|source| source.of == of);
        sources.find_map(|source| source.watts(self))
    }

    /// The source of [`Self::watts`]: the name of its probe.
    pub fn power_source(&self, of: PowerOf) -> Option<&'static str> {
        let mut sources = SOURCES.iter().filter(|source| source.of == of);
        let source = sources.find(|source| source.watts(self).is_some())?;
        Some(source.probe)
    }

    /// The most that each drive may draw in its power state by its own statement, which is a limit
    /// and no measurement: `nvme0n1 is in power state 0, at most 25 W by its descriptor`.
    pub fn stated_limits(&self) -> Vec<String> {
        let of_drive = |drive: &Series, name: &str| {
            let mut all = self.series.iter();
            let own = all.find(|series| {
                series.probe == STATED_POWER
                    && series.name == name
                    && series.subject == drive.subject
            });
            own?.values.last().copied()
        };
        let states = self.series.iter();
        let states =
            states.filter(|series| series.probe == STATED_POWER && series.name == "power_state");
        let limit = |series: &Series| {
            let state = series.values.last()?;
            let limit = match of_drive(series, "power_w_max") {
                Some(watts) => format!(
                    "at most {} W by its descriptor",
                    number::bounded_figure(Bounded::exact(watts))
                ),
                None => "whose descriptor states no power".to_owned(),
            };
            Some(format!(
                "{} is in power state {state}, {limit}",
                series.subject
            ))
        };
        states.filter_map(limit).collect()
    }

    /// Power before the first point, while nothing ran, watts.
    pub fn idle_watts(&self, of: PowerOf) -> Option<f64> {
        let mut idle = self.series.iter();
        let is_it = |series: &&Series| series.probe == IDLE_POWER && series.subject == of.name();
        idle.find(is_it)?.values.last().copied()
    }

    /// The series that say of later phases what this one, in which nothing ran, drew.
    pub fn idle_series(&self) -> Vec<Series> {
        let idle = |of: PowerOf| {
            Some(Series {
                probe: IDLE_POWER.to_owned(),
                subject: of.name().to_owned(),
                name: "power_w".to_owned(),
                kind: SeriesKind::Gauge,
                at_s: vec![0.0],
                values: vec![self.watts(of)?],
            })
        };
        PowerOf::ALL.into_iter().filter_map(idle).collect()
    }
}

#[cfg(test)]
mod tests;
