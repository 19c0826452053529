//! Commands that go on at the other end: started, looked at, ended, and what they print.
//!
//! Each is the leader of a session of its own there, and a shell beside it keeps how it ended; so it
//! goes on when the connection is lost, and whoever knows its number can still end it.

use crate::{Error, Server, server::SHORT};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Starts what follows `$1` (where its log and its end are kept) and prints its number, once it is the
/// leader of its group.
const START: &str = r#"
kept=$1; shift
setsid sh -c 'kept=$1; shift; "$@" </dev/null >"$kept.log" 2>&1
  echo $? >"$kept.end.part" && mv "$kept.end.part" "$kept.end"' sh "$kept" "$@" \
  </dev/null >/dev/null 2>&1 &
tries=0
until kill -0 -- "-$!" 2>/dev/null || [ -e "$kept.end" ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 2000 ] || { echo "no session of its own (setsid)" >&2; exit 1; }
  sleep 0.01
done
echo $!
"#;

/// Prints how the command `$1` with the number `$2` ended, or `on` where it has not after `$3` tenths
/// of a second.
const LOOK: &str = r#"
left=$3
while :; do
  if [ -e "$1.end" ]; then cat "$1.end"; exit; fi
  kill -0 -- "-$2" 2>/dev/null || { [ -e "$1.end" ] && cat "$1.end" || echo gone; exit; }
  [ "$left" -gt 0 ] || break
  left=$((left - 1)); sleep 0.1
done
echo on
"#;

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
    /// Where its log and its end are kept, without what they end with.
    kept: String,
    /// Its process group.
    group: String,
}

impl Command {
    /// Starts a command.
    ///
    /// # Errors
    /// Where the connection is lost, or it cannot be started.
    pub fn start(server: &Arc<Server>, words: &[String]) -> Result<Self, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let kept = format!("{}/{number}", server.directory()?);
        let words = words.iter().map(String::as_str);
        let arguments: Vec<&str> = std::iter::once(kept.as_str()).chain(words).collect();
        let started = server.script(START, &arguments, SHORT)?;
        let group = started.out.trim().to_owned();
        match started.is_ok() && group.parse::<u32>().is_ok() {
            true => Ok(Self {
                server: Arc::clone(server),
                kept,
                group,
            }),
            false => Err(Error::Refused {
                login: server.login().to_owned(),
                why: started.why(),
            }),
        }
    }

    /// Whether it has succeeded; none where it goes on after that time.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn ended(&self, wait: Duration) -> Result<Option<bool>, Error> {
        let tenths = (wait.as_millis() / 100).to_string();
        let looked = self
            .server
            .script(LOOK, &[&self.kept, &self.group, &tenths], wait + SHORT)?;
        Ok(match looked.out.trim() {
            "on" => None,
            end => Some(end == "0"),
        })
    }

    /// Sends a signal to it and all that it started.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn signal(&self, signal: Signal) -> Result<(), Error> {
        let name = match signal {
            Signal::Term => "-TERM",
            Signal::Kill => "-KILL",
        };
        let script = "kill \"$1\" -- \"-$2\"";
        self.server
            .script(script, &[name, &self.group], SHORT)
            .map(drop)
    }

    /// Whether anything of what it started goes on.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn is_any_left(&self) -> Result<bool, Error> {
        let looked = self
            .server
            .script("kill -0 -- \"-$1\"", &[&self.group], SHORT)?;
        Ok(looked.is_ok())
    }

    /// What it has printed so far; nothing where that cannot be read any more.
    #[must_use]
    pub fn printed(&self) -> String {
        self.server
            .text_of(Path::new(&format!("{}.log", self.kept)))
    }
}

impl Server {
    /// Whether a command succeeds there, and what it prints.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn output(&self, words: &[&str]) -> Result<(bool, String), Error> {
        let arguments: Vec<&str> = words.to_vec();
        let ran = self.script("exec \"$@\"", &arguments, SHORT)?;
        Ok((ran.is_ok(), ran.out))
    }

    /// The end of a file there, at most 64 KiB; nothing where it cannot be read.
    #[must_use]
    pub fn text_of(&self, path: &Path) -> String {
        let path = path.to_string_lossy();
        let read = self.script("tail -c 65536 -- \"$1\"", &[&path], SHORT);
        read.map(|read| read.out).unwrap_or_default()
    }
}
