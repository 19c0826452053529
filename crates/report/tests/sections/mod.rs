//! What a section shows of a study.

use tailmark_report::{Block, Data, SECTIONS, Table};

pub fn blocks(section: &str, data: &Data) -> Vec<Block> {
    let section = SECTIONS.iter().find(|s| s.name == section).unwrap();
    (section.render)(data)
}

pub fn tables(section: &str, data: &Data) -> Vec<Table> {
    let tables = blocks(section, data).into_iter();
    let tables = tables.filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    tables.collect()
}
