//! Takes apart the requests of one client.

use super::{anatomist::Anatomist, local::Local, run_queue::RunQueue, taken::TakenApart};
use crate::{
    apart::TakeApart,
    clock::Tick,
    recorder::{Timing, recorded_as},
};
use std::{cell::RefCell, rc::Rc, sync::Arc};
use tailmark_driver::{Operation, OperationKind, Part, Parts, Session};
use tailmark_model::Kind;
use tailmark_workload::Item;

/// Takes every Nth request of a client apart.
pub struct Dissector {
    anatomist: Arc<Anatomist>,
    /// Shared with the other clients of the thread.
    local: Rc<RefCell<Local>>,
    /// The start of the measured part.
    measure: Tick,
    client: u32,
    /// Requests until the next one that is taken apart.
    left: u32,
    /// Drawn so far.
    tag: u64,
    /// `None` for a client that shares its thread.
    run_queue: Option<RunQueue>,
    waited_ns: u64,
    /// The kind and the key of the request that is taken apart.
    current: Option<(Kind, u64)>,
}

impl Dissector {
    /// That of a client. Called on the client's thread.
    pub fn new(
        anatomist: &Arc<Anatomist>,
        local: &Rc<RefCell<Local>>,
        measure: Tick,
        (client, has_thread): (u32, bool),
    ) -> Self {
        let every = anatomist.settings().every.max(1);
        Self {
            anatomist: Arc::clone(anatomist),
            local: Rc::clone(local),
            measure,
            client,
            // Clients do not all begin with their first request.
            left: client % every + 1,
            tag: mixed(u64::from(client)),
            run_queue: has_thread.then(RunQueue::of_this_thread).flatten(),
            waited_ns: 0,
            current: None,
        }
    }

    fn waited_ns(&self) -> u64 {
        self.run_queue.as_ref().map_or(0, RunQueue::waited_ns)
    }
}

/// A random number (SplitMix64; Steele, Lea and Flood, 2014).
const fn mixed(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// The kind of a request, and the number of its key.
const fn request_of(item: &Item<'_>) -> (Kind, u64) {
    match item {
        Item::One(operation) => (recorded_as(operation.kind()), key_of(operation)),
        Item::ReadModifyWrite { read, .. } => (Kind::ReadModifyWrite, key_of(read)),
    }
}

/// The kind that is requested: of a read-modify-write, that of its update.
const fn requested(item: &Item<'_>) -> OperationKind {
    match item {
        Item::One(operation)
        | Item::ReadModifyWrite {
            update: operation, ..
        } => operation.kind(),
    }
}

/// The number of the key of a request; 0 for one of several keys.
const fn key_of(operation: &Operation<'_>) -> u64 {
    match operation {
        Operation::Read { key, .. }
        | Operation::Insert { key, .. }
        | Operation::Update { key, .. }
        | Operation::Scan { start: key, .. }
        | Operation::Delete { key } => key.number,
        Operation::Special(_) => 0,
    }
}

impl TakeApart for Dissector {
    fn begin(&mut self, session: &mut dyn Session, item: &Item<'_>, is_measured: bool) {
        if !is_measured {
            return;
        }
        self.left -= 1;
        if self.left > 0 {
            return;
        }
        self.left = self.anatomist.settings().every.max(1);
        self.current = Some(request_of(item));
        self.waited_ns = self.waited_ns();
        session.take_apart(requested(item));
    }

    fn end(&mut self, session: &mut dyn Session, timing: Timing, succeeded: bool) {
        let Some((kind, key)) = self.current.take() else {
            return;
        };
        let mut parts = Parts::default();
        session.parts(&mut parts);
        let waited = self.waited_ns().saturating_sub(self.waited_ns);
        if !succeeded {
            return;
        }
        parts.fit(timing.done - timing.sent);
        parts.charge_processor(waited);
        parts.add(Part::FreeClient, timing.sent - timing.due);
        self.tag = mixed(self.tag);
        let since = |tick: Tick| tick.saturating_sub(self.measure);
        let taken = TakenApart {
            due: since(timing.due),
            sent: since(timing.sent),
            done: since(timing.done),
            tag: self.tag,
            client: self.client,
            key,
            parts,
        };
        let mut local = self.local.borrow_mut();
        self.anatomist.add(&mut local, kind, &taken);
    }

    fn hand_over(&mut self) {
        self.anatomist.hand_over(&mut self.local.borrow_mut());
    }
}
