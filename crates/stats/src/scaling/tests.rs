//! Laws that are known, with and without noise, and points that have none.

use super::*;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

const COUNTS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

fn law(lambda: f64, sigma: f64, kappa: f64) -> Scaling {
    Scaling {
        lambda,
        sigma,
        kappa,
        explained: 1.0,
    }
}

fn points_of(law: Scaling) -> Vec<(u32, f64)> {
    let point = |&threads: &u32| (threads, law.ops_per_sec(f64::from(threads)));
    COUNTS.iter().map(point).collect()
}

fn assert_near(found: Scaling, expected: Scaling, within: f64) {
    for (value, exact, scale) in [
        (found.lambda, expected.lambda, expected.lambda),
        (found.sigma, expected.sigma, 1.0),
        (found.kappa, expected.kappa, 1.0),
    ] {
        assert!((value - exact).abs() <= within * scale, "{value} {exact}");
    }
}

#[test]
fn the_parameters_of_an_exact_law_come_back() {
    for (lambda, sigma, kappa) in [
        (1_000.0, 0.02, 0.000_5),
        (17_060.0, 0.1, 0.001),
        (0.5, 0.6, 0.02),
        (3e6, 0.000_1, 0.000_001),
        (1_000.0, 0.9, 0.3),
        // On the limits.
        (1_000.0, 0.05, 0.0),
        (1_000.0, 0.0, 0.001),
        (1_000.0, 0.0, 0.0),
        (1_000.0, 1.0, 0.01),
    ] {
        let exact = law(lambda, sigma, kappa);
        let found = Scaling::fit(&points_of(exact)).unwrap_or_else(|| panic!("{exact:?}"));
        assert_near(found, exact, 1e-6);
        assert!(found.explained > 1.0 - 1e-9, "{found:?}");
    }
}

#[test]
fn the_peak_is_where_the_law_has_it() {
    let law = law(1_000.0, 0.04, 0.000_6);
    let at = law.peak_threads().unwrap();
    assert!((at - 40.0).abs() < 1e-9, "{at}");
    for other in [at - 1.0, at + 1.0] {
        assert!(law.ops_per_sec(other) < law.ops_per_sec(at));
    }
    assert_eq!(Scaling { kappa: 0.0, ..law }.peak_threads(), None);
    let falls = Scaling { sigma: 1.0, ..law };
    assert_eq!(falls.peak_threads(), Some(1.0));
}

/// The points with noise of this half-width, evenly distributed.
fn noisy(law: Scaling, width: f64, seed: u64) -> Vec<(u32, f64)> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut unit = || random.next_u64() as f64 / u64::MAX as f64;
    let points = points_of(law).into_iter();
    points
        .map(|(threads, ops)| (threads, ops * (1.0 + width * (2.0 * unit() - 1.0))))
        .collect()
}

#[test]
fn without_kappa_there_is_no_count_of_clients_with_the_highest_throughput() {
    let points: Vec<(u32, f64)> = (0..8)
        .map(|power| {
            let threads = 1_u32 << power;
            let n = f64::from(threads);
            (threads, 1_000.0 * n / (1.0 + 0.2 * (n - 1.0)))
        })
        .collect();
    let found = Scaling::fit(&points).unwrap();
    assert_eq!(
        (found.kappa, found.peak_threads()),
        (0.0, None),
        "{found:?}"
    );
}

#[test]
fn noise_moves_the_parameters_by_little() {
    let exact = law(1_000.0, 0.03, 0.000_5);
    for seed in 0..200 {
        let found = Scaling::fit(&noisy(exact, 0.03, seed)).unwrap();
        assert!((found.sigma - 0.03).abs() < 0.02, "{seed}: {found:?}");
        let peak = found.peak_threads().unwrap();
        assert!(
            (peak / exact.peak_threads().unwrap() - 1.0).abs() < 0.2,
            "{seed}: {found:?}"
        );
        assert!((0.98..=1.0).contains(&found.explained), "{seed}: {found:?}");
    }
}

#[test]
fn no_other_shape_within_the_limits_leaves_less() {
    for seed in 0..50 {
        // Of noise so strong that least squares often lie on a limit.
        let measured = noisy(law(1_000.0, 0.02, 0.000_02), 0.15, seed);
        let Some(found) = Scaling::fit(&measured) else {
            continue;
        };
        let points = Points::new(&measured);
        let own = points.error([found.sigma, found.kappa]);
        for sigma in (0..=50).map(|i| f64::from(i) / 250.0) {
            for kappa in (0..=50).map(|i| f64::from(i) / 50_000.0) {
                let other = points.error([sigma, kappa]);
                assert!(
                    own <= other * (1.0 + 1e-9),
                    "{seed}: {found:?} {sigma} {kappa}"
                );
            }
        }
    }
}

