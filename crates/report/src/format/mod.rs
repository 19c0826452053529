//! The formats that a report is written in.

mod brief;
mod csv;
pub mod html;
mod markdown;
pub mod names;
mod parts;
#[cfg(feature = "documents")]
mod pdf;
#[cfg(feature = "documents")]
mod pictures;
pub mod terminal;
mod units;

use crate::{
    Block, Card, CardFigure, Cell, Column, Data, Error, SECTIONS, Section, Table, TableRow, author,
    findings, logo,
    merge::is_imported,
    section::{self, Rendered},
    sweep::SweepTable,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    path::{Path, PathBuf},
};
use tailmark_model::{LogoKind, number};
use tailmark_study::{OwnFiles, Study, own_files};
use terminal::Screen;

/// One format.
#[derive(Debug, Clone, Copy)]
pub struct ReportFormat {
    /// Unique; what `--format` takes.
    pub name: &'static str,
    /// One line for `list`.
    pub about: &'static str,
    /// Its files beside the folder, the main one first.
    pub pages: &'static [&'static str],
    /// The folder of its other files.
    pub folder: Option<Folder>,
    /// Makes its files.
    pub files: fn(&Report) -> Result<Vec<ReportFile>, Error>,
    /// Writes the whole report for this screen, if it is read directly.
    pub text: Option<WriteText>,
}

/// A folder of files of one kind, such as the charts.
#[derive(Debug, Clone, Copy)]
pub struct Folder {
    /// Its name.
    pub name: &'static str,
    /// The extensions of its files. Files of an earlier report that the new one lacks are removed,
    /// because they would be mistaken for a part of it.
    pub ending: &'static str,
}

impl Folder {
    fn file(self, name: &str, bytes: Vec<u8>) -> ReportFile {
        ReportFile {
            folder: self.name,
            name: format!("{name}.{}", self.ending),
            bytes,
        }
    }
}

/// A file of a report.
#[derive(Debug)]
pub struct ReportFile {
    /// The folder that it is in; empty for the directory of the report.
    pub folder: &'static str,
    /// Its name.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl ReportFile {
    fn page(name: &str, bytes: Vec<u8>) -> Self {
        Self {
            folder: "",
            name: name.to_owned(),
            bytes,
        }
    }
}

/// Writes a report as text.
pub type WriteText = fn(&Report, Screen, &mut dyn Write) -> io::Result<()>;

impl ReportFormat {
    /// The format with this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(name: &str) -> Result<&'static Self, Error> {
        let names = || FORMATS.iter().map(|f| f.name);
        let found = FORMATS.iter().find(|f| f.name == name);
        found.ok_or_else(|| Error::UnknownFormat {
            name: name.to_owned(),
            known: names().collect::<Vec<_>>().join(", ") + ELSEWHERE,
        })
    }
}

/// What is said of formats that a program without documents lacks.
const ELSEWHERE: &str = if cfg!(feature = "documents") {
    ""
} else {
    "; `./dev build` builds one with md, pdf, png and svg"
};

/// Every format, by name.
pub const FORMATS: &[ReportFormat] = &[
    brief::FORMAT,
    csv::FORMAT,
    html::FORMAT,
    #[cfg(feature = "documents")]
    pictures::MARKDOWN,
    #[cfg(feature = "documents")]
    pdf::FORMAT,
    #[cfg(feature = "documents")]
    pictures::PNG,
    #[cfg(feature = "documents")]
    pictures::SVG,
    terminal::FORMAT,
];

/// A report, or another page of blocks, on its way into files. What several formats need is made once.
#[derive(Debug, Default)]
pub struct Report {
    head: Head,
    sections: Rendered,
    /// The same in a few pages. `None` of a page that is no report.
    brief: Option<Box<Report>>,
    #[cfg(feature = "documents")]
    pictures: pictures::Pictures,
}

/// The part above the sections, and facts about all of them.
#[derive(Debug, Default)]
pub struct Head {
    /// Above the title: what kind of page it is.
    pub kicker: &'static str,
    /// The title.
    pub title: String,
    /// Below the title.
    pub facts: Vec<String>,
    /// The systems that can be shown and hidden, each with its colour.
    pub systems: Vec<(String, &'static str)>,
    /// Every name of its studies, of workloads too.
    pub names: BTreeSet<String>,
    /// When the last of its studies began, milliseconds since 1970 UTC.
    pub began_ms: Option<u64>,
    /// The author's words at the foot of each page; empty: none.
    pub footer: String,
    /// The author's picture.
    pub logo: Option<(LogoKind, Vec<u8>)>,
    /// Whether it is a brief.
    pub is_brief: bool,
}

impl Head {
    /// Of the report of a study.
    const KICKER: &str = "Storage qualification report";

