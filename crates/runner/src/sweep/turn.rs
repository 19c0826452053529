//! A system in a sweep: its current state, and its data set in the state that its next point needs.

use super::{Sweeper, moved::refuse_moved, rest, resume::BEGUN_ON};
use crate::{
    Error,
    caches::CachesKept,
    dataset::Dataset,
    facts::kept,
    places::places,
    ranks::{Answer, Command},
    service::left_running,
    steps::{DataState, Make},
};
use std::path::PathBuf;
use tailmark_driver::Made;
use tailmark_model::Fact;
use tailmark_plan::{DropCaches, Plan, PlanPoint, Restore, RestoreBefore, SystemPlan};
use tailmark_study::Study;

/// Group and name of the fact that says which repeat the data set of a system was loaded for.
const LOADED_FOR: (&str, &str) = ("data set", "loaded for repeat");

/// A system of a run, and its data set.
#[derive(Debug)]
pub(super) struct SystemState<'a> {
    pub system: &'a SystemPlan,
    pub dataset: Dataset<'a>,
    /// Facts about the data set, if another program loaded it.
    pub adopted: Option<String>,
    /// Whether something of it was measured in this run.
    pub had_turn: bool,
}

impl<'a> SystemState<'a> {
    pub fn new(plan: &'a Plan, system: &'a SystemPlan) -> Self {
        Self {
            system,
            dataset: Dataset::new(plan, system),
            adopted: None,
            had_turn: false,
        }
    }

    /// The same, after this run created some of these directories.
    pub fn with_made(self, made: &[PathBuf]) -> Self {
        let own = made
            .iter()
            .filter(|made| self.system.location.path() == Some(made));
        own.for_each(|own| self.dataset.add_made(Made::Directory(own.clone())));
        self
    }
}

impl<'a> Sweeper<'a> {
    /// Looks at a system, and starts its service; `None` if it was stopped.
    pub(super) fn look(&mut self, state: &mut SystemState<'a>) -> Result<Option<DataState>, Error> {
        let SystemState {
            system, dataset, ..
        } = state;
        if !state.had_turn {
            refuse_moved(&self.study, system)?;
        }
        let place = tailmark_machine::place_facts(&system.name, &places(system));
        self.study.set_facts(&kept(self.plan, place))?;
        let facts = self.awaited(system, || self.servers.facts(self.plan, system))?;
        let Some(facts) = facts else {
            return Ok(None);
        };
        self.study.set_facts(&facts)?;
        self.study.set_facts(&self.restored(dataset, system))?;
        let is_first_look = !state.had_turn;
        let drops = self.plan.machine.drop_caches;
        let is_said = drops != DropCaches::Never && is_first_look;
        let kept = CachesKept::left_alone(self.plan, system).filter(|_| is_said);
        if let Some((why, remedy)) = kept.map(|kept| kept.describe()) {
            let notice = format!("caches of system `{}` are not dropped: {why}", system.name);
            self.observer.notice(&format!("{notice}. {remedy}"));
        }
        if is_first_look && let Some(notice) = left_running(system) {
            self.observer.notice(&notice);
            self.study.add_notice(&notice)?;
        }
        self.start_service()?;
        if !self.wait_ready(dataset, system)? {
            return Ok(None);
        }
        state.adopted = dataset.adopt(self.plan, self.stop)?;
        self.keep_earlier_load(dataset, system)?;
        Ok(Some(DataState {
            is_loaded: dataset.is_loaded()? & self.look_elsewhere(system)?,
            loaded_for: loaded_for(&self.study, dataset, system)?,
            is_reshaped: dataset.is_reshaped()?,
            is_changed: dataset.is_changed()?,
            has_start: dataset.has_start()?,
        }))
    }

    /// How the data set of a system is restored, for the method section of a report.
    fn restored(&self, dataset: &Dataset<'_>, system: &SystemPlan) -> Vec<Fact> {
        let restore = &self.plan.dataset.restore;
        let default = if restore.is_default {
            ", by default"
        } else {
            ""
        };
        let how = match dataset.restore() {
            Restore::None => return Vec::new(),
            how => how.name(),
        };
        vec![Fact {
            system: Some(system.name.clone()),
            group: "data set".to_owned(),
            name: "restored".to_owned(),
            value: format!("before each {}: {how}{default}", restore.before.name()),
        }]
    }

    /// Whether the separate data sets of other ranks are loaded. Facts about their places go to the
    /// study.
    fn look_elsewhere(&self, system: &SystemPlan) -> Result<bool, Error> {
        let answers = self
            .ranks
            .each_of_own(system, |system| Command::Look { system })?;
        let mut all = true;
        for (answer, rank) in answers.into_iter().zip(1..) {
            if let Answer::Loaded { is_loaded, facts } = answer {
                all &= is_loaded;
                let of_rank = facts.into_iter().map(|fact| Fact {
                    group: format!("{} of rank {rank}", fact.group),
                    ..fact
                });
                self.study.set_facts(&of_rank.collect::<Vec<_>>())?;
            }
        }
        Ok(all)
    }

