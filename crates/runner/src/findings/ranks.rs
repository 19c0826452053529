//! Findings about processes that measured a point together: one was slower than the others, or
//! clocks differed.

use super::PointContext;
use tailmark_model::{RankPart, Sentence, Unit};

/// A rank is slow if its clients did less than this share of what the median rank's clients did.
const SLOW: f64 = 0.8;

/// Or if its p99 is more than this multiple of the median rank's.
const LATE: f64 = 2.0;

/// With fewer operations of a rank nothing is known of its p99, and little of its ops/s.
const OPERATIONS_MIN: u64 = 1_000;

/// Seconds of two ranks that are further apart are not the same, nanoseconds.
const APART_NS: u64 = 1_000_000;

/// The slowest rank, if it is slow, with the facts about it.
pub fn uneven(point: &PointContext<'_>) -> Option<Sentence> {
    uneven_of(&point.phase().ranks, point.key.target_rate.is_none())
}

fn uneven_of(ranks: &[RankPart], is_closed: bool) -> Option<Sentence> {
    if ranks.len() < 2 || ranks.iter().any(|part| part.operations < OPERATIONS_MIN) {
        return None;
    }
    let per_client = |part: &RankPart| part.ops_per_sec() / f64::from(part.threads.max(1));
    let p99 = |part: &RankPart| part.quantile(0.99).unwrap_or(0) as f64;
    // The better of the middle two if the number is even: with two ranks, the slower one is
    // compared with the faster one.
    let usual = sorted(ranks, per_client)[ranks.len() / 2];
    let usual_p99 = sorted(ranks, p99)[(ranks.len() - 1) / 2];
    let slowest = ranks
        .iter()
        .min_by(|a, b| per_client(a).total_cmp(&per_client(b)))?;
    let latest = ranks.iter().max_by(|a, b| p99(a).total_cmp(&p99(b)))?;
    let part = match (is_closed, per_client(slowest) < SLOW * usual) {
        (true, true) => slowest,
        // In a closed loop, a rank that does more than others causes its own longer queues.
        (true, false) if per_client(latest) > usual => return None,
        _ if usual_p99 > 0.0 && p99(latest) > LATE * usual_p99 => latest,
        _ => return None,
    };
    let with_busy = part
        .cpu_busy
        .map_or("", |_| ", with its processors {Processors busy} busy");
    let sentence = Sentence::new(format!(
        "Rank {{Rank}} on {{Machine}} did {{Rate of a client}} per client at a p99 of {{p99}}, the \
         median rank {{Median rate of a client}} at {{Median p99}}{with_busy}. The ranks were \
         unequal: find out whether this rank's machine, network or device slows it down."
    ));
    let sentence = of_rank(sentence, part)
        .number("Rate of a client", per_client(part), Unit::OpsPerSecond)
        .number("p99", p99(part), Unit::Nanoseconds)
        .number("Median rate of a client", usual, Unit::OpsPerSecond)
        .number("Median p99", usual_p99, Unit::Nanoseconds);
    Some(match part.cpu_busy {
        Some(busy) => sentence.number("Processors busy", busy * 100.0, Unit::Percent),
        None => sentence,
    })
}

/// Names the rank of a sentence.
fn of_rank(sentence: Sentence, part: &RankPart) -> Sentence {
    let sentence = sentence.count("Rank", part.rank.into());
    sentence.text("Machine", &part.host)
}

/// The rank whose seconds differ most from those of rank 0.
pub fn clock_skew(point: &PointContext<'_>) -> Option<Sentence> {
    skew_of(&point.phase().ranks)
}

