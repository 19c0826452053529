//! Peaks of two systems, and systems that take turns while both drift: how often an interval holds the
//! true ratio, how often a verdict is false, and how often a difference is found. The draws are in
//! closed form; the tests are those of comparisons.

use super::{monte_carlo, normal::Normal, studies, table};
use std::thread;
use tailmark_stats::statistics::{
    CountRun, EQUIVALENCE, SIGNIFICANCE, geometric_mean, in_turns, leave_one_out, paired_p,
    peak_ratio, welch,
};

const REPEATS: [usize; 3] = [4, 5, 10];

/// What a study of peaks is drawn from.
#[derive(Clone, Copy)]
struct Peaks {
    counts: usize,
    repeats: usize,
    /// By how much ops/s fall with each step from the peak, as a logarithm.
    step: f64,
    /// Of the logarithm of a run; at the peak this many times as much.
    noise: f64,
    at_peak: f64,
    /// The logarithm of the true ratio.
    ratio: f64,
    /// By how much all fall over the whole study, as a logarithm, where they take turns.
    drift: f64,
    /// Whether all repeats of a count are measured before the next count, as on a ladder. The peaks
    /// are then at its ends.
    is_ladder: bool,
}

impl Peaks {
    /// The runs of both, which take turns; the second system has its peak a step further on.
    fn draw(&self, normal: &mut Normal) -> [Vec<Vec<CountRun>>; 2] {
        let all = 2 * self.counts * self.repeats;
        let mut run = |system: usize, count: usize, repeat: usize| {
            let peak = if self.is_ladder {
                [0, self.counts - 1][system]
            } else {
                self.counts / 2 + system.min(self.counts - 1 - self.counts / 2)
            };
            let level = if system == 0 { self.ratio } else { 0.0 };
            let fall = self.step * count.abs_diff(peak) as f64;
            let noise = if count == peak { self.at_peak } else { 1.0 } * self.noise;
            let turn = if (count + repeat).is_multiple_of(2) {
                system
            } else {
                1 - system
            };
            let pair = if self.is_ladder {
                count * self.repeats + repeat
            } else {
                repeat * self.counts + count
            };
            let at = (2 * pair + turn) as f64;
            let drift = self.drift * at / all as f64;
            let log = level - fall - drift + noise * normal.next();
            (
                Some(at).filter(|_| self.is_ladder || self.drift > 0.0),
                1e5 * log.exp(),
            )
        };
        [0, 1].map(|system| {
            let counts = 0..self.counts;
            let runs = |count| {
                (0..self.repeats)
                    .map(|repeat| run(system, count, repeat))
                    .collect()
            };
            counts.map(runs).collect()
        })
    }

    /// Shares of studies, percent: whose interval holds the true ratio, and whose verdict is one of
    /// a difference.
    fn shares(&self) -> [f64; 2] {
        let studies = studies();
        let mut normal =
            Normal((self.counts * 1_000 + self.repeats) as u64 ^ self.at_peak.to_bits());
        let (mut held, mut found) = (0, 0);
        for _ in 0..studies {
            let [a, b] = self.draw(&mut normal);
            let found_ratio = peak_ratio(&a, &b, None).unwrap();
            let truth = self.ratio.exp();
            held += usize::from(found_ratio.interval.0 <= truth && truth <= found_ratio.interval.1);
            let ratio = (value(&a) / value(&b)).ln();
            let is_beyond = ratio.abs() > EQUIVALENCE.ln_1p();
            found += usize::from(found_ratio.p < SIGNIFICANCE && is_beyond);
        }
        [held, found].map(|count| count as f64 / studies as f64 * 100.0)
    }
}

/// The value of a peak.
fn value(counts: &[Vec<CountRun>]) -> f64 {
    let numbered = |runs: &Vec<CountRun>| (1..).zip(runs.iter().map(|(_, ops)| *ops)).collect();
    let counts: Vec<Vec<(u32, f64)>> = counts.iter().map(numbered).collect();
    let values = leave_one_out(&counts).into_iter();
    let values: Vec<f64> = values
        .map(|(index, repeat)| counts[index][repeat as usize - 1].1)
        .collect();
    geometric_mean(&values).unwrap()
}

