//! Carries out a plan: each point of each system in its turn, committed one by one.

mod anatomy;
mod carry_out;
mod load;
mod lock;
pub(crate) mod moved;
mod notices;
mod point;
mod requested;
mod rest;
mod resume;
pub(crate) mod search;
mod server;
mod summary;
mod turn;

use crate::{
    Error,
    devices::refuse_one_device,
    earlier,
    error::in_one_line,
    expect::Mismatches,
    facts::{describe, run_facts},
    order,
    preflight::{Ready, preflight, refuse_as_written},
    prepare::{self, Prepared},
    ranks::Ranks,
    samples::{Wanted, too_short},
    servers::Servers,
    service::{Services, refuse_foreign_logs},
    steps::{self, Known, Ladders, Outlook, Steps},
};
use lock::lock;
pub(crate) use lock::{check_directory, lock_existing};
use notices::tell_points;
use requested::MeasuredPoint;
pub use resume::take_up;
use std::{collections::BTreeMap, path::Path};
pub use summary::Summary;
use tailmark_engine::{Observer, Stop};
use tailmark_machine::{LeftGroup, MemoryLimit};
use tailmark_model::{PointKey, Series, StartState};
use tailmark_plan::{Order, Plan, SystemPlan};
use tailmark_prepare::LeftChanges;
use tailmark_study::Study;
use turn::SystemState;

/// Carries out `plan`, with its study in the directory `out`.
///
/// # Errors
/// If something is wrong with the plan's places, databases or the study. Measurements so far are in
/// the study.
pub fn run(
    plan: &Plan,
    out: &Path,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Summary, Error> {
    run_on(&Ranks::alone(), plan, out, observer, stop)
}

/// The same with the clients spread over several processes, of which this is the first.
///
/// # Errors
/// As [`run`], and if another process could not do its part.
pub fn run_on(
    ranks: &Ranks,
    plan: &Plan,
    out: &Path,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Summary, Error> {
    refuse_as_written(plan)?;
    let plan = &*ranks.with_number(plan);
    let log = |text: &str| prepare::tell(observer, text);
    let (_lock, early) = lock(plan, out)?;
    // A study of another plan is refused before anything is lost.
    let (plan, known) = resume::known(plan, out)?;
    let plan = &*plan;
    let measured = measured(plan, known.as_ref())?;
    let is_pending = |system: &SystemPlan| !measured.contains(&system.name.as_str());
    let servers = Servers::connect(plan, is_pending, (observer, stop))?;
    refuse_foreign_logs(plan, out, &servers)?;
    prepare::refuse_overwrites(plan, is_pending, out, (observer, stop))?;
    // Nothing is formatted or mounted for a report that is only written again.
    let is_over = measured.len() == plan.systems.len();
    let prepared = if is_over {
        Ok(Prepared::default())
    } else {
        prepare::prepare(plan, (&servers, ranks), out, &log, (observer, stop))
    };
    let early = if is_over {
        Some(early.unwrap_or_default())
    } else {
        early
    };
    let (ran, prepared) = match prepared {
        Ok(prepared) => {
            let run = Run {
                plan,
                ranks,
                servers: &servers,
                prepared: &prepared,
                out,
                observer,
                stop,
            };
            (run.carry_out(early, known, is_pending), Some(prepared))
        }
        Err(error) => (Err(error), None),
    };
    // After everything of the sweep is closed, also if it failed.
    let left_on_servers = servers.put_back(observer);
    let left_changed = prepared.map_or(Ok(0), Prepared::put_back);
    with_left(ran, left_on_servers, left_changed, observer)
}

/// The systems with nothing to measure. Without a study there are none. While a ladder is climbed,
/// every system may have something to measure.
fn measured<'a>(plan: &'a Plan, study: Option<&Study>) -> Result<Vec<&'a str>, Error> {
    let Some(study) = study else {
        return Ok(Vec::new());
    };
    let known = Known::from_study(plan, study)?;
    let systems: Vec<_> = plan.systems.iter().collect();
    let ladders = Ladders::new(plan, &systems, &known, Outlook::Known);
    let mut measured = Vec::new();
    for system in systems.into_iter().filter(|_| ladders.have_ended()) {
        let mut points = plan.points().filter(|point| ladders.is_reached(point));
        let is_pending = points.any(|point| known.is_pending(plan, &point, system))
            || known.short(plan, &[system]) > 0
            || search::is_pending(plan, study, system)?
            || steps::has_anatomies(plan, &known, system);
        if !is_pending {
            measured.push(system.name.as_str());
        }
    }
    // If one point needs a longer warm-up than the others, the others are measured again.
    if plan.sweep.warmup.is_auto() && measured.len() < plan.systems.len() {
        measured.clear();
    }
    Ok(measured)
}

