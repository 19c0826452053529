//! The curves to which laws are fitted: operations per second by client count, in closed loops, for
//! each system and workload.

use super::Scaling;
use crate::statistics::geometric_mean;
use std::collections::BTreeMap;
use tailmark_model::{Point, finding::CLIENT_SATURATED};

/// System, workload and distribution.
type CurveName = (String, String, String);

/// The curves of all points. A client count is excluded if one of its runs is not valid or was
/// limited by the clients, because it does not show how the system scales.
#[derive(Debug, Default)]
pub struct Curves(BTreeMap<CurveName, BTreeMap<u32, Option<Vec<f64>>>>);

/// The law of a system in a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemScaling {
    /// The system's name.
    pub system: String,
    /// The workload's name.
    pub workload: String,
    /// How its keys were drawn.
    pub distribution: String,
    /// The highest client count among the fitted points.
    pub threads_max: u32,
    /// The law.
    pub scaling: Scaling,
}

impl Curves {
    /// Adds a point, of whose operations this share may fail.
    pub fn add(&mut self, point: &Point, allow_errors: f64) {
        let Point { key, phase } = point;
        if key.is_peak() || key.target_rate.is_some() {
            return;
        }
        let name = (
            key.system.clone(),
            key.workload.clone(),
            key.distribution.clone(),
        );
        let curve = self.0.entry(name).or_default();
        let runs = curve.entry(key.threads).or_insert_with(|| Some(Vec::new()));
        let is_of_system = !CLIENT_SATURATED.is_among(&phase.findings);
        match phase.fault(allow_errors) {
            None if is_of_system => runs
                .iter_mut()
                .for_each(|runs| runs.push(phase.ops_per_sec())),
            _ => *runs = None,
        }
    }

    /// The laws of the curves that have one.
    pub fn laws(&self) -> Vec<SystemScaling> {
        let law = |(name, curve): (&CurveName, &BTreeMap<u32, Option<Vec<f64>>>)| {
            let known = curve.iter();
            let known = known.filter_map(|(&threads, runs)| Some((threads, runs.as_deref()?)));
            let known: Vec<(u32, &[f64])> = known.collect();
            let mean = |&(threads, runs): &(u32, &[f64])| Some((threads, geometric_mean(runs)?));
            let points: Vec<(u32, f64)> = known.iter().filter_map(mean).collect();
            let scaling = Scaling::fit(&points).filter(|law| law.is_of(&known))?;
            let (system, workload, distribution) = name.clone();
            Some(SystemScaling {
                system,
                workload,
                distribution,
                threads_max: points.last()?.0,
                scaling,
            })
        };
        self.0.iter().filter_map(law).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::{Phase, PointKey};

    /// A point on a law, with this many of a thousand operations failed.
    fn point(threads: u32, repeat: u32, failed: f64) -> Point {
        let n = f64::from(threads);
        let ops = 1e6 * n / (1.0 + 0.05 * (n - 1.0) + 0.001 * n * (n - 1.0));
        Point {
            key: PointKey {
                system: "a".into(),
                workload: "ycsb-c".into(),
                distribution: "uniform".into(),
                threads,
                repeat,
                target_rate: None,
                arrivals: None,
            },
            phase: Phase {
                duration_s: 1.0,
                operations: ops as u64,
                failed: (ops * failed / 1_000.0) as u64,
                ..Phase::default()
            },
        }
    }

    fn laws(points: &[Point]) -> Vec<SystemScaling> {
        let mut curves = Curves::default();
        points.iter().for_each(|point| curves.add(point, 0.001));
        curves.laws()
    }

    #[test]
    fn the_runs_of_a_client_count_are_one_point_of_a_curve() {
        let counts = [1, 2, 4, 8, 16, 32];
        let runs = counts.map(|threads| [1, 2].map(|repeat| point(threads, repeat, 0.0)));
        let all = runs.concat();
        let laws = laws(&all);
        assert_eq!((laws.len(), laws[0].threads_max), (1, 32));
        assert!((laws[0].scaling.sigma - 0.05).abs() < 1e-4, "{laws:?}");
        assert!((laws[0].scaling.kappa - 0.001).abs() < 1e-5, "{laws:?}");
    }

    #[test]
    fn what_is_not_valid_or_of_the_client_or_at_a_rate_is_in_no_curve() {
        let counts = [1, 2, 4, 8, 16, 32];
        let good = counts.map(|threads| point(threads, 1, 0.0));
        assert_eq!(laws(&good).len(), 1);
        let mut failed = good.to_vec();
        failed.push(point(32, 2, 500.0));
        assert_eq!(laws(&failed), []);
        let mut saturated = good.to_vec();
        saturated[5]
            .phase
            .findings
            .push(CLIENT_SATURATED.finding("busy"));
        assert_eq!(laws(&saturated), []);
        let mut at_rate = good.to_vec();
        at_rate[5].key.target_rate = Some(5.0);
        assert_eq!(laws(&at_rate), []);
    }
}
