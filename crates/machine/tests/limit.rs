//! A process under a memory limit really has it. Each test starts this program again as a child,
//! so that neither the tests nor whoever runs them are limited. Where control groups may not be
//! made, each test is ignored.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot be set up has failed; the child says what it found"
)]

use std::{
    fs,
    io::Write,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tailmark_machine::{LimitError, MemoryLimit, memory, remove_left_groups};
use tailmark_testing::{not_here, test};

const LIMIT: u64 = 64 << 20;
/// Before the words of a child that may not make its group.
const NOT_PERMITTED: &str = "not permitted: ";
const ROLE: &str = "TAILMARK_TEST_LIMIT_ROLE";
/// The test that a child runs: in a role, it is the child.
const CHILD: &str = "every_thread_is_limited_and_back_afterwards";

/// Each test that starts a child removes what others have left.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the child in a role.
fn child(role: &str) -> Output {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD, "--nocapture"])
        .env(ROLE, role)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    if let Some((_, why)) = text.split_once(NOT_PERMITTED) {
        not_here(why.lines().next().unwrap_or_default());
    }
    output
}

/// The group that the child named.
fn group_of(output: &Output) -> PathBuf {
    let text = String::from_utf8_lossy(&output.stdout);
    let (_, rest) = text
        .split_once("group: ")
        .expect("the child names its group");
    PathBuf::from(rest.lines().next().unwrap())
}

fn assert_passed(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{errors}"
    );
}

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn every_thread_is_limited_and_back_afterwards() {
    if let Ok(role) = std::env::var(ROLE) {
        return the_child(&role);
    }
    let _alone = alone();
    let output = child("look");
    assert_passed(&output);
    assert!(!group_of(&output).exists());
}

#[test]
fn the_page_cache_counts() {
    let _alone = alone();
    assert_passed(&child("cache"));
}

#[test]
fn a_process_beyond_its_limit_is_ended_and_its_group_swept_up_by_the_next() {
    let _alone = alone();
    let output = child("overrun");
    assert!(!output.status.success());
    assert_eq!(output.status.signal(), Some(9), "{output:?}");
    let left = group_of(&output);
    assert!(left.exists());
    // The next run has no limit.
    let told = remove_left_groups();
    let remained = fs::remove_dir(&left).is_ok();
    assert!(!remained, "{} was left", left.display());
    let name = left.file_name().unwrap().to_str().unwrap();
    let mut told = told.iter();
    let told = told.find(|told| name.ends_with(&format!("-{}", told.process)));
    let told = told.expect("the group is told of");
    assert_eq!(told.limit, Some(LIMIT));
    assert!(told.killed >= 1, "{told:?}");
}

fn the_child(role: &str) {
    let groups = own_groups();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let (name, thread) = std::sync::mpsc::channel();
    let other = std::thread::spawn(move || {
        name.send(fs::read_link("/proc/thread-self").unwrap())
            .unwrap();
        let _ = stopped.recv();
    });
    let thread = thread.recv().unwrap();
    let limit = match MemoryLimit::enter(LIMIT) {
        Ok(limit) => limit,
        Err(error @ LimitError::TooLow { .. }) => panic!("{error}"),
        Err(error) => return println!("{NOT_PERMITTED}{error}"),
    };
    println!("group: {}", limit.group().display());
    let _ = std::io::stdout().flush();
    match role {
        "look" => look(&limit, &thread),
        "cache" => fill_cache(&limit),
        "overrun" => overrun(),
        unknown => panic!("no role {unknown}"),
    }
    drop(limit);
    assert_eq!(own_groups(), groups);
    drop(stop);
    other.join().unwrap();
}

fn own_groups() -> String {
    fs::read_to_string("/proc/self/cgroup").unwrap()
}

/// The number in whichever of the files the group has.
fn number(limit: &MemoryLimit, names: [&str; 2]) -> u64 {
    let text = names
        .iter()
        .find_map(|name| fs::read_to_string(limit.group().join(name)).ok());
    text.unwrap().trim().parse().unwrap()
}

fn look(limit: &MemoryLimit, thread: &Path) {
    assert_eq!(
        number(limit, ["memory.limit_in_bytes", "memory.max"]),
        LIMIT
    );
    assert_eq!(memory().total, LIMIT);
    let name = format!("/{}", limit.group().file_name().unwrap().to_string_lossy());
    assert!(own_groups().contains(&name));
    let of_thread = fs::read_to_string(Path::new("/proc").join(thread).join("cgroup")).unwrap();
    assert!(of_thread.contains(&name), "{of_thread}");
    assert!(
        limit.describe().starts_with("64.0 MiB"),
        "{}",
        limit.describe()
    );
}

/// Writes twice the limit to a file: it must succeed, within the limit.
fn fill_cache(limit: &MemoryLimit) {
    let mut file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let chunk = vec![1; 1 << 20];
    for _ in 0..2 * LIMIT / (1 << 20) {
        file.write_all(&chunk).unwrap();
    }
    let used = number(limit, ["memory.usage_in_bytes", "memory.current"]);
    assert!((LIMIT / 4..=LIMIT).contains(&used), "{used}");
}

/// Touches twice the limit; the kernel ends the process on the way.
fn overrun() {
    let touched = vec![1_u8; 2 * LIMIT as usize];
    println!(
        "{}",
        touched.iter().map(|&byte| u64::from(byte)).sum::<u64>()
    );
}
