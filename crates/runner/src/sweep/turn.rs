//! One system's turn in a sweep: its service and its data set are as its next point needs them,
//! whatever the systems before it have left.

use super::{Sweeper, resume::BEGUN_ON};
use crate::{
    Error,
    caches::CachesKept,
    dataset::Dataset,
    facts::kept,
    places::places,
    ranks::{Answer, Command},
    service::left_running,
};
use std::path::PathBuf;
use tailmark_driver::Made;
use tailmark_model::Fact;
use tailmark_plan::{DropCaches, Plan, Reload, Step, Sweep, SystemPlan};
use tailmark_study::Study;

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
    /// Whether updates had changed the shape of its records when it was looked at.
    is_reshaped: bool,
}

impl<'a> SystemState<'a> {
    pub fn new(plan: &'a Plan, system: &'a SystemPlan) -> Self {
        Self {
            system,
            dataset: Dataset::new(plan, system),
            adopted: None,
            before: None,
            is_known: false,
            is_loaded: false,
            loaded_for: None,
            is_reshaped: false,
        }
    }

    /// The same, of which this run made some of these directories.
    pub fn with_made(self, made: &[PathBuf]) -> Self {
        let own = made
            .iter()
            .filter(|made| self.system.location.path() == Some(made));
        own.for_each(|own| self.dataset.add_made(Made::Directory(own.clone())));
        self
    }

    /// Before another pass: systems behind may have changed the data set, where they keep the same.
    pub fn look_again(&mut self) {
        self.is_known = false;
    }

    /// Whether a data set that is there is removed and loaded again before a point.
    fn is_reloaded(&self, sweep: &Sweep, step: &Step<'_>) -> bool {
        let has_ladder = sweep.ladder.is_some();
        match sweep.reload {
            Reload::Never => false,
            // It is not what a load makes, though it was there.
            _ if self.is_reshaped && self.loaded_for.is_none() => true,
            // What was there serves the first.
            Reload::Repeat => self.loaded_for.unwrap_or(1) != step.repeat,
            // The rungs that another system has reached come when later workloads were measured.
            Reload::Workload => {
                let is_other = |before: &Step<'_>| before.workload.name != step.workload.name;
                step.begins_workload || (has_ladder && self.before.as_ref().is_some_and(is_other))
            }
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
        // A rung above the end that was measured before is evened out as the others are.
        if !self.ladders.is_reached(&step) && !self.is_evened(&step, state.system)? {
            return Ok(true);
        }
        let Some(key) = self.key(&step, state.system)? else {
            return Ok(true);
        };
        if self.stop.requested() {
            return Ok(false);
        }
        Ok(self.make_ready(state, &step)? && self.point(state, step, key)?)
    }

    /// Has the service and the data set of a system as a point needs them; false where that was
    /// stopped.
    pub(super) fn make_ready(
        &mut self,
        state: &mut SystemState<'a>,
        step: &Step<'a>,
    ) -> Result<bool, Error> {
        self.services.switch_to(state.system)?;
        Ok((state.is_known || self.look(state)?) && self.prepare(state, step)?)
    }

    /// Looks at a system before its first point; false where that was stopped.
    fn look(&mut self, state: &mut SystemState<'a>) -> Result<bool, Error> {
        let SystemState {
            system, dataset, ..
        } = state;
        let facts = tailmark_machine::place_facts(&system.name, &places(system));
        self.study.set_facts(&kept(self.plan, facts))?;
        let facts = self.awaited(system, || self.servers.facts(self.plan, system))?;
        let Some(facts) = facts else {
            return Ok(false);
        };
        self.study.set_facts(&facts)?;
        let is_first_look = state.before.is_none();
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
            return Ok(false);
        }
        state.adopted = dataset.adopt(self.plan, self.stop)?;
        state.is_loaded = dataset.is_loaded()? & self.look_elsewhere(system)?;
        state.loaded_for = loaded_for(&self.study, dataset, system)?;
        state.is_reshaped = dataset.is_reshaped()?;
        state.is_known = true;
        Ok(true)
    }

