//! Puts a chart on a page: shapes as shapes and text as text, so that it can be searched and
//! copied.

use crate::draw::font::Weight;
use krilla::{
    Data,
    color::rgb,
    geom::{Path, PathBuilder, Point, Transform},
    image::Image,
    num::NormalizedF32,
    paint::{Fill, FillRule, LineCap, LineJoin, Stroke, StrokeDash},
    surface::Surface,
    text::{Font, GlyphId, KrillaGlyph},
};
use resvg::{
    tiny_skia::{self, PathSegment},
    usvg::{self, Group, Node, PaintOrder, Tree, layout::PositionedGlyph},
};
use tailmark_model::LogoKind;

/// The weights of the font as the document has them.
#[derive(Debug, Clone)]
pub struct Fonts {
    regular: Font,
    bold: Font,
}

impl Fonts {
    /// The fonts of the program.
    #[must_use]
    pub fn new() -> Self {
        let font = |weight: Weight| {
            let font = Font::new(weight.bytes().into(), 0);
            font.expect("the font is part of the program")
        };
        Self {
            regular: font(Weight::Regular),
            bold: font(Weight::Bold),
        }
    }

    /// One of them.
    #[must_use]
    pub fn font(&self, weight: Weight) -> Font {
        match weight {
            Weight::Regular => self.regular.clone(),
            Weight::Bold => self.bold.clone(),
        }
    }
}

/// A picture of the author's; `None` if it cannot be read.
pub fn image(kind: LogoKind, bytes: &[u8]) -> Option<Image> {
    let data: Data = bytes.to_vec().into();
    let image = match kind {
        LogoKind::Png => Image::from_png(data, true),
        LogoKind::Jpeg => Image::from_jpeg(data, true),
    };
    image
        .ok()
        .filter(|image| image.size().0 > 0 && image.size().1 > 0)
}

/// Draws a chart with its upper left corner at the origin of the surface.
pub fn draw(tree: &Tree, surface: &mut Surface<'_>, fonts: &Fonts) {
    Pen {
        tree,
        surface,
        fonts,
    }
    .group(tree.root());
}

struct Pen<'p, 's> {
    tree: &'p Tree,
    surface: &'p mut Surface<'s>,
    fonts: &'p Fonts,
}

impl Pen<'_, '_> {
    fn group(&mut self, group: &Group) {
        self.surface.push_transform(&transform(group.transform()));
        let mut pushed = 1;
        if let Some(path) = group.clip_path().and_then(|clip| first_path(clip.root())) {
            self.surface.push_clip_path(&path, &FillRule::NonZero);
            pushed += 1;
        }
        if group.opacity() != usvg::Opacity::ONE {
            self.surface.push_opacity(part(group.opacity().get()));
            pushed += 1;
        }
        for node in group.children() {
            match node {
                Node::Group(inner) => self.group(inner),
                Node::Path(path) => self.path(path),
                Node::Text(text) => text.layouted().iter().for_each(|span| self.span(span)),
                // No chart has any.
                Node::Image(_) => {}
            }
        }
        (0..pushed).for_each(|_| self.surface.pop());
    }

    fn path(&mut self, path: &usvg::Path) {
        let fill = path.fill().and_then(fill);
        let stroke = path.stroke().and_then(stroke);
        let Some(data) = outline(path.data()) else {
            return;
        };
        if path.is_visible() && (fill.is_some() || stroke.is_some()) {
            self.surface.set_fill(fill);
            self.surface.set_stroke(stroke);
            self.surface.draw_path(&data);
        }
    }

    /// Consecutive glyphs in one direction. Strokes are a halo behind them.
    fn span(&mut self, span: &usvg::layout::Span) {
        let Some(first) = span.positioned_glyphs.first().filter(|_| span.visible) else {
            return;
        };
        let size = first.font_size();
        let origin = first.transform();
        let scale = size / self.fonts.regular.units_per_em();
        let [sx, ky, kx, sy] =
            [origin.sx, origin.ky, origin.kx, origin.sy].map(|part| part / scale);
        let place = tiny_skia::Transform::from_row(sx, ky, kx, sy, origin.tx, origin.ty);
        let Some(back) = place.invert() else {
            return;
        };
        let x_of = |glyph: &PositionedGlyph| {
            let offset = glyph.transform();
            let mut point = tiny_skia::Point::from_xy(offset.tx, offset.ty);
            back.map_point(&mut point);
            point.x
        };
        let starts: Vec<f32> = span.positioned_glyphs.iter().map(x_of).collect();
        let start = Point::from_xy(0.0, 0.0);
        let face = self.tree.fontdb().face(first.font);
        let is_bold = face.is_some_and(|face| face.weight.0 > 500);
        let weight = if is_bold {
            Weight::Bold
        } else {
            Weight::Regular
        };
        let font = self.fonts.font(weight);
        let (text, glyphs) = glyphs(&span.positioned_glyphs, &starts, size, weight);
        let halo = span
            .stroke
            .as_ref()
            .filter(|_| span.paint_order == PaintOrder::StrokeAndFill);
        self.surface.push_transform(&transform(place));
        if let Some(halo) = halo.and_then(stroke) {
            self.surface.set_fill(None);
            self.surface.set_stroke(Some(halo));
            self.surface
                .draw_glyphs(start, &glyphs, font.clone(), &text, size, true);
        }
        if let Some(fill) = span.fill.as_ref().and_then(fill) {
            self.surface.set_fill(Some(fill));
            self.surface.set_stroke(None);
            self.surface
                .draw_glyphs(start, &glyphs, font, &text, size, false);
        }
        self.surface.pop();
    }
}

