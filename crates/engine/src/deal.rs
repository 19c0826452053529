//! Deals the arrivals of one even sequence to several processes. In each round, a process gets one
//! arrival for each of its clients, always in the same places, spread as evenly as whole numbers
//! allow. Together the processes get each arrival once, like a single process.

/// The arrivals of a process, as places in a common round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deal {
    /// Arrivals in a round: one per client of all processes.
    round: u64,
    /// The places of this process, in order; at least one.
    places: Vec<u64>,
}

impl Deal {
    /// The deal for one of several processes, given the number of clients of each.
    pub fn new(process: usize, clients: &[u64]) -> Self {
        // The k-th of n is due as if the n were spread over the round alone: at (k + 1/2) / n.
        // Numerators and denominators are doubled.
        let due = |(owner, &n): (usize, &u64)| (0..n).map(move |k| (2 * k + 1, n, owner));
        let mut dealt: Vec<_> = clients.iter().enumerate().flat_map(due).collect();
        dealt.sort_by(|(k, n, owner), (other_k, other_n, other)| {
            (k * other_n).cmp(&(other_k * n)).then(owner.cmp(other))
        });
        let places = (0..).zip(&dealt).filter(|(_, dealt)| dealt.2 == process);
        Self {
            round: dealt.len() as u64,
            places: places.map(|(place, _)| place).collect(),
        }
    }

    /// The number of this process's `own`-th arrival among all, both counted from 0.
    #[inline]
    pub fn number(&self, own: u64) -> u64 {
        let each = self.places.len() as u64;
        let place = self.places[(own % each) as usize];
        (own / each)
            .saturating_mul(self.round)
            .saturating_add(place)
    }

    /// How many arrivals of this process precede that number among all.
    pub fn before(&self, number: u64) -> u64 {
        let place = number % self.round;
        let within = self.places.partition_point(|own| *own < place) as u64;
        let rounds = number / self.round;
        rounds
            .saturating_mul(self.places.len() as u64)
            .saturating_add(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENTS: [&[u64]; 6] = [
        &[1, 1, 1],
        &[6, 5, 5],
        &[64, 1],
        &[2, 0, 1],
        &[3, 3, 3, 2],
        &[7],
    ];

    fn each(clients: &[u64]) -> impl Iterator<Item = Deal> {
        let with = (0..clients.len()).filter(|process| clients[*process] > 0);
        with.map(|process| Deal::new(process, clients))
    }

    #[test]
    fn every_arrival_is_one_processs() {
        for clients in CLIENTS {
            let all: u64 = clients.iter().sum();
            for upto in [0, 1, all - 1, all, 3 * all + 1, 15_001] {
                let mut dealt: Vec<u64> = each(clients)
                    .flat_map(|deal| (0..deal.before(upto)).map(move |own| deal.number(own)))
                    .collect();
                dealt.sort_unstable();
                assert_eq!(dealt, (0..upto).collect::<Vec<_>>(), "{clients:?}");
            }
        }
    }

    #[test]
    fn processes_with_as_many_clients_take_turns() {
        let deals: Vec<_> = each(&[16, 16, 16]).collect();
        for (process, deal) in (0..).zip(&deals) {
            let numbers: Vec<_> = (0..50).map(|own| deal.number(own)).collect();
            let turns: Vec<_> = (0..50).map(|own| process + 3 * own).collect();
            assert_eq!(numbers, turns);
        }
    }

    /// At any time each process has its share of the arrivals due so far, within two.
    #[test]
    fn none_is_ahead_of_its_part() {
        for clients in CLIENTS {
            let all: u64 = clients.iter().sum();
            let with = clients.iter().filter(|clients| **clients > 0);
            for (deal, own) in each(clients).zip(with) {
                for number in 0..5 * all {
                    let part = number as f64 * *own as f64 / all as f64;
                    let ahead = deal.before(number) as f64 - part;
                    assert!(ahead.abs() < 2.0, "{clients:?}: {ahead} at {number}");
                }
            }
        }
    }
}
