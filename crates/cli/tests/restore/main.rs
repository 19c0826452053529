//! Points that start from a kept start of the data set: what a kill at each step leaves, what is
//! refused, and what `clean` removes.

#![cfg(feature = "rocksdb")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Output, Stdio},
    sync::Mutex,
    thread,
    time::Duration,
};
use tailmark_study::Study;
use tailmark_testing::{LoopDevice, Mounted, assert_says, err, not_installed, out, test};
use tempfile::TempDir;

mod refused;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailmark");

fn main() -> ExitCode {
    tailmark_testing::run()
}

/// A place with a small RocksDB, and run directories.
struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self {
            dir: TempDir::new().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn place(&self) -> PathBuf {
        self.path("place")
    }

    fn start(&self) -> PathBuf {
        self.place().join("rocksdb.tailmark-start")
    }

    /// The arguments of a run of two repeats that write.
    fn arguments(&self, out: &str, more: &[&str]) -> Vec<String> {
        let system = format!("disk={}", self.place().display());
        let out = self.path(out).display().to_string();
        let own = [
            "run",
            "--system",
            &system,
            "--workload=ycsb-a",
            "--records=3k",
            "--set=sweep.operations=300",
            "--threads=1",
            "--repeats=2",
            "--warmup=0s",
            "--set=dataset.fields=1",
            "--set=dataset.field_length=500",
            "--set=database.write_buffer='256KiB'",
            "--set=machine.probes=['none']",
            "--set=machine.drop_caches=false",
            "-o",
            &out,
        ];
        own.iter()
            .chain(more)
            .map(|&word| word.to_owned())
            .collect()
    }

    fn run(&self, out: &str, restore: &str, more: &[&str]) -> Output {
        let restore = format!("--set=dataset.restore='{restore}'");
        let more: Vec<_> = [restore.as_str()].iter().chain(more).copied().collect();
        let mut command = Command::new(PROGRAM);
        command.args(self.arguments(out, &more)).output().unwrap()
    }

    /// Both points are there, and every read found its record.
    fn assert_measured(&self, out: &str, what: &str) {
        let points = Study::open_read_only(&self.path(out)).unwrap();
        let points = points.points().unwrap();
        assert_eq!(points.len(), 2, "{what}");
        for point in points {
            let misses = point.phase.kinds.values().map(|kind| kind.not_found);
            assert_eq!(misses.sum::<u64>(), 0, "{what}");
            assert_eq!(point.phase.errors(), 0, "{what}");
        }
    }

    /// Copies the place aside, links among its files included.
    fn copied(&self, from: &str, to: &str) {
        let _ = fs::remove_dir_all(self.path(to));
        let mut copy = Command::new("cp");
        copy.arg("-a").args([self.path(from), self.path(to)]);
        assert!(copy.status().unwrap().success());
    }
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", err(output));
}

/// Names and lengths of the files in a directory.
fn files(directory: &Path) -> BTreeMap<String, u64> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, entry.metadata().unwrap().len())
    };
    entries.map(file).collect()
}

fn is_whole(start: &Path) -> bool {
    let mark = fs::read_to_string(start.join("made-by-tailmark"));
    mark.is_ok_and(|mark| mark.contains("\"is_whole\": true"))
}

/// The calls by which a step ends.
const CALLS: &str = "linkat,mkdir,renameat,renameat2,unlink,unlinkat,rmdir";
/// How many steps of each case a run is ended at, spread from the first to the last. With the
/// variable `EVERY_STEP`, all of them.
const ENDINGS: usize = 8;

/// A run whose system calls are traced into a file, with what is injected.
fn traced(bench: &Bench, out: &str, restore: &str, inject: &[String]) -> (Output, String) {
    let trace = bench.path(&format!("{out}.trace"));
    let restore = format!("--set=dataset.restore='{restore}'");
    let mut command = Command::new("strace");
    command.args(["-f", "-o"]).arg(&trace);
    command.args(["-e", &format!("trace={CALLS},copy_file_range")]);
    command.args(inject.iter().flat_map(|inject| ["-e", inject.as_str()]));
    command.arg(PROGRAM).args(bench.arguments(out, &[&restore]));
    let Ok(output) = command.output() else {
        not_installed("strace is not installed");
    };
    (output, fs::read_to_string(trace).unwrap_or_default())
}

/// The calls of a thread that keep or restore a start: names, and how many of that name came before
/// in that thread.
fn steps(trace: &str) -> Vec<(String, usize)> {
    let of_marker = |line: &&str| line.contains("rocksdb.dataset.json");
    let first = trace.lines().find(of_marker).unwrap();
    let thread = first.split_whitespace().next().unwrap();
    let own = trace.lines().filter_map(|line| {
        let (number, call) = line.split_once(' ')?;
        (number == thread).then(|| call.trim_start())
    });
    let own: Vec<&str> = own.collect();
    let is_step = |call: &&str| {
        call.contains("rocksdb.tailmark-start") || call.contains("rocksdb.dataset.json")
    };
    let from = own.iter().position(is_step).unwrap();
    let until = own.iter().rposition(is_step).unwrap();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut steps = Vec::new();
    for (index, call) in own.iter().enumerate() {
        let Some((name, _)) = call.split_once('(') else {
            continue;
        };
        let count = counts.entry(name).or_default();
        *count += 1;
        if (from..=until).contains(&index) {
            steps.push((name.to_owned(), *count));
        }
    }
    steps
}

