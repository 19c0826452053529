//! The plan as it takes effect, as dotted keys and text: what the study keeps, and what a run on
//! the same directory is compared with. Every key that shapes a point is in it, and the content of
//! every file that does, by its SHA-256; the title and what is assumed may change, and are not.

use super::{KEYS, Plan, PlanKey, SystemPlan, db_bench_text, service::shown};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, path::Path};
use tailmark_driver::{INPUT_BYTES_MAX, SettingKind, read_file};
use tailmark_workload::{
    Distribution, GroupClients, GroupOperations, LengthChoice, Mix, MixedOperations, Workload,
};

/// Every effective key with its value.
pub(super) fn keys(plan: &Plan) -> BTreeMap<String, String> {
    let in_effect = |key: &PlanKey| Some((key.path(), key.sets?(plan)?));
    let mut keys: BTreeMap<String, String> = KEYS.iter().filter_map(in_effect).collect();
    let mut put = |key: &str, value: String| {
        keys.insert(key.to_owned(), value);
    };
    if let Some(scaled) = plan.machine.memory_limit_scaled {
        put("machine.memory_limit.scaled", scaled.to_string());
    }
    let workloads = plan.sweep.workloads.iter();
    workloads.for_each(|workload| put_workload(workload, &mut put));
    let systems = plan.systems.iter();
    systems.for_each(|system| put_system(system, &mut put));
    keys
}

fn put_workload(workload: &Workload, put: &mut impl FnMut(&str, String)) {
    for (index, group) in workload.groups.iter().enumerate() {
        let path = match workload.groups.len() {
            1 => format!("workload.{}", workload.name),
            _ => format!("workload.{}.{index}", workload.name),
        };
        match &group.operations {
            GroupOperations::Mix(mixed) => put_mixed(&path, mixed, put),
            GroupOperations::DbBench(workload) => {
                put(&format!("{path}.task"), db_bench_text::text(workload));
            }
        }
        put(
            &format!("{path}.distribution"),
            distribution(&group.distribution()),
        );
        if let GroupClients::Exactly(clients) = group.clients {
            put(&format!("{path}.clients"), clients.to_string());
        }
    }
}

fn put_mixed(path: &str, mixed: &MixedOperations, put: &mut impl FnMut(&str, String)) {
    put(&format!("{path}.mix"), mix(&mixed.mix));
    if mixed.mix.scan > 0.0 {
        let choice = match mixed.scan.choice {
            LengthChoice::Uniform => "uniform",
            LengthChoice::Zipfian => "zipfian",
        };
        let length = format!("{} to {} {choice}", mixed.scan.min, mixed.scan.max);
        put(&format!("{path}.scan_length"), length);
    }
    if !mixed.read_all_fields {
        put(&format!("{path}.read_all_fields"), "false".to_owned());
    }
}

/// The weights that are not 0: `read 0.5, update 0.5`.
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

/// A distribution with its parameters.
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

fn put_system(system: &SystemPlan, put: &mut impl FnMut(&str, String)) {
    let mut put = |key: &str, value: String| put(&format!("system.{}.{key}", system.name), value);
    put("place", system.location.to_string());
    put("driver", system.driver.name.to_owned());
    put("semantics", system.semantics.name().to_owned());
    if let Some(version) = &system.version {
        put("version", version.clone());
    }
    if let Some(of) = &system.ceiling_for {
        put("ceiling_for", of.clone());
    }
    if !system.watch.is_empty() {
        let watched = system.watch.iter().map(|path| path.display().to_string());
        put("watch", watched.collect::<Vec<_>>().join(", "));
    }
    if !system.ssh.is_empty() {
        put("ssh", system.ssh.join(", "));
    }
    for (name, value) in system.expect.keys() {
        put(&format!("expect.{name}"), value);
    }
    if let Some(emulate) = &system.emulate {
        put("emulate", emulate.text());
    }
    for (name, value) in system.prepare.keys() {
        put(&format!("prepare.{name}"), value);
    }
    if let Some(service) = &system.service {
        put("service.start", shown(&service.start()));
        put("service.stop", shown(&service.stop().unwrap_or_default()));
        if let Some(ready) = &service.ready {
            put("service.ready", shown(ready));
        }
    }
    for (name, value) in system.settings.iter() {
        put(&format!("database.{name}"), value.to_owned());
    }
    for (name, sum) in file_sums(system) {
        put(&format!("database.{name}.sha256"), sum);
    }
}

/// Of each setting that names a file: the SHA-256 of its content, where it can be read.
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
