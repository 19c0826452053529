//! What a plan says of preparing: devices of systems, settings of the machine.

use super::{check, message, plan};
use crate::{MachineSettings, Prepare, Steady, keys::role};
use std::time::Duration;

fn refused(text: &str) -> String {
    message(&check(text).unwrap_err())
}

fn file(keys: &str) -> String {
    format!("[database]\ndriver = 'file'\n[[system]]\nname = 'a'\n{keys}\n")
}

#[test]
fn what_all_systems_have_in_common_is_said_once_and_a_system_may_differ() {
    let text = "[prepare]\nerase = 'format'\nfilesystem = 'xfs'\nmount_options = 'noatime'\n\
                sysctls = ['vm.swappiness=1', 'net.ipv4.tcp_rmem = 4096 131072 6291456']\n\
                huge_pages = 'never'\n[database]\ndriver = 'file'\n\
                [[system]]\nname = 'a'\npath = '/mnt/a/data'\n\
                prepare = { device = 'serial:S-1', mount = '/mnt/a' }\n\
                [[system]]\nname = 'b'\npath = '/mnt/b/data'\n\
                prepare = { device = '/dev/disk/by-id/b', mount = '/mnt/b', erase = 'discard' }\n\
                [[system]]\nname = 'c'\npath = '/mnt/c/data'\n\
                [[system]]\nname = 'd'\npath = '/mnt/a/ceiling'\nceiling_for = 'a'\n";
    let plan = plan(text);
    let first = Prepare {
        devices: vec!["serial:S-1".to_owned()],
        erase: Some("format".to_owned()),
        filesystem: Some("xfs".to_owned()),
        mount: Some("/mnt/a".into()),
        mount_options: vec!["noatime".to_owned()],
        ..Prepare::default()
    };
    assert_eq!(plan.systems[0].prepare, first);
    assert_eq!(plan.systems[1].prepare.erase.as_deref(), Some("discard"));
    // If no device is named, nothing is prepared. The plan still shows what would be.
    let unnamed = [
        ("erase", "format"),
        ("filesystem", "xfs"),
        ("mount_options", "noatime"),
    ];
    let nothing = Prepare {
        unnamed: unnamed.map(|(key, value)| (key, value.to_owned())).to_vec(),
        ..Prepare::default()
    };
    assert_eq!(plan.systems[2].prepare, nothing);
    // A ceiling is on the device of its system.
    assert_eq!(plan.systems[3].prepare, Prepare::default());
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let settings = MachineSettings {
        sysctls: vec![
            pair("vm.swappiness", "1"),
            pair("net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ],
        huge_pages: Some("never".to_owned()),
        ..MachineSettings::default()
    };
    assert_eq!(plan.settings, settings);
    assert!(
        plan.consent.serials.is_empty(),
        "no plan agrees to anything"
    );
}

#[test]
fn settings_shape_points_and_how_devices_are_prepared_does_not() {
    assert!(role("prepare", "sysctls").shapes_points());
    assert!(!role("prepare", "erase").shapes_points());
}

#[test]
fn a_mix_to_steady_state_is_4_kib_writes_in_rounds_of_a_minute_where_nothing_else_is_said() {
    let mix = |steady: &str| {
        let plan = plan(&file(&format!(
            "path = '/mnt/a/data'\nprepare = {{ device = 'serial:S', filesystem = 'xfs', mount = \
             '/mnt/a', precondition = 2, steady = {{ {steady} }} }}"
        )));
        plan.systems[0].prepare.steady.unwrap()
    };
    let writes = Steady {
        fill: None,
        read: 0,
        block: 4096,
        depth: 32,
        round: Duration::from_secs(60),
    };
    assert_eq!(mix(""), writes);
    let filled = Steady {
        fill: Some(90),
        read: 35,
        ..writes
    };
    assert_eq!(mix("over = 'filesystem', read = 35"), filled);
}

#[test]
fn a_device_that_a_driver_writes_is_the_one_that_is_prepared() {
    let plan = plan(&file(
        "device = '/dev/disk/by-id/x'\nprepare = { erase = 'discard' }",
    ));
    assert_eq!(plan.systems[0].prepare.devices, ["/dev/disk/by-id/x"]);
}

#[test]
fn what_does_not_go_together_is_refused_by_its_key() {
    for (prepare, words) in [
        ("device = 'x', filesystem = 'xfs'", "prepare.mount"),
        (
            "device = 'x', mount = '/mnt'",
            "absent without `filesystem`",
        ),
        ("mount = '/mnt'", "needs `device`"),
        (
            "device = 'x', filesystem = 'xfs', mount = '/other'",
            "that holds `/mnt/a`",
        ),
        (
            "device = ['x', 'y'], filesystem = 'xfs', mount = '/mnt'",
            "one device if",
        ),
        (
            "device = 'x', filesystem = 'xfs', mount = '/mnt', namespaces = 2",
            "absent with `namespaces`",
        ),
        (
            "device = 'x', filesystem = 'xfs', mount = '/mnt', mkfs_options = ['-l', 'logdev=/dev/y']",
            "none that names another device",
        ),
        (
            "device = 'x', filesystem = 'xfs', mount = '/mnt', mount_options = ['rtdev=/dev/y']",
            "none that names another device",
        ),
        (
            "device = 'x', sysctls = ['vm.swappiness=1']",
            "it applies to the whole machine",
        ),
        ("device = 'x', erase = 'shred'", "discard"),
        ("device = 'x', filesystem = 'btrfs', mount = '/mnt'", "xfs"),
        ("serial = 'x'", "prepare.serial"),
        ("device = 'x', steady = 'yes'", "prepare.steady"),
        ("device = 'x', steady = { over = 'disk' }", "filesystem"),
        ("device = 'x', steady = { read = 101 }", "steady.read"),
        (
            "device = 'x', steady = { block = '5000' }",
            "multiple of 4096",
        ),
        (
            "device = 'x', precondition = 2, steady = { fill = 50 }",
            "steady.fill",
        ),
        ("device = 'x', steady = {}", "prepare.precondition"),
        (
            "device = 'x', steady = { over = 'filesystem' }",
            "unless `filesystem` is given",
        ),
    ] {
        let said = refused(&file(&format!(
            "path = '/mnt/a'\nprepare = {{ {prepare} }}"
        )));
        assert!(said.contains(words), "{prepare}: {said}");
    }
    for (prepare, words) in [
        ("device = 'x'", "it applies to one system"),
        ("sysctls = ['vm.swappiness']", "vm.swappiness=1"),
        ("memory_limit = '1GiB'", "prepare.memory_group"),
        ("memory_group = '/a'", "prepare.memory_limit"),
    ] {
        let said = refused(&format!(
            "[prepare]\n{prepare}\n{}",
            file("path = '/mnt/a'")
        ));
        assert!(said.contains(words), "{prepare}: {said}");
    }
}

#[test]
fn another_place_drops_what_was_prepared_of_the_first() {
    let mut raw = crate::RawPlan::parse(
        "x",
        &file("path = '/mnt/a/data'\nprepare = { device = 'serial:S', filesystem = 'xfs', mount = '/mnt/a' }"),
    )
    .unwrap();
    raw.set_systems(&["a=/elsewhere".to_owned()]).unwrap();
    assert_eq!(raw.check().unwrap().systems[0].prepare, Prepare::default());
}

#[test]
fn another_place_drops_the_host_of_an_example_and_no_other() {
    for is_example in [true, false] {
        let text = format!(
            "[database]\ndriver = 'redis'\n[[system]]\nname = 'a'\nssh = 'root@db'\n\
             contact_points = ['db:6379']\nplaceholder = {is_example}\n"
        );
        let mut raw = crate::RawPlan::parse("x", &text).unwrap();
        raw.set_systems(&["a=127.0.0.1:6379".to_owned()]).unwrap();
        let system = &raw.table()["system"][0];
        assert_eq!(system.get("ssh").is_none(), is_example);
    }
}

#[test]
fn an_emulated_device_is_a_place_of_its_own_or_what_a_directory_is_on() {
    let raw = plan(&file(
        "device = { emulate = 'volume', size = '1GiB', iops = 3000, bandwidth = '125MB/s' }",
    ));
    let emulate = raw.systems[0].emulate.as_ref().unwrap();
    assert_eq!(
        (emulate.iops, emulate.bandwidth),
        (Some(3000), Some(125_000_000))
    );
    let device = "/var/lib/tailmark/emulated/a/device";
    assert_eq!(raw.systems[0].location.to_string(), device);
    let on = plan(&file(
        "path = '/mnt/a/data'\ndevice = { emulate = 'volume', size = '1GiB' }\n\
         prepare = { filesystem = 'ext4', mount = '/mnt/a' }",
    ));
    assert_eq!(on.systems[0].location.to_string(), "/mnt/a/data");
    assert_eq!(on.systems[0].prepare.devices, [device]);
    for (table, words) in [
        ("{ size = '1GiB' }", "device.emulate"),
        ("{ emulate = 'volume' }", "device.size"),
        ("{ emulate = 'tape', size = '1GiB' }", "volume"),
        (
            "{ emulate = 'volume', size = '1GiB', bandwidth = 'much' }",
            "125MB/s",
        ),
        (
            "{ emulate = 'volume', size = '1GiB', iops = 9, burst = 20 }",
            "burst_time",
        ),
        (
            "{ emulate = 'volume', size = '1GiB', iops = 9, burst = 9, burst_time = '9s' }",
            "more than `iops`",
        ),
        (
            "{ emulate = 'volume', size = '1GiB', delay = '1.5ms' }",
            "whole milliseconds",
        ),
        (
            "{ emulate = 'volume', size = '1GiB', delay = '2m' }",
            "device.delay",
        ),
    ] {
        let said = refused(&file(&format!("device = {table}")));
        assert!(said.contains(words), "{table}: {said}");
    }
}

#[test]
fn shipped_plans_prepare_what_their_studies_say() {
    let prepared = |name: &str| {
        let raw = crate::RawPlan::find(name).unwrap();
        raw.table()["prepare"].as_table().unwrap().clone()
    };
    let words = |table: &toml::Table, key: &str| {
        let words = table[key].as_array().unwrap().iter();
        words
            .map(|word| word.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for name in ["micron-7400-rocksdb", "micron-7450-rocksdb"] {
        let table = prepared(name);
        assert_eq!(table["filesystem"].as_str(), Some("xfs"), "{name}");
        let options = ["noatime", "nodiratime", "norelatime"];
        assert_eq!(words(&table, "mount_options"), options, "{name}");
    }
    assert_eq!(
        prepared("micron-7450-dbbench")["filesystem"].as_str(),
        Some("xfs")
    );
    let cassandra = words(&prepared("micron-6500ion-cassandra"), "sysctls");
    assert_eq!(cassandra, ["vm.swappiness=1", "vm.max_map_count=1048575"]);
    let aerospike = prepared("micron-9400-aerospike");
    let sysctls = words(&aerospike, "sysctls");
    assert_eq!(sysctls, ["vm.swappiness=0", "vm.min_free_kbytes=1310720"]);
    assert_eq!(aerospike["namespaces"].as_integer(), Some(16));
    assert_eq!(aerospike["huge_pages"].as_str(), Some("never"));
    // Nothing is destroyed by a shipped plan: none of them names a device.
    for plan in crate::PLANS {
        if let Ok(plan) = crate::RawPlan::find(plan.name).unwrap().check() {
            let mut systems = plan.systems.iter();
            assert!(systems.all(|s| s.emulate.is_some() || s.prepare.devices.is_empty()));
        }
    }
}

#[test]
fn the_device_of_a_shipped_plan_is_given_on_the_command_line() {
    let mut raw = super::shipped("micron-7450-rocksdb");
    raw.set_driver("file");
    for assignment in [
        "system.\"Micron 7450\".path=/mnt/x",
        "system.\"Micron 7450\".prepare.mount=/mnt/x",
        "system.\"Micron 7450\".prepare.device=/dev/disk/by-id/nvme-x",
    ] {
        raw.assign(assignment).unwrap();
    }
    let plan = raw.check().unwrap();
    let prepare = &plan.systems[0].prepare;
    assert_eq!(prepare.devices, ["/dev/disk/by-id/nvme-x"]);
    assert_eq!(prepare.filesystem.as_deref(), Some("xfs"));
    assert!(!plan.systems[0].placeholder);
}
