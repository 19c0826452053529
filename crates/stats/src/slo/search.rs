//! The search for the highest rate at which limits hold. It picks the next rate and states the
//! result. It knows only the rates that were tried and their verdicts.

mod answer;

pub use answer::{Answer, Status};

use super::Verdict;
use std::{cmp::Ordering, time::Duration};
use tailmark_model::Bounds;

/// How many tries of a rate must agree to make it a bound, and how many undecided tries rule it
/// out.
const CONFIRMED: u32 = 2;
/// The largest factor between one try and the next.
const FACTOR_MAX: f64 = 4.0;
/// The factor if a sweep has shown roughly where to look.
const FACTOR_NEAR: f64 = 1.25;
/// The factor if nothing has.
const FACTOR_FAR: f64 = 2.0;
/// The lowest rate as a fraction of the first, if none is given.
const LOWEST: f64 = 0.01;
/// The first rate if nothing shows where to look, operations per second.
const FIRST: f64 = 1_000.0;

/// A rate that was tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// Operations per second.
    pub rate: f64,
    /// Its verdict.
    pub verdict: Verdict,
    /// The share over the limit relative to the allowed share, for the worst limit.
    pub part: f64,
    /// The verdict of this try together with earlier tries of the same rate.
    pub together: Verdict,
}

/// The next action, or the result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Try this rate.
    Try {
        /// Operations per second.
        rate: f64,
        /// How many further tries are needed to confirm both ends.
        to_follow: usize,
    },
    /// The search is over.
    Done(Answer),
}

/// All tries of one rate.
#[derive(Debug, Clone, Copy)]
struct Rate {
    rate: f64,
    passed: u32,
    failed: u32,
    limited: u32,
    unsteady: u32,
    others: u32,
    /// The sum of their relative shares over the limit.
    parts: f64,
    /// Their verdict when taken as one.
    together: Verdict,
}

impl Rate {
    /// How many tries say that the limits hold; 0 if all tries together do not, or if one says the
    /// opposite.
    fn holds(&self) -> u32 {
        let is_contradicted = self.failed + self.limited + self.unsteady > 0;
        if is_contradicted || self.is_given_up() || self.together != Verdict::Pass {
            0
        } else {
            self.passed
        }
    }

    /// How many tries say that the limits do not hold, whoever is to blame.
    fn breaks(&self) -> u32 {
        let is_broken = matches!(self.together, Verdict::Fail | Verdict::ClientLimit);
        let is_contradicted = self.passed + self.unsteady > 0;
        if is_contradicted || self.is_given_up() || !is_broken {
            0
        } else {
            self.failed + self.limited
        }
    }

    /// Whether too many tries were undecided to try it again, because it lies too close to the
    /// answer.
    fn is_given_up(&self) -> bool {
        self.others >= CONFIRMED
    }

    /// How many more tries must agree to make it a bound.
    fn missing(&self, times: u32) -> u32 {
        CONFIRMED.saturating_sub(times)
    }

    fn tries(&self) -> u32 {
        self.passed + self.failed + self.limited + self.unsteady + self.others
    }

    fn mean_part(&self) -> f64 {
        self.parts / f64::from(self.tries().max(1))
    }
}

/// The rates between which the answer lies, and undecided rates between them.
struct Bracket {
    rates: Vec<Rate>,
    low: Option<Rate>,
    high: Option<Rate>,
}

impl Bracket {
    fn from_tried(tried: &[Tried]) -> Self {
        let mut rates: Vec<Rate> = Vec::new();
        for &Tried {
            rate,
            verdict,
            part,
            together,
        } in tried
        {
            let at = rates.partition_point(|known| known.rate < rate);
            if rates.get(at).is_none_or(|known| known.rate > rate) {
                let none = Rate {
                    rate,
                    passed: 0,
                    failed: 0,
                    limited: 0,
                    unsteady: 0,
                    others: 0,
                    parts: 0.0,
                    together,
                };
                rates.insert(at, none);
            }
            let known = &mut rates[at];
            known.parts += part;
            known.together = together;
            match verdict {
                Verdict::Pass => known.passed += 1,
                Verdict::Fail => known.failed += 1,
                Verdict::ClientLimit => known.limited += 1,
                Verdict::NotSteady => known.unsteady += 1,
                Verdict::Undecided => known.others += 1,
            }
        }
        // What holds above a rate that does not hold is not relied on.
        let high = rates.iter().find(|rate| rate.breaks() > 0).copied();
        let is_below = |rate: &&Rate| high.is_none_or(|high| rate.rate < high.rate);
        let mut below = rates.iter().filter(is_below);
        let low = below.rfind(|rate| rate.holds() > 0).copied();
        Self { rates, low, high }
    }

