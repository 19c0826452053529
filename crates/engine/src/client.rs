//! The loop that measures: one client with one operation in flight. It serves every database, rate,
//! budget and workload, and exists only once.

use super::{
    apart::TakeApart,
    ending::ClientEnd,
    pacer::{Due, Pacer},
    recorder::{Record, Timing, recorded_as},
    roles::CompletionGuard,
    silence::SharedPulse,
};
use crate::clock::{Clock, Tick};
use std::time::Duration;
use tailmark_driver::{Completion, Operation, Reply, Session};
use tailmark_model::Kind;
use tailmark_workload::{Item, Stream};

/// One client of a phase.
pub struct Client<R, C, A = ()> {
    /// The phase's clock.
    pub clock: C,
    /// Says when operations are due and when to end.
    pub pacer: Pacer<C>,
    /// Draws the operations.
    pub stream: Stream,
    /// Draws the operations of the measured part, if a warm-up precedes it.
    pub measured: Option<Box<Stream>>,
    /// Sends them.
    pub session: Box<dyn Session>,
    /// Records them.
    pub recorder: R,
    /// Which inserts the key space is notified of.
    pub acknowledge: Acknowledge,
    /// When the update of a read-modify-write is due.
    pub update_due: UpdateDue,
    /// Ends the background clients when the last client of the point ends.
    pub completion: Option<CompletionGuard>,
    /// Shows whether the client gets answers.
    pub pulse: SharedPulse,
    /// Takes its requests apart.
    pub apart: A,
}

/// Which inserts count as done for clients that draw among the newest records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledge {
    /// Successful inserts only: for a load, whose marker promises every record below it.
    Succeeded,
    /// All inserts: for a run, which continues after a failed insert, as YCSB does.
    All,
}

/// When the update of a read-modify-write is due. Its response time starts then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateDue {
    /// When the read would have ended had the pair been sent on time. Response time is the lag of
    /// the pair plus the time of the update, without the time of the read.
    AfterRead,
    /// With the pair: what drop-ins print, whose clients each have their own schedule.
    WithPair,
}

impl UpdateDue {
    /// The due time for a pair that was due at `pair` and whose read took that long, nanoseconds.
    #[inline]
    const fn tick(self, pair: Tick, read_ns: u64) -> Tick {
        match self {
            Self::AfterRead => pair + read_ns,
            Self::WithPair => pair,
        }
    }
}

impl<R, C> Client<R, C> {
    /// The same, with its requests taken apart.
    pub fn taken_apart<A>(self, apart: A) -> Client<R, C, A> {
        Client {
            clock: self.clock,
            pacer: self.pacer,
            stream: self.stream,
            measured: self.measured,
            session: self.session,
            recorder: self.recorder,
            acknowledge: self.acknowledge,
            update_due: self.update_due,
            completion: self.completion,
            pulse: self.pulse,
            apart,
        }
    }
}

impl<R: Record, C: Clock, A: TakeApart> Client<R, C, A> {
    /// Sends operations until the phase ends. Returns how long closing the session then took.
    pub async fn run(mut self) -> Duration {
        let mut now = self.clock.now();
        self.pulse.busy(now);
        while let Some(due) = self.pacer.next(now).await {
            // Either both halves of a read-modify-write and the pair are measured, or none of them.
            let is_measured = self.pacer.is_measured();
            if is_measured && let Some(next) = self.measured.take() {
                self.stream.follow(*next);
            }
            let item = self.stream.next_item(); // drawn before the clock starts
            self.apart.begin(&mut *self.session, &item, is_measured);
            let sent = self.clock.now();
            let (due, was_free) = match due {
                Due::Now => (sent, true),
                Due::At { due, was_free } => (due.min(sent), was_free),
            };
            let timing = |due_at: Tick, sent_at: Tick, done: Tick| Timing {
                was_free,
                due: due_at,
                sent: sent_at,
                done,
            };
            let (inserted, succeeded) = match item {
                Item::One(operation) => {
                    let reply = send(self.session.as_mut(), operation).await;
                    now = self.clock.now();
                    self.pulse.answered(&reply, now);
                    if is_measured {
                        let kind = recorded_as(operation.kind());
                        self.recorder.record(kind, timing(due, sent, now), &reply);
                    }
                    let done = reply.is_ok() || self.acknowledge == Acknowledge::All;
                    let inserted = done && matches!(operation, Operation::Insert { .. });
                    (inserted, reply.is_ok())
                }
                Item::ReadModifyWrite { read, update } => {
                    let found = send(self.session.as_mut(), read).await;
                    let between = self.clock.now();
                    self.pulse.answered(&found, between);
                    let written = send(self.session.as_mut(), update).await;
                    now = self.clock.now();
                    self.pulse.answered(&written, now);
                    let failure = found.as_ref().err().or(written.as_ref().err());
                    if is_measured {
                        let update_due = self.update_due.tick(due, between - sent);
                        let recorder = &mut self.recorder;
                        recorder.record(Kind::Read, timing(due, sent, between), &found);
                        recorder.record(Kind::Update, timing(update_due, between, now), &written);
                        recorder.record_pair(timing(due, sent, now), failure);
                    }
                    (false, failure.is_none())
                }
            };
            if is_measured {
                self.recorder.finish(timing(due, sent, now), succeeded);
                self.apart
                    .end(&mut *self.session, timing(due, sent, now), succeeded);
            }
            if inserted {
                self.stream.acknowledge();
            }
        }
        self.close(now)
    }

    /// Hands over what was recorded, and closes the session. Returns how long that then took.
    fn close(mut self, now: Tick) -> Duration {
        self.pulse.idle();
        self.recorder.hand_over();
        self.apart.hand_over();
        if let Some(completion) = self.completion {
            let (done, is_spent) = (now, self.pacer.is_spent());
            completion.leave(ClientEnd { done, is_spent });
        }
        let ended = self.clock.now();
        drop(self.session);
        Duration::from_nanos(self.clock.now() - ended)
    }
}

#[inline]
async fn send(session: &mut dyn Session, operation: Operation<'_>) -> Reply {
    match session.execute(operation) {
        Completion::Ready(reply) => reply,
        Completion::Pending(reply) => reply.await,
    }
}
