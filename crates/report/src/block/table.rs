//! Tables of blocks.

use super::Badge;
use tailmark_model::Bounded;

/// A table.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Above the table; empty: none.
    pub caption: String,
    /// From left to right.
    pub columns: Vec<Column>,
    /// The rows from top to bottom, each as long as `columns`.
    pub rows: Vec<TableRow>,
    /// Below the table; empty: none.
    pub note: String,
}

impl Table {
    /// Whether it has columns of numbers and no number in any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let is_said = |cell: &Cell| !cell.text.is_empty() && cell.text != NONE;
        let has_numbers = self.columns.iter().any(|column| column.numeric);
        let is_number = |(column, cell): (&Column, &Cell)| column.numeric && is_said(cell);
        let mut cells = self
            .rows
            .iter()
            .flat_map(|row| self.columns.iter().zip(&row.cells));
        has_numbers && !cells.any(is_number)
    }
}

/// A column of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Column {
    /// Neighbours of the same group share a heading; empty: none.
    pub group: String,
    /// The heading.
    pub title: String,
    /// Whether it holds numbers.
    pub numeric: bool,
    /// Of the values of its cells, such as `us` or `ops/s`; empty: none.
    pub unit: &'static str,
}

impl Column {
    /// A column of words.
    pub fn text(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// A column of numbers.
    pub fn number(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            numeric: true,
            ..Self::default()
        }
    }

    /// The same column in a group.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = group.into();
        self
    }

    /// The same column with the unit of its cells' values.
    #[must_use]
    pub fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }
}

/// A row of a table.
#[derive(Debug, Clone, Default)]
pub struct TableRow {
    /// As many as there are columns.
    pub cells: Vec<Cell>,
    /// Whether it is set apart: a sum or a mean.
    pub total: bool,
}

/// In a cell without a value.
const NONE: &str = "–";

/// A cell of a table.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// The text.
    pub text: String,
    /// The number in the text, in the unit of the column; `None` if it is not a number.
    pub value: Option<Bounded>,
    /// The currency of the number if it is money, also in the text; empty: it is not.
    pub currency: String,
    /// A quieter second line, such as a spread; empty: none.
    pub detail: String,
    /// The text on hovering; empty: none.
    pub hint: String,
    /// A peak.
    pub strong: bool,
    /// Of less weight: a value with few samples, or none.
    pub muted: bool,
    /// Why the number is of a point that is not valid; empty: it is valid.
    pub fault: String,
    /// The findings that qualify it.
    pub badges: Vec<Badge>,
    /// The link target, if the format supports links; empty: none.
    pub link: String,
}

impl Cell {
    /// A plain cell.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A cell without a value.
    #[must_use]
    pub fn none() -> Self {
        Self {
            text: NONE.into(),
            muted: true,
            ..Self::default()
        }
    }

    /// The same with the number that it says, in the unit of the column.
    #[must_use]
    pub fn with_value(self, value: f64) -> Self {
        self.with_bounded(Bounded::exact(value))
    }

    /// The same with a number that may be a bound.
    #[must_use]
    pub fn with_bounded(mut self, value: Bounded) -> Self {
        self.value = Some(value);
        self
    }

    /// The same as an amount of money.
    #[must_use]
    pub fn with_currency(mut self, currency: &str) -> Self {
        self.text = format!("{} {currency}", self.text);
        self.currency = currency.to_owned();
        self
    }

    /// The same with a second line.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}
