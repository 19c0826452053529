//! Services of which no server ever answers. Units of systemd, with programs in the place of
//! `systemctl` and `journalctl` that answer as systemd does: what a sweep asks of them, and what it
//! says where a unit fails. Commands: for what a sweep waits, and what it says in the end.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::{Command, Output},
    time::{Duration, Instant},
};
use tailmark_testing::err;
use tempfile::TempDir;

/// Runs a plan whose server does not answer, with this service.
fn sweep(dir: &Path, service: &str, ready_timeout: &str) -> Output {
    let plan = format!(
        "[database]\ndriver = 'cassandra'\n[sweep]\nready_timeout = '{ready_timeout}'\n[[system]]\n\
         name = 'server'\ncontact_points = '127.0.0.1:1'\nservice = {{ {service} }}\n"
    );
    fs::write(dir.join("plan.toml"), plan).unwrap();
    let path = format!("{}:{}", dir.display(), env::var("PATH").unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailmark"));
    command.args(["run", "plan.toml", "-o", "out"]);
    command.current_dir(dir).env("PATH", path).output().unwrap()
}

/// Runs one of a unit: `systemctl` is this script and notes its words in `asked`, and the journal
/// of every unit is this text.
fn run(dir: &Path, systemctl: &str, journal: &str) -> Output {
    let program = |name: &str, script: &str| {
        let file = dir.join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let requested = dir.join("asked");
    let note = format!("echo \"$@\" >>{}\n{systemctl}", requested.display());
    program("systemctl", &note);
    program("journalctl", &format!("echo '{journal}'"));
    sweep(dir, "systemd = 'store'", "1m")
}

#[test]
fn a_refusal_of_systemctl_is_told_after_the_journal() {
    let dir = TempDir::new().unwrap();
    let refuse = "case \"$*\" in 'start store') echo Access denied; exit 4 ;; esac";
    let refused = run(dir.path(), refuse, "was well an hour ago");
    assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
    let expected =
        "failed to start its service; its log ends:\n  was well an hour ago\n  Access denied\n";
    assert!(err(&refused).ends_with(expected), "{}", err(&refused));
    // What systemd counted of earlier starts is reset before each.
    let requested = fs::read_to_string(dir.path().join("asked")).unwrap();
    let calls = "stop store\n--quiet reset-failed store\nstart store\n";
    assert_eq!(requested, calls, "what was left over is stopped first");
}

#[test]
fn a_unit_that_fails_after_its_start_is_not_waited_for() {
    let dir = TempDir::new().unwrap();
    let failed = || run(dir.path(), "exit 0", "the disk is gone");
    is_not_waited_for(failed, "the disk is gone");
}

/// Whether a sweep whose service may take a minute ends before, with the end of the log.
fn is_not_waited_for(sweep: impl FnOnce() -> Output, log: &str) {
    let began = Instant::now();
    let failed = sweep();
    assert!(began.elapsed() < Duration::from_secs(30), "{began:?}");
    assert_eq!(failed.status.code(), Some(1), "{}", err(&failed));
    let expected = format!("failed to start its service; its log ends:\n  {log}\n");
    assert!(err(&failed).ends_with(&expected), "{}", err(&failed));
}

#[test]
fn a_service_that_does_not_get_ready_ends_the_sweep_with_the_end_of_its_log() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("log"), "the index is read\n3 % so far\n").unwrap();
    let service =
        "start = 'echo $$ >pid; exec sleep 100', ready = 'echo asked >>asked; false', log = 'log'";
    let late = sweep(dir.path(), service, "2s");
    assert_eq!(late.status.code(), Some(1), "{}", err(&late));
    let expected = "did not answer within 2s (sweep.ready_timeout); finished points are kept; run \
                    the same command again to resume; its log ends:\n  the index is read\n  3 % so \
                    far\n";
    assert!(err(&late).contains(expected), "{}", err(&late));
    let requested = fs::read_to_string(dir.path().join("asked")).unwrap();
    assert!(requested.lines().count() > 1, "{requested}");
    let pid = fs::read_to_string(dir.path().join("pid")).unwrap();
    Command::new("kill").arg(pid.trim()).status().unwrap();
}

