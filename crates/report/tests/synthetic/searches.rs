//! Searches as real ones would be, made up: trials of two systems, with the share of requests over the
//! limit that each is to have.

use std::{collections::BTreeMap, time::Duration};
use tailmark_model::{
    Arrivals, Bounds, Interval, IntervalKind, Kind, KindResult, Limit, Packed, Phase, Point,
    PointKey, Rule, SloSettings, new_latencies,
};
use tailmark_report::{Data, Search};
use tailmark_stats::slo::{Slo, Trial};

/// What all of them are for.
pub const LIMIT: &str = "p99 read < 15ms";

/// Rates that were tried, each with the share of requests over the limit.
pub type Tries<'a> = &'a [(f64, f64)];

/// Adds the searches of two systems: the first with both of its ends, the second without an upper end.
pub fn add_searches(data: &mut Data, quick: bool) {
    let both: Tries<'_> = &[
        (40_000.0, 0.004),
        (44_000.0, 0.02),
        (42_000.0, 0.014),
        (40_000.0, 0.005),
        (42_000.0, 0.015),
    ];
    let all: Tries<'_> = &[(30_000.0, 0.0), (60_000.0, 0.001), (60_000.0, 0.001)];
    add_two(data, quick, [both, all]);
}

/// Adds searches of the first two systems that tried these rates.
pub fn add_two(data: &mut Data, quick: bool, of_both: [Tries<'_>; 2]) {
    add_two_for(&[LIMIT], data, quick, of_both);
}

/// The same of searches for these limits.
pub fn add_two_for(limits: &[&str], data: &mut Data, quick: bool, of_both: [Tries<'_>; 2]) {
    let limits = limits.iter().map(|limit| Limit::parse(limit).unwrap());
    let settings = SloSettings {
        latency: limits.collect(),
        bounds: Bounds {
            min_rate: Some(10.0),
            max_rate: Some(60_000.0),
            resolution: 0.05,
        },
        arrivals: Arrivals::Poisson,
        threads: 256,
        rule: Rule::with_block(Duration::from_secs(10)),
        warmup: Duration::from_secs(10),
        time: Duration::from_secs(2_400),
        quick,
    };
    for (system, tries) in of_both.into_iter().enumerate() {
        let system = data.systems[system].name.clone();
        let slo = slo(&system, tries, &settings);
        let settings = settings.clone();
        data.searches.push(Search { slo, settings });
    }
}

fn slo(system: &str, tries: &[(f64, f64)], settings: &SloSettings) -> Slo {
    let mut trials: Vec<Trial> = Vec::new();
    for &(rate, share) in tries {
        let same = trials.iter().filter(|trial| trial.rate() == rate).count();
        let key = PointKey {
            system: system.into(),
            workload: "ycsb-c".into(),
            distribution: "zipfian".into(),
            threads: settings.threads,
            repeat: same as u32 + 1,
            target_rate: Some(rate),
            arrivals: Some(settings.arrivals),
        };
        let phase = phase(rate, share);
        trials.push(Trial::from_point(&Point { key, phase }, settings));
    }
    Slo::new((system, "ycsb-c", "zipfian"), settings, &[], &trials, 0.001)
}

/// 200 s of reads, of which this share takes 20 ms and the others 1 ms.
fn phase(rate: f64, share: f64) -> Phase {
    let mut result = KindResult::default();
    let mut intervals = Vec::new();
    for second in 0..200_u32 {
        let count = rate as u64;
        // A little more in one second than in another.
        let over = (rate * share) as u64 * u64::from(90 + second % 21) / 100;
        let mut latencies = new_latencies();
        for (ns, times) in [(1_000_000, count - over), (20_000_000, over)] {
            latencies.record_n(ns, times).unwrap();
        }
        let packed = Packed::pack(&latencies);
        let kind = IntervalKind {
            count,
            errors: 0,
            service: packed.clone(),
            response: Some(packed),
        };
        intervals.push(Interval {
            start_s: f64::from(second),
            length_s: 1.0,
            operations: count,
            failed: 0,
            kinds: BTreeMap::from([(Kind::Read, kind)]),
        });
        result.count += count;
        result.service.add(&latencies).unwrap();
    }
    result.response = Some(result.service.clone());
    Phase {
        duration_s: 200.0,
        operations: result.count,
        kinds: BTreeMap::from([(Kind::Read, result)]),
        intervals,
        ..Phase::default()
    }
}
