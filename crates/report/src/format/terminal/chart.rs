//! Small charts in lines of text, drawn from the ECharts options of the page: bars of categories, and
//! curves over a logarithmic axis. Others are left to the page.

use super::{
    Screen,
    text::{clean, width},
};
use crate::Chart;
use serde_json::Value;
use tailmark_results::number;

/// The lines of a chart with the variant chosen; none where it is of another kind, or has nothing.
pub fn draw(chart: &Chart, variant: usize, screen: Screen) -> Option<Vec<String>> {
    let patch = match chart.variants.as_slice() {
        [only] => only,
        all => all.get(variant)?,
    };
    let mut option = chart.base.clone();
    merge(&mut option, patch);
    let series = Series::all(&option);
    let kinds = ["xAxis", "yAxis"].map(|axis| option[axis]["type"].as_str().unwrap_or_default());
    match kinds {
        ["category", "value"] => Bars::of(&option, &series).map(|bars| bars.lines(screen)),
        ["value", "log"] => Curve::of(&option, &series).map(|curve| curve.lines(screen)),
        _ => None,
    }
}

/// Writes a patch over an option, as ECharts does.
fn merge(option: &mut Value, patch: &Value) {
    match (option, patch) {
        (Value::Object(option), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(option.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (option, patch) => *option = patch.clone(),
    }
}

/// One series that is shown at first.
struct Series<'o> {
    kind: &'o str,
    name: String,
    color: &'o str,
    data: Vec<&'o Value>,
}

impl<'o> Series<'o> {
    fn all(option: &'o Value) -> Vec<Self> {
        let all = option["series"].as_array().into_iter().flatten();
        let is_shown = |series: &&Value| {
            let name = series["name"].as_str().unwrap_or_default();
            option["legend"]["selected"][name] != Value::Bool(false)
        };
        let of = |series: &'o Value| {
            let data = series["data"].as_array().into_iter().flatten();
            Self {
                kind: series["type"].as_str().unwrap_or_default(),
                name: clean(series["name"].as_str().unwrap_or_default()),
                color: series["itemStyle"]["color"].as_str().unwrap_or_default(),
                // A value with a look of its own is in an object.
                data: data.map(|v| v.get("value").unwrap_or(v)).collect(),
            }
        };
        all.filter(is_shown).map(of).collect()
    }
}

/// Bars from left to right, those of a category below each other.
struct Bars<'o> {
    categories: Vec<String>,
    series: Vec<&'o Series<'o>>,
}

impl<'o> Bars<'o> {
    fn of(option: &Value, series: &'o [Series<'o>]) -> Option<Self> {
        let categories = option["xAxis"]["data"].as_array()?;
        let categories = categories.iter().filter_map(Value::as_str).map(clean);
        let series: Vec<&Series<'_>> = series.iter().filter(|s| s.kind == "bar").collect();
        (!series.is_empty()).then_some(Self {
            categories: categories.collect(),
            series,
        })
    }

    fn lines(&self, screen: Screen) -> Vec<String> {
        /// Of a category and of a system. What is longer is cut, but systems have letters then: their
        /// names often differ at their ends.
        const NAME: usize = 24;
        /// For the value behind a bar.
        const VALUE: usize = 12;
        let value = |series: &Series<'_>, at: usize| series.data.get(at).and_then(|v| v.as_f64());
        let values = self
            .series
            .iter()
            .flat_map(|s| &s.data)
            .filter_map(|v| v.as_f64());
        let highest = values.fold(0.0, f64::max);
        let widest = |names: &mut dyn Iterator<Item = &String>| {
            names.map(|name| width(name)).max().unwrap_or(0).min(NAME)
        };
        let of_category = widest(&mut self.categories.iter());
        let has_letters = self.series.iter().any(|series| width(&series.name) > NAME);
        let names: Vec<String> = match has_letters {
            true => (0..self.series.len())
                .map(|i| letter(i).to_string())
                .collect(),
            false => self
                .series
                .iter()
                .map(|series| series.name.clone())
                .collect(),
        };
        let of_series = widest(&mut names.iter());
        let room = screen
            .columns
            .saturating_sub(of_category + of_series + VALUE);
        let mut lines = Vec::new();
        for (at, category) in self.categories.iter().enumerate() {
            let mut category = fitted(category, of_category);
            for (series, name) in self.series.iter().zip(&names) {
                let Some(value) = value(series, at) else {
                    continue;
                };
                let name = fitted(name, of_series);
                let bar = screen.tint(series.color, &bar(value / highest, room));
                lines.push(format!("{category}  {name}  {bar} {}", number::rate(value)));
                category = " ".repeat(of_category);
            }
        }
        if has_letters {
            let indent = " ".repeat(of_category + 2);
            lines.extend(legend(self.series.iter().copied(), &indent, screen));
        }
        lines
    }
}

