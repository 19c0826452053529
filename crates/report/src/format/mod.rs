//! The formats that a report is written in.

mod csv;
pub mod html;
mod parts;
pub mod terminal;

use crate::{Block, Data, Error, SECTIONS, Section, Table, findings, section};
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};
use tailmark_results::{NewFile, Study, number};
use terminal::Screen;

/// One format.
#[derive(Debug, Clone, Copy)]
pub struct ReportFormat {
    /// Unique; what `--format` takes.
    pub name: &'static str,
    /// One line for `list`.
    pub about: &'static str,
    /// Of the file, without the dot.
    pub extension: &'static str,
    /// Whether it is read as it is, on a terminal.
    pub is_text: bool,
    /// Writes the whole report; a text for this screen.
    pub write: fn(&Data, Screen, &mut dyn Write) -> io::Result<()>,
}

impl ReportFormat {
    /// The format of a name.
    ///
    /// # Errors
    /// Where there is none.
    pub fn find(name: &str) -> Result<&'static Self, Error> {
        let names = || FORMATS.iter().map(|f| f.name);
        let found = FORMATS.iter().find(|f| f.name == name);
        found.ok_or_else(|| Error::UnknownFormat {
            name: name.to_owned(),
            known: names().collect::<Vec<_>>().join(", "),
        })
    }
}

/// Every format, by name.
pub const FORMATS: &[ReportFormat] = &[html::FORMAT, terminal::FORMAT];

/// A report that was written.
#[derive(Debug, Clone)]
pub struct Written {
    /// Where it is.
    pub path: PathBuf,
    /// What it says first: who leads, by how much; none where no systems are compared.
    pub headline: Option<String>,
    /// The highest ops/s of each system in each workload; none where there are none.
    pub peaks: Option<Table>,
    /// Each code of its findings and how many there are, in the report's order.
    pub findings: Vec<(String, usize)>,
}

impl Written {
    /// What a terminal says of the report: headline, peaks, and the codes of findings.
    #[must_use]
    pub fn digest(&self, screen: Screen) -> Vec<String> {
        let mut lines: Vec<String> = self.headline.iter().cloned().collect();
        let peaks = self.peaks.iter();
        lines.extend(peaks.flat_map(|peaks| terminal::table(peaks, screen)));
        if !self.findings.is_empty() {
            let codes = self.findings.iter();
            let codes = codes.map(|(code, n)| format!("{code} {}", number::count(*n as u64)));
            lines.push(format!(
                "findings: {}",
                codes.collect::<Vec<_>>().join(", ")
            ));
        }
        lines
    }
}

/// Reads the studies in these directories.
///
/// # Errors
/// Where one of them holds no study, or there is nothing to report.
pub fn read_studies(studies: &[PathBuf]) -> Result<Data, Error> {
    let open = |dir: &PathBuf| Study::open_read_only(dir).map_err(Error::Study);
    let studies = studies.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    Data::read(&studies)
}

/// Writes the report of the studies in these directories into another.
///
/// # Errors
/// As [`read_studies`] and [`write()`].
pub fn write_studies(studies: &[PathBuf], format: &str, out_dir: &Path) -> Result<Written, Error> {
    write_data(&read_studies(studies)?, format, out_dir)
}

/// Writes a report into a directory, and says what is in it.
///
/// # Errors
/// As [`write()`].
pub fn write_data(data: &Data, format: &str, out_dir: &Path) -> Result<Written, Error> {
    let entries = findings::Index::new(data).entries(data);
    let codes = entries.into_iter();
    Ok(Written {
        path: write(format, data, out_dir)?,
        headline: section::headline(data),
        peaks: section::peaks(data),
        findings: codes
            .map(|entry| (entry.badge.code.clone(), entry.places()))
            .collect(),
    })
}

/// Writes `OUT/report.EXTENSION` and says where it is.
///
/// # Errors
/// Where the format is unknown or the file cannot be written.
pub fn write(format: &str, data: &Data, out_dir: &Path) -> Result<PathBuf, Error> {
    let format = ReportFormat::find(format)?;
    let path = out_dir.join(format!("report.{}", format.extension));
    let failed = |source| Error::Write {
        path: path.clone(),
        source,
    };
    fs::create_dir_all(out_dir).map_err(failed)?;
    // A report that cannot be written leaves the one before.
    let mut out = NewFile::create(&path).map_err(failed)?;
    (format.write)(data, Screen::default(), &mut out).map_err(failed)?;
    out.finish().map_err(failed)?;
    Ok(path)
}

/// The sections that have something to say.
fn render(data: &Data) -> Vec<(&'static Section, Vec<Block>)> {
    SECTIONS
        .iter()
        .map(|section| (section, (section.render)(data)))
        .filter(|(_, blocks)| !blocks.is_empty())
        .collect()
}

fn title(data: &Data) -> String {
    let mut titles: Vec<&str> = data.headers.iter().map(|h| h.title.as_str()).collect();
    titles.dedup();
    titles.join(" · ")
}

/// Under the title: what was compared, when.
fn facts(data: &Data) -> Vec<String> {
    let compared: Vec<&str> = data
        .systems
        .iter()
        .filter(|s| s.ceiling_for.is_none())
        .map(|s| s.name.as_str())
        .collect();
    let mut facts = vec![number::list(&compared)];
    for header in &data.headers {
        let records = header
            .plan
            .get("dataset.records")
            .and_then(|v| v.parse().ok());
        if let Some(records) = records {
            facts.push(number::plural(records, "record"));
        }
        facts.push(number::instant(header.created_ms));
    }
    facts.dedup();
    facts
}
