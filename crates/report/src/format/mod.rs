//! The formats that a report is written in.

pub mod html;

use crate::{Data, Error};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// One format.
#[derive(Debug, Clone, Copy)]
pub struct Format {
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
pub const FORMATS: &[Format] = &[html::FORMAT];

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
    // Written beside and renamed: an interrupted report leaves the one before.
    let partial = out_dir.join(format!(".report.{}.partial", format.extension));
    let file = File::create(&partial).map_err(failed)?;
    let mut out = BufWriter::new(file);
    (format.write)(data, &mut out)
        .and_then(|()| out.flush())
        .map_err(failed)?;
    fs::rename(&partial, &path).map_err(failed)?;
    Ok(path)
}
