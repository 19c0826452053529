//! Lays tables out on pages: rows are never cut, and each page repeats the header. A table wider
//! than a page is split between its systems, as on the HTML page.

use super::{
    flow::{Boxed, Flow, SIDE, WIDTH},
    lines::{Align, Line, Run, badge_run, lines, set, widths},
    tree::{Look, Piece, Placed, TagId, TagNodes},
};
use crate::{Cell, Column, Table, TableRow, format::parts::parts, style};
use krilla::tagging::{TableHeaderScope, Tag, TagKind};
use std::num::NonZeroU32;

/// Where a table stands, and how dense it is; points.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// From the left edge of the page.
    pub left: f32,
    /// The room for all columns.
    pub width: f32,
    /// Of letters, relative to a report's.
    pub size: f32,
    /// Left and right of a cell.
    pub padding: f32,
    /// Above and below.
    pub leading: f32,
}

impl Setting {
    /// In a report.
    pub const REPORT: Self = Self {
        left: SIDE,
        width: WIDTH,
        size: 1.0,
        padding: 4.0,
        leading: 2.4,
    };
    /// In a brief whose letters are as large as this, relative to those of the roomiest.
    pub fn brief(text: f32) -> Self {
        Self {
            leading: 0.9,
            size: text.max(0.9),
            ..Self::REPORT
        }
    }

    /// Right of a chart that ends here.
    pub fn beside(left: f32) -> Self {
        Self {
            left,
            width: SIDE + WIDTH - left,
            size: 0.92,
            padding: 2.4,
            ..Self::brief(1.0)
        }
    }

    fn sized(self, look: Look) -> Look {
        Look {
            size: look.size * self.size,
            ..look
        }
    }
}

/// A word that is wider is broken, points.
const WORD_MAX: f32 = 150.0;
/// Words that take no more stand on one line, points.
const SHORT: f32 = 84.0;

const TEXT: Look = Look::ink(7.6);
const HEAD: Look = Look::muted(7.2).bold();
const DETAIL: Look = Look::muted(6.4);

/// A table, or a part of one that is wider than its room.
pub struct Part<'r> {
    head: Boxed<'r>,
    repeated: Boxed<'r>,
    rows: Vec<Boxed<'r>>,
}

/// The parts of a table.
pub fn set_parts<'r>(
    table: &Table,
    section: TagId,
    tags: &mut TagNodes,
    setting: Setting,
) -> Vec<Part<'r>> {
    let all = column_widths(table, setting);
    // In tenths of a point.
    let least: Vec<usize> = all
        .iter()
        .map(|(_, word)| (word * 10.0).ceil() as usize)
        .collect();
    let parts = parts(table, &least, (setting.width * 10.0) as usize);
    let part = |part: Vec<usize>| {
        let of_part: Vec<(f32, f32)> = part.iter().map(|&i| all[i]).collect();
        let columns: Vec<&Column> = part.iter().map(|&i| &table.columns[i]).collect();
        let grid = Grid {
            columns,
            edges: edges(&of_part, setting.width),
            setting,
        };
        let tag = tags.within(section, Tag::Table);
        let head = grid.head(Some((tags, tag)));
        let repeated = grid.head(None);
        let row = |row: &TableRow| {
            let cells: Vec<&Cell> = part.iter().map(|&i| &row.cells[i]).collect();
            grid.row(&cells, row.total, tags, tag)
        };
        let rows = table.rows.iter().map(row).collect();
        Part {
            head,
            repeated,
            rows,
        }
    };
    parts.into_iter().map(part).collect()
}

/// Puts a table below the existing content.
pub fn push<'r>(
    table: &Table,
    section: TagId,
    tags: &mut TagNodes,
    flow: &mut Flow<'r>,
    setting: Setting,
) {
    for part in set_parts(table, section, tags, setting) {
        flow.push_list(part.head, &part.repeated, part.rows);
        flow.space(AFTER);
    }
}

/// Below a table, points.
const AFTER: f32 = 7.0;

/// Whether its room is wide enough for a table without a part of its own for some columns.
pub fn fits(table: &Table, setting: Setting) -> bool {
    let words = column_widths(table, setting);
    words.iter().map(|(_, word)| word).sum::<f32>() <= setting.width
}

