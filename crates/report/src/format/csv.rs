//! Tables as comma-separated values, one file each. The page also offers them next to each table.

use super::{Folder, Report, ReportFile, ReportFormat, names::tables};
use crate::{Cell, Column, Error, Table};
use ::csv::Writer;
use tailmark_model::{Bound, Bounded, csv_cell};

/// The row of the table of formats.
pub const FORMAT: ReportFormat = ReportFormat {
    name: "csv",
    about: "every table with unrounded numbers: tables/*.csv",
    pages: &[],
    folder: Some(FOLDER),
    files,
    text: None,
};

const FOLDER: Folder = Folder {
    name: "tables",
    ending: "csv",
};

fn files(report: &Report) -> Result<Vec<ReportFile>, Error> {
    let tables = tables(&report.sections).into_iter();
    let files = tables.map(|(name, table)| FOLDER.file(&name, csv(table).into_bytes()));
    Ok(files.collect())
}

/// The titles with their groups and units, then the rows: numbers as measured, without rounding,
/// and other cells as text. Ranges below a value are left out. Cells without a value are empty. If a
/// column contains bounds, columns of `true` and `false` follow that mark them, as in exports; if it
/// contains numbers between two others, columns of those. If a cell of a column of numbers has more to
/// say, a column of notes follows: why there is no number, its currency, why it is not valid, and the
/// codes of its findings.
#[must_use]
pub fn csv(table: &Table) -> String {
    let mut out = Writer::from_writer(Vec::new());
    let columns = table.columns.iter().enumerate();
    let columns: Vec<_> = columns
        .map(|(at, column)| (column, marks(table, at, column)))
        .collect();
    let titles = columns.iter().flat_map(|(column, marks)| {
        let marks = marks.iter().map(|mark| mark_title(column, *mark));
        std::iter::once(title(column)).chain(marks)
    });
    out.write_record(titles).expect(MEMORY);
    for row in &table.rows {
        let cells = row.cells.iter().zip(&columns);
        let values = cells.flat_map(|(cell, (column, marks))| {
            let marks = marks.iter().map(|mark| mark_text(cell, *mark, column));
            std::iter::once(value(cell, column)).chain(marks)
        });
        out.write_record(values).expect(MEMORY);
    }
    let bytes = out.into_inner().expect(MEMORY);
    String::from_utf8(bytes).expect("every cell is text")
}

/// A column after one whose numbers are not all exact.
#[derive(Clone, Copy)]
enum Mark {
    /// Whether a number is a bound on this side.
    Side(Bound),
    /// The least that a number between two others can be.
    Low,
    /// The most.
    High,
    /// What the numbers do not say.
    Note,
}

/// The columns that follow a column.
fn marks(table: &Table, at: usize, column: &Column) -> Vec<Mark> {
    let has = |is_it: &dyn Fn(Bounded) -> bool| {
        let mut cells = table.rows.iter().filter_map(|row| row.cells.get(at)?.value);
        cells.any(is_it)
    };
    let mut marks = Vec::new();
    for side in [Bound::AtLeast, Bound::AtMost] {
        marks.extend(has(&|value| value.bound == side).then_some(Mark::Side(side)));
    }
    if has(&is_between) {
        marks.extend([Mark::Low, Mark::High]);
    }
    let mut cells = table.rows.iter().filter_map(|row| row.cells.get(at));
    let has_notes = column.numeric && cells.any(|cell| !note(cell, column).is_empty());
    marks.extend(has_notes.then_some(Mark::Note));
    marks
}

const fn is_between(value: Bounded) -> bool {
    matches!(value.bound, Bound::Between(..))
}

/// The text of such a column; empty without a number.
fn mark_text(cell: &Cell, mark: Mark, column: &Column) -> String {
    let end = |end: fn(Bounded) -> f64| {
        let value = cell.value.filter(|value| is_between(*value));
        value.map(|value| end(value).to_string())
    };
    let text = match mark {
        Mark::Side(side) => cell.value.map(|value| (value.bound == side).to_string()),
        Mark::Low => end(Bounded::low),
        Mark::High => end(Bounded::high),
        Mark::Note => Some(note(cell, column)),
    };
    text.unwrap_or_default()
}

/// What the number of a cell does not say; empty if that is nothing.
fn note(cell: &Cell, column: &Column) -> String {
    let has_no_number = cell.value.is_none() && value(cell, column).is_empty();
    let words = has_no_number.then_some([&cell.text, &cell.detail]);
    let words = words.into_iter().flatten();
    let words = words.filter(|words| **words != Cell::none().text);
    let codes = cell.badges.iter().map(|badge| &badge.code);
    let notes = words.chain([&cell.currency, &cell.fault]).chain(codes);
    let notes = notes.filter(|note| !note.is_empty()).map(String::as_str);
    text(&notes.collect::<Vec<_>>().join("; "))
}

