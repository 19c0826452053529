//! Commands that continue at the other end: started, checked and ended, with their output.
//!
//! Each leads its own session there, and a shell next to it records how it ended. So it survives a
//! lost connection, and anyone who knows its number can still end it.

use crate::{
    Error, Server,
    scripts::{LOOK, PRINTED, SIGNAL, START},
    ssh::SHORT,
};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// What ends a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Asks it to end.
    Term,
    /// Ends it.
    Kill,
}

/// A command at the other end.
#[derive(Debug, Clone)]
pub struct Command {
    server: Arc<Server>,
    /// The place of its log and its end, without suffixes.
    kept: String,
    /// Its process group.
    group: String,
    /// The boot of the machine that it was started in, and how often the connection was lost before.
    since: (String, u64),
}

/// Whether a text is a process group that a command can have: 0 and 1 belong to others.
fn is_group(text: &str) -> bool {
    text.parse::<u32>().is_ok_and(|group| group > 1)
}

impl Command {
    /// Starts a command.
    ///
    /// # Errors
    /// If the connection is lost, or it cannot be started.
    pub fn start(server: &Arc<Server>, words: &[String]) -> Result<Self, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let kept = format!("{}/{number}", server.directory()?);
        let words = words.iter().map(String::as_str);
        let arguments: Vec<&str> = std::iter::once(kept.as_str()).chain(words).collect();
        let since = (server.boot_id(), server.losses());
        let started = server.script(START, &arguments, SHORT);
        if started.as_ref().is_err_and(Error::may_pass) {
            server.leave_unsure(&kept);
        }
        let started = started?;
        let group = started.out.trim().to_owned();
        if started.is_ok() && is_group(&group) {
            Ok(Self {
                server: Arc::clone(server),
                kept,
                group,
                since,
            })
        } else {
            Err(Error::Refused {
                login: server.login().to_owned(),
                why: started.why(),
            })
        }
    }

    /// Whether it succeeded; `None` if it runs longer than that. If it ended while the connection
    /// was lost, the outcome is unknown and counts as success, because what it started shows more.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn ended(&self, wait: Duration) -> Result<Option<bool>, Error> {
        let tenths = (wait.as_millis() / 100).to_string();
        let looked = self
            .server
            .script(LOOK, &[&self.kept, &self.group, &tenths], wait + SHORT)?;
        Ok(match looked.out.trim() {
            _ if !self.is_of_this_boot() => Some(false),
            "on" => None,
            "gone" => Some(self.server.losses() > self.since.1),
            end => Some(end == "0"),
        })
    }

    /// Sends a signal to it and to everything that it started.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn signal(&self, signal: Signal) -> Result<(), Error> {
        let name = match signal {
            Signal::Term => "TERM",
            Signal::Kill => "KILL",
        };
        self.to_group(SIGNAL, name).map(drop)
    }

    /// Whether anything that it started is still running.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn is_any_left(&self) -> Result<bool, Error> {
        self.to_group(SIGNAL, "0")
    }

    /// Whether a script with its group and this succeeds; not after a boot, when the group is another's.
    fn to_group(&self, script: &str, argument: &str) -> Result<bool, Error> {
        if !self.is_of_this_boot() {
            return Ok(false);
        }
        let ran = self
            .server
            .script(script, &[&self.group, argument], SHORT)?;
        Ok(ran.is_ok())
    }

    fn is_of_this_boot(&self) -> bool {
        self.server.boot_id() == self.since.0
    }

    /// Its output from this byte on, and the total so far; empty if it cannot be read any more.
    pub fn printed(&self, from: u64) -> (String, u64) {
        let arguments = [&format!("{}.log", self.kept), &from.to_string()];
        let read = self
            .server
            .script(PRINTED, &arguments.map(String::as_str), SHORT);
        let text = read.map(|read| read.out).unwrap_or_default();
        let (size, more) = text.split_once('\n').unwrap_or_default();
        (more.to_owned(), size.trim().parse().unwrap_or(from))
    }
}

impl Server {
    /// Whether a command succeeds there, and its output.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn output(&self, words: &[&str]) -> Result<(bool, String), Error> {
        let arguments: Vec<&str> = words.to_vec();
        // 255 is what `ssh` itself ends with.
        let script = "\"$@\" || exit 1";
        let ran = self.script(script, &arguments, SHORT)?;
        Ok((ran.is_ok(), ran.out))
    }

    /// The end of a file there, at most 64 KiB; empty if it cannot be read.
    pub fn text_of(&self, path: &Path) -> String {
        let path = path.to_string_lossy();
        let read = self.script("tail -c 65536 -- \"$1\"", &[&path], SHORT);
        read.map(|read| read.out).unwrap_or_default()
    }
}
