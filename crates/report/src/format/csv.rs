//! Tables as comma-separated values: a file each, which the page offers beside each one too.

use super::{Folder, Report, ReportFile, ReportFormat, names::tables};
use crate::{Cell, Column, Error, Table};
use ::csv::Writer;
use tailmark_model::csv_cell;

/// The row of the table of formats.
pub const FORMAT: ReportFormat = ReportFormat {
    name: "csv",
    about: "every table with its numbers unrounded: tables/*.csv",
    page: None,
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

/// The titles with their groups and units, then the rows: numbers as they were measured, without
/// rounding, and other cells as they read. Details are left out, and what has no value is empty.
#[must_use]
pub fn csv(table: &Table) -> String {
    let mut out = Writer::from_writer(Vec::new());
    let titles = table.columns.iter().map(title);
    out.write_record(titles).expect(MEMORY);
    for row in &table.rows {
        out.write_record(row.cells.iter().map(value)).expect(MEMORY);
    }
    let bytes = out.into_inner().expect(MEMORY);
    String::from_utf8(bytes).expect("every cell is text")
}

const MEMORY: &str = "memory takes whole rows, and all have a cell for each column";

/// `Drive A peak [ops/s]`.
fn title(column: &Column) -> String {
    let unit = match column.unit {
        "" => String::new(),
        unit => format!("[{unit}]"),
    };
    let parts = [&column.group, &column.title, &unit];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    text(&parts.map(String::as_str).collect::<Vec<_>>().join(" "))
}

fn value(cell: &Cell) -> String {
    match cell.value {
        // As exports have it: `≥84.2`.
        Some(of) => format!("{}{}", of.bound.sign().trim_end(), of.value),
        None if cell.text == Cell::none().text => String::new(),
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
    use crate::TableRow;
    use tailmark_model::Stated;

    #[test]
    fn neither_titles_nor_cells_are_formulas() {
        let table = Table {
            columns: vec![
                Column::text("@a"),
                Column::number("peak").of("=1+1").unit("ops/s"),
            ],
            rows: vec![TableRow {
                cells: ["\tb", "+12 %"].map(Cell::from).into(),
                total: false,
            }],
            ..Table::default()
        };
        assert_eq!(csv(&table), "'@a,'=1+1 peak [ops/s]\n'\tb,+12 %\n");
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
                Column::number("peak").of("a, \"b\"").unit("ops/s"),
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
                    Cell::new("≥ 84 ms").with_stated(Stated::at_least(84_000.5)),
                ]),
            ],
            ..Table::default()
        };
        assert_eq!(
            csv(&table),
            "Workload,\"a, \"\"b\"\" peak [ops/s]\",p99 [us]\nYCSB A,12345.25,1234.5\n'=1+1,,≥84000.5\n"
        );
    }
}
