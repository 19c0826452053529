//! Where and why the ladders of a workload ended for each system. Part of the section on workloads,
//! below its charts.

use crate::{
    Block, Data, Text,
    sweep::{SweepTable, WorkloadGrid},
};
use std::collections::BTreeSet;
use tailmark_stats::ladder;

/// One paragraph for a workload; `None` if its thread counts were a list.
pub fn ends(data: &Data, group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Block> {
    let systems = sweep.systems.iter().chain(&sweep.ceilings);
    let measured = systems.filter(|system| group.has_peaks() && group.has(&system.name));
    // Of studies that were merged, each says its own.
    let said = measured.flat_map(|system| {
        let beginning = ladder::beginning(&system.name, &group.workload);
        let ends = data.notices.iter();
        let ends = ends.filter_map(move |notice| notice.strip_prefix(&beginning));
        ends.map(|end| {
            let name = Text::plain(" ").and_strong(&system.name);
            name.and(format!(" ended {end}."))
        })
    });
    let said = said.reduce(Text::and_all)?;
    let what = Text::plain("Thread counts were raised until ops/s stopped rising.");
    Some(Block::Text(what.and_all(said)))
}

/// The notices of a study that are not said of a workload.
pub fn others(data: &Data) -> impl Iterator<Item = &String> {
    let closed = data
        .points
        .iter()
        .filter(|point| point.key.target_rate.is_none());
    let of_points = closed.map(|point| (&*point.key.system, &*point.key.workload));
    let of_points: BTreeSet<(&str, &str)> = of_points.collect();
    let beginnings = of_points.into_iter();
    let beginnings: Vec<String> = beginnings
        .map(|(system, workload)| ladder::beginning(system, workload))
        .collect();
    let notices = data.notices.iter();
    notices.filter(move |notice| !beginnings.iter().any(|said| notice.starts_with(said)))
}
