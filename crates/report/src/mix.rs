//! What the clients of a workload did: the share of each kind of operation, and the system if
//! systems differ.

use crate::sweep::WorkloadGrid;
use std::collections::{BTreeMap, BTreeSet};
use tailmark_model::{Kind, KindResult, Phase, finding::LENGTH_UNKNOWN, number};

/// Shares that are closer are the same, and a share below half of it is none.
const APART: f64 = 0.01;
/// Shares of few operations are further apart by chance: by as many standard deviations at most.
const DEVIATIONS: f64 = 4.0;

/// The measured mix: `95 % read, 5 % update`. If systems differ, each has its own: `A: 95 % read, 5
/// % update; B: 90 % read, 10 % update`. If the points of one differ, a range is given.
#[must_use]
pub fn mix(group: &WorkloadGrid<'_>) -> String {
    let mut systems: Vec<(&str, Mix)> = Vec::new();
    for point in group.points() {
        let name = point.key.system.as_str();
        let at = systems.iter().position(|(known, _)| *known == name);
        let at = at.unwrap_or_else(|| {
            systems.push((name, Mix::default()));
            systems.len() - 1
        });
        systems[at].1.add(&point.phase);
    }
    let known = systems.len();
    systems.retain(|(_, mix)| !mix.lacks_count);
    let all = systems.iter().flat_map(|(_, mix)| &mix.points);
    let all = Mix {
        points: all.cloned().collect(),
        lacks_count: false,
    };
    if systems.len() == known && systems.iter().all(|(_, mix)| mix.is_like(&all)) {
        return all.text();
    }
    let texts = systems.iter();
    let texts: Vec<String> = texts
        .map(|(name, mix)| (name, mix.text()))
        .filter(|(_, mix)| !mix.is_empty())
        .map(|(name, mix)| format!("{name}: {mix}"))
        .collect();
    texts.join("; ")
}

/// The mixes of YCSB's core workloads, as YCSB defines them.
const DEFINED: [(&str, &str); 6] = [
    ("ycsb-a", "50 % read, 50 % update"),
    ("ycsb-b", "95 % read, 5 % update"),
    ("ycsb-c", "100 % read"),
    ("ycsb-d", "95 % read, 5 % insert"),
    ("ycsb-e", "95 % scan, 5 % insert"),
    ("ycsb-f", "50 % read, 50 % read-modify-write"),
];

