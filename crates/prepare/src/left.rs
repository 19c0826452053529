//! The file `left`: changes to this machine that a run has not restored, readable for every user.
//!
//! The journal is root's. But a run of another user must also know that the machine still has the
//! settings of a killed run, because it measures that machine.

use super::{
    JOURNAL_DIRECTORY,
    change::{Change, document, parse_change, read},
    state,
};
use serde_json::{Value, json};
use std::{
    fmt::Write,
    fs,
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::Path,
};
use tailmark_machine::mount;

/// Its name in the directory of the journal.
const NAME: &str = "left";
/// The name of the lock.
pub(super) const LOCK: &str = "lock";
/// The command that puts everything back.
pub const RESTORE: &str = "sudo tailmark restore";
/// The most bytes that are read of the file.
const LONGEST: u64 = 1 << 20;

/// Changes that a killed run left on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftChanges {
    /// Values of the kernel, each as `vm.swappiness is 1, was 60`.
    pub settings: Vec<String>,
    /// Mounts and emulated volumes, each in a few words.
    pub others: Vec<String>,
}

impl LeftChanges {
    /// The changes of a killed run on this machine; `None` if there are none, or the run is still
    /// running.
    #[must_use]
    pub fn look() -> Option<Self> {
        Self::look_in(Path::new(JOURNAL_DIRECTORY))
    }

    /// The same with another directory.
    #[must_use]
    pub fn look_in(directory: &Path) -> Option<Self> {
        let (by, changes) = read_left(directory)?;
        if by.is_running() || holder(&directory.join(LOCK)).is_some() {
            return None;
        }
        let is_same_boot = by.boot == boot_id();
        let mut left = Self::default();
        for change in changes {
            match change {
                Change::Value { .. } if is_same_boot => left.settings.extend(still(&change)),
                Change::Mount { .. } if is_same_boot => left.others.extend(still(&change)),
                Change::Emulated { .. } => left.others.extend(still(&change)),
                _ => {}
            }
        }
        (left != Self::default()).then_some(left)
    }

    /// The changes of this process so far, in a sentence; `None` if there are none.
    #[must_use]
    pub fn of_this_process() -> Option<String> {
        let (by, changes) = read_left(Path::new(JOURNAL_DIRECTORY))?;
        let own = by == ChangedBy::this_process() && !changes.is_empty();
        own.then(|| {
            let changes: Vec<_> = changes.iter().filter_map(still).collect();
            format!(
                "this machine is left changed: {}; run `{RESTORE}` to undo it",
                changes.join("; ")
            )
        })
    }

    /// In a sentence, with the command that puts it back.
    #[must_use]
    pub fn notice(&self) -> String {
        let all: Vec<&str> = self
            .settings
            .iter()
            .chain(&self.others)
            .map(|s| &**s)
            .collect();
        format!(
            "a killed run of tailmark has left this machine changed: {}; run `{RESTORE}` to undo \
             it",
            all.join("; ")
        )
    }
}

/// The part of a change that is still in effect, in words.
fn still(change: &Change) -> Option<String> {
    match change {
        Change::Value {
            path,
            old,
            requested,
            now,
        } => {
            let is = read(path).ok()?;
            let is_ours = is == *requested || Some(&is) == now.as_ref();
            (is != *old && is_ours).then(|| told_value(path, &is, old))
        }
        Change::Mount { point, device, .. } => {
            let mounts = mount::mounts();
            // The kernel shows where a mount really is.
            let real = fs::canonicalize(point).unwrap_or_else(|_| point.clone());
            let is_it = |mount: &mount::Mount| mount.point == real && mount.device == *device;
            let is_mounted = mounts.iter().any(is_it);
            is_mounted.then(|| format!("`{}` is mounted", point.display()))
        }
        Change::Emulated { directory } => directory
            .exists()
            .then(|| format!("the emulated volume `{}` exists", directory.display())),
    }
}

fn told_value(path: &Path, is: &str, old: &str) -> String {
    let name = match path.strip_prefix("/proc/sys") {
        Ok(name) => name.display().to_string().replace('/', "."),
        Err(_) => path.display().to_string(),
    };
    format!("{name} is {is}, was {old}")
}

/// Writes the file, or removes it if nothing is changed.
pub(super) fn write(directory: &Path, changes: &[Change]) -> io::Result<()> {
    let path = directory.join(NAME);
    if changes.is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    let by = ChangedBy::this_process();
    let mut text = format!(
        "tailmark (process {}) has changed this machine and has not undone everything yet.\nIf \
         this process is no longer running, undo the changes with: {RESTORE}\n\n",
        by.process
    );
    for change in changes {
        let said = match change {
            Change::Value {
                path: setting,
                old,
                requested,
                ..
            } => told_value(setting, requested, old),
            Change::Mount { point, .. } => format!("`{}` is mounted", point.display()),
            Change::Emulated { directory: volume } => {
                format!("the emulated volume `{}` exists", volume.display())
            }
        };
        let _ = writeln!(text, "- {}", said.replace('\n', " "));
    }
    let _ = writeln!(text, "\nThe same for programs:\n{}", by.document());
    for change in changes {
        let _ = writeln!(text, "{}", document(change));
    }
    state::replace(&path, text.as_bytes(), state::PUBLIC_MODE)
}

