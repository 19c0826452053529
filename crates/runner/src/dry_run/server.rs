//! What a run would change on the server of a system. The dry run asks the server for its content,
//! and prints the statements that would be sent.

use super::SystemFacts;
use crate::{dataset::Dataset, error::in_one_line};
use tailmark_driver::{Place, ServerContents};
use tailmark_plan::{Adopt, Plan, Restore, SystemPlan};

/// Facts about the server of a system.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerFacts {
    /// What it holds. If it was not asked, what a server without the data set holds.
    pub look: ServerContents,
    /// Why it was not asked, or did not answer.
    pub unreached: Option<Unreached>,
}

/// Why the content of a server is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreached {
    /// The plan's own service starts it. It may not run yet, or another one may run in its place.
    NotAsked,
    /// It did not answer, or refused.
    Failed(String),
}

impl ServerFacts {
    /// Why a run would be refused, if the server was asked.
    pub(super) fn failure(&self) -> Option<String> {
        match &self.unreached {
            Some(Unreached::Failed(why)) => Some(why.clone()),
            _ => None,
        }
    }
}

/// Looks at the server of a system; `None` if it has none, or its address is an example.
pub(super) fn gather(system: &SystemPlan, dataset: &Dataset<'_>) -> Option<ServerFacts> {
    let look = system.driver.look.filter(|_| !system.placeholder)?;
    let found = match &system.service {
        Some(_) => Err(Unreached::NotAsked),
        None => dataset
            .look_at_server()
            .map_err(|error| Unreached::Failed(in_one_line(&error))),
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
    if *unreached == Some(Unreached::NotAsked) {
        lines.push(
            "tailmark cannot tell what the server holds: the service of the plan starts it"
                .to_owned(),
        );
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

fn changes(plan: &Plan, known: &SystemFacts, look: &ServerContents) -> Vec<String> {
    let (sweep, mut changes) = (&plan.sweep, Vec::new());
    let empties = sweep
        .workloads
        .iter()
        .any(|workload| workload.starts_empty());
    let again = (plan.dataset.restore.how == Restore::Reload)
        .then(|| super::restore::when(plan))
        .flatten();
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
