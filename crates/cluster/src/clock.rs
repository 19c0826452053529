//! Converts between the leader's clock and another rank's clock, with a bound on the error.
//!
//! Offsets are measured as in NTP (RFC 5905, section 8): a request and its answer give four
//! instants, two of each clock. The offset is wrong by at most half the round trip, however the two
//! directions differ. So the exchange with the shortest round trip of a burst is used. Between two
//! measurements, clock drift is assumed to be even.

use crate::Message;

/// The assumed maximum drift between clocks of two hosts, in parts per million, if it is unknown:
/// crystals are accurate to 100 each.
pub const DRIFT_PPM_MAX: f64 = 200.0;

/// The oldest measurement used to extrapolate drift beyond the last one, in ns.
const DRIFT_OVER_NS: u64 = 600_000_000_000;

/// One request of the leader and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// When the request was sent, in ns of the leader's clock.
    pub request_sent_ns: u64,
    /// When it arrived, in ns of the other clock.
    pub request_received_ns: u64,
    /// When the answer was sent, in ns of the other's.
    pub answer_sent_ns: u64,
    /// When that came, in ns of the leader's.
    pub answer_received_ns: u64,
}

impl Exchange {
    /// What an answer to this request carries in its body: the two instants of the request.
    pub fn answer(request: &Message) -> [u8; 16] {
        let mut carried = [0; 16];
        carried[..8].copy_from_slice(&request.sent_ns.to_le_bytes());
        carried[8..].copy_from_slice(&request.received_ns.to_le_bytes());
        carried
    }

    /// The exchange that ends with this answer, which carried that.
    pub fn new(carried: [u8; 16], answer: &Message) -> Self {
        let carried = u128::from_le_bytes(carried);
        Self {
            request_sent_ns: carried as u64,
            request_received_ns: (carried >> 64) as u64,
            answer_sent_ns: answer.sent_ns,
            answer_received_ns: answer.received_ns,
        }
    }

    /// How long the request and the answer were on their way together, in ns.
    pub fn round_trip_ns(&self) -> u64 {
        let there_and_back = self.answer_received_ns.saturating_sub(self.request_sent_ns);
        there_and_back.saturating_sub(self.answer_sent_ns.saturating_sub(self.request_received_ns))
    }

    /// What it shows about the other clock.
    pub fn measurement(&self) -> Measurement {
        let mid = |from: u64, to: u64| from + to.saturating_sub(from) / 2;
        let leader_ns = mid(self.request_sent_ns, self.answer_received_ns);
        let other_ns = mid(self.request_received_ns, self.answer_sent_ns);
        Measurement {
            leader_ns,
            other_ns,
            // Halves are rounded down.
            bound_ns: self.round_trip_ns() / 2 + 1,
        }
    }
}

/// The reading of the other clock at an instant of the leader's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measurement {
    /// The instant of the leader's clock, in ns.
    pub leader_ns: u64,
    /// The other's, in ns.
    pub other_ns: u64,
    /// By how much that may be wrong at most, in ns.
    pub bound_ns: u64,
}

impl Measurement {
    /// The best of a burst: that with the least round trip.
    pub fn best(burst: &[Exchange]) -> Option<Self> {
        let best = burst.iter().min_by_key(|exchange| exchange.round_trip_ns());
        best.map(Exchange::measurement)
    }

    /// By how much the other clock is ahead, in ns.
    pub fn offset_ns(&self) -> i64 {
        signed(self.leader_ns, self.other_ns)
    }
}

/// An instant that was converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// The instant, in ns; 0 if it was before that clock began.
    pub ns: u64,
    /// By how much it may be wrong at most, in ns.
    pub bound_ns: u64,
}

/// Another rank's clock, from measurements: before a phase, about every minute, and after it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClockLine {
    /// In the order of both clocks.
    measurements: Vec<Measurement>,
}

/// The clock of an instant.
#[derive(Debug, Clone, Copy)]
enum Axis {
    Leader,
    Other,
}

