//! What cannot be reached or used is one clear error before anything is measured.

use crate::{
    agents::{self, MUTE, NEWER},
    code, run, said, start,
};
use nix::{
    sys::signal::{Signal::SIGINT, kill},
    unistd::Pid,
};
use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};
use tailmark_testing::{SSH_LOCKED, SSH_SILENT, SSH_USER, SshHosts, err, test};
use tempfile::TempDir;

fn plan(hosts: &SshHosts, host: &str) -> String {
    format!(
        "[machine]\ndrop_caches = 'always'\n[database]\ndriver = 'cassandra'\n[[system]]\nname = 'cluster'\ncontact_points = '{}:9042'\n\
         ssh = '{host}'\n",
        hosts.network().address(2)
    )
}

fn refusal(hosts: &SshHosts, dir: &Path, host: &str) -> String {
    let refused = run(hosts, dir, &plan(hosts, host));
    let said = err(&refused);
    assert_eq!(refused.status.code(), Some(2), "{host}: {said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let whose = "error: system `cluster`: `ssh` cannot be used: ";
    assert!(said.starts_with(whose), "{said}");
    assert!(!dir.join("out/study.sqlite").exists(), "{host}");
    said
}

#[test]
fn a_wrong_host_key_or_user_is_told_before_anything_is_measured() {
    let (hosts, dir) = (SshHosts::new(1), TempDir::new().unwrap());
    let dir = dir.path();
    for (host, why) in [
        (&*format!("{SSH_LOCKED}@db2"), "not available"),
        ("wrong-key2", "Permission denied"),
        ("nobody-such@db2", "Permission denied"),
        ("stranger2", "Host key verification failed"),
        ("no-such-host.invalid", "Could not resolve"),
        // No host of the network has this address.
        ("10.77.0.99", "connect to host"),
    ] {
        let said = refusal(&hosts, dir, host);
        assert!(said.contains(why) && said.contains(host), "{said}");
    }
}

#[test]
fn a_host_that_says_nothing_after_the_login_is_awaited_for_half_a_minute_at_most() {
    let (hosts, dir) = (SshHosts::new(1), TempDir::new().unwrap());
    let begin = Instant::now();
    let said = refusal(&hosts, dir.path(), &format!("{SSH_SILENT}@db2"));
    assert!(
        said.contains("the host runs no commands: a command took longer than 15s"),
        "{said}"
    );
    assert!(
        begin.elapsed() < Duration::from_secs(30),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn an_agent_of_another_version_is_refused_and_leaves_nothing() {
    let (hosts, dir) = (SshHosts::new(1), TempDir::new().unwrap());
    let newer = agents::program(dir.path(), NEWER);
    let agent = |path: &Path| format!("db2'\nagent = '{}", path.display());
    let said = refusal(&hosts, dir.path(), &agent(&newer));
    assert!(
        said.contains("version 9.9") && said.contains("`db2`"),
        "{said}"
    );
    let missing = refusal(&hosts, dir.path(), &agent(Path::new("/no/such/agent")));
    assert!(missing.contains("/no/such/agent"), "{missing}");
    let left = hosts.on(2, &format!("ls -A {}", hosts.tmp(2).display()));
    assert_eq!(left, "");
}

#[test]
fn ctrl_c_ends_a_run_within_seconds_though_an_agent_answers_nothing() {
    let (hosts, dir) = (SshHosts::new(1), TempDir::new().unwrap());
    let dir = dir.path();
    let agent = agents::program(dir, MUTE);
    let mute = plan(&hosts, &format!("db2'\nagent = '{}", agent.display()))
        + "[prepare]\nsysctls = ['vm.swappiness=60']\n";
    let mut run = start(&hosts, dir, &mute);
    let is_there = format!(
        "ls {}/tailmark.*/agent 2>/dev/null || true",
        hosts.tmp(2).display()
    );
    while hosts.on(2, &is_there).is_empty() {
        assert_eq!(run.try_wait().unwrap(), None, "{}", said(dir));
        thread::sleep(Duration::from_millis(100));
    }
    // By then it is asked for what takes an agent minutes at most.
    thread::sleep(Duration::from_secs(5));
    let stopped = Instant::now();
    kill(Pid::from_raw(run.id().cast_signed()), SIGINT).unwrap();
    assert_eq!(code(&mut run), Some(130), "{}", said(dir));
    let took = stopped.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[test]
fn who_needs_root_and_may_not_use_sudo_is_told_what_for() {
    let (hosts, dir) = (SshHosts::new(1), TempDir::new().unwrap());
    let said = refusal(&hosts, dir.path(), &format!("{SSH_USER}@db2"));
    assert!(
        said.contains("sudo") && said.contains("machine.drop_caches"),
        "{said}"
    );
    let left = hosts.on(2, &format!("ls -A {}", hosts.tmp(2).display()));
    assert_eq!(left, "");
}

#[test]
fn a_password_in_a_plan_is_refused_and_not_repeated() {
    let (hosts, dir) = (SshHosts::new(1), TempDir::new().unwrap());
    let refused = run(&hosts, dir.path(), &plan(&hosts, "root:hunter2@db2"));
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    let said = err(&refused);
    assert!(
        said.contains("system.cluster.ssh") && said.contains("password"),
        "{said}"
    );
    assert!(!said.contains("hunter2"), "{said}");
}