const MEMORY: &str = "memory takes whole rows, and all have a cell for each column";

/// `Drive A peak [ops/s]`.
fn title(column: &Column) -> String {
    let unit = match column.unit {
        "" => String::new(),
        unit => format!("[{unit}]"),
    };
    joined(&[&column.group, &column.title, &unit])
}

/// `Drive A peak at least`.
fn mark_title(column: &Column, mark: Mark) -> String {
    let mark = match mark {
        Mark::Side(Bound::AtMost) => "at most",
        Mark::Side(_) => "at least",
        Mark::Low => "lowest",
        Mark::High => "highest",
        Mark::Note => "note",
    };
    joined(&[&column.group, &column.title, mark])
}

fn joined(parts: &[&str]) -> String {
    let parts = parts.iter().copied().filter(|part| !part.is_empty());
    text(&parts.collect::<Vec<_>>().join(" "))
}

fn value(cell: &Cell, column: &Column) -> String {
    let is_of_unit = column.numeric && !column.unit.is_empty();
    match cell.value {
        Some(number) => number.value.to_string(),
        None if cell.text == Cell::none().text => String::new(),
        None if is_of_unit && cell.text.parse::<f64>().is_err() => String::new(),
        None => text(&cell.text),
    }
}

/// As it reads, without spaces that do not break.
fn text(text: &str) -> String {
    csv_cell(&text.replace('\u{a0}', " ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Badge, TableRow};

    #[test]
    fn neither_titles_nor_cells_are_formulas() {
        let table = Table {
            columns: vec![Column::text("@a"), Column::number("peak").group("=1+1")],
            rows: vec![TableRow {
                cells: ["\tb", "+12 %"].map(Cell::from).into(),
                total: false,
            }],
            ..Table::default()
        };
        assert_eq!(csv(&table), "'@a,'=1+1 peak\n'\tb,+12 %\n");
    }

    #[test]
    fn a_column_of_numbers_has_numbers_alone_and_its_words_are_in_a_column_of_notes() {
        let badge = Badge {
            letter: "A".to_owned(),
            code: "machine-busy".to_owned(),
        };
        let rows = [
            Cell::new("≤ 49 us").with_bounded(Bounded::at_most(49.9)),
            Cell::new("none: above it at every thread count"),
            Cell::new("50 us").with_value(50.0).with_detail("49 – 51"),
            Cell::none(),
            Cell {
                fault: "12 % failed".to_owned(),
                badges: vec![badge],
                ..Cell::new("51 us").with_value(51.0)
            },
            Cell::new("52").with_value(52.0).with_currency("EUR"),
        ];
        let table = Table {
            columns: vec![Column::number("p99").unit("us")],
            rows: rows
                .map(|cell| TableRow {
                    cells: vec![cell],
                    total: false,
                })
                .into(),
            ..Table::default()
        };
        assert_eq!(
            csv(&table),
            "p99 [us],p99 at most,p99 note\n49.9,true,\n\
             ,,none: above it at every thread count\n50,false,\n,,\n\
             51,false,12 % failed; machine-busy\n52,false,EUR\n"
        );
    }

    #[test]
    fn numbers_between_two_others_have_columns_of_those() {
        let between = Bounded::from_ends(1.5, 2.0, 2.5).unwrap();
        let row = |cell| TableRow {
            cells: vec![cell],
            total: false,
        };
        let table = Table {
            columns: vec![Column::number("writes").unit("1/day")],
            rows: vec![
                row(Cell::new("1.50 to 2.50").with_bounded(between)),
                row(Cell::new("3.00").with_value(3.0)),
            ],
            ..Table::default()
        };
        assert_eq!(
            csv(&table),
            "writes [1/day],writes lowest,writes highest\n2,1.5,2.5\n3,,\n"
        );
    }

    #[test]
    fn numbers_are_raw_and_titles_have_groups_and_units() {
        let row = |cells: [Cell; 3]| TableRow {
            cells: cells.into(),
            total: false,
        };
        let table = Table {
            columns: vec![
                Column::text("Workload"),
                Column::number("peak").group("a, \"b\"").unit("ops/s"),
                Column::number("p99").unit("us"),
            ],
            rows: vec![
                row([
                    "YCSB A".into(),
                    Cell::new("12,345")
                        .with_value(12_345.25)
                        .with_detail("1 – 2"),
                    Cell::new("1.23 ms").with_value(1_234.5),
                ]),
                row([
                    "=1+1".into(),
                    Cell::none(),
                    Cell::new("≥ 84 ms").with_bounded(Bounded::at_least(84_000.5)),
                ]),
            ],
            ..Table::default()
        };
        assert_eq!(
            csv(&table),
            "Workload,\"a, \"\"b\"\" peak [ops/s]\",p99 [us],p99 at least\n\
             YCSB A,12345.25,1234.5,false\n'=1+1,,84000.5,true\n"
        );
    }
}
