//! The service of a system: stopped, started and awaited around the points that need it.
//!
//! A service is named by commands of one's own or by a unit of systemd. A start command may leave
//! the server in the background and end, or be the server itself. Whether it is ready is asked of
//! a command, where there is one, and then of the database, which has to answer. No command is
//! waited for longer than a server may take to answer.
//!
//! A unit whose start succeeded may fail a moment later; that is asked of systemd, so that nobody
//! waits for it. systemd counts starts, and refuses one too many in a short time: it is told that
//! ours are meant.

use crate::{Error, error::in_one_line};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};
use tailmark_engine::Stop;
use tailmark_plan::{Plan, Service, ServiceControl, SystemPlan};

/// How often a command that runs is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How often what is not ready yet is asked again.
const POLL: Duration = Duration::from_millis(500);
/// Lines of a log that an error tells.
const TAIL: usize = 20;

/// The services of a plan, of which one runs at a time.
#[derive(Debug)]
pub(crate) struct Services<'a> {
    plan: &'a Plan,
    out: &'a Path,
    /// Systems of which no other one runs while one of them is measured.
    alone: Vec<&'a str>,
    running: Option<Running>,
    /// Systems that were switched to before: what was in their way is stopped since.
    cleared: BTreeSet<String>,
}

impl<'a> Services<'a> {
    /// Those of a plan; their commands print into `out`. Systems that take turns are named in
    /// `alone`: none of their services runs while another of them is measured, from the first point
    /// on.
    pub fn new(plan: &'a Plan, out: &'a Path, alone: Vec<&'a str>) -> Self {
        Self {
            plan,
            out,
            alone,
            running: None,
            cleared: BTreeSet::new(),
        }
    }

    /// Switches to the service of a system, and leaves it stopped where it was another's turn. What
    /// else could answer at its address is stopped first: the service of the system before, and
    /// those that a sweep that was killed may have left running, its own among them.
    pub fn switch_to(&mut self, system: &SystemPlan) -> Result<(), Error> {
        let is_its_turn = |running: &Running| running.system == system.name;
        if self.running.as_ref().is_some_and(is_its_turn) {
            return Ok(());
        }
        self.stop()?;
        if self.cleared.insert(system.name.clone()) {
            for other in &self.plan.systems {
                let is_in_its_way =
                    share_an_address(other, system) || self.alone.contains(&other.name.as_str());
                if other.name != system.name
                    && is_in_its_way
                    && let Some(mut service) = self.of(other)
                {
                    service.stop()?;
                }
            }
            self.running = self.of(system);
            return self.stop();
        }
        self.running = self.of(system);
        Ok(())
    }

    /// Whether the one that was switched to is stopped, and is to be started before it can be asked.
    pub fn is_stopped(&self) -> bool {
        self.running.as_ref().is_some_and(|service| !service.is_up)
    }

    /// Starts the one that was switched to.
    pub fn start(&mut self) -> Result<(), Error> {
        self.running.as_mut().map_or(Ok(()), Running::start)
    }

    /// Stops the one that was switched to.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.running.as_mut().map_or(Ok(()), Running::stop)
    }

    /// The one that was switched to.
    pub fn running(&mut self) -> Option<&mut Running> {
        self.running.as_mut()
    }

    fn of(&self, system: &SystemPlan) -> Option<Running> {
        Some(Running {
            system: system.name.clone(),
            service: system.service.clone()?,
            log: self.out.join(format!("{}.service.log", system.name)),
            command_timeout: self.plan.sweep.ready_timeout,
            printed_from: 0,
            started: None,
            is_starting: false,
            is_up: false,
        })
    }
}

/// Whether two systems name one contact point.
pub(crate) fn share_an_address(a: &SystemPlan, b: &SystemPlan) -> bool {
    let mut hosts = a.location.hosts();
    hosts.any(|host| b.location.hosts().any(|other| host.same_endpoint(other)))
}

/// The service of the system that is measured.
#[derive(Debug)]
pub(crate) struct Running {
    system: String,
    service: Service,
    /// What the commands print.
    log: PathBuf,
    /// Where in `log` the output of the last command begins.
    printed_from: u64,
    /// How long a command may take.
    command_timeout: Duration,
    /// The start command, while it goes on.
    started: Option<Child>,
    /// From its start until it was ready.
    is_starting: bool,
    /// From its start until it was stopped.
    is_up: bool,
}

