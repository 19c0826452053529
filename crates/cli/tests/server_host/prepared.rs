//! A device of a server's host: a loop device, which all hosts of the test see.

use crate::{Cassandra, TAILMARK, codes, instants, run_with};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use tailmark_prepare::Uses;
use tailmark_testing::{LoopDevice, SshHosts, err, not_here, test};
use tempfile::TempDir;

/// What a control group may use, bytes.
const LIMIT: u64 = 1 << 30;
/// Enough for a database that has its log and its data there.
const BYTES: u64 = 2 << 30;

/// A control group that host 2 sees, removed with this.
struct Group {
    name: String,
    directory: PathBuf,
    /// The file that has its limit.
    limit: PathBuf,
}

impl Group {
    fn new(hosts: &SshHosts, name: &str) -> Self {
        let versions = [
            (
                "memory/",
                "memory.limit_in_bytes",
                "mount -t tmpfs none $top && mkdir $top/memory && mount -t cgroup -o memory none $top/memory",
            ),
            ("", "memory.max", "mount -t cgroup2 none $top"),
        ];
        for (version, limit, mount) in versions {
            let directory = Path::new("/sys/fs/cgroup").join(format!("{version}{name}"));
            let group = Self {
                name: format!("/{name}"),
                limit: directory.join(limit),
                directory,
            };
            let _ = fs::create_dir(&group.directory);
            if group.limit.exists() {
                // A network namespace has a /sys of its own.
                let _ = hosts.on(2, &format!("top=/sys/fs/cgroup; {mount}"));
                return group;
            }
        }
        not_here("no control group that limits memory can be made")
    }

    fn limit(&self) -> String {
        let limit = fs::read_to_string(&self.limit).unwrap();
        limit.trim().to_owned()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.directory);
    }
}

/// The flags that agree to erase a device.
fn agreed(serial: &str) -> Vec<String> {
    let unseen = Uses::look().unseen().to_vec();
    let mut unseen: BTreeSet<_> = unseen.iter().map(|row| row.name.to_owned()).collect();
    // The hosts of the test have process numbers of their own.
    unseen.insert("pid-namespace".to_owned());
    let unseen = unseen.iter().map(|name| format!("--trust-program={name}"));
    unseen.chain([format!("--erase={serial}")]).collect()
}

/// A plan that prepares a device and limits a group; the limit is written down at each start.
fn plan(cassandra: &Cassandra, device: &Path, group: &Group, limits: &Path) -> String {
    let (data, limit) = (cassandra.data.display(), group.limit.display());
    let system = format!(
        "ssh = 'db2'\nprepare = {{ device = '{device}', erase = 'discard', filesystem = 'ext4', \
         mount = '{data}' }}\nservice = {{ start = '{start}; cat {limit} >>{limits}', stop = '{stop}' }}",
        device = device.display(),
        start = cassandra.act("start"),
        stop = cassandra.act("stop"),
        limits = limits.display(),
    );
    let settings = format!("memory_limit = '{LIMIT}'\nmemory_group = '{}'", group.name);
    let sweep = "threads = 1\nduration = '5s'\nwarmup = '0s'";
    format!("[prepare]\n{settings}\n{}", cassandra.plan(sweep, &system))
}

#[test]
fn a_device_there_is_prepared_and_measured_and_what_is_still_in_use_is_said() {
    let (hosts, dir) = (SshHosts::new(1), TempDir::new().unwrap());
    let dir = dir.path();
    let image = dir.join("image");
    let device = LoopDevice::new(&image, BYTES);
    let group = Group::new(&hosts, &format!("tailmark-{}", std::process::id()));
    let unlimited = group.limit();
    let cassandra = Cassandra::with_data(&hosts, &hosts.directory().join("mounted"));
    let limits = hosts.directory().join("limits");
    let plan = plan(&cassandra, device.path(), &group, &limits);
    let run = |flags: &[String]| {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        run_with(&hosts, dir, &plan, &flags)
    };
    let mounted = || hosts.on(2, "cat /proc/mounts");
    let mount = format!(
        "{} {} ext4 ",
        device.path().display(),
        cassandra.data.display()
    );

    // A serial number of no device there.
    let refused = run(&agreed("no-such-serial"));
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(
        err(&refused).contains("no-such-serial"),
        "{}",
        err(&refused)
    );
    assert!(!mounted().contains(&mount) && !dir.join("out/study.sqlite").exists());

    let agreed = agreed(image.to_str().unwrap());
    let ran = run(&agreed);
    assert_eq!(ran.status.code(), Some(3), "{}", err(&ran));
    let points = TAILMARK.points(dir);
    assert_eq!(points.len(), 1);
    assert!(!codes(&points[0]).contains(&"server-changed"));
    // What the device did is known, of the load too.
    let disk = format!("{} on server db2", device.name());
    assert!(instants(&points[0], "disk", &disk).len() >= 2);
    let loads = TAILMARK.exported(dir, "loads");
    assert!(instants(&loads[0], "disk", &disk).len() >= 2);
    // The limit was set when the database was started, and is put back.
    let started = fs::read_to_string(limits).unwrap();
    assert!(started.lines().count() >= 1, "{started}");
    assert!(
        started.lines().all(|is| is == LIMIT.to_string()),
        "{started}"
    );
    assert_eq!(group.limit(), unlimited);
    // Its database goes on, so that its file system cannot be unmounted.
    assert!(
        err(&ran).contains("1 change of `db2` could not be undone"),
        "{}",
        err(&ran)
    );
    assert!(mounted().contains(&mount), "{}", mounted());

    // With the flags that it was begun with it goes on, of which nothing is left to do.
    let again = run(&agreed);
    assert_eq!(again.status.code(), Some(0), "{}", err(&again));
    assert!(
        err(&again).contains("are already measured"),
        "{}",
        err(&again)
    );
    let _ = hosts.on(2, &cassandra.act("stop"));
}
