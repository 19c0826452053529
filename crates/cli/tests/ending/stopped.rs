//! A program that is stopped while it measures, and one that only waits for its database.

use crate::support::{TAILMARK, signal, tailmark};
use serde_json::Value;
use std::{
    ffi::OsStr,
    io::{BufReader, Read},
    path::Path,
    process::{Child, ChildStderr, Command, Stdio},
    thread::sleep,
    time::Duration,
};
use tailmark_testing::{LivePage, LoopDevice, Mounted, err, system, test};
use tempfile::TempDir;

/// For how long it is stopped, or its database stalls.
const GAP: Duration = Duration::from_millis(2500);

fn has_code(point: &Value, code: &str) -> bool {
    let findings = point["findings"].as_array().unwrap();
    findings.iter().any(|finding| finding["code"] == code)
}

/// A run of one point of ten seconds that is being measured.
struct Measuring {
    child: Child,
    rest: BufReader<ChildStderr>,
}

impl Measuring {
    /// Starts it, and waits until a second of the point has passed.
    fn start(dir: &Path, args: &[&str]) -> Self {
        let words = [args, &["--live"]].concat();
        let mut command = tailmark(dir, &words);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut rest = BufReader::new(child.stderr.take().unwrap());
        let page = LivePage::said(&mut rest);
        let is_measured =
            |state: &str| state.contains("measuring\"") && state.contains("\"series\":[[");
        while !is_measured(&page.get("/live.json").expect("the run goes on")) {
            sleep(Duration::from_millis(20));
        }
        Self { child, rest }
    }

    /// Its exit code, and what it said.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.rest.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_point_whose_client_was_stopped_is_no_peak_and_is_measured_again() {
    let dir = TempDir::new().unwrap();
    let args = [
        "run",
        "--driver=null",
        "--system=a=x",
        "--records=1k",
        "--threads=2",
        "--duration=10s",
        "--warmup=0s",
        "--output=out",
    ];
    let run = Measuring::start(dir.path(), &args);
    signal(run.child.id(), "STOP");
    sleep(GAP);
    signal(run.child.id(), "CONT");
    let (code, said) = run.end();
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("(the client was stopped)"), "{said}");
    let points = TAILMARK.points(dir.path());
    assert_eq!(points.len(), 1);
    assert!(has_code(&points[0], "client-stopped") && points[0]["valid"] == false);
    let again = [&args[..], &["--retry-failed"]].concat();
    let again = tailmark(dir.path(), &again).output().unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", err(&again));
    let retried = TAILMARK.points(dir.path());
    assert!(!has_code(&retried[0], "client-stopped") && retried[0]["valid"] == true);
}

/// A file system of which nothing can be written until this is dropped.
struct Frozen<'a>(&'a Path);

impl<'a> Frozen<'a> {
    fn new(path: &'a Path) -> Self {
        let frozen = system("fsfreeze", &[OsStr::new("--freeze"), path.as_ref()]);
        frozen.unwrap_or_else(|why| tailmark_testing::not_here(why));
        Self(path)
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze")
            .arg("--unfreeze")
            .arg(self.0)
            .status();
    }
}

#[cfg(feature = "rocksdb")]
#[test]
fn a_database_that_stalls_is_no_stopped_client() {
    let dir = TempDir::new().unwrap();
    let device = LoopDevice::new(&dir.path().join("device"), 256 << 20);
    device.make_ext4();
    let place = dir.path().join("mounted");
    std::fs::create_dir(&place).unwrap();
    let mounted = Mounted::new(&[device.path().as_ref()], &place);
    let args = [
        "run",
        "--system=a=mounted",
        "--records=1k",
        "--threads=2",
        "--workload=ycsb-a",
        "--duration=10s",
        "--warmup=0s",
        "--set=database.sync=true",
        "--output=out",
    ];
    let run = Measuring::start(dir.path(), &args);
    let frozen = Frozen::new(mounted.path());
    sleep(GAP);
    drop(frozen);
    let (code, said) = run.end();
    assert_eq!(code, Some(0), "{said}");
    let point = TAILMARK.points(dir.path()).remove(0);
    let longest_us = point["kinds"]["update"]["service_us"]["max"].as_f64();
    assert!(longest_us >= Some(2_000_000.0), "{longest_us:?}");
    assert!(point["valid"] == true && !has_code(&point, "client-stopped"));
}