    fn from_data(data: &Data) -> Self {
        let sweep = SweepTable::new(data);
        let compared = sweep.systems.iter().map(|system| system.name.clone());
        let compared = compared.map(|name| {
            let color = sweep.color(&name);
            (name, color)
        });
        let systems = data.systems.iter().map(|system| &system.name);
        let workloads = data.points.iter().map(|point| &point.key.workload);
        let titles = data.headers.iter().map(|header| &header.title);
        Self {
            kicker: Self::KICKER,
            title: title(data),
            facts: facts(data),
            systems: compared.collect(),
            names: systems.chain(workloads).chain(titles).cloned().collect(),
            began_ms: data.headers.iter().map(|header| header.created_ms).max(),
            footer: author::footer(data),
            logo: logo::logo(data),
            is_brief: false,
        }
    }
}

impl Report {
    /// The report, without its brief.
    #[must_use]
    pub fn new(data: &Data) -> Self {
        Self::with_sections(Head::from_data(data), render(data))
    }

    /// The report with what these formats need of it.
    fn for_formats(data: &Data, formats: &[&str]) -> Self {
        if !formats.contains(&brief::FORMAT.name) {
            return Self::new(data);
        }
        let brief_head = Head {
            kicker: "Storage qualification brief",
            is_brief: true,
            ..Head::from_data(data)
        };
        let brief = Self::with_sections(brief_head, crate::brief::sections(data));
        Self {
            brief: Some(Box::new(brief)),
            ..Self::new(data)
        }
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
}

/// A report that was written.
#[derive(Debug, Clone)]
pub struct Written {
    /// The place of each format's output: a file, or the directory of several.
    pub paths: Vec<PathBuf>,
    /// The first sentences: who leads, and by how much; `None` if no systems are compared.
    pub headline: Option<String>,
    /// The highest ops/s of each system in each workload; `None` if there are none.
    pub peaks: Option<Table>,
    /// Each code of its findings and how many there are, in the report's order.
    pub findings: Vec<(String, usize)>,
}

impl Written {
    /// The place of its first format.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.paths[0]
    }

