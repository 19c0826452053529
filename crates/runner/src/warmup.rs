//! A warm-up that ends by rule: a separate phase directly before the measured one, on the open
//! database, until it is steady.

use crate::{
    Error,
    abort::AbortWatch,
    capture::{Capture, Watched as WatchedPlace},
    ranks::SharedPhase,
};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tailmark_engine::{Enough, Observer, Sampler, Spec, Terms};
use tailmark_model::{Interval, Phase, Warmup, number};
use tailmark_stats::steady::{SteadyRule, WINDOW_MIN_S, WINDOWS, Watched};

/// The length of a warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmupLength {
    /// Not looked at, before the windows of the rule.
    pub least: Duration,
    /// It does not end earlier, even if it is steady.
    pub at_least: Duration,
    /// It ends then, steady or not.
    pub most: Duration,
}

impl WarmupLength {
    /// This long, steady or not.
    #[must_use]
    pub const fn fixed(time: Duration) -> Self {
        Self {
            least: time,
            at_least: time,
            most: time,
        }
    }
}

/// Warms up until it is steady, and says since when it was, or why it never was.
///
/// # Errors
/// As [`tailmark_engine::run`], and where another process could not do its part.
pub fn warm_up(
    together: SharedPhase<'_>,
    spec: &Spec<'_>,
    length: WarmupLength,
    rule: SteadyRule,
    (watched, observer): (&WatchedPlace, &dyn Observer),
    abort: &AbortWatch<'_>,
) -> Result<Warmup, Error> {
    let capture = Mutex::new(Capture::open(watched, spec.system, spec.database));
    let from_s = length.least.as_secs_f64();
    let requested = Mutex::new(RuleProgress {
        steady_s: None,
        next_s: from_s + WINDOWS as f64 * WINDOW_MIN_S,
    });
    let judge = Judge {
        rule,
        from_s,
        capture: &capture,
        requested: &requested,
    };
    let spec = Spec {
        enough: Some(&Watching(abort, &judge)),
        ..by_rule(spec, length)
    };
    let mut phase = together.run(&spec, &mut Shared(&capture), observer, abort.stop())?;
    let capture = capture.into_inner().unwrap_or_else(PoisonError::into_inner);
    phase.series = capture.into_series();
    let (phase, _) = together.finish(phase, Vec::new())?;
    let (steady_s, reason) = match locked(&requested).steady_s {
        Some(steady_s) => (Some(steady_s), None),
        None => verdict(rule, from_s, &phase),
    };
    Ok(Warmup {
        phase,
        steady_s,
        reason,
    })
}

/// The phase of a warm-up that ends by rule.
pub fn by_rule<'a>(spec: &Spec<'a>, length: WarmupLength) -> Spec<'a> {
    Spec {
        terms: Terms {
            operations: None,
            duration: Some(length.most),
            at_least: length.at_least,
            is_warmup: true,
            warmup: Duration::ZERO,
            ..spec.terms
        },
        anatomy: None,
        ..*spec
    }
}

/// Asks the rule, and looks at the limits of the plan.
struct Watching<'a>(&'a AbortWatch<'a>, &'a dyn Enough);

impl Enough for Watching<'_> {
    fn is_enough(&self, so_far: &[&Interval]) -> bool {
        self.0.is_enough(so_far) | self.1.is_enough(so_far)
    }
}

/// Samples the series for the rule.
struct Shared<'a, 'b>(&'a Mutex<Capture<'b>>);

impl Sampler for Shared<'_, '_> {
    fn sample(&mut self, now_s: &dyn Fn() -> f64, is_last: bool) {
        locked(self.0).sample(now_s, is_last);
    }
}

/// Asks the rule with every new window.
struct Judge<'a, 'b> {
    rule: SteadyRule,
    /// From when on windows begin, seconds.
    from_s: f64,
    capture: &'a Mutex<Capture<'b>>,
    requested: &'a Mutex<RuleProgress>,
}

/// The results of the rule so far.
#[derive(Debug, Clone, Copy)]
struct RuleProgress {
    /// From when on it was steady, seconds.
    steady_s: Option<f64>,
    /// When it is asked next, seconds.
    next_s: f64,
}

impl Enough for Judge<'_, '_> {
    fn is_enough(&self, so_far: &[&Interval]) -> bool {
        let Some(end_s) = so_far.last().map(|last| last.start_s + last.length_s) else {
            return false;
        };
        let mut requested = locked(self.requested);
        if requested.steady_s.is_none() && end_s >= requested.next_s {
            let series = locked(self.capture).series_so_far();
            let watched = Watched {
                intervals: so_far,
                series: &series,
            };
            match self.rule.last_windows(watched, self.from_s) {
                Ok(found) if found.is_steady() => requested.steady_s = Some(end_s),
                Ok(found) => requested.next_s = end_s + found.window_s,
                // From when five windows are possible. Their required length may change.
                Err(short) => {
                    let whole_s = self.from_s + WINDOWS as f64 * short.window_s;
                    requested.next_s = whole_s.min(end_s + WINDOW_MIN_S);
                }
            }
        }
        requested.steady_s.is_some()
    }
}

/// Whether a phase was steady when it ended at last, or why it was not.
fn verdict(rule: SteadyRule, from_s: f64, phase: &Phase) -> (Option<f64>, Option<String>) {
    let in_time = |interval: &&Interval| interval.start_s < phase.duration_s - 1e-6;
    let intervals: Vec<&Interval> = phase.intervals.iter().filter(in_time).collect();
    let watched = Watched {
        intervals: &intervals,
        series: &phase.series,
    };
    match rule.last_windows(watched, from_s) {
        Ok(found) => match found.why_not() {
            None => (Some(phase.duration_s), None),
            Some(why) => (None, Some(why)),
        },
        Err(short) => {
            let rounded = |s: f64| number::rounded(Duration::from_secs_f64(s));
            let why = format!(
                "it needs five windows of {} after the first {} (for a hundred samples beyond the \
                 quantile, or a cycle of flushes and compactions)",
                rounded(short.window_s),
                rounded(from_s)
            );
            (None, Some(why))
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
