//! The content of the pages and its structure: pieces of text, lines and pictures, and above them
//! the tree of tags that marks headings, paragraphs and cells (tagged PDF).

use crate::{
    draw::{Drawing, font::Weight},
    style,
};
use krilla::{geom::Size, image::Image, tagging::TagKind};

/// The appearance of text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Points.
    pub size: f32,
    /// Regular or bold.
    pub weight: Weight,
    /// `#rrggbb`.
    pub color: &'static str,
}

impl Look {
    /// Text of this height, points.
    pub const fn ink(size: f32) -> Self {
        Self {
            size,
            weight: Weight::Regular,
            color: style::INK,
        }
    }

    /// A note beside it.
    pub const fn muted(size: f32) -> Self {
        Self {
            color: style::MUTED,
            ..Self::ink(size)
        }
    }

    /// The same, bold.
    pub const fn bold(self) -> Self {
        Self {
            weight: Weight::Bold,
            ..self
        }
    }
}

/// One piece of a page; x and y in points from its upper left corner.
#[derive(Debug, Clone)]
pub enum Piece<'r> {
    /// A piece of a line of text: y is that of its baseline.
    Text {
        /// The text.
        text: String,
        /// Its appearance.
        look: Look,
        /// The anchor that it leads to; empty: none.
        link: String,
    },
    /// A filled rectangle, which means nothing: a rule or a background.
    Rule {
        /// Points.
        width: f32,
        /// Points.
        height: f32,
        /// `#rrggbb`.
        color: &'static str,
    },
    /// The author's picture, which means nothing: the title says it.
    Logo {
        /// The picture.
        image: Image,
        /// Points.
        size: Size,
    },
    /// A chart.
    Picture {
        /// The chart.
        drawing: &'r Drawing,
        /// Points to a pixel.
        scale: f32,
    },
    /// The number of the page that an anchor is on, right of it.
    PageOf {
        /// The anchor.
        anchor: String,
        /// Its appearance.
        look: Look,
    },
}

/// A piece in its place.
#[derive(Debug, Clone)]
pub struct Placed<'r> {
    /// Points from the left edge.
    pub x: f32,
    /// Points from the top of its container.
    pub y: f32,
    /// The piece.
    pub piece: Piece<'r>,
    /// Its slot in the tree; `None`: it is not part of the document's content.
    pub slot: Option<usize>,
}

/// A tag of the tree.
pub type TagId = usize;

/// The tags over the pieces, in reading order.
#[derive(Debug, Default)]
pub struct TagNodes {
    /// Tags with their content. Parents come before their children.
    pub nodes: Vec<(TagKind, Vec<Child>)>,
    /// Tags without a parent.
    pub roots: Vec<TagId>,
    /// The number of pieces.
    pub slots: usize,
}

/// The content of a tag.
#[derive(Debug, Clone, Copy)]
pub enum Child {
    /// A tag.
    Node(TagId),
    /// A piece, known by its slot.
    Slot(usize),
}

impl TagNodes {
    /// A tag that is in no other.
    pub fn root(&mut self, kind: impl Into<TagKind>) -> TagId {
        let id = self.add(kind);
        self.roots.push(id);
        id
    }

    /// A tag within another.
    pub fn within(&mut self, parent: TagId, kind: impl Into<TagKind>) -> TagId {
        let id = self.add(kind);
        self.nodes[parent].1.push(Child::Node(id));
        id
    }

    /// A place for a piece in a tag.
    pub fn slot(&mut self, parent: TagId) -> usize {
        self.slots += 1;
        self.nodes[parent].1.push(Child::Slot(self.slots - 1));
        self.slots - 1
    }

    fn add(&mut self, kind: impl Into<TagKind>) -> TagId {
        self.nodes.push((kind.into(), Vec::new()));
        self.nodes.len() - 1
    }
}
