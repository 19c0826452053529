//! Writes pages, tags and links to the file.

use super::{
    blocks::{Entry, Written},
    flow::{PAGE, SIDE, WIDTH},
    picture::{self, Fonts},
    tree::{Child, Look, Piece, Placed, TagId, TagNodes},
};
use krilla::{
    Document, SerializeSettings,
    annotation::{Annotation, LinkAnnotation, Target},
    color::rgb,
    configure::{Accessibility, ConfigurationBuilder},
    destination::XyzDestination,
    geom::{PathBuilder, Point, Rect, Transform},
    metadata::{DateTime, Metadata},
    outline::{Outline, OutlineNode},
    page::{Page, PageSettings},
    paint::Fill,
    surface::Surface,
    tagging::{Artifact, ArtifactType, ContentTag, Identifier, Node, SpanTag, TagGroup, TagTree},
    text::{GlyphId, KrillaGlyph},
};
use std::collections::BTreeMap;

const RUNNING: Look = Look::muted(7.6);

/// What stands on every page.
#[derive(Debug, Clone, Copy)]
pub struct Running<'r> {
    /// The title, over all pages but the first.
    pub title: &'r str,
    /// The author's words below all of them; empty: none.
    pub footer: &'r str,
}

/// The bytes of the file.
pub fn emit(
    written: Written<'_>,
    running: Running<'_>,
    began_ms: Option<u64>,
) -> Result<Vec<u8>, String> {
    let configuration = ConfigurationBuilder::new();
    let configuration = configuration.with_accessibility_validator(Accessibility::UA1);
    let configuration = configuration
        .finish()
        .map_err(|error| format!("{error:?}"))?;
    let mut document = Document::new_with(SerializeSettings {
        configuration,
        ..SerializeSettings::default()
    });
    let Written {
        flow,
        tags,
        outline,
    } = written;
    let mut emitter = Emitter {
        fonts: Fonts::new(),
        anchors: &flow.anchors,
        slots: vec![None; tags.slots],
        running,
        pages: flow.pages.len(),
    };
    for (number, pieces) in flow.pages.iter().enumerate() {
        let settings = PageSettings::from_wh(PAGE.0, PAGE.1).ok_or("a page has no size")?;
        let mut page = document.start_page_with(settings);
        emitter.page(&mut page, number, pieces)?;
        page.finish();
    }
    let mut tree = TagTree::new();
    for root in &tags.roots {
        if let Some(group) = emitter.group(&tags, *root) {
            tree.push(group);
        }
    }
    document.set_tag_tree(tree);
    let mut entries = Outline::new();
    outline
        .iter()
        .filter_map(|entry| emitter.outline(entry))
        .for_each(|entry| entries.push_child(entry));
    document.set_outline(entries);
    document.set_metadata(metadata(running.title, began_ms));
    document.finish().map_err(|error| format!("{error:?}"))
}

fn metadata(title: &str, began_ms: Option<u64>) -> Metadata {
    let metadata = Metadata::new()
        .title(title.to_owned())
        .language("en".to_owned())
        .creator(format!("tailmark {}", env!("CARGO_PKG_VERSION")));
    // When it was measured, so that the same study gives the same file.
    match began_ms.map(date) {
        Some(date) => metadata.creation_date(date),
        None => metadata,
    }
}

/// The day, by the civil calendar (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn date(unix_ms: u64) -> DateTime {
    let seconds = unix_ms / 1_000;
    let days = i64::try_from(seconds / 86_400).unwrap_or(0) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let of_day = seconds % 86_400;
    let small = |number: u64| u8::try_from(number).unwrap_or(0);
    DateTime::new(u16::try_from(year).unwrap_or(u16::MAX))
        .month(u8::try_from(month).unwrap_or(1))
        .day(u8::try_from(day).unwrap_or(1))
        .hour(small(of_day / 3_600))
        .minute(small(of_day / 60 % 60))
        .second(small(of_day % 60))
        .utc_offset_hour(0)
        .utc_offset_minute(0)
}

