//! Runs programs of the system to completion.

use super::watch::{Waited, Watch, wait_until};
use std::{
    io::{self, Read},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

/// Runs a program to its end; its standard output. A stop kills it.
pub(super) fn run(words: &[String], watch: &dyn Watch) -> io::Result<String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let said = output(&words, Stdio::null(), watch)?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// The same with this standard input; its output as it is.
pub(super) fn output(words: &[&str], input: Stdio, watch: &dyn Watch) -> io::Result<Vec<u8>> {
    tracing::debug!(target: "prepare", ?words, "run");
    let (program, rest) = words.split_first().expect("a command has a program");
    let failed = |error: io::Error| io::Error::other(format!("`{program}`: {error}"));
    let mut child = Command::new(program)
        .args(rest)
        .env("LC_ALL", "C")
        .env("PATH", search_path())
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let what = format!("`{}` is done", words.join(" "));
    let (status, said, error) = thread::scope(|scope| {
        let said = scope.spawn(|| read_all(stdout));
        let error = scope.spawn(|| read_all(stderr));
        let status = wait(&mut child, &what, watch);
        let all = |text: thread::ScopedJoinHandle<'_, Vec<u8>>| text.join().unwrap_or_default();
        (status, all(said), all(error))
    });
    if status.map_err(failed)?.success() {
        return Ok(said);
    }
    if watch.is_stopped() {
        return Err(io::Error::other(format!("`{program}` was stopped")));
    }
    let error = String::from_utf8_lossy(&error);
    let error = error.trim().replace('\n', "; ");
    Err(io::Error::other(format!("`{program}` failed: {error}")))
}

/// Waits for the end of a program, which a stop kills.
fn wait(child: &mut Child, what: &str, watch: &dyn Watch) -> io::Result<ExitStatus> {
    let mut ended = None;
    let waited = wait_until(what, Duration::MAX, watch, || {
        ended = child.try_wait().transpose();
        ended.is_some()
    });
    if let (Waited::Stopped, None) = (waited, &ended) {
        child.kill()?;
    }
    ended.unwrap_or_else(|| child.wait())
}

fn read_all(from: Option<impl Read>) -> Vec<u8> {
    let mut all = Vec::new();
    // Unreadable output is ignored, because the exit code is reported anyway.
    let _ = from.map(|mut from| from.read_to_end(&mut all));
    all
}

/// Words as one line of a shell, each as it is.
pub fn shell_line<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let quoter = shlex::Quoter::new().allow_nul(true);
    quoter.join(words).expect("all but NUL can be quoted")
}

/// A command as a shell takes it.
pub(super) fn line(words: &[String]) -> String {
    shell_line(words.iter().map(String::as_str))
}

/// A word as a shell takes it.
pub(super) fn quoted(text: &str) -> String {
    shell_line([text])
}

/// Where programs of the system are, `/usr/sbin` included, which not every user has.
fn search_path() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/sbin:/sbin:/usr/bin:/bin")
}
