//! Steady state by rounds, as SNIA's SSS PTS 2.0.2 has it for preconditioning by a workload: rounds
//! of one length follow each other without a pause, until the last five lie close together.
//!
//! In those five, neither may the highest and the lowest be further apart than a fifth of their
//! mean, nor may the least-squares line through them rise or fall by more than a tenth of it from
//! the first to the last. Where that is not reached in 25 rounds, it is told as that.

use super::{EXCURSION_MAX, Movement, SLOPE_MAX, WINDOWS};

/// The most rounds.
pub const ROUNDS_MAX: usize = 25;

/// What each round measured, in order: operations per second.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rounds {
    values: Vec<f64>,
}

impl Rounds {
    /// Takes the value of a further round.
    pub fn push(&mut self, value: f64) {
        self.values.push(value);
    }

    /// The values of all rounds.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// How far the last five rounds are apart; none before there are five, or where their mean is
    /// not above 0.
    #[must_use]
    pub fn movement(&self) -> Option<Movement> {
        Movement::of(self.values.last_chunk::<WINDOWS>()?)
    }

    /// Whether the last five rounds are steady.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.movement().is_some_and(Movement::is_steady)
    }

    /// Whether no further round is measured: it is steady, or there were as many as there may be.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_steady() || self.values.len() >= ROUNDS_MAX
    }

    /// The verdict in words, with its evidence.
    #[must_use]
    pub fn verdict(&self) -> String {
        let count = self.values.len();
        let verdict = match self.is_steady() {
            true => format!("steady state reached in {count} rounds"),
            false => format!("steady state not reached in {count} rounds"),
        };
        let Some(Movement { excursion, slope }) = self.movement() else {
            return format!("{verdict}: nothing was done in the last of them");
        };
        format!(
            "{verdict}: over the last {WINDOWS} an excursion of {:.1} % and a slope of {:+.1} % \
             (steady: {:.0} % and ±{:.0} % at most)",
            excursion * 100.0,
            slope * 100.0,
            EXCURSION_MAX * 100.0,
            SLOPE_MAX * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: &[f64]) -> Rounds {
        let mut rounds = Rounds::default();
        values.iter().for_each(|value| rounds.push(*value));
        rounds
    }

    #[test]
    fn the_two_bounds_are_those_of_the_rule_to_the_digit() {
        // A mean of 100: from 90 to 110 are 20 %.
        let at_the_edge = rounds(&[100.0, 90.0, 110.0, 100.0, 100.0]);
        let movement = at_the_edge.movement().unwrap();
        assert!((movement.excursion - 0.20).abs() < 1e-12, "{movement:?}");
        // By hand: (-2*100 - 90 + 100 + 2*100) / 10 = 1 a round, 4 from the first to the last.
        assert!((movement.slope - 0.04).abs() < 1e-12, "{movement:?}");
        assert!(at_the_edge.is_steady());
        assert!(!rounds(&[100.0, 89.9, 110.1, 100.0, 100.0]).is_steady());
        // A straight line that rises by a tenth of its mean, and one by a little more.
        assert!(rounds(&[95.0, 97.5, 100.0, 102.5, 105.0]).is_steady());
        assert!(!rounds(&[94.9, 97.45, 100.0, 102.55, 105.1]).is_steady());
    }

    #[test]
    fn a_fall_is_no_steadier_than_the_same_rise() {
        // Who compares the signed slope with a bound lets every fall pass: this one of 16 %, whose
        // excursion of 16 % is allowed.
        let falling = rounds(&[108.0, 104.0, 100.0, 96.0, 92.0]);
        let movement = falling.movement().unwrap();
        assert!(movement.excursion < EXCURSION_MAX && movement.slope < SLOPE_MAX);
        assert!(!falling.is_steady(), "{movement:?}");
        assert!(!rounds(&[92.0, 96.0, 100.0, 104.0, 108.0]).is_steady());
        // Who compares the rise of one round lets a rise of 4 % a round pass.
        assert!((movement.slope / 4.0).abs() < SLOPE_MAX);
        assert!(falling.verdict().contains("a slope of -16.0 %"));
    }

    #[test]
    fn the_last_five_rounds_count_and_there_are_25_at_most() {
        let mut falling = rounds(&[400.0, 200.0, 100.0, 100.0, 100.0, 100.0]);
        assert!(!falling.is_over(), "200 is one of the last five");
        falling.push(100.0);
        assert!(falling.is_steady() && falling.is_over());
        assert!(
            falling
                .verdict()
                .starts_with("steady state reached in 7 rounds")
        );
        assert!(!rounds(&[100.0; 4]).is_over(), "four rounds say nothing");
        let saw: Vec<f64> = (0..ROUNDS_MAX)
            .map(|i| if i % 2 == 0 { 50.0 } else { 150.0 })
            .collect();
        assert!(!rounds(&saw[1..]).is_over());
        let whole = rounds(&saw);
        assert!(whole.is_over() && !whole.is_steady());
        assert!(
            whole
                .verdict()
                .starts_with("steady state not reached in 25 rounds")
        );
        let dead = rounds(&[0.0; 25]);
        assert!(dead.is_over() && !dead.is_steady());
        assert!(
            dead.verdict().contains("nothing was done"),
            "{}",
            dead.verdict()
        );
    }
}