fn skew_of(ranks: &[RankPart]) -> Option<Sentence> {
    let part = ranks.iter().max_by_key(|part| part.skew_ns())?;
    (part.skew_ns() > APART_NS).then(|| {
        let late = |wording| {
            let sentence = of_rank(Sentence::new(wording), part);
            sentence.number("Began late by", part.late_ns as f64, Unit::Nanoseconds)
        };
        if part.rank == 0 {
            return late(
                "Rank {Rank} on {Machine} began {Began late by} later than agreed. Values of its \
                 first second are blurred by that much; latencies are not affected. Leave \
                 processors free for the ranks.",
            );
        }
        let drift_ns = part.clock_drift_ns.unsigned_abs() as f64;
        late(
            "The seconds of rank {Rank} on {Machine} may be {Seconds apart} from those of rank 0: \
             it began {Began late by} late, its clock was known to {Clock known to} and drifted by \
             {Clock differs by}. Values of single seconds and of short stalls are blurred by that \
             much; latencies are not affected. Leave processors free for the ranks, and use the \
             same time service on all machines.",
        )
        .number("Seconds apart", part.skew_ns() as f64, Unit::Nanoseconds)
        .number(
            "Clock known to",
            part.clock_bound_ns as f64,
            Unit::Nanoseconds,
        )
        .number("Clock differs by", drift_ns, Unit::Nanoseconds)
    })
}

fn sorted(ranks: &[RankPart], figure: impl Fn(&RankPart) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = ranks.iter().map(figure).collect();
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That many ranks of two clients each that do 1,000 ops/s at a p99 of 1 ms.
    fn even(ranks: u32) -> Vec<RankPart> {
        let part = |rank| RankPart {
            rank,
            host: format!("db{rank}"),
            threads: 2,
            operations: 10_000,
            failed: 0,
            drained: 0,
            duration_s: 10.0,
            late_ns: 20_000,
            clock_ahead_ns: 77,
            clock_bound_ns: 50_000,
            clock_drift_ns: -30_000,
            cpu_busy: Some(0.5),
            cpu_client: Some(0.4),
            quantiles: vec![(0.5, 500_000), (0.99, 1_000_000)],
        };
        (0..ranks).map(part).collect()
    }

    fn changed(ranks: u32, change: impl Fn(&mut RankPart)) -> Vec<RankPart> {
        let mut ranks = even(ranks);
        change(&mut ranks[1]);
        ranks
    }

    #[test]
    fn the_slow_rank_is_named_with_its_host_and_even_ones_are_not() {
        for closed in [true, false] {
            assert_eq!(uneven_of(&even(4), closed), None);
            assert_eq!(uneven_of(&even(1), closed), None);
        }
        let less = changed(4, |part| part.operations = 7_900);
        let text = uneven_of(&less, true).unwrap().to_string();
        assert!(
            text.contains("Rank 1 on db1 did 395 ops/s per client") && text.contains("50 % busy"),
            "{text}"
        );
        assert!(text.contains("the median rank 500 ops/s"), "{text}");
        // At a rate, all ranks do as much as is due.
        assert_eq!(uneven_of(&less, false), None);
        assert_eq!(
            uneven_of(&changed(4, |part| part.operations = 8_100), true),
            None
        );
        // A few operations show nothing.
        let few = changed(4, |part| part.operations = 900);
        assert_eq!(uneven_of(&few, true), None);
        // A rank with fewer clients does less.
        let fewer = changed(4, |part| (part.threads, part.operations) = (1, 5_000));
        assert_eq!(uneven_of(&fewer, true), None);
        let late = changed(2, |part| part.quantiles[1].1 = 2_100_000);
        for closed in [true, false] {
            let lateness = uneven_of(&late, closed).unwrap().to_string();
            assert!(
                lateness.contains("Rank 1 on db1") && lateness.contains("2.10 ms"),
                "{lateness}"
            );
        }
    }

    #[test]
    fn clocks_that_are_apart_are_named_and_others_are_not() {
        assert_eq!(skew_of(&even(3)), None);
        for change in [
            |part: &mut RankPart| part.late_ns = 1_500_000,
            |part: &mut RankPart| part.clock_bound_ns = 1_500_000,
            |part: &mut RankPart| part.clock_drift_ns = -1_500_000,
        ] {
            let text = skew_of(&changed(3, change)).unwrap().to_string();
            assert!(
                text.contains("rank 1 on db1") && text.contains("1.5"),
                "{text}"
            );
        }
    }
}
