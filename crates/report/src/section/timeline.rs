//! What each point was like while it ran.

use super::Section;
use crate::{
    Block, Chart, Choice, Control, Data, Figure, Text,
    chart::timeline,
    findings::point_title,
    sweep::{Sweep, workload_title},
};
use serde_json::Value;

pub const SECTION: Section = Section {
    name: "timelines",
    title: "Timelines",
    about: "ops/s, tail latency, device and processors over time, for each point",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = Sweep::new(data);
    let mut choices: Vec<Choice> = Vec::new();
    let mut variants: Vec<Value> = Vec::new();
    for point in &data.points {
        let choice = Choice {
            group: workload_title(&point.key.workload),
            label: point_title(point),
        };
        choices.push(choice);
        variants.push(timeline::timeline(
            &point.phase,
            sweep.color(&point.key.system),
        ));
    }
    for load in &data.loads {
        choices.push(Choice {
            group: "Load".into(),
            label: format!("{}, load", load.system),
        });
        variants.push(timeline::timeline(&load.phase, sweep.color(&load.system)));
    }
    if variants.iter().all(Value::is_null) {
        return Vec::new();
    }
    let chart = Chart {
        title: "One point over time".into(),
        hint: "point at a plot to read all values of that second".into(),
        about: "Ops/s, tail latency, device bandwidth, device requests and processor use on one \
                clock."
            .into(),
        height: timeline::height(),
        wide: true,
        base: timeline::timeline_base(),
        variants,
    };
    let control = Control {
        key: "point",
        label: "Point".into(),
        initial: initial(data),
        choices,
    };
    let figure = Figure {
        anchor: "timeline".into(),
        controls: vec![control],
        charts: vec![chart],
    };
    let text = Text::plain(
        "Tail latency of an interval is shown where at least 10 samples lie beyond it. In a closed \
         loop response time is service time; at a fixed rate it counts from the instant a request \
         was due.",
    );
    vec![Block::Text(text), Block::Figure(figure)]
}

/// The busiest point of the first workload: it is the one most worth a look.
fn initial(data: &Data) -> usize {
    let first = data.points.first().map(|p| &p.key.workload);
    let of_first = data
        .points
        .iter()
        .enumerate()
        .filter(|(_, p)| Some(&p.key.workload) == first);
    of_first
        .max_by_key(|(_, p)| p.key.threads)
        .map_or(0, |(i, _)| i)
}
