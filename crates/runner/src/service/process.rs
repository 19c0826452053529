//! Commands of a service, on this machine or on the server's host.

use super::log::{ServiceLog, read};
use rustix::process::{Pid, Signal as RustixSignal, kill_process_group, test_kill_process_group};
use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};
use tailmark_remote::{Command as Remote, Server, Signal};

/// How often a running command is checked.
const LOOK: Duration = Duration::from_millis(20);
/// How long a check of a command on another machine waits there.
const LOOK_THERE: Duration = Duration::from_secs(1);

/// Where commands are run.
#[derive(Debug, Clone)]
pub(super) enum Machine {
    /// On this machine.
    Here,
    /// On the host of a server.
    There(Arc<Server>),
}

/// A command that was started.
#[derive(Debug)]
pub(super) enum Process {
    /// On this machine.
    Here(Child),
    /// On the host of a server. This many bytes of its output are in the log.
    There(Remote, u64),
}

impl Machine {
    /// How often the connection to it has been lost so far.
    pub fn losses(&self) -> u64 {
        match self {
            Self::Here => 0,
            Self::There(server) => server.losses(),
        }
    }

    /// Whether the connection to it is lost, or was since it had been lost so often.
    pub fn is_lost_since(&self, losses: u64) -> bool {
        let is_there = !matches!(self, Self::There(server) if !server.is_there());
        !is_there || self.losses() > losses
    }

    /// Starts a command whose output goes to the end of `log`; on another machine, once it is asked
    /// for.
    pub fn start(&self, words: &[String], log: &ServiceLog) -> io::Result<Process> {
        match self {
            Self::Here => {
                let out = log.append()?;
                let err = out.try_clone()?;
                let mut command = Command::new(&words[0]);
                command
                    .args(&words[1..])
                    .stdin(Stdio::null())
                    .stdout(out)
                    .stderr(err);
                // Ctrl-C ends the sweep, not the server.
                command.process_group(0).spawn().map(Process::Here)
            }
            Self::There(server) => {
                let started = Remote::start(server, words);
                let started = started.map_err(io::Error::other)?;
                Ok(Process::There(started, 0))
            }
        }
    }

    /// Whether a short command succeeds.
    pub fn succeeds(&self, words: &[&str]) -> bool {
        match self {
            Self::Here => {
                let mut command = Command::new(words[0]);
                command.args(&words[1..]).stdin(Stdio::null());
                command.output().is_ok_and(|output| output.status.success())
            }
            Self::There(server) => server.output(words).is_ok_and(|(is_ok, _)| is_ok),
        }
    }

    /// The output of a short command; empty if it cannot be run.
    pub fn output(&self, words: &[&str]) -> String {
        match self {
            Self::Here => {
                let output = Command::new(words[0]).args(&words[1..]).output();
                let printed = output.map(|output| output.stdout).unwrap_or_default();
                String::from_utf8_lossy(&printed).into_owned()
            }
            Self::There(server) => server.output(words).map(|(_, out)| out).unwrap_or_default(),
        }
    }

    /// The text of a file; empty if it cannot be read.
    pub fn read(&self, path: &Path) -> String {
        match self {
            Self::Here => read(path, 0),
            Self::There(server) => server.text_of(path),
        }
    }
}

impl Process {
    /// Whether it succeeded; `None` if it runs longer than that.
    pub fn ended(&mut self, timeout: Duration) -> io::Result<Option<bool>> {
        let end = Instant::now() + timeout;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let ended = match self {
                Self::Here(child) => child.try_wait()?.map(|status| status.success()),
                Self::There(command, _) => {
                    let ended = command.ended(left.min(LOOK_THERE));
                    ended.map_err(io::Error::other)?
                }
            };
            if ended.is_some() || Instant::now() >= end {
                return Ok(ended);
            }
            if matches!(self, Self::Here(_)) {
                std::thread::sleep(LOOK);
            }
        }
    }

    /// To it and all that it started.
    pub fn signal(&self, signal: Signal) {
        match self {
            Self::Here(child) => {
                let signal = match signal {
                    Signal::Term => RustixSignal::TERM,
                    Signal::Kill => RustixSignal::KILL,
                };
                if let Some(group) = group(child) {
                    let _ = kill_process_group(group, signal);
                }
            }
            Self::There(command, _) => {
                let _ = command.signal(signal);
            }
        }
    }

    /// Whether it has ended within that time, and all that it started where `with_all`.
    pub fn is_gone(&mut self, timeout: Duration, with_all: bool) -> io::Result<bool> {
        let end = Instant::now() + timeout;
        if self.ended(timeout)?.is_none() {
            return Ok(false);
        }
        // A script may end before the server that it started.
        while with_all && self.is_any_left()? {
            if Instant::now() >= end {
                return Ok(false);
            }
            std::thread::sleep(LOOK);
        }
        Ok(true)
    }

    /// Whether any process that it started is still running.
    fn is_any_left(&self) -> io::Result<bool> {
        match self {
            Self::Here(child) => {
                let group = group(child);
                Ok(group.is_some_and(|group| test_kill_process_group(group).is_ok()))
            }
            Self::There(command, _) => command.is_any_left().map_err(io::Error::other),
        }
    }

    /// Copies its output so far to `log`, if it is on another machine.
    pub fn keep_log(&mut self, log: &ServiceLog) {
        if let Self::There(command, kept) = self {
            let (more, size) = command.printed(*kept);
            if log
                .append()
                .and_then(|mut file| file.write_all(more.as_bytes()))
                .is_ok()
            {
                *kept = size;
            }
        }
    }
}

/// A command and all that it started.
fn group(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}
