//! A cluster of one process, for every ordinary start of the program.

use crate::{Cluster, Message, host_name, monotonic_ns};
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::{
    io::{self, Write},
    process,
    time::Duration,
};

/// One process, whose messages are its own.
#[derive(Debug)]
pub struct Alone {
    outgoing: Sender<Message>,
    incoming: Receiver<Message>,
}

impl Alone {
    /// This process.
    pub fn new() -> Self {
        let (outgoing, incoming) = unbounded();
        Self { outgoing, incoming }
    }
}

impl Default for Alone {
    fn default() -> Self {
        Self::new()
    }
}

impl Cluster for Alone {
    fn rank(&self) -> u32 {
        0
    }

    fn size(&self) -> u32 {
        1
    }

    fn host(&self) -> String {
        host_name()
    }

    fn send(&self, to: u32, body: Vec<u8>) {
        assert_eq!(to, 0, "there is one rank");
        let now = self.now_ns();
        let message = Message {
            from: 0,
            body,
            sent_ns: now,
            received_ns: now,
        };
        let sent = self.outgoing.send(message);
        sent.expect("a process alone receives its own messages");
    }

    fn receive(&self, timeout: Duration) -> Option<Message> {
        self.incoming.recv_timeout(timeout).ok()
    }

    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn warn(&self, what: &str) {
        // Nobody may read it.
        let _ = writeln!(io::stderr(), "{what}");
    }

    fn abort(&self, code: i32, why: &str) -> ! {
        // The process ends either way.
        let _ = writeln!(io::stderr(), "error: {why}");
        process::exit(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_is_rank_0_of_1() {
        let alone = Alone::new();
        assert_eq!((alone.rank(), alone.size()), (0, 1));
        assert!(!alone.host().is_empty());
    }

    #[test]
    fn its_messages_come_back_in_their_order() {
        let alone = Alone::new();
        alone.send(0, vec![1]);
        alone.send(0, vec![2]);
        let bodies = [(); 3].map(|()| alone.receive(Duration::ZERO).map(|m| m.body));
        assert_eq!(bodies, [Some(vec![1]), Some(vec![2]), None]);
    }
}
