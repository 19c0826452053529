//! `ssh` itself: one connection shared by all commands.
//!
//! The first `ssh` holds the connection (`ControlMaster`). Each command is a further `ssh` over its
//! socket, which takes some milliseconds. All have their own process groups, so that Ctrl-C ends a
//! run but not its connections. A killed run leaves the first one behind, which ends after a minute
//! without use.

use crate::{Error, lines};
use rustix::{fs::OFlags, process::geteuid};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read},
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};
use tailmark_prepare::shell_line;
use tempfile::TempDir;

/// The time limit of a short command: longer than any command takes on a machine with a busy disk.
pub const SHORT: Duration = Duration::from_secs(120);
/// The time limit of connecting.
const CONNECT_S: u32 = 10;
/// The same with all preliminaries: a jump host, a slow agent of keys.
const MADE: Duration = Duration::from_secs(20);
/// How long ending a connection may take.
const ENDED: Duration = Duration::from_secs(5);
/// Asked so often whether the other end is there; after three times without an answer it is not.
const ALIVE_S: u32 = 5;
/// The message of `ssh` if the other end accepts no further session.
const TOO_MANY: &str = "Session open refused by peer";
/// What stands before the output of each command: a login shell may have printed something by itself.
pub const BEGINS: &str = "tailmark begins";
/// How often a running command is checked.
const LOOK: Duration = Duration::from_millis(2);

/// The prefix of directories with sockets.
const PREFIX: &str = "tailmark-ssh.";
/// The file in each that is locked by the run that made it.
const LOCK_NAME: &str = "lock";
/// What `ssh` itself says while it connects.
const LOG_NAME: &str = "log";
/// The file for other messages.
const SAID_NAME: &str = "said";
/// The socket of the connection.
const SOCKET_NAME: &str = "master";
/// The longest path of the user's own directory, bytes: a socket's path has 107, and `ssh` adds to it.
const RUNTIME_PATH_MAX: usize = 48;
/// The most output of a command that is kept, bytes.
const OUTPUT_MAX: u64 = 16 << 20;
/// The most of the messages of `ssh` that is read, bytes.
const SAID_MAX: u64 = 64 << 10;

/// A connection.
#[derive(Debug)]
pub struct Ssh {
    login: String,
    /// Where its socket is.
    directory: TempDir,
    _lock: File,
    /// What goes before each command: `sudo -n`, or nothing.
    before: Vec<String>,
}

/// The output of a command, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; `None` if it was killed.
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

    /// Its explanation of a failure.
    pub fn why(&self) -> String {
        let said = summary(&self.err);
        match (said.is_empty(), self.code) {
            (false, _) => said,
            (true, Some(code)) => format!("exit code {code}"),
            (true, None) => "it was killed".to_owned(),
        }
    }
}