    /// A rate between the ends that narrows the bracket; `None` if no rate is expected to.
    ///
    /// The ends should be as far apart as the resolution, around where the limit is likely to
    /// break. If a rate was undecided, the next one is on its far side.
    fn between(&self, low: Rate, high: Rate, resolution: f64) -> Option<f64> {
        let half = with_slack(resolution).sqrt();
        let within = |rate: &&Rate| low.rate < rate.rate && rate.rate < high.rate;
        let undecided = || self.rates.iter().filter(within).map(|between| between.rate);
        let is_clear = undecided().next().is_none();
        if is_clear && high.rate / low.rate <= half.powi(4) {
            return Some(rounded((low.rate * high.rate).sqrt()));
        }
        if is_clear {
            // Both sides of it are wanted; the farther one first.
            let crossing = self.crossing(low, high);
            let ends = [crossing / half, crossing * half];
            let is_below_farther = ends[0] / low.rate >= high.rate / ends[1];
            return Some(rounded(ends[usize::from(!is_below_farther)]));
        }
        // From the undecided ones outwards, by a quarter of the remaining distance.
        let first = undecided().fold(f64::INFINITY, f64::min);
        let last = undecided().fold(0.0, f64::max);
        let (below, above) = (first / low.rate, high.rate / last);
        let step = |gap: f64| gap.sqrt().sqrt().max(half);
        let rate = if below >= above {
            first / step(below)
        } else {
            last * step(above)
        };
        (below.max(above) > with_slack(resolution)).then(|| rounded(rate))
    }

    /// Where the share over the limit probably equals the allowed share: on the line through the
    /// logarithms of rates and shares near the limit, otherwise between the ends.
    fn crossing(&self, low: Rate, high: Rate) -> f64 {
        /// Shares farther from the limit show only on which side they are.
        const NEAR: f64 = 5.0;
        let point = |rate: &Rate| {
            (
                rate.rate.ln(),
                rate.mean_part().clamp(1.0 / NEAR, NEAR).ln(),
            )
        };
        let [(x_low, y_low), (x_high, y_high)] = [point(&low), point(&high)];
        let between = x_low + (x_high - x_low) * (-y_low / (y_high - y_low)).clamp(0.25, 0.75);
        let is_near = |rate: &&Rate| (1.0 / NEAR..=NEAR).contains(&rate.mean_part());
        let near: Vec<(f64, f64)> = self.rates.iter().filter(is_near).map(point).collect();
        let n = near.len() as f64;
        let mean =
            |coordinate: fn(&(f64, f64)) -> f64| near.iter().map(coordinate).sum::<f64>() / n;
        let (x, y) = (mean(|at| at.0), mean(|at| at.1));
        let rise: f64 = near.iter().map(|at| (at.0 - x) * (at.1 - y)).sum();
        let run: f64 = near.iter().map(|at| (at.0 - x).powi(2)).sum();
        let line = x - y / (rise / run);
        if near.len() >= 2 && rise > 0.0 && (x_low..=x_high).contains(&line) {
            line.exp()
        } else {
            between.exp()
        }
    }

