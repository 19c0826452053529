//! Reads that are compared with what was written.

use super::{answer, completion};
use crate::tally::Tally;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tailmark_driver::{Clients, Completion, Key, Operation, Reply, Session};
use tailmark_model::histogram;
use tailmark_workload::append_checked;

/// The reference for reads, and the results.
#[derive(Debug)]
pub struct Verify {
    /// The names of the fields.
    pub fields: Vec<String>,
    /// The length of every value, bytes.
    pub field_length: u32,
    /// Of all clients that have ended.
    pub tally: Mutex<Tally>,
}

impl Verify {
    /// Records that were not as they were written.
    pub fn failures(&self) -> u64 {
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let all: u64 = tally.returns.values().sum();
        all - tally.returns.get("OK").copied().unwrap_or(0)
    }
}

/// Compares every record that is read with what was written, like YCSB's `dataintegrity`.
pub(super) struct Verifying {
    pub session: Box<dyn Session>,
    pub verify: Arc<Verify>,
    pub clients: Clients,
    pub tally: Tally,
    /// The value that a field has to have.
    pub expected: Vec<u8>,
}

impl Verifying {
    async fn read(&mut self, key: Key<'_>) -> Reply {
        let Self {
            session,
            verify,
            tally,
            expected,
            ..
        } = self;
        let (mut fields, mut wrong) = (0, 0);
        let mut spent = Duration::ZERO;
        let mut visit = |field: u32, value: &[u8]| {
            let started = Instant::now();
            expected.clear();
            let name = verify.fields[field as usize].as_bytes();
            append_checked(key.name, name, verify.field_length as usize, expected);
            fields += 1;
            wrong += u32::from(value != expected.as_slice());
            spent += started.elapsed();
        };
        let reply = answer(session.read_verified(key, &mut visit)).await;
        let status = match (fields, wrong) {
            (0, _) => "ERROR",
            (_, 0) => "OK",
            _ => "UNEXPECTED_STATE",
        };
        *tally.returns.entry(status).or_default() += 1;
        let ns = u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX);
        histogram::record(&mut tally.latencies, ns, 1);
        reply
    }
}

impl Session for Verifying {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        match operation {
            Operation::Read { key, .. } => {
                let clients = self.clients;
                completion(clients, self.read(key))
            }
            other => self.session.execute(other),
        }
    }
}

impl Drop for Verifying {
    fn drop(&mut self) {
        let mut all = self
            .verify
            .tally
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        histogram::add(&mut all.latencies, &self.tally.latencies);
        for (status, count) in &self.tally.returns {
            *all.returns.entry(status).or_default() += count;
        }
    }
}
