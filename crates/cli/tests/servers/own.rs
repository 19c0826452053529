//! A server of a test's own, and runs on it that are watched.

use crate::TAILMARK;
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};
use tailmark_testing::{LivePage, server};
use tempfile::TempDir;

/// A Cassandra of a test's own; ended and removed with it.
pub struct Server {
    pub dir: TempDir,
    port: u16,
    /// What else is set for its script.
    pub settings: &'static str,
}

impl Server {
    /// Not started yet.
    pub fn new(port: u16) -> Self {
        // Where there is none at all, none can be started either.
        let _ = server("cassandra");
        Self {
            dir: TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
            port,
            settings: "",
        }
    }

    fn script() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cassandra/server")
    }

    /// The words of a shell that does something with it.
    pub fn shell(&self, action: &str) -> String {
        let (dir, port, settings) = (self.dir.path().display(), self.port, self.settings);
        format!(
            "{settings} CASSANDRA_DIR={dir} CASSANDRA_PORT={port} {} {action}",
            Self::script().display()
        )
    }

    pub fn act(&self, action: &str) {
        let status = Command::new("sh")
            .args(["-c", &self.shell(action)])
            .status()
            .unwrap();
        assert!(status.success(), "{action}");
    }

    pub fn hosts(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// How often it has seen another node come up since it was started.
    pub fn saw_others(&self) -> usize {
        let log = std::fs::read_to_string(self.dir.path().join("server.log")).unwrap();
        log.matches("is now UP").count()
    }

    /// Which process it is; none where it was stopped.
    pub fn pid(&self) -> Option<String> {
        let pid = std::fs::read_to_string(self.dir.path().join("pid")).ok()?;
        (!pid.is_empty()).then_some(pid)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("sh")
            .args(["-c", &self.shell("kill")])
            .status();
    }
}

/// A run that is followed by its page.
pub struct Run {
    child: Child,
    page: LivePage,
    said: BufReader<ChildStderr>,
}

impl Run {
    /// Of the plan `plan.toml` into `out`.
    pub fn start(dir: &Path) -> Self {
        let mut program = TAILMARK.command(dir, &["run", "plan.toml", "-o", "out", "--live"]);
        program.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let page = LivePage::said(&mut said);
        Self { child, page, said }
    }

    /// Waits until some seconds of a phase were seen, with so many points done.
    pub fn until(&self, doing: &str, points: u64) {
        until(doing, || {
            let answer = self.page.get("/live.json").unwrap();
            let (_, body) = answer.split_once("\r\n\r\n").unwrap();
            let state: Value = serde_json::from_str(body).unwrap();
            let is_at_it = state["what"].as_str().unwrap().ends_with(doing);
            is_at_it && state["done"] == points && state["series"].as_array().unwrap().len() >= 3
        });
    }

    /// Reads what it says until this is there.
    pub fn until_said(&mut self, what: &str) {
        let mut before = Vec::new();
        for line in self.said.by_ref().lines().map(Result::unwrap) {
            if line.contains(what) {
                return;
            }
            before.push(line);
        }
        panic!("{what} was not said, but {before:#?}");
    }

    /// Waits until it ends: its exit code, and what it said last.
    pub fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

/// Also where a test fails.
impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn has_finding(point: &Value, code: &str) -> bool {
    point["findings"]
        .as_array()
        .unwrap()
        .iter()
        .any(|finding| finding["code"] == code)
}

/// A plan of systems behind one address, whose services are these.
pub fn plan_with_services(sweep: &str, systems: &[(&str, &Server, &str)]) -> String {
    let head = format!(
        "same_device = true\n[database]\ndriver = 'cassandra'\nrequest_timeout_ms = \
         2000\n[dataset]\nrecords = 500\n\
         [sweep]\nwarmup = '0s'\n{sweep}\n"
    );
    let system = |(name, server, start): &(&str, &Server, &str)| {
        format!(
            "[[system]]\nname = '{name}'\ncontact_points = ['{}']\npath = '{}'\n\
             service = {{ start = '{start}', stop = '{}' }}\n",
            server.hosts(),
            server.dir.path().display(),
            server.shell("stop"),
        )
    };
    systems
        .iter()
        .map(system)
        .fold(head, |plan, system| plan + &system)
}

/// Waits until something is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(600);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        sleep(Duration::from_millis(100));
    }
}
