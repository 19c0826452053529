//! Counters of a server's host that restart during a phase, because a process, a probe or the
//! machine was restarted.
//!
//! Code that computes rates assumes that counters only grow. So a counter that restarts from 0
//! continues from its last value.

use std::collections::BTreeMap;
use tailmark_machine::probe::Reading;
use tailmark_model::SeriesKind;

/// The counters of one probe, by subject.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    by_subject: BTreeMap<String, BTreeMap<String, Counted>>,
}

/// One counter.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    /// The last reading.
    last: f64,
    /// The total before each restart.
    before: f64,
}

impl Counters {
    /// Makes the counters of a sample continue if they restarted since the previous sample.
    ///
    /// Counters of one subject restart together, even one that has not fallen because it has
    /// already counted more; most of them fall then. If only one falls, the kernel is at fault (its
    /// time of waiting for I/O is known to fall by a tick), and the counter stays as it is.
    pub fn go_on(&mut self, readings: &mut [Reading]) {
        for of_subject in readings.chunk_by_mut(|a, b| a.subject == b.subject) {
            let subject = of_subject[0].subject.clone();
            let counters = self.by_subject.entry(subject).or_default();
            let is_counter = |r: &&mut Reading| r.kind == SeriesKind::Counter;
            let (mut fallen, mut counting) = (0, 0);
            for reading in of_subject.iter_mut().filter(is_counter) {
                let last = counters.get(&reading.name).map_or(0.0, |c| c.last);
                counting += u64::from(last > 0.0);
                fallen += u64::from(reading.value < last);
            }
            let begins_again = 2 * fallen > counting;
            for reading in of_subject.iter_mut().filter(is_counter) {
                let counted = counters.entry(reading.name.clone()).or_default();
                if begins_again {
                    counted.before += counted.last;
                }
                counted.last = reading.value;
                reading.value += counted.before;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::SeriesKind::{Counter, Gauge};

    fn reading(subject: &str, name: &str, kind: SeriesKind, value: f64) -> Reading {
        Reading {
            subject: subject.to_owned(),
            name: name.to_owned(),
            kind,
            value,
        }
    }

    /// What becomes of samples of one subject, each with a value for every name.
    fn gone_on<const N: usize>(names: [&str; N], samples: &[[f64; N]]) -> Vec<[f64; N]> {
        let mut counters = Counters::default();
        let sample = |values: &[f64; N]| {
            let each = names.iter().zip(values);
            let mut readings: Vec<Reading> = each
                .map(|(name, value)| reading("x", name, Counter, *value))
                .collect();
            counters.go_on(&mut readings);
            std::array::from_fn(|i| readings[i].value)
        };
        samples.iter().map(sample).collect()
    }

    #[test]
    fn a_probe_that_is_started_again_keeps_what_it_had_counted() {
        // Fast requests were rare before and are frequent now, so their counter has risen although
        // it began again.
        let names = ["reads", "read_le_8us", "read_le_64us", "read_le_512us"];
        let samples = [
            [100.0, 1.0, 40.0, 100.0],
            [200.0, 2.0, 80.0, 200.0],
            [30.0, 30.0, 30.0, 30.0],
            [60.0, 60.0, 60.0, 60.0],
        ];
        let whole = [
            [100.0, 1.0, 40.0, 100.0],
            [200.0, 2.0, 80.0, 200.0],
            [230.0, 32.0, 110.0, 230.0],
            [260.0, 62.0, 140.0, 260.0],
        ];
        assert_eq!(gone_on(names, &samples), whole);
    }

    #[test]
    fn counters_of_a_host_that_boots_twice_never_fall() {
        let names = ["reads", "read_bytes"];
        let samples = [[9e6, 9e9], [5.0, 500.0], [7.0, 700.0], [1.0, 100.0]];
        let whole = [
            [9e6, 9e9],
            [9e6 + 5.0, 9e9 + 500.0],
            [9e6 + 7.0, 9e9 + 700.0],
            [9e6 + 8.0, 9e9 + 800.0],
        ];
        assert_eq!(gone_on(names, &samples), whole);
    }

    #[test]
    fn one_counter_that_falls_by_a_tick_has_not_begun_again() {
        let names = ["user_s", "iowait_s", "idle_s"];
        let samples = [[10.0, 5.0, 900.0], [10.5, 4.99, 900.5], [11.0, 5.01, 901.0]];
        assert_eq!(gone_on(names, &samples), samples);
    }

    #[test]
    fn another_subject_and_a_gauge_are_left_alone() {
        let mut counters = Counters::default();
        let mut sample = |process: f64, gauge: f64, disk: f64| {
            let mut readings = [
                reading("java", "user_s", Counter, process),
                reading("java", "rss_bytes", Gauge, gauge),
                reading("sda", "reads", Counter, disk),
            ];
            counters.go_on(&mut readings);
            readings.map(|r| r.value)
        };
        assert_eq!(sample(50.0, 8e9, 1e6), [50.0, 8e9, 1e6]);
        assert_eq!(sample(2.0, 1e9, 1e6 + 1.0), [52.0, 1e9, 1e6 + 1.0]);
    }
}
