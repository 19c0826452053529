//! How systems look: one colour, mark and dash each, the same in every chart and table.
//!
//! Colours are those of Okabe and Ito ("Color Universal Design", 2008), which remain distinct in
//! the common kinds of colour blindness; marks and dashes carry the difference in print.

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
        dash: &[],
    },
    SystemStyle {
        color: "#aa4499",
        symbol: "diamond",
        dash: &[9, 3],
    },
    SystemStyle {
        color: "#56b4e9",
        symbol: "roundRect",
        dash: &[],
    },
    SystemStyle {
        color: "#e69f00",
        symbol: "pin",
        dash: &[9, 3],
    },
    SystemStyle {
        color: "#3b3b3b",
        symbol: "arrow",
        dash: &[],
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

/// The look of the `index`-th system that is compared.
#[must_use]
pub fn look(index: usize) -> SystemStyle {
    STYLES[index % STYLES.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_systems_share_a_colour_or_a_mark() {
        for (i, a) in STYLES.iter().enumerate() {
            for b in &STYLES[i + 1..] {
                assert!(a.color != b.color && a.symbol != b.symbol);
            }
        }
    }
}