    /// Whether the data sets are there that other ranks have of their own; what is known of their
    /// places goes to the study.
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

    /// Makes the data set what it has to be before a point: as it is, loaded, loaded again or
    /// empty; false where that was stopped.
    fn prepare(&mut self, state: &mut SystemState<'a>, step: &Step<'a>) -> Result<bool, Error> {
        let starts_empty = step.workload.starts_empty();
        let was_filled = state.before.is_some_and(|b| b.workload.starts_empty());
        let loads_again = if state.is_loaded {
            state.is_reloaded(&self.plan.sweep, step)
        } else {
            was_filled
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
        self.note_begin(state)?;
        if starts_empty {
            state.dataset.start_empty()?;
            let system = state.system;
            self.ranks
                .each_of_own(system, |system| Command::StartEmpty { system })?;
        } else {
            if loads_again {
                state.dataset.remove()?;
                let system = state.system;
                self.ranks
                    .each_of_own(system, |system| Command::Remove { system })?;
            }
            if !self.wait_until_made(&state.dataset, state.system)?
                || !self.load(&state.dataset, state.system, step)?
            {
                return Ok(false);
            }
            state.loaded_for = Some(step.repeat);
        }
        state.is_loaded = state.dataset.is_loaded()? & self.look_elsewhere(state.system)?;
        Ok(true)
    }

    /// Notes in the study that something is about to be created on a server. Between a keyspace and
    /// the first table in it nothing there says whose it is: a run that was killed then goes on.
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

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_plan::RawPlan;

    /// Before which of its points a system loads again, where it is measured at these, by their
    /// places among the points of the plan.
    fn reloads(sweep: &str, order: &[usize]) -> Vec<bool> {
        let text = format!(
            "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n[sweep]\nreload = 'workload'\n\
             workloads = 'ycsb-a, ycsb-c'\n{sweep}"
        );
        let plan = RawPlan::parse("test", &text).and_then(|raw| raw.check());
        let plan = plan.unwrap();
        let points: Vec<_> = plan.points().collect();
        let mut state = SystemState::new(&plan, &plan.systems[0]);
        let mut reloads = Vec::new();
        for &index in order {
            reloads.push(state.is_reloaded(&plan.sweep, &points[index]));
            state.before = Some(points[index]);
        }
        reloads
    }

    #[test]
    fn a_data_set_whose_records_were_cut_down_is_loaded_before_it_serves_anything() {
        for (reload, expected) in [("never", false), ("repeat", true), ("point", true)] {
            let text = format!(
                "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n[sweep]\n\
                 reload = '{reload}'\nrepeats = 2\nworkloads = 'ycsb-a'\nthreads = 1"
            );
            let plan = RawPlan::parse("test", &text).and_then(|raw| raw.check());
            let plan = plan.unwrap();
            let first = plan.points().next().unwrap();
            let mut state = SystemState::new(&plan, &plan.systems[0]);
            assert_eq!(state.is_reloaded(&plan.sweep, &first), reload == "point");
            state.is_reshaped = true;
            assert_eq!(state.is_reloaded(&plan.sweep, &first), expected, "{reload}");
            // This study has loaded it for the repeat.
            state.loaded_for = Some(first.repeat);
            assert_eq!(state.is_reloaded(&plan.sweep, &first), reload == "point");
        }
    }

    #[test]
    fn rungs_that_another_system_has_reached_find_the_data_of_their_workload() {
        let ladder = "threads = '1..4'";
        // 1 and 2 threads of both workloads, and then 4 threads of both.
        let order = [0, 1, 3, 4, 2, 5];
        assert_eq!(
            reloads(ladder, &order),
            [true, false, true, false, true, true]
        );
        let in_turn = [0, 1, 2, 3, 4, 5];
        let expected = [true, false, false, true, false, false];
        assert_eq!(reloads(ladder, &in_turn), expected);
        assert_eq!(reloads("threads = [1, 2, 4]", &in_turn), expected);
    }
}
