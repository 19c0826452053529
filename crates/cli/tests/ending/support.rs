//! What the tests share: the program, started and watched.

use nix::{
    fcntl::OFlag,
    pty::{PtyMaster, grantpt, posix_openpt, ptsname_r, unlockpt},
};
use std::{
    fs::File,
    io::{BufRead, BufReader},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process::{Child, ChildStderr, Command, Output, Stdio},
};
use tailmark_testing::Program;

/// The program.
pub const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// A run of three points of the driver that does nothing, into `out`.
pub const RUN: &[&str] = &[
    "run",
    "--driver=null",
    "--system=a=x",
    "--records=1k",
    "--threads=1,2,3",
    "--duration=1s",
    "--warmup=0s",
];

/// The same, in a moment.
pub const SHORT: &[&str] = &[
    "run",
    "--driver=null",
    "--system=a=x",
    "--records=1k",
    "--threads=1,2",
    "--duration=100ms",
    "--warmup=0s",
    "--output=out",
];

/// The program with these arguments, in a directory. The tests may have been started by `nohup`,
/// which it would inherit.
pub fn tailmark(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("env");
    command
        .args(["--default-signal=HUP", TAILMARK.0])
        .args(args);
    command.current_dir(dir).stdin(Stdio::null());
    command
}

/// What it said.
pub fn output(dir: &Path, args: &[&str]) -> Output {
    tailmark(dir, args).output().unwrap()
}

/// A program that is running, ended with the test.
pub struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStderr>>,
    said: String,
}

impl Running {
    /// Starts it.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = String::new();
        Self { child, lines, said }
    }

    /// Reads standard error until a line contains `text`.
    pub fn until(&mut self, text: &str) {
        loop {
            let line = self.lines.next();
            let line = line.unwrap_or_else(|| panic!("`{text}` was not said:\n{}", self.said));
            let line = line.unwrap();
            self.said += &format!("{line}\n");
            if line.contains(text) {
                return;
            }
        }
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Its exit code, standard output, and standard error from the first line on.
    pub fn end(mut self) -> (Option<i32>, String, String) {
        for line in self.lines.by_ref() {
            self.said += &format!("{}\n", line.unwrap());
        }
        let mut told = String::new();
        let mut stdout = self.child.stdout.take().unwrap();
        std::io::Read::read_to_string(&mut stdout, &mut told).unwrap();
        let code = self.child.wait().unwrap().code();
        (code, told, std::mem::take(&mut self.said))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process.
pub fn signal(process: u32, name: &str) {
    let mut kill = Command::new("kill");
    kill.args([format!("-{name}"), process.to_string()]);
    assert!(kill.status().unwrap().success());
}

/// Opens a new terminal: the side that reads its output, and the side that a program writes to.
pub fn open_terminal() -> (PtyMaster, File) {
    let flags = OFlag::O_RDWR | OFlag::O_NOCTTY;
    let master = posix_openpt(flags | OFlag::O_CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let terminal = File::options()
        .read(true)
        .write(true)
        .custom_flags(OFlag::O_NOCTTY.bits())
        .open(ptsname_r(&master).unwrap())
        .unwrap();
    (master, terminal)
}
