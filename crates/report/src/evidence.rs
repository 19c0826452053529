//! What findings of one code say, and where: a wording once, and in a table what differs in it from
//! place to place.
//!
//! Rules write whole sentences, so that a finding can stand alone. Fifty of them that differ in two
//! numbers are a table: the words that all share are the wording, what stands between them columns.

mod words;

use crate::{
    axis::Step,
    block::{Cell, Column, Evidence, Table, TableRow, Text},
    grid_name::workload_title,
};
use std::collections::{BTreeMap, BTreeSet};
use tailmark_results::{Load, Point, PointKey, number};
use words::{distinct, gaps, range, shared};

/// Where something was found.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// In the load of a system.
    Load(&'a Load),
    /// In a point.
    Point(&'a Point),
    /// Between two systems.
    Pair(&'a str, &'a str),
}

/// Places that share a row: points that were found in the same repeats, and of those at a rate one
/// client count.
#[derive(Debug, PartialEq, Eq)]
struct RowName {
    system: String,
    workload: String,
    threads: Option<u32>,
    repeats: BTreeSet<u32>,
}

/// A point without its repeat: system, workload, client count and rate.
type PointName<'a> = (&'a str, &'a str, u32, Option<u64>);

fn point_name(key: &PointKey) -> PointName<'_> {
    let rate = key.target_rate.map(f64::to_bits);
    (&key.system, &key.workload, key.threads, rate)
}

