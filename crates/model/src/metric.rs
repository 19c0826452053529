//! Metrics: what is stated of a point and compared, such as operations per second or a latency
//! (`p99.9 read`, `mean update`).

use crate::{
    Better, Bounded, Kind, METRICS, MetricRow, QUANTILES, Quantile, RankedLatencies,
    metrics::{COSTS_FROM, FIGURES_FROM, MONEY, Source},
    number::{self, Ratios},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::{cmp::Ordering, fmt};

/// A statistic of latencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistic {
    /// In plans, tables and controls: `mean`, `p99.9`.
    pub name: &'static str,
    /// The quantile; `None` for the mean.
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

    /// The value in nanoseconds, or a lower bound of it. `None` if it is unknown or has too few
    /// samples.
    pub fn value(self, known: RankedLatencies<'_>) -> Option<Bounded> {
        match self.quantile {
            None => known.mean(),
            Some(quantile) => known.quantile(quantile),
        }
    }

    /// Whether there are enough samples to draw the value as certain.
    pub fn is_solid(self, known: RankedLatencies<'_>) -> bool {
        self.quantile
            .is_none_or(|quantile| known.is_solid(quantile))
    }

    /// Whether another program wrote this quantile without its number of samples.
    pub fn is_of_unknown_samples(self, known: RankedLatencies<'_>) -> bool {
        self.quantile
            .is_some_and(|quantile| known.is_of_unknown_samples(quantile))
    }
}

/// The instant from which a latency is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeBasis {
    /// When the operation was sent.
    Service,
    /// When the operation was due.
    Response,
}

impl TimeBasis {
    /// Both, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Response, Self::Service];

    /// In controls and titles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Service => "service time",
            Self::Response => "response time",
        }
    }
}

/// A metric: the number of a row of [`METRICS`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Metric(u16);

impl Metric {
    /// Operations per second.
    pub const OPS_PER_SEC: Self = Self(0);

