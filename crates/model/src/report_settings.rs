//! The report settings of a study, as its plan has them. They do not change what is measured.

use crate::{Logo, Metric, Ratios};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// The separator of left-out workloads in a text. A reason may contain commas.
const BETWEEN_REASONS: &str = "; ";

/// What a report is about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportSettings {
    /// The metric that is stated and compared next to operations per second. `None`: the report
    /// chooses a latency.
    pub metric: Option<Metric>,
    /// The title. `None`: those of the plans.
    pub title: Option<String>,
    /// The system that the report is about. `None`: the baseline, or the leading system.
    pub subject: Option<String>,
    /// The system that all others are compared with. `None`: the subject is compared with each
    /// other system.
    pub baseline: Option<String>,
    /// Rates, in operations per second, at which latencies are stated.
    pub at_rate: Vec<f64>,
    /// Latencies at which operations per second are stated.
    pub at_latency: Vec<Duration>,
    /// Workloads that were left out, with the reason: `ycsb-e: not every database can scan`.
    pub skipped: Vec<String>,
    /// The band of practical equivalence, from 0 to 1: ratios from 1 / (1 + band) to 1 + band make
    /// no practical difference. `None`: the default.
    pub equivalence: Option<f64>,
    /// Whether serial numbers, host names and addresses are left out.
    pub redact: bool,
    /// How ratios are written. `None`: as percentages below twice, as ratios from there on.
    pub ratios: Option<Ratios>,
    /// How latency axes are drawn at first. `None`: logarithmic on a page, and in a document from 0 if
    /// the values are close enough.
    pub latency_axis: Option<LatencyAxis>,
    /// The names of the report's sections, unless all are wanted.
    pub sections: Vec<String>,
    /// What a workload stands for, by its name: `recording user sessions`.
    pub use_cases: BTreeMap<String, String>,
    /// Sets of systems that get their own charts.
    pub chart_systems: Vec<Vec<String>>,
    /// The colour of a system, by its name: one of [`Color::ALL`].
    pub colors: BTreeMap<String, String>,
    /// The author's words, by the place where they appear; Markdown.
    pub words: BTreeMap<Words, String>,
    /// The author's picture over the title. Studies of earlier versions have none.
    #[serde(default)]
    pub logo: Option<Logo>,
}

/// How the axis of a latency is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LatencyAxis {
    /// Every power of ten takes equal space.
    Log,
    /// From 0, as in published studies.
    Linear,
}

impl LatencyAxis {
    /// Both, with their names.
    pub const ALL: [(Self, &str); 2] = [(Self::Log, "log"), (Self::Linear, "linear")];
}

/// The colours of systems, in the order in which they are assigned. They remain distinct in grey
/// and in the common kinds of colour blindness.
#[derive(Debug)]
pub struct Color;

impl Color {
    /// Their names.
    pub const ALL: [&str; 8] = [
        "blue", "orange", "green", "black", "sky", "amber", "purple", "rose",
    ];
}

/// A place for the author's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Words {
    /// After the headline.
    Introduction,
    /// Why it matters; after the cards.
    Why,
    /// Before the section on how it was tested.
    Notes,
    /// The last words.
    Conclusion,
    /// At the foot of the page.
    Footer,
}

impl Words {
    /// Every place, in reading order, with the name of its key.
    pub const ALL: [(Self, &str); 5] = [
        (Self::Introduction, "introduction"),
        (Self::Why, "why"),
        (Self::Notes, "notes"),
        (Self::Conclusion, "conclusion"),
        (Self::Footer, "footer"),
    ];
}

