//! Seeds for the parts of a run, derived from the user's one seed.
//!
//! Two parts with the same seed would repeat keys and bytes: keys that the first one read would be
//! in every cache, and values that it wrote would already be stored. A [`Seed`] takes labelled
//! parts one after the other, each mixed in by the output function of SplitMix64. It depends
//! neither on the clock nor on the machine, so the same parts give the same seed everywhere.

use crate::random::mix;

/// A seed, refined by labelled parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed(u64);

impl Seed {
    /// The user's seed.
    pub const fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// The seed of a part: `label` is the kind of part, `part` says which one. The order of parts
    /// matters.
    #[must_use]
    pub fn with(self, label: &str, part: impl AsRef<[u8]>) -> Self {
        let absorb = |state: u64, bytes: &[u8]| {
            // The length goes first, so that no bytes are taken for those of the next part.
            let started = mix(state ^ bytes.len() as u64);
            bytes.chunks(8).fold(started, |mixed, chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                mix(mixed ^ u64::from_le_bytes(word))
            })
        };
        Self(absorb(absorb(self.0, label.as_bytes()), part.as_ref()))
    }

    /// The seed of a numbered part.
    #[must_use]
    pub fn with_number(self, label: &str, part: u64) -> Self {
        self.with(label, part.to_le_bytes())
    }

    /// The seed with this [`Self::value`].
    pub const fn of_value(value: u64) -> Self {
        Self(value)
    }

    /// The number that seeds a generator.
    pub const fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_parts_share_a_seed() {
        let mut seen = HashSet::new();
        for seed in 0..20 {
            for label in ["", "a", "threads", "workload", "a long label of many words"] {
                for part in ["", "a", "aa", "a\0", "aaaaaaaa", "aaaaaaaaa"] {
                    assert!(
                        seen.insert(Seed::new(seed).with(label, part)),
                        "{label} {part}"
                    );
                }
                for part in 0..200 {
                    let seed = Seed::new(seed).with_number(label, part);
                    assert!(seen.insert(seed), "{label} {part}");
                }
            }
        }
    }

    #[test]
    fn parts_neither_run_into_each_other_nor_change_places() {
        let seed = |parts: &[(&str, &str)]| {
            let mixed = parts
                .iter()
                .fold(Seed::new(1), |seed, (l, p)| seed.with(l, p));
            mixed.value()
        };
        let seeds = [
            seed(&[("a", "b"), ("c", "d")]),
            seed(&[("c", "d"), ("a", "b")]),
            seed(&[("a", "bc"), ("", "d")]),
            seed(&[("ab", "c"), ("", "d")]),
            seed(&[("a", "b")]),
        ];
        assert_eq!(seeds.into_iter().collect::<HashSet<_>>().len(), 5);
    }

    #[test]
    fn the_same_parts_give_the_same_seed_on_every_machine() {
        let seed = Seed::new(7)
            .with("workload", "ycsb-a")
            .with_number("threads", 16);
        assert_eq!(seed.value(), 0xfe2f_6dd3_e263_63d3);
    }
}
