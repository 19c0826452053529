//! What one OS thread measured: histograms and counts that no other thread touches.
//!
//! A recorder fills a [`Sheet`]. When an operation ends in a later interval, the sheet is handed
//! over whole to the collector, which merges it off the measured path, empties it and gives it back.

use super::sheet::{Keep, KindSheet, Sheet};
use crate::clock::Tick;
use crossbeam_channel::{Receiver, Sender};
use std::{cell::RefCell, rc::Rc};
use tailmark_driver::Reply;
use tailmark_results::Kind;

/// The length of an interval, nanoseconds.
pub const INTERVAL_NS: u64 = 1_000_000_000;

/// The instants of one operation; `due <= sent <= done`.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// When it was due: in a closed loop the instant at which it was sent.
    pub due: Tick,
    /// When it was sent.
    pub sent: Tick,
    /// When its answer was there.
    pub done: Tick,
}

/// A sheet on its way to the collector.
#[derive(Debug)]
pub struct Handover {
    /// The interval since the start of the measured part; none: the warm-up, which is dropped.
    pub interval: Option<u32>,
    /// What was recorded in it.
    pub sheet: Box<Sheet>,
    /// When the last operation in it was done.
    pub last_done: Tick,
}

/// What a client records with: the recorder of its thread, its own or shared with the other clients
/// there.
pub trait Record {
    /// Records one request.
    fn record(&mut self, kind: Kind, timing: Timing, reply: &Reply);
    /// Records the pair of a read-modify-write, whose requests were recorded on their own.
    fn record_pair(&mut self, timing: Timing, succeeded: bool);
    /// Counts one operation of the budget as completed.
    fn finish(&mut self, timing: Timing);
    /// Hands over what was recorded since the last time.
    fn hand_over(&mut self);
}

/// Records one OS thread's operations.
#[derive(Debug)]
pub struct Recorder {
    sheet: Box<Sheet>,
    interval: Option<u32>,
    /// The end of the interval.
    boundary: Tick,
    measure: Tick,
    last_done: Tick,
    keep: Keep,
    full: Sender<Handover>,
    empty: Receiver<Box<Sheet>>,
}

impl Recorder {
    /// A recorder whose measured part starts at `measure`; it hands sheets to `full` and takes
    /// empty ones from `empty`, or makes one where there is none.
    #[must_use]
    pub fn new(
        measure: Tick,
        keep: Keep,
        full: Sender<Handover>,
        empty: Receiver<Box<Sheet>>,
    ) -> Self {
        let (interval, boundary, last_done) = (None, measure, 0);
        Self {
            sheet: empty.try_recv().unwrap_or_default(),
            interval,
            boundary,
            measure,
            last_done,
            keep,
            full,
            empty,
        }
    }

    #[inline]
    fn time(sheet: &mut KindSheet, keep: Keep, timing: Timing) {
        sheet.service.record(timing.done - timing.sent);
        if keep == Keep::Both {
            sheet.response.record(timing.done - timing.due);
        }
    }

    #[cold]
    fn miss(sheet: &mut KindSheet, keep: Keep, timing: Timing) {
        sheet.not_found += 1;
        let missed = sheet.missed.get_or_insert_default();
        missed.service.record(timing.done - timing.sent);
        if keep == Keep::Both {
            missed.response.record(timing.done - timing.due);
        }
    }

    /// Whether an operation belongs to the measured part; turns to its interval if that is new.
    #[inline]
    fn counts(&mut self, timing: Timing) -> bool {
        if timing.done >= self.boundary {
            self.turn(timing.done);
        }
        self.interval.is_some() && timing.sent >= self.measure
    }

    #[cold]
    fn turn(&mut self, done: Tick) {
        self.hand_over();
        let interval = (done - self.measure) / INTERVAL_NS;
        self.interval = Some(u32::try_from(interval).expect("a phase takes less than 136 years"));
        self.boundary = self.measure + (interval + 1) * INTERVAL_NS;
    }
}

impl Record for Recorder {
    #[inline]
    fn record(&mut self, kind: Kind, timing: Timing, reply: &Reply) {
        if !self.counts(timing) {
            return;
        }
        let sheet = self.sheet.kinds[kind as usize].get_or_insert_default();
        match reply {
            Ok(outcome) => {
                sheet.count += 1;
                sheet.bytes += outcome.bytes;
                Self::time(sheet, self.keep, timing);
                if outcome.records == 0 {
                    Self::miss(sheet, self.keep, timing);
                }
            }
            Err(failure) => {
                sheet.count_failures(failure.cause, 1, &failure.message);
                sheet.failed.record(timing.done - timing.sent);
            }
        }
    }

    #[inline]
    fn record_pair(&mut self, timing: Timing, succeeded: bool) {
        if self.counts(timing) && succeeded {
            let sheet = self.sheet.kinds[Kind::ReadModifyWrite as usize].get_or_insert_default();
            sheet.count += 1;
            Self::time(sheet, self.keep, timing);
        }
    }

    #[inline]
    fn finish(&mut self, timing: Timing) {
        if self.counts(timing) {
            self.sheet.operations += 1;
            self.last_done = timing.done;
            if self.keep == Keep::Both {
                let lag = self.sheet.lag.get_or_insert_default();
                lag.record(timing.sent - timing.due);
            }
        }
    }

