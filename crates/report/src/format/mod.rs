//! The formats that a report is written in.

pub mod html;

use crate::{Data, Error, section};
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};
use tailmark_results::{NewFile, Study};

/// One format.
#[derive(Debug, Clone, Copy)]
pub struct ReportFormat {
    /// Unique; what `--format` takes.
    pub name: &'static str,
    /// One line for `list`.
    pub about: &'static str,
    /// Of the file, without the dot.
    pub extension: &'static str,
    /// Writes the whole report.
    pub write: fn(&Data, &mut dyn Write) -> io::Result<()>,
}

/// Every format, by name.
pub const FORMATS: &[ReportFormat] = &[html::FORMAT];

/// A report that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Where it is.
    pub path: PathBuf,
    /// What it says first: who leads, by how much; none where no systems are compared.
    pub headline: Option<String>,
}

/// Writes the report of the studies in these directories into another.
///
/// # Errors
/// Where one of them holds no study, there is nothing to report, or as [`write()`].
pub fn write_studies(studies: &[PathBuf], format: &str, out_dir: &Path) -> Result<Written, Error> {
    let open = |dir: &PathBuf| Study::open_read_only(dir).map_err(Error::Study);
    let studies = studies.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let data = Data::read(&studies)?;
    Ok(Written {
        path: write(format, &data, out_dir)?,
        headline: section::headline(&data),
    })
}

/// Writes `OUT/report.EXTENSION` and says where it is.
///
/// # Errors
/// Where the format is unknown or the file cannot be written.
pub fn write(format: &str, data: &Data, out_dir: &Path) -> Result<PathBuf, Error> {
    let format = FORMATS
        .iter()
        .find(|f| f.name == format)
        .ok_or_else(|| Error::UnknownFormat {
            name: format.to_owned(),
            known: FORMATS
                .iter()
                .map(|f| f.name)
                .collect::<Vec<_>>()
                .join(", "),
        })?;
    let path = out_dir.join(format!("report.{}", format.extension));
    let failed = |source| Error::Write {
        path: path.clone(),
        source,
    };
    fs::create_dir_all(out_dir).map_err(failed)?;
    // A report that cannot be written leaves the one before.
    let mut out = NewFile::create(&path).map_err(failed)?;
    (format.write)(data, &mut out).map_err(failed)?;
    out.finish().map_err(failed)?;
    Ok(path)
}
