//! Studies of two systems whose true difference is known: how often the interval holds it, how often
//! a verdict is false, and how often a difference is found. Each run is a point of the simulated
//! database, with its client, pacer and recorder; the verdicts are those that reports state.

use super::{data, key, monte_carlo, open, studies as drawn, table};
use std::{sync::Arc, thread};
use tailmark_driver::{Clients, Database};
use tailmark_engine::{Silent, Spec, Stop, Terms};
use tailmark_model::{Bounded, Metric, Point, PointKey, RunRules};
use tailmark_stats::{
    Run, Verdict,
    comparison::{all_pairs, comparisons},
    statistics::{EQUIVALENCE, Look, POWER, smallest_difference, welch},
};
use tailmark_workload::{KeySpace, Workload};

/// Runs of a system in one study, of which some are looked at.
const RUNS: usize = 10;

/// How many of them.
const REPEATS: [usize; 3] = [4, 5, 10];

/// Noise of the runs: the standard deviation of their logarithms, percent, and whether it is skewed.
type Noise = (u32, bool);

const NOISES: [Noise; 6] = [
    (3, false),
    (5, false),
    (10, false),
    (3, true),
    (5, true),
    (10, true),
];

/// A system whose requests take so long by themselves.
struct System {
    database: Box<dyn Database>,
    workload: Arc<Workload>,
    keys: Arc<KeySpace>,
    name: &'static str,
}

impl System {
    fn new(name: &'static str, takes_ns: u32, (percent, is_skewed): Noise) -> Self {
        let skewed = if is_skewed { " skewed" } else { "" };
        Self {
            database: open(&format!(
                "constant {takes_ns}ns; run-noise {percent}%{skewed}"
            )),
            workload: Arc::new(tailmark_workload::find("ycsb-c").unwrap()),
            keys: Arc::new(KeySpace::new(1_000, 1_000)),
            name,
        }
    }

    /// One run: 20 requests of one client. Operations per second.
    fn run(&self, seed: u64) -> f64 {
        let (data, key) = (data(), key(1));
        let spec = Spec {
            clients: Clients::Tasks,
            system: self.name,
            point: Some(&key),
            terms: Terms {
                threads: 1,
                operations: Some(20),
                seed,
                ..Terms::default()
            },
            ..Spec::new(self.database.as_ref(), &self.workload, &data, &self.keys)
        };
        let phase = tailmark_engine::run(&spec, &mut (), &Silent, &Stop::new()).unwrap();
        let point = Point {
            key: key.clone(),
            phase,
        };
        Run::from_point(&point, RunRules::default()).values[&Metric::OPS_PER_SEC].value
    }
}

/// The runs of both systems over all studies of a case, on two threads. The seeds are of the case, so
/// that no two cases have the same noise.
fn runs_of_both(case: usize, noise: Noise, takes_ns: [u32; 2], studies: usize) -> [Vec<f64>; 2] {
    let first = (case as u64 + 1) << 32;
    let seeds = first..first + (studies * RUNS) as u64;
    let threads = [("a", takes_ns[0]), ("b", takes_ns[1])].map(|(name, own_ns)| {
        let seeds = seeds.clone();
        thread::spawn(move || {
            let system = System::new(name, own_ns, noise);
            seeds.map(|seed| system.run(seed)).collect()
        })
    });
    threads.map(|thread| thread.join().unwrap())
}

/// The first `repeats` runs of both systems of each study.
fn studies(
    runs: &[Vec<f64>; 2],
    repeats: usize,
) -> impl ExactSizeIterator<Item = (&[f64], &[f64])> {
    let both = runs[0].chunks_exact(RUNS).zip(runs[1].chunks_exact(RUNS));
    both.map(move |(a, b)| (&a[..repeats], &b[..repeats]))
}

/// The verdict of each point of a study of two systems, whose points have these runs.
pub fn verdicts(points: &[(&[f64], &[f64])]) -> Vec<Verdict> {
    let run = |system: &str, threads: usize, repeat: usize, ops: f64| {
        let own = PointKey {
            system: system.to_owned(),
            repeat: repeat as u32 + 1,
            ..key(threads as u32 + 1)
        };
        Run::new(own, [(Metric::OPS_PER_SEC, Bounded::exact(ops))].into())
    };
    let mut runs = Vec::new();
    for (threads, (a, b)) in points.iter().enumerate() {
        for (system, values) in [("a", a), ("b", b)] {
            let values = values.iter().enumerate();
            runs.extend(values.map(|(repeat, &ops)| run(system, threads, repeat, ops)));
        }
    }
    let found = comparisons(&runs, &all_pairs(&["a", "b"]), EQUIVALENCE);
    let of_points = found.iter().take(points.len());
    of_points.map(|comparison| comparison.verdict).collect()
}

/// The share of studies of which something holds, percent.
fn share(studies: impl ExactSizeIterator<Item = bool>) -> f64 {
    let count = studies.len() as f64;
    studies.filter(|held| *held).count() as f64 / count * 100.0
}

fn row(noise: Noise, shares: &[f64]) {
    let shape = if noise.1 { "skewed" } else { "normal" };
    let texts: Vec<String> = shares.iter().map(|share| format!("{share:.1} %")).collect();
    println!("| {} %, {shape} | {} |", noise.0, texts.join(" | "));
}

/// What is known of studies of one noise: shares in percent, by the repeats.
struct Answers {
    noise: Noise,
    /// Whose interval holds the true ratio.
    covered: [f64; 3],
    /// In which a difference of 10 % is found at the only point.
    found: [f64; 3],
    /// At how many of 50 points, all of which differ by 10 %, it is found.
    found_of_50: [f64; 3],
    /// Of 50 points of equal systems: in which any verdict is one of a difference.
    false_of_50: [f64; 3],
}

