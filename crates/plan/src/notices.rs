//! What a plan may say although it hardly can be meant: sizes in thousands, workloads that no sweep
//! uses, and a scale of times that changes none. And what its drivers decided otherwise.

use super::{Accept, Plan, RawPlan, keys, units};
use std::collections::BTreeMap;
use tailmark_driver::{Driver, SettingKind};
use tailmark_model::{PlanValue, number};
use toml::{Table, Value};

/// The notices of a plan, which was accepted.
pub(super) fn notices(raw: &RawPlan, plan: &Plan) -> Vec<String> {
    let mut notices = sizes(raw, plan);
    notices.extend(unused_workloads(raw, plan));
    notices.extend(time_scale(raw, plan));
    notices.extend(of_drivers(plan));
    notices
}

/// What drivers decided, such as to use a fallback, once for all systems with the same decision.
fn of_drivers(plan: &Plan) -> Vec<String> {
    let mut decided: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for system in &plan.systems {
        for notice in system.settings.notices() {
            decided.entry(notice).or_default().push(&system.name);
        }
    }
    let line = |(notice, systems): (&str, Vec<&str>)| match systems[..] {
        [system] => format!("system {system}: {notice}"),
        _ => format!("systems {}: {notice}", number::list(&systems)),
    };
    decided.into_iter().map(line).collect()
}

/// Sizes of the data set and of databases such as `4k`, which are 4,000 bytes.
fn sizes(raw: &RawPlan, plan: &Plan) -> Vec<String> {
    let mut notices = Vec::new();
    let mut look = |path: &str, table: &Table, is_size: &dyn Fn(&str) -> bool| {
        let sizes = table.iter().filter(|(name, _)| is_size(name));
        notices.extend(sizes.filter_map(|(name, value)| in_thousands(raw, path, name, value)));
    };
    let is_size = |name: &str| {
        let row = keys::find("dataset", name);
        row.is_some_and(|row| matches!(row.accept, Accept::Size(..)))
    };
    if let Some(Value::Table(dataset)) = raw.table().get("dataset") {
        look("dataset", dataset, &is_size);
    }
    let of_all = raw.table().get("database").and_then(Value::as_table);
    let drivers: Vec<&Driver> = plan.systems.iter().map(|system| system.driver).collect();
    if let Some(database) = of_all {
        look("database", database, &|name| {
            drivers.iter().any(|driver| is_bytes(driver, name))
        });
    }
    let systems = raw.table().get("system").and_then(Value::as_array);
    for (system, table) in plan.systems.iter().zip(systems.into_iter().flatten()) {
        if let Some(Value::Table(database)) = table.get("database") {
            let path = format!("system.{}.database", system.name);
            look(&path, database, &|name| is_bytes(system.driver, name));
        }
    }
    notices
}

fn is_bytes(driver: &Driver, setting: &str) -> bool {
    let mut settings = driver.settings.iter();
    let bytes = |kind| matches!(kind, SettingKind::Bytes { .. });
    settings.any(|own| own.name == setting && bytes(own.kind))
}

/// The notice about a number with `k`.
fn in_thousands(raw: &RawPlan, path: &str, name: &str, value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let digits = text.strip_suffix(['k', 'K'])?.trim_end();
    let bytes = units::size(value)?;
    let key = format!("{path}.{name}");
    Some(format!(
        "{}{key} is `{text}`, read as {} bytes; write `{digits}KiB` for {} bytes",
        raw.place(&key),
        number::count(bytes),
        number::count((digits.parse::<f64>().ok()? * 1024.0).round() as u64),
    ))
}

fn unused_workloads(raw: &RawPlan, plan: &Plan) -> Vec<String> {
    let tables = raw.table().get("workload").and_then(Value::as_array);
    let names = tables.into_iter().flatten();
    let names = names.filter_map(|table| table.get("name")?.as_str());
    let is_used = |name: &&str| {
        let mut used = plan.sweep.workloads.iter();
        used.any(|workload| workload.name == **name)
    };
    let notice = |name: &str| {
        let place = raw.place(&format!("workload.{name}"));
        format!("{place}workload `{name}` is not used; add it to sweep.workloads")
    };
    names.filter(|name| !is_used(name)).map(notice).collect()
}

/// The notice that the plan would be the same without its scale of times.
fn time_scale(raw: &RawPlan, plan: &Plan) -> Option<String> {
    const KEY: &str = "time_scale";
    let scale = plan.general.time_scale;
    if scale == 1.0 || !raw.table().contains_key(KEY) {
        return None;
    }
    let unscaled = raw.without(KEY).checked().ok()?;
    let others = |own: &Plan| -> BTreeMap<String, PlanValue> {
        let mut keys = own.header.plan.clone();
        keys.remove(KEY);
        keys
    };
    (others(plan) == others(&unscaled) && plan.slo == unscaled.slo).then(|| {
        format!(
            "{}{KEY} is {scale} but changes nothing: times are not shortened to less than 10 s",
            raw.place(KEY)
        )
    })
}
