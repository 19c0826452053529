//! Work beside the clients of a phase: recordings are merged as they arrive, each second is
//! reported to the observer, and the probes are sampled.

use crate::{
    Live, PhaseKind, PhaseStart, Tick,
    clock::{Clock, nanos},
    collector::Collector,
    context::PhaseContext,
    interval_stats::IntervalStats,
    recorder::{self, Snapshot},
    silence::{PulseReading, Silence},
};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

/// How long after the end of an interval its numbers are reported.
const REPORT_DELAY: Duration = Duration::from_millis(100);

/// Merges what clients hand over until the last one has ended, and reports to the observer.
pub fn collect<C: Clock>(
    context: &PhaseContext<'_, C>,
    measure: Tick,
    received: &Receiver<Snapshot>,
    give_back: &Sender<Box<IntervalStats>>,
) -> (Collector, Silence) {
    let mut collection = Collection::begin(context, measure);
    let clock = &context.clock;
    loop {
        let left = Duration::from_nanos(collection.next().saturating_sub(clock.now()));
        match received.recv_timeout(left) {
            // The client that owns the emptied stats may have ended.
            Ok(snapshot) => drop(give_back.send(collection.take(snapshot))),
            Err(RecvTimeoutError::Disconnected) => return collection.end(),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if clock.now() >= collection.next() {
            collection.report();
        }
    }
}

/// The state of a phase in progress.
pub struct Collection<'a, C> {
    context: &'a PhaseContext<'a, C>,
    measure: Tick,
    collector: Collector,
    silence: Silence,
    /// Operations reported so far: successful and failed ones.
    reported: (u64, u64),
    /// When the next report is due.
    next: Tick,
}

impl<'a, C: Clock> Collection<'a, C> {
    /// Reports that the phase begins.
    pub fn begin(context: &'a PhaseContext<'a, C>, measure: Tick) -> Self {
        let is_warmed_up = context.spec.warmup.is_zero();
        let collection = Self {
            context,
            measure,
            collector: Collector::new(),
            silence: Silence::default(),
            reported: (0, 0),
            // The end of the warm-up, or of the first interval without one.
            next: if is_warmed_up {
                measure + recorder::INTERVAL_NS + nanos(REPORT_DELAY)
            } else {
                measure
            },
        };
        collection.start(is_warmed_up);
        collection
    }

    /// Takes a recorder's stats and returns them emptied.
    pub fn take(&mut self, snapshot: Snapshot) -> Box<IntervalStats> {
        let observer = self.context.observer;
        observer.recorded(snapshot.interval, &snapshot.stats);
        self.collector.take(snapshot)
    }

    /// When the next report is due.
    pub const fn next(&self) -> Tick {
        self.next
    }

    /// Reports that the warm-up has ended, or an interval.
    pub fn report(&mut self) {
        if self.next == self.measure {
            self.start(true);
            self.next += nanos(REPORT_DELAY);
        } else {
            self.interval();
        }
        self.next += recorder::INTERVAL_NS;
    }

    /// Reports the start of the warm-up, or of the measured part.
    fn start(&self, is_warmed_up: bool) {
        let spec = self.context.spec;
        let (kind, duration) = match (is_warmed_up, spec.point) {
            (false, _) => (PhaseKind::Warmup, Some(spec.warmup)),
            _ if spec.is_warmup => (PhaseKind::Warmup, spec.duration),
            (true, Some(_)) => (PhaseKind::Measure, spec.duration),
            (true, None) => (PhaseKind::Load, spec.duration),
        };
        self.context.observer.phase_started(&PhaseStart {
            kind,
            system: spec.system,
            point: spec.point,
            operations: spec.operations,
            duration,
        });
    }

    /// Checks whether the database still answers, and reports an interval.
    fn interval(&mut self) {
        let context = self.context;
        let (clock, spec) = (&context.clock, context.spec);
        let (operations, failed, errors) = self.collector.counts();
        self.look();
        if self.silence.ends_phase() || (spec.ends_at_failure && errors > 0) {
            context.end.bring_forward(clock.now());
        }
        self.end_if_enough();
        context.observer.interval(&Live {
            elapsed: Duration::from_nanos(clock.now() - self.measure),
            operations,
            ops_per_sec: (operations - failed - self.reported.0) as f64,
            errors_per_sec: (failed - self.reported.1) as f64,
            p99_ns: self.collector.recent_p99(),
            errors,
        });
        self.reported = (operations - failed, failed);
    }

    /// Plans the end of the measured part if enough was measured: at a full second, before any
    /// operation that is due later has been sent.
    fn end_if_enough(&self) {
        let PhaseContext { spec, end, .. } = self.context;
        let Some(enough) = spec.enough.filter(|_| end.tick() > self.next) else {
            return;
        };
        if enough.is_enough(&self.collector.closed()) {
            let seconds = (self.context.clock.now() - self.measure).div_ceil(recorder::INTERVAL_NS);
            let whole_second = self.measure + seconds * recorder::INTERVAL_NS;
            let at = whole_second.max(self.measure + nanos(spec.at_least));
            end.plan(at);
            if let Some(part) = spec.part {
                part.peers.ends(Duration::from_nanos(at - self.measure));
            }
        }
    }

    fn look(&mut self) {
        let look = PulseReading::at(&self.context.clock, &self.context.pulses);
        self.silence.look(&look, self.context.end.tick());
    }

    /// Everything collected, once the last client has ended.
    pub fn end(mut self) -> (Collector, Silence) {
        self.look();
        (self.collector, self.silence)
    }
}

/// Something sampled once a second during a phase, such as the machine under test.
pub trait Sampler: Send {
    /// Takes a sample. `now_s` returns the time since the start of the measured part, in seconds.
    /// The last sample is at the end of the phase.
    fn sample(&mut self, now_s: &dyn Fn() -> f64, is_last: bool);
}

/// Samples nothing.
impl Sampler for () {
    fn sample(&mut self, _: &dyn Fn() -> f64, _: bool) {}
}

/// Samples before the start, at every full second of the measured part, and at its end.
pub fn sample(sampler: &mut dyn Sampler, clock: &impl Clock, measure: Tick, done: &AtomicBool) {
    let now_s = || (clock.now() as f64 - measure as f64) / 1e9;
    while !done.load(Ordering::Relaxed) {
        let now = clock.now();
        let second = recorder::INTERVAL_NS;
        let wait = second - (now + second - measure % second) % second;
        std::thread::park_timeout(Duration::from_nanos(wait));
        // It wakes at a full second, or at the end of the phase.
        if !done.load(Ordering::Relaxed) && clock.now() >= now + wait {
            sampler.sample(&now_s, false);
        }
    }
    sampler.sample(&now_s, true);
}
