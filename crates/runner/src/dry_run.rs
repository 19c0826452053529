//! What a run would do: every step, and the expected time and space. Nothing is changed.
//! [`Facts::gather`] looks everything up, and the rest is a pure function.

mod cost;
mod evidence;
mod expect;
mod ladder;
mod load;
mod restore;
mod server;
mod service;
#[cfg(test)]
mod tests;
mod turns;
mod work;

use crate::{
    dataset::{Dataset, State},
    devices::refuse_one_device_so_far,
    earlier::{self, EarlierStudy},
    error::in_one_line,
    expect::Mismatches,
    order,
    preflight::{examine, refuse_as_written},
    prepare::{PrepareLines, is_to_come},
    steps::{DataState, Known},
    sweep::{check_directory, moved::refuse_moved, search},
};
use bytesize::ByteSize;
use cost::totals;
use std::{collections::BTreeSet, path::Path, time::Duration};
use tailmark_driver::Place;
use tailmark_engine::Stop;
use tailmark_machine::Space;
use tailmark_model::{RepeatRange, number};
use tailmark_plan::{AskedRate, Order, Plan, Sweep, SystemPlan, Warmup};
use tailmark_stats::steady::{KNOWN_WIDTH, WINDOW_MIN_S, WINDOWS};
use tailmark_study::Study;
use tailmark_workload::Workload;
use work::{SystemWork, Work};

pub use server::ServerFacts;

/// Facts about the machine for a dry run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Of each system, in the order of the plan.
    pub systems: Vec<SystemFacts>,
    /// Whether all caches can be dropped, not only those of the database's files.
    pub can_drop_caches: bool,
    /// Bytes of memory.
    pub memory: u64,
    /// Why the plan cannot be run as it is.
    pub refusal: Option<String>,
    /// The order in which its systems are measured; `None`: the plan's order.
    pub order: Option<Order>,
    /// Notices that a run would print about the plan before it starts.
    pub notices: Vec<String>,
    /// The content of the study.
    pub(crate) known: Known,
}

/// Facts about a system's place for a dry run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemFacts {
    /// Facts about its data set.
    pub(crate) data: DataState,
    /// Whether a part of it is there, which is kept.
    pub started: bool,
    /// Whether it was not loaded by tailmark, and is used as it is.
    pub adopted: bool,
    /// What its server holds, if it has one.
    pub server: Option<ServerFacts>,
    /// Why its place cannot be used.
    pub refusal: Option<String>,
    /// Free bytes in its place or, if it does not exist yet, where it would be.
    pub available: Option<u64>,
    /// Bytes of its data set that are there already.
    pub present: u64,
    /// The file system or device of its place, the same for two places on one.
    pub file_system: Option<String>,
    /// If its place does not exist yet: facts about where it would be.
    pub would_be: Option<String>,
    /// The workloads whose searches are over in the study.
    pub searches_over: BTreeSet<String>,
    /// Facts from earlier studies.
    pub earlier: EarlierStudy,
    /// Differences from the plan's expectations.
    pub unexpected: Vec<String>,
}

impl Facts {
    /// The order in which systems are measured.
    fn order(&self, plan: &Plan) -> Order {
        self.order.unwrap_or(plan.sweep.order)
    }

    /// Looks them up, without changing anything.
    #[must_use]
    pub fn gather(plan: &Plan, out: &Path) -> Self {
        let study = Study::exists(out)
            .then(|| Study::open_read_only(out).ok())
            .flatten();
        let studied = study.as_ref().and_then(|study| {
            let finished = |system| search::finished(plan, study, system).ok();
            let finished: Option<Vec<_>> = plan.systems.iter().map(finished).collect();
            Some((Known::from_study(plan, study).ok()?, finished?))
        });
        let (known, finished) = studied.unwrap_or_default();
        let (order, notice) = order::in_effect(plan, &plan.systems.iter().collect::<Vec<_>>());
        let mut notices: Vec<String> = notice.into_iter().collect();
        let refusal = refuse_as_written(plan)
            .and_then(|()| refuse_one_device_so_far(plan, is_to_come))
            .and_then(|()| check_directory(plan, out));
        let earlier_studies = earlier::gather(plan, out);
        let finished = finished.into_iter().chain(std::iter::repeat(Vec::new()));
        let mismatches = Mismatches::from_systems(plan.systems.iter());
        notices.extend(mismatches.unknown.iter().cloned());
        let systems = plan.systems.iter().zip(earlier_studies).zip(finished);
        let systems = systems.map(|((system, earlier), over)| {
            let mut facts = SystemFacts {
                searches_over: over.into_iter().map(str::to_owned).collect(),
                earlier,
                unexpected: mismatches.about(&system.name).to_vec(),
                ..SystemFacts::of_place(plan, system)
            };
            facts.data.loaded_for = known.last_repeat(plan, system);
            let moved = study.as_ref().map(|study| refuse_moved(study, system));
            let moved = moved.and_then(Result::err);
            facts.refusal = facts.refusal.or(moved.map(|error| in_one_line(&error)));
            facts
        });
        Self {
            systems: systems.collect(),
            can_drop_caches: tailmark_machine::can_drop_caches(),
            memory: tailmark_machine::memory().total,
            refusal: refusal.err().map(|error| in_one_line(&error)),
            order: Some(order),
            notices,
            known,
        }
    }
}