/// A table in one box.
pub fn boxed<'r>(
    table: &Table,
    section: TagId,
    tags: &mut TagNodes,
    setting: Setting,
) -> Boxed<'r> {
    let parts = set_parts(table, section, tags, setting).into_iter();
    let mut whole = Boxed::default();
    parts
        .flat_map(|part| std::iter::once(part.head).chain(part.rows))
        .for_each(|one| whole.append(one));
    whole
}

/// The width of each column on one line, and with every possible break, including padding.
fn column_widths(table: &Table, setting: Setting) -> Vec<(f32, f32)> {
    let indices = 0..table.columns.len();
    indices.map(|i| column_width(table, i, setting)).collect()
}

fn column_width(table: &Table, index: usize, setting: Setting) -> (f32, f32) {
    let column = &table.columns[index];
    let title = widths(&[Run::plain(&column.title, setting.sized(HEAD))]);
    let cells = table.rows.iter().map(|row| {
        let cell = &row.cells[index];
        let (all, word) = widths(&cell_runs(cell, row.total, setting));
        let detail = widths(&[Run::plain(&cell.detail, setting.sized(DETAIL))]);
        // Short names are not broken.
        let word = if column.numeric {
            all
        } else {
            word.max(all.min(SHORT))
        };
        (all.max(detail.0), word.max(detail.1))
    });
    let start = (title.0.min(90.0).max(title.1), title.1);
    let (all, word) = cells.fold(start, |a, b| (a.0.max(b.0), a.1.max(b.1)));
    let padding = 2.0 * setting.padding;
    (all + padding, word.min(WORD_MAX) + padding)
}

/// The starts of columns and the end of the last: as wide as their text if possible, otherwise with
/// breaks in the longest.
fn edges(widths: &[(f32, f32)], room: f32) -> Vec<f32> {
    let least: f32 = widths.iter().map(|(_, word)| word).sum();
    let most: f32 = widths.iter().map(|(all, _)| all).sum();
    let share = if most > least {
        ((room - least) / (most - least)).min(1.0)
    } else {
        1.0
    };
    let shrink = (room / least).min(1.0);
    let width = |(all, word): &(f32, f32)| {
        if share > 0.0 {
            word + (all - word) * share
        } else {
            word * shrink
        }
    };
    let mut edges = vec![0.0];
    for of_column in widths {
        edges.push(edges[edges.len() - 1] + width(of_column));
    }
    edges
}

fn cell_runs(cell: &Cell, is_total: bool, setting: Setting) -> Vec<Run> {
    let look = setting.sized(if cell.muted {
        Look::muted(TEXT.size)
    } else {
        TEXT
    });
    let look = if cell.strong || is_total {
        look.bold()
    } else {
        look
    };
    let badges = cell
        .badges
        .iter()
        .map(|badge| badge_run(&badge.letter, &badge.code, look));
    std::iter::once(Run::plain(&cell.text, look))
        .chain(badges)
        .collect()
}

struct Grid<'t> {
    columns: Vec<&'t Column>,
    edges: Vec<f32>,
    setting: Setting,
}

