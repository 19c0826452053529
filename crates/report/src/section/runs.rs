//! Every run separately.

use super::Section;
use crate::{
    Block, Chart, Data, Figure,
    block::anchor,
    chart::runs,
    compare,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::Metric;

pub const SECTION: Section = Section {
    name: "runs",
    title: "Runs",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    if sweep.repeats() < 2 {
        return Vec::new();
    }
    let figures = sweep.all_groups().filter_map(|group| figure(group, &sweep));
    figures.map(Block::Figure).collect()
}

fn figure(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Figure> {
    let metrics = std::iter::once(Metric::OPS_PER_SEC).chain(sweep.metric(group));
    let charts = metrics.filter_map(|metric| {
        let title = group.title_with_conditions();
        Some(Chart {
            title: format!("{title}: {} of each run", metric.row().title),
            hint: format!("{} is better; one mark per run", compare::better(metric)),
            about: format!("{} of every run of {title}, by system.", metric.row().title),
            height: 300,
            wide: false,
            base: runs::scatter(group, sweep, metric)?,
            variants: vec![serde_json::json!({})],
            plot: None,
        })
    });
    let charts: Vec<Chart> = charts.collect();
    (!charts.is_empty()).then(|| Figure {
        anchor: anchor(&["runs", &group.anchor]),
        controls: Vec::new(),
        charts,
    })
}