/// Kills a run at its steps, and runs it again. `before` is the place to begin with. Returns how many
/// steps there are.
fn killed_at_each(bench: &Bench, before: &str, restore: &str) -> usize {
    bench.copied(before, "place");
    let (output, trace) = traced(bench, "whole", restore, &[]);
    succeeded(&output);
    let whole = files(&bench.start().join("data"));
    let steps = steps(&trace);
    let is_every = std::env::var_os("EVERY_STEP").is_some();
    let each = if is_every {
        1
    } else {
        steps.len().div_ceil(ENDINGS)
    };
    for (name, nth) in steps.iter().step_by(each) {
        let what = format!("{restore} from {before}: killed at {name} {nth}");
        bench.copied(before, "place");
        let _ = fs::remove_dir_all(bench.path("out"));
        let inject = format!("inject={name}:signal=SIGKILL:when={nth}");
        let (ended, _) = traced(bench, "out", restore, &[inject]);
        assert!(!ended.status.success(), "{what}: it was not killed");
        if is_whole(&bench.start()) {
            let found = files(&bench.start().join("data"));
            assert_eq!(found, whole, "{what}: a start that is not whole says so");
        }
        let again = bench.run("out", restore, &[]);
        assert!(again.status.success(), "{what}: {}", err(&again));
        bench.assert_measured("out", &what);
        assert!(is_whole(&bench.start()), "{what}");
    }
    steps.len()
}

/// Benches on which a data set was loaded, and on which one has a kept start and was written to.
fn begun(restore: &str) -> Bench {
    let bench = Bench::new();
    succeeded(&bench.run("loaded", "none", &["--set=sweep.workloads=['ycsb-c']"]));
    bench.copied("place", "loaded-place");
    succeeded(&bench.run("kept", restore, &[]));
    bench.copied("place", "kept-place");
    bench
}

#[test]
fn a_kill_at_each_step_leaves_a_whole_start_or_one_that_is_made_again() {
    let steps = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for (restore, before) in [
            ("checkpoint", "loaded-place"),
            ("checkpoint", "kept-place"),
            ("copy", "loaded-place"),
            ("copy", "kept-place"),
        ] {
            let steps = &steps;
            scope.spawn(move || {
                let bench = begun(restore);
                let count = killed_at_each(&bench, before, restore);
                steps.lock().unwrap().push((restore, before, count));
            });
        }
    });
    let steps = steps.into_inner().unwrap();
    assert_eq!(steps.len(), 4);
    assert!(steps.iter().all(|(.., count)| *count > 8), "{steps:?}");
}

#[test]
fn ctrl_c_while_a_start_is_kept_or_used_is_resumed() {
    let bench = begun("checkpoint");
    // The first link of a restore is that of the note that the old data is being removed.
    for (before, call, nth) in [
        ("loaded-place", "linkat", 1),
        ("kept-place", "linkat", 2),
        ("kept-place", "renameat2", 2),
    ] {
        bench.copied(before, "place");
        let _ = fs::remove_dir_all(bench.path("out"));
        let trace = bench.path("out.trace");
        let _ = fs::remove_file(&trace);
        let mut command = Command::new("strace");
        command.args(["-f", "-o"]).arg(&trace);
        // It waits until the signal is there.
        let waits = format!("inject={call}:delay_exit=2s:when={nth}");
        command.args(["-e", &format!("trace={CALLS}"), "-e", &waits]);
        let restore = "--set=dataset.restore='checkpoint'";
        command
            .arg(PROGRAM)
            .args(bench.arguments("out", &[restore]));
        let Ok(mut child) = command.stderr(Stdio::null()).spawn() else {
            not_installed("strace is not installed");
        };
        let trace = || fs::read_to_string(&trace).unwrap_or_default();
        while !trace().contains("(DELAYED)") && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(10));
        }
        let trace = trace();
        let process = trace.split_whitespace().next().unwrap();
        let signal = Command::new("kill").args(["-INT", process]).status();
        assert!(signal.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{before} {call}");
        succeeded(&bench.run("out", "checkpoint", &[]));
        bench.assert_measured("out", call);
    }
}

