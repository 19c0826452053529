//! What is found in use, on machines that are directories.

use super::*;
use tailmark_testing::sys_with;

/// The devices that a directory describes.
fn described(sys: &Path) -> Uses {
    let names = sysfs::names(&sys.join("class/block"));
    let devices = names.iter().filter_map(|n| BlockDevice::of_name(sys, n));
    Uses {
        devices: devices.collect(),
        sys: sys.to_owned(),
        ..Uses::default()
    }
}

#[test]
fn everything_made_of_a_disk_is_on_it_however_many_steps_away() {
    let sys = sys_with(&[
        ("sata/sda", &[("dev", "8:0"), ("size", "8")]),
        ("sata/sda/sda1", &[("dev", "8:1"), ("partition", "1")]),
        ("sata/sdb", &[("dev", "8:16"), ("size", "8")]),
        ("virtual/md0", &[("dev", "9:0"), ("slaves/sda1/x", "")]),
        ("virtual/md0/md0p1", &[("dev", "259:9"), ("partition", "1")]),
        (
            "virtual/loop0",
            &[("dev", "7:0"), ("loop/backing_file", "/dev/md0p1")],
        ),
        (
            "virtual/loop1",
            &[("dev", "7:1"), ("loop/backing_file", "/mnt/x")],
        ),
        (
            "virtual/loop2",
            &[("dev", "7:2"), ("loop/backing_file", "/other")],
        ),
    ]);
    let uses = Uses {
        loops: [
            ("loop0".to_owned(), Below::Device((259, 9))),
            ("loop1".to_owned(), Below::FileOn((7, 0))),
            ("loop2".to_owned(), Below::FileOn((8, 16))),
        ]
        .into(),
        ..described(sys.path())
    };
    let on = |disk| {
        let mut names: Vec<_> = uses.on_disk(disk).iter().map(|d| d.name.clone()).collect();
        names.sort();
        names
    };
    assert_eq!(on("sda"), ["loop0", "loop1", "md0", "md0p1", "sda", "sda1"]);
    assert_eq!(on("sdb"), ["loop2", "sdb"]);
}

#[test]
fn a_character_device_commands_its_own_namespaces() {
    for (disk, character, expected) in [
        ("nvme0n1", "nvme0", true),
        ("nvme0n1", "ng0n1", true),
        ("nvme1n1", "nvme0", false),
        ("nvme10n1", "nvme1", false),
        ("nvme0n2", "ng0n1", false),
        ("nvme0n1", "nvme", false),
        ("sda", "nvme0", false),
    ] {
        assert_eq!(
            is_commanded_by(disk, character),
            expected,
            "{disk} {character}"
        );
    }
}

#[test]
fn two_loop_devices_over_one_file_are_on_each_other() {
    let sys = sys_with(&[
        (
            "virtual/loop0",
            &[("dev", "7:0"), ("loop/backing_file", "/a")],
        ),
        (
            "virtual/loop1",
            &[("dev", "7:1"), ("loop/backing_file", "/link/a")],
        ),
        (
            "virtual/loop2",
            &[("dev", "7:2"), ("loop/backing_file", "/b")],
        ),
    ]);
    let uses = Uses {
        files: [("loop0", 5), ("loop1", 5), ("loop2", 6)]
            .map(|(name, inode)| (name.to_owned(), (1, inode)))
            .into(),
        ..described(sys.path())
    };
    let names: Vec<_> = uses
        .on_disk("loop0")
        .iter()
        .map(|d| d.name.clone())
        .collect();
    assert_eq!(names, ["loop0", "loop1"]);
}

#[test]
fn what_a_thread_has_open_and_what_is_mapped_counts_as_open() {
    let names = sysfs::names(
        Path::new(tailmark_machine::block::SYS)
            .join("class/block")
            .as_path(),
    );
    let paths = names.iter().map(|name| Path::new("/dev").join(name));
    let is_device = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device())
    };
    let device = paths.into_iter().find(is_device);
    let device = device.expect("a machine has a block device");
    let number = number(fs::metadata(&device).unwrap().rdev());
    let found = |thread: bool, mapped: bool| {
        let proc = tempfile::tempdir().unwrap();
        let process = proc.path().join("123");
        for open_files in ["fd", "task/123/fd", "task/124/fd"] {
            fs::create_dir_all(process.join(open_files)).unwrap();
        }
        fs::write(process.join("comm"), "db\n").unwrap();
        if thread {
            std::os::unix::fs::symlink(&device, process.join("task/124/fd/7")).unwrap();
        }
        let line = format!(
            "7f00-7f01 rw-s 00000000 00:05 9      {}\n",
            device.display()
        );
        fs::write(process.join("maps"), if mapped { &*line } else { "" }).unwrap();
        let mut uses = Uses::default();
        uses.look_at_files(123, &process).unwrap();
        uses.open
    };
    let expected = vec![(123, "db".to_owned(), number)];
    assert_eq!(found(true, false), expected);
    assert_eq!(found(false, true), expected);
    assert_eq!(found(false, false), []);
}

#[test]
fn what_a_start_needs_is_found_under_the_names_that_it_may_have() {
    let path = |source| device_path(source).map(|path| path.display().to_string());
    assert_eq!(path("UUID=\"0a-1b\"").unwrap(), "/dev/disk/by-uuid/0a-1b");
    assert_eq!(path("/dev/vda1").unwrap(), "/dev/vda1");
    assert_eq!(path("tmpfs"), None);
    assert_eq!(
        named_at_start("# /dev/null\nproc /proc proc\n", "quiet"),
        []
    );
    // Any block device of this machine stands for a member and a log.
    let devices = fs::read_dir("/sys/class/block").unwrap().flatten();
    let device = devices.map(|entry| Path::new("/dev").join(entry.file_name()));
    let device = device.into_iter().find(|device| device.exists());
    let device = device.expect("a block device");
    let device = device.display();
    for options in [
        format!("device={device}"),
        format!("noatime,logdev={device}"),
    ] {
        let found = named_at_start(&format!("UUID=none /mnt btrfs {options} 0 0\n"), "quiet");
        assert_eq!(found.len(), 1, "{options}");
        assert_eq!(found[0].0, format!("{device} in /etc/fstab"));
    }
}
