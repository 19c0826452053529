//! Small charts in lines of text, drawn from the ECharts options of the page: bars of categories, and
//! curves over a logarithmic axis. Others are left to the page.

mod bars;
mod curve;

use super::{Screen, text::clean};
use crate::Chart;
use bars::Bars;
use curve::Curve;
use serde_json::Value;

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
        ["category", "value"] => Bars::new(&option, &series).map(|bars| bars.lines(screen)),
        ["value", "log"] => Curve::from_option(&option, &series).map(|curve| curve.lines(screen)),
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
    data: Vec<Item<'o>>,
}

/// One of the data of a series. One with a look or a label of its own is an object.
#[derive(Clone, Copy)]
struct Item<'o>(&'o Value);

impl<'o> Item<'o> {
    fn value(self) -> &'o Value {
        self.0.get("value").unwrap_or(self.0)
    }

    /// Whether it is set apart, as what is not valid is.
    fn is_apart(self) -> bool {
        self.0.get("itemStyle").is_some()
    }

    /// Whether it is a lower bound.
    fn is_at_least(self) -> bool {
        self.0["atLeast"][0] == true
    }

    fn label(self) -> Option<&'o str> {
        self.0.get("label")?.get("formatter")?.as_str()
    }
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
                data: data.map(Item).collect(),
            }
        };
        all.filter(is_shown).map(of).collect()
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

#[cfg(test)]
mod tests {
    use super::{super::text::width, *};
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
    fn what_is_not_valid_says_so() {
        let bars = json!({
            "xAxis": {"type": "category", "data": ["1"]}, "yAxis": {"type": "value"},
            "series": [{"type": "bar", "name": "a",
                "data": [{"value": 2_000, "itemStyle": {"opacity": 0.35}}]}],
        });
        let lines = draw(&chart(bars, json!({})), 0, Screen::default()).unwrap();
        assert!(lines[0].ends_with("█ 2,000 (not valid)") && width(&lines[0]) <= 100);
        let curve = json!({
            "xAxis": {"type": "value"},
            "yAxis": {"type": "log", "min": 1.0, "max": 10.0},
            "series": [{"type": "line", "name": "a", "data": [
                {"value": [100, 5, 64], "label": {"formatter": "64: 90% failed"}}, [900, 2, 1],
            ]}],
        });
        let lines = draw(&chart(curve, json!({})), 0, Screen::default()).unwrap();
        assert!(
            lines.iter().any(|line| line.contains("A64: 90% failed")),
            "{lines:#?}"
        );
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
}
