//! What qualifies the numbers: the evidence and the remedy, and where.

use super::Section;
use crate::{Block, Cell, Column, Data, Table, TableRow, Text, UnequalPair, findings::Index};
use tailmark_results::Inequality;

pub const SECTION: Section = Section {
    name: "findings",
    title: "Findings",
    about: "what qualifies the numbers, with evidence and remedy",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let entries = Index::new(data).entries(data);
    let mut blocks = Vec::new();
    if entries.is_empty() {
        blocks.push(Block::Text(Text::plain(
            "Nothing was found that qualifies the numbers.",
        )));
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
        blocks.extend(pairs.iter().map(|pair| Block::Table(conditions(pair))));
    }
    if !data.notices.is_empty() {
        blocks.push(Block::Heading {
            anchor: "notices".into(),
            title: "Notices".into(),
            about: String::new(),
        });
        blocks.push(Block::Statements(
            data.notices.iter().map(Text::plain).collect(),
        ));
    }
    blocks
}

/// The conditions of two systems that differ.
fn conditions(pair: &UnequalPair<'_>) -> Table {
    let value = |value: &Option<String>| value.as_ref().map_or_else(Cell::none, Cell::new);
    let row = |unequal: &Inequality| TableRow {
        cells: vec![
            Cell::new(&unequal.name),
            value(&unequal.a),
            value(&unequal.b),
        ],
        total: false,
    };
    Table {
        columns: ["Condition", pair.a, pair.b].map(Column::text).into(),
        rows: pair.unequal.iter().map(row).collect(),
        ..Table::default()
    }
}
