//! Decides whether measurements are steady over time. In five consecutive windows, neither the
//! highest and the lowest nor the ends of a line through them may be far apart.
//!
//! The rule follows the steady state of SNIA PTS 2.0.2 (an excursion of 20 %, a slope of 10 % of
//! the mean over five windows). Windows are long enough to be meaningful: half a minute, a cycle of
//! flushes and compactions, and a hundred samples beyond the judged quantile.

mod known;
mod rounds;
mod series;
mod windows;

pub use known::{KNOWN_WIDTH, UntilKnown};
pub use rounds::{ROUNDS_MAX, Round, Rounds};

use series::{bytes_written, longest_cycle_s, mean_pending};
use std::time::Duration;
use tailmark_model::{
    Failed, Interval, Kind, Metric, Phase, RankedLatencies, Series, Statistic, number,
    quantile::{SAMPLES_SOLID, samples_beyond},
};
use windows::{Slots, Window};

/// The number of windows in the rule.
pub const WINDOWS: usize = 5;
/// The largest distance between the highest and the lowest window, as a fraction of their mean.
pub const EXCURSION_MAX: f64 = 0.20;
/// The largest rise or fall of a line through the windows from the first to the last, as a fraction
/// of their mean.
pub const SLOPE_MAX: f64 = 0.10;
/// The shortest length of a window, seconds.
pub const WINDOW_MIN_S: f64 = 30.0;

/// How far the values of windows are apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Movement {
    /// The distance from the lowest to the highest, as a fraction of the mean; not negative.
    pub excursion: f64,
    /// The rise of the least-squares line through them from the first to the last, as a fraction of
    /// the mean; negative if it falls.
    pub slope: f64,
}

impl Movement {
    /// The movement of equally spaced values; `None` if their mean is not above 0.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        Self::against(values, mean(values))
    }

    /// The movement as a fraction of this value instead of the mean; `None` if it is not above 0.
    pub fn against(values: &[f64], whole: f64) -> Option<Self> {
        if !(whole > 0.0 && whole.is_finite()) || values.len() < 2 {
            return None;
        }
        let (max, min) = values.iter().fold((f64::MIN, f64::MAX), |(max, min), v| {
            (max.max(*v), min.min(*v))
        });
        let middle = (values.len() - 1) as f64 / 2.0;
        let from_middle = |i: usize| i as f64 - middle;
        let (mut rise, mut spread) = (0.0, 0.0);
        for (i, value) in values.iter().enumerate() {
            rise += from_middle(i) * value;
            spread += from_middle(i).powi(2);
        }
        Some(Self {
            excursion: (max - min) / whole,
            slope: rise / spread * (2.0 * middle) / whole,
        })
    }

    /// Whether both are within the limits.
    pub fn is_steady(self) -> bool {
        self.excursion <= EXCURSION_MAX && self.slope.abs() <= SLOPE_MAX
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// One quantity that the rule judges.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Its name: `ops/s`, `read p99`.
    pub what: String,
    /// How far its windows are apart; `None` if it was 0 throughout.
    pub movement: Option<Movement>,
}

impl Judged {
    fn new(what: impl Into<String>, values: &[f64]) -> Self {
        Self {
            what: what.into(),
            movement: Movement::from_values(values),
        }
    }

    /// Whether it is steady. A quantity that is 0 throughout is not.
    pub fn is_steady(&self) -> bool {
        self.movement.is_some_and(Movement::is_steady)
    }

    fn why(&self) -> String {
        let what = &self.what;
        match self.movement {
            None => format!("{what} was 0"),
            Some(Movement { excursion, slope }) => format!(
                "{what} has an excursion of {:.1} % and a slope of {:+.1} %",
                excursion * 100.0,
                slope * 100.0
            ),
        }
    }
}

/// The rule's verdict on five windows.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The length of a window, seconds.
    pub window_s: f64,
    /// The judged quantities.
    pub judged: Vec<Judged>,
}

impl Judgement {
    /// Whether everything is steady.
    pub fn is_steady(&self) -> bool {
        self.judged.iter().all(Judged::is_steady)
    }

