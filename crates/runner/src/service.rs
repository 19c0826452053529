//! The service of a system: stopped, started and awaited around the points that need it.
//!
//! A service is named by commands of one's own or by a unit of systemd. A start command may leave
//! the server in the background and end, or be the server itself. Whether it is ready is asked of
//! a command, where there is one, and then of the database, which has to answer.

use crate::{
    Error, Stop,
    plan::{Service, ServiceControl, SystemPlan},
};
use std::{
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// How often what is not ready yet is asked again.
const POLL: Duration = Duration::from_millis(500);
/// Lines of the log that an error tells.
const TAIL: usize = 20;

/// The service of the system that is measured.
#[derive(Debug)]
pub(crate) struct Running {
    system: String,
    service: Service,
    /// What the commands print.
    log: PathBuf,
    /// The start command, while it goes on.
    started: Option<Child>,
}

impl Running {
    /// The service of a system, not yet started by us; its commands print into `out`.
    pub fn of(system: &SystemPlan, out: &Path) -> Option<Self> {
        let service = system.service.clone()?;
        let log = out.join(format!("{}.service.log", system.name));
        Some(Self {
            system: system.name.clone(),
            service,
            log,
            started: None,
        })
    }

    /// Whether it is that of this system.
    pub fn serves(&self, system: &SystemPlan) -> bool {
        self.system == system.name
    }

    /// Starts it.
    pub fn start(&mut self) -> Result<(), Error> {
        let mut child = self.command("start", self.service.start())?;
        // A command that ends at once tells whether it failed; one that goes on is the server.
        let end = Instant::now() + Duration::from_secs(1);
        while Instant::now() < end {
            match child
                .try_wait()
                .map_err(|source| self.failed("start", Some(source)))?
            {
                Some(status) if status.success() => return Ok(()),
                Some(_) => return Err(self.failed("start", None)),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        self.started = Some(child);
        Ok(())
    }

    /// Stops it, and waits until it has.
    pub fn stop(&mut self) -> Result<(), Error> {
        if let Some(stop) = self.service.stop() {
            let mut child = self.command("stop", stop)?;
            let status = child
                .wait()
                .map_err(|source| self.failed("stop", Some(source)))?;
            if !status.success() {
                return Err(self.failed("stop", None));
            }
        }
        if let Some(mut child) = self.started.take() {
            if self.service.stop().is_none() {
                terminate(&child);
            }
            child
                .wait()
                .map_err(|source| self.failed("stop", Some(source)))?;
        }
        Ok(())
    }

    /// Whether its own command says that it is ready; true where there is none.
    fn says_ready(&self) -> Result<bool, Error> {
        let Some(ready) = &self.service.ready else {
            return Ok(true);
        };
        let mut child = self.command("ready", ready.clone())?;
        let status = child
            .wait()
            .map_err(|source| self.failed("ask", Some(source)))?;
        Ok(status.success())
    }

    /// Whether the start command has failed meanwhile.
    fn has_failed(&mut self) -> bool {
        let Some(child) = &mut self.started else {
            return false;
        };
        match child.try_wait() {
            Ok(Some(status)) => {
                self.started = None;
                !status.success()
            }
            _ => false,
        }
    }

    fn command(&self, what: &'static str, words: Vec<String>) -> Result<Child, Error> {
        let open = || {
            let log = File::options().create(true).append(true).open(&self.log)?;
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

    fn failed(&self, action: &'static str, source: Option<io::Error>) -> Error {
        Error::Service {
            system: self.system.clone(),
            action,
            log: self.tail(),
            source,
        }
    }

    /// The end of its log: the one that the plan names, the journal, or what the commands printed.
    fn tail(&self) -> String {
        let text = match (&self.service.log, &self.service.control) {
            (Some(log), _) => fs::read_to_string(log).unwrap_or_default(),
            (None, ServiceControl::Systemd(unit)) => Command::new("journalctl")
                .args(["--no-pager", "-n", &TAIL.to_string(), "-u", unit])
                .output()
                .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
                .unwrap_or_default(),
            (None, ServiceControl::Commands { .. }) => {
                fs::read_to_string(&self.log).unwrap_or_default()
            }
        };
        let lines: Vec<_> = text.lines().collect();
        let tail = &lines[lines.len().saturating_sub(TAIL)..];
        if tail.is_empty() {
            String::new()
        } else {
            format!("; its log ends:\n{}", tail.join("\n"))
        }
    }
}

fn terminate(child: &Child) {
    let group = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
    }
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
        let says_ready = match &service {
            Some(service) => service.says_ready()?,
            None => true,
        };
        let opened = says_ready.then(&mut open);
        let why = match opened {
            Some(Ok(opened)) => return Ok(Some(opened)),
            // What an answer has shown to be wrong does not mend itself.
            Some(Err(error)) if !is_absence(&error) => return Err(error),
            Some(Err(error)) => Some(error),
            None => None,
        };
        if stop.requested() {
            return Ok(None);
        }
        if service.as_mut().is_some_and(|service| service.has_failed()) {
            return Err(service.expect("it has failed").failed("start", None));
        }
        if Instant::now() >= end {
            return Err(Error::NotReady {
                system: system.name.clone(),
                waited: humantime::format_duration(timeout).to_string(),
                log: service.map_or_else(String::new, |service| service.tail()),
                source: why.map(Box::new),
            });
        }
        std::thread::sleep(POLL);
    }
}

/// Whether an error is that nobody answered, rather than what was answered.
fn is_absence(error: &Error) -> bool {
    use tailmark_driver::Error as Driver;
    matches!(
        error,
        Error::Driver(Driver::Open { .. } | Driver::Database { .. })
    )
}
