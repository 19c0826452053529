//! Keeps a data set as it was loaded, and restores it: by files beside it ([`super::start`]) or by a
//! command of the plan.
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
    sync::PoisonError,
    thread,
    time::Duration,
};
use tailmark_engine::Stop;
use tailmark_plan::Restore;

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(20);
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
            Restore::Command => Ok(!self.is_kept() || self.read()?.0.is_some_and(|own| own.kept)),
        }
    }

    /// Keeps the loaded data set; false if it was stopped.
    ///
    /// # Errors
    /// If it cannot be kept.
    pub fn keep(&self, stop: &Stop) -> Result<bool, Error> {
        match self.restore() {
            Restore::None | Restore::Reload => Ok(true),
            Restore::Checkpoint | Restore::Copy => self.keep_files(stop),
            Restore::Command => {
                if !self.run_command("keep", stop)? {
                    return Ok(false);
                }
                if let Some(mut own) = self.read()?.0 {
                    own.kept = true;
                    self.put_marker(&own)?;
                }
                Ok(true)
            }
        }
    }

    /// Restores the data set as it was kept; false if it was stopped. `note` is called while the
    /// marker promises nothing.
    ///
    /// # Errors
    /// If it cannot be restored.
    pub fn put_back(
        &self,
        note: &dyn Fn() -> Result<(), Error>,
        stop: &Stop,
    ) -> Result<bool, Error> {
        if self.restore() != Restore::Command {
            return self.put_back_files(note, stop);
        }
        let own = self.read()?.0;
        if let Some(own) = &own {
            self.put_marker(&own.emptied())?;
        }
        note()?;
        if !self.run_command("restore", stop)? {
            return Ok(false);
        }
        if let Some(own) = own {
            self.put_marker(&own.restored(self.system.data.records))?;
        }
        Ok(true)
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

    /// Runs the plan's command; false if it was stopped, which ends it.
    fn run_command(&self, does: &str, stop: &Stop) -> Result<bool, Error> {
        let words = self.plan.dataset.restore.words(does).unwrap_or_default();
        let failed = |why: String| {
            Error::Restore(RestoreError::Failed {
                system: self.system.name.clone(),
                does: does.to_owned(),
                why,
            })
        };
        let unread = |source: io::Error| failed(in_one_line(&source));
        let mut printed = tempfile::tempfile().map_err(unread)?;
        let [out, err] =
            [printed.try_clone(), printed.try_clone()].map(|file| file.map_err(unread));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command.env("TAILMARK_SYSTEM", &self.system.name);
        command.env("TAILMARK_PLACE", self.params.location.to_string());
        command.stdin(Stdio::null()).stdout(out?).stderr(err?);
        // Ctrl-C ends the sweep, which ends the command.
        let mut child = command.process_group(0).spawn().map_err(unread)?;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(unread)? {
                break status;
            }
            if stop.requested() {
                let group = Pid::from_raw(child.id().cast_signed());
                let ended = group.map_or(Ok(()), |group| kill_process_group(group, Signal::KILL));
                ended.map_err(|errno| unread(errno.into()))?;
                child.wait().map_err(unread)?;
                return Ok(false);
            }
            thread::sleep(LOOK);
        };
        if status.success() {
            return Ok(true);
        }
        let mut text = Vec::new();
        let read = printed
            .rewind()
            .and_then(|()| printed.read_to_end(&mut text));
        read.map_err(unread)?;
        let text = String::from_utf8_lossy(&text);
        let end: String = text.trim().chars().rev().take(PRINTED_MAX).collect();
        let end: String = end.chars().rev().collect();
        Err(failed(match end.as_str() {
            "" => status.to_string(),
            end => format!("{status}; it printed: {}", end.replace('\n', "; ")),
        }))
    }
}
