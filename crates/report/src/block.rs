//! The blocks of a section, independent of formats.

mod figure;
mod table;

pub use figure::{Chart, Control, ControlChoice, Figure, Plot, PlotAxes, PlotMark, PlotSeries};
pub use table::{Cell, Column, Table, TableRow};

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
    /// Of how many runs in all, if it was found in runs alone.
    pub of_runs: Option<usize>,
    /// Whether it could change the headline. Others are folded if the format supports that.
    pub changes_headline: bool,
    /// The evidence, each wording once.
    pub evidence: Vec<FindingEvidence>,
}

impl FindingEntry {
    /// What it means for the numbers, to stand before the evidence: without the remedy, where all evidence
    /// names one that begins with the same word.
    #[must_use]
    pub fn means_before_evidence(&self) -> &str {
        let Some(end) = self.means.trim_end_matches('.').rfind(". ") else {
            return &self.means;
        };
        let remedy = &self.means[end + 2..];
        let verb = remedy.split(' ').next().unwrap_or_default();
        let has_verb = |own: &FindingEvidence| own.text.to_plain().contains(&format!(". {verb} "));
        if !self.evidence.is_empty() && self.evidence.iter().all(has_verb) {
            &self.means[..=end]
        } else {
            &self.means
        }
    }

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
mod tests;