impl Grid<'_> {
    /// A rule below all columns.
    fn rule<'r>(&self, y: f32, height: f32, color: &'static str) -> Placed<'r> {
        let piece = Piece::Rule {
            width: self.edges[self.edges.len() - 1],
            height,
            color,
        };
        Placed {
            x: self.setting.left,
            y,
            piece,
            slot: None,
        }
    }

    /// Where lines of a column stand.
    fn align(&self, index: usize) -> Align {
        if self.columns[index].numeric {
            Align::Right(self.setting.left + self.edges[index + 1] - self.setting.padding)
        } else {
            Align::Left(self.setting.left + self.edges[index] + self.setting.padding)
        }
    }

    fn room(&self, from: usize, to: usize) -> f32 {
        self.edges[to] - self.edges[from] - 2.0 * self.setting.padding
    }

    /// Titles, and above them those of their groups. A repeated header is not part of the tree.
    fn head<'r>(&self, mut tag: Option<(&mut TagNodes, TagId)>) -> Boxed<'r> {
        let mut pieces = Vec::new();
        let mut y = 0.0;
        let grouped = self.columns.iter().any(|column| !column.group.is_empty());
        if grouped {
            let row = tag.as_mut().map(|(tags, id)| tags.within(*id, Tag::TR));
            y += self.groups(&mut tag, row, &mut pieces);
        }
        let row = tag.as_mut().map(|(tags, id)| tags.within(*id, Tag::TR));
        let head = self.setting.sized(HEAD);
        let titles: Vec<Vec<Line>> = (0..self.columns.len())
            .map(|i| {
                lines(
                    &[Run::plain(&self.columns[i].title, head)],
                    self.room(i, i + 1),
                )
            })
            .collect();
        let highest = titles.iter().map(Vec::len).max().unwrap_or(1);
        let mut bottom = y;
        for (i, lines) in titles.iter().enumerate() {
            let cell = header(&mut tag, row, 1);
            // Titles of several lines end on one.
            let line = head.size * super::lines::LEADING;
            let top = y + self.setting.leading + (highest - lines.len()) as f32 * line;
            let to = tag
                .as_mut()
                .zip(cell)
                .map(|((tags, _), cell)| (&mut **tags, cell));
            bottom = f32::max(
                bottom,
                top + set(lines, self.align(i), top, to, &mut pieces),
            );
        }
        bottom += self.setting.leading;
        pieces.push(self.rule(bottom, 0.8, "#aab2bd"));
        Boxed {
            height: bottom + 1.0,
            pieces,
            ..Boxed::default()
        }
    }

    fn groups(
        &self,
        tag: &mut Option<(&mut TagNodes, TagId)>,
        row: Option<TagId>,
        pieces: &mut Vec<Placed<'_>>,
    ) -> f32 {
        let look = Look {
            color: style::INK,
            ..self.setting.sized(HEAD)
        };
        let mut from = 0;
        let mut height = 0.0_f32;
        for group in self.columns.chunk_by(|a, b| a.group == b.group) {
            let to = from + group.len();
            let cell = header(tag, row, group.len());
            let of_group = lines(&[Run::plain(&group[0].group, look)], self.room(from, to));
            let x = Align::Left(self.setting.left + self.edges[from] + self.setting.padding);
            let align = if group.len() == 1 {
                self.align(from)
            } else {
                x
            };
            let place = tag
                .as_mut()
                .zip(cell)
                .map(|((tags, _), cell)| (&mut **tags, cell));
            height = height.max(set(&of_group, align, self.setting.leading, place, pieces));
            from = to;
        }
        height + self.setting.leading
    }

    fn row<'r>(
        &self,
        cells: &[&Cell],
        is_total: bool,
        tags: &mut TagNodes,
        table: TagId,
    ) -> Boxed<'r> {
        let row = tags.within(table, Tag::TR);
        let mut pieces = Vec::new();
        let mut bottom = 0.0_f32;
        for (i, cell) in cells.iter().enumerate() {
            // The first column names the row.
            let kind: TagKind = match i {
                0 => Tag::TH(TableHeaderScope::Row).into(),
                _ => Tag::TD.into(),
            };
            let tag = tags.within(row, kind);
            let text = lines(
                &cell_runs(cell, is_total, self.setting),
                self.room(i, i + 1),
            );
            let mut y = self.setting.leading
                + set(
                    &text,
                    self.align(i),
                    self.setting.leading,
                    Some((tags, tag)),
                    &mut pieces,
                );
            if !cell.detail.is_empty() {
                let detail = lines(
                    &[Run::plain(&cell.detail, self.setting.sized(DETAIL))],
                    self.room(i, i + 1),
                );
                y += set(&detail, self.align(i), y, Some((tags, tag)), &mut pieces);
            }
            bottom = bottom.max(y);
        }
        bottom += self.setting.leading;
        pieces.push(self.rule(bottom, 0.4, style::GRID));
        Boxed {
            height: bottom + 0.4,
            pieces,
            ..Boxed::default()
        }
    }
}

fn header(
    tag: &mut Option<(&mut TagNodes, TagId)>,
    row: Option<TagId>,
    columns: usize,
) -> Option<TagId> {
    let (tags, _) = tag.as_mut()?;
    let span = NonZeroU32::new(columns as u32).filter(|span| span.get() > 1);
    Some(tags.within(row?, Tag::TH(TableHeaderScope::Column).with_col_span(span)))
}