    /// What is not steady, and by how much; `None` if everything is.
    pub fn why_not(&self) -> Option<String> {
        let moves = self.judged.iter().filter(|judged| !judged.is_steady());
        let moves: Vec<String> = moves.map(Judged::why).collect();
        let window = number::rounded(Duration::from_secs_f64(self.window_s));
        (!moves.is_empty()).then(|| {
            format!(
                "over the last five windows of {window}, {} (steady: {:.0} % and ±{:.0} % at most)",
                moves.join(", "),
                EXCURSION_MAX * 100.0,
                SLOPE_MAX * 100.0
            )
        })
    }
}

/// Why the rule gives no verdict: five windows are longer than the phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TooShort {
    /// The required length of a window, seconds.
    pub window_s: f64,
}

/// The part of a phase that is judged, during the phase or afterwards.
#[derive(Debug, Clone, Copy)]
pub struct Watched<'a> {
    /// Intervals in order of time. Those in which nothing was done may be missing.
    pub intervals: &'a [&'a Interval],
    /// Samples on the clock of the intervals.
    pub series: &'a [Series],
}

/// The rule for one plan.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SteadyRule {
    /// The latency that is judged besides ops/s, if requests of its kind were sent: at most its
    /// 99.9th percentile. Otherwise the 99th percentile of the kind with the most requests.
    pub latency: Option<Metric>,
}

impl SteadyRule {
    /// The last five windows that begin at `from_s` or later.
    ///
    /// # Errors
    /// If five windows of the required length are longer than that.
    pub fn last_windows(&self, watched: Watched<'_>, from_s: f64) -> Result<Judgement, TooShort> {
        let too_short = TooShort {
            window_s: WINDOW_MIN_S,
        };
        let slots = Slots::new(watched.intervals).ok_or(too_short)?;
        let latency = self.chosen(&slots);
        let least = least_window_s(&slots, watched.series);
        let slots = slots.from(from_s);
        let is_enough = |windows: &[Window<'_>]| {
            latency.is_none_or(|latency| windows.iter().all(|window| latency.is_known(window)))
        };
        let (first, most) = (slots.count_of(least), slots.len() / WINDOWS);
        let mut lengths = first..=most;
        match lengths.find(|length| is_enough(&slots.last_windows(WINDOWS, *length))) {
            Some(length) => Ok(judge(
                &slots.last_windows(WINDOWS, length),
                latency,
                watched.series,
            )),
            None => Err(TooShort {
                window_s: least.max(latency.map_or(0.0, |latency| latency.window_s(&slots))),
            }),
        }
    }

    /// Five windows over the whole of a phase if they are long enough, otherwise `None`. A latency
    /// with too few samples in a window is not judged.
    pub fn whole(&self, phase: &Phase) -> Option<Judgement> {
        let end_s = phase.duration_s;
        let in_time = |interval: &&Interval| interval.start_s < end_s - 1e-6;
        let intervals: Vec<&Interval> = phase.intervals.iter().filter(in_time).collect();
        let slots = Slots::new(&intervals)?;
        let length = slots.len() / WINDOWS;
        if length < slots.count_of(least_window_s(&slots, &phase.series)) {
            return None;
        }
        let windows = slots.last_windows(WINDOWS, length);
        let latency = self.chosen(&slots);
        let latency = latency.filter(|latency| windows.iter().all(|w| latency.is_known(w)));
        Some(judge(&windows, latency, &phase.series))
    }

    fn chosen(&self, slots: &Slots<'_>) -> Option<ChosenLatency> {
        let wanted = self.latency.and_then(Metric::latency);
        let wanted = wanted.filter(|(kind, _)| slots.count(*kind) > 0);
        let (kind, statistic) = wanted.or_else(|| {
            let sent = Kind::ALL
                .into_iter()
                .filter(|k| *k != Kind::ReadModifyWrite);
            let most = sent.max_by_key(|kind| slots.count(*kind))?;
            (slots.count(most) > 0).then_some((most, Statistic::P99))
        })?;
        let [chosen, highest] = [&statistic, &Statistic::P999]
            .map(|statistic| statistic.quantile.map_or(0.0, |quantile| quantile.value));
        let statistic = if chosen > highest {
            Statistic::P999
        } else {
            statistic
        };
        Some(ChosenLatency { kind, statistic })
    }
}

