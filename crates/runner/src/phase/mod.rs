//! One measured phase: clients that run the loop, a collector that merges what they recorded,
//! probes that watch the machine meanwhile.

mod alarm;
mod capture;
mod client;
mod collector;
mod counts;
mod groups;
mod pacer;
mod recorder;
mod sheet;
mod tasks;

pub use capture::Capture;
pub use counts::Counts;
pub use pollster::block_on;
pub use sheet::{Failures, KindSheet, Missed, Sheet};

use crate::{
    Error, Live, Observer, PhaseKind, PhaseStart, Stop,
    clock::{Clock, Tick, nanos},
};
use client::{Acknowledge, Client};
use collector::{Collected, Collector};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use groups::{Beside, Part, Parts};
use pacer::{Budget, End, Pace, Pacer, Waiter};
use recorder::{Handover, Record, Recorder};
use sheet::Keep;
use std::{
    num::NonZeroU64,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tailmark_driver::{Clients, DataSet, Database, Session};
use tailmark_results::{Finding, Kind, Phase, PointKey};
use tailmark_workload::{Group, KeySpace, Stream, StreamConfig, Workload};
use tasks::Ends;

/// The code of the finding that a phase was ended for want of answers.
pub const NO_ANSWER: &str = "no-answer";

/// Sheets beyond one a recorder, at most: more processors than these seldom turn to an interval at once.
const SPARE_SHEETS: u32 = 64;

/// For how long a client may spin before an instant, at most.
const SPIN: Duration = Duration::from_micros(20);

/// What a phase does.
pub struct Spec<'a> {
    /// The open database.
    pub database: &'a dyn Database,
    /// How its clients are run.
    pub clients: Clients,
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
    /// Whether it ends soon after the first request that failed.
    pub ends_at_failure: bool,
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
    let streams = crew.streams()?;
    // One for each recorder to fill, and some to go on with while those are merged.
    let (recorders, kinds) = (crew.recorders(), crew.kinds());
    for _ in 0..recorders + recorders.min(SPARE_SHEETS) {
        let sheet = Sheet::ready(&kinds, crew.keep());
        let _ = give_back.send(Box::new(sheet));
    }
    let ends = Ends { full, empty };
    let done = AtomicBool::new(false);
    let (started_ms, measure, collected) = std::thread::scope(|scope| {
        let spawned = match spec.clients {
            Clients::Threads => crew.spawn(scope, streams, &ends),
            Clients::Tasks => tasks::spawn(&crew, scope, streams, &ends),
        };
        // What clients hold of it closes it when the last one ends.
        drop(ends);
        if let Err(error) = spawned {
            // Those that wait for the start go home.
            let _ = crew.start.set(None);
            return Err(error);
        }
        let measure = crew.clock.now() + nanos(spec.warmup);
        capture.sample(&crew.clock, measure);
        let started_ms = unix_ms() + u64::try_from(spec.warmup.as_millis()).unwrap_or(0);
        if let Some(duration) = spec.duration {
            crew.end
                .bring_forward(measure.saturating_add(nanos(duration)));
        }
        crew.start
            .set(Some(measure))
            .expect("the start is given once");
        let (capture, done, clock) = (&mut capture, &done, &crew.clock);
        let sampler = scope.spawn(move || sample(capture, clock, measure, done));
        let collected = collect(&crew, measure, &received, &give_back, observer);
        done.store(true, Ordering::Relaxed);
        sampler.thread().unpark();
        Ok((started_ms, measure, collected))
    })?;
    Ok(Phase {
        started_ms: Some(started_ms),
        duration_s: (collected.last_done - measure) as f64 / 1e9,
        operations: collected.operations,
        kinds: collected.kinds,
        errors: collected.errors,
        start_lag: collected.start_lag,
        intervals: collected.intervals,
        series: capture.into_series(),
        findings: collected.no_answer.then(no_answer).into_iter().collect(),
        counters: spec.database.counters(),
    })
}

/// What the clients of a phase share.
struct Crew<'a> {
    spec: &'a Spec<'a>,
    clock: Clock,
    stop: &'a Stop,
    budget: Option<Arc<Budget>>,
    parts: Parts,
    spin: Duration,
    /// When clients send no further operation.
    end: End,
    /// When the measured part starts, given when every client is there; none: there is no start.
    start: OnceLock<Option<Tick>>,
}

