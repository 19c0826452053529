//! The parts of a connection to a host: the shared `ssh`, and a shell over it that creates a
//! directory, runs the agent in it, and removes it when the connection ends.

use crate::{
    Error,
    channel::Channel,
    lines::{self, LINE_BYTES_MAX},
    program::AgentProgram,
    ssh::{BEGINS, SHORT, Ssh, summary},
    wait::{RunStop, received},
};
use sha2::{Digest, Sha256};
use std::{
    io::{self, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};
use tailmark_model::printable::hex;

/// How long a host may take for the first command, and to start copying the agent: login shells and
/// sudo may first query a directory of users.
const ANSWER: Duration = Duration::from_secs(15);

/// How long copying the agent may take.
const COPY: Duration = Duration::from_secs(120);

/// How long an agent may take to restore changes when its connection ends.
const PUT_BACK: Duration = Duration::from_secs(30);

/// Prints the processor, and as whom commands are run there: root, with sudo, or a user who has no way
/// to be root.
const ABOUT: &str = r#"
uname -m
if [ "$(id -u)" = 0 ]; then echo root; elif sudo -n true; then echo sudo; else echo user; fi
"#;

/// Creates a directory and prints its name. Takes a program of `$1` bytes with the SHA-256 `$2`
/// from its input into it. Runs that after an empty line, or prints in one line why it does not,
/// and waits. It ends with its input. However it ends, the directory is removed, including what a
/// service's command writes there at that moment. Its name ends with `$3` and is known in advance.
/// No signal interrupts the removal, because sudo sends several to a whole group.
const SCRIPT: &str = r#"
directory=${TMPDIR:-/tmp}/tailmark.$3
trap 'exit 1' HUP INT TERM
trap 'trap "" HUP INT TERM; rm -rf -- "$directory" || { sleep 1; rm -rf -- "$directory"; }' EXIT
mkdir -m 700 -- "$directory" || { trap - EXIT; exit 1; }
agent=$directory/agent
echo "$directory"
if [ "$1" -gt 0 ] && said=$({
  head -c "$1" >"$agent" && chmod 700 "$agent" && echo "$2  $agent" | sha256sum -c && "$agent" --version
} 2>&1); then
  echo
  "$agent"
else
  rm -f -- "$agent"
  echo "${said:-it is not there}" | tr '\n' ' '
  echo
  cat >/dev/null
fi
"#;

/// The requirements for a host.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The agent that is copied there.
    pub agent: AgentProgram,
    /// What needs root there; empty if nothing does.
    pub needs_root: String,
    /// Ends the wait for an agent that does not answer.
    pub stop: RunStop,
}

/// The parts of a connection.
#[derive(Debug)]
pub struct Link {
    /// The agent, or why there is none.
    pub agent: Result<Channel, String>,
    /// The shell there.
    process: Child,
    is_lost: AtomicBool,
    /// Where commands have their logs there.
    pub directory: String,
    /// The connection that all share.
    pub ssh: Ssh,
}

impl Link {
    /// Connects, unless `is_over` says meanwhile that it is no longer needed.
    pub fn connect(
        login: &str,
        options: &Options,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let mut ssh = Ssh::connect(login, is_over)?;
        let not_run = |why: String| Error::Connect {
            login: login.to_owned(),
            why: format!("the host runs no commands: {why}"),
        };
        let about = match ssh.script_unless(ABOUT, &[], ANSWER, is_over) {
            Err(Error::Lost { why, .. }) => return Err(not_run(why)),
            about => about?,
        };
        if !about.is_ok() {
            return Err(not_run(about.why()));
        }
        let mut lines = about.out.lines();
        let (machine, acts_as) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
        match acts_as {
            "sudo" => ssh.use_sudo(),
            "user" if !options.needs_root.is_empty() => {
                return Err(Error::NotRoot {
                    login: login.to_owned(),
                    why: about.why(),
                    what: options.needs_root.clone(),
                });
            }
            _ => {}
        }
        let program = options.agent.for_machine(machine)?;
        let mut shell = Shell::start(&ssh, program.as_deref().unwrap_or_default(), is_over)?;
        let agent = match (program, shell.why_not.is_empty()) {
            (Err(why), _) => Err(why),
            (Ok(_), false) => Err(format!("it was copied but does not run: {}", shell.why_not)),
            (Ok(_), true) => Ok(()),
        };
        let agent = match agent {
            Ok(()) => match Channel::open(login, shell.from, shell.to, is_over) {
                Ok(channel) => Ok(channel.until(options.stop.clone())),
                Err(error) => {
                    kill(&mut shell.process);
                    return Err(error);
                }
            },
            Err(why) => {
                shell.process.stdin = Some(shell.to);
                Err(why)
            }
        };
        Ok(Self {
            agent,
            process: shell.process,
            is_lost: AtomicBool::new(false),
            directory: shell.directory,
            ssh,
        })
    }

