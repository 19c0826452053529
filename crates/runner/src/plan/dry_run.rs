//! What a run would do: every step, and the time and space it is expected to take. Nothing is
//! touched; what must be looked up is looked up in [`Facts::gather`], the rest is a pure function.

use super::{Plan, Reload, SystemPlan, units::grouped, units::rounded};
use crate::dataset::Dataset;
use bytesize::ByteSize;
use std::{path::Path, time::Duration};
use tailmark_driver::Place;
use tailmark_results::Study;

/// The bandwidth at which the time of a load is given, because nobody knows it beforehand.
const LOAD_BYTES_PER_SEC: u64 = 100_000_000;

/// What a dry run must know of the machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Of each system, in the order of the plan.
    pub systems: Vec<SystemFacts>,
    /// Whether all caches can be dropped, rather than those of the database's files.
    pub can_drop_caches: bool,
    /// Bytes of memory.
    pub memory: u64,
}

/// What a dry run must know of a system's place.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemFacts {
    /// Whether the data set is there already.
    pub loaded: bool,
    /// Why its place cannot be used.
    pub refusal: Option<String>,
    /// Bytes that are free in its place.
    pub available: Option<u64>,
    /// Its points that the study has already.
    pub points_kept: usize,
}

impl Facts {
    /// Looks them up, without changing anything.
    #[must_use]
    pub fn gather(plan: &Plan, out: &Path) -> Self {
        let study = Study::exists(out)
            .then(|| Study::open_read_only(out).ok())
            .flatten();
        let kept = study
            .and_then(|study| study.point_keys().ok())
            .unwrap_or_default();
        let systems = plan.systems.iter().map(|system| {
            let dataset = Dataset::new(plan, system, out);
            // A server may not be there yet, and asking it would make its tables.
            let is_known = dataset.is_kept() && system.driver.place != Place::Hosts;
            let loaded = is_known.then(|| dataset.is_loaded());
            SystemFacts {
                loaded: matches!(loaded, Some(Ok(true))),
                refusal: match loaded {
                    Some(Err(error)) => Some(error.to_string()),
                    _ => None,
                },
                available: tailmark_host::space(&system.place)
                    .ok()
                    .map(|space| space.available),
                points_kept: kept.iter().filter(|key| key.system == system.name).count(),
            }
        });
        Self {
            systems: systems.collect(),
            can_drop_caches: tailmark_host::can_drop_caches(),
            memory: tailmark_host::memory().total,
        }
    }
}

/// Every step that a run of `plan` into `out` would take, and the expected time and space: lines
/// for a person.
#[must_use]
pub fn dry_run(plan: &Plan, out: &Path, facts: &Facts) -> Vec<String> {
    let per_system = plan.points().count();
    let mut lines = vec![
        plan.header.title.clone(),
        format!(
            "  {} x {} x {}{}: {} in all",
            counted(plan.systems.len(), "system"),
            counted(plan.sweep.workloads.len(), "workload"),
            counted(plan.sweep.threads.len(), "thread count"),
            match plan.sweep.repeats {
                1 => String::new(),
                repeats => format!(" x {repeats} repeats"),
            },
            counted(plan.systems.len() * per_system, "point"),
        ),
        format!("  study and report in {}", out.display()),
    ];
    if let Some(limit) = plan.host.memory_limit {
        lines.push(format!(
            "  limit the memory of the run to {} of {} (a memory cgroup; needs root)",
            ByteSize(limit),
            ByteSize(facts.memory)
        ));
    }
    let raised = plan.host.limit_notice();
    lines.extend(raised.map(|notice| format!("  {notice}")));
    let unknown = SystemFacts::default();
    for (index, system) in plan.systems.iter().enumerate() {
        let known = facts.systems.get(index).unwrap_or(&unknown);
        lines.push(String::new());
        lines.push(heading(system));
        lines.extend(
            steps(plan, system, known, facts)
                .into_iter()
                .map(|step| format!("  {step}")),
        );
    }
    lines.push(String::new());
    lines.extend(totals(plan, facts));
    lines
}

