//! The service of a system: stopped, started and awaited around the points that need it.
//!
//! A service is given by custom commands or by a systemd unit. A start command may leave the server
//! in the background and end, or be the server itself. A ready command, if there is one, and then
//! the database itself must confirm that it is ready. No command may take longer than a server has
//! to answer.
//!
//! A unit may fail a moment after a successful start. systemd is asked about that, so that nothing
//! waits in vain. systemd also counts starts, and refuses too many in a short time, so it is told
//! that ours are intended.
//!
//! The commands of a system with `ssh` run there (`process.rs`): on several hosts in order, and
//! stopped in reverse order. If the connection is lost meanwhile, tailmark waits for it, then stops
//! and starts the service again, because it cannot know whether a command was run.

mod left;
mod log;
mod process;

pub(crate) use left::left_running;
pub(crate) use log::ServiceLog;

use crate::{Error, error::in_one_line, servers::Servers};
use process::{Machine, Process};
use std::{
    collections::BTreeSet,
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use tailmark_engine::{Observer, Stop};
use tailmark_plan::{Plan, Service, ServiceControl, SystemPlan};
use tailmark_remote::{Server, Signal};

/// How often readiness is checked.
const POLL: Duration = Duration::from_millis(500);
/// Lines of a log in an error.
const TAIL: usize = 20;

/// The services of a plan. Those of only one system run at a time.
pub(crate) struct Services<'a> {
    plan: &'a Plan,
    out: &'a Path,
    servers: &'a Servers,
    observer: &'a dyn Observer,
    stop: &'a Stop,
    /// Systems that must run alone while they are measured.
    alone: Vec<&'a str>,
    /// The system that was switched to.
    system: Option<String>,
    /// Its service, on each of its hosts.
    running: Vec<Running>,
    /// Systems that had a turn before, so that services in their way have been stopped.
    cleared: BTreeSet<String>,
}

impl<'a> Services<'a> {
    /// The services of a plan. Their commands print into `out`. Systems that take turns are named
    /// in `alone`: none of their services runs while another of them is measured, from the first
    /// point on.
    pub fn new(
        plan: &'a Plan,
        out: &'a Path,
        servers: &'a Servers,
        alone: Vec<&'a str>,
        (observer, stop): (&'a dyn Observer, &'a Stop),
    ) -> Self {
        Self {
            plan,
            out,
            servers,
            observer,
            stop,
            alone,
            system: None,
            running: Vec::new(),
            cleared: BTreeSet::new(),
        }
    }

    /// Switches to the service of a system, and leaves it stopped if another had the turn.
    /// Everything else that could answer at its address is stopped first: the service of the
    /// previous system, and services that a killed sweep may have left running, including its own.
    pub fn switch_to(&mut self, system: &SystemPlan) -> Result<(), Error> {
        if self.system.as_ref() == Some(&system.name) {
            return Ok(());
        }
        self.stop()?;
        let is_first = self.cleared.insert(system.name.clone());
        if is_first {
            for other in &self.plan.systems {
                let is_in_its_way =
                    share_an_address(other, system) || self.alone.contains(&other.name.as_str());
                if other.name != system.name && is_in_its_way {
                    self.running = self.of(other);
                    self.stop()?;
                }
            }
        }
        self.running = self.of(system);
        self.system = Some(system.name.clone());
        if is_first { self.stop() } else { Ok(()) }
    }

    /// Whether the current service is stopped and must be started before its database is asked.
    pub fn is_stopped(&self) -> bool {
        self.running.iter().any(|service| !service.is_up)
    }

    /// Starts the current service, on its hosts in order.
    pub fn start(&mut self) -> Result<(), Error> {
        let mut is_again = false;
        self.with_its_hosts(|running| {
            if is_again {
                stop_all(running)?;
            }
            is_again = true;
            running.iter_mut().try_for_each(Running::start)
        })
    }

