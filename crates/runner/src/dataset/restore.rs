//! Keeps a data set as it was loaded, and restores it: by files beside it ([`super::start`]), by a
//! snapshot of its server, or by a command of the plan.
//!
//! The marker promises nothing while data is put back. So a killed restore leaves a start from
//! which the next run restores, or a load.

use super::{Dataset, Marker, Store, marker};
use crate::{Error, RestoreError, error::in_one_line};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    io::{self, Read, Seek},
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    sync::{Arc, PoisonError},
    thread,
    time::Duration,
};
use tailmark_driver::SnapshotStep;
use tailmark_engine::Stop;
use tailmark_plan::Restore;
use tailmark_remote::{Command as Remote, Server, Signal as RemoteSignal};

/// Runs what follows, and ends it and all that it started if tailmark, which holds the other end of
/// this input, is killed: a command that outlives it would write into the data of the next run.
const WATCHED: &str = r#"
exec 3<&0
"$@" </dev/null 3<&- &
command=$!
(read -r _ <&3; kill -s KILL 0) >/dev/null 2>&1 &
wait "$command"
status=$?
kill -s KILL "$!"
exit "$status"
"#;

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long a look at a command on another machine waits there.
const LOOK_THERE: Duration = Duration::from_secs(1);
/// The most that an error shows of what a command printed.
const PRINTED_MAX: usize = 300;

impl Dataset<'_> {
    /// How it is restored.
    pub const fn restore(&self) -> Restore {
        self.restore
    }

    /// The error that it cannot be restored as the plan says.
    pub(super) fn refuse_restore(&self, why: String) -> Error {
        Error::Restore(RestoreError::Refused {
            system: self.system.name.clone(),
            how: self.restore().name(),
            why,
        })
    }

    /// Refuses to keep one of several data sets, of which each process has one.
    ///
    /// # Errors
    /// If there are several.
    pub(crate) fn refuse_several(&self, sets: u64) -> Result<(), Error> {
        if sets > 1 && self.restore().keeps() {
            let why = "each process has a data set of its own; use \"reload\" or \"none\"";
            return Err(self.refuse_restore(why.to_owned()));
        }
        Ok(())
    }

    /// Whether it is kept as it was loaded, so that it can be restored without a load.
    ///
    /// # Errors
    /// As [`Self::state`], and if foreign data is where it would be kept.
    pub fn has_start(&self) -> Result<bool, Error> {
        match self.restore() {
            Restore::None | Restore::Reload => Ok(false),
            Restore::Checkpoint | Restore::Copy => self.has_start_files(),
            // Of a database that stores nothing, no marker can tell.
            Restore::Snapshot | Restore::Command => {
                Ok(!self.is_kept() || self.read()?.0.is_some_and(|own| own.kept))
            }
        }
    }

    /// Keeps the loaded data set; false if it was stopped. `machines` are those of its server.
    ///
    /// # Errors
    /// If it cannot be kept.
    pub fn keep(&self, machines: &[Arc<Server>], stop: &Stop) -> Result<bool, Error> {
        match self.restore() {
            Restore::None | Restore::Reload => Ok(true),
            Restore::Checkpoint | Restore::Copy => self.keep_files(stop),
            Restore::Snapshot | Restore::Command => {
                let is_done = self.run(SnapshotStep::Keep, machines, stop)?
                    && (self.restore() == Restore::Command
                        || self.run(SnapshotStep::Look, machines, stop)?);
                if is_done {
                    self.set_kept(true)?;
                }
                Ok(is_done)
            }
        }
    }

    fn set_kept(&self, kept: bool) -> Result<(), Error> {
        match self.read()?.0 {
            Some(mut own) => {
                own.kept = kept;
                self.put_marker(&own)
            }
            None => Ok(()),
        }
    }

    /// Restores the data set as it was kept; false if it was stopped. `note` is called while the
    /// marker promises nothing.
    ///
    /// # Errors
    /// If it cannot be restored.
    pub fn put_back(
        &self,
        machines: &[Arc<Server>],
        note: &dyn Fn() -> Result<(), Error>,
        stop: &Stop,
    ) -> Result<bool, Error> {
        if self.restore().keeps_files() {
            return self.put_back_files(note, stop);
        }
        let own = self.read()?.0;
        if self.restore() == Restore::Snapshot
            && !self.run_or(SnapshotStep::Look, machines, stop, || self.set_kept(false))?
        {
            return Ok(false);
        }
        if let Some(own) = &own {
            self.put_marker(&own.emptied())?;
        }
        note()?;
        if self.restore() == Restore::Snapshot {
            (self.system.driver.destroy)(&self.params, &|_| Ok(()))?;
        }
        if !self.run(SnapshotStep::Restore, machines, stop)? {
            return Ok(false);
        }
        if let Some(own) = own {
            self.put_marker(&own.restored(self.system.data.records))?;
        }
        Ok(true)
    }

    /// Removes what was kept, before the data set is loaded again.
    ///
    /// # Errors
    /// If it cannot be removed, or if the plan keeps files and foreign data is in the way.
    pub fn remove_kept(&self, machines: &[Arc<Server>], stop: &Stop) -> Result<(), Error> {
        if self.restore() != Restore::Snapshot {
            return self.remove_start();
        }
        if self.read()?.0.is_some_and(|own| own.kept) {
            self.remove_snapshot(machines, stop)?;
        }
        Ok(())
    }

    /// Removes the snapshot from the machines of the server.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove_snapshot(&self, machines: &[Arc<Server>], stop: &Stop) -> Result<(), Error> {
        self.run(SnapshotStep::Remove, machines, stop).map(drop)
    }

    /// Writes this marker in place of the one that is there.
    pub(super) fn put_marker(&self, own: &Marker) -> Result<(), Error> {
        match &self.store {
            Store::File(path) => marker::write_file(path, &own.text())?,
            Store::Nowhere => {}
            Store::Server | Store::Device => self.make()?.set_marker(&own.text())?,
        }
        let mut load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        *load = Some((own.study.clone(), own.started.clone()));
        Ok(())
    }

    /// Carries out a step on the machines of the server, or by the plan's command here; false if it
    /// was stopped, which ends the command.
    fn run(
        &self,
        step: SnapshotStep,
        machines: &[Arc<Server>],
        stop: &Stop,
    ) -> Result<bool, Error> {
        self.run_or(step, machines, stop, || Ok(()))
    }

    /// The same; calls `failing` before it fails.
    fn run_or(
        &self,
        step: SnapshotStep,
        machines: &[Arc<Server>],
        stop: &Stop,
        failing: impl Fn() -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let count = machines.len().max(1);
        let words = match self.system.driver.snapshot {
            Some(command) if self.restore() == Restore::Snapshot => {
                command(&self.params, step, count)?
            }
            _ => {
                let words = self.plan.dataset.restore.words(step.name());
                words.unwrap_or_default()
            }
        };
        // The plan's command runs here.
        let there = machines
            .iter()
            .filter(|_| self.restore() == Restore::Snapshot);
        let mut ended: Vec<Ended> = Vec::new();
        for machine in there {
            ended.push(run_there(machine, &words, stop).unwrap_or_else(Ended::Failed));
        }
        if ended.is_empty() {
            ended.push(
                self.run_here(&words, stop)
                    .unwrap_or_else(|why| Ended::Failed(in_one_line(&why))),
            );
        }
        for one in ended {
            match one {
                Ended::Well => {}
                Ended::Stopped => return Ok(false),
                Ended::Failed(why) => {
                    failing()?;
                    return Err(Error::Restore(RestoreError::Failed {
                        system: self.system.name.clone(),
                        how: self.restore().name(),
                        does: if step == SnapshotStep::Look {
                            "find"
                        } else {
                            step.name()
                        },
                        why,
                    }));
                }
            }
        }
        Ok(true)
    }

    /// Runs a command here.
    fn run_here(&self, words: &[String], stop: &Stop) -> io::Result<Ended> {
        let mut printed = tempfile::tempfile()?;
        let (out, err) = (printed.try_clone()?, printed.try_clone()?);
        let mut command = Command::new("sh");
        command.args(["-c", WATCHED, "sh"]).args(words);
        command.env("TAILMARK_SYSTEM", &self.system.name);
        command.env("TAILMARK_PLACE", self.params.location.to_string());
        command.stdin(Stdio::piped()).stdout(out).stderr(err);
        // Ctrl-C ends the sweep, which ends the command.
        let mut child = command.process_group(0).spawn()?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if stop.requested() {
                let group = Pid::from_raw(child.id().cast_signed());
                group.map_or(Ok(()), |group| kill_process_group(group, Signal::KILL))?;
                child.wait()?;
                return Ok(Ended::Stopped);
            }
            thread::sleep(LOOK);
        };
        if status.success() {
            return Ok(Ended::Well);
        }
        let mut text = Vec::new();
        printed.rewind()?;
        printed.read_to_end(&mut text)?;
        Ok(Ended::failed(
            &status.to_string(),
            &String::from_utf8_lossy(&text),
        ))
    }
}

