//! What a plan asks of a search.

use super::{Limit, search::Bounds};
use std::time::Duration;
use tailmark_model::{Arrivals, Header};

/// What is asked for: the table `slo` of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct SloSettings {
    /// All of them must hold.
    pub latency: Vec<Limit>,
    /// Which rates are tried, and how near the ends of the answer are to be.
    pub bounds: Bounds,
    /// How operations arrive.
    pub arrivals: Arrivals,
    /// The most operations in flight.
    pub threads: u32,
    /// How a trial is judged.
    pub rule: Rule,
    /// Runs before a trial, not counted.
    pub warmup: Duration,
    /// The longest that a search may take, without loads and waits; a trial that would end later
    /// is not begun.
    pub time: Duration,
    /// Whether it is to be quick rather than sure.
    pub quick: bool,
}

/// How a trial is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// The least that a block lasts.
    pub block: Duration,
    /// From how many blocks on there is a verdict.
    pub blocks_min: usize,
    /// With how many a trial ends, decided or not.
    pub blocks_max: usize,
}

impl Rule {
    /// From how many blocks on a trial may be judged.
    pub const BLOCKS_MIN: usize = 20;
    /// With how many it ends.
    pub const BLOCKS_MAX: usize = 40;

    /// The rule for blocks of this length.
    #[must_use]
    pub const fn with_block(block: Duration) -> Self {
        Self {
            block,
            blocks_min: Self::BLOCKS_MIN,
            blocks_max: Self::BLOCKS_MAX,
        }
    }

    /// The least that a trial takes.
    #[must_use]
    pub fn shortest(&self) -> Duration {
        self.block * u32::try_from(self.blocks_min).unwrap_or(u32::MAX)
    }

    /// The most that it takes.
    #[must_use]
    pub fn longest(&self) -> Duration {
        self.block * u32::try_from(self.blocks_max).unwrap_or(u32::MAX)
    }

    /// Whether so many blocks are looked at while a trial goes on: 20, 28 and 40 of them. Each look
    /// is one more chance to be wrong, so there are few.
    #[must_use]
    pub fn is_look(&self, blocks: usize) -> bool {
        let between = (self.blocks_min as f64 * self.blocks_max as f64).sqrt() as usize;
        [self.blocks_min, between, self.blocks_max].contains(&blocks)
    }
}

/// The keys of an effective plan that say what is asked for.
pub const SLO_KEYS: [&str; 10] = [
    "slo.arrivals",
    "slo.block",
    "slo.latency",
    "slo.max_rate",
    "slo.min_rate",
    "slo.quick",
    "slo.resolution",
    "slo.threads",
    "slo.time",
    "slo.warmup",
];

/// Between the limits of the key `slo.latency`.
const BETWEEN: &str = ", ";

impl SloSettings {
    /// What the plan of a study asks for; none where it asks for nothing, or that cannot be read.
    #[must_use]
    pub fn from_header(header: &Header) -> Option<Self> {
        let given = |key: &str| header.plan.get(key).map(String::as_str);
        let number = |key: &str| given(key)?.parse::<f64>().ok();
        let time = |key: &str| humantime::parse_duration(given(key)?).ok();
        let limits = given("slo.latency")?.split(',').map(Limit::parse);
        let percent = given("slo.resolution")?.strip_suffix('%')?;
        let arrivals = given("slo.arrivals")?;
        Some(Self {
            latency: limits.collect::<Option<_>>()?,
            bounds: Bounds {
                min_rate: number("slo.min_rate"),
                max_rate: number("slo.max_rate"),
                resolution: percent.trim().parse::<f64>().ok()? / 100.0,
            },
            arrivals: Arrivals::ALL.into_iter().find(|a| a.name() == arrivals)?,
            threads: given("slo.threads")?.parse().ok()?,
            rule: Rule::with_block(time("slo.block")?),
            // `auto` where it is that of the points.
            warmup: time("slo.warmup").unwrap_or_default(),
            time: time("slo.time")?,
            quick: given("slo.quick") == Some("true"),
        })
    }

    /// All limits as they are written in the effective plan and in exports.
    #[must_use]
    pub fn target(&self) -> String {
        let limits: Vec<_> = self.latency.iter().map(ToString::to_string).collect();
        limits.join(BETWEEN)
    }

    /// The least that a trial takes with its warm-up.
    #[must_use]
    pub fn shortest_trial(&self) -> Duration {
        self.warmup + self.rule.shortest()
    }
}
