//! The blocks of a section, independent of formats.

use serde_json::Value;
use std::borrow::Cow;
use tailmark_model::{Bounded, Metric};

/// One part of a section.
#[derive(Debug, Clone)]
pub enum Block {
    /// A heading within the section; the anchor is unique in the report.
    Heading {
        /// Unique in the report; lower case, digits and dashes.
        anchor: String,
        /// The text.
        title: String,
        /// A quieter addition on the same line.
        about: String,
    },
    /// A paragraph.
    Text(Text),
    /// Statements, one a line.
    Statements(Vec<Text>),
    /// A row of summary cards.
    Cards(Vec<Card>),
    /// A table.
    Table(Table),
    /// One or more charts under common controls.
    Figure(Figure),
    /// A chart with sentences beside it.
    Beside(Figure, Vec<Text>),
    /// What qualifies the numbers.
    Findings(Vec<FindingEntry>),
    /// Text shown as it is, folded if the format supports that.
    Source {
        /// Its title.
        title: String,
        /// The text.
        text: String,
    },
}

/// A run of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// As it is.
    Plain(String),
    /// Emphasised.
    Strong(String),
    /// A reference to a finding that qualifies the text before it.
    Badge(Badge),
}

/// A paragraph or a line of spans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(pub Vec<Span>);

impl Text {
    /// Plain text.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::default().and(text)
    }

    /// Emphasised text.
    pub fn strong(text: impl Into<String>) -> Self {
        Self::default().and_strong(text)
    }

    /// Appends plain text.
    #[must_use]
    pub fn and(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Plain(text.into()));
        self
    }

    /// Appends emphasised text.
    #[must_use]
    pub fn and_strong(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Strong(text.into()));
        self
    }

    /// Appends the findings that qualify the text.
    #[must_use]
    pub fn and_badges(mut self, badges: Vec<Badge>) -> Self {
        self.0.extend(badges.into_iter().map(Span::Badge));
        self
    }

    /// Appends another text.
    #[must_use]
    pub fn and_all(mut self, text: Self) -> Self {
        self.0.extend(text.0);
        self
    }

    /// The text without emphasis and badges.
    #[must_use]
    pub fn to_plain(&self) -> String {
        self.0
            .iter()
            .map(|span| match span {
                Span::Plain(text) | Span::Strong(text) => text.as_str(),
                Span::Badge(_) => "",
            })
            .collect()
    }
}

/// A summary card: its numbers, their meaning, and its bars.
#[derive(Debug, Clone, Default)]
pub struct Card {
    /// Above the numbers.
    pub title: String,
    /// The first is the largest.
    pub figures: Vec<CardFigure>,
    /// The anchor that explains it; empty: none.
    pub anchor: String,
    /// The values of its bars.
    pub bars: Vec<Bar>,
    /// The findings that qualify the first number.
    pub badges: Vec<Badge>,
}

/// A number of a card.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CardFigure {
    /// The number, or a word if there is none.
    pub value: String,
    /// The meaning of the numbers.
    pub about: String,
}

/// One bar of a card.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Its subject.
    pub name: String,
    /// Its value as text.
    pub value: String,
    /// Its length, 0 to 1.
    pub fraction: f64,
    /// Its colour, `#rrggbb`.
    pub color: &'static str,
}

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
    /// A quieter second line, such as a spread; empty: none.
    pub detail: String,
    /// The text on hovering; empty: none.
    pub hint: String,
    /// A peak.
    pub strong: bool,
    /// Of less weight: a value with few samples, or none.
    pub muted: bool,
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

/// A reference to a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Badge {
    /// Its letter in this report.
    pub letter: String,
    /// Its code.
    pub code: String,
}

/// Findings of one code.
#[derive(Debug, Clone)]
pub struct FindingEntry {
    /// Letter and code.
    pub badge: Badge,
    /// The code in words.
    pub title: String,
    /// Its effect on the numbers, and what to do about it.
    pub means: String,
    /// Whether it could change the headline. Others are folded if the format supports that.
    pub changes_headline: bool,
    /// The evidence, each wording once.
    pub evidence: Vec<FindingEvidence>,
}

impl FindingEntry {
    /// In how many places it was found.
    #[must_use]
    pub fn places(&self) -> usize {
        self.evidence.iter().map(|evidence| evidence.places).sum()
    }
}

/// Evidence with the same wording, and the places.
#[derive(Debug, Clone)]
pub struct FindingEvidence {
    /// The words; what differs from place to place is emphasised.
    pub text: Text,
    /// In how many places.
    pub places: usize,
    /// Where, and what differs.
    pub table: Table,
}

/// Charts under common controls.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Unique in the report; lower case, digits and dashes.
    pub anchor: String,
    /// The controls. Every combination of choices is one variant of every chart.
    pub controls: Vec<Control>,
    /// The charts.
    pub charts: Vec<Chart>,
}

/// One choice to be made.
#[derive(Debug, Clone)]
pub struct Control {
    /// Controls of the same key follow each other throughout the report.
    pub key: &'static str,
    /// The subject of the choice.
    pub label: String,
    /// The possible choices.
    pub choices: Vec<ControlChoice>,
    /// The initial choice: an index into `choices`.
    pub initial: usize,
}

