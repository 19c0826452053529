//! What makes the conditions of two systems unequal.

use super::*;

fn system(name: &str, cache: &str) -> System {
    System {
        name: name.to_owned(),
        driver: "rocksdb".to_owned(),
        place: format!("/mnt/{name}"),
        semantics: "faithful".to_owned(),
        settings: BTreeMap::from([("cache_size".to_owned(), cache.to_owned())]),
        ceiling_for: None,
    }
}

fn fact(system: Option<&str>, group: &str, name: &str, value: &str) -> Fact {
    Fact {
        system: system.map(str::to_owned),
        group: group.to_owned(),
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

fn facts(system: &str, serial: &str, options: &str, free: &str, began: &str) -> Vec<Fact> {
    let own = |group, name, value| fact(Some(system), group, name, value);
    vec![
        fact(None, "kernel", "release", "6.18"),
        own("device", "serial number", serial),
        own("file system", "options", options),
        own("file system", "available at the start", free),
        own("data set", "load began", began),
        own("database", "version", "11.12.0"),
    ]
}

fn said(a: &Conditions, b: &Conditions, is_same_system: bool) -> Vec<String> {
    let unequal = a.unequal(b, is_same_system);
    unequal.iter().map(ToString::to_string).collect()
}

/// A run with what its reads found and what its background clients kept.
fn run(workload: &str, read_bytes: Option<f64>, background_kept: Option<f64>) -> RunConditions<'_> {
    RunConditions {
        workload,
        started_ms: None,
        read_bytes,
        background_kept,
    }
}

#[test]
fn a_background_rate_that_one_of_two_missed_is_an_unequal_condition() {
    let conditions = |shares: [Option<f64>; 2]| {
        let mut conditions = Conditions::new(None, &system("a", "1GiB"), &[], None);
        for share in shares {
            conditions.add_run(&run("readwhilewriting", None, share));
        }
        conditions
    };
    let (kept, missed) = (conditions([None; 2]), conditions([Some(0.25), None]));
    assert_eq!(
        said(&kept, &missed, false),
        ["background rate of readwhilewriting kept against 62.5% kept"]
    );
    // Both missed the same part of it.
    assert_eq!(said(&missed, &missed, false), [""; 0]);
    assert_eq!(
        said(&kept, &conditions([Some(0.995), None]), false),
        [""; 0]
    );
}

const TEN: &str = "2026-11-22T10:00:00Z";

#[test]
fn reads_that_find_records_of_another_size_are_unequal_conditions() {
    let conditions = |name: &str, driver: &str, reads: &[(&str, Option<f64>)]| {
        let mut system = system(name, "1GiB");
        driver.clone_into(&mut system.driver);
        let mut conditions = Conditions::new(None, &system, &[], None);
        for (workload, bytes) in reads {
            conditions.add_run(&run(workload, *bytes, None));
        }
        conditions
    };
    let loaded = [
        ("ycsb-a", Some(4_118.0)),
        ("ycsb-a", Some(4_110.0)),
        ("ycsb-b", None),
    ];
    // The second repeat was measured on what the updates of the first had left.
    let shrunk = [
        ("ycsb-a", Some(4_118.0)),
        ("ycsb-a", Some(1_108.0)),
        ("ycsb-b", Some(9.0)),
    ];
    let [a, b] = [&loaded, &shrunk].map(|reads| conditions("a", "aerospike", reads));
    assert_eq!(said(&a, &a, false), [""; 0]);
    let expected = ["bytes a read of ycsb-a 4,114 against 2,613"];
    assert_eq!(said(&a, &b, false), expected);
    let other = said(&a, &conditions("b", "rocksdb", &shrunk), false);
    assert_eq!(other, ["driver aerospike against rocksdb"]);
}

#[test]
fn two_devices_that_were_prepared_alike_are_under_equal_conditions() {
    let prepared = |name: &str, commands: [&str; 2]| {
        let [made, mounted] = commands;
        let facts = [
            fact(Some(name), "preparation", "filesystem", made),
            fact(Some(name), "preparation", "mount", mounted),
        ];
        Conditions::new(None, &system(name, "1GiB"), &facts, None)
    };
    let a = prepared(
        "a",
        [
            "mkfs.xfs -q -K /dev/loop4",
            "mount -o noatime /dev/loop4 /mnt/a; mkdir /mnt/a",
        ],
    );
    let b = prepared(
        "b",
        [
            "mkfs.xfs -q -K /dev/loop5",
            "mount -o noatime /dev/loop5 /mnt/b; mkdir /mnt/b",
        ],
    );
    assert_eq!(said(&a, &b, false), [""; 0]);
    let other = prepared(
        "b",
        [
            "mkfs.xfs -q /dev/loop5",
            "mount -o noatime /dev/loop5 /mnt/b; mkdir /mnt/b",
        ],
    );
    let expected = "preparation filesystem mkfs.xfs -q -K DEVICE against mkfs.xfs -q DEVICE";
    assert_eq!(said(&a, &other, false), [expected]);
}

#[test]
fn an_emulated_device_is_what_is_compared() {
    let of = |limit: &str| {
        let made = fact(Some("a"), "preparation", "emulate", limit);
        Conditions::new(None, &system("a", "1GiB"), &[made], None)
    };
    let (slow, fast) = (of("iops 1000"), of("iops 3000"));
    assert_eq!(said(&slow, &fast, false), Vec::<String>::new());
    assert_eq!(said(&slow, &fast, true).len(), 1);
}

#[test]
fn two_systems_of_a_study_may_differ_in_their_device_alone() {
    let first_run = Some(1_795_345_200_000);
    let a = facts("a", "S1", "rw,noatime", "100.0 GiB", TEN);
    let b = facts("b", "S2", "rw,noatime", "95.0 GiB", TEN);
    let conditions =
        |name, cache, facts: &[Fact]| Conditions::new(None, &system(name, cache), facts, first_run);
    let equal = said(
        &conditions("a", "1GiB", &a),
        &conditions("b", "1GiB", &b),
        false,
    );
    assert_eq!(equal, Vec::<String>::new());
    let other = facts("b", "S2", "rw", "50.0 GiB", TEN);
    assert_eq!(
        said(
            &conditions("a", "1GiB", &a),
            &conditions("b", "2GiB", &other),
            false
        ),
        [
            "cache_size 1GiB against 2GiB",
            "file system options rw,noatime against rw",
            "free space at the start 100.0 GiB against 50.0 GiB",
        ]
    );
}

#[test]
fn of_one_system_in_two_studies_the_device_and_the_kernel_count() {
    let mut a = facts("a", "S1", "rw", "100.0 GiB", TEN);
    a[0].value = "6.1".to_owned();
    let b = facts("a", "S2", "rw", "100.0 GiB", TEN);
    let conditions = |facts: &[Fact]| Conditions::new(None, &system("a", "1GiB"), facts, None);
    assert_eq!(
        said(&conditions(&a), &conditions(&b), true),
        [
            "device serial number S1 against S2",
            "kernel release 6.1 against 6.18"
        ]
    );
}

#[test]
fn devices_by_number_are_devices() {
    assert_eq!(plain("device"), "device");
    assert_eq!(plain("device 12"), "device");
    assert_eq!(plain("device below 1"), "device");
    assert_eq!(plain("file system 2"), "file system");
    for (name, expected) in [
        ("device model", true),
        ("device 2 model", true),
        ("device below 3 serial number", true),
        ("device scheduler", false),
        ("device 2 scheduler", false),
        ("device below 3 link", false),
        ("device fastest link", true),
        ("kernel release", false),
    ] {
        assert_eq!(is_identity(name), expected, "{name}");
    }
}

#[test]
fn a_data_set_of_three_days_is_not_one_of_an_hour() {
    // The first run began at 11:00 on the 22nd.
    let eleven = humantime::parse_rfc3339("2026-11-22T11:00:00Z").unwrap();
    let since = eleven.duration_since(std::time::UNIX_EPOCH).unwrap();
    let first_run = u64::try_from(since.as_millis()).ok();
    let conditions = |began| {
        let facts = facts("a", "S1", "rw", "100.0 GiB", began);
        Conditions::new(None, &system("a", "1GiB"), &facts, first_run)
    };
    let (hour, two, days) = (
        conditions(TEN),
        conditions("2026-11-22T09:00:00Z"),
        conditions("2026-11-19T11:00:00Z"),
    );
    assert_eq!(said(&hour, &two, false), Vec::<String>::new());
    let said = said(&hour, &days, false);
    assert!(
        said.len() == 1 && said[0].starts_with("age of the data set "),
        "{said:?}"
    );
}

/// The facts of a system that runs a library.
fn of_library(device: &str, version: &str, library: &str, sha256: &str) -> Vec<Fact> {
    let own = |group, name, value: &str| fact(Some("a"), group, name, value);
    vec![
        own("device", "name", device),
        own("device", "serial number", device),
        own("database", "version", version),
        own("database", "library", library),
        own("database", "library_sha256", sha256),
        own("database", "build", &format!("built from {version}")),
        own("database", "format_version", &version[..1]),
        own("database", "library_unique_symbols", &version[..1]),
    ]
}

fn with_library(setting: &str, cache: &str, facts: &[Fact]) -> Conditions {
    let mut system = system("a", cache);
    let set = ("library".to_owned(), setting.to_owned());
    system.settings.extend([set]);
    Conditions::new(None, &system, facts, None)
}

#[test]
fn libraries_on_one_device_are_what_is_compared() {
    let old = of_library("vda", "8.1.1", "rocksdbjni-8.1.1.1.jar", "aa");
    let new = of_library("vda", "9.10.0", "rocksdbjni-9.10.0.jar", "bb");
    let old = with_library("8.1.1", "1GiB", &old);
    let compared = old.compared_library(&with_library("9.10.0", "1GiB", &new), false);
    assert_eq!(
        compared.unwrap().to_string(),
        "library 8.1.1 (rocksdbjni-8.1.1.1.jar) against 9.10.0 (rocksdbjni-9.10.0.jar)"
    );
    assert_eq!(
        said(&old, &with_library("9.10.0", "1GiB", &new), false),
        [""; 0]
    );
    // Anything else is still named.
    assert_eq!(
        said(&old, &with_library("9.10.0", "2GiB", &new), false),
        ["cache_size 1GiB against 2GiB"]
    );
}

#[test]
fn libraries_on_two_devices_or_in_two_studies_are_one_difference() {
    let old = of_library("vda", "8.1.1", "rocksdbjni-8.1.1.1.jar", "aa");
    let on_other = of_library("vdb", "11.12.0", "embedded", "");
    let on_same = of_library("vda", "8.1.1", "rocksdbjni-8.1.1.1.jar", "bb");
    let old = with_library("8.1.1", "1GiB", &old);
    assert_eq!(
        said(&old, &with_library("embedded", "1GiB", &on_other), false),
        ["library 8.1.1 (rocksdbjni-8.1.1.1.jar) against 11.12.0 (embedded)"]
    );
    // Libraries of one name and version are told apart by their content.
    assert_eq!(
        said(&old, &with_library("8.1.1.1", "1GiB", &on_same), true),
        ["library 8.1.1 (rocksdbjni-8.1.1.1.jar), aa against 8.1.1 (rocksdbjni-8.1.1.1.jar), bb"]
    );
    // Two names of one library are no difference.
    let same = of_library("vdb", "8.1.1", "rocksdbjni-8.1.1.1.jar", "aa");
    assert_eq!(
        said(&old, &with_library("8.1", "1GiB", &same), false),
        [""; 0]
    );
}

#[test]
fn what_the_database_reports_of_a_setting_that_differs_is_not_said_again() {
    let with = |sync: &str, level: &str| {
        let own = |name, value| fact(Some("a"), "database", name, value);
        let facts = [own("sync", sync), own("level", level)];
        let mut system = system("a", "1GiB");
        let set = ("sync".to_owned(), sync.to_owned());
        system.settings.extend([set]);
        Conditions::new(None, &system, &facts, None)
    };
    assert_eq!(
        said(&with("true", "1"), &with("false", "2"), true),
        ["sync true against false", "database level 1 against 2"]
    );
}
