//! `ssh` itself: one connection that all commands share.
//!
//! The first `ssh` holds the connection (`ControlMaster`); each command is a further one over its
//! socket, which takes some milliseconds. All are in process groups of their own, so that Ctrl-C ends
//! a run and not its connections. A run that is killed leaves the first one behind, which ends when
//! nothing has used it for a minute.

use crate::Error;
use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How long a connection may take to be made.
const CONNECT_S: u32 = 10;
/// Asked so often whether the other end is there; after three times without an answer it is not.
const ALIVE_S: u32 = 5;
/// How often a command that runs is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// A connection.
#[derive(Debug)]
pub struct Ssh {
    login: String,
    /// Where its socket is.
    directory: TempDir,
    /// What goes before each command: `sudo -n`, or nothing.
    before: Vec<String>,
}

/// What a command has printed, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; none where it was killed.
    pub code: Option<i32>,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

impl Output {
    /// Whether it succeeded.
    pub fn is_ok(&self) -> bool {
        self.code == Some(0)
    }

    /// What it says of why it did not.
    pub fn why(&self) -> String {
        let said = in_one_line(&self.err);
        match (said.is_empty(), self.code) {
            (false, _) => said,
            (true, Some(code)) => format!("exit code {code}"),
            (true, None) => "it was killed".to_owned(),
        }
    }
}

impl Ssh {
    /// Makes a connection.
    pub fn connect(login: &str) -> Result<Self, Error> {
        let failed = |why: String| Error::Connect {
            login: login.to_owned(),
            why,
        };
        let directory = tempfile::Builder::new().prefix("tailmark-ssh.").tempdir();
        let directory = directory.map_err(|error| failed(error.to_string()))?;
        let log = directory.path().join("log");
        // No pipe: what makes the way over a jump host may outlive the one that gave up on it.
        let said = File::create(directory.path().join("said"));
        let said = said.map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new("ssh");
        command
            .args(["-M", "-N", "-f", "-S"])
            .arg(directory.path().join("master"))
            .arg("-E")
            .arg(&log);
        for option in [
            "ControlPersist=60".to_owned(),
            // What the configuration has for people who log in.
            "ClearAllForwardings=yes".to_owned(),
            "RemoteCommand=none".to_owned(),
            "BatchMode=yes".to_owned(),
            format!("ConnectTimeout={CONNECT_S}"),
            format!("ServerAliveInterval={ALIVE_S}"),
            "ServerAliveCountMax=3".to_owned(),
        ] {
            command.args(["-o", &option]);
        }
        command
            .args(["--", login])
            // Nor does the way over a jump host ask anybody.
            .env("SSH_ASKPASS_REQUIRE", "never")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .process_group(0);
        let status = command.status();
        let status = status.map_err(|error| failed(format!("it could not be run: {error}")))?;
        if status.success() {
            return Ok(Self {
                login: login.to_owned(),
                directory,
                before: Vec::new(),
            });
        }
        let said = ["log", "said"].map(|name| {
            let said = fs::read_to_string(directory.path().join(name));
            said.unwrap_or_default()
        });
        Err(failed(in_one_line(&said.concat())))
    }

    /// Whom it reaches.
    pub fn login(&self) -> &str {
        &self.login
    }

    /// Every command from now on is one of root.
    pub fn use_sudo(&mut self) {
        self.before = ["sudo", "-n", "--"].map(str::to_owned).to_vec();
    }

    /// A command of the other end, to be started: a shell there takes these words as they are.
    pub fn command(&self, words: &[&str]) -> Command {
        let before = self.before.iter().map(String::as_str);
        let line = quoted(before.chain(words.iter().copied()));
        let mut command = Command::new("ssh");
        command
            .arg("-S")
            .arg(self.directory.path().join("master"))
            // Where that connection is gone, no other one is made.
            .args([
                "-o",
                "ProxyCommand=false",
                "-o",
                "BatchMode=yes",
                "-T",
                "--",
            ])
            .args([&self.login, &line])
            .process_group(0);
        command
    }

    /// Runs a command of the other end to its end, with this on its standard input.
    pub fn run(&self, words: &[&str], input: &[u8], timeout: Duration) -> Result<Output, Error> {
        let lost = |why: String| Error::Lost {
            login: self.login.clone(),
            why,
        };
        let mut command = self.command(words);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| lost(error.to_string()))?;
        let mut stdin = child.stdin.take();
        let mut streams = (child.stdout.take(), child.stderr.take());
        let (code, out, err) = thread::scope(|scope| {
            scope.spawn(move || {
                // One that ends before it has read everything says so itself.
                let _ = stdin.as_mut().map(|stdin| stdin.write_all(input));
            });
            let out = scope.spawn(move || text(&mut streams.0));
            let err = scope.spawn(move || text(&mut streams.1));
            let code = ended(&mut child, timeout);
            let joined =
                |text: thread::ScopedJoinHandle<'_, String>| text.join().unwrap_or_default();
            (code, joined(out), joined(err))
        });
        match code {
            Some(Some(255)) if out.is_empty() => Err(lost(in_one_line(&err))),
            Some(code) => Ok(Output { code, out, err }),
            None => Err(lost(format!("a command took longer than {timeout:?}"))),
        }
    }

    /// Runs a script of the other end's `sh` with these arguments.
    pub fn script(
        &self,
        script: &str,
        arguments: &[&str],
        timeout: Duration,
    ) -> Result<Output, Error> {
        let words = [&["sh", "-c", script, "sh"], arguments].concat();
        self.run(&words, b"", timeout)
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        let mut command = Command::new("ssh");
        command
            .arg("-S")
            .arg(self.directory.path().join("master"))
            .args(["-O", "exit", "--", &self.login])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let _ = command.status();
    }
}

/// How a program ended, by its code; none where it was killed, because it took too long.
fn ended(child: &mut Child, timeout: Duration) -> Option<Option<i32>> {
    let end = Instant::now() + timeout;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.code()),
            Ok(None) if Instant::now() < end => thread::sleep(LOOK),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

fn text(stream: &mut Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    let _ = stream.as_mut().map(|stream| stream.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Words as one line of a shell, each as it is.
fn quoted<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let word = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
    words.map(word).collect::<Vec<_>>().join(" ")
}

/// What a program said, in one line.
pub fn in_one_line(said: &str) -> String {
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_words_as_they_are() {
        let words = [
            "printf", "%s|", "a b", "it's", "$HOME", "\\", "`x`", "", "*",
        ];
        let shell = Command::new("sh")
            .arg("-c")
            .arg(quoted(words.into_iter()))
            .output();
        let printed = String::from_utf8(shell.unwrap().stdout).unwrap();
        assert_eq!(printed, r"a b|it's|$HOME|\|`x`||*|");
    }

    #[test]
    fn a_host_that_there_is_not_is_an_error_with_what_ssh_says() {
        let error = Ssh::connect("nobody@no-such-host.invalid")
            .unwrap_err()
            .to_string();
        assert!(error.contains("nobody@no-such-host.invalid"), "{error}");
        assert!(error.contains("resolve"), "{error}");
    }
}
