//! The measured path: all clocks and client threads.
//!
//! [`run`] carries out one phase with clients that run the loop, a collector that merges their
//! recordings, and probes that watch the machine.

mod anatomy;
mod apart;
mod arrivals;
mod censoring;
mod client;
mod clock;
mod collection;
mod collector;
mod context;
mod deal;
mod ending;
mod error;
mod held;
mod interval_stats;
mod latency_counts;
mod observer;
mod pacer;
mod peers;
mod recorder;
mod roles;
mod silence;
mod simulation;
mod spec;
mod start;
mod stop;
mod stopped;
mod tasks;
mod threads;
mod timer;

pub use anatomy::{Anatomist, AnatomySettings};
pub use clock::{Clock, MonotonicClock, Reading, Tick, clock_step_ms};
pub use collection::Sampler;
pub use error::Error;
pub use interval_stats::{Failures, IntervalStats, KindStats, LagCounts, LatencyPair};
pub use latency_counts::LatencyCounts;
pub use observer::{Live, Observer, PhaseKind, PhaseStart, Silent};
pub use pacer::DRAIN;
pub use peers::{Peers, PhaseEnd};
pub use pollster::block_on;
pub use recorder::recorded_as;
pub use spec::{Enough, Part, Spec, Terms};
pub use stop::Stop;

use censoring::add_left;
use clock::nanos;
use collection::{collect, sample};
use collector::Collector;
use context::PhaseContext;
use crossbeam_channel::unbounded;
use ending::EndedBy;
use held::Held;
use recorder::RecorderChannels;
use silence::Silence;
use std::sync::atomic::{AtomicBool, Ordering};
use stopped::Stops;
use tailmark_driver::{Clients, Stage};
use tailmark_model::{Phase, instant};
use tailmark_workload::Seed;

/// The most spare stats beyond one per recorder. Rarely do more processors than these start a new
/// interval at the same time.
const SPARE_STATS: u32 = 64;