impl Ssh {
    /// Connects, unless `is_over` says meanwhile that it is no longer needed.
    pub fn connect(login: &str, is_over: &dyn Fn() -> bool) -> Result<Self, Error> {
        let failed = |why: String| Error::Connect {
            login: login.to_owned(),
            why,
        };
        tracing::debug!(target: "remote", login, "connect");
        remove_left();
        let (directory, lock) = directory().map_err(|error| failed(error.to_string()))?;
        let log = directory.path().join(LOG_NAME);
        // No pipe: what makes the way over a jump host may outlive the one that gave up on it.
        let output = File::create(directory.path().join(SAID_NAME));
        let output = output.map_err(|error| failed(error.to_string()))?;
        // In a session of its own it has no terminal to ask at, nor has the way over a jump host.
        let mut command = Command::new("setsid");
        command
            .args(["ssh", "-M", "-N", "-f", "-S"])
            .arg(directory.path().join(SOCKET_NAME))
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
            .env("SSH_ASKPASS_REQUIRE", "never")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output);
        let started = command.spawn();
        let mut started = started.map_err(|error| failed(format!("failed to run it: {error}")))?;
        let code = ended(&mut started, MADE, is_over);
        if code == Some(Some(0)) {
            return Ok(Self {
                login: login.to_owned(),
                directory,
                _lock: lock,
                before: Vec::new(),
            });
        }
        let said = [LOG_NAME, SAID_NAME].map(|name| {
            let mut bytes = Vec::new();
            let file = File::open(directory.path().join(name));
            // An unreadable file counts as empty.
            let _ = file.and_then(|file| file.take(SAID_MAX).read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let late = code
            .is_none()
            .then(|| format!("no connection within {MADE:?}"));
        let all: Vec<_> = said.into_iter().chain(late).collect();
        Err(failed(summary(&all.join("\n"))))
    }

    /// Whom it reaches.
    pub fn login(&self) -> &str {
        &self.login
    }

    /// What no other connection of this machine is called at this time.
    pub fn id(&self) -> String {
        let name = self.directory.path().file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        let own = name.strip_prefix(PREFIX).unwrap_or(&name);
        format!("{own}.{}", std::process::id())
    }

    /// Every command from now on is one of root.
    pub fn use_sudo(&mut self) {
        self.before = ["sudo", "-n", "--"].map(str::to_owned).to_vec();
    }

    /// A command of the other end, to be started: a shell there takes these words as they are. Its output
    /// comes after a line that is [`BEGINS`].
    pub fn command(&self, words: &[&str]) -> Command {
        let before = self.before.iter().map(String::as_str);
        let line = shell_line(before.chain(words.iter().copied()));
        let line = format!("echo '{BEGINS}'; {line}");
        let mut command = self.client();
        command
            // If that connection is gone, `ssh` must not open another one.
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

    /// An `ssh` that uses the connection, for which nothing of the user's configuration is meant.
    fn client(&self) -> Command {
        let mut command = Command::new("ssh");
        command
            .args(["-F", "none", "-S"])
            .arg(self.directory.path().join(SOCKET_NAME));
        command
    }

    /// Runs a command at the other end to completion, unless `is_over` says meanwhile that it is no
    /// longer needed. The exit code 255, which `ssh` also uses if there is no connection, counts as
    /// a lost connection.
    fn run(
        &self,
        words: &[&str],
        timeout: Duration,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Output, Error> {
        let lost = |why: String| Error::Lost {
            login: self.login.clone(),
            why,
        };
        tracing::debug!(target: "remote", login = self.login, ?words, "run");
        let printed = printed(&mut self.command(words), timeout, is_over);
        let (code, out, err) = printed.map_err(|error| lost(error.to_string()))?;
        match code {
            // The connection is there, and has no room.
            Some(Some(255)) if err.contains(TOO_MANY) => Err(Error::Refused {
                login: self.login.clone(),
                why: format!("{TOO_MANY}: its sshd allows too few sessions (MaxSessions)"),
            }),
            Some(Some(255)) => Err(lost(match summary(&err) {
                said if said.is_empty() => "`ssh` has ended".to_owned(),
                said => said,
            })),
            Some(code) => Ok(match own_output(&out) {
                Some(out) => Output { code, out, err },
                // A login shell that runs nothing may say why not.
                None => Output {
                    code: code.filter(|code| *code != 0).or(Some(1)),
                    out: String::new(),
                    err: err + &out,
                },
            }),
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
        self.script_unless(script, arguments, timeout, &|| false)
    }

    /// The same, unless `is_over` says meanwhile that it is no longer needed.
    pub fn script_unless(
        &self,
        script: &str,
        arguments: &[&str],
        timeout: Duration,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Output, Error> {
        let words = [&["sh", "-c", script, "sh"], arguments].concat();
        self.run(&words, timeout, is_over)
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        let mut command = self.client();
        command
            .args(["-O", "exit", "--", &self.login])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let _ = command
            .spawn()
            .map(|mut child| ended(&mut child, ENDED, &|| false));
    }
}

/// A directory of its own for a socket, which is known by its lock as one that is used. No other user
/// can enter it.
fn directory() -> io::Result<(TempDir, File)> {
    let parent = runtime_directory().unwrap_or_else(std::env::temp_dir);
    loop {
        let directory = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(&parent)?;
        let lock_path = directory.path().join(LOCK_NAME);
        let lock = File::create_new(&lock_path)?;
        lock.lock()?;
        // Another run may have removed it before it was locked.
        if lock_path.exists() {
            return Ok((directory, lock));
        }
    }
}

/// `XDG_RUNTIME_DIR`, if it is a private directory of this user, as it must be.
fn runtime_directory() -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?);
    let is_usable = path.is_absolute() && path.as_os_str().as_bytes().len() <= RUNTIME_PATH_MAX;
    (is_usable && is_private(&path)).then_some(path)
}

/// Whether a path is a directory, no link to one, that only this user can enter.
fn is_private(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| {
        found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0
    })
}

/// Removes the directories of runs of this user that were killed.
fn remove_left() {
    let parents = [Some(std::env::temp_dir()), runtime_directory()];
    parents
        .into_iter()
        .flatten()
        .for_each(|parent| remove_left_in(&parent));
}

/// Removes directories that killed runs left. Anyone can create a directory with such a name in
/// `/tmp`, and a FIFO or a link in it. So only private directories of this user are examined,
/// without blocking. A directory with other content is left alone.
fn remove_left_in(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        if is_directory_name(&entry.file_name())
            && is_private(&path)
            && let Ok(lock) = open_lock(&path.join(LOCK_NAME))
            && lock.try_lock().is_ok()
            && let Some(files) = own_files(&path)
        {
            // Another run may remove them at the same time.
            for file in files {
                let _ = fs::remove_file(file);
            }
            let _ = fs::remove_dir(path);
        }
    }
}

/// Whether a run may have made a directory of this name: six letters or digits follow the prefix.
fn is_directory_name(name: &OsStr) -> bool {
    let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    random.is_some_and(|random| {
        random.len() == 6 && random.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

/// The files of such a directory; `None` if one of them does not come from a run.
fn own_files(directory: &Path) -> Option<Vec<PathBuf>> {
    let is_own = |name: &str| {
        // `ssh` makes its socket under a longer name first.
        [LOCK_NAME, LOG_NAME, SAID_NAME].contains(&name) || name.starts_with(SOCKET_NAME)
    };
    let own = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let is_file = !entry.file_type().ok()?.is_dir();
        (is_file && is_own(entry.file_name().to_str()?)).then(|| entry.path())
    };
    fs::read_dir(directory).ok()?.map(own).collect()
}

/// Opens a lock of this user that is a file.
fn open_lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let lock = File::options().read(true).custom_flags(flags).open(path)?;
    let found = lock.metadata()?;
    if found.is_file() && found.uid() == geteuid().as_raw() {
        Ok(lock)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

/// The exit code of a program; `None` if it was killed because it took too long or was no longer
/// needed.
fn ended(child: &mut Child, timeout: Duration, is_over: &dyn Fn() -> bool) -> Option<Option<i32>> {
    let end = Instant::now() + timeout;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.code()),
            Ok(None) if Instant::now() < end && !is_over() => thread::sleep(LOOK),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

/// How a program ended (as [`ended`]), and its output. The output of a killed program is not
/// awaited, because others may still hold its streams, such as the `ssh` that holds the connection.
fn printed(
    command: &mut Command,
    timeout: Duration,
    is_over: &dyn Fn() -> bool,
) -> io::Result<(Option<Option<i32>>, String, String)> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (out, err) = (text(child.stdout.take()), text(child.stderr.take()));
    let code = ended(&mut child, timeout, is_over);
    let wait = code.map_or(Duration::ZERO, |_| ENDED);
    let whole = |text: Receiver<String>| text.recv_timeout(wait).unwrap_or_default();
    Ok((code, whole(out), whole(err)))
}

/// The content of a stream up to its end, without control characters. The first [`OUTPUT_MAX`]
/// bytes are kept.
fn text(stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.map(|mut stream| {
            stream.by_ref().take(OUTPUT_MAX).read_to_end(&mut bytes)?;
            // Whoever writes does not wait for a reader.
            io::copy(&mut stream, &mut io::sink())
        });
        let text = lines::printable_lines(&String::from_utf8_lossy(&bytes));
        // Nobody may wait for it any more.
        let _ = tell.send(text);
    });
    told
}

/// The output of a command without that of its login shell; `None` if it was not started.
fn own_output(printed: &str) -> Option<String> {
    let mut lines = printed.split_inclusive('\n');
    lines.position(|line| line.trim_end() == BEGINS)?;
    Some(lines.collect())
}

/// A program's message in one line, shortened if it is long.
pub fn summary(said: &str) -> String {
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    lines::shortened(&lines.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests;
