//! Tables of a report in the width of a terminal. A wide table is split between groups of columns
//! into tables one below the other, each with the columns that name its rows.

use super::{
    Screen,
    text::{clean, width, wrap},
};
use crate::{
    Cell, Column, Table, Text,
    format::parts::{names, parts},
};
use tabled::{
    Table as Grid,
    builder::Builder,
    settings::{
        Alignment, Color, Padding, Style,
        formatting::AlignmentStrategy,
        object::{Cell as At, Columns, Rows},
        span::ColumnSpan,
        style::HorizontalLine,
    },
};

/// Between two columns.
const GAP: usize = 2;

/// The lines of a table.
#[must_use]
pub fn table(table: &Table, screen: Screen) -> Vec<String> {
    let mut lines = Vec::new();
    if !table.caption.is_empty() {
        lines.push(screen.bold(&clean(&table.caption)));
    }
    let layout = Layout::from_table(table, screen);
    for (i, part) in layout.parts.iter().enumerate() {
        if i > 0 {
            lines.push(String::new());
        }
        let part: Vec<(&Column, &Laid)> = part
            .iter()
            .map(|&column| (&table.columns[column], &layout.columns[column]))
            .collect();
        let text = grid(table, &part, screen).to_string();
        lines.extend(text.lines().map(|line| line.trim_end().to_owned()));
    }
    if !table.note.is_empty() {
        let note = wrap(&Text::plain(&table.note), screen.columns, Screen::default());
        lines.extend(note.iter().map(|line| screen.dim(line)));
    }
    lines
}

/// The layout of a table's columns.
#[derive(Clone)]
struct Layout {
    columns: Vec<Laid>,
    /// The columns of each partial table. Columns that name rows are in all.
    parts: Vec<Vec<usize>>,
}

impl Layout {
    /// One table if breaking words makes it fit. Otherwise several tables, whose row names leave
    /// half of the screen to the rest if possible.
    fn from_table(table: &Table, screen: Screen) -> Self {
        /// Widths at which words are broken, if that helps.
        const WORDS: [usize; 6] = [44, 32, 24, 16, 12, 8];
        let whole = Self::with_words(table, screen.columns, screen);
        if whole.parts.len() == 1 && whole.fits(screen) {
            return whole;
        }
        let mut broken = WORDS
            .map(|words| Self::with_words(table, words, screen))
            .to_vec();
        let names: Vec<usize> = (0..names(table)).collect();
        let leaves_room = |layout: &Self| layout.width_of(&names) <= screen.columns / 2;
        // Words can be broken further, so that a value stays beside its caption.
        let is_words = table.columns.iter().all(|column| !column.numeric);
        let is_good = |layout: &Self| layout.parts.len() == 1 || (!is_words && leaves_room(layout));
        let good = broken
            .iter()
            .position(|layout| layout.fits(screen) && is_good(layout));
        let good = good.or_else(|| broken.iter().position(|layout| layout.fits(screen)));
        broken.swap_remove(good.unwrap_or(WORDS.len() - 1))
    }

    fn with_words(table: &Table, words_width: usize, screen: Screen) -> Self {
        let columns = 0..table.columns.len();
        let columns: Vec<Laid> = columns
            .map(|index| Laid::new(table, index, words_width, screen))
            .collect();
        let widths: Vec<usize> = columns.iter().map(|laid| laid.width + GAP).collect();
        let parts = parts(table, &widths, screen.columns + GAP);
        Self { columns, parts }
    }

    fn width_of(&self, columns: &[usize]) -> usize {
        columns
            .iter()
            .map(|&index| self.columns[index].width + GAP)
            .sum()
    }

    fn fits(&self, screen: Screen) -> bool {
        let mut parts = self.parts.iter();
        parts.all(|part| self.width_of(part) <= screen.columns + GAP)
    }
}

/// A column: its cells broken into lines.
#[derive(Clone)]
struct Laid {
    index: usize,
    width: usize,
    title: String,
    cells: Vec<String>,
}

impl Laid {
    /// A column with words broken at this width.
    fn new(table: &Table, index: usize, words_width: usize, screen: Screen) -> Self {
        /// A title is not broken below that.
        const TITLE: usize = 10;
        let column = &table.columns[index];
        let all = table
            .rows
            .iter()
            .map(|row| lines(&row.cells[index], words_width, screen));
        let cells: Vec<Vec<String>> = all.collect();
        let widths = cells.iter().flatten().map(|line| width(line));
        let words = column.title.split(' ').map(width);
        let title_width = width(&column.title).min(TITLE);
        let width = widths.chain(words).chain([title_width]).max().unwrap_or(0);
        let title = wrap(&Text::plain(&column.title), width, Screen::default());
        Self {
            index,
            width,
            title: title.join("\n"),
            cells: cells.into_iter().map(|lines| lines.join("\n")).collect(),
        }
    }
}

/// The lines of a cell. Without colours, its emphasis is shown by signs.
fn lines(cell: &Cell, words_width: usize, screen: Screen) -> Vec<String> {
    let text = match (screen.is_colored, cell.strong, cell.muted) {
        (false, true, _) => format!("*{}*", cell.text),
        (false, _, true) if cell.text != Cell::none().text => format!("({})", cell.text),
        _ => cell.text.clone(),
    };
    let text = Text::plain(text).and_badges(cell.badges.clone());
    let mut lines = wrap(&text, words_width, Screen::default());
    if !cell.detail.is_empty() {
        let detail = Text::plain(&cell.detail);
        lines.extend(wrap(&detail, words_width, Screen::default()));
    }
    lines
}

