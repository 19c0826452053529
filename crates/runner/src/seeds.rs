//! Derives the seeds of all phases of a sweep.
//!
//! A phase's seed depends on the plan's seed, its point (workload, threads, rate, repeat) and its
//! kind: load, warm-up or measured part. A rate relative to a peak counts as written in the plan,
//! because it may resolve differently on each system. The system is not part of it, so every system
//! gets the same operations. No two phases share keys or values, so none finds another's data in a
//! cache or already stored.

use tailmark_model::PointKey;
use tailmark_plan::{AskedRate, PlanPoint};
use tailmark_workload::Seed;

/// The seeds of one point, and of the load before it.
#[derive(Debug, Clone, Copy)]
pub struct PointSeeds(Seed);

impl PointSeeds {
    /// The seeds of a point in a plan of this seed.
    #[must_use]
    pub fn new(seed: u64, key: &PointKey) -> Self {
        let rate = key.target_rate.map(AskedRate::Fixed);
        Self::of_point(seed, &key.workload, key.threads, rate, key.repeat)
    }

    /// The seeds of a point of every system in a plan of this seed.
    #[must_use]
    pub fn from_point(seed: u64, point: &PlanPoint<'_>) -> Self {
        let workload = &point.workload.name;
        Self::of_point(seed, workload, point.threads, point.rate, point.repeat)
    }

    /// The seeds of a trial of a search, which differ from those of a point at its rate. Their
    /// label is `probe`; another label would draw other keys.
    #[must_use]
    pub fn of_trial(seed: u64, key: &PointKey) -> Self {
        Self(Self::new(seed, key).0.with("what", "probe"))
    }

    fn of_point(
        seed: u64,
        workload: &str,
        threads: u32,
        rate: Option<AskedRate>,
        repeat: u32,
    ) -> Self {
        let seed = Seed::new(seed)
            .with("workload", workload)
            .with_number("threads", threads.into());
        let seed = match rate {
            None => seed.with_number("rate", 0),
            Some(AskedRate::Fixed(rate)) => seed.with_number("rate", rate.to_bits()),
            Some(AskedRate::OfPeak(part)) => seed.with_number("part of a peak", part.to_bits()),
        };
        Self(seed.with_number("repeat", repeat.into()))
    }

    /// As a number, for another process; see [`Self::from_number`].
    #[must_use]
    pub const fn to_number(self) -> u64 {
        self.0.value()
    }

    /// The seeds that are this number.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        Self(Seed::of_value(number))
    }

    /// The seed of a load that is done for this point and resumes after that many records.
    #[must_use]
    pub fn load(&self, from: u64) -> u64 {
        self.phase("load").with_number("from", from).value()
    }

    /// Of the point's warm-up.
    #[must_use]
    pub fn warmup(&self) -> u64 {
        self.phase("warmup").value()
    }

    /// Of the moment between a warm-up that was ended by rule and the measured part.
    #[must_use]
    pub fn edge(&self) -> u64 {
        self.phase("edge").value()
    }

    /// Of its measured part.
    #[must_use]
    pub fn measure(&self) -> u64 {
        self.phase("measure").value()
    }

    fn phase(&self, phase: &str) -> Seed {
        self.0.with("phase", phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::HashSet, sync::Arc};

    fn key(workload: &str, threads: u32, rate: Option<f64>, repeat: u32) -> PointKey {
        PointKey {
            system: "a".into(),
            workload: workload.into(),
            distribution: "uniform".into(),
            threads,
            repeat,
            target_rate: rate,
            arrivals: None,
        }
    }

    #[test]
    fn no_two_phases_of_a_plan_share_a_seed() {
        let mut seen = HashSet::new();
        for workload in ["ycsb-a", "ycsb-b"] {
            for threads in [1, 2, 4] {
                for rate in [None, Some(1.0), Some(2.0)] {
                    for repeat in [1, 2] {
                        let seeds = PointSeeds::new(1, &key(workload, threads, rate, repeat));
                        let own = [
                            seeds.warmup(),
                            seeds.edge(),
                            seeds.measure(),
                            seeds.load(0),
                            seeds.load(5),
                        ];
                        assert!(own.into_iter().all(|seed| seen.insert(seed)));
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_asked_for_seeds_a_point_and_not_what_it_comes_to() {
        let workload = Arc::new(tailmark_workload::find("ycsb-a").expect("a row"));
        let point = |rate| PlanPoint {
            workload: &workload,
            threads: 4,
            rate,
            repeat: 1,
            begins_workload: true,
        };
        let seed = |rate| PointSeeds::from_point(1, &point(rate)).measure();
        let requested = [
            None,
            Some(AskedRate::Fixed(0.6)),
            Some(AskedRate::OfPeak(0.6)),
            Some(AskedRate::OfPeak(0.7)),
        ];
        let seeds: HashSet<_> = requested.into_iter().map(seed).collect();
        assert_eq!(seeds.len(), requested.len());
        // A point of the same name outside a plan, such as from a drop-in, has the same seed.
        for rate in [None, Some(5.0)] {
            let named = PointSeeds::new(1, &key("ycsb-a", 4, rate, 1)).measure();
            assert_eq!(seed(rate.map(AskedRate::Fixed)), named);
        }
    }

    #[test]
    fn every_system_has_the_same_seeds() {
        let one = key("ycsb-a", 4, None, 1);
        let other = PointKey {
            system: "b".into(),
            ..one.clone()
        };
        let seed = |key| PointSeeds::new(1, key).measure();
        assert_eq!(seed(&one), seed(&other));
    }
}
