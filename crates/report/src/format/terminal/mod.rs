//! Text for a terminal: headings, sentences, tables and small charts, from the same blocks as the
//! page. Sections that the page folds are left out.

mod chart;
mod table;
mod text;

use super::{Head, Rendered, Report, ReportFile, ReportFormat, cards};
use crate::{Block, Error, Figure, FindingEntry, Text};
use anstyle::{AnsiColor, Color, RgbColor, Style};
use std::{
    io::{self, Write},
    ops::RangeInclusive,
};
use tailmark_model::number;

pub use table::table;
use text::{clean, wrap};

/// The row of the table of formats.
pub const FORMAT: ReportFormat = ReportFormat {
    name: "terminal",
    about: "text with tables and small charts: report.txt, or without -o standard output",
    pages: &[PAGE],
    folder: None,
    files,
    text: Some(write_text),
};

const PAGE: &str = "report.txt";

/// What text is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    columns: usize,
    is_colored: bool,
}

impl Screen {
    /// Narrower and wider ones are written for as if they had the next of these widths.
    pub const COLUMNS: RangeInclusive<usize> = 80..=200;
    /// The default width.
    pub const COLUMNS_UNKNOWN: usize = 100;

    /// A terminal with this many columns, and with colours or without.
    #[must_use]
    pub fn new(columns: usize, is_colored: bool) -> Self {
        Self {
            columns: columns.clamp(*Self::COLUMNS.start(), *Self::COLUMNS.end()),
            is_colored,
        }
    }

    fn paint(self, style: Style, text: &str) -> String {
        if self.is_colored {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    fn bold(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    fn dim(self, text: &str) -> String {
        let grey = Color::Ansi(AnsiColor::BrightBlack);
        self.paint(Style::new().fg_color(Some(grey)), text)
    }

    /// In a colour of a chart, `#rrggbb`.
    fn tint(self, color: &str, text: &str) -> String {
        let part = |at: usize| u8::from_str_radix(color.get(at..at + 2)?, 16).ok();
        match (part(1), part(3), part(5)) {
            (Some(red), Some(green), Some(blue)) => {
                let rgb = Color::Rgb(RgbColor(red, green, blue));
                self.paint(Style::new().fg_color(Some(rgb)), text)
            }
            _ => text.to_owned(),
        }
    }
}

/// The screen of a file or a pipe.
impl Default for Screen {
    fn default() -> Self {
        Self::new(Self::COLUMNS_UNKNOWN, false)
    }
}

/// The explanation of how bold and grey are shown without them.
const WITHOUT_COLOURS: &str = "*Bold* is in asterisks, (grey) in parentheses, and letters of \
                               findings are in [brackets].";

fn files(report: &Report) -> Result<Vec<ReportFile>, Error> {
    let mut bytes = Vec::new();
    write_text(report, Screen::default(), &mut bytes).expect("memory takes all that is written");
    Ok(vec![ReportFile::page(PAGE, bytes)])
}

fn write_text(report: &Report, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = head(&report.head, screen);
    if !screen.is_colored {
        lines.extend(paragraph(WITHOUT_COLOURS, screen));
    }
    lines.extend(sections(&report.sections, screen));
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// The lines of a page that has no marks in its cells.
pub fn lines(report: &Report, screen: Screen) -> Vec<String> {
    let mut lines = head(&report.head, screen);
    lines.extend(sections(&report.sections, screen));
    lines
}

fn head(head: &Head, screen: Screen) -> Vec<String> {
    let mut lines = vec![screen.bold(&clean(&head.title))];
    lines.extend(paragraph(&head.facts.join(" · "), screen));
    lines
}

fn sections(sections: &Rendered, screen: Screen) -> Vec<String> {
    let mut lines = Vec::new();
    for (section, blocks) in sections {
        let rule = "─".repeat(section.title.chars().count());
        lines.extend([String::new(), screen.bold(section.title), rule]);
        for (i, of_block) in blocks.iter().enumerate() {
            if i > 0 {
                lines.push(String::new());
            }
            lines.extend(block(of_block, screen));
        }
    }
    lines
}

/// A text in lines as wide as the screen.
pub fn paragraph(text: &str, screen: Screen) -> Vec<String> {
    wrap(&Text::plain(text), screen.columns, screen)
}

/// The lines of a block.
fn block(block: &Block, screen: Screen) -> Vec<String> {
    match block {
        Block::Heading { title, about, .. } => heading(title, about, screen),
        Block::Text(text) => wrap(text, screen.columns, screen),
        Block::Statements(texts) => texts.iter().flat_map(|t| item("- ", t, screen)).collect(),
        Block::Cards(of_cards) => table(&cards(of_cards), screen),
        Block::Table(of_block) => table(of_block, screen),
        Block::Figure(figure) => charts(figure, screen),
        Block::Beside(figure, texts) => {
            let texts = texts.iter().flat_map(|text| item("- ", text, screen));
            charts(figure, screen).into_iter().chain(texts).collect()
        }
        Block::Findings(entries) => findings(entries, screen),
        Block::Source { title, text } => {
            let lines = text.lines().map(|line| format!("    {}", clean(line)));
            let lines = lines.map(|line| line.trim_end().to_owned());
            std::iter::once(screen.bold(&clean(title)))
                .chain(lines)
                .collect()
        }
    }
}

fn heading(title: &str, about: &str, screen: Screen) -> Vec<String> {
    let about = if about.is_empty() {
        String::new()
    } else {
        format!(": {about}")
    };
    wrap(&Text::strong(title).and(about), screen.columns, screen)
}

/// A paragraph after a mark, its further lines below its first word.
fn item(mark: &str, text: &Text, screen: Screen) -> Vec<String> {
    let indent = mark.chars().count();
    let lines = wrap(text, screen.columns - indent, screen).into_iter();
    let begin = |i: usize| {
        if i == 0 {
            mark.to_owned()
        } else {
            " ".repeat(indent)
        }
    };
    lines
        .enumerate()
        .map(|(i, line)| begin(i) + &line)
        .collect()
}

/// The charts that lines of text can show, each as it is on the page at first.
fn charts(figure: &Figure, screen: Screen) -> Vec<String> {
    let drawn = figure.charts.iter().filter_map(|chart| {
        let mut lines = heading(&chart.title, &chart.hint, screen);
        lines.extend(chart::draw(chart.plot.as_ref()?, screen)?);
        lines.push(String::new());
        Some(lines)
    });
    let mut lines: Vec<String> = drawn.flatten().collect();
    if lines.is_empty() {
        return vec![screen.dim("(The chart is in the HTML report.)")];
    }
    lines.pop();
    lines
}

/// Findings that could change the headline, with tables. For the others, the title and the number.
fn findings(entries: &[FindingEntry], screen: Screen) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in entries {
        let places = number::plural(entry.places() as u64, "place");
        let title = format!("[{}] {}", entry.badge.letter, entry.title);
        lines.extend(heading(
            &title,
            &format!("{}, {places}", entry.badge.code),
            screen,
        ));
        lines.extend(paragraph(entry.means_before_evidence(), screen));
        for evidence in &entry.evidence {
            lines.extend(item("- ", &evidence.text, screen));
            if entry.changes_headline {
                lines.extend(table(&evidence.table, screen));
            }
        }
        lines.push(String::new());
    }
    lines.pop();
    lines
}
