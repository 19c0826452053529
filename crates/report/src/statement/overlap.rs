//! The sentence about points that overlap.

use crate::{
    axis::Step,
    block::Text,
    compare::{self, ComparedAt, Outcome},
    sweep::{SweepTable, WorkloadGrid},
};
use std::collections::BTreeMap;
use tailmark_model::{Metric, System, number};

/// Where the points of any two systems overlap: neither ops/s nor latency distinguishes them.
pub fn overlapping(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Text> {
    let metric = sweep.latency_metric(group)?;
    let is_same = |step: Step, one, pair: (&str, &str)| {
        let comparison = compare::at(group, sweep, ComparedAt::Step(step), one, pair)?;
        let outcome = Outcome::new(&comparison, sweep.comparisons.band);
        Some(matches!(outcome, Outcome::Tied | Outcome::Equivalent))
    };
    let overlap = |a: &System, b: &System| -> Vec<Step> {
        let pair = (a.name.as_str(), b.name.as_str());
        let is_at = |step: &&Step| {
            [Metric::OPS_PER_SEC, metric].map(|one| is_same(**step, one, pair)) == [Some(true); 2]
        };
        group.steps.iter().filter(is_at).copied().collect()
    };
    let systems = &sweep.systems;
    let pairs = (0..systems.len()).flat_map(|a| (a + 1..systems.len()).map(move |b| (a, b)));
    let pairs = pairs.map(|(a, b)| ((a, b), overlap(systems[a], systems[b])));
    let pairs = pairs.collect();
    let lines = sets(&pairs).into_iter().map(|(set, steps)| {
        let names: Vec<&str> = set.iter().map(|i| systems[*i].name.as_str()).collect();
        format!("{} at {}", number::list(&names), compare::places(steps))
    });
    let lines: Vec<String> = lines.collect();
    let within = compare::within(sweep.comparisons);
    (!lines.is_empty()).then(|| {
        Text::plain(format!(
            "Points overlap ({within} in ops/s and {metric} latency): {}.",
            lines.join("; ")
        ))
    })
}

/// The sets of systems of which every two overlap at the same steps, each pair in one of them.
fn sets(pairs: &BTreeMap<(usize, usize), Vec<Step>>) -> Vec<(Vec<usize>, &[Step])> {
    let mut sets: Vec<(Vec<usize>, &[Step])> = Vec::new();
    for ((a, b), steps) in pairs.iter().filter(|(_, steps)| !steps.is_empty()) {
        let has_both = |set: &[usize]| set.contains(a) && set.contains(b);
        if sets.iter().any(|(set, own)| has_both(set) && own == steps) {
            continue;
        }
        let mut set = vec![*a, *b];
        let last = pairs.keys().map(|(_, last)| *last).max().unwrap_or(*b);
        for other in b + 1..=last {
            if set
                .iter()
                .all(|one| pairs.get(&(*one, other)) == Some(steps))
            {
                set.push(other);
            }
        }
        sets.push((set, steps));
    }
    sets
}