#[test]
fn a_full_disk_ends_the_run_and_loses_nothing() {
    let bench = begun("checkpoint");
    for (restore, before, call) in [
        ("checkpoint", "loaded-place", "linkat:error=ENOSPC:when=1"),
        ("checkpoint", "kept-place", "linkat:error=ENOSPC:when=2"),
        (
            "copy",
            "loaded-place",
            "copy_file_range:error=ENOSPC:when=3",
        ),
    ] {
        bench.copied(before, "place");
        let _ = fs::remove_dir_all(bench.path("out"));
        let (ended, _) = traced(&bench, "out", restore, &[format!("inject={call}")]);
        assert_eq!(ended.status.code(), Some(1), "{call}: {}", err(&ended));
        assert_says(&err(&ended), &["No space left"]);
        succeeded(&bench.run("out", restore, &[]));
        bench.assert_measured("out", call);
    }
}

#[test]
fn a_restore_is_followed_by_a_trim_if_asked() {
    let dir = TempDir::new().unwrap();
    let device = LoopDevice::new(&dir.path().join("disk"), 256 << 20);
    device.make_ext4();
    let bench = Bench::new();
    let _mounted = Mounted::new(&[device.path().as_os_str()], &bench.place());
    // The twelfth number of a disk's statistics.
    let discards = || -> u64 {
        let stat = fs::read_to_string(format!("/sys/block/{}/stat", device.name())).unwrap();
        stat.split_whitespace().nth(11).unwrap().parse().unwrap()
    };
    let run = |out: &str, trim: &str| {
        let trim = format!("--set=dataset.restore_trim={trim}");
        let before = discards();
        succeeded(&bench.run(out, "copy", &[&trim]));
        discards() - before
    };
    assert_eq!(run("left", "false"), 0);
    assert!(run("trimmed", "true") > 0);
}

#[test]
fn points_never_change_the_files_of_a_checkpoint() {
    let bench = Bench::new();
    succeeded(&bench.run("first", "checkpoint", &["--set=sweep.operations=20000"]));
    let data = bench.start().join("data");
    let content = || -> BTreeMap<String, Vec<u8>> {
        let names = files(&data).into_keys();
        names
            .map(|name| (name.clone(), fs::read(data.join(name)).unwrap()))
            .collect()
    };
    let before = content();
    let linked = |name: &&String| fs::metadata(data.join(name)).unwrap().nlink() == 2;
    let tables = before.keys().filter(|name| name.ends_with(".sst"));
    assert!(tables.clone().count() >= 1);
    succeeded(&bench.run("second", "checkpoint", &["--set=sweep.operations=20000"]));
    assert!(content() == before, "a linked file was changed");
    // What is no table is never linked, because RocksDB appends to it.
    let others = before.keys().filter(|name| !name.ends_with(".sst"));
    assert_eq!(others.filter(linked).count(), 0);
}

/// Everything below a directory, with what it is.
fn listing(directory: &Path) -> Vec<String> {
    let mut find = Command::new("find");
    let found = find
        .arg(directory)
        .args(["-printf", "%P %y %s %l\n"])
        .output();
    let mut lines: Vec<_> = out(&found.unwrap()).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn a_command_of_the_plan_does_not_outlive_a_killed_run() {
    let bench = Bench::new();
    let pid = bench.path("pid");
    let command = format!(
        "--set=dataset.restore_command='[ \"$1\" = keep ] || {{ sleep 600 & echo $! >{0}.part; mv {0}.part {0}; wait; }}'",
        pid.display()
    );
    let more = ["--set=dataset.restore='command'", &command];
    let mut run = Command::new(PROGRAM);
    run.args(bench.arguments("out", &more))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut run = run.spawn().unwrap();
    while !pid.exists() {
        assert!(
            run.try_wait().unwrap().is_none(),
            "it ended before it restored anything"
        );
        thread::sleep(Duration::from_millis(20));
    }
    let sleeping = fs::read_to_string(&pid).unwrap();
    let process = PathBuf::from(format!("/proc/{}", sleeping.trim()));
    assert!(process.exists());
    run.kill().unwrap();
    run.wait().unwrap();
    // It ends at once; a test that waits without end shows that it does not.
    while process.join("exe").exists() {
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn two_runs_at_once_do_not_share_a_start() {
    let bench = Bench::new();
    succeeded(&bench.run("loaded", "none", &[]));
    let mut first = Command::new(PROGRAM);
    let restore = "--set=dataset.restore='checkpoint'";
    let long = ["--set=sweep.duration='20s'", restore];
    let mut first = first.args(bench.arguments("first", &long)).spawn().unwrap();
    while !is_whole(&bench.start()) {
        thread::sleep(Duration::from_millis(20));
        assert!(first.try_wait().unwrap().is_none(), "it ended early");
    }
    let second = bench.run("second", "checkpoint", &[]);
    let is_over = first.try_wait().unwrap().is_some();
    let _ = first.kill();
    first.wait().unwrap();
    assert!(
        is_over || second.status.code() == Some(2),
        "{}",
        err(&second)
    );
    succeeded(&bench.run("second", "checkpoint", &[]));
    bench.assert_measured("second", "after the first was killed");
}
