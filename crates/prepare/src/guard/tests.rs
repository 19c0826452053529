//! The guards on scenes that no test machine is in.

use super::*;
use crate::uses::Unseen;
use tailmark_machine::mount;
use tailmark_testing::sys_with;

/// A machine with two drives, of which the first is asked for.
struct Machine {
    uses: Uses,
    target: Target,
    consent: Consent,
    signatures: Result<Vec<Signature>, String>,
    reserved: Result<Option<String>, String>,
    _sys: tempfile::TempDir,
}

impl Machine {
    fn new(more: &[(&str, &[(&str, &str)])]) -> Self {
        let disk = |number: &'static str, serial: &'static str| {
            [
                ("dev", number),
                ("size", "2048000"),
                ("ro", "0"),
                ("removable", "0"),
                ("nsid", "1"),
                ("device/serial", serial),
                ("device/model", "Quick 7000"),
                ("device/transport", "pcie"),
            ]
        };
        let (first, second) = (disk("259:0", "S-1"), disk("259:1", "S-2"));
        let mut devices: Vec<(&str, &[(&str, &str)])> = vec![
            ("pci/nvme0/nvme0n1", &first),
            ("pci/nvme1/nvme1n1", &second),
        ];
        devices.extend(more);
        let sys = sys_with(&devices);
        let names = sysfs::names(&sys.path().join("class/block"));
        let all = names
            .iter()
            .filter_map(|name| BlockDevice::of_name(sys.path(), name));
        let (identity, device) = Identity::of_number(sys.path(), (259, 0)).unwrap();
        Self {
            uses: Uses {
                devices: all.collect(),
                sys: sys.path().to_owned(),
                ..Uses::default()
            },
            target: Target {
                given: "serial:S-1".to_owned(),
                device: BlockDevice {
                    transport: Some("nvme"),
                    ..device
                },
                identity,
                unstable: None,
            },
            consent: Consent {
                serials: vec!["S-1".to_owned()],
                ..Consent::default()
            },
            signatures: Ok(Vec::new()),
            reserved: Ok(None),
            _sys: sys,
        }
    }

    fn refused_with(&self, reached: &[Identity]) -> Vec<&'static str> {
        let scene = GuardScene {
            target: &self.target,
            reached,
            consent: &self.consent,
            uses: &self.uses,
            is_own: false,
            signatures: self.signatures.clone(),
            reserved: self.reserved.clone(),
        };
        refusals(&scene).iter().map(|o| o.guard).collect()
    }

    fn refused(&self) -> Vec<&'static str> {
        self.refused_with(std::slice::from_ref(&self.target.identity))
    }

    fn mount(&mut self, line: &str) {
        let mounts = mount::parse(line).into_iter();
        self.uses.mounts.extend(mounts.map(|mount| (1, mount)));
    }
}

#[test]
fn a_free_device_is_refused_by_nobody() {
    assert_eq!(Machine::new(&[]).refused(), [""; 0]);
}

#[test]
fn a_device_that_lvm_or_raid_holds_is_refused_though_nothing_is_mounted() {
    let part = [("dev", "259:5"), ("partition", "1"), ("holders/md0/x", "")];
    let machine = Machine::new(&[
        ("pci/nvme0/nvme0n1/nvme0n1p1", &part),
        (
            "virtual/md0",
            &[
                ("dev", "9:0"),
                ("md/level", "raid1"),
                ("slaves/nvme0n1p1/x", ""),
            ],
        ),
    ]);
    assert_eq!(machine.refused(), ["held", "stacked"]);
}

#[test]
fn a_mount_is_found_by_number_through_what_is_made_of_the_device() {
    let lines = "1 0 253:0 / /srv rw - xfs /dev/mapper/vg-data rw\n";
    let made = [
        ("dev", "253:0"),
        ("dm/uuid", "LVM-x"),
        ("slaves/nvme0n1/x", ""),
    ];
    let mut machine = Machine::new(&[("virtual/dm-0", &made)]);
    machine.mount("2 0 259:1 / /other rw - xfs /dev/nvme1n1 rw\n");
    assert_eq!(machine.refused(), ["stacked"]);
    machine.mount(lines);
    assert_eq!(machine.refused(), ["mounted", "stacked"]);
}