impl<'a> Place<'a> {
    fn key(self) -> Option<&'a PointKey> {
        match self {
            Self::Point(point) => Some(&point.key),
            Self::Load(_) | Self::Pair(..) => None,
        }
    }

    fn row(self, repeats: &BTreeMap<PointName<'_>, BTreeSet<u32>>) -> RowName {
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

/// What was found, each wording once, in order of appearance.
#[must_use]
pub fn evidence(found: &[(&str, Place<'_>)]) -> Vec<Evidence> {
    let mut wordings: Vec<Wording<'_>> = Vec::new();
    for &(text, place) in found {
        let words: Vec<&str> = text.split_whitespace().collect();
        if !wordings.iter_mut().any(|w| w.take(&words, place)) {
            wordings.push(Wording {
                words: words.len(),
                shared: words.clone(),
                found: vec![(words, place)],
            });
        }
    }
    wordings.iter().map(Wording::evidence).collect()
}

/// Texts that share most of their words.
struct Wording<'a> {
    /// Of the first one.
    words: usize,
    /// Which all have, in this order.
    shared: Vec<&'a str>,
    found: Vec<(Vec<&'a str>, Place<'a>)>,
}

impl<'a> Wording<'a> {
    /// Adds a text that shares half of its words with all that are there, or more.
    fn take(&mut self, words: &[&'a str], place: Place<'a>) -> bool {
        let shared = match self.found.iter().any(|(known, _)| known == words) {
            true => self.shared.clone(),
            false => shared(&self.shared, words),
        };
        let takes = 2 * shared.len() >= self.words.max(words.len());
        if takes {
            self.shared = shared;
            self.found.push((words.to_vec(), place));
        }
        takes
    }

    fn evidence(&self) -> Evidence {
        let found = self.found.iter();
        let found: Vec<(Vec<String>, Place<'a>)> = found
            .map(|(words, place)| (gaps(&self.shared, words), *place))
            .collect();
        let is_filled = |gap: &usize| found.iter().any(|(gaps, _)| !gaps[*gap].is_empty());
        let filled: Vec<usize> = (0..=self.shared.len()).filter(is_filled).collect();
        let mut repeats: BTreeMap<PointName<'_>, BTreeSet<u32>> = BTreeMap::new();
        for key in found.iter().filter_map(|(_, place)| place.key()) {
            repeats
                .entry(point_name(key))
                .or_default()
                .insert(key.repeat);
        }
        let mut rows: Vec<Row<'a>> = Vec::new();
        for (gaps, place) in &found {
            let name = place.row(&repeats);
            let at = rows.iter().position(|row| row.name == name);
            let at = at.unwrap_or_else(|| {
                rows.push(Row::new(name, filled.len()));
                rows.len() - 1
            });
            rows[at].add(*place, filled.iter().map(|&gap| gaps[gap].clone()));
        }
        let headings = filled.iter().map(|&gap| self.heading(gap)).collect();
        Evidence {
            text: self.text(&filled, &found),
            places: found.len(),
            table: table(&rows, headings),
        }
    }

    /// The shared words, and between them from what to what the others go.
    fn text(&self, filled: &[usize], found: &[(Vec<String>, Place<'_>)]) -> Text {
        let mut text = Text::default();
        let mut plain = String::new();
        for i in 0..=self.shared.len() {
            if filled.contains(&i) {
                let values = distinct(found.iter().map(|(gaps, _)| gaps[i].as_str()));
                let values = range(&values).unwrap_or_else(|| "…".to_owned());
                text = text.and(std::mem::take(&mut plain)).and_strong(values);
                plain.push(' ');
            }
            if let Some(word) = self.shared.get(i) {
                plain.push_str(word);
                plain.push(' ');
            }
        }
        text.and(plain.trim_end())
    }

    /// The words around a gap.
    fn heading(&self, gap: usize) -> String {
        let before = &self.shared[gap.saturating_sub(1)..gap];
        let behind = &self.shared[gap..self.shared.len().min(gap + 2)];
        let all = before.iter().chain([&"…"]).chain(behind);
        all.copied().collect::<Vec<_>>().join(" ")
    }
}

/// The places of one row.
struct Row<'a> {
    name: RowName,
    keys: Vec<&'a PointKey>,
    /// Of each gap, what it is filled with.
    values: Vec<Vec<String>>,
}

impl<'a> Row<'a> {
    fn new(name: RowName, gaps: usize) -> Self {
        Self {
            name,
            keys: Vec::new(),
            values: vec![Vec::new(); gaps],
        }
    }

    fn add(&mut self, place: Place<'a>, values: impl Iterator<Item = String>) {
        self.keys.extend(place.key());
        for (all, value) in self.values.iter_mut().zip(values) {
            all.push(value);
        }
    }

    fn threads(&self) -> String {
        let threads: BTreeSet<u32> = self.keys.iter().map(|key| key.threads).collect();
        let label = |&threads: &u32| {
            Step {
                rate: None,
                threads,
            }
            .label()
        };
        let labels: Vec<String> = threads.iter().map(label).collect();
        labels.join(", ")
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
                    format!("{first} – {last}")
                }
            }
            _ => {
                let labels: Vec<String> = repeats.iter().map(u32::to_string).collect();
                labels.join(", ")
            }
        }
    }

    fn value(&self, gap: usize) -> String {
        /// So many are listed where they make no range.
        const LISTED: usize = 3;
        let values = distinct(self.values[gap].iter().map(String::as_str));
        range(&values).unwrap_or_else(|| match values.len() {
            ..=LISTED => values.join("; "),
            n => format!("{}; and {} more", values[..LISTED].join("; "), n - LISTED),
        })
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
        cells.extend((0..headings.len()).map(|gap| row.value(gap)));
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

    fn few(samples: &str, first: &str, time: &str) -> String {
        format!(
            "{samples} are too few to state {first} p99.999: it takes 10 samples beyond a \
             quantile, for p99.999 1,000,000 operations or {time} at this rate."
        )
    }

    fn evidence_of(texts: &[String]) -> Vec<Evidence> {
        let found: Vec<_> = texts
            .iter()
            .map(|t| (t.as_str(), Place::Pair("a", "b")))
            .collect();
        evidence(&found)
    }

    fn rows(table: &Table) -> Vec<Vec<&str>> {
        let rows = table.rows.iter();
        rows.map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect())
            .collect()
    }

    #[test]
    fn texts_that_differ_in_numbers_are_one_wording_with_ranges() {
        let texts = [
            few("12,000 reads", "p99.9 to", "80 s"),
            few("340 reads", "p99 to", "9 s"),
        ];
        let [one] = &evidence_of(&texts)[..] else {
            panic!("one wording")
        };
        assert_eq!(
            one.text.to_plain(),
            few("340 – 12,000 reads", "p99 – 99.9 to", "9 – 80 s")
        );
        let titles: Vec<&str> = one.table.columns.iter().map(|c| c.title.as_str()).collect();
        assert_eq!(
            titles,
            ["System", "… reads are", "state … to p99.999:", "or … s at"]
        );
        assert_eq!(
            rows(&one.table),
            [["a against b", "340 – 12,000", "p99 – 99.9", "9 – 80"]]
        );
    }

    #[test]
    fn what_is_no_range_is_a_gap_in_the_wording_and_a_list_in_the_table() {
        let texts = [
            few("12 reads", "p99 to", "80 s"),
            few("12 inserts", "p99 to", "1 h 3 min"),
        ];
        let [one] = &evidence_of(&texts)[..] else {
            panic!("one wording")
        };
        let text = one.text.to_plain();
        assert!(text.starts_with("12 … are too few"), "{text}");
        assert_eq!(
            rows(&one.table),
            [["a against b", "reads; inserts", "80 s; 1 h 3 min"]]
        );
    }

    #[test]
    fn other_words_are_another_wording_and_equal_texts_have_no_gap() {
        let other = "The clock was set.".to_owned();
        let texts = [
            other.clone(),
            few("12 reads", "p99 to", "80 s"),
            other.clone(),
        ];
        let all = evidence_of(&texts);
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].text.to_plain(), all[0].places), (other, 2));
        assert_eq!(rows(&all[0].table), [["a against b"]]);
    }
}
