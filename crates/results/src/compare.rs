//! The statistics of a comparison, as the published studies define them.
//!
//! All are fractions or ratios: 0.24 is 24 %. A curve is the operations per second by thread count.

use crate::{Bound, Stated};
use std::collections::BTreeMap;

/// Operations per second by thread count.
pub type Curve = BTreeMap<u32, f64>;

/// The highest operations per second over all thread counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// Where it was reached.
    pub threads: u32,
    /// Operations per second.
    pub ops_per_sec: f64,
}

/// How much more operations per second `a` does than `b`: a / b - 1. None where `b` is not
/// positive.
#[must_use]
pub fn improvement(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b - 1.0)
}

/// How much lower the latency `a` is than `b`: 1 - a / b. Where one of them is a lower bound it is
/// bounded too: it falls with `a` and rises with `b`. None where `b` is not positive, and where both
/// are lower bounds, which says nothing of their ratio.
#[must_use]
pub fn improvement_latency(a: Stated, b: Stated) -> Option<Stated> {
    let bound = a.bound.reversed().and(b.bound)?;
    (b.value > 0.0).then(|| Stated {
        value: 1.0 - a.value / b.value,
        bound,
    })
}

/// How many times `b` is in `a` ("1.8X"); infinite or not a number where `b` is 0.
#[must_use]
pub fn advantage(a: f64, b: f64) -> f64 {
    a / b
}

/// The mean of numbers that may be bounds; none of nothing, and where they are bounded on different
/// sides.
#[must_use]
pub fn average_stated(values: &[Stated]) -> Option<Stated> {
    let numbers: Vec<f64> = values.iter().map(|stated| stated.value).collect();
    let mut bounds = values.iter().map(|stated| stated.bound);
    Some(Stated {
        value: average(&numbers)?,
        bound: bounds.try_fold(Bound::Exact, Bound::and)?,
    })
}

