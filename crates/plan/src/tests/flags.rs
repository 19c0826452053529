//! Flags that stand for several keys, or for a setting of a driver.

use super::{message, plan};
use crate::{Error, KEYS, Plan, RawPlan, SETTING_FLAGS};

/// A plan after flags and assignments, in the order of the command line.
fn with(text: &str, given: &[(&str, &str)]) -> Result<Plan, Error> {
    let mut raw = RawPlan::parse("test", text)?;
    for (flag, value) in given {
        let mut keys = KEYS.iter().chain(SETTING_FLAGS);
        match keys.find(|key| key.flag.is_some_and(|own| own.name == *flag)) {
            Some(key) => raw.set_flag(key, value)?,
            None => raw.assign(value)?,
        }
    }
    raw.check()
}

/// Two systems of different drivers.
const DISKS: &str = "[database]\ndriver = 'rocksdb'\n[[system]]\nname = 'a'\npath = '/a'\n\
                     [[system]]\nname = 'b'\npath = '/b'\ndatabase = { driver = 'file' }\n";

#[test]
fn the_size_of_a_record_is_split_evenly_over_its_fields() {
    let fields = |text: &str, given: &[(&str, &str)]| {
        let data = with(&format!("{text}{DISKS}"), given).map(|plan| plan.systems[0].data.clone());
        let data = data.unwrap_or_else(|error| panic!("{given:?}: {}", message(&error)));
        (data.schema.fields.len(), data.field_length)
    };
    let size = |size| ("--record-size", size);
    assert_eq!(fields("", &[size("4KiB")]), (4, 1024));
    assert_eq!(fields("", &[size("1000")]), (4, 250));
    assert_eq!(fields("", &[size("1001")]), (1, 1001));
    let ten = "[dataset]\nfields = 10\nfield_length = 100\n";
    assert_eq!(fields(ten, &[size("400")]), (10, 40));
    let eight = ("--set", "dataset.fields=8");
    assert_eq!(fields("", &[size("4KiB"), eight]), (8, 512));
    assert_eq!(fields("", &[eight, size("4KiB")]), (8, 512));
}

#[test]
fn a_size_that_the_fields_do_not_divide_is_refused() {
    let refused = |text: &str, given: &[(&str, &str)]| {
        message(&with(&format!("{text}{DISKS}"), given).unwrap_err())
    };
    assert_eq!(
        refused("[dataset]\nfields = 10\n", &[("--record-size", "4096")]),
        "--record-size is `4096`, but it must be a multiple of dataset.fields (10), such as 4090; \
         or set dataset.fields=1"
    );
    for size in ["big", "0", "17GiB"] {
        let said = refused("", &[("--record-size", size)]);
        assert!(
            said.starts_with("--record-size (dataset.field_length) is"),
            "{said}"
        );
    }
}

#[test]
fn direct_and_compression_set_what_each_driver_of_the_plan_has() {
    let plan = with(DISKS, &[("--direct", "true"), ("--compression", "zstd")]).unwrap();
    let setting = |system: usize, name| plan.systems[system].settings.text(name);
    assert_eq!(setting(0, "direct_reads"), Some("true"));
    assert_eq!(setting(0, "direct_flush_compaction"), Some("true"));
    assert_eq!(setting(0, "compression"), Some("zstd"));
    assert_eq!(setting(1, "direct"), Some("true"));
    assert_eq!(setting(1, "compression"), None);
    // The study records the settings, as if they were in the plan.
    let recorded = &plan.header.plan;
    let recorded = |key: &str| recorded.get(key).map(|entry| entry.value.as_str());
    assert_eq!(recorded("system.a.database.direct_reads"), Some("true"));
    assert_eq!(recorded("system.a.database.compression"), Some("zstd"));
}

#[test]
fn a_flag_for_a_setting_that_no_driver_has_is_refused() {
    let null = "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n";
    for flag in ["--direct", "--compression"] {
        let said = message(&with(null, &[(flag, "true")]).unwrap_err());
        let start = format!("{flag} is `true`, but it must be absent, because no driver");
        assert!(said.starts_with(&start), "{said}");
    }
    let foreign = with(DISKS, &[("--compression", "gzip")]).unwrap_err();
    assert!(message(&foreign).contains("zstd"), "{}", message(&foreign));
    assert_eq!(plan(null).systems[0].settings.text("direct"), None);
}
