//! Users of this machine's devices: all mounts in any mount namespace, swap, devices built on
//! others, and programs that have a device open.
//!
//! An exclusive open detects neither a loop device over a disk, nor a file system mounted by
//! another host, nor a program that opened the device without exclusive access. So all of these are
//! looked up, and anything that cannot be seen is reported as unknown.

use super::ioctl;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use tailmark_machine::{
    BlockDevice,
    mount::{self, Mount},
    sysfs,
};

/// Major and minor number.
type Number = (u32, u32);

/// The uses of this machine's devices at one moment.
#[derive(Debug, Default)]
pub struct Uses {
    /// The place where the kernel shows its devices.
    pub(super) sys: PathBuf,
    /// Every block device.
    pub(super) devices: Vec<BlockDevice>,
    /// What loop devices are over, by their names.
    pub(super) loops: BTreeMap<String, Below>,
    /// The files of loop devices, each by its device and inode: two may be over one file.
    pub(super) files: BTreeMap<String, (u64, u64)>,
    /// Everything mounted, each with a process that sees it.
    pub(super) mounts: Vec<(u32, Mount)>,
    /// Swap areas, by device or file.
    pub(super) swaps: Vec<(String, Number)>,
    /// What starts from or is mounted at the next start: what says so, and the device.
    pub(super) named: Vec<(String, Number)>,
    /// Processes that have block devices open.
    pub(super) open: Vec<(u32, String, Number)>,
    /// Processes and devices that could not be examined.
    pub(super) unseen: Vec<Unseen>,
}

/// How often an inaccessible process is retried.
const LOOKS: u32 = 5;
/// The pause in between.
const PAUSE: Duration = Duration::from_millis(20);

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Something that could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    /// The program, or the device.
    pub name: String,
    /// What, and why.
    pub what: String,
}

/// The backing of a loop device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Below {
    /// A block device.
    Device(Number),
    /// A file, on a file system of this number.
    FileOn(Number),
}

impl Uses {
    /// Looks at everything.
    #[must_use]
    pub fn look() -> Self {
        let mut uses = Self::look_at_devices();
        uses.look_at_processes(Path::new("/proc"));
        uses.look_at_namespace();
        uses.swaps = swaps(&fs::read_to_string("/proc/swaps").unwrap_or_default());
        let table = fs::read_to_string("/etc/fstab").unwrap_or_default();
        let line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
        uses.named = named_at_start(&table, &line);
        uses
    }

    /// Looks at which devices there are, and not at who uses them.
    pub(super) fn look_at_devices() -> Self {
        let sys = PathBuf::from(tailmark_machine::block::SYS);
        let names = sysfs::names(&sys.join("class/block"));
        let devices = names
            .iter()
            .filter_map(|name| BlockDevice::of_name(&sys, name));
        let mut uses = Self {
            devices: devices.collect(),
            sys,
            ..Self::default()
        };
        uses.look_at_loops();
        uses
    }

    fn look_at_loops(&mut self) {
        for device in &self.devices {
            if device.backing_file.is_none() {
                continue;
            }
            let path = Path::new("/dev").join(&device.name);
            match File::open(&path).and_then(|file| ioctl::loop_status(&file)) {
                Ok(status) => {
                    let below = match status.of_device {
                        0 => Below::FileOn(number(status.device)),
                        of_device => Below::Device(number(of_device)),
                    };
                    self.loops.insert(device.name.clone(), below);
                    let file = (status.device, status.inode);
                    self.files.insert(device.name.clone(), file);
                }
                // It was detached meanwhile.
                Err(error) if error.raw_os_error() == Some(6) => {}
                Err(error) => self.unseen.push(Unseen {
                    name: device.name.clone(),
                    what: format!("what `{}` is backed by: {error}", path.display()),
                }),
            }
        }
    }

    /// Mounts in every mount namespace that a process is in, and what processes have open.
    fn look_at_processes(&mut self, proc: &Path) {
        let own = std::process::id();
        let own_namespace = fs::read_link("/proc/self/ns/mnt").ok();
        let mut namespaces = BTreeSet::new();
        for name in sysfs::names(proc) {
            let Ok(process) = name.parse::<u32>() else {
                continue;
            };
            let directory = proc.join(&name);
            // Of a namespace that cannot be told, the mounts are read each time.
            let namespace = fs::read_link(directory.join("ns/mnt")).ok();
            let is_known = namespace.as_ref().is_some_and(|n| namespaces.contains(n));
            if !is_known {
                match fs::read_to_string(directory.join("mountinfo")) {
                    Ok(text) => {
                        let mounts = mount::parse(&text).into_iter();
                        // Of its own namespace this process is the one to be named.
                        let is_own = own_namespace.is_some() && namespace == own_namespace;
                        let seen_by = if is_own { own } else { process };
                        namespaces.extend(namespace);
                        self.mounts.extend(mounts.map(|mount| (seen_by, mount)));
                    }
                    Err(error) => self.miss(&directory, "is mounted", &error),
                }
            }
            if process == own {
                continue;
            }
            // One that is just being executed can be looked at again a moment later.
            let mut looks = 1;
            while let Err(error) = self.look_at_files(process, &directory) {
                if looks == LOOKS || !is_denied(&error) {
                    self.miss(&directory, "is open", &error);
                    break;
                }
                looks += 1;
                thread::sleep(PAUSE);
            }
        }
    }

