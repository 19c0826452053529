//! The output of a service's commands: a file in the run directory to which lines are appended.
//!
//! The file name comes from the plan, so another program may have a file of that name. The first
//! line names the study, and only such a file is appended to, quoted in an error, or removed.

use crate::Error;
use rustix::fs::OFlags;
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};
use tailmark_model::file_name;
use tailmark_study::{Error as ResultsError, create_whole, open_own};

/// The suffix of a log's name.
const ENDING: &str = ".service.log";
/// The permissions of a log: a server may print more than every user of the machine is to know.
const MODE: u32 = 0o640;
/// The most bytes that are read of a log, from its end.
const READ_MAX: u64 = 64 << 10;
const FOREIGN: &str = "is not a service log of this study";

/// The log of a service.
#[derive(Debug, Clone)]
pub(crate) struct ServiceLog {
    path: PathBuf,
    first_line: String,
}

impl ServiceLog {
    /// The log of a service in the run directory of a study.
    pub fn new(out: &Path, service: &str, study: &str) -> Self {
        Self {
            path: out.join(format!("{}{ENDING}", file_name(service))),
            first_line: first_line(study),
        }
    }

    /// All such logs in the run directory of a study.
    pub fn all(out: &Path, study: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(out).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let named = paths.filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            let service = name.and_then(|name| name.strip_suffix(ENDING));
            service.is_some_and(|service| file_name(service) == service)
        });
        let first_line = first_line(study);
        let is_of = |path: &PathBuf| matches!(opened(path, &first_line), Ok(Some(_)));
        named.filter(is_of).collect()
    }

    /// Opens it to append to it; it is made if it is missing.
    pub fn append(&self) -> io::Result<File> {
        if let Some(log) = opened(&self.path, &self.first_line)? {
            return Ok(log);
        }
        create_whole(&self.path, self.first_line.as_bytes(), MODE)?;
        opened(&self.path, &self.first_line)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Refuses another file in its place.
    ///
    /// # Errors
    /// If there is one, or if the file there cannot be read and written.
    pub fn refuse_foreign(&self) -> Result<(), Error> {
        match opened(&self.path, &self.first_line) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::Results(ResultsError::ForeignFile {
                    path: self.path.clone(),
                    why: FOREIGN,
                }))
            }
            Err(source) => Err(Error::Io {
                action: "open",
                path: self.path.clone(),
                source,
            }),
        }
    }

    /// Its length.
    pub fn len(&self) -> u64 {
        self.path.metadata().map_or(0, |log| log.len())
    }

    /// The end of the output from an offset on.
    pub fn read(&self, from: u64) -> String {
        read(&self.path, from.max(self.first_line.len() as u64))
    }
}

fn first_line(study: &str) -> String {
    format!("tailmark: what a service printed, study {study}\n")
}

/// Opens a log of the study to append to it, if there is one; any other file is an error.
fn opened(path: &Path, first_line: &str) -> io::Result<Option<File>> {
    let Some(mut log) = open_own(path, File::options().read(true).append(true))? else {
        return Ok(None);
    };
    let mut head = vec![0; first_line.len()];
    match log.read_exact(&mut head) {
        Ok(()) if head == first_line.as_bytes() => Ok(Some(log)),
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
        _ => Err(io::Error::new(io::ErrorKind::AlreadyExists, FOREIGN)),
    }
}

/// The end of a file on this machine, at most [`READ_MAX`] bytes and not before an offset; empty if
/// it cannot be read.
pub(super) fn read(path: &Path, from: u64) -> String {
    let end = || -> io::Result<Vec<u8>> {
        // Opening a pipe must not wait for a writer.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let mut file = File::options().read(true).custom_flags(flags).open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(from.max(length.saturating_sub(READ_MAX))))?;
        let mut bytes = Vec::new();
        file.take(READ_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&end().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        io::Write,
        os::unix::fs::{PermissionsExt, symlink},
        process::Command,
    };

    #[test]
    fn of_a_log_of_three_gigabytes_the_end_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.service.log");
        // A sparse file: no blocks on the disk.
        let mut log = File::create(&path).unwrap();
        log.set_len(3 << 30).unwrap();
        log.seek(SeekFrom::End(0)).unwrap();
        log.write_all(b"first\nlast\n").unwrap();
        let text = read(&path, 0);
        assert_eq!(text.len() as u64, READ_MAX);
        assert!(text.ends_with("\0first\nlast\n"));
        assert_eq!(read(&path, (3 << 30) + 6), "last\n");
        assert_eq!(read(&path, 4 << 30), "");
        assert_eq!(read(&dir.path().join("none"), 0), "");
        let pipe = dir.path().join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(read(&pipe, 0), "");
    }

    #[test]
    fn a_log_is_made_once_and_grows_at_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let log = ServiceLog::new(dir.path(), "../a\nb", "1f");
        log.refuse_foreign().unwrap();
        for line in ["one\n", "two\n"] {
            let mut file = log.append().unwrap();
            file.write_all(line.as_bytes()).unwrap();
        }
        assert_eq!(log.read(0), "one\ntwo\n");
        assert_eq!(
            ServiceLog::all(dir.path(), "1f"),
            std::slice::from_ref(&log.path)
        );
        assert_eq!(ServiceLog::all(dir.path(), "2f").len(), 0);
        let mode = fs::metadata(&log.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o137, 0);
        log.refuse_foreign().unwrap();
    }

    #[test]
    fn what_is_not_a_log_of_the_study_is_neither_opened_nor_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let log = ServiceLog::new(dir.path(), "a", "1f");
        let own = ServiceLog::new(dir.path(), "own", "1f");
        drop(own.append().unwrap());
        let before = fs::read(&own.path).unwrap();
        let makes: [&dyn Fn(); 6] = [
            &|| fs::write(&log.path, "mine").unwrap(),
            &|| fs::write(&log.path, first_line("2f")).unwrap(),
            &|| symlink(&own.path, &log.path).unwrap(),
            &|| symlink(dir.path().join("new"), &log.path).unwrap(),
            &|| fs::hard_link(&own.path, &log.path).unwrap(),
            &|| {
                assert!(
                    Command::new("mkfifo")
                        .arg(&log.path)
                        .status()
                        .unwrap()
                        .success()
                )
            },
        ];
        for make in makes {
            make();
            assert!(log.append().is_err());
            assert!(matches!(
                log.refuse_foreign(),
                Err(Error::Results(ResultsError::ForeignFile { .. }))
            ));
            fs::remove_file(&log.path).unwrap();
            assert_eq!(fs::read(&own.path).unwrap(), before);
        }
        assert!(!dir.path().join("new").exists());
    }
}