impl Control {
    /// Choices of these names; the first is chosen at first if `initial` is none.
    pub fn new(
        key: &'static str,
        label: &str,
        names: impl IntoIterator<Item = impl Into<String>>,
        initial: Option<usize>,
    ) -> Self {
        Self {
            key,
            label: label.into(),
            choices: names.into_iter().map(ControlChoice::new).collect(),
            initial: initial.unwrap_or(0),
        }
    }
}

/// One of the choices of a control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlChoice {
    /// Choices of a group stand together; empty: none.
    pub group: String,
    /// The label.
    pub label: String,
}

impl ControlChoice {
    /// A choice without a group.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            group: String::new(),
            label: label.into(),
        }
    }
}

/// One chart: an ECharts option, and what differs with each choice.
///
/// Strings that begin with `@` name functions of the renderer: ways to write a value (`@latency`,
/// `@rate`, ...) and shapes (`@spread`).
#[derive(Debug, Clone)]
pub struct Chart {
    /// Above the chart.
    pub title: String,
    /// Beside the title, for example `higher is better`.
    pub hint: String,
    /// A description in words, for readers who cannot see it.
    pub about: String,
    /// Height in pixels at the width of a page.
    pub height: u32,
    /// Whether it takes the whole width.
    pub wide: bool,
    /// The option that all variants share.
    pub base: Value,
    /// Options merged into `base`, one for each combination of choices, the last control fastest. A
    /// single one serves all combinations; null means that there is nothing to show. A string is
    /// the JSON of an option.
    pub variants: Vec<Value>,
    /// What it shows initially, for formats that draw with characters; `None`: only other formats
    /// show it.
    pub plot: Option<Plot>,
}

/// The content of a chart as numbers.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Over what.
    pub axes: PlotAxes,
    /// Bars or lines, with those of the systems first.
    pub series: Vec<PlotSeries>,
}

/// The axes of a plot.
#[derive(Debug, Clone)]
pub enum PlotAxes {
    /// Bars over these categories.
    Categories(Vec<String>),
    /// Lines from 0 on, over values of a metric.
    Curve {
        /// What y is, in the unit of its row.
        metric: Metric,
        /// Of the axes, x first.
        titles: [String; 2],
        /// The lower end of y. The axis is linear from 0, and logarithmic from any other value.
        low: f64,
        /// The upper end.
        high: f64,
        /// Where y has ticks.
        ticks: Vec<f64>,
    },
}

/// The marks of a system.
#[derive(Debug, Clone)]
pub struct PlotSeries {
    /// The system.
    pub name: String,
    /// Its colour, `#rrggbb`.
    pub color: &'static str,
    /// One mark for each category of a bar chart. `None` if nothing was measured.
    pub marks: Vec<Option<PlotMark>>,
}

/// One value.
#[derive(Debug, Clone, Default)]
pub struct PlotMark {
    /// Where on the axis of x; of bars without meaning.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// Beside it; empty: nothing.
    pub label: String,
    /// Whether it is set apart, as not valid.
    pub is_invalid: bool,
    /// Whether the true one may be higher; of bars.
    pub is_at_least: bool,
}

impl Figure {
    /// The number of variants that the controls span.
    #[must_use]
    pub fn combinations(&self) -> usize {
        self.controls.iter().map(|c| c.choices.len()).product()
    }

    /// The variant of one of its charts that is shown at first: an index into its variants.
    #[must_use]
    pub fn initial(&self, chart: &Chart) -> usize {
        let follow = |index, control: &Control| index * control.choices.len() + control.initial;
        match chart.variants.len() {
            1 => 0,
            _ => self.controls.iter().fold(0, follow),
        }
    }

    /// The option merged into that of one of its charts initially; `None` if there is nothing to
    /// show.
    #[must_use]
    pub fn initial_variant<'c>(&self, chart: &'c Chart) -> Option<Cow<'c, Value>> {
        match chart.variants.get(self.initial(chart))? {
            Value::Null => None,
            Value::String(text) => serde_json::from_str(text).ok().map(Cow::Owned),
            variant => Some(Cow::Borrowed(variant)),
        }
    }
}

/// An anchor made of names: lower case, digits and dashes.
#[must_use]
pub fn anchor(parts: &[&str]) -> String {
    let joined = parts.join("-").to_lowercase();
    let mut text = String::with_capacity(joined.len());
    for c in joined.chars() {
        match c {
            c if c.is_alphanumeric() => text.push(c),
            _ if text.ends_with('-') || text.is_empty() => {}
            _ => text.push('-'),
        }
    }
    text.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_empty_if_none_of_its_numbers_is_known() {
        let table = |cells: [Cell; 2]| Table {
            columns: vec![Column::text("System"), Column::number("ops/s")],
            rows: vec![TableRow {
                cells: cells.into(),
                total: false,
            }],
            ..Table::default()
        };
        assert!(table([Cell::new("A"), Cell::none()]).is_empty());
        assert!(!table([Cell::new("A"), Cell::new("12")]).is_empty());
        let words = Table {
            columns: vec![Column::text("Key")],
            ..table([Cell::new("A"), Cell::none()])
        };
        assert!(!words.is_empty());
    }
}
