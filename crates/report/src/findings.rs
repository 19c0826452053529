//! Findings in a report: one letter for each code, next to numbers and in a list.

use crate::{
    Data, UnequalPair,
    block::{Badge, FindingEntry},
    evidence::{FoundAt, evidence},
    grid_name::workload_title,
};
use tailmark_model::{
    Finding, Point, Sentence,
    finding::{self, UNEQUAL_CONDITIONS},
    number,
};

/// The codes of a report: first those that could change the headline, then the others, each in
/// order of appearance.
#[derive(Debug, Default)]
pub struct Index<'a> {
    codes: Vec<&'a str>,
}

impl<'a> Index<'a> {
    /// Gathers the codes of all loads and points.
    #[must_use]
    pub fn new(data: &'a Data) -> Self {
        let mut codes = Vec::new();
        for finding in all(data).map(|(finding, _)| finding) {
            if !codes.contains(&finding.code.as_str()) {
                codes.push(&finding.code);
            }
        }
        if !data.unequal_pairs().is_empty() {
            codes.push(UNEQUAL_CONDITIONS.name);
        }
        codes.sort_by_key(|code| !changes_headline(code));
        Self { codes }
    }

    /// The badges of these findings, each code once.
    #[must_use]
    pub fn badges<'f>(&self, findings: impl Iterator<Item = &'f Finding>) -> Vec<Badge> {
        let mut present = vec![false; self.codes.len()];
        for finding in findings {
            if let Some(i) = self.codes.iter().position(|c| *c == finding.code) {
                present[i] = true;
            }
        }
        let indices = present.iter().enumerate().filter(|(_, present)| **present);
        indices.map(|(i, _)| self.badge(i)).collect()
    }

    /// The badges of findings in these points that could change the headline. Sentences about the
    /// points carry them.
    #[must_use]
    pub fn headline_badges<'p>(&self, points: impl Iterator<Item = &'p Point>) -> Vec<Badge> {
        let findings = points.flat_map(|point| &point.phase.findings);
        self.badges(findings.filter(|finding| changes_headline(&finding.code)))
    }

    fn badge(&self, index: usize) -> Badge {
        Badge {
            letter: letter(index),
            code: self.codes[index].to_owned(),
        }
    }

    /// Every code with its findings and their places.
    #[must_use]
    pub fn entries(&self, data: &Data) -> Vec<FindingEntry> {
        (0..self.codes.len()).map(|i| self.entry(i, data)).collect()
    }

    fn entry(&self, index: usize, data: &Data) -> FindingEntry {
        let code = self.codes[index];
        let of_code = all(data).filter(|(finding, _)| finding.code == code);
        let mut found: Vec<(&Finding, FoundAt<'_>)> = of_code.collect();
        let pairs = data.unequal_pairs();
        let unequal: Vec<Finding> = pairs.iter().map(unequal_conditions).collect();
        if code == UNEQUAL_CONDITIONS.name {
            let pairs = pairs.iter().map(|pair| FoundAt::Pair(pair.a, pair.b));
            found.extend(unequal.iter().zip(pairs));
        }
        FindingEntry {
            badge: self.badge(index),
            title: title(code),
            means: finding::find(code)
                .map_or("", |known| known.means)
                .to_owned(),
            of_runs: found
                .iter()
                .all(|(_, place)| matches!(place, FoundAt::Point(_)))
                .then_some(data.points.len()),
            changes_headline: changes_headline(code),
            evidence: evidence(&found),
        }
    }
}

/// Whether a code could change the headline; of one that this version does not know, that cannot be
/// ruled out.
fn changes_headline(code: &str) -> bool {
    finding::find(code).is_none_or(|known| known.changes_headline)
}

/// Conditions that a sentence names; all are in a table.
pub const NAMED: usize = 3;

/// That two systems were measured under conditions that differ, and in what.
#[must_use]
pub fn unequal_conditions(pair: &UnequalPair<'_>) -> Finding {
    let named = pair.unequal.iter().take(NAMED).map(ToString::to_string);
    let named: Vec<String> = named.collect();
    let more = match pair.unequal.len() - named.len() {
        0 => String::new(),
        n => format!(", and {n} more"),
    };
    let sentence = Sentence::new(
        "The conditions differ: {Differences}. That may explain the results. Measure again with one \
         thing changed at a time.",
    );
    UNEQUAL_CONDITIONS.finding(sentence.text("Differences", named.join("; ") + &more))
}

/// `disk, YCSB A, 16 threads`, and ` at 10,000 ops/s` of a fixed rate.
#[must_use]
pub fn point_title(point: &Point) -> String {
    let key = &point.key;
    let mut text = format!(
        "{}, {}, {}",
        key.system,
        workload_title(&key.workload),
        number::threads(key.threads)
    );
    if let Some(rate) = key.target_rate {
        text.push_str(&format!(" at {}", number::ops(rate)));
    }
    if key.repeat > 1 {
        text.push_str(&format!(", repeat {}", key.repeat));
    }
    text
}

fn all(data: &Data) -> impl Iterator<Item = (&Finding, FoundAt<'_>)> {
    let loads = data.loads.iter().flat_map(|load| {
        let findings = load.phase.findings.iter();
        findings.map(move |finding| (finding, FoundAt::Load(load)))
    });
    let points = data.points.iter().flat_map(|point| {
        let findings = point.phase.findings.iter();
        findings.map(move |finding| (finding, FoundAt::Point(point)))
    });
    loads.chain(points)
}

/// `client-saturated` in words: `Client saturated`.
fn title(code: &str) -> String {
    let mut words = code.replace('-', " ");
    if let Some(first) = words.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    words
}

/// `a` to `z`, then `aa`, `ab`, ...
fn letter(index: usize) -> String {
    let last = char::from(b'a' + (index % 26) as u8);
    match index / 26 {
        0 => last.to_string(),
        more => letter(more - 1) + &last.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_after_z() {
        for (index, text) in [(0, "a"), (25, "z"), (26, "aa"), (51, "az"), (52, "ba")] {
            assert_eq!(letter(index), text);
        }
    }

    #[test]
    fn codes_are_titled_in_words() {
        assert_eq!(title("client-saturated"), "Client saturated");
    }
}
