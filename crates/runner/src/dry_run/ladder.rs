//! Ladders of client counts in a dry run. Where they end is unknown in advance.

use crate::steps::Ladders;
use tailmark_model::{RepeatRange, number};
use tailmark_plan::{Plan, Sweep};
use tailmark_stats::ladder::{GAIN_MIN, RUNS_MIN};

/// When ladders and repeats end: lines for a person.
pub(super) fn lines(plan: &Plan, ladders: &Ladders<'_>) -> Vec<String> {
    if let Some(RepeatRange { least, most }) = plan.sweep.until_decided {
        let metric = plan
            .report
            .metric
            .map_or_else(String::new, |metric| format!(" and {}", metric.row().title));
        return vec![format!(
            "  repeats: {least} of each point, then more until every pair of systems is better, worse or \
             equivalent in ops/s{metric}, {most} at most; verdicts allow for it"
        )];
    }
    if plan.sweep.ladder.is_none() {
        return Vec::new();
    }
    let repeats = match plan.sweep.repeats {
        runs if (runs as usize) < RUNS_MIN => "",
        _ => ", or less than the repeats can distinguish",
    };
    let mut lines = vec![format!(
        "  threads: raised step by step until two steps in a row gain less than {}{repeats}, ops/s \
         fall, the client is saturated, a point is invalid, or the highest count is reached; every \
         system is measured at each count that any system reaches",
        number::percent(GAIN_MIN)
    )];
    let ended = ladders.highest().into_iter().map(|(workload, threads)| {
        let threads = number::threads(threads);
        format!("  workload {workload}: thread counts no longer rise, the highest is {threads}")
    });
    lines.extend(ended);
    lines
}

/// `with 1, 4, 16 threads`, and of a ladder how far.
pub(super) fn thread_counts(sweep: &Sweep) -> String {
    if let [only] = sweep.threads.as_slice() {
        return format!("with {}", number::threads(*only));
    }
    let threads: Vec<_> = sweep.threads.iter().map(ToString::to_string).collect();
    let until = match sweep.ladder {
        None => "",
        Some(_) => ", until there is no gain",
    };
    format!("with {} threads{until}", threads.join(", "))
}

/// How often each point is measured; `None` if once.
pub(super) fn repeats(sweep: &Sweep) -> Option<String> {
    if let Some(RepeatRange { least, most }) = sweep.until_decided {
        return Some(format!(
            "{least} times over, then each point again until its verdicts are decided, {most} times at most:"
        ));
    }
    match (sweep.repeats, sweep.ladder) {
        (1, _) => None,
        (repeats, None) => Some(format!("{repeats} times over:")),
        (repeats, Some(_)) => Some(format!("each point {repeats} times before the next one:")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dry_run::{Facts, dry_run},
        steps::Known,
    };
    use std::path::Path;
    use tailmark_plan::RawPlan;
    use tailmark_testing::assert_says;

    const TWO: &str =
        "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n[[system]]\nname = 'b'\n";

    fn plan(sweep: &str) -> Plan {
        let text = format!("{TWO}[sweep]\nduration = '9s'\nwarmup = '1s'\n{sweep}");
        let plan = RawPlan::parse("test", &text).and_then(|raw| raw.check());
        plan.unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_dry_run_says_the_rungs_and_that_the_ladder_ends_by_itself() {
        let sweep = "threads = { from = 8, to = 100, until = 'no gain' }\nrepeats = 4";
        let said = dry_run(&plan(sweep), Path::new("out"), &Facts::default())
            .lines
            .join("\n");
        let parts = [
            "2 systems x 1 workload x up to 4 thread counts x 4 repeats: up to 32 points in all",
            "until two steps in a row gain less than 3%, or less than the repeats can distinguish,",
            "at each count that any system reaches",
            "run ycsb-a (zipfian) with 8, 16, 32, 64 threads, until there is no gain",
            "each point 4 times before the next one:",
            "time: up to about 5m 20s",
            "      up to 32 points, 5m 20s in all at most",
        ];
        assert_says(&said, &parts);
    }

    #[test]
    fn where_it_has_ended_in_the_study_the_points_are_known() {
        let plan = plan("threads = '1..'\nrates = '500'");
        // The rungs of 1, 2 and 4 threads, without a gain.
        let facts = Facts {
            known: Known::with_points(&plan, [3, 3]),
            ..Facts::default()
        };
        let said = dry_run(&plan, Path::new("out"), &facts).lines.join("\n");
        let parts = [
            "2 systems x 1 workload x (11 thread counts + 1 rate): 8 points in all",
            "workload ycsb-a: thread counts no longer rise, the highest is 4 threads",
            "keep 3 points of an earlier run",
            "time: about 20s, 40s at most\n",
            "      2 points, 20s in all\n",
        ];
        assert_says(&said, &parts);
    }
}
