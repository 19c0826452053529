//! Preparing by the whole program, on loop devices: in a mount namespace and with a journal of the
//! test's own. Needs root; without it the tests are ignored.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use tailmark_host::prepare::Uses;
use tailmark_testing::{LoopDevice, Program, err, not_here, out, test};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));
const BYTES: u64 = 64 << 20;

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

/// A loop device, and a directory for a study and a journal.
struct Bench {
    device: LoopDevice,
    image: PathBuf,
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir(top.join("state")).unwrap();
        let image = top.join("image");
        let device = LoopDevice::new(&image, BYTES);
        Self { device, image, dir }
    }

    fn dir(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn serial(&self) -> &str {
        self.image.to_str().unwrap()
    }

    /// Writes a plan whose system is on this device.
    fn plan(&self, prepare: &str, more: &str) {
        let mount = self.dir().join("mounted");
        let text = format!(
            "same_device = true\n{more}\n[database]\ndriver = 'file'\n[dataset]\nrecords = 200\n\
             [sweep]\nworkloads = 'ycsb-c'\nthreads = 1\noperations = 100\nwarmup = '0s'\n\
             [[system]]\nname = 'disk'\npath = '{mount}/data'\n[system.prepare]\n\
             device = '{device}'\n{prepare}\n",
            mount = mount.display(),
            device = self.device.path().display(),
        );
        fs::write(self.dir().join("plan.toml"), text).unwrap();
    }

    /// What makes and mounts a file system here.
    fn file_system(&self) -> String {
        let mount = self.dir().join("mounted");
        format!(
            "erase = 'discard'\nfilesystem = 'ext4'\nmount_options = 'noatime'\nmount = '{}'\n",
            mount.display()
        )
    }

    /// Runs a script in namespaces of its own, with the program as `$tailmark`, and with what is
    /// here as `/var/lib`.
    fn script(&self, script: &str) -> Output {
        let unseen = Uses::look().unseen().to_vec();
        let unseen = unseen.iter().map(|of| format!("--unseen={}", of.name));
        let unseen: Vec<_> = unseen.collect();
        let before = "mount --make-rprivate / && mount --bind state /var/lib && exec 2>&1\n";
        let output = Command::new("unshare")
            .args(["--mount", "--net", "sh", "-c", &format!("{before}{script}")])
            .env("tailmark", TAILMARK.0)
            .env("unseen", unseen.join(" "))
            .env("serial", self.serial())
            .env("device", self.device.path())
            .current_dir(self.dir())
            .stdin(Stdio::null())
            .output();
        match output {
            Ok(output) if err(&output).starts_with("unshare:") => not_here(err(&output)),
            Ok(output) => output,
            Err(why) => not_here(why),
        }
    }

    /// The same; what it said, when it has succeeded.
    fn done(&self, script: &str) -> String {
        let output = self.script(script);
        assert_eq!(output.status.code(), Some(0), "{}", out(&output));
        out(&output)
    }

    /// What is stored in the image at a place that only data is at.
    fn sample(&self) -> [u8; 4] {
        let mut bytes = [0; 4];
        File::open(&self.image)
            .unwrap()
            .read_exact_at(&mut bytes, 32 << 20)
            .unwrap();
        bytes
    }

    fn put_data(&self) {
        let file = fs::OpenOptions::new()
            .write(true)
            .open(self.device.path())
            .unwrap();
        file.write_all_at(b"mine", 32 << 20).unwrap();
        file.sync_all().unwrap();
    }

    fn facts(&self) -> Vec<(String, String)> {
        let facts = TAILMARK.exported(&self.dir(), "facts");
        let of = facts.iter().filter(|fact| fact["group"] == "preparation");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        of.map(|fact| (text(&fact["name"]), text(&fact["value"])))
            .collect()
    }
}

fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{said}\nlacks {part}");
    }
}

