//! What the report of a study is about, as its plan says it. Nothing of it changes what is measured.

use crate::{Header, Metric};
use std::time::Duration;

/// Key of the plan: the metric that is stated first.
pub const METRIC_KEY: &str = "report.metric";
/// Key of the plan: the system that the others are compared with.
pub const BASELINE_KEY: &str = "report.baseline";
/// Key of the plan: the rates at which latencies are stated.
pub const AT_RATE_KEY: &str = "report.at_rate";
/// Key of the plan: the latencies at which rates are stated.
pub const AT_LATENCY_KEY: &str = "report.at_latency";

/// Key of the plan: the workloads that were left out, and why.
pub const LEFT_OUT_KEY: &str = "report.left_out";
/// Between the workloads of the last key: a reason may have commas.
const BETWEEN_REASONS: &str = "; ";

/// What a report is about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReportSettings {
    /// The metric that is stated and compared beside operations per second. `None`: the report
    /// chooses a latency.
    pub metric: Option<Metric>,
    /// The system that every other one is compared with; none: the one that leads is compared with
    /// the others.
    pub baseline: Option<String>,
    /// Operations per second at which latencies are stated.
    pub at_rate: Vec<f64>,
    /// Latencies at which operations per second are stated.
    pub at_latency: Vec<Duration>,
    /// Workloads that were left out, and why: `ycsb-e: not every database can scan`.
    pub left_out: Vec<String>,
}

impl ReportSettings {
    /// What the plan of a study says; what is not there or cannot be read is not said.
    #[must_use]
    pub fn from_header(header: &Header) -> Self {
        let given = |key: &str| header.plan.get(key).map(String::as_str);
        Self {
            metric: given(METRIC_KEY).and_then(Metric::from_name),
            baseline: given(BASELINE_KEY).map(ToOwned::to_owned),
            at_rate: list(given(AT_RATE_KEY), |text| text.parse().ok()),
            at_latency: list(given(AT_LATENCY_KEY), |text| {
                humantime::parse_duration(text).ok()
            }),
            left_out: given(LEFT_OUT_KEY).map_or_else(Vec::new, |text| {
                let reasons = text.split(BETWEEN_REASONS);
                reasons.map(ToOwned::to_owned).collect()
            }),
        }
    }

    /// The same, and where it does not say something, what the other one says.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        fn first<T>(one: Vec<T>, other: Vec<T>) -> Vec<T> {
            if one.is_empty() { other } else { one }
        }
        Self {
            metric: self.metric.or(other.metric),
            baseline: self.baseline.or(other.baseline),
            at_rate: first(self.at_rate, other.at_rate),
            at_latency: first(self.at_latency, other.at_latency),
            left_out: first(self.left_out, other.left_out),
        }
    }

    /// `at_rate` as the effective plan has it; none of an empty list.
    #[must_use]
    pub fn at_rate_text(&self) -> Option<String> {
        text(&self.at_rate, f64::to_string)
    }

    /// `at_latency` as the effective plan has it; none of an empty list.
    #[must_use]
    pub fn at_latency_text(&self) -> Option<String> {
        text(&self.at_latency, |time| {
            humantime::format_duration(*time).to_string()
        })
    }

    /// `left_out` as the effective plan has it; none of an empty list.
    #[must_use]
    pub fn left_out_text(&self) -> Option<String> {
        (!self.left_out.is_empty()).then(|| self.left_out.join(BETWEEN_REASONS))
    }
}

fn list<T>(given: Option<&str>, read: impl Fn(&str) -> Option<T>) -> Vec<T> {
    let items = given.into_iter().flat_map(|text| text.split(','));
    items.filter_map(|item| read(item.trim())).collect()
}

fn text<T>(values: &[T], write: impl Fn(&T) -> String) -> Option<String> {
    let texts: Vec<String> = values.iter().map(write).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plan_says_is_read_as_it_was_written() {
        let said = ReportSettings {
            metric: Metric::from_name("p99.99 read"),
            baseline: Some("Micron 7300".to_owned()),
            at_rate: vec![40_000.0, 0.5],
            at_latency: vec![Duration::from_millis(15), Duration::from_micros(1_500)],
            left_out: vec!["ycsb-e: a, b".to_owned(), "ycsb-d: c".to_owned()],
        };
        let plan = [
            (METRIC_KEY, said.metric.map(|metric| metric.to_string())),
            (BASELINE_KEY, said.baseline.clone()),
            (AT_RATE_KEY, said.at_rate_text()),
            (AT_LATENCY_KEY, said.at_latency_text()),
            (LEFT_OUT_KEY, said.left_out_text()),
        ];
        let plan = plan.map(|(key, value)| (key.to_owned(), value.unwrap()));
        let mut header = Header::without_plan("study", String::new());
        header.plan = plan.into();
        assert_eq!(ReportSettings::from_header(&header), said);
        let nothing = ReportSettings::from_header(&Header::without_plan("study", String::new()));
        assert_eq!(nothing, ReportSettings::default());
        assert_eq!(nothing.at_rate_text(), None);
    }

    #[test]
    fn what_is_not_said_is_taken_from_the_other() {
        let baseline = |name: &str| ReportSettings {
            baseline: Some(name.to_owned()),
            ..ReportSettings::default()
        };
        let other = ReportSettings {
            at_rate: vec![1.0],
            ..baseline("b")
        };
        let both = baseline("a").or(other);
        assert_eq!(both.baseline.as_deref(), Some("a"));
        assert_eq!(both.at_rate, [1.0]);
    }
}
