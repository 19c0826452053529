//! The studies of a folder in sequence: an index page with the headline of each, and trends of each
//! system in each workload: its peak, a latency or another metric, and the highest rate that held
//! the limits of a search. Studies from which on a level differs are marked.

mod trends;

use crate::{
    Block, Cell, Chart, Column, Data, Error, Figure, Report, Section, Table, TableRow, Text,
    block::anchor,
    data::Search,
    format::{Head, names::address},
    grid_name::workload_title,
    section, style,
    sweep::SweepTable,
};
use serde_json::json;
use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};
use tailmark_model::{Bound, Bounded, Header, Metric, in_one_line, number, printable};
use tailmark_stats::{
    comparison::RunsRead,
    statistics::{self, SIDE_MIN},
};
use tailmark_study::{OwnFiles, Study, own_files};
use trends::{Change, LevelName, Trend, trends};

static CHANGES: Section = Section::of_page("changes", "Changes");
static TRENDS: Section = Section::of_page("trends", "Trends");
static STUDIES: Section = Section::of_page("studies", "Studies");

/// The page that a folder gets.
pub const PAGE: &str = "index.html";

/// How many directories below a folder are searched for studies.
const DEPTH: usize = 3;

/// The data kept of a study.
struct Entry {
    dir: PathBuf,
    header: Header,
    /// By which copies are known.
    runs: RunsRead,
    headline: String,
    systems: Vec<String>,
    levels: Vec<Level>,
    has_page: bool,
}

/// The results of a system.
struct Level {
    name: LevelName,
    system: String,
    /// In the unit of the metric.
    value: Bounded,
}

/// The written index of a folder.
#[derive(Debug)]
pub struct History {
    /// The page.
    pub path: PathBuf,
    /// The number of studies on it.
    pub studies: usize,
    /// The studies that could not be read, and why.
    pub skipped: Vec<String>,
    /// Studies that are copies of others and count once: which, and of which.
    pub copies: Vec<String>,
    /// The changes in words.
    pub changes: Vec<String>,
}

/// Writes the index page of the studies in a folder into it: the peaks, the results of searches,
/// and these metrics at the highest thread count or rate. Without any, the metric of a study's
/// report.
///
/// # Errors
/// If there are no studies, the page cannot be written, or a foreign page exists.
pub fn write_history(folder: &Path, metrics: &[Metric]) -> Result<History, Error> {
    OwnFiles::read(folder, "")?.refuse_foreign([PAGE])?;
    let mut skipped = Vec::new();
    let mut entries = Vec::new();
    for dir in study_directories(folder, DEPTH) {
        match entry(&dir, metrics) {
            Ok(entry) => entries.push(entry),
            Err(why) => {
                let line = format!("{}: {}", dir.display(), in_one_line(&why));
                skipped.push(printable(&line).into_owned());
            }
        }
    }
    if entries.is_empty() {
        return Err(Error::NoStudies {
            folder: folder.to_owned(),
        });
    }
    entries.sort_by(|a, b| {
        let key = |entry: &Entry| (entry.header.created_ms, entry.dir.clone());
        key(a).cmp(&key(b))
    });
    let (entries, copies) = without_copies(entries);
    let trends = trends(&entries);
    let changes: Vec<Change> = trends
        .iter()
        .flat_map(|trend| trend.changes(&entries))
        .collect();
    let sections = vec![
        (&CHANGES, change_blocks(&changes, entries.len())),
        (&TRENDS, trend_blocks(&trends, &entries)),
        (&STUDIES, study_blocks(&entries, &copies, &skipped, folder)),
    ];
    let name = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = name
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let colors = (0..).map(|index| style::look(index).color);
    let head = Head {
        kicker: "Studies of storage",
        title: name,
        facts: facts(&entries),
        systems: systems(&entries).into_iter().zip(colors).collect(),
        names: names(&entries),
        began_ms: entries.last().map(|entry| entry.header.created_ms),
        ..Head::default()
    };
    let page = Report::with_sections(head, sections).html();
    own_files::write(folder, "", &[(PAGE.to_owned(), page)].into(), &[])?;
    Ok(History {
        path: folder.join(PAGE),
        studies: entries.len(),
        skipped,
        copies,
        changes: changes.into_iter().map(|change| change.words).collect(),
    })
}