#[test]
fn a_btrfs_of_several_devices_is_found_by_any_of_them() {
    let mut machine = Machine::new(&[]);
    let devices = machine.uses.sys.join("fs/btrfs/0a-1b/devices");
    for name in ["nvme0n1", "nvme1n1"] {
        fs::create_dir_all(devices.join(name)).unwrap();
    }
    // The table of mounts names the other one, and a number of no device.
    machine.mount("1 0 0:35 / /srv rw - btrfs /dev/nvme1n1 rw\n");
    assert_eq!(machine.refused(), ["mounted"]);
}

#[test]
fn swap_the_root_and_an_open_raw_device_are_refused() {
    let mut machine = Machine::new(&[]);
    machine.uses.swaps = vec![("/dev/nvme1n1".to_owned(), (259, 1))];
    assert_eq!(machine.refused(), [""; 0]);
    machine.uses.swaps = vec![("/dev/nvme0n1".to_owned(), (259, 0))];
    machine.uses.named = vec![("root=UUID=1 in /proc/cmdline".to_owned(), (259, 0))];
    machine.uses.open = vec![(7, "asd".to_owned(), (259, 0))];
    assert_eq!(machine.refused(), ["start", "swap", "open"]);
}

#[test]
fn what_cannot_be_told_is_a_reason() {
    let mut machine = Machine::new(&[]);
    machine.signatures = Err("wipefs is missing".to_owned());
    machine.reserved = Err("no answer".to_owned());
    machine.uses.unseen = vec![Unseen {
        name: "init".to_owned(),
        what: "what is open of process 1".to_owned(),
    }];
    assert_eq!(machine.refused(), ["reserved", "signatures", "unseen"]);
    machine.consent.unseen = vec!["init".to_owned()];
    assert_eq!(machine.refused(), ["reserved", "signatures"]);
    machine.reserved = Ok(Some("it is reserved (type 1)".to_owned()));
    assert_eq!(machine.refused(), ["reserved", "signatures"]);
}

#[test]
fn a_kind_of_device_that_others_may_share_is_refused() {
    let mut machine = Machine::new(&[]);
    for transport in [Some("nvme-fabrics"), Some("scsi"), Some("usb"), None] {
        machine.target.device.transport = transport;
        assert_eq!(machine.refused(), ["kind"], "{transport:?}");
    }
    machine.target.device.transport = Some("nvme");
    machine.target.device.disk = "nvme0".to_owned();
    assert!(machine.refused().contains(&"kind"), "a partition");
}

#[test]
fn what_a_kernel_does_not_say_of_a_device_is_a_reason() {
    let machine = Machine::new(&[]);
    let directory = machine.uses.sys.join("class/block/nvme0n1");
    fs::write(directory.join("removable"), "1").unwrap();
    assert_eq!(machine.refused(), ["read-only"]);
    fs::remove_file(directory.join("removable")).unwrap();
    assert_eq!(machine.refused(), ["read-only"]);
}

#[test]
fn an_action_on_the_whole_drive_is_refused_for_each_device_that_it_reaches() {
    let mut machine = Machine::new(&[]);
    let (other, _) = Identity::of_number(&machine.uses.sys, (259, 1)).unwrap();
    let both = [machine.target.identity.clone(), other];
    assert_eq!(machine.refused_with(&both), ["serial"]);
    machine.consent.serials.push("S-2".to_owned());
    assert_eq!(machine.refused_with(&both), [""; 0]);
    machine.mount("1 0 259:1 / /srv rw - xfs /dev/nvme1n1 rw\n");
    assert_eq!(machine.refused_with(&both), ["mounted"]);
    assert_eq!(machine.refused(), [""; 0]);
}

#[test]
fn a_capacity_may_be_that_of_the_whole_controller() {
    let mut machine = Machine::new(&[]);
    machine.consent.bytes = Some(2_048_000 * 512);
    machine.consent.model = Some("quick".to_owned());
    assert_eq!(machine.refused(), [""; 0]);
    machine.consent.bytes = Some(7_680_000_000_000);
    machine.consent.model = Some("7450".to_owned());
    assert_eq!(machine.refused(), ["plan", "plan"]);
}

#[test]
fn guards_have_names_of_their_own_and_one_line_each() {
    let names: BTreeSet<_> = GUARDS.iter().map(|guard| guard.name).collect();
    assert_eq!(names.len(), GUARDS.len());
    for guard in GUARDS {
        assert!(!guard.about.contains('\n') && !guard.about.ends_with('.'));
    }
}
