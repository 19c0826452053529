//! Commands that go on at the other end: started, looked at, ended, and what they print.
//!
//! Each is the leader of a session of its own there, and a shell beside it keeps how it ended; so it
//! goes on when the connection is lost, and whoever knows its number can still end it. The scripts are
//! for every `sh`: dash takes `-PID` after `--` only where the signal is given by `-s`.

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
[ -d "${kept%/*}" ] || { echo "its directory ${kept%/*} was removed by others" >&2; exit 1; }
setsid sh -c 'kept=$1; shift; "$@" </dev/null >"$kept.log" 2>&1
  echo $? >"$kept.end.part" && mv "$kept.end.part" "$kept.end"' sh "$kept" "$@" \
  </dev/null >/dev/null 2>&1 &
tries=0
until kill -s 0 -- "-$!" 2>/dev/null || [ -e "$kept.end" ]; do
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
  kill -s 0 -- "-$2" 2>/dev/null || { [ -e "$1.end" ] && cat "$1.end" || echo gone; exit; }
  [ "$left" -gt 0 ] || break
  left=$((left - 1)); sleep 0.1
done
echo on
"#;

/// Prints the size of the file `$1`, and from the byte `$2` on what it had then; of more than 4 MiB the end.
const PRINTED: &str = r#"
size=$(wc -c <"$1") && echo "$size" && from=$2 && { [ "$((size - from))" -le 4194304 ] || from=$((size - 4194304)); } &&
tail -c "+$((from + 1))" -- "$1" | head -c "$((size - from))"
"#;

/// Ends the commands that are kept at these places, whoever knows their numbers: asks them to, and after
/// ten seconds does not ask any more.
pub const END_ALL: &str = r#"
own=$(sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 3)
groups=
for process in /proc/[0-9]*; do
  [ "$process" != "/proc/$own" ] || continue
  for kept in "$@"; do
    tr '\0' '\n' <"$process/cmdline" 2>/dev/null | grep -qxF -- "$kept" && groups="$groups ${process#/proc/}"
  done
done
for signal in TERM KILL; do
  left=100
  for group in $groups; do kill -s "$signal" -- "-$group" 2>/dev/null; done
  while [ "$left" -gt 0 ]; do
    on=
    for group in $groups; do kill -s 0 -- "-$group" 2>/dev/null && on=1; done
    [ -n "$on" ] || exit 0
    left=$((left - 1)); sleep 0.1
  done
done
"#;

