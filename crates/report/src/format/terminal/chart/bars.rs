//! Bars of categories, in block characters.

use super::{legend, letter};
use crate::{
    PlotSeries,
    format::terminal::{
        Screen,
        text::{clean, width},
    },
};
use tailmark_model::{Bounded, number};

/// Bars from left to right, those of a category below each other.
pub fn lines(categories: &[String], series: &[PlotSeries], screen: Screen) -> Vec<String> {
    /// The longest name of a category or a system. Longer names are cut, and systems are then named
    /// by letters, because their names often differ only at the end.
    const NAME: usize = 24;
    /// Columns of the value after a bar.
    const VALUE: usize = 12;
    const NOT_VALID: &str = " (not valid)";
    const AT_LEAST: &str = "≥ ";
    let marks = || series.iter().flat_map(|series| &series.marks).flatten();
    let highest = marks().map(|mark| mark.y).fold(0.0, f64::max);
    let mut value_width = VALUE;
    if marks().any(|mark| mark.is_invalid) {
        value_width += NOT_VALID.len();
    }
    if marks().any(|mark| mark.is_at_least) {
        value_width += width(AT_LEAST);
    }
    let categories: Vec<String> = categories.iter().map(|name| clean(name)).collect();
    let names: Vec<String> = series.iter().map(|series| clean(&series.name)).collect();
    let has_letters = names.iter().any(|name| width(name) > NAME);
    let names: Vec<String> = if has_letters {
        (0..series.len()).map(|i| letter(i).to_string()).collect()
    } else {
        names
    };
    let widest = |all: &[String]| all.iter().map(|name| width(name)).max().unwrap_or(0);
    let of_category = widest(&categories).min(NAME);
    let of_series = widest(&names);
    let room = screen
        .columns
        .saturating_sub(of_category + of_series + value_width);
    let mut lines = Vec::new();
    for (at, category) in categories.iter().enumerate() {
        let mut category = fitted(category, of_category);
        for (own, name) in series.iter().zip(&names) {
            let Some(mark) = own.marks.get(at).and_then(Option::as_ref) else {
                continue;
            };
            let name = fitted(name, of_series);
            let bar = screen.tint(own.color, &bar(mark.y / highest, room));
            let invalid = if mark.is_invalid { NOT_VALID } else { "" };
            let bounded = if mark.is_at_least {
                Bounded::at_least(mark.y)
            } else {
                Bounded::exact(mark.y)
            };
            let value = number::bounded_rate(bounded);
            lines.push(format!("{category}  {name}  {bar} {value}{invalid}"));
            category = " ".repeat(of_category);
        }
    }
    if has_letters {
        let indent = " ".repeat(of_category + 2);
        lines.extend(legend(series.iter(), &indent, screen));
    }
    lines
}

/// A bar of this many columns at 1, to an eighth of a column.
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

/// A name in exactly this many columns.
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