#[test]
fn a_dry_run_says_every_command_and_what_speaks_against_it_and_touches_nothing() {
    let bench = Bench::new();
    bench.plan(
        &format!("{}precondition = 2\n", bench.file_system()),
        "[prepare]\nsysctls = ['net.ipv4.ip_default_ttl=77']",
    );
    bench.put_data();
    let said = bench.done("$tailmark device prepare plan.toml --system disk --dry-run");
    let device = bench.device.name();
    let words = [
        &format!("erase: BLKDISCARD of 0 to {BYTES} on /dev/{device}"),
        "precondition: ",
        &format!("filesystem: mkfs.ext4 -q -L tailmark /dev/{device}"),
        &format!("mount: mount -t ext4 -o noatime /dev/{device} "),
        "undone: umount",
        &format!(
            "against it (serial): its serial number is `{}`",
            bench.serial()
        ),
        "against it (signatures): ",
        "--destroy data:",
    ];
    assert_says(&said, &words);
    assert!(!said.contains("ip_default_ttl"), "{said}");
    let said = bench.done("$tailmark run plan.toml -o out --dry-run; test ! -e out");
    assert_says(&said, &words);
    assert_says(
        &said,
        &["sysctls: echo '77' > /proc/sys/net/ipv4/ip_default_ttl"],
    );
    assert_eq!(bench.sample(), *b"mine");
    // What is made when a run begins is not missed before.
    let said =
        bench.done("$tailmark run rehearsal --dry-run; test ! -e /var/lib/tailmark/emulated");
    assert_says(
        &said,
        &["emulate: qemu-storage-daemon ", "x-iops-total=400"],
    );
    assert!(!said.contains("there is no block device"), "{said}");
}

#[test]
fn nothing_is_erased_without_the_serial_number_or_for_another_one() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    bench.put_data();
    for (flags, words) in [
        ("", "--erase"),
        (
            "--erase yes",
            "--erase yes: no device that the plan prepares",
        ),
        ("--erase $serial $unseen", "--destroy data:"),
        (
            "--erase $serial $unseen --destroy data:0",
            "--destroy data:",
        ),
    ] {
        let command = format!("$tailmark device prepare plan.toml --system disk {flags}");
        let output = bench.script(&command);
        assert_eq!(output.status.code(), Some(2), "{}", out(&output));
        assert_says(&out(&output), &[words]);
        let run = format!("$tailmark run plan.toml -o out {flags}");
        let output = bench.script(&run);
        assert_ne!(output.status.code(), Some(0), "{}", out(&output));
        assert!(!bench.dir().join("out/study.sqlite").exists());
    }
    assert_eq!(bench.sample(), *b"mine");
}

#[test]
fn a_run_prepares_its_device_once_and_goes_on_with_it() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    let run = "$tailmark run plan.toml -o out --erase $serial $unseen";
    let said = bench.done(&format!("{run} || exit 1\nmount | grep $device\nexit 0"));
    assert_says(&said, &["is unmounted"]);
    assert!(!said.contains(" type ext4 "), "{said}");
    let steps = ["erase", "filesystem", "mount"];
    for step in steps {
        let (begins, is_done) = (format!("{step} begins"), format!("{step} is done"));
        assert_says(&said, &[&begins, &is_done]);
    }
    let facts = bench.facts();
    let names: Vec<_> = facts.iter().map(|(name, _)| name.as_str()).collect();
    for step in steps {
        assert!(names.contains(&step), "{facts:?}");
    }
    let log = fs::read_to_string(bench.dir().join("state/tailmark/prepare.log")).unwrap();
    assert_says(
        &log,
        &["erase begins: BLKDISCARD", "erase is done", "is unmounted"],
    );
    // The same command again finds its data, and nothing is erased.
    let said = bench.done(run);
    let words = [
        "system `disk` has begun: it is not prepared again",
        "everything was measured",
    ];
    assert_says(&said, &words);
    assert!(
        !said.contains("erase begins") && said.contains("mount is done"),
        "{said}"
    );
    // Nor is it where the study is of another plan.
    let other = bench.script(&format!("{run} --set sweep.threads=2"));
    assert_eq!(other.status.code(), Some(2), "{}", out(&other));
    assert_says(&out(&other), &["a study of another plan"]);
    assert!(!out(&other).contains("begins"), "{}", out(&other));
    // And so does a run without consent, of a study of its own.
    let said = bench.done("$tailmark run plan.toml -o second");
    assert_says(
        &said,
        &["measured on what is there", "--erase", "mount is done"],
    );
}

