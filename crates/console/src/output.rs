//! Standard output and standard error. Results go to the first and messages to the second, so that
//! either can be piped.

use anyhow::Context;
use std::{
    cell::Cell,
    fmt,
    fs::File,
    io::{self, BufWriter, ErrorKind, Write},
    os::{fd::AsFd, unix::fs::FileTypeExt},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tailmark_model::printable_lines;

/// The output of a program: standard output and standard error, or replacements. Cheap to clone;
/// lines of several threads do not mix.
#[derive(Clone)]
pub struct Console {
    out: Shared,
    err: Shared,
    /// Whether `out` is the real standard output.
    is_standard: bool,
}

type Shared = Arc<Mutex<Box<dyn Write + Send>>>;

/// The reader of standard output went away: nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// A pipe was closed, as `head` does.
    #[error("the reader of standard output has exited")]
    Pipe,
    /// The terminal was closed.
    #[error("the terminal was closed")]
    Terminal,
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").finish_non_exhaustive()
    }
}

impl Console {
    /// The program's own standard output and standard error.
    pub fn standard() -> Self {
        Self {
            is_standard: true,
            ..Self::new(io::stdout(), io::stderr())
        }
    }

    /// Writes to these in their place.
    pub fn new(out: impl Write + Send + 'static, err: impl Write + Send + 'static) -> Self {
        let shared = |to: Box<dyn Write + Send>| Arc::new(Mutex::new(to));
        Self {
            out: shared(Box::new(out)),
            err: shared(Box::new(err)),
            is_standard: false,
        }
    }

    /// Writes one or several lines to standard output, with terminal control escaped.
    ///
    /// # Errors
    /// If it cannot be written; [`closed`] detects a reader that is gone.
    pub fn say(&self, line: &str) -> anyhow::Result<()> {
        self.write(|out| {
            out.write_all(printable_lines(line).as_bytes())?;
            Ok(out.write_all(b"\n")?)
        })
    }

    /// Lets `act` write to standard output.
    ///
    /// # Errors
    /// The error of `act`, or if standard output cannot be written.
    pub fn write(
        &self,
        act: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (gone, is_standard) = (Cell::new(None), self.is_standard);
        let mut out = lock(&self.out);
        let mut out = BufWriter::new(WatchedStdout {
            out: &mut **out,
            gone: &gone,
            is_standard,
        });
        let written = act(&mut out).and_then(|()| Ok(out.flush()?));
        match (written, gone.get()) {
            (Ok(()), _) => Ok(()),
            (Err(_), Some(closed)) => Err(closed.into()),
            (Err(error), None) => Err(error).context("failed to write standard output"),
        }
    }

    /// Writes a line to standard error, if possible, with terminal control escaped.
    pub fn warn(&self, line: &str) {
        self.warn_styled(&printable_lines(line));
    }

    /// Writes a line as it is: one that has commands for a terminal and no others.
    pub fn warn_styled(&self, line: &str) {
        let _ = writeln!(lock(&self.err), "{line}");
    }

    /// Prints an error with its causes. Further lines, such as those of a service's log, are
    /// indented, so that they are not mistaken for lines of this program. Only the beginning of a
    /// huge server message is printed.
    pub fn error(&self, error: &anyhow::Error) {
        let mut text = format!("error: {error:#}");
        if let Some((end, _)) = text.char_indices().nth(ERROR_MAX) {
            text.truncate(end);
            text.push_str(" ... (cut short)");
        }
        self.warn(&text.trim_end().replace('\n', "\n  "));
    }
}

/// The most characters of an error that are printed.
const ERROR_MAX: usize = 20_000;

fn lock(to: &Shared) -> MutexGuard<'_, Box<dyn Write + Send>> {
    to.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers whether the reader of standard output is gone, because callers may wrap the error. A
/// broken connection to a database is different, and never gets here.
struct WatchedStdout<'a> {
    out: &'a mut (dyn Write + Send),
    gone: &'a Cell<Option<Closed>>,
    is_standard: bool,
}

impl WatchedStdout<'_> {
    fn look<T>(&self, written: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &written {
            self.gone.set(reader_gone(error, self.is_standard));
        }
        written
    }
}

impl Write for WatchedStdout<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.look(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.look(flushed)
    }
}

/// Whether what went wrong is only that the reader of standard output went away.
pub fn closed(error: &anyhow::Error) -> Option<Closed> {
    error
        .chain()
        .find_map(|cause| cause.downcast_ref().copied())
}

/// What an error in writing standard output shows about its reader.
fn reader_gone(error: &io::Error, is_standard: bool) -> Option<Closed> {
    /// From a terminal that hung up, but also from a file on a failing disk.
    const EIO: i32 = 5;
    match error.kind() {
        ErrorKind::BrokenPipe => Some(Closed::Pipe),
        _ if is_standard && error.raw_os_error() == Some(EIO) && is_terminal_file() => {
            Some(Closed::Terminal)
        }
        _ => None,
    }
}

/// Whether standard output is a device such as a terminal; one that hung up does not say itself
/// that it is one.
fn is_terminal_file() -> bool {
    let out = io::stdout().as_fd().try_clone_to_owned();
    let found = out.and_then(|out| File::from(out).metadata());
    found.is_ok_and(|found| found.file_type().is_char_device())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;
    use std::io::Read;

    fn printed(error: &anyhow::Error) -> String {
        let (mut reader, writer) = io::pipe().unwrap();
        let console = Console::new(io::sink(), writer);
        console.error(error);
        drop(console);
        let mut said = String::new();
        reader.read_to_string(&mut said).unwrap();
        said
    }

    #[test]
    fn an_error_is_no_longer_than_it_can_be_read() {
        let said = printed(&anyhow!("é".repeat(1_000_000)));
        assert!(said.ends_with("é ... (cut short)\n"), "{}", said.len());
        assert!(said.chars().count() < 21_000, "{}", said.len());
    }

    #[test]
    fn no_line_of_a_cause_looks_like_one_of_this_program() {
        let cause = anyhow!("refused\nnot touched: all is well\u{1b}[2J");
        assert_eq!(
            printed(&cause.context("failed to open")),
            "error: failed to open: refused\n  not touched: all is well\\u{1b}[2J\n"
        );
    }
}
