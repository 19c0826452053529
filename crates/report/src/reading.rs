//! Reads values off a curve between its points: the latency at a rate, the rate at a latency.
//!
//! The curve is that of a closed loop by client count. Only its rising branch counts: from the
//! fewest clients on, as long as operations per second do not fall. Between two points, the
//! logarithm of latency is interpolated linearly in operations per second, and the first of several
//! crossings counts. A curve crosses a latency where it rises above it. A point exactly at the
//! latency is a crossing only if the next one is above. At the end of a branch, or before a missing
//! point, the limit may hold further on. Nothing is read beyond the ends.

/// One point of a curve: operations per second and the latency there in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Operations per second.
    pub ops: f64,
    /// Nanoseconds, more than 0.
    pub ns: f64,
}

/// The latency at a rate; `None` if the rising branch does not reach it from below.
#[must_use]
pub fn latency_at(curve: &[CurvePoint], ops: f64) -> Option<f64> {
    let branch = rising(curve);
    let first = branch.first()?;
    if first.ops == ops {
        return Some(first.ns);
    }
    let reaches = |two: &&[CurvePoint]| two[0].ops < ops && ops <= two[1].ops;
    let [from, to] = branch.windows(2).find(reaches)? else {
        return None;
    };
    if ops == to.ops {
        return Some(to.ns);
    }
    let part = (ops - from.ops) / (to.ops - from.ops);
    Some((from.ns.ln() + part * (to.ns.ln() - from.ns.ln())).exp())
}

/// The rate at a latency: where the rising branch first exceeds it. `None` if an earlier point
/// already has a higher rate: see [`most_within`].
#[must_use]
pub fn ops_at(curve: &[CurvePoint], ns: f64) -> Option<f64> {
    let branch = rising(curve);
    let from = crossing(branch, ns)?;
    let two = &branch[from..from + 2];
    let part = (ns.ln() - two[0].ns.ln()) / (two[1].ns.ln() - two[0].ns.ln());
    let ops = two[0].ops + part * (two[1].ops - two[0].ops);
    (ops >= most_within(&branch[..=from], ns)?).then_some(ops)
}

/// The last point before the branch first goes above a latency.
fn crossing(branch: &[CurvePoint], ns: f64) -> Option<usize> {
    let crosses = |two: &[CurvePoint]| two[0].ns <= ns && ns < two[1].ns;
    branch.windows(2).position(crosses)
}

/// The most operations per second of the points within a latency.
pub fn most_within<'a>(points: impl IntoIterator<Item = &'a CurvePoint>, ns: f64) -> Option<f64> {
    let within = points.into_iter().filter(|point| point.ns <= ns);
    within.map(|point| point.ops).reduce(f64::max)
}

/// A point this far below the highest one before it is on the falling branch. A closer one counts
/// as equally high, within noise.
const FALLS: f64 = 0.97;

/// Whether a point has fewer operations per second than the highest before it, by more than noise.
#[must_use]
pub fn falls(ops: f64, highest: f64) -> bool {
    ops < highest * FALLS
}

