//! A power cut: what a call has written is there on the disk that it leaves behind.
//!
//! The disk is an ext4 file system on a loop device. Its backing file holds what the file system
//! has sent to the device, and nothing of what is still in memory: a copy of it is what a power cut
//! at that instant leaves. Needs root and loop devices; without them the test is ignored.

#![expect(clippy::unwrap_used, reason = "the functions serve tests only")]

mod common;

use common::*;
use std::{
    ffi::OsStr,
    fs::{self, File},
    path::Path,
};
use tailmark_study::Study;
use tailmark_testing::{Mounted, make_ext4, test};
use tempfile::TempDir;

const DISK_BYTES: u64 = 32 << 20;
const POINTS: u32 = 6;

/// A disk whose power is cut by a copy of its image.
struct Disk {
    mounted: Mounted,
    dir: TempDir,
}

/// Mounts the file system that is in a file.
fn mount(image: &Path, directory: &Path) -> Mounted {
    Mounted::new(&[OsStr::new("-oloop"), image.as_ref()], directory)
}

impl Disk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("disk");
        File::create(&image).unwrap().set_len(DISK_BYTES).unwrap();
        make_ext4(&image);
        let mounted = mount(&image, &dir.path().join("mounted"));
        Self { mounted, dir }
    }

    /// Cuts the power, and hands what is left of a run directory to `look`.
    fn cut<T>(&self, run_directory: &str, look: impl FnOnce(&Path) -> T) -> T {
        let left = self.dir.path().join("left");
        fs::copy(self.dir.path().join("disk"), &left).unwrap();
        let mounted = mount(&left, &self.dir.path().join("after"));
        look(&mounted.path().join(run_directory))
    }
}

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn what_was_written_outlives_a_power_cut_the_instant_after() {
    let disk = Disk::new();
    let path = disk.mounted.path().join("new/run");
    let study = Study::create(&path, &header(), &systems()).unwrap();
    let points = || {
        disk.cut("new/run", |dir| {
            Study::open(dir).unwrap().point_keys().unwrap()
        })
    };
    assert_eq!(points(), []);
    for threads in 1..=POINTS {
        study.add_point(&point(threads, false)).unwrap();
        let expected: Vec<_> = (1..=threads).map(key).collect();
        assert_eq!(points(), expected);
    }
}
