//! The measured path: all clocks and client threads.
//!
//! [`run`] carries out one phase: clients that run the loop, a collector that merges what they
//! recorded, probes that watch the machine meanwhile.

mod arrivals;
mod censoring;
mod client;
mod clock;
mod collection;
mod collector;
mod context;
mod ending;
mod error;
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
mod stop;
mod tasks;
mod threads;
mod timer;

pub use client::recorded_as;
pub use clock::{Clock, MonotonicClock, Tick, clock_step_ms, unix_ms};
pub use collection::Sampler;
pub use error::Error;
pub use interval_stats::{Failures, IntervalStats, KindStats, LagCounts, LatencyPair};
pub use latency_counts::LatencyCounts;
pub use observer::{Live, Observer, PhaseKind, PhaseStart, Silent};
pub use pacer::DRAIN;
pub use peers::{AgreedClock, Peers, PhaseEnd};
pub use pollster::block_on;
pub use spec::{Enough, Part, Spec};
pub use stop::Stop;

use clock::nanos;
use collection::{collect, sample};
use collector::Collector;
use context::PhaseContext;
use crossbeam_channel::unbounded;
use ending::{EndedBy, due_ns};
use silence::Silence;
use std::sync::atomic::{AtomicBool, Ordering};
use tailmark_driver::{Clients, Stage};
use tailmark_results::Phase;
use tailmark_workload::Seed;
use tasks::RecorderChannels;

/// Stats beyond one a recorder, at most: more processors than these seldom turn to an interval at
/// once.
const SPARE_STATS: u32 = 64;

/// Runs a phase to its end, or until `stop` is requested.
///
/// # Errors
/// Where a client cannot be made: no session, no stream, no thread.
pub fn run(
    spec: &Spec<'_>,
    sampler: &mut dyn Sampler,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Phase, Error> {
    let mut seed = Seed::new(spec.seed).of("system", spec.system);
    if let Some(part) = spec.part {
        seed = seed.of_number("first client", part.first.into());
    }
    let stage = match spec.point {
        Some(_) => Stage::Run,
        None => Stage::Load,
    };
    if !spec.goes_on {
        spec.database.begin_phase(stage, seed.value());
    }
    if let Some(clock) = spec.database.virtual_clock() {
        return simulation::run(spec, clock, observer, stop);
    }
    match spec.part {
        None => measure(spec, MonotonicClock::start(), sampler, observer, stop),
        Some(part) => {
            let clock = AgreedClock::start(part.peers);
            measure(spec, clock, sampler, observer, stop)
        }
    }
}

/// Runs a phase in real time.
fn measure<C: Clock + 'static>(
    spec: &Spec<'_>,
    clock: C,
    sampler: &mut dyn Sampler,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Phase, Error> {
    let context = PhaseContext::new(spec, clock, observer, stop);
    let (full, received) = unbounded();
    let (give_back, empty) = unbounded();
    let streams = context.streams()?;
    // One for each recorder to fill, and some to go on with while those are merged.
    let (recorders, kinds) = (context.recorders(), context.kinds());
    for _ in 0..recorders + recorders.min(SPARE_STATS) {
        let stats = IntervalStats::ready(&kinds, context.keep());
        let _ = give_back.send(Box::new(stats));
    }
    let channels = RecorderChannels { full, empty };
    let done = AtomicBool::new(false);
    let (started_ms, measure, collected) = std::thread::scope(|scope| {
        let spawned = match spec.clients {
            Clients::Threads => context.spawn(scope, streams, &channels),
            Clients::Tasks => tasks::spawn(&context, scope, streams, &channels),
        };
        // What clients hold of it closes it when the last one ends.
        drop(channels);
        if let Err(error) = spawned {
            // Those that wait for the start go home.
            let _ = context.start.set(None);
            return Err(error);
        }
        let Some(start) = agreed_start(&context) else {
            let _ = context.start.set(None);
            return Err(Error::NotStarted);
        };
        let measure = start + nanos(spec.warmup);
        let clock = &context.clock;
        sampler.sample(&|| (clock.now() as f64 - measure as f64) / 1e9, false);
        let started_ms = unix_ms() + u64::try_from(spec.warmup.as_millis()).unwrap_or(0);
        if let Some(duration) = spec.duration {
            context.end.plan(measure.saturating_add(nanos(duration)));
        }
        context
            .start
            .set(Some(measure))
            .expect("the start is given once");
        let done = &done;
        let sampler = scope.spawn(move || sample(sampler, clock, measure, done));
        let collected = collect(&context, measure, &received, &give_back);
        done.store(true, Ordering::Relaxed);
        sampler.thread().unpark();
        Ok((started_ms, measure, collected))
    })?;
    Ok(result(&context, collected, measure, started_ms))
}

/// When the phase starts, where all are ready; waits for that where several processes start at one
/// instant.
fn agreed_start<C: Clock>(context: &PhaseContext<'_, C>) -> Option<Tick> {
    let Some(part) = context.spec.part else {
        return Some(context.clock.now());
    };
    let start = part.peers.start()?;
    let late = peers::wait_until(start, &context.clock, context.stop);
    let end = PhaseEnd {
        end: context.end.clone(),
        measure: start + nanos(context.spec.warmup),
        is_simulated: false,
    };
    part.peers.started(end, late);
    Some(start)
}

/// What was recorded of a phase, and the time that its rates are divided by.
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
    let due = due_ns(spec, &context.roles);
    let times = (collector.done_ns(measure), due);
    let by = match (is_cut, collector.has_overrun()) {
        (true, _) => EndedBy::Cut,
        (_, true) => EndedBy::Time,
        _ => EndedBy::Plan,
    };
    let planned_ns = (planned < Tick::MAX).then(|| planned.saturating_sub(measure));
    let length = ending.length(spec, measure, planned_ns, times, by);
    let mut phase = collector.finish(length.whole());
    phase.started_ms = Some(started_ms);
    phase.duration_s = length.divisor as f64 / 1e9;
    phase.counters = spec.database.counters();
    let start = measure - nanos(spec.warmup);
    if !is_stopped && end < Tick::MAX {
        let drained = context.end.drained() - start;
        censoring::add_left(
            &mut phase,
            spec.workload,
            &context.roles,
            end - start,
            drained,
        );
    }
    if spec.arrivals.is_none()
        && let Some(lag) = &mut phase.start_lag
    {
        lag.causes = None;
    }
    let straggler = || ending.straggler(due, measure, &phase);
    let found = silence.finding().or_else(straggler);
    phase.findings.extend(found);
    phase
}
