//! Odd surroundings: words that are no text, a signal before anything was begun, a run directory that
//! cannot be written, a terminal without colours.

use crate::support::{Running, SHORT, TAILMARK, open_terminal, output, tailmark};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Read,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};
use tailmark_testing::{Tmpfs, assert_says, err, out, test};
use tempfile::TempDir;

/// No UTF-8.
const ODD: &[u8] = b"odd-\xff\xe9";

#[test]
fn words_that_are_no_text_work_or_are_wrong_usage() {
    let dir = TempDir::new().unwrap();
    let odd = OsStr::from_bytes(ODD);
    let run = |words: &[&str], last: &[&OsStr]| {
        let mut command = tailmark(dir.path(), words);
        command.args(last).output().unwrap()
    };
    let (last, others) = SHORT.split_last().unwrap();
    assert_eq!(*last, "--output=out");
    let measured = run(others, &["-o".as_ref(), odd]);
    assert_eq!(measured.status.code(), Some(0), "{}", err(&measured));
    assert!(dir.path().join(odd).join("report.html").exists());
    // The command that goes on is printed as bash takes it.
    let failing = ["--set=database.error_every=2", "--driver=sim"];
    let failing = [
        &["run", "--system=a=x", "--records=10", "--threads=1"],
        &failing[..],
    ]
    .concat();
    let failing = [&failing[..], &["--operations=100", "--warmup=0s"]].concat();
    let other = OsStr::from_bytes(b"other-\xff");
    let failed = run(&failing, &["-o".as_ref(), other]);
    assert_eq!(failed.status.code(), Some(3), "{}", err(&failed));
    assert!(err(&failed).contains(r"$'other-\xff'"), "{}", err(&failed));
    fs::write(dir.path().join(odd).join("data"), "no results").unwrap();
    let file = Path::new(odd).join("data");
    let missing = run(&["import", "ycsb"], &[file.as_os_str(), "-o".as_ref(), odd]);
    assert_eq!(missing.status.code(), Some(2), "{}", err(&missing));
    let text = "[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 10\n";
    fs::write(dir.path().join(&file), text).unwrap();
    let args = [file.as_os_str(), "-o".as_ref(), "imported".as_ref()];
    let imported = run(&["import", "ycsb"], &args);
    assert_eq!(imported.status.code(), Some(0), "{}", err(&imported));
    for words in [
        &["run"][..],
        &["run", "--system"],
        &["run", "--set"],
        &["check"],
        &["list"],
        &["compare"],
        &["import"],
        &["ycsb", "load"],
        &["db-bench"],
        &[],
    ] {
        let wrong = run(words, &[odd]);
        assert_eq!(wrong.status.code(), Some(2), "{words:?}: {}", err(&wrong));
        assert!(!err(&wrong).contains("panicked"), "{}", err(&wrong));
    }
}

#[cfg(feature = "rocksdb")]
#[test]
fn a_signal_before_anything_was_begun_ends_the_program_with_its_code() {
    for name in ["INT", "TERM", "HUP"] {
        let dir = TempDir::new().unwrap();
        let plan = dir.path().join("plan.toml");
        rustix::fs::mkfifoat(rustix::fs::CWD, &plan, 0o600.into()).unwrap();
        let words = ["run", "plan.toml"];
        let running = Running::start(&mut tailmark(dir.path(), &words));
        // It reads the plan, which has no end while this is open.
        let written = File::options().write(true).open(&plan).unwrap();
        running.signal(name);
        let (code, told, said) = running.end();
        drop(written);
        assert_eq!((code, &*told, &*said), (Some(130), "", ""), "{name}");
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            1,
            "the plan alone"
        );
    }
}

