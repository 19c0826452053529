//! The effective plan as dotted keys and text. A study stores it, and compares it when a run uses
//! the directory again. It has every key that shapes a point, and the SHA-256 of every file that
//! does. The title and the assumed keys may change, and are not in it.

use super::{KEYS, Order, Plan, SystemPlan, db_bench_text, keys::role, requests::is_of_background};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};
use tailmark_driver::{INPUT_BYTES_MAX, SettingKind, read_file};
use tailmark_model::{
    DataSize, Kind, LengthRange, PlanValue, Role, RunRules, StudySettings, Subject, SystemCost,
};
use tailmark_workload::{
    Distribution, GroupClients, GroupOperations, LengthChoice, Mix, MixedOperations, Workload,
};

/// Every effective key with its value and role.
pub(super) fn keys(plan: &Plan) -> BTreeMap<String, PlanValue> {
    let mut keys = BTreeMap::new();
    let mut put = |key: &str, role: Role, value: String| {
        keys.insert(key.to_owned(), PlanValue { value, role });
    };
    for key in KEYS {
        if let Some(value) = key.sets.and_then(|sets| sets(plan)) {
            put(&key.path(), key.role, value);
        }
    }
    if let Some(scaled) = plan.machine.memory_limit_scaled {
        let role = role("machine", "memory_limit");
        put("machine.memory_limit.scaled", role, scaled.to_string());
    }
    let workloads = plan.sweep.workloads.iter();
    workloads.for_each(|workload| put_workload(workload, &mut put));
    let systems = plan.systems.iter();
    systems.for_each(|system| put_system(system, &mut put));
    keys
}

/// Settings of a plan for readers of its study.
pub(super) fn settings(plan: &Plan) -> StudySettings {
    let data = plan.systems.first().map(|system| &system.data);
    StudySettings {
        report: plan.report.clone(),
        slo: plan.slo.clone(),
        rules: rules(plan),
        has_rates: !plan.sweep.rates.is_empty(),
        data: data.map(|data| DataSize {
            records: data.records,
            value_bytes: data.records as f64 * data.value_bytes() as f64,
        }),
        background: plan.sweep.workloads.iter().filter_map(background).collect(),
        costs: plan.systems.iter().filter_map(cost).collect(),
    }
}

/// How the points of a plan are judged.
fn rules(plan: &Plan) -> RunRules {
    RunRules {
        allow_errors: plan.sweep.allow_errors,
        takes_turns: plan.sweep.order == Order::Interleaved && plan.systems.len() > 1,
        repeats: plan.sweep.until_decided,
        lengths: lengths(plan),
    }
}

fn lengths(plan: &Plan) -> Option<LengthRange> {
    let (least, most) = plan.sweep.until_known.zip(plan.sweep.duration)?;
    let [least_s, most_s] = [least, most].map(|time| time.as_secs_f64());
    Some(LengthRange { least_s, most_s })
}

/// A system, and what the plan states of its price.
fn cost(system: &SystemPlan) -> Option<(String, SystemCost)> {
    Some((system.name.clone(), system.cost.clone()?))
}

/// A workload, and the kinds of request that only background clients send; empty if there are none.
fn background(workload: &Arc<Workload>) -> Option<(String, BTreeSet<Kind>)> {
    let kinds = Kind::ALL.iter().copied();
    let kinds = kinds.filter(|kind| is_of_background(workload, *kind));
    let kinds: BTreeSet<Kind> = kinds.collect();
    (!kinds.is_empty()).then(|| (workload.name.clone(), kinds))
}

fn put_workload(workload: &Workload, put: &mut impl FnMut(&str, Role, String)) {
    let consists_of = role("workload", "read");
    for (index, group) in workload.groups.iter().enumerate() {
        let path = match workload.groups.len() {
            1 => format!("workload.{}", workload.name),
            _ => format!("workload.{}.{index}", workload.name),
        };
        let mut put = |name: &str, role, value| put(&format!("{path}.{name}"), role, value);
        match &group.operations {
            GroupOperations::Mix(mixed) => {
                put_mixed(mixed, &mut |name, value| put(name, consists_of, value));
            }
            GroupOperations::DbBench(task) => {
                put("task", consists_of, db_bench_text::text(task));
            }
        }
        let drawn = distribution(&group.distribution());
        put("distribution", role("workload", "distribution"), drawn);
        if let GroupClients::Exactly(clients) = group.clients {
            put("clients", consists_of, clients.to_string());
        }
    }
}

