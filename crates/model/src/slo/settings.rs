//! Settings of a search.

use super::Limit;
use crate::Arrivals;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The table `slo` of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SloSettings {
    /// The limits, all of which must hold.
    pub latency: Vec<Limit>,
    /// The rates to try, and the precision of the answer.
    pub bounds: Bounds,
    /// How operations arrive.
    pub arrivals: Arrivals,
    /// The most operations in flight.
    pub threads: u32,
    /// How a trial is judged.
    pub rule: Rule,
    /// The uncounted warm-up before a trial.
    pub warmup: Duration,
    /// The longest duration of a search, without loads and waits. A trial that would end later is
    /// not started.
    pub time: Duration,
    /// Whether the search should be quick rather than certain.
    pub quick: bool,
}

/// The range and precision of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The lowest rate to try, operations per second; `None`: a hundredth of the first rate.
    pub min_rate: Option<f64>,
    /// The highest rate to try; `None`: as high as the clients can.
    pub max_rate: Option<f64>,
    /// The largest distance between the two ends of the answer, as a fraction: 0.05.
    pub resolution: f64,
}

/// How a trial is judged. A study stores the length of a block; the rest follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "Duration", into = "Duration")]
pub struct Rule {
    /// The shortest block.
    pub block: Duration,
    /// The fewest blocks for a verdict.
    pub blocks_min: usize,
    /// The most blocks of a trial, decided or not.
    pub blocks_max: usize,
}

impl Rule {
    /// The fewest blocks after which a trial may be judged.
    pub const BLOCKS_MIN: usize = 20;
    /// The most blocks of a trial.
    pub const BLOCKS_MAX: usize = 40;

    /// The rule for blocks of this length.
    pub const fn with_block(block: Duration) -> Self {
        Self {
            block,
            blocks_min: Self::BLOCKS_MIN,
            blocks_max: Self::BLOCKS_MAX,
        }
    }

    /// The shortest duration of a trial.
    pub fn shortest(&self) -> Duration {
        self.block
            .saturating_mul(u32::try_from(self.blocks_min).unwrap_or(u32::MAX))
    }

    /// The longest duration of a trial.
    pub fn longest(&self) -> Duration {
        self.block
            .saturating_mul(u32::try_from(self.blocks_max).unwrap_or(u32::MAX))
    }

    /// Whether a trial is judged after this many blocks: after 20, 28 and 40. Each look is another
    /// chance to be wrong, so there are few.
    pub fn is_look(&self, blocks: usize) -> bool {
        let between = (self.blocks_min as f64 * self.blocks_max as f64).sqrt() as usize;
        [self.blocks_min, between, self.blocks_max].contains(&blocks)
    }
}

impl From<Duration> for Rule {
    fn from(block: Duration) -> Self {
        Self::with_block(block)
    }
}

impl From<Rule> for Duration {
    fn from(rule: Rule) -> Self {
        rule.block
    }
}

/// The separator of limits in a text.
const BETWEEN: &str = ", ";

impl SloSettings {
    /// All limits as written in the effective plan and in exports.
    pub fn target(&self) -> String {
        let limits: Vec<_> = self.latency.iter().map(ToString::to_string).collect();
        limits.join(BETWEEN)
    }

    /// The remark next to every number of a quick search.
    pub const fn quick_remark(&self) -> &'static str {
        if self.quick { "quick search" } else { "" }
    }

    /// The shortest duration of a trial with its warm-up.
    pub fn shortest_trial(&self) -> Duration {
        self.warmup.saturating_add(self.rule.shortest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_study_keeps_is_read_as_it_was_written() {
        let settings = SloSettings {
            latency: vec![
                Limit::parse("p99.99 read < 15ms").unwrap(),
                Limit::parse("p99 update < 1s500ms").unwrap(),
            ],
            bounds: Bounds {
                min_rate: None,
                max_rate: Some(1e6),
                resolution: 0.05,
            },
            arrivals: Arrivals::Poisson,
            threads: 256,
            rule: Rule::with_block(Duration::from_millis(2_500)),
            warmup: Duration::ZERO,
            time: Duration::from_secs(360),
            quick: true,
        };
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(
            serde_json::from_str::<SloSettings>(&text).unwrap(),
            settings
        );
        let wrong = text.replace("p99 update", "p99 updates");
        let error = serde_json::from_str::<SloSettings>(&wrong).unwrap_err();
        assert!(
            error.to_string().contains("`p99 updates < 1s500ms`"),
            "{error}"
        );
    }

    #[test]
    fn a_length_that_a_file_makes_up_is_no_overflow() {
        let rule = Rule::with_block(Duration::MAX);
        assert_eq!(
            (rule.shortest(), rule.longest()),
            (Duration::MAX, Duration::MAX)
        );
    }
}