    /// Every metric, in the order of reports.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..METRICS.len()).map(|index| Self(index as u16))
    }

    /// Metrics that are neither a rate nor a latency of requests: what devices, machine and
    /// database did.
    pub fn figures() -> impl Iterator<Item = Self> {
        Self::all().skip(FIGURES_FROM)
    }

    /// Figures about energy, wear and money.
    pub fn costs() -> impl Iterator<Item = Self> {
        Self::all().skip(COSTS_FROM)
    }

    /// Whether it is one of [`Self::costs`].
    pub fn is_cost(self) -> bool {
        usize::from(self.0) >= COSTS_FROM
    }

    /// A metric by its name. White space does not count. `None` if there is no such metric.
    pub fn from_name(text: &str) -> Option<Self> {
        let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Self::all().find(|metric| metric.row().name == name)
    }

    /// A latency of one kind of request.
    pub fn from_latency(kind: Kind, statistic: Statistic) -> Self {
        let is_it = |metric: &Self| metric.latency() == Some((kind, statistic));
        let latency = Self::all().find(is_it);
        latency.expect("every statistic of every kind has a row")
    }

    /// Its row.
    pub fn row(self) -> &'static MetricRow {
        &METRICS[usize::from(self.0)]
    }

    /// The kind of request and the statistic. `None` if it is no latency of requests.
    pub fn latency(self) -> Option<(Kind, Statistic)> {
        match self.row().source {
            Source::Latency(kind, statistic) => Some((kind, statistic)),
            _ => None,
        }
    }

    /// Whether only upper bounds of its values are known.
    pub fn is_at_most(self) -> bool {
        matches!(self.row().source, Source::AtMost(_))
    }

    /// Whether values may be known between two ends: those that follow from counters of drives.
    pub fn may_have_ends(self) -> bool {
        matches!(self.row().source, Source::Stepped(_) | Source::Stated(_))
    }

    /// Whether one of two values is better, so that systems can be compared in it.
    pub fn ranks(self) -> bool {
        self.row().better != Better::Neither
    }

    /// Whether a report can focus on it, besides operations per second.
    pub fn heads_reports(self) -> bool {
        self.ranks() && self != Self::OPS_PER_SEC
    }

    /// The condition of [`Self::heads_reports`] in words, for errors.
    pub fn accepted() -> String {
        let figures = Self::figures().filter(|metric| metric.heads_reports());
        let figures: Vec<_> = figures.map(|metric| metric.row().name).collect();
        format!(
            "a latency such as `p99.9 read` ({} of {}), or {}",
            STATISTICS.map(|statistic| statistic.name).join(", "),
            Kind::ALL.map(Kind::name).join(", "),
            figures.join(", ")
        )
    }

    /// The value as tables print it, with the sign of its bound. Times and sizes have a unit; other
    /// values are in the unit of the row.
    pub fn text(self, value: Bounded) -> String {
        match (self.row().source, self.row().unit) {
            (Source::Latency(..), _) => number::bounded_latency(value),
            (_, "ops/s") => number::bounded_rate(value),
            (_, "bytes") => number::bounded_bytes(value),
            _ => number::bounded_figure(value),
        }
    }

    /// Whether values are amounts of money, each in the currency of its system.
    pub fn is_money(self) -> bool {
        self.row().unit == MONEY
    }

    /// Whether it is an amount of money that includes energy.
    pub fn includes_energy(self) -> bool {
        self.is_money() && self.row().name != "cost_per_usable_tb"
    }

    /// The value as sentences print it, with its unit, because no heading names it. The unit of
    /// money is the currency of the system.
    pub fn text_with_unit(self, value: Bounded, currency: &str) -> String {
        let text = self.text(value);
        match (self.row().source, self.row().unit) {
            (_, MONEY) => format!("{text} {currency}"),
            (Source::Latency(..), _) | (_, "" | "1/s" | "bytes") => text,
            (_, unit) => format!("{text} {unit}"),
        }
    }

    /// The value in the unit of its row.
    pub fn in_unit(self, value: Bounded) -> Bounded {
        let per = if self.latency().is_some() { 1e3 } else { 1.0 };
        Bounded {
            value: value.value / per,
            ..value
        }
    }

    /// Its name within a sentence.
    pub fn noun(self) -> &'static str {
        if self == Self::OPS_PER_SEC {
            self.row().unit
        } else {
            self.row().title
        }
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        self.row().better == Better::Higher
    }

    /// The order of two values, the better first.
    pub fn best_first(self, a: f64, b: f64) -> Ordering {
        if self.more_is_better() {
            b.total_cmp(&a)
        } else {
            a.total_cmp(&b)
        }
    }

    /// How much better the first value of a ratio is, as a fraction: a rise in operations per
    /// second, a fall in a latency.
    pub fn gain(self, ratio: Bounded) -> Bounded {
        if self.more_is_better() {
            Bounded {
                value: ratio.value - 1.0,
                ..ratio
            }
        } else {
            Bounded {
                value: 1.0 - ratio.value,
                bound: ratio.bound.reversed(),
            }
        }
    }

    /// A ratio of two values in the notation used everywhere. If more is better: `+44 %`, and
    /// `2.2X` from twice on. Otherwise: `23 % lower`, `2.2X higher`. A bound has its sign.
    pub fn improvement(self, ratio: Bounded, ratios: Option<Ratios>) -> String {
        let ratios = ratios.map(|own| own.of_latency(self.latency().is_some()));
        let least = Ratios::least(ratios);
        let is_ratio = ratio.value >= least || (ratios.is_some() && ratio.value <= 1.0 / least);
        if !self.more_is_better() {
            number::apart(ratio, ratios)
        } else if is_ratio && least.is_finite() {
            number::bounded_ratio(ratio)
        } else {
            number::bounded_change(self.gain(ratio))
        }
    }

    /// How ratios that belong together are written, such as a value and its interval: if one of them
    /// is written as a ratio, all are.
    pub fn together(self, all: &[f64], ratios: Option<Ratios>) -> Option<Ratios> {
        let is_ratio = |one: &f64| {
            let text = self.improvement(Bounded::exact(*one), ratios);
            text.contains('X')
        };
        if all.iter().any(is_ratio) {
            Some(Ratios::Together)
        } else {
            ratios
        }
    }

    /// The two ends of an interval of ratios in the same notation, both as percentages or both as
    /// ratios: `+8 % to +12 %`, `1.9X to 2.2X`, `11 % to 20 % lower`.
    pub fn improvements(self, (low, high): (f64, f64), ratios: Option<Ratios>) -> String {
        let ratios = self.together(&[low, high], ratios);
        if self.more_is_better() {
            let ends = [low, high].map(|end| self.improvement(Bounded::exact(end), ratios));
            ends.join(" to ")
        } else {
            number::ends_apart((low, high), ratios)
        }
    }
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)
    }
}