    /// How many more tries after one of this rate are needed to confirm both ends.
    fn to_follow(&self, rate: f64) -> usize {
        let missing = |end: Option<Rate>, times: fn(&Rate) -> u32| match end {
            Some(end) if end.rate == rate => end.missing(times(&end) + 1),
            Some(end) => end.missing(times(&end)),
            None => 0,
        };
        let missing = missing(self.low, Rate::holds) + missing(self.high, Rate::breaks);
        // A new rate that becomes an end takes the place of one, or is the first.
        let is_new = !self.rates.iter().any(|known| known.rate == rate);
        if is_new {
            missing.max(1) as usize
        } else {
            missing as usize
        }
    }

    /// Whether all tries were undecided with hardly anything over the limit.
    fn is_too_little(&self) -> bool {
        let is_far_below = |rate: &Rate| rate.others == rate.tries() && rate.mean_part() < 0.5;
        self.rates.iter().all(is_far_below)
    }

    /// The result when no further rate is tried.
    fn answer(&self, bounds: &Bounds, floor: f64) -> Answer {
        let is_below = |rate: &&Rate| self.high.is_none_or(|high| rate.rate < high.rate);
        let mut below = self.rates.iter().filter(is_below);
        let lower = below.rfind(|rate| rate.holds() >= CONFIRMED);
        let upper = self.rates.iter().find(|rate| rate.breaks() >= CONFIRMED);
        let rates = (lower.map(|rate| rate.rate), upper.map(|rate| rate.rate));
        let is_limited = upper.is_some_and(|rate| rate.limited > 0 && rate.failed == 0);
        let status = match rates {
            (Some(_), Some(_)) if is_limited => Status::ClientLimit,
            (Some(low), Some(high)) if high / low <= with_slack(bounds.resolution) => Status::Found,
            (Some(_), Some(_)) => Status::Wide,
            (Some(low), None) if bounds.max_rate.is_some_and(|max| low >= max) => Status::MaxRate,
            (None, Some(_)) if is_limited => Status::ClientLimit,
            (None, Some(high)) if high <= floor => Status::NotAtAnyRate,
            _ if self.rates.iter().any(|rate| rate.unsteady > 0) => Status::NotSteady,
            _ => Status::Undecided,
        };
        Answer {
            status,
            low: rates.0,
            high: rates.1.filter(|_| !is_limited),
        }
    }
}

/// A resolution as a ratio; rates are rounded to four digits.
fn with_slack(resolution: f64) -> f64 {
    (1.0 + resolution) * (1.0 + 1e-3)
}

/// The next rate to try, or the result. `hint` is the answer that a sweep suggests, operations per
/// second. `left` is the number of tries for which there is time.
pub fn next(bounds: &Bounds, hint: Option<f64>, tried: &[Tried], left: usize) -> Next {
    let bracket = Bracket::from_tried(tried);
    let lowest_known = bounds.min_rate;
    let Some(first) = tried.first().map(|tried| tried.rate) else {
        let start = hint.or(lowest_known).unwrap_or(FIRST);
        return Next::Try {
            rate: within(bounds, rounded(start)),
            to_follow: 1,
        };
    };
    let floor = lowest_known.unwrap_or(first * LOWEST);
    match next_rate(&bracket, bounds, hint, left, floor, first) {
        Some(rate) if left > 0 => Next::Try {
            rate,
            to_follow: bracket.to_follow(rate),
        },
        _ => Next::Done(bracket.answer(bounds, floor)),
    }
}