impl ClockLine {
    /// Adds a measurement. It is ignored unless it is later than all others.
    pub fn add(&mut self, measurement: Measurement) {
        let is_later = self.measurements.last().is_none_or(|last| {
            last.leader_ns < measurement.leader_ns && last.other_ns < measurement.other_ns
        });
        if is_later {
            self.measurements.push(measurement);
        }
    }

    /// The measurements, in order.
    pub fn measurements(&self) -> &[Measurement] {
        &self.measurements
    }

    /// The other clock's reading at this reading of the leader's; `None` without measurements.
    pub fn other_at(&self, leader_ns: u64) -> Option<At> {
        self.convert(leader_ns, Axis::Leader)
    }

    /// The leader's reading at this reading of the other clock; `None` without measurements.
    pub fn leader_at(&self, other_ns: u64) -> Option<At> {
        self.convert(other_ns, Axis::Other)
    }

    /// By how much the other clock gains on the leader's from the first measurement to the last, in
    /// parts per million; nothing before the second.
    pub fn drift_ppm(&self) -> Option<f64> {
        let (first, last) = (self.measurements.first()?, self.measurements.last()?);
        (first != last).then(|| slope(Axis::Leader, first, last) * 1e6)
    }

    fn convert(&self, ns: u64, axis: Axis) -> Option<At> {
        let (first, last) = (self.measurements.first()?, self.measurements.last()?);
        let after = self.measurements.partition_point(|m| axes(axis, m).0 <= ns);
        Some(match after {
            0 => beyond(axis, ns, first, self.reach(first)),
            n if n == self.measurements.len() => beyond(axis, ns, last, self.reach(last)),
            n => between(axis, ns, &self.measurements[n - 1], &self.measurements[n]),
        })
    }

    /// The measurement that is farthest from an end, but not too far for the drift to be the same.
    fn reach(&self, end: &Measurement) -> Option<&Measurement> {
        let distance = |m: &Measurement| m.leader_ns.abs_diff(end.leader_ns);
        let near = |m: &&Measurement| *m != end && distance(m) <= DRIFT_OVER_NS;
        self.measurements
            .iter()
            .filter(near)
            .max_by_key(|m| distance(m))
            .or_else(|| {
                let others = self.measurements.iter().filter(|m| *m != end);
                others.min_by_key(|m| distance(m))
            })
    }
}

/// The instants of the source clock and of the target clock.
const fn axes(axis: Axis, measurement: &Measurement) -> (u64, u64) {
    match axis {
        Axis::Leader => (measurement.leader_ns, measurement.other_ns),
        Axis::Other => (measurement.other_ns, measurement.leader_ns),
    }
}

/// By how much the clock that is converted to gains on the other, as a part of one.
fn slope(axis: Axis, from: &Measurement, to: &Measurement) -> f64 {
    let ((x0, y0), (x1, y1)) = (axes(axis, from), axes(axis, to));
    let (dx, dy) = (signed(x0, x1), signed(y0, y1));
    (dy - dx) as f64 / dx as f64
}

/// From one measurement, with the clock gaining so much.
fn along(axis: Axis, ns: u64, from: &Measurement, slope: f64) -> u64 {
    let (x, y) = axes(axis, from);
    let dx = signed(x, ns);
    y.saturating_add_signed(dx + (dx as f64 * slope).round() as i64)
}

/// Between two measurements: if both are wrong in one direction, so is the value between them, but
/// by no more than the worse of them.
fn between(axis: Axis, ns: u64, from: &Measurement, to: &Measurement) -> At {
    At {
        ns: along(axis, ns, from, slope(axis, from, to)),
        bound_ns: from.bound_ns.max(to.bound_ns) + 1,
    }
}

/// Before the first or after the last measurement: the measured drift is extrapolated, and its
/// uncertainty widens the bound with the distance.
fn beyond(axis: Axis, ns: u64, end: &Measurement, other: Option<&Measurement>) -> At {
    let max = DRIFT_PPM_MAX / 1e6;
    let (slope, unknown) = other.map_or((0.0, max), |other| {
        let span = other.leader_ns.abs_diff(end.leader_ns) as f64;
        let unknown = (end.bound_ns + other.bound_ns) as f64 / span;
        if unknown < max {
            (slope(axis, end, other), unknown)
        } else {
            (0.0, max)
        }
    });
    let distance = axes(axis, end).0.abs_diff(ns) as f64;
    At {
        ns: along(axis, ns, end, slope),
        bound_ns: end.bound_ns + (distance * unknown).ceil() as u64 + 1,
    }
}