/// The summary of a run, with the changes that it left. If it failed, the observer learns of those,
/// because the error of the run takes precedence.
fn with_left(
    ran: Result<Summary, Error>,
    left_on_servers: Vec<(String, Option<usize>)>,
    left_changed: Result<usize, Error>,
    observer: &dyn Observer,
) -> Result<Summary, Error> {
    let failed = match ran {
        Ok(summary) => {
            return Ok(Summary {
                left_on_servers,
                left_changed: left_changed?,
                ..summary
            });
        }
        Err(error) => error,
    };
    if let Err(error) = &left_changed {
        observer.notice(&in_one_line(error));
    }
    let left = Summary {
        left_on_servers,
        left_changed: left_changed.unwrap_or_default(),
        ..Summary::default()
    };
    left.left().iter().for_each(|line| observer.notice(line));
    Err(failed)
}

/// A run after all preparation.
struct Run<'a> {
    plan: &'a Plan,
    ranks: &'a Ranks,
    servers: &'a Servers,
    prepared: &'a Prepared<'a>,
    out: &'a Path,
    observer: &'a dyn Observer,
    stop: &'a Stop,
}

impl Run<'_> {
    /// Does the remaining checks, and measures.
    fn carry_out(
        &self,
        early: Option<Vec<String>>,
        known: Option<Study>,
        is_pending: impl Fn(&SystemPlan) -> bool,
    ) -> Result<Summary, Error> {
        let Run {
            plan,
            ranks,
            servers,
            prepared,
            out,
            observer,
            stop,
        } = *self;
        let one_device = early.map_or_else(|| refuse_one_device(plan), Ok)?;
        let Ready {
            systems,
            skipped,
            mismatches,
            made,
            places: _places,
        } = preflight(plan, out, is_pending, (ranks, servers), (observer, stop))?;
        let (order, not_interleaved) = order::in_effect(plan, &systems);
        let alone = order::taking_turns(order, &systems);
        let unwritten = match &known {
            None => |error: Error| Error::Unwritable(Box::new(error)),
            Some(_) => |error: Error| error,
        };
        let create = || Study::create(out, &plan.header, &describe(plan));
        let study = known.map_or_else(create, Ok);
        let study = study.map_err(|error| unwritten(error.into()))?;
        let (limit, memory_unlimited) = limit_memory(plan, observer);
        let of_systems = one_device.into_iter().chain(not_interleaved);
        let of_systems = of_systems.chain(of_order_and_machine(plan, order, &mismatches));
        let notices = notices(plan, of_systems.collect(), servers, ranks);
        let facts = run_facts(plan, limit.as_ref(), ranks);
        tell_and_keep(&notices, &study, observer)
            .and_then(|()| prepared.keep(plan, &study, &skipped))
            .and_then(|()| Ok(study.set_facts(&facts)?))
            .map_err(unwritten)?;
        let measured = Known::from_study(plan, &study)?;
        let steps = Steps::new(plan, systems, order, measured, Outlook::Known);
        let points = steps.ladders().points();
        let points_kept = points - steps.pending();
        if points_kept < points {
            say_too_short(plan, out, observer);
        }
        tell_points(plan, steps.ladders(), observer);
        observer.sweep_started(points, points_kept);
        let states = steps.systems();
        let states = states.map(|system| SystemState::new(plan, system).with_made(&made));
        let states = states.collect();
        let sweep = Sweeper {
            plan,
            ranks,
            starts: study.starts()?,
            study,
            observer,
            stop,
            memory_unlimited,
            mismatches,
            services: Services::new(plan, out, servers, alone, (observer, stop)),
            servers,
            skipped: Vec::new(),
            summary: Summary::going_on(points_kept),
            has_measured: false,
            repeat: 0,
            idle: BTreeMap::new(),
        };
        sweep.carry_out(steps, states)
    }
}

