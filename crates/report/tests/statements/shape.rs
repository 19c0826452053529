//! Sentences about the shape of curves: saturated, flat, with a spike, nearing the limit, still rising.

use crate::support::*;
use tailmark_model::finding::CLIENT_SATURATED;

#[test]
fn saturation_a_flat_curve_a_spike_and_a_curve_that_still_rises() {
    let saturated = Curve(
        "S",
        [(100.0, 1.0), (200.0, 2.0), (203.0, 5.0), (201.0, 12.0)],
    );
    let saturation = "S is saturated from 8 threads on: up to 32 threads, ops/s do not rise, while p99 read \
                      latency rises 6.0X (2.00 ms to 12.0 ms).";
    assert_said(&one(&[saturated]), saturation);
    let falling = Curve(
        "S",
        [(100.0, 1.0), (200.0, 2.0), (150.0, 5.0), (50.0, 12.0)],
    );
    assert_said(
        &one(&[falling]),
        &saturation.replace("do not rise", "fall by 75 %"),
    );
    assert_not_said(&one(&[A]), "saturated");
    let mut limited = one(&[saturated]);
    for point in limited.points.iter_mut().filter(|p| p.key.threads > 8) {
        let busy = CLIENT_SATURATED.finding("The processors were busy.");
        point.phase.findings.push(busy);
    }
    assert_not_said(&limited, "saturated from");
    let rising = "A is still gaining at 32 threads (+33 % over 16): more threads were not tested.";
    assert_said(&one(&[A]), rising);
    assert_not_said(&one(&[saturated]), "still gaining");
    let flat = Curve(
        "F",
        [(100.0, 1.0), (200.0, 1.1), (300.0, 1.1), (400.0, 1.2)],
    );
    let flatness =
        "F's p99 read latency stays within 25 % from 4 to 32 threads: 1.00 ms to 1.20 ms.";
    assert_said(&one(&[flat]), flatness);
    let steeper = Curve(
        "F",
        [(100.0, 1.0), (200.0, 1.1), (300.0, 1.1), (400.0, 1.26)],
    );
    assert_not_said(&one(&[steeper]), "stays within");
    let spike = Curve(
        "K",
        [(100.0, 1.0), (200.0, 9.0), (300.0, 2.0), (400.0, 3.0)],
    );
    let expected = "K's p99 read latency has a spike at 8 threads: 9.00 ms, against 1.00 ms before \
                    it and 2.00 ms after it.";
    assert_said(&one(&[spike]), expected);
    assert_not_said(&one(&[A]), "spike");
}

#[test]
fn a_curve_that_has_lost_half_of_its_rate_is_not_nearing_its_limit() {
    let lost = [
        (1_000.0, 1.0),
        (3_500.0, 1.0),
        (1_500.0, 2.0),
        (1_000.0, 9.0),
    ];
    let rising = [(900.0, 1.0), (1_800.0, 1.0), (2_700.0, 1.1), (3_000.0, 1.2)];
    let data = one(&[Curve("lost", lost), Curve("calm", rising)]);
    let said = said(&data).join(" ");
    assert!(said.contains("rises dramatically"), "{said}");
    assert!(!said.contains("nearing"), "{said}");
}

#[test]
fn what_lower_thread_counts_did_too_is_not_gained_by_more() {
    let of_p = |last: f64| {
        let ops = [(2_000.0, 1.0), (2_000.0, 2.0), (1_900.0, 4.0), (last, 8.0)];
        said(&one(&[Curve("P", ops)])).join(" ")
    };
    let same = of_p(2_010.0);
    assert!(!same.contains("still gaining"), "{same}");
    let more = of_p(2_200.0);
    assert!(
        more.contains("still gaining at 32 threads (+10 % over 8"),
        "{more}"
    );
}

#[test]
fn a_gain_that_the_runs_do_not_show_is_no_gain() {
    let rising = Curve(
        "R",
        [(100.0, 1.0), (200.0, 2.0), (3_000.0, 3.0), (3_120.0, 4.0)],
    );
    let with_noise = |noise: f64| {
        let mut data = one(&[rising]);
        let once = std::mem::take(&mut data.points);
        for (repeat, side) in (1..).zip([-1.0, 1.0, -0.5, 0.5]) {
            data.points.extend(once.iter().cloned().map(|mut point| {
                let ops = point.phase.ops_per_sec() * (1.0 + noise * side);
                point.key.repeat = repeat;
                point.phase = phase(ops, 1.0);
                point
            }));
        }
        data
    };
    let gain = "R is still gaining at 32 threads (+4 % over 16): more threads were not tested.";
    assert_said(&with_noise(0.001), gain);
    assert_not_said(&with_noise(0.1), "still gaining");
}
