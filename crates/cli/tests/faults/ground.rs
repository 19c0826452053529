//! Where a round takes place: a small ext4 on a loop device, and a loop device beside it, whose
//! backing files can be copied as a power cut would leave them. Without root, a plain directory.
//!
//! What is in a backing file is what the kernel has written to the device; what the program wrote
//! and nobody synced is only in the page cache of the file system above it. The program is stopped
//! while the copy is made, and a copy during which the kernel wrote is made again: so both copies
//! are of one instant.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
    thread::sleep,
    time::Duration,
};

const DISK_BYTES: u64 = 256 << 20;
const DEVICE_BYTES: u64 = 64 << 20;
/// How often a copy is tried while the kernel writes.
const TRIES: u32 = 100;

pub struct Ground {
    dir: PathBuf,
    has_disk: bool,
    /// Held open, so that the loop device, which is to go with its last user, stays.
    device: Option<File>,
}

/// Why nothing can be mounted here, where that is so.
pub fn refusal() -> Option<&'static str> {
    if !tailmark_machine::is_root() {
        return Some("not root");
    }
    let found = |program: &str| Command::new(program).arg("-V").output().is_ok();
    match ["losetup", "mkfs.ext4", "mount"].iter().all(|p| found(p)) {
        false => Some("no losetup, mkfs.ext4 or mount"),
        true if !Path::new("/dev/loop-control").exists() => Some("no loop devices"),
        true => None,
    }
}

impl Ground {
    /// In an empty directory.
    pub fn new(dir: &Path, has_disk: bool, has_device: bool) -> Self {
        let mut ground = Self {
            dir: dir.to_owned(),
            has_disk,
            device: None,
        };
        fs::create_dir(ground.disk()).unwrap();
        if has_disk {
            make(&ground.image("disk"), DISK_BYTES);
            let quick = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
            let sizes = ["-m", "0", "-b", "4096", "-N", "4096", "-J", "size=4"];
            let disk = text(&ground.image("disk"));
            let made = [&["-q", "-F", "-E", quick][..], &sizes, &[&disk]].concat();
            run("mkfs.ext4", &made);
            ground.mount();
        }
        if has_device {
            make(&ground.image("device"), DEVICE_BYTES);
            stamp(&ground.image("device"));
            ground.attach();
        }
        ground
    }

    /// The root of the file system.
    pub fn disk(&self) -> PathBuf {
        self.dir.join("disk")
    }

    /// A name of the device that stays the same.
    pub fn device(&self) -> PathBuf {
        self.dir.join("device")
    }

    fn image(&self, part: &str) -> PathBuf {
        self.dir.join(format!("{part}.image"))
    }

    fn mount(&self) {
        let (image, disk) = (self.image("disk"), self.disk());
        run(
            "mount",
            &["-o", "loop,noatime", &text(&image), &text(&disk)],
        );
    }

    fn attach(&mut self) {
        let image = self.image("device");
        let device = run("losetup", &["--find", "--show", &text(&image)]);
        let device = device.trim();
        let _ = fs::remove_file(self.device());
        std::os::unix::fs::symlink(device, self.device()).unwrap();
        self.device = Some(File::open(device).unwrap());
        run("losetup", &["-d", device]);
    }

    /// Makes what was written so far outlive a power cut.
    pub fn sync(&self) {
        run("sync", &["-f", &text(&self.disk())]);
    }

    /// Takes all the room that the file system has left, but so many bytes.
    pub fn fill(&self, leave: u64) {
        let file = File::create(self.filler()).unwrap();
        let (mut at, mut step) = (0, DISK_BYTES);
        let flags = rustix::fs::FallocateFlags::empty();
        while step >= 4096 {
            match rustix::fs::fallocate(&file, flags, at, step) {
                Ok(()) => at += step,
                Err(_) => step /= 2,
            }
        }
        file.set_len(at.saturating_sub(leave)).unwrap();
        file.sync_all().unwrap();
    }

    /// Gives it back.
    pub fn clear(&self) {
        let _ = fs::remove_file(self.filler());
    }

    fn filler(&self) -> PathBuf {
        self.disk().join("filler")
    }

    /// Copies what is on the devices at one instant; the program is stopped.
    pub fn take_image(&self) {
        for _ in 0..TRIES {
            let before = self.writes();
            for part in self.parts() {
                let (from, to) = (self.image(part), self.image(&format!("{part}.cut")));
                run("cp", &["--sparse=always", &text(&from), &text(&to)]);
            }
            if self.writes() == before && !before.contains("busy") {
                return;
            }
            sleep(Duration::from_millis(5));
        }
        panic!("the kernel does not stop to write to the devices of a program that is stopped");
    }

    /// Goes on from the copies; the program has ended.
    pub fn cut_power(&mut self) {
        if self.has_disk {
            self.unmount();
        }
        let had_device = self.device.take().is_some();
        for part in self.parts() {
            fs::rename(self.image(&format!("{part}.cut")), self.image(part)).unwrap();
        }
        if self.has_disk {
            self.mount();
        }
        if had_device {
            self.attach();
        }
    }

    fn parts(&self) -> impl Iterator<Item = &'static str> {
        let parts = [
            ("disk", self.has_disk),
            ("device", self.image("device").exists()),
        ];
        parts.into_iter().filter(|(_, is)| *is).map(|(p, _)| p)
    }

    /// The kernel's counts of what it wrote, `busy` where it is about to.
    fn writes(&self) -> String {
        let disk = self
            .has_disk
            .then(|| fs::metadata(self.disk()).unwrap().dev());
        let device = self.device.as_ref().map(|d| d.metadata().unwrap().rdev());
        let count = |number: u64| {
            let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
            let stat = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat")).unwrap();
            let words: Vec<_> = stat.split_whitespace().collect();
            let busy = if words[8] == "0" { "" } else { "busy" };
            format!("{} {} {busy}", words[4], words[6])
        };
        disk.into_iter().chain(device).map(count).collect()
    }

    fn unmount(&self) {
        let disk = text(&self.disk());
        // What looks at all mounts of the machine may hold it for a moment.
        for _ in 0..TRIES {
            let done = Command::new("umount").arg(&disk).output().unwrap();
            if done.status.success() {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        run("umount", &["--lazy", &disk]);
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.device = None;
        if self.has_disk {
            self.unmount();
        }
    }
}

fn make(path: &Path, bytes: u64) {
    File::create(path).unwrap().set_len(bytes).unwrap();
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Runs a command of the system, which has to succeed.
fn run(program: &str, words: &[&str]) -> String {
    let done = Command::new(program).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {words:?}: {said}");
    String::from_utf8(done.stdout).unwrap()
}

/// Writes a file of the round, whole.
pub fn write(path: &Path, text: &str) {
    let mut file = File::create(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Stamps what is a device later, as an earlier run of other data would: it is overwritten without
/// consent.
fn stamp(image: &Path) {
    let marker = r#"{"version":1,"data":{},"started":"","loaded":0,"complete":false}"#;
    let file = File::options().read(true).write(true).open(image);
    tailmark_driver::db::stamp::stamp(&file.unwrap(), marker).unwrap();
}
