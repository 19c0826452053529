//! The live figures of a phase in progress, over all ranks.

use super::{link::Link, message::LiveCounts};
use std::time::{Duration, Instant};
use tailmark_engine::{IntervalStats, Live, Observer, PhaseStart};

/// Reports the work of all ranks in a phase in progress.
pub struct WithOthers<'a> {
    pub inner: &'a dyn Observer,
    pub link: &'a Link,
    pub number: u64,
    /// How often the operations of a phase are done, if each rank loads its own data set.
    pub times: u32,
}

impl Observer for WithOthers<'_> {
    fn phase_started(&self, phase: &PhaseStart<'_>) {
        let operations = phase.operations.map(|n| n * u64::from(self.times));
        self.inner.phase_started(&PhaseStart {
            operations,
            ..phase.clone()
        });
    }

    fn interval(&self, live: &Live) {
        let own = LiveCounts {
            operations: live.operations,
            ops_per_sec: live.ops_per_sec,
            errors_per_sec: live.errors_per_sec,
            p99_ns: live.p99_ns,
            errors: live.errors,
        };
        let rank = self.link.cluster.rank();
        let all = self.link.in_phase(self.number, |phase| {
            phase.live.insert(rank, (own, Instant::now()));
            phase
                .live
                .values()
                .fold(LiveCounts::default(), |sum, (counts, _)| LiveCounts {
                    operations: sum.operations + counts.operations,
                    ops_per_sec: sum.ops_per_sec + counts.ops_per_sec,
                    errors_per_sec: sum.errors_per_sec + counts.errors_per_sec,
                    p99_ns: sum.p99_ns.max(counts.p99_ns),
                    errors: sum.errors + counts.errors,
                })
        });
        let all = all.unwrap_or(own);
        self.inner.interval(&Live {
            elapsed: live.elapsed,
            operations: all.operations,
            ops_per_sec: all.ops_per_sec,
            errors_per_sec: all.errors_per_sec,
            p99_ns: all.p99_ns,
            errors: all.errors,
        });
    }

    fn recorded(&self, interval: u32, stats: &IntervalStats) {
        self.inner.recorded(interval, stats);
    }

    fn session_closed(&self, took: Duration) {
        self.inner.session_closed(took);
    }
}
