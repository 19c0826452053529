//! Bounds for the values of a study. A study is a file and may come from anywhere. So every value
//! read from it has a bound: a name that fills the memory, or a year beyond the calendar, is an
//! error that names the value.

use rusqlite::{Connection, Error, Result, Row, types::Type};
use tailmark_model::{instant::INSTANT_MAX_MS, printable};

/// The most bytes of a name: of a system, a workload, a fact, a series.
pub const NAME_MAX: usize = 4 << 10;
/// The most bytes of a text: the evidence of a finding, the source of a plan, the keys of a plan.
pub const TEXT_MAX: usize = 4 << 20;
/// More than anything counts (72 quadrillion), and few enough that counts can be added up.
const COUNT_MAX: u64 = 1 << 56;
/// The longest measurement, seconds: a thousand years.
const SECONDS_MAX: f64 = 3.2e10;
/// The most systems: a report compares each with all others.
pub const SYSTEMS_MAX: u64 = 256;
/// The most facts.
pub const FACTS_MAX: u64 = 100_000;
/// The most notices.
pub const NOTICES_MAX: u64 = 10_000;
/// The most characters of a value in an error.
const SHOWN: usize = 40;

/// A value that no study of this program has.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OutOfBounds {
    #[error("`{begin}...` has {bytes} bytes; at most {most} are allowed")]
    Long {
        begin: String,
        bytes: usize,
        most: usize,
    },
    #[error("the table `{table}` has {rows} rows; at most {most} are allowed")]
    Rows { table: String, rows: u64, most: u64 },
    #[error("`{column}` is {value}; it must be from 0 to {most}")]
    Number {
        column: String,
        value: String,
        most: String,
    },
}

/// Refuses a text of more bytes.
pub fn check(text: &str, most: usize) -> std::result::Result<(), OutOfBounds> {
    if text.len() <= most {
        return Ok(());
    }
    let begin: String = text.chars().take(SHOWN).collect();
    Err(OutOfBounds::Long {
        begin: printable(&begin).into_owned(),
        bytes: text.len(),
        most,
    })
}

/// Refuses a table with more rows, before they are read.
pub fn check_rows(c: &Connection, table: &str, most: u64) -> Result<()> {
    let sql = format!("SELECT count(*) FROM {table}");
    let rows = c.query_row(&sql, [], |row| count(row, 0))?;
    if rows <= most {
        return Ok(());
    }
    let table = table.to_owned();
    Err(Error::ToSqlConversionFailure(Box::new(OutOfBounds::Rows {
        table,
        rows,
        most,
    })))
}

/// Refuses a name to be written that could not be read again.
pub fn writable(name: &str) -> Result<&str> {
    match check(name, NAME_MAX) {
        Ok(()) => Ok(name),
        Err(long) => Err(Error::ToSqlConversionFailure(Box::new(long))),
    }
}

/// The part of a name that may be written. Hosts and servers may send names of any length.
pub fn cut_name(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_MAX)]
}

/// The part of a text that may be written.
pub fn cut_text(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_MAX)]
}

pub fn name(row: &Row<'_>, column: usize) -> Result<String> {
    at_most(row, column, NAME_MAX).map(str::to_owned)
}

pub fn text(row: &Row<'_>, column: usize) -> Result<String> {
    at_most(row, column, TEXT_MAX).map(str::to_owned)
}

/// A text without a copy of it, so that one that is too long is not copied.
pub fn at_most<'r>(row: &'r Row<'_>, column: usize, most: usize) -> Result<&'r str> {
    let value = row.get_ref(column)?;
    let text = value.as_str().map_err(|error| {
        Error::FromSqlConversionFailure(column, value.data_type(), error.into())
    })?;
    match check(text, most) {
        Ok(()) => Ok(text),
        Err(long) => Err(Error::FromSqlConversionFailure(
            column,
            Type::Text,
            Box::new(long),
        )),
    }
}

pub fn count(row: &Row<'_>, column: usize) -> Result<u64> {
    whole(row, column, COUNT_MAX)
}

/// An instant in milliseconds since 1970 UTC.
pub fn instant_ms(row: &Row<'_>, column: usize) -> Result<u64> {
    whole(row, column, INSTANT_MAX_MS)
}

fn whole(row: &Row<'_>, column: usize, most: u64) -> Result<u64> {
    let value: i64 = row.get(column)?;
    match u64::try_from(value) {
        Ok(count) if count <= most => Ok(count),
        _ => Err(number(row, column, Type::Integer, &value, &most)),
    }
}

/// A length of time in seconds.
pub fn seconds(row: &Row<'_>, column: usize) -> Result<f64> {
    let value: f64 = row.get(column)?;
    if (0.0..=SECONDS_MAX).contains(&value) {
        Ok(value)
    } else {
        Err(number(row, column, Type::Real, &value, &SECONDS_MAX))
    }
}

/// A rate or another number that is neither negative nor endless.
pub fn amount(row: &Row<'_>, column: usize) -> Result<f64> {
    let value: f64 = row.get(column)?;
    let most = COUNT_MAX as f64;
    if (0.0..=most).contains(&value) {
        Ok(value)
    } else {
        Err(number(row, column, Type::Real, &value, &most))
    }
}

fn number(
    row: &Row<'_>,
    column: usize,
    kind: Type,
    value: &dyn ToString,
    most: &dyn ToString,
) -> Error {
    let name = row.as_ref().column_name(column).unwrap_or("a number");
    let bad = OutOfBounds::Number {
        column: name.to_owned(),
        value: value.to_string(),
        most: most.to_string(),
    };
    Error::FromSqlConversionFailure(column, kind, Box::new(bad))
}
