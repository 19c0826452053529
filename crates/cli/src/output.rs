//! Standard output and standard error. What was asked for goes to the first, what is said on the
//! way to the second, so that either can be piped.

use std::io::{self, ErrorKind, Write};

/// Writes a line to standard output.
///
/// # Errors
/// Where it cannot be written; a pipe that was closed is told by [`is_closed_pipe`].
pub fn say(line: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Writes a line to standard error, where that is possible.
pub fn warn(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Whether the reader of standard output went away, as `head` does: nothing failed.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let is_broken = |error: &io::Error| error.kind() == ErrorKind::BrokenPipe;
    error
        .chain()
        .any(|cause| cause.downcast_ref().is_some_and(is_broken))
}
