//! How systems look: one colour, mark and dash each, the same in every chart and table.
//!
//! Colours are those of Okabe and Ito ("Color Universal Design", 2008), which remain distinct in
//! the common kinds of colour blindness; marks and dashes carry the difference in print.

use tailmark_model::Color;

/// The look of one system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemStyle {
    /// `#rrggbb`.
    pub color: &'static str,
    /// An ECharts symbol.
    pub symbol: &'static str,
    /// Pixels drawn and left out; empty: a solid line.
    pub dash: &'static [u32],
}

const STYLES: [SystemStyle; 7] = [
    SystemStyle {
        color: "#0072b2",
        symbol: "circle",
        dash: &[],
    },
    SystemStyle {
        color: "#d55e00",
        symbol: "rect",
        dash: &[9, 3],
    },
    SystemStyle {
        color: "#009e73",
        symbol: "triangle",
        dash: &[4, 3],
    },
    SystemStyle {
        color: "#aa4499",
        symbol: "diamond",
        dash: &[14, 4],
    },
    SystemStyle {
        color: "#56b4e9",
        symbol: "roundRect",
        dash: &[9, 3, 2, 3],
    },
    SystemStyle {
        color: "#e69f00",
        symbol: "pin",
        dash: &[2, 3],
    },
    SystemStyle {
        color: "#3b3b3b",
        symbol: "arrow",
        dash: &[14, 3, 2, 3, 2, 3],
    },
];

/// Ceilings are greyed: they are not competitors.
pub const CEILING: &str = "#8a929e";
/// The dash of a ceiling.
pub const CEILING_DASH: &[u32] = &[2, 4];
/// What is no peak and in no comparison.
pub const FAULT: &str = "#c1121f";
/// Text beside marks.
pub const INK: &str = "#1d2733";
/// Text of axes.
pub const MUTED: &str = "#5b6675";
/// Letters of findings.
pub const BADGE: &str = "#8a5a00";
/// Grid lines.
pub const GRID: &str = "#e6e9ee";

/// What colours become on a dark page; `tooltip` is the ground of what a pointer shows.
pub const DARK: [(&str, &str); 14] = [
    ("#0072b2", "#3f9fe0"),
    ("#d55e00", "#f0803c"),
    ("#009e73", "#22c493"),
    ("#aa4499", "#d97fcb"),
    ("#56b4e9", "#a6dcff"),
    ("#e69f00", "#ffc94d"),
    ("#3b3b3b", "#d0d0d0"),
    (FAULT, "#ff6b6b"),
    (INK, "#e4e8ed"),
    (MUTED, "#a5afbb"),
    (GRID, "#2c343e"),
    ("#aab2bd", "#55606d"),
    ("#fff", "#14191f"),
    ("tooltip", "#1d242c"),
];

/// The colour of a name of [`Color::ALL`].
#[must_use]
pub fn color(name: &str) -> Option<&'static str> {
    let index = Color::ALL.iter().position(|known| *known == name)?;
    Some(STYLES[index].color)
}

/// The look of the `index`-th system that is compared.
#[must_use]
pub fn look(index: usize) -> SystemStyle {
    STYLES[index % STYLES.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The relative luminance of a colour (WCAG 2.2).
    fn luminance(color: &str) -> f64 {
        let digits = |at: usize| u8::from_str_radix(&color[at..at + 2], 16).unwrap();
        let part = |at: usize| match f64::from(digits(at)) / 255.0 {
            c if c <= 0.04045 => c / 12.92,
            c => ((c + 0.055) / 1.055).powf(2.4),
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn every_system_stands_out_on_a_dark_page_and_has_a_colour_of_its_own() {
        let dark = |color: &str| DARK.iter().find(|(light, _)| *light == color).unwrap().1;
        let ground = luminance(dark("#fff"));
        let colors = STYLES.map(|style| dark(style.color));
        for (i, color) in colors.iter().enumerate() {
            let contrast = (luminance(color) + 0.05) / (ground + 0.05);
            assert!(contrast > 4.5, "{color}: {contrast}");
            assert!(!colors[i + 1..].contains(color), "{color}");
        }
    }

    #[test]
    fn no_two_systems_share_a_colour_a_mark_or_a_dash() {
        for (i, a) in STYLES.iter().enumerate() {
            for b in &STYLES[i + 1..] {
                assert!(a.color != b.color && a.symbol != b.symbol && a.dash != b.dash);
            }
        }
    }
}
