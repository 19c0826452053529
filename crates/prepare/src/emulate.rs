//! A block device of limited speed: a file behind a throttle, as a loop device.
//!
//! `qemu-storage-daemon` holds every request to its limits, whoever sends it and through any cache,
//! and exposes the file by FUSE. A loop device makes it a block device. A throttle limits rates but
//! adds no delay. For a delay per request it passes requests on to `nbdkit`, whose filter delays
//! each of them, and `nbdfuse` exposes the result. This needs root and FUSE, but no kernel module.
//! Everything is in one directory. With it, any process can remove the device, even after its
//! creator was killed.

use super::{
    Error, Watch,
    command::{line, run},
    ioctl, real_path, state,
    watch::{Unwatched, Waited, wait_until},
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io,
    os::unix::{
        fs::{MetadataExt, symlink},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};
use tailmark_machine::{BlockDevice, mount, sysfs};

/// The program that throttles (Debian: qemu-system-common).
const PROGRAM: &str = "qemu-storage-daemon";
/// The text of a directory's mark.
const MARKED: &str = "tailmark: an emulated volume\n";
/// How long a volume may take to appear and to disappear.
const PATIENCE: Duration = Duration::from_secs(30);
/// Names in the directory of a volume.
const MARK: &str = "tailmark";
const IMAGE: &str = "image";
const EXPORT: &str = "export";
const PROCESS: &str = "process";
const DEVICE: &str = "device";
const CONTROL: &str = "control";
/// For a volume with delays: the limited part, the delayed part, and their programs.
const LIMITED: &str = "limited";
const DELAYED: &str = "delayed";
const DELAYING: &str = "delaying";
const SHOWING: &str = "showing";
/// The program that delays, and the one that exposes it by FUSE (Debian: nbdkit, libnbd-bin).
const DELAYER: &str = "nbdkit";
const SHOWER: &str = "nbdfuse";
/// Requests that may wait at once.
const DELAYED_MAX: u32 = 256;

/// The properties of a volume. Limits apply to reads and writes together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Bytes.
    pub bytes: u64,
    /// Requests per second.
    pub iops: Option<u64>,
    /// Bytes per second.
    pub bandwidth: Option<u64>,
    /// Requests per second during a burst.
    pub burst_iops: Option<u64>,
    /// How long a burst may last after an idle time, seconds.
    pub burst_seconds: Option<u64>,
    /// The additional delay of each request, milliseconds, whatever the limits.
    pub delay_ms: Option<u64>,
}

/// The file that the block device of a volume is over, by which it is known. The device itself is the
/// link `device` beside it.
#[must_use]
pub fn emulated_file(directory: &Path) -> PathBuf {
    real_path(directory).join(EXPORT)
}

