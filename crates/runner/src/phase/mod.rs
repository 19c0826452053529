//! One measured phase: clients that run the loop, a collector that merges what they recorded,
//! probes that watch the machine meanwhile.

mod capture;
mod client;
mod collector;
mod pacer;
mod recorder;

pub use capture::Capture;
pub use pollster::block_on;

use crate::{
    Error, Live, Observer, PhaseKind, PhaseStart, Stop,
    clock::{Clock, Tick, nanos},
};
use client::{Acknowledge, Client};
use collector::{Collected, Collector};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use pacer::{Budget, Pace, Pacer, Schedule};
use recorder::{Handover, Keep, Recorder, Sheet};
use std::{
    num::NonZeroU64,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tailmark_driver::{DataSet, Database, Session};
use tailmark_results::{Phase, PointKey};
use tailmark_workload::{KeySpace, Stream, StreamConfig, Workload, assign_groups};

/// For how long a client may spin before an instant, at most.
const SPIN: Duration = Duration::from_micros(20);

/// What a phase does.
pub struct Spec<'a> {
    /// The open database.
    pub database: &'a dyn Database,
    /// The system's name.
    pub system: &'a str,
    /// Which point; none for a load.
    pub point: Option<&'a PointKey>,
    /// Which operations.
    pub workload: &'a Arc<Workload>,
    /// On which data.
    pub data: &'a DataSet,
    /// Where inserts go.
    pub keys: &'a Arc<KeySpace>,
    /// Clients.
    pub threads: u32,
    /// Operations per second over all clients; none: a closed loop.
    pub rate: Option<f64>,
    /// Ends the phase after so many operations of the measured part.
    pub operations: Option<u64>,
    /// Ends the measured part after this time.
    pub duration: Option<Duration>,
    /// Runs before the measured part.
    pub warmup: Duration,
    /// Of every random draw.
    pub seed: u64,
    /// Whether an update writes all fields.
    pub write_all_fields: bool,
    /// How much of each value is not random.
    pub compressibility: f64,
}

/// Runs a phase to its end, or until `stop` is requested.
///
/// # Errors
/// Where a client cannot be made: no session, no stream, no thread.
pub fn run(
    spec: &Spec<'_>,
    mut capture: Capture,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Phase, Error> {
    let crew = Crew::new(spec, stop);
    let (full, received) = unbounded();
    let (give_back, empty) = unbounded();
    let hands = crew.hands(&full, &empty)?;
    drop(full);
    let done = AtomicBool::new(false);
    let (started_ms, measure, collected) = std::thread::scope(|scope| {
        for hand in hands {
            if let Err(source) = crew.spawn(scope, hand) {
                // Those that wait for the start go home.
                let _ = crew.start.set(None);
                return Err(Error::Thread {
                    threads: spec.threads,
                    source,
                });
            }
        }
        let measure = crew.clock.now() + nanos(spec.warmup);
        capture.sample(&crew.clock, measure);
        let started_ms = unix_ms() + u64::try_from(spec.warmup.as_millis()).unwrap_or(0);
        crew.start
            .set(Some(measure))
            .expect("the start is given once");
        let (capture, done, clock) = (&mut capture, &done, &crew.clock);
        let sampler = scope.spawn(move || sample(capture, clock, measure, done));
        let collected = collect(spec, clock, measure, &received, &give_back, observer);
        done.store(true, Ordering::Relaxed);
        sampler.thread().unpark();
        Ok((started_ms, measure, collected))
    })?;
    Ok(Phase {
        started_ms,
        duration_s: (collected.last_done - measure) as f64 / 1e9,
        operations: collected.operations,
        kinds: collected.kinds,
        errors: collected.errors,
        start_lag: collected.start_lag,
        intervals: collected.intervals,
        series: capture.into_series(),
        findings: Vec::new(),
        counters: spec.database.counters(),
    })
}

/// What the clients of a phase share.
struct Crew<'a> {
    spec: &'a Spec<'a>,
    clock: Clock,
    stop: &'a Stop,
    budget: Option<Arc<Budget>>,
    spin: Duration,
    /// When the measured part starts, given when every client is there; none: there is no start.
    start: OnceLock<Option<Tick>>,
}

/// What one client brings along.
struct Hand {
    index: u32,
    stream: Stream,
    session: Box<dyn Session>,
    full: Sender<Handover>,
    empty: Receiver<Box<Sheet>>,
}

impl<'a> Crew<'a> {
    fn new(spec: &'a Spec<'a>, stop: &'a Stop) -> Self {
        Self {
            spec,
            clock: Clock::start(),
            stop,
            budget: spec
                .operations
                .map(|n| Arc::new(Budget::new(n, spec.threads))),
            spin: spin(spec.rate),
            start: OnceLock::new(),
        }
    }

