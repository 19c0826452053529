//! Steady state by rounds, as in SNIA's SSS PTS 2.0.2 for preconditioning by a workload: rounds of
//! equal length follow each other without a pause, until the last five lie close together.
//!
//! In those five, the highest and the lowest may differ by at most a fifth of their mean, and the
//! least-squares line through them may rise or fall by at most a tenth of it. If 25 rounds do not
//! reach this, the verdict says so.
//!
//! A drive that was filled in order is also flat until its spare area is full, and slows down when
//! it starts to collect garbage. So the five rounds count only after that area was written, or if
//! the drive reports that it collects: it writes more to its media than it receives, and the excess
//! no longer grows from round to round.

use super::{EXCURSION_MAX, Movement, SLOPE_MAX, WINDOWS};
use tailmark_model::number;

/// The most rounds.
pub const ROUNDS_MAX: usize = 25;

/// The bytes written to media per byte received from which on a drive is collecting garbage.
/// Otherwise it writes little more than its own tables.
const COLLECTS: f64 = 1.1;

/// The results of one round.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Round {
    /// Operations per second.
    pub per_sec: f64,
    /// Its duration, seconds.
    pub length_s: f64,
    /// Bytes written in it.
    pub written: u64,
    /// Bytes that the drive wrote to its media meanwhile, if it reports them.
    pub media: Option<u64>,
}

impl Round {
    /// Bytes to the media per byte written.
    fn amplification(&self) -> Option<f64> {
        let media = self.media.filter(|_| self.written > 0)?;
        Some(media as f64 / self.written as f64)
    }
}

/// The results of all rounds, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rounds {
    rounds: Vec<Round>,
    /// Bytes that must be written before rounds count.
    spare: u64,
}

impl Rounds {
    /// Rounds on a device with a spare area of this many bytes; 0 if nothing is written.
    pub fn new(spare: u64) -> Self {
        Self {
            rounds: Vec::new(),
            spare,
        }
    }

    /// Adds a round.
    pub fn push(&mut self, round: Round) {
        self.rounds.push(round);
    }

    /// The operations per second of all rounds.
    pub fn values(&self) -> Vec<f64> {
        self.rounds.iter().map(|round| round.per_sec).collect()
    }

    /// How far the last five rounds are apart; `None` before there are five, or if their mean is
    /// not above 0.
    pub fn movement(&self) -> Option<Movement> {
        let last = self.rounds.last_chunk::<WINDOWS>()?;
        Movement::from_values(&last.map(|round| round.per_sec))
    }

    /// Whether the last five rounds used the spare area.
    fn is_after_spare(&self) -> bool {
        let before = self.rounds.len().saturating_sub(WINDOWS);
        let written: u64 = self.rounds[..before]
            .iter()
            .map(|round| round.written)
            .sum();
        written >= self.spare || self.collects()
    }

    /// Whether the drive reports steady garbage collection in the last five rounds.
    fn collects(&self) -> bool {
        let Some(last) = self.rounds.last_chunk::<WINDOWS>() else {
            return false;
        };
        let known: Option<Vec<f64>> = last.iter().map(Round::amplification).collect();
        let known = known.and_then(|known| <[f64; WINDOWS]>::try_from(known).ok());
        known.is_some_and(|known| {
            let is_even = Movement::from_values(&known).is_some_and(Movement::is_steady);
            is_even && known.iter().all(|times| *times >= COLLECTS)
        })
    }

    /// How much of the spare area remains to be written, and for how long at the rate of the last
    /// round; `None` if it is done.
    pub fn spare_left(&self) -> Option<String> {
        let written: u64 = self.rounds.iter().map(|round| round.written).sum();
        if written >= self.spare || self.is_after_spare() {
            return None;
        }
        let last = self.rounds.last()?;
        let per_sec = last.written as f64 / last.length_s.max(1e-9);
        let left = match per_sec {
            rate if rate > 0.0 => {
                let left_s = (self.spare - written) as f64 / rate;
                format!(
                    "{} left at the rate of the last round",
                    number::duration(left_s)
                )
            }
            _ => "nothing was written in the last round".to_owned(),
        };
        Some(format!(
            "not-steady: {} of {} spare written, {left}",
            number::bytes(written as f64),
            number::bytes(self.spare as f64)
        ))
    }

    /// Whether the last five rounds are steady.
    pub fn is_steady(&self) -> bool {
        self.movement().is_some_and(Movement::is_steady) && self.is_after_spare()
    }