struct Emitter<'e> {
    fonts: Fonts,
    anchors: &'e BTreeMap<String, (usize, f32)>,
    /// What each slot of the tree holds, once it is on a page.
    slots: Vec<Option<Identifier>>,
    running: Running<'e>,
    pages: usize,
}

impl Emitter<'_> {
    fn page(
        &mut self,
        page: &mut Page<'_>,
        number: usize,
        all: &[Placed<'_>],
    ) -> Result<(), String> {
        let mut links = Vec::new();
        let mut surface = page.surface();
        for placed in all {
            self.piece(&mut surface, placed)?;
            links.extend(self.link(placed));
        }
        self.running(&mut surface, number);
        surface.finish();
        for (slot, annotation) in links {
            self.slots[slot] = Some(page.add_tagged_annotation(annotation));
        }
        Ok(())
    }

    fn piece(&mut self, surface: &mut Surface<'_>, placed: &Placed<'_>) -> Result<(), String> {
        match &placed.piece {
            Piece::Text { text, look, .. } => {
                self.tagged(surface, placed.slot, |this, surface| {
                    this.text(surface, (placed.x, placed.y), text, *look);
                });
            }
            Piece::PageOf { anchor, look } => {
                let page = self
                    .anchors
                    .get(anchor)
                    .map_or(0, |(page, _)| page + 1)
                    .to_string();
                let x = placed.x - look.weight.width(&page, look.size);
                self.tagged(surface, placed.slot, |this, surface| {
                    this.text(surface, (x, placed.y), &page, *look);
                });
            }
            Piece::Rule {
                width,
                height,
                color,
            } => {
                let mut path = PathBuilder::new();
                let rect = Rect::from_xywh(placed.x, placed.y, *width, *height);
                path.push_rect(rect.ok_or("a rule has no size")?);
                self.tagged(surface, None, |_, surface| {
                    surface.set_fill(Some(fill(color)));
                    surface.set_stroke(None);
                    path.finish()
                        .iter()
                        .for_each(|path| surface.draw_path(path));
                });
            }
            Piece::Logo { image, size } => {
                self.tagged(surface, None, |_, surface| {
                    let (x, y) = (placed.x, placed.y);
                    surface.push_transform(&Transform::from_translate(x, y));
                    surface.draw_image(image.clone(), *size);
                    surface.pop();
                });
            }
            Piece::Picture { drawing, scale } => {
                let tree = drawing.chart().map_err(|error| error.to_string())?;
                let identifier = surface.start_tagged(ContentTag::Other);
                let (x, y) = (placed.x, placed.y);
                surface.push_transform(&Transform::from_row(*scale, 0.0, 0.0, *scale, x, y));
                picture::draw(&tree, surface, &self.fonts);
                surface.pop();
                surface.end_tagged();
                if let Some(slot) = placed.slot {
                    self.slots[slot] = Some(identifier);
                }
            }
        }
        Ok(())
    }

    /// Draws something that fills a slot of the tree, or means nothing.
    fn tagged(
        &mut self,
        surface: &mut Surface<'_>,
        slot: Option<usize>,
        draw: impl FnOnce(&Self, &mut Surface<'_>),
    ) {
        let tag = match slot {
            Some(_) => ContentTag::Span(SpanTag::empty()),
            None => ContentTag::Artifact(Artifact::with_kind(ArtifactType::Layout)),
        };
        let identifier = surface.start_tagged(tag);
        draw(self, surface);
        surface.end_tagged();
        if let Some(slot) = slot {
            self.slots[slot] = Some(identifier);
        }
    }

    fn text(&self, surface: &mut Surface<'_>, (x, y): (f32, f32), text: &str, look: Look) {
        let glyph = |(at, c): (usize, char)| {
            let (id, advance) = look.weight.glyph(c);
            let range = at..at + c.len_utf8();
            KrillaGlyph::new(GlyphId::new(id), advance, 0.0, 0.0, 0.0, range, None)
        };
        let glyphs: Vec<KrillaGlyph> = text.char_indices().map(glyph).collect();
        let font = self.fonts.font(look.weight);
        surface.set_fill(Some(fill(look.color)));
        surface.set_stroke(None);
        surface.draw_glyphs(Point::from_xy(x, y), &glyphs, font, text, look.size, false);
    }

    /// The title over all pages but the first, and the number below each.
    fn running(&self, surface: &mut Surface<'_>, number: usize) {
        let right = |text: &str| SIDE + WIDTH - RUNNING.weight.width(text, RUNNING.size);
        let tag = |kind| ContentTag::Artifact(Artifact::with_kind(kind));
        if number > 0 {
            surface.start_tagged(tag(ArtifactType::Header));
            let title = cut(self.running.title, WIDTH);
            self.text(surface, (SIDE, 36.0), &title, RUNNING);
            surface.end_tagged();
        }
        surface.start_tagged(tag(ArtifactType::Footer));
        let made = match self.running.footer {
            "" => format!("tailmark {}", env!("CARGO_PKG_VERSION")),
            words => cut(words, WIDTH - 60.0),
        };
        self.text(surface, (SIDE, PAGE.1 - 30.0), &made, RUNNING);
        let place = format!("{} / {}", number + 1, self.pages);
        self.text(surface, (right(&place), PAGE.1 - 30.0), &place, RUNNING);
        surface.end_tagged();
    }

    /// The link of a piece of text, and its slot, which follows that of the text.
    fn link(&self, placed: &Placed<'_>) -> Option<(usize, Annotation)> {
        let Piece::Text { text, look, link } = &placed.piece else {
            return None;
        };
        let destination = self.destination(link)?;
        let width = look.weight.width(text, look.size);
        let top = placed.y - look.size;
        let rect = Rect::from_xywh(placed.x, top, width, look.size * 1.3)?;
        let target = Target::Destination(destination.into());
        let about = format!("to {}", text.trim());
        let annotation = Annotation::new_link(LinkAnnotation::new(rect, target), Some(about));
        Some((placed.slot? + 1, annotation))
    }

    fn destination(&self, anchor: &str) -> Option<XyzDestination> {
        let (page, top) = self.anchors.get(anchor)?;
        Some(XyzDestination::new(*page, Point::from_xy(0.0, top - 8.0)))
    }

    fn outline(&self, entry: &Entry) -> Option<OutlineNode> {
        let mut node = OutlineNode::new(entry.title.clone(), self.destination(&entry.anchor)?);
        let below = entry.below.iter().filter_map(|inner| self.outline(inner));
        below.for_each(|child| node.push_child(child));
        Some(node)
    }

    /// A tag with its content; `None` if that is empty.
    fn group(&self, tags: &TagNodes, id: TagId) -> Option<TagGroup> {
        let (kind, children) = &tags.nodes[id];
        let child = |child: &Child| match child {
            Child::Node(inner) => self.group(tags, *inner).map(Node::Group),
            Child::Slot(slot) => self.slots[*slot].map(Node::Leaf),
        };
        let children: Vec<Node> = children.iter().filter_map(child).collect();
        (!children.is_empty()).then(|| TagGroup::with_children(kind.clone(), children))
    }
}

/// A line that is no wider than its room.
fn cut(text: &str, room: f32) -> String {
    let mut cut = text.to_owned();
    while RUNNING.weight.width(&cut, RUNNING.size) > room && cut.pop().is_some() {}
    cut
}

fn fill(color: &str) -> Fill {
    let part = |at: usize| {
        let digits = color.get(at..at + 2);
        digits
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .unwrap_or(0)
    };
    Fill {
        paint: rgb::Color::new(part(1), part(3), part(5)).into(),
        ..Fill::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_that_of_the_calendar() {
        // 2024-02-29 12:34:56 UTC.
        let day = DateTime::new(2024).month(2).day(29);
        let time = day.hour(12).minute(34).second(56);
        let expected = time.utc_offset_hour(0).utc_offset_minute(0);
        assert_eq!(
            format!("{:?}", date(1_709_210_096_000)),
            format!("{expected:?}")
        );
    }
}