/// The commands that make a volume, in order.
#[must_use]
pub fn plan_emulate(volume: &Volume, directory: &Path) -> Vec<String> {
    let directory = &real_path(directory);
    let path = |name: &str| directory.join(name).display().to_string();
    let words = |words: &[&str]| line(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
    let (bytes, image, export) = (volume.bytes.to_string(), path(IMAGE), path(EXPORT));
    let mut commands = vec![
        words(&["mkdir", "-p", &directory.display().to_string()]),
        words(&["truncate", "--size", &bytes, &image]),
        words(&["touch", &export]),
        line(&throttle_command(volume, directory)),
    ];
    match volume.delay_ms {
        Some(delay) => {
            commands.push(line(&delay_command(delay, directory)));
            commands.push(format!("{} &", line(&show_command(directory))));
        }
        None => commands.push(format!(
            "1 as max_background and congestion_threshold of the FUSE connection of {export}"
        )),
    }
    commands.push(line(&loop_command(&export)));
    commands
}

/// The command that throttles the file of a volume.
fn throttle_command(volume: &Volume, directory: &Path) -> Vec<String> {
    let path = |name: &str| directory.join(name).display().to_string();
    let mut limits = "throttle-group,id=limits".to_owned();
    let mut limit = |key: &str, value: Option<u64>| {
        if let Some(value) = value {
            limits.push_str(&format!(",{key}={value}"));
        }
    };
    limit("x-iops-total", volume.iops);
    limit("x-bps-total", volume.bandwidth);
    limit("x-iops-total-max", volume.burst_iops);
    limit("x-iops-total-max-length", volume.burst_seconds);
    let export = match volume.delay_ms {
        Some(_) => {
            let socket = path(LIMITED);
            vec![
                "--nbd-server".to_owned(),
                format!("addr.type=unix,addr.path={socket},max-connections=0"),
                "--export".to_owned(),
                format!("type=nbd,id=export,node-name=throttled,writable=on,name={IMAGE}"),
            ]
        }
        None => vec![
            "--export".to_owned(),
            format!(
                "type=fuse,id=export,node-name=throttled,writable=on,mountpoint={}",
                path(EXPORT)
            ),
        ],
    };
    let before = [
        PROGRAM.to_owned(),
        "--blockdev".to_owned(),
        format!(
            "driver=file,node-name=file,discard=unmap,filename={}",
            path(IMAGE)
        ),
        "--object".to_owned(),
        limits,
        "--blockdev".to_owned(),
        "driver=throttle,node-name=throttled,throttle-group=limits,file=file".to_owned(),
    ];
    let behind = ["--daemonize", "--pidfile"].map(str::to_owned);
    let all = [&before[..], &export[..], &behind[..], &[path(PROCESS)]];
    all.concat()
}

/// The command that lets each request wait.
fn delay_command(delay_ms: u64, directory: &Path) -> Vec<String> {
    let path = |name: &str| directory.join(name).display().to_string();
    vec![
        DELAYER.to_owned(),
        "--unix".to_owned(),
        path(DELAYED),
        "--pidfile".to_owned(),
        path(DELAYING),
        format!("--threads={DELAYED_MAX}"),
        "--filter=delay".to_owned(),
        "nbd".to_owned(),
        format!("socket={}", path(LIMITED)),
        format!("export={IMAGE}"),
        format!("rdelay={delay_ms}ms"),
        format!("wdelay={delay_ms}ms"),
    ]
}

/// The command that exposes the delayed volume as a file.
fn show_command(directory: &Path) -> Vec<String> {
    let path = |name: &str| directory.join(name).display().to_string();
    vec![
        SHOWER.to_owned(),
        "--pidfile".to_owned(),
        path(SHOWING),
        path(EXPORT),
        "--unix".to_owned(),
        path(DELAYED),
    ]
}

fn loop_command(export: &str) -> Vec<String> {
    let words = ["losetup", "--find", "--show", "--direct-io=on", export];
    words.map(str::to_owned).into()
}

/// Creates a volume in a directory that must not exist.
///
/// # Errors
/// If a program is missing, a part fails, or it is stopped. Everything created so far is then
/// removed.
pub fn emulate(volume: &Volume, directory: &Path, watch: &dyn Watch) -> Result<(), Error> {
    let directory = &real_path(directory);
    let failed = |source| Error::Step {
        action: "emulate",
        device: directory.display().to_string(),
        source,
    };
    let name = directory.display().to_string();
    if name.contains(',') {
        return Err(failed(io::Error::other(
            "its name must not contain a comma",
        )));
    }
    if volume.delay_ms.is_some() {
        needed(DELAYER, "nbdkit").map_err(failed)?;
        needed(SHOWER, "libnbd-bin").map_err(failed)?;
    }
    make(volume, directory, watch).map_err(|source| {
        let _ = remove_emulated(directory, &Unwatched);
        if watch.is_stopped() {
            Error::Stopped {
                device: directory.display().to_string(),
                doing: "emulated",
            }
        } else {
            failed(source)
        }
    })
}

/// Refuses a delay if a program for it is missing.
fn needed(program: &str, package: &str) -> io::Result<()> {
    let words = [program.to_owned(), "--version".to_owned()];
    run(&words, &Unwatched).map(drop).map_err(|error| {
        io::Error::other(format!(
            "`delay` needs the program `{program}` (Debian: {package}): {error}"
        ))
    })
}

fn make(volume: &Volume, directory: &Path, watch: &dyn Watch) -> io::Result<()> {
    if let Some(above) = directory.parent() {
        state::make_directory(above)?;
    }
    fs::create_dir(directory)?;
    fs::write(directory.join(MARK), MARKED)?;
    File::create_new(directory.join(IMAGE))?.set_len(volume.bytes)?;
    let export = directory.join(EXPORT);
    File::create_new(&export)?;
    run(&throttle_command(volume, directory), watch)?;
    if let Some(delay) = volume.delay_ms {
        run(&delay_command(delay, directory), watch)?;
        show(directory)?;
    }
    until("the volume is exported", watch, || {
        fs::metadata(&export).is_ok_and(|file| file.len() == volume.bytes)
    })?;
    if volume.delay_ms.is_none() {
        one_at_a_time(directory, &export)?;
    }
    let device = run(&loop_command(&export.display().to_string()), watch)?;
    symlink(device.trim(), directory.join(DEVICE))
}

/// Starts the program that exposes the delayed volume. It does not end by itself.
fn show(directory: &Path) -> io::Result<()> {
    let words = show_command(directory);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // A stop of this run by the terminal is not meant for it.
    command.process_group(0).spawn().map(drop)
}

/// Makes the kernel send the program one request at a time, by FUSE's control files.
///
/// QEMU 7.2 keeps the data of a write in a buffer that the next request reuses while the write
/// waits for its turn. With several requests in flight, data ends up in the wrong places. A request
/// without data is shorter than the part before the data of a write, so requests that the kernel
/// sends anyway (syncs) do no harm. The limits are unaffected, because requests wait in the kernel
/// instead.
fn one_at_a_time(directory: &Path, export: &Path) -> io::Result<()> {
    let control = directory.join(CONTROL);
    fs::create_dir(&control)?;
    let words = ["mount", "-t", "fusectl", "tailmark"].map(str::to_owned);
    run(
        &[&words[..], &[control.display().to_string()]].concat(),
        &Unwatched,
    )?;
    let connection = rustix::fs::minor(fs::metadata(export)?.dev());
    let limits = control.join(connection.to_string());
    let mut is_set = true;
    for name in ["max_background", "congestion_threshold"] {
        fs::write(limits.join(name), "1")?;
        is_set &= sysfs::number::<u32>(&limits.join(name)) == Some(1);
    }
    run(
        &["umount".to_owned(), control.display().to_string()],
        &Unwatched,
    )?;
    fs::remove_dir(&control)?;
    if is_set {
        Ok(())
    } else {
        Err(io::Error::other("FUSE does not send one request at a time"))
    }
}

/// Removes a volume, however much of it exists.
///
/// # Errors
/// If something in it is in use, or if the directory is a link or not a volume's.
pub fn remove_emulated(directory: &Path, watch: &dyn Watch) -> Result<(), Error> {
    let is_link = fs::symlink_metadata(directory).is_ok_and(|found| found.is_symlink());
    let directory = &real_path(directory);
    let failed = |source| Error::Step {
        action: "remove",
        device: directory.display().to_string(),
        source,
    };
    if !directory.exists() {
        return Ok(());
    }
    let has_mark = fs::read(directory.join(MARK)).is_ok_and(|text| text == MARKED.as_bytes());
    let is_empty = || fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none());
    if is_link || !(has_mark || is_empty()) {
        let why = "tailmark did not create it for a volume; move it elsewhere, or give the system \
             another name";
        return Err(failed(io::Error::other(why)));
    }
    let export = directory.join(EXPORT);
    detach(&export, watch).map_err(failed)?;
    for name in [SHOWING, DELAYING, PROCESS] {
        end(&directory.join(name), watch).map_err(failed)?;
    }
    // It was killed, so its mount stays; and where we were, that of the control files.
    let control = directory.join(CONTROL);
    for point in [&export, &control] {
        if mount::mounts().iter().any(|mount| mount.point == *point) {
            let words = ["umount", "--lazy"].map(str::to_owned);
            let words = [&words[..], &[point.display().to_string()]].concat();
            run(&words, watch).map_err(failed)?;
        }
    }
    if control.exists() {
        fs::remove_dir(&control).map_err(failed)?;
    }
    let files = [
        DEVICE, EXPORT, IMAGE, LIMITED, DELAYED, PROCESS, DELAYING, SHOWING, MARK,
    ];
    for name in files {
        match fs::remove_file(directory.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    fs::remove_dir(directory).map_err(failed)
}

/// Detaches the loop devices over an export.
fn detach(export: &Path, watch: &dyn Watch) -> io::Result<()> {
    let over = || {
        let sys = Path::new(tailmark_machine::block::SYS);
        let names = sysfs::names(&sys.join("class/block")).into_iter();
        let devices = names.filter_map(|name| BlockDevice::of_name(sys, &name));
        let mut over = devices.filter(|device| {
            device.backing_file.as_deref() == Some(export) && is_over(&device.name, export)
        });
        over.next()
    };
    while let Some(device) = over() {
        let words = [
            "losetup".to_owned(),
            "--detach".to_owned(),
            format!("/dev/{}", device.name),
        ];
        run(&words, watch)?;
        // One that is in use is detached when that ends.
        let is_gone = || over().is_none_or(|other| other.name != device.name);
        until(&format!("`{}` is free", device.name), watch, is_gone)?;
    }
    Ok(())
}

/// Whether a loop device uses this very file, as far as both can be examined: in another mount
/// namespace another file may have the same path.
fn is_over(device: &str, export: &Path) -> bool {
    let status =
        File::open(Path::new("/dev").join(device)).and_then(|file| ioctl::loop_status(&file));
    match (status, fs::metadata(export)) {
        (Ok(status), Ok(found)) => (status.device, status.inode) == (found.dev(), found.ino()),
        _ => true,
    }
}

/// Ends the program that has its number in a file, and nothing that has that number by now.
fn end(file: &Path, watch: &dyn Watch) -> io::Result<()> {
    let Some(process) = sysfs::number::<i32>(file) else {
        return Ok(());
    };
    let is_it = || {
        let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let own = file.display().to_string();
        words
            .split(|byte| *byte == 0)
            .any(|word| word == own.as_bytes())
    };
    if !is_it() {
        return Ok(());
    }
    let number = rustix::process::Pid::from_raw(process);
    let number = number.ok_or_else(|| io::Error::other("it contains no process id"))?;
    // It may have been started where signals are blocked, and has that from there; nothing of it is
    // kept anyway.
    rustix::process::kill_process(number, rustix::process::Signal::KILL)?;
    let what = format!("process {process}, which serves the volume, has ended");
    until(&what, watch, || !is_it())
}

fn until(what: &str, watch: &dyn Watch, is_so: impl Fn() -> bool) -> io::Result<()> {
    match wait_until(what, PATIENCE, watch, is_so) {
        Waited::Done => Ok(()),
        Waited::Stopped => Err(io::Error::other(format!("stopped before {what}"))),
        Waited::TimedOut => Err(io::Error::other(format!(
            "gave up after half a minute of waiting until {what}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_testing::assert_says;

    #[test]
    fn limits_are_those_of_the_volume_and_none_that_it_has_not() {
        let volume = Volume {
            bytes: 1 << 30,
            iops: Some(3000),
            bandwidth: Some(125_000_000),
            ..Volume::default()
        };
        let steady = throttle_command(&volume, Path::new("/x"));
        let limits = "throttle-group,id=limits,x-iops-total=3000,x-bps-total=125000000";
        assert!(steady.contains(&limits.to_owned()), "{steady:?}");
        let burst = Volume {
            burst_iops: Some(6000),
            burst_seconds: Some(30),
            ..volume
        };
        let words = throttle_command(&burst, Path::new("/x")).join(" ");
        let ending = ",x-iops-total-max=6000,x-iops-total-max-length=30 ";
        assert!(words.contains(ending), "{words}");
    }

    #[test]
    fn a_delay_is_a_program_between_the_limits_and_the_file_and_a_dry_run_says_all() {
        let volume = Volume {
            bytes: 1 << 30,
            iops: Some(3000),
            delay_ms: Some(2),
            ..Volume::default()
        };
        let said = plan_emulate(&volume, Path::new("/x y")).join("\n");
        let parts = [
            "truncate --size 1073741824 '/x y/image'",
            "x-iops-total=3000",
            "type=nbd,id=export,node-name=throttled,writable=on,name=image",
            "'rdelay=2ms' 'wdelay=2ms'",
            "'socket=/x y/limited' 'export=image'",
            "nbdfuse --pidfile '/x y/showing' '/x y/export' --unix '/x y/delayed' &",
            "losetup --find --show '--direct-io=on' '/x y/export'",
        ];
        assert_says(&said, &parts);
        assert!(!said.contains("type=fuse"), "{said}");
    }

    #[test]
    fn a_program_that_is_missing_is_named_with_its_package() {
        let error = needed("tailmark-has-no-such-program", "some-package").unwrap_err();
        let said = error.to_string();
        assert!(said.contains("Debian: some-package"), "{said}");
    }

    #[test]
    fn what_is_not_there_is_removed_already() {
        let dir = tempfile::tempdir().unwrap();
        remove_emulated(&dir.path().join("none"), &Unwatched).unwrap();
    }
}