#[test]
fn a_start_that_ends_needs_a_stop() {
    let dir = TempDir::new().unwrap();
    let ended = sweep(dir.path(), "start = 'true'", "1m");
    assert_eq!(ended.status.code(), Some(1), "{}", err(&ended));
    let expected = "failed to start its service: its `start` command has ended, and there is no \
        `stop` for what it started";
    assert!(err(&ended).contains(expected), "{}", err(&ended));
}

#[test]
fn a_service_that_ends_before_it_is_ready_is_not_waited_for() {
    let dir = TempDir::new().unwrap();
    let start = "start = 'sleep 2; echo no memory; exit 1'";
    is_not_waited_for(|| sweep(dir.path(), start, "1m"), "no memory");
}

#[test]
fn a_password_in_a_command_is_neither_printed_nor_kept() {
    let dir = TempDir::new().unwrap();
    // The first is found in the text of the plan; the second is written with an escape.
    let service = "start = 'SECRET_KEY=hunter2 true --password hunter2', \
                   stop = \"mysqladmin \\u002dphunter2 shutdown; true\", \
                   ready = 'curl -u me:hunter2 http://me:hunter2@127.0.0.1:1'";
    let failed = sweep(dir.path(), service, "1s");
    assert_eq!(failed.status.code(), Some(1), "{}", err(&failed));
    let tailmark = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tailmark"));
        let ran = command
            .args(words)
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(0), "{}", err(&ran));
        String::from_utf8(ran.stdout).unwrap()
    };
    let has_secret = |bytes: &[u8]| bytes.windows(7).any(|some| some == b"hunter2");
    let dry = tailmark(&["run", "plan.toml", "-o", "new", "--dry-run"]);
    assert!(
        dry.contains("true --password ***") && !has_secret(dry.as_bytes()),
        "{dry}"
    );
    let study = fs::read(dir.path().join("out/study.sqlite")).unwrap();
    assert!(!has_secret(&study));
    let whole = tailmark(&["export", "out", "--format", "json"]);
    assert!(whole.contains("mysqladmin -p***") && !has_secret(whole.as_bytes()));
    let redacted = tailmark(&["export", "out", "--format", "json", "--redact"]);
    for command in ["mysqladmin", "SECRET_KEY", "curl"] {
        assert!(!redacted.contains(command), "{command}: {redacted}");
    }
    assert!(redacted.contains("[command "));
    // With another password it is the same plan.
    let plan = fs::read_to_string(dir.path().join("plan.toml")).unwrap();
    fs::write(
        dir.path().join("plan.toml"),
        plan.replace("hunter2", "hunter3"),
    )
    .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailmark"));
    let again = command
        .args(["run", "plan.toml", "-o", "out"])
        .current_dir(dir.path());
    let again = again.output().unwrap();
    assert_eq!(again.status.code(), Some(1), "{}", err(&again));
}

#[test]
fn a_file_of_others_under_the_name_of_a_log_is_refused_before_anything_runs() {
    let dir = TempDir::new().unwrap();
    let (out, mine) = (dir.path().join("out"), dir.path().join("mine"));
    fs::create_dir(&out).unwrap();
    fs::write(&mine, "mine").unwrap();
    let log = out.join("server.service.log");
    let makes: [&dyn Fn(); 4] = [
        &|| fs::write(&log, "mine").unwrap(),
        &|| symlink(&mine, &log).unwrap(),
        &|| fs::hard_link(&mine, &log).unwrap(),
        &|| assert!(Command::new("mkfifo").arg(&log).status().unwrap().success()),
    ];
    for make in makes {
        make();
        let refused = sweep(
            dir.path(),
            "start = 'touch began', stop = 'touch began'",
            "1s",
        );
        assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
        for part in [
            "out/server.service.log",
            "not a service log of this study",
            "-o",
        ] {
            assert!(err(&refused).contains(part), "{}", err(&refused));
        }
        fs::remove_file(&log).unwrap();
        assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
    }
    assert!(!dir.path().join("began").exists());
    // Its own is appended to by the next run.
    for _ in 0..2 {
        sweep(
            dir.path(),
            "start = 'echo began; false', stop = 'true'",
            "1s",
        );
    }
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.starts_with("tailmark: what a service printed, study "));
    assert_eq!(text.matches("began\n").count(), 2, "{text}");
}
