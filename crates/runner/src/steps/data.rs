//! What a data set needs before a point: nothing, a load, or to be emptied.

use tailmark_plan::{PlanPoint, Reload, Sweep};

/// The state of a system's data set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DataState {
    pub is_loaded: bool,
    /// The repeat for which it was loaded in this study; `None` if it existed before, or another
    /// study has loaded it since.
    pub loaded_for: Option<u32>,
    /// Whether updates had changed the shape of its records when it was looked at.
    pub is_reshaped: bool,
}

/// How a data set is made ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Make {
    /// Without records.
    Empty,
    /// Missing records are loaded.
    Load,
    /// Existing data is removed, and everything is loaded.
    LoadAgain,
}

impl DataState {
    /// How to make it ready before a point; `None`: it is ready. `before` is the system's previous
    /// point.
    pub fn make(
        &self,
        sweep: &Sweep,
        before: Option<&PlanPoint<'_>>,
        point: &PlanPoint<'_>,
    ) -> Option<Make> {
        if point.workload.starts_empty() {
            return Some(Make::Empty);
        }
        let again = if self.is_loaded {
            self.is_loaded_again(sweep, before, point)
        } else {
            before.is_some_and(|before| before.workload.starts_empty())
        };
        if again {
            Some(Make::LoadAgain)
        } else {
            (!self.is_loaded).then_some(Make::Load)
        }
    }

    /// Whether a data set that is there is removed and loaded again before a point.
    fn is_loaded_again(
        &self,
        sweep: &Sweep,
        before: Option<&PlanPoint<'_>>,
        point: &PlanPoint<'_>,
    ) -> bool {
        match sweep.reload {
            Reload::Never => false,
            // The data existed, but differs from that of a fresh load.
            _ if self.is_reshaped && self.loaded_for.is_none() => true,
            // The first point uses the existing data.
            Reload::Repeat => self.loaded_for.unwrap_or(1) != point.repeat,
            // Rungs that another system has reached are added after later workloads were measured.
            Reload::Workload => {
                let is_other = |last: &PlanPoint<'_>| last.workload.name != point.workload.name;
                point.begins_workload || (sweep.ladder.is_some() && before.is_some_and(is_other))
            }
            Reload::Point => true,
        }
    }

    /// It was made for a point.
    pub fn made(&mut self, make: Make, point: &PlanPoint<'_>) {
        self.is_loaded = make != Make::Empty;
        if self.is_loaded {
            self.loaded_for = Some(point.repeat);
        }
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
            "reload = 'workload'\nworkloads = 'ycsb-a, ycsb-c'\n{sweep}"
        ));
        let points: Vec<_> = plan.points().collect();
        let state = DataState {
            is_loaded: true,
            ..DataState::default()
        };
        let mut before = None;
        let mut reloads = Vec::new();
        for &index in order {
            let made = state.make(&plan.sweep, before, &points[index]);
            reloads.push(made == Some(Make::LoadAgain));
            before = Some(&points[index]);
        }
        reloads
    }

    #[test]
    fn a_data_set_whose_records_were_cut_down_is_loaded_before_it_serves_anything() {
        for (reload, expected) in [("never", false), ("repeat", true), ("point", true)] {
            let plan = plan(&format!(
                "reload = '{reload}'\nrepeats = 2\nworkloads = 'ycsb-a'\nthreads = 1"
            ));
            let first = plan.points().next().unwrap();
            let mut state = DataState {
                is_loaded: true,
                ..DataState::default()
            };
            let again = |kept: DataState| kept.make(&plan.sweep, None, &first).is_some();
            assert_eq!(again(state), reload == "point");
            state.is_reshaped = true;
            assert_eq!(again(state), expected, "{reload}");
            // This study has already loaded it for the repeat.
            state.made(Make::LoadAgain, &first);
            assert_eq!(again(state), reload == "point");
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
