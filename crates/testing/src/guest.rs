//! A whole emulated machine for a test: a kernel, an initial file system with one program and its
//! libraries, and NVMe drives backed by files here.
//!
//! The test program runs itself in it, as root, and writes to the serial line. It has no network
//! and no disk of this machine. Without the emulator or a kernel the test is ignored.

use crate::{not_here, not_installed};
use std::{
    env, fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

const EMULATOR: &str = "qemu-system-x86_64";
/// How long the guest may run. It boots in ten seconds if processors are idle.
const LIFE: Duration = Duration::from_secs(240);
/// The prefix of the program's lines on the serial line, which the kernel uses too.
const MARK: &str = "guest: ";

/// Prints a line that [`run_in_guest`] returns; called in the guest.
#[expect(clippy::print_stdout, reason = "the serial line is all that leads out")]
pub fn say(line: &str) {
    println!("{MARK}{line}");
}

/// Boots a guest with NVMe drives of these sizes in bytes, runs a program in it with these
/// arguments, and returns its lines of output.
///
/// # Panics
/// If the guest cannot be created, or does not end in time.
pub fn run_in_guest(program: &Path, arguments: &[&str], drives: &[u64]) -> Vec<String> {
    let namespaces: Vec<&[u64]> = drives.iter().map(std::slice::from_ref).collect();
    let guest = Guest {
        program,
        arguments,
        tools: &[],
        drives: &namespaces,
    };
    guest.run()
}

/// A guest that is to be booted.
#[derive(Debug)]
pub struct Guest<'a> {
    /// The program that runs in it.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [&'a str],
    /// Programs of this machine that are in its `/bin`, each with its package.
    pub tools: &'a [(&'a str, &'a str)],
    /// Of each NVMe drive, the bytes of each namespace; its serial number is `guest0`, `guest1`, ...
    pub drives: &'a [&'a [u64]],
}

impl Guest<'_> {
    /// Boots it, runs the program, and returns its lines of output.
    ///
    /// # Panics
    /// If the guest cannot be created, or does not end in time.
    pub fn run(&self) -> Vec<String> {
        for (tool, package) in self.tools {
            if find(tool).is_none() {
                not_installed(format!("{tool} is missing: apt-get install {package}"));
            }
        }
        boot(self)
    }
}

