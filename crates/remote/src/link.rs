//! What one connection to a host consists of: the shared `ssh`, the agent there, and a directory.

use crate::{Error, Options, channel::Channel, program::agent_for, server::SHORT, ssh::Ssh};
use sha2::{Digest, Sha256};
use std::{
    fmt::Write as _,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

/// What a copy of the agent may take.
const COPY: Duration = Duration::from_secs(120);

/// How long an agent may take to put back what it prepared, when its connection ends.
const PUT_BACK: Duration = Duration::from_secs(30);

/// What a connection consists of.
#[derive(Debug)]
pub struct Link {
    /// The agent, or why there is none.
    pub agent: Result<Channel, String>,
    process: Option<Child>,
    /// Where commands have their logs there.
    pub directory: String,
    /// The connection that all share.
    pub ssh: Ssh,
}

impl Link {
    /// Makes one.
    pub fn connect(login: &str, options: &Options) -> Result<Self, Error> {
        let mut ssh = Ssh::connect(login)?;
        let about = ssh.script("uname -m; id -u", &[], SHORT)?;
        let mut lines = about.out.lines();
        let (machine, user) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
        if user != "0" {
            let sudo = ssh.run(&["sudo", "-n", "true"], b"", SHORT)?;
            match (sudo.is_ok(), options.needs_root.is_empty()) {
                (true, _) => ssh.use_sudo(),
                (false, true) => {}
                (false, false) => {
                    return Err(Error::NotRoot {
                        login: login.to_owned(),
                        why: sudo.why(),
                        what: options.needs_root.clone(),
                    });
                }
            }
        }
        let (directory, copied) = match options.without_agent {
            true => (make_directory(&ssh)?, Err("the plan says so".to_owned())),
            false => copy(&ssh, machine)?,
        };
        let (agent, process) = match copied {
            Err(why) => (Err(why), None),
            Ok(()) => {
                let (channel, process) = start(&ssh, &directory)?;
                (Ok(channel), Some(process))
            }
        };
        Ok(Self {
            agent,
            process,
            directory,
            ssh,
        })
    }

    /// What tells one boot of one machine from others; empty where that cannot be read.
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
        // Without input the agent puts back what it prepared and ends; what is left there is removed.
        self.agent = Err("it has ended".to_owned());
        if let Some(mut process) = self.process.take() {
            let end = Instant::now() + PUT_BACK;
            while matches!(process.try_wait(), Ok(None)) && Instant::now() < end {
                thread::sleep(Duration::from_millis(5));
            }
            let _ = process.kill();
            let _ = process.wait();
        }
        let _ = self
            .ssh
            .script("rm -rf -- \"$1\"", &[&self.directory], SHORT);
    }
}

/// A directory of its own there.
fn make_directory(ssh: &Ssh) -> Result<String, Error> {
    // What mktemp replaces by a name of its own.
    let own = "X".repeat(8);
    let script = "mktemp -d \"${TMPDIR:-/tmp}/tailmark.$1\"";
    let made = ssh.script(script, &[&own], SHORT)?;
    match made.is_ok() {
        true => Ok(made.out.trim().to_owned()),
        false => Err(Error::Refused {
            login: ssh.login().to_owned(),
            why: made.why(),
        }),
    }
}

/// Copies the agent there; its directory, and why it cannot be run where it cannot.
fn copy(ssh: &Ssh, machine: &str) -> Result<(String, Result<(), String>), Error> {
    let program = match agent_for(machine) {
        Ok(program) => program,
        Err(why) => return Ok((make_directory(ssh)?, Err(why))),
    };
    let mut digest = String::new();
    for byte in Sha256::digest(&program) {
        let _ = write!(digest, "{byte:02x}");
    }
    let directory = make_directory(ssh)?;
    let script = "cat >\"$1/agent\" && chmod 700 \"$1/agent\" && \
        echo \"$2  $1/agent\" | sha256sum -c >/dev/null && \"$1/agent\" --version";
    let words = ["sh", "-c", script, "sh", &directory, &digest];
    let copied = ssh.run(&words, &program, COPY)?;
    let why = || format!("it was copied and does not run: {}", copied.why());
    let runs = copied.is_ok().then_some(()).ok_or_else(why);
    Ok((directory, runs))
}

/// Starts the agent that was copied.
fn start(ssh: &Ssh, directory: &str) -> Result<(Channel, Child), Error> {
    let lost = |error: std::io::Error| Error::Lost {
        login: ssh.login().to_owned(),
        why: error.to_string(),
    };
    let program = format!("{directory}/agent");
    let mut command = ssh.command(&[&program, "--remove", directory]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut process = command.spawn().map_err(lost)?;
    let streams = process.stdout.take().zip(process.stdin.take());
    let (from, to) = streams.expect("both are pipes");
    match Channel::open(ssh.login(), from, to) {
        Ok(channel) => Ok((channel, process)),
        Err(error) => {
            let _ = process.kill();
            let _ = process.wait();
            Err(error)
        }
    }
}