    /// Says that nothing is to be waited for when it is dropped.
    pub fn set_lost(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// The boot identifier of the machine; empty if it cannot be read.
    pub fn boot_id(&self) -> String {
        match &self.agent {
            Ok(channel) => channel.hello().boot_id.clone(),
            Err(_) => {
                let read = "cat /proc/sys/kernel/random/boot_id";
                let read = self.ssh.script(read, &[], SHORT);
                read.map_or_else(|_| String::new(), |read| read.out.trim().to_owned())
            }
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Without input the agent restores its changes, removes its files and ends.
        self.agent = Err("it has ended".to_owned());
        drop(self.process.stdin.take());
        let end = Instant::now() + PUT_BACK;
        while !self.is_lost.load(Ordering::Relaxed)
            && matches!(self.process.try_wait(), Ok(None))
            && Instant::now() < end
        {
            thread::sleep(Duration::from_millis(5));
        }
        kill(&mut self.process);
    }
}

fn kill(process: &mut Child) {
    let _ = process.kill();
    let _ = process.wait();
}

/// The shell of a connection, once it has reported its directory.
struct Shell {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    directory: String,
    /// Why its program does not run; empty if it does.
    why_not: String,
}

impl Shell {
    /// Starts it, and gives it a program to run.
    fn start(ssh: &Ssh, program: &[u8], is_over: &dyn Fn() -> bool) -> Result<Self, Error> {
        let (length, digest) = (program.len().to_string(), digest_of(program));
        let mut command = ssh.command(&["sh", "-c", SCRIPT, "sh", &length, &digest, &ssh.id()]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let failed = |why: String| Error::Lost {
            login: ssh.login().to_owned(),
            why,
        };
        let mut process = command.spawn().map_err(|error| failed(error.to_string()))?;
        let streams = process.stdin.take().zip(process.stdout.take());
        let (mut input, output) = streams.expect("both are pipes");
        let (program, (tell, told), (begin, started)) =
            (program.to_vec(), mpsc::channel(), mpsc::channel());
        thread::spawn(move || {
            let mut from = BufReader::new(output);
            let mut line = || {
                let line = lines::line(&mut from, LINE_BYTES_MAX).ok().flatten();
                line.map(|line| line.trim_end().to_owned())
            };
            while line().is_some_and(|line| line != BEGINS) {}
            // Nobody may wait for it any more.
            let _ = begin.send(line().unwrap_or_default());
            // One that does not take it says why.
            let _ = input.write_all(&program).and_then(|()| input.flush());
            let why_not = line().unwrap_or_default();
            let _ = tell.send((why_not, input, from));
        });
        let mut late = |what: &str, time: Duration| {
            kill(&mut process);
            failed(format!("{what} within {time:?}"))
        };
        let started = received(&started, ANSWER, is_over);
        let directory = started.map_err(|_| late("it did not start the agent", ANSWER))?;
        let told = received(&told, COPY, is_over);
        let (why_not, to, from) = told.map_err(|_| late("the agent could not be copied", COPY))?;
        if directory.is_empty() {
            drop((to, from));
            let ended = process.wait_with_output();
            let said = ended.map_or_else(
                |error| error.to_string(),
                |ended| String::from_utf8_lossy(&ended.stderr).into_owned(),
            );
            return Err(Error::Refused {
                login: ssh.login().to_owned(),
                why: format!("failed to create a directory: {}", summary(&said)),
            });
        }
        // Standard error is read to its end without waiting for it.
        let said = process.stderr.take();
        thread::spawn(move || said.map(|mut said| io::copy(&mut said, &mut io::sink())));
        Ok(Self {
            process,
            to,
            from,
            directory,
            why_not: lines::shortened(why_not.trim_end()),
        })
    }
}

/// The SHA-256 of a program, in hexadecimal digits.
fn digest_of(program: &[u8]) -> String {
    hex(&Sha256::digest(program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufRead as _;
    use std::{fs, io::Read, os::unix::process::CommandExt, path::Path, process::Command};

    /// The shell on this machine, which takes this much of a program with this digest.
    fn shell(tmp: &Path, length: usize, digest: &str) -> Child {
        let mut command = Command::new("sh");
        command
            .args(["-c", SCRIPT, "sh", &length.to_string(), digest])
            .arg("AbCdEf.1")
            .env("TMPDIR", tmp)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command.spawn().unwrap()
    }

    fn is_empty(directory: &Path) -> bool {
        fs::read_dir(directory).unwrap().next().is_none()
    }

    #[test]
    fn what_is_copied_runs_with_the_rest_of_the_input_and_leaves_nothing() {
        let tmp = tempfile::tempdir().unwrap();
        let program = "#!/bin/sh\n[ $# = 1 ] || cat\n";
        let mut shell = shell(tmp.path(), program.len(), &digest_of(program.as_bytes()));
        let mut to = shell.stdin.take().unwrap();
        let mut from = BufReader::new(shell.stdout.take().unwrap());
        to.write_all(program.as_bytes()).unwrap();
        let (mut directory, mut empty) = (String::new(), String::new());
        from.read_line(&mut directory).unwrap();
        from.read_line(&mut empty).unwrap();
        assert_eq!(empty, "\n");
        assert!(Path::new(directory.trim_end()).join("agent").exists());
        to.write_all(b"asked").unwrap();
        drop(to);
        let mut answered = String::new();
        from.read_to_string(&mut answered).unwrap();
        assert_eq!(answered, "asked");
        assert!(shell.wait().unwrap().success());
        assert!(is_empty(tmp.path()));
    }

    #[test]
    fn a_copy_that_is_cut_off_or_another_one_does_not_run_and_leaves_nothing() {
        let program = "#!/bin/sh\necho runs\n";
        for (sent, digest) in [
            (&program[..5], digest_of(program.as_bytes())),
            (program, digest_of(b"another one")),
        ] {
            let tmp = tempfile::tempdir().unwrap();
            let mut shell = shell(tmp.path(), program.len(), &digest);
            let mut to = shell.stdin.take().unwrap();
            to.write_all(sent.as_bytes()).unwrap();
            drop(to);
            let printed = shell.wait_with_output().unwrap().stdout;
            let printed = String::from_utf8(printed).unwrap();
            let why = printed.lines().nth(1).unwrap();
            assert!(why.contains("agent: FAILED"), "{printed}");
            assert!(is_empty(tmp.path()));
        }
    }

    #[test]
    fn signals_to_all_of_it_leave_no_directory() {
        let program = "#!/bin/sh\n[ $# = 1 ] || sleep 600\n";
        for _ in 0..5 {
            let tmp = tempfile::tempdir().unwrap();
            let digest = digest_of(program.as_bytes());
            let mut shell = shell(tmp.path(), program.len(), &digest);
            let mut to = shell.stdin.take().unwrap();
            let mut line = String::new();
            let mut from = BufReader::new(shell.stdout.take().unwrap());
            from.read_line(&mut line).unwrap();
            to.write_all(program.as_bytes()).unwrap();
            // As sudo ends a command: one signal after another, to its whole group.
            let group = format!("-{}", shell.id());
            for signal in ["HUP", "TERM", "HUP", "TERM"] {
                let mut kill = Command::new("kill");
                let _ = kill.args(["-s", signal, "--", &group]).output();
            }
            drop(to);
            shell.wait().unwrap();
            assert!(is_empty(tmp.path()));
        }
    }

    #[test]
    fn without_a_program_it_waits_for_the_end_of_its_input() {
        let tmp = tempfile::tempdir().unwrap();
        let mut shell = shell(tmp.path(), 0, &digest_of(b""));
        let mut from = BufReader::new(shell.stdout.take().unwrap());
        let [mut directory, mut why] = [String::new(), String::new()];
        from.read_line(&mut directory).unwrap();
        from.read_line(&mut why).unwrap();
        assert_eq!(why.trim(), "it is not there");
        assert!(Path::new(directory.trim_end()).is_dir());
        thread::sleep(Duration::from_millis(500));
        assert!(shell.try_wait().unwrap().is_none());
        drop(shell.stdin.take());
        assert!(shell.wait().unwrap().success());
        assert!(is_empty(tmp.path()));
    }

    #[test]
    fn a_shell_that_is_ended_takes_its_directory_with_it() {
        let tmp = tempfile::tempdir().unwrap();
        let mut shell = shell(tmp.path(), 0, "");
        let mut from = BufReader::new(shell.stdout.take().unwrap());
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        assert!(!is_empty(tmp.path()));
        drop(shell.stdin.take());
        assert!(shell.wait().unwrap().success());
        assert!(is_empty(tmp.path()));
    }
}
