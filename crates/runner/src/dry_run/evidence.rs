//! What a plan can show: the smallest difference that its repeats can detect, and the length of
//! points for the quantile of its report.

use super::Facts;
use crate::{
    earlier::{EarlierStudy, Noise},
    samples::{Wanted, rate, too_short},
};
use std::{collections::BTreeSet, time::Duration};
use tailmark_model::number;
use tailmark_plan::{Plan, PlanPoint};
use tailmark_stats::comparison::equivalence;
use tailmark_stats::statistics::{
    Look, PEAK_RUNS, POWER, RUNS_MIN, expected_repeats, smallest_difference,
};

/// Assumed variations between runs if none is known.
const NOISE: [f64; 3] = [0.03, 0.05, 0.1];
/// The difference for which the expected repeats are given.
const APART: f64 = 0.1;
/// The rate for which the time of a point is given if none is known.
const OPERATIONS_PER_SEC: f64 = 10_000.0;

/// Lines for a person.
pub fn lines(plan: &Plan, facts: &Facts) -> Vec<String> {
    let earlier_studies = facts.systems.iter().map(|known| known.earlier.clone());
    let earlier_studies: Vec<EarlierStudy> = earlier_studies.collect();
    let mut lines = differences(plan, &earlier_studies);
    lines.extend(Wanted::from_plan(plan).into_iter().flat_map(|wanted| {
        let mut own = lengths(plan, &earlier_studies, &wanted);
        let too_short = too_short(plan, &earlier_studies);
        own.extend(
            too_short
                .iter()
                .map(|notice| format!("      TOO SHORT: {notice}")),
        );
        own
    }));
    lines
}

/// The smallest differences that the repeats of a plan can show.
fn differences(plan: &Plan, earlier_studies: &[EarlierStudy]) -> Vec<String> {
    let (runs, points) = (plan.sweep.repeats as usize, plan.grid().count());
    if runs < RUNS_MIN {
        return vec![format!(
            "comparison: no verdicts, because they need at least {RUNS_MIN} repeats (sweep.repeats \
             is {runs})"
        )];
    }
    let compared = plan.systems.iter();
    let systems = compared.filter(|one| one.ceiling_for.is_none()).count();
    // A single system is compared with itself in another study.
    let pairs = (systems * systems.saturating_sub(1) / 2).max(1);
    let tests = points * pairs;
    let band = equivalence(&plan.header);
    let look = Look::after(runs, plan.sweep.until_decided);
    let smallest = |noise: f64| {
        let difference = smallest_difference(noise, (runs, look), tests, band);
        number::percent(difference.unwrap_or(f64::NAN))
    };
    let closed = plan.grid().filter(|point| point.rate.is_none());
    let counts: BTreeSet<u32> = closed.map(|point| point.threads).collect();
    let mut lines = vec![format!(
        "comparison: with {runs} repeats and {} in all, {:.0} of 10 studies show these differences",
        number::plural(tests as u64, "comparison"),
        POWER * 10.0
    )];
    if counts.len() > 1 && runs < PEAK_RUNS {
        lines.push(format!(
            "      verdicts on peaks need {PEAK_RUNS} repeats: a peak may be at any of {} thread \
             counts, so {runs} repeats show fewer differences there",
            counts.len()
        ));
    }
    lines.extend(expected(plan, tests));
    let mut add = |name: &str, noise: fn(&EarlierStudy) -> Option<&Noise>| {
        let unknown = EarlierStudy::default();
        let mut is_unknown = false;
        for (index, system) in plan.systems.iter().enumerate() {
            let Some(noise) = noise(earlier_studies.get(index).unwrap_or(&unknown)) else {
                is_unknown = true;
                continue;
            };
            lines.push(format!(
                "      {name} of {}: {} or more, because its runs differ by {} in the study `{}`",
                system.name,
                smallest(noise.deviation),
                number::percent(noise.deviation),
                noise.study.display(),
            ));
        }
        if is_unknown {
            let each = NOISE.map(|apart| {
                format!(
                    "{} if runs differ by {}",
                    smallest(apart),
                    number::percent(apart)
                )
            });
            lines.push(format!("      {name}: {}", each.join(", ")));
        }
    };
    if plan.sweep.axis().any(|(_, rate)| rate.is_none()) {
        add("ops/s", |earlier| earlier.ops_noise.as_ref());
    }
    if let Some(latency) = plan.report.metric {
        add(&latency.to_string(), |earlier| {
            earlier.latency_noise.as_ref()
        });
    }
    lines
}

