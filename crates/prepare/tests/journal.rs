//! Settings are put back, whatever ends the run: killed at every step, in a network namespace of the
//! test's own, whose sysctls no other process has.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]
#![expect(clippy::print_stdout, reason = "a child says how far it is")]

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Command, ExitCode, Stdio},
    sync::Mutex,
};
use tailmark_prepare::{Error, Journal, Kernel, LeftChanges};
use tailmark_testing::{not_here, test};

/// What is set, to what, and what it is in a new namespace is asked first.
const SETTINGS: &[(&str, &str)] = &[
    ("net.ipv4.ip_default_ttl", "77"),
    ("net.ipv4.tcp_fin_timeout", "17"),
    ("net.ipv4.ip_local_port_range", "40000 50000"),
];

fn main() -> ExitCode {
    let words: Vec<_> = env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("killed-at-every-step") => killed_at_every_step(Path::new(&words[2])),
        Some("change") => change(Path::new(&words[2])),
        _ => return tailmark_testing::run(),
    }
    ExitCode::SUCCESS
}

#[test]
fn settings_are_restored_after_a_kill_at_every_step() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new("unshare")
        .arg("--net")
        .arg(env::current_exe().unwrap())
        .arg("killed-at-every-step")
        .arg(dir.path())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(why) => not_here(format!("unshare: {why}")),
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed = String::from_utf8_lossy(&output.stderr).into_owned();
    if failed.starts_with("unshare:") {
        not_here(failed);
    }
    assert!(output.status.success(), "{said}\n{failed}");
    let killed: usize = said.trim().parse().unwrap();
    // Four steps of each setting, and one of each that is put back.
    assert_eq!(killed, 5 * SETTINGS.len());
}

fn values() -> Vec<String> {
    let path = |name: &str| format!("/proc/sys/{}", name.replace('.', "/"));
    let read = |row: &(&str, &str)| fs::read_to_string(path(row.0)).unwrap();
    let values = SETTINGS.iter().map(read);
    values
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// In the namespace: a child for each step, killed at it, and what the next start makes of it.
fn killed_at_every_step(directory: &Path) {
    let before = values();
    let requested: Vec<_> = SETTINGS.iter().map(|row| row.1.to_owned()).collect();
    let mut steps = 0;
    let mut seen = Vec::new();
    loop {
        let mut child = Command::new(env::current_exe().unwrap())
            .arg("change")
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        let mut is_at_end = false;
        for step in 0..=steps {
            line.clear();
            is_at_end = output.read_line(&mut line).unwrap() == 0;
            if step < steps && !is_at_end {
                input.write_all(b".").unwrap();
            }
        }
        if is_at_end {
            assert!(child.wait().unwrap().success());
            assert_eq!(
                values(),
                before,
                "it puts back what it has changed by itself"
            );
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        seen.push(values());
        let journal = Journal::open(directory, &|_| {}).unwrap();
        assert!(journal.is_empty());
        drop(journal);
        assert_eq!(values(), before, "killed at step {steps}: {line}");
        steps += 1;
    }
    // Else nothing was at stake.
    assert!(seen.contains(&requested), "{seen:#?}");
    println!("{steps}");
}

/// A run that changes settings, and waits at each step until it may go on.
fn change(directory: &Path) {
    let wait = |said: &str| {
        println!("{said}");
        std::io::stdout().flush().unwrap();
        let mut byte = [0];
        let _ = std::io::stdin().read(&mut byte).unwrap();
    };
    let mut journal = Journal::open(directory, &wait).unwrap();
    for (name, value) in SETTINGS {
        let setting = Kernel::default().sysctl(name, value).unwrap();
        journal.set(&setting).unwrap();
    }
}

/// A kernel of files.
fn kernel(directory: &Path) -> Kernel {
    let vm = directory.join("proc/sys/vm");
    fs::create_dir_all(&vm).unwrap();
    fs::write(vm.join("swappiness"), "60\n").unwrap();
    fs::write(vm.join("nr_hugepages"), "0\n").unwrap();
    Kernel {
        proc: directory.join("proc"),
        sys: directory.join("sys"),
    }
}

#[test]
fn a_value_that_somebody_else_has_changed_since_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let kernel = kernel(dir.path());
    let said = Mutex::new(Vec::new());
    let log = |text: &str| said.lock().unwrap().push(text.to_owned());
    let swappiness = kernel.sysctl("vm.swappiness", "1").unwrap();
    let pages = kernel.sysctl("vm.nr_hugepages", "64").unwrap();
    let mut journal = Journal::open_on(&dir.path().join("state"), kernel.clone(), &log).unwrap();
    journal.set(&swappiness).unwrap();
    journal.set(&pages).unwrap();
    fs::write(&swappiness.path, "10\n").unwrap();
    drop(journal);
    assert_eq!(swappiness.current().unwrap(), "10");
    assert_eq!(pages.current().unwrap(), "0");
    let said = said.into_inner().unwrap();
    let is_told = |text: &String| text.contains("is left at 10") && text.contains("it was 60");
    assert!(said.iter().any(is_told), "{said:#?}");
}

#[test]
fn after_a_restart_nothing_is_put_back() {
    let dir = tempfile::tempdir().unwrap();
    let kernel = kernel(dir.path());
    let state = dir.path().join("state");
    let swappiness = kernel.sysctl("vm.swappiness", "1").unwrap();
    let mut journal = Journal::open_on(&state, kernel.clone(), &|_| {}).unwrap();
    journal.set(&swappiness).unwrap();
    let path = state.join("changes.json");
    let text = fs::read_to_string(&path).unwrap();
    drop(journal);
    // As a run that the machine went down with left it; the value is the same by chance.
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert!(text.contains(boot.trim()));
    fs::write(&path, text.replace(boot.trim(), "another-boot")).unwrap();
    fs::write(&swappiness.path, "1\n").unwrap();
    drop(Journal::open_on(&state, kernel.clone(), &|_| {}).unwrap());
    assert_eq!(swappiness.current().unwrap(), "1");
    let left = fs::read_to_string(&path).unwrap();
    assert!(!left.contains("swappiness"), "{left}");
}

#[test]
fn one_process_at_a_time_has_settings_of_the_machine() {
    let dir = tempfile::tempdir().unwrap();
    let first = Journal::open(dir.path(), &|_| {}).unwrap();
    let second = Journal::open(dir.path(), &|_| {}).map(drop);
    let Err(error @ Error::InUse { .. }) = second else {
        panic!("{second:?}");
    };
    // By its number and its command.
    let own = format!("process {} (", std::process::id());
    let said = error.to_string();
    assert!(said.starts_with(&own) && said.contains("journal"), "{said}");
    drop(first);
    drop(Journal::open(dir.path(), &|_| {}).unwrap());
}

#[test]
fn a_value_that_is_so_already_is_not_in_the_journal_and_one_refused_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let kernel = kernel(dir.path());
    let mut journal = Journal::open_on(&dir.path().join("state"), kernel.clone(), &|_| {}).unwrap();
    journal
        .set(&kernel.sysctl("vm.swappiness", "60").unwrap())
        .unwrap();
    assert!(journal.is_empty());
    // Set twice, it goes back to what it was at first.
    for value in ["1", "2"] {
        journal
            .set(&kernel.sysctl("vm.swappiness", value).unwrap())
            .unwrap();
    }
    journal.restore().unwrap();
    let setting = kernel.sysctl("vm.swappiness", "1").unwrap();
    assert_eq!(setting.current().unwrap(), "60");
}

