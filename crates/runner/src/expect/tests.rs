//! What each expectation says of places that are as it says, and of others.

use super::*;
use tailmark_plan::{KEYS, RawPlan};

fn plan(text: &str) -> Plan {
    RawPlan::parse("test", text).unwrap().check().unwrap()
}

/// What is wrong with a directory of which this is expected.
fn wrong(driver: &str, place: &str, expect: &str) -> Mismatches {
    let text = format!(
        "[database]\ndriver = '{driver}'\n[[system]]\nname = 'a'\n{place}\nexpect = {{ {expect} }}"
    );
    Mismatches::from_systems(plan(&text).systems.iter())
}

#[test]
fn every_key_of_the_table_is_a_row_and_no_other() {
    let keys = KEYS.iter().filter(|key| key.table == "expect");
    let rows = EXPECTATIONS.iter().map(|row| row.name);
    assert_eq!(
        keys.map(|key| key.name).collect::<Vec<_>>(),
        rows.collect::<Vec<_>>()
    );
    for row in EXPECTATIONS {
        assert!(
            !row.remedy.contains('\n') && !row.remedy.ends_with('.'),
            "{}",
            row.name
        );
    }
}

#[test]
fn what_is_expected_of_memory_is_compared_with_what_is_there() {
    let said = |expect: &str| wrong("file", "path = '/dev/shm/x'", expect).systems;
    assert_eq!(said("mount = true, filesystem = 'tmpfs'"), []);
    let all = said(
        "filesystem = 'xfs', mount_options = ['no-such-option'], model = '7450', capacity = \
         '7.68TB', transport = 'nvme'",
    );
    let [(name, wrong)] = &all[..] else {
        panic!("{all:?}")
    };
    assert_eq!((name.as_str(), wrong.len()), ("a", 5), "{wrong:?}");
    for (text, key) in wrong.iter().zip([
        "filesystem",
        "mount_options",
        "model",
        "capacity",
        "transport",
    ]) {
        assert!(
            text.contains("is expected (") && text.contains(&format!("({key})")),
            "{text}"
        );
    }
    assert!(wrong[0].contains("`/dev/shm/x` is on tmpfs, but the file system xfs is expected"));
}

#[test]
fn a_missing_directory_of_the_root_file_system_is_not_mounted() {
    let said = wrong("file", "path = '/var'", "mount = true").systems;
    assert!(said[0].1[0].contains("root file system"), "{said:?}");
}

#[test]
fn a_server_is_on_this_machine_or_on_another() {
    let said = |hosts: &str, host: &str| {
        let hosts = format!("contact_points = '{hosts}'");
        wrong("cassandra", &hosts, &format!("client_host = '{host}'"))
    };
    assert_eq!(said("127.0.0.1:9042", "same"), Mismatches::default());
    assert_eq!(said("192.0.2.1:9042", "other"), Mismatches::default());
    for (hosts, host, word) in [
        (
            "127.0.0.1:9042",
            "other",
            "`127.0.0.1:9042` is this machine",
        ),
        (
            "192.0.2.1:9042,127.0.0.1:1",
            "same",
            "`192.0.2.1:9042` is another machine",
        ),
    ] {
        let said = said(hosts, host).systems;
        assert!(said[0].1[0].contains(word), "{said:?}");
    }
    assert_eq!(said("no-such-host.invalid", "other").unknown.len(), 1);
}

#[test]
fn what_cannot_be_seen_from_here_is_not_known() {
    let said = wrong(
        "cassandra",
        "contact_points = '192.0.2.1:9042'",
        "model = '7450'",
    );
    assert!(said.systems.is_empty());
    assert!(said.unknown[0].contains("cannot check for"), "{said:?}");
}

#[test]
fn a_place_of_a_server_that_is_not_there_is_told() {
    let place = "contact_points = '127.0.0.1:1'\npath = ['/dev/shm', '/no/such/place']";
    let said = wrong("cassandra", place, "filesystem = 'tmpfs'");
    assert!(
        said.unknown[0].contains("`/no/such/place` does not exist"),
        "{said:?}"
    );
    assert_eq!(said.systems[0].1.len(), 1, "{said:?}");
    assert!(said.systems[0].1[0].starts_with(
        "`/no/such/place` does not exist, but the file \
                                              system"
    ));
}

#[test]
fn options_that_the_kernel_does_not_show_are_known_by_what_is_missing() {
    let mount = |options: &[&str]| {
        let mut mount = tailmark_machine::mount_of(Path::new("/")).unwrap();
        mount.options = options.iter().map(ToString::to_string).collect();
        mount
    };
    let [noatime, relatime] = [mount(&["rw", "noatime"]), mount(&["rw", "relatime"])];
    for option in ["noatime", "nodiratime", "norelatime", "nodiscard"] {
        assert!(has_option(&noatime, option), "{option}");
    }
    for option in ["noatime", "nodiratime", "norelatime", "discard"] {
        assert!(!has_option(&relatime, option), "{option}");
    }
    let plain = mount(&["rw"]);
    for option in [
        "strictatime",
        "atime",
        "async",
        "exec",
        "data=ordered",
        "defaults",
    ] {
        assert!(has_option(&plain, option), "{option}");
    }
    let bound = mount(&["ro", "noexec", "sync", "relatime", "data=journal"]);
    for option in ["strictatime", "async", "exec", "data=ordered", "rw"] {
        assert!(!has_option(&bound, option), "{option}");
    }
}

#[test]
fn a_version_is_compared_part_by_part() {
    let other = |expected: &str, own: &str| {
        let expect = Expect {
            version: Some(expected.to_owned()),
            ..Expect::default()
        };
        other_version(&expect, Some(own)).is_some()
    };
    assert!(!other("8.", "8.1.1") && !other("8.1", "8.1.1") && !other("8..", "8.10.0"));
    assert!(other("8.1", "8.10.0") && other("8", "11.12.0"));
    // The server reports its own name.
    let own = "Cassandra 5.0.9";
    assert!(!other("5.0", own) && !other("Cassandra 5.0", own) && !other("5.0.9", own));
    assert!(other("4.1", own) && other("ScyllaDB 5.0", own) && other("Cassandra 5.1", own));
}

#[test]
fn a_host_says_itself_whether_it_is_this_machine_also_where_its_devices_are_mounted_there() {
    let text = |host: &str| {
        format!(
            "[database]\ndriver = 'cassandra'\n[[system]]\nname = 'a'\ncontact_points = '127.0.0.1:9042'\n\
             ssh = 'db1'\nexpect = {{ client_host = '{host}', filesystem = 'xfs' }}\n\
             prepare = {{ device = '/dev/no-such-device', filesystem = 'xfs', mount = '/mnt/no-such-place' }}"
        )
    };
    let said = |host: &str, is_this_machine: Option<bool>| {
        let plan = plan(&text(host));
        Mismatches::of_connected(plan.systems.iter(), &|_| is_this_machine)
    };
    let other = said("other", Some(false));
    assert_eq!(other.systems, []);
    // Facts that are not looked up are not reported as expected.
    assert!(
        other.unknown[0].contains("on another host (`ssh`)"),
        "{other:?}"
    );
    // Its contact point is a proxy on this machine.
    for (host, is_this_machine, why) in [
        ("same", Some(false), "`db1` is another machine"),
        ("other", Some(true), "`db1` is this machine"),
        // Without an agent, the address decides.
        ("other", None, "`127.0.0.1:9042` is this machine"),
    ] {
        let said = said(host, is_this_machine).systems;
        assert!(said[0].1[0].starts_with(why), "{said:?}");
    }
}
