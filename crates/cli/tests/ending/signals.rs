//! Ctrl-C, SIGTERM and a terminal that is closed end a run alike.

use crate::support::{RUN, Running, TAILMARK, open_terminal, output, signal, tailmark};
use std::{
    io::Read,
    os::unix::fs::MetadataExt,
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tailmark_testing::{err, test};
use tempfile::TempDir;

fn run() -> Vec<&'static str> {
    [RUN, &["--output=out"]].concat()
}

#[test]
fn every_signal_that_asks_for_an_end_keeps_what_was_measured() {
    for name in ["INT", "TERM", "HUP"] {
        let dir = TempDir::new().unwrap();
        let mut running = Running::start(&mut tailmark(dir.path(), &run()));
        running.until("[1/3]");
        running.signal(name);
        let (code, told, said) = running.end();
        assert_eq!(code, Some(130), "{name}: {said}");
        assert_eq!(
            told, "out/report.html\nout/brief.pdf\nout/brief.html\n",
            "{name}"
        );
        assert!(said.contains("stopped; to resume: "), "{name}: {said}");
        assert!(!said.contains("error:"), "{name}: {said}");
    }
}

#[test]
fn a_terminal_that_is_closed_twice_over_still_ends_cleanly() {
    // A shell that ends passes SIGHUP on, and the kernel sends its own.
    let dir = TempDir::new().unwrap();
    let mut running = Running::start(&mut tailmark(dir.path(), &run()));
    running.until("[1/3]");
    running.signal("HUP");
    running.until("stopping");
    running.signal("HUP");
    let (code, told, said) = running.end();
    assert_eq!(
        (code, told.as_str()),
        (
            Some(130),
            "out/report.html\nout/brief.pdf\nout/brief.html\n"
        ),
        "{said}"
    );
    assert!(said.contains("stopped; to resume: "), "{said}");
}

#[test]
fn a_run_whose_terminal_is_closed_ends_as_by_ctrl_c_and_goes_on_later() {
    let dir = TempDir::new().unwrap();
    // No other process may have it: the terminal is closed when the last one does.
    let (mut master, terminal) = open_terminal();
    let stdio = || Stdio::from(terminal.try_clone().unwrap());
    // A session of its own, whose terminal is this one. Whoever runs the tests may ignore hangups.
    let words = run();
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", "setsid", "--ctty"]);
    command.arg(TAILMARK.0).args(&words);
    // One that nothing is drawn on is told of each point all the same.
    command.current_dir(dir.path()).env_remove("TERM");
    let mut child = command
        .stdin(stdio())
        .stdout(stdio())
        .stderr(stdio())
        .spawn()
        .unwrap();
    drop((command, terminal));
    let (mut shown, mut bytes) = (String::new(), [0; 4096]);
    while !shown.contains("[1/3]") {
        let read = master.read(&mut bytes);
        let read = read.unwrap_or_else(|error| panic!("{error}; {shown}"));
        shown += &String::from_utf8_lossy(&bytes[..read]);
    }
    drop(master);
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > Duration::from_secs(60) {
            signal(child.id(), "KILL");
            panic!("it goes on without a terminal");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(130), "{status}");
    assert!(dir.path().join("out/report.html").exists());
    let on = output(dir.path(), &words);
    assert_eq!(on.status.code(), Some(0), "{}", err(&on));
    assert!(err(&on).contains("kept from before"), "{}", err(&on));
    assert_eq!(TAILMARK.points(dir.path()).len(), 3);
}

#[test]
fn nohup_is_respected() {
    let dir = TempDir::new().unwrap();
    let mut command = Command::new("nohup");
    command.arg(TAILMARK.0).args(run());
    let mut running = Running::start(command.current_dir(dir.path()).stdin(Stdio::null()));
    running.until("[1/3]");
    running.signal("HUP");
    let (code, _, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(TAILMARK.points(dir.path()).len(), 3);
}

#[test]
fn ctrl_c_before_anything_was_measured_names_the_command_that_goes_on() {
    let dir = TempDir::new().unwrap();
    // A load that no machine finishes before it is told to stop.
    let args = [
        "run",
        "--driver=file",
        "--system=a=place",
        "--records=2M",
        "--set=dataset.fields=1",
        "--set=dataset.field_length=1KiB",
        "--set=sweep.load_threads=1",
        "--set=database.sync=true",
        "--duration=1s",
        "--set=title=password=hunter2",
        "-o",
        "out",
    ];
    let mut running = Running::start(&mut tailmark(dir.path(), &args));
    let started = Instant::now();
    let slots = dir.path().join("place/slots.dat");
    while !slots.metadata().is_ok_and(|found| found.blocks() > 100) {
        assert!(started.elapsed() < Duration::from_secs(60), "no load");
        std::thread::sleep(Duration::from_millis(10));
    }
    running.signal("INT");
    running.until("stopping");
    let (code, told, said) = running.end();
    assert_eq!(code, Some(130), "{said}");
    assert!(told.is_empty(), "{told}");
    assert!(
        said.contains("stopped; to resume: ") && said.contains("-o out"),
        "{said}"
    );
    assert!(!said.contains("error:"), "{said}");
    assert!(
        said.contains("with the secret in place of") && !said.contains("hunter2"),
        "{said}"
    );
}
