//! Answers on cue, for tests of the runner: fixed latencies, stalls, misses and failures.
//!
//! It holds no data. Every n-th request of a *client* stalls, misses or fails, so that what is to
//! be counted is known beforehand, whatever the clients' threads do. There are two rows: the
//! clients of `scripted` are threads, those of `scripted-tasks` tasks that wait for their answer.

mod timer;

use crate::{
    Cause, Clients, Completion, Database, Driver, Error, Failure, Operation, OperationKind,
    Outcome, Params, Place, Reply, Session, Setting, SettingKind, Settings, Settled, Stopped,
};
use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use timer::{Sleep, Timer};

/// The row of the table for clients that are threads.
pub const DRIVER: Driver = Driver {
    name: "scripted",
    about: "for tests: fixed latencies, and errors, misses and stalls on cue",
    place: Place::Nowhere,
    port: None,
    clients: Clients::Threads,
    supports: OperationKind::ALL,
    settings: SETTINGS,
    stored: &[],
    entry: "",
    check: |_| Ok(()),
    open: |params| {
        Ok(Box::new(Scripted::new(
            params,
            params.settings.flag("pending"),
        )))
    },
    destroy: |_| Ok(()),
    space: |_, _| 0,
    cache: |_, _| 0,
    page_cache: |_| false,
    semantics: |_| None,
};

/// The row of the table for clients that are tasks.
pub const TASKS: Driver = Driver {
    name: "scripted-tasks",
    about: "for tests: as scripted, but every answer is awaited",
    clients: Clients::Tasks,
    open: |params| Ok(Box::new(Scripted::new(params, true))),
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

const SETTINGS: &[Setting] = &[
    Setting::new("cause", "what a failure is counted by", CAUSES, "io"),
    Setting::new(
        "error_every",
        "every n-th request of a client fails; 0: none",
        COUNT,
        "0",
    ),
    Setting::new("latency_us", "how long a request takes", MICROSECONDS, "0"),
    Setting::new(
        "miss_every",
        "every n-th read of a client finds nothing; 0: none",
        COUNT,
        "0",
    ),
    Setting::new(
        "never_settles",
        "background work never comes to rest",
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
        "how long a request takes that stalls",
        MICROSECONDS,
        "0",
    ),
];

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

/// What all clients share.
struct Scripted {
    script: Script,
    never_settles: bool,
    /// Where answers are awaited.
    timer: Option<Arc<Timer>>,
}

/// What happens when.
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
            cause: settings.text("cause").map_or(Cause::Io, cause),
        }
    }
}

impl Scripted {
    fn new(params: &Params, pending: bool) -> Self {
        Self {
            script: Script::new(&params.settings),
            never_settles: params.settings.flag("never_settles"),
            timer: pending.then(Timer::start),
        }
    }
}

impl Database for Scripted {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(ScriptedSession {
            script: self.script,
            timer: self.timer.clone(),
            requests: 0,
            reads: 0,
        }))
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

/// One client.
struct ScriptedSession {
    script: Script,
    timer: Option<Arc<Timer>>,
    requests: u64,
    reads: u64,
}

impl ScriptedSession {
    fn reply(&mut self, operation: Operation<'_>) -> Reply {
        let script = &self.script;
        if every(script.error_every, self.requests) {
            return Err(Failure {
                cause: script.cause,
                message: "the script says so".to_owned(),
            });
        }
        let (key, records, bytes) = match operation {
            Operation::Read { key, .. } => {
                self.reads += 1;
                (key, u32::from(!every(script.miss_every, self.reads)), 0)
            }
            Operation::Insert { key, values } | Operation::Update { key, values } => {
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

impl Session for ScriptedSession {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        let began = Instant::now();
        self.requests += 1;
        let script = &self.script;
        let takes = if every(script.stall_every, self.requests) {
            script.stall
        } else {
            script.latency
        };
        let reply = self.reply(operation);
        let Some(timer) = &self.timer else {
            wait_until(began + takes);
            return Completion::Ready(reply);
        };
        let sleep = Sleep::new(timer, began + takes);
        Completion::Pending(Box::pin(async move {
            sleep.await;
            reply
        }))
    }
}

/// Whether the `count`-th is one of every `n`.
fn every(n: u64, count: u64) -> bool {
    n > 0 && count.is_multiple_of(n)
}

/// Sleeps while there is time, and spins for the last 100 us, which sleeping would overshoot.
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

fn cause(name: &str) -> Cause {
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
    let named = ALL.into_iter().find(|cause| cause.name() == name);
    named.expect("the setting accepts names of causes only")
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
            assert_eq!(cause(name).name(), *name);
        }
    }
}