    fn hands(
        &self,
        full: &Sender<Handover>,
        empty: &Receiver<Box<Sheet>>,
    ) -> Result<Vec<Hand>, Error> {
        let spec = self.spec;
        let groups = assign_groups(spec.workload, spec.threads);
        let hand = |(index, group)| {
            let config = StreamConfig {
                workload: Arc::clone(spec.workload),
                group,
                data: spec.data.clone(),
                keys: Arc::clone(spec.keys),
                seed: spec.seed,
                client: index,
                operations: spec.operations,
                write_all_fields: spec.write_all_fields,
                compressibility: spec.compressibility,
            };
            let stream = Stream::new(&config)?;
            let session = spec.database.session()?;
            Ok(Hand {
                index,
                stream,
                session,
                full: full.clone(),
                empty: empty.clone(),
            })
        };
        (0..spec.threads).zip(groups).map(hand).collect()
    }

    fn spawn<'scope>(
        &'scope self,
        scope: &'scope std::thread::Scope<'scope, '_>,
        hand: Hand,
    ) -> std::io::Result<()> {
        let name = format!("client-{}", hand.index);
        let client = move || {
            // Sleeps of a schedule end on time; where this is refused they end 50 us late.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
            if let Some(measure) = *self.start.wait() {
                block_on(self.client(hand, measure).run());
            }
        };
        std::thread::Builder::new()
            .name(name)
            .spawn_scoped(scope, client)
            .map(drop)
    }

    fn client(&self, hand: Hand, measure: Tick) -> Client {
        let Hand {
            index,
            stream,
            session,
            full,
            empty,
        } = hand;
        let spec = self.spec;
        let pace = Pace {
            clock: self.clock.clone(),
            start: measure - nanos(spec.warmup),
            measure,
            end: spec
                .duration
                .map_or(Tick::MAX, |d| measure.saturating_add(nanos(d))),
            budget: self.budget.clone(),
            schedule: spec
                .rate
                .map(|rate| Schedule::new(rate, index, spec.threads)),
            spin: self.spin,
            stop: self.stop.clone(),
        };
        let keep = if spec.rate.is_some() {
            Keep::Both
        } else {
            Keep::Service
        };
        let recorder = Recorder::new(measure, keep, full, empty);
        let acknowledge = match spec.point {
            Some(_) => Acknowledge::All,
            None => Acknowledge::Succeeded,
        };
        let (clock, pacer) = (self.clock.clone(), Pacer::new(pace));
        Client {
            clock,
            pacer,
            stream,
            session,
            recorder,
            acknowledge,
        }
    }
}

/// How long clients may spin: [`SPIN`], unless that took more than a tenth of the machine.
fn spin(rate: Option<f64>) -> Duration {
    let cores = tailmark_host::cpus() as f64;
    match rate {
        Some(rate) if rate * SPIN.as_secs_f64() < cores / 10.0 => SPIN,
        _ => Duration::ZERO,
    }
}

/// Merges what clients hand over until the last one has ended, and tells the observer.
fn collect(
    spec: &Spec<'_>,
    clock: &Clock,
    measure: Tick,
    received: &Receiver<Handover>,
    give_back: &Sender<Box<Sheet>>,
    observer: &dyn Observer,
) -> Collected {
    /// How long after the end of an interval its numbers are told.
    const LATE: Duration = Duration::from_millis(100);
    let start = |kind, duration| {
        let (system, point, operations) = (spec.system, spec.point, spec.operations);
        observer.phase_started(&PhaseStart {
            kind,
            system,
            point,
            operations,
            duration,
        });
    };
    let measured = if spec.point.is_some() {
        PhaseKind::Measure
    } else {
        PhaseKind::Load
    };
    let mut warming = !spec.warmup.is_zero();
    match warming {
        true => start(PhaseKind::Warmup, Some(spec.warmup)),
        false => start(measured, spec.duration),
    }
    let mut collector = Collector::new();
    let mut told = 0;
    let mut next = measure
        + if warming {
            0
        } else {
            recorder::INTERVAL_NS + nanos(LATE)
        };
    loop {
        let left = Duration::from_nanos(next.saturating_sub(clock.now()));
        match received.recv_timeout(left) {
            // The client that gets an emptied sheet back may have ended meanwhile.
            Ok(handover) => drop(give_back.send(collector.take(handover))),
            Err(RecvTimeoutError::Disconnected) => return collector.finish(measure),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if clock.now() < next {
            continue;
        }
        if std::mem::take(&mut warming) {
            start(measured, spec.duration);
            next += nanos(LATE);
        } else {
            let (operations, errors) = collector.counts();
            observer.interval(&Live {
                elapsed: Duration::from_nanos(clock.now() - measure),
                operations,
                ops_per_sec: (operations - std::mem::replace(&mut told, operations)) as f64,
                p99_ns: collector.recent_p99(),
                errors,
            });
        }
        next += recorder::INTERVAL_NS;
    }
}

/// Samples the probes at every full second of the measured part, and at its end.
fn sample(capture: &mut Capture, clock: &Clock, measure: Tick, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        let now = clock.now();
        let second = recorder::INTERVAL_NS;
        let wait = second - (now + second - measure % second) % second;
        std::thread::park_timeout(Duration::from_nanos(wait));
        // Woken at a full second, or by the end of the phase.
        if !done.load(Ordering::Relaxed) && clock.now() >= now + wait {
            capture.sample(clock, measure);
        }
    }
    capture.keep_sample(clock, measure);
}

/// Milliseconds since 1970, UTC.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
