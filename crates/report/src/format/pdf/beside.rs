//! Parts next to each other on a page: summary cards, and a chart with sentences.

use super::{
    blocks::{INK, Writer, heading, sized},
    fit::WIDTHS,
    flow::{Boxed, HEIGHT, SCALE, SIDE, WIDTH},
    lines::{Align, LEADING, Run, badge_run, lines, runs, set},
    table::{self, Setting},
    tree::{Look, Piece, Placed},
};
use crate::{Block, Card, CardFigure, Figure, Section, Table, Text};
use krilla::tagging::{ListNumbering, Tag};

/// The most cards beside each other.
const CARDS: usize = 5;
/// Between them, points.
const GAP: f32 = 10.0;
/// Of a sentence from its mark, points.
const INDENT: f32 = 9.0;
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
        let fit = self.fit;
        let sized = |look| sized(fit, look);
        let titles = cards.iter().map(|card| {
            let title = Run::plain(&card.title, sized(heading(8.2)));
            lines(&[title], width).len() as f32 * sized(heading(8.2)).size * LEADING
        });
        // Numbers stand on one line.
        let below_title = titles.fold(0.0, f32::max) + 7.0;
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
            let mut top = 6.0_f32;
            let mut put = |this: &mut Self, words: &[Run], at: f32| {
                let tag = this.written.tags.within(this.section, Tag::P);
                let all = lines(words, width);
                let tags = Some((&mut this.written.tags, tag));
                set(&all, Align::Left(left), at, tags, &mut pieces)
            };
            put(self, &[Run::plain(&card.title, sized(heading(8.2)))], top);
            top = below_title;
            for (i, figure) in card.figures.iter().enumerate() {
                let is_number = figure.value.contains(|c: char| c.is_ascii_digit());
                let size = match (i, is_number) {
                    (0, true) => 17.0,
                    (0, false) => 12.0,
                    _ => 12.5,
                };
                let mut value = vec![Run::plain(&figure.value, sized(heading(size)))];
                if i == 0 {
                    let badges = card.badges.iter();
                    value.extend(badges.map(|badge| badge_run(&badge.letter, &badge.code, INK)));
                }
                top += put(self, &value, top);
                top += put(
                    self,
                    &[Run::plain(&figure.about, sized(Look::muted(7.2)))],
                    top,
                ) + 3.0;
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

    /// The first page of a brief after its headline. The table of peaks, which others have too, is
    /// left out where it has no room; so is the conclusion, which then comes at the end.
    pub fn front(&mut self, blocks: &'r [Block], section: &Section) {
        let is_heading = |block: &Block| matches!(block, Block::Heading { .. });
        let end = blocks.iter().position(is_heading).unwrap_or(blocks.len());
        let (front, conclusion) = blocks.split_at(end);
        for (i, block) in front.iter().enumerate() {
            let is_table = matches!(block, Block::Table(_));
            if !is_table || self.has_room(&blocks[i..], section) {
                self.block(block, section);
            }
        }
        if self.has_room(conclusion, section) {
            conclusion
                .iter()
                .for_each(|block| self.block(block, section));
        } else {
            self.later = conclusion;
        }
    }

    /// Whether the page has room for all of these.
    fn has_room(&self, blocks: &'r [Block], section: &Section) -> bool {
        let mut trial = Self::new(self.drawings, self.fit);
        blocks.iter().for_each(|block| trial.block(block, section));
        let fullness = trial.finish().flow.fullness();
        fullness.len() == 1 && fullness[0] * HEIGHT <= self.written.flow.room()
    }

    /// The workloads of a brief, each on one page if possible.
    pub fn workloads(&mut self, blocks: &'r [Block], section: &Section) {
        let setting = Setting::beside(SIDE + WIDTHS.1 * SCALE + GAP);
        self.is_beside = blocks.iter().all(|block| match block {
            Block::Table(table) => table::fits(table, setting),
            _ => true,
        });
        let is_same = |_: &Block, next: &Block| !matches!(next, Block::Heading { .. });
        for of_workload in blocks.chunk_by(is_same) {
            self.written.flow.hold();
            let mut rest = of_workload;
            while let Some((block, after)) = rest.split_first() {
                if let (Block::Beside(figure, texts), [Block::Table(table), more @ ..]) =
                    (block, after)
                {
                    self.workload(figure, texts, Some(table));
                    rest = more;
                } else {
                    self.block(block, section);
                    rest = after;
                }
            }
            self.written.flow.release();
        }
    }

    /// A chart, and on its right the table, unless that of any workload is too wide. Below it, as many
    /// sentences as the chart is high. The others and a wide table are below the chart.
    pub fn workload(&mut self, figure: &Figure, texts: &[Text], table: Option<&Table>) {
        let mut drawings = self.drawings.iter();
        let Some(drawing) = drawings.find(|drawing| drawing.figure.0 == figure.anchor) else {
            self.list(texts);
            return table.into_iter().for_each(|table| self.table(table));
        };
        let mut whole = self.charts(&[drawing], SCALE, vec![figure.anchor.clone()]);
        let left = SIDE + drawing.size.0 * SCALE + GAP;
        let narrow = table.filter(|_| self.is_beside);
        let mut top = 2.0;
        if let Some(of_table) = narrow {
            let tags = &mut self.written.tags;
            let set = table::boxed(of_table, self.section, tags, Setting::beside(left));
            top = set.height + 6.0;
            whole.height = whole.height.max(top);
            whole.pieces.extend(set.pieces);
        }
        let rest = self.sentences(texts, (left, top), &mut whole);
        self.written.flow.push(whole);
        narrow.into_iter().for_each(|own| self.note(own));
        if !rest.is_empty() {
            self.list(rest);
        }
        let wide = table.filter(|_| !self.is_beside);
        wide.into_iter().for_each(|own| self.table(own));
    }

    /// Sets as many sentences right of a chart as it is high, from here on, and returns the others.
    fn sentences<'t>(
        &mut self,
        texts: &'t [Text],
        (left, from): (f32, f32),
        boxed: &mut Boxed<'r>,
    ) -> &'t [Text] {
        let look = self.sized(INK);
        let room = SIDE + WIDTH - left - INDENT;
        let mut top = from;
        let mut list = None;
        for (i, text) in texts.iter().enumerate() {
            let all = lines(&runs(text, look), room);
            let height = all.len() as f32 * look.size * LEADING;
            // Of the whole width it takes half the height.
            if top + height - boxed.height > height / 2.0 {
                return &texts[i..];
            }
            let tags = &mut self.written.tags;
            let list =
                *list.get_or_insert_with(|| tags.within(self.section, Tag::L(ListNumbering::Disc)));
            let item = tags.within(list, Tag::LI);
            let label = tags.within(item, Tag::Lbl);
            let body = tags.within(item, Tag::LBody);
            let mark = lines(&[Run::plain("•", look)], room);
            set(
                &mark,
                Align::Left(left),
                top,
                Some((tags, label)),
                &mut boxed.pieces,
            );
            let to = Align::Left(left + INDENT);
            top += set(&all, to, top, Some((tags, body)), &mut boxed.pieces) + 3.0;
            boxed.height = boxed.height.max(top);
        }
        boxed.height = boxed.height.max(top + 3.0);
        &[]
    }
}
