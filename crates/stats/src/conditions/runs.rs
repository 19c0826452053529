//! Conditions that only runs show: the size of the records that reads found, and whether background
//! clients kept their rate.

use super::Inequality;
use crate::comparison::{Run, background_kept};
use std::collections::BTreeMap;
use tailmark_model::{Point, number};

/// Reads are unequal if the sizes that they found differ by more than this fraction of the higher
/// value.
const READ_PART: f64 = 0.02;

/// Background clients are unequal if the shares of their rate that they kept differ by more than
/// this.
const KEPT_PART: f64 = 0.01;

/// What a run adds to the conditions of its system.
#[derive(Debug, Clone, Copy)]
pub struct RunConditions<'r> {
    /// Its workload.
    pub workload: &'r str,
    /// When it began, milliseconds since 1970 UTC.
    pub started_ms: Option<u64>,
    /// Mean bytes that a read found.
    pub read_bytes: Option<f64>,
    /// The share of its background clients' rate that was kept, if they missed it.
    pub background_kept: Option<f64>,
}

impl<'r> From<&'r Run> for RunConditions<'r> {
    fn from(run: &'r Run) -> Self {
        Self {
            workload: &run.key.workload,
            started_ms: run.started_ms,
            read_bytes: run.read_bytes,
            background_kept: run.background_kept,
        }
    }
}

impl<'r> From<&'r Point> for RunConditions<'r> {
    fn from(Point { key, phase }: &'r Point) -> Self {
        Self {
            workload: &key.workload,
            started_ms: phase.started_ms,
            read_bytes: phase.read_bytes(),
            background_kept: background_kept(phase),
        }
    }
}

/// The mean of a value over the runs of each workload.
#[derive(Debug, Clone, Default, PartialEq)]
struct Means(BTreeMap<String, (f64, u32)>);

impl Means {
    fn add(&mut self, workload: &str, value: f64) {
        let (sum, runs) = self.0.entry(workload.to_owned()).or_default();
        (*sum, *runs) = (*sum + value, *runs + 1);
    }

    /// The workloads that both have, with both means.
    fn both<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (&'a str, f64, f64)> {
        let mean = |(sum, runs): &(f64, u32)| sum / f64::from(*runs);
        self.0.iter().filter_map(move |(workload, a)| {
            Some((workload.as_str(), mean(a), mean(other.0.get(workload)?)))
        })
    }
}

/// What the runs of a system add to its conditions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Runs {
    /// Bytes that a read found.
    read_bytes: Means,
    /// The share of the background clients' rate that was kept.
    background_kept: Means,
}

impl Runs {
    pub(super) fn add(&mut self, run: &RunConditions<'_>) {
        if let Some(bytes) = run.read_bytes {
            self.read_bytes.add(run.workload, bytes);
        }
        let kept = run.background_kept.unwrap_or(1.0);
        self.background_kept.add(run.workload, kept);
    }

    /// Workloads whose background clients did more of what was due in one of the two and, if the
    /// drivers count alike, those whose reads found records of different size.
    pub(super) fn unequal(&self, other: &Self, is_same_driver: bool) -> Vec<Inequality> {
        let bytes = |bytes: f64| number::count(bytes.round() as u64);
        let reads = self.read_bytes.both(&other.read_bytes);
        let reads =
            reads.filter(|(_, a, b)| is_same_driver && (a - b).abs() > READ_PART * a.max(*b));
        let reads = reads.map(|(workload, a, b)| Inequality {
            name: format!("bytes a read of {workload}"),
            a: Some(bytes(a)),
            b: Some(bytes(b)),
        });
        let kept = self.background_kept.both(&other.background_kept);
        let kept = kept.filter(|(_, a, b)| (a - b).abs() > KEPT_PART);
        let kept = kept.map(|(workload, a, b)| Inequality {
            name: format!("background rate of {workload}"),
            a: Some(kept_text(a)),
            b: Some(kept_text(b)),
        });
        reads.chain(kept).collect()
    }
}

fn kept_text(share: f64) -> String {
    if share < 1.0 {
        format!("{} kept", number::percent(share))
    } else {
        "kept".to_owned()
    }
}
