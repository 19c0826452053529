//! A program that is stopped while it measures, and one that only waits for its database.

use crate::support::{Running, TAILMARK, tailmark};
use serde_json::Value;
use std::{ffi::OsStr, path::Path, process::Command, thread::sleep, time::Duration};
use tailmark_testing::{LoopDevice, Mounted, system, test};
use tempfile::TempDir;

/// For how long it is stopped, or its database stalls.
const GAP: Duration = Duration::from_millis(2500);

fn has_code(point: &Value, code: &str) -> bool {
    let findings = point["findings"].as_array().unwrap();
    findings.iter().any(|finding| finding["code"] == code)
}

#[test]
fn a_point_whose_client_was_stopped_is_no_peak_and_is_measured_again() {
    let dir = TempDir::new().unwrap();
    let args = [
        "run",
        "--driver=null",
        "--system=a=x",
        "--records=1k",
        "--threads=1,2,3",
        "--duration=4s",
        "--warmup=0s",
        "--output=out",
    ];
    let mut running = Running::start(&mut tailmark(dir.path(), &args));
    running.until("[1/3]");
    sleep(Duration::from_millis(500));
    running.signal("STOP");
    sleep(GAP);
    running.signal("CONT");
    let (code, _, said) = running.end();
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("(the client was stopped)"), "{said}");
    let points = TAILMARK.points(dir.path());
    let stopped: Vec<_> = points
        .iter()
        .filter(|p| has_code(p, "client-stopped"))
        .collect();
    let [stopped] = stopped[..] else {
        panic!("{stopped:?}")
    };
    assert_eq!(stopped["valid"], false);
    let again = [&args[..], &["--retry-failed"]].concat();
    let again = tailmark(dir.path(), &again).output().unwrap();
    assert_eq!(
        again.status.code(),
        Some(0),
        "{}",
        tailmark_testing::err(&again)
    );
    let points = TAILMARK.points(dir.path());
    assert!(points.iter().all(|point| point["valid"] == true));
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
        "--threads=1,2",
        "--workload=ycsb-a",
        "--duration=5s",
        "--warmup=0s",
        "--set=database.sync=true",
        "--output=out",
    ];
    let mut running = Running::start(&mut tailmark(dir.path(), &args));
    running.until("[1/2]");
    sleep(Duration::from_millis(500));
    let frozen = Frozen::new(mounted.path());
    sleep(GAP);
    drop(frozen);
    let (code, _, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    let points = TAILMARK.points(dir.path());
    let longest = |point: &Value| point["kinds"]["update"]["service_us"]["max"].as_f64();
    let stalled = points
        .iter()
        .any(|point| longest(point) >= Some(1_500_000.0));
    assert!(stalled, "{points:#?}");
    assert!(
        points
            .iter()
            .all(|p| p["valid"] == true && !has_code(p, "client-stopped"))
    );
}