/// Half a minute, or a cycle of flushes and compactions if that is known and longer; seconds.
fn least_window_s(slots: &Slots<'_>, series: &[Series]) -> f64 {
    let cycle = slots.writes().then(|| longest_cycle_s(series)).flatten();
    cycle.unwrap_or(0.0).max(WINDOW_MIN_S)
}

/// The judged latency.
#[derive(Clone, Copy)]
struct ChosenLatency {
    kind: Kind,
    statistic: Statistic,
}

impl ChosenLatency {
    /// Whether a window has enough samples.
    fn is_known(self, window: &Window<'_>) -> bool {
        self.is_enough(window.count(self.kind))
    }

    fn is_enough(self, samples: u64) -> bool {
        let beyond = match self.statistic.quantile {
            Some(quantile) => samples_beyond(samples, quantile.value),
            None => samples,
        };
        beyond >= SAMPLES_SOLID
    }

    /// How many seconds give enough samples, at the rate so far.
    fn window_s(self, slots: &Slots<'_>) -> f64 {
        let beyond = self.statistic.quantile.map_or(1.0, |q| 1.0 - q.value);
        let per_s = slots.count(self.kind) as f64 / slots.time_s().max(f64::MIN_POSITIVE);
        (SAMPLES_SOLID as f64 / beyond / per_s.max(1e-9))
            .min(1e9)
            .ceil()
    }

    /// Failed requests rank above every success; a bound counts as its number.
    fn value(self, window: &Window<'_>) -> f64 {
        let latencies = window.latencies(self.kind);
        let ranked = RankedLatencies::new(&latencies).with_failed(Failed {
            count: window.failed(self.kind),
            ages: None,
        });
        let known = match self.statistic.quantile {
            Some(quantile) => ranked.at_rank_of(quantile),
            None => ranked.mean(),
        };
        known.map_or(0.0, |bounded| bounded.value)
    }
}

fn judge(windows: &[Window<'_>], latency: Option<ChosenLatency>, series: &[Series]) -> Judgement {
    let values =
        |value: &dyn Fn(&Window<'_>) -> f64| windows.iter().map(value).collect::<Vec<f64>>();
    let mut judged = vec![Judged::new(
        "ops/s",
        &values(&|window| window.ops_per_sec()),
    )];
    if let Some(latency) = latency {
        let what = format!("{} {}", latency.kind.name(), latency.statistic.name);
        judged.push(Judged::new(what, &values(&|w| latency.value(w))));
    }
    if windows.iter().any(Window::writes) {
        judged.extend(judge_writes(windows, series));
    }
    Judgement {
        window_s: windows.first().map_or(0.0, Window::length_s),
        judged,
    }
}

/// Judges the cost of writes: device bytes per operation, and pending work. The movement of pending
/// work is relative to the bytes written in a window.
fn judge_writes(windows: &[Window<'_>], series: &[Series]) -> Vec<Judged> {
    let mut judged = Vec::new();
    let written: Option<Vec<f64>> = windows.iter().map(|w| bytes_written(series, w)).collect();
    let written = written.filter(|bytes| mean(bytes) > 0.0);
    if let Some(written) = &written {
        let per_operation =
            |(bytes, window): (&f64, &Window<'_>)| bytes / (window.succeeded() as f64).max(1.0);
        let each: Vec<f64> = written.iter().zip(windows).map(per_operation).collect();
        judged.push(Judged::new("bytes written per operation", &each));
    }
    let pending: Option<Vec<f64>> = windows.iter().map(|w| mean_pending(series, w)).collect();
    if let Some(pending) = pending {
        let whole = mean(&pending).max(written.as_deref().map_or(0.0, mean));
        // Nothing was put off at all where there is no movement.
        if let Some(movement) = Movement::against(&pending, whole) {
            judged.push(Judged {
                what: "pending compaction".into(),
                movement: Some(movement),
            });
        }
    }
    judged
}

#[cfg(test)]
mod tests;
