//! The content of a finding as data: named values, and a sentence with a gap for each.
//!
//! A rule writes each value under a name, with a unit. The sentence about one place and the table
//! of fifty places use the same values, so no code has to parse a sentence.

use crate::{Damaged, number};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{collections::BTreeMap, fmt};

/// The most values of a finding. A rule has a few, plus a few for each host of a large cluster.
const OBSERVATIONS_MAX: usize = 10_000;
/// The longest name or unit, bytes.
const NAME_MAX: usize = 4 << 10;
/// The longest sentence whose gaps are filled, bytes.
const TEXT_MAX: usize = 4 << 20;

/// One value that a rule observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Its name, for example `Processors busy`: the heading of its column, and the gap `{Processors
    /// busy}` of the sentence.
    pub name: String,
    /// What was seen.
    pub value: Observed,
    /// The name of a [`Unit`]. An unknown unit is printed after the number.
    pub unit: String,
}

/// A number or words.
#[derive(Debug, Clone, PartialEq)]
pub enum Observed {
    /// In the unit of its observation; finite.
    Number(f64),
    /// A name, or a value that is not a number: `≥ 84 ms`.
    Text(String),
}

/// In JSON, a number is a number and text is a string.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Observed", untagged)]
enum InJson {
    Number(f64),
    Text(String),
}

/// Between ranks, a tag comes before the value, because that encoding does not tell numbers from
/// text.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Observed")]
enum InMessage {
    Number(f64),
    Text(String),
}

impl Serialize for Observed {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() {
            InJson::serialize(self, to)
        } else {
            InMessage::serialize(self, to)
        }
    }
}

impl<'de> Deserialize<'de> for Observed {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if from.is_human_readable() {
            InJson::deserialize(from)
        } else {
            InMessage::deserialize(from)
        }
    }
}

/// The unit of the number of an [`Observation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number of things; the name says which.
    Count,
    /// Hundredths.
    Percent,
    /// Nanoseconds of a latency.
    Nanoseconds,
    /// Seconds of a length of time.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Operations per second.
    OpsPerSecond,
}

/// Every unit with its name in a study.
const UNITS: [(Unit, &str); 7] = [
    (Unit::Count, ""),
    (Unit::Percent, "%"),
    (Unit::Nanoseconds, "ns"),
    (Unit::Seconds, "s"),
    (Unit::Bytes, "B"),
    (Unit::BytesPerSecond, "B/s"),
    (Unit::OpsPerSecond, "ops/s"),
];

impl Unit {
    /// Its name in a study.
    pub fn name(self) -> &'static str {
        let mut units = UNITS.iter();
        units
            .find(|(unit, _)| *unit == self)
            .map_or("", |row| row.1)
    }
}

impl Observation {
    /// The value with its unit: `93 %`, `1.20 ms`, `db1`.
    pub fn text(&self) -> String {
        match &self.value {
            Observed::Number(value) => written(*value, &self.unit),
            Observed::Text(text) => text.clone(),
        }
    }

    /// The number; `None` if it is text.
    pub fn number(&self) -> Option<f64> {
        match self.value {
            Observed::Number(value) => Some(value),
            Observed::Text(_) => None,
        }
    }
}

/// A number with its unit.
fn written(value: f64, unit: &str) -> String {
    if value < 0.0 {
        return format!("−{}", written(-value, unit));
    }
    let row = UNITS.iter().find(|(_, name)| *name == unit);
    match row.map(|(known, _)| *known) {
        Some(Unit::Count) => amount(value),
        Some(Unit::Percent) => number::share(value / 100.0),
        Some(Unit::Nanoseconds) => number::latency(value),
        Some(Unit::Seconds) if value < 120.0 && value.fract() == 0.0 => format!("{value} s"),
        Some(Unit::Seconds) => number::duration(value),
        Some(Unit::Bytes) => number::bytes(value),
        Some(Unit::BytesPerSecond) => format!("{}/s", number::bytes(value)),
        Some(Unit::OpsPerSecond) => number::ops(value),
        None => format!("{} {unit}", amount(value)),
    }
}

/// Whole numbers as counts, others with two decimals.
fn amount(value: f64) -> String {
    if value.fract() == 0.0 && value < u64::MAX as f64 {
        number::count(value as u64)
    } else {
        format!("{value:.2}")
    }
}

/// The statement of a rule: a sentence or two with gaps such as `{Processors busy}`, and the values
/// that fill them. Values without a gap appear in tables only.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sentence {
    /// The words, with gaps.
    pub wording: String,
    /// What was observed. Values of the same name are listed.
    pub evidence: Vec<Observation>,
}

impl Sentence {
    /// Words with gaps for values that are added later.
    pub fn new(wording: impl Into<String>) -> Self {
        Self {
            wording: wording.into(),
            evidence: Vec::new(),
        }
    }

    /// Adds a number. A number that is not finite is unknown.
    #[must_use]
    pub fn number(mut self, name: &str, value: f64, unit: Unit) -> Self {
        if !value.is_finite() {
            return self.text(name, "unknown");
        }
        self.evidence.push(Observation {
            name: name.to_owned(),
            value: Observed::Number(value),
            unit: unit.name().to_owned(),
        });
        self
    }

    /// Adds a number of things.
    #[must_use]
    pub fn count(self, name: &str, value: u64) -> Self {
        self.number(name, value as f64, Unit::Count)
    }

    /// Adds a value in words.
    #[must_use]
    pub fn text(mut self, name: &str, value: impl Into<String>) -> Self {
        self.evidence.push(Observation {
            name: name.to_owned(),
            value: Observed::Text(value.into()),
            unit: Unit::Count.name().to_owned(),
        });
        self
    }

