//! Repeats that end once a verdict is reached: how often a verdict is false although it was looked
//! for after every repeat, how often an interval holds the true ratio, and how many repeats it takes.

use super::{monte_carlo, normal::Normal, studies, table};
use std::{collections::BTreeSet, thread};
use tailmark_model::{Bounded, Metric, PointKey, PointName, RepeatRange, ReportSettings, RunRules};
use tailmark_stats::{
    Comparison, Run,
    comparison::{Place, judged_points},
    comparisons,
    statistics::EQUIVALENCE,
};

const RANGE: RepeatRange = RepeatRange { least: 4, most: 20 };
const SYSTEMS: [&str; 2] = ["a", "b"];
/// Operations per second at each thread count, of the peak.
const CURVE: [(u32, f64); 4] = [(1, 0.3), (4, 0.8), (16, 1.0), (64, 0.97)];

/// What a study is drawn from.
#[derive(Clone, Copy)]
struct Case {
    /// Of the first system to the second.
    ratio: f64,
    /// Of the logarithm of a run.
    noise: f64,
    /// By how much both fall from the first run to the last possible one, as a logarithm.
    drift: f64,
    /// How much of a run's deviation the next one has, too.
    memory: f64,
}

/// What studies of a case come to.
#[derive(Default)]
struct Outcome {
    /// With a verdict of a difference although there is none: at a point, and at the peaks, which are
    /// a family of tests each.
    wrong: [usize; 2],
    /// Comparisons, those whose interval holds the true ratio, and those that found the difference.
    compared: [usize; 3],
    /// Runs.
    runs: usize,
}

impl Case {
    fn outcome(&self) -> Outcome {
        let seed =
            self.ratio.to_bits() ^ self.drift.to_bits() ^ self.memory.to_bits().rotate_left(7);
        let mut normal = Normal(seed);
        let mut outcome = Outcome::default();
        (0..studies()).for_each(|_| self.add_study(&mut normal, &mut outcome));
        outcome
    }

    fn add_study(&self, normal: &mut Normal, outcome: &mut Outcome) {
        let mut runs: Vec<Run> = Vec::new();
        let mut open: Option<BTreeSet<PointName>> = None;
        // Of each system, the deviation of the run before.
        let mut before = [0.0; 2];
        let last = f64::from(RANGE.most) * (2 * CURVE.len()) as f64;
        for repeat in 1..=RANGE.most {
            if repeat > RANGE.least {
                let judged =
                    judged_points(&runs, &SYSTEMS, &ReportSettings::default(), EQUIVALENCE);
                let still = judged.into_iter().filter(|(_, sought)| sought.is_open());
                let still: BTreeSet<PointName> = still.map(|(name, _)| name).collect();
                open = Some(match open {
                    Some(open) => open.intersection(&still).cloned().collect(),
                    None => still,
                });
            }
            for (index, (threads, level)) in CURVE.into_iter().enumerate() {
                let is_forwards = (index + repeat as usize).is_multiple_of(2);
                let order = if is_forwards { [0, 1] } else { [1, 0] };
                for system in order {
                    let key = PointKey {
                        system: SYSTEMS[system].to_owned(),
                        repeat,
                        ..super::key(threads)
                    };
                    let name = PointName::from(&key);
                    if open.as_ref().is_some_and(|due| !due.contains(&name)) {
                        continue;
                    }
                    let fresh = (1.0 - self.memory.powi(2)).sqrt() * normal.next();
                    before[system] = self.memory * before[system] + fresh;
                    let at = runs.len() as f64;
                    let own = if system == 0 { self.ratio } else { 1.0 };
                    let log = self.noise * before[system] - self.drift * at / last;
                    runs.push(run(key, at as u64, 1e5 * level * own * log.exp()));
                }
            }
        }
        let pair = [("a".to_owned(), "b".to_owned())];
        let found = comparisons(&runs, &pair, EQUIVALENCE);
        let is_of_peaks = |one: &&Comparison| matches!(one.place, Place::Peak { .. });
        for (wrong, are_peaks) in outcome.wrong.iter_mut().zip([false, true]) {
            let mut family = found.iter().filter(|one| is_of_peaks(one) == are_peaks);
            let is_any = family.any(|one| one.verdict.is_difference());
            *wrong += usize::from(self.ratio == 1.0 && is_any);
        }
        outcome.runs += runs.len();
        for one in &found {
            let (low, high) = one.interval.unwrap();
            let is_held = low <= self.ratio && self.ratio <= high;
            outcome.compared[0] += 1;
            outcome.compared[1] += usize::from(is_held);
            outcome.compared[2] += usize::from(one.verdict.is_difference() && !is_of_peaks(&one));
        }
    }
}