/// Who changed the machine, and what; `None` if the file is missing or damaged, or if its owner
/// could not have changed anything.
fn read_left(directory: &Path) -> Option<(ChangedBy, Vec<Change>)> {
    let file = state::open_to_read(&directory.join(NAME)).ok()?;
    let owner = file.metadata().ok()?.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return None;
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    parse_left(&text)
}

pub(super) fn parse_left(text: &str) -> Option<(ChangedBy, Vec<Change>)> {
    let rows = text.lines().filter(|line| line.starts_with('{'));
    let mut rows = rows.map(|line| serde_json::from_str::<Value>(line).ok());
    let by = ChangedBy::parse(&rows.next()??)?;
    let changes = rows.map(|row| parse_change(&row?).ok());
    Some((by, changes.collect::<Option<_>>()?))
}

/// The process that changed the machine.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChangedBy {
    process: i32,
    /// Its start in ticks after the kernel's, because its number may have been reused.
    started: u64,
    boot: String,
}

impl ChangedBy {
    fn this_process() -> Self {
        let process = std::process::id().cast_signed();
        Self {
            process,
            started: started(process).map_or(0, |(started, _)| started),
            boot: boot_id(),
        }
    }

    fn document(&self) -> Value {
        json!({ "process": self.process, "started": self.started, "boot": self.boot })
    }

    fn parse(row: &Value) -> Option<Self> {
        Some(Self {
            process: i32::try_from(row["process"].as_i64()?).ok()?,
            started: row["started"].as_u64()?,
            boot: row["boot"].as_str()?.to_owned(),
        })
    }

    /// Whether the process is still there. In doubt it is: `/proc` may hide the processes of others.
    fn is_running(&self) -> bool {
        if self.boot != boot_id() {
            return false;
        }
        let Some(process) = rustix::process::Pid::from_raw(self.process) else {
            return false;
        };
        let is_gone = rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH);
        let is_other = match started(self.process) {
            Some((started, state)) => started != self.started || "ZX".contains(state),
            None => false,
        };
        !is_gone && !is_other
    }
}

/// The start and the state of a process; `None` if they cannot be read.
fn started(process: i32) -> Option<(u64, char)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program is in parentheses, and may hold some.
    let (_, rest) = text.rsplit_once(") ")?;
    let mut words = rest.split(' ');
    let state = words.next()?.chars().next()?;
    Some((words.nth(18)?.parse().ok()?, state))
}

/// The process that holds a lock file (flock), as `/proc/locks` shows it: `process 17 (tailmark run)`.
pub(super) fn holder(lock: &Path) -> Option<String> {
    let found = fs::metadata(lock).ok()?;
    let number = found.dev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let own = format!("{major:02x}:{minor:02x}:{}", found.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let holds = |line: &&str| {
        let mut words = line.split_whitespace();
        // One that waits for the lock has an arrow before its kind.
        words.nth(1) == Some("FLOCK") && words.nth(3) == Some(own.as_str())
    };
    let line = locks.lines().find(holds)?;
    let process = line.split_whitespace().nth(4)?;
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = String::from_utf8_lossy(&words);
    let command = words.trim_end_matches('\0').replace('\0', " ");
    let command: String = command
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect();
    Some(if command.is_empty() {
        format!("process {process}")
    } else {
        format!("process {process} ({command})")
    })
}

/// The kernel's identifier of this boot.
pub(super) fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    text.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_as_it_was_written_and_says_in_words_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let changes = [
            Change::Value {
                path: "/proc/sys/vm/swappiness".into(),
                old: "60".to_owned(),
                requested: "1".to_owned(),
                now: Some("1".to_owned()),
            },
            Change::Mount {
                point: "/mnt/a\nb".into(),
                device: "259:0".to_owned(),
                file_system: None,
            },
        ];
        write(dir.path(), &changes).unwrap();
        let text = fs::read_to_string(dir.path().join(NAME)).unwrap();
        for words in [
            "vm.swappiness is 1, was 60",
            RESTORE,
            "`/mnt/a b` is mounted",
        ] {
            assert!(text.contains(words), "{text}");
        }
        let (by, read) = read_left(dir.path()).unwrap();
        assert_eq!((by, read), (ChangedBy::this_process(), changes.to_vec()));
        // This process runs, so that nothing of it is left.
        assert_eq!(LeftChanges::look_in(dir.path()), None);
        write(dir.path(), &[]).unwrap();
        assert!(!dir.path().join(NAME).exists());
        for damaged in ["", "words", "{}", "{\"process\":1}\n{}"] {
            assert_eq!(parse_left(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn a_process_whose_number_another_one_has_now_is_gone() {
        let own = ChangedBy::this_process();
        assert!(own.is_running());
        let other = ChangedBy {
            started: own.started + 1,
            ..ChangedBy::this_process()
        };
        assert!(!other.is_running());
        let before = ChangedBy {
            boot: "another".to_owned(),
            ..own
        };
        assert!(!before.is_running());
    }
}
