//! The journal of what is changed on this machine for a run, and how it is put back, whatever ends the
//! run.
//!
//! Before a value is changed, the old one is in the journal, on the disk. A run puts back what it has
//! changed when it ends; where it was killed, the next one that changes something does, or
//! `tailmark restore`. Only a value that is still ours is put back: it is as we left it, or as we
//! asked for. After a restart nothing of it is in effect any more, which the journal knows by the
//! kernel's boot identifier.

use super::{Error, Setting};
use crate::mount;
use serde_json::{Value, json};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Where the journal of a machine is.
pub const JOURNAL_DIRECTORY: &str = "/var/lib/tailmark";
/// The version of its form.
const VERSION: u64 = 1;

/// A change of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// A value of the kernel.
    Value {
        path: PathBuf,
        old: String,
        asked: String,
        /// What was there afterwards; none as long as that is not known.
        now: Option<String>,
    },
    /// A file system that was mounted.
    Mount { point: PathBuf, device: String },
    /// A volume that is emulated in a directory.
    Emulated { directory: PathBuf },
}

/// Told of each step before and after it.
pub type Log<'a> = &'a dyn Fn(&str);

/// What is changed on this machine, as long as this lives.
pub struct Journal<'a> {
    path: PathBuf,
    lock: File,
    changes: Vec<Change>,
    log: Log<'a>,
}

impl<'a> Journal<'a> {
    /// Opens the journal in a directory, which is made where it is not there, and puts back what
    /// an earlier run has left.
    ///
    /// # Errors
    /// Where another process has it, or it cannot be read.
    pub fn open(directory: &Path, log: Log<'a>) -> Result<Self, Error> {
        let path = directory.join("changes.json");
        let failed = |action| {
            let path = path.clone();
            move |source| Error::Journal {
                action,
                path,
                source,
            }
        };
        fs::create_dir_all(directory).map_err(failed("make the directory of"))?;
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(directory.join("lock"))
            .map_err(failed("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::InUse { path }),
            Err(TryLockError::Error(error)) => return Err(failed("lock")(error)),
        }
        let (boot, changes) = match fs::read(&path) {
            Ok(text) => parse(&text).map_err(failed("read"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => (String::new(), Vec::new()),
            Err(error) => return Err(failed("read")(error)),
        };
        let mut journal = Self {
            path,
            lock,
            changes,
            log,
        };
        if journal.changes.is_empty() {
            return Ok(journal);
        }
        match boot == boot_id() {
            true => journal.restore()?,
            false => {
                log("no settings to restore: the machine was started again since");
                // Files of a volume outlive that.
                let is_file = |change: &Change| matches!(change, Change::Emulated { .. });
                journal.changes.retain(is_file);
                journal.restore()?;
                journal.write()?;
            }
        }
        Ok(journal)
    }

    /// Changes a value of the kernel; what it was.
    ///
    /// # Errors
    /// Where there is no such value, the kernel refuses it, or the journal cannot be written:
    /// nothing is changed then.
    pub fn set(&mut self, setting: &Setting) -> Result<(), Error> {
        let Setting { key, path, value } = setting;
        let refused = |source: io::Error| Error::Setting {
            key: key.clone(),
            value: value.clone(),
            why: format!("`{}`: {source}", path.display()),
        };
        let old = read(path).map_err(refused)?;
        if old == *value {
            (self.log)(&format!("{key} is {value} already"));
            return Ok(());
        }
        (self.log)(&format!("{key}: {old} -> {value}"));
        self.changes
            .push(inverse(path, &old, value).map_err(refused)?);
        self.write()?;
        (self.log)(&format!("{key}: {old} is in the journal"));
        write(path, value).map_err(refused)?;
        (self.log)(&format!("{key}: written"));
        let is = read(path).map_err(refused)?;
        if let Some(Change::Value { now, path: of, .. }) = self.changes.last_mut()
            && of == path
        {
            *now = Some(is.clone());
        }
        self.write()?;
        match is == *value {
            true => (self.log)(&format!("{key} is {value}")),
            false => (self.log)(&format!("{key} is {is}, as the kernel made of {value}")),
        }
        Ok(())
    }

    /// Says that a file system is about to be mounted.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    pub fn mounts(&mut self, point: &Path, device: (u32, u32)) -> Result<(), Error> {
        self.changes.push(Change::Mount {
            point: point.to_owned(),
            device: format!("{}:{}", device.0, device.1),
        });
        self.write()
    }

    /// Says that a volume is about to be emulated.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    pub fn emulates(&mut self, directory: &Path) -> Result<(), Error> {
        self.changes.push(Change::Emulated {
            directory: directory.to_owned(),
        });
        self.write()
    }

    /// Leaves everything as it is now, and forgets what it was.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    pub fn forget(mut self) -> Result<(), Error> {
        self.changes.clear();
        self.write()
    }

