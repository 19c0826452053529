//! A point whose requests are taken apart. It is in no comparison, and the ordinary points are
//! measured without it.

use super::{
    Sweeper,
    requested::{PointRequest, UntilFiguresKnown, WarmupRequest},
    turn::SystemState,
};
use crate::{Error, steps::Steps, warmup::WarmupLength};
use std::{sync::Arc, time::Duration};
use tailmark_engine::{Anatomist, AnatomySettings, Enough};
use tailmark_model::{Phase, PointKey};
use tailmark_plan::PlanPoint;

/// About what it takes to take a request apart.
const COST: Duration = Duration::from_nanos(3_000);
/// Which part of a client's time that may take.
const COST_SHARE: f64 = 0.03;

impl<'a> Sweeper<'a> {
    /// Measures a point with its requests taken apart, and commits it; false if it was stopped.
    pub(super) fn anatomy(
        &mut self,
        state: &mut SystemState<'a>,
        point: PlanPoint<'a>,
        (key, warmup): (PointKey, Option<WarmupLength>),
        steps: &mut Steps<'a>,
    ) -> Result<bool, Error> {
        let Some(settings) = self.plan.anatomy else {
            return Ok(true);
        };
        state.had_turn = true;
        let ordinary = self.ordinary(&key)?;
        let every = settings.every.unwrap_or_else(|| {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            let phases = ordinary.iter().map(|phase| every(phase, &key, processors));
            phases.max().unwrap_or(1)
        });
        let anatomist = Arc::new(Anatomist::new(AnatomySettings {
            requests: settings.requests as usize,
            every,
        }));
        let mut asked = PointRequest::from_point(self.plan, point);
        let until_known = UntilFiguresKnown::from_plan(self.plan);
        asked.enough = until_known.as_ref().map(|rule| rule as &dyn Enough);
        asked.anatomy = Some(&anatomist);
        if let Some(length) = warmup {
            asked.warmup = WarmupRequest::ByRule(length);
        }
        self.observer.step("taking requests apart");
        let Some(measured) = self.measured(state, &asked, key.clone())? else {
            return Ok(false);
        };
        let mut anatomy = anatomist.finish();
        anatomy.ops_per_sec = measured.point.phase.ops_per_sec();
        let ops = ordinary.iter().map(Phase::ops_per_sec);
        let mean = ops.sum::<f64>() / ordinary.len() as f64;
        anatomy.ordinary_ops_per_sec = Some(mean).filter(|mean| mean.is_finite());
        self.study.add_anatomy(&measured.point, &anatomy)?;
        self.has_measured = true;
        steps.taken_apart(key);
        measured.settled.map(|_| true)
    }

    /// The repeats of the ordinary point.
    fn ordinary(&self, key: &PointKey) -> Result<Vec<Phase>, Error> {
        let mut phases = Vec::new();
        self.study.each_point_total(|point| {
            let repeat = key.repeat;
            let same = PointKey {
                repeat,
                ..point.key
            };
            if same == *key {
                phases.push(point.phase);
            }
        })?;
        Ok(phases)
    }
}

/// One of how many requests is taken apart, so that it costs little: of the time of a client, and of
/// the time of the processors, if those are the limit.
fn every(phase: &Phase, key: &PointKey, processors: usize) -> u32 {
    let ops = phase.ops_per_sec().max(1e-9);
    let each = f64::from(key.threads.max(1)).min(processors as f64);
    let request_s = each / ops;
    let every = COST.as_secs_f64() / (COST_SHARE * request_s);
    // 50.000000001 is 50.
    ((every - 1e-6).ceil() as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(threads: u32, ops_per_sec: u64) -> (Phase, PointKey) {
        let phase = Phase {
            operations: ops_per_sec * 10,
            duration_s: 10.0,
            ..Phase::default()
        };
        let key = PointKey {
            system: "a".into(),
            workload: "ycsb-c".into(),
            distribution: "uniform".into(),
            threads,
            repeat: 1,
            target_rate: None,
            arrivals: None,
        };
        (phase, key)
    }

    #[test]
    fn all_are_taken_apart_where_a_device_is_the_limit_and_few_in_cache() {
        for (threads, ops, processors, expected) in [
            (1, 9_000, 8, 1),
            (256, 100_000, 64, 1),
            // 2 us each, on one client and on many clients of two processors.
            (1, 500_000, 2, 50),
            (64, 1_000_000, 2, 50),
        ] {
            let (phase, key) = point(threads, ops);
            assert_eq!(
                every(&phase, &key, processors),
                expected,
                "{threads} at {ops}"
            );
        }
    }
}