/// The mean; none of nothing.
#[must_use]
pub fn average(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The peak of a curve, the lowest thread count of equals; none of an empty one.
#[must_use]
pub fn peak(curve: &Curve) -> Option<Peak> {
    curve
        .iter()
        .map(|(&threads, &ops_per_sec)| Peak {
            threads,
            ops_per_sec,
        })
        .reduce(|best, next| {
            if next.ops_per_sec > best.ops_per_sec {
                next
            } else {
                best
            }
        })
}

/// The improvement of `a` over `b` at each thread count where both were measured.
#[must_use]
pub fn improvements(a: &Curve, b: &Curve) -> BTreeMap<u32, f64> {
    a.iter()
        .filter_map(|(threads, &ops)| Some((*threads, improvement(ops, *b.get(threads)?)?)))
        .collect()
}

/// The mean of the improvements at each thread count (not the ratio of the means); none where no
/// thread count was measured of both.
#[must_use]
pub fn average_improvement(a: &Curve, b: &Curve) -> Option<f64> {
    average(&improvements(a, b).into_values().collect::<Vec<_>>())
}

/// The peak of `a` as a share of the highest peak of `others`; none where either is missing.
#[must_use]
pub fn share<'a>(a: &Curve, others: impl IntoIterator<Item = &'a Curve>) -> Option<f64> {
    let best = others
        .into_iter()
        .filter_map(peak)
        .map(|p| p.ops_per_sec)
        .reduce(f64::max)?;
    (best > 0.0).then_some(peak(a)?.ops_per_sec / best)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The published tables of the Micron 7400 study (2021), ops/s by threads: 7400 PRO, 7300 PRO.
    const THREADS: [u32; 10] = [4, 8, 16, 32, 48, 64, 96, 128, 192, 256];
    const USER_SESSIONS: [[u32; 10]; 2] = [
        [
            17060, 28990, 40114, 42012, 41805, 40940, 40477, 40184, 40679, 41808,
        ],
        [
            12694, 17696, 22591, 27635, 28755, 29195, 28987, 28317, 28705, 27987,
        ],
    ];
    const STATUS_UPDATES: [[u32; 10]; 2] = [
        [
            22159, 41218, 79469, 132139, 164202, 188490, 213559, 221182, 215576, 201591,
        ],
        [
            21296, 37689, 67431, 103624, 114443, 140253, 156511, 163442, 168706, 165908,
        ],
    ];
    const USER_PROFILES: [[u32; 10]; 2] = [
        [
            23354, 41883, 95597, 173004, 241911, 294436, 403828, 464611, 517575, 561359,
        ],
        [
            21053, 41502, 92640, 165879, 213410, 255183, 335116, 406239, 436418, 504687,
        ],
    ];

    fn curves(table: [[u32; 10]; 2]) -> [Curve; 2] {
        table.map(|ops| THREADS.into_iter().zip(ops.map(f64::from)).collect())
    }

    fn percent(fraction: f64) -> f64 {
        (fraction * 1000.0).round() / 10.0
    }

    #[test]
    fn the_average_improvement_is_the_mean_of_the_improvements() {
        let [a, b] = curves(STATUS_UPDATES);
        // The study prints 24 %; its own table gives 25.8 %.
        assert_eq!(percent(average_improvement(&a, &b).unwrap()), 25.8);
        let [a, b] = curves(USER_SESSIONS);
        assert_eq!(percent(average_improvement(&a, &b).unwrap()), 48.6);
    }

    #[test]
    fn the_peak_is_the_highest_whatever_the_thread_count() {
        let [a, b] = curves(STATUS_UPDATES);
        assert_eq!(
            peak(&a),
            Some(Peak {
                threads: 128,
                ops_per_sec: 221_182.0
            })
        );
        assert_eq!(
            peak(&b),
            Some(Peak {
                threads: 192,
                ops_per_sec: 168_706.0
            })
        );
        let level = Curve::from([(8, 5.0), (16, 5.0)]);
        assert_eq!(peak(&level).map(|p| p.threads), Some(8));
        assert_eq!(peak(&Curve::new()), None);
    }

    #[test]
    fn peaks_compare_as_ratio_and_as_improvement() {
        let peaks = curves(USER_PROFILES).map(|curve| peak(&curve).unwrap().ops_per_sec);
        assert_eq!(format!("{:.1}X", advantage(peaks[0], peaks[1])), "1.1X");
        assert_eq!(percent(improvement(peaks[0], peaks[1]).unwrap()), 11.2);
        // 45,000 against 23,000 ops/s, printed as 95 %.
        assert_eq!(percent(improvement(45_000.0, 23_000.0).unwrap()), 95.7);
    }

    #[test]
    fn improvements_are_at_equal_threads_only() {
        let [mut a, b] = curves(USER_SESSIONS);
        a.remove(&4);
        a.insert(512, 1.0);
        let improvements = improvements(&a, &b);
        assert_eq!(
            improvements.keys().copied().collect::<Vec<_>>(),
            THREADS[1..]
        );
        assert_eq!(percent(improvements[&8]), 63.8);
    }

    #[test]
    fn a_lower_latency_is_a_positive_improvement() {
        let exact = Stated::exact;
        let latency = |a, b| improvement_latency(exact(a), exact(b));
        assert_eq!(latency(2.0, 5.0), Some(exact(0.6)));
        assert_eq!(latency(6.0, 5.0).map(|v| percent(v.value)), Some(-20.0));
        assert_eq!((improvement(1.0, 0.0), latency(1.0, 0.0)), (None, None));
    }

    #[test]
    fn a_lower_bound_makes_a_bound_of_what_it_is_compared_with() {
        let (exact, least) = (Stated::exact, Stated::at_least);
        // What is compared with took 5 ms or more: the improvement is 60 % or more.
        assert_eq!(
            improvement_latency(exact(2.0), least(5.0)),
            Some(least(0.6))
        );
        let at_most = Stated {
            value: 0.6,
            bound: Bound::AtMost,
        };
        assert_eq!(improvement_latency(least(2.0), exact(5.0)), Some(at_most));
        assert_eq!(improvement_latency(least(2.0), least(5.0)), None);
        assert_eq!(average_stated(&[exact(0.2), least(0.6)]), Some(least(0.4)));
        assert_eq!(average_stated(&[least(0.2), at_most]), None);
    }

    #[test]
    fn a_share_is_of_the_best_of_the_others() {
        let [a, b] = curves(STATUS_UPDATES);
        let [c, _] = curves(USER_PROFILES);
        assert_eq!(share(&b, [&a, &c]).map(percent), Some(30.1));
        assert_eq!(share(&b, []), None);
    }
}