    /// Stops the current service, in reverse order.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.with_its_hosts(stop_all)
    }

    /// The one that was switched to, on each of its hosts.
    pub fn running(&mut self) -> &mut [Running] {
        &mut self.running
    }

    /// Does something to the service, and repeats it if the connection to one of its hosts was lost
    /// meanwhile and came back.
    fn with_its_hosts(
        &mut self,
        mut does: impl FnMut(&mut [Running]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(first) = self.running.first() else {
            return Ok(());
        };
        let mut systems = self.plan.systems.iter();
        let system = systems.find(|system| system.name == first.system);
        let system = system.expect("a service is of a system of the plan");
        let timeout = self.plan.sweep.ready_timeout;
        let running = &mut self.running;
        let watch = (self.observer, self.stop);
        // If a stop ended the wait for a connection, the caller ends too.
        self.servers
            .awaited(system, timeout, watch, || does(running))
            .map(drop)
    }

    fn of(&self, system: &SystemPlan) -> Vec<Running> {
        let Some(service) = &system.service else {
            return Vec::new();
        };
        let running = |(machine, log): (Machine, ServiceLog)| Running {
            system: system.name.clone(),
            service: service.clone(),
            machine,
            log,
            command_timeout: self.plan.sweep.ready_timeout,
            printed_from: 0,
            started: None,
            is_starting: false,
            is_up: false,
        };
        let machines = machines(self.plan, self.out, self.servers, system);
        machines.into_iter().map(running).collect()
    }
}

/// The machines that a service runs on, each with the log of its commands.
fn machines(
    plan: &Plan,
    out: &Path,
    servers: &Servers,
    system: &SystemPlan,
) -> Vec<(Machine, ServiceLog)> {
    let log = |name: &str| ServiceLog::new(out, name, &plan.header.id);
    if system.ssh.is_empty() {
        return vec![(Machine::Here, log(&system.name))];
    }
    let there = |server: Arc<Server>| {
        let log = log(&format!("{}.{}", system.name, server.name()));
        (Machine::There(server), log)
    };
    servers.of(system).into_iter().map(there).collect()
}

/// Refuses a run directory in which the log of a service would be written into another file.
///
/// # Errors
/// If that is so.
pub(crate) fn refuse_foreign_logs(plan: &Plan, out: &Path, servers: &Servers) -> Result<(), Error> {
    let served = plan.systems.iter().filter(|s| s.service.is_some());
    let mut logs = served.flat_map(|system| machines(plan, out, servers, system));
    logs.try_for_each(|(_, log)| log.refuse_foreign())
}

fn stop_all(running: &mut [Running]) -> Result<(), Error> {
    running.iter_mut().rev().try_for_each(Running::stop)
}

/// Whether two systems name one contact point.
pub(crate) fn share_an_address(a: &SystemPlan, b: &SystemPlan) -> bool {
    let mut hosts = a.location.hosts();
    hosts.any(|host| b.location.hosts().any(|other| host.same_endpoint(other)))
}

/// The service of the system that is measured, on one machine.
#[derive(Debug)]
pub(crate) struct Running {
    system: String,
    service: Service,
    /// Where its commands are run.
    machine: Machine,
    /// The output of the commands.
    log: ServiceLog,
    /// Where in `log` the output of the last command begins.
    printed_from: u64,
    /// The time limit of a command.
    command_timeout: Duration,
    /// The start command while it runs.
    started: Option<Process>,
    /// From its start until it was ready.
    is_starting: bool,
    /// From its start until it was stopped.
    is_up: bool,
}

impl Running {
    fn start(&mut self) -> Result<(), Error> {
        if let ServiceControl::Systemd(unit) = &self.service.control {
            // It fails if there is nothing to reset, which does not matter.
            self.systemctl("reset-failed", unit);
        }
        (self.is_starting, self.is_up) = (true, true);
        let mut command = self.command("start", self.service.start())?;
        // A command that ends at once shows whether it failed; one that keeps running is the
        // server.
        let ended = command.ended(Duration::from_secs(1));
        match ended {
            Ok(None) => {
                self.started = Some(command);
                return Ok(());
            }
            _ => command.keep_log(&self.log),
        }
        match ended {
            Ok(Some(true)) if self.service.stop().is_none() => {
                let why = "its `start` command has ended, and there is no `stop` for what it \
                           started";
                Err(self.failed("start", Some(io::Error::other(why))))
            }
            Ok(Some(false)) => Err(self.failed("start", None)),
            Ok(_) => Ok(()),
            Err(source) => {
                // It may continue to run, and is ended before the next start.
                self.started = Some(command);
                Err(self.failed("start", Some(source)))
            }
        }
    }