/// A bar of so many columns at 1, to an eighth of a column.
fn bar(fraction: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (fraction.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize;
    let bar = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    if bar.is_empty() {
        "▏".to_owned()
    } else {
        bar
    }
}

/// A name in exactly so many columns.
fn fitted(name: &str, columns: usize) -> String {
    let mut text = name.to_owned();
    if width(&text) > columns {
        while width(&text) >= columns && text.pop().is_some() {}
        text.push('…');
    }
    let missing = columns.saturating_sub(width(&text));
    text + &" ".repeat(missing)
}

/// A mark of a curve: where, and its label.
struct Mark {
    x: f64,
    y: f64,
    label: String,
}

/// Points over a logarithmic axis of microseconds; each system has a letter.
struct Curve<'o> {
    curves: Vec<(&'o Series<'o>, Vec<Mark>)>,
    ticks: Vec<f64>,
    low: f64,
    high: f64,
    titles: [String; 2],
}

impl<'o> Curve<'o> {
    fn of(option: &Value, series: &'o [Series<'o>]) -> Option<Self> {
        let mark = |value: &&Value| {
            let threads = value[2].as_u64().map(|threads| threads.to_string());
            Some(Mark {
                x: value[0].as_f64()?,
                y: value[1].as_f64().filter(|y| *y > 0.0)?,
                label: threads.unwrap_or_default(),
            })
        };
        let lines = series.iter().filter(|series| series.kind == "line");
        let curves: Vec<_> = lines
            .map(|series| {
                (
                    series,
                    series.data.iter().filter_map(mark).collect::<Vec<_>>(),
                )
            })
            .filter(|(_, marks)| !marks.is_empty())
            .collect();
        let axis = &option["yAxis"];
        let ticks = axis["axisLabel"]["customValues"]
            .as_array()
            .into_iter()
            .flatten();
        let title = |axis: &str| clean(option[axis]["name"].as_str().unwrap_or_default());
        (!curves.is_empty()).then_some(Self {
            curves,
            ticks: ticks.filter_map(Value::as_f64).collect(),
            low: axis["min"].as_f64()?,
            high: axis["max"].as_f64()?,
            titles: [title("xAxis"), title("yAxis")],
        })
    }

    fn lines(&self, screen: Screen) -> Vec<String> {
        const ROWS: usize = 16;
        /// Before the axis: `500 us`.
        const LABEL: usize = 8;
        let columns = screen.columns - LABEL - 2;
        let marks = self.curves.iter().flat_map(|(_, marks)| marks);
        let right = ends_at(marks.map(|mark| mark.x).fold(0.0, f64::max));
        let row = |y: f64| {
            let part = (y / self.low).ln() / (self.high / self.low).ln();
            ROWS - 1 - (part.clamp(0.0, 1.0) * (ROWS - 1) as f64).round() as usize
        };
        let column = |x: f64| ((x / right).clamp(0.0, 1.0) * (columns - 1) as f64).round() as usize;
        let mut plot = Plot::new(ROWS, columns);
        for (curve, (_, marks)) in self.curves.iter().enumerate() {
            for pair in marks.windows(2) {
                let [from, to] = [&pair[0], &pair[1]].map(|m| (column(m.x), row(m.y)));
                plot.line(from, to, curve);
            }
        }
        for (curve, (_, marks)) in self.curves.iter().enumerate() {
            for mark in marks {
                plot.mark((column(mark.x), row(mark.y)), curve, &mark.label);
            }
        }
        let mut lines = vec![self.titles[1].clone()];
        for (at, cells) in plot.rows.iter().enumerate() {
            let tick = self.ticks.iter().find(|&&tick| row(tick) == at);
            let label = tick.map_or_else(String::new, |us| latency_tick(*us));
            let cells = self.written(cells, screen);
            lines.push(format!("{label:>LABEL$} │{cells}").trim_end().to_owned());
        }
        lines.push(format!("{} └{}", " ".repeat(LABEL), "─".repeat(columns)));
        let (half, end) = (number::rate(right / 2.0), number::rate(right));
        let half_room = columns / 2;
        let end_room = columns - half_room;
        let left = " ".repeat(LABEL + 1);
        lines.push(format!("{left}0{half:>half_room$}{end:>end_room$}"));
        lines.push(format!("{left} {}", self.titles[0]));
        let series = self.curves.iter().map(|(series, _)| *series);
        lines.extend(legend(series, &format!("{left} "), screen));
        lines
    }

    fn written(&self, cells: &[PlotCell], screen: Screen) -> String {
        let parts = cells.chunk_by(|a, b| a.curve == b.curve).map(|part| {
            let text: String = part.iter().map(|cell| cell.shown).collect();
            match part[0].curve {
                None => text,
                Some(curve) => screen.tint(self.curves[curve].0.color, &text),
            }
        });
        parts.collect()
    }
}

