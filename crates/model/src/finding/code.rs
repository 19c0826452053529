//! A finding and its type, as plain data.

use crate::{Observation, Sentence, observation};
use serde::{Deserialize, Serialize};

/// A remark that qualifies a number and is shown next to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The name of a row of [`super::FINDINGS`], or [`super::UNKNOWN`] for any other code in a study.
    pub code: String,
    /// What was seen and the remedy, in one or two sentences. `{name}` is a gap for the values of
    /// that name.
    #[serde(rename = "text")]
    pub wording: String,
    /// What was seen.
    pub evidence: Vec<Observation>,
}

impl Finding {
    /// What was seen and the remedy, in one or two sentences.
    pub fn text(&self) -> String {
        observation::filled(&self.wording, &self.evidence)
    }
}

/// The type of a finding: a row of [`super::FINDINGS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingCode {
    /// The stable name, for example `client-saturated`.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// What it means for the numbers, and what to do about it; two sentences.
    pub means: &'static str,
    /// Whether the finding can change which system leads, because it affects ops/s or the compared
    /// metric. Other findings qualify single values.
    pub changes_headline: bool,
}

impl FindingCode {
    /// A finding with this code.
    pub fn finding(&self, sentence: impl Into<Sentence>) -> Finding {
        let Sentence { wording, evidence } = sentence.into();
        Finding {
            code: self.name.to_owned(),
            wording,
            evidence,
        }
    }

    /// Whether a finding has this code.
    pub fn is_of(&self, finding: &Finding) -> bool {
        finding.code == self.name
    }

    /// Whether one of the findings has this code.
    pub fn is_among(&self, findings: &[Finding]) -> bool {
        findings.iter().any(|finding| self.is_of(finding))
    }
}
