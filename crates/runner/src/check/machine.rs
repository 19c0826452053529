//! Checks of the machine, independent of the plan.

use super::{Problem, Scene};
use bytesize::ByteSize;
use tailmark_model::number;
use tailmark_prepare::RESTORE;

/// Others may have so much of the processors, 0 to 1.
const LOAD_MAX: f64 = 0.05;
/// A hypervisor may give so much of them to others, 0 to 1.
const STEAL_MAX: f64 = 0.01;

/// The problems, if the check applies.
type CheckResult = Option<Vec<Problem>>;

/// Nothing wrong, or one thing.
fn one(problem: Option<Problem>) -> CheckResult {
    Some(problem.into_iter().collect())
}

pub fn cpu_load(scene: &Scene) -> CheckResult {
    let busy = scene.busy?;
    one((busy > LOAD_MAX).then(|| {
        Problem::new(
            format!(
                "other programs keep the processors {} busy",
                number::percent(busy)
            ),
            "find them with `top`, and stop them",
        )
    }))
}

pub fn cpu_quota(scene: &Scene) -> CheckResult {
    let quota = scene.quota?.processors;
    let quota = quota.filter(|quota| *quota < scene.cpus as f64);
    one(quota.map(|quota| {
        Problem::new(
            format!(
                "a control group allows {quota:.2} of {} processors",
                scene.cpus
            ),
            "run outside of it, or raise its quota (cpu.max, cpu.cfs_quota_us)",
        )
    }))
}

pub fn cpu_throttled(scene: &Scene) -> CheckResult {
    let quota = (!scene.throttled.is_zero()).then(|| {
        Problem::new(
            format!(
                "a quota of the control group stopped processes for {} during the check",
                number::duration(scene.throttled.as_secs_f64())
            ),
            "run outside of the control group, or raise its quota (cpu.max, cpu.cfs_quota_us)",
        )
    });
    let hot = scene
        .thermal_throttles
        .filter(|count| *count > 0)
        .map(|count| {
            Problem::new(
                format!("processors slowed down {count} times for their temperature"),
                "check the cooling of the machine",
            )
        });
    Some(quota.into_iter().chain(hot).collect())
}

pub fn limit(scene: &Scene) -> CheckResult {
    let too_little = scene.memory_limit.as_ref()?;
    let problem = |why| Problem::new(why, "raise machine.memory_limit, or leave it out");
    one(too_little.clone().map(problem))
}

pub fn governor(scene: &Scene) -> CheckResult {
    if scene.governors.is_empty() {
        return None;
    }
    let slow = scene
        .governors
        .iter()
        .filter(|(name, _)| *name != "performance");
    let said: Vec<_> = slow
        .map(|(name, cpus)| format!("{name} of {cpus} processors"))
        .collect();
    one((!said.is_empty()).then(|| {
        Problem::new(
            format!("the governor is {}", said.join(" and ")),
            "`cpupower frequency-set --governor performance`",
        )
    }))
}

pub fn io_limit(scene: &Scene) -> CheckResult {
    let limits = scene.io_limits.iter();
    let problem = |limit: &String| {
        Problem::new(
            format!("a control group limits a device: {limit}"),
            "run outside of it, or remove the limit",
        )
    };
    Some(limits.map(problem).collect())
}

pub fn settings_left(scene: &Scene) -> CheckResult {
    one(scene.left.as_ref().map(|left| {
        let all: Vec<&str> = left
            .settings
            .iter()
            .chain(&left.others)
            .map(|s| &**s)
            .collect();
        Problem::new(
            format!(
                "a killed run of tailmark has left this machine changed: {}",
                all.join("; ")
            ),
            format!("`{RESTORE}`"),
        )
    }))
}

pub fn steal(scene: &Scene) -> CheckResult {
    let steal = scene.steal?;
    one((steal > STEAL_MAX).then(|| {
        Problem::new(
            format!(
                "the hypervisor gives {} of the processors' time to other guests",
                number::percent(steal)
            ),
            "use a machine or an instance type that does not share its processors",
        )
    }))
}

pub fn swap(scene: &Scene) -> CheckResult {
    let swapped = scene.swapped?;
    one((swapped > 0).then(|| {
        Problem::new(
            format!("{} are swapped out", ByteSize(swapped)),
            "`swapoff -a`, then `swapon -a` if swap is wanted",
        )
    }))
}

pub fn huge_pages(scene: &Scene) -> CheckResult {
    let mode = scene.huge_pages.as_deref()?;
    one((mode == "always").then(|| {
        Problem::new(
            "transparent huge pages are used for all memory (always), which makes some requests \
             slow",
            "`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`",
        )
    }))
}