fn heading(system: &SystemPlan) -> String {
    let place = match system.driver.place {
        Place::Nowhere => String::new(),
        _ => format!(" in {}", system.place.display()),
    };
    let ceiling = match &system.ceiling_for {
        Some(of) => format!(", the ceiling of {of}"),
        None => String::new(),
    };
    let optional = if system.optional {
        ", left out where there is no room"
    } else {
        ""
    };
    format!(
        "{}: {}{place}{ceiling}{optional}",
        system.name, system.driver.name
    )
}

/// What is done to one system, in order.
fn steps(plan: &Plan, system: &SystemPlan, known: &SystemFacts, facts: &Facts) -> Vec<String> {
    let sweep = &plan.sweep;
    let mut steps = Vec::new();
    if let Some(refusal) = &known.refusal {
        steps.push(format!("cannot be run: {refusal}"));
    }
    let missing = plan.points().count().saturating_sub(known.points_kept);
    if known.points_kept > 0 {
        steps.push(format!(
            "keep {} of an earlier run",
            counted(known.points_kept, "point")
        ));
    }
    if missing == 0 {
        return steps;
    }
    let load = load(system, known, sweep.load_threads);
    steps.extend(load);
    match sweep.reload {
        Reload::Never => {}
        Reload::Workload => steps.push("before each further workload: load anew".to_owned()),
        Reload::Point => steps.push("before each further point: load anew".to_owned()),
    }
    if sweep.repeats > 1 {
        steps.push(format!("{} times over:", sweep.repeats));
    }
    let threads: Vec<_> = sweep.threads.iter().map(ToString::to_string).collect();
    for workload in &sweep.workloads {
        steps.push(format!(
            "run {} ({}) with {} threads",
            workload.name,
            workload.distribution_name(),
            threads.join(", ")
        ));
    }
    steps.push("and for each point:".to_owned());
    steps.extend(
        point(plan, system, facts)
            .into_iter()
            .map(|step| format!("  {step}")),
    );
    steps
}

fn load(system: &SystemPlan, known: &SystemFacts, threads: u32) -> Option<String> {
    let data = &system.data;
    if known.loaded {
        return Some(format!(
            "keep the {} records that are loaded",
            grouped(data.records)
        ));
    }
    let unless = match system.driver.place {
        Place::Hosts => ", unless the server has them",
        _ => "",
    };
    (system.driver.place != Place::Nowhere).then(|| {
        format!(
            "load {} records of {} x {} B with {threads} threads{unless}",
            grouped(data.records),
            data.schema.fields.len(),
            grouped(u64::from(data.field_length)),
        )
    })
}

/// What is done for one point, in order.
fn point(plan: &Plan, system: &SystemPlan, facts: &Facts) -> Vec<String> {
    let sweep = &plan.sweep;
    let mut steps = Vec::new();
    let is_server = system.driver.place == Place::Hosts;
    if let Some(service) = &system.service {
        let stop = service.stop().map(|words| format!(": {}", words.join(" ")));
        steps.push(format!("stop the service{}", stop.unwrap_or_default()));
    }
    if plan.host.drop_caches {
        steps.push(match (facts.can_drop_caches, is_server) {
            (true, _) => "drop the caches of the machine (/proc/sys/vm/drop_caches)".to_owned(),
            (false, true) => "leave the caches as they are (not root)".to_owned(),
            (false, false) => "drop the cached pages of the database's files (not root)".to_owned(),
        });
    }
    if let Some(service) = &system.service {
        steps.push(format!("start the service: {}", service.start().join(" ")));
    }
    if is_server {
        let timeout = rounded(sweep.ready_timeout);
        steps.push(format!("wait until the server answers, {timeout} at most"));
    }
    let settle = rounded(sweep.settle);
    steps.push("open the database".to_owned());
    steps.push(format!(
        "wait for background work to settle, {settle} at most"
    ));
    if sweep.warmup > Duration::ZERO {
        steps.push(format!("warm up for {}", rounded(sweep.warmup)));
    }
    let operations = sweep
        .operations
        .map(|n| format!("{} operations", grouped(n)));
    let duration = sweep.duration.map(rounded);
    let budget = match (operations, duration) {
        (Some(operations), Some(time)) => format!("{operations} or {time}, whichever ends first"),
        (operations, time) => operations.or(time).unwrap_or_default(),
    };
    let rate = match sweep.rate {
        Some(rate) => format!("at {} ops/s over all clients", grouped(rate.round() as u64)),
        None => "as fast as the clients can".to_owned(),
    };
    steps.push(format!("measure {budget}, {rate}, with the probes on"));
    steps.push("commit the point to the study".to_owned());
    steps
}