/// Sends a signal, and again where that was lost: a shell may have begun these tests with signals that
/// are ignored until the program asks for them.
fn end_by(child: &mut Child, sent: Signal) -> ExitStatus {
    for _ in 0..60 {
        kill(Pid::from_raw(child.id().cast_signed()), sent).unwrap();
        for _ in 0..50 {
            if let Some(ended) = child.try_wait().unwrap() {
                return ended;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
    child.kill().unwrap();
    panic!("{sent} does not end it");
}

/// Before `main` the kernel's own answer to a signal holds; later it is the program's.
#[test]
fn a_signal_at_the_very_start_ends_the_program_with_nothing_done() {
    for (round, name) in ["INT", "TERM", "HUP"].iter().cycle().take(24).enumerate() {
        let dir = TempDir::new().unwrap();
        let sent = match *name {
            "INT" => Signal::SIGINT,
            "TERM" => Signal::SIGTERM,
            _ => Signal::SIGHUP,
        };
        let words = ["run", "--system=a=place", "--driver=file", "--duration=1h"];
        let mut child = tailmark(dir.path(), &words)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // From before the program is there to some way into it.
        thread::sleep(Duration::from_micros(round as u64 * 200));
        let ended = end_by(&mut child, sent);
        let is_ended = ended.signal() == Some(sent as i32) || ended.code() == Some(130);
        assert!(is_ended, "{name}: {ended:?}");
        if ended.signal().is_some() {
            let made = fs::read_dir(dir.path()).unwrap().count();
            assert_eq!(made, 0, "{name} in round {round}");
        }
    }
}

#[test]
fn a_run_directory_that_cannot_be_written_is_wrong_usage() {
    let dir = TempDir::new().unwrap();
    let small = Tmpfs::new(8 << 20);
    small.fill(0);
    fs::write(dir.path().join("file"), "").unwrap();
    let full = small.path().join("out").display().to_string();
    for place in ["/proc/out", "/dev/null/out", "file", &full] {
        let args = [&SHORT[..SHORT.len() - 1], &["-o", place]].concat();
        let failed = output(dir.path(), &args);
        let said = err(&failed);
        assert_eq!(failed.status.code(), Some(2), "{place}: {said}");
        assert!(
            said.contains("error: ") && !said.contains("panicked"),
            "{said}"
        );
        assert!(out(&failed).is_empty(), "{place}");
    }
}

/// What a run shows on a terminal of this kind.
fn shown(term: &str, more: (&str, &str)) -> String {
    let dir = TempDir::new().unwrap();
    let (mut master, terminal) = open_terminal();
    let stdio = || Stdio::from(terminal.try_clone().unwrap());
    let mut command = Command::new(TAILMARK.0);
    command.args(SHORT).current_dir(dir.path());
    command
        .env_remove("NO_COLOR")
        .env("TERM", term)
        .env(more.0, more.1);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdio())
        .stderr(stdio())
        .spawn()
        .unwrap();
    drop((command, terminal));
    let (mut shown, mut bytes) = (Vec::new(), [0; 4096]);
    // It ends with an error when the last one has closed it.
    while let Ok(read @ 1..) = master.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..read]);
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8_lossy(&shown).into_owned()
}

#[test]
fn a_terminal_that_has_no_colours_gets_none() {
    // ESC, a bracket, numbers, `m`.
    let is_color = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';');
        end.is_some_and(|end| rest[end..].starts_with('m'))
    };
    let color = |text: &str| text.split("\u{1b}[").skip(1).any(is_color);
    let colored = shown("xterm-256color", ("X", "x"));
    assert!(color(&colored), "{colored}");
    let dumb = shown("dumb", ("X", "x"));
    assert!(
        dumb.contains("report.html") && !dumb.contains('\u{1b}'),
        "{dumb}"
    );
    let plain = shown("xterm-256color", ("NO_COLOR", "1"));
    assert!(plain.contains("report.html") && !color(&plain), "{plain}");
}

/// Whose a file is, and its permissions.
fn owner_and_mode(path: &Path) -> (u32, u32, u32) {
    use std::os::unix::fs::MetadataExt;
    let found = fs::symlink_metadata(path).unwrap();
    (found.uid(), found.gid(), found.permissions().mode() & 0o777)
}

#[test]
fn files_of_a_run_belong_to_the_user_of_sudo_and_a_study_is_not_for_all() {
    let dir = TempDir::new().unwrap();
    if owner_and_mode(dir.path()).0 != 0 {
        tailmark_testing::not_here("not root");
    }
    let mut command = Command::new("sh");
    let words = [&["-c", "umask 027; exec \"$0\" \"$@\"", TAILMARK.0], SHORT].concat();
    command.args(words).current_dir(dir.path());
    let ran = command
        .env("SUDO_UID", "12345")
        .env("SUDO_GID", "23456")
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", err(&ran));
    let at = |name: &str| owner_and_mode(&dir.path().join(name));
    assert_eq!(at("out"), (12345, 23456, 0o750));
    assert_eq!(at("out/study.sqlite"), (12345, 23456, 0o640));
    assert_eq!(at("out/report.html"), (12345, 23456, 0o640));
    assert_eq!(
        owner_and_mode(dir.path()).0,
        0,
        "what was there stays root's"
    );
    let export = ["export", "out", "--format=json", "-o", "study.json"];
    let mut exporter = tailmark(dir.path(), &export);
    exporter.env("SUDO_UID", "12345").env("SUDO_GID", "23456");
    assert_eq!(exporter.output().unwrap().status.code(), Some(0));
    assert_eq!((at("study.json").0, at("study.json").1), (12345, 23456));
    // A file that is there keeps its owner.
    std::os::unix::fs::chown(dir.path().join("study.json"), Some(7), Some(8)).unwrap();
    assert_eq!(exporter.output().unwrap().status.code(), Some(0));
    assert_eq!((at("study.json").0, at("study.json").1), (7, 8));
    // Without sudo they are those of whoever runs it, and a study is not for all.
    let plain = TempDir::new().unwrap();
    let mut plain_run = tailmark(plain.path(), SHORT);
    plain_run.env_remove("SUDO_UID").env_remove("SUDO_GID");
    assert_eq!(plain_run.output().unwrap().status.code(), Some(0));
    let study = owner_and_mode(&plain.path().join("out/study.sqlite"));
    assert_eq!((study.0, study.2 & 0o137), (0, 0));
}

