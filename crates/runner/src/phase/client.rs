//! The loop that measures: one client, one operation in flight. It serves every database, rate,
//! budget and workload, and is written once.

use super::{
    groups::Presence,
    pacer::{Due, Pacer},
    recorder::{Record, Timing},
};
use crate::clock::Clock;
use tailmark_driver::{Completion, Operation, Reply, Session};
use tailmark_results::Kind;
use tailmark_workload::{Item, Stream};

/// One client of a phase.
pub struct Client<R> {
    /// The phase's clock.
    pub clock: Clock,
    /// Says when operations are due and when to end.
    pub pacer: Pacer,
    /// Draws the operations.
    pub stream: Stream,
    /// Sends them.
    pub session: Box<dyn Session>,
    /// Records them.
    pub recorder: R,
    /// Which inserts the key space is told of.
    pub acknowledge: Acknowledge,
    /// Ends the clients beside the point with the last of the point's.
    pub presence: Option<Presence>,
}

/// Which inserts count as done for the clients that draw among the newest records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledge {
    /// Those that succeeded: a load, whose marker promises every record below it.
    Succeeded,
    /// All: a run, which goes on behind an insert that failed, as YCSB does.
    All,
}

impl<R: Record> Client<R> {
    /// Sends operations until the phase ends.
    pub async fn run(mut self) {
        let mut now = self.clock.now();
        while let Some(due) = self.pacer.next(now).await {
            let item = self.stream.next_item(); // drawn before the clock starts
            let sent = self.clock.now();
            let due = match due {
                Due::Now => sent,
                Due::At(due) => due.min(sent),
            };
            let inserted = match item {
                Item::One(operation) => {
                    let reply = send(self.session.as_mut(), operation).await;
                    now = self.clock.now();
                    self.recorder.record(
                        kind(operation.kind()),
                        Timing {
                            due,
                            sent,
                            done: now,
                        },
                        &reply,
                    );
                    let done = reply.is_ok() || self.acknowledge == Acknowledge::All;
                    done && matches!(operation, Operation::Insert { .. })
                }
                Item::ReadModifyWrite { read, update } => {
                    let found = send(self.session.as_mut(), read).await;
                    let between = self.clock.now();
                    let written = send(self.session.as_mut(), update).await;
                    now = self.clock.now();
                    let (first, second) = ((sent, between), (between, now));
                    for (kind, (sent, done), reply) in [
                        (Kind::Read, first, &found),
                        (Kind::Update, second, &written),
                    ] {
                        self.recorder
                            .record(kind, Timing { due, sent, done }, reply);
                    }
                    let succeeded = found.is_ok() && written.is_ok();
                    self.recorder.record_pair(
                        Timing {
                            due,
                            sent,
                            done: now,
                        },
                        succeeded,
                    );
                    false
                }
            };
            self.recorder.finish(Timing {
                due,
                sent,
                done: now,
            });
            if inserted {
                self.stream.acknowledge();
            }
        }
        self.recorder.hand_over();
        drop(self.presence);
    }
}

#[inline]
async fn send(session: &mut dyn Session, operation: Operation<'_>) -> Reply {
    match session.execute(operation) {
        Completion::Ready(reply) => reply,
        Completion::Pending(reply) => reply.await,
    }
}

/// How results name what a database is asked for.
#[inline]
pub const fn kind(asked: tailmark_driver::Kind) -> Kind {
    match asked {
        tailmark_driver::Kind::Read => Kind::Read,
        tailmark_driver::Kind::Update => Kind::Update,
        tailmark_driver::Kind::Insert => Kind::Insert,
        tailmark_driver::Kind::Scan => Kind::Scan,
        tailmark_driver::Kind::Delete => Kind::Delete,
    }
}