/// The expected time and space.
fn totals(plan: &Plan, facts: &Facts) -> Vec<String> {
    let per_system = plan.points().count();
    let unknown = SystemFacts::default();
    let systems = || {
        let facts = (0..).map(|index| facts.systems.get(index).unwrap_or(&unknown));
        plan.systems.iter().zip(facts)
    };
    let missing: usize = systems()
        .map(|(_, known)| per_system.saturating_sub(known.points_kept))
        .sum();
    let mut lines = vec![format!("time: {}", points_time(plan, missing))];
    let mut loads = 0;
    for (system, known) in systems() {
        if system.driver.place == Place::Nowhere || known.points_kept >= per_system {
            continue;
        }
        let again = match plan.sweep.reload {
            Reload::Never => 0,
            Reload::Workload => plan.sweep.workloads.len() * plan.sweep.repeats as usize - 1,
            Reload::Point => per_system - 1,
        };
        loads += system.data.bytes() * (again as u64 + u64::from(!known.loaded));
        // What a server stores, and where, is its own affair.
        if system.driver.place == Place::Hosts {
            continue;
        }
        let needed = match known.loaded {
            true => 0,
            false => (system.driver.space)(&system.data, &system.settings),
        };
        let free = known.available.map_or_else(String::new, |bytes| {
            let short = if bytes < needed { ": TOO LITTLE" } else { "" };
            format!(", {} are free{short}", ByteSize(bytes))
        });
        lines.push(format!(
            "space: {} needs up to {}{free}",
            system.name,
            ByteSize(needed)
        ));
    }
    if loads > 0 {
        let time = rounded(Duration::from_secs(loads.div_ceil(LOAD_BYTES_PER_SEC)));
        let size = ByteSize(loads);
        lines.insert(
            1,
            format!("      and the loads, {size} in all: {time} at 100 MB/s"),
        );
    }
    lines
}

/// How long so many points take, as far as it can be known.
fn points_time(plan: &Plan, points: usize) -> String {
    let sweep = &plan.sweep;
    let total = |each: Duration| {
        rounded((each + sweep.warmup).saturating_mul(u32::try_from(points).unwrap_or(u32::MAX)))
    };
    let counted = counted(points, "point");
    let by_rate = sweep.operations.zip(sweep.rate);
    let by_rate = by_rate.map(|(n, rate)| Duration::from_secs_f64(n as f64 / rate));
    match (sweep.duration, sweep.operations, by_rate) {
        (Some(time), None, _) => format!("{counted}, {} in all", total(time)),
        (Some(time), Some(_), rate) => {
            let longest = rate.map_or(time, |by_rate| by_rate.min(time));
            format!("{counted}, {} in all at most", total(longest))
        }
        (None, Some(_), Some(by_rate)) => format!("{counted}, {} in all", total(by_rate)),
        (None, Some(n), None) => format!(
            "{counted} of {} operations each; how long they take is what is measured \
             ({} in all at 50,000 ops/s)",
            grouped(n),
            total(Duration::from_secs_f64(n as f64 / 50_000.0))
        ),
        (None, None, _) => counted,
    }
}

/// `1 point`, `2 points`.
fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(count as u64))
}
