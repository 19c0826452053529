//! What pictures of charts say is whole: labels, numbers on bars and names of legends.

use super::{font, script::Script};
use crate::chart::{
    self,
    curve::{Along, Reading},
};
use resvg::usvg::{Group, Node, Options, Rect, Tree};
use serde_json::{Value, json};
use tailmark_model::Metric;

const SIZE: (f32, f32) = (640.0, 300.0);

/// x, y and label of a point.
type Point<'a> = (f64, f64, &'a str);
/// A name and its points.
type Line<'a> = (&'a str, &'a [Point<'a>]);

/// The texts of a chart with their places, and the chart itself.
fn drawn(option: &Value) -> (Vec<(String, Rect)>, String) {
    let svg = Script::load()
        .unwrap()
        .draw(option, &json!({}), SIZE)
        .unwrap()
        .svg;
    let options = Options {
        font_family: font::FAMILY.to_owned(),
        fontdb: font::database(),
        ..Options::default()
    };
    let tree = Tree::from_str(&svg, &options).unwrap();
    let mut texts = Vec::new();
    collect(tree.root(), &mut texts);
    (texts, svg)
}

fn collect(group: &Group, texts: &mut Vec<(String, Rect)>) {
    for node in group.children() {
        match node {
            Node::Group(inner) => collect(inner, texts),
            Node::Text(text) => {
                let chunks = text.chunks().iter().map(|chunk| chunk.text());
                texts.push((chunks.collect(), text.abs_bounding_box()));
            }
            _ => {}
        }
    }
}

