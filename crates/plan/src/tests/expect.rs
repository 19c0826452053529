//! What a plan says of its places: what is expected of them, and several of one system.

use super::{check, message, plan, shipped};
use crate::{ClientHost, Expect, PLANS, Unexpected};
use std::path::PathBuf;
use tailmark_testing::assert_says;

fn system(driver: &str, keys: &str) -> String {
    format!("[database]\ndriver = '{driver}'\n[[system]]\nname = 'a'\n{keys}\n")
}

#[test]
fn expectations_are_read_and_shape_no_point() {
    let text = "path = '/x'\nexpect = { mount = true, filesystem = 'xfs', mount_options = \
                'noatime,nodiratime', model = '7450', capacity = '7.68TB', transport = 'nvme' }";
    let text = format!("unexpected = 'finding'\n{}", system("file", text));
    let plan = plan(&text);
    assert_eq!(plan.general.unexpected, Unexpected::Finding);
    let expected = Expect {
        mount: true,
        filesystem: Some("xfs".to_owned()),
        mount_options: vec!["noatime".to_owned(), "nodiratime".to_owned()],
        model: Some("7450".to_owned()),
        capacity: Some(7_680_000_000_000),
        transport: Some("nvme".to_owned()),
        ..Expect::default()
    };
    assert_eq!(plan.systems[0].expect, expected);
    let keys = plan.header.plan;
    let kept = keys.iter().filter(|(key, _)| key.contains("expect"));
    let kept: Vec<_> = kept.collect();
    assert_eq!(kept.len(), 7, "{kept:?}");
    assert!(!kept.iter().any(|(_, given)| given.role.shapes_points()));
    assert!(keys["system.a.place"].role.shapes_points());
}

#[test]
fn an_expectation_of_what_a_driver_has_not_is_refused() {
    for (driver, expect, words) in [
        (
            "file",
            "client_host = 'other'",
            ["system.a.expect.client_host", "has no server"],
        ),
        (
            "file",
            "version = '8'",
            ["system.a.expect.version", "opens no database"],
        ),
        (
            "file",
            "transport = 'ide'",
            ["system.a.expect.transport is `ide`", "nvme"],
        ),
        (
            "file",
            "capacity = 'much'",
            ["system.a.expect.capacity is `much`", "a size such as"],
        ),
        (
            "file",
            "modell = 'x'",
            ["system.a.expect.modell", "did you mean `model`?"],
        ),
    ] {
        let text = system(driver, &format!("path = '/x'\nexpect = {{ {expect} }}"));
        let said = message(&check(&text).unwrap_err());
        assert_says(&said, &words);
    }
}

#[test]
fn a_server_may_have_several_places_and_an_embedded_database_one() {
    let keys = "contact_points = 'x:1'\npath = '/a'\ndevice = ['/dev/nvme0', '/dev/sd,b']";
    let several = plan(&system("cassandra", keys));
    let watched = ["/a", "/dev/nvme0", "/dev/sd,b"].map(PathBuf::from);
    assert_eq!(several.systems[0].watch, watched);
    assert_eq!(
        several.header.plan["system.a.watch"].value,
        "/a, /dev/nvme0, /dev/sd,b"
    );
    for places in ["path = ['/a', '/b']", "device = ['/dev/sda', '/dev/sdb']"] {
        let said = message(&check(&system("file", places)).unwrap_err());
        assert!(said.contains("keeps its data in one place"), "{said}");
    }
    let one = plan(&system("file", "path = ['/a, b']"));
    assert_eq!(one.systems[0].location.to_string(), "/a, b");
    let said = message(&check(&system("file", "path = []")).unwrap_err());
    assert!(said.contains("a path, or a list such as"), "{said}");
}

#[test]
fn a_place_on_the_command_line_drops_what_was_expected_of_the_one_it_replaces() {
    let mut raw = shipped("micron-7400-rocksdb");
    let given = ["Micron 7400=/mnt/a".to_owned()];
    raw.set_systems(&given).unwrap();
    let plan = raw.check().unwrap();
    assert_eq!(plan.systems[0].expect, Expect::default());
    let mut moved = shipped("micron-7400-rocksdb");
    moved.assign("system.'Micron 7400'.path='/mnt/a'").unwrap();
    let moved_plan = moved.check().unwrap();
    assert_eq!(moved_plan.systems[0].expect.model.as_deref(), Some("7400"));
    assert!(!moved_plan.systems[0].placeholder);
}

#[test]
fn shipped_plans_expect_what_their_studies_say() {
    for row in PLANS.iter().filter(|row| row.name.starts_with("micron")) {
        let raw = crate::RawPlan::find(row.name).unwrap();
        let Ok(plan) = raw.check() else {
            continue;
        };
        for system in &plan.systems {
            let expect = &system.expect;
            let is_here = expect.mount && expect.filesystem.as_deref() == Some("xfs");
            let is_elsewhere =
                expect.client_host == Some(ClientHost::Other) && expect.capacity.is_some();
            assert!(is_here || is_elsewhere, "{} {}", row.name, system.name);
            let is_named = system.name.starts_with("Micron");
            assert!(
                !is_named || expect.model.is_some(),
                "{} {}",
                row.name,
                system.name
            );
        }
    }
}

#[test]
fn the_version_of_a_server_can_be_expected() {
    for (driver, place) in [
        ("cassandra", "contact_points = '127.0.0.1:9042'"),
        ("aerospike", "contact_points = '127.0.0.1:3000'"),
        ("rocksdb", "path = '/x'"),
    ] {
        let text = system(driver, &format!("{place}\nexpect.version = '8.1'"));
        assert_eq!(
            plan(&text).systems[0].expect.version.as_deref(),
            Some("8.1")
        );
    }
    let refused = check(&system("file", "path = '/x'\nexpect.version = '8.1'")).unwrap_err();
    assert_says(&message(&refused), &["expect.version", "opens no database"]);
}