#[test]
fn a_forged_line_of_the_journal_is_refused_and_what_is_ours_is_put_back() {
    let dir = tempfile::tempdir().unwrap();
    let kernel = kernel(dir.path());
    let state = dir.path().join("state");
    let swappiness = kernel.sysctl("vm.swappiness", "1").unwrap();
    let mut killed = Journal::open_on(&state, kernel.clone(), &|_| {}).unwrap();
    killed.set(&swappiness).unwrap();
    let path = state.join("changes.json");
    let written = fs::read_to_string(&path).unwrap();
    drop(killed);
    fs::write(&swappiness.path, "1\n").unwrap();
    let passwd = dir.path().join("passwd");
    fs::write(&passwd, "root:x:0:0\n").unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&written).unwrap();
    let forged = serde_json::json!({
        "path": passwd, "old": "root::0:0", "requested": "root:x:0:0", "now": null
    });
    document["changes"].as_array_mut().unwrap().push(forged);
    fs::write(&path, document.to_string()).unwrap();
    let said = Mutex::new(Vec::new());
    let log = |text: &str| said.lock().unwrap().push(text.to_owned());
    let journal = Journal::open_on(&state, kernel, &log).unwrap();
    assert_eq!(journal.len(), 1, "it stays, to be looked at");
    drop(journal);
    assert_eq!(fs::read_to_string(&passwd).unwrap(), "root:x:0:0\n");
    assert_eq!(swappiness.current().unwrap(), "60");
    let said = said.into_inner().unwrap();
    let is_refused = |text: &String| {
        text.contains(
            "passwd` is left alone: tailmark never changes \
                                                    it",
        )
    };
    assert!(said.iter().any(is_refused), "{said:#?}");
}

#[test]
fn what_a_killed_run_has_left_is_seen_by_every_user_and_that_of_a_live_one_is_not_left() {
    let dir = tempfile::tempdir().unwrap();
    let kernel = kernel(dir.path());
    let state = dir.path().join("state");
    let swappiness = kernel.sysctl("vm.swappiness", "1").unwrap();
    let left = state.join("left");
    let mut journal = Journal::open_on(&state, kernel.clone(), &|_| {}).unwrap();
    journal.set(&swappiness).unwrap();
    let text = fs::read_to_string(&left).unwrap();
    assert_eq!(LeftChanges::look_in(&state), None, "its run is alive");
    journal.end().unwrap();
    assert!(!left.exists(), "nothing is changed any more");
    // As a run leaves it whose process is gone: here, the number of a process that has ended.
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let own = format!("\"process\":{}", std::process::id());
    assert!(text.contains(&own), "{text}");
    let text = text.replace(&own, &format!("\"process\":{}", child.id()));
    fs::write(&left, &text).unwrap();
    fs::write(&swappiness.path, "1\n").unwrap();
    let found = LeftChanges::look_in(&state).unwrap();
    assert!(found.settings[0].contains("is 1, was 60"), "{found:?}");
    assert!(found.notice().contains("sudo tailmark restore"));
    // Another program has set it since, or the machine was started again.
    fs::write(&swappiness.path, "10\n").unwrap();
    assert_eq!(LeftChanges::look_in(&state), None);
    fs::write(&swappiness.path, "1\n").unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    fs::write(&left, text.replace(boot.trim(), "another")).unwrap();
    assert_eq!(LeftChanges::look_in(&state), None);
}
