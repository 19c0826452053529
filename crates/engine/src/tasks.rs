//! Clients that are tasks: many of them on a few runtimes, each with one OS thread.
//!
//! A client of a network database mostly waits. As a separate thread it would cost two context
//! switches per answer. As a task, it is one of several whose answers its thread handles together.
//! Only that thread touches the sockets, timers and recorder of a runtime.

use super::{
    context::{ClientSeed, Draws, PhaseContext},
    pacer::Waiter,
    recorder::{Recorder, RecorderChannels},
    roles::Background,
    timer::RuntimeTimer,
};
use crate::{
    Error,
    anatomy::{Dissector, Local},
    clock::{Clock, Tick},
};
use crossbeam_channel::Sender;
use std::{cell::RefCell, io, pin::Pin, rc::Rc, thread::Scope, time::Duration};
use tokio::{
    runtime::{Builder, Runtime},
    task::LocalSet,
};

/// Starts the runtime threads and waits until every client is connected.
///
/// # Errors
/// If a thread or a client cannot be created. Threads that were started end.
pub fn spawn<'scope, C: Clock + 'static>(
    context: &'scope PhaseContext<'_, C>,
    scope: &'scope Scope<'scope, '_>,
    streams: Vec<(u32, Draws)>,
    channels: &RecorderChannels,
) -> Result<(), Error> {
    let threads = context.recorders();
    let mut shares: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
    for (place, (index, draws)) in streams.into_iter().enumerate() {
        shares[place % threads as usize].push((index, draws));
    }
    let (report, reports) = crossbeam_channel::unbounded();
    for (index, share) in shares.into_iter().enumerate() {
        let (report, channels) = (report.clone(), channels.clone());
        let thread = move || {
            let runtime = match runtime() {
                Ok(runtime) => runtime,
                Err(source) => {
                    let _ = report.send(Err(Error::Thread { threads, source }));
                    return;
                }
            };
            LocalSet::new().block_on(&runtime, run(context, share, channels, report));
        };
        let name = format!("clients-{index}");
        let started = std::thread::Builder::new()
            .name(name)
            .spawn_scoped(scope, thread);
        started.map_err(|source| Error::Thread { threads, source })?;
    }
    drop(report);
    reports.iter().collect()
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// One runtime thread: connects its clients, reports, waits for the start and runs the clients to
/// their end.
async fn run<C: Clock + 'static>(
    context: &PhaseContext<'_, C>,
    share: Vec<(u32, Draws)>,
    channels: RecorderChannels,
    report: Sender<Result<(), Error>>,
) {
    let timer = match RuntimeTimer::new(&context.clock) {
        Ok(timer) => timer,
        Err(source) => {
            let _ = report.send(Err(Error::Thread {
                threads: context.spec.threads,
                source,
            }));
            return;
        }
    };
    let mut seeds = Vec::new();
    for (index, draws) in share {
        match context.spec.database.connect().await {
            Ok(session) => seeds.push(ClientSeed {
                index,
                draws,
                session,
            }),
            Err(error) => {
                let _ = report.send(Err(error.into()));
                return;
            }
        }
    }
    let _ = report.send(Ok(()));
    drop(report);
    // The clients need nothing else to run meanwhile.
    let Some(measure) = context.await_start() else {
        return;
    };
    let running = Rc::clone(&timer);
    let timer_task = tokio::task::spawn_local(async move { running.run().await });
    let recorders = TaskRecorders::new(context, measure, &channels);
    drop(channels);
    let spawn = |seed: ClientSeed| {
        let waiter = Waiter::Task {
            timer: Rc::clone(&timer),
            spin: context.spin,
        };
        tokio::task::spawn_local(recorders.client(context, seed, measure, waiter))
    };
    let clients: Vec<_> = seeds.into_iter().map(spawn).collect();
    drop(recorders);
    for client in clients {
        match client.await {
            Ok(closing) => context.observer.session_closed(closing),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {}
        }
    }
    timer_task.abort();
}

/// The recorders shared by the clients of one OS thread.
pub struct TaskRecorders {
    of_point: Rc<RefCell<Recorder>>,
    of_background: Rc<RefCell<Recorder>>,
    /// Requests that are taken apart.
    local: Rc<RefCell<Local>>,
}

impl TaskRecorders {
    /// Recorders of the measured part that begins at `measure`.
    pub fn new<C: Clock>(
        context: &PhaseContext<'_, C>,
        measure: Tick,
        channels: &RecorderChannels,
    ) -> Self {
        let recorder = |is_background| {
            let recorder = context.recorder(measure, is_background, channels.clone());
            Rc::new(RefCell::new(recorder))
        };
        Self {
            of_point: recorder(false),
            of_background: recorder(true),
            local: Rc::default(),
        }
    }

    /// Runs a client to its end. Returns how long it then took to close its session.
    pub fn client<C: Clock + 'static>(
        &self,
        context: &PhaseContext<'_, C>,
        seed: ClientSeed,
        measure: Tick,
        waiter: Waiter,
    ) -> Pin<Box<dyn Future<Output = Duration>>> {
        if context.roles.role(seed.index).is_background {
            let recorder = Background(Rc::clone(&self.of_background));
            return Box::pin(context.client(seed, measure, waiter, recorder).run());
        }
        let recorder = Rc::clone(&self.of_point);
        let index = seed.index;
        let client = context.client(seed, measure, waiter, recorder);
        match context.spec.anatomy {
            None => Box::pin(client.run()),
            Some(anatomist) => {
                let apart = Dissector::new(anatomist, &self.local, measure, (index, false));
                Box::pin(client.taken_apart(apart).run())
            }
        }
    }
}
