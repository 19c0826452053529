//! A condition of a gate as typed: `p99.9 read worse by 5%`.

use super::near::did_you_mean;
use std::{fmt, ops::RangeInclusive};
use tailmark_model::Metric;

/// In which direction a condition looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The first is worse than the second.
    Worse,
    /// The first is better.
    Better,
    /// One or the other.
    Differs,
}

const DIRECTIONS: [(&str, Direction); 3] = [
    ("worse", Direction::Worse),
    ("better", Direction::Better),
    ("differs", Direction::Differs),
];

/// The condition at which a gate fails.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    /// In what.
    pub metric: Metric,
    /// At the peaks, not at the points.
    pub is_of_peaks: bool,
    /// The direction.
    pub direction: Direction,
    /// By how much or more, as a fraction: 0.05 is 5 %.
    pub by: f64,
    /// Where only one workload counts: its name.
    pub workload: Option<String>,
}

/// Highest percentage of a condition.
const PERCENT_MAX: f64 = 1000.0;

impl Condition {
    /// Parses `METRIC worse|better|differs by N% [in WORKLOAD]`, with a metric of [`metric`] or
    /// `peak ops`.
    ///
    /// # Errors
    /// Says what is accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let refused = || {
            let form = "METRIC worse|better|differs by N% [in WORKLOAD]";
            format!("a condition is `{form}`, such as `p99.9 read worse by 5%`")
        };
        let (what, amount) = text.split_once(" by ").ok_or_else(refused)?;
        let (amount, workload) = match amount.split_once(" in ") {
            Some((amount, workload)) => (amount, Some(workload.to_owned())),
            None => (amount, None),
        };
        let (what, word) = what.rsplit_once(' ').ok_or_else(refused)?;
        let direction = DIRECTIONS.iter().find(|(name, _)| *name == word);
        let (_, direction) = *direction.ok_or_else(refused)?;
        let (is_of_peaks, metric) = match what.strip_prefix("peak ") {
            Some(name) if metric(name)? == Metric::OPS_PER_SEC => (true, Metric::OPS_PER_SEC),
            Some(_) => return Err("a peak is of `ops`: `peak ops worse by 5%`".to_owned()),
            None => (false, metric(what)?),
        };
        let by = percentage(amount, 0.0..=PERCENT_MAX)?;
        let condition = Self {
            text: text.clone(),
            metric,
            is_of_peaks,
            direction,
            by,
            workload,
        };
        match condition.low() {
            Some(low) if low <= 0.0 => Err(format!("{word} by {amount}: nothing falls by 100 %")),
            _ if by <= 0.0 => Err(format!(
                "{word} by {amount}: a percentage above 0 is needed"
            )),
            _ => Ok(condition),
        }
    }

    /// Whether a slower A, or a slower B, hides what the condition looks for.
    pub const fn is_hidden_by(&self) -> [bool; 2] {
        match self.direction {
            Direction::Worse => [false, true],
            Direction::Better => [true, false],
            Direction::Differs => [true, true],
        }
    }

    /// The ratio at or below which it is met, if low ratios meet it.
    pub fn low(&self) -> Option<f64> {
        let is_low = match self.direction {
            Direction::Differs => true,
            Direction::Worse => self.metric.more_is_better(),
            Direction::Better => !self.metric.more_is_better(),
        };
        is_low.then_some(1.0 - self.by)
    }

    /// The ratio at or above which it is met, if high ratios meet it.
    pub fn high(&self) -> Option<f64> {
        let is_high = match self.direction {
            Direction::Differs => true,
            Direction::Worse => !self.metric.more_is_better(),
            Direction::Better => self.metric.more_is_better(),
        };
        is_high.then_some(1.0 + self.by)
    }

    /// Whether a ratio meets it.
    pub fn is_met_by(&self, ratio: f64) -> bool {
        self.low().is_some_and(|low| ratio <= low) || self.high().is_some_and(|high| ratio >= high)
    }

    /// Whether the true ratio, not below the first and not above the second, cannot meet it.
    pub fn is_ruled_out(&self, (at_least, at_most): (f64, f64)) -> bool {
        self.low().is_none_or(|low| at_least > low) && self.high().is_none_or(|high| at_most < high)
    }

    /// The distance of a ratio from one with another outcome, as a fraction above 0: if it meets
    /// the condition, from the nearest ratio that does not, otherwise from the nearest that does.
    pub fn distance(&self, ratio: f64) -> f64 {
        // A fall of 20 % is as large as a rise of 25 %.
        let apart = |one: f64, other: f64| (one / other).max(other / one) - 1.0;
        let ends = [self.low(), self.high()].into_iter().flatten();
        if self.is_met_by(ratio) {
            apart(ratio, 1.0)
        } else {
            ends.map(|end| apart(ratio, end))
                .fold(f64::INFINITY, f64::min)
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A metric in which systems can be compared, as typed: `ops`, `p99.9 read`, `write_amplification`.
///
/// # Errors
/// Says what is accepted.
pub fn metric(text: &str) -> Result<Metric, String> {
    if text.trim() == "ops" {
        return Ok(Metric::OPS_PER_SEC);
    }
    let metric = Metric::from_name(text).filter(|metric| metric.ranks());
    metric.ok_or_else(|| {
        let ranking = Metric::all().filter(|known| known.ranks());
        let names = ranking.map(|known| known.row().name).chain(["ops"]);
        let hint = did_you_mean(text, names);
        format!(
            "`{text}` is not a metric to compare{hint}; known: `ops`, {}",
            Metric::accepted()
        )
    })
}

/// Any metric, as typed. A metric that is followed over time need not rank systems.
///
/// # Errors
/// Says where the names are listed.
pub fn any_metric(text: &str) -> Result<Metric, String> {
    let named = metric(text).ok().or_else(|| Metric::from_name(text));
    named.ok_or_else(|| format!("`{text}` is not a metric; `tailmark list metrics` has them"))
}

/// The metric of a report, as typed: any of the above except `ops`, which every report states.
///
/// # Errors
/// Says what is accepted.
pub fn report_metric(text: &str) -> Result<Metric, String> {
    let metric = Metric::from_name(text).filter(|metric| metric.heads_reports());
    metric.ok_or_else(|| {
        format!(
            "`{text}` is not a metric of reports: {}",
            Metric::accepted()
        )
    })
}

/// A band of equivalence as typed, `3%`, as a fraction.
///
/// # Errors
/// Says what is accepted.
pub fn band(text: &str) -> Result<f64, String> {
    percentage(text, 0.0..=100.0)
}

fn percentage(text: &str, range: RangeInclusive<f64>) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%');
    let number = number.and_then(|number| number.trim().parse::<f64>().ok());
    let percent = number.filter(|percent| range.contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| {
        let (low, high) = (range.start(), range.end());
        format!("`{text}` is not a percentage from {low}% to {high}%, such as `5%`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Condition {
        Condition::parse(text).unwrap()
    }

    #[test]
    fn a_condition_is_read_as_it_is_written() {
        let condition = parsed("  p99.9 read   worse by 5 % in ycsb-a");
        assert_eq!(condition.metric, Metric::from_name("p99.9 read").unwrap());
        assert_eq!(
            (condition.direction, condition.by),
            (Direction::Worse, 0.05)
        );
        assert_eq!(condition.workload.as_deref(), Some("ycsb-a"));
        assert_eq!(condition.to_string(), "p99.9 read worse by 5 % in ycsb-a");
        let peak = parsed("peak ops better by 2.5%");
        assert!(peak.is_of_peaks && peak.metric == Metric::OPS_PER_SEC);
        assert!(!parsed("ops_per_sec differs by 5%").is_of_peaks);
    }

    #[test]
    fn what_is_no_condition_is_refused_with_what_is_one() {
        for (text, word) in [
            ("", "worse|better|differs"),
            ("ops", "worse|better|differs"),
            ("ops worse", "worse|better|differs"),
            ("ops slower by 5%", "worse|better|differs"),
            ("by 5%", "worse|better|differs"),
            ("worse by 5%", "worse|better|differs"),
            ("p98 read worse by 5%", "p99.9"),
            ("p99.9 raed worse by 5%", "did you mean `p99.9 read`?"),
            ("opss worse by 5%", "did you mean `ops`?"),
            ("p99 reads worse by 5%", "read-modify-write"),
            ("peak p99 read worse by 5%", "peak ops"),
            ("ops worse by 5", "`5%`"),
            ("ops worse by x%", "`5%`"),
            ("ops worse by -5%", "from 0%"),
            ("ops worse by 0%", "above 0"),
            ("ops worse by NaN%", "`5%`"),
            ("ops worse by 100%", "100 %"),
            ("p99 read differs by 100%", "100 %"),
        ] {
            let error = Condition::parse(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
        assert_eq!(parsed("p99 read worse by 150%").high(), Some(2.5));
        assert!(band("3%").is_ok() && band("3").is_err() && band("101%").is_err());
    }

    #[test]
    fn more_operations_are_better_and_more_latency_is_worse() {
        let (ops, p99) = (parsed("ops worse by 20%"), parsed("p99 read worse by 20%"));
        assert!(ops.is_met_by(0.8) && !ops.is_met_by(0.81) && !ops.is_met_by(1.5));
        assert!(p99.is_met_by(1.2) && !p99.is_met_by(1.19) && !p99.is_met_by(0.5));
        // Met: as far as from none. Not met: as far as from 0.8.
        let is = |found: f64, exact: f64| (found - exact).abs() < 1e-12;
        assert!(is(ops.distance(0.5), 1.0) && is(ops.distance(1.0), 0.25));
        assert!(is(p99.distance(1.0), 0.2) && is(p99.distance(2.0), 1.0));
        assert!(is(
            parsed("ops differs by 20%").distance(1.1),
            1.2 / 1.1 - 1.0
        ));
        let better = parsed("p99 read better by 20%");
        assert!(better.is_met_by(0.8) && !better.is_met_by(1.2));
    }

    #[test]
    fn what_the_bounds_leave_room_for_is_not_ruled_out() {
        let (ops, p99) = (parsed("ops worse by 20%"), parsed("p99 read worse by 20%"));
        assert!(ops.is_ruled_out((0.9, 1.5)) && !ops.is_ruled_out((0.7, 1.5)));
        assert!(p99.is_ruled_out((0.5, 1.1)) && !p99.is_ruled_out((0.5, 1.3)));
        let differs = parsed("p99 read differs by 20%");
        assert!(differs.is_ruled_out((0.9, 1.1)));
        assert!(!differs.is_ruled_out((0.7, 1.1)) && !differs.is_ruled_out((0.9, 1.3)));
    }
}