/// The text of glyphs, and how far each is from the next, in sizes of the font.
fn glyphs(
    all: &[PositionedGlyph],
    starts: &[f32],
    size: f32,
    weight: Weight,
) -> (String, Vec<KrillaGlyph>) {
    let mut text = String::new();
    let glyph = |(i, glyph): (usize, &PositionedGlyph)| {
        let begin = text.len();
        text.push_str(&glyph.text);
        let advance = starts.get(i + 1).map_or(0.0, |next| next - starts[i]);
        let id = match glyph.id.0 {
            0 => weight.glyph(char::REPLACEMENT_CHARACTER).0,
            id => id,
        };
        let id = GlyphId::new(id);
        KrillaGlyph::new(id, advance / size, 0.0, 0.0, 0.0, begin..text.len(), None)
    };
    let glyphs = all.iter().enumerate().map(glyph).collect();
    (text, glyphs)
}

/// What clips: a chart has one shape for that.
fn first_path(group: &Group) -> Option<Path> {
    group.children().iter().find_map(|node| match node {
        Node::Path(path) => outline(path.data()),
        Node::Group(inner) => first_path(inner),
        Node::Text(_) | Node::Image(_) => None,
    })
}

fn outline(path: &tiny_skia::Path) -> Option<Path> {
    let mut outline = PathBuilder::new();
    for segment in path.segments() {
        match segment {
            PathSegment::MoveTo(p) => outline.move_to(p.x, p.y),
            PathSegment::LineTo(p) => outline.line_to(p.x, p.y),
            PathSegment::QuadTo(a, p) => outline.quad_to(a.x, a.y, p.x, p.y),
            PathSegment::CubicTo(a, b, p) => outline.cubic_to(a.x, a.y, b.x, b.y, p.x, p.y),
            PathSegment::Close => outline.close(),
        }
    }
    outline.finish()
}

fn transform(t: tiny_skia::Transform) -> Transform {
    Transform::from_row(t.sx, t.ky, t.kx, t.sy, t.tx, t.ty)
}

/// 0 to 1.
fn part(share: f32) -> NormalizedF32 {
    NormalizedF32::new(share.clamp(0.0, 1.0)).unwrap_or(NormalizedF32::ONE)
}

/// A colour; charts have no gradients.
fn color(paint: &usvg::Paint) -> Option<rgb::Color> {
    match paint {
        usvg::Paint::Color(color) => Some(rgb::Color::new(color.red, color.green, color.blue)),
        _ => None,
    }
}

fn fill(fill: &usvg::Fill) -> Option<Fill> {
    Some(Fill {
        paint: color(fill.paint())?.into(),
        opacity: part(fill.opacity().get()),
        rule: match fill.rule() {
            usvg::FillRule::NonZero => FillRule::NonZero,
            usvg::FillRule::EvenOdd => FillRule::EvenOdd,
        },
    })
}

fn stroke(stroke: &usvg::Stroke) -> Option<Stroke> {
    Some(Stroke {
        paint: color(stroke.paint())?.into(),
        width: stroke.width().get(),
        miter_limit: stroke.miterlimit().get(),
        line_cap: match stroke.linecap() {
            usvg::LineCap::Butt => LineCap::Butt,
            usvg::LineCap::Round => LineCap::Round,
            usvg::LineCap::Square => LineCap::Square,
        },
        line_join: match stroke.linejoin() {
            usvg::LineJoin::Round => LineJoin::Round,
            usvg::LineJoin::Bevel => LineJoin::Bevel,
            usvg::LineJoin::Miter | usvg::LineJoin::MiterClip => LineJoin::Miter,
        },
        opacity: part(stroke.opacity().get()),
        dash: stroke.dasharray().map(|array| StrokeDash {
            array: array.to_vec(),
            offset: stroke.dashoffset(),
        }),
    })
}
