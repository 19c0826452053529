//! Wraps words into lines of a given width.

use super::Screen;
use crate::{Span, Text};
use tailmark_model::printable;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A character, and whether it is emphasised.
type Letter = (char, bool);

/// Breaks a text into lines at its spaces. A word that is wider gets its own line.
pub fn wrap(text: &Text, width: usize, screen: Screen) -> Vec<String> {
    let letters = letters(text);
    let mut lines: Vec<Vec<Letter>> = vec![Vec::new()];
    for word in letters
        .split(|(c, _)| *c == ' ')
        .filter(|word| !word.is_empty())
    {
        let line = lines.last_mut().expect("there is a line from the start");
        match line.last() {
            None => line.extend(word),
            Some(_) if width_of(line) + 1 + width_of(word) > width => lines.push(word.to_vec()),
            Some(&(_, is_strong)) => {
                line.push((' ', is_strong && word[0].1));
                line.extend(word);
            }
        }
    }
    lines.iter().map(|line| written(line, screen)).collect()
}

/// Text of a study with terminal control escaped. No-break spaces are not spaces here.
pub fn clean(text: &str) -> String {
    printable(text).replace('\u{a0}', " ")
}

/// The width of a text in columns.
pub fn width(text: &str) -> usize {
    text.width()
}

fn letters(text: &Text) -> Vec<Letter> {
    let mut letters = Vec::new();
    for span in &text.0 {
        let (words, is_strong) = match span {
            Span::Plain(words) => (words.clone(), false),
            Span::Strong(words) => (words.clone(), true),
            Span::Badge(badge) => (format!(" [{}]", badge.letter), false),
        };
        // A line of the text is no line of the terminal.
        let words = words.replace(['\n', '\t'], " ");
        letters.extend(printable(&words).chars().map(|c| (c, is_strong)));
    }
    letters
}

fn width_of(letters: &[Letter]) -> usize {
    letters.iter().map(|(c, _)| c.width().unwrap_or(0)).sum()
}

fn written(line: &[Letter], screen: Screen) -> String {
    let parts = line.chunk_by(|a, b| a.1 == b.1).map(|part| {
        let text = clean(&part.iter().map(|(c, _)| *c).collect::<String>());
        if part[0].1 { screen.bold(&text) } else { text }
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_not_at_those_that_do_not_break() {
        let text = Text::plain("one two")
            .and_strong(" three")
            .and(", 4\u{a0}–\u{a0}5 \u{1b}[2J");
        let lines = wrap(&text, 10, Screen::default());
        assert_eq!(lines, ["one two", "three,", "4 – 5", "\\u{1b}[2J"]);
        assert_eq!(wrap(&Text::default(), 10, Screen::default()), [""]);
    }

    #[test]
    fn emphasis_ends_with_its_line() {
        let text = Text::plain("a ").and_strong("b c").and(" d");
        let lines = wrap(&text, 3, Screen::new(80, true));
        assert_eq!(lines, ["a \u{1b}[1mb\u{1b}[0m", "\u{1b}[1mc\u{1b}[0m d"]);
    }
}
