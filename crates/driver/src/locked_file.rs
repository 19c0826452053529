//! A file that no other program may use at the same time.

use std::{
    fs::{File, TryLockError},
    io,
    ops::Deref,
};

/// A file with a lock (`flock`), held until this is dropped.
///
/// The lock is released explicitly, not only by closing the file. A starting process has a copy of
/// every descriptor until it executes its program, and would hold the lock that long.
#[derive(Debug)]
pub struct LockedFile(File);

impl LockedFile {
    /// Takes the lock for this process alone, without waiting; `None` if another program has it.
    ///
    /// # Errors
    /// If the file system does not support locks.
    pub fn new(file: File) -> io::Result<Option<Self>> {
        let locked = file.try_lock();
        Self::from_locked(file, locked)
    }

    /// Takes it together with others that do the same; `None` if a program has it for itself.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn shared(file: File) -> io::Result<Option<Self>> {
        let locked = file.try_lock_shared();
        Self::from_locked(file, locked)
    }

    fn from_locked(file: File, locked: Result<(), TryLockError>) -> io::Result<Option<Self>> {
        match locked {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // If that fails, closing the file unlocks it.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_ends_though_another_process_has_a_copy_of_the_descriptor() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let locked = || LockedFile::new(file.reopen().unwrap()).unwrap();
        let first = locked().unwrap();
        let copy = first.try_clone().unwrap();
        assert!(locked().is_none());
        drop(first);
        assert!(locked().is_some());
        drop(copy);
    }
}