/// A curve chart of these lines.
fn curves(lines: &[Line<'_>]) -> Value {
    let series = |(i, (name, points)): (usize, &Line<'_>)| {
        let item =
            |(x, y, label): &Point<'_>| json!({"value": [x, y], "label": {"formatter": label}});
        json!({
            "type": "line", "name": name, "symbol": "circle", "symbolSize": 9, "labelLayout": "@mark",
            "label": {"show": true, "fontSize": 11, "position": if i % 2 == 0 { "top" } else { "bottom" }},
            "data": points.iter().map(item).collect::<Vec<_>>(),
        })
    };
    let mut option = chart::base();
    option["xAxis"] = json!({"type": "value", "min": 0, "max": 100});
    option["yAxis"] = json!({"type": "value", "min": 0, "max": 10});
    option["series"] = lines.iter().enumerate().map(series).collect();
    option
}

#[test]
fn no_label_is_cut_by_an_edge() {
    let fault = "128: no answer from the database";
    let (texts, _) = drawn(&curves(&[("a", &[(0.0, 5.0, fault), (100.0, 5.0, fault)])]));
    let labels: Vec<&Rect> = texts
        .iter()
        .filter(|(text, _)| text == fault)
        .map(|(_, at)| at)
        .collect();
    assert_eq!(labels.len(), 2);
    for at in labels {
        assert!(at.left() >= 0.0 && at.right() <= SIZE.0, "{at:?}");
    }
}

#[test]
fn the_title_of_the_y_axis_is_whole_beside_the_shortest_labels() {
    let reading = Reading::new(Metric::from_name("p99 read").unwrap());
    let short = [
        (
            chart::curve::option(Along::Rate, reading, &[], None),
            "latency",
            [1.0, 9.0],
        ),
        (
            chart::bars::of_rates(chart::base()),
            "operations per second",
            [1.0, 4.0],
        ),
    ];
    for (mut option, title, values) in short {
        let data = values.map(|value| json!([value, value]));
        option["xAxis"] = json!({"type": "value"});
        option["yAxis"]["min"] = 1.into();
        option["series"] = json!([{"type": "line", "name": "a", "data": data}]);
        let (texts, _) = drawn(&option);
        let titled = texts.iter().find(|(text, _)| text == title);
        let (_, at) = titled.unwrap();
        assert!(at.left() >= 0.0 && at.top() >= 0.0, "{title}: {at:?}");
    }
}

#[test]
fn labels_of_neighbours_cover_neither_each_other_nor_a_mark() {
    // The second point is where the label of the first would be, the third where that of the second would.
    let points = [
        (50.0, 5.0, "first"),
        (50.0, 5.55, "second"),
        (50.0, 6.1, "third"),
    ];
    let lines: Vec<Line<'_>> = ["a", "b", "c"].into_iter().zip(points.chunks(1)).collect();
    let (texts, _) = drawn(&curves(&lines));
    let is_label = |text: &str| points.iter().any(|(.., label)| *label == text);
    let labels: Vec<&(String, Rect)> = texts.iter().filter(|(text, _)| is_label(text)).collect();
    assert_eq!(labels.len(), 3, "none is left out");
    let covers = |a: &Rect, b: &Rect| {
        a.left() < b.right() && a.right() > b.left() && a.top() < b.bottom() && a.bottom() > b.top()
    };
    let axis = |text: &str| texts.iter().find(|(words, _)| words == text).unwrap().1;
    let middle = |at: Rect| {
        (
            f32::midpoint(at.left(), at.right()),
            f32::midpoint(at.top(), at.bottom()),
        )
    };
    let (bottom, top) = (middle(axis("0")).1, middle(axis("10")).1);
    for (i, (label, at)) in labels.iter().enumerate() {
        for (other, of_other) in &labels[i + 1..] {
            assert!(!covers(at, of_other), "{label} and {other}");
        }
        for (x, y, mark_name) in points {
            let x = middle(axis(if x < 75.0 { "40" } else { "80" })).0
                + (middle(axis("60")).0 - middle(axis("40")).0) * (x as f32 - 40.0) / 20.0;
            let y = bottom + (top - bottom) * y as f32 / 10.0;
            let mark = Rect::from_ltrb(x - 3.5, y - 3.5, x + 3.5, y + 3.5).unwrap();
            assert!(!covers(at, &mark), "{label} is on the mark of {mark_name}");
        }
    }
}

#[test]
fn no_label_is_on_a_line_at_a_fixed_rate_or_below_the_plot() {
    // Three systems that are close together in the lower left corner, and one point on each line.
    let points = [
        (2.0, 0.3, "a4"),
        (5.0, 0.5, "b4"),
        (8.0, 0.3, "c4"),
        (50.0, 5.0, "crossing"),
    ];
    let lines: Vec<Line<'_>> = ["a", "b", "c", "d"]
        .into_iter()
        .zip(points.chunks(1))
        .collect();
    let mut option = curves(&lines);
    option["series"][0]["markLine"] = json!({
        "symbol": "none", "label": {"show": false},
        "data": [{"xAxis": 50, "name": "rate"}, {"yAxis": 5, "name": "latency"}],
    });
    let (texts, _) = drawn(&option);
    let at = |text: &str| {
        texts
            .iter()
            .find(|(words, _)| words == text)
            .map(|(_, at)| *at)
    };
    let middle = |of: Rect| {
        (
            f32::midpoint(of.left(), of.right()),
            f32::midpoint(of.top(), of.bottom()),
        )
    };
    let [left, right] = ["40", "60"].map(|tick| middle(at(tick).unwrap()).0);
    let rate = f32::midpoint(left, right);
    let bottom = middle(at("0").unwrap()).1;
    let top = middle(at("10").unwrap()).1;
    let crossing = at("crossing").expect("it has a place");
    assert!(
        crossing.right() <= rate || crossing.left() >= rate,
        "{crossing:?} on {rate}"
    );
    let level = f32::midpoint(bottom, top);
    assert!(
        crossing.bottom() <= level || crossing.top() >= level,
        "{crossing:?} on {level}"
    );
    for name in ["a4", "b4", "c4"] {
        let label = at(name).unwrap_or_else(|| panic!("{name} has a place"));
        assert!(
            label.bottom() <= bottom + 7.0,
            "{name}: {label:?}, {bottom}"
        );
    }
}

#[test]
fn every_bar_of_many_systems_says_its_number() {
    let mut option = chart::base();
    let names: Vec<String> = (0..8).map(|i| format!("system {i}")).collect();
    option["xAxis"] = json!({"type": "category", "data": ["a", "b", "c", "d"]});
    option["yAxis"] = json!({"type": "value", "boundaryGap": [0, "14%"]});
    let series = |(i, name): (usize, &String)| {
        let data: Vec<f64> = (0..4)
            .map(|n| 61_100.0 + 1_000.0 * (4 * i + n) as f64)
            .collect();
        json!({
            "type": "bar", "name": name, "data": data, "labelLayout": "@bar",
            "label": {"show": true, "position": "top", "formatter": "@rate", "fontSize": 11},
        })
    };
    option["series"] = names.iter().enumerate().map(series).collect();
    let (texts, _) = drawn(&option);
    for n in 0..32 {
        let number = format!("{}.1k", 61 + n);
        let Some((_, at)) = texts.iter().find(|(text, _)| *text == number) else {
            panic!("{number} is left out");
        };
        assert!(at.height() > at.width(), "{number} stands upright");
        assert!(at.top() >= 0.0, "{number} is cut");
    }
}

#[test]
fn a_legend_keeps_its_look_and_cuts_long_names_in_their_middle() {
    let long = format!("Manufacturer {} (firmware 2.1.0)", "PM1743 ".repeat(30));
    let (texts, svg) = drawn(&{
        let mut option = curves(&[(&long, &[(1.0, 1.0, "1")]), ("short", &[(2.0, 2.0, "2")])]);
        option["legend"]["textStyle"] = json!({"color": "#123456", "fontSize": 13});
        option
    });
    let begins = |text: &str| texts.iter().find(|(own, _)| own.starts_with(text)).unwrap();
    let (name, at) = begins("Manufacturer");
    assert!(
        name.contains('…') && name.ends_with("(firmware 2.1.0)"),
        "{name}"
    );
    assert!(at.right() <= SIZE.0 && at.width() > 400.0, "{at:?}");
    assert!(
        begins("short").1.top() > at.bottom() - 2.0,
        "on a line of its own"
    );
    let of_legend = svg.split("<text").filter(|text| text.contains("#123456"));
    let sizes: Vec<bool> = of_legend.map(|text| text.contains("13px")).collect();
    assert_eq!(sizes, [true, true], "{svg}");
}