/// The directories with a study, in a folder and below.
fn study_directories(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if Study::exists(folder) {
        found.push(folder.to_owned());
    }
    let Some(depth) = depth.checked_sub(1) else {
        return found;
    };
    let inside = fs::read_dir(folder).into_iter().flatten().flatten();
    let inside = inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut inside: Vec<PathBuf> = inside.map(|entry| entry.path()).collect();
    inside.sort();
    found.extend(inside.iter().flat_map(|dir| study_directories(dir, depth)));
    found
}

fn entry(dir: &Path, metrics: &[Metric]) -> Result<Entry, Error> {
    let study = Study::look_at(dir).map_err(Error::Study)?;
    let data = Data::read(&[study])?;
    let sweep = SweepTable::new(&data);
    let systems = || sweep.systems.iter().map(|system| system.name.as_str());
    let levels = sweep.all_groups().flat_map(|group| {
        let level = |metric, at: &str, system: &str, value| Level {
            name: LevelName {
                workload: group.title_with_conditions(),
                metric,
                at: at.to_owned(),
            },
            system: system.to_owned(),
            value,
        };
        let peak = |system| {
            let ops = group.peak(system)?.bounded();
            Some(level(Metric::OPS_PER_SEC, "at peak", system, ops))
        };
        let peaks = systems().filter(|_| group.has_peaks());
        let mut levels: Vec<Level> = peaks.filter_map(peak).collect();
        let Some(&step) = group.steps.last() else {
            return levels;
        };
        let at = format!("at {}", step.place());
        let stated = sweep.metric(group).filter(|_| metrics.is_empty());
        for metric in metrics.iter().copied().chain(stated) {
            levels.extend(systems().filter_map(|system| {
                let value = group.valid_cell(system, step)?.value(metric)?;
                Some(level(metric, &at, system, metric.in_unit(value.middle)))
            }));
        }
        levels
    });
    Ok(Entry {
        dir: dir.to_owned(),
        header: data.headers[0].clone(),
        runs: data.runs_read(),
        headline: section::headline(&data).unwrap_or_default(),
        systems: systems().map(str::to_owned).collect(),
        levels: levels
            .chain(data.searches.iter().filter_map(held))
            .collect(),
        has_page: dir.join("report.html").exists(),
    })
}

/// The highest rate that held the limits of a search, a lower bound if no higher rate broke them.
/// `None` if none did.
fn held(search: &Search) -> Option<Level> {
    let answer = search.answer();
    let bound = if answer.high.is_some() {
        Bound::Exact
    } else {
        Bound::AtLeast
    };
    Some(Level {
        name: LevelName {
            workload: workload_title(&search.slo.workload),
            metric: Metric::OPS_PER_SEC,
            at: format!("that hold {}", search.settings.target()),
        },
        system: search.slo.system.clone(),
        value: Bounded {
            value: answer.low?,
            bound,
        },
    })
}

/// The studies without copies, and which are copies of which, such as backups. Each copy would
/// count as one more run of a single measurement. The first of equals counts.
fn without_copies(all: Vec<Entry>) -> (Vec<Entry>, Vec<String>) {
    let (mut own, mut copies) = (Vec::<Entry>::new(), Vec::new());
    for entry in all {
        let is_same = |other: &&Entry| other.header == entry.header && other.runs == entry.runs;
        if let Some(other) = own.iter().find(is_same) {
            let (copy, first) = (entry.dir.display(), other.dir.display());
            let words = format!("{copy} is a copy of {first}");
            copies.push(printable(&words).into_owned());
        } else {
            own.push(entry);
        }
    }
    (own, copies)
}

fn facts(entries: &[Entry]) -> Vec<String> {
    let instant = |entry: &Entry| number::instant(entry.header.created_ms);
    let mut facts = vec![match entries.len() {
        1 => "1 study".to_owned(),
        n => format!("{n} studies"),
    }];
    facts.extend(
        entries
            .first()
            .map(|entry| format!("from {}", instant(entry))),
    );
    facts.extend(entries.last().map(|entry| format!("to {}", instant(entry))));
    facts
}

/// Every name that stands on the page.
fn names(entries: &[Entry]) -> BTreeSet<String> {
    let levels = entries.iter().flat_map(|entry| &entry.levels);
    let names = levels.flat_map(|level| [&level.system, &level.name.workload]);
    names
        .chain(entries.iter().map(|entry| &entry.header.title))
        .cloned()
        .collect()
}