/// The letter of each system.
fn legend<'s>(
    series: impl Iterator<Item = &'s Series<'s>>,
    indent: &str,
    screen: Screen,
) -> Vec<String> {
    let line = |(i, series): (usize, &Series<'_>)| {
        let name = format!("{} {}", letter(i), series.name);
        format!("{indent}{}", screen.tint(series.color, &name))
    };
    series.enumerate().map(line).collect()
}

/// `A`, `B`, ...
fn letter(curve: usize) -> char {
    char::from(b'A' + (curve % 26) as u8)
}

/// `500 us`: ticks are round.
fn latency_tick(us: f64) -> String {
    let (value, unit) = match us {
        1e6.. => (us / 1e6, "s"),
        1e3.. => (us / 1e3, "ms"),
        1.0.. => (us, "us"),
        _ => (us * 1e3, "ns"),
    };
    format!("{} {unit}", (value * 100.0).round() / 100.0)
}

/// The next round number from here: 1, 2, 2.5 or 5 times a power of ten.
fn ends_at(highest: f64) -> f64 {
    let power = 10f64.powf(highest.max(1.0).log10().floor());
    let steps = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let ends = steps.map(|step| step * power);
    ends.into_iter()
        .find(|end| *end >= highest)
        .unwrap_or(10.0 * power)
}

#[derive(Clone, Copy)]
struct PlotCell {
    shown: char,
    curve: Option<usize>,
}

struct Plot {
    rows: Vec<Vec<PlotCell>>,
}

impl Plot {
    fn new(rows: usize, columns: usize) -> Self {
        let empty = PlotCell {
            shown: ' ',
            curve: None,
        };
        Self {
            rows: vec![vec![empty; columns]; rows],
        }
    }

    /// Dots between two marks, where there is room.
    fn line(&mut self, from: (usize, usize), to: (usize, usize), curve: usize) {
        let steps = from.0.abs_diff(to.0).max(2 * from.1.abs_diff(to.1));
        let between = |a: usize, b: usize, step: usize| {
            let part = step as f64 / steps as f64;
            (a as f64 + (b as f64 - a as f64) * part).round() as usize
        };
        for step in 1..steps {
            let at = (between(from.0, to.0, step), between(from.1, to.1, step));
            self.put(at, '·', curve);
        }
    }

