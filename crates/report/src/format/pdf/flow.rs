//! Lays boxes out on pages, one below the other. A box is never cut, a heading is never last on a
//! page, and related boxes stay together if a page has room for them.

use super::tree::Placed;
use crate::draw::Drawing;
use std::collections::BTreeMap;

/// A4, points.
pub const PAGE: (f32, f32) = (595.28, 841.89);
/// The left and right margins, points.
pub const SIDE: f32 = 51.0;
/// The width of the content, points.
pub const WIDTH: f32 = PAGE.0 - 2.0 * SIDE;
/// Where pages begin and end, below their running title and above their number, points.
pub const TOP: f32 = 58.0;
const BOTTOM: f32 = PAGE.1 - 56.0;
/// The height of a page's content, points.
pub const HEIGHT: f32 = BOTTOM - TOP;

/// Points to a pixel of a chart.
pub const SCALE: f32 = WIDTH / Drawing::PAPER.0;

/// A part that is never cut.
#[derive(Debug, Clone, Default)]
pub struct Boxed<'r> {
    /// Points, with the room below.
    pub height: f32,
    /// The pieces; y from the top of the box.
    pub pieces: Vec<Placed<'r>>,
    /// The anchors that are here.
    pub anchors: Vec<String>,
    /// Whether the next box is to be on the same page.
    pub stays_with_next: bool,
}

impl<'r> Boxed<'r> {
    /// Puts another box below it, into the same.
    pub fn append(&mut self, other: Self) {
        let top = self.height;
        let moved = other.pieces.into_iter().map(|placed| Placed {
            y: placed.y + top,
            ..placed
        });
        self.pieces.extend(moved);
        self.height += other.height;
    }
}

/// Pages, filled from the first.
#[derive(Debug, Default)]
pub struct Flow<'r> {
    /// The pieces of each page; y from its upper edge.
    pub pages: Vec<Vec<Placed<'r>>>,
    /// The page of each anchor, from 0, and how far down it is in points.
    pub anchors: BTreeMap<String, (usize, f32)>,
    /// The used height of each page but the last, points.
    full: Vec<f32>,
    /// The used height of the page, points.
    taken: f32,
    waiting: Vec<Boxed<'r>>,
    /// What is to be on one page, while it is collected.
    held: Option<Vec<Boxed<'r>>>,
    /// How many of such groups are on two pages.
    pub splits: usize,
}

/// A page that is fuller than this may end before a group that it has no room for, from 0 to 1.
const FULL_ENOUGH: f32 = 0.6;

impl<'r> Flow<'r> {
    /// Puts a box below the others, together with those that wait for it.
    pub fn push(&mut self, boxed: Boxed<'r>) {
        if let Some(held) = &mut self.held {
            held.push(boxed);
            return;
        }
        let stays = boxed.stays_with_next;
        self.waiting.push(boxed);
        if !stays {
            self.settle();
        }
    }

    /// Collects the following boxes, which are to be on one page.
    pub fn hold(&mut self) {
        self.settle();
        self.held = Some(Vec::new());
    }

    /// Keeps the last collected box, and the space below it, on the page of the next: a table with its
    /// note.
    pub fn keep_last(&mut self) {
        let last = self.held.iter_mut().flatten().rev().take(2);
        last.for_each(|boxed| boxed.stays_with_next = true);
    }

    /// Puts the collected boxes on this page or the next; on both if a page would be bare otherwise.
    pub fn release(&mut self) {
        let held = self.held.take().unwrap_or_default();
        let height: f32 = held.iter().map(|boxed| boxed.height).sum();
        let is_full = self.taken >= FULL_ENOUGH * HEIGHT;
        if !self.has_room(height) && height <= HEIGHT && is_full {
            self.next_page();
        }
        self.splits += usize::from(!self.pages.is_empty() && !self.has_room(height));
        held.into_iter().for_each(|boxed| self.push(boxed));
        self.settle();
    }

