//! Whether a point has run long enough: its figures are known to a few percent.
//!
//! Operations per second and the latency are computed for ten windows of equal length, and again for
//! five. In both, half of Student's 95 % interval of the mean of the windows must be at most 5 % of
//! it. Windows must be independent for that. If they are not, longer ones differ more than shorter
//! ones would let expect, and the five windows do not pass. Each of the ten must have the requests
//! for its quantile to be printed, so that the whole has those to be certain.
//!
//! The rule looks at one system alone, never at which is better. It is asked at instants that are a
//! tenth apart (Y. S. Chow and H. Robbins, "On the asymptotic theory of fixed-width sequential
//! confidence intervals for the mean", Annals of Mathematical Statistics 36, 1965).

use super::{ChosenLatency, Slots, SteadyRule, Window, mean};
use crate::statistics::t_half_width;
use std::time::Duration;
use tailmark_model::{Interval, Metric, quantile};

/// Half the width of the interval of a figure that is known, as a part of it.
pub const KNOWN_WIDTH: f64 = 0.05;
/// From one time at which the rule is asked to the next.
const LATER: f64 = 1.1;
/// How many windows there are.
const WINDOWS: [usize; 2] = [10, 5];

/// The rule for the end of a point.
#[derive(Debug, Clone, Copy)]
pub struct UntilKnown {
    /// The latency of the report, if it has one, is to be known. Otherwise the 99th percentile of the
    /// kind with the most requests.
    pub latency: Option<Metric>,
    /// The shortest time of a point.
    pub least: Duration,
}

impl UntilKnown {
    /// Ten windows of a second each: no point ends earlier.
    pub const SHORTEST: Duration = Duration::from_secs(WINDOWS[0] as u64);

    /// Whether everything is known, if it is time to ask: after the shortest time, and whenever a
    /// tenth more has passed. Intervals are in order of time.
    pub fn is_over(&self, so_far: &[&Interval]) -> bool {
        let Some(last) = so_far.last() else {
            return false;
        };
        let least_s = self.least.as_secs_f64();
        let asked = |at_s: f64| ((at_s + 1e-6) / least_s).log(LATER).floor();
        let (before, now) = (asked(last.start_s), asked(last.start_s + last.length_s));
        now >= 0.0 && now > before && self.is_known(so_far)
    }

    fn is_known(&self, so_far: &[&Interval]) -> bool {
        let Some(slots) = Slots::new(so_far) else {
            return false;
        };
        let latency = self.chosen(&slots);
        WINDOWS.into_iter().all(|count| {
            let length = slots.len() / count;
            if length == 0 {
                return false;
            }
            let windows = slots.last_windows(count, length);
            let is_narrow = |value: &dyn Fn(&Window<'_>) -> f64| {
                let values: Vec<f64> = windows.iter().map(value).collect();
                let middle = mean(&values);
                middle > 0.0 && t_half_width(&values) <= KNOWN_WIDTH * middle
            };
            is_narrow(&|window| window.ops_per_sec())
                && latency.is_none_or(|latency| {
                    windows.iter().all(|window| latency.is_printed(window))
                        && is_narrow(&|window| latency.value(window))
                })
        })
    }

    fn chosen(&self, slots: &Slots<'_>) -> Option<ChosenLatency> {
        let wanted = self.latency.and_then(Metric::latency);
        let wanted = wanted.filter(|(kind, _)| slots.count(*kind) > 0);
        let wanted = wanted.map(|(kind, statistic)| ChosenLatency { kind, statistic });
        wanted.or_else(|| SteadyRule::default().chosen(slots))
    }
}

impl ChosenLatency {
    /// Whether a window has the requests for its value to be printed.
    fn is_printed(self, window: &Window<'_>) -> bool {
        let samples = window.count(self.kind);
        match self.statistic.quantile {
            Some(of) => quantile::samples_beyond(samples, of.value) >= quantile::SAMPLES_MIN,
            None => samples > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::{IntervalKind, Kind, Packed, new_latencies};

    /// Seconds with so many reads each.
    fn seconds(reads: &[u64]) -> Vec<Interval> {
        let interval = |(second, count): (u32, &u64)| {
            let mut latencies = new_latencies();
            latencies.record_n(1_000_000, *count).unwrap();
            let read = IntervalKind {
                count: *count,
                errors: 0,
                service: Packed::pack(&latencies),
                response: None,
            };
            Interval {
                start_s: second.into(),
                length_s: 1.0,
                operations: *count,
                failed: 0,
                kinds: [(Kind::Read, read)].into(),
            }
        };
        (0..).zip(reads).map(interval).collect()
    }

    /// The second after which a point ends; `None`: it does not.
    fn end(reads: &[u64], latency: &str) -> Option<usize> {
        let rule = UntilKnown {
            latency: Metric::from_name(latency),
            least: Duration::from_secs(20),
        };
        let intervals = seconds(reads);
        (1..=intervals.len()).find(|second| {
            let so_far: Vec<&Interval> = intervals[..*second].iter().collect();
            rule.is_over(&so_far)
        })
    }

    #[test]
    fn a_point_ends_when_its_windows_agree() {
        assert_eq!(end(&[10_000; 40], "p99 read"), Some(20));
        // Every other five seconds have half as many: only longer windows agree.
        let swinging: Vec<u64> = (0..400)
            .map(|second| [10_000, 5_000][second / 5 % 2])
            .collect();
        let found = end(&swinging, "p99 read").unwrap();
        assert!(found > 60, "{found}");
        let falling: Vec<u64> = (0..50)
            .map(|second| (1e6 * 0.9_f64.powi(second)) as u64)
            .collect();
        assert_eq!(end(&falling, "p99 read"), None);
    }

    #[test]
    fn a_quantile_needs_its_samples_in_every_window() {
        // 1,000 a second: 10 beyond p99.9 are 10,000 requests, and ten windows of them 100 s.
        let found = end(&[1_000; 200], "p99.9 read").unwrap();
        assert!((100..=110).contains(&found), "{found}");
        assert_eq!(end(&[1_000; 200], "p99.99 read"), None);
        assert_eq!(end(&[0; 200], "p99 read"), None);
    }
}
