//! A simulated database, whose answers and their timing are known in advance.
//!
//! It holds no data. A [`model`] sets its service time, the number of requests that it serves at
//! once, and events over time. In addition, every n-th request of a *client* can stall, miss or
//! fail. There are three rows. `sim` has its own clock, so that an hour takes seconds. It shows
//! what tailmark reports about a known database. The clients of `sim-threads` and `sim-tasks` run
//! in real time like those of real databases, for tests.

mod model;
mod queue;
mod state;
mod timer;

use crate::{
    Cause, Clients, Completion, Database, Driver, Error, Failure, Operation, OperationKind,
    Outcome, Params, Part, Parts, Reply, Session, Setting, SettingKind, Settings, Settled, Stage,
    Statistic, Stopped, VirtualClock,
};
use model::Model;
use queue::{Queue, Served};
use state::State;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};
use timer::{Sleep, Timer};

/// The driver with its own clock.
pub const DRIVER: Driver = Driver {
    name: "sim",
    about: "simulates a database in virtual time: a model of its latencies, stalls and errors",
    clients: Clients::Tasks,
    supports_special: false,
    settings: &settings("100"),
    check: |settings| Model::parse(settings.text("model").unwrap_or_default()).map(drop),
    open: |params| {
        Ok(Box::new(Sim::new(
            params,
            Time::Virtual(VirtualClock::default()),
        )?))
    },
    destroy: |params, _| state::remove(&params.settings),
    ..super::null::DRIVER
};

/// The driver whose clients are threads, in real time.
pub const THREADS: Driver = Driver {
    name: "sim-threads",
    about: "for tests: like sim, but in real time with clients as threads",
    clients: Clients::Threads,
    settings: &settings("0"),
    open: |params| {
        let timer = params.settings.flag("pending").then(Timer::start);
        Ok(Box::new(Sim::new(params, Time::Real(timer))?))
    },
    ..DRIVER
};

/// The driver whose clients are tasks, in real time.
pub const TASKS: Driver = Driver {
    name: "sim-tasks",
    about: "for tests: like sim, but in real time with every answer awaited",
    settings: &settings("0"),
    open: |params| {
        Ok(Box::new(Sim::new(
            params,
            Time::Real(Some(Timer::start())),
        )?))
    },
    ..DRIVER
};

const COUNT: SettingKind = SettingKind::Integer {
    min: 0,
    max: i64::MAX,
};

const MICROSECONDS: SettingKind = SettingKind::Integer {
    min: 0,
    max: 3_600_000_000,
};

const fn settings(latency_us: &'static str) -> [Setting; 10] {
    [
        Setting::new(
            "cause",
            "cause that failures are counted under",
            CAUSES,
            "io",
        ),
        Setting::new(
            "error_every",
            "every n-th request of a client fails; 0: none",
            COUNT,
            "0",
        ),
        Setting::new(
            "latency_us",
            "how long a request takes, unless the model sets it",
            MICROSECONDS,
            latency_us,
        ),
        Setting::new(
            "miss_every",
            "every n-th read of a client finds nothing; 0: none",
            COUNT,
            "0",
        ),
        Setting::new(
            "model",
            "behaviour: `exponential 200us; servers 4; stall 30s 1s` (docs/METHOD.md)",
            SettingKind::Text,
            "",
        ),
        Setting::new(
            "never_settles",
            "background work never settles",
            SettingKind::Flag,
            "false",
        ),
        Setting::new(
            "pending",
            "answers are awaited instead of returned",
            SettingKind::Flag,
            "false",
        ),
        Setting::new(
            "stall_every",
            "every n-th request of a client takes stall_us; 0: none",
            COUNT,
            "0",
        ),
        Setting::new(
            "stall_us",
            "how long a stalled request takes",
            MICROSECONDS,
            "0",
        ),
        Setting::new(
            "state",
            "file with the bytes written so far; without it, every opening begins with none",
            SettingKind::Text,
            "",
        ),
    ]
}

const CAUSES: SettingKind = SettingKind::Choice(&[
    "connection",
    "corruption",
    "io",
    "other",
    "overloaded",
    "timeout",
    "unavailable",
    "unsupported",
]);

/// Virtual or real time.
#[derive(Clone)]
enum Time {
    Virtual(VirtualClock),
    /// With a timer if answers are awaited.
    Real(Option<Arc<Timer>>),
}

