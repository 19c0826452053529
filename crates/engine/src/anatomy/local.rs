//! What one OS thread holds until it is handed over.

use super::{kept::By, leaders::Led, sums::Sums, taken::TakenApart};
use tailmark_model::Kind;

/// Candidates after which they are handed over, if that needs no wait.
const ENOUGH: usize = 16;
/// The most candidates.
const MOST: usize = 32;

/// Candidates of one kind and one purpose.
#[derive(Debug)]
pub struct Candidates {
    by: By,
    /// Never more than [`MOST`].
    pub all: Vec<TakenApart>,
    /// Those that were dropped, because the shared ones could not be reached.
    pub lost: u64,
}

impl Candidates {
    fn new(by: By) -> Self {
        Self {
            by,
            all: Vec::with_capacity(MOST),
            lost: 0,
        }
    }

    /// Adds one. If there are too many, that of the lowest rank is lost.
    fn add(&mut self, taken: &TakenApart) {
        if self.all.len() < MOST {
            self.all.push(*taken);
            return;
        }
        self.lost += 1;
        let by = self.by;
        let lowest = self.all.iter_mut().min_by_key(|one| by.rank(one));
        if let Some(lowest) = lowest
            && by.rank(lowest) < by.rank(taken)
        {
            *lowest = *taken;
        }
    }
}

/// The requests of one kind.
#[derive(Debug)]
pub struct LocalKind {
    /// For the slowest, and for the sample.
    pub candidates: [Candidates; 2],
    /// Of all of them.
    pub sums: Sums,
}

/// What one OS thread holds.
#[derive(Debug, Default)]
pub struct Local {
    /// By [`Kind`].
    pub kinds: [Option<Box<LocalKind>>; Kind::ALL.len()],
    /// What leaders of write groups did.
    pub led: Vec<Led>,
}

impl Local {
    /// Adds a request, given the lowest ranks that are kept. Returns whether it is time to hand
    /// over.
    pub fn add(&mut self, kind: Kind, taken: &TakenApart, least: [u64; 2]) -> bool {
        let own = self.kinds[kind as usize].get_or_insert_with(|| {
            Box::new(LocalKind {
                candidates: [By::Response, By::Chance].map(Candidates::new),
                sums: Sums::default(),
            })
        });
        own.sums.add(taken);
        let mut is_time = false;
        for (candidates, lowest) in own.candidates.iter_mut().zip(least) {
            if candidates.by.rank(taken) >= lowest {
                candidates.add(taken);
                is_time |= candidates.all.len() >= ENOUGH;
            }
        }
        if let Some(led) = Led::from_taken(taken)
            && self.led.len() < 4 * MOST
        {
            if self.led.capacity() == 0 {
                self.led.reserve_exact(4 * MOST);
            }
            self.led.push(led);
            is_time |= self.led.len() >= MOST;
        }
        is_time
    }
}