/// From one instant to another, in ns.
const fn signed(from: u64, to: u64) -> i64 {
    to.wrapping_sub(from).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cluster, channels};
    use std::{thread, time::Duration};

    const S: u64 = 1_000_000_000;

    /// The true other clock: its reading at this reading of the leader's.
    #[derive(Clone, Copy)]
    struct Truth {
        ahead_ns: i64,
        drift_ppm: f64,
    }

    impl Truth {
        fn other(self, leader_ns: u64) -> u64 {
            let gained = leader_ns as f64 * self.drift_ppm / 1e6;
            leader_ns.saturating_add_signed(self.ahead_ns + gained.round() as i64)
        }
    }

    /// Numbers that are the same in every run (Knuth's linear congruential generator).
    struct Jitter(u64);

    impl Jitter {
        /// From 20 us to 2 ms, most of them short.
        fn way_ns(&mut self) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let part = (self.0 >> 40) as f64 / f64::from(1 << 24);
            20_000 + (1_980_000.0 * part.powi(4)) as u64
        }

        fn exchange(&mut self, truth: Truth, start_ns: u64) -> Exchange {
            let there = start_ns + self.way_ns();
            let back = there + self.way_ns();
            Exchange {
                request_sent_ns: start_ns,
                request_received_ns: truth.other(there),
                answer_sent_ns: truth.other(back),
                answer_received_ns: back + self.way_ns(),
            }
        }

        fn burst(&mut self, truth: Truth, start_ns: u64) -> Measurement {
            let start = |n: u64| start_ns + n * 5_000_000;
            let burst: Vec<_> = (0..50).map(|n| self.exchange(truth, start(n))).collect();
            Measurement::best(&burst).expect("there were some")
        }
    }

    fn worst_error_ns(line: &ClockLine, truth: Truth, until_ns: u64) -> u64 {
        let mut worst = 0;
        for leader_ns in (1_000 * S..until_ns).step_by(7 * S as usize / 5) {
            let other_ns = truth.other(leader_ns);
            let other = line.other_at(leader_ns).expect("it was measured");
            let leader = line.leader_at(other_ns).expect("it was measured");
            for (at, right) in [(other, other_ns), (leader, leader_ns)] {
                let error = at.ns.abs_diff(right);
                assert!(
                    error <= at.bound_ns,
                    "{error} over {} at {leader_ns}",
                    at.bound_ns
                );
                worst = worst.max(error);
            }
        }
        worst
    }

    #[test]
    fn an_exchange_without_delay_gives_the_offset_itself() {
        let exchange = Exchange {
            request_sent_ns: 1_000,
            request_received_ns: 601_000,
            answer_sent_ns: 603_000,
            answer_received_ns: 3_000,
        };
        let measured = exchange.measurement();
        assert_eq!((measured.offset_ns(), measured.bound_ns), (600_000, 1));
    }

    #[test]
    fn a_way_that_is_slow_in_one_direction_stays_within_half_the_round_trip() {
        // 900 ns there and 100 ns back, of clocks that are the same.
        let exchange = Exchange {
            request_sent_ns: 1_000,
            request_received_ns: 1_900,
            answer_sent_ns: 5_900,
            answer_received_ns: 6_000,
        };
        let measured = exchange.measurement();
        assert_eq!((measured.offset_ns(), measured.bound_ns), (400, 501));
    }

    #[test]
    fn an_answer_carries_the_instants_of_its_request() {
        let message = |sent_ns, received_ns| Message {
            from: 0,
            body: Vec::new(),
            sent_ns,
            received_ns,
        };
        let carried = Exchange::answer(&message(1, u64::MAX - 2));
        let exchange = Exchange {
            request_sent_ns: 1,
            request_received_ns: u64::MAX - 2,
            answer_sent_ns: 3,
            answer_received_ns: 4,
        };
        assert_eq!(Exchange::new(carried, &message(3, 4)), exchange);
    }

    #[test]
    fn offset_and_drift_are_found_within_their_bound() {
        for (seed, drift_ppm) in [-200.0, -37.5, 0.0, 12.0, 200.0].into_iter().enumerate() {
            for ahead_ns in [-900_000_000_000, -1, 0, 5_000_000_000_000] {
                let truth = Truth {
                    ahead_ns,
                    drift_ppm,
                };
                let (mut jitter, mut line) = (Jitter(seed as u64), ClockLine::default());
                for minute in 0..10 {
                    line.add(jitter.burst(truth, (1_000 + 60 * minute) * S));
                }
                // Beyond the last measurement too.
                let worst = worst_error_ns(&line, truth, 1_700 * S);
                assert!(worst < 100_000, "{worst} ns at {drift_ppm} ppm");
                let found = line.drift_ppm().expect("it was measured twice");
                assert!((found - drift_ppm).abs() < 0.5, "{found} for {drift_ppm}");
            }
        }
    }

    #[test]
    fn one_measurement_is_good_for_a_while_and_says_how_good() {
        for drift_ppm in [-200.0, 200.0] {
            let truth = Truth {
                ahead_ns: 123_456_789,
                drift_ppm,
            };
            let mut line = ClockLine::default();
            line.add(Jitter(1).burst(truth, 1_000 * S));
            assert!(worst_error_ns(&line, truth, 1_030 * S) > 5_000_000);
            assert_eq!(line.drift_ppm(), None);
        }
    }

    #[test]
    fn a_drift_that_changes_is_followed() {
        // The leader's clock runs on; the other gains 100 us a second in the first minute alone.
        let at = |s: u64, gained_us: u64| Measurement {
            leader_ns: s * S,
            other_ns: s * S + gained_us * 1_000,
            bound_ns: 0,
        };
        let mut line = ClockLine::default();
        for measurement in [at(100, 0), at(160, 6_000), at(220, 6_000)] {
            line.add(measurement);
        }
        let offset = |s| signed(s * S, line.other_at(s * S).expect("it was measured").ns);
        assert_eq!(offset(130), 3_000_000);
        assert_eq!(offset(190), 6_000_000);
    }

    #[test]
    fn what_is_not_later_is_skipped() {
        let at = |leader_ns, other_ns| Measurement {
            leader_ns,
            other_ns,
            bound_ns: 1,
        };
        let mut line = ClockLine::default();
        assert_eq!(line.other_at(5), None);
        for measurement in [at(10, 20), at(10, 25), at(9, 30), at(11, 20), at(12, 22)] {
            line.add(measurement);
        }
        assert_eq!(line.measurements(), [at(10, 20), at(12, 22)]);
    }

    #[test]
    fn a_clock_is_found_by_messages() {
        let clock = channels::Clock {
            ahead_ns: 3_600_000_000_000,
            drift_ppm: 150.0,
        };
        let ranks = channels::ranks(&[channels::Clock::default(), clock]);
        let [leader, other]: [_; 2] = ranks.try_into().expect("there are two");
        let wait = Duration::from_secs(60);
        let mut line = ClockLine::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                while let Some(request) = other.receive(wait).filter(|m| !m.body.is_empty()) {
                    other.send(0, Exchange::answer(&request).to_vec());
                }
            });
            let exchange = || {
                leader.send(1, vec![1]);
                let answer = leader.receive(wait).expect("it answers");
                let carried = answer.body[..].try_into().expect("it carries 16 bytes");
                Exchange::new(carried, &answer)
            };
            for _ in 0..2 {
                let burst: Vec<_> = (0..50).map(|_| exchange()).collect();
                line.add(Measurement::best(&burst).expect("there were some"));
            }
            leader.send(1, Vec::new());
        });
        // The clocks as they are: the other one is asked between two looks at the leader's.
        let (before, there, after) = (leader.now_ns(), other.now_ns(), leader.now_ns());
        let (low, high) = (line.other_at(before), line.other_at(after));
        let (low, high) = (low.expect("measured"), high.expect("measured"));
        assert!(low.ns - low.bound_ns <= there && there <= high.ns + high.bound_ns);
    }
}
