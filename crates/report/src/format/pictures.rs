//! Charts as separate picture files, for slides, documents and messages.

use super::{Folder, Report, ReportFile, ReportFormat};
use crate::{Error, draw::Drawing};

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

/// Where pictures as SVG are.
pub const SVG_FOLDER: Folder = Folder {
    name: "charts",
    ending: "svg",
};
const PNG_FOLDER: Folder = Folder {
    name: "charts",
    ending: "png",
};

/// The pictures as SVG, which other formats refer to.
pub fn svg_files(report: &Report) -> Result<Vec<ReportFile>, Error> {
    let svg = |drawing: &Drawing| Ok(SVG_FOLDER.file(&drawing.name, drawing.svg()?.into_bytes()));
    report.drawings()?.iter().map(svg).collect()
}

fn png_files(report: &Report) -> Result<Vec<ReportFile>, Error> {
    let png = |drawing: &Drawing| Ok(PNG_FOLDER.file(&drawing.name, drawing.png()?));
    report.drawings()?.iter().map(png).collect()
}