fn put_mixed(mixed: &MixedOperations, put: &mut impl FnMut(&str, String)) {
    put("mix", mix(&mixed.mix));
    if mixed.mix.scan > 0.0 {
        let choice = match mixed.scan.choice {
            LengthChoice::Uniform => "uniform",
            LengthChoice::Zipfian => "zipfian",
        };
        let length = format!("{} to {} {choice}", mixed.scan.min, mixed.scan.max);
        put("scan_length", length);
    }
    if !mixed.read_all_fields {
        put("read_all_fields", "false".to_owned());
    }
}

/// The weights other than 0: `read 0.5, update 0.5`.
fn mix(mix: &Mix) -> String {
    let weights = [
        ("read", mix.read),
        ("update", mix.update),
        ("insert", mix.insert),
        ("scan", mix.scan),
        ("read-modify-write", mix.read_modify_write),
    ];
    let weights = weights.iter().filter(|(_, weight)| *weight > 0.0);
    weights
        .map(|(name, weight)| format!("{name} {weight}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A distribution and its parameters.
fn distribution(distribution: &Distribution) -> String {
    let name = distribution.name();
    match distribution {
        Distribution::TrueZipfian { theta } => format!("{name} theta {theta}"),
        Distribution::Hotspot {
            data_fraction,
            operation_fraction,
        } => {
            format!("{name} {operation_fraction} of draws to {data_fraction} of records")
        }
        Distribution::Exponential {
            percentile,
            fraction,
        } => {
            format!("{name} {percentile} % of draws to {fraction} of records")
        }
        _ => name.to_owned(),
    }
}

fn put_system(system: &SystemPlan, put: &mut impl FnMut(&str, Role, String)) {
    let mut put = |key: &str, role, value: String| {
        put(&format!("system.{}.{key}", system.name), role, value);
    };
    put("place", role("system", "path"), system.location.to_string());
    let database = |name| role("database", name);
    put("driver", database("driver"), system.driver.name.to_owned());
    let semantics = system.semantics.name().to_owned();
    put("semantics", database("semantics"), semantics);
    if let Some(version) = &system.version {
        put("version", database("version"), version.clone());
    }
    if !system.watch.is_empty() {
        let watched = system.watch.iter().map(|path| path.display().to_string());
        let watched = watched.collect::<Vec<_>>().join(", ");
        put("watch", role("system", "path"), watched);
    }
    for key in KEYS {
        if let Some(value) = key.sets_in_system.and_then(|sets| sets(system)) {
            let path = key.path();
            put(path.trim_start_matches("system."), key.role, value);
        }
    }
    for (name, value) in system.expect.keys() {
        put(&format!("expect.{name}"), role("expect", name), value);
    }
    if let Some(emulate) = &system.emulate {
        put("emulate", role("device", "emulate"), emulate.text());
    }
    for (name, value) in system.prepare.keys() {
        put(&format!("prepare.{name}"), role("prepare", name), value);
    }
    // Every setting of a database is a condition.
    let setting = Role::Condition(Subject::Setting);
    for (name, value) in system.settings.iter() {
        put(&format!("database.{name}"), setting, value.to_owned());
    }
    for (name, sum) in file_sums(system) {
        put(&format!("database.{name}.sha256"), setting, sum);
    }
}

/// For each setting that names a file, the SHA-256 of its content, if it can be read.
pub fn file_sums(system: &SystemPlan) -> impl Iterator<Item = (&'static str, String)> {
    let settings = system.driver.settings.iter();
    let files = settings.filter(|setting| setting.kind == SettingKind::File);
    files.filter_map(|setting| {
        let path = Path::new(system.settings.text(setting.name)?);
        let content = read_file(path, INPUT_BYTES_MAX).ok()?;
        let sum = Sha256::digest(content)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Some((setting.name, sum))
    })
}