impl SystemFacts {
    /// Facts about the place of a system, and about the data there.
    fn of_place(plan: &Plan, system: &SystemPlan) -> Self {
        let dataset = Dataset::new(plan, system);
        let server = server::gather(system, &dataset);
        // A server may not run yet. Places that the run creates do not exist yet.
        let is_there = match system.driver.place {
            Place::Hosts => server.as_ref().is_some_and(|s| s.unreached.is_none()),
            _ => !is_to_come(system),
        };
        let is_known = dataset.is_kept() && is_there;
        // An example place does not exist on this machine.
        let is_place = is_known && !system.placeholder;
        let examined = || {
            let state = examine(plan, system, &dataset, &Stop::new())?;
            dataset.check_open().map(|()| state)
        };
        let state = match server.as_ref().and_then(|server| server.failure()) {
            Some(why) => Some(Err(why)),
            None if is_place => Some(examined().map_err(|error| in_one_line(&error))),
            None => None,
        };
        let place = system.location.path().filter(|_| is_place);
        let space = place.and_then(|place| tailmark_machine::space(place).ok());
        Self {
            server,
            started: matches!(state, Some(Ok(State::Begun(_)))),
            data: DataState {
                is_loaded: matches!(state, Some(Ok(State::Loaded | State::Adopted))),
                is_changed: dataset.is_changed().unwrap_or(false),
                has_start: dataset.has_start().unwrap_or(false),
                ..DataState::default()
            },
            adopted: matches!(state, Some(Ok(State::Adopted))),
            refusal: state.and_then(Result::err),
            available: space.as_ref().map(|space| space.available),
            present: dataset.present(),
            would_be: space.as_ref().and_then(|space| would_be(system, space)),
            file_system: space.map(|space| space.file_system),
            ..Self::default()
        }
    }
}

/// Facts about where a missing place would be.
fn would_be(system: &SystemPlan, space: &Space) -> Option<String> {
    if system.location.path().is_none_or(Path::exists) {
        return None;
    }
    let device = tailmark_machine::block_device_of(&space.at).map(|device| {
        let model = device.model.map(|model| format!(" ({model})"));
        format!(", device {}{}", device.disk, model.unwrap_or_default())
    });
    let options = if space.options.is_empty() {
        String::new()
    } else {
        format!(", mounted with {}", space.options.join(","))
    };
    Some(format!(
        "create its place, which does not exist yet, in {}, on {}{options}{}",
        space.at.display(),
        space.file_system,
        device.unwrap_or_default()
    ))
}

/// What a run would do.
#[derive(Debug)]
pub struct DryRun {
    /// Lines for a person: what is destroyed, the expected time and space, and every step.
    pub lines: Vec<String>,
    /// Whether the plan can run here and now, as far as looking shows.
    pub can_run: bool,
}