fn run(key: PointKey, at: u64, ops: f64) -> Run {
    Run {
        started_ms: Some(at),
        rules: RunRules {
            takes_turns: true,
            repeats: Some(RANGE),
            ..RunRules::default()
        },
        ..Run::new(key, [(Metric::OPS_PER_SEC, Bounded::exact(ops))].into())
    }
}

#[test]
fn looking_for_a_verdict_after_every_repeat_makes_no_more_of_them_false() {
    table(
        "4 to 20 repeats until decided | false verdict at points | at peaks | interval holds the true ratio | \
         found at points | repeats",
    );
    let drawn = |ratio, noise, drift, memory| Case {
        ratio,
        noise,
        drift,
        memory,
    };
    let cases = [
        ("equal, 3 % noise", drawn(1.0, 0.03, 0.0, 0.0)),
        ("equal, 5 % noise", drawn(1.0, 0.05, 0.0, 0.0)),
        (
            "equal, 3 % noise, 10 % of drift",
            drawn(1.0, 0.03, 0.1, 0.0),
        ),
        (
            "equal, 3 % noise, a run is half as the one before",
            drawn(1.0, 0.03, 0.0, 0.5),
        ),
        ("10 % apart, 3 % noise", drawn(1.1, 0.03, 0.0, 0.0)),
        (
            "10 % apart, 3 % noise, 10 % of drift",
            drawn(1.1, 0.03, 0.1, 0.0),
        ),
        ("5 % apart, 3 % noise", drawn(1.05, 0.03, 0.0, 0.0)),
    ];
    let of_case =
        |(name, case): (&'static str, Case)| (name, case, thread::spawn(move || case.outcome()));
    let threads = cases.map(of_case);
    for (name, case, thread) in threads {
        let outcome = thread.join().unwrap();
        let percent = |part: usize, of: usize| 100.0 * part as f64 / of as f64;
        let wrong = outcome.wrong.map(|wrong| percent(wrong, studies()));
        let [compared, held, found] = outcome.compared;
        let held = percent(held, compared);
        // Of each study, one comparison is of peaks.
        let found = percent(found, compared - studies());
        let cells = (studies() * SYSTEMS.len() * CURVE.len()) as f64;
        let repeats = outcome.runs as f64 / cells;
        let [at_points, at_peaks] = wrong.map(|wrong| {
            if case.ratio == 1.0 {
                format!("{wrong:.1} %")
            } else {
                "–".to_owned()
            }
        });
        println!(
            "| {name} | {at_points} | {at_peaks} | {held:.1} % | {found:.1} % | {repeats:.1} |"
        );
        let most = 5.0 + monte_carlo(5.0, studies());
        assert!(
            wrong.iter().all(|wrong| *wrong <= most),
            "{name}: {wrong:?} %"
        );
        assert!(
            held >= 95.0 - monte_carlo(5.0, studies()),
            "{name}: {held} %"
        );
        if case.ratio == 1.1 {
            assert!(
                found > 99.0 && repeats < 10.0,
                "{name}: {found} % in {repeats}"
            );
        }
    }
}
