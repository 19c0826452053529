//! Services that are units of systemd, with programs in the place of `systemctl` and `journalctl`
//! that answer as systemd does: what a sweep asks of them, and what it says where a unit fails.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Runs a plan whose server nobody starts: `systemctl` is this script and notes its words in
/// `asked`, and the journal of every unit is this text.
fn run(dir: &Path, systemctl: &str, journal: &str) -> Output {
    let program = |name: &str, script: &str| {
        let file = dir.join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let asked = dir.join("asked");
    let note = format!("echo \"$@\" >>{}\n{systemctl}", asked.display());
    program("systemctl", &note);
    program("journalctl", &format!("echo '{journal}'"));
    fs::write(
        dir.join("plan.toml"),
        "[database]\ndriver = 'cassandra'\n[sweep]\nready_timeout = '1m'\n[[system]]\n\
         name = 'server'\nhosts = '127.0.0.1:1'\nservice = { systemd = 'store' }\n",
    )
    .unwrap();
    let path = format!("{}:{}", dir.display(), env::var("PATH").unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailmark"));
    command.args(["run", "plan.toml", "-o", "out"]);
    command.current_dir(dir).env("PATH", path).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_refusal_of_systemctl_is_told_after_the_journal() {
    let dir = TempDir::new().unwrap();
    let refuse = "case \"$*\" in 'start store') echo Access denied; exit 4 ;; esac";
    let refused = run(dir.path(), refuse, "was well an hour ago");
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    let expected =
        "failed to start its service; its log ends:\nwas well an hour ago\nAccess denied\n";
    assert!(said(&refused).ends_with(expected), "{}", said(&refused));
    // What systemd counted of earlier starts is reset before each.
    let asked = fs::read_to_string(dir.path().join("asked")).unwrap();
    assert_eq!(asked, "--quiet reset-failed store\nstart store\n");
}

#[test]
fn a_unit_that_fails_after_its_start_is_not_waited_for() {
    let dir = TempDir::new().unwrap();
    let began = Instant::now();
    let failed = run(dir.path(), "exit 0", "the disk is gone");
    assert!(began.elapsed() < Duration::from_secs(30), "{began:?}");
    assert_eq!(failed.status.code(), Some(1), "{}", said(&failed));
    let expected = "failed to start its service; its log ends:\nthe disk is gone\n";
    assert!(said(&failed).ends_with(expected), "{}", said(&failed));
}
