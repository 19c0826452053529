//! Mutated inputs for tests of parsers. Any file is either parsed or refused, without a panic, a
//! hang or more than [`MEMORY_MAX`] bytes of memory.
//!
//! Valid inputs are changed at random by bytes, tokens, numbers and lines, from a fixed seed, so a
//! test always tries the same inputs. `MUTATIONS=1000000` tries that many for each parser, and
//! `MUTATIONS_SEED` others.

use crate::{MemoryWatch, draw};
use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Mutex, PoisonError, mpsc},
    time::Duration,
};

/// The most that a parser may have in use at any time for one input, bytes.
pub const MEMORY_MAX: u64 = 100 << 20;

/// An input that takes longer hangs. Far more than a busy machine needs for any.
const HANG: Duration = Duration::from_secs(120);

/// Memory of the process is looked at after this many inputs.
const BATCH: u64 = 64;

/// One parser on trial.
#[derive(Debug)]
pub struct Trial<'a> {
    /// What is parsed, for messages. Inputs are seeded by it.
    pub name: &'a str,
    /// Valid inputs, which mutations begin with.
    pub samples: &'a [Vec<u8>],
    /// Words of the format, which are put in here and there.
    pub words: &'a [&'a str],
    /// The number of inputs unless `MUTATIONS` is set; 0: always only the samples.
    pub inputs: u64,
}

impl Trial<'_> {
    /// Gives `parse` the samples as they are, and then mutated ones.
    ///
    /// # Panics
    /// If `parse` panics, takes too much memory or does not return. The input is shown.
    pub fn run(&self, mut parse: impl FnMut(&[u8])) {
        // One at a time: memory is that of the whole process where the allocator does not see it.
        static ALONE: Mutex<()> = Mutex::new(());
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let inputs = match self.inputs {
            0 => 0,
            inputs => number("MUTATIONS").unwrap_or(inputs),
        };
        let seed = number("MUTATIONS_SEED").unwrap_or(0);
        let mut memory = MemoryWatch::start();
        std::thread::scope(|scope| {
            let (alive, watched) = mpsc::channel();
            let name = self.name;
            scope.spawn(move || watch(name, &watched));
            for at in 0..self.samples.len() as u64 + inputs {
                let mut input = Vec::new();
                alive.send(at).expect("the watch goes on");
                let tried = AssertUnwindSafe(|| match self.samples.get(at as usize) {
                    Some(sample) => {
                        input.clone_from(sample);
                        parse(&input);
                    }
                    None => draw(&(self.name, seed, at), |mut mutator| {
                        input = mutator.mutate(self.samples, self.words);
                        parse(&input);
                    }),
                });
                let parsed = memory.measure(|| catch_unwind(tried));
                if let Err(panic) = parsed {
                    self.show(at, &input);
                    resume_unwind(panic);
                }
                if memory.peak() > MEMORY_MAX || at % BATCH == 0 && memory.of_process() > MEMORY_MAX
                {
                    self.show(at, &input);
                    panic!("{}: more than {MEMORY_MAX} bytes of memory", self.name);
                }
            }
        });
        self.report(&format!("{inputs} inputs, {} bytes at most", memory.most()));
    }

    /// Writes the input to a file for inspection.
    fn show(&self, at: u64, input: &[u8]) {
        let name = self.name.replace(' ', "-");
        let path = std::env::temp_dir().join(format!("tailmark-mutation-{name}-{at}"));
        let kept = std::fs::write(&path, input).map(|()| path.display().to_string());
        let text = String::from_utf8_lossy(&input[..input.len().min(2000)]);
        self.report(&format!(
            "input {at}, in {}:\n{}",
            kept.unwrap_or_else(|error| error.to_string()),
            text.escape_debug()
        ));
    }

    #[expect(clippy::print_stdout, reason = "it is said in the output of a test")]
    fn report(&self, text: &str) {
        println!("{}: {text}", self.name);
    }
}

/// Ends the process if an input takes too long, because a thread cannot be ended.
#[expect(
    clippy::print_stderr,
    reason = "nobody collects the output of this test"
)]
fn watch(name: &str, inputs: &mpsc::Receiver<u64>) {
    let mut at = 0;
    loop {
        match inputs.recv_timeout(HANG) {
            Ok(next) => at = next,
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                eprintln!("{name}: input {at} takes longer than {} s", HANG.as_secs());
                std::process::abort();
            }
        }
    }
}

/// A number in the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.replace('_', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial<'a>(name: &'a str, samples: &'a [Vec<u8>]) -> Trial<'a> {
        Trial {
            name,
            samples,
            words: &["key"],
            inputs: 2_000,
        }
    }

    #[test]
    fn the_same_trial_tries_the_same_inputs() {
        let samples = [b"key = 12\nother = 3.5\n".to_vec(), vec![0, 1, 2, 255]];
        let tried = |name| {
            let mut inputs = Vec::new();
            trial(name, &samples).run(|input| inputs.push(input.to_vec()));
            inputs
        };
        let (first, second) = (tried("same"), tried("same"));
        assert_eq!(first, second);
        assert_eq!(first[..2], samples);
        assert_ne!(first, tried("another"));
        let distinct: std::collections::BTreeSet<_> = first.iter().collect();
        assert!(distinct.len() > 1_000, "{}", distinct.len());
    }

    #[test]
    fn a_panic_is_seen() {
        let samples = [b"a long and winding road".to_vec()];
        let run = || trial("panics", &samples).run(|input| assert!(input.len() < 30));
        assert!(catch_unwind(run).is_err());
    }

    #[test]
    fn memory_is_counted_although_it_is_given_back() {
        let samples = [vec![1_u8; 8]];
        let take = |bytes: usize| {
            move |_: &[u8]| drop(std::hint::black_box(Vec::<u8>::with_capacity(bytes)))
        };
        let one = Trial {
            inputs: 0,
            ..trial("memory", &samples)
        };
        one.run(take(90 << 20));
        assert!(catch_unwind(|| one.run(take(101 << 20))).is_err());
    }
}
