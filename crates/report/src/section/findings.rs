//! What qualifies the numbers: the evidence and the remedy, and where.

use super::Section;
use crate::{Block, Data, Text, findings::Index};

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
