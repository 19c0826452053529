//! Charts as files of their own: pictures for slides, documents and messages.

use super::{Report, ReportFormat, folder};
use crate::{Error, draw::Drawing};
use std::path::{Path, PathBuf};

/// The row of lines and letters as shapes.
pub const SVG: ReportFormat = ReportFormat {
    name: "svg",
    about: "every chart as it is at first, sharp at any size: charts/*.svg",
    file: None,
    write: write_svg,
    text: None,
};

/// The row of dots.
pub const PNG: ReportFormat = ReportFormat {
    name: "png",
    about: "every chart as it is at first, 1,976 pixels wide or 1,336: charts/*.png",
    file: None,
    write: write_png,
    text: None,
};

/// Writes the pictures as SVG, which other formats refer to.
pub fn write_svg(report: &Report, out_dir: &Path) -> Result<PathBuf, Error> {
    write(report, out_dir, "svg", |drawing| {
        Ok(drawing.svg()?.into_bytes())
    })
}

fn write_png(report: &Report, out_dir: &Path) -> Result<PathBuf, Error> {
    write(report, out_dir, "png", Drawing::png)
}

fn write(
    report: &Report,
    out_dir: &Path,
    extension: &str,
    bytes: impl Fn(&Drawing) -> Result<Vec<u8>, Error>,
) -> Result<PathBuf, Error> {
    let folder = out_dir.join("charts");
    let drawings = report.drawings()?.iter();
    let files: Vec<(String, &Drawing)> = drawings.map(|of| (of.name.clone(), of)).collect();
    folder::write(&folder, extension, &files, |drawing| bytes(drawing))?;
    Ok(folder)
}