    fn hand_over(&mut self) {
        if self.sheet.is_empty() {
            return;
        }
        let empty = self.empty.try_recv().unwrap_or_default();
        let sheet = std::mem::replace(&mut self.sheet, empty);
        let (interval, last_done) = (self.interval, self.last_done);
        // The collector outlives every client; were it gone, the phase has failed already.
        let _ = self.full.send(Handover {
            interval,
            sheet,
            last_done,
        });
    }
}

/// Tasks of one thread take turns, so a borrow never meets another.
impl Record for Rc<RefCell<Recorder>> {
    #[inline]
    fn record(&mut self, kind: Kind, timing: Timing, reply: &Reply) {
        self.borrow_mut().record(kind, timing, reply);
    }

    #[inline]
    fn record_pair(&mut self, timing: Timing, succeeded: bool) {
        self.borrow_mut().record_pair(timing, succeeded);
    }

    #[inline]
    fn finish(&mut self, timing: Timing) {
        self.borrow_mut().finish(timing);
    }

    fn hand_over(&mut self) {
        self.borrow_mut().hand_over();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::unbounded;
    use tailmark_driver::{Cause, Failure, Outcome};

    const FOUND: Reply = Ok(Outcome {
        records: 1,
        bytes: 10,
    });

    fn at(sent: Tick, done: Tick) -> Timing {
        Timing {
            due: sent,
            sent,
            done,
        }
    }

    /// Records with `record`, then returns what was handed over.
    fn handed_over(keep: Keep, record: impl FnOnce(&mut Recorder)) -> Vec<Handover> {
        let (full, received) = unbounded();
        let (_, empty) = unbounded();
        let mut recorder = Recorder::new(1000, keep, full, empty);
        record(&mut recorder);
        recorder.hand_over();
        drop(recorder);
        received.iter().collect()
    }

    #[test]
    fn an_operation_belongs_to_the_interval_in_which_it_is_done() {
        let sheets = handed_over(Keep::Service, |recorder| {
            for timing in [
                at(1000, 2000),
                at(2000, 1000 + INTERVAL_NS),
                at(1500, 1001 + INTERVAL_NS),
            ] {
                recorder.record(Kind::Read, timing, &FOUND);
                recorder.finish(timing);
            }
        });
        let counts: Vec<_> = sheets
            .iter()
            .map(|s| (s.interval, s.sheet.operations))
            .collect();
        assert_eq!(counts, [(Some(0), 1), (Some(1), 2)]);
    }

    #[test]
    fn what_was_sent_in_the_warm_up_is_not_counted() {
        let sheets = handed_over(Keep::Service, |recorder| {
            for timing in [at(0, 500), at(900, 1100), at(1100, 1200)] {
                recorder.record(Kind::Read, timing, &FOUND);
                recorder.finish(timing);
            }
        });
        assert_eq!(sheets.iter().map(|s| s.sheet.operations).sum::<u64>(), 1);
    }

    #[test]
    fn response_time_runs_from_when_it_was_due() {
        let sheets = handed_over(Keep::Both, |recorder| {
            let timing = Timing {
                due: 1_000,
                sent: 6_000,
                done: 8_000,
            };
            recorder.record(Kind::Read, timing, &FOUND);
            recorder.finish(timing);
        });
        let kind = sheets[0].sheet.kinds[Kind::Read as usize].as_ref().unwrap();
        assert_eq!(
            (
                kind.service.latencies().max(),
                kind.response.latencies().max()
            ),
            (2_000, 7_003)
        );
        assert_eq!(
            sheets[0].sheet.lag.as_ref().unwrap().latencies().min(),
            5_000
        );
    }

    #[test]
    fn failures_are_counted_by_cause_and_timed_apart() {
        let failure = |cause| {
            Err(Failure {
                cause,
                message: "no".into(),
            })
        };
        let sheets = handed_over(Keep::Service, |recorder| {
            for cause in [Cause::Timeout, Cause::Io, Cause::Timeout] {
                recorder.record(Kind::Update, at(1000, 1100), &failure(cause));
            }
        });
        let kind = sheets[0].sheet.kinds[Kind::Update as usize]
            .as_ref()
            .unwrap();
        assert_eq!(
            (
                kind.count,
                kind.errors(),
                kind.service.latencies().len(),
                kind.failed.latencies().len()
            ),
            (0, 3, 0, 3)
        );
        assert_eq!(
            kind.failures.iter().map(|f| f.count).collect::<Vec<_>>(),
            [2, 1]
        );
    }

    #[test]
    fn requests_that_found_nothing_are_timed_twice() {
        let sheets = handed_over(Keep::Service, |recorder| {
            recorder.record(Kind::Read, at(1000, 1100), &FOUND);
            recorder.record(Kind::Read, at(1000, 1200), &Ok(Outcome::default()));
        });
        let kind = sheets[0].sheet.kinds[0].as_ref().unwrap();
        let missed = &kind.missed.as_ref().unwrap().service;
        assert_eq!(
            (kind.count, kind.not_found, kind.service.latencies().len()),
            (2, 1, 2)
        );
        assert_eq!(
            (missed.latencies().len(), missed.latencies().max()),
            (1, 200)
        );
    }
}
