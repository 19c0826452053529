//! Blocks as text for a terminal, and as Markdown with the tables of GitHub.

use std::fmt::Write;
use tailmark_results::{printable, printable_lines};

/// A part of what is said.
pub enum Block {
    /// A heading.
    Heading(String),
    /// Lines of their own.
    Lines(Vec<String>),
    /// Lines that belong together, each with lines below it.
    List(Vec<(String, Vec<String>)>),
    /// Rows below a header.
    Table(Table),
}

/// Rows of as many cells as there are columns.
pub struct Table {
    /// The titles of the columns, and whether numbers are in them.
    pub columns: Vec<(&'static str, Align)>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// To which side the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// For a terminal.
pub fn text(blocks: &[Block]) -> String {
    let mut out = String::new();
    for block in blocks {
        match block {
            Block::Heading(heading) => push(&mut out, &printable(heading)),
            Block::Lines(lines) => lines
                .iter()
                .for_each(|line| push(&mut out, &printable(line))),
            Block::List(items) => {
                for (item, below) in items {
                    push(&mut out, &format!("  {}", printable(item)));
                    let below = below.iter().map(|line| printable(line));
                    below.for_each(|line| push(&mut out, &format!("      {line}")));
                }
            }
            Block::Table(table) => table_text(&mut out, table),
        }
        if !matches!(block, Block::Heading(_)) {
            out.push('\n');
        }
    }
    out
}

fn push(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

fn table_text(out: &mut String, table: &Table) {
    let header: Vec<_> = table
        .columns
        .iter()
        .map(|(title, _)| (*title).to_owned())
        .collect();
    let shown = |row: &Vec<String>| {
        row.iter()
            .map(|cell| printable(cell).into_owned())
            .collect()
    };
    let rows: Vec<Vec<String>> = table.rows.iter().map(shown).collect();
    let all = || std::iter::once(&header).chain(&rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..header.len())
        .map(|column| width(column).unwrap_or(0))
        .collect();
    for row in all() {
        let cells = row.iter().zip(&widths).zip(&table.columns);
        let cells = cells.map(|((cell, &width), (_, align))| match align {
            Align::Left => format!("{cell:width$}"),
            Align::Right => format!("{cell:>width$}"),
        });
        let line = format!("  {}", cells.collect::<Vec<_>>().join("  "));
        push(out, line.trim_end());
    }
}

/// For GitHub: a comment, or the summary of a job.
pub fn markdown(blocks: &[Block]) -> String {
    let mut out = String::new();
    for block in blocks {
        match block {
            Block::Heading(heading) => push(&mut out, &format!("### {}", escaped(heading))),
            Block::Lines(lines) => {
                let lines: Vec<_> = lines.iter().map(|line| escaped(line)).collect();
                push(&mut out, &lines.join("  \n"));
            }
            Block::List(items) => {
                for (item, below) in items {
                    push(&mut out, &format!("- {}", escaped(item)));
                    let below = below.iter();
                    below.for_each(|line| push(&mut out, &format!("  - {}", escaped(line))));
                }
            }
            Block::Table(table) => table_markdown(&mut out, table),
        }
        out.push('\n');
    }
    out
}

fn table_markdown(out: &mut String, table: &Table) {
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let titles = table.columns.iter().map(|(title, _)| (*title).to_owned());
    push(out, &row(titles.collect()));
    let rules = table.columns.iter().map(|(_, align)| match align {
        Align::Left => "---".to_owned(),
        Align::Right => "---:".to_owned(),
    });
    push(out, &row(rules.collect()));
    for cells in &table.rows {
        push(out, &row(cells.iter().map(|cell| escaped(cell)).collect()));
    }
}

/// Names are the user's: nothing in them is a table, a tag or a mark.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in printable_lines(text).chars() {
        match character {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' => {
                let _ = write!(out, "\\{character}");
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\t' => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks() -> Vec<Block> {
        vec![
            Block::Heading("ops".to_owned()),
            Block::Table(Table {
                columns: vec![("workload", Align::Left), ("A", Align::Right)],
                rows: vec![
                    vec!["a|b".to_owned(), "±1 %".to_owned()],
                    vec!["<script>".to_owned(), "1,000".to_owned()],
                ],
            }),
            Block::List(vec![("one".to_owned(), vec!["two".to_owned()])]),
        ]
    }

    #[test]
    fn columns_stand_below_each_other() {
        let lines = [
            "ops",
            "  workload      A",
            "  a|b        ±1 %",
            "  <script>  1,000",
            "",
            "  one",
            "      two",
            "",
        ];
        assert_eq!(text(&blocks()).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn no_name_breaks_a_table_of_markdown() {
        let lines = [
            "### ops",
            "",
            "| workload | A |",
            "| --- | ---: |",
            "| a\\|b | ±1 % |",
            "| &lt;script&gt; | 1,000 |",
            "",
            "- one",
            "  - two",
            "",
        ];
        assert_eq!(markdown(&blocks()).lines().collect::<Vec<_>>(), lines);
    }
}
