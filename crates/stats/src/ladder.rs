//! Where a ladder of client counts ends. Decided here only, and only from the measured rungs, so
//! that the answer is always the same.
//!
//! A ladder is climbed rung by rung, each with more clients, until there is nothing to gain. A step
//! from one rung to the next is judged by the ratio of their ops/s (geometric means) and a limit.
//! The limit is the smallest change that counts: 3 %, or half the width of the 95 % interval of the
//! ratio (Welch's t on logarithms) if runs vary too much to show 3 %.

use crate::statistics;
use std::fmt;
use tailmark_model::{Fault, number};

/// A step that changes ops/s by less than this fraction in either direction changes nothing.
pub const GAIN_MIN: f64 = 0.03;

/// The fewest runs of a rung for which the interval is used. With two runs it is sometimes so wide
/// that it includes twice the ops/s, and a ladder would end below the knee.
pub const RUNS_MIN: usize = 3;

/// The number of consecutive steps without a gain that ends a ladder.
const STEPS_WITHOUT_GAIN: usize = 2;

/// Measurements at one client count.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// Clients.
    pub threads: u32,
    /// Operations per second of each run.
    pub ops_per_sec: Vec<f64>,
    /// Whether the clients' processors were the limit in one of the runs.
    pub is_client_saturated: bool,
    /// Why one of the runs is not valid.
    pub fault: Option<Fault>,
}

/// The state of a ladder after the rungs so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Climb {
    /// The next rung is to be measured.
    GoesOn,
    /// It has ended.
    Ended(End),
}

/// Where a ladder ended, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct End {
    /// The index of the rung, from 0.
    pub rung: usize,
    /// Its clients.
    pub threads: u32,
    /// The reason.
    pub why: Why,
}

/// Why a ladder has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Why {
    /// A run of the rung is not valid.
    Failed(Fault),
    /// No operation was done in a run of the rung, so there is no ratio.
    NothingDone,
    /// With more clients, the clients themselves would have been measured.
    ClientSaturated,
    /// Operations per second fell.
    Fell(Step),
    /// Two steps in a row gained nothing.
    NoGain([Step; STEPS_WITHOUT_GAIN]),
    /// It is the highest rung.
    Highest,
}

/// A step from one rung to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Clients of the lower rung.
    pub from: u32,
    /// Clients of the upper rung.
    pub to: u32,
    /// Operations per second of the upper rung relative to the lower.
    pub ratio: f64,
    /// The lowest ratio that is a gain. A ratio below its inverse is a fall.
    pub limit: f64,
}

impl Step {
    /// `None` if one of the rungs has no geometric mean.
    fn between(lower: &Rung, upper: &Rung) -> Option<Self> {
        let mean = |rung: &Rung| statistics::geometric_mean(&rung.ops_per_sec);
        let runs = lower.ops_per_sec.len().min(upper.ops_per_sec.len());
        let interval = statistics::welch(&upper.ops_per_sec, &lower.ops_per_sec);
        let interval = interval.filter(|_| runs >= RUNS_MIN);
        let half = interval.map_or(1.0, |step| step.ratio.high / step.ratio.value);
        Some(Self {
            from: lower.threads,
            to: upper.threads,
            ratio: mean(upper)? / mean(lower)?,
            limit: half.max(1.0 + GAIN_MIN),
        })
    }

    fn is_gain(&self) -> bool {
        self.ratio >= self.limit
    }

    fn is_fall(&self) -> bool {
        self.ratio < self.limit.recip()
    }
}

/// The state of a ladder given its rungs, the lowest first, up to the rung of `highest` clients.
/// Rungs above its end, which are measured because another system has reached them, change nothing.
pub fn climb(rungs: &[Rung], highest: u32) -> Climb {
    let why = |index: usize| why_at(&rungs[..=index], highest);
    let mut ends = (0..rungs.len()).filter_map(|index| {
        Some(End {
            rung: index,
            threads: rungs[index].threads,
            why: why(index)?,
        })
    });
    ends.next().map_or(Climb::GoesOn, Climb::Ended)
}

/// Why a ladder ends with the last of these rungs; `None` if it continues.
fn why_at(rungs: &[Rung], highest: u32) -> Option<Why> {
    let rung = rungs.last()?;
    let lowest = rungs.len().saturating_sub(STEPS_WITHOUT_GAIN + 1);
    let steps: Vec<_> = rungs[lowest..]
        .windows(2)
        .filter_map(|two| Step::between(&two[0], &two[1]))
        .collect();
    let without_gain = || {
        let last = steps.last_chunk::<STEPS_WITHOUT_GAIN>()?;
        (!last.iter().any(Step::is_gain)).then_some(*last)
    };
    match steps.last() {
        _ if rung.fault.is_some() => rung.fault.map(Why::Failed),
        _ if statistics::geometric_mean(&rung.ops_per_sec).is_none() => Some(Why::NothingDone),
        _ if rung.is_client_saturated => Some(Why::ClientSaturated),
        Some(step) if step.is_fall() => Some(Why::Fell(*step)),
        _ => match without_gain() {
            Some(last) => Some(Why::NoGain(last)),
            None => (rung.threads >= highest).then_some(Why::Highest),
        },
    }
}

/// The start of a study's sentence about where the ladder of a system and a workload ended. An
/// [`End`] is the rest.
pub fn beginning(system: &str, workload: &str) -> String {
    format!("system `{system}`, workload `{workload}`: the ladder of threads has ended ")
}

/// `at 64 threads: ops/s fell by 5.2% from 32 to 64`.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: ", number::threads(self.threads))?;
        match &self.why {
            Why::Failed(fault) => write!(f, "it is not valid ({fault})"),
            Why::NothingDone => write!(f, "no operation was done"),
            Why::ClientSaturated => write!(
                f,
                "the client was saturated, so more threads would only have measured the client"
            ),
            Why::Fell(step) => write!(f, "ops/s {step}"),
            Why::NoGain([first, second]) => {
                write!(f, "no gain: ops/s {first}, and {second}")
            }
            Why::Highest => write!(f, "the highest that was requested"),
        }
    }
}

/// `rose by 1.2% from 16 to 32`, with the interval of the runs if that is the limit.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            from,
            to,
            ratio,
            limit,
        } = self;
        let change = number::percent((ratio - 1.0).abs());
        match change.as_str() {
            "0%" => write!(f, "stayed the same")?,
            _ if *ratio > 1.0 => write!(f, "rose by {change}")?,
            _ => write!(f, "fell by {change}")?,
        }
        write!(f, " from {from} to {to}")?;
        if *limit > 1.0 + GAIN_MIN {
            // Half the width of the interval from ratio / limit to ratio * limit.
            let half = number::percent(ratio * (limit - limit.recip()) / 2.0);
            write!(f, " (± {half} with 95 % confidence)")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
