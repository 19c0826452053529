//! Counts requests over a limit, second by second.

use tailmark_model::{Interval, Kind, KindResult, Latencies, Limit, Phase, Rule, TimeBasis};

/// The requests in a stretch of time, and those over a limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Count {
    /// The length of the stretch.
    pub seconds: f64,
    /// Requests, including those that failed or were never done.
    pub requests: u64,
    /// Requests that took longer, failed, or were never done.
    pub over: u64,
    /// The total time of completed requests, nanoseconds.
    pub latency_ns: f64,
}

impl Count {
    /// The share over the limit; 0 without requests.
    pub fn share(self) -> f64 {
        match self.requests {
            0 => 0.0,
            requests => self.over as f64 / requests as f64,
        }
    }

    /// Adds another stretch.
    pub fn add(&mut self, other: Self) {
        self.seconds += other.seconds;
        self.requests += other.requests;
        self.over += other.over;
        self.latency_ns += other.latency_ns;
    }
}

/// The requests of a limit's kind in each interval. Latencies have the two digits of an interval's
/// histogram, so a latency within 1 % of the limit may count as within it.
pub fn of_intervals<'a>(
    intervals: impl IntoIterator<Item = &'a Interval>,
    limit: Limit,
    basis: TimeBasis,
) -> Vec<Count> {
    let intervals = intervals.into_iter();
    let count = |interval: &Interval| of_interval(interval, limit, basis);
    intervals.map(count).collect()
}

fn of_interval(interval: &Interval, limit: Limit, basis: TimeBasis) -> Count {
    let mut count = Count {
        seconds: interval.length_s,
        ..Count::default()
    };
    if let Some(kind) = interval.kinds.get(&limit.kind) {
        let packed = match basis {
            TimeBasis::Service => &kind.service,
            TimeBasis::Response => kind.response.as_ref().unwrap_or(&kind.service),
        };
        count.requests = kind.count + kind.errors;
        let latencies = packed.unpack();
        count.over = over(&latencies, limit) + kind.errors;
        count.latency_ns = latencies.mean() * latencies.len() as f64;
    }
    count
}

/// The requests of a limit's kind in each interval of a phase. Requests that were never done are
/// over the limit in the interval in which they were due. Requests done after the end count in the
/// last interval before it.
pub fn of_phase(phase: &Phase, limit: Limit, basis: TimeBasis) -> Vec<Count> {
    let mut counts = of_intervals(&phase.intervals, limit, basis);
    let is_within = |interval: &&Interval| interval.start_s + 1e-6 < phase.duration_s;
    let within = phase.intervals.iter().filter(is_within).count().max(1);
    let behind = counts.split_off(within.min(counts.len()));
    if let Some(last) = counts.last_mut() {
        for count in behind {
            last.requests += count.requests;
            last.over += count.over;
            last.latency_ns += count.latency_ns;
        }
    }
    add_never_done(&mut counts, phase, limit.kind, basis);
    counts
}

/// Adds requests that were never done to the second in which they were due, the youngest at the
/// end.
fn add_never_done(counts: &mut [Count], phase: &Phase, kind: Kind, basis: TimeBasis) {
    let ages = phase
        .kinds
        .get(&kind)
        .and_then(|kind| censored(kind, basis));
    let Some((ages, last)) = ages.zip(counts.len().checked_sub(1)) else {
        return;
    };
    let youngest = ages.min();
    for age in ages.iter_recorded() {
        let before_end_s = age.value_iterated_to().saturating_sub(youngest) as f64 / 1e9;
        let due_s = phase.duration_s - before_end_s;
        let at = phase.intervals.partition_point(|i| i.start_s <= due_s);
        let count = &mut counts[at.saturating_sub(1).min(last)];
        count.requests += age.count_at_value();
        count.over += age.count_at_value();
    }
}

fn censored(kind: &KindResult, basis: TimeBasis) -> Option<&Latencies> {
    let censored = kind.censored.as_deref()?;
    let ages = match basis {
        TimeBasis::Service => &censored.service,
        TimeBasis::Response => &censored.response,
    };
    (!ages.is_empty()).then_some(ages)
}

fn over(latencies: &Latencies, limit: Limit) -> u64 {
    let limit_ns = u64::try_from(limit.latency.as_nanos()).unwrap_or(u64::MAX);
    latencies.len() - latencies.count_between(0, limit_ns)
}

/// The blocks of these counts, and the shortest length of a block: that of the rule, or the
/// autocorrelation time if it is longer.
pub fn independent_blocks(counts: &[Count], rule: &Rule) -> (Vec<Count>, f64) {
    let block_s = rule.block.as_secs_f64().max(autocorrelation_s(counts));
    (blocks(counts, block_s), block_s)
}

/// Merges stretches into as many equal blocks as possible, each at least this long.
pub fn blocks(counts: &[Count], block_s: f64) -> Vec<Count> {
    let whole_s: f64 = counts.iter().map(|count| count.seconds).sum();
    // Of 200 seconds that are a rounding error short, 20 blocks of 10 s are still made.
    let number = ((whole_s + 1e-6) / block_s) as usize;
    let mut blocks = vec![Count::default(); number];
    let mut at_s = 0.0;
    for &count in counts {
        let middle_s = at_s + count.seconds / 2.0;
        let index = (middle_s / whole_s * number as f64) as usize;
        if let Some(block) = blocks.get_mut(index.min(number.saturating_sub(1))) {
            block.add(count);
        }
        at_s += count.seconds;
    }
    blocks
}

/// The integrated autocorrelation time of the shares, seconds: 1 + 2 times the sum of the
/// autocorrelations up to the first that is not positive (Geyer's initial positive sequence), in
/// intervals. As many intervals as it spans carry as much information about the mean as one
/// independent interval.
pub fn autocorrelation_s(counts: &[Count]) -> f64 {
    let shares: Vec<f64> = counts.iter().map(|count| count.share()).collect();
    let n = shares.len();
    let whole_s: f64 = counts.iter().map(|count| count.seconds).sum();
    let interval_s = whole_s / n.max(1) as f64;
    let mean = shares.iter().sum::<f64>() / n.max(1) as f64;
    let covariance = |lag: usize| -> f64 {
        let pairs = shares.iter().zip(&shares[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let variance = covariance(0);
    // What differs by rounding alone does not change.
    if n < 2 || variance <= n as f64 * (1e-12 * mean).powi(2) {
        return interval_s;
    }
    let correlations = (1..n).map(|lag| covariance(lag) / variance);
    let positive = correlations.take_while(|correlation| *correlation > 0.0);
    (1.0 + 2.0 * positive.sum::<f64>()) * interval_s
}

#[cfg(test)]
pub(in crate::slo) mod tests;
