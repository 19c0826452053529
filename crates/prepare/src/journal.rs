//! The journal of changes that a run makes to this machine. It restores them however the run ends.
//!
//! Before a value is changed, the old one is written to the journal on disk. A run restores its
//! changes when it ends. If it was killed, the next run that changes something does, or `tailmark
//! restore`. A value is restored only if it is still ours: as we left it, or as we requested it. A
//! restart of the machine undoes all changes, which the journal detects by the kernel's boot
//! identifier.

use super::{
    Error, Kernel, Log, Setting,
    change::{Change, VERSION, document, inverse, parse, put_back, read, write},
    left::{self, LOCK, boot_id},
    state,
};
use serde_json::json;
use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// The changes to this machine, while this lives.
pub struct Journal<'a> {
    directory: PathBuf,
    path: PathBuf,
    kernel: Kernel,
    lock: File,
    changes: Vec<Change>,
    log: Log<'a>,
    /// Whether the changes are final, or have been restored as far as possible.
    is_over: bool,
    /// The directory of the run that makes the changes.
    run: Option<PathBuf>,
}

impl<'a> Journal<'a> {
    /// Opens the journal in a directory, which is created if missing, and restores what an earlier
    /// run left.
    ///
    /// # Errors
    /// If another process holds it, or it cannot be read.
    pub fn open(directory: &Path, log: Log<'a>) -> Result<Self, Error> {
        Self::open_on(directory, Kernel::default(), log)
    }

    /// The same with the kernel's values in another place.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_on(directory: &Path, kernel: Kernel, log: Log<'a>) -> Result<Self, Error> {
        let path = directory.join("changes.json");
        state::make_directory(directory).map_err(|source| Error::Journal {
            action: "make the directory of",
            path: directory.to_owned(),
            source,
        })?;
        let failed = |action| {
            let path = path.clone();
            move |source| Error::Journal {
                action,
                path,
                source,
            }
        };
        let lock = directory.join(LOCK);
        let unlocked = |source| Error::Journal {
            action: "open the lock of",
            path: lock.clone(),
            source,
        };
        let file = state::open_private(&lock).map_err(unlocked)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = left::holder(&lock);
                let holder = holder.unwrap_or_else(|| "another process".to_owned());
                return Err(Error::InUse { path: lock, holder });
            }
            Err(TryLockError::Error(error)) => return Err(unlocked(error)),
        }
        let (boot, changes) = match state::read(&path) {
            Ok(Some(text)) => parse(&text).map_err(|source| Error::Damaged {
                path: path.clone(),
                source,
            })?,
            Ok(None) => (String::new(), Vec::new()),
            Err(error) => return Err(failed("read")(error)),
        };
        let mut journal = Self {
            directory: directory.to_owned(),
            path,
            kernel,
            lock: file,
            changes,
            log,
            is_over: false,
            run: None,
        };
        if journal.changes.is_empty() {
            return Ok(journal);
        }
        if boot == boot_id() {
            journal.restore()?
        } else {
            log("no settings to restore, because the machine has been restarted since");
            // Files of a volume outlive that.
            let is_file = |change: &Change| matches!(change, Change::Emulated { .. });
            journal.changes.retain(is_file);
            journal.restore()?;
            journal.write()?;
        }
        Ok(journal)
    }

    /// Changes a kernel value. Returns the old one.
    ///
    /// # Errors
    /// If the value does not exist, the kernel refuses it, or the journal cannot be written.
    /// Nothing is changed then.
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
        if let Some(Change::Value {
            now, path: changed, ..
        }) = self.changes.last_mut()
            && changed == path
        {
            *now = Some(is.clone());
        }
        self.write()?;
        if is == *value {
            (self.log)(&format!("{key} is {value}"))
        } else {
            (self.log)(&format!("{key} is {is}: the kernel adjusted {value}"))
        }
        Ok(())
    }

    /// Records that a file system is about to be mounted.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn mounts(
        &mut self,
        point: &Path,
        device: (u32, u32),
        file_system: Option<String>,
    ) -> Result<(), Error> {
        self.changes.push(Change::Mount {
            point: point.to_owned(),
            device: format!("{}:{}", device.0, device.1),
            file_system,
        });
        self.write()
    }

    /// Records that a volume is about to be emulated.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn emulates(&mut self, directory: &Path) -> Result<(), Error> {
        self.changes.push(Change::Emulated {
            directory: directory.to_owned(),
        });
        self.write()
    }

    /// Names the directory of the run that makes the changes, by which `clean` knows them.
    pub fn set_run(&mut self, directory: &Path) {
        self.run = Some(std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned()));
    }

    /// Keeps all changes, and forgets the old values.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn forget(mut self) -> Result<(), Error> {
        self.changes.clear();
        self.write()
    }

    /// Restores everything that is still ours. Returns how many changes could not be restored.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn end(mut self) -> Result<usize, Error> {
        self.restore()?;
        self.is_over = true;
        Ok(self.len())
    }

    /// The number of changes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether nothing is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Restores everything that is still ours, the last change first. Changes that cannot be
    /// restored stay in the journal.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn restore(&mut self) -> Result<(), Error> {
        let mut left = Vec::new();
        while let Some(change) = self.changes.last().cloned() {
            match put_back(&change, &self.kernel, &self.directory, self.log) {
                Ok(said) => (self.log)(&said),
                Err(said) => {
                    (self.log)(&said);
                    left.push(change);
                }
            }
            self.changes.pop();
            // Remaining changes stay in the journal all the time.
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
        let rows: Vec<_> = changes.iter().map(document).collect();
        let mut document = json!({ "version": VERSION, "boot": boot_id(), "changes": rows });
        if let Some(run) = &self.run {
            document["run"] = json!(run.display().to_string());
        }
        let text = format!("{document:#}\n");
        state::replace(&self.path, text.as_bytes(), state::PRIVATE_MODE).map_err(failed)?;
        left::write(&self.directory, changes).map_err(|source| Error::Journal {
            action: "say beside what is left by",
            path: self.path.clone(),
            source,
        })
    }
}

impl Drop for Journal<'_> {
    fn drop(&mut self) {
        if !self.is_over
            && let Err(error) = self.restore()
        {
            (self.log)(&error.to_string());
        }
        // Given back, not merely closed: a process that is just being started has a copy.
        let _ = self.lock.unlock();
    }
}
