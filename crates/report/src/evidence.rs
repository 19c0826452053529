//! Groups findings of one code: their wording once, and a table with the evidence of each place.
//!
//! Rules write the words of a finding with gaps, and named values to fill them. Fifty findings that
//! differ in two numbers become a table with a column for each name.

use crate::{
    axis::Step,
    block::{Cell, Column, FindingEvidence, Table, TableRow, Text},
    grid_name::workload_title,
};
use std::collections::{BTreeMap, BTreeSet};
use tailmark_model::{
    Finding, Load, Observation, Point, PointKey, PointName, number,
    observation::{Piece, pieces, values},
};

/// The most columns of evidence: no rule writes as many names.
const COLUMNS_MAX: usize = 32;
/// Stands in a gap that is filled with another value in each place, if they are many.
pub const DIFFERS: &str = "several values";

/// The place of a finding.
#[derive(Debug, Clone, Copy)]
pub enum FoundAt<'a> {
    /// In the load of a system.
    Load(&'a Load),
    /// In a point.
    Point(&'a Point),
    /// Between two systems.
    Pair(&'a str, &'a str),
}

/// Places that share a row: points with the finding in the same repeats and, at a rate, with the
/// same client count.
#[derive(Debug, PartialEq, Eq)]
struct RowName {
    system: String,
    workload: String,
    threads: Option<u32>,
    repeats: BTreeSet<u32>,
}

/// The repeats of each point of a system.
type Repeats<'a> = BTreeMap<(&'a str, PointName), BTreeSet<u32>>;

fn point_name(key: &PointKey) -> (&str, PointName) {
    (&key.system, PointName::from(key))
}

impl<'a> FoundAt<'a> {
    fn key(self) -> Option<&'a PointKey> {
        match self {
            Self::Point(point) => Some(&point.key),
            Self::Load(_) | Self::Pair(..) => None,
        }
    }

    fn row(self, repeats: &Repeats<'_>) -> RowName {
        let (system, workload) = match self {
            Self::Load(load) => (load.system.clone(), "load".to_owned()),
            Self::Point(point) => {
                let key = &point.key;
                (key.system.clone(), workload_title(&key.workload))
            }
            Self::Pair(a, b) => (format!("{a} against {b}"), String::new()),
        };
        let at_rate = self.key().filter(|key| key.target_rate.is_some());
        RowName {
            system,
            workload,
            threads: at_rate.map(|key| key.threads),
            repeats: self
                .key()
                .and_then(|key| repeats.get(&point_name(key)).cloned())
                .unwrap_or_default(),
        }
    }
}