    /// How much of the machine is changed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether nothing is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Puts everything back that is still ours, the last change first. What cannot be put back stays
    /// in the journal.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    pub fn restore(&mut self) -> Result<(), Error> {
        let mut left = Vec::new();
        while let Some(change) = self.changes.last().cloned() {
            match put_back(&change) {
                Ok(said) => (self.log)(&said),
                Err(said) => {
                    (self.log)(&said);
                    left.push(change);
                }
            }
            self.changes.pop();
            // What is left goes on being in the journal all the time.
            let kept: Vec<_> = left.iter().rev().cloned().collect();
            let all = [self.changes.clone(), kept].concat();
            self.write_all(&all)?;
        }
        left.reverse();
        self.changes = left;
        Ok(())
    }

    fn write(&self) -> Result<(), Error> {
        self.write_all(&self.changes)
    }

    /// Writes the journal so that a crash leaves the old or the new one.
    fn write_all(&self, changes: &[Change]) -> Result<(), Error> {
        let failed = |source| Error::Journal {
            action: "write",
            path: self.path.clone(),
            source,
        };
        let changes: Vec<_> = changes.iter().map(document).collect();
        let document = json!({ "version": VERSION, "boot": boot_id(), "changes": changes });
        let new = self.path.with_extension("new");
        let text = format!("{document:#}\n");
        let mut file = File::create(&new).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        fs::rename(&new, &self.path).map_err(failed)?;
        let directory = self.path.parent().expect("the journal is in a directory");
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(failed)
    }
}

impl Drop for Journal<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.restore() {
            (self.log)(&error.to_string());
        }
        // Given back, not merely closed: a process that is just being started has a copy.
        let _ = self.lock.unlock();
    }
}

/// Values of the kernel of which one is in effect: writing one makes the other 0, and 0 cannot be
/// written.
const PAIRS: &[(&str, &str)] = &[
    ("dirty_bytes", "dirty_ratio"),
    ("dirty_background_bytes", "dirty_background_ratio"),
];

/// What puts a value back: the value itself, or where it was 0 because another one was in effect,
/// that one.
fn inverse(path: &Path, old: &str, asked: &str) -> io::Result<Change> {
    let name = path.file_name().unwrap_or_default();
    let partner = PAIRS.iter().find_map(|(a, b)| match () {
        () if name == *a => Some(b),
        () if name == *b => Some(a),
        () => None,
    });
    if let Some(partner) = partner.filter(|_| old == "0") {
        let path = path.with_file_name(partner);
        let old = read(&path)?;
        if old != "0" {
            return Ok(Change::Value {
                path,
                old,
                asked: "0".to_owned(),
                now: None,
            });
        }
    }
    Ok(Change::Value {
        path: path.to_owned(),
        old: old.to_owned(),
        // As it is read again.
        asked: asked.split_whitespace().collect::<Vec<_>>().join(" "),
        now: None,
    })
}

/// Puts a change back; what was done, or why it is left.
fn put_back(change: &Change) -> Result<String, String> {
    match change {
        Change::Value {
            path,
            old,
            asked,
            now,
        } => {
            let name = path.display();
            let is = read(path).map_err(|error| format!("`{name}` is left: {error}"))?;
            if is == *old {
                return Ok(format!("`{name}` is {old} again"));
            }
            if is != *asked && Some(&is) != now.as_ref() {
                return Ok(format!(
                    "`{name}` is left at {is}: somebody else has changed it since (it was {old})"
                ));
            }
            write(path, old).map_err(|error| format!("`{name}` is left at {is}: {error}"))?;
            Ok(format!("`{name}` is {old} again"))
        }
        Change::Emulated { directory } => match super::remove_emulated(directory) {
            Ok(()) => Ok(format!("`{}` is removed", directory.display())),
            Err(error) => {
                let why = std::error::Error::source(&error);
                let why = why.map_or_else(String::new, ToString::to_string);
                Err(format!("`{}` stays: {why}", directory.display()))
            }
        },
        Change::Mount { point, device } => {
            let mounts = mount::mounts();
            // The kernel tells where a mount really is.
            let point = &fs::canonicalize(point).unwrap_or_else(|_| point.clone());
            let last = mounts.iter().rfind(|mount| mount.point == *point);
            match last {
                Some(mount) if mount.device == *device => super::unmount(point)
                    .map(|()| format!("`{}` is unmounted", point.display()))
                    .map_err(|error| {
                        let why = std::error::Error::source(&error);
                        let why = why.map_or_else(String::new, ToString::to_string);
                        format!("`{}` stays mounted: {why}", point.display())
                    }),
                _ => Ok(format!(
                    "`{}` is not mounted by us any more",
                    point.display()
                )),
            }
        }
    }
}

fn document(change: &Change) -> Value {
    match change {
        Change::Value {
            path,
            old,
            asked,
            now,
        } => json!({ "path": path, "old": old, "asked": asked, "now": now }),
        Change::Mount { point, device } => json!({ "mounted": point, "device": device }),
        Change::Emulated { directory } => json!({ "emulated": directory }),
    }
}