fn boot(guest: &Guest<'_>) -> Vec<String> {
    let kernel = parts();
    let dir = tempfile::tempdir().expect("there is a temporary directory");
    let root = dir.path().join("root.cpio");
    fs::write(&root, initial_root(guest)).expect("it has room");
    let mut command = Command::new(EMULATOR);
    command.args(["-accel", "tcg", "-cpu", "max", "-m", "512", "-nic", "none"]);
    command.args([
        "-nodefaults",
        "-display",
        "none",
        "-serial",
        "stdio",
        "-no-reboot",
    ]);
    command.args(["-append", "console=ttyS0 quiet panic=-1"]);
    command.arg("-kernel").arg(kernel).arg("-initrd").arg(&root);
    for (index, namespaces) in guest.drives.iter().enumerate() {
        command.args(["-device", &format!("nvme,serial=guest{index},id=n{index}")]);
        for (number, bytes) in (1..).zip(*namespaces) {
            let name = format!("d{index}n{number}");
            let file = dir.path().join(&name);
            let made = fs::File::create(&file).and_then(|file| file.set_len(*bytes));
            made.expect("a file without blocks has room");
            let path = file.display();
            command.args([
                "-drive",
                &format!("file={path},format=raw,if=none,id={name}"),
            ]);
            command.args([
                "-device",
                &format!("nvme-ns,bus=n{index},nsid={number},drive={name}"),
            ]);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let child = command.spawn().expect("the emulator is there");
    heard(Emulator(child))
}

/// The kernel, if all parts of a guest are there.
fn parts() -> PathBuf {
    if !cfg!(target_arch = "x86_64") {
        not_here("the guest is an x86_64 machine, and runs this program");
    }
    for (program, package) in [(EMULATOR, "qemu-system-x86"), ("busybox", "busybox-static")] {
        let mut help = Command::new(program);
        help.arg("--help")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let found = help.status();
        if found.is_err() {
            not_installed(format!("{program} is missing: apt-get install {package}"));
        }
    }
    let home = || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cache");
    let cache = env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    let boot = cache.join("tailmark/kernel/boot");
    let files = fs::read_dir(&boot).into_iter().flatten().flatten();
    let is_kernel = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("vmlinuz-")
    };
    match files.map(|file| file.path()).find(is_kernel) {
        Some(kernel) => kernel,
        None => not_installed(format!("there is no kernel in `{}`", boot.display())),
    }
}

/// The emulator, ended when this is dropped.
struct Emulator(Child);

impl Drop for Emulator {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The program's output, once the guest has switched itself off.
fn heard(mut emulator: Emulator) -> Vec<String> {
    let serial = emulator.0.stdout.take().expect("it is a pipe");
    let (done, wait) = mpsc::channel();
    let reader = thread::spawn(move || {
        let lines = text(serial);
        let _ = done.send(());
        lines
    });
    let ended = wait.recv_timeout(LIFE);
    drop(emulator);
    let all = reader.join().expect("lines are read without a panic");
    assert!(ended.is_ok(), "the guest did not end: {all:#?}");
    let said = all.iter().filter_map(|line| line.split_once(MARK));
    let said: Vec<String> = said.map(|(_, said)| said.to_owned()).collect();
    assert!(!said.is_empty(), "the program said nothing: {all:#?}");
    said
}

fn text(serial: impl Read) -> Vec<String> {
    let lines = BufReader::new(serial).split(b'\n').map_while(Result::ok);
    lines
        .map(|line| String::from_utf8_lossy(&line).trim_end().to_owned())
        .collect()
}

/// The initial file system: an archive in the form `newc` of cpio
/// (`Documentation/driver-api/early-userspace/buffer-format.rst`).
fn initial_root(guest: &Guest<'_>) -> Vec<u8> {
    let Guest {
        program, arguments, ..
    } = guest;
    let mut archive = Archive::default();
    for directory in ["bin", "dev", "proc", "sys", "tmp"] {
        archive.directory(directory);
    }
    let busybox = which("busybox");
    archive.file("bin/busybox", &fs::read(&busybox).expect("it can be read"));
    archive.file("bin/program", &fs::read(program).expect("it can be read"));
    let mut needed = [libraries(program), libraries(&busybox)].concat();
    for (tool, _) in guest.tools {
        let path = find(tool).expect("it was looked for before");
        archive.file(
            &format!("bin/{tool}"),
            &fs::read(&path).expect("it can be read"),
        );
        needed.extend(libraries(&path));
    }
    for name in needed {
        let library = fs::read(Path::new("/").join(&name)).expect("ldd names files");
        archive.file(&name, &library);
    }
    let init = format!(
        "#!/bin/busybox sh\nexport PATH=/bin\nb=/bin/busybox\n$b mount -t devtmpfs d /dev\n$b mount -t proc p /proc\n\
         $b mount -t sysfs s /sys\n($b sleep {life}; $b poweroff -f) &\n\
         /bin/program {arguments}\n$b poweroff -f\n",
        life = LIFE.as_secs(),
        arguments = arguments.join(" ")
    );
    archive.file("init", init.as_bytes());
    archive.end()
}

fn which(program: &str) -> PathBuf {
    find(program).expect("it was run before")
}

/// The path of a program, including `/usr/sbin`, which not every user has in the path.
fn find(program: &str) -> Option<PathBuf> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let paths = env::split_paths(&paths).chain(["/usr/sbin".into(), "/sbin".into()]);
    let mut found = paths.map(|dir| dir.join(program));
    found.find(|path| path.exists())
}

/// The libraries that a program loads, as paths without the first slash; empty for a static one.
fn libraries(program: &Path) -> Vec<String> {
    let output = Command::new("ldd")
        .arg(program)
        .output()
        .expect("ldd is there");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    words
        .map(|path| path.trim_start_matches('/').to_owned())
        .collect()
}

#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    names: Vec<String>,
}

impl Archive {
    fn directory(&mut self, name: &str) {
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
            self.entry(name, 0o040_755, &[]);
        }
    }

    /// A file that can be run, and the directories above it.
    fn file(&mut self, name: &str, content: &[u8]) {
        if self.names.iter().any(|known| known == name) {
            return;
        }
        for (at, _) in name.match_indices('/') {
            self.directory(&name[..at]);
        }
        self.names.push(name.to_owned());
        self.entry(name, 0o100_755, content);
    }

    fn entry(&mut self, name: &str, mode: usize, content: &[u8]) {
        let number = self.names.len();
        // Number, mode, owner (2), links, time, size, device (4), length of the name, checksum.
        let size = (content.len(), name.len() + 1);
        let fields = [number, mode, 0, 0, 1, 0, size.0, 0, 0, 0, 0, size.1, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes
                .extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
    }

    fn end(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }
}
