//! What is stated of a point and compared: operations per second, or a latency as plans name it
//! (`p99.9 read`, `mean update`).

use crate::{Kind, KindResult, Known, Phase, QUANTILES, Quantile, Stated, number};
use std::{cmp::Ordering, fmt};

/// One way to state latencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistic {
    /// In plans, tables and controls: `mean`, `p99.9`.
    pub name: &'static str,
    /// None: the mean.
    pub quantile: Option<Quantile>,
}

/// Every statistic, in the order of reports.
pub const STATISTICS: [Statistic; 1 + QUANTILES.len()] = {
    let mut statistics = [Statistic {
        name: "mean",
        quantile: None,
    }; 1 + QUANTILES.len()];
    let mut i = 0;
    while i < QUANTILES.len() {
        statistics[1 + i] = Statistic {
            name: QUANTILES[i].name,
            quantile: Some(QUANTILES[i]),
        };
        i += 1;
    }
    statistics
};

impl Statistic {
    /// The mean.
    pub const MEAN: Self = STATISTICS[0];
    /// The 99th percentile.
    pub const P99: Self = STATISTICS[4];
    /// The 99.9th percentile.
    pub const P999: Self = STATISTICS[5];
    /// The 99.99th percentile.
    pub const P9999: Self = STATISTICS[6];

    /// The value in nanoseconds, or a lower bound of it; none, where it is not known or too few
    /// samples are behind it.
    #[must_use]
    pub fn of(self, known: Known<'_>) -> Option<Stated> {
        match self.quantile {
            None => known.mean(),
            Some(quantile) => known.quantile(quantile),
        }
    }

    /// Whether enough samples are behind the value to draw it as certain.
    #[must_use]
    pub fn is_solid(self, known: Known<'_>) -> bool {
        self.quantile
            .is_none_or(|quantile| known.is_solid(quantile))
    }

    fn order(self) -> f64 {
        self.quantile.map_or(0.0, |quantile| quantile.value)
    }
}

/// From which instant a latency is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBasis {
    /// From the sending of an operation.
    Service,
    /// From the instant it was due.
    Response,
}

impl TimeBasis {
    /// Both, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Response, Self::Service];

    /// In controls and titles.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Service => "service time",
            Self::Response => "response time",
        }
    }

    /// What is known of the latencies of this clock.
    #[must_use]
    pub fn of(self, result: &KindResult) -> Known<'_> {
        match self {
            Self::Service => result.known_service(),
            Self::Response => result.known_response(),
        }
    }
}

/// From this ratio on it is said as one: below, the percentage rounds to less than 100.
const TWICE: f64 = 1.995;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metric {
    /// Operations per second; more is better.
    OpsPerSec,
    /// A latency of one kind of request, response time at a fixed rate; less is better.
    Latency {
        /// Of which requests.
        kind: Kind,
        /// Which number of them.
        statistic: Statistic,
    },
}

impl Metric {
    /// The name of the metric that is no latency.
    pub const OPS_PER_SEC: &str = "ops_per_sec";

    /// A latency as plans name it: `p99.9 read`, `mean read-modify-write`; none, where it is not
    /// one. The names are those of [`STATISTICS`] and [`Kind`].
    #[must_use]
    pub fn latency(text: &str) -> Option<Self> {
        let (statistic, kind) = text.trim().split_once(char::is_whitespace)?;
        let kind = kind.trim();
        Some(Self::Latency {
            kind: *Kind::ALL.iter().find(|known| known.name() == kind)?,
            statistic: *STATISTICS.iter().find(|known| known.name == statistic)?,
        })
    }

    /// Every metric of a phase, in the order of reports.
    pub fn of_phase(phase: &Phase) -> impl Iterator<Item = Self> {
        let latencies = phase.kinds.keys().flat_map(|&kind| {
            let latency = move |statistic| Self::Latency { kind, statistic };
            STATISTICS.into_iter().map(latency)
        });
        std::iter::once(Self::OpsPerSec).chain(latencies)
    }

