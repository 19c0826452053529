//! Drift while systems and their client counts take turns.

use crate::statistics::Logs;

/// A run at one client count: its position in the study if systems took turns, and its value.
pub type CountRun = (Option<f64>, f64);

/// A trend shared by all counts of both systems, by least squares with a mean for each count.
pub(super) struct Trend {
    pub slope: f64,
    center: f64,
    /// The factor by which its degree of freedom increases the remaining variance.
    inflation: f64,
}

impl Trend {
    pub fn new(counts: &[&Vec<CountRun>]) -> Self {
        let none = Self {
            slope: 0.0,
            center: 0.0,
            inflation: 1.0,
        };
        let (mut square, mut product, mut freedom) = (0.0, 0.0, 0.0);
        let mut centers = Vec::new();
        let mut lengths = 0.0;
        for runs in counts {
            let positions: Option<Vec<f64>> = runs.iter().map(|(at, _)| *at).collect();
            let Some(positions) = positions else {
                return none;
            };
            let n = runs.len() as f64;
            let logs: Vec<f64> = runs.iter().map(|(_, value)| value.ln()).collect();
            let at = positions.iter().sum::<f64>() / n;
            lengths += extent(&positions);
            let mean = logs.iter().sum::<f64>() / n;
            for (position, log) in positions.iter().zip(&logs) {
                square += (position - at).powi(2);
                product += (position - at) * (log - mean);
            }
            centers.push(at);
            freedom += n - 1.0;
        }
        let n = counts.len() as f64;
        let took_turns = extent(&centers) <= lengths / n;
        if !took_turns || square <= 0.0 || freedom <= 1.0 {
            return none;
        }
        Self {
            slope: product / square,
            center: centers.iter().sum::<f64>() / n,
            inflation: freedom / (freedom - 1.0),
        }
    }

    pub fn removed_from(&self, runs: &[CountRun]) -> Logs {
        let at = |position: &Option<f64>| position.map_or(0.0, |at| at - self.center);
        let log = |(position, value): &CountRun| value.ln() - self.slope * at(position);
        let logs = Logs::of_logarithms(&runs.iter().map(log).collect::<Vec<_>>());
        Logs {
            variance: logs.variance * self.inflation,
            ..logs
        }
    }
}

/// The distance from the first to the last of these positions.
fn extent(positions: &[f64]) -> f64 {
    let ends = positions
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(from, to), at| {
            (from.min(*at), to.max(*at))
        });
    ends.1 - ends.0
}