    /// Whether the rounds are over, because they are steady or the most allowed.
    pub fn is_over(&self) -> bool {
        self.is_steady() || self.rounds.len() >= ROUNDS_MAX
    }

    /// The verdict in words, with its evidence.
    pub fn verdict(&self) -> String {
        let count = self.rounds.len();
        let verdict = if self.is_steady() {
            format!("steady state reached in {count} rounds")
        } else {
            let spare = self
                .spare_left()
                .map_or_else(String::new, |left| format!(" ({left})"));
            format!("steady state not reached in {count} rounds{spare}")
        };
        let Some(Movement { excursion, slope }) = self.movement() else {
            return format!("{verdict}: nothing was done in the last round");
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
        values.iter().for_each(|value| rounds.push(at(*value)));
        rounds
    }

    fn at(per_sec: f64) -> Round {
        Round {
            per_sec,
            ..Round::default()
        }
    }

    /// A drive that was filled in order: it takes 1 GB/s until its spare area is full, then a
    /// third, which is what garbage collection leaves.
    struct FilledDrive {
        spare: u64,
        written: u64,
        tells_media: bool,
    }

    impl FilledDrive {
        const MINUTE_S: f64 = 60.0;

        fn new(spare: u64) -> Self {
            Self {
                spare,
                written: 0,
                tells_media: false,
            }
        }

        fn round(&mut self) -> Round {
            let is_full = self.written >= self.spare;
            let bytes_per_sec = if is_full { 1e9 / 3.0 } else { 1e9 };
            let written = (bytes_per_sec * Self::MINUTE_S) as u64;
            self.written += written;
            Round {
                per_sec: bytes_per_sec / 4096.0,
                length_s: Self::MINUTE_S,
                written,
                media: self
                    .tells_media
                    .then_some(if is_full { 3 * written } else { written }),
            }
        }

        fn rounds(&mut self, known_spare: u64) -> Rounds {
            let mut rounds = Rounds::new(known_spare);
            while !rounds.is_over() {
                rounds.push(self.round());
            }
            rounds
        }
    }

    const GB: u64 = 1_000_000_000;

    #[test]
    fn a_drive_is_not_steady_before_its_spare_area_was_written() {
        // Flat for eight minutes, and flat again from then on.
        let rounds = FilledDrive::new(480 * GB).rounds(480 * GB);
        assert!(rounds.is_steady());
        assert_eq!(rounds.values().len(), 8 + 5);
        let last = rounds.values()[8..].to_vec();
        assert!(last.iter().all(|rate| *rate < 100_000.0), "{last:?}");
        // Without spare area the rounds of before are flat enough.
        assert_eq!(FilledDrive::new(480 * GB).rounds(0).values().len(), 5);
        // That of a small device is written in the first round.
        assert_eq!(FilledDrive::new(GB).rounds(GB).values().len(), 6);
    }

    #[test]
    fn a_spare_area_that_is_not_written_is_told_with_the_time_that_is_left() {
        let mut rounds = Rounds::new(4_300 * GB);
        let mut drive = FilledDrive::new(4_300 * GB);
        (0..5).for_each(|_| rounds.push(drive.round()));
        assert!(rounds.movement().unwrap().is_steady() && !rounds.is_steady());
        let left =
            "not-steady: 300 GB of 4.30 TB spare written, 1 h 7 min left at the rate of the last";
        let said = rounds.spare_left().unwrap();
        assert!(said.starts_with(left), "{said}");
        let whole = FilledDrive::new(4_300 * GB).rounds(4_300 * GB);
        assert_eq!(whole.values().len(), ROUNDS_MAX);
        let verdict = whole.verdict();
        let not_reached =
            "steady state not reached in 25 rounds (not-steady: 1.50 TB of 4.30 TB spare";
        assert!(verdict.starts_with(not_reached), "{verdict}");
    }

    #[test]
    fn a_drive_that_tells_of_even_garbage_collection_is_steady_before() {
        // Of 25 % of its capacity, which is taken where nothing is known, it has half.
        let mut drive = FilledDrive::new(480 * GB);
        drive.tells_media = true;
        let rounds = drive.rounds(960 * GB);
        assert!(rounds.is_steady());
        assert_eq!(rounds.values().len(), 8 + 5);
        // Even is not enough: without garbage collection it is even too.
        let mut empty = Rounds::new(4_300 * GB);
        let mut even = FilledDrive::new(4_300 * GB);
        even.tells_media = true;
        (0..10).for_each(|_| empty.push(even.round()));
        assert!(!empty.is_steady());
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
        falling.push(at(100.0));
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
