//! Emulated volumes as block devices: how long a request takes, that data is in its place, and that
//! nothing of one is left. Needs root.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::PathBuf,
    process::Command,
    thread,
    time::{Duration, Instant},
};
use tailmark_prepare::{Volume, Watch, emulate, remove_emulated};
use tailmark_testing::{need_emulation, not_here, test};
use tempfile::TempDir;

/// Bytes of a volume.
const BYTES: u64 = 64 << 20;
/// Who writes at once, and how many requests each.
const CLIENTS: u64 = 16;
const EACH: u64 = 40;
/// Bytes of a request.
const BLOCK: usize = 4096;

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

struct Quiet;

impl Watch for Quiet {
    fn progress(&self, _: u64, _: u64) {}

    fn is_stopped(&self) -> bool {
        false
    }
}

/// A volume of a test's own, removed when dropped.
struct Emulated {
    directory: PathBuf,
    _dir: TempDir,
}

impl Emulated {
    fn new(volume: Volume) -> Self {
        need_emulation();
        if !rustix::process::geteuid().is_root() {
            not_here("root is needed");
        }
        let dir = tempfile::tempdir().unwrap();
        let directory = dir.path().join("a volume");
        emulate(&volume, &directory, &Quiet).unwrap();
        Self {
            directory,
            _dir: dir,
        }
    }

    /// Past the page cache.
    fn open(&self) -> File {
        let flags = rustix::fs::OFlags::DIRECT.bits().cast_signed();
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(flags);
        file.open(self.directory.join("device")).unwrap()
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        remove_emulated(&self.directory, &Quiet).unwrap();
    }
}

/// A buffer as a direct request needs it: a page, all of one byte.
fn with_page<T>(byte: u8, what: impl FnOnce(&mut [u8]) -> T) -> T {
    let mut bytes = vec![byte; 2 * BLOCK];
    let from = bytes.as_ptr().align_offset(BLOCK);
    what(&mut bytes[from..from + BLOCK])
}

/// The shortest of this many reads one after another.
fn shortest(file: &File, reads: u64) -> Duration {
    with_page(0, |page| {
        let read = |number| {
            let began = Instant::now();
            file.read_exact_at(page, number * BLOCK as u64).unwrap();
            began.elapsed()
        };
        (0..reads).map(read).min().unwrap()
    })
}

#[test]
fn a_directory_that_is_not_of_a_volume_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let (theirs, link) = (dir.path().join("theirs"), dir.path().join("link"));
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("image"), "precious").unwrap();
    std::os::unix::fs::symlink(&theirs, &link).unwrap();
    let volume = Volume {
        bytes: BYTES,
        ..Volume::default()
    };
    for place in [&theirs, &link] {
        let removed = remove_emulated(place, &Quiet);
        let why = std::error::Error::source(&removed.unwrap_err())
            .unwrap()
            .to_string();
        assert!(why.contains("did not create it for a volume"), "{why}");
        assert!(emulate(&volume, place, &Quiet).is_err());
        assert_eq!(fs::read(theirs.join("image")).unwrap(), b"precious");
    }
}

#[test]
fn a_delay_is_what_each_request_takes_at_least() {
    let delay = Duration::from_millis(20);
    let delayed = Emulated::new(Volume {
        bytes: BYTES,
        delay_ms: Some(20),
        ..Volume::default()
    });
    let plain = Emulated::new(Volume {
        bytes: BYTES,
        ..Volume::default()
    });
    let (slow, fast) = (shortest(&delayed.open(), 40), shortest(&plain.open(), 40));
    // No read is faster; the fastest of forty need not wait for others of this machine.
    assert!(slow >= delay && slow < 5 * delay, "{slow:?}");
    assert!(fast < delay, "{fast:?}");
}

#[test]
fn requests_wait_beside_each_other_within_the_limits_and_data_is_in_its_place() {
    let volume = Emulated::new(Volume {
        bytes: BYTES,
        iops: Some(400),
        delay_ms: Some(50),
        ..Volume::default()
    });
    let written = volume.open();
    let began = Instant::now();
    let write = &|client: u64| {
        for turn in 0..EACH {
            let number = turn * CLIENTS + client;
            let at = number * BLOCK as u64;
            with_page(number as u8, |page| written.write_all_at(page, at)).unwrap();
        }
    };
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            scope.spawn(move || write(number));
        }
    });
    let took = began.elapsed().as_secs_f64();
    let all = CLIENTS * EACH;
    // QEMU lets a tenth of a second of requests through at once.
    let shortest = (all as f64 - 0.1 * 400.0) / 400.0;
    assert!(
        took >= shortest * 0.95,
        "{took} s, and {shortest} s is the limit"
    );
    // One after another they would take the delay each.
    let one_by_one = all as f64 * 0.05;
    assert!(took < one_by_one / 2.0, "{took} s of {one_by_one} s");
    drop(written);
    let file = volume.open();
    for number in 0..all {
        with_page(0, |page| {
            file.read_exact_at(page, number * BLOCK as u64).unwrap();
            assert!(page.iter().all(|byte| *byte == number as u8), "{number}");
        });
    }
}

#[test]
fn nothing_of_a_volume_is_left_though_its_programs_were_killed() {
    let volume = Emulated::new(Volume {
        bytes: BYTES,
        delay_ms: Some(1),
        ..Volume::default()
    });
    let programs = ["process", "delaying", "showing"].map(|name| {
        let number = fs::read_to_string(volume.directory.join(name)).unwrap();
        PathBuf::from(format!("/proc/{}/exe", number.trim()))
    });
    for program in &programs {
        assert!(program.exists(), "{program:?}");
    }
    let process = programs[1].parent().unwrap().file_name().unwrap();
    let killed = Command::new("kill").arg("-9").arg(process).status();
    assert!(killed.unwrap().success());
    remove_emulated(&volume.directory, &Quiet).unwrap();
    assert!(!volume.directory.exists());
    for program in &programs {
        assert!(!program.exists(), "{program:?}");
    }
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let own = volume.directory.parent().unwrap().to_str().unwrap();
    assert!(!mounts.contains(own), "{mounts}");
}
