//! A document that one sends (PDF): on its first page who leads, the main chart and the table, and how it was
//! tested at its end. It is tagged (PDF/UA-1), so that it can be read aloud.

mod blocks;
mod emit;
mod flow;
mod lines;
mod picture;
mod table;
mod tree;

use super::{Report, ReportFormat, own::OwnFile, write_file};
use crate::{Block, Error, Section, draw::printable};
use blocks::Writer;
use std::path::{Path, PathBuf};

/// The row of the table of formats.
pub const FORMAT: ReportFormat = ReportFormat {
    name: "pdf",
    about: "a document to send, on A4, with each chart as it is at first: report.pdf",
    file: Some(FILE),
    write,
    text: None,
};

const FILE: OwnFile = OwnFile {
    name: "report.pdf",
    mark: "(tailmark ",
};

/// The sections of the first page.
const FIRST: [&str; 2] = ["summary", "peaks"];

fn write(report: &Report, out_dir: &Path) -> Result<PathBuf, Error> {
    let path = out_dir.join(FILE.name);
    let bytes = document(report)?;
    write_file(&path, |out| out.write_all(&bytes))?;
    Ok(path)
}

fn document(report: &Report) -> Result<Vec<u8>, Error> {
    let title: String = report.head.title.chars().map(printable).collect();
    let is_first = |section: &&Section| FIRST.contains(&section.name);
    let all = || {
        report
            .sections
            .iter()
            .map(|(section, blocks)| (*section, blocks.as_slice()))
    };
    let first: Vec<(&Section, &[Block])> = all().filter(|(of, _)| is_first(of)).collect();
    let further: Vec<(&Section, &[Block])> = all().filter(|(of, _)| !is_first(of)).collect();
    let mut writer = Writer::new(report.paper()?);
    writer.masthead(&title, &report.head.facts);
    first
        .iter()
        .for_each(|(section, blocks)| writer.section(section, blocks));
    writer.contents(&further);
    further
        .iter()
        .for_each(|(section, blocks)| writer.section(section, blocks));
    emit::emit(writer.finish(), &title, report.head.began_ms).map_err(Error::Pdf)
}