    /// The summary for a terminal: headline, peaks, and the codes of findings.
    #[must_use]
    pub fn digest(&self, screen: Screen) -> Vec<String> {
        let headline = self.headline.iter();
        let headline = headline.flat_map(|headline| terminal::paragraph(headline, screen));
        let mut lines: Vec<String> = headline.collect();
        let peaks = self.peaks.iter();
        lines.extend(peaks.flat_map(|peaks| terminal::table(peaks, screen)));
        if !self.findings.is_empty() {
            let codes = self.findings.iter();
            let codes = codes.map(|(code, n)| format!("{code} {}", number::count(*n as u64)));
            let codes = format!("findings: {}", codes.collect::<Vec<_>>().join(", "));
            lines.extend(terminal::paragraph(&codes, screen));
        }
        lines
    }
}

/// Reads the studies in these directories.
///
/// # Errors
/// If one of them contains no study, or there is nothing to report.
pub fn read_studies(studies: &[PathBuf]) -> Result<Data, Error> {
    let open = |dir: &PathBuf| Study::open_read_only(dir).map_err(Error::Study);
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

/// Writes a report into a directory in these formats, at least one, and returns its summary.
///
/// # Errors
/// As [`write()`].
pub fn write_data(data: &Data, formats: &[&str], out_dir: &Path) -> Result<Written, Error> {
    let report = Report::for_formats(data, formats);
    let entries = findings::Index::new(data).entries(data);
    let codes = entries.into_iter();
    Ok(Written {
        paths: write_files(&report, formats, out_dir)?,
        headline: section::headline(data),
        peaks: section::peaks(data),
        findings: codes
            .map(|entry| (entry.badge.code.clone(), entry.places()))
            .collect(),
    })
}

/// Refuses a directory in which a report in these formats would overwrite anything but an earlier
/// report. The charts and tables of the new report are not known before it is made, so the earlier
/// report's are checked.
///
/// # Errors
/// If that is so, a format is unknown, or existing files cannot be read.
pub fn refuse_foreign(formats: &[&str], out_dir: &Path) -> Result<(), Error> {
    for name in formats {
        let format = ReportFormat::find(name)?;
        OwnFiles::read(out_dir, "")?.refuse_foreign(format.pages.iter().copied())?;
        if let Some(folder) = format.folder {
            let own = OwnFiles::read(out_dir, folder.name)?;
            own.refuse_foreign(own.names())?;
        }
    }
    Ok(())
}

/// Writes a report in one format and returns its place.
///
/// # Errors
/// If the format is unknown or a file cannot be written.
pub fn write(format: &str, data: &Data, out_dir: &Path) -> Result<PathBuf, Error> {
    let report = Report::for_formats(data, &[format]);
    let paths = write_files(&report, &[format], out_dir)?;
    Ok(paths.into_iter().next().expect("a format has a place"))
}

/// Writes the files of all formats, and says where each format is. Nothing is written before all files
/// are made and every place is found to be free or tailmark's.
fn write_files(report: &Report, formats: &[&str], out_dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let formats = formats.iter().map(|name| ReportFormat::find(name));
    let formats = formats.collect::<Result<Vec<_>, _>>()?;
    let mut folders: BTreeMap<&str, BTreeMap<String, Vec<u8>>> = BTreeMap::new();
    for format in &formats {
        for file in (format.files)(report)? {
            let files = folders.entry(file.folder).or_default();
            files.insert(file.name, file.bytes);
        }
    }
    for (folder, files) in &folders {
        OwnFiles::read(out_dir, folder)?.refuse_foreign(files.keys().map(String::as_str))?;
    }
    // A page comes after what it refers to.
    for (name, files) in folders.iter().rev() {
        let own = formats.iter().filter_map(|format| format.folder);
        let own = own.filter(|folder| folder.name == *name);
        let endings: Vec<_> = own.map(|folder| folder.ending).collect();
        own_files::write(out_dir, name, files, &endings)?;
    }
    let places = formats.iter().flat_map(|format| {
        let folder = format.folder.filter(|_| format.pages.is_empty());
        let pages = format.pages.iter().copied();
        pages.chain(folder.map(|folder| folder.name))
    });
    Ok(places.map(|path| out_dir.join(path)).collect())
}

/// The sections that the report names, or all, if they have something to say.
fn render(data: &Data) -> Rendered {
    let named = data.report_settings().sections;
    let is_named = |section: &&Section| named.is_empty() || named.iter().any(|n| n == section.name);
    let sections = SECTIONS.iter().filter(is_named);
    sections
        .map(|section| (section, with_something((section.render)(data))))
        .filter(|(_, blocks)| !blocks.is_empty())
        .collect()
}

/// Without tables that have no value, and headings of nothing else.
fn with_something(blocks: Vec<Block>) -> Vec<Block> {
    let is_full = |block: &Block| !matches!(block, Block::Table(table) if table.is_empty());
    let mut kept: Vec<Block> = Vec::with_capacity(blocks.len());
    let mut has_lost = false;
    for block in blocks {
        if !is_full(&block) {
            has_lost = true;
            continue;
        }
        let is_heading = |known: &Block| matches!(known, Block::Heading { .. });
        if has_lost && is_heading(&block) && kept.last().is_some_and(is_heading) {
            kept.pop();
        }
        has_lost = false;
        kept.push(block);
    }
    if has_lost && matches!(kept.last(), Some(Block::Heading { .. })) {
        kept.pop();
    }
    kept
}

fn title(data: &Data) -> String {
    if let Some(title) = data.report_settings().title {
        return title;
    }
    let mut titles: Vec<&str> = data.headers.iter().map(|h| h.title.as_str()).collect();
    titles.dedup();
    titles.join(" · ")
}

/// The lines under the title: what was compared, and when.
fn facts(data: &Data) -> Vec<String> {
    let compared: Vec<&str> = data
        .systems
        .iter()
        .filter(|s| s.ceiling_for.is_none())
        .map(|s| s.name.as_str())
        .collect();
    let mut facts = vec![number::list(&compared)];
    let is_import = !data.systems.is_empty() && data.systems.iter().all(is_imported);
    for header in &data.headers {
        if let Some(shape) = header.settings.data {
            facts.push(number::plural(shape.records, "record"));
        }
        let began = number::instant(header.created_ms);
        facts.push(if is_import {
            // The date of the measurement is unknown.
            let day = began.split(' ').next().unwrap_or_default();
            format!("imported on {day}")
        } else {
            began
        });
    }
    facts.dedup();
    facts
}

/// Cards as a table, for formats that have none.
fn cards(cards: &[Card]) -> Table {
    let row = |card: &Card, at: usize, figure: &CardFigure| {
        let is_first = at == 0;
        let value = Cell {
            strong: true,
            badges: if is_first {
                card.badges.clone()
            } else {
                Vec::new()
            },
            ..Cell::new(&figure.value)
        };
        let title = if is_first { card.title.as_str() } else { "" };
        TableRow {
            cells: vec![Cell::new(title), value, Cell::new(&figure.about)],
            total: false,
        }
    };
    let rows = cards.iter().flat_map(|card| {
        let figures = card.figures.iter().enumerate();
        figures.map(move |(at, figure)| row(card, at, figure))
    });
    Table {
        columns: vec![Column::text(""); 3],
        rows: rows.collect(),
        ..Table::default()
    }
}
