//! Breaks text into lines of a width.

use super::tree::{Look, Piece, Placed, TagId, TagNodes};
use crate::{
    Span, Text,
    draw::printable,
    format::{names::finding_anchor, units::unbroken as unbroken_units},
    style,
};
use krilla::tagging::Tag;

/// A run of text of one look.
#[derive(Debug, Clone)]
pub struct Run {
    /// The text.
    pub text: String,
    /// Its appearance.
    pub look: Look,
    /// The anchor that it leads to; empty: none.
    pub link: String,
}

impl Run {
    /// Text that leads nowhere.
    pub fn plain(text: impl Into<String>, look: Look) -> Self {
        Self {
            text: text.into(),
            look,
            link: String::new(),
        }
    }

    fn with(&self, text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..self.clone()
        }
    }

    /// Without the spaces at its end, which may stand over an edge.
    fn trimmed(&self) -> Self {
        self.with(self.text.trim_end_matches([' ', '\n']))
    }

    /// Whether it has no end at which a line may end.
    fn continues(&self) -> bool {
        !self.text.ends_with([' ', '\n'])
    }

    fn width(&self) -> f32 {
        self.look.weight.width(&self.text, self.look.size)
    }
}

/// The runs of a text; a reference to a finding is a link to it.
#[must_use]
pub fn runs(text: &Text, look: Look) -> Vec<Run> {
    let run = |span: &Span| match span {
        Span::Plain(words) => Run::plain(words, look),
        Span::Strong(words) => Run::plain(words, look.bold()),
        Span::Badge(badge) => badge_run(&badge.letter, &badge.code, look),
    };
    text.0.iter().map(run).collect()
}

/// The letter of a finding in brackets, as a link.
#[must_use]
pub fn badge_run(letter: &str, code: &str, look: Look) -> Run {
    Run {
        text: format!("\u{a0}[{letter}]"),
        look: Look {
            color: style::BADGE,
            ..look
        },
        link: finding_anchor(code),
    }
}

/// A line: pieces with how far each is from its beginning, and how wide all are.
#[derive(Debug, Clone, Default)]
pub struct Line {
    runs: Vec<Run>,
    width: f32,
}

/// The distance between lines, relative to the font size.
pub const LEADING: f32 = 1.38;

/// Breaks runs between words into lines that are no wider than `room`; a word that is, between letters.
#[must_use]
pub fn lines(runs: &[Run], room: f32) -> Vec<Line> {
    let mut lines = vec![Line::default()];
    for word in unbroken(runs) {
        let width: f32 = word.iter().map(|piece| piece.trimmed().width()).sum();
        if width <= room + 0.01 {
            if lines[lines.len() - 1].width + width > room + 0.01 {
                lines.push(Line::default());
            }
            word.into_iter().for_each(|piece| push(&mut lines, piece));
            continue;
        }
        for piece in word {
            for c in piece.text.chars() {
                let letter = piece.with(c.encode_utf8(&mut [0; 4]));
                if lines[lines.len() - 1].width + letter.width() > room {
                    lines.push(Line::default());
                }
                push(&mut lines, letter);
            }
        }
    }
    lines
}

/// Pieces between which no line ends: a word with the spaces after it, and what stands close to it.
fn unbroken(runs: &[Run]) -> Vec<Vec<Run>> {
    let mut words: Vec<Vec<Run>> = Vec::new();
    for run in runs {
        let text = unbroken_units(&run.text);
        for word in self::words(&text) {
            let last = words
                .last_mut()
                .filter(|last| last.last().is_some_and(Run::continues));
            match last {
                Some(last) => last.push(run.with(word)),
                None => words.push(vec![run.with(word)]),
            }
        }
    }
    words
}

/// Adds to the last line, and to its last run if that looks the same.
fn push(lines: &mut [Line], run: Run) {
    let line = lines.last_mut().expect("there is a first line");
    line.width += run.width();
    match line.runs.last_mut() {
        Some(last) if last.look == run.look && last.link == run.link => {
            last.text.push_str(&run.text);
        }
        _ => line.runs.push(run),
    }
}

/// Words with the spaces after them.
fn words(text: &str) -> Vec<&str> {
    text.split_inclusive([' ', '\n']).collect()
}

/// The width of runs on one line, and of their widest word, points.
#[must_use]
pub fn widths(runs: &[Run]) -> (f32, f32) {
    let all: f32 = runs.iter().map(Run::width).sum();
    let of_word = |word: &Vec<Run>| word.iter().map(|piece| piece.trimmed().width()).sum();
    (all, unbroken(runs).iter().map(of_word).fold(0.0, f32::max))
}

/// Where lines stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Align {
    /// At x.
    Left(f32),
    /// They end at x.
    Right(f32),
}

/// Sets lines below `top` into a tag, and returns their end. Without a tag they are not part of the
/// document's content.
pub fn set<'r>(
    lines: &[Line],
    align: Align,
    top: f32,
    tag: Option<(&mut TagNodes, TagId)>,
    pieces: &mut Vec<Placed<'r>>,
) -> f32 {
    let mut tag = tag;
    let mut y = top;
    for line in lines {
        let size = line
            .runs
            .iter()
            .map(|run| run.look.size)
            .fold(0.0, f32::max);
        y += size * LEADING;
        let mut x = match align {
            Align::Left(x) => x,
            Align::Right(x) => x - line.width,
        };
        for run in &line.runs {
            let slot = tag.as_mut().map(|(nodes, id)| {
                if run.link.is_empty() {
                    return nodes.slot(*id);
                }
                let link = nodes.within(*id, Tag::Link);
                let slot = nodes.slot(link);
                // The second is that of the link itself.
                nodes.slot(link);
                slot
            });
            let piece = Piece::Text {
                text: run
                    .text
                    .replace(['\n', '\t'], " ")
                    .chars()
                    .map(printable)
                    .collect(),
                look: run.look,
                link: run.link.clone(),
            };
            pieces.push(Placed {
                x,
                y: y - size * 0.36,
                piece,
                slot,
            });
            x += run.width();
        }
    }
    y - top
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look::ink(10.0);

    fn text(lines: &[Line]) -> Vec<String> {
        let words = |line: &Line| line.runs.iter().map(|run| run.text.as_str()).collect();
        lines.iter().map(words).collect()
    }

    #[test]
    fn what_stands_close_to_a_word_stays_with_it() {
        let runs = [Run::plain("one two", LOOK), badge_run("a", "code", LOOK)];
        let (all, word) = widths(&runs);
        assert_eq!(text(&lines(&runs, all - 1.0)), ["one ", "two\u{a0}[a]"]);
        assert!(word < all);
    }

    #[test]
    fn lines_break_between_words_and_long_words_between_letters() {
        let run = [Run::plain("one two three", LOOK)];
        let (all, longest) = widths(&run);
        assert!(longest < all);
        assert_eq!(text(&lines(&run, all)), ["one two three"]);
        assert_eq!(text(&lines(&run, longest)), ["one ", "two ", "three"]);
        let broken = lines(&run, longest / 2.0);
        assert_eq!(text(&broken).concat(), "one two three");
        assert!(broken.iter().all(|line| line.width <= longest / 2.0 + 3.0));
    }
}
