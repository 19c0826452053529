//! Ladders of which it is known where they end.

use super::*;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

/// Rungs of 1, 2, 4, ... clients with one run each.
fn rungs(ops: &[f64]) -> Vec<Rung> {
    let runs: Vec<_> = ops.iter().map(std::slice::from_ref).collect();
    repeated(&runs)
}

fn repeated(runs: &[&[f64]]) -> Vec<Rung> {
    let rung = |(index, ops): (usize, &&[f64])| Rung {
        threads: 1 << index,
        ops_per_sec: ops.to_vec(),
        is_client_saturated: false,
        fault: None,
    };
    runs.iter().enumerate().map(rung).collect()
}

fn end(rungs: &[Rung]) -> Option<End> {
    match climb(rungs, 1_024) {
        Climb::GoesOn => None,
        Climb::Ended(end) => Some(end),
    }
}

/// The clients with which a ladder ends, and a word for why.
fn ended(rungs: &[Rung]) -> Option<(u32, &'static str)> {
    let why = |why| match why {
        Why::Failed(_) => "failed",
        Why::NothingDone => "nothing done",
        Why::ClientSaturated => "client",
        Why::Fell(_) => "fell",
        Why::NoGain(_) => "no gain",
        Why::Highest => "highest",
    };
    end(rungs).map(|end| (end.threads, why(end.why)))
}

#[test]
fn two_steps_in_a_row_without_a_gain_end_it_and_one_does_not() {
    assert_eq!(ended(&rungs(&[100.0, 200.0, 205.0])), None);
    let flat = [100.0, 200.0, 205.0, 210.0];
    assert_eq!(ended(&rungs(&flat)), Some((8, "no gain")));
    // A gain in between starts the count again.
    let stair = [100.0, 102.0, 150.0, 152.0, 155.0];
    assert_eq!(ended(&rungs(&stair)), Some((16, "no gain")));
    // Three percent is a gain.
    assert_eq!(ended(&rungs(&[100.0, 103.0, 106.5])), None);
    assert_eq!(
        ended(&rungs(&[100.0, 102.9, 105.8])),
        Some((4, "no gain")),
        "each step counts for itself"
    );
}

#[test]
fn a_fall_ends_it_at_once_but_not_one_that_is_within_the_limit() {
    assert_eq!(ended(&rungs(&[100.0, 96.0])), Some((2, "fell")));
    assert_eq!(ended(&rungs(&[100.0, 98.0])), None);
    // Less than 3 % twice is no fall, but no gain either.
    assert_eq!(ended(&rungs(&[100.0, 98.0, 96.0])), Some((4, "no gain")));
}

#[test]
fn what_runs_cannot_tell_apart_is_no_gain_and_no_fall() {
    let gains = |up: f64| {
        let noisy = [80.0, 100.0, 125.0];
        let all = [1.0, up, up * up].map(|factor| noisy.map(|ops| ops * factor));
        ended(&repeated(&[&all[0], &all[1], &all[2]]))
    };
    // The interval of the ratio is about 1.66 either way.
    assert_eq!(gains(1.5), Some((4, "no gain")));
    assert_eq!(gains(1.8), None);
    assert_eq!(gains(0.7), Some((4, "no gain")));
    assert_eq!(gains(0.55), Some((2, "fell")));
    // Runs that are all alike leave the limit at 3 %.
    let alike = [[100.0; 3], [102.0; 3], [104.0; 3]];
    let runs: Vec<_> = alike.iter().map(<[f64; 3]>::as_slice).collect();
    assert_eq!(ended(&repeated(&runs)), Some((4, "no gain")));
    assert_eq!(
        ended(&repeated(&[&[100.0; 3], &[96.0; 3]])),
        Some((2, "fell"))
    );
}

#[test]
fn two_runs_have_no_interval() {
    let wide = repeated(&[&[80.0, 125.0], &[90.0, 141.0], &[90.0, 143.0]]);
    assert_eq!(ended(&wide), None, "12 % is a gain");
    let fell = repeated(&[&[80.0, 125.0], &[75.0, 120.0]]);
    assert_eq!(ended(&fell), Some((2, "fell")));
}

#[test]
fn the_limit_is_half_of_the_interval_of_the_comparison() {
    let (lower, upper) = ([90.0, 100.0, 112.0, 97.0], [130.0, 118.0, 121.0, 140.0]);
    let step = Step::between(
        &repeated(&[&lower])[0],
        &Rung {
            threads: 2,
            ..repeated(&[&upper])[0].clone()
        },
    )
    .unwrap();
    let ratio = statistics::welch(&upper, &lower).unwrap().ratio;
    assert!((step.ratio / ratio.value - 1.0).abs() < 1e-12);
    assert!((step.ratio * step.limit / ratio.high - 1.0).abs() < 1e-12);
    assert!((step.ratio / step.limit / ratio.low - 1.0).abs() < 1e-12);
}