fn grid(table: &Table, part: &[(&Column, &Laid)], screen: Screen) -> Grid {
    let groups: Vec<&[(&Column, &Laid)]> = part.chunk_by(|a, b| a.0.group == b.0.group).collect();
    let is_grouped = groups.iter().any(|group| !group[0].0.group.is_empty());
    let is_titled = part.iter().any(|(column, _)| !column.title.is_empty());
    let mut builder = Builder::default();
    if is_grouped {
        builder.push_record(groups.iter().flat_map(|group| {
            let width = group
                .iter()
                .map(|(_, laid)| laid.width + GAP)
                .sum::<usize>()
                - GAP;
            let name = wrap(&Text::plain(&group[0].0.group), width, Screen::default());
            let rest = std::iter::repeat_n(String::new(), group.len() - 1);
            std::iter::once(name.join("\n")).chain(rest)
        }));
    }
    if is_titled {
        builder.push_record(part.iter().map(|(_, laid)| laid.title.clone()));
    }
    for row in 0..table.rows.len() {
        builder.push_record(part.iter().map(|(_, laid)| laid.cells[row].clone()));
    }
    let head = usize::from(is_grouped) + usize::from(is_titled);
    let mut grid = builder.build();
    let rule = HorizontalLine::new('─').intersection(' ');
    match head {
        0 => grid.with(Style::blank()),
        head => grid.with(Style::blank().horizontals([(head, rule)])),
    };
    grid.with(Padding::new(0, GAP - 1, 0, 0));
    grid.modify(Columns::last(), Padding::zero());
    grid.with(AlignmentStrategy::PerLine);
    for (at, _) in part.iter().enumerate().filter(|(_, (c, _))| c.numeric) {
        grid.modify(Columns::one(at), Alignment::right());
    }
    grid.modify(Rows::new(..head), Alignment::bottom());
    let mut at = 0;
    for group in groups.iter().filter(|_| is_grouped) {
        grid.modify(At::new(0, at), Alignment::left());
        if group.len() > 1 {
            grid.modify(At::new(0, at), ColumnSpan::new(group.len() as isize));
        }
        at += group.len();
    }
    if screen.is_colored {
        emphasise(&mut grid, table, part, head);
    }
    grid
}

/// Peaks are bold, and less important cells are grey.
fn emphasise(grid: &mut Grid, table: &Table, part: &[(&Column, &Laid)], head: usize) {
    for (row, cells) in table.rows.iter().map(|row| &row.cells).enumerate() {
        for (at, (_, laid)) in part.iter().enumerate() {
            let cell = &cells[laid.index];
            if cell.strong {
                grid.modify(At::new(head + row, at), Color::BOLD);
            } else if cell.muted {
                grid.modify(At::new(head + row, at), Color::FG_BRIGHT_BLACK);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Badge, TableRow};

    fn study() -> Table {
        let column = |system: &str, title: &str| Column::number(title).group(system);
        let row = |name: &str, ops: [&str; 2]| TableRow {
            cells: vec![
                Cell::new(name),
                Cell {
                    strong: true,
                    badges: vec![Badge {
                        letter: "a".into(),
                        code: "errors".into(),
                    }],
                    ..Cell::new(ops[0]).with_detail("1 – 2")
                },
                Cell::new("16"),
                Cell::new(ops[1]),
                Cell::none(),
            ],
            total: false,
        };
        Table {
            columns: vec![
                Column::text("Workload"),
                column("A drive with a long name", "peak ops/s"),
                column("A drive with a long name", "at threads"),
                column("B", "peak ops/s"),
                column("B", "at threads"),
            ],
            rows: vec![
                row("YCSB A", ["12,345", "9,000"]),
                row("YCSB B", ["1", "2"]),
            ],
            ..Table::default()
        }
    }

    #[test]
    fn a_table_that_fits_is_one_with_its_groups_above() {
        let lines = table(&study(), Screen::default());
        assert_eq!(
            lines,
            [
                "          A drive with a long name  B",
                "Workload    peak ops/s  at threads  peak ops/s  at threads",
                "───────── ───────────── ─────────── ─────────── ──────────",
                "YCSB A    *12,345* [a]          16       9,000           –",
                "                 1 – 2",
                "YCSB B         *1* [a]          16           2           –",
                "                 1 – 2",
            ]
        );
    }

    #[test]
    fn a_wide_table_is_cut_between_groups_and_names_its_rows_again() {
        let mut wide = study();
        for n in 0..12 {
            wide.columns
                .push(Column::number("peak ops/s").group(format!("system {n}")));
            for row in &mut wide.rows {
                row.cells.push(Cell::new("1,000,000"));
            }
        }
        let lines = table(&wide, Screen::default());
        assert!(lines.iter().all(|line| width(line) <= 100), "{lines:#?}");
        let heads = lines.iter().filter(|line| line.starts_with("Workload"));
        assert_eq!(heads.count(), 3, "{lines:#?}");
        let whole = lines.join("\n");
        assert!((0..12).all(|n| whole.contains(&format!("system {n}"))));
    }

    #[test]
    fn colours_take_the_place_of_stars() {
        let colored = table(&study(), Screen::new(100, true)).join("\n");
        assert!(colored.contains("\u{1b}[1m12,345 [a]"), "{colored}");
        assert!(!colored.contains('*'));
    }
}