/// The shares of each case by the repeats, each row on a thread of its own.
fn rows(cases: Vec<(String, Peaks)>) -> Vec<(String, [[f64; 2]; 3])> {
    let spawn = |(name, case): (String, Peaks)| {
        let shares = move || REPEATS.map(|repeats| Peaks { repeats, ..case }.shares());
        (name, thread::spawn(shares))
    };
    let threads: Vec<_> = cases.into_iter().map(spawn).collect();
    let threads = threads.into_iter();
    threads
        .map(|(name, thread)| (name, thread.join().unwrap()))
        .collect()
}

const CASE: Peaks = Peaks {
    counts: 8,
    repeats: 4,
    step: 0.1,
    noise: 0.03,
    at_peak: 1.0,
    ratio: 0.0,
    drift: 0.0,
    is_ladder: false,
};

fn print(title: &str, rows: &[(String, [[f64; 2]; 3])], which: usize) {
    table(&format!("{title} | 4 repeats | 5 repeats | 10 repeats"));
    for (name, shares) in rows {
        let texts = shares.map(|share| format!("{:.1} %", share[which]));
        println!("| {name} | {} |", texts.join(" | "));
    }
}

#[test]
fn intervals_of_peaks_hold_the_true_ratio_and_hardly_any_verdict_is_false() {
    let mut cases = Vec::new();
    for counts in [3, 8, 10] {
        for (shape, step) in [("steep", 0.1), ("round", 0.02), ("flat", 0.0)] {
            for at_peak in [1.0, 3.0] {
                let name = format!("{counts} counts, {shape}, noise x {at_peak:.0} at the peak");
                cases.push((
                    name,
                    Peaks {
                        counts,
                        step,
                        at_peak,
                        ..CASE
                    },
                ));
            }
        }
    }
    for (noise, at_peak) in [("", CASE.at_peak), (", noise x 3", 3.0)] {
        let name = format!("8 counts, steep{noise}, 10 % of drift");
        let drift = Peaks {
            drift: 0.1,
            at_peak,
            ..CASE
        };
        cases.push((name, drift));
    }
    let ladder = Peaks {
        is_ladder: true,
        ..CASE
    };
    cases.push(("8 counts, steep, on a ladder".to_owned(), ladder));
    let rows = rows(cases);
    print("peaks: interval holds the true ratio", &rows, 0);
    print("equal peaks: false verdict", &rows, 1);
    for (name, shares) in &rows {
        for [held, wrong] in shares {
            let margin = monte_carlo(5.0, studies());
            assert!(*held >= 95.0 - margin, "{name}: {held} %");
            assert!(*wrong <= 5.0 + margin, "{name}: {wrong} %");
        }
    }
}

#[test]
fn a_difference_of_peaks_is_found_with_five_repeats() {
    let ratio = 1.1_f64.ln();
    let cases = [
        ("3 %", 0.03, 0.0),
        ("5 %", 0.05, 0.0),
        ("3 %, 10 % of drift", 0.03, 0.1),
    ];
    let cases = cases.map(|(name, noise, drift)| {
        (
            name.to_owned(),
            Peaks {
                noise,
                drift,
                ratio,
                ..CASE
            },
        )
    });
    let rows = rows(cases.into());
    print("peaks 10 % apart: found", &rows, 1);
    for row in [0, 2] {
        let [four, five, ten] = rows[row].1.map(|share| share[1]);
        assert!(
            four > 60.0 && five > 85.0 && ten > 99.0,
            "{four} {five} {ten}"
        );
    }
}

#[test]
fn the_value_of_a_peak_is_not_too_high() {
    table(
        "value of a peak less the true one, in deviations of a run | 4 repeats | 5 repeats | 10 repeats",
    );
    for (shape, step) in [("steep", 0.1), ("round", 0.02), ("flat", 0.0)] {
        let biases = REPEATS.map(|repeats: usize| {
            let case = Peaks {
                step,
                repeats,
                ..CASE
            };
            let mut normal = Normal(repeats as u64);
            let values = (0..studies()).map(|_| value(&case.draw(&mut normal)[0]));
            let sum: f64 = values.map(|value| (value / 1e5).ln()).sum();
            sum / studies() as f64 / case.noise
        });
        let texts = biases.map(|bias| format!("{bias:+.2}"));
        println!("| 8 counts, {shape} | {} |", texts.join(" | "));
        for bias in biases {
            assert!((-0.4..0.1).contains(&bias), "{shape}: {bias}");
        }
    }
}

