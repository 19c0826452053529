//! The verdict of a trial on a limit: it holds, it does not, or it is undecided.

use super::counts::Count;
use crate::statistics::{t_half_width, t_two_sided};
use statrs::distribution::{ContinuousCDF, Gamma};
use tailmark_model::{Limit, Rule};

/// The fewest independent blocks for a verdict that a limit does not hold.
const FAILS_FROM: usize = 5;

/// The verdict on a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The limit holds.
    Pass,
    /// It does not.
    Fail,
    /// It is undecided.
    Undecided,
    /// It held, but measurements were still changing.
    NotSteady,
    /// It did not hold because of the clients: requests were sent too late, or the processors were
    /// all busy.
    ClientLimit,
}

impl Verdict {
    /// The combined verdict on several limits: all must hold, and one failure is enough.
    pub fn of_all(limits: &[Self]) -> Self {
        match limits {
            limits if limits.contains(&Self::Fail) => Self::Fail,
            [] => Self::Undecided,
            limits if limits.iter().all(|verdict| *verdict == Self::Pass) => Self::Pass,
            _ => Self::Undecided,
        }
    }

    /// The name in exports and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Undecided => "undecided",
            Self::NotSteady => "not-steady",
            Self::ClientLimit => "client-limit",
        }
    }
}

/// The share of requests over a limit, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareOver {
    /// Requests over the limit, as a share of all.
    pub share: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The number of blocks.
    pub blocks: usize,
    /// The shortest length of a block: that of the rule, or the autocorrelation time if it is
    /// longer; seconds.
    pub block_s: f64,
    /// Requests.
    pub requests: u64,
    /// Requests over the limit.
    pub over: u64,
}

impl ShareOver {
    /// The share over these blocks, each of at least this length; `None` with fewer than two, or
    /// without requests.
    ///
    /// The interval is the wider one of two. Student's t over the blocks accounts for requests that
    /// are late together. The interval of a Poisson count accounts for rare events: seeing no late
    /// request in a small sample does not prove that there are none.
    pub fn new(blocks: &[Count], block_s: f64) -> Option<Self> {
        let sum = |field: fn(&Count) -> u64| blocks.iter().map(field).sum::<u64>();
        let (requests, over) = (sum(|block| block.requests), sum(|block| block.over));
        if requests == 0 || blocks.len() < 2 {
            return None;
        }
        let share = over as f64 / requests as f64;
        let mean = requests as f64 / blocks.len() as f64;
        // A ratio of sums: how far each block is from what it would have at the common share.
        let residual = |block: &Count| (block.over as f64 - share * block.requests as f64) / mean;
        let residuals: Vec<f64> = blocks.iter().map(residual).collect();
        let half = t_half_width(&residuals);
        let (low, high) = poisson_interval(over);
        Some(Self {
            share,
            low: (share - half).min(low / requests as f64).max(0.0),
            high: (share + half).max(high / requests as f64).min(1.0),
            blocks: blocks.len(),
            block_s,
            requests,
            over,
        })
    }

    /// Whether the limit holds, if that is known.
    ///
    /// A failure needs fewer blocks than a pass. If a queue grows without end, requests are late
    /// together, and there are few blocks that long. The interval is correspondingly wider, so one
    /// long stall is not a failure.
    pub fn verdict(&self, limit: Limit, rule: &Rule) -> Verdict {
        let allowed = limit.allowed();
        match self.blocks {
            blocks if blocks >= rule.blocks_min && self.high < allowed => Verdict::Pass,
            blocks if blocks >= FAILS_FROM && self.low > allowed => Verdict::Fail,
            _ => Verdict::Undecided,
        }
    }
}

/// Whether the mean latency of blocks rises by more than 10 % of its mean from the first to the
/// last, and more than noise explains: the slope of the line through them is above 0 at 1 %
/// (Student's t).
pub fn is_rising(blocks: &[Count]) -> bool {
    const RISE: f64 = 0.1;
    const CHANCE: f64 = 0.02;
    let means = blocks.iter().filter(|block| block.requests > 0);
    let means: Vec<f64> = means
        .map(|block| block.latency_ns / block.requests as f64)
        .collect();
    let n = means.len() as f64;
    if n < 3.0 {
        return false;
    }
    let (x, y) = ((n - 1.0) / 2.0, means.iter().sum::<f64>() / n);
    let at = |index: usize| index as f64 - x;
    let run: f64 = (0..means.len()).map(|index| at(index).powi(2)).sum();
    let rise: f64 = means
        .iter()
        .enumerate()
        .map(|(index, mean)| at(index) * (mean - y))
        .sum();
    let slope = rise / run;
    let residual = |(index, mean): (usize, &f64)| (mean - y - slope * at(index)).powi(2);
    let squares: f64 = means.iter().enumerate().map(residual).sum();
    let error = (squares / (n - 2.0) / run).sqrt();
    let is_certain = error == 0.0 || t_two_sided(slope / error, n - 2.0) < CHANCE;
    slope > 0.0 && slope * (n - 1.0) > RISE * y && is_certain
}

/// The exact 95 % interval of the mean of a Poisson count.
fn poisson_interval(count: u64) -> (f64, f64) {
    const TAIL: f64 = 0.025;
    let quantile = |shape: f64, p: f64| {
        let gamma = Gamma::new(shape, 1.0).expect("a shape above 0");
        gamma.inverse_cdf(p)
    };
    let count = count as f64;
    // Far from 0 a normal distribution is as good, and there is a value for it.
    if count > 10_000.0 {
        let half = 1.959_964 * count.sqrt();
        return (count - half, count + half);
    }
    let low = if count > 0.0 {
        quantile(count, TAIL)
    } else {
        0.0
    };
    (low, quantile(count + 1.0, 1.0 - TAIL))
}

#[cfg(test)]
mod tests;
