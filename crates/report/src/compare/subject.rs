//! The subject of a report that names none: the system that leads most. It is the same everywhere,
//! so that headline, cards, sentences and tables are about one system.

use super::{ComparedAt, Lead, at, last_common, ranked};
use crate::sweep::{SweepTable, WorkloadGrid};
use std::cmp::Reverse;
use tailmark_model::Metric;

/// The system that is compared with each other one: the named subject, or the leading system.
/// `None` with a baseline, and for a single system.
#[must_use]
pub fn subject<'a>(sweep: &SweepTable<'a>) -> Option<&'a str> {
    if sweep.baseline().is_some() {
        return None;
    }
    sweep.named_subject().or_else(|| {
        let leader = *sweep.leader.get_or_init(|| leader(sweep));
        leader.map(|index| sweep.systems[index].name.as_str())
    })
}

/// The system that leads in most workloads: at their peaks, then in the metric of the report. Of
/// equals, the one that was measured to be first most often, then the first of the plan. `None` for
/// a single system, and if no two are compared.
fn leader(sweep: &SweepTable<'_>) -> Option<usize> {
    let peaks = sweep.groups.iter().filter(|group| group.has_peaks());
    let peaks = peaks.map(|group| First::new(group, sweep, ComparedAt::Peak, Metric::OPS_PER_SEC));
    let peaks: Vec<First<'_>> = peaks.flatten().collect();
    let in_metric = sweep.all_groups().filter_map(|group| {
        let metric = sweep.metric(group)?;
        let step = last_common(group, sweep, metric)?;
        First::new(group, sweep, ComparedAt::Step(step), metric)
    });
    let in_metric: Vec<First<'_>> = in_metric.collect();
    let score = |name: &str| {
        let count = |all: &[First<'_>], only_leads: bool| {
            let own = all.iter().filter(|first| first.system == name);
            own.filter(|first| first.leads || !only_leads).count()
        };
        let all = [&peaks, &in_metric].map(|all| (count(all, true), count(all, false)));
        let [(peaks_led, peaks_first), (metric_led, metric_first)] = all;
        (peaks_led, metric_led, peaks_first, metric_first)
    };
    let is_any = !peaks.is_empty() || !in_metric.is_empty();
    // Of equals, the first.
    let systems = 0..sweep.systems.len();
    systems
        .filter(|_| is_any)
        .min_by_key(|index| Reverse(score(&sweep.systems[*index].name)))
}

/// The best of a workload at a place.
struct First<'a> {
    system: &'a str,
    /// Whether it is better than each other one.
    leads: bool,
}

impl<'a> First<'a> {
    /// `None` if no two systems are compared.
    fn new(
        group: &WorkloadGrid<'a>,
        sweep: &SweepTable<'a>,
        spot: ComparedAt,
        metric: Metric,
    ) -> Option<Self> {
        let ranked = ranked(group, sweep, spot, metric);
        let (first, others) = ranked.split_first().filter(|(_, rest)| !rest.is_empty())?;
        let lead = |other: &&str| {
            let comparison = at(group, sweep, spot, metric, (first, other));
            Lead::new(comparison.as_ref(), sweep.comparisons)
        };
        let leads: Vec<Lead> = others.iter().map(lead).collect();
        Some(Self {
            system: first,
            leads: Lead::over_all(&leads) == Lead::Better,
        })
    }
}
