//! Samples that are kept individually.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};
use tailmark_driver::{Completion, Operation, OperationKind, Reply, Session};
use tailmark_model::instant::unix_ms;

/// One request, as the raw measurement keeps it.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Its group.
    pub group: &'static str,
    /// When it was sent, milliseconds since 1970 UTC.
    pub at_ms: u64,
    /// Its duration, microseconds.
    pub us: u64,
}

/// The samples of all clients that have ended.
pub type Samples = Arc<Mutex<Vec<Sample>>>;

/// Keeps every request.
pub(super) struct Sampling {
    pub session: Box<dyn Session>,
    pub all: Samples,
    /// Of this client.
    pub samples: Vec<Sample>,
}

impl Session for Sampling {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        let Self {
            session, samples, ..
        } = self;
        let (at_ms, started) = (unix_ms(), Instant::now());
        let mut keep = move |reply: &Reply| {
            let group = group(operation.kind(), reply);
            let us = started.elapsed().as_micros() as u64;
            samples.push(Sample { group, at_ms, us });
        };
        match session.execute(operation) {
            Completion::Ready(reply) => {
                keep(&reply);
                Completion::Ready(reply)
            }
            Completion::Pending(reply) => Completion::Pending(Box::pin(async move {
                let reply = reply.await;
                keep(&reply);
                reply
            })),
        }
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        self.all
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .append(&mut self.samples);
    }
}

fn group(kind: OperationKind, reply: &Reply) -> &'static str {
    let succeeded = reply.as_ref().is_ok_and(|outcome| outcome.records > 0);
    match (
        kind,
        succeeded || kind == OperationKind::Scan && reply.is_ok(),
    ) {
        (OperationKind::Read, true) => "READ",
        (OperationKind::Read, false) => "READ-FAILED",
        (OperationKind::Update, true) => "UPDATE",
        (OperationKind::Update, false) => "UPDATE-FAILED",
        (OperationKind::Insert, true) => "INSERT",
        (OperationKind::Insert, false) => "INSERT-FAILED",
        (OperationKind::Scan, true) => "SCAN",
        (OperationKind::Scan, false) => "SCAN-FAILED",
        (OperationKind::Delete, true) => "DELETE",
        (OperationKind::Delete, false) => "DELETE-FAILED",
    }
}
