//! Shared state of the clients of a phase, and what each client is made from.

use crate::{
    Error, Observer, Spec, Stop, Tick,
    client::{Acknowledge, Client, UpdateDue},
    clock::{Clock, nanos},
    interval_stats::Keep,
    pacer::{Budget, End, Pace, Pacer, Waiter},
    recorder::{Edge, Record, Recorder, RecorderChannels, recorded_as},
    roles::{Role, Roles},
    silence::{Pulse, SharedPulse},
    spec::share,
    start::{self, Late},
};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tailmark_driver::{Clients, Session};
use tailmark_model::Kind;
use tailmark_workload::{ClientGroup, Stream, StreamConfig};

/// The longest that a client may spin before an instant.
const SPIN: Duration = Duration::from_micros(20);
/// Clients per runtime thread. More clients get another thread, as long as there are processors.
const CLIENTS: u32 = 16;

/// Shared state of the clients of a phase.
pub struct PhaseContext<'a, C> {
    pub spec: &'a Spec<'a>,
    pub observer: &'a dyn Observer,
    pub clock: C,
    pub stop: &'a Stop,
    pub budget: Option<Arc<Budget>>,
    pub roles: Roles,
    pub spin: Duration,
    /// When clients send no further operation.
    pub end: End,
    /// By client.
    pub pulses: Vec<SharedPulse>,
    /// When the measured part starts, set when every client is ready; `None`: it does not start.
    pub start: OnceLock<Option<Tick>>,
    /// How late clients began, if several processes begin at one instant.
    pub late: Late,
}

/// The private parts of one client.
pub struct ClientSeed {
    pub index: u32,
    pub draws: Draws,
    pub session: Box<dyn Session>,
}

/// The streams from which a client draws its operations.
pub struct Draws {
    /// From the start.
    pub first: Stream,
    /// In the measured part, if a warm-up precedes it.
    pub measured: Option<Box<Stream>>,
}

impl<'a, C: Clock> PhaseContext<'a, C> {
    pub fn new(spec: &'a Spec<'a>, clock: C, observer: &'a dyn Observer, stop: &'a Stop) -> Self {
        let roles = Roles::new(spec.workload, spec.threads, spec.rate)
            .of_part(spec)
            .sharing(spec);
        Self {
            spec,
            observer,
            clock,
            stop,
            budget: spec
                .own_operations()
                .map(|n| Arc::new(Budget::new(n, spec.own_threads()))),
            pulses: roles.iter().map(|_| Pulse::shared()).collect(),
            roles,
            spin: spin(spec.rate),
            end: End::at(Tick::MAX),
            start: OnceLock::new(),
            late: Late::default(),
        }
    }

    /// Waits until the phase starts, in a thread with nothing else to do. Returns when the measured
    /// part begins, or `None` if the phase does not start.
    pub fn await_start(&self) -> Option<Tick> {
        let measure = (*self.start.wait())?;
        if self.spec.part.is_some() {
            let start = measure - nanos(self.spec.warmup);
            self.late
                .add(start::wait_until(start, &self.clock, self.stop));
        }
        Some(measure)
    }

    /// The operations of every client.
    pub fn streams(&self) -> Result<Vec<(u32, Draws)>, Error> {
        let spec = self.spec;
        let stream = |(index, role): (u32, Role), seed| {
            let config = StreamConfig {
                workload: Arc::clone(spec.workload),
                group: role.group,
                data: spec.data.clone(),
                keys: Arc::clone(spec.keys),
                seed,
                client: index,
                operations: spec.operations_on_keys(),
                write_all_fields: spec.write_all_fields,
                compressibility: spec.compressibility,
            };
            Stream::new(&config)
        };
        let draws = |client: (u32, Role)| {
            let measured = stream(client, spec.seed)?;
            let draws = if spec.warmup.is_zero() {
                Draws {
                    first: measured,
                    measured: None,
                }
            } else {
                Draws {
                    first: stream(client, spec.warmup_seed)?,
                    measured: Some(Box::new(measured)),
                }
            };
            Ok((client.0, draws))
        };
        self.roles.iter().map(draws).collect()
    }

    /// The number of OS threads that run clients. Each has a recorder.
    pub fn recorders(&self) -> u32 {
        match self.spec.clients {
            Clients::Threads => self.spec.own_threads(),
            Clients::Tasks => runtime_threads(self.spec.own_threads(), cpus()),
        }
    }

    /// The kinds that are recorded.
    pub fn kinds(&self) -> Vec<Kind> {
        let workload = self.spec.workload;
        let mut kinds: Vec<_> = workload.kinds().into_iter().map(recorded_as).collect();
        let pairs = |group: &ClientGroup| {
            group
                .mix()
                .is_some_and(|own| own.mix.read_modify_write > 0.0)
        };
        if workload.groups.iter().any(pairs) {
            kinds.push(Kind::ReadModifyWrite);
        }
        kinds
    }