#[test]
fn nothing_is_said_where_the_law_explains_nothing() {
    let fit = |ops: [f64; 8]| {
        let points: Vec<_> = COUNTS.into_iter().zip(ops).collect();
        Scaling::fit(&points)
    };
    assert_eq!(fit([9.0, 1.0, 9.0, 1.0, 9.0, 1.0, 9.0, 1.0]), None);
    assert_eq!(fit([100.0; 8]), None, "what is flat has no shape");
    // More than the clients could ever do, which no law can fit.
    assert_eq!(fit([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 900.0]), None);
    assert_eq!(fit([1.0, 2.0, 4.0, 8.0, 0.0, 30.0, 60.0, 90.0]), None);
}

#[test]
fn six_thread_counts_are_needed() {
    let points = points_of(law(1_000.0, 0.02, 0.000_5));
    assert!(Scaling::fit(&points[..6]).is_some());
    assert_eq!(Scaling::fit(&points[..5]), None);
    let twice = [&points[..5], &points[..5]].concat();
    assert_eq!(Scaling::fit(&twice), None);
}

#[test]
fn a_hard_knee_has_no_law() {
    let knee = |threads: u32, at: u32, noise: f64| f64::from(threads.min(at)) * 1_000.0 * noise;
    for at in [4, 8, 16, 32] {
        let points = COUNTS.map(|threads| (threads, knee(threads, at, 1.0)));
        let single = points.map(|(_, ops)| [ops]);
        let (law, runs) = (Scaling::fit(&points), runs(&single));
        assert!(law.is_none_or(|law| !law.is_of(&runs)), "{at}: {law:?}");
    }
}

#[test]
fn a_law_with_noise_is_that_of_its_points() {
    let exact = law(1_000.0, 0.03, 0.000_5);
    let (mut dropped, mut dropped_single) = (0, 0);
    for seed in 0..200 {
        // Four repeats, whose means are what is fitted.
        let repeats: Vec<_> = (0..4)
            .map(|repeat| noisy(exact, 0.05, 4 * seed + repeat))
            .collect();
        let ops: Vec<Vec<f64>> = (0..COUNTS.len())
            .map(|count| repeats.iter().map(|points| points[count].1).collect())
            .collect();
        let mean = |(threads, own): (u32, &Vec<f64>)| (threads, own.iter().sum::<f64>() / 4.0);
        let points: Vec<(u32, f64)> = COUNTS.into_iter().zip(&ops).map(mean).collect();
        let runs = runs(&ops);
        dropped += usize::from(!Scaling::fit(&points).unwrap().is_of(&runs));
        // Single runs, of which only the size of the misfit is known.
        let single: Vec<(u32, &[f64])> = runs.iter().map(|(n, own)| (*n, &own[..1])).collect();
        dropped_single += usize::from(!Scaling::fit(&repeats[0]).unwrap().is_of(&single));
    }
    assert!(
        dropped <= 6 && dropped_single <= 6,
        "{dropped} {dropped_single} of 200"
    );
}

#[test]
fn repeats_show_a_misfit_that_single_runs_hide() {
    // 5 % off at one count in the middle, of runs that are 0.2 % apart.
    let exact = law(1_000.0, 0.03, 0.000_5);
    let at = |threads: u32| exact.ops_per_sec(f64::from(threads));
    let bent = |threads: u32| {
        if threads == 32 {
            0.91 * at(32)
        } else {
            at(threads)
        }
    };
    let points = COUNTS.map(|threads| (threads, bent(threads)));
    let ops = COUNTS.map(|threads| [0.998, 1.0, 1.002].map(|noise| noise * bent(threads)));
    let runs = runs(&ops);
    let law = Scaling::fit(&points).unwrap();
    let single: Vec<(u32, &[f64])> = runs.iter().map(|(n, own)| (*n, &own[..1])).collect();
    assert!(law.is_of(&single) && !law.is_of(&runs), "{law:?}");
}

/// What was measured at each of [`COUNTS`].
fn runs(ops: &[impl AsRef<[f64]>]) -> Vec<(u32, &[f64])> {
    COUNTS
        .into_iter()
        .zip(ops.iter().map(AsRef::as_ref))
        .collect()
}
