//! What is found of the processes that measured a point together: one that was slower than the
//! others, and clocks that were apart.

use super::Evidence;
use tailmark_results::{RankPart, number};

/// A rank is slow whose clients did less than this part of what those of the median rank did.
const SLOW: f64 = 0.8;

/// Or whose p99 is more than so many times that of the median rank.
const LATE: f64 = 2.0;

/// Seconds of two ranks that are further apart are not the same, nanoseconds.
const APART_NS: u64 = 1_000_000;

/// How busy the processors of a machine are that hold its clients up.
const BUSY: f64 = 0.90;

/// The slowest rank, where it is slow, with what is known of it.
pub fn uneven(e: &Evidence<'_>) -> Option<String> {
    let ranks = &e.phase.ranks;
    if ranks.len() < 2 {
        return None;
    }
    let per_client = |part: &RankPart| part.ops_per_sec() / f64::from(part.threads.max(1));
    let p99 = |part: &RankPart| part.quantile(0.99).unwrap_or(0) as f64;
    let (usual, usual_p99) = (median(ranks, per_client), median(ranks, p99));
    let slowest = ranks
        .iter()
        .min_by(|a, b| per_client(a).total_cmp(&per_client(b)))?;
    let latest = ranks.iter().max_by(|a, b| p99(a).total_cmp(&p99(b)))?;
    let is_closed = e.key.target_rate.is_none();
    let part = match (is_closed, per_client(slowest) < SLOW * usual) {
        (true, true) => slowest,
        _ if usual_p99 > 0.0 && p99(latest) > LATE * usual_p99 => latest,
        _ => return None,
    };
    let busy = part.cpu_busy.map_or_else(String::new, |busy| {
        format!(", with its processors {:.0} % busy", busy * 100.0)
    });
    Some(format!(
        "Rank {} on {} did {} ops/s a client at a p99 of {}, the median rank {} at {}{busy}. What all \
         measured is of unequal clients: find out what slows this one down, its machine, its network or \
         its device.",
        part.rank,
        part.host,
        number::rate(per_client(part)),
        number::latency(p99(part)),
        number::rate(usual),
        number::latency(usual_p99),
    ))
}

/// The rank whose seconds were the furthest from those of rank 0.
pub fn clock_skew(e: &Evidence<'_>) -> Option<String> {
    let part = e.phase.ranks.iter().max_by_key(|part| part.skew_ns())?;
    (part.skew_ns() > APART_NS).then(|| {
        format!(
            "The seconds of rank {} on {} may be {} from those of rank 0: it began {} late, its clock was \
             known to {} and came to differ by {}. Values of single seconds and of short stalls are \
             blurred by as much; latencies are not. Leave processors to the ranks, and let clocks be \
             kept by the same time service.",
            part.rank,
            part.host,
            number::latency(part.skew_ns() as f64),
            number::latency(part.late_ns as f64),
            number::latency(part.clock_bound_ns as f64),
            number::latency(part.clock_drift_ns.unsigned_abs() as f64),
        )
    })
}

/// A rank on a machine whose processors were busy, where that is not the machine of rank 0.
pub fn saturated(ranks: &[RankPart]) -> Option<&RankPart> {
    let others = ranks.iter().skip(1);
    let busy = |part: &&RankPart| part.cpu_busy.is_some_and(|busy| busy >= BUSY);
    others.filter(busy).max_by(|a, b| {
        a.cpu_busy
            .partial_cmp(&b.cpu_busy)
            .unwrap_or(std::cmp::Ordering::Equal)
    })
}

fn median(ranks: &[RankPart], of: impl Fn(&RankPart) -> f64) -> f64 {
    let mut values: Vec<f64> = ranks.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    // Of an even number the upper one: of two ranks the faster is what the slower is held against.
    values[values.len() / 2]
}
