//! The plan as it takes effect, as dotted keys and text: what the study keeps, and what a run on
//! the same directory is compared with. The title and what is assumed may change, and are not in
//! it.

use super::{Plan, Reload, SystemPlan};
use std::collections::BTreeMap;
use tailmark_workload::{Distribution, Group, GroupClients, LengthChoice, Workload};

/// Every effective key with its value.
pub(super) fn keys(plan: &Plan) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    let mut put = |key: &str, value: String| {
        keys.insert(key.to_owned(), value);
    };
    let sweep = &plan.sweep;
    let time = |time| humantime::format_duration(time).to_string();
    put("scale", plan.scale.to_string());
    put("time_scale", plan.time_scale.to_string());
    if let Some(system) = plan.systems.first() {
        put("dataset.records", system.data.records.to_string());
        put(
            "dataset.fields",
            system.data.schema.fields.len().to_string(),
        );
        put("dataset.field_length", system.data.field_length.to_string());
    }
    put("dataset.compressibility", sweep.compressibility.to_string());
    put(
        "dataset.write_all_fields",
        sweep.write_all_fields.to_string(),
    );
    let names: Vec<_> = sweep.workloads.iter().map(|w| w.name.as_str()).collect();
    put("sweep.workloads", names.join(", "));
    let threads: Vec<_> = sweep.threads.iter().map(ToString::to_string).collect();
    put("sweep.threads", threads.join(", "));
    put("sweep.repeats", sweep.repeats.to_string());
    put("sweep.warmup", time(sweep.warmup));
    put("sweep.seed", sweep.seed.to_string());
    put("sweep.reload", sweep.reload.name().to_owned());
    put("sweep.load_threads", sweep.load_threads.to_string());
    put("sweep.settle", time(sweep.settle));
    put("sweep.ready_timeout", time(sweep.ready_timeout));
    if let Some(rate) = sweep.rate {
        put("sweep.rate", rate.to_string());
    }
    if let Some(operations) = sweep.operations {
        put("sweep.operations", operations.to_string());
    }
    if let Some(duration) = sweep.duration {
        put("sweep.duration", time(duration));
    }
    put("host.drop_caches", plan.host.drop_caches.to_string());
    if let Some(limit) = plan.host.memory_limit {
        put("host.memory_limit", limit.to_string());
    }
    sweep
        .workloads
        .iter()
        .for_each(|workload| put_workload(workload, &mut put));
    plan.systems
        .iter()
        .for_each(|system| put_system(system, &mut put));
    keys
}

fn put_workload(workload: &Workload, put: &mut impl FnMut(&str, String)) {
    for (index, group) in workload.groups.iter().enumerate() {
        let path = match workload.groups.len() {
            1 => format!("workload.{}", workload.name),
            _ => format!("workload.{}.{index}", workload.name),
        };
        match &group.task {
            Some(task) => put(&format!("{path}.task"), format!("{task:?}")),
            None => put(&format!("{path}.mix"), mix(group)),
        }
        put(
            &format!("{path}.distribution"),
            distribution(&group.distribution),
        );
        if let GroupClients::Exactly(clients) = group.clients {
            put(&format!("{path}.clients"), clients.to_string());
        }
        if group.mix.scan > 0.0 {
            let choice = match group.scan.choice {
                LengthChoice::Uniform => "uniform",
                LengthChoice::Zipfian => "zipfian",
            };
            let length = format!("{} to {} {choice}", group.scan.min, group.scan.max);
            put(&format!("{path}.scan_length"), length);
        }
        if !group.read_all_fields {
            put(&format!("{path}.read_all_fields"), "false".to_owned());
        }
    }
}

/// The weights that are not 0: `read 0.5, update 0.5`.
fn mix(group: &Group) -> String {
    let mix = &group.mix;
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
    put("place", system.place.display().to_string());
    put("driver", system.driver.name.to_owned());
    put("semantics", system.semantics.name().to_owned());
    if let Some(of) = &system.ceiling_for {
        put("ceiling_for", of.clone());
    }
    if let Some(watch) = &system.watch {
        put("watch", watch.display().to_string());
    }
    if let Some(service) = &system.service {
        put("service.start", service.start().join(" "));
        put("service.stop", service.stop().unwrap_or_default().join(" "));
    }
    for (name, value) in system.settings.iter() {
        put(&format!("database.{name}"), value.to_owned());
    }
}

impl Reload {
    /// The name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Workload => "workload",
            Self::Point => "point",
        }
    }
}
