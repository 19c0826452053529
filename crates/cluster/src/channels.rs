//! Ranks within one process, for tests. Each has a clock that may be off and may drift, and can
//! fall silent like a host with a broken link.

use crate::{Cluster, Message, monotonic_ns};
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// How a rank's clock differs from the machine's.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Clock {
    /// By how much it is ahead when the ranks are made, in ns.
    pub ahead_ns: i64,
    /// By how much it gains from then on, in parts per million.
    pub drift_ppm: f64,
}

impl Clock {
    /// Its reading `elapsed_ns` after the machine's clock read `start_ns`.
    pub fn at_ns(self, start_ns: u64, elapsed_ns: u64) -> u64 {
        let gained = (elapsed_ns as f64 * self.drift_ppm / 1e6).round() as i64;
        (start_ns + elapsed_ns).saturating_add_signed(self.ahead_ns + gained)
    }
}

/// Why and by whom a job was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aborted {
    /// The rank that ended it.
    pub rank: u32,
    /// Its code.
    pub code: i32,
    /// Its reason.
    pub why: String,
}

/// State shared by the ranks of one job.
#[derive(Debug)]
struct Job {
    inboxes: Vec<Sender<Message>>,
    silent: Vec<AtomicBool>,
    clocks: Vec<Clock>,
    start_ns: u64,
    aborted: OnceLock<Aborted>,
}

/// One of several ranks of this process. A job that was aborted ends as processes do: whatever rank
/// sends or receives from then on panics.
#[derive(Debug)]
pub struct Rank {
    rank: u32,
    inbox: Receiver<Message>,
    job: Arc<Job>,
}

/// A job with a rank for each of these clocks.
pub fn ranks(clocks: &[Clock]) -> Vec<Rank> {
    let (inboxes, receivers): (Vec<_>, Vec<_>) = clocks.iter().map(|_| unbounded()).unzip();
    let job = Arc::new(Job {
        inboxes,
        silent: clocks.iter().map(|_| AtomicBool::new(false)).collect(),
        clocks: clocks.to_vec(),
        start_ns: monotonic_ns(),
        aborted: OnceLock::new(),
    });
    let rank = |(rank, inbox)| Rank {
        rank,
        inbox,
        job: Arc::clone(&job),
    };
    (0..).zip(receivers).map(rank).collect()
}

impl Rank {
    /// From now on (or no longer) nothing that this rank sends arrives, and nothing arrives at it.
    pub fn silence(&self, is_silent: bool) {
        self.job.silent[self.rank as usize].store(is_silent, Ordering::SeqCst);
    }

    /// Who has ended the job, and why.
    pub fn aborted(&self) -> Option<Aborted> {
        self.job.aborted.get().cloned()
    }

    fn is_cut(&self, other: u32) -> bool {
        let is_silent = |rank: u32| self.job.silent[rank as usize].load(Ordering::SeqCst);
        is_silent(self.rank) || is_silent(other)
    }

    fn end_with_the_job(&self) {
        if let Some(aborted) = self.job.aborted.get() {
            panic!("rank {} has ended the job: {}", aborted.rank, aborted.why);
        }
    }
}

impl Cluster for Rank {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        u32::try_from(self.job.inboxes.len()).expect("ranks are counted in 32 bits")
    }

    fn host(&self) -> String {
        format!("host-{}", self.rank)
    }

    fn send(&self, to: u32, body: Vec<u8>) {
        self.end_with_the_job();
        let inbox = &self.job.inboxes[to as usize];
        if self.is_cut(to) {
            return;
        }
        let message = Message {
            from: self.rank,
            body,
            sent_ns: self.now_ns(),
            received_ns: 0,
        };
        // A rank that has let go of its end reads no more.
        let _ = inbox.send(message);
    }

    fn receive(&self, timeout: Duration) -> Option<Message> {
        self.end_with_the_job();
        let received = self.inbox.recv_timeout(timeout).ok();
        self.end_with_the_job();
        let mut message = received.filter(|message| !self.is_cut(message.from))?;
        message.received_ns = self.now_ns();
        Some(message)
    }

    fn now_ns(&self) -> u64 {
        let elapsed_ns = monotonic_ns() - self.job.start_ns;
        self.job.clocks[self.rank as usize].at_ns(self.job.start_ns, elapsed_ns)
    }

    fn warn(&self, _: &str) {}

    fn abort(&self, code: i32, why: &str) -> ! {
        let rank = self.rank;
        let aborted = Aborted {
            rank,
            code,
            why: why.to_owned(),
        };
        // The first one counts.
        let _ = self.job.aborted.set(aborted);
        panic!("rank {rank} ends the job: {why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{panic::AssertUnwindSafe, panic::catch_unwind, thread};

    const WAIT: Duration = Duration::from_secs(30);

    fn two() -> [Rank; 2] {
        let ranks = ranks(&[Clock::default(); 2]);
        ranks.try_into().expect("there are two")
    }

    #[test]
    fn messages_of_one_rank_arrive_in_their_order_and_name_it() {
        let [leader, other] = two();
        for at in 0..100_u8 {
            other.send(0, vec![at]);
        }
        for at in 0..100_u8 {
            let message = leader.receive(WAIT).expect("it was sent");
            assert_eq!((message.from, message.body), (1, vec![at]));
        }
    }

    #[test]
    fn a_silent_rank_neither_sends_nor_receives() {
        let [leader, other] = two();
        other.silence(true);
        other.send(0, vec![1]);
        leader.send(1, vec![2]);
        assert_eq!(leader.receive(Duration::ZERO), None);
        assert_eq!(other.receive(Duration::ZERO), None);
        other.silence(false);
        other.send(0, vec![3]);
        assert_eq!(leader.receive(WAIT).map(|m| m.body), Some(vec![3]));
    }

    #[test]
    fn an_abort_ends_every_rank() {
        let [leader, other] = two();
        let end = || thread::scope(|s| s.spawn(|| other.abort(7, "it is over")).join().is_err());
        assert!(end());
        assert!(catch_unwind(AssertUnwindSafe(|| leader.receive(WAIT))).is_err());
        let aborted = leader.aborted().expect("it was aborted");
        assert_eq!((aborted.rank, aborted.code), (1, 7));
        assert_eq!(aborted.why, "it is over");
    }

    #[test]
    fn a_clock_is_ahead_and_gains() {
        let clock = Clock {
            ahead_ns: -500,
            drift_ppm: 200.0,
        };
        assert_eq!(clock.at_ns(10_000, 0), 9_500);
        assert_eq!(clock.at_ns(10_000, 1_000_000_000), 1_000_009_500 + 200_000);
    }
}
