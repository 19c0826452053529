//! The brief as a document and as a page that opens offline.

use super::{Report, ReportFile, ReportFormat, html, pdf};
use crate::Error;

/// The row of the table of formats.
pub const FORMAT: ReportFormat = ReportFormat {
    name: "brief",
    about: "a few pages to send, as PDF and HTML: brief.pdf, brief.html",
    pages: &[DOCUMENT, PAGE],
    folder: None,
    files,
    text: None,
};

const DOCUMENT: &str = "brief.pdf";
const PAGE: &str = "brief.html";

fn files(report: &Report) -> Result<Vec<ReportFile>, Error> {
    // A page of blocks that is no report has none.
    let Some(brief) = &report.brief else {
        return Ok(Vec::new());
    };
    Ok(vec![
        ReportFile::page(DOCUMENT, pdf::document(brief)?),
        ReportFile::page(PAGE, html::page(brief, html::Served::No)),
    ])
}