/// Every system, in the order in which they came.
fn systems(entries: &[Entry]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let all = entries.iter().flat_map(|entry| &entry.systems);
    all.filter(|name| seen.insert((*name).clone()))
        .cloned()
        .collect()
}

fn change_blocks(changes: &[Change], studies: usize) -> Vec<Block> {
    let how = format!(
        "A change is a study from which the values of a system are higher or lower by more than {}. \
         The chance of a false alarm is 1 % in each series, adjusted for all studies at which a change \
         could be. A change needs {SIDE_MIN} studies on both sides.",
        number::limit(statistics::EQUIVALENCE)
    );
    let text = match changes.len() {
        0 if studies < 2 * SIDE_MIN => Text::strong("There are too few studies to show a change. "),
        0 => Text::strong("No change is shown. "),
        n => Text::strong(format!("{}. ", number::plural(n as u64, "change"))),
    };
    let mut blocks = vec![Block::Text(text.and(how))];
    if !changes.is_empty() {
        blocks.push(Block::Table(Table {
            columns: vec![
                Column::text("System"),
                Column::text("Workload"),
                Column::text("Metric"),
                Column::number("change").unit("ratio"),
                Column::text("From"),
                Column::text("Study"),
            ],
            rows: changes.iter().map(|change| change.row.clone()).collect(),
            ..Table::default()
        }));
    }
    blocks
}

fn trend_blocks(trends: &[Trend], entries: &[Entry]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for of_workload in trends.chunk_by(|a, b| a.name.workload == b.name.workload) {
        let workload = &of_workload[0].name.workload;
        let place = anchor(&["trend", workload]);
        blocks.push(Block::Heading {
            anchor: place.clone(),
            title: workload.clone(),
            about: String::new(),
        });
        let chart = |trend: &Trend| Chart {
            title: trend.name.title(),
            hint: trend.name.hint(),
            about: format!(
                "{} of each system in {workload}, study by study.",
                trend.name.title()
            ),
            height: 300,
            wide: true,
            base: trend.option(entries),
            variants: vec![json!({})],
            plot: None,
        };
        blocks.push(Block::Figure(Figure {
            anchor: anchor(&[&place, "chart"]),
            controls: Vec::new(),
            charts: of_workload.iter().map(chart).collect(),
        }));
    }
    blocks
}

fn study_blocks(
    entries: &[Entry],
    copies: &[String],
    skipped: &[String],
    folder: &Path,
) -> Vec<Block> {
    let table = Block::Table(studies(entries, folder));
    let copies = (!copies.is_empty()).then(|| {
        let text = Text::strong("Copies count once. ");
        Block::Text(text.and(format!("{}.", copies.join("; "))))
    });
    let skipped = (!skipped.is_empty()).then(|| {
        let text = Text::strong("Left out, because they cannot be read: ");
        Block::Text(text.and(format!("{}.", skipped.join("; "))))
    });
    std::iter::once(table)
        .chain(skipped)
        .chain(copies)
        .collect()
}

/// The newest first.
fn studies(entries: &[Entry], folder: &Path) -> Table {
    let row = |entry: &Entry| {
        let name = entry.dir.strip_prefix(folder).unwrap_or(&entry.dir);
        let name = if name.as_os_str().is_empty() {
            Path::new(".")
        } else {
            name
        };
        let link = if entry.has_page {
            link(&name.join("report.html"))
        } else {
            String::new()
        };
        TableRow {
            cells: vec![
                Cell::new(number::instant(entry.header.created_ms)),
                Cell {
                    link,
                    ..Cell::new(name.display().to_string())
                },
                Cell::new(&entry.header.title),
                Cell::new(entry.systems.join(", ")),
                Cell::new(&entry.headline),
            ],
            total: false,
        }
    };
    Table {
        columns: ["Begun", "Study", "Title", "Systems", "Headline"]
            .map(Column::text)
            .into(),
        rows: entries.iter().rev().map(row).collect(),
        ..Table::default()
    }
}

/// The address of a file from the page: one below it, whatever its directories are called.
fn link(path: &Path) -> String {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(format!("/{}", address(name))),
        _ => None,
    });
    format!(".{}", parts.collect::<String>())
}