/// A control group below that of this process, named as a run of a process that is gone would.
struct LeftGroup(PathBuf);

impl LeftGroup {
    const PROCESS: u32 = 4_194_302;

    /// With a limit, where that is possible.
    fn new(bytes: u64) -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
        let below = |top: &str, group: &str| Path::new(top).join(group.trim_start_matches('/'));
        let named = |line: &str| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, group) = rest.split_once(':')?;
            match controllers {
                "memory" => Some(below("/sys/fs/cgroup/memory", group)),
                "" => Some(below("/sys/fs/cgroup", group)),
                _ => None,
            }
        };
        let own = groups.lines().find_map(named).unwrap();
        let left = Self(own.join(format!("tailmark-{}", Self::PROCESS)));
        let _ = fs::remove_dir(&left.0);
        fs::create_dir(&left.0).unwrap_or_else(|error| tailmark_testing::not_here(error));
        let files = ["memory.limit_in_bytes", "memory.max"].map(|name| left.0.join(name));
        let file = files.iter().find(|file| file.exists());
        let file = file.unwrap_or_else(|| tailmark_testing::not_here("no memory controller"));
        fs::write(file, bytes.to_string()).unwrap();
        for (name, limit) in [
            ("memory.memsw.limit_in_bytes", bytes),
            ("memory.swap.max", 0),
        ] {
            // Where the kernel accounts swap.
            let _ = fs::write(left.0.join(name), limit.to_string());
        }
        left
    }
}

impl Drop for LeftGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_run_that_the_kernel_killed_for_want_of_memory_is_told_by_the_next_one() {
    let told = format!("killed an earlier run (process {})", LeftGroup::PROCESS);
    // The next run on this machine tells it, which may be another test's.
    let is_told = (0..10).any(|_| {
        let left = LeftGroup::new(32 << 20);
        // It keeps the line that never ends.
        let script = "echo $$ >\"$0/cgroup.procs\" && exec tail /dev/zero";
        let ended = Command::new("sh")
            .args(["-c", script])
            .arg(&left.0)
            .status()
            .unwrap();
        assert_eq!(ended.signal(), Some(9), "{ended:?}");
        let dir = TempDir::new().unwrap();
        let next = output(dir.path(), SHORT);
        let said = err(&next);
        assert_eq!(next.status.code(), Some(0), "{said}");
        assert!(!left.0.exists());
        let after = err(&output(dir.path(), SHORT));
        assert!(!after.contains(&told), "{after}");
        said.contains(&told) && said.contains("32.0 MiB")
    });
    assert!(is_told, "ten runs told nothing");
}

#[test]
fn a_memory_limit_under_which_a_run_may_be_killed_is_told_before_it() {
    let dir = TempDir::new().unwrap();
    let told = "machine.memory_limit is 96.0 MiB, but tailmark itself may need 512.0 MiB";
    let dry = [SHORT, &["--set=machine.memory_limit=96MiB", "--dry-run"]].concat();
    let dry = output(dir.path(), &dry);
    assert!(out(&dry).contains(told), "{}", out(&dry));
    let plan = "[database]\ndriver = 'null'\n[machine]\nmemory_limit = '96MiB'\n\
                [[system]]\nname = 'a'\npath = 'x'\n";
    fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let checked = output(dir.path(), &["check", "plan.toml"]);
    assert!(out(&checked).contains(told), "{}", out(&checked));
    let enough = [SHORT, &["--set=machine.memory_limit=1GiB", "--dry-run"]].concat();
    assert!(!out(&output(dir.path(), &enough)).contains("tailmark itself may need"));
}

#[test]
fn a_directory_that_another_user_made_where_everybody_can_is_refused() {
    if !rustix::process::geteuid().is_root() {
        tailmark_testing::not_here("root is needed");
    }
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("place");
    fs::create_dir(&place).unwrap();
    std::os::unix::fs::chown(&place, Some(65_534), None).unwrap();
    let mode = |mode| fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
    let small = [
        "--records=100",
        "--operations=100",
        "--threads=1",
        "--warmup=0s",
    ];
    let words = [
        &["run", "--driver=file", "--system=a=place", "-o", "out"][..],
        &small,
    ]
    .concat();
    mode(0o1777);
    let refused = output(dir.path(), &words);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert_says(&err(&refused), &["belongs to user 65534", "that you own"]);
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    // The same directory is used if only its owner could have put it there.
    mode(0o755);
    let run = output(dir.path(), &words);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
}