/// Every step that a run of `plan` into `out` would take, and the expected time and space.
#[must_use]
pub fn dry_run(plan: &Plan, out: &Path, facts: &Facts) -> DryRun {
    let order = facts.order(plan);
    let work = Work::new(plan, facts, order);
    let up_to = work.up_to();
    let (mut lines, prepared) = preparation(plan, &work, out);
    let (totals, has_room) = totals(plan, &work);
    lines.extend(totals);
    lines.extend([
        String::new(),
        plan.header.title.clone(),
        format!(
            "  {} x {} x {}{}: {up_to}{} in all",
            counted(plan.systems.len(), "system"),
            counted(plan.sweep.workloads.len(), "workload"),
            axis(&plan.sweep, plan.sweep.ladder.map_or("", |_| up_to)),
            match (plan.sweep.until_decided, plan.sweep.repeats) {
                (Some(RepeatRange { least, most }), _) => format!(" x {least} to {most} repeats"),
                (None, 1) => String::new(),
                (None, repeats) => format!(" x {repeats} repeats"),
            },
            counted(work.ladders.points(), "point"),
        ),
        format!("  study and report in {}", out.display()),
    ]);
    if let Some(why) = &facts.refusal {
        lines.push(format!("  cannot be run: {why}"));
    }
    lines.extend(facts.notices.iter().map(|notice| format!("  {notice}")));
    lines.extend(ladder::lines(plan, &work.ladders));
    lines.extend(turns::lines(plan, facts, &work));
    lines.extend(memory_limit(plan, facts));
    if !plan.abort.is_empty() {
        let limits: Vec<_> = plan.abort.iter().map(ToString::to_string).collect();
        lines.push(format!(
            "  end the run within seconds if {}",
            limits.join(" or ")
        ));
    }
    lines.extend(plan.notices().map(|notice| format!("  {notice}")));
    lines.extend(prepared.lines.iter().map(|line| format!("  {line}")));
    for own in &work.systems {
        lines.push(String::new());
        lines.push(heading(plan, own.system, order));
        let steps = steps(plan, own, facts).into_iter();
        lines.extend(steps.map(|step| format!("  {step}")));
    }
    let evidence = evidence::lines(plan, facts);
    if !evidence.is_empty() {
        lines.push(String::new());
        lines.extend(evidence);
    }
    DryRun {
        lines,
        can_run: facts.refusal.is_none()
            && has_room
            && !prepared.is_refused
            && work.systems.iter().all(|own| own.can_run(plan)),
    }
}

/// What preparing would overwrite, and its steps; nothing if nothing is left to measure.
fn preparation(plan: &Plan, work: &Work<'_>, out: &Path) -> (Vec<String>, PrepareLines) {
    if work.systems.iter().all(SystemWork::is_over) {
        return Default::default();
    }
    let overwrites = crate::prepare::overwrites(plan, None, out);
    (overwrites, crate::prepare::dry_run(plan, None, out))
}

fn memory_limit(plan: &Plan, facts: &Facts) -> Vec<String> {
    let Some(limit) = plan.machine.memory_limit else {
        return Vec::new();
    };
    let mut lines = vec![format!(
        "  limit the memory of the run to {} of {} (a memory cgroup; needs root)",
        ByteSize(limit),
        ByteSize(facts.memory)
    )];
    if limit > facts.memory {
        let vain = "  the machine has less memory than that, so the limit has no effect";
        lines.push(vain.to_owned());
    }
    lines
}

/// What each workload is measured at: `3 thread counts`, `(3 thread counts + 2 rates)`.
fn axis(sweep: &Sweep, up_to: &str) -> String {
    let threads = up_to.to_owned() + &counted(sweep.threads.len(), "thread count");
    let rates = counted(sweep.rates.len(), "rate");
    match (sweep.threads.is_empty(), sweep.rates.is_empty()) {
        (_, true) => threads,
        (true, false) => rates,
        (false, false) => format!("({threads} + {rates})"),
    }
}

fn heading(plan: &Plan, system: &SystemPlan, order: Order) -> String {
    let place = match system.driver.place {
        Place::Nowhere => String::new(),
        _ if system.placeholder => format!(" in {} (an example)", system.location),
        _ => format!(" in {}", system.location),
    };
    let ceiling = match &system.ceiling_for {
        Some(ceiling) => format!(", the ceiling of {ceiling}"),
        None => String::new(),
    };
    let optional = if system.optional {
        ", skipped if there is not enough space"
    } else {
        ""
    };
    let first = match (plan.is_first(system), order) {
        (true, Order::Systems) => {
            ", measured first, because the rates of all systems are \
                                   percentages of its peak"
        }
        (true, Order::Interleaved) => ", the rates of all systems are percentages of its peak",
        (false, _) => "",
    };
    format!(
        "{}: {}{place}{ceiling}{optional}{first}",
        system.name, system.driver.name
    )
}

/// The steps for one system, in order.
fn steps(plan: &Plan, work: &SystemWork<'_>, facts: &Facts) -> Vec<String> {
    let (sweep, system, known) = (&plan.sweep, work.system, &*work.known);
    let mut steps = Vec::new();
    if let Some(refusal) = &known.refusal {
        steps.push(format!("cannot be run: {refusal}"));
    }
    steps.extend(expect::steps(plan, system, known));
    steps.extend(known.would_be.clone());
    let kept = [
        ("keep", facts.known.kept(system), ""),
        ("measure", facts.known.retried(system), " again"),
    ];
    for (does, points, again) in kept.into_iter().filter(|(_, points, _)| *points > 0) {
        let points = counted(points, "point");
        steps.push(format!("{does} {points} of an earlier run{again}"));
    }
    if work.points.is_empty() {
        return steps;
    }
    steps.extend(server::lines(plan, system, known));
    steps.extend(load::step(plan, work));
    steps.extend(restore::steps(plan, system, known));
    steps.extend(ladder::repeats(sweep));
    for workload in &sweep.workloads {
        let at = points_of_a_workload(sweep, workload, system, facts);
        let run = format!("run {} ({})", workload.name, workload.distribution_name());
        let written = server::written(plan, system, workload);
        steps.extend(at.into_iter().map(|at| format!("{run} {at}{written}")));
    }
    steps.push("and for each point:".to_owned());
    steps.extend(
        point(plan, system, facts)
            .into_iter()
            .map(|step| format!("  {step}")),
    );
    steps
}