    /// Stops it, and waits until it has.
    fn stop(&mut self) -> Result<(), Error> {
        self.is_up = false;
        if let Some(stop) = self.service.stop() {
            let stop = self.command("stop", stop)?;
            self.succeed("stop", stop)?;
        }
        let Some(mut command) = self.started.take() else {
            return Ok(());
        };
        let is_ours = self.service.stop().is_none();
        if is_ours {
            command.signal(Signal::Term);
        }
        let is_gone = command.is_gone(self.command_timeout, is_ours);
        command.keep_log(&self.log);
        match is_gone {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.too_long("stop")),
            Err(source) => {
                // If the connection was lost, ask again.
                self.started = Some(command);
                Err(self.failed("stop", Some(source)))
            }
        }
    }

    /// Waits for a command that must succeed. Ends it if it takes too long.
    fn succeed(&self, action: &'static str, mut command: Process) -> Result<(), Error> {
        let ended = command.ended(self.command_timeout);
        if let Ok(None) = ended {
            command.signal(Signal::Kill);
        }
        command.keep_log(&self.log);
        match ended {
            Ok(Some(true)) => Ok(()),
            Ok(Some(false)) => Err(self.failed(action, None)),
            Ok(None) => Err(self.too_long(action)),
            Err(source) => Err(self.failed(action, Some(source))),
        }
    }

    fn too_long(&self, action: &'static str) -> Error {
        let waited = humantime::format_duration(self.command_timeout);
        let why = format!("it ran for longer than {waited} (sweep.ready_timeout)");
        self.failed(action, Some(io::Error::other(why)))
    }

    /// Whether its own ready command succeeds; true if there is none.
    fn says_ready(&mut self, timeout: Duration) -> Result<bool, Error> {
        let Some(ready) = self.service.ready.clone() else {
            return Ok(true);
        };
        let mut command = self.command("ask", ready)?;
        let ended = command.ended(timeout);
        command.keep_log(&self.log);
        match ended {
            Ok(Some(is_ready)) => Ok(is_ready),
            Ok(None) => {
                command.signal(Signal::Kill);
                Ok(false)
            }
            Err(source) => Err(self.failed("ask", Some(source))),
        }
    }

    /// Whether the start has failed meanwhile: its command, or the unit that it started. A unit
    /// that was ready and failed later may be restarted by others.
    fn has_failed(&mut self) -> bool {
        if let Some(command) = &mut self.started
            && let Ok(Some(succeeded)) = command.ended(Duration::ZERO)
        {
            command.keep_log(&self.log);
            self.started = None;
            if !succeeded {
                return self.is_starting;
            }
        }
        match &self.service.control {
            ServiceControl::Systemd(unit) => self.is_starting && self.systemctl("is-failed", unit),
            ServiceControl::Commands { .. } => false,
        }
    }

    fn command(&mut self, what: &'static str, words: Vec<String>) -> Result<Process, Error> {
        self.printed_from = self.log.len();
        let started = self.machine.start(&words, &self.log);
        started.map_err(|source| self.failed(what, Some(source)))
    }

    /// Whether systemd does, or affirms, something about a unit.
    fn systemctl(&self, action: &str, unit: &str) -> bool {
        self.machine
            .succeeds(&["systemctl", "--quiet", action, unit])
    }

    fn failed(&self, action: &'static str, why: Option<io::Error>) -> Error {
        Error::Service {
            system: self.system.clone(),
            action,
            why: why.map_or_else(String::new, |why| format!(": {}", in_one_line(&why))),
            log: self.tail(),
        }
    }

    /// The end of its log: the one that the plan names, or the journal, followed by the output of
    /// the last command, such as a refusal. Or the output of all commands.
    fn tail(&self) -> String {
        let kept = match (&self.service.log, &self.service.control) {
            (Some(log), _) => self.machine.read(log),
            (None, ServiceControl::Systemd(unit)) => {
                let lines = TAIL.to_string();
                let journal = [
                    "journalctl",
                    "--quiet",
                    "--no-pager",
                    "-n",
                    &lines,
                    "-u",
                    unit,
                ];
                self.machine.output(&journal)
            }
            (None, ServiceControl::Commands { .. }) => self.log.read(0),
        };
        let printed = match (&self.service.log, &self.service.control) {
            (None, ServiceControl::Commands { .. }) => String::new(),
            _ => self.log.read(self.printed_from),
        };
        let (kept, printed) = (printable(&kept), printable(&printed));
        let tail = [last(&kept), last(&printed)].concat();
        if tail.is_empty() {
            String::new()
        } else {
            format!("; its log ends:\n{}", tail.join("\n"))
        }
    }

    /// Copies the output of the running start command to its log.
    fn keep_log(&mut self) {
        if let Some(command) = &mut self.started {
            command.keep_log(&self.log);
        }
    }
}

