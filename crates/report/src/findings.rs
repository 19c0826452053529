//! Findings as a report shows them: one letter for each code, beside the number and in a list.

use crate::{
    Data, UnequalPair,
    block::{Badge, FindingEntry},
    sweep::workload_title,
};
use tailmark_results::{Finding, Load, Point, finding::UNEQUAL_CONDITIONS, number};

/// The codes of a report in order of appearance.
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

    fn badge(&self, index: usize) -> Badge {
        Badge {
            letter: letter(index),
            code: self.codes[index].to_owned(),
        }
    }

    /// Every code with what was found and where.
    #[must_use]
    pub fn entries(&self, data: &Data) -> Vec<FindingEntry> {
        (0..self.codes.len()).map(|i| self.entry(i, data)).collect()
    }

    fn entry(&self, index: usize, data: &Data) -> FindingEntry {
        let code = self.codes[index];
        let mut items: Vec<(String, Vec<String>)> = Vec::new();
        let mut add =
            |text: &str, place: String| match items.iter_mut().find(|(known, _)| known == text) {
                Some((_, places)) => places.push(place),
                None => items.push((text.to_owned(), vec![place])),
            };
        for (finding, place) in all(data).filter(|(finding, _)| finding.code == code) {
            add(&finding.text, place.text());
        }
        if code == UNEQUAL_CONDITIONS.name {
            for pair in data.unequal_pairs() {
                let place = format!("{} against {}", pair.a, pair.b);
                add(&unequal_conditions(&pair).text, place);
            }
        }
        FindingEntry {
            badge: self.badge(index),
            title: title(code),
            items,
        }
    }
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
    UNEQUAL_CONDITIONS.finding(format!(
        "The conditions differ: {}{more}. That may be why the numbers do. Measure again with one \
         thing changed at a time.",
        named.join("; ")
    ))
}

#[derive(Clone, Copy)]
enum FindingPlace<'a> {
    Load(&'a Load),
    Point(&'a Point),
}

impl FindingPlace<'_> {
    fn text(self) -> String {
        match self {
            Self::Load(load) => format!("{}, load", load.system),
            Self::Point(point) => point_title(point),
        }
    }
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

fn all(data: &Data) -> impl Iterator<Item = (&Finding, FindingPlace<'_>)> {
    let loads = data.loads.iter().flat_map(|l| {
        l.phase
            .findings
            .iter()
            .map(move |f| (f, FindingPlace::Load(l)))
    });
    let points = data.points.iter().flat_map(|p| {
        p.phase
            .findings
            .iter()
            .map(move |f| (f, FindingPlace::Point(p)))
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
