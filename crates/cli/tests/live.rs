//! The page of a run that goes on: it grows, and nobody who looks changes the run.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{
    io::{BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tailmark_testing::{LivePage, not_installed, test};
use tempfile::TempDir;

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

/// A run of the driver that does nothing, with a page. It would take a quarter of an hour; the test ends it.
struct Run {
    child: Child,
    page: LivePage,
    lines: Option<std::thread::JoinHandle<String>>,
}

impl Run {
    fn start(dir: &Path, live: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tailmark"))
            .args(["run", "--driver", "null", "--system", "a=x", "--records"])
            .args(["1k", "--threads", "1,2,4", "--warmup", "0s", "--duration"])
            .args(["3s", "--repeats", "100", live, "-o", "out"])
            .current_dir(dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        Self {
            page: LivePage::said(&mut said),
            // Whoever does not read lets the run wait.
            lines: Some(std::thread::spawn(move || {
                let mut rest = String::new();
                said.read_to_string(&mut rest).unwrap();
                rest
            })),
            child,
        }
    }

    /// Asks until something is so.
    fn wait(&self, target: &str, is_so: impl Fn(&str) -> bool) -> String {
        let begin = Instant::now();
        loop {
            let answer = self.page.get(target).expect("the run goes on");
            if is_so(&answer) {
                return answer;
            }
            assert!(begin.elapsed() < Duration::from_secs(600), "{answer}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops it as Ctrl-C does; its exit code, and what it said.
    fn end(mut self) -> (Option<i32>, String) {
        let pid = nix::unistd::Pid::from_raw(self.child.id().try_into().unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::SIGINT).unwrap();
        let status = self.child.wait().unwrap();
        let lines = self.lines.take().unwrap();
        (status.code(), lines.join().unwrap())
    }
}

/// Also where a test fails.
impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn points_appear_as_they_are_committed_and_seconds_as_they_pass() {
    let dir = TempDir::new().unwrap();
    let run = Run::start(dir.path(), "--live");
    assert!(
        run.page.address.starts_with("127.0.0.1:"),
        "{}",
        run.page.address
    );
    let state = run.wait("/live.json", |state| state.contains("\"series\":[["));
    assert!(state.contains("\"points\":300"), "{state}");
    run.wait("/live.json", |now| now.contains("\"done\":1"));
    let page = run.wait("/", |page| page.contains("id=\"peaks\""));
    assert!(page.contains("connect-src 'self'") && page.contains("id=\"live-what\""));
    let (code, said) = run.end();
    assert_eq!(code, Some(130), "{said}");
    let report = std::fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(
        !report.contains("live-what"),
        "the report that stays asks for nothing"
    );
}

#[test]
fn browsers_that_hang_or_go_away_change_nothing() {
    let dir = TempDir::new().unwrap();
    let run = Run::start(dir.path(), "--live");
    let idle: Vec<TcpStream> = (0..100)
        .map(|_| TcpStream::connect(&run.page.address).unwrap())
        .collect();
    // They ask, and never read what they are answered.
    let deaf: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(&run.page.address).unwrap();
            let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", run.page.address);
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    run.wait("/live.json", |state| state.contains("\"done\":1"));
    drop(deaf);
    run.wait("/live.json", |state| state.contains("\"done\":2"));
    let (code, said) = run.end();
    drop(idle);
    assert_eq!(code, Some(130), "{said}");
}

#[test]
fn an_address_that_others_reach_takes_a_token() {
    let dir = TempDir::new().unwrap();
    let run = Run::start(dir.path(), "--live=0.0.0.0:0");
    assert!(
        run.page.query.starts_with("?token=") && run.page.query.len() == 7 + 32,
        "{}",
        run.page.query
    );
    assert!(
        run.page
            .get("/live.json")
            .unwrap()
            .starts_with("HTTP/1.1 403 ")
    );
    let answer = run
        .page
        .get(&format!("/live.json{}", run.page.query))
        .unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // Those without it that never end their requests block no other client.
    let slow: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(&run.page.address).unwrap();
            // The oldest may be closed already.
            let _ = stream.write_all(b"GET / HTTP/1.1\r\n");
            stream
        })
        .collect();
    let second = run.page.get(&format!("/live.json{}", run.page.query));
    assert!(second.unwrap().starts_with("HTTP/1.1 200 "));
    drop(slow);
    assert_eq!(run.end().0, Some(130));
}

#[test]
fn a_browser_shows_the_seconds_and_the_points() {
    let dir = TempDir::new().unwrap();
    let run = Run::start(dir.path(), "--live");
    run.wait("/live.json", |state| state.contains("\"done\":1"));
    let profile = TempDir::new().unwrap();
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--virtual-time-budget=2500",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("http://{}/", run.page.address))
        .output();
    let output = output.unwrap_or_else(|_| not_installed("chromium is not installed"));
    let dom = String::from_utf8(output.stdout).unwrap();
    let root = &dom[..dom.find("<head").unwrap()];
    assert!(
        root.contains("data-live=\"") && !root.contains("data-error"),
        "{root}"
    );
    let (_, chart) = dom.split_once("id=\"live-chart\"").unwrap();
    assert!(chart[..chart.find("</svg>").unwrap()].contains(">ops/s</text>"));
    assert!(
        dom.contains(" of 300 points"),
        "the panel says how far it is"
    );
    assert!(dom.contains("Peak operations per second by workload"));
    assert_eq!(run.end().0, Some(130));
}