    /// In a PID namespace of its own (a container) this process sees none of the others.
    fn look_at_namespace(&mut self) {
        /// The number of the first one, which the kernel gives no other.
        const FIRST: &str = "pid:[4026531836]";
        let own = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        if own != Path::new(FIRST) {
            self.unseen.push(Unseen {
                name: "pid-namespace".to_owned(),
                what: "what processes outside of this PID namespace (a container) have mounted or \
                       open"
                    .to_owned(),
            });
        }
    }

    fn look_at_files(&mut self, process: u32, directory: &Path) -> io::Result<()> {
        let mut denied = None;
        // A thread may have files of its own.
        let tasks = sysfs::names(&directory.join("task"));
        let own = directory
            .file_name()
            .map(|name| directory.join("task").join(name));
        let tasks = tasks.iter().map(|task| directory.join("task").join(task));
        let others = tasks.filter(|task| Some(task) != own.as_ref());
        let main = fs::read_dir(directory.join("fd"))?;
        let others = others.filter_map(|task| fs::read_dir(task.join("fd")).ok());
        for file in main.flatten().chain(others.flat_map(Iterator::flatten)) {
            match fs::metadata(file.path()) {
                Ok(metadata) => self.add_open(process, directory, &file.path(), &metadata),
                // It was closed meanwhile, or leads to nothing that has a path.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => denied = Some(error),
            }
        }
        // A device that is mapped stays in use when its descriptor is closed.
        let maps = fs::read_to_string(directory.join("maps")).unwrap_or_default();
        let mapped: BTreeSet<&str> = maps
            .lines()
            .filter_map(|line| Some(&line[line.find("/dev/")?..]))
            .collect();
        for path in mapped {
            if let Ok(metadata) = fs::metadata(path) {
                self.add_open(process, directory, Path::new(path), &metadata);
            }
        }
        denied.map_or(Ok(()), Err)
    }

    /// Records that a process has a file open, if it is a device, or a path to the commands of an
    /// NVMe drive.
    fn add_open(&mut self, process: u32, directory: &Path, file: &Path, metadata: &fs::Metadata) {
        let mut numbers = Vec::new();
        if metadata.file_type().is_block_device() {
            numbers.push(number(metadata.rdev()));
        } else if metadata.file_type().is_char_device() {
            let leads_to = fs::read_link(file).unwrap_or_else(|_| file.to_owned());
            let name = leads_to.file_name().unwrap_or_default().to_string_lossy();
            let is_its = |device: &&BlockDevice| is_commanded_by(&device.disk, &name);
            let its = self.devices.iter().filter(is_its);
            numbers.extend(its.map(|device| (device.major, device.minor)));
        }
        let program = program(directory);
        let open = numbers
            .into_iter()
            .map(|number| (process, program.clone(), number));
        self.open.extend(open);
    }

    /// A process that has ended in between is not missed.
    fn miss(&mut self, directory: &Path, what: &str, error: &io::Error) {
        /// No such process, as reading of one that has ended fails; and no value, as reading the
        /// mounts of one that is ending does, which is in no namespace any more.
        const GONE: [i32; 2] = [3, 22];
        let is_gone = error.kind() == io::ErrorKind::NotFound
            || error
                .raw_os_error()
                .is_some_and(|code| GONE.contains(&code));
        if !is_gone {
            let (name, process) = (program(directory), directory.file_name());
            let process = process.unwrap_or_default().to_string_lossy();
            let what = format!("what {what} of process {process} ({name}): {error}");
            self.unseen.push(Unseen { name, what });
        }
    }

    /// Everything that could not be examined.
    #[must_use]
    pub fn unseen(&self) -> &[Unseen] {
        &self.unseen
    }

    /// A disk with its partitions, and everything that is made of them, through loop devices too.
    #[must_use]
    pub fn on_disk(&self, disk: &str) -> Vec<&BlockDevice> {
        let mut found: Vec<&BlockDevice> = Vec::new();
        loop {
            let is_new = |device: &&BlockDevice| {
                let is_known = found.iter().any(|known| known.name == device.name);
                !is_known && (device.disk == disk || self.is_made_of(device, &found))
            };
            let new: Vec<_> = self.devices.iter().filter(is_new).collect();
            if new.is_empty() {
                return found;
            }
            found.extend(new);
        }
    }