impl Time {
    /// The shortest request, nanoseconds. Virtual time would not advance otherwise.
    const fn request_min_ns(&self) -> u64 {
        match self {
            Self::Virtual(_) => 1_000,
            Self::Real(_) => 0,
        }
    }
}

/// State shared by all clients.
struct Sim {
    script: Script,
    model: Model,
    never_settles: bool,
    time: Time,
    state: Option<State>,
    phase: Arc<Mutex<Phase>>,
}

/// One phase of a plan.
struct Phase {
    /// The model does not apply to loads.
    stage: Stage,
    began: Instant,
    queue: Queue,
}

/// The effect on each n-th request of a client.
#[derive(Debug, Clone, Copy)]
struct Script {
    latency: Duration,
    stall: Duration,
    stall_every: u64,
    miss_every: u64,
    error_every: u64,
    cause: Cause,
}

impl Script {
    fn new(settings: &Settings) -> Self {
        let count = |name| settings.integer(name).unwrap_or(0);
        let time = |name| Duration::from_micros(count(name));
        Self {
            latency: time("latency_us"),
            stall: time("stall_us"),
            stall_every: count("stall_every"),
            miss_every: count("miss_every"),
            error_every: count("error_every"),
            cause: settings.text("cause").and_then(cause).unwrap_or(Cause::Io),
        }
    }
}

impl Sim {
    fn new(params: &Params, time: Time) -> Result<Self, Error> {
        let script = Script::new(&params.settings);
        let model = Model::parse(params.settings.text("model").unwrap_or_default())?;
        let mut phase = Phase::new(&model, script, &time, 0);
        let state = State::open(&params.settings)?;
        phase.queue.written = state.as_ref().map_or(0, |state| state.written);
        Ok(Self {
            script,
            model,
            never_settles: params.settings.flag("never_settles"),
            time,
            state,
            phase: Arc::new(Mutex::new(phase)),
        })
    }
}

impl Phase {
    fn new(model: &Model, script: Script, time: &Time, seed: u64) -> Self {
        let latency = script.latency.as_nanos() as u64;
        Self {
            stage: Stage::Run,
            began: Instant::now(),
            queue: Queue::new(model.clone(), latency, time.request_min_ns(), seed),
        }
    }
}

fn locked(phase: &Mutex<Phase>) -> MutexGuard<'_, Phase> {
    phase.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Database for Sim {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(SimSession {
            script: self.script,
            time: self.time.clone(),
            phase: Arc::clone(&self.phase),
            requests: 0,
            reads: 0,
            parts: None,
        }))
    }

    fn virtual_clock(&self) -> Option<VirtualClock> {
        match &self.time {
            Time::Virtual(clock) => Some(clock.clone()),
            Time::Real(_) => None,
        }
    }

    fn begin_phase(&self, stage: Stage, seed: u64) {
        let mut phase = Phase::new(&self.model, self.script, &self.time, seed);
        phase.stage = stage;
        let mut before = locked(&self.phase);
        phase.queue.written = before.queue.written;
        *before = phase;
    }

    fn shape(&self) -> Vec<Statistic> {
        let written = locked(&self.phase).queue.written;
        let is_kept = self.state.is_some();
        let bytes = is_kept.then(|| Statistic::gauge("bytes", written as f64));
        bytes.into_iter().collect()
    }

    fn settle(&self, timeout: Duration, stop: Stopped<'_>) -> Result<Settled, Error> {
        if !self.never_settles {
            return Ok(Settled::Yes);
        }
        let end = Instant::now() + timeout;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Settled::No);
            }
            if stop() {
                return Ok(Settled::Unknown);
            }
            thread::sleep(left.min(Duration::from_millis(10)));
        }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        if let Some(state) = &self.state {
            // A simulation that cannot note it is as old as it was.
            let _ = state.note(locked(&self.phase).queue.written);
        }
    }
}

/// One client.
struct SimSession {
    script: Script,
    time: Time,
    phase: Arc<Mutex<Phase>>,
    requests: u64,
    reads: u64,
    /// What is being taken apart.
    parts: Option<Parts>,
}

