//! The author's last words.

use super::Section;
use crate::{Block, Data, author};
use tailmark_model::Words;

pub const SECTION: Section = Section {
    name: "conclusion",
    title: "Conclusion",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    author::words(data, Words::Conclusion)
}
