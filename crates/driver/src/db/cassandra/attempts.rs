//! Counts attempts of the client library beyond the first, if retries were requested.

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
    /// Requests that were sent again after a failure.
    pub fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    /// Requests that were sent again before an answer arrived, including retries of them.
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

    // Nothing is sent if there is no other node to ask.
    fn log_new_speculative_fiber(&self, _: RequestId) -> SpeculativeId {
        SpeculativeId(0)
    }

    fn log_attempt_start(
        &self,
        _: RequestId,
        speculative: Option<SpeculativeId>,
        _: SocketAddr,
    ) -> AttemptId {
        if speculative.is_some() {
            self.speculative.fetch_add(1, Ordering::Relaxed);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speculative_execution_counts_once_it_is_sent() {
        let attempts = Attempts::default();
        let node = SocketAddr::from(([127, 0, 0, 1], 9042));
        let request = attempts.log_request_start();
        attempts.log_attempt_start(request, None, node);
        let speculative = attempts.log_new_speculative_fiber(request);
        assert_eq!(attempts.speculative(), 0);
        attempts.log_attempt_start(request, Some(speculative), node);
        assert_eq!((attempts.speculative(), attempts.retries()), (1, 0));
    }
}