    /// The letter of a curve, and behind it its label where there is room.
    fn mark(&mut self, (column, row): (usize, usize), curve: usize, label: &str) {
        self.rows[row][column] = PlotCell {
            shown: letter(curve),
            curve: Some(curve),
        };
        let is_free = |cell: &PlotCell| matches!(cell.shown, ' ' | '·');
        let room = self.rows[row].get(column + 1..=column + label.len());
        if room.is_some_and(|cells| cells.iter().all(is_free)) {
            for (i, shown) in label.chars().enumerate() {
                self.rows[row][column + 1 + i] = PlotCell {
                    shown,
                    curve: Some(curve),
                };
            }
        }
    }

    fn put(&mut self, (column, row): (usize, usize), shown: char, curve: usize) {
        let cell = &mut self.rows[row][column];
        if cell.shown == ' ' {
            *cell = PlotCell {
                shown,
                curve: Some(curve),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn chart(base: Value, variant: Value) -> Chart {
        Chart {
            title: "Title".into(),
            hint: String::new(),
            about: String::new(),
            height: 300,
            wide: true,
            base,
            variants: vec![variant],
        }
    }

    #[test]
    fn bars_stand_below_each_other_by_category() {
        let option = json!({
            "xAxis": {"type": "category", "data": ["1", "16"]}, "yAxis": {"type": "value"},
            "series": [
                {"type": "bar", "name": "a drive", "data": [1_000, {"value": 2_000}]},
                {"type": "bar", "name": "b", "data": [500, null]},
            ],
        });
        let lines = draw(&chart(option, json!({})), 0, Screen::default()).unwrap();
        let room = 100 - 2 - 7 - 12;
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("1   a drive  ███") && lines[0].ends_with(" 1,000"));
        assert!(lines[1].starts_with("    b        ███") && lines[1].ends_with("█▊ 500"));
        assert_eq!(lines[2].matches('█').count(), room);
    }

    #[test]
    fn a_curve_has_a_letter_a_system_and_its_thread_counts() {
        let base = json!({
            "xAxis": {"type": "value", "name": "operations per second"}, "yAxis": {"type": "log"},
        });
        let hidden = json!({"type": "line", "name": "ceiling", "data": [[1, 1, 1]]});
        let variant = json!({
            "yAxis": {"min": 50.0, "max": 2_000.0, "name": "p99",
                "axisLabel": {"customValues": [50.0, 100.0, 1_000.0, 2_000.0]}},
            "legend": {"selected": {"ceiling": false}},
            "series": [
                {"type": "line", "name": "a drive", "data": [[1_000, 50, 1], [9_000, 2_000, 64]]},
                hidden,
            ],
        });
        let lines = draw(&chart(base, variant), 0, Screen::default()).unwrap();
        assert_eq!(lines[0], "p99");
        assert!(
            lines[1].starts_with("    2 ms │") && lines[1].ends_with("A64"),
            "{}",
            lines[1]
        );
        assert!(lines[16].starts_with("   50 us │        ") && lines[16].contains("A1"));
        assert!(lines.iter().any(|line| line.trim() == "A a drive"));
        assert!(
            lines
                .iter()
                .any(|line| line.contains("5,000") && line.ends_with("10,000"))
        );
        assert!(!lines.concat().contains("ceiling"));
    }

    #[test]
    fn what_has_other_axes_is_left_to_the_page() {
        let option = json!({"xAxis": [{"type": "value"}], "yAxis": [{"type": "value"}]});
        assert!(draw(&chart(option, json!({})), 0, Screen::default()).is_none());
        let nothing = json!({"xAxis": {"type": "value"}, "yAxis": {"type": "log"}});
        assert!(draw(&chart(nothing, Value::Null), 0, Screen::default()).is_none());
    }

    #[test]
    fn names_are_cut_or_filled() {
        assert_eq!(fitted("a long name", 6), "a lon…");
        assert_eq!(fitted("ab", 4), "ab  ");
    }
}