/// Two systems that take turns at one point.
#[derive(Clone, Copy)]
struct Turns {
    repeats: usize,
    ratio: f64,
    noise: [f64; 2],
    drift: f64,
    /// Whether the drift is that of an exponential that ends, or a line.
    is_curved: bool,
}

impl Turns {
    /// Percent of studies: whose interval holds the true ratio; and in which a difference is found
    /// by the trend, by Welch and by pairs.
    fn shares(&self) -> [f64; 4] {
        let mut normal =
            Normal(self.repeats as u64 ^ self.drift.to_bits() ^ self.noise[0].to_bits());
        let mut counts = [0; 4];
        let last = (2 * self.repeats - 1) as f64;
        for _ in 0..studies() {
            let mut side = |system: usize| -> Vec<(f64, f64)> {
                let run = |repeat: usize| {
                    let turn = if repeat.is_multiple_of(2) {
                        system
                    } else {
                        1 - system
                    };
                    let at = (2 * repeat + turn) as f64;
                    let part = if self.is_curved {
                        1.0 - (-4.0 * at / last).exp()
                    } else {
                        at / last
                    };
                    let level = if system == 0 { self.ratio } else { 0.0 };
                    let log = level - self.drift * part + self.noise[system] * normal.next();
                    (at, 1e5 * log.exp())
                };
                (0..self.repeats).map(run).collect()
            };
            let (a, b) = (side(0), side(1));
            let turns = in_turns(&a, &b).unwrap();
            let truth = self.ratio.exp();
            counts[0] += usize::from(turns.ratio.low <= truth && truth <= turns.ratio.high);
            let [a, b] =
                [a, b].map(|timed| timed.into_iter().map(|(_, ops)| ops).collect::<Vec<f64>>());
            let welch = welch(&a, &b).unwrap();
            let of_means = welch.ratio.value;
            let found = [
                (turns.p, turns.ratio.value),
                (welch.p, of_means),
                (paired_p(&a, &b).unwrap(), of_means),
            ];
            for (count, (p, ratio)) in counts[1..].iter_mut().zip(found) {
                let is_beyond = ratio.ln().abs() > EQUIVALENCE.ln_1p();
                *count += usize::from(p < SIGNIFICANCE && is_beyond);
            }
        }
        counts.map(|count| count as f64 / studies() as f64 * 100.0)
    }
}

#[test]
fn drift_neither_hides_nor_makes_a_difference_of_systems_that_take_turns() {
    table(
        "in turns: noise, drift, true ratio | repeats | interval holds it | found | by Welch | by pairs",
    );
    let even = [0.02, 0.02];
    for (noise, drift, is_curved, ratio) in [
        (even, 0.0, false, 1.05_f64),
        (even, 0.1, false, 1.05),
        (even, 0.1, true, 1.05),
        (even, 0.0, false, 1.0),
        (even, 0.5, false, 1.0),
        ([0.06, 0.02], 0.0, false, 1.0),
        ([0.06, 0.02], 0.1, false, 1.0),
        ([0.06, 0.02], 0.1, true, 1.0),
    ] {
        for repeats in REPEATS {
            let case = Turns {
                repeats,
                ratio: ratio.ln(),
                noise,
                drift,
                is_curved,
            };
            let [held, found, by_welch, by_pairs] = case.shares();
            let [of_a, of_b] = noise.map(|noise| (noise * 100.0).round());
            let shape = if is_curved { ", curved" } else { "" };
            println!(
                "| {of_a} % and {of_b} %, {:.0} %{shape}, {ratio} | {repeats} | {held:.1} % | {found:.1} % \
                 | {by_welch:.1} % | {by_pairs:.1} % |",
                drift * 100.0
            );
            assert!(held > 92.5, "{held}");
            if ratio > 1.0 && !is_curved {
                assert!(found > if repeats == 4 { 68.0 } else { 80.0 }, "{found}");
                assert!(drift == 0.0 || found > by_welch, "{found} {by_welch}");
            }
            // As often as Welch's test is wrong with the same noise and no drift.
            assert!(ratio > 1.0 || found <= 6.5, "{found}");
        }
    }
}