    /// Adds another sentence.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if !self.wording.is_empty() && !other.wording.is_empty() {
            self.wording.push(' ');
        }
        self.wording.push_str(&other.wording);
        self.evidence.extend(other.evidence);
        self
    }
}

/// Prints the sentence with its gaps filled.
impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&filled(&self.wording, &self.evidence))
    }
}

impl<T: Into<String>> From<T> for Sentence {
    fn from(wording: T) -> Self {
        Self::new(wording)
    }
}

/// Rejects evidence in a file that no rule would write.
///
/// # Errors
/// If there are too many values, or a name or unit is too long.
pub fn check(evidence: &[Observation]) -> Result<(), Damaged> {
    let is_long = |seen: &Observation| seen.name.len().max(seen.unit.len()) > NAME_MAX;
    let what = if evidence.len() > OBSERVATIONS_MAX {
        "the evidence of a finding (it has too many values)"
    } else if evidence.iter().any(is_long) {
        "the evidence of a finding (it has a name or a unit of more than 4096 bytes)"
    } else {
        return Ok(());
    };
    Err(Damaged { what })
}

/// The values of each name, several of one name as a list.
pub fn values(evidence: &[Observation]) -> BTreeMap<&str, String> {
    let mut of_names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for seen in evidence {
        of_names.entry(&seen.name).or_default().push(seen.text());
    }
    let listed = of_names.into_iter().map(|(name, values)| {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        (name, number::list(&values))
    });
    listed.collect()
}

/// A piece of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'t> {
    /// Part of the wording.
    Words(&'t str),
    /// The content of a gap.
    Value(&'t str),
}

/// The pieces of a sentence with its gaps filled. Braces around anything but a name are words.
pub fn pieces<'t>(wording: &'t str, values: &'t BTreeMap<&str, String>) -> Vec<Piece<'t>> {
    let mut pieces = Vec::new();
    let mut left = TEXT_MAX;
    // Up to the next brace; a gap is what ends with a closing one.
    for part in wording.split_inclusive(['{', '}']) {
        let gap = part.strip_suffix('}').and_then(|name| values.get(name));
        let is_open = pieces.last().is_some_and(|piece| match piece {
            Piece::Words(words) => words.ends_with('{'),
            Piece::Value(_) => false,
        });
        match gap.filter(|_| is_open) {
            // A file could repeat a gap until the sentence fills the memory.
            Some(value) if value.len() <= left => {
                left -= value.len();
                if let Some(Piece::Words(words)) = pieces.last_mut() {
                    *words = &words[..words.len() - 1];
                }
                pieces.push(Piece::Value(value));
            }
            _ => pieces.push(Piece::Words(part)),
        }
    }
    pieces
}

/// A wording with the values of its evidence filled in.
pub fn filled(wording: &str, evidence: &[Observation]) -> String {
    let values = values(evidence);
    let pieces = pieces(wording, &values).into_iter();
    let texts = pieces.map(|piece| match piece {
        Piece::Words(text) | Piece::Value(text) => text,
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> Sentence {
        Sentence::new("The {Processors} processors of {Machine} were {Processors busy} busy.")
            .count("Processors", 4)
            .text("Machine", "db1")
            .number("Processors busy", 93.4, Unit::Percent)
    }

    #[test]
    fn a_sentence_is_its_wording_with_the_values_in_the_gaps() {
        assert_eq!(
            busy().to_string(),
            "The 4 processors of db1 were 93 % busy."
        );
        let several = busy().text("Machine", "db2");
        assert!(several.to_string().contains("of db1 and db2 were"));
        let unknown = Sentence::new("{a {b} {Busy}").number("Busy", f64::NAN, Unit::Percent);
        assert_eq!(unknown.to_string(), "{a {b} unknown");
    }

    #[test]
    fn a_value_is_never_taken_for_a_gap() {
        let sentence = Sentence::new("{A} of {B}")
            .text("A", "{B}")
            .text("B", "{A}");
        assert_eq!(sentence.to_string(), "{B} of {A}");
    }

    #[test]
    fn a_wording_that_repeats_its_gap_does_not_fill_the_memory() {
        let sentence = Sentence::new("{A}".repeat(1 << 20)).text("A", "a".repeat(1 << 20));
        let text = sentence.to_string();
        assert!(text.len() <= TEXT_MAX + 3 * (1 << 20), "{}", text.len());
    }

    #[test]
    fn each_unit_has_its_notation() {
        let all = [
            (4_000.0, Unit::Count, "4,000"),
            (0.5, Unit::Percent, "0.5 %"),
            (1.2e6, Unit::Nanoseconds, "1.20 ms"),
            (3.0, Unit::Seconds, "3 s"),
            (3.2, Unit::Seconds, "3.2 s"),
            (1.5e12, Unit::Bytes, "1.50 TB"),
            (2e6, Unit::BytesPerSecond, "2.00 MB/s"),
            (42_012.0, Unit::OpsPerSecond, "42,012 ops/s"),
        ];
        for (value, unit, expected) in all {
            assert_eq!(written(value, unit.name()), expected);
        }
        assert_eq!(written(-2.5, "V"), "−2.50 V");
    }

    #[test]
    fn numbers_and_texts_come_back_from_json() {
        let evidence = busy().evidence;
        let json = serde_json::to_string(&evidence).unwrap();
        assert!(
            json.contains(r#"{"name":"Processors","value":4.0,"unit":""}"#),
            "{json}"
        );
        let read: Vec<Observation> = serde_json::from_str(&json).unwrap();
        assert_eq!(read, evidence);
    }
}
