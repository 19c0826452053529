//! The font of pictures and documents: Noto Sans. It is part of the program, so that they look the
//! same everywhere, whatever is installed. It has Latin, Greek and Cyrillic letters.

use resvg::usvg::fontdb::Database;
use skrifa::{
    FontRef, MetadataProvider,
    instance::{LocationRef, Size},
};
use std::sync::{Arc, LazyLock};

/// Its name, as styles write it.
pub const FAMILY: &str = "Noto Sans";

/// A weight of the font.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// For text.
    Regular,
    /// For emphasis.
    Bold,
}

impl Weight {
    /// The font file.
    #[must_use]
    pub const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Regular => notosans::REGULAR_TTF,
            Self::Bold => notosans::BOLD_TTF,
        }
    }

    fn face(self) -> &'static Face {
        static REGULAR: LazyLock<Face> = LazyLock::new(|| Face::new(Weight::Regular));
        static BOLD: LazyLock<Face> = LazyLock::new(|| Face::new(Weight::Bold));
        match self {
            Self::Regular => &REGULAR,
            Self::Bold => &BOLD,
        }
    }

    /// The glyph of a character, and the distance to the next one, in units of the font size.
    /// Characters that the font lacks become an empty box with a glyph of its own, because
    /// documents may not use the glyph for missing characters.
    #[must_use]
    pub fn glyph(self, c: char) -> (u32, f32) {
        const BOX: char = '\u{25a1}';
        let face = self.face();
        let charmap = face.font.charmap();
        let known = |sign: char| charmap.map(sign).filter(|glyph| glyph.to_u32() != 0);
        let glyph = [c, BOX, '?']
            .into_iter()
            .find_map(known)
            .unwrap_or_default();
        let metrics = face
            .font
            .glyph_metrics(Size::new(1.0), LocationRef::default());
        (glyph.to_u32(), metrics.advance_width(glyph).unwrap_or(0.0))
    }

    /// The width of a text, in the unit of `size`.
    #[must_use]
    pub fn width(self, text: &str, size: f32) -> f32 {
        text.chars().map(|c| self.glyph(c).1).sum::<f32>() * size
    }
}

struct Face {
    font: FontRef<'static>,
}

impl Face {
    fn new(weight: Weight) -> Self {
        let font = FontRef::new(weight.bytes()).expect("the font is part of the program");
        Self { font }
    }
}

/// The width of a text in a font written as in CSS: `bold 12px Noto Sans`.
#[must_use]
pub fn css_width(text: &str, font: &str) -> f64 {
    let size = font
        .split_whitespace()
        .find_map(|word| word.strip_suffix("px"));
    let size = size.and_then(|size| size.parse().ok()).unwrap_or(12.0);
    let weight = if font.contains("bold") {
        Weight::Bold
    } else {
        Weight::Regular
    };
    weight.width(text, size).into()
}

/// This font only. Fonts of the machine are never used.
#[must_use]
pub fn database() -> Arc<Database> {
    static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
        let mut fonts = Database::new();
        for weight in [Weight::Regular, Weight::Bold] {
            fonts.load_font_data(weight.bytes().to_vec());
        }
        fonts.set_sans_serif_family(FAMILY);
        Arc::new(fonts)
    });
    Arc::clone(&FONTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_every_character_that_reports_write() {
        for weight in [Weight::Regular, Weight::Bold] {
            for c in "aZ09 –—±≥≤≈·×²µμ−…→äßéЖα\u{a0}".chars() {
                assert_ne!(weight.glyph(c).0, 0, "{c} of {weight:?}");
            }
        }
    }

    #[test]
    fn what_the_font_lacks_is_a_box_that_documents_may_have() {
        for c in "磁🚀\u{1}".chars() {
            let (glyph, advance) = Weight::Bold.glyph(c);
            assert!(glyph != 0 && advance > 0.0, "{c:?}");
        }
    }

    #[test]
    fn figures_are_of_one_width() {
        let widths = ('0'..='9').map(|c| Weight::Regular.glyph(c).1);
        let first = Weight::Regular.glyph('0').1;
        assert!(first > 0.3 && widths.into_iter().all(|width| width == first));
    }

    #[test]
    fn a_style_gives_size_and_weight() {
        let regular = css_width("width", "normal 10px Noto Sans");
        assert!((css_width("width", "20px inherit") - 2.0 * regular).abs() < 1e-3);
        assert!(css_width("width", "bold 10px Noto Sans") > regular);
    }
}