/// Notices about the order of systems, about a machine that is not as the plan expects, or about
/// changes that a killed run left.
fn of_order_and_machine(
    plan: &Plan,
    order: Order,
    mismatches: &Mismatches,
) -> impl Iterator<Item = String> {
    let left = LeftChanges::look().map(|left| left.notice());
    let drift = order::drift(plan, order).into_iter();
    drift.chain(mismatches.notices()).chain(left)
}

/// The notices about a plan and its systems.
fn notices(plan: &Plan, of_systems: Vec<String>, servers: &Servers, ranks: &Ranks) -> Vec<String> {
    let of_plan = plan.notices();
    let of_others = servers
        .notices()
        .into_iter()
        .chain(ranks.notices().to_vec());
    of_plan.chain(of_systems).chain(of_others).collect()
}

/// Sends notices to the observer, and writes them to the study.
fn tell_and_keep(notices: &[String], study: &Study, observer: &dyn Observer) -> Result<(), Error> {
    for notice in notices {
        observer.notice(notice);
    }
    for notice in notices {
        study.add_notice(notice)?;
    }
    Ok(())
}

/// Limits the memory of the run while the limit lives, or says why that is impossible.
fn limit_memory(plan: &Plan, observer: &dyn Observer) -> (Option<MemoryLimit>, Option<String>) {
    let left = tailmark_machine::remove_left_groups();
    let notices = left.iter().filter_map(LeftGroup::notice);
    notices.for_each(|notice| observer.notice(&notice));
    match plan.machine.memory_limit.map(MemoryLimit::enter) {
        None => (None, None),
        Some(Ok(limit)) => (Some(limit), None),
        Some(Err(why)) => {
            observer.notice(&format!("memory is not limited: {why}"));
            (None, Some(why.to_string()))
        }
    }
}

/// One run of a plan.
struct Sweeper<'a> {
    plan: &'a Plan,
    ranks: &'a Ranks,
    study: Study,
    observer: &'a dyn Observer,
    stop: &'a Stop,
    memory_unlimited: Option<String>,
    mismatches: Mismatches,
    services: Services<'a>,
    servers: &'a Servers,
    /// Notices about points that are left out.
    skipped: Vec<String>,
    summary: Summary,
    /// Whether a load or a point of this run is in the study.
    has_measured: bool,
    /// The highest repeat that was begun.
    repeat: u32,
    /// The states from which the points so far started.
    starts: Vec<(PointKey, StartState)>,
    /// The idle power of systems with a point in this run.
    idle: BTreeMap<String, Vec<Series>>,
}

/// Warns about points that are known to be too short for the report.
fn say_too_short(plan: &Plan, out: &Path, observer: &dyn Observer) {
    if Wanted::from_plan(plan).is_some() {
        let notices = too_short(plan, &earlier::gather(plan, out));
        notices.iter().for_each(|notice| observer.notice(notice));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Keeps its notices.
    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl Observer for Told {
        fn notice(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }
    }

    fn failure(what: &str) -> Error {
        Error::Unready(what.to_owned())
    }

    #[test]
    fn a_run_that_failed_tells_what_it_has_left_changed_and_ends_with_its_own_error() {
        let told = Told::default();
        let left = vec![("db1".to_owned(), Some(2)), ("db2".to_owned(), None)];
        let ended = with_left(Err(failure("the run")), left, Ok(1), &told);
        assert!(ended.unwrap_err().to_string().contains("the run"));
        let told = told.0.into_inner().unwrap().join("\n");
        for words in [
            "1 change of this machine could not be undone",
            "2 changes of `db1` could not be undone",
            "tailmark cannot tell whether all changes of `db2` were undone",
        ] {
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn what_could_not_be_put_back_hides_no_error_of_the_run() {
        let told = Told::default();
        let journal = Err(failure("the journal"));
        let ended = with_left(Err(failure("the run")), Vec::new(), journal, &told);
        assert!(ended.unwrap_err().to_string().contains("the run"));
        assert!(told.0.into_inner().unwrap()[0].contains("the journal"));
    }
}