/// How a command ended.
enum Ended {
    /// It succeeded.
    Well,
    /// A stop was requested, which ended it.
    Stopped,
    /// Why it failed.
    Failed(String),
}

impl Ended {
    /// A failure, with the end of what the command printed.
    fn failed(status: &str, printed: &str) -> Self {
        let end: String = printed.trim().chars().rev().take(PRINTED_MAX).collect();
        let end: String = end.chars().rev().collect();
        Self::Failed(match end.as_str() {
            "" => status.to_owned(),
            end => format!("{status}; it printed: {}", end.replace('\n', "; ")),
        })
    }
}

/// Runs a command on a machine of the server. If the connection is lost meanwhile, it has failed: how
/// it ended is unknown.
fn run_there(machine: &Arc<Server>, words: &[String], stop: &Stop) -> Result<Ended, String> {
    let lost = machine.losses();
    let why = |error: tailmark_remote::Error| {
        format!("on `{}`: {}", machine.login(), in_one_line(&error))
    };
    let command = Remote::start(machine, words).map_err(why)?;
    loop {
        match command.ended(LOOK_THERE).map_err(why)? {
            _ if machine.losses() > lost => {
                return Err(format!("the connection to `{}` was lost", machine.login()));
            }
            Some(true) => return Ok(Ended::Well),
            Some(false) => {
                let status = format!("it failed on `{}`", machine.login());
                return Ok(Ended::failed(&status, &command.printed(0).0));
            }
            None if stop.requested() => {
                command.signal(RemoteSignal::Kill).map_err(why)?;
                return Ok(Ended::Stopped);
            }
            None => {}
        }
    }
}
