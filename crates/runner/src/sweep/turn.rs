//! One system's turn in a sweep: its service and its data set are as its next point needs them,
//! whatever the systems before it have left.

use super::Sweeper;
use crate::{Error, caches::CachesKept, dataset::Dataset};
use tailmark_plan::{Plan, Reload, Step, SystemPlan};
use tailmark_results::{Fact, Study};

/// Group and name of the fact that says which repeat the data set of a system was loaded for.
const LOADED_FOR: (&str, &str) = ("data set", "loaded for repeat");

/// A system of a run, and what is known of its data set.
#[derive(Debug)]
pub(super) struct SystemState<'a> {
    pub system: &'a SystemPlan,
    pub dataset: Dataset<'a>,
    /// What is known of the data set, where somebody else has loaded it.
    pub adopted: Option<String>,
    /// The point before.
    before: Option<Step<'a>>,
    /// Whether it has had a turn: only then the others are known.
    is_known: bool,
    is_loaded: bool,
    /// The repeat that the data set was loaded for in this study; none where it was there, or
    /// another study has loaded it since.
    loaded_for: Option<u32>,
}

impl<'a> SystemState<'a> {
    pub fn new(plan: &Plan, system: &'a SystemPlan) -> Self {
        Self {
            system,
            dataset: Dataset::new(plan, system),
            adopted: None,
            before: None,
            is_known: false,
            is_loaded: false,
            loaded_for: None,
        }
    }

    /// Whether a data set that is there is removed and loaded again before a point.
    fn is_reloaded(&self, reload: Reload, step: &Step<'_>) -> bool {
        match reload {
            Reload::Never => false,
            // What was there serves the first.
            Reload::Repeat => self.loaded_for.unwrap_or(1) != step.repeat,
            Reload::Workload => step.begins_workload,
            Reload::Point => true,
        }
    }
}

impl<'a> Sweeper<'a> {
    /// Measures a point of a system and commits it, after what has to be done before; false where
    /// that was stopped. Nothing is done for a point that is there, or that is left out.
    pub(super) fn turn(
        &mut self,
        state: &mut SystemState<'a>,
        step: Step<'a>,
    ) -> Result<bool, Error> {
        let Some(key) = self.key(&step, state.system)? else {
            return Ok(true);
        };
        if self.stop.requested() {
            return Ok(false);
        }
        self.services.switch_to(state.system)?;
        Ok((state.is_known || self.look(state)?)
            && self.prepare(state, &step)?
            && self.point(state, step, key)?)
    }

    /// Looks at a system before its first point; false where that was stopped.
    fn look(&mut self, state: &mut SystemState<'a>) -> Result<bool, Error> {
        let SystemState {
            system, dataset, ..
        } = state;
        if let Some(watched) = system.watched() {
            let facts = tailmark_host::place_facts(&system.name, watched);
            self.study.set_facts(&facts)?;
        }
        let kept = CachesKept::elsewhere(system).filter(|_| self.plan.host.drop_caches);
        if let Some((why, remedy)) = kept.map(|kept| kept.describe()) {
            let notice = format!("caches of system `{}` are not dropped: {why}", system.name);
            self.observer.notice(&format!("{notice}. {remedy}"));
        }
        self.start_service()?;
        if !self.wait_ready(dataset, system)? {
            return Ok(false);
        }
        state.adopted = dataset.adopt(self.plan)?;
        state.is_loaded = dataset.is_loaded()?;
        state.loaded_for = loaded_for(&self.study, dataset, system)?;
        state.is_known = true;
        Ok(true)
    }

    /// Makes the data set what it has to be before a point: as it is, loaded, loaded again or
    /// empty; false where that was stopped.
    fn prepare(&mut self, state: &mut SystemState<'a>, step: &Step<'a>) -> Result<bool, Error> {
        let starts_empty = step.workload.starts_empty();
        let was_filled = state.before.is_some_and(|b| b.workload.starts_empty());
        let loads_again = match state.is_loaded {
            true => state.is_reloaded(self.plan.sweep.reload, step),
            false => was_filled,
        };
        let is_changed = starts_empty || loads_again || !state.is_loaded;
        let is_first = state.before.replace(*step).is_none();
        if !is_changed {
            return Ok(true);
        }
        if self.services.is_stopped() {
            self.start_service()?;
        }
        // The server may have gone away since the point before.
        if !is_first && !self.wait_ready(&state.dataset, state.system)? {
            return Ok(false);
        }
        if starts_empty {
            state.dataset.start_empty()?;
        } else {
            if loads_again {
                state.dataset.remove()?;
            }
            if !self.load(&state.dataset, state.system, step)? {
                return Ok(false);
            }
            state.loaded_for = Some(step.repeat);
        }
        state.is_loaded = state.dataset.is_loaded()?;
        Ok(true)
    }

    /// Keeps for which repeat a data set was loaded, where that decides when it is loaded again.
    /// Done before its marker says that it is complete: a data set that is marked has it.
    pub(super) fn keep_repeat(&self, system: &SystemPlan, step: &Step<'_>) -> Result<(), Error> {
        if self.plan.sweep.reload != Reload::Repeat {
            return Ok(());
        }
        Ok(self.study.set_facts(&[Fact {
            system: Some(system.name.clone()),
            group: LOADED_FOR.0.to_owned(),
            name: LOADED_FOR.1.to_owned(),
            value: step.repeat.to_string(),
        }])?)
    }
}

/// The repeat that the data set of a system was loaded for in a study; none where it did not load
/// it, or another study has loaded it since.
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