fn next_rate(
    bracket: &Bracket,
    bounds: &Bounds,
    hint: Option<f64>,
    left: usize,
    floor: f64,
    first: f64,
) -> Option<f64> {
    let (lowest, highest) = (bracket.rates.first()?.rate, bracket.rates.last()?.rate);
    let unconfirmed = |rate: Rate, times: u32| (rate.missing(times) > 0).then_some(rate.rate);
    let step = |is_beyond: fn(f64, f64) -> bool| {
        let factor = match hint {
            Some(_) => FACTOR_NEAR,
            None => FACTOR_FAR,
        };
        // Longer with each in that direction: no end was found where it was looked for.
        let beyond = bracket.rates.iter().filter(|r| is_beyond(r.rate, first));
        f64::min(
            factor.powi(3_i32.pow(beyond.count().min(8) as u32)),
            FACTOR_MAX,
        )
    };
    let (step_up, step_down) = (
        step(|rate, from| rate > from),
        step(|rate, from| rate < from),
    );
    // The last tries are for what can still be confirmed.
    let kept = match (bracket.low, bracket.high) {
        (Some(low), None) => Some((low, low.holds())),
        (None, Some(high)) => Some((high, high.breaks())),
        _ => None,
    };
    if let Some((end, times)) = kept.filter(|(end, times)| left <= end.missing(*times) as usize) {
        return unconfirmed(end, times);
    }
    match (bracket.low, bracket.high) {
        // Rates above are undecided: try between them, then confirm what is known.
        (Some(low), None) if bounds.max_rate.is_some_and(|max| highest >= max) => {
            let above = bracket.rates.iter().find(|rate| rate.rate > low.rate);
            let between = above.and_then(|above| towards(low.rate, above.rate, bounds));
            between.or_else(|| unconfirmed(low, low.holds()))
        }
        (Some(_), None) => Some(within(bounds, rounded(highest * step_up))),
        // Nothing was over the limit, and there was too little to say so: faster, there is more.
        (None, None)
            if bracket.is_too_little() && bounds.max_rate.is_none_or(|max| highest < max) =>
        {
            Some(within(bounds, rounded(highest * step_up)))
        }
        (None, high) => {
            if lowest <= floor {
                high.and_then(|high| {
                    let mut rates = bracket.rates.iter();
                    let below = rates.rfind(|rate| rate.rate < high.rate);
                    let between = below.and_then(|below| towards(high.rate, below.rate, bounds));
                    between.or_else(|| unconfirmed(high, high.breaks()))
                })
            } else {
                Some(rounded(lowest / step_down).max(floor))
            }
        }
        (Some(low), Some(high)) => {
            let (below, above) = (low.missing(low.holds()), high.missing(high.breaks()));
            let to_confirm = || match (below, above) {
                (0, 0) => None,
                (0, _) => Some(high.rate),
                _ => Some(low.rate),
            };
            let is_near = high.rate / low.rate <= with_slack(bounds.resolution);
            if is_near || left <= (below + above) as usize {
                to_confirm()
            } else {
                bracket
                    .between(low, high, bounds.resolution)
                    .or_else(to_confirm)
            }
        }
    }
}

/// A rate between a decided and an undecided one, a quarter of the way from the latter; `None` if
/// they are within the resolution.
fn towards(decided: f64, undecided: f64, bounds: &Bounds) -> Option<f64> {
    let gap = undecided / decided;
    let is_far = gap.max(1.0 / gap) > with_slack(bounds.resolution);
    is_far.then(|| rounded(undecided / gap.sqrt().sqrt()))
}

/// Rounds to four significant digits, for readable rates.
fn rounded(rate: f64) -> f64 {
    let text = format!("{rate:.3e}");
    text.parse().unwrap_or(rate)
}

fn within(bounds: &Bounds, rate: f64) -> f64 {
    let rate = bounds.max_rate.map_or(rate, |max| rate.min(max));
    bounds.min_rate.map_or(rate, |min| rate.max(min))
}

/// How many more tries there is time for, if each takes at least that long.
pub fn tries_left(limit: Duration, spent: Duration, each: Duration) -> usize {
    let left = limit.saturating_sub(spent);
    if each.is_zero() {
        0
    } else {
        (left.as_secs_f64() / each.as_secs_f64() + 1e-9) as usize
    }
}

/// The answer that a sweep suggests: the highest operations per second of a point that held the
/// limits, or half of the lowest if none did.
pub fn hint(points: &[(f64, bool)]) -> Option<f64> {
    let order = |a: &f64, b: &f64| -> Ordering { a.total_cmp(b) };
    let rates = |holds: bool| points.iter().filter(move |(_, held)| *held == holds);
    let held = rates(true).map(|(ops, _)| *ops).max_by(order);
    let broken = rates(false).map(|(ops, _)| ops / 2.0).min_by(order);
    held.or(broken).filter(|rate| *rate > 0.0)
}

#[cfg(test)]
mod tests;