#[test]
fn a_raw_device_is_measured_as_it_is_and_our_own_data_set_is_erased_by_its_serial_number_alone() {
    let bench = Bench::new();
    let plan = format!(
        "[database]\ndriver = 'file'\n[dataset]\nrecords = 200\n[sweep]\nworkloads = 'ycsb-c'\n\
         threads = 1\noperations = 100\nwarmup = '0s'\n[[system]]\nname = 'disk'\n\
         device = '{}'\nprepare = {{ erase = 'discard', precondition = 1 }}\n",
        bench.device.path().display()
    );
    fs::write(bench.dir().join("plan.toml"), plan).unwrap();
    let said = bench.done("$tailmark run plan.toml -o first");
    assert_says(&said, &["is measured on what is there", "1 point measured"]);
    // Nothing is changed that would have to be put back.
    assert!(!bench.dir().join("state/tailmark/changes.json").exists());
    let dry = "$tailmark device prepare plan.toml --system disk --dry-run --erase $serial $unseen";
    assert_says(&bench.done(dry), &["nothing speaks against it"]);
    let said = bench.done("$tailmark run plan.toml -o out --erase $serial $unseen");
    let words = [
        "erase is done",
        "precondition is done",
        "loaded 200 records",
        "no errors",
    ];
    assert_says(&said, &words);
    // The end of the device, which no record is at, was written with random data.
    assert_ne!(bench.sample(), [0; 4]);
}

#[test]
fn a_device_that_was_prepared_is_mounted_until_it_is_prepared_again() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    let prepare = "$tailmark device prepare plan.toml --system disk --erase $serial $unseen";
    let said = bench.done(&format!(
        "{prepare} && echo hello > mounted/file && {prepare} && ls mounted && mount | grep $device"
    ));
    assert_says(&said, &["unmount begins", " (rw,noatime)", "lost+found"]);
    assert!(!said.lines().any(|line| line == "file"), "{said}");
}

#[test]
fn a_file_system_of_somebody_else_in_the_place_of_ours_is_neither_erased_nor_unmounted() {
    let bench = Bench::new();
    bench.plan(&bench.file_system(), "");
    bench.device.make_ext4();
    let said = bench.done(
        "mkdir mounted && mount $device mounted && echo hello > mounted/file\n\
         $tailmark device prepare plan.toml --system disk --erase $serial $unseen\n\
         echo ended with $? && cat mounted/file",
    );
    assert_says(&said, &["--destroy ext4:", "ended with 2", "hello"]);
}

