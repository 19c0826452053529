//! What a YCSB call requires of a session besides sending: retried inserts, verified reads, and
//! single samples.
//!
//! Each is a session around the driver's, created only on request, so that the measuring loop is
//! the same in every run.

mod retrying;
mod sampling;
mod verifying;

pub use sampling::{Sample, Samples};
pub use verifying::Verify;

use super::{core::Retry, tally::Tally};
use retrying::Retrying;
use sampling::Sampling;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tailmark_driver::{
    Clients, Completion, Connecting, Database, Error, Remark, Reply, Session, Settled, Statistic,
    Stopped,
};
use tailmark_engine::block_on;
use verifying::Verifying;

/// A database whose sessions do more.
pub struct Decorated {
    /// The driver's.
    pub database: Box<dyn Database>,
    /// How the driver's clients are run.
    pub clients: Clients,
    /// Tries inserts again.
    pub retry: Option<Retry>,
    /// Verifies reads.
    pub verify: Option<Arc<Verify>>,
    /// Keeps samples.
    pub samples: Option<Samples>,
}

impl Decorated {
    fn around(&self, mut session: Box<dyn Session>) -> Box<dyn Session> {
        if let Some(verify) = &self.verify {
            let (verify, tally) = (Arc::clone(verify), Tally::default());
            session = Box::new(Verifying {
                session,
                verify,
                clients: self.clients,
                tally,
                expected: Vec::new(),
            });
        }
        if let Some(retry) = self.retry {
            session = Box::new(Retrying {
                session,
                retry,
                clients: self.clients,
            });
        }
        if let Some(all) = &self.samples {
            let (all, samples) = (Arc::clone(all), Vec::new());
            session = Box::new(Sampling {
                session,
                all,
                samples,
            });
        }
        session
    }
}

impl Database for Decorated {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        Ok(self.around(self.database.session()?))
    }

    fn connect(&self) -> Connecting<'_> {
        Box::pin(async { Ok(self.around(self.database.connect().await?)) })
    }

    fn sync(&self) -> Result<(), Error> {
        self.database.sync()
    }

    fn flush(&self, stop: Stopped<'_>) -> Result<bool, Error> {
        self.database.flush(stop)
    }

    fn settle(&self, timeout: Duration, stop: Stopped<'_>) -> Result<Settled, Error> {
        self.database.settle(timeout, stop)
    }

    fn end_held_requests(&self) {
        self.database.end_held_requests();
    }

    fn facts(&self) -> BTreeMap<String, String> {
        self.database.facts()
    }

    fn remarks(&self) -> Vec<Remark> {
        self.database.remarks()
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        self.database.counters()
    }

    fn statistics(&self) -> Option<Vec<Statistic>> {
        self.database.statistics()
    }
}

/// The completion of a request that consists of others.
fn completion<'a>(clients: Clients, reply: impl Future<Output = Reply> + 'a) -> Completion<'a> {
    match clients {
        // The sessions of threads never wait.
        Clients::Threads => Completion::Ready(block_on(reply)),
        Clients::Tasks => Completion::Pending(Box::pin(reply)),
    }
}

async fn answer(completion: Completion<'_>) -> Reply {
    match completion {
        Completion::Ready(reply) => reply,
        Completion::Pending(reply) => reply.await,
    }
}

#[cfg(test)]
mod tests;
