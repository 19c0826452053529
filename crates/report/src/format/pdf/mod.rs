//! The report as a PDF for sending. Its first page shows who leads, with the main chart and table;
//! its end shows how it was tested. It is tagged (PDF/UA-1), so that it can be read aloud.

mod beside;
mod blocks;
mod emit;
mod figure;
mod fit;
mod flow;
mod lines;
mod picture;
mod table;
mod tree;

use super::{Head, Report, ReportFile, ReportFormat};
use crate::{
    Error,
    draw::{Drawing, printable},
    logo::image,
};
use blocks::{Writer, Written};
use emit::Running;
use fit::{Fitted, Pages};

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
    let head = &report.head;
    let title: String = head.title.chars().map(printable).collect();
    let fitted;
    let written = if head.is_brief {
        fitted = fit::fitted(&report.sections, |trial| {
            Pages::of_flow(&brief(head, &title, trial).flow)
        })?;
        brief(head, &title, &fitted)
    } else {
        whole(report, &title, report.paper()?)
    };
    let running = Running {
        title: &title,
        footer: &head.footer,
    };
    emit::emit(written, running, head.began_ms).map_err(Error::Pdf)
}

fn brief<'r>(head: &Head, title: &str, fitted: &'r Fitted) -> Written<'r> {
    let mut writer = Writer::new(&fitted.drawings, Some(fitted.fit));
    masthead(&mut writer, head, title);
    let sections = fitted.sections.iter();
    sections.for_each(|(section, blocks)| writer.section(section, blocks));
    writer.finish()
}

fn whole<'r>(report: &'r Report, title: &str, drawings: &'r [Drawing]) -> Written<'r> {
    let all = report.sections.iter();
    let all = all.map(|(section, blocks)| (*section, blocks.as_slice()));
    let (first, further): (Vec<_>, Vec<_>) =
        all.partition(|(section, _)| FIRST.contains(&section.name));
    let mut writer = Writer::new(drawings, None);
    masthead(&mut writer, &report.head, title);
    for (section, blocks) in first {
        writer.section(section, blocks);
    }
    writer.contents(&further);
    for (section, blocks) in further {
        writer.section(section, blocks);
    }
    writer.finish()
}

fn masthead(writer: &mut Writer<'_>, head: &Head, title: &str) {
    let logo = head.logo.as_ref();
    if let Some(image) = logo.and_then(|(kind, bytes)| image(*kind, bytes)) {
        writer.logo(image);
    }
    writer.masthead(head.kicker, title, &head.facts);
}