/// By its name.
impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.row().name)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        Self::from_name(&name).ok_or_else(|| D::Error::custom(format!("`{name}` is not a metric")))
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
    fn a_metric_is_read_as_it_is_written_and_nothing_else_is() {
        for name in [
            "p99.9 read",
            "mean update",
            "p99.999 read-modify-write",
            "ops_per_sec",
            "write_amplification",
        ] {
            assert_eq!(Metric::from_name(name).unwrap().to_string(), name);
        }
        assert_eq!(
            Metric::from_name("  p50   scan "),
            Metric::from_name("p50 scan")
        );
        for name in ["p99.9", "read", "p98 read", "p99 reads", "", "ops"] {
            assert_eq!(Metric::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn less_latency_and_more_operations_are_gains() {
        let latency = Metric::from_name("p99 read").unwrap();
        assert_eq!(
            Metric::OPS_PER_SEC.gain(Bounded::exact(1.5)),
            Bounded::exact(0.5)
        );
        assert_eq!(latency.gain(Bounded::exact(0.5)), Bounded::exact(0.5));
        let at_least = latency.gain(Bounded::at_least(3.0));
        assert_eq!(
            (at_least.value, at_least.bound),
            (-2.0, crate::Bound::AtMost)
        );
    }

    #[test]
    fn improvements_are_ratios_from_twice_on_and_percent_below() {
        let latency = Metric::from_name("p99 read").unwrap();
        let least = Bounded::at_least;
        for (metric, ratio, said) in [
            (Metric::OPS_PER_SEC, Bounded::exact(1.44), "+44 %"),
            (Metric::OPS_PER_SEC, Bounded::exact(1.994), "+99 %"),
            (Metric::OPS_PER_SEC, Bounded::exact(2.2), "2.2X"),
            (Metric::OPS_PER_SEC, Bounded::exact(0.2), "−80 %"),
            (Metric::OPS_PER_SEC, least(0.3), "≥ −70 %"),
            (latency, Bounded::exact(0.77), "23 % lower"),
            (latency, Bounded::exact(1.0 / 7.0), "7.0X lower"),
            (latency, Bounded::exact(1.3), "30 % higher"),
            (latency, Bounded::exact(16.81), "17X higher"),
            (latency, least(3.0), "≥ 3.0X higher"),
            (latency, least(1.3), "≥ 30 % higher"),
            (latency, least(0.25), "≤ 4.0X lower"),
        ] {
            assert_eq!(metric.improvement(ratio, None), said, "{ratio:?}");
        }
    }

    #[test]
    fn the_ends_of_an_interval_come_in_the_order_of_their_words() {
        let latency = Metric::from_name("p99 read").unwrap();
        let ops = Metric::OPS_PER_SEC;
        for (metric, ends, said) in [
            (ops, (1.08, 1.12), "+8 % to +12 %"),
            (ops, (1.9, 2.2), "1.9X to 2.2X"),
            (ops, (0.5, 2.1), "0.5X to 2.1X"),
            (latency, (0.7, 0.9), "10 % to 30 % lower"),
            (latency, (0.25, 0.5), "2.0X to 4.0X lower"),
            (latency, (0.4, 0.9), "1.1X to 2.5X lower"),
            (latency, (0.5, 0.504), "2.0X to 2.0X lower"),
            (latency, (0.4, 4.0), "2.5X lower to 4.0X higher"),
            (latency, (0.9, 2.4), "1.1X lower to 2.4X higher"),
            (latency, (0.4, 1.02), "2.5X lower to 1.02X higher"),
            (latency, (2.4, 4.0), "2.4X to 4.0X higher"),
        ] {
            assert_eq!(metric.improvements(ends, None), said, "{ends:?}");
        }
    }

    #[test]
    fn metrics_come_in_the_order_of_reports() {
        let mut metrics = ["p99 update", "mean update", "p99.9 read", "p50 read"]
            .map(|name| Metric::from_name(name).unwrap())
            .to_vec();
        metrics.push(Metric::OPS_PER_SEC);
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
