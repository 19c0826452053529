//! The appearance of systems: one colour, mark and dash each, the same in every chart and table.
//!
//! Each colour has its own lightness, so that they remain distinct in grey, and they also differ
//! for the common kinds of colour blindness. Marks and dashes differ as well.

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

/// The first four, which most reports have, are the farthest apart in grey.
const STYLES: [SystemStyle; 8] = [
    SystemStyle {
        color: "#004cba",
        symbol: "circle",
        dash: &[],
    },
    SystemStyle {
        color: "#d97d34",
        symbol: "rect",
        dash: &[9, 3],
    },
    SystemStyle {
        color: "#407b4d",
        symbol: "triangle",
        dash: &[4, 3],
    },
    SystemStyle {
        color: "#221e1f",
        symbol: DOWN,
        dash: &[14, 3, 2, 3, 2, 3],
    },
    SystemStyle {
        color: "#11b2ef",
        symbol: "roundRect",
        dash: &[9, 3, 2, 3],
    },
    SystemStyle {
        color: "#f2ae0e",
        symbol: CROSS,
        dash: &[2, 3],
    },
    SystemStyle {
        color: "#5d2e58",
        symbol: "diamond",
        dash: &[14, 4],
    },
    SystemStyle {
        color: "#b46a8c",
        symbol: STAR,
        dash: &[5, 5],
    },
];

/// Shapes that ECharts has no name for: a triangle on its tip, a cross, and a star of five points. Each is
/// centred on its point.
const DOWN: &str = "path://M0 0L10 0L5 10Z";
const CROSS: &str =
    "path://M3.5 0L6.5 0L6.5 3.5L10 3.5L10 6.5L6.5 6.5L6.5 10L3.5 10L3.5 6.5L0 6.5L0 3.5L3.5 3.5Z";
const STAR: &str = "path://M5 0L6.5 3.5L10 3.8L7.3 6.2L8.1 10L5 8L1.9 10L2.7 6.2L0 3.8L3.5 3.5Z";

/// Ceilings are greyed: they are not competitors.
pub const CEILING: &str = "#8a929e";
/// The dash of a ceiling.
pub const CEILING_DASH: &[u32] = &[2, 4];
/// The colour of points that are excluded from peaks and comparisons.
pub const FAULT: &str = "#c1121f";
/// Text beside marks.
pub const INK: &str = "#1d2733";
/// Text of axes.
pub const MUTED: &str = "#5b6675";
/// Letters of findings.
pub const BADGE: &str = "#8a5a00";
/// Grid lines.
pub const GRID: &str = "#e6e9ee";

/// The colours of a dark page; `tooltip` is the background of tooltips.
pub const DARK: [(&str, &str); 15] = [
    ("#004cba", "#5a9bff"),
    ("#d97d34", "#f0965a"),
    ("#407b4d", "#6fbf7f"),
    ("#5d2e58", "#c98ac0"),
    ("#11b2ef", "#7fd4ff"),
    ("#f2ae0e", "#ffc94d"),
    ("#221e1f", "#d0d0d0"),
    ("#b46a8c", "#e79cc0"),
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

    /// Its parts as linear light, 0 to 1 (IEC 61966-2-1).
    fn linear(color: &str) -> [f64; 3] {
        let digits = |at: usize| u8::from_str_radix(&color[at..at + 2], 16).unwrap();
        [1, 3, 5].map(|at| match f64::from(digits(at)) / 255.0 {
            c if c <= 0.04045 => c / 12.92,
            c => ((c + 0.055) / 1.055).powf(2.4),
        })
    }

    fn times(matrix: [[f64; 3]; 3], [x, y, z]: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row[0] * x + row[1] * y + row[2] * z)
    }

    /// Lightness, 0 to 100, and the two axes of colour (CIE 1976 L*a*b*, white D65).
    fn lab(linear: [f64; 3]) -> [f64; 3] {
        let to_xyz = [
            [0.412_456, 0.357_576, 0.180_438],
            [0.212_673, 0.715_152, 0.072_175],
            [0.019_334, 0.119_192, 0.950_304],
        ];
        let [x, y, z] = times(to_xyz, linear);
        let root = |part: f64| {
            if part > 0.008_856 {
                part.cbrt()
            } else {
                7.787 * part + 16.0 / 116.0
            }
        };
        let [x, y, z] = [x / 0.950_47, y, z / 1.088_83].map(root);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// Simulates vision without one kind of cone: Machado, Oliveira and Fernandes, "A
    /// Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15 (2009),
    /// severity 1.
    const BLINDNESS: [[[f64; 3]; 3]; 3] = [
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ];

    #[test]
    fn eight_systems_are_told_apart_in_grey_and_by_colour_blind_readers() {
        let colors = STYLES.map(|style| linear(style.color));
        for (i, one) in colors.iter().enumerate() {
            for other in &colors[i + 1..] {
                let lightness = (lab(*one)[0] - lab(*other)[0]).abs();
                assert!(lightness > 6.0, "{one:?} {other:?}: {lightness}");
                for cones in BLINDNESS {
                    let [one, other] = [one, other].map(|color| lab(times(cones, *color)));
                    let squares = one.iter().zip(other).map(|(a, b)| (a - b).powi(2));
                    let distance = squares.sum::<f64>().sqrt();
                    assert!(distance > 15.0, "{one:?} {other:?}: {distance}");
                }
            }
        }
    }

    /// The relative luminance of a colour (WCAG 2.2).
    fn luminance(color: &str) -> f64 {
        let [red, green, blue] = linear(color);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
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
