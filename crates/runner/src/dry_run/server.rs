//! What a run would change on the server of a system. The dry run asks the server for its content,
//! and prints the statements that would be sent.

use super::SystemFacts;
use crate::{Error, dataset::Dataset, error::in_one_line};
use tailmark_driver::{Look, Place};
use tailmark_plan::{Adopt, Plan, Reload, SystemPlan};

/// How long a dry run tries to connect, unless the plan sets it, milliseconds.
const CONNECT_MS: &str = "1000";

/// Facts about the server of a system.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerFacts {
    /// What it holds. If it was not asked, what a server without the data set holds.
    pub look: Look,
    /// Why it was not asked, or did not answer.
    pub unreached: Option<String>,
}

/// Looks at the server of a system; `None` if it has none, or its address is an example. A server
/// that the plan's own service starts is not asked: it may not run yet, or another one may run in
/// its place.
pub(super) fn gather(system: &SystemPlan, dataset: &mut Dataset<'_>) -> Option<ServerFacts> {
    let look = system.driver.look.filter(|_| !system.placeholder)?;
    let settings = &mut dataset.params.settings;
    settings.set_default("connect_timeout_ms", CONNECT_MS);
    let found = match &system.service {
        Some(_) => Err("the service of the plan starts it".to_owned()),
        None => dataset.look_at_server().map_err(|error| why(&error)),
    };
    Some(match found {
        Ok(seen) => ServerFacts {
            look: seen,
            unreached: None,
        },
        Err(why) => ServerFacts {
            look: (look.of_empty)(&dataset.params),
            unreached: Some(why),
        },
    })
}

fn why(error: &Error) -> String {
    in_one_line(error)
}

/// Every statement that would change the server, except the operations.
pub(super) fn lines(plan: &Plan, system: &SystemPlan, known: &SystemFacts) -> Vec<String> {
    let Some(ServerFacts { look, unreached }) = &known.server else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    if let Some(file) = system.settings.text("password_file")
        && system.service.is_none()
    {
        lines.push(format!(
            "this dry run sends the server the password in `{file}`"
        ));
    }
    if let Some(why) = unreached {
        lines.push(format!("tailmark cannot tell what the server holds: {why}"));
    }
    if plan.dataset.adopt != Adopt::No || known.refusal.is_some() {
        return lines;
    }
    let changes = changes(plan, known, look);
    match (unreached, changes.is_empty()) {
        (Some(_), false) => lines.push(format!(
            "send to the server, if {} does not exist there yet:",
            look.name
        )),
        (None, false) => lines.push(format!("send to the server of {}:", system.name)),
        (None, true) => lines.push(format!(
            "change nothing else on the server of {}",
            system.name
        )),
        (Some(_), true) => {}
    }
    lines.extend(changes.into_iter().map(|change| format!("  {change}")));
    lines
}

fn changes(plan: &Plan, known: &SystemFacts, look: &Look) -> Vec<String> {
    let (sweep, mut changes) = (&plan.sweep, Vec::new());
    let empties = sweep
        .workloads
        .iter()
        .any(|workload| workload.starts_empty());
    let again = match sweep.reload {
        Reload::Never => None,
        Reload::Repeat => (sweep.repeats > 1).then_some("before each further repeat"),
        Reload::Workload => Some("before each further workload"),
        Reload::Point => Some("before each further point"),
    };
    let loads = !known.data.is_loaded;
    if loads || again.is_some() || empties {
        changes.extend(look.creates.clone());
        changes.push(format!(
            "{} (the marker, updated during the load)",
            look.marks
        ));
    }
    let Some(removes) = &look.removes else {
        return changes;
    };
    if loads && !look.is_empty && !known.started {
        changes.push(removes.clone());
    }
    if let Some(when) = again {
        changes.push(format!("{removes}, {when}"));
    }
    if empties {
        changes.push(format!(
            "{removes}, before each point of a workload that begins with an empty database"
        ));
    }
    changes
}

/// The operations of a workload that change the records of a server, or adopted records.
pub(super) fn written(
    plan: &Plan,
    system: &SystemPlan,
    workload: &tailmark_workload::Workload,
) -> String {
    let kinds = workload.kinds().into_iter();
    let writes: Vec<_> = kinds.filter(|k| k.writes()).map(|k| k.name()).collect();
    let is_told = system.driver.place == Place::Hosts || plan.dataset.adopt == Adopt::Overwrite;
    if writes.is_empty() || !is_told {
        String::new()
    } else {
        format!("; it changes records: {}", writes.join(", "))
    }
}