#[test]
fn what_a_killed_run_has_changed_is_put_back_by_restore_and_by_the_next_run() {
    let bench = Bench::new();
    let settings = "[prepare]\nsysctls = ['net.ipv4.ip_default_ttl=77']";
    bench.plan(&bench.file_system(), settings);
    let value = "cat /proc/sys/net/ipv4/ip_default_ttl";
    let killed = format!(
        "$tailmark run plan.toml -o out --erase $serial $unseen --set sweep.duration=1h \
         --set sweep.operations=1000000000 & run=$!\n\
         until [ \"$({value})\" = 77 ] || ! kill -0 $run 2>/dev/null; do sleep 0.1; done\n\
         kill -9 $run; wait $run\necho killed at $({value})\n\
         mount | grep -c $device\n"
    );
    let said = bench.done(&format!(
        "{killed}$tailmark restore && echo restored to $({value})\nmount | grep -c $device\n\
         echo and nothing is left: $($tailmark restore 2>&1)"
    ));
    assert_says(
        &said,
        &["killed at 77\n1\n", "is unmounted\n", "restored to 64\n0\n"],
    );
    assert!(said.ends_with("and nothing is left:\n"), "{said}");
    // One that is stopped puts it back itself.
    let stopped = killed
        .replace("kill -9", "kill -TERM")
        .replace("-o out", "-o stopped");
    let said = bench.done(&format!("{stopped}exit 0"));
    assert_says(
        &said,
        &["ip_default_ttl is 77", "is unmounted", "killed at 64\n0\n"],
    );
    // A run that ends by itself puts back what it and the killed one have changed.
    let said = bench.done(&format!(
        "{killed}$tailmark run plan.toml -o second\necho ended with $? at $({value})\n\
         ! mount | grep $device"
    ));
    assert_says(&said, &["killed at 77\n1\n", "ended with 0 at 64\n"]);
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

fn need_throttle() {
    let help = Command::new("qemu-storage-daemon")
        .arg("--version")
        .output();
    if help.is_err() {
        tailmark_testing::not_installed("qemu-storage-daemon is missing: qemu-system-common");
    }
    if !Path::new("/dev/fuse").exists() {
        not_here("there is no /dev/fuse");
    }
}

#[test]
fn the_rehearsal_finds_the_limits_of_its_volumes_and_ranks_them() {
    need_throttle();
    let bench = Bench::new();
    let said = bench.done(
        "$tailmark run rehearsal -o out --set sweep.repeats=1\n\
         ls -A state/tailmark/emulated; losetup --list; mount | grep emulated; exit 0",
    );
    assert!(!said.contains("(deleted)") && !said.contains("emulated/1000 a second/export 0"));
    // The digest of the report: who is ahead.
    assert_says(&said, &["1000 a second peaks higher than 400 a second"]);
    // Every read is compared with what was written.
    for point in TAILMARK.points(&bench.dir()) {
        let findings = point["findings"].to_string();
        assert!(!findings.contains("\"errors\""), "{findings}");
    }
    let mut peaks = peaks(&bench);
    peaks.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(slow, low), (fast, high)] = &peaks[..] else {
        panic!("{peaks:?}");
    };
    assert_eq!(
        (slow.as_str(), fast.as_str()),
        ("400 a second", "1000 a second")
    );
    for (found, limit) in [(low, 400.0), (high, 1000.0)] {
        assert!((found / limit - 1.0).abs() < 0.05, "{peaks:?}");
    }
    assert!((high / low / 2.5 - 1.0).abs() < 0.1, "{peaks:?}");
    let left: Vec<_> = fs::read_dir(bench.dir().join("state/tailmark/emulated"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!said.contains("type fuse"), "{said}");
}

#[test]
fn a_file_system_is_made_on_an_emulated_volume_without_a_serial_number() {
    need_throttle();
    let bench = Bench::new();
    let mount = bench.dir().join("mounted");
    let plan = format!(
        "[database]\ndriver = 'file'\n[dataset]\nrecords = 200\n[sweep]\nworkloads = 'ycsb-c'\n\
         threads = 1\noperations = 100\nwarmup = '0s'\n[[system]]\nname = 'disk'\n\
         path = '{mount}/data'\ndevice = {{ emulate = 'volume', size = '64MiB', iops = 2000 }}\n\
         [system.prepare]\nfilesystem = 'ext4'\nmount = '{mount}'\n",
        mount = mount.display()
    );
    fs::write(bench.dir().join("plan.toml"), plan).unwrap();
    let said =
        bench.done("$tailmark run plan.toml -o out $unseen || exit 1\nmount | grep disk; exit 0");
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
fn an_emulated_volume_is_removed_after_a_kill_with_the_program_behind_it() {
    need_throttle();
    let bench = Bench::new();
    let plan = "[database]\ndriver = 'file'\n[dataset]\nrecords = 200\n[sweep]\nworkloads = 'ycsb-c'\n\
                threads = 1\nduration = '1h'\nwarmup = '0s'\n[[system]]\nname = 'killed one'\n\
                device = { emulate = 'volume', size = '64MiB' }\n";
    fs::write(bench.dir().join("plan.toml"), plan).unwrap();
    let volume = "/var/lib/tailmark/emulated/killed\\ one";
    let said = bench.done(&format!(
        "$tailmark run plan.toml -o out & run=$!\n\
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
fn without_anything_to_prepare_a_serial_number_is_refused_and_a_system_too() {
    let dir = tempfile::tempdir().unwrap();
    let plan = format!(
        "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\npath = '{}'\n",
        Path::new("/nowhere").display()
    );
    fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let run = TAILMARK.run(
        dir.path(),
        &["run", "plan.toml", "-o", "out", "--erase", "S-1"],
    );
    assert_eq!(run.status.code(), Some(2), "{}", err(&run));
    assert!(err(&run).contains("--erase S-1"), "{}", err(&run));
    let words = ["device", "prepare", "plan.toml", "--system", "a"];
    let refused = TAILMARK.run(dir.path(), &words);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(
        err(&refused).contains("names no device"),
        "{}",
        err(&refused)
    );
}