#[test]
fn a_saturated_client_or_a_fault_ends_it_where_it_is_found() {
    let mut climbing = rungs(&[100.0, 200.0, 400.0, 800.0]);
    assert_eq!(ended(&climbing), None);
    climbing[2].is_client_saturated = true;
    assert_eq!(ended(&climbing), Some((4, "client")));
    climbing[1].fault = Some(Fault::NoAnswer);
    assert_eq!(ended(&climbing), Some((2, "failed")));
    climbing[0].ops_per_sec = vec![100.0, 0.0];
    assert_eq!(ended(&climbing), Some((1, "nothing done")));
}

#[test]
fn the_highest_rung_ends_it_unless_something_else_did() {
    let climbing = rungs(&[100.0, 200.0, 400.0]);
    let end = |highest| match climb(&climbing, highest) {
        Climb::Ended(end) => Some((end.threads, end.why)),
        Climb::GoesOn => None,
    };
    assert_eq!(end(4), Some((4, Why::Highest)));
    assert_eq!(end(8), None);
    assert_eq!(climb(&[], 8), Climb::GoesOn);
}

#[test]
fn rungs_above_its_end_change_nothing() {
    let short = rungs(&[100.0, 200.0, 201.0, 202.0]);
    let long = rungs(&[100.0, 200.0, 201.0, 202.0, 900.0, 1_800.0]);
    assert_eq!(climb(&short, 1_024), climb(&long, 1_024));
    assert_eq!(end(&short).unwrap().rung, 3);
}

#[test]
fn it_says_why_in_numbers() {
    let said = |rungs: &[Rung]| end(rungs).unwrap().to_string();
    assert_eq!(
        said(&rungs(&[100.0, 200.0, 204.0, 204.0])),
        "at 8 threads: no gain: ops/s rose by 2% from 2 to 4, and stayed the same from 4 to 8"
    );
    assert_eq!(
        said(&rungs(&[100.0, 90.0])),
        "at 2 threads: ops/s fell by 10% from 1 to 2"
    );
    let noisy = repeated(&[
        &[80.0, 100.0, 125.0],
        &[80.0, 101.0, 125.0],
        &[80.0, 102.0, 125.0],
    ]);
    let text = said(&noisy);
    assert!(text.contains("rose by 0.33% from 1 to 2 (± "), "{text}");
    // Of a ratio of 0.75 the interval is as much narrower.
    let step = Step {
        from: 64,
        to: 128,
        ratio: 0.75,
        limit: 1.074,
    };
    let half = 100.0 * 0.75 * (1.074 - 1.0 / 1.074) / 2.0;
    let expected = format!("fell by 25% from 64 to 128 (± {half:.1}% with 95 % confidence)");
    assert_eq!(step.to_string(), expected);
    let mut failed = rungs(&[100.0]);
    failed[0].fault = Some(Fault::Failed(0.25));
    assert_eq!(said(&failed), "at 1 thread: it is not valid (25% failed)");
}

/// Operations per second of a system that 16 clients saturate, in runs of this noise: the standard
/// deviation of the logarithm.
fn knee_at_16(noise: f64, repeats: usize, random: &mut Xoshiro256PlusPlus) -> Vec<Rung> {
    let rung = |index: usize| {
        let ops = 100.0 * f64::from(1_u32 << index.min(4));
        let mut run = |_| ops * (noise * normal(random)).exp();
        Rung {
            threads: 1 << index,
            ops_per_sec: (0..repeats).map(&mut run).collect(),
            is_client_saturated: false,
            fault: None,
        }
    };
    (0..=10).map(rung).collect()
}

/// A normal deviate, by Box and Muller.
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let (a, b) = (1.0 - unit(), unit());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// The knee that is found is the known one: docs/METHOD.md has the figures.
#[test]
fn a_knee_is_found_where_runs_are_noisy() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for noise in [0.03, 0.05, 0.1] {
        for repeats in [1, 2, 3, 4, 10] {
            let ladders = 2_000;
            let mut ends = [0; 11];
            for _ in 0..ladders {
                let rungs = knee_at_16(noise, repeats, &mut random);
                ends[end(&rungs).unwrap().rung] += 1;
            }
            let share = |rungs: std::ops::RangeInclusive<usize>| {
                f64::from(ends[rungs].iter().sum::<u32>()) / f64::from(ladders)
            };
            // Up to 16, 32 and 64, 128 and 256, beyond.
            let shares = [share(0..=4), share(5..=6), share(7..=8), share(9..=10)];
            let [below, at, later, far] = shares;
            assert!(below < 0.002, "{noise}, {repeats}: {below} below");
            // One run or two gain or fall by chance.
            let (least, most) = match repeats {
                1 | 2 => (0.7, 0.03),
                _ => (0.93, 0.005),
            };
            assert!(at > least, "{noise}, {repeats}: {at}");
            assert!(later + far < 1.0 - least, "{noise}, {repeats}: {later}");
            assert!(far < most, "{noise}, {repeats}: {far}");
        }
    }
}