impl ReportSettings {
    /// These settings, with those of `other` where these have none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        fn first<T>(one: Vec<T>, other: Vec<T>) -> Vec<T> {
            if one.is_empty() { other } else { one }
        }
        /// Both maps merged; on a common key the first wins.
        fn both<K: Ord, V>(one: BTreeMap<K, V>, mut other: BTreeMap<K, V>) -> BTreeMap<K, V> {
            other.extend(one);
            other
        }
        // A report is about its subject or its baseline, not one of each.
        let is_about_one = self.subject.is_some() || self.baseline.is_some();
        let (subject, baseline) = if is_about_one {
            (self.subject, self.baseline)
        } else {
            (other.subject, other.baseline)
        };
        Self {
            metric: self.metric.or(other.metric),
            title: self.title.or(other.title),
            subject,
            baseline,
            at_rate: first(self.at_rate, other.at_rate),
            at_latency: first(self.at_latency, other.at_latency),
            skipped: first(self.skipped, other.skipped),
            equivalence: self.equivalence.or(other.equivalence),
            redact: self.redact || other.redact,
            ratios: self.ratios.or(other.ratios),
            latency_axis: self.latency_axis.or(other.latency_axis),
            sections: first(self.sections, other.sections),
            use_cases: both(self.use_cases, other.use_cases),
            chart_systems: first(self.chart_systems, other.chart_systems),
            colors: both(self.colors, other.colors),
            words: both(self.words, other.words),
            logo: self.logo.or(other.logo),
        }
    }

    /// `at_rate` in the effective plan; `None` if empty.
    pub fn at_rate_text(&self) -> Option<String> {
        text(&self.at_rate, f64::to_string)
    }

    /// `at_latency` in the effective plan; `None` if empty.
    pub fn at_latency_text(&self) -> Option<String> {
        text(&self.at_latency, |time| {
            humantime::format_duration(*time).to_string()
        })
    }

    /// `skipped` in the effective plan; `None` if empty.
    pub fn skipped_text(&self) -> Option<String> {
        (!self.skipped.is_empty()).then(|| self.skipped.join(BETWEEN_REASONS))
    }
}

fn text<T>(values: &[T], write: impl Fn(&T) -> String) -> Option<String> {
    let texts: Vec<String> = values.iter().map(write).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_study_keeps_is_read_as_it_was_written() {
        let said = ReportSettings {
            metric: Metric::from_name("p99.99 read"),
            title: Some("Drives".to_owned()),
            subject: Some("Micron 7400".to_owned()),
            baseline: Some("Micron 7300".to_owned()),
            at_rate: vec![40_000.0, 0.5],
            at_latency: vec![Duration::from_millis(15), Duration::from_micros(1_500)],
            skipped: vec!["ycsb-e: a, b".to_owned(), "ycsb-d: c".to_owned()],
            equivalence: Some(0.04),
            redact: true,
            ratios: Some(Ratios::X),
            latency_axis: Some(LatencyAxis::Linear),
            sections: vec!["summary".to_owned()],
            use_cases: BTreeMap::from([("ycsb-a".to_owned(), "sessions".to_owned())]),
            chart_systems: vec![vec!["a".to_owned(), "b".to_owned()]],
            colors: BTreeMap::from([("a".to_owned(), "blue".to_owned())]),
            words: BTreeMap::from([(Words::Why, "It *matters*.".to_owned())]),
            logo: Some(Logo {
                path: "logo.png".to_owned(),
                base64: "iVBORw0K".to_owned(),
            }),
        };
        for settings in [said, ReportSettings::default()] {
            let text = serde_json::to_string(&settings).unwrap();
            let read: ReportSettings = serde_json::from_str(&text).unwrap();
            assert_eq!(read, settings, "{text}");
        }
        assert_eq!(ReportSettings::default().at_rate_text(), None);
    }

    #[test]
    fn a_metric_that_is_none_is_an_error_that_quotes_it() {
        let text = serde_json::to_string(&ReportSettings::default()).unwrap();
        let text = text.replace("\"metric\":null", "\"metric\":\"p99 reads\"");
        let error = serde_json::from_str::<ReportSettings>(&text).unwrap_err();
        assert!(error.to_string().contains("`p99 reads`"), "{error}");
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
        let subject = ReportSettings {
            subject: Some("s".to_owned()),
            ..ReportSettings::default()
        };
        let about_s = subject.or(baseline("b"));
        assert_eq!(about_s.subject.as_deref(), Some("s"));
        assert_eq!(about_s.baseline, None);
    }
}
