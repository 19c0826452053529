//! Emulated volumes by the whole program. Needs root; without it the tests are ignored.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod bench;

use bench::{Bench, TAILMARK};
use std::{
    fs,
    process::{Child, Command},
    thread,
};
use tailmark_testing::{assert_says, need_emulation, test};

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

/// Programs that keep all processors busy, as other tests do.
struct Busy(Vec<Child>);

impl Busy {
    fn new() -> Self {
        let processors = thread::available_parallelism().unwrap().get();
        let spin = |_| {
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn()
        };
        Self((0..=processors).map(|index| spin(index).unwrap()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for program in &mut self.0 {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// The peak of each system, ops/s.
fn peaks(bench: &Bench) -> Vec<(String, f64)> {
    let mut peaks: Vec<(String, f64)> = Vec::new();
    for point in TAILMARK.points(&bench.dir()) {
        let (system, ops) = (
            point["system"].as_str().unwrap(),
            point["ops_per_sec"].as_f64(),
        );
        let ops = ops.unwrap();
        match peaks.iter_mut().find(|(name, _)| name == system) {
            Some((_, peak)) => *peak = peak.max(ops),
            None => peaks.push((system.to_owned(), ops)),
        }
    }
    peaks
}

#[test]
fn the_rehearsal_finds_the_limits_of_its_volumes_and_ranks_them() {
    need_emulation();
    let bench = Bench::new();
    // Clients that wait for a volume are not its limit, whatever other programs do with the processors.
    let busy = Busy::new();
    let said = bench.done(
        "$tailmark run rehearsal -o out --set sweep.repeats=1\n\
         ls -A state/tailmark/emulated; losetup --list; mount | grep emulated; exit 0",
    );
    assert!(!said.contains("(deleted)") && !said.contains("emulated/1000 a second/export 0"));
    // The digest of the report: who is ahead.
    assert_says(
        &said,
        &["1000 a second has higher peak ops/s than 400 a second"],
    );
    for point in TAILMARK.points(&bench.dir()) {
        let findings = point["findings"].to_string();
        // Every read is compared with what was written.
        assert!(!findings.contains("\"errors\""), "{findings}");
        assert!(!findings.contains("\"client-saturated\""), "{findings}");
    }
    drop(busy);
    let mut peaks = peaks(&bench);
    peaks.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(slow, low), (fast, high)] = &peaks[..] else {
        panic!("{peaks:?}");
    };
    assert_eq!(
        (slow.as_str(), fast.as_str()),
        ("400 a second", "1000 a second")
    );
    // A machine that is busy can only hold a volume below its limit.
    for (found, limit) in [(low, 400.0), (high, 1000.0)] {
        assert!(*found < limit * 1.05, "{peaks:?}");
    }
    let left: Vec<_> = fs::read_dir(bench.dir().join("state/tailmark/emulated"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!said.contains("type fuse"), "{said}");
}

#[test]
fn the_cost_example_states_wear_and_money_of_what_was_written() {
    need_emulation();
    let bench = Bench::new();
    bench.done("$tailmark run cost-example -o out --set sweep.repeats=1");
    let points = TAILMARK.points(&bench.dir());
    assert_eq!(points.len(), 4);
    for point in points {
        let figure = |name: &str| point["derived"][name].as_f64().unwrap();
        let ops = point["ops_per_sec"].as_f64().unwrap();
        // Half of the operations write a slot of 4 KiB, each in place.
        let written = figure("host_write_bytes_per_op");
        assert!((1_500.0..4_500.0).contains(&written), "{written}");
        let per_day = written * ops * 86_400.0;
        let writes = figure("drive_writes_per_day");
        assert!((writes * 3.84e12 / per_day - 1.0).abs() < 1e-6, "{writes}");
        let is_a = point["system"] == "drive A";
        let (rated, watts) = if is_a { (7e15, 14.0) } else { (2.8e15, 18.0) };
        let life = figure("life_years");
        assert!(
            (life * 365.25 * per_day / rated - 1.0).abs() < 1e-6,
            "{life}"
        );
        let energy = figure("device_joules_per_million_ops");
        assert!((energy * ops / 1e6 / watts - 1.0).abs() < 1e-6, "{energy}");
        assert!(point["findings"].to_string().contains("life-extrapolated"));
    }
}

#[test]
fn a_file_system_is_made_on_an_emulated_volume_without_a_serial_number() {
    need_emulation();
    let bench = Bench::new();
    let mount = bench.dir().join("mounted");
    bench.plan_of(&format!(
        "name = 'disk'\npath = '{mount}/data'\n\
         device = {{ emulate = 'volume', size = '64MiB', iops = 2000 }}\n\
         [system.prepare]\nfilesystem = 'ext4'\nmount = '{mount}'",
        mount = mount.display()
    ));
    let said = bench.done("$tailmark run plan.toml -o out || exit 1\nmount | grep disk; exit 0");
    let words = [
        "emulate begins",
        "filesystem is done",
        "mount is done",
        "1 point measured",
    ];
    assert_says(&said, &words);
    // What is on it goes first.
    let at = |part: &str| {
        said.find(part)
            .unwrap_or_else(|| panic!("{said}\nlacks {part}"))
    };
    assert!(
        at("is unmounted") < at("emulated/disk` is removed"),
        "{said}"
    );
    assert!(!said.contains(" type "), "{said}");
    let facts = bench.facts();
    for step in ["emulate", "filesystem", "mount"] {
        assert!(facts.iter().any(|(name, _)| name == step), "{facts:?}");
    }
}

#[test]
fn mount_points_on_one_disk_are_not_where_two_volumes_are() {
    need_emulation();
    let bench = Bench::new();
    let system = |name: &str| {
        let mount = bench.dir().join(name);
        fs::create_dir(&mount).unwrap();
        format!(
            "name = '{name}'\npath = '{mount}/data'\n\
             device = {{ emulate = 'volume', size = '64MiB' }}\n\
             [system.prepare]\nfilesystem = 'ext4'\nmount = '{mount}'\n",
            mount = mount.display()
        )
    };
    bench.plan_of(&["a", "b"].map(system).join("[[system]]\n"));
    let said = bench.done(
        "$tailmark run plan.toml -o out --dry-run || exit 1\n\
         $tailmark run plan.toml -o out && $tailmark run plan.toml -o out --dry-run",
    );
    assert_says(&said, &["2 points measured"]);
}

#[test]
fn an_emulated_volume_is_removed_after_a_kill_with_the_program_behind_it() {
    need_emulation();
    let bench = Bench::new();
    // Also where links lead to the journal, and with a program for the delay besides.
    for (before, delay) in [
        ("", ""),
        (
            "rm -rf out && mkdir elsewhere && ln -s $PWD/elsewhere /var/lib/tailmark",
            ", delay = '2ms'",
        ),
    ] {
        kill_and_restore(&bench, before, delay);
        fs::remove_dir_all(bench.dir().join("state/tailmark")).unwrap();
    }
}

fn kill_and_restore(bench: &Bench, before: &str, delay: &str) {
    let device = format!("device = {{ emulate = 'volume', size = '64MiB'{delay} }}");
    let system = format!("name = 'killed one'\n{device}");
    bench.write_plan("", "duration = '1h'", &system);
    let volume = "/var/lib/tailmark/emulated/killed\\ one";
    let said = bench.done(&format!(
        "{before}\n$tailmark run plan.toml -o out & run=$!\n\
         until [ -e {volume}/device ] || ! kill -0 $run 2>/dev/null; do sleep 0.1; done\n\
         kill -9 $run; wait $run\nprocess=$(cat {volume}/process); kill -0 $process && echo it throttles still\n\
         $tailmark restore && ! kill -0 $process 2>/dev/null && ls -A /var/lib/tailmark/emulated\n\
         losetup --list | grep 'killed one'; exit 0"
    ));
    let words = [
        "it throttles still",
        "/var/lib/tailmark/emulated/killed one` is removed",
    ];
    assert_says(&said, &words);
    assert!(said.trim_end().ends_with("is removed"), "{said}");
}

#[test]
fn a_stop_ends_the_making_of_a_file_system_on_a_slow_volume_at_once() {
    need_emulation();
    let bench = Bench::new();
    let mount = bench.dir().join("mounted");
    bench.plan_of(&format!(
        "name = 'slow'\npath = '{mount}/data'\n\
         device = {{ emulate = 'volume', size = '64MiB', iops = 20 }}\n\
         [system.prepare]\nfilesystem = 'ext4'\nmount = '{mount}'",
        mount = mount.display()
    ));
    let said = bench.done(
        "$tailmark run plan.toml -o out > said 2>&1 & run=$!\n\
         until grep -q 'waiting until `mkfs' said; do kill -0 $run || break; sleep 0.1; done\n\
         kill -INT $run; began=$(date +%s); wait $run; echo ended with $?\n\
         echo after $(($(date +%s) - began)) s; cat said; ls /var/lib/tailmark/emulated; exit 0",
    );
    assert_says(
        &said,
        &["ended with 130", "waiting until `mkfs.ext4", "is removed"],
    );
    let after = said.split("after ").nth(1).unwrap();
    let seconds: u32 = after.split(' ').next().unwrap().parse().unwrap();
    assert!(seconds < 30, "{said}");
}

#[test]
fn the_second_stop_names_the_command_that_puts_back_what_is_left() {
    need_emulation();
    let bench = Bench::new();
    let device = "device = { emulate = 'volume', size = '64MiB' }";
    bench.write_plan("", "duration = '1h'", &format!("name = 'second'\n{device}"));
    let said = bench.done(
        "$tailmark run plan.toml -o out > said 2>&1 & run=$!\n\
         until [ -e /var/lib/tailmark/emulated/second/device ]; do\n\
         kill -0 $run || break; sleep 0.1; done\n\
         kill -STOP $run; kill -INT $run; kill -TERM $run; kill -CONT $run\n\
         wait $run; echo ended with $?; cat said; $tailmark restore; exit 0",
    );
    let words = [
        "ended with 130",
        "emulated/second` exists",
        "sudo tailmark restore",
    ];
    assert_says(&said, &words);
}
