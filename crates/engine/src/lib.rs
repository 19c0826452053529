//! The measured path: all clocks and client threads.
//!
//! [`run`] carries out one phase: clients that run the loop, a collector that merges what they
//! recorded, probes that watch the machine meanwhile.

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
mod recorder;
mod roles;
mod silence;
mod spec;
mod stop;
mod tasks;
mod threads;
mod timer;

pub use client::recorded_as;
pub use clock::{Clock, Tick, clock_step_ms, unix_ms};
pub use collection::Sampler;
pub use error::Error;
pub use interval_stats::{Failures, IntervalStats, KindStats, Missed};
pub use latency_counts::LatencyCounts;
pub use observer::{Live, Observer, PhaseKind, PhaseStart, Silent};
pub use pollster::block_on;
pub use spec::Spec;
pub use stop::Stop;

use clock::nanos;
use collection::{collect, sample};
use collector::Collector;
use context::PhaseContext;
use crossbeam_channel::unbounded;
use std::sync::atomic::{AtomicBool, Ordering};
use tailmark_driver::Clients;
use tailmark_results::{Phase, StartLag};
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
    let context = PhaseContext::new(spec, observer, stop);
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
    let (started_ms, measure, (collector, silence)) = std::thread::scope(|scope| {
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
        let measure = context.clock.now() + nanos(spec.warmup);
        let clock = &context.clock;
        sampler.sample(&|| (clock.now() as f64 - measure as f64) / 1e9, false);
        let started_ms = unix_ms() + u64::try_from(spec.warmup.as_millis()).unwrap_or(0);
        if let Some(duration) = spec.duration {
            context
                .end
                .bring_forward(measure.saturating_add(nanos(duration)));
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
    let mut phase = result(&context, collector, measure);
    phase.started_ms = Some(started_ms);
    let straggler = || context.roles.ending().straggler(spec, measure, &phase);
    let found = silence.finding().or_else(straggler);
    phase.findings.extend(found);
    Ok(phase)
}

/// What was recorded of a phase, and the time that its rates are divided by.
fn result(context: &PhaseContext<'_>, collector: Collector, measure: Tick) -> Phase {
    let (spec, end) = (context.spec, context.end.tick());
    let planned = spec.duration.map(|d| measure.saturating_add(nanos(d)));
    let is_cut = context.stop.requested() || end < planned.unwrap_or(Tick::MAX);
    let ending = context.roles.ending();
    let length = ending.length(spec, measure, collector.done_ns(measure), is_cut);
    let collected = collector.finish(length.whole());
    Phase {
        duration_s: length.divisor as f64 / 1e9,
        operations: collected.operations,
        failed: collected.failed,
        kinds: collected.kinds,
        errors: collected.errors,
        start_lag: collected
            .start_lag
            .map(|all| StartLag { all, causes: None }),
        intervals: collected.intervals,
        counters: spec.database.counters(),
        ..Phase::default()
    }
}
