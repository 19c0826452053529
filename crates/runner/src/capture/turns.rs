//! The sources due in each sample of a phase, so that its clients wait for no server.

/// The samples taken so far, and those due next.
#[derive(Debug, Default)]
pub(super) struct Turns {
    taken: u64,
    /// Whether the measured part has begun.
    has_begun: bool,
    /// Whether servers were asked for a sample since then.
    has_asked: bool,
}

/// One sample of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    pub number: u64,
    /// Every source is sampled, whatever its period: the measured part begins or ends.
    pub whole: bool,
    /// Servers are asked for a sample of the same instant.
    pub asks_servers: bool,
}

impl Turns {
    /// The sources of the next sample, that many seconds after the start of the measured part.
    ///
    /// Clients do not start before the first sample is taken. So no server is asked for that one,
    /// because a request takes a round trip, or seconds if a link hangs. Each server has just
    /// sampled, when it was told what to watch.
    pub(super) fn next(&mut self, now_s: f64, is_last: bool) -> Turn {
        let is_measured = now_s >= -0.01;
        let turn = Turn {
            number: self.taken,
            whole: is_last || (is_measured && !self.has_begun),
            asks_servers: is_last || (is_measured && !self.has_asked && self.taken > 0),
        };
        self.taken += 1;
        self.has_begun |= is_measured;
        self.has_asked |= turn.asks_servers;
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_server_is_asked_for_the_sample_that_clients_wait_for() {
        let requested = |instants: &[f64]| -> Vec<bool> {
            let mut turns = Turns::default();
            let each = instants.iter();
            each.map(|at_s| turns.next(*at_s, *at_s == 3.0).asks_servers)
                .collect()
        };
        assert_eq!(requested(&[0.0, 1.0, 2.0, 3.0]), [false, true, false, true]);
        assert_eq!(
            requested(&[-1.0, 0.0, 1.0, 3.0]),
            [false, true, false, true]
        );
        assert_eq!(
            requested(&[-2.0, -1.0, 0.0, 3.0]),
            [false, false, true, true]
        );
    }
}