/// The mix of a core workload of YCSB of which no counts are known. Names such as `ycsb-d-uniform` draw
/// other keys.
#[must_use]
pub fn defined(group: &WorkloadGrid<'_>) -> Option<&'static str> {
    let name = group.workload.to_lowercase();
    let is_own = |own: &str| {
        let rest = name.strip_prefix(own);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let found = DEFINED.iter().find(|(own, _)| is_own(own));
    let (_, mix) = found.filter(|_| mix(group).is_empty())?;
    Some(mix)
}

/// Operations by kind, of each point.
#[derive(Debug, Default)]
struct Mix {
    points: Vec<BTreeMap<Kind, u64>>,
    /// Whether some requests were imported without a count, so that shares are unknown.
    lacks_count: bool,
}

impl Mix {
    fn add(&mut self, phase: &Phase) {
        let is_unknown = |kind: &KindResult| kind.count == 0 && kind.summary.is_some();
        self.lacks_count |= phase.kinds.values().any(is_unknown);
        // Published counts of one kind of requests say nothing of the others.
        let is_published = LENGTH_UNKNOWN.is_among(&phase.findings);
        self.lacks_count |= is_published && phase.kinds.len() == 1;
        let kinds = phase.kinds.iter();
        let counts = kinds.map(|(kind, result)| (*kind, result.count + result.errors));
        let mut counts: BTreeMap<Kind, u64> = counts.collect();
        // The two halves of a read-modify-write are in the counts of reads and updates as well.
        let pairs = counts.get(&Kind::ReadModifyWrite).copied().unwrap_or(0);
        for half in [Kind::Read, Kind::Update] {
            if let Some(count) = counts.get_mut(&half) {
                *count = count.saturating_sub(pairs);
            }
        }
        self.points.push(counts);
    }

    /// The share of a kind over all points.
    fn share(&self, kind: Kind) -> f64 {
        let of_kind: u64 = self.points.iter().filter_map(|p| p.get(&kind)).sum();
        let sum: u64 = self.points.iter().flat_map(BTreeMap::values).sum();
        of_kind as f64 / sum.max(1) as f64
    }

    /// How far a share may be off by chance, at the point with the fewest operations.
    fn apart(&self) -> f64 {
        let counts = self.points.iter().map(|p| p.values().sum::<u64>());
        let fewest = counts.min().unwrap_or(0).max(1) as f64;
        APART.max(DEVIATIONS * 0.5 / fewest.sqrt())
    }

    /// Whether this part of all has the shares of all.
    fn is_like(&self, all: &Self) -> bool {
        let mut kinds = all.points.iter().flat_map(BTreeMap::keys);
        kinds.all(|kind| (self.share(*kind) - all.share(*kind)).abs() <= self.apart() / 2.0)
    }

    /// Empty if nothing is known.
    fn text(&self) -> String {
        if self.lacks_count {
            return String::new();
        }
        let kinds: BTreeSet<Kind> = self
            .points
            .iter()
            .flat_map(BTreeMap::keys)
            .copied()
            .collect();
        let parts = kinds.into_iter().filter_map(|kind| {
            let shares = self.points.iter().map(|counts| {
                let sum: u64 = counts.values().sum();
                counts.get(&kind).copied().unwrap_or(0) as f64 / sum.max(1) as f64
            });
            let low = shares.clone().fold(f64::INFINITY, f64::min);
            let high = shares.fold(0.0, f64::max);
            let share = match self.share(kind) {
                _ if high - low > self.apart() => {
                    format!("{:.0} to {:.0} %", low * 100.0, high * 100.0)
                }
                share if share >= 1.0 - APART / 2.0 => number::share(share),
                share if share >= APART / 2.0 => format!("{:.0} %", share * 100.0),
                _ => return None,
            };
            Some(format!("{share} {}", kind.name()))
        });
        parts.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::Summary;

    fn measured(points: &[[u64; 2]]) -> Mix {
        let mut mix = Mix::default();
        for [reads, updates] in points {
            let kinds = [(Kind::Read, *reads), (Kind::Update, *updates)];
            let kinds = kinds.map(|(kind, count)| {
                let result = KindResult {
                    count,
                    ..KindResult::default()
                };
                (kind, result)
            });
            mix.add(&Phase {
                kinds: kinds.into(),
                ..Phase::default()
            });
        }
        mix
    }

    #[test]
    fn a_mix_of_points_that_differ_says_from_what_to_what() {
        let alike = measured(&[[950_000, 50_000], [95_100, 4_900]]);
        assert_eq!(alike.text(), "95 % read, 5 % update");
        let differ = measured(&[[950_000, 50_000], [900_000, 100_000]]);
        assert_eq!(differ.text(), "90 to 95 % read, 5 to 10 % update");
        // Of few operations that is chance.
        let few = measured(&[[95, 5], [90, 10]]);
        assert_eq!(few.text(), "92 % read, 8 % update");
    }

    #[test]
    fn a_mix_with_a_count_that_is_not_known_is_none() {
        let mut phase = Phase::default();
        let known = KindResult {
            count: 750_000,
            ..KindResult::default()
        };
        let unknown = KindResult {
            summary: Some(Summary::default()),
            ..KindResult::default()
        };
        phase.kinds = [(Kind::Read, known), (Kind::Update, unknown)].into();
        let mut mix = measured(&[[950_000, 50_000]]);
        mix.add(&phase);
        assert_eq!(mix.text(), "");
    }
}
