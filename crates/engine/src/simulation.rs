//! A phase under a virtual clock. The clients are tasks of this thread, which advances the clock
//! whenever all of them wait. They run the same code and record the same data as real clients.

use crate::{
    Error, Observer, PhaseEnd, Spec, Stop,
    clock::{Clock, nanos},
    collection::Collection,
    context::{ClientSeed, PhaseContext},
    pacer::Waiter,
    recorder::RecorderChannels,
    tasks::TaskRecorders,
};
use crossbeam_channel::{TryRecvError, unbounded};
use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;
use tailmark_driver::VirtualClock;
use tailmark_model::Phase;

/// Runs a phase on a database that has a clock of its own.
pub fn run(
    spec: &Spec<'_>,
    clock: VirtualClock,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Phase, Error> {
    if !spec.continues {
        clock.restart();
    }
    let context = PhaseContext::new(spec, clock.clone(), observer, stop);
    let (full, received) = unbounded();
    let (give_back, empty) = unbounded();
    let channels = RecorderChannels { full, empty };
    let mut pool = LocalPool::new();
    let mut seeds = Vec::new();
    for (index, draws) in context.streams()? {
        let session = pool.run_until(spec.database.connect())?;
        seeds.push(ClientSeed {
            index,
            draws,
            session,
        });
    }
    let started_ms = tailmark_model::instant::unix_ms();
    let measure = Clock::now(&clock) + nanos(spec.warmup);
    if let Some(duration) = spec.duration {
        context.end.plan(measure.saturating_add(nanos(duration)));
    }
    if let Some(part) = spec.part {
        let end = PhaseEnd {
            end: context.end.clone(),
            measure,
            is_simulated: true,
        };
        part.peers.starts(end);
    }
    let recorders = TaskRecorders::new(&context, measure, &channels);
    drop(channels);
    for seed in seeds {
        let waiter = Waiter::Virtual(clock.clone());
        let client = recorders.client(&context, seed, measure, waiter);
        let spawned = pool.spawner().spawn_local(async {
            client.await;
        });
        spawned.expect("the pool is there");
    }
    drop(recorders);
    let mut collection = Collection::begin(&context, measure);
    loop {
        pool.run_until_stalled();
        let has_ended = loop {
            match received.try_recv() {
                Ok(snapshot) => drop(give_back.send(collection.take(snapshot))),
                Err(reason) => break reason == TryRecvError::Disconnected,
            }
        };
        if has_ended {
            break;
        }
        let next = clock
            .next()
            .expect("a client that goes on waits for the clock");
        clock.advance(next.min(collection.next()).max(Clock::now(&clock)));
        if Clock::now(&clock) >= collection.next() {
            collection.report();
        }
    }
    Ok(crate::result(
        &context,
        collection.end(),
        measure,
        started_ms,
    ))
}