/// The evidence, each wording once, in order of appearance. Findings without evidence, as in older
/// studies and from other programs, have individual wordings. Several of them become a table of
/// their texts.
#[must_use]
pub fn evidence(found: &[(&Finding, FoundAt<'_>)]) -> Vec<FindingEvidence> {
    let is_plain = |finding: &Finding| finding.evidence.is_empty();
    let plain = found.iter().filter(|(finding, _)| is_plain(finding));
    let plain: BTreeSet<&str> = plain.map(|(finding, _)| finding.wording.as_str()).collect();
    let is_table = plain.len() > 1;
    let mut numbers: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    let mut wordings: Vec<Wording<'_>> = Vec::new();
    for &(finding, place) in found {
        let is_row = is_table && is_plain(finding);
        let wording = (!is_row).then_some(finding.wording.as_str());
        let number = *numbers.entry(wording).or_insert(wordings.len());
        if number == wordings.len() {
            wordings.push(Wording {
                words: wording,
                found: Vec::new(),
            });
        }
        wordings[number].found.push((finding, place));
    }
    wordings.iter().map(Wording::evidence).collect()
}

/// Findings of the same words.
struct Wording<'a> {
    /// The words with gaps; `None`: each finding has its own words and no evidence.
    words: Option<&'a str>,
    found: Vec<(&'a Finding, FoundAt<'a>)>,
}

impl<'a> Wording<'a> {
    fn evidence(&self) -> FindingEvidence {
        let mut repeats = Repeats::new();
        for key in self.found.iter().filter_map(|(_, place)| place.key()) {
            repeats
                .entry(point_name(key))
                .or_default()
                .insert(key.repeat);
        }
        let names = self.names();
        let mut rows: Vec<Row<'a>> = Vec::new();
        for &(finding, place) in &self.found {
            let name = place.row(&repeats);
            let at = rows.iter().position(|row| row.name == name);
            let at = at.unwrap_or_else(|| {
                rows.push(Row::new(name, names.len().max(1)));
                rows.len() - 1
            });
            rows[at].add(place, finding, &names);
        }
        let headings = match self.words {
            Some(_) => names.iter().map(|&name| name.to_owned()).collect(),
            None => vec!["What was found".to_owned()],
        };
        FindingEvidence {
            text: self.text(),
            places: self.found.len(),
            table: table(&rows, headings),
        }
    }

    /// The names of the evidence, in order of appearance.
    fn names(&self) -> Vec<&'a str> {
        let mut names = Vec::new();
        for seen in self.found.iter().flat_map(|(finding, _)| &finding.evidence) {
            if names.len() < COLUMNS_MAX && !names.contains(&seen.name.as_str()) {
                names.push(seen.name.as_str());
            }
        }
        names
    }

    /// The words, with the range of values in each gap.
    fn text(&self) -> Text {
        let Some(words) = self.words else {
            return Text::plain("Details differ from place to place.");
        };
        let mut of_names: BTreeMap<&str, Vec<&Observation>> = BTreeMap::new();
        for seen in self.found.iter().flat_map(|(finding, _)| &finding.evidence) {
            of_names.entry(&seen.name).or_default().push(seen);
        }
        let one = self.found.first().map(|(first, _)| values(&first.evidence));
        let spans = of_names.into_iter().map(|(name, seen)| {
            let alike = one.as_ref().and_then(|one| one.get(name));
            let is_one = |finding: &Finding| values(&finding.evidence).get(name) == alike;
            let is_alike = self.found.iter().all(|(finding, _)| is_one(finding));
            let span = alike.filter(|_| is_alike).cloned().or_else(|| span(&seen));
            let span = span.or_else(|| choice(&seen));
            (name, span.unwrap_or_else(|| DIFFERS.to_owned()))
        });
        let spans = spans.collect();
        let pieces = pieces(words, &spans).into_iter();
        pieces.fold(Text::default(), |text, piece| match piece {
            Piece::Words(plain) => text.and(plain),
            Piece::Value(value) => text.and_strong(value),
        })
    }
}

/// `80 to 340 s`, from the lowest to the highest number in one unit; `None` if some are words.
fn span(seen: &[&Observation]) -> Option<String> {
    let unit = &seen.first()?.unit;
    let of_unit = |one: &&Observation| one.number().filter(|_| one.unit == *unit);
    let numbers: Option<Vec<f64>> = seen.iter().map(of_unit).collect();
    let by_number = |a: &(f64, &&Observation), b: &(f64, &&Observation)| a.0.total_cmp(&b.0);
    let all = numbers?.into_iter().zip(seen);
    let low = all.clone().min_by(by_number)?.1.text();
    let high = all.max_by(by_number)?.1.text();
    if low == high {
        return Some(low);
    }
    // `1 h 38 min` has no unit of its own.
    let value = |text: &'_ str| {
        let parts = text.split_once(' ').filter(|(_, rest)| !rest.contains(' '));
        parts.map_or(0, |(value, _)| value.len())
    };
    let (low_value, high_value) = (value(&low), value(&high));
    let is_same_unit = low_value > 0 && low[low_value..] == high[high_value..];
    let low = if is_same_unit {
        &low[..low_value]
    } else {
        &low
    };
    Some(format!("{low} to {high}"))
}

/// `disk or memory`: two or three values of words; `None` if there are more.
fn choice(seen: &[&Observation]) -> Option<String> {
    const LISTED: usize = 3;
    let mut values: Vec<String> = Vec::new();
    for text in seen.iter().map(|one| one.text()) {
        if !values.contains(&text) {
            values.push(text);
        }
    }
    let (last, head) = values.split_last()?;
    match head {
        [] => Some(last.clone()),
        _ if values.len() > LISTED => None,
        _ => Some(format!("{} or {last}", head.join(", "))),
    }
}

/// The places of one row.
struct Row<'a> {
    name: RowName,
    keys: Vec<&'a PointKey>,
    /// The observations, column by column.
    seen: Vec<Vec<&'a Observation>>,
    /// The words of findings without evidence.
    words: Vec<&'a str>,
}

impl<'a> Row<'a> {
    fn new(name: RowName, columns: usize) -> Self {
        Self {
            name,
            keys: Vec::new(),
            seen: vec![Vec::new(); columns],
            words: Vec::new(),
        }
    }

