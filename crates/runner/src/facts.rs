//! Facts about the sources of a study's numbers: systems, machine, databases.

use crate::ranks::Ranks;
use bytesize::ByteSize;
use tailmark_machine::MemoryLimit;
use tailmark_model::{Fact, System};
use tailmark_plan::{Plan, SystemPlan};
use tailmark_prepare::Kernel;
use tailmark_workload::Workload;

/// The facts in the study of a plan, without private ones if it is redacted.
pub(crate) fn kept(plan: &Plan, mut facts: Vec<Fact>) -> Vec<Fact> {
    facts.retain(|fact| !plan.report.redact || !fact.is_private());
    facts
}

/// The systems of a plan.
pub(crate) fn describe(plan: &Plan) -> Vec<System> {
    let system = |system: &SystemPlan| System {
        name: system.name.clone(),
        driver: system.driver.name.to_owned(),
        place: system.place.clone(),
        semantics: system.semantics.name().to_owned(),
        settings: system
            .settings
            .iter()
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect(),
        ceiling_for: system.ceiling_for.clone(),
    };
    plan.systems.iter().map(system).collect()
}

/// The use case of a workload. For a custom one, the plan states it.
fn use_case(workload: &Workload) -> Option<&str> {
    let is_shipped = tailmark_workload::find(&workload.name).is_ok();
    let own = (!is_shipped && workload.about != workload.name).then_some(&*workload.about);
    tailmark_workload::use_case(&workload.name).or(own)
}

/// Facts about the machine and those of other ranks, the program and its memory, and the use cases
/// of workloads.
pub(crate) fn run_facts(plan: &Plan, limit: Option<&MemoryLimit>, ranks: &Ranks) -> Vec<Fact> {
    let mut facts = tailmark_machine::machine_facts();
    facts.extend(ranks.facts());
    let mut add = |group: &str, name: &str, value: String| {
        let (group, name) = (group.to_owned(), name.to_owned());
        facts.push(Fact {
            system: None,
            group,
            name,
            value,
        });
    };
    add("tailmark", "version", env!("CARGO_PKG_VERSION").to_owned());
    for (name, value) in tailmark_driver::allocator_facts() {
        add("tailmark", name, value);
    }
    if let Some(limit) = limit {
        add("memory", "limit", limit.describe());
    } else {
        add(
            "memory",
            "limit",
            format!(
                "none; {} in all",
                ByteSize(tailmark_machine::memory().total)
            ),
        );
    }
    // Their state when the run begins: set by this run, by an earlier run, or not at all.
    for (name, _) in &plan.settings.sysctls {
        let setting = Kernel::default().sysctl(name, "any").ok();
        let is = setting.and_then(|setting| setting.current());
        add("kernel", name, is.unwrap_or_else(|| "not there".to_owned()));
    }
    for workload in &plan.sweep.workloads {
        if let Some(stands_for) = use_case(workload) {
            add(Fact::USE_CASE, &workload.name, stands_for.to_owned());
        }
    }
    kept(plan, facts)
}