/// What one client brings along.
struct Hand {
    index: u32,
    stream: Stream,
    session: Box<dyn Session>,
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
            parts: Parts::new(spec.workload, spec.threads, spec.rate),
            spin: spin(spec.rate),
            end: End::at(Tick::MAX),
            start: OnceLock::new(),
        }
    }

    /// The operations of every client.
    fn streams(&self) -> Result<Vec<(u32, Stream)>, Error> {
        let spec = self.spec;
        let stream = |(index, part): (u32, Part)| {
            let config = StreamConfig {
                workload: Arc::clone(spec.workload),
                group: part.group,
                data: spec.data.clone(),
                keys: Arc::clone(spec.keys),
                seed: spec.seed,
                client: index,
                operations: spec.operations,
                write_all_fields: spec.write_all_fields,
                compressibility: spec.compressibility,
            };
            Ok((index, Stream::new(&config)?))
        };
        self.parts.iter().map(stream).collect()
    }

    /// Starts a thread for each client.
    fn spawn<'scope>(
        &'scope self,
        scope: &'scope std::thread::Scope<'scope, '_>,
        streams: Vec<(u32, Stream)>,
        ends: &Ends,
    ) -> Result<(), Error> {
        for (index, stream) in streams {
            let session = self.spec.database.session()?;
            let (hand, ends) = (
                Hand {
                    index,
                    stream,
                    session,
                },
                ends.clone(),
            );
            let client = move || {
                // Sleeps of a schedule end on time; where this is refused they end 50 us late.
                let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
                if let Some(measure) = *self.start.wait() {
                    let recorder = self.recorder(measure, ends);
                    let waiter = Waiter::Thread { spin: self.spin };
                    match self.parts.of(index).is_beside {
                        false => block_on(self.client(hand, measure, waiter, recorder).run()),
                        true => {
                            let recorder = Beside(recorder);
                            block_on(self.client(hand, measure, waiter, recorder).run());
                        }
                    }
                }
            };
            let thread = std::thread::Builder::new().name(format!("client-{index}"));
            let started = thread.spawn_scoped(scope, client);
            started.map_err(|source| Error::Thread {
                threads: self.spec.threads,
                source,
            })?;
        }
        Ok(())
    }

    /// OS threads that run clients: each has a recorder.
    fn recorders(&self) -> u32 {
        match self.spec.clients {
            Clients::Threads => self.spec.threads,
            Clients::Tasks => tasks::threads(self.spec.threads, tailmark_host::cpus()),
        }
    }

    /// What is recorded.
    fn kinds(&self) -> Vec<Kind> {
        let workload = self.spec.workload;
        let mut kinds: Vec<_> = workload.kinds().into_iter().map(client::kind).collect();
        let pairs = |group: &Group| group.mix.read_modify_write > 0.0;
        if workload.groups.iter().any(pairs) {
            kinds.push(Kind::ReadModifyWrite);
        }
        kinds
    }

    fn keep(&self) -> Keep {
        match self.parts.have_rate() {
            true => Keep::Both,
            false => Keep::Service,
        }
    }

    /// The recorder of one OS thread.
    fn recorder(&self, measure: Tick, ends: Ends) -> Recorder {
        Recorder::new(measure, self.keep(), ends.full, ends.empty)
    }

    /// What a client may send: of the common budget, of a share of its own, or without one.
    fn budget(&self, part: Part) -> Option<Arc<Budget>> {
        let (spec, group) = (self.spec, &self.spec.workload.groups[part.group]);
        match (part.is_beside, group.is_done_by_each()) {
            (true, _) => None,
            (false, false) => self.budget.clone(),
            (false, true) => {
                let share =
                    |operations| Arc::new(Budget::new(operations / u64::from(spec.threads), 1));
                spec.operations.map(share)
            }
        }
    }

    fn client<R: Record>(
        &self,
        hand: Hand,
        measure: Tick,
        waiter: Waiter,
        recorder: R,
    ) -> Client<R> {
        let Hand {
            index,
            stream,
            session,
        } = hand;
        let (spec, part) = (self.spec, self.parts.of(index));
        let pace = Pace {
            clock: self.clock.clone(),
            start: measure - nanos(spec.warmup),
            measure,
            end: self.parts.end(part, &self.end),
            budget: self.budget(part),
            schedule: part.schedule(),
            waiter,
            stop: self.stop.clone(),
        };
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
            presence: self.parts.presence(part),
        }
    }
}

/// That a phase was ended because nothing succeeded any more.
fn no_answer() -> Finding {
    Finding {
        code: NO_ANSWER.to_owned(),
        text: format!(
            "No request succeeded for {} s while others failed, so this point was ended early: its \
             numbers are those of a database that was going away. Find out what became of it, and \
             measure the point again.",
            collector::NO_ANSWER_S
        ),
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
    crew: &Crew<'_>,
    measure: Tick,
    received: &Receiver<Handover>,
    give_back: &Sender<Box<Sheet>>,
    observer: &dyn Observer,
) -> Collected {
    /// How long after the end of an interval its numbers are told.
    const LATE: Duration = Duration::from_millis(100);
    let (spec, clock) = (crew.spec, &crew.clock);
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
            Ok(handover) => {
                if let Some(interval) = handover.interval {
                    observer.recorded(interval, &handover.sheet);
                }
                drop(give_back.send(collector.take(handover)));
            }
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
            if collector.has_no_answer() || (spec.ends_at_failure && errors > 0) {
                crew.end.bring_forward(clock.now());
            }
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