/// Sends the signal `$2` to the command with the number `$1` and all that it started.
const SIGNAL: &str = r#"kill -s "$2" -- "-$1""#;

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
    /// The boot of the machine that it was started in, and how often the connection was lost before.
    since: (String, u64),
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
        let since = (server.boot_id(), server.losses());
        let started = server.script(START, &arguments, SHORT);
        if started.as_ref().is_err_and(Error::may_pass) {
            server.leave_unsure(&kept);
        }
        let started = started?;
        let group = started.out.trim().to_owned();
        if started.is_ok() && group.parse::<u32>().is_ok() {
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

    /// Whether it has succeeded; none where it goes on after that time. How it ended while the connection
    /// was lost is not known, and taken for a success: what it began says more.
    ///
    /// # Errors
    /// Where the connection is lost.
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

    /// Sends a signal to it and all that it started.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn signal(&self, signal: Signal) -> Result<(), Error> {
        let name = match signal {
            Signal::Term => "TERM",
            Signal::Kill => "KILL",
        };
        self.to_group(SIGNAL, name).map(drop)
    }

    /// Whether anything that it started still runs.
    ///
    /// # Errors
    /// Where the connection is lost.
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

    /// What it has printed from this byte on, and how much it has printed so far; nothing where that
    /// cannot be read any more.
    #[must_use]
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
    /// Whether a command succeeds there, and what it prints.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn output(&self, words: &[&str]) -> Result<(bool, String), Error> {
        let arguments: Vec<&str> = words.to_vec();
        // 255 is what `ssh` itself ends with.
        let script = "\"$@\" || exit 1";
        let ran = self.script(script, &arguments, SHORT)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, process, thread};

    /// What a script of this machine's `shell` prints, in a session of its own as over a connection.
    fn script(shell: &str, script: &str, arguments: &[&str]) -> (bool, String) {
        let ran = process::Command::new("setsid")
            .args(["--wait", shell, "-c", script, shell])
            .args(arguments)
            .output()
            .unwrap();
        let printed = String::from_utf8(ran.stdout).unwrap();
        (ran.status.success(), printed.trim().to_owned())
    }

    /// Those of this machine.
    fn shells() -> Vec<&'static str> {
        let all = ["dash", "bash"].into_iter();
        all.filter(|shell| Path::new("/bin").join(shell).exists())
            .collect()
    }

    #[test]
    fn a_command_goes_on_until_it_ends_or_is_ended_in_every_shell() {
        assert!(shells().contains(&"bash"));
        for shell in shells() {
            let directory = tempfile::tempdir().unwrap();
            let kept = directory.path().join("0").display().to_string();
            let (started, group) = script(shell, START, &[&kept, "sleep", "600"]);
            assert!(started && group.parse::<u32>().is_ok(), "{shell}: {group}");
            let look = |tenths: &str| script(shell, LOOK, &[&kept, &group, tenths]).1;
            assert_eq!(look("3"), "on", "{shell}");
            let signal = |name: &str| script(shell, SIGNAL, &[&group, name]).0;
            assert!(signal("0") && signal("TERM"), "{shell}");
            let ends: Vec<_> = (0..100)
                .map(|_| look("3"))
                .take_while(|is| is == "on")
                .collect();
            assert!(ends.len() < 100 && !signal("0"), "{shell}");
        }
    }

    #[test]
    fn how_a_command_ended_and_what_it_printed_is_kept() {
        for shell in shells() {
            let directory = tempfile::tempdir().unwrap();
            let kept = directory.path().join("0").display().to_string();
            let words = ["sh", "-c", "printf 12345; exit 7"];
            let (_, group) = script(shell, START, &[&[&*kept], &words[..]].concat());
            assert_eq!(
                script(shell, LOOK, &[&kept, &group, "300"]).1,
                "7",
                "{shell}"
            );
            let log = format!("{kept}.log");
            assert_eq!(
                script(shell, PRINTED, &[&log, "0"]).1,
                "5\n12345",
                "{shell}"
            );
            assert_eq!(script(shell, PRINTED, &[&log, "3"]).1, "5\n45", "{shell}");
            // Of more than 4 MiB the end.
            fs::write(&log, format!("{}end", "x".repeat(5_000_000))).unwrap();
            let (_, printed) = script(shell, PRINTED, &[&log, "3"]);
            let (size, end) = printed.split_once('\n').unwrap();
            assert_eq!((size, end.len()), ("5000003", 4 << 20), "{shell}");
            assert!(end.ends_with("xend"), "{shell}");
        }
    }

    #[test]
    fn where_its_directory_was_removed_nothing_is_started_and_that_is_said() {
        for shell in shells() {
            let directory = tempfile::tempdir().unwrap();
            let kept = directory.path().join("removed/0").display().to_string();
            let mut command = process::Command::new(shell);
            let ran = command.args(["-c", START, shell, &kept, "true"]).output();
            let ran = ran.unwrap();
            let said = String::from_utf8(ran.stderr).unwrap();
            assert!(!ran.status.success() && ran.stdout.is_empty(), "{shell}");
            assert!(said.contains("removed was removed by others"), "{said}");
        }
    }

    #[test]
    fn what_nobody_knows_the_number_of_is_ended_by_where_it_is_kept() {
        for shell in shells() {
            let directory = tempfile::tempdir().unwrap();
            let kept = |name: &str| directory.path().join(name).display().to_string();
            let start = |name: &str| {
                // A server that takes a moment to end.
                let words = [
                    "sh",
                    "-c",
                    "trap 'sleep 0.3; exit' TERM; while :; do sleep 0.05; done",
                ];
                script(shell, START, &[&[&*kept(name)], &words[..]].concat()).1
            };
            let (ended, other) = (start("ended"), start("other"));
            assert!(
                script(shell, END_ALL, &[&kept("ended"), &kept("never begun")]).0,
                "{shell}"
            );
            let is_there = |group: &str| script(shell, SIGNAL, &[group, "0"]).0;
            assert!(!is_there(&ended) && is_there(&other), "{shell}");
            assert!(script(shell, SIGNAL, &[&other, "KILL"]).0);
            while is_there(&other) {
                thread::sleep(Duration::from_millis(20));
            }
            fs::remove_dir_all(directory.path()).unwrap();
        }
    }
}