    pub fn keep(&self) -> Keep {
        if self.roles.have_rate() {
            Keep::Both
        } else {
            Keep::Service
        }
    }

    /// The recorder of an OS thread's clients: those of the point, or background clients.
    pub fn recorder(
        &self,
        measure: Tick,
        is_background: bool,
        channels: RecorderChannels,
    ) -> Recorder {
        let has_arrivals = |of_background| {
            let mut arrivals = self.roles.arrivals_of(self.spec.workload, of_background);
            arrivals.next().is_some()
        };
        let waits = has_arrivals(is_background);
        let edge = (waits || has_arrivals(false)).then(|| Edge {
            end: self.end.clone(),
            own_end: is_background.then(|| self.arrivals_end(true).clone()),
            waits,
        });
        Recorder::new(measure, self.keep(), edge, channels.full, channels.empty)
    }

    /// When nothing more is due among the arrivals of the point, or of background clients. A point
    /// that ends by time knows this beforehand.
    pub fn arrivals_end(&self, is_background: bool) -> &End {
        if is_background && self.spec.operations.is_some() {
            self.roles.background_end()
        } else {
            &self.end
        }
    }

    /// The end of a client.
    fn end_of(&self, role: Role) -> &End {
        match (role.is_background, self.roles.shares_arrivals(role)) {
            (true, false) => self.roles.background_end(),
            (is_background, _) => self.arrivals_end(is_background),
        }
    }

    /// The operations that a client may send: from the common budget, from its own share, or
    /// without a limit.
    pub fn budget(&self, index: u32, role: Role) -> Option<Arc<Budget>> {
        let (spec, group) = (self.spec, &self.spec.workload.groups[role.group]);
        match (role.is_background, group.is_done_by_each()) {
            (true, _) => None,
            _ if self.roles.shares_arrivals(role) => None, // they end by themselves
            (false, false) => self.budget.clone(),
            (false, true) => {
                let share = |operations| share(operations, index, spec.threads);
                spec.operations.map(|n| Arc::new(Budget::new(share(n), 1)))
            }
        }
    }

    pub fn client<R: Record>(
        &self,
        seed: ClientSeed,
        measure: Tick,
        waiter: Waiter,
        recorder: R,
    ) -> Client<R, C> {
        let ClientSeed {
            index,
            draws,
            session,
        } = seed;
        let (spec, role) = (self.spec, self.roles.role(index));
        let pulse = &self.pulses[self.roles.place_of(index)];
        let pace = Pace {
            clock: self.clock.clone(),
            start: measure - nanos(spec.warmup),
            measure,
            end: self.end_of(role).clone(),
            budget: self.budget(index, role),
            timetable: self.roles.timetable(role),
            waiter,
            stop: self.stop.clone(),
            pulse: Arc::clone(pulse),
        };
        let acknowledge = match spec.point {
            Some(_) => Acknowledge::All,
            None => Acknowledge::Succeeded,
        };
        let update_due = match spec.arrivals {
            Some(_) => UpdateDue::AfterRead,
            None => UpdateDue::WithPair,
        };
        let (clock, pacer) = (self.clock.clone(), Pacer::new(pace));
        Client {
            clock,
            pacer,
            stream: draws.first,
            measured: draws.measured,
            session,
            recorder,
            acknowledge,
            update_due,
            completion: self.roles.completion(role, &self.end),
            pulse: Arc::clone(pulse),
            apart: (),
        }
    }
}

/// How long clients may spin: [`SPIN`], unless that would take more than a tenth of the machine.
fn spin(rate: Option<f64>) -> Duration {
    let cores = cpus() as f64;
    match rate {
        Some(rate) if rate * SPIN.as_secs_f64() < cores / 10.0 => SPIN,
        _ => Duration::ZERO,
    }
}

/// The number of processors that this process may run on.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The number of runtime threads for these clients on these processors.
fn runtime_threads(clients: u32, cpus: usize) -> u32 {
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    clients.div_ceil(CLIENTS).min(cpus).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_few_threads_as_serve_and_never_more_than_processors() {
        for (clients, cpus, expected) in [
            (1, 8, 1),
            (16, 8, 1),
            (17, 8, 2),
            (128, 8, 8),
            (1024, 2, 2),
            (64, 64, 4),
        ] {
            assert_eq!(
                runtime_threads(clients, cpus),
                expected,
                "{clients} on {cpus}"
            );
        }
    }
}
