//! How a system gets its data set before its first point, in a dry run.

use super::work::SystemWork;
use crate::steps::Make;
use tailmark_driver::Place;
use tailmark_model::number;
use tailmark_plan::{Adopt, Plan};

/// The step by which a system gets its data set.
pub(super) fn step(plan: &Plan, work: &SystemWork<'_>) -> Option<String> {
    let (system, known, first) = (work.system, &work.known, work.first_make);
    let Plan { dataset, sweep, .. } = plan;
    let data = &system.data;
    if known.adopted || (dataset.adopt != Adopt::No && !known.data.is_loaded) {
        return Some("adopt the existing data set, if a sample of it matches the plan".to_owned());
    }
    let records = number::count(data.records);
    let is_loaded_again = known.data.is_loaded && first == Some(Make::LoadAgain);
    if first == Some(Make::Restore) && !known.data.is_loaded {
        return Some(format!("restore the {records} records that were kept"));
    }
    if known.data.is_loaded && !is_loaded_again {
        return Some(format!("keep the {records} loaded records"));
    }
    let is_unknown = match &known.server {
        Some(server) => server.unreached.is_some(),
        None => system.driver.place == Place::Hosts,
    };
    let unless = if is_unknown {
        ", unless the server already has them"
    } else {
        ""
    };
    let at = match (dataset.load_rate, system.driver.place) {
        (Some(rate), _) => format!(" at {}", number::ops(rate)),
        (None, Place::Hosts) => " at full rate".to_owned(),
        (None, _) => String::new(),
    };
    (system.driver.place != Place::Nowhere).then(|| {
        let load = if is_loaded_again {
            "remove the loaded records, and load"
        } else {
            "load"
        };
        format!(
            "{load} {records} records of {} x {} B with {}{at}{unless}",
            data.schema.fields.len(),
            number::count(u64::from(data.field_length)),
            number::threads(sweep.load_threads),
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::{
        dry_run::{Facts, SystemFacts, dry_run},
        steps::DataState,
    };
    use std::path::Path;
    use tailmark_plan::RawPlan;
    use tailmark_testing::assert_says;

    #[test]
    fn data_that_changed_without_a_kept_start_is_loaded_again() {
        let text = "[database]\ndriver = 'file'\n[dataset]\nrecords = 4000\nrestore = 'copy'\n\
                    [[system]]\nname = 'a'\npath = '/x'";
        let plan = RawPlan::parse("test", text)
            .and_then(|raw| raw.check())
            .unwrap();
        let new = DataState::default();
        let loaded = DataState {
            is_loaded: true,
            ..new
        };
        let changed = DataState {
            is_changed: true,
            ..loaded
        };
        let kept = DataState {
            has_start: true,
            ..new
        };
        for (data, says) in [
            (new, "\n  load 4,000 records"),
            (loaded, "\n  keep the 4,000 loaded records"),
            (
                changed,
                "\n  remove the loaded records, and load 4,000 records",
            ),
            (kept, "\n  restore the 4,000 records that were kept"),
        ] {
            let known = SystemFacts {
                data,
                ..SystemFacts::default()
            };
            let facts = Facts {
                systems: vec![known],
                ..Facts::default()
            };
            let lines = dry_run(&plan, Path::new("out"), &facts).lines;
            assert_says(&lines.join("\n"), &[says]);
        }
    }
}