impl Running {
    fn start(&mut self) -> Result<(), Error> {
        if let ServiceControl::Systemd(unit) = &self.service.control {
            // Of no consequence where nothing is to be reset.
            let _ = systemctl("reset-failed", unit);
        }
        (self.is_starting, self.is_up) = (true, true);
        let mut child = self.command("start", self.service.start())?;
        // A command that ends at once tells whether it failed; one that goes on is the server.
        match ended(&mut child, Duration::from_secs(1)) {
            Ok(Some(status)) if status.success() && self.service.stop().is_some() => Ok(()),
            Ok(Some(status)) if status.success() => {
                let why = "its `start` has ended, and there is no `stop` for what it began";
                Err(self.failed("start", Some(io::Error::other(why))))
            }
            Ok(Some(_)) => Err(self.failed("start", None)),
            Ok(None) => {
                self.started = Some(child);
                Ok(())
            }
            Err(source) => Err(self.failed("start", Some(source))),
        }
    }

    /// Stops it, and waits until it has.
    fn stop(&mut self) -> Result<(), Error> {
        self.is_up = false;
        if let Some(stop) = self.service.stop() {
            let stop = self.command("stop", stop)?;
            self.succeed("stop", stop)?;
        }
        let Some(mut child) = self.started.take() else {
            return Ok(());
        };
        let is_ours = self.service.stop().is_none();
        if is_ours {
            signal(&child, Signal::TERM);
        }
        let end = Instant::now() + self.command_timeout;
        match ended(&mut child, self.command_timeout) {
            Ok(Some(_)) => {}
            Ok(None) => return Err(self.too_long("stop")),
            Err(source) => return Err(self.failed("stop", Some(source))),
        }
        // A script may end before the server that it began.
        while is_ours && group(&child).is_some_and(|group| test_kill_process_group(group).is_ok()) {
            if Instant::now() >= end {
                return Err(self.too_long("stop"));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Waits for a command that has to succeed; ends it where it takes too long.
    fn succeed(&self, action: &'static str, mut command: Child) -> Result<(), Error> {
        match ended(&mut command, self.command_timeout) {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(_)) => Err(self.failed(action, None)),
            Ok(None) => {
                signal(&command, Signal::KILL);
                Err(self.too_long(action))
            }
            Err(source) => Err(self.failed(action, Some(source))),
        }
    }

    fn too_long(&self, action: &'static str) -> Error {
        let waited = humantime::format_duration(self.command_timeout);
        let why = format!("it went on for longer than {waited} (sweep.ready_timeout)");
        self.failed(action, Some(io::Error::other(why)))
    }

    /// Whether its own command says that it is ready; true where there is none.
    fn says_ready(&mut self, timeout: Duration) -> Result<bool, Error> {
        let Some(ready) = self.service.ready.clone() else {
            return Ok(true);
        };
        let mut command = self.command("ask", ready)?;
        match ended(&mut command, timeout) {
            Ok(Some(status)) => Ok(status.success()),
            Ok(None) => {
                signal(&command, Signal::KILL);
                Ok(false)
            }
            Err(source) => Err(self.failed("ask", Some(source))),
        }
    }

    /// Whether the start has failed meanwhile: its command, or the unit that it began. One that was
    /// ready and failed later may be brought back by somebody.
    fn has_failed(&mut self) -> bool {
        if let Some(child) = &mut self.started
            && let Ok(Some(status)) = child.try_wait()
        {
            self.started = None;
            if !status.success() {
                return self.is_starting;
            }
        }
        match &self.service.control {
            ServiceControl::Systemd(unit) => self.is_starting && systemctl("is-failed", unit),
            ServiceControl::Commands { .. } => false,
        }
    }

    fn command(&mut self, what: &'static str, words: Vec<String>) -> Result<Child, Error> {
        let printed_from = &mut self.printed_from;
        let log = &self.log;
        let mut open = || {
            let log = File::options().create(true).append(true).open(log)?;
            *printed_from = log.metadata()?.len();
            Ok::<_, io::Error>((log.try_clone()?, log))
        };
        let spawn = |(out, err): (File, File)| {
            let mut command = Command::new(&words[0]);
            command
                .args(&words[1..])
                .stdin(Stdio::null())
                .stdout(out)
                .stderr(err);
            // Ctrl-C ends the sweep, not the server.
            command.process_group(0).spawn()
        };
        open()
            .and_then(spawn)
            .map_err(|source| self.failed(what, Some(source)))
    }

    fn failed(&self, action: &'static str, why: Option<io::Error>) -> Error {
        Error::Service {
            system: self.system.clone(),
            action,
            why: why.map_or_else(String::new, |why| format!(": {why}")),
            log: self.tail(),
        }
    }

    /// The end of its log: the one that the plan names or the journal, and after it what the last
    /// command printed, such as why it was refused; or what all commands printed.
    fn tail(&self) -> String {
        let kept = match (&self.service.log, &self.service.control) {
            (Some(log), _) => read(log, 0),
            (None, ServiceControl::Systemd(unit)) => Command::new("journalctl")
                .args(["--quiet", "--no-pager", "-n", &TAIL.to_string(), "-u", unit])
                .output()
                .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
                .unwrap_or_default(),
            (None, ServiceControl::Commands { .. }) => read(&self.log, 0),
        };
        let printed = match (&self.service.log, &self.service.control) {
            (None, ServiceControl::Commands { .. }) => String::new(),
            _ => read(&self.log, self.printed_from),
        };
        let tail = [last(&kept), last(&printed)].concat();
        if tail.is_empty() {
            String::new()
        } else {
            format!("; its log ends:\n{}", tail.join("\n"))
        }
    }
}

/// The text of a file from an offset on; empty where it cannot be read.
fn read(path: &Path, from: u64) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let from = usize::try_from(from).map_or(bytes.len(), |from| from.min(bytes.len()));
    String::from_utf8_lossy(&bytes[from..]).into_owned()
}

/// The last lines of a text.
fn last(text: &str) -> Vec<&str> {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL)..].to_vec()
}