    /// Puts what waits for a next box.
    pub fn settle(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return;
        }
        let height: f32 = waiting.iter().map(|boxed| boxed.height).sum();
        if !self.has_room(height) {
            self.next_page();
        }
        waiting.into_iter().for_each(|boxed| self.place(boxed));
    }

    /// A list of boxes with a header, such as a table. It stays together on this page or the next
    /// if it takes less than half of one; otherwise its header is repeated on each page.
    pub fn push_list(&mut self, head: Boxed<'r>, repeated: &Boxed<'r>, items: Vec<Boxed<'r>>) {
        if let Some(held) = &mut self.held {
            let last = items.len();
            let all = std::iter::once(head).chain(items).enumerate();
            held.extend(all.map(|(i, one)| Boxed {
                stays_with_next: i < last,
                ..one
            }));
            return;
        }
        let height = head.height + items.iter().map(|item| item.height).sum::<f32>();
        let waits: f32 = self.waiting.iter().map(|boxed| boxed.height).sum();
        if waits + height <= HEIGHT / 2.0 && !self.has_room(waits + height) {
            self.next_page();
        }
        self.push(Boxed {
            stays_with_next: true,
            ..head
        });
        for item in items {
            if self.waiting.is_empty() && !self.has_room(item.height) {
                self.next_page();
                self.place(repeated.clone());
            }
            self.push(item);
        }
        self.settle();
    }

    /// Space before the next box, unless it begins a page.
    pub fn space(&mut self, height: f32) {
        let begun = self.held.as_mut().filter(|held| !held.is_empty());
        if let Some(held) = begun {
            held.push(Boxed {
                height,
                ..Boxed::default()
            });
        } else if self.taken > 0.0 && self.waiting.is_empty() {
            self.taken += height;
        }
    }

    /// The height that is left on the page, points.
    pub fn room(&self) -> f32 {
        let waits: f32 = self.waiting.iter().map(|boxed| boxed.height).sum();
        let taken = if self.pages.is_empty() {
            0.0
        } else {
            self.taken
        };
        HEIGHT - taken - waits
    }

    /// Whether this height is left on the page, points.
    fn has_room(&self, height: f32) -> bool {
        !self.pages.is_empty() && self.taken + height <= HEIGHT + 0.01
    }

    /// Begins a page.
    pub fn next_page(&mut self) {
        if self.pages.is_empty() || self.taken > 0.0 {
            if !self.pages.is_empty() {
                self.full.push(self.taken);
            }
            self.pages.push(Vec::new());
            self.taken = 0.0;
        }
    }

    /// How full each page is, from 0 to 1.
    pub fn fullness(&self) -> Vec<f32> {
        let taken = self.full.iter().chain(std::iter::once(&self.taken));
        taken.map(|taken| taken / HEIGHT).collect()
    }

    fn place(&mut self, boxed: Boxed<'r>) {
        let top = TOP + self.taken;
        let page = self.pages.len() - 1;
        for anchor in boxed.anchors {
            self.anchors.entry(anchor).or_insert((page, top));
        }
        let moved = boxed.pieces.into_iter().map(|placed| Placed {
            y: placed.y + top,
            ..placed
        });
        self.pages[page].extend(moved);
        self.taken += boxed.height;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(height: f32, name: &str) -> Boxed<'static> {
        Boxed {
            height,
            anchors: vec![name.to_owned()],
            ..Boxed::default()
        }
    }

    #[test]
    fn a_heading_goes_with_what_is_below_it() {
        let mut flow = Flow::default();
        flow.push(boxed(HEIGHT - 50.0, "text"));
        flow.push(Boxed {
            stays_with_next: true,
            ..boxed(20.0, "heading")
        });
        flow.push(boxed(100.0, "chart"));
        let pages = ["text", "heading", "chart"].map(|name| flow.anchors[name].0);
        assert_eq!(pages, [0, 1, 1]);
    }

    #[test]
    fn a_list_that_fills_a_page_begins_no_further_one() {
        let mut flow = Flow::default();
        flow.push(boxed(HEIGHT - 100.0, "text"));
        flow.push_list(
            boxed(20.0, "head"),
            &boxed(20.0, "again"),
            vec![boxed(80.0, "row")],
        );
        flow.space(12.0);
        flow.settle();
        assert_eq!(flow.pages.len(), 1);
    }

    #[test]
    fn a_small_table_is_whole_and_a_long_one_has_its_head_on_each_page() {
        let with_rows = |count: usize| {
            let rows = (0..count).map(|n| boxed(20.0, &n.to_string())).collect();
            let mut flow = Flow::default();
            flow.push(boxed(HEIGHT - 50.0, "text"));
            flow.push_list(boxed(20.0, "head"), &boxed(20.0, "again"), rows);
            flow
        };
        let small = with_rows(5);
        assert_eq!(small.anchors["head"].0, 1);
        assert!(!small.anchors.contains_key("again"));

        let long = with_rows(60);
        assert_eq!(long.anchors["head"].0, 0);
        assert_eq!(long.anchors["again"].0, 1);
        assert_eq!(long.anchors["0"].0, 0, "a head stands over a row");
        assert!(long.pages.len() == 3, "{}", long.pages.len());
    }
}
