//! How long the MPI thread sleeps before it looks again. Pauses grow while nothing arrives. They
//! are very short while two ranks exchange messages, whose timing then matters.
//!
//! Even then the thread naps. If the other's thread is on the same processor, or all processors are
//! busy, a thread that only polls (or yields) would delay the answer by a whole time slice.

use std::time::{Duration, Instant};

/// For this long after a message it polls without pause.
const SPIN: Duration = Duration::from_micros(20);

/// Then it naps this long between two looks.
const NAP: Duration = Duration::from_micros(10);

/// For this long after a message outside of a conversation, such as a heartbeat.
const AWAKE_ALONE: Duration = Duration::from_micros(100);

/// Messages alternating with one other rank, each this soon after the previous one, are a
/// conversation, during which this rank stays awake. It is longer than both can sleep together,
/// because otherwise both would repeatedly wait for each other asleep.
const CONVERSATION_GAP: Duration = Duration::from_millis(45);

/// The fewest messages of a conversation.
const CONVERSATION_LEAST: u32 = 4;

/// The first sleep, and by how much each further one is longer.
const PAUSE_STEP: Duration = Duration::from_millis(1);

/// The longest sleep: each costs the clients some microseconds.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    In,
    Out,
}

/// The state of the traffic.
#[derive(Debug)]
pub(super) struct Idle {
    /// When the last message came or went.
    last: Instant,
    /// With whom this rank may be in a conversation.
    conversation: Conversation,
    /// The next sleep.
    pause: Duration,
}

#[derive(Debug)]
struct Conversation {
    with: u32,
    /// The way of its last message.
    way: Way,
    last: Instant,
    /// The number of alternating messages.
    messages: u32,
}

impl Idle {
    /// Nothing has come yet.
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            last: now,
            conversation: Conversation {
                with: 0,
                way: Way::In,
                last: now,
                messages: 0,
            },
            pause: PAUSE_STEP,
        }
    }

    /// A message came from another rank or went to it.
    pub(super) fn traffic(&mut self, now: Instant, other: u32, way: Way) {
        self.last = now;
        self.pause = PAUSE_STEP;
        let current = &mut self.conversation;
        let is_over = current.messages == 0 || now - current.last >= CONVERSATION_GAP;
        if !is_over && other != current.with {
            return;
        }
        let continues = !is_over && way != current.way;
        *current = Conversation {
            with: other,
            way,
            last: now,
            messages: if continues { current.messages + 1 } else { 1 },
        };
    }

    /// How long to sleep now.
    pub(super) fn pause(&mut self, now: Instant) -> Duration {
        let awake = if self.conversation.messages >= CONVERSATION_LEAST {
            CONVERSATION_GAP
        } else {
            AWAKE_ALONE
        };
        let since = now - self.last;
        if since < SPIN {
            return Duration::ZERO;
        }
        if since < awake {
            return NAP;
        }
        let pause = self.pause;
        self.pause = (pause + PAUSE_STEP).min(PAUSE_MAX);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many us after the start, which is at 0.
    struct Clock(Instant);

    impl Clock {
        fn at(&self, us: u64) -> Instant {
            self.0 + Duration::from_micros(us)
        }
    }

    fn quiet() -> (Clock, Idle) {
        let start = Instant::now();
        (Clock(start), Idle::new(start))
    }

    #[test]
    fn sleeps_grow_while_nothing_comes() {
        let (clock, mut idle) = quiet();
        let pauses: Vec<_> = (0..22)
            .map(|_| idle.pause(clock.at(100)).as_millis())
            .collect();
        let growing = (1..=20).chain([20, 20]);
        assert!(pauses.iter().copied().eq(growing), "{pauses:?}");
        idle.traffic(clock.at(50_000), 1, Way::In);
        assert_eq!(idle.pause(clock.at(50_100)), PAUSE_STEP);
    }

    #[test]
    fn after_a_message_alone_it_is_awake_for_a_moment() {
        let (clock, mut idle) = quiet();
        idle.traffic(clock.at(30_000), 1, Way::In);
        assert_eq!(idle.pause(clock.at(30_019)), Duration::ZERO);
        assert_eq!(idle.pause(clock.at(30_099)), NAP);
        assert_eq!(idle.pause(clock.at(30_100)), PAUSE_STEP);
    }

    #[test]
    fn a_conversation_keeps_it_awake() {
        let (clock, mut idle) = quiet();
        for (n, way) in [Way::Out, Way::In, Way::Out, Way::In].iter().enumerate() {
            idle.traffic(clock.at(30_000 + n as u64 * 40_000), 2, *way);
        }
        assert_eq!(idle.pause(clock.at(150_000 + 44_999)), NAP);
        assert_eq!(idle.pause(clock.at(150_000 + 45_000)), PAUSE_STEP);
    }

    #[test]
    fn beats_of_many_ranks_are_no_conversation() {
        let (clock, mut idle) = quiet();
        for n in 0..100 {
            let way = if n % 2 == 0 { Way::In } else { Way::Out };
            idle.traffic(clock.at(30_000 + n * 1_000), n as u32 / 2, way);
        }
        assert_eq!(idle.pause(clock.at(30_000 + 99_100)), PAUSE_STEP);
    }
}