/// Runs a phase to its end, or until `stop` is requested.
///
/// # Errors
/// If a client cannot be created because its session, stream or thread cannot.
pub fn run(
    spec: &Spec<'_>,
    sampler: &mut dyn Sampler,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Phase, Error> {
    let mut seed = Seed::new(spec.seed).with("system", spec.system);
    if let Some(part) = spec.part {
        seed = seed.with_number("first client", part.first.into());
    }
    let stage = match spec.point {
        Some(_) => Stage::Run,
        None => Stage::Load,
    };
    if !spec.continues {
        spec.database.begin_phase(stage, seed.value());
    }
    if let Some(clock) = spec.database.virtual_clock() {
        return simulation::run(spec, clock, observer, stop);
    }
    measure(spec, sampler, observer, stop)
}

/// Runs a phase in real time.
fn measure(
    spec: &Spec<'_>,
    sampler: &mut dyn Sampler,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Phase, Error> {
    let clock = match spec.part {
        None => MonotonicClock::start(),
        Some(part) => peers::agreed_clock(part.peers),
    };
    let context = PhaseContext::new(spec, clock, observer, stop);
    let (full, received) = unbounded();
    let (give_back, empty) = unbounded();
    let streams = context.streams()?;
    // One for each recorder to fill, and spare ones while those are merged.
    let (recorders, kinds) = (context.recorders(), context.kinds());
    for _ in 0..recorders + recorders.min(SPARE_STATS) {
        let stats = IntervalStats::ready(&kinds, context.keep());
        let _ = give_back.send(Box::new(stats));
    }
    let channels = RecorderChannels { full, empty };
    let done = AtomicBool::new(false);
    let (started_ms, measure, collected, stops) = std::thread::scope(|scope| {
        let spawned = match spec.clients {
            Clients::Threads => context.spawn(scope, streams, &channels),
            Clients::Tasks => tasks::spawn(&context, scope, streams, &channels),
        };
        // The last client that ends closes it.
        drop(channels);
        if let Err(error) = spawned {
            // Clients that wait for the start return.
            let _ = context.start.set(None);
            return Err(error);
        }
        let Some(measure) = agreed_start(&context) else {
            let _ = context.start.set(None);
            return Err(Error::NotStarted);
        };
        let shared_clock = &context.clock;
        let started_ms =
            instant::unix_ms() + measure.saturating_sub(shared_clock.now()) / 1_000_000;
        let mut first_sample = || {
            let now_s = || (shared_clock.now() as f64 - measure as f64) / 1e9;
            sampler.sample(&now_s, false);
        };
        // Before clients begin. Those of several processes get the start early, and wait for it.
        if spec.part.is_none() {
            first_sample();
        }
        if let Some(duration) = spec.duration {
            context.end.plan(measure.saturating_add(nanos(duration)));
        }
        context
            .start
            .set(Some(measure))
            .expect("the start is given once");
        if spec.part.is_some() {
            first_sample();
        }
        let done = &done;
        let sampler = scope.spawn(move || sample(sampler, shared_clock, measure, done));
        let mut held = Held::new(spec.database, stop);
        let stops = scope.spawn(move || Stops::watch(shared_clock, done, || held.look()));
        let collected = collect(&context, measure, &received, &give_back);
        done.store(true, Ordering::Relaxed);
        sampler.thread().unpark();
        stops.thread().unpark();
        let stops = stops.join().unwrap_or_default();
        Ok((started_ms, measure, collected, stops))
    })?;
    if let Some(part) = spec.part {
        let ahead_ns = peers::ahead_ns(&context.clock, part.peers);
        part.peers.ended(context.late.first(), ahead_ns);
    }
    let stopped = stops.finding(measure, context.end.tick());
    let mut phase = result(&context, collected, measure, started_ms);
    phase.findings.extend(stopped);
    Ok(phase)
}

/// Excludes that many operations of a closed loop, done after its end, from its rates. It is
/// unknown which requests they were, so each kind gives its share.
fn leave_out(phase: &mut Phase, late: u64) {
    let late = late.min(phase.succeeded());
    let share = late as f64 / phase.operations.max(1) as f64;
    for result in phase.kinds.values_mut() {
        result.drained_bytes += (result.bytes as f64 * share).round() as u64;
    }
    phase.drained += late;
}

/// When the measured part starts, once all are ready. It is a little later if several processes
/// start at one instant.
fn agreed_start<C: Clock>(context: &PhaseContext<'_, C>) -> Option<Tick> {
    let warmup = nanos(context.spec.warmup);
    let Some(part) = context.spec.part else {
        return Some(context.clock.now() + warmup);
    };
    let measure = part.peers.start()? + warmup;
    part.peers.starts(PhaseEnd {
        end: context.end.clone(),
        measure,
        is_simulated: false,
    });
    Some(measure)
}

/// The recordings of a phase, with the divisor of its rates.
fn result<C: Clock>(
    context: &PhaseContext<'_, C>,
    (collector, silence): (Collector, Silence),
    measure: Tick,
    started_ms: u64,
) -> Phase {
    let (spec, end) = (context.spec, context.end.tick());
    let planned = context.end.planned();
    let is_stopped = context.stop.requested();
    let is_cut = is_stopped || end < planned;
    let ending = context.roles.ending();
    let due = context.roles.due_ns(spec);
    let times = (collector.done_ns(measure), due);
    let by = match (is_cut, collector.has_overrun()) {
        (true, _) => EndedBy::Cut,
        (_, true) => EndedBy::Time,
        _ => EndedBy::Plan,
    };
    let planned_ns = (planned < Tick::MAX).then(|| planned.saturating_sub(measure));
    let operations = collector.counts().0;
    let length = ending.length(spec, measure, planned_ns, (times, operations), by);
    let mut phase = collector.finish(length.whole());
    phase.started_ms = Some(started_ms);
    phase.duration_s = length.divisor as f64 / 1e9;
    leave_out(&mut phase, length.late);
    phase.counters = spec.database.counters();
    if !is_stopped {
        let start = measure - nanos(spec.warmup);
        let roles = &context.roles;
        for is_background in [false, true] {
            let arrivals_end = context.arrivals_end(is_background);
            add_left(
                &mut phase,
                spec.workload,
                (roles, is_background),
                arrivals_end,
                start,
            );
        }
    }
    if spec.arrivals.is_none() {
        // Only clients with their own schedule can be late.
        phase.start_lag = phase.start_lag.take().filter(|lag| lag.all.max() > 0);
        if let Some(lag) = &mut phase.start_lag {
            lag.causes = None;
        }
    }
    let straggler = || ending.straggler(due, measure, &phase);
    let found = silence.finding().or_else(straggler);
    let few = ending.few_operations(spec, &length, &phase);
    phase.findings.extend(found.into_iter().chain(few));
    phase
}