impl SimSession {
    /// When a request that is sent now ends, nanoseconds after the start of the phase, with its
    /// failure if the model has one.
    fn serve(&mut self, now: u64) -> (u64, Option<Failure>) {
        let script = self.script;
        let stalls = every(script.stall_every, self.requests);
        let takes = if stalls { script.stall } else { script.latency };
        let takes = (takes.as_nanos() as u64).max(self.time.request_min_ns());
        let mut phase = locked(&self.phase);
        if phase.stage == Stage::Load {
            return (now + takes, None);
        }
        let served = phase.queue.serve(now, stalls.then_some(takes));
        if let Some(parts) = &mut self.parts {
            add(parts, &served);
        }
        let failure = served.cause.map(|cause| Failure {
            cause,
            message: "the model simulates this error".to_owned(),
        });
        (served.done, failure)
    }

    fn reply(&mut self, operation: Operation<'_>) -> Reply {
        let script = &self.script;
        if every(script.error_every, self.requests) {
            return Err(Failure {
                cause: script.cause,
                message: "the script simulates this error".to_owned(),
            });
        }
        let (key, records, bytes) = match operation {
            Operation::Read { key, .. } => {
                self.reads += 1;
                (key, u32::from(!every(script.miss_every, self.reads)), 0)
            }
            Operation::Insert { key, values } | Operation::Update { key, values } => {
                locked(&self.phase).queue.written += values.bytes.len() as u64;
                (key, 1, values.bytes.len())
            }
            Operation::Scan { start, records, .. } => (start, records, 0),
            Operation::Delete { key } => (key, 1, 0),
            Operation::Special(_) => return Err(Failure::unsupported(DRIVER.name)),
        };
        Ok(Outcome {
            records,
            bytes: u64::from(records) * (key.name.len() + bytes) as u64,
        })
    }
}

impl Session for SimSession {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        self.requests += 1;
        let began = locked(&self.phase).began;
        let now = match &self.time {
            Time::Virtual(clock) => clock.now(),
            Time::Real(_) => began.elapsed().as_nanos() as u64,
        };
        let (done, failure) = self.serve(now);
        let reply = match failure {
            Some(failure) => Err(failure),
            None => self.reply(operation),
        };
        let until = began + Duration::from_nanos(done);
        match &self.time {
            Time::Virtual(clock) => later(reply, clock.until(done)),
            Time::Real(Some(timer)) => later(reply, Sleep::new(timer, until)),
            Time::Real(None) => {
                wait_until(until);
                Completion::Ready(reply)
            }
        }
    }

    fn take_apart(&mut self, _: OperationKind) {
        self.parts = Some(Parts::default());
    }

    fn parts(&mut self, parts: &mut Parts) {
        if let Some(own) = self.parts.take() {
            *parts = own;
        }
    }
}

/// Adds the parts of a request.
fn add(parts: &mut Parts, served: &Served) {
    parts.add(Part::Queue, served.queued);
    parts.add(Part::Stall, served.stalled);
    parts.add(Part::Device, served.device);
}

fn later<'a>(reply: Reply, wait: impl Future<Output = ()> + 'a) -> Completion<'a> {
    Completion::Pending(Box::pin(async move {
        wait.await;
        reply
    }))
}

/// Whether the request number `count` is one of every `n`.
fn every(n: u64, count: u64) -> bool {
    n > 0 && count.is_multiple_of(n)
}

/// Sleeps while there is time, then spins for the last 100 us, which a sleep would overshoot.
fn wait_until(deadline: Instant) {
    let spin = Duration::from_micros(100);
    let left = deadline.saturating_duration_since(Instant::now());
    if left > spin {
        thread::sleep(left - spin);
    }
    while Instant::now() < deadline {
        std::hint::spin_loop();
    }
}

/// The cause with this name.
fn cause(name: &str) -> Option<Cause> {
    const ALL: [Cause; 8] = [
        Cause::Timeout,
        Cause::Unavailable,
        Cause::Overloaded,
        Cause::Connection,
        Cause::Unsupported,
        Cause::Corruption,
        Cause::Io,
        Cause::Other,
    ];
    ALL.into_iter().find(|cause| cause.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_accepted_cause_is_one() {
        let SettingKind::Choice(names) = CAUSES else {
            panic!("causes are words");
        };
        for name in names {
            assert_eq!(cause(name).map(Cause::name), Some(*name));
        }
    }
}