/// The axis of a workload on one system: its thread counts, then its rates.
fn points_of_a_workload(
    sweep: &Sweep,
    workload: &Workload,
    system: &SystemPlan,
    facts: &Facts,
) -> Vec<String> {
    let mut lines = Vec::new();
    if !sweep.threads.is_empty() {
        lines.push(ladder::thread_counts(sweep));
    }
    if !sweep.rates.is_empty() {
        let peak = sweep.peak_of(system);
        let resolved = |rate: &AskedRate| {
            let known = facts.known.rate(system, workload, rate);
            known.map_or_else(String::new, |ops| format!(" ({})", number::ops(ops)))
        };
        let rate = |rate: &AskedRate| rate.described(peak) + &resolved(rate);
        let rates: Vec<_> = sweep.rates.iter().map(rate).collect();
        let threads = counted(sweep.rate_threads as usize, "thread");
        lines.push(format!("at {} with {threads}", rates.join(", ")));
    }
    lines
}

/// The steps for one point, in order.
fn point(plan: &Plan, system: &SystemPlan, facts: &Facts) -> Vec<String> {
    let sweep = &plan.sweep;
    let mut steps = Vec::new();
    let is_server = system.driver.place == Place::Hosts;
    steps.extend(service::between_points(plan, system, facts));
    if is_server {
        let timeout = number::rounded(sweep.ready_timeout);
        steps.push(format!("wait for the server to answer, {timeout} at most"));
    }
    let settle = number::rounded(sweep.settle);
    steps.push("open the database".to_owned());
    steps.push(format!(
        "wait for background work to settle, {settle} at most"
    ));
    steps.extend(service::idle_power(plan));
    steps.extend(warm_up(sweep.warmup));
    let operations = sweep
        .operations
        .map(|n| format!("{} operations", number::count(n)));
    let duration = sweep.duration.map(|most| match sweep.until_known {
        Some(least) => format!(
            "{} to {}, until ops/s and the latency are known within {}",
            number::rounded(least),
            number::rounded(most),
            number::percent(KNOWN_WIDTH)
        ),
        None => number::rounded(most),
    });
    let budget = match (operations, duration) {
        (Some(operations), Some(time)) => format!("{operations} or {time}, whichever ends first"),
        (operations, time) => operations.or(time).unwrap_or_default(),
    };
    steps.push(format!(
        "measure {budget}, {}, with the probes on",
        pace(sweep)
    ));
    steps.extend(service::power_command(plan));
    steps.push("commit the point to the study".to_owned());
    steps
}

/// The step before the measured part, if there is one.
fn warm_up(warmup: Warmup) -> Option<String> {
    let rounded = number::rounded;
    match warmup {
        Warmup::Fixed(Duration::ZERO) => None,
        Warmup::Fixed(time) => Some(format!("warm up for {}", rounded(time))),
        Warmup::Auto { least, most } => Some(format!(
            "warm up until it is steady: at least {} after the first {}, at most {} in all; every \
             system warms up as long as the slowest one",
            rounded(Duration::from_secs_f64(WINDOWS as f64 * WINDOW_MIN_S)),
            rounded(least),
            rounded(most)
        )),
    }
}

/// The pace of operations.
fn pace(sweep: &Sweep) -> String {
    let arrivals = match sweep.arrivals {
        Some(arrivals) => format!(" ({} arrivals)", arrivals.name()),
        None => String::new(),
    };
    let closed = "as fast as the clients can";
    match (sweep.rate, sweep.rates.is_empty(), sweep.threads.is_empty()) {
        (Some(rate), ..) => format!("at {} over all clients{arrivals}", number::ops(rate)),
        (None, true, _) => closed.to_owned(),
        (None, false, true) => format!("at the rate of the point{arrivals}"),
        (None, false, false) => format!("{closed} or at the rate of the point{arrivals}"),
    }
}

/// `1 point`, `2 points`.
fn counted(count: usize, noun: &str) -> String {
    number::plural(count as u64, noun)
}