/// A log without terminal control.
fn printable(log: &str) -> String {
    let is_shown = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
    log.chars().filter(is_shown).collect()
}

/// The last lines of a text.
fn last(text: &str) -> Vec<&str> {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL)..].to_vec()
}

/// Waits until the server of a system answers, so that `open` succeeds. `None` if a stop was
/// requested.
///
/// # Errors
/// If it does not answer within `timeout`, with the end of its log.
pub(crate) fn wait_ready<T>(
    system: &SystemPlan,
    services: &mut [Running],
    timeout: Duration,
    stop: &Stop,
    mut open: impl FnMut() -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let end = Instant::now() + timeout;
    loop {
        let mut say_ready = true;
        for service in services.iter_mut() {
            let left = end.saturating_duration_since(Instant::now());
            let losses = service.machine.losses();
            say_ready = say_ready
                && match service.says_ready(left) {
                    // A lost connection may come back.
                    Err(_) if service.machine.is_lost_since(losses) => false,
                    said => said?,
                };
        }
        let opened = say_ready.then(&mut open);
        // If the start has failed, another server is answering.
        if let Some(failed) = services
            .iter_mut()
            .find_map(|s| s.has_failed().then_some(s))
        {
            return Err(failed.failed("start", None));
        }
        let why = match opened {
            Some(Ok(opened)) => {
                services.iter_mut().for_each(|s| s.is_starting = false);
                return Ok(Some(opened));
            }
            // Problems with the data do not fix themselves.
            Some(Err(error)) if !may_pass(&error) => return Err(error),
            Some(Err(error)) => Some(error),
            None => None,
        };
        if stop.requested() {
            return Ok(None);
        }
        if Instant::now() >= end {
            services.iter_mut().for_each(Running::keep_log);
            return Err(Error::NotReady {
                system: system.name.clone(),
                waited: humantime::format_duration(timeout).to_string(),
                log: services.iter().map(Running::tail).collect(),
                why: why.map_or_else(String::new, |why| format!(": {}", in_one_line(&why))),
            });
        }
        std::thread::sleep(POLL);
    }
}

/// Whether a server may get over an error: it did not open, or did not answer. Drivers do not tell
/// a wrong password or a missing name from a server that is not ready for them yet.
pub(crate) fn may_pass(error: &Error) -> bool {
    use tailmark_driver::Error as Driver;
    use tailmark_engine::Error as Engine;
    matches!(
        error,
        Error::Driver(Driver::Open { .. } | Driver::Database { .. })
            | Error::Engine(Engine::Driver(
                Driver::Open { .. } | Driver::Database { .. }
            ))
    )
}