/// Whether systemd does, or affirms, something about a unit.
fn systemctl(action: &str, unit: &str) -> bool {
    let mut command = Command::new("systemctl");
    command.args(["--quiet", action, unit]).stdin(Stdio::null());
    command.output().is_ok_and(|output| output.status.success())
}

/// How a command ended; none where it goes on for longer than that.
fn ended(child: &mut Child, timeout: Duration) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + timeout;
    loop {
        let status = child.try_wait()?;
        if status.is_some() || Instant::now() >= end {
            return Ok(status);
        }
        std::thread::sleep(LOOK);
    }
}

/// To a command and all that it started.
fn signal(child: &Child, signal: Signal) {
    if let Some(group) = group(child) {
        let _ = kill_process_group(group, signal);
    }
}

/// A command and all that it started.
fn group(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Waits until the server of a system answers: `open` succeeds. None where that was stopped.
///
/// # Errors
/// Where it does not within `timeout`, with the end of its log.
pub(crate) fn wait_ready<T>(
    system: &SystemPlan,
    mut service: Option<&mut Running>,
    timeout: Duration,
    stop: &Stop,
    mut open: impl FnMut() -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let end = Instant::now() + timeout;
    loop {
        let says_ready = match &mut service {
            Some(service) => service.says_ready(end.saturating_duration_since(Instant::now()))?,
            None => true,
        };
        let opened = says_ready.then(&mut open);
        // Where the start has failed, it is another server that answers.
        if let Some(service) = service.as_deref_mut()
            && service.has_failed()
        {
            return Err(service.failed("start", None));
        }
        let why = match opened {
            Some(Ok(opened)) => {
                if let Some(service) = service {
                    service.is_starting = false;
                }
                return Ok(Some(opened));
            }
            // What is wrong with the data does not fix itself.
            Some(Err(error)) if !may_pass(&error) => return Err(error),
            Some(Err(error)) => Some(error),
            None => None,
        };
        if stop.requested() {
            return Ok(None);
        }
        if Instant::now() >= end {
            return Err(Error::NotReady {
                system: system.name.clone(),
                waited: humantime::format_duration(timeout).to_string(),
                log: service.map_or_else(String::new, |service| service.tail()),
                why: why.map_or_else(String::new, |why| format!(": {}", in_one_line(&why))),
            });
        }
        std::thread::sleep(POLL);
    }
}

/// Whether a server may get over an error: it did not open, or did not answer. Drivers do not tell
/// a wrong password or a missing name from a server that is not ready for them yet.
fn may_pass(error: &Error) -> bool {
    use tailmark_driver::Error as Driver;
    matches!(
        error,
        Error::Driver(Driver::Open { .. } | Driver::Database { .. })
    )
}
