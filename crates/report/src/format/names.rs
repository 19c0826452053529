//! File names of saved parts of a report: from the section or heading above, each unique.

use crate::{Block, FindingEntry, Section, Table, block::anchor};
use std::{collections::BTreeSet, ffi::OsStr};
use tailmark_model::file_name;

/// The names of a report.
#[derive(Debug, Default)]
pub struct Names {
    place: String,
    /// In small letters: some file systems take capital letters for the same.
    taken: BTreeSet<String>,
}

impl Names {
    /// Sets the parent of the next names: the anchor of a section, a heading or a finding.
    pub fn below(&mut self, anchor: &str) {
        self.place = file_name(anchor);
    }

    /// The next name.
    pub fn next(&mut self) -> String {
        let numbered = |n: usize| match n {
            1 => self.place.clone(),
            n => format!("{}-{n}", self.place),
        };
        let is_free = |name: &String| !self.taken.contains(&name.to_lowercase());
        let free = (1..).map(numbered).find(is_free);
        let name = free.expect("there are more numbers than names");
        self.taken.insert(name.to_lowercase());
        name
    }
}

/// The anchor of a finding.
#[must_use]
pub fn finding_anchor(code: &str) -> String {
    anchor(&["finding", code])
}

/// A name as part of a URL. All characters except letters, digits and `-._~` are percent-encoded,
/// so that nothing in it begins another part.
#[must_use]
pub fn address(name: &OsStr) -> String {
    let byte = |byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    name.as_encoded_bytes().iter().map(byte).collect()
}

/// Every table of a report with its name, in reading order.
#[must_use]
pub fn tables<'r>(sections: &'r [(&'static Section, Vec<Block>)]) -> Vec<(String, &'r Table)> {
    let mut names = Names::default();
    let mut tables = Vec::new();
    for (section, blocks) in sections {
        names.below(section.name);
        for block in blocks {
            match block {
                Block::Heading { anchor, .. } => names.below(anchor),
                Block::Table(table) => tables.push((names.next(), table)),
                Block::Findings(entries) => {
                    entries
                        .iter()
                        .for_each(|entry| of_finding(entry, &mut names, &mut tables));
                }
                _ => {}
            }
        }
    }
    tables
}

fn of_finding<'r>(
    entry: &'r FindingEntry,
    names: &mut Names,
    tables: &mut Vec<(String, &'r Table)>,
) {
    names.below(&finding_anchor(&entry.badge.code));
    let evidence = entry.evidence.iter();
    tables.extend(evidence.map(|evidence| (names.next(), &evidence.table)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_their_place_and_each_once() {
        let mut names = Names::default();
        names.below("peaks");
        assert_eq!([names.next(), names.next()], ["peaks", "peaks-2"]);
        names.below("load");
        assert_eq!(names.next(), "load");
        names.below("peaks");
        assert_eq!(names.next(), "peaks-3");
        names.below("Peaks");
        assert_eq!(names.next(), "Peaks-4");
    }

    #[test]
    fn an_address_has_no_signs_of_its_own() {
        let encoded = |name: &str| address(OsStr::new(name));
        assert_eq!(encoded("run-1_a~b.html"), "run-1_a~b.html");
        assert_eq!(encoded("a:b/c?d#e %41ä"), "a%3Ab%2Fc%3Fd%23e%20%2541%C3%A4");
    }

    #[test]
    fn a_long_name_is_cut_where_a_letter_ends() {
        let mut names = Names::default();
        names.below(&"ä".repeat(200));
        let name = names.next();
        assert!(
            name.starts_with(&"ä".repeat(45)) && name.len() <= 100,
            "{name}"
        );
        assert_eq!(names.next(), format!("{name}-2"));
        names.below(&format!("{}b", "ä".repeat(200)));
        assert!(!names.next().starts_with(&name));
    }
}
