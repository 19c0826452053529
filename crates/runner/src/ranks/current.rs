//! The phase in progress from a rank's view: which ranks are ready and done, their progress, and
//! the deadline for all.

use super::message::{DonePart, Failure, LiveCounts, Order};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};
use tailmark_engine::{DRAIN, PhaseEnd, Stop};
use tailmark_model::Interval;
use tailmark_workload::KeySpace;

/// How much longer than its end and its drain a phase may take.
pub const GRACE: Duration = Duration::from_secs(30);

/// The phase in progress.
pub struct Current {
    pub number: u64,
    pub keys: Arc<KeySpace>,
    /// Ends only this rank's part.
    pub stop: Stop,
    pub end: Option<PhaseEnd>,
    /// By how much this rank began late.
    pub late: Duration,
    /// By how much its time was ahead of the agreed one when its part had ended, nanoseconds.
    pub ahead_ns: i64,
    pub is_load: bool,
    /// Whether it ends for all when one rank has done its share, as in a closed loop. At a rate
    /// each rank does what is due, and a load does everything.
    pub ends_together: bool,
    /// Ranks that take part; the first ones.
    pub ranks: u32,
    pub ready: BTreeSet<u32>,
    pub failed: Option<(u32, Failure)>,
    /// When it starts, once known; an inner `None`: it does not start.
    pub start: Option<Option<u64>>,
    pub done: BTreeMap<u32, DonePart>,
    pub live: BTreeMap<u32, (LiveCounts, Instant)>,
    /// How far the inserts of each rank are acknowledged.
    pub inserted: BTreeMap<u32, u64>,
    /// The intervals that each has closed.
    pub closed: BTreeMap<u32, Vec<Interval>>,
    /// When all have to have ended.
    pub ends_by: Option<Instant>,
    /// Until when rank 0 has not enough, seconds; in simulated time.
    pub continues_until_s: f64,
    /// Whether the end is known that rank 0 has planned.
    pub has_end: bool,
    /// Whether the others know of a stop that was requested of this rank.
    pub has_told_stop: bool,
    /// When clocks were compared last.
    pub compared: Instant,
}

impl Current {
    pub fn new(order: &Order, keys: Arc<KeySpace>, stop: Stop) -> Self {
        Self {
            number: order.phase,
            keys,
            stop,
            end: None,
            late: Duration::ZERO,
            ahead_ns: 0,
            is_load: order.point.is_none(),
            ends_together: order.point.is_some() && order.terms.rate.is_none(),
            ranks: order.ranks,
            ready: BTreeSet::new(),
            failed: None,
            start: None,
            done: BTreeMap::new(),
            live: BTreeMap::new(),
            inserted: BTreeMap::new(),
            closed: BTreeMap::new(),
            ends_by: None,
            continues_until_s: 0.0,
            has_end: false,
            has_told_stop: false,
            compared: Instant::now(),
        }
    }

    /// Passes the others' acknowledged inserts to the clients that draw keys here.
    pub fn learn(&self) {
        let others = (1..self.ranks).map(|rank| self.inserted.get(&rank));
        if let Some(known) = others.collect::<Option<Vec<_>>>()
            && let Some(lowest) = known.into_iter().min()
        {
            self.keys.others_have(*lowest);
        }
    }

    /// Whether its time is simulated.
    pub fn is_simulated(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.is_simulated)
    }

    /// Whether a rank has reported all of its work up to this time, seconds. A rank that has done
    /// its part adds nothing more.
    pub fn has_told(&self, rank: u32, until_s: f64) -> bool {
        let last = self.closed.get(&rank).and_then(|told| told.last());
        let is_over = last.is_some_and(|i| i.start_s + i.length_s > until_s - 1e-6);
        is_over || self.done.contains_key(&rank)
    }

    /// It has to end in time once its end is known.
    pub fn ends_within(&mut self, left: Duration) {
        let by = Instant::now() + left + DRAIN + GRACE;
        self.ends_by = Some(self.ends_by.map_or(by, |known| known.min(by)));
    }
}

/// The keys of a phase. If it continues, those of the previous phase, whose inserts exist.
pub fn keys_of(order: &Order, before: Option<Arc<KeySpace>>) -> Arc<KeySpace> {
    let before = before.filter(|_| order.terms.continues);
    before.unwrap_or_else(|| Arc::new(order.keys()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_driver::DataSet;
    use tailmark_engine::{Spec, Terms};

    #[test]
    fn what_goes_on_has_the_keys_that_were_inserted_before() {
        let driver = tailmark_driver::db::find("null").unwrap();
        let params = tailmark_driver::Params {
            location: tailmark_driver::Location::None,
            data: DataSet {
                schema: tailmark_driver::Schema {
                    table: "t".into(),
                    fields: vec!["f".into()],
                },
                records: 100,
                field_length: 1,
            },
            settings: tailmark_driver::Settings::default(),
            semantics: tailmark_driver::Semantics::Faithful,
            access: tailmark_driver::Access::Write,
            study: String::new(),
        };
        let database = (driver.open)(&params).unwrap();
        let workload = Arc::new(tailmark_workload::find("ycsb-d").unwrap());
        let keys = Arc::new(KeySpace::new(100, 100));
        let spec = |continues| Spec {
            terms: Terms {
                continues,
                threads: 4,
                ..Terms::default()
            },
            ..Spec::new(database.as_ref(), &workload, &params.data, &keys)
        };
        let order = |continues| Order::new(&spec(continues), 1, (1, 2), false, (0, 0, 0.0));
        let before = keys_of(&order(false), None);
        assert_eq!([before.next_insert(), before.next_insert()], [101, 103]);
        let after = keys_of(&order(true), Some(Arc::clone(&before)));
        assert_eq!(after.next_insert(), 105);
        let new = keys_of(&order(false), Some(before));
        assert_eq!(new.next_insert(), 101);
    }
}