    /// The value of a phase: operations per second, or nanoseconds; none where it is not known, or
    /// too few samples are behind it.
    #[must_use]
    pub fn value(self, phase: &Phase) -> Option<Stated> {
        match self {
            Self::OpsPerSec => Some(Stated::exact(phase.ops_per_sec())),
            Self::Latency { kind, statistic } => {
                statistic.of(phase.kinds.get(&kind)?.known_response())
            }
        }
    }

    /// Whether more of it is better.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        self == Self::OpsPerSec
    }

    /// The order of two values, the better first.
    #[must_use]
    pub fn best_first(self, a: f64, b: f64) -> Ordering {
        if self.more_is_better() {
            b.total_cmp(&a)
        } else {
            a.total_cmp(&b)
        }
    }

    /// How much better the first of a ratio is, as a fraction: the rise of operations per second, the
    /// fall of a latency.
    #[must_use]
    pub fn gain(self, ratio: Stated) -> Stated {
        if self.more_is_better() {
            Stated {
                value: ratio.value - 1.0,
                ..ratio
            }
        } else {
            Stated {
                value: 1.0 - ratio.value,
                bound: ratio.bound.reversed(),
            }
        }
    }

    /// The ratio whose gain this is: of an average improvement, that of all.
    #[must_use]
    pub fn ratio_of_gain(self, gain: Stated) -> Stated {
        if self.more_is_better() {
            Stated {
                value: 1.0 + gain.value,
                ..gain
            }
        } else {
            Stated {
                value: 1.0 - gain.value,
                bound: gain.bound.reversed(),
            }
        }
    }

    /// A ratio of two values as everything says it. Operations per second: `+44 %`, from twice on
    /// `2.2X`. Latencies: `+23 %` is so much less, from twice on `2.2X lower` or `2.2X higher`, the
    /// higher to the lower. A bound has its sign.
    #[must_use]
    pub fn improvement(self, ratio: Stated) -> String {
        let lower = Stated {
            value: 1.0 / ratio.value,
            bound: ratio.bound.reversed(),
        };
        match self.more_is_better() {
            true if ratio.value >= TWICE => number::stated_ratio(ratio),
            false if lower.value >= TWICE => format!("{} lower", number::stated_ratio(lower)),
            false if ratio.value >= TWICE => format!("{} higher", number::stated_ratio(ratio)),
            _ => number::stated_change(self.gain(ratio)),
        }
    }

    /// The ends of an interval of ratios, the worse first: in percent where both are said so, and
    /// otherwise both as ratios: `+8 % to +12 %`, `1.9X to 2.2X`, `1.1X to 2.6X lower`.
    #[must_use]
    pub fn improvements(self, (low, high): (f64, f64)) -> String {
        let (worse, better) = if self.more_is_better() {
            (low, high)
        } else {
            (high, low)
        };
        let percents = [worse, better].map(|end| self.improvement(Stated::exact(end)));
        if percents.iter().all(|text| text.ends_with('%')) {
            let [worse, better] = percents;
            return format!("{worse} to {better}");
        }
        if self.more_is_better() {
            return format!("{} to {}", number::ratio(worse), number::ratio(better));
        }
        let side = |end: f64| {
            if end <= 1.0 {
                (number::ratio(1.0 / end), "lower")
            } else {
                (number::ratio(end), "higher")
            }
        };
        match (side(worse), side(better)) {
            ((from, one), (to, other)) if one == other => format!("{from} to {to} {one}"),
            ((from, one), (to, other)) => format!("{from} {one} to {to} {other}"),
        }
    }

    fn order(self) -> (Option<Kind>, f64) {
        match self {
            Self::OpsPerSec => (None, 0.0),
            Self::Latency { kind, statistic } => (Some(kind), statistic.order()),
        }
    }
}

impl Eq for Metric {}

