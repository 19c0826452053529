//! Bars of categories, in block characters.

use super::{Series, legend, letter};
use crate::format::terminal::{
    Screen,
    text::{clean, width},
};
use serde_json::Value;
use tailmark_results::number;

/// Bars from left to right, those of a category below each other.
pub struct Bars<'o> {
    categories: Vec<String>,
    series: Vec<&'o Series<'o>>,
}

impl<'o> Bars<'o> {
    /// None where there are no bars.
    pub fn new(option: &Value, series: &'o [Series<'o>]) -> Option<Self> {
        let categories = option["xAxis"]["data"].as_array()?;
        let categories = categories.iter().filter_map(Value::as_str).map(clean);
        let series: Vec<&Series<'_>> = series.iter().filter(|s| s.kind == "bar").collect();
        (!series.is_empty()).then_some(Self {
            categories: categories.collect(),
            series,
        })
    }

    /// Its lines.
    pub fn lines(&self, screen: Screen) -> Vec<String> {
        /// Of a category and of a system. What is longer is cut, but systems have letters then: their
        /// names often differ at their ends.
        const NAME: usize = 24;
        /// For the value behind a bar.
        const VALUE: usize = 12;
        const NOT_VALID: &str = " (not valid)";
        const AT_LEAST: &str = "≥ ";
        let items = || self.series.iter().flat_map(|series| &series.data);
        let values = items().filter_map(|item| item.value().as_f64());
        let highest = values.fold(0.0, f64::max);
        let sign_width = if items().any(|item| item.is_at_least()) {
            width(AT_LEAST)
        } else {
            0
        };
        let value_width = sign_width
            + if items().any(|item| item.is_apart()) {
                VALUE + NOT_VALID.len()
            } else {
                VALUE
            };
        let widest = |names: &mut dyn Iterator<Item = &String>| {
            names.map(|name| width(name)).max().unwrap_or(0).min(NAME)
        };
        let of_category = widest(&mut self.categories.iter());
        let has_letters = self.series.iter().any(|series| width(&series.name) > NAME);
        let names: Vec<String> = if has_letters {
            (0..self.series.len())
                .map(|i| letter(i).to_string())
                .collect()
        } else {
            self.series
                .iter()
                .map(|series| series.name.clone())
                .collect()
        };
        let of_series = widest(&mut names.iter());
        let room = screen
            .columns
            .saturating_sub(of_category + of_series + value_width);
        let mut lines = Vec::new();
        for (at, category) in self.categories.iter().enumerate() {
            let mut category = fitted(category, of_category);
            for (series, name) in self.series.iter().zip(&names) {
                let item = series.data.get(at).copied();
                let Some((item, value)) = item.and_then(|i| Some((i, i.value().as_f64()?))) else {
                    continue;
                };
                let name = fitted(name, of_series);
                let bar = screen.tint(series.color, &bar(value / highest, room));
                let apart = if item.is_apart() { NOT_VALID } else { "" };
                let value = number::rate(value);
                let sign = if item.is_at_least() { AT_LEAST } else { "" };
                lines.push(format!("{category}  {name}  {bar} {sign}{value}{apart}"));
                category = " ".repeat(of_category);
            }
        }
        if has_letters {
            let indent = " ".repeat(of_category + 2);
            lines.extend(legend(self.series.iter().copied(), &indent, screen));
        }
        lines
    }
}

/// A bar of so many columns at 1, to an eighth of a column.
fn bar(fraction: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (fraction.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize;
    let bar = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    if bar.is_empty() {
        "▏".to_owned()
    } else {
        bar
    }
}

/// A name in exactly so many columns.
fn fitted(name: &str, columns: usize) -> String {
    let mut text = name.to_owned();
    if width(&text) > columns {
        while width(&text) >= columns && text.pop().is_some() {}
        text.push('…');
    }
    let missing = columns.saturating_sub(width(&text));
    text + &" ".repeat(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_or_filled() {
        assert_eq!(fitted("a long name", 6), "a lon…");
        assert_eq!(fitted("ab", 4), "ab  ");
    }
}
