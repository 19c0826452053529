//! What a data set needs before a point: nothing, a load, to be restored, or to be emptied.

use tailmark_plan::{Plan, PlanPoint, Restore, RestoreBefore};

/// The state of a system's data set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DataState {
    pub is_loaded: bool,
    /// The repeat for which it was loaded or restored in this study; `None` if it existed before,
    /// or another study has loaded it since.
    pub loaded_for: Option<u32>,
    /// Whether updates had changed the shape of its records when it was looked at.
    pub is_reshaped: bool,
    /// Whether a workload has written to it since it was loaded or restored.
    pub is_changed: bool,
    /// Whether its start is kept, from which it can be restored.
    pub has_start: bool,
}

/// How a data set is made ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Make {
    /// Without records.
    Empty,
    /// Missing records are loaded, and the start is kept if the plan restores it.
    Load,
    /// Existing data is removed, and everything is loaded; otherwise the same.
    LoadAgain,
    /// Its start is kept.
    Keep,
    /// It is restored from its start.
    Restore,
}

impl DataState {
    /// How to make it ready before a point; `None`: it is ready. `restore` is how the system's data
    /// set is restored, and `before` its previous point.
    pub fn make(
        &self,
        (plan, restore): (&Plan, Restore),
        before: Option<&PlanPoint<'_>>,
        point: &PlanPoint<'_>,
    ) -> Option<Make> {
        let is_due = || self.is_due(plan, before, point);
        if point.workload.starts_empty() {
            Some(Make::Empty)
        } else if !self.is_loaded && self.has_start {
            Some(Make::Restore)
        } else if !self.is_loaded {
            let was_emptied = before.is_some_and(|before| before.workload.starts_empty());
            Some(if was_emptied {
                Make::LoadAgain
            } else {
                Make::Load
            })
        } else if !restore.keeps() {
            (restore == Restore::Reload && is_due()).then_some(Make::LoadAgain)
        } else if self.has_start {
            is_due().then_some(Make::Restore)
        } else if self.is_changed {
            Some(Make::LoadAgain)
        } else {
            Some(Make::Keep)
        }
    }

    /// Whether a data set that is there is restored before a point.
    fn is_due(&self, plan: &Plan, before: Option<&PlanPoint<'_>>, point: &PlanPoint<'_>) -> bool {
        // The data existed, but differs from that of a fresh load.
        let is_old = self.loaded_for.is_none();
        if is_old && (self.is_reshaped || (self.has_start && self.is_changed)) {
            return true;
        }
        let due = match plan.dataset.restore.before {
            // The first point uses the existing data.
            RestoreBefore::Repeat => return self.loaded_for.unwrap_or(1) != point.repeat,
            // Rungs that another system has reached are added after later workloads were measured.
            RestoreBefore::Workload => {
                let is_other = |last: &PlanPoint<'_>| last.workload.name != point.workload.name;
                let is_added = plan.sweep.ladder.is_some() && before.is_some_and(is_other);
                point.begins_workload || is_added
            }
            RestoreBefore::Point => true,
        };
        // Data to which nothing was written since is as it was kept.
        due && (self.is_changed || !self.has_start)
    }

    /// It was made for a point.
    pub fn made(&mut self, make: Make, restore: Restore, point: &PlanPoint<'_>) {
        self.is_loaded = make != Make::Empty;
        if self.is_loaded {
            self.is_changed = false;
            self.has_start = restore.keeps();
        }
        if self.is_loaded && make != Make::Keep {
            self.loaded_for = Some(point.repeat);
        }
    }

    /// It is used by a point.
    pub fn used(&mut self, point: &PlanPoint<'_>) {
        self.is_changed |= point.workload.writes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_plan::{Plan, RawPlan};

    fn plan(sweep: &str) -> Plan {
        let text = format!("[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n[sweep]\n{sweep}");
        RawPlan::parse("test", &text).unwrap().check().unwrap()
    }

    /// The points before which a system reloads, given its points by their indices in the plan.
    fn reloads(sweep: &str, order: &[usize]) -> Vec<bool> {
        let plan = plan(&format!(
            "workloads = 'ycsb-a, ycsb-c'\n{sweep}\n[dataset]\nrestore = 'reload'\n\
             restore_before = 'workload'"
        ));
        let points: Vec<_> = plan.points().collect();
        let state = DataState {
            is_loaded: true,
            ..DataState::default()
        };
        let mut before = None;
        let mut reloads = Vec::new();
        for &index in order {
            let made = state.make((&plan, Restore::Reload), before, &points[index]);
            reloads.push(made == Some(Make::LoadAgain));
            before = Some(&points[index]);
        }
        reloads
    }

    #[test]
    fn a_data_set_whose_records_were_cut_down_is_loaded_before_it_serves_anything() {
        let restores = [Restore::None, Restore::Reload, Restore::Reload];
        let cases = [("point", false), ("repeat", true), ("point", true)];
        for (restore, (before, expected)) in restores.into_iter().zip(cases) {
            let plan = plan(&format!(
                "repeats = 2\nworkloads = 'ycsb-a'\nthreads = 1\n[dataset]\n\
                 restore = '{}'\nrestore_before = '{before}'",
                restore.name()
            ));
            let first = plan.points().next().unwrap();
            let mut state = DataState {
                is_loaded: true,
                ..DataState::default()
            };
            let at_each = expected && before == "point";
            let again = |kept: DataState| kept.make((&plan, restore), None, &first).is_some();
            assert_eq!(again(state), at_each);
            state.is_reshaped = true;
            assert_eq!(again(state), expected, "{restore:?} {before}");
            // This study has already loaded it for the repeat.
            state.made(Make::LoadAgain, restore, &first);
            assert_eq!(again(state), at_each);
        }
    }

    #[test]
    fn only_what_was_written_to_is_restored_and_a_load_keeps_its_start() {
        let plan = |before: &str| {
            plan(&format!(
                "repeats = 2\nworkloads = 'ycsb-c, ycsb-a'\nthreads = [1, 2]\n[dataset]\n\
                 restore = 'command'\nrestore_command = 'true'\nrestore_before = '{before}'"
            ))
        };
        let makes = |before: &str, mut state: DataState| {
            let plan = plan(before);
            let (mut last, mut makes) = (None, String::new());
            for point in plan.points() {
                let make = state.make((&plan, Restore::Command), last.as_ref(), &point);
                makes.push(match make {
                    None => '-',
                    Some(Make::Load) => 'L',
                    Some(Make::LoadAgain) => 'A',
                    Some(Make::Keep) => 'K',
                    Some(Make::Restore) => 'R',
                    Some(Make::Empty) => 'E',
                });
                if let Some(make) = make {
                    state.made(make, Restore::Command, &point);
                }
                state.used(&point);
                last = Some(point);
            }
            makes
        };
        let new = DataState::default();
        let loaded = DataState {
            is_loaded: true,
            ..new
        };
        let aged = DataState {
            is_changed: true,
            ..loaded
        };
        let kept = DataState {
            has_start: true,
            ..aged
        };
        // In each of two repeats: C with 1 and 2 threads, A with 1 and 2.
        assert_eq!(makes("point", new), "L--RR--R");
        assert_eq!(makes("point", loaded), "K--RR--R");
        assert_eq!(makes("point", aged), "A--RR--R");
        assert_eq!(makes("point", kept), "R--RR--R");
        assert_eq!(makes("workload", new), "L---R---");
        assert_eq!(makes("repeat", new), "L---R---");
        // A restore that was cut short.
        let cut = DataState {
            is_loaded: false,
            ..kept
        };
        assert_eq!(makes("repeat", cut), "R---R---");
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
