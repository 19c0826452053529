//! The brief as a document and as a page that opens offline.

#[cfg(feature = "documents")]
use super::pdf;
use super::{Report, ReportFile, ReportFormat, html};
use crate::Error;

/// The row of the table of formats.
pub const FORMAT: ReportFormat = ReportFormat {
    name: "brief",
    about: ABOUT,
    pages: PAGES,
    folder: None,
    files,
    text: None,
};

#[cfg(feature = "documents")]
const ABOUT: &str = "a few pages to send, as PDF and HTML: brief.pdf, brief.html";
#[cfg(not(feature = "documents"))]
const ABOUT: &str = "a few pages to send, as HTML: brief.html";

#[cfg(feature = "documents")]
const PAGES: &[&str] = &[DOCUMENT, PAGE];
#[cfg(not(feature = "documents"))]
const PAGES: &[&str] = &[PAGE];

#[cfg(feature = "documents")]
const DOCUMENT: &str = "brief.pdf";
const PAGE: &str = "brief.html";

fn files(report: &Report) -> Result<Vec<ReportFile>, Error> {
    // A page of blocks that is no report has none.
    let Some(brief) = &report.brief else {
        return Ok(Vec::new());
    };
    Ok(vec![
        #[cfg(feature = "documents")]
        ReportFile::page(DOCUMENT, pdf::document(brief)?),
        ReportFile::page(PAGE, html::page(brief, html::Served::No)),
    ])
}
