//! Counts what the client library does beyond one attempt a request, where that was asked for.

use scylla::{
    errors::{RequestAttemptError, RequestError},
    observability::history::{AttemptId, HistoryListener, RequestId, SpeculativeId},
    policies::retry::RetryDecision,
};
use std::{
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
};

/// The counts of all clients of a database.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    retries: AtomicU64,
    speculative: AtomicU64,
}

impl Attempts {
    /// Requests that were sent again because they failed.
    pub fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    /// Requests that were sent again because no answer had come yet.
    pub fn speculative(&self) -> u64 {
        self.speculative.load(Ordering::Relaxed)
    }
}

impl HistoryListener for Attempts {
    fn log_request_start(&self) -> RequestId {
        RequestId(0)
    }

    fn log_request_success(&self, _: RequestId) {}

    fn log_request_error(&self, _: RequestId, _: &RequestError) {}

    fn log_new_speculative_fiber(&self, _: RequestId) -> SpeculativeId {
        self.speculative.fetch_add(1, Ordering::Relaxed);
        SpeculativeId(0)
    }

    fn log_attempt_start(
        &self,
        _: RequestId,
        _: Option<SpeculativeId>,
        _: SocketAddr,
    ) -> AttemptId {
        AttemptId(0)
    }

    fn log_attempt_success(&self, _: AttemptId) {}

    fn log_attempt_error(&self, _: AttemptId, _: &RequestAttemptError, decision: &RetryDecision) {
        if matches!(
            decision,
            RetryDecision::RetrySameTarget(_) | RetryDecision::RetryNextTarget(_)
        ) {
            self.retries.fetch_add(1, Ordering::Relaxed);
        }
    }
}
