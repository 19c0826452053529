//! Limits that end a run when they are broken.
//!
//! They are checked once a second, beside the clients, against what was measured so far. The phase
//! then ends like a stop, nothing of it is kept, and the run reports what was seen.

use crate::Error;
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use tailmark_driver::Database;
use tailmark_engine::{Enough, Stop};
use tailmark_model::{Interval, Phase, number, quantile::value_at};
use tailmark_plan::{AbortLimit, Broken};

/// Watches the limits of a plan during one phase.
pub(crate) struct AbortWatch<'a> {
    limits: &'a [AbortLimit],
    system: &'a str,
    database: &'a dyn Database,
    /// The caller's own rule for enough, if there is one.
    inner: Option<&'a dyn Enough>,
    /// The stop of this phase only.
    stop: Stop,
    began: Instant,
    seen: Mutex<Seen>,
}

/// What was seen so far.
#[derive(Default)]
struct Seen {
    /// Intervals up to here were looked at, seconds.
    until_s: f64,
    /// Of each limit: since when it is broken without a second that holds it, seconds.
    since_s: Vec<Option<f64>>,
    /// The first that is broken for long enough, and by what.
    broken: Option<(AbortLimit, String)>,
}

impl<'a> AbortWatch<'a> {
    /// Watches a phase of a system, which a stop ends too.
    pub fn new(
        limits: &'a [AbortLimit],
        (system, database): (&'a str, &'a dyn Database),
        inner: Option<&'a dyn Enough>,
        stop: &Stop,
    ) -> Self {
        Self {
            limits,
            system,
            database,
            inner,
            stop: stop.child(),
            began: Instant::now(),
            seen: Mutex::new(Seen {
                since_s: vec![None; limits.len()],
                ..Seen::default()
            }),
        }
    }

    /// The rule that is asked every second of the phase.
    pub fn enough(&self) -> Option<&dyn Enough> {
        if self.limits.is_empty() {
            self.inner
        } else {
            Some(self)
        }
    }

    /// What ends the phase.
    pub const fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Checks the last measurements.
    ///
    /// # Errors
    /// Names the broken limit; `what` is the activity in the meantime.
    pub fn ended(&self, phase: &Phase, what: &str) -> Result<(), Error> {
        self.look(phase.intervals.iter());
        match self.seen().broken.take() {
            None => Ok(()),
            Some((limit, value)) => Err(Error::Aborted {
                limit: limit.to_string(),
                value,
                system: self.system.to_owned(),
                what: what.to_owned(),
            }),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look<'i>(&self, intervals: impl Iterator<Item = &'i Interval>) {
        let mut seen = self.seen();
        for interval in intervals {
            let (start_s, end_s) = (interval.start_s, interval.start_s + interval.length_s);
            // A second that was examined may since have been merged with the next.
            if start_s < seen.until_s {
                continue;
            }
            seen.until_s = end_s;
            for (index, limit) in self.limits.iter().enumerate() {
                if let Some(value) = measured(limit.broken, interval) {
                    seen.add(index, *limit, (start_s, end_s), value);
                }
            }
        }
        for (index, limit) in self.limits.iter().enumerate() {
            let Broken::DownNodes(most) = limit.broken else {
                continue;
            };
            let down = self.database.nodes_down().unwrap_or_default();
            let now_s = self.began.elapsed().as_secs_f64();
            let value = (down > most).then(|| match down {
                1 => "1 node is down".to_owned(),
                _ => format!("{down} nodes are down"),
            });
            seen.add(index, *limit, (now_s, now_s), value);
        }
    }
}

impl Enough for AbortWatch<'_> {
    fn is_enough(&self, so_far: &[&Interval]) -> bool {
        self.look(so_far.iter().copied());
        if self.seen().broken.is_some() {
            self.stop.request();
        }
        self.inner.is_some_and(|inner| inner.is_enough(so_far))
    }
}

impl Seen {
    /// Adds the state of a limit over a period: broken by a value, or held.
    fn add(
        &mut self,
        index: usize,
        limit: AbortLimit,
        (start_s, end_s): (f64, f64),
        value: Option<String>,
    ) {
        let Some(value) = value else {
            self.since_s[index] = None;
            return;
        };
        let since_s = *self.since_s[index].get_or_insert(start_s);
        // Instants in whole seconds are not exact.
        let is_long = end_s - since_s >= limit.lasting.as_secs_f64() - 1e-6;
        if is_long && self.broken.is_none() {
            self.broken = Some((limit, value));
        }
    }
}

/// The value that breaks a limit in an interval, if any; `None` if the interval does not tell.
#[expect(
    clippy::option_option,
    reason = "a second that does not tell is none that holds a limit"
)]
fn measured(broken: Broken, interval: &Interval) -> Option<Option<String>> {
    match broken {
        Broken::Errors(most) => {
            let sent = interval.operations;
            let part = interval.failed as f64 / sent as f64;
            let value = || {
                let failed = number::count(interval.failed);
                format!(
                    "{failed} of {} operations of a second failed",
                    number::count(sent)
                )
            };
            (sent > 0).then(|| (part > most).then(value))
        }
        Broken::Latency(kind, quantile, over) => {
            let measured = interval.kinds.get(&kind)?;
            let latencies = measured.response.as_ref().unwrap_or(&measured.service);
            let latencies = latencies.unpack();
            if latencies.is_empty() {
                return None;
            }
            let ns = value_at(&latencies, quantile.value);
            let value = || {
                let name = (quantile.name, kind.name());
                format!(
                    "{} {} was {} in a second",
                    name.0,
                    name.1,
                    number::latency(ns as f64)
                )
            };
            Some((u128::from(ns) > over.as_nanos()).then(value))
        }
        Broken::DownNodes(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A second in which this many of a hundred operations failed; with `None`, nothing was done.
    fn second(at: u32, failed: Option<u64>) -> Interval {
        Interval {
            start_s: f64::from(at),
            length_s: 1.0,
            operations: failed.map_or(0, |_| 100),
            failed: failed.unwrap_or(0),
            kinds: std::collections::BTreeMap::new(),
        }
    }

    /// In which second a limit on errors is broken for long enough.
    fn broken(lasting: u64, seconds: &[Option<u64>]) -> Option<usize> {
        let limit = AbortLimit {
            broken: Broken::Errors(0.1),
            lasting: Duration::from_secs(lasting),
        };
        let mut seen = Seen {
            since_s: vec![None],
            ..Seen::default()
        };
        (0_u32..).zip(seconds).position(|(at, failed)| {
            let interval = second(at, *failed);
            if let Some(value) = measured(limit.broken, &interval) {
                let end_s = interval.start_s + 1.0;
                seen.add(0, limit, (interval.start_s, end_s), value);
            }
            seen.broken.is_some()
        })
    }

    #[test]
    fn a_limit_is_broken_once_every_second_of_its_time_is_over_it() {
        let (held, over, idle) = (Some(10), Some(11), None);
        assert_eq!(broken(0, &[held, held, over]), Some(2));
        assert_eq!(broken(3, &[over, over, held, over, over, over]), Some(5));
        // A second in which no operation ended neither breaks nor holds a limit.
        assert_eq!(broken(3, &[over, idle, over, held]), Some(2));
        assert_eq!(broken(3, &[idle, idle, idle, over, over]), None);
    }
}
