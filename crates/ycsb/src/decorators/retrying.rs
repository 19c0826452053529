//! Inserts that are retried.

use super::{answer, completion};
use crate::core::Retry;
use std::thread;
use tailmark_driver::{Clients, Completion, Operation, OperationKind, Reply, Session};
use tailmark_model::instant::since_1970;

/// Tries an insert that failed again. Its latency is that of all trials and pauses together.
pub(super) struct Retrying {
    pub session: Box<dyn Session>,
    pub retry: Retry,
    pub clients: Clients,
}

impl Session for Retrying {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        let clients = self.clients;
        completion(clients, self.try_often(operation))
    }
}

impl Retrying {
    async fn try_often(&mut self, operation: Operation<'_>) -> Reply {
        let mut left = self.retry.limit;
        loop {
            let reply = answer(self.session.execute(operation)).await;
            if reply.is_ok() || left == 0 || operation.kind() != OperationKind::Insert {
                return reply;
            }
            left -= 1;
            let pause = self.retry.interval.mul_f64(0.8 + 0.4 * spread());
            match self.clients {
                Clients::Threads => thread::sleep(pause),
                // The other clients of the thread go on meanwhile.
                Clients::Tasks => tokio::time::sleep(pause).await,
            }
        }
    }
}

/// A number from 0 to 1 that differs from call to call: enough to keep clients from trying again
/// at the same instant.
fn spread() -> f64 {
    f64::from(since_1970().subsec_nanos() % 1_000_000) / 1e6
}
