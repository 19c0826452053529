//! The program under test: started, watched line by line, signalled, and waited for.

use crate::broken::{Kept, expect};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::{
    fmt, fs,
    io::{BufRead, BufReader, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread::{JoinHandle, sleep, spawn},
    time::{Duration, Instant},
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailmark");

/// A run of a tiny sweep takes seconds; on a machine that is busy with other things, some more.
const ENDS_WITHIN: Duration = Duration::from_secs(120);

/// What a message never has: Rust's own way of printing values, and what a panic leaves.
const NOT_FOR_PEOPLE: &[&str] = &[
    "panicked at",
    "RUST_BACKTRACE",
    "stack backtrace",
    "Some(",
    "Err(",
    "Os {",
    "Error {",
    "{ kind:",
];

/// An instant of a run.
#[derive(Debug, Clone, Copy)]
pub enum When {
    /// So long after it was started.
    Started(Duration),
    /// So long after it said that a data set was loaded.
    Loaded(Duration),
    /// So long after it said that so many points were measured.
    Measured(u64, Duration),
    /// So long after the instant before.
    Then(Duration),
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started(after) => write!(f, "{after:?} after the start"),
            Self::Loaded(after) => write!(f, "{after:?} after the first load"),
            Self::Measured(points, after) => write!(f, "{after:?} after point {points}"),
            Self::Then(after) => write!(f, "{after:?} later"),
        }
    }
}

/// The program while it runs, in a process group of its own.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
    out: JoinHandle<String>,
    began: Instant,
    points: u64,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Code(i32),
    Signal(i32),
}

/// A run that ended.
pub struct Ended {
    pub end: End,
    /// Standard output.
    pub out: String,
    /// The lines of standard error.
    pub said: Vec<String>,
}

pub fn start(dir: &Path, words: &[&str]) -> Running {
    let mut command = Command::new(PROGRAM);
    command.args(words).current_dir(dir).process_group(0);
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (send, lines) = channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    spawn(move || {
        let parts = stderr.split(b'\n').map_while(Result::ok);
        parts.for_each(|line| drop(send.send(String::from_utf8_lossy(&line).into_owned())));
    });
    let mut stdout = child.stdout.take().unwrap();
    let out = spawn(move || {
        let mut text = Vec::new();
        let _ = stdout.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    Running {
        child,
        lines,
        said: Vec::new(),
        out,
        began: Instant::now(),
        points: 0,
    }
}

impl Running {
    /// Waits until then; false where the run ended before.
    pub fn wait_until(&mut self, when: When) -> bool {
        match when {
            When::Started(after) => self.go_on_for(after.saturating_sub(self.began.elapsed())),
            When::Then(after) => self.go_on_for(after),
            When::Loaded(after) => self.listen_for(|run| run.has_loaded()) && self.go_on_for(after),
            When::Measured(points, after) => {
                self.listen_for(|run| run.points >= points) && self.go_on_for(after)
            }
        }
    }

    fn has_loaded(&self) -> bool {
        self.said.iter().any(|line| line.contains(": loaded "))
    }

    fn listen_for(&mut self, is_there: impl Fn(&Self) -> bool) -> bool {
        while !is_there(self) {
            match self.lines.recv_timeout(ENDS_WITHIN) {
                Ok(line) => self.hear(line),
                Err(_) => return false,
            }
        }
        true
    }

    fn go_on_for(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.hear(line),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    fn hear(&mut self, line: String) {
        if point_of(&line).is_some() {
            self.points += 1;
        }
        self.said.push(line);
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        // It may have ended by itself just now.
        let _ = kill_process(self.pid(), signal);
    }

    /// Stops all of its threads, and waits until they are.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        let _ = waitid(
            WaitId::Pid(self.pid()),
            WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT,
        );
    }

    /// Waits until it has ended, and checks what holds for every end.
    pub fn end(mut self) -> Kept<Ended> {
        let status = self.wait()?;
        let nobody = left_over(self.pid()).next().is_none();
        self.listen_for(|_| false);
        let Self { said, out, .. } = self;
        let end = match (status.code(), status.signal()) {
            (Some(code), _) => End::Code(code),
            (None, signal) => End::Signal(signal.unwrap_or(0)),
        };
        let ended = Ended {
            end,
            out: out.join().unwrap(),
            said,
        };
        expect(nobody, "no process is left over", || {
            "processes of its group".to_owned()
        })?;
        ended.is_for_people()?;
        Ok(ended)
    }

    fn wait(&mut self) -> Kept<ExitStatus> {
        let until = Instant::now() + ENDS_WITHIN;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Ok(status);
            }
            if Instant::now() > until {
                let _ = self.child.kill();
                let _ = self.child.wait();
                self.listen_for(|_| false);
                let seen = format!("it goes on; it said {:?}", self.said);
                expect(false, "the program ends within 2 minutes", || seen)?;
            }
            sleep(Duration::from_millis(2));
        }
    }
}

/// The name of the point that a line says was measured.
pub fn point_of(line: &str) -> Option<&str> {
    let (_, rest) = line.strip_prefix('[')?.split_once("] ")?;
    Some(rest.split_once(": ")?.0)
}

impl Ended {
    pub fn is_code(&self, code: i32) -> bool {
        self.end == End::Code(code)
    }

    /// Whether a line of it has these words.
    pub fn says(&self, words: &str) -> bool {
        self.said.iter().any(|line| line.contains(words))
    }

    pub fn seen(&self) -> String {
        format!(
            "{:?}; {}; {}",
            self.end,
            self.out,
            self.said.join("\n      ")
        )
    }

    /// Errors are one line, in words for people, where the exit code says that there was one.
    fn is_for_people(&self) -> Kept {
        let errors = self.said.iter().filter(|line| line.starts_with("error: "));
        let expected = match self.end {
            End::Code(1 | 2) => 1,
            _ => 0,
        };
        expect(
            errors.count() == expected,
            "one line `error: ` with exit code 1 or 2, none otherwise",
            || self.seen(),
        )?;
        let text = NOT_FOR_PEOPLE
            .iter()
            .find(|text| self.out.contains(**text) || self.says(text));
        expect(text.is_none(), "messages are for people", || self.seen())
    }
}

/// The processes of a group that have not ended. One that has, and whose parent is gone, is there until
/// process 1 takes note of it.
fn left_over(group: Pid) -> impl Iterator<Item = i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(move |number: &i32| {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        // The name before it may hold any character.
        let (_, stat) = stat.rsplit_once(") ").unwrap_or_default();
        let mut words = stat.split(' ');
        let (state, own) = (words.next(), words.nth(1));
        own == Some(&*group.as_raw_nonzero().to_string()) && state != Some("Z")
    })
}
