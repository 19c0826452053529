//! One workload of a headline: which systems are compared in it.

use crate::{
    compare::{self, ComparedAt, Lead},
    section::ComparedPair,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::Metric;
use tailmark_stats::Comparison;

/// One workload of a topic.
pub(super) struct WorkloadTopic<'s, 'a> {
    pub(super) group: &'s WorkloadGrid<'a>,
    /// `None` for values read off curves, which rest on all points.
    pub(super) spot: Option<ComparedAt>,
    /// Each with how its first compares with its second.
    pub(super) pairs: Vec<ComparedPair<'a>>,
}

impl<'s, 'a> WorkloadTopic<'s, 'a> {
    /// `None` if no two systems are compared.
    pub(super) fn new(
        group: &'s WorkloadGrid<'a>,
        sweep: &SweepTable<'a>,
        spot: ComparedAt,
        metric: Metric,
    ) -> Option<Self> {
        let pairs = compare::pairs(group, sweep, spot, metric).into_iter();
        let compared = |(a, b)| (a, b, compare::at(group, sweep, spot, metric, (a, b)));
        let pairs: Vec<_> = pairs.map(compared).collect();
        (!pairs.is_empty()).then_some(Self {
            group,
            spot: Some(spot),
            pairs,
        })
    }

    /// The pairs whose first stands so to their second.
    pub(super) fn with(&self, sweep: &SweepTable<'_>, leads: &[Lead]) -> Vec<&ComparedPair<'a>> {
        let is_one = |(.., comparison): &&(&str, &str, Option<Comparison>)| {
            leads.contains(&Lead::new(comparison.as_ref(), sweep.comparisons))
        };
        self.pairs.iter().filter(is_one).collect()
    }

    /// The position of the first of all pairs: better only if it is better than each other system.
    pub(super) fn lead(&self, sweep: &SweepTable<'_>) -> Lead {
        let comparisons = self
            .pairs
            .iter()
            .map(|(.., comparison)| comparison.as_ref());
        let all: Vec<Lead> = comparisons
            .map(|one| Lead::new(one, sweep.comparisons))
            .collect();
        Lead::over_all(&all)
    }

    /// What is compared.
    pub(super) fn metric(&self) -> Metric {
        let known = self.pairs.iter().filter_map(|(.., known)| known.as_ref());
        let mut metrics = known.map(|known| known.metric);
        metrics.next().unwrap_or(Metric::OPS_PER_SEC)
    }

    /// The pairs of a single system.
    pub(super) fn only(&self, system: &str) -> Option<Self> {
        let pair = self.pairs.iter().find(|(a, ..)| *a == system)?;
        Some(Self {
            group: self.group,
            spot: self.spot,
            pairs: vec![pair.clone()],
        })
    }
}
