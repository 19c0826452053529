//! The weights of operations, and the choice among them.

use crate::{Error, random::Random};
use tailmark_driver::OperationKind;

/// The weights of operations: `{ read: 0.95, update: 0.05, .. }` and `{ read: 95.0, update: 5.0, ..
/// }` are the same. Each is finite and at least 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mix {
    /// Weight of reading a record.
    pub read: f64,
    /// Weight of changing one or all fields of a record.
    pub update: f64,
    /// Weight of writing a new record.
    pub insert: f64,
    /// Weight of reading consecutive records.
    pub scan: f64,
    /// Weight of reading a record and then updating it.
    pub read_modify_write: f64,
}

impl Mix {
    /// No operation, as a base: `Mix { read: 1.0, ..Mix::NONE }`.
    pub const NONE: Self = Self {
        read: 0.0,
        update: 0.0,
        insert: 0.0,
        scan: 0.0,
        read_modify_write: 0.0,
    };

    /// The sum of the weights.
    pub fn sum(&self) -> f64 {
        self.weights().iter().map(|(_, _, weight)| weight).sum()
    }

    /// The share of inserts, from 0 to 1.
    pub fn insert_share(&self) -> f64 {
        self.insert / self.sum()
    }

    /// Whether any operation is on an existing record.
    pub fn draws_keys(&self) -> bool {
        self.read > 0.0 || self.update > 0.0 || self.scan > 0.0 || self.read_modify_write > 0.0
    }

    /// Whether requests of this kind are sent. A read-modify-write sends a read and an update.
    pub fn sends(&self, kind: OperationKind) -> bool {
        match kind {
            OperationKind::Read => self.read > 0.0 || self.read_modify_write > 0.0,
            OperationKind::Update => self.update > 0.0 || self.read_modify_write > 0.0,
            OperationKind::Insert => self.insert > 0.0,
            OperationKind::Scan => self.scan > 0.0,
            OperationKind::Delete => false,
        }
    }

    /// Names and weights in YCSB's order, in which they are chosen.
    const fn weights(&self) -> [(Choice, &'static str, f64); 5] {
        [
            (Choice::Read, "weight of read", self.read),
            (Choice::Update, "weight of update", self.update),
            (Choice::Insert, "weight of insert", self.insert),
            (Choice::Scan, "weight of scan", self.scan),
            (
                Choice::ReadModifyWrite,
                "weight of read-modify-write",
                self.read_modify_write,
            ),
        ]
    }

    pub(crate) fn validate(&self, workload: &str) -> Result<(), Error> {
        for (_, what, got) in self.weights() {
            if !(got.is_finite() && got >= 0.0) {
                let (workload, accepted) = (workload.to_owned(), "0 or more");
                return Err(Error::BadNumber {
                    workload,
                    what,
                    got,
                    accepted,
                });
            }
        }
        match self.sum() {
            sum if sum > 0.0 && sum.is_finite() => Ok(()),
            _ => Err(Error::Empty {
                workload: workload.to_owned(),
                what: "operation with a weight above 0",
            }),
        }
    }
}

/// The kind of the next item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

/// Draws from a mix like YCSB (`DiscreteGenerator`): one uniform number, and a walk along the
/// positive weights in order.
#[derive(Debug, Clone)]
pub(crate) struct Chooser {
    /// Each choice with the end of its share of [0, 1). The last one takes the rest.
    ends: Vec<(f64, Choice)>,
    last: Choice,
}

impl Chooser {
    /// Draws from a valid mix.
    pub fn new(mix: &Mix) -> Self {
        let (sum, mut end) = (mix.sum(), 0.0);
        let mut ends: Vec<_> = mix
            .weights()
            .into_iter()
            .filter(|(_, _, weight)| *weight > 0.0)
            .map(|(choice, _, weight)| {
                end += weight / sum;
                (end, choice)
            })
            .collect();
        let (_, last) = ends.pop().expect("a valid mix has a weight above 0");
        Self { ends, last }
    }

    /// The next choice.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> Choice {
        let draw = random.unit();
        for &(end, choice) in &self.ends {
            if draw < end {
                return choice;
            }
        }
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn operations_are_chosen_in_proportion_to_their_weights() {
        let mix = Mix {
            read: 40.0,
            update: 30.0,
            insert: 5.0,
            scan: 10.0,
            read_modify_write: 15.0,
        };
        let chooser = Chooser::new(&mix);
        let mut random = Random::new(3, 0, Purpose::Operations);
        let draws = 1_000_000_u32;
        let mut counts = [0_u32; 5];
        for _ in 0..draws {
            counts[chooser.draw(&mut random) as usize] += 1;
        }
        for (count, share) in counts.into_iter().zip([0.40, 0.30, 0.05, 0.10, 0.15]) {
            let deviation = (f64::from(draws) * share * (1.0 - share)).sqrt();
            let expected = f64::from(draws) * share;
            assert!(
                (f64::from(count) - expected).abs() < 5.0 * deviation,
                "{counts:?}"
            );
        }
    }

    #[test]
    fn what_has_no_weight_is_never_chosen() {
        let chooser = Chooser::new(&Mix {
            update: 1e-9,
            scan: 1.0,
            ..Mix::NONE
        });
        let mut random = Random::new(3, 0, Purpose::Operations);
        for _ in 0..100_000 {
            assert!(matches!(
                chooser.draw(&mut random),
                Choice::Update | Choice::Scan
            ));
        }
    }

    #[test]
    fn refuses_weights_that_cannot_be_drawn_from() {
        for weight in [-0.1, f64::NAN, f64::INFINITY] {
            let refused = Mix {
                read: 1.0,
                scan: weight,
                ..Mix::NONE
            }
            .validate("w");
            assert!(
                refused
                    .expect_err("bad weight")
                    .to_string()
                    .contains("weight of scan")
            );
        }
        let empty = Mix::NONE.validate("w").expect_err("no weight");
        assert_eq!(
            empty.to_string(),
            "workload `w` has no operation with a weight above 0"
        );
    }
}