/// The points from the first on, as long as operations per second do not fall.
fn rising(curve: &[CurvePoint]) -> &[CurvePoint] {
    let mut highest = 0.0_f64;
    let falls = curve.iter().position(|point| {
        highest = highest.max(point.ops);
        falls(point.ops, highest)
    });
    &curve[..falls.unwrap_or(curve.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(f64, f64)]) -> Vec<CurvePoint> {
        let points = points.iter();
        points.map(|&(ops, ns)| CurvePoint { ops, ns }).collect()
    }

    fn close(value: Option<f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value / expected - 1.0).abs() < 1e-9)
    }

    #[test]
    fn between_two_points_the_logarithm_of_the_latency_is_linear() {
        let curve = curve(&[(10.0, 1e6), (20.0, 4e6), (30.0, 64e6)]);
        assert!(close(latency_at(&curve, 15.0), 2e6));
        assert!(close(ops_at(&curve, 2e6), 15.0));
        assert!(close(latency_at(&curve, 25.0), 16e6));
        assert!(close(ops_at(&curve, 16e6), 25.0));
        for (ops, ns) in [(10.0, 1e6), (20.0, 4e6)] {
            assert!(close(latency_at(&curve, ops), ns) && close(ops_at(&curve, ns), ops));
        }
        // The latency at the highest rate was measured there. The highest rate at its latency was not.
        assert!(close(latency_at(&curve, 30.0), 64e6));
        assert_eq!(
            (ops_at(&curve, 64e6), most_within(&curve, 64e6)),
            (None, Some(30.0))
        );
    }

    #[test]
    fn nothing_is_read_beyond_the_ends_and_off_the_falling_branch() {
        let curve = curve(&[(10.0, 1e6), (30.0, 4e6), (20.0, 64e6)]);
        for ops in [9.9, 30.1, 40.0] {
            assert_eq!(latency_at(&curve, ops), None);
        }
        for ns in [0.9e6, 5e6, 64e6] {
            assert_eq!(ops_at(&curve, ns), None);
        }
        assert_eq!(latency_at(&[], 1.0), None);
        assert_eq!(ops_at(&curve[..1], 2e6), None);
    }

    #[test]
    fn a_plateau_is_no_falling_branch() {
        // 8 clients do all that can be done; more of them wait.
        let curve = curve(&[(400.0, 10e6), (800.0, 10e6), (799.0, 20e6), (800.0, 40e6)]);
        assert_eq!(
            (ops_at(&curve, 40e6), most_within(&curve, 40e6)),
            (None, Some(800.0))
        );
        // On the way down to 799 nothing is read: 800 were within it.
        assert_eq!(
            (ops_at(&curve, 15e6), most_within(&curve, 15e6)),
            (None, Some(800.0))
        );
        assert_eq!(latency_at(&curve, 801.0), None);
    }

    #[test]
    fn a_looser_limit_never_gives_less() {
        let falls = [
            (1_000.0, 0.5e6),
            (3_000.0, 0.9e6),
            (2_970.0, 4e6),
            (2_940.0, 8e6),
        ];
        let falls = curve(&falls);
        for ns in [1e6, 2e6, 3e6, 8e6] {
            let read = (ops_at(&falls, ns), most_within(&falls, ns));
            assert_eq!(read, (None, Some(3_000.0)), "{ns}");
        }
        assert!(close(ops_at(&falls, (0.5e6_f64 * 0.9e6).sqrt()), 2_000.0));
    }

    #[test]
    fn the_first_crossing_counts() {
        // The latency has a spike at the second point.
        let curve = curve(&[(10.0, 1e6), (20.0, 9e6), (30.0, 2e6), (40.0, 16e6)]);
        let first = ops_at(&curve, 3e6);
        assert!(close(first, 15.0), "{first:?}");
    }

    #[test]
    fn an_exact_hit_later_on_does_not_beat_an_earlier_crossing() {
        let curve = curve(&[(10.0, 1e6), (20.0, 9e6), (30.0, 2e6), (40.0, 3e6)]);
        let first = ops_at(&curve, 3e6);
        assert!(close(first, 15.0), "{first:?}");
        let noisy = super::tests::curve(&[(10.0, 1e6), (20.0, 2e6), (19.9, 3e6), (20.0, 4e6)]);
        assert!(close(latency_at(&noisy, 20.0), 2e6));
    }

    #[test]
    fn an_exact_hit_from_which_the_latency_falls_is_no_crossing() {
        let curve = curve(&[(1_000.0, 3e6), (1_900.0, 1.1e6), (3_500.0, 4.4e6)]);
        let at = [2.99e6, 3e6, 3.01e6].map(|ns| ops_at(&curve, ns).unwrap().round());
        assert_eq!(at, [3_054.0, 3_058.0, 3_062.0]);
        // Of one that only falls to it at least that is within it.
        let falling = &curve[..2];
        assert_eq!(
            (ops_at(falling, 1.1e6), most_within(falling, 1.1e6)),
            (None, Some(1_900.0))
        );
    }

    #[test]
    fn an_exact_hit_is_a_crossing_only_where_the_next_point_is_above() {
        let known = curve(&[(10.0, 2e6), (20.0, 4e6), (30.0, 4e6), (40.0, 8e6)]);
        let at = |points: usize| {
            let curve = &known[..points];
            (ops_at(curve, 4e6), most_within(curve, 4e6))
        };
        // The end of the branch, a plateau at the limit, and the point that goes above it.
        assert_eq!(at(1), (None, Some(10.0)));
        assert_eq!(at(2), (None, Some(20.0)));
        assert_eq!(at(3), (None, Some(30.0)));
        assert_eq!(at(4), (Some(30.0), Some(30.0)));
        // A curve that only touches the limit holds it until it goes above it.
        let touches = curve(&[(10.0, 2e6), (20.0, 4e6), (30.0, 1e6), (40.0, 16e6)]);
        assert!(close(ops_at(&touches, 4e6), 35.0));
    }

    #[test]
    fn a_curve_below_the_limit_gives_a_bound_and_one_above_it_nothing() {
        let curve = curve(&[(10.0, 2e6), (44.6, 4e6)]);
        assert_eq!(
            (ops_at(&curve, 10e6), most_within(&curve, 10e6)),
            (None, Some(44.6))
        );
        assert_eq!(
            (ops_at(&curve, 1e6), most_within(&curve, 1e6)),
            (None, None)
        );
        assert!(ops_at(&curve, 3e6).is_some_and(|crossed| crossed > 10.0));
    }
}
