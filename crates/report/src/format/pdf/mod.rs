//! The report as a PDF for sending. Its first page shows who leads, with the main chart and table;
//! its end shows how it was tested. It is tagged (PDF/UA-1), so that it can be read aloud.

mod beside;
mod blocks;
mod emit;
mod flow;
mod lines;
mod picture;
mod table;
mod tree;

use super::{Report, ReportFile, ReportFormat};
use crate::{Error, Section, draw::printable};
use blocks::Writer;
use emit::Running;

/// The row of the table of formats.
pub const FORMAT: ReportFormat = ReportFormat {
    name: "pdf",
    about: "a document to send, on A4, with each chart in its initial view: report.pdf",
    pages: &[PAGE],
    folder: None,
    files,
    text: None,
};

const PAGE: &str = "report.pdf";

/// The sections of the first page.
const FIRST: [&str; 2] = ["summary", "peaks"];

fn files(report: &Report) -> Result<Vec<ReportFile>, Error> {
    Ok(vec![ReportFile::page(PAGE, document(report)?)])
}

/// The bytes of a document: of a brief its sections in their order, of a report a first page with contents.
pub fn document(report: &Report) -> Result<Vec<u8>, Error> {
    let title: String = report.head.title.chars().map(printable).collect();
    let is_brief = report.head.is_brief;
    let is_first = |section: &&Section| is_brief || FIRST.contains(&section.name);
    let all = report.sections.iter();
    let all = all.map(|(section, blocks)| (*section, blocks.as_slice()));
    let (first, further): (Vec<_>, Vec<_>) = all.partition(|(section, _)| is_first(section));
    let mut writer = Writer::new(report.paper()?, is_brief);
    let logo = report.head.logo.as_ref();
    if let Some(image) = logo.and_then(|(kind, bytes)| picture::image(*kind, bytes)) {
        writer.logo(image);
    }
    writer.masthead(report.head.kicker, &title, &report.head.facts);
    first
        .iter()
        .for_each(|(section, blocks)| writer.section(section, blocks));
    if !is_brief {
        writer.contents(&further);
    }
    further
        .iter()
        .for_each(|(section, blocks)| writer.section(section, blocks));
    let running = Running {
        title: &title,
        footer: &report.head.footer,
    };
    emit::emit(writer.finish(), running, report.head.began_ms).map_err(Error::Pdf)
}