    fn add(&mut self, place: FoundAt<'a>, finding: &'a Finding, names: &[&str]) {
        self.keys.extend(place.key());
        for seen in &finding.evidence {
            if let Some(column) = names.iter().position(|name| *name == seen.name) {
                self.seen[column].push(seen);
            }
        }
        if finding.evidence.is_empty() {
            self.words.push(&finding.wording);
        }
    }

    fn threads(&self) -> String {
        let threads: BTreeSet<u32> = self.keys.iter().map(|key| key.threads).collect();
        let rate = None;
        let steps = threads.into_iter().map(|threads| Step { rate, threads });
        steps
            .map(|step| step.label())
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn rates(&self) -> String {
        let mut rates: Vec<f64> = self.keys.iter().filter_map(|key| key.target_rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        let labels: Vec<String> = rates.into_iter().map(number::rate).collect();
        labels.join(", ")
    }

    fn repeats(&self) -> String {
        let repeats = &self.name.repeats;
        match (repeats.first(), repeats.last()) {
            (Some(first), Some(last)) if (last - first + 1) as usize == repeats.len() => {
                if first == last {
                    first.to_string()
                } else {
                    format!("{first} to {last}")
                }
            }
            _ => {
                let labels: Vec<String> = repeats.iter().map(u32::to_string).collect();
                labels.join(", ")
            }
        }
    }

    /// What stands in a column of evidence.
    fn value(&self, column: usize) -> String {
        /// Up to this many values are listed if they form no range.
        const LISTED: usize = 3;
        let seen = &self.seen[column];
        if let Some(span) = span(seen) {
            return span;
        }
        let texts = seen.iter().map(|seen| seen.text());
        let words = self.words.iter().map(|&words| words.to_owned());
        let mut values: Vec<String> = Vec::new();
        let mut known = BTreeSet::new();
        for value in texts.chain(words) {
            if known.insert(value.clone()) {
                values.push(value);
            }
        }
        match values.len() {
            ..=LISTED => values.join("; "),
            n => format!("{}; and {} more", values[..LISTED].join("; "), n - LISTED),
        }
    }
}

/// The titles of what every row has before its gaps.
const TITLES: [&str; 5] = ["System", "Workload", "Threads", "ops/s offered", "Repeats"];
const WORKLOAD: usize = 1;

/// The columns that some row has something in. Workloads that are alike in all else share a row.
fn table(rows: &[Row<'_>], headings: Vec<String>) -> Table {
    let is_repeated = rows
        .iter()
        .flat_map(|row| &row.keys)
        .any(|key| key.repeat > 1);
    let mut all: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let repeats = row.repeats();
        let repeats = if is_repeated { repeats } else { String::new() };
        let (system, workload) = (row.name.system.clone(), row.name.workload.clone());
        let mut cells = vec![system, workload, row.threads(), row.rates(), repeats];
        cells.extend((0..headings.len()).map(|column| row.value(column)));
        let is_alike = |known: &&mut Vec<String>| {
            let mut pairs = known.iter().zip(&cells).enumerate();
            pairs.all(|(column, (a, b))| column == WORKLOAD || a == b)
        };
        match all.iter_mut().find(is_alike) {
            Some(known) => known[WORKLOAD] = format!("{}, {}", known[WORKLOAD], cells[WORKLOAD]),
            None => all.push(cells),
        }
    }
    let is_filled = |column: usize| all.iter().any(|cells| !cells[column].is_empty());
    let filled: Vec<bool> = (0..TITLES.len() + headings.len()).map(is_filled).collect();
    let filled = |column: &usize| filled[*column];
    let titles = TITLES.map(str::to_owned).into_iter().chain(headings);
    let row = |cells: Vec<String>| TableRow {
        cells: cells
            .into_iter()
            .enumerate()
            .filter(|(column, _)| filled(column))
            .map(|(_, text)| Cell::new(text))
            .collect(),
        total: false,
    };
    Table {
        columns: titles
            .enumerate()
            .filter(|(column, _)| filled(column))
            .map(|(_, title)| Column::text(title))
            .collect(),
        rows: all.into_iter().map(row).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::{
        Sentence, Unit,
        finding::{CLIENT_SATURATED, TOO_FEW_SAMPLES},
    };

    fn few(samples: u64, requests: &str, needed_s: f64) -> Finding {
        let wording = "{Samples} {Requests} are too few to state p99: it takes {Time needed}.";
        let sentence = Sentence::new(wording).count("Samples", samples);
        let sentence = sentence.text("Requests", requests);
        TOO_FEW_SAMPLES.finding(sentence.number("Time needed", needed_s, Unit::Seconds))
    }

    fn evidence_of(findings: &[Finding]) -> Vec<FindingEvidence> {
        let place = FoundAt::Pair("a", "b");
        let found: Vec<_> = findings.iter().map(|finding| (finding, place)).collect();
        evidence(&found)
    }

    fn table(evidence: &FindingEvidence) -> Vec<Vec<&str>> {
        let columns = evidence.table.columns.iter();
        let titles = columns.map(|column| column.title.as_str()).collect();
        let rows = evidence.table.rows.iter();
        let rows = rows.map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect());
        std::iter::once(titles).chain(rows).collect()
    }

    #[test]
    fn the_columns_are_named_as_the_rule_named_its_evidence() {
        let [one] = &evidence_of(&[few(12_000, "reads", 80.0), few(340, "reads", 9.0)])[..] else {
            panic!("one wording")
        };
        assert_eq!(
            one.text.to_plain(),
            "340 to 12,000 reads are too few to state p99: it takes 9 to 80 s."
        );
        assert_eq!(
            table(one),
            [
                ["System", "Samples", "Requests", "Time needed"],
                ["a against b", "340 to 12,000", "reads", "9 to 80 s"]
            ]
        );
    }

    #[test]
    fn what_is_no_range_is_a_choice_in_the_wording_and_a_list_in_the_table() {
        let [one] = &evidence_of(&[few(12, "reads", 80.0), few(12, "inserts", 3_780.0)])[..] else {
            panic!("one wording")
        };
        let text = one.text.to_plain();
        assert!(
            text.starts_with("12 reads or inserts are too few"),
            "{text}"
        );
        let four = ["reads", "inserts", "scans", "updates"].map(|kind| few(12, kind, 80.0));
        let several = evidence_of(&four)[0].text.to_plain();
        assert!(
            several.starts_with("12 several values are too few"),
            "{several}"
        );
        assert_eq!(
            table(one)[1],
            ["a against b", "12", "reads; inserts", "80 s to 1 h 3 min"]
        );
    }

    #[test]
    fn both_ends_of_a_range_of_times_have_their_units() {
        for (times, expected) in [
            ([249.0, 5_880.0], "4 min 9 s to 1 h 38 min"),
            ([109.0, 1_260.0], "109 s to 21 min"),
            ([180.0, 1_260.0], "3 to 21 min"),
            ([5_880.0, 9_480.0], "1 h 38 min to 2 h 38 min"),
            ([3_600.0, 7_200.0], "1 to 2 h"),
            ([3_600.0, 9_480.0], "1 h to 2 h 38 min"),
        ] {
            let found = times.map(|needed_s| few(12, "reads", needed_s));
            let [one] = &evidence_of(&found)[..] else {
                panic!("one wording")
            };
            let text = one.text.to_plain();
            assert!(text.ends_with(&format!(" {expected}.")), "{text}");
            assert_eq!(table(one)[1][3], expected);
        }
    }

    #[test]
    fn a_finding_of_two_servers_says_both_in_words_and_in_its_row() {
        let sentence = Sentence::new("The processors of {Server} were {Processors busy} busy.");
        let both = [("db1", 93.0), ("db2", 95.0)];
        let sentence = both.into_iter().fold(sentence, |sentence, (server, busy)| {
            let sentence = sentence.text("Server", server);
            sentence.number("Processors busy", busy, Unit::Percent)
        });
        let [one] = &evidence_of(&[CLIENT_SATURATED.finding(sentence)])[..] else {
            panic!("one wording")
        };
        assert_eq!(
            one.text.to_plain(),
            "The processors of db1 and db2 were 93 % and 95 % busy."
        );
        assert_eq!(table(one)[1], ["a against b", "db1; db2", "93 to 95 %"]);
    }

    #[test]
    fn findings_without_evidence_are_a_wording_where_they_are_alike_and_a_table_where_not() {
        let plain = |text: &str| CLIENT_SATURATED.finding(text);
        let [alike] = &evidence_of(&[plain("Busy."), plain("Busy.")])[..] else {
            panic!("one wording")
        };
        assert_eq!((alike.text.to_plain().as_str(), alike.places), ("Busy.", 2));
        assert_eq!(table(alike), [["System"], ["a against b"]]);
        let [other] = &evidence_of(&[plain("93 % busy."), plain("95 % busy.")])[..] else {
            panic!("one table")
        };
        assert_eq!(
            table(other),
            [
                ["System", "What was found"],
                ["a against b", "93 % busy.; 95 % busy."]
            ]
        );
    }
}
