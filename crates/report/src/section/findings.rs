//! Findings that qualify the numbers: evidence, remedy, and places.

use super::{Section, ladder};
use crate::{Block, Cell, Column, Data, Table, TableRow, Text, UnequalPair, findings::Index};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    name: "findings",
    title: "Findings",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let entries = Index::new(data).entries(data);
    let mut blocks = Vec::new();
    if entries.is_empty() {
        blocks.push(Block::Text(Text::plain("There are no findings.")));
    } else {
        blocks.push(Block::Findings(entries));
    }
    let pairs = data.unequal_pairs();
    if !pairs.is_empty() {
        blocks.push(Block::Heading {
            anchor: "unequal-conditions".into(),
            title: "What differs between the systems".into(),
            about: String::new(),
        });
        blocks.push(Block::Table(conditions(&pairs)));
    }
    let notices = notices(data);
    if !notices.is_empty() {
        blocks.push(Block::Heading {
            anchor: "notices".into(),
            title: "Notices".into(),
            about: String::new(),
        });
        blocks.push(Block::Statements(notices));
    }
    blocks
}

/// Notices of the studies, and a notice if they name a subject or a baseline that is missing.
fn notices(data: &Data) -> Vec<Text> {
    let missing = data.missing_system().map(|name| {
        format!(
            "`{name}` is not among the systems here, so the report is about the one that leads."
        )
    });
    let notices = ladder::others(data).cloned().chain(missing);
    notices.map(Text::plain).collect()
}

/// The conditions that differ between any two systems, of all that are in such a pair.
fn conditions(pairs: &[UnequalPair<'_>]) -> Table {
    let (mut systems, mut names) = (Vec::new(), Vec::new());
    let mut values: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for pair in pairs {
        for system in [pair.a, pair.b] {
            if !systems.contains(&system) {
                systems.push(system);
            }
        }
        for unequal in &pair.unequal {
            let name = unequal.name.as_str();
            if !names.contains(&name) {
                names.push(name);
            }
            let both = [(pair.a, &unequal.a), (pair.b, &unequal.b)];
            let known = both.into_iter();
            values.extend(
                known.filter_map(|(system, value)| Some(((name, system), value.as_deref()?))),
            );
        }
    }
    let row = |name: &&str| {
        let value = |system: &&str| values.get(&(*name, *system)).copied();
        let cells = systems.iter().map(value);
        let cells = cells.map(|known| known.map_or_else(Cell::none, Cell::new));
        TableRow {
            cells: std::iter::once(Cell::new(*name)).chain(cells).collect(),
            total: false,
        }
    };
    let titles = std::iter::once("Condition").chain(systems.iter().copied());
    Table {
        columns: titles.map(Column::text).collect(),
        rows: names.iter().map(row).collect(),
        note: "Conditions that all of them share are listed under the systems under test.".into(),
        ..Table::default()
    }
}
