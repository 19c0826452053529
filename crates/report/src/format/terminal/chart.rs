//! Small charts in lines of text: bars of categories, and curves over thread counts or rates. Other
//! charts are only on the page.

mod bars;
mod curve;

use super::{Screen, text::clean};
use crate::{Plot, PlotAxes, PlotSeries};
use curve::Curve;

/// The lines of a plot. `None` if it shows nothing.
pub fn draw(plot: &Plot, screen: Screen) -> Option<Vec<String>> {
    let is_shown = |series: &PlotSeries| series.marks.iter().any(Option::is_some);
    match &plot.axes {
        _ if plot.series.is_empty() => None,
        PlotAxes::Categories(categories) => Some(bars::lines(categories, &plot.series, screen)),
        PlotAxes::Curve {
            metric,
            titles,
            low,
            high,
            ticks,
        } => {
            let series: Vec<_> = plot.series.iter().filter(|one| is_shown(one)).collect();
            let curve = Curve {
                series,
                metric: *metric,
                titles,
                ticks,
                ends: (*low, *high),
            };
            (!curve.series.is_empty()).then(|| curve.lines(screen))
        }
    }
}

/// The letter of each system.
fn legend<'s>(
    series: impl Iterator<Item = &'s PlotSeries>,
    indent: &str,
    screen: Screen,
) -> Vec<String> {
    let line = |(i, own): (usize, &PlotSeries)| {
        let name = format!("{} {}", letter(i), clean(&own.name));
        format!("{indent}{}", screen.tint(own.color, &name))
    };
    series.enumerate().map(line).collect()
}

/// `A`, `B`, ...
fn letter(curve: usize) -> char {
    char::from(b'A' + (curve % 26) as u8)
}

#[cfg(test)]
mod tests {
    use super::{super::text::width, *};
    use crate::PlotMark;
    use tailmark_model::Metric;

    fn mark(x: f64, y: f64, label: &str) -> Option<PlotMark> {
        Some(PlotMark {
            x,
            y,
            label: label.to_owned(),
            is_invalid: label.contains("failed"),
            is_at_least: label.contains('≥'),
        })
    }

    fn series(name: &str, marks: Vec<Option<PlotMark>>) -> PlotSeries {
        PlotSeries {
            name: name.to_owned(),
            color: "#000000",
            marks,
        }
    }

    fn bars(categories: &[&str], series: Vec<PlotSeries>) -> Vec<String> {
        let categories = categories.iter().map(|name| (*name).to_owned()).collect();
        let axes = PlotAxes::Categories(categories);
        draw(&Plot { axes, series }, Screen::default()).unwrap()
    }

    fn curve(series: Vec<PlotSeries>) -> Option<Vec<String>> {
        let axes = PlotAxes::Curve {
            metric: Metric::from_name("p99 read").unwrap(),
            titles: ["operations per second", "p99"].map(str::to_owned),
            low: 50.0,
            high: 2_000.0,
            ticks: vec![50.0, 100.0, 1_000.0, 2_000.0],
        };
        draw(&Plot { axes, series }, Screen::default())
    }

    #[test]
    fn bars_stand_below_each_other_by_category() {
        let a = vec![mark(0.0, 1_000.0, ""), mark(0.0, 2_000.0, "")];
        let b = vec![mark(0.0, 500.0, ""), None];
        let lines = bars(&["1", "16"], vec![series("a drive", a), series("b", b)]);
        let room = 100 - 2 - 7 - 12;
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("1   a drive  ███") && lines[0].ends_with(" 1,000"));
        assert!(lines[1].starts_with("    b        ███") && lines[1].ends_with("█▊ 500"));
        assert_eq!(lines[2].matches('█').count(), room);
    }

    #[test]
    fn a_bar_that_is_a_lower_bound_has_its_sign() {
        let marks = vec![mark(0.0, 2_000.0, "≥"), mark(0.0, 500.0, "")];
        let lines = bars(&["1", "2"], vec![series("a", marks)]);
        assert!(lines[0].ends_with("█ ≥ 2,000") && width(&lines[0]) <= 100);
        assert!(!lines[1].contains('≥'), "{lines:#?}");
    }

    #[test]
    fn what_is_not_valid_says_so() {
        let failed = mark(0.0, 2_000.0, "failed");
        let bar = bars(&["1"], vec![series("a", vec![failed])]).remove(0);
        assert!(bar.ends_with("█ 2,000 (not valid)") && width(&bar) <= 100);
        let marks = vec![mark(100.0, 80.0, "64: 90% failed"), mark(900.0, 60.0, "1")];
        let lines = curve(vec![series("a", marks)]).unwrap();
        let is_said = |line: &String| line.contains("A64: 90% failed");
        assert!(lines.iter().any(is_said), "{lines:#?}");
    }

    #[test]
    fn a_curve_has_a_letter_a_system_and_its_thread_counts() {
        let marks = vec![mark(1_000.0, 50.0, "1"), mark(9_000.0, 2_000.0, "64")];
        let lines = curve(vec![series("a drive", marks)]).unwrap();
        assert_eq!(lines[0], "p99");
        assert!(
            lines[1].starts_with("    2 ms │") && lines[1].ends_with("A64"),
            "{}",
            lines[1]
        );
        assert!(lines[16].starts_with("   50 us │        ") && lines[16].contains("A1"));
        assert!(lines.iter().any(|line| line.trim() == "A a drive"));
        let ends = |line: &String| line.contains("5,000") && line.ends_with("10,000");
        assert!(lines.iter().any(ends));
    }

    #[test]
    fn no_label_stands_behind_the_letter_of_another_curve() {
        let marks = |x, label| vec![mark(x, 1_000.0, label), mark(500.0, 50.0, "1")];
        // At the same column, and at the one before.
        for (x, shown) in [(9_000.0, "B64"), (8_900.0, "AB64")] {
            let both = vec![
                series("a", marks(x, "64 (≥)")),
                series("b", marks(9_000.0, "64")),
            ];
            let text = curve(both).unwrap().join("\n");
            assert!(text.contains(shown) && !text.contains("(≥)"), "{text}");
        }
    }

    #[test]
    fn a_curve_of_nothing_is_none() {
        assert!(curve(vec![series("a", vec![None])]).is_none());
    }
}