/// Points of two systems that are equal: the runs of one, dealt to both. They are dealt as often as
/// it takes to have runs for some hundreds of studies of 50 points.
fn equal_systems(both: &[Vec<f64>; 2], repeats: usize) -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut points = Vec::new();
    for runs in both {
        // Every stride without a common factor with the number of runs visits each once.
        for stride in [1, 7, 11, 13, 17, 19, 23, 29, 31, 37] {
            let mut dealt = (0..runs.len()).map(|i| runs[i * stride % runs.len()]);
            for _ in 0..runs.len() / (2 * repeats) {
                let mut side = || dealt.by_ref().take(repeats).collect::<Vec<_>>();
                points.push((side(), side()));
            }
        }
    }
    points
}

const TRUE_RATIO: f64 = 1.1;

fn answers(case: usize, noise: Noise) -> Answers {
    let runs = runs_of_both(case, noise, [200_000, 220_000], drawn());
    let is_found = |verdict: &Verdict| *verdict == Verdict::Better;
    let shares = |repeats: usize| {
        let covered = share(studies(&runs, repeats).map(|(a, b)| {
            let ratio = welch(a, b).unwrap().ratio;
            ratio.low <= TRUE_RATIO && TRUE_RATIO <= ratio.high
        }));
        let found = share(studies(&runs, repeats).map(|one| is_found(&verdicts(&[one])[0])));
        let all: Vec<_> = studies(&runs, repeats).collect();
        let of_50: Vec<_> = all.chunks_exact(50).flat_map(verdicts).collect();
        let found_of_50 = share(of_50.iter().map(is_found));
        let equal = equal_systems(&runs, repeats);
        let false_of_50 = share(equal.chunks_exact(50).map(|study| {
            let study: Vec<_> = study.iter().map(|(a, b)| (&a[..], &b[..])).collect();
            let mut verdicts = verdicts(&study).into_iter();
            verdicts.any(Verdict::is_difference)
        }));
        [covered, found, found_of_50, false_of_50]
    };
    let [four, five, ten] = REPEATS.map(shares);
    let at = |i: usize| [four[i], five[i], ten[i]];
    Answers {
        noise,
        covered: at(0),
        found: at(1),
        found_of_50: at(2),
        false_of_50: at(3),
    }
}

fn print(title: &str, all: &[Answers], shares: fn(&Answers) -> [f64; 3]) {
    table(&format!("{title} | 4 repeats | 5 repeats | 10 repeats"));
    all.iter()
        .for_each(|answers| row(answers.noise, &shares(answers)));
}

#[test]
fn intervals_and_verdicts_are_wrong_and_right_as_often_as_they_say() {
    let cases = NOISES.into_iter().enumerate();
    let all: Vec<_> = cases.map(|(case, noise)| answers(case, noise)).collect();
    print("interval holds the true ratio", &all, |a| a.covered);
    print("10 % found, one point", &all, |a| a.found);
    print("10 % found, 50 points that all differ", &all, |a| {
        a.found_of_50
    });
    print("any false verdict of 50 points", &all, |a| a.false_of_50);
    let margin = monte_carlo(5.0, drawn());
    for answers in &all {
        for covered in answers.covered {
            assert!(
                (93.7 - margin..=97.3 + margin).contains(&covered),
                "{:?}: {covered}",
                answers.noise
            );
        }
    }
    for answers in &all {
        for wrong in answers.false_of_50 {
            assert!(
                wrong < 5.0 + margin,
                "{:?}: {wrong} % of studies have a false verdict",
                answers.noise
            );
        }
    }
    let found = all[0].found[1];
    assert!(found > 90.0, "10 % at 3 % noise with 5 repeats: {found} %");
}

#[test]
fn at_the_edge_of_the_band_systems_are_hardly_ever_equivalent() {
    table("noise, true ratio 1.03 | 4 repeats | 5 repeats | 10 repeats");
    for (case, noise) in [(1, false), (1, true), (3, false)].into_iter().enumerate() {
        let runs = runs_of_both(100 + case, noise, [200_000, 206_000], drawn() / 2);
        let shares = REPEATS.map(|repeats| {
            let is_claimed = |one| verdicts(&[one])[0] == Verdict::Equivalent;
            share(studies(&runs, repeats).map(is_claimed))
        });
        row(noise, &shares);
        for claimed in shares {
            assert!(
                claimed <= 5.0 + monte_carlo(5.0, drawn() / 2),
                "{noise:?}: {claimed} %"
            );
        }
    }
}

#[test]
fn the_smallest_difference_that_is_promised_is_found_as_often() {
    table("noise | repeats | smallest difference | found");
    for (case, (percent, repeats)) in [(2, 4), (3, 5), (5, 10)].into_iter().enumerate() {
        let noise = f64::from(percent) / 100.0;
        let difference = smallest_difference(noise, (repeats, Look::ONLY), 1, EQUIVALENCE).unwrap();
        let slower = (200_000.0 * (1.0 + difference)).round() as u32;
        let runs = runs_of_both(200 + case, (percent, false), [200_000, slower], drawn() / 2);
        let found = share(studies(&runs, repeats).map(|one| verdicts(&[one])[0].is_difference()));
        println!(
            "| {percent} % | {repeats} | {:.1} % | {found:.1} % |",
            difference * 100.0
        );
        assert!(
            (found - POWER * 100.0).abs() < monte_carlo(20.0, drawn() / 2) + 2.0,
            "{percent} %: {found} %"
        );
    }
}