/// How many repeats of a range two systems take that differ by a tenth.
fn expected(plan: &Plan, tests: usize) -> Option<String> {
    let range = plan.sweep.until_decided?;
    let band = equivalence(&plan.header);
    let expected = NOISE.map(|noise| {
        let repeats = expected_repeats(noise, APART, range, tests, band);
        format!("{repeats:.0} if runs differ by {}", number::percent(noise))
    });
    Some(format!(
        "      repeats until systems {} apart are told from each other: about {}",
        number::percent(APART),
        expected.join(", ")
    ))
}

/// How long points must be for a quantile.
fn lengths(plan: &Plan, earlier_studies: &[EarlierStudy], wanted: &Wanted) -> Vec<String> {
    let (kind, metric) = (wanted.kind.name(), wanted.metric);
    let mut lines = vec![format!(
        "{metric}: printed if a point has at least {} {kind} requests, and certain from {} on",
        number::count(wanted.given),
        number::count(wanted.certain)
    )];
    for workload in &plan.sweep.workloads {
        let points: Vec<_> = plan
            .grid()
            .filter(|point| point.workload.name == workload.name)
            .collect();
        // Groups of clients may make one point differ from another.
        let unknown = points.iter().find(|point| wanted.share(point).is_none());
        let sending = points.iter().filter_map(|point| {
            let operations = wanted.operations(point, wanted.certain)?;
            Some((point, operations))
        });
        let sending: Vec<_> = sending.collect();
        if unknown.is_some() {
            let name = &workload.name;
            lines.push(format!(
                "      {name}: the number of {kind} operations is not known in advance"
            ));
        } else if let Some((_, operations)) = sending.first() {
            let times = times(plan, earlier_studies, &sending);
            lines.push(format!(
                "      {}: {} operations, {}",
                workload.name,
                number::count(*operations),
                times.join(", ")
            ));
        }
    }
    lines
}

