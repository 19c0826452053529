//! The properties that decide whether a loaded data set serves a plan, in the words of a marker.

use std::collections::{BTreeMap, BTreeSet};
use tailmark_plan::{Plan, SystemPlan, file_sums};

/// The suffix for the content of a setting's file. Older markers lack it and do not describe the
/// content.
pub(super) const CONTENT: &str = ".sha256";

/// What decides whether a loaded data set serves a plan.
pub(super) fn describe(plan: &Plan, system: &SystemPlan) -> BTreeMap<String, String> {
    let data = &system.data;
    let mut described: BTreeMap<String, String> = [
        ("driver", system.driver.name.to_owned()),
        ("table", data.schema.table.clone()),
        ("records", data.records.to_string()),
        ("fields", data.schema.fields.len().to_string()),
        ("field_length", data.field_length.to_string()),
        ("compressibility", plan.dataset.compressibility.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    if let Some(layout) = plan
        .sweep
        .workloads
        .first()
        .and_then(|workload| workload.record_layout())
    {
        described.insert("key_length".to_owned(), layout.key_bytes.to_string());
    }
    for name in system.driver.stored {
        if let Some(value) = system.settings.text(name) {
            described.insert(format!("database.{name}"), value.to_owned());
        }
    }
    for (name, sum) in file_sums(system) {
        if system.driver.stored.contains(&name) {
            described.insert(format!("database.{name}{CONTENT}"), sum);
        }
    }
    described
}

/// Differences between a plan and the previous state: `key is x, was y; ...`, or empty.
pub fn differences(is: &BTreeMap<String, String>, was: &BTreeMap<String, String>) -> String {
    let keys: BTreeSet<_> = is.keys().chain(was.keys()).collect();
    let text = |map: &BTreeMap<String, String>, key| match map.get(key) {
        Some(value) => format!("`{value}`"),
        None => "not set".to_owned(),
    };
    let differs: Vec<_> = keys
        .into_iter()
        .filter(|key| is.get(*key) != was.get(*key))
        .map(|key| format!("{key} is {}, was {}", text(is, key), text(was, key)))
        .collect();
    differs.join("; ")
}