/// The boot and the changes of a journal.
pub(super) fn parse(text: &[u8]) -> io::Result<(String, Vec<Change>)> {
    let odd = || io::Error::other("it is no journal of tailmark");
    let document: Value = serde_json::from_slice(text).map_err(io::Error::other)?;
    if document["version"] != VERSION {
        let version = &document["version"];
        return Err(io::Error::other(format!(
            "it is of version {version}, and this program knows {VERSION}"
        )));
    }
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(odd);
    let change = |row: &Value| {
        if let Some(directory) = row.get("emulated") {
            let directory = text(directory)?.into();
            return Ok(Change::Emulated { directory });
        }
        Ok(match row.get("mounted") {
            Some(point) => Change::Mount {
                point: text(point)?.into(),
                device: text(&row["device"])?,
            },
            None => Change::Value {
                path: text(&row["path"])?.into(),
                old: text(&row["old"])?,
                asked: text(&row["asked"])?,
                now: row["now"].as_str().map(str::to_owned),
            },
        })
    };
    let changes = document["changes"].as_array().ok_or_else(odd)?;
    let changes = changes.iter().map(change).collect::<io::Result<_>>()?;
    Ok((text(&document["boot"])?, changes))
}

/// A value as it is compared: of a choice the one in brackets, of several numbers one space between.
fn read(path: &Path) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    let words: Vec<_> = text.split_whitespace().collect();
    let is_choice = |word: &&&str| word.starts_with('[') && word.ends_with(']');
    Ok(match words.iter().find(is_choice) {
        Some(word) => word[1..word.len() - 1].to_owned(),
        None => words.join(" "),
    })
}

/// Writes a value of the kernel, which must be there.
fn write(path: &Path, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    // In one call, as the kernel wants it.
    match file.write(value.as_bytes())? {
        written if written == value.len() => Ok(()),
        _ => Err(io::Error::other("it was taken in part")),
    }
}

fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    text.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_as_it_was_written_and_nothing_else_is() {
        let changes = [
            Change::Value {
                path: "/proc/sys/vm/swappiness".into(),
                old: "60".to_owned(),
                asked: "1".to_owned(),
                now: None,
            },
            Change::Mount {
                point: "/mnt/a b".into(),
                device: "259:0".to_owned(),
            },
            Change::Emulated {
                directory: "/var/lib/tailmark/emulated/a b".into(),
            },
        ];
        let rows: Vec<_> = changes.iter().map(document).collect();
        let text = |version: u64| {
            json!({ "version": version, "boot": "b", "changes": rows.clone() }).to_string()
        };
        let read = parse(text(VERSION).as_bytes()).unwrap();
        assert_eq!(read, ("b".to_owned(), changes.to_vec()));
        let later = parse(text(9).as_bytes()).unwrap_err().to_string();
        assert!(later.contains("version 9"), "{later}");
        for odd in [
            "",
            "{}",
            "[1]",
            r#"{"version":1,"boot":"b","changes":[{}]}"#,
        ] {
            assert!(parse(odd.as_bytes()).is_err(), "{odd}");
        }
    }

    #[test]
    fn of_two_values_the_one_that_was_in_effect_is_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let put = |bytes: &str, ratio: &str| {
            fs::write(path("dirty_bytes"), bytes).unwrap();
            fs::write(path("dirty_ratio"), ratio).unwrap();
        };
        let value = |name: &str, old: &str, asked: &str| Change::Value {
            path: path(name),
            old: old.to_owned(),
            asked: asked.to_owned(),
            now: None,
        };
        put("0", "20");
        let of_bytes = inverse(&path("dirty_bytes"), "0", "2000000000").unwrap();
        assert_eq!(of_bytes, value("dirty_ratio", "20", "0"));
        // The kernel makes the other one 0, and takes the old one back.
        put("2000000000", "0");
        put_back(&of_bytes).unwrap();
        assert_eq!(read(&path("dirty_ratio")).unwrap(), "20");
        put("2000000000", "0");
        let of_ratio = inverse(&path("dirty_ratio"), "0", "30").unwrap();
        assert_eq!(of_ratio, value("dirty_bytes", "2000000000", "0"));
        let same = inverse(&path("dirty_bytes"), "2000000000", "5").unwrap();
        assert_eq!(same, value("dirty_bytes", "2000000000", "5"));
        fs::write(path("tcp_rmem"), "1 2 3").unwrap();
        let words = inverse(&path("tcp_rmem"), "1 2 3", "4  5 6").unwrap();
        assert_eq!(words, value("tcp_rmem", "1 2 3", "4 5 6"));
    }

    #[test]
    fn a_choice_is_what_stands_in_brackets_and_numbers_have_one_space() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let value = |text: &str| {
            fs::write(file.path(), text).unwrap();
            read(file.path()).unwrap()
        };
        assert_eq!(value("always [madvise] never\n"), "madvise");
        assert_eq!(value("4096\t131072\t6291456\n"), "4096 131072 6291456");
    }
}
