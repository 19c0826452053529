//! Parts next to each other on a page: summary cards, and a chart with sentences.

use super::{
    blocks::{INK, SCALE, Writer, heading},
    flow::{Boxed, SIDE, WIDTH},
    lines::{Align, Run, badge_run, lines, runs, set},
    tree::{Look, Piece, Placed},
};
use crate::{Card, CardFigure, Figure, Text, draw::Drawing};
use krilla::tagging::{ListNumbering, Tag};

/// The most cards beside each other.
const CARDS: usize = 5;
/// Between them, points.
const GAP: f32 = 10.0;
const ACCENT: &str = "#0b5a8f";

/// A card with one of its figures.
fn with(card: &Card, figure: &CardFigure) -> Card {
    Card {
        figures: vec![figure.clone()],
        ..card.clone()
    }
}

impl<'r> Writer<'r> {
    /// Cards in rows that fill the width of the page, so that there is no gap.
    /// The figures of a card that is alone stand in such a row, too.
    pub fn cards(&mut self, cards: &[Card]) {
        let single: Vec<Card> = match cards {
            [card] => card.figures.iter().map(|own| with(card, own)).collect(),
            _ => Vec::new(),
        };
        let cards = if single.is_empty() { cards } else { &single };
        let rows = cards.len().div_ceil(CARDS).max(1);
        let (least, more) = (cards.len() / rows, cards.len() % rows);
        let mut rest = cards;
        for row in 0..rows {
            let count = least + usize::from(row < more);
            let (now, later) = rest.split_at(count);
            self.row_of_cards(now);
            rest = later;
        }
        self.written.flow.space(4.0);
    }

    fn row_of_cards(&mut self, cards: &[Card]) {
        let width = (WIDTH - GAP * (cards.len() as f32 - 1.0)) / cards.len().max(1) as f32;
        let mut pieces = Vec::new();
        let mut height = 0.0_f32;
        let mut left = SIDE;
        for card in cards {
            pieces.push(Placed {
                x: left,
                y: 0.0,
                piece: Piece::Rule {
                    width,
                    height: 1.2,
                    color: ACCENT,
                },
                slot: None,
            });
            let mut top = 6.0;
            let mut put = |this: &mut Self, words: &[Run], at: f32| {
                let tag = this.written.tags.within(this.section, Tag::P);
                let all = lines(words, width);
                let tags = Some((&mut this.written.tags, tag));
                set(&all, Align::Left(left), at, tags, &mut pieces)
            };
            top += put(self, &[Run::plain(&card.title, heading(8.2))], top) + 1.0;
            for (i, figure) in card.figures.iter().enumerate() {
                let is_number = figure.value.contains(|c: char| c.is_ascii_digit());
                let size = match (i, is_number) {
                    (0, true) => 17.0,
                    (0, false) => 12.0,
                    _ => 12.5,
                };
                let mut value = vec![Run::plain(&figure.value, heading(size))];
                if i == 0 {
                    let badges = card.badges.iter();
                    value.extend(badges.map(|badge| badge_run(&badge.letter, &badge.code, INK)));
                }
                top += put(self, &value, top);
                top += put(self, &[Run::plain(&figure.about, Look::muted(7.2))], top) + 3.0;
            }
            height = height.max(top);
            left += width + GAP;
        }
        self.written.flow.push(Boxed {
            height: height + 6.0,
            pieces,
            ..Boxed::default()
        });
    }

    /// A chart on the left, and sentences on the right of it.
    pub fn beside(&mut self, figure: &Figure, texts: &[Text]) {
        let mut drawings = self.drawings.iter();
        let Some(drawing) = drawings.find(|drawing| drawing.figure.0 == figure.anchor) else {
            return self.list(texts);
        };
        let mut boxed = self.charts(&[drawing], SCALE, vec![figure.anchor.clone()]);
        let left = SIDE + WIDTH * (Drawing::PAPER.1 / Drawing::PAPER.0) + 2.0 * GAP;
        let room = SIDE + WIDTH - left;
        let look = Look::ink(8.6);
        let list = Tag::L(ListNumbering::Disc);
        let list = self.written.tags.within(self.section, list);
        let mut top = 2.0;
        for text in texts {
            let item = self.written.tags.within(list, Tag::LI);
            let label = self.written.tags.within(item, Tag::Lbl);
            let body = self.written.tags.within(item, Tag::LBody);
            let mark = lines(&[Run::plain("•", look)], room);
            let to_label = Some((&mut self.written.tags, label));
            set(&mark, Align::Left(left), top, to_label, &mut boxed.pieces);
            let all = lines(&runs(text, look), room - 9.0);
            let to_body = Some((&mut self.written.tags, body));
            top += set(
                &all,
                Align::Left(left + 9.0),
                top,
                to_body,
                &mut boxed.pieces,
            ) + 3.0;
        }
        boxed.height = boxed.height.max(top + 6.0);
        self.written.flow.push(boxed);
    }
}