/// The time in which each point does that many operations, as far as it is known; for the others,
/// the time at a rate that is easy to multiply.
fn times(
    plan: &Plan,
    earlier_studies: &[EarlierStudy],
    points: &[(&PlanPoint<'_>, u64)],
) -> Vec<String> {
    let (mut times, mut unknown) = (Vec::new(), None);
    for (point, operations) in points {
        let time = |rate: f64| {
            let time = Duration::try_from_secs_f64(*operations as f64 / rate);
            number::rounded(time.unwrap_or(Duration::MAX))
        };
        if let Some(rate) = point.fixed_rate() {
            times.push(format!("{} at {}", time(rate), number::ops(rate)));
            continue;
        }
        for system in &plan.systems {
            let Some(rate) = rate(plan, earlier_studies, point, system) else {
                unknown.get_or_insert_with(|| time(OPERATIONS_PER_SEC));
                continue;
            };
            let load = match point.rate {
                Some(requested) => requested.described(plan.sweep.peak_of(system)),
                None => number::threads(point.threads),
            };
            let (name, rate, time) = (&system.name, number::ops(rate), time(rate));
            times.push(format!(
                "{time} on {name} with {load} ({rate} in an earlier study)"
            ));
        }
    }
    let unknown = unknown.map(|time| {
        let [rate, twice] = [1.0, 2.0].map(|factor| number::ops(factor * OPERATIONS_PER_SEC));
        format!("{time} at {rate}, half of that at {twice}")
    });
    times.extend(unknown);
    times.dedup();
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dry_run::{SystemFacts, dry_run},
        earlier::Speed,
    };
    use std::path::Path;
    use tailmark_plan::RawPlan;
    use tailmark_testing::assert_says;

    fn plan(text: &str) -> Plan {
        let text = format!(
            "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n[[system]]\nname = 'b'\n{text}"
        );
        let plan = RawPlan::parse("test", &text).and_then(|raw| raw.check());
        plan.unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn said(text: &str, earlier_studies: &[EarlierStudy]) -> String {
        let systems = earlier_studies.iter().map(|earlier| SystemFacts {
            earlier: earlier.clone(),
            ..SystemFacts::default()
        });
        let facts = Facts {
            systems: systems.collect(),
            ..Facts::default()
        };
        dry_run(&plan(text), Path::new("out"), &facts)
            .lines
            .join("\n")
    }

    fn noisy(deviation: f64) -> EarlierStudy {
        EarlierStudy {
            ops_noise: Some(Noise {
                study: "old".into(),
                deviation,
            }),
            ..EarlierStudy::default()
        }
    }

    /// The result of the formula, in the words of the dry run.
    fn smallest(noise: f64, tests: usize) -> String {
        number::percent(smallest_difference(noise, (5, Look::ONLY), tests, 0.03).unwrap())
    }

    #[test]
    fn under_four_repeats_no_verdict_is_promised() {
        for repeats in [1, 3] {
            let said = said(&format!("[sweep]\nrepeats = {repeats}"), &[]);
            let part = format!(
                "no verdicts, because they need at least 4 repeats (sweep.repeats \
                                is {repeats})"
            );
            assert!(
                said.contains(&part) && !said.contains("studies show"),
                "{said}"
            );
        }
        let said = said("[sweep]\nrepeats = 4", &[]);
        assert!(
            !said.contains("no verdict") && said.contains("studies show"),
            "{said}"
        );
    }

    #[test]
    fn verdicts_of_peaks_want_five_repeats() {
        let want = |sweep: &str| {
            let said = said(&format!("[sweep]\n{sweep}"), &[]);
            said.contains(
                "verdicts on peaks need 5 repeats: a peak may be at any of 2 thread counts",
            )
        };
        assert!(want("threads = [1, 2]\nrepeats = 4"));
        assert!(!want("threads = [1, 2]\nrepeats = 5"));
        assert!(
            !want("threads = [2]\nrepeats = 4"),
            "it is no peak of several"
        );
    }

    #[test]
    fn the_smallest_difference_is_said_for_a_known_and_for_an_unknown_noise() {
        let sweep = "[sweep]\nworkloads = 'ycsb-a, ycsb-c'\nthreads = [1, 2, 4]\nrepeats = 5";
        let said = said(sweep, &[noisy(0.02), EarlierStudy::default()]);
        let [known, three, five, ten] = [0.02, 0.03, 0.05, 0.1].map(|noise| smallest(noise, 6));
        let parts = [
            "with 5 repeats and 6 comparisons in all, 9 of 10 studies show these differences"
                .to_owned(),
            format!(
                "ops/s of a: {known} or more, because its runs differ by 2% in the study `old`"
            ),
            format!("ops/s: {three} if runs differ by 3%, {five} if runs differ by 5%, {ten} if"),
        ];
        assert_says(&said, &parts);
    }

    #[test]
    fn more_systems_are_more_comparisons_and_ceilings_are_in_none() {
        let sweep = "[sweep]\nthreads = [1, 2]\nrepeats = 5\n";
        let more = |systems: &str| said(&format!("{systems}{sweep}"), &[]);
        for (systems, comparisons) in [
            ("", 2),
            ("[[system]]\nname = 'c'\n", 6),
            ("[[system]]\nname = 'c'\nceiling_for = 'a'\n", 2),
        ] {
            let said = more(systems);
            let part = format!("and {comparisons} comparisons in all");
            assert_says(&said, &[part]);
        }
    }

    #[test]
    fn rates_alone_are_not_compared_by_how_many_operations_were_done() {
        let sweep = "[sweep]\nrates = '5k'\nrepeats = 5\n[report]\nmetric = 'p99 read'";
        let said = said(sweep, &[noisy(0.02)]);
        assert!(
            said.contains("p99 read: ") && !said.contains("ops/s of a"),
            "{said}"
        );
    }

    #[test]
    fn a_quantile_needs_a_hundred_requests_beyond_it() {
        let lines = |latency: &str| said(&format!("[report]\nmetric = '{latency}'"), &[]);
        for (latency, certain, given, operations) in [
            ("p50 read", "200", "20", "400"),
            ("p99.9 read", "100,000", "10,000", "200,000"),
            ("p99.999 update", "10,000,000", "1,000,000", "20,000,000"),
        ] {
            let said = lines(latency);
            let kind = latency.split_once(' ').unwrap().1;
            let parts = [
                format!("{latency}: printed if a point has at least {given} {kind} requests"),
                format!("and certain from {certain} on"),
                format!("ycsb-a: {operations} operations"),
            ];
            assert_says(&said, &parts);
        }
        let mean = lines("mean read");
        assert!(!mean.contains("printed if a point has"), "{mean}");
    }

    #[test]
    fn the_time_for_a_quantile_is_said_at_each_rate_and_for_what_is_known_before() {
        let speed = |threads, ops_per_sec| Speed {
            workload: "ycsb-b".into(),
            distribution: "zipfian".into(),
            threads,
            ops_per_sec,
        };
        let known = EarlierStudy {
            speeds: vec![speed(1, 5_000.0), speed(4, 20_000.0)],
            ..EarlierStudy::default()
        };
        let sweep = "[sweep]\nworkloads = ['ycsb-b', 'ycsb-c']\nthreads = [1, 4]\n\
                     rates = ['2k', '50%']\nduration = '1m'\nwarmup = '0s'\n\
                     [report]\nmetric = 'p99.9 update'";
        let said = said(sweep, &[known, EarlierStudy::default()]);
        let parts = [
            // 100,000 updates, which are a twentieth of the operations.
            "ycsb-b: 2,000,000 operations, 6m 40s on a with 1 thread (5,000 ops/s in an earlier \
             study), 1m 40s on a with 4 threads (20,000 ops/s in an earlier study), 16m 40s at \
             2,000 ops/s, 3m 20s on a with 50% of the peak of a (10,000 ops/s in an earlier study), \
             3m 20s at 10,000 ops/s, half of that at 20,000 ops/s",
            "TOO SHORT: p99.9 update of workload `ycsb-b` will not be printed: a point of `a` at 2,000 \
             ops/s has about 6,000 update requests",
        ];
        assert_says(&said, &parts);
        assert!(!said.contains("ycsb-c: "), "it has no updates: {said}");
    }

    #[test]
    fn an_emulated_volume_does_no_more_than_its_limit() {
        let said = |limits: &str| {
            let text = format!(
                "[database]\ndriver = 'file'\n[[system]]\nname = 'a'\ndevice = {{ emulate = \
                 'volume', size = '1GiB'{limits} }}\n[sweep]\nworkloads = 'ycsb-c'\nthreads = 1\n\
                 duration = '10s'\n[report]\nmetric = 'p99.99 read'"
            );
            let plan = RawPlan::parse("test", &text).and_then(|raw| raw.check());
            dry_run(&plan.unwrap(), Path::new("out"), &Facts::default())
                .lines
                .join("\n")
        };
        let short = "TOO SHORT: p99.99 read of workload `ycsb-c` will not be printed: a point of `a` \
                     at 1 thread has about 20,000 read requests";
        assert_says(&said(", iops = 2000"), &[short]);
        assert!(!said(", iops = 200000").contains("TOO SHORT"));
        assert!(!said("").contains("TOO SHORT"));
    }

    #[test]
    fn a_plan_that_is_long_enough_is_not_too_short() {
        let is_short = |duration: &str| {
            let sweep = format!(
                "[sweep]\nrates = '1k'\nduration = '{duration}'\n[report]\nmetric = 'p99 read'"
            );
            said(&sweep, &[]).contains("TOO SHORT")
        };
        assert!(is_short("19s") && !is_short("20s"));
    }
}
