//! Charts on a page.

use super::{
    blocks::{Writer, heading},
    flow::{Boxed, HEIGHT, SCALE, SIDE, WIDTH},
    lines::{Align, Run, lines, set},
    tree::{Look, Piece, Placed},
};
use crate::{Figure, draw::Drawing};
use krilla::tagging::Tag;

impl<'r> Writer<'r> {
    /// Charts of the whole width one below the other, others in pairs.
    pub fn figure(&mut self, figure: &Figure) {
        let drawings = self.drawings.iter();
        let drawings: Vec<&Drawing> = drawings.filter(|d| d.figure.0 == figure.anchor).collect();
        let is_wide = |drawing: &Drawing| drawing.size.0 > Drawing::PAPER.1;
        let mut anchors = vec![figure.anchor.clone()];
        for row in drawings.chunk_by(|a, b| !is_wide(a) && !is_wide(b)) {
            for pair in row.chunks(2) {
                let scale = self.scale(pair);
                let boxed = self.charts(pair, scale, std::mem::take(&mut anchors));
                self.written.flow.push(boxed);
            }
        }
    }

    /// The scale of charts. One that takes most of a page is smaller if it then fits below what is
    /// there, so that no half page stays empty.
    fn scale(&self, pair: &[&Drawing]) -> f32 {
        const TALL: f32 = 0.6 * HEIGHT;
        const LEAST: f32 = 0.75;
        const CAPTION: f32 = 40.0;
        let [only] = pair else {
            return SCALE;
        };
        let height = only.size.1 * SCALE;
        let fits = (self.written.flow.room() - CAPTION) / height;
        if height > TALL && (LEAST..1.0).contains(&fits) {
            SCALE * fits
        } else {
            SCALE
        }
    }

    pub fn charts(&mut self, pair: &[&'r Drawing], scale: f32, anchors: Vec<String>) -> Boxed<'r> {
        let mut pieces = Vec::new();
        let mut height = 0.0_f32;
        let mut left = SIDE;
        let title = heading(8.6);
        let hint = Look::muted(7.2);
        for drawing in pair {
            let width = drawing.size.0 * SCALE;
            let about = format!("{}. {} {}", drawing.title, drawing.about, drawing.hint);
            let tags = &mut self.written.tags;
            let caption = tags.within(self.section, Tag::P);
            let mut top = 0.0;
            for (words, look) in [(&drawing.title, title), (&drawing.hint, hint)] {
                top += set(
                    &lines(&[Run::plain(words, look)], width),
                    Align::Left(left),
                    2.0 + top,
                    Some((tags, caption)),
                    &mut pieces,
                );
            }
            top += 6.0;
            let figure = tags.within(self.section, Tag::Figure(Some(about)));
            let slot = tags.slot(figure);
            pieces.push(Placed {
                x: left,
                y: top,
                piece: Piece::Picture { drawing, scale },
                slot: Some(slot),
            });
            height = height.max(top + drawing.size.1 * scale);
            left += WIDTH - width;
        }
        Boxed {
            height: height + 8.0,
            pieces,
            anchors,
            stays_with_next: false,
        }
    }
}
