//! Charts as separate picture files, for slides, documents and messages, and the page of Markdown
//! that shows them.

use super::{Folder, Report, ReportFile, ReportFormat, markdown};
use crate::{
    Error,
    draw::{self, Drawing},
};
use std::cell::OnceCell;

/// The row of lines and letters as shapes.
pub const SVG: ReportFormat = ReportFormat {
    name: "svg",
    about: "every chart in its initial view, as vectors: charts/*.svg",
    pages: &[],
    folder: Some(SVG_FOLDER),
    files: svg_files,
    text: None,
};

/// The row of dots.
pub const PNG: ReportFormat = ReportFormat {
    name: "png",
    about: "every chart in its initial view, 1,976 or 1,336 pixels wide: charts/*.png",
    pages: &[],
    folder: Some(PNG_FOLDER),
    files: png_files,
    text: None,
};

/// The row of Markdown, whose charts are pictures beside it.
pub const MARKDOWN: ReportFormat = ReportFormat {
    name: "md",
    about: "Markdown for forges: report.md, and its charts in charts/*.svg",
    pages: &[PAGE],
    folder: Some(SVG_FOLDER),
    files: markdown_files,
    text: None,
};

const PAGE: &str = "report.md";

/// Where pictures as SVG are.
const SVG_FOLDER: Folder = Folder {
    name: "charts",
    ending: "svg",
};
const PNG_FOLDER: Folder = Folder {
    name: "charts",
    ending: "png",
};

/// The charts of a report, each drawn once.
#[derive(Debug, Default)]
pub struct Pictures {
    files: OnceCell<Vec<Drawing>>,
    paper: OnceCell<Vec<Drawing>>,
}

impl Report {
    /// The pictures of its charts for files of their own.
    pub(super) fn drawings(&self) -> Result<&[Drawing], Error> {
        self.drawn(&self.pictures.files, Drawing::FILE)
    }

    /// The pictures of its charts for the pages of a document.
    pub(super) fn paper(&self) -> Result<&[Drawing], Error> {
        self.drawn(&self.pictures.paper, Drawing::PAPER)
    }

    fn drawn<'r>(
        &self,
        cell: &'r OnceCell<Vec<Drawing>>,
        widths: (f32, f32),
    ) -> Result<&'r [Drawing], Error> {
        if let Some(drawings) = cell.get() {
            return Ok(drawings);
        }
        let drawings = draw::draw(&self.sections, widths)?;
        Ok(cell.get_or_init(|| drawings))
    }
}

fn markdown_files(report: &Report) -> Result<Vec<ReportFile>, Error> {
    let mut files = svg_files(report)?;
    let text = format!("{}\n", markdown::text(report, report.drawings()?));
    files.push(ReportFile::page(PAGE, text.into_bytes()));
    Ok(files)
}

fn svg_files(report: &Report) -> Result<Vec<ReportFile>, Error> {
    let svg = |drawing: &Drawing| Ok(SVG_FOLDER.file(&drawing.name, drawing.svg()?.into_bytes()));
    report.drawings()?.iter().map(svg).collect()
}

fn png_files(report: &Report) -> Result<Vec<ReportFile>, Error> {
    let png = |drawing: &Drawing| Ok(PNG_FOLDER.file(&drawing.name, drawing.png()?));
    report.drawings()?.iter().map(png).collect()
}
