//! The formats that a report is written in.

mod csv;
mod folder;
pub mod html;
mod markdown;
pub mod names;
pub mod own;
mod parts;
mod pdf;
mod pictures;
pub mod terminal;

use crate::{
    Block, Card, Cell, Column, Data, Error, SECTIONS, Section, Table, TableRow,
    draw::{self, Drawing},
    findings, section,
};
use own::OwnFile;
use std::{
    cell::OnceCell,
    collections::BTreeSet,
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
    /// The file that it writes, unless that is a folder of files.
    pub file: Option<OwnFile>,
    /// Writes its files into a directory, and says where they are: a file, or the directory of several.
    pub write: fn(&Report, &Path) -> Result<PathBuf, Error>,
    /// Writes the whole for this screen, where it is read as it is.
    pub text: Option<WriteText>,
}

/// Writes a report as text.
pub type WriteText = fn(&Report, Screen, &mut dyn Write) -> io::Result<()>;

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
pub const FORMATS: &[ReportFormat] = &[
    csv::FORMAT,
    html::FORMAT,
    markdown::FORMAT,
    pdf::FORMAT,
    pictures::PNG,
    pictures::SVG,
    terminal::FORMAT,
];

/// Sections with their blocks.
pub type Rendered = Vec<(&'static Section, Vec<Block>)>;

/// A report, or another page of blocks, on its way into files. What several formats need is made once.
#[derive(Debug, Default)]
pub struct Report {
    head: Head,
    sections: Rendered,
    drawings: OnceCell<Vec<Drawing>>,
    paper: OnceCell<Vec<Drawing>>,
}

/// What stands above the sections, and what is known of all of them.
#[derive(Debug, Default)]
pub struct Head {
    /// Above the title: what kind of page it is.
    pub kicker: &'static str,
    /// The title.
    pub title: String,
    /// Below the title.
    pub facts: Vec<String>,
    /// The systems that can be shown and hidden, in the order of their looks.
    pub systems: Vec<String>,
    /// Every name of its studies, of workloads too.
    pub names: BTreeSet<String>,
    /// When the last of its studies began, milliseconds since 1970 UTC.
    pub began_ms: Option<u64>,
}

impl Head {
    /// Of the report of a study.
    const KICKER: &str = "Storage qualification report";

    fn from_data(data: &Data) -> Self {
        let (compared, _) = data.systems_and_ceilings();
        let systems = data.systems.iter().map(|system| &system.name);
        let workloads = data.points.iter().map(|point| &point.key.workload);
        let titles = data.headers.iter().map(|header| &header.title);
        Self {
            kicker: Self::KICKER,
            title: title(data),
            facts: facts(data),
            systems: compared.iter().map(|system| system.name.clone()).collect(),
            names: systems.chain(workloads).chain(titles).cloned().collect(),
            began_ms: data.headers.iter().map(|header| header.created_ms).max(),
        }
    }
}

impl Report {
    /// The report of what was measured.
    #[must_use]
    pub fn new(data: &Data) -> Self {
        Self::with_sections(Head::from_data(data), render(data))
    }

    /// A page of these sections.
    pub(crate) fn with_sections(head: Head, sections: Rendered) -> Self {
        Self {
            head,
            sections,
            ..Self::default()
        }
    }

    /// Its lines for a screen.
    #[must_use]
    pub fn lines(&self, screen: Screen) -> Vec<String> {
        terminal::lines(self, screen)
    }

    /// Its Markdown, without charts.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::text(self, &[])
    }

    /// Its page for browsers.
    #[must_use]
    pub fn html(&self) -> Vec<u8> {
        html::page(self, html::Served::No)
    }

    /// The pictures of its charts for files of their own.
    fn drawings(&self) -> Result<&[Drawing], Error> {
        self.drawn(&self.drawings, Drawing::FILE)
    }

    /// The pictures of its charts for the pages of a document.
    fn paper(&self) -> Result<&[Drawing], Error> {
        self.drawn(&self.paper, Drawing::PAPER)
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

/// A report that was written.
#[derive(Debug, Clone)]
pub struct Written {
    /// Where it is, one for each format: a file, or the directory of several.
    pub paths: Vec<PathBuf>,
    /// What it says first: who leads, by how much; none where no systems are compared.
    pub headline: Option<String>,
    /// The highest ops/s of each system in each workload; none where there are none.
    pub peaks: Option<Table>,
    /// Each code of its findings and how many there are, in the report's order.
    pub findings: Vec<(String, usize)>,
}

impl Written {
    /// Where it is in the first of its formats.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.paths[0]
    }

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
    let open = |dir: &PathBuf| Study::open_read_only(dir);
    let studies = studies.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    Data::read(&studies)
}

/// Writes the report of the studies in these directories into another, in these formats.
///
/// # Errors
/// As [`read_studies`] and [`write()`].
pub fn write_studies(
    studies: &[PathBuf],
    formats: &[&str],
    out_dir: &Path,
) -> Result<Written, Error> {
    write_data(&read_studies(studies)?, formats, out_dir)
}

/// Writes a report into a directory in these formats, of which there is at least one, and says what is in
/// it.
///
/// # Errors
/// As [`write()`].
pub fn write_data(data: &Data, formats: &[&str], out_dir: &Path) -> Result<Written, Error> {
    let report = Report::new(data);
    let entries = findings::Index::new(data).entries(data);
    let codes = entries.into_iter();
    let find = |name: &&str| ReportFormat::find(name);
    refuse_foreign(formats, out_dir)?;
    let formats = formats.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let write = |format: &ReportFormat| (format.write)(&report, out_dir);
    Ok(Written {
        paths: formats.into_iter().map(write).collect::<Result<_, _>>()?,
        headline: section::headline(data),
        peaks: section::peaks(data),
        findings: codes
            .map(|entry| (entry.badge.code.clone(), entry.places()))
            .collect(),
    })
}

/// Refuses a directory in which a report in these formats would be written over something else.
///
/// # Errors
/// If that is so, a format is unknown, or what is there cannot be read.
pub fn refuse_foreign(formats: &[&str], out_dir: &Path) -> Result<(), Error> {
    formats.iter().try_for_each(|name| {
        let file = ReportFormat::find(name)?.file;
        file.map_or(Ok(()), |file| file.refuse_foreign(out_dir))
    })
}

/// Writes a report in one format and says where it is.
///
/// # Errors
/// Where the format is unknown or a file cannot be written.
pub fn write(format: &str, data: &Data, out_dir: &Path) -> Result<PathBuf, Error> {
    let format = ReportFormat::find(format)?;
    (format.write)(&Report::new(data), out_dir)
}

/// Writes a file and the directories that it is in.
fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let failed = |source| Error::Write {
        path: path.to_owned(),
        source,
    };
    let directory = path.parent().unwrap_or(Path::new("."));
    tailmark_results::owner::create_dir_all(directory).map_err(failed)?;
    // A report that cannot be written leaves the one before.
    let mut out = NewFile::create(path).map_err(failed)?;
    write(&mut out).map_err(failed)?;
    out.finish().map_err(failed)
}

/// The sections that have something to say.
fn render(data: &Data) -> Rendered {
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

/// Cards as a table, for formats that have none.
fn cards(cards: &[Card]) -> Table {
    let row = |card: &Card| TableRow {
        cells: vec![
            Cell::new(&card.title),
            Cell {
                strong: true,
                badges: card.badges.clone(),
                ..Cell::new(&card.value)
            },
            Cell::new(&card.about),
        ],
        total: false,
    };
    Table {
        columns: ["", "", ""].map(Column::text).into(),
        rows: cards.iter().map(row).collect(),
        ..Table::default()
    }
}
