//! Reads files named by a plan, a flag, a setting or a property.
//!
//! A name can lead to anything: a pipe that no program writes, an endless device, a file of
//! gigabytes. None of them may block a run or fill the memory.

use rustix::fs::OFlags;
use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// The largest file that is read as a whole, bytes.
pub const INPUT_BYTES_MAX: u64 = 16 << 20;

/// The bytes of a regular file, which it opens without waiting.
///
/// # Errors
/// If it is something else, such as a pipe, has more than `bytes_max` bytes, or cannot be read.
pub fn read_file(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_with(path, OFlags::empty(), bytes_max)
}

/// Opens a regular file without waiting.
///
/// # Errors
/// If it is something else, such as a pipe, or cannot be opened.
pub fn open_file(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::empty())
}

fn read_with(path: &Path, flags: OFlags, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_at_most(open_with(path, flags)?, bytes_max)
}

fn open_with(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        return Err(io::Error::new(
            ErrorKind::NotSeekable,
            "it is a pipe or a device, and not a regular file",
        ));
    }
    Ok(file)
}

/// The text of a regular file.
///
/// # Errors
/// As [`read_file`], and if it is not UTF-8.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    text(read_file(path, bytes_max)?)
}

/// The text of a file that tailmark wrote, which is not a link.
///
/// # Errors
/// As [`read_text`], and if it is a symbolic link.
#[cfg(feature = "rocksdb")]
pub(crate) fn read_own_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    text(read_with(path, OFlags::NOFOLLOW, bytes_max)?)
}

/// The bytes of a file that may also be a pipe, such as `/dev/stdin` or `<(...)` in a shell. Waits
/// for the program that writes a pipe.
///
/// # Errors
/// If it has more than [`INPUT_BYTES_MAX`] bytes, or cannot be read.
pub fn read_stream(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(File::open(path)?, INPUT_BYTES_MAX)
}

/// The text of a file that may be a pipe too.
///
/// # Errors
/// As [`read_stream`], and if it is not UTF-8.
pub fn read_text_stream(path: &Path) -> io::Result<String> {
    text(read_stream(path)?)
}

fn read_at_most(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let too_large = || {
        let mib = bytes_max >> 20;
        io::Error::other(format!("it has more than {mib} MiB"))
    };
    if file.metadata()?.len() > bytes_max {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(too_large());
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::{fs, thread};

    #[test]
    fn a_pipe_and_a_device_are_no_files_and_are_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        for path in [&*pipe, Path::new("/dev/zero"), Path::new("/dev/stdin")] {
            let refused = read_text(path, 10).unwrap_err().to_string();
            assert!(
                refused.contains("not a regular file"),
                "{path:?}: {refused}"
            );
        }
        let refused = read_text(dir.path(), 10).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::IsADirectory);
    }

    #[test]
    fn a_file_is_read_up_to_its_limit_and_no_further() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        assert!(read_text(&path, 4).is_err());
        File::create(&path).unwrap().set_len(8 << 30).unwrap();
        let refused = read_text(&path, INPUT_BYTES_MAX).unwrap_err().to_string();
        assert_eq!(refused, "it has more than 16 MiB");
        fs::write(&path, b"\xff").unwrap();
        assert!(read_text(&path, 5).is_err());
    }

    #[test]
    fn a_stream_is_read_to_its_end_but_has_one() {
        let refused = read_stream(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(refused, "it has more than 16 MiB");
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| fs::write(&pipe, "of a pipe").unwrap());
            assert_eq!(read_text_stream(&pipe).unwrap(), "of a pipe");
        });
    }
}