    /// Makes the data set of a system ready for a point. Returns whether it is loaded; `None` if it
    /// was stopped.
    pub(super) fn make(
        &mut self,
        state: &SystemState<'a>,
        point: &PlanPoint<'a>,
        make: Make,
    ) -> Result<Option<bool>, Error> {
        let SystemState {
            system, dataset, ..
        } = state;
        if self.services.is_stopped() {
            self.start_service()?;
        }
        // The server may have stopped since the previous point.
        if state.had_turn && !self.wait_ready(dataset, system)? {
            return Ok(None);
        }
        self.note_begin(state)?;
        let is_made = match make {
            Make::Empty => {
                dataset.start_empty()?;
                let empty = |name| Command::StartEmpty { system: name };
                self.ranks.each_of_own(system, empty).map(|_| true)
            }
            Make::Load => self.load_and_keep(state, point),
            Make::LoadAgain => {
                dataset.remove_kept(&self.servers.of(system), self.stop)?;
                dataset.remove()?;
                let remove = |name| Command::Remove { system: name };
                self.ranks.each_of_own(system, remove)?;
                self.load_and_keep(state, point)
            }
            Make::Keep => self.keep(dataset, system),
            Make::Restore => self.restore(state, point),
        };
        if !is_made? {
            return Ok(None);
        }
        Ok(Some(dataset.is_loaded()? & self.look_elsewhere(system)?))
    }

    /// Loads a data set, and keeps its start if the plan restores it; false if it was stopped.
    fn load_and_keep(
        &mut self,
        state: &SystemState<'a>,
        point: &PlanPoint<'a>,
    ) -> Result<bool, Error> {
        let SystemState {
            system, dataset, ..
        } = state;
        Ok(self.wait_until_made(dataset, system)?
            && self.load(dataset, system, point)?
            && self.keep(dataset, system)?)
    }

    /// Keeps the start of a data set, if the plan restores it; false if it was stopped.
    fn keep(&self, dataset: &Dataset<'_>, system: &SystemPlan) -> Result<bool, Error> {
        if dataset.restore().keeps() {
            self.observer.step("keeping the data set as it was loaded");
        }
        dataset.keep(&self.servers.of(system), self.stop)
    }

    /// Restores a data set from its start; false if it was stopped.
    fn restore(&self, state: &SystemState<'a>, point: &PlanPoint<'a>) -> Result<bool, Error> {
        let SystemState {
            system, dataset, ..
        } = state;
        self.observer.step("restoring the data set");
        let note = || self.keep_repeat(system, point);
        if !dataset.put_back(&self.servers.of(system), &note, self.stop)? {
            return Ok(false);
        }
        let place = system.location.path();
        if let Some(place) = place.filter(|_| self.plan.dataset.restore.trim) {
            let limit = self.plan.sweep.settle;
            rest::trim_and_wait(place, limit, (self.observer, self.stop));
        }
        Ok(!self.stop.requested())
    }

    /// Notes in the study that something is about to be created on a server. Between a keyspace and
    /// its first table nothing there shows the owner, but with the note a killed run can resume.
    fn note_begin(&self, state: &SystemState<'a>) -> Result<(), Error> {
        let SystemState {
            system, dataset, ..
        } = state;
        if !dataset.begins_on_server() {
            return Ok(());
        }
        Ok(self.study.set_facts(&[Fact {
            system: Some(system.name.clone()),
            group: BEGUN_ON.0.to_owned(),
            name: BEGUN_ON.1.to_owned(),
            value: system.location.to_string(),
        }])?)
    }

    /// Records when a data set was loaded that another study has left.
    fn keep_earlier_load(&self, dataset: &Dataset<'_>, system: &SystemPlan) -> Result<(), Error> {
        if fact(&self.study, system, Study::LOAD_BEGAN)?.is_some() {
            return Ok(());
        }
        let began = dataset.load_began()?.filter(|began| !began.is_empty());
        let Some(value) = began else {
            return Ok(());
        };
        let (group, name) = Fact::LOADED_EARLIER;
        Ok(self.study.set_facts(&[Fact {
            system: Some(system.name.clone()),
            group: group.to_owned(),
            name: name.to_owned(),
            value,
        }])?)
    }

    /// Records for which repeat a data set was loaded, if that decides when it is loaded again.
    /// Done before its marker says that it is complete, so a marked data set always has it.
    pub(super) fn keep_repeat(
        &self,
        system: &SystemPlan,
        point: &PlanPoint<'_>,
    ) -> Result<(), Error> {
        let restore = &self.plan.dataset.restore;
        if restore.how == Restore::None || restore.before != RestoreBefore::Repeat {
            return Ok(());
        }
        Ok(self.study.set_facts(&[Fact {
            system: Some(system.name.clone()),
            group: LOADED_FOR.0.to_owned(),
            name: LOADED_FOR.1.to_owned(),
            value: point.repeat.to_string(),
        }])?)
    }
}

/// The repeat for which a study loaded the data set of a system; `None` if it did not, or another
/// study has loaded it since.
fn loaded_for(
    study: &Study,
    dataset: &Dataset<'_>,
    system: &SystemPlan,
) -> Result<Option<u32>, Error> {
    let began = fact(study, system, Study::LOAD_BEGAN)?;
    if began.is_none() || (dataset.is_kept() && dataset.load_began()? != began) {
        return Ok(None);
    }
    let repeat = fact(study, system, LOADED_FOR)?;
    Ok(repeat.and_then(|repeat| repeat.parse().ok()))
}

/// A fact of a system by its group and name.
pub(super) fn fact(
    study: &Study,
    system: &SystemPlan,
    named: (&str, &str),
) -> Result<Option<String>, Error> {
    let facts = study.facts()?.into_iter();
    let mut named = facts.filter(|fact| {
        fact.system.as_ref() == Some(&system.name)
            && (fact.group.as_str(), fact.name.as_str()) == named
    });
    Ok(named.next().map(|fact| fact.value))
}