impl PartialOrd for Metric {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Metric {
    fn cmp(&self, other: &Self) -> Ordering {
        let (ours, theirs) = (self.order(), other.order());
        ours.0.cmp(&theirs.0).then(ours.1.total_cmp(&theirs.1))
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpsPerSec => f.write_str(Self::OPS_PER_SEC),
            Self::Latency { kind, statistic } => write!(f, "{} {}", statistic.name, kind.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_statistics_are_what_they_are_called() {
        let names = [Statistic::MEAN, Statistic::P99, Statistic::P999].map(|s| s.name);
        assert_eq!(names, ["mean", "p99", "p99.9"]);
    }

    #[test]
    fn a_latency_is_read_as_it_is_written_and_nothing_else_is() {
        for name in ["p99.9 read", "mean update", "p99.999 read-modify-write"] {
            assert_eq!(Metric::latency(name).unwrap().to_string(), name);
        }
        assert_eq!(
            Metric::latency("  p50   scan "),
            Metric::latency("p50 scan")
        );
        for name in ["p99.9", "read", "p98 read", "p99 reads", "", "ops_per_sec"] {
            assert_eq!(Metric::latency(name), None, "{name}");
        }
    }

    #[test]
    fn less_latency_and_more_operations_are_gains() {
        let latency = Metric::latency("p99 read").unwrap();
        assert_eq!(
            Metric::OpsPerSec.gain(Stated::exact(1.5)),
            Stated::exact(0.5)
        );
        assert_eq!(latency.gain(Stated::exact(0.5)), Stated::exact(0.5));
        for metric in [Metric::OpsPerSec, latency] {
            let ratio = Stated::at_least(0.75);
            assert_eq!(metric.ratio_of_gain(metric.gain(ratio)), ratio);
        }
        let at_least = latency.gain(Stated::at_least(3.0));
        assert_eq!(
            (at_least.value, at_least.bound),
            (-2.0, crate::Bound::AtMost)
        );
    }

    #[test]
    fn improvements_are_ratios_from_twice_on_and_percent_below() {
        let latency = Metric::latency("p99 read").unwrap();
        let least = Stated::at_least;
        for (metric, ratio, said) in [
            (Metric::OpsPerSec, Stated::exact(1.44), "+44 %"),
            (Metric::OpsPerSec, Stated::exact(1.994), "+99 %"),
            (Metric::OpsPerSec, Stated::exact(2.2), "2.2X"),
            (Metric::OpsPerSec, Stated::exact(0.2), "−80 %"),
            (latency, Stated::exact(0.77), "+23 %"),
            (latency, Stated::exact(1.0 / 7.0), "7.0X lower"),
            (latency, Stated::exact(1.3), "−30 %"),
            (latency, Stated::exact(16.81), "17X higher"),
            (latency, least(3.0), "≥ 3.0X higher"),
            (latency, least(1.3), "≤ −30 %"),
            (latency, least(0.25), "≤ 4.0X lower"),
        ] {
            assert_eq!(metric.improvement(ratio), said, "{ratio:?}");
        }
    }

    #[test]
    fn the_ends_of_an_interval_come_the_worse_first() {
        let latency = Metric::latency("p99 read").unwrap();
        let ops = Metric::OpsPerSec;
        for (metric, ends, said) in [
            (ops, (1.08, 1.12), "+8 % to +12 %"),
            (ops, (1.9, 2.2), "1.9X to 2.2X"),
            (ops, (0.5, 2.1), "0.5X to 2.1X"),
            (latency, (0.7, 0.9), "+10 % to +30 %"),
            (latency, (0.25, 0.5), "2.0X to 4.0X lower"),
            (latency, (0.4, 0.9), "1.1X to 2.5X lower"),
            (latency, (0.5, 0.504), "2.0X to 2.0X lower"),
            (latency, (0.4, 4.0), "4.0X higher to 2.5X lower"),
        ] {
            assert_eq!(metric.improvements(ends), said, "{ends:?}");
        }
    }

    #[test]
    fn metrics_come_in_the_order_of_reports() {
        let mut metrics = ["p99 update", "mean update", "p99.9 read", "p50 read"]
            .map(|name| Metric::latency(name).unwrap())
            .to_vec();
        metrics.push(Metric::OpsPerSec);
        metrics.sort();
        let names: Vec<_> = metrics.iter().map(ToString::to_string).collect();
        let sorted = [
            "ops_per_sec",
            "p50 read",
            "p99.9 read",
            "mean update",
            "p99 update",
        ];
        assert_eq!(names, sorted);
    }
}