    fn is_made_of(&self, device: &BlockDevice, found: &[&BlockDevice]) -> bool {
        let is_part = device.name != device.disk && found.iter().any(|f| f.name == device.disk);
        let is_member = device
            .members
            .iter()
            .any(|member| found.iter().any(|f| f.name == *member));
        let has = |number: &Number| found.iter().any(|f| (f.major, f.minor) == *number);
        // What one writes the other has.
        let own = self.files.get(&device.name);
        let is_same = own.is_some() && found.iter().any(|f| self.files.get(&f.name) == own);
        let is_over = match self.loops.get(&device.name) {
            Some(Below::Device(number) | Below::FileOn(number)) => has(number),
            None => false,
        };
        is_part || is_member || is_over || is_same
    }

    /// The devices of the btrfs file systems that one of these is a part of: their mounts have a
    /// number of their own.
    pub(super) fn btrfs_with(&self, on: &[&BlockDevice]) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let file_systems = self.sys.join("fs/btrfs");
        for name in sysfs::names(&file_systems) {
            let members = sysfs::names(&file_systems.join(name).join("devices"));
            if members.iter().any(|m| on.iter().any(|d| d.name == *m)) {
                all.extend(members);
            }
        }
        all
    }
}

/// Whether a character device accepts a disk's commands: `nvme0` those of every namespace of the
/// controller, `ng0n1` those of `nvme0n1`.
fn is_commanded_by(disk: &str, character: &str) -> bool {
    if let Some(namespace) = character.strip_prefix("ng") {
        return disk.strip_prefix("nvme") == Some(namespace);
    }
    let controller = character.strip_prefix("nvme");
    let is_controller = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    controller.is_some_and(is_controller)
        && disk
            .strip_prefix(character)
            .is_some_and(|rest| rest.starts_with('n'))
}

/// The name of the program of a process.
fn program(directory: &Path) -> String {
    let name = fs::read_to_string(directory.join("comm")).unwrap_or_default();
    name.trim().to_owned()
}

fn number(encoded: u64) -> Number {
    (rustix::fs::major(encoded), rustix::fs::minor(encoded))
}

/// The device that a path is, or is on.
fn number_of(path: &Path) -> Option<Number> {
    let metadata = fs::metadata(path).ok()?;
    Some(if metadata.file_type().is_block_device() {
        number(metadata.rdev())
    } else {
        number(metadata.dev())
    })
}

/// The lines of `/proc/swaps` with their devices; of a file, the device of its file system.
pub(super) fn swaps(text: &str) -> Vec<(String, Number)> {
    let places = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next());
    let places = places.map(|place| place.replace("\\040", " "));
    places
        .filter_map(|place| Some((place.clone(), number_of(Path::new(&place))?)))
        .collect()
}

/// Devices that `/etc/fstab` and the command line of the kernel name.
pub(super) fn named_at_start(table: &str, line: &str) -> Vec<(String, Number)> {
    let rows = table.lines().map(str::trim_start);
    let rows = rows.filter(|row| !row.starts_with('#'));
    let of_table = rows.flat_map(|row| {
        let columns: Vec<&str> = row.split_whitespace().collect();
        let options = columns.get(3).map_or("", |options| options).split(',');
        // Other devices of the same file system: `device=`, `logdev=`, `journal_path=`.
        let others = options.filter_map(|option| Some(option.split_once('=')?.1));
        let others: Vec<&str> = others.filter(|value| value.starts_with("/dev/")).collect();
        columns.first().copied().into_iter().chain(others)
    });
    let of_table = of_table.map(|source| ("/etc/fstab", source));
    let of_line = line.split_whitespace().filter_map(|word| {
        let source = ["root=", "resume="]
            .iter()
            .find_map(|key| word.strip_prefix(key))?;
        Some(("/proc/cmdline", source))
    });
    let found = of_table.chain(of_line).filter_map(|(file, source)| {
        let path = device_path(source)?;
        let metadata = fs::metadata(path).ok()?;
        let is_device = metadata.file_type().is_block_device();
        is_device.then(|| (format!("{source} in {file}"), number(metadata.rdev())))
    });
    found.collect()
}

/// The path that a source of a mount means: `UUID=...` is a link that udev makes.
fn device_path(source: &str) -> Option<PathBuf> {
    /// The prefix of a source, and the directory of its links.
    const LINKS: &[(&str, &str)] = &[
        ("UUID=", "by-uuid"),
        ("LABEL=", "by-label"),
        ("PARTUUID=", "by-partuuid"),
        ("PARTLABEL=", "by-partlabel"),
        ("ID=", "by-id"),
    ];
    if source.starts_with("/dev/") {
        return Some(source.into());
    }
    LINKS.iter().find_map(|(prefix, directory)| {
        let name = source.strip_prefix(prefix)?.trim_matches('"');
        Some(Path::new("/dev/disk").join(directory).join(name))
    })
}

#[cfg(test)]
mod tests;
