//! `./dev faults [SECONDS] [SEED[:ROUND]]`: tiny sweeps of the real program, disturbed at seeded
//! random instants, that go on to their end and are held against what docs/RELIABILITY.md promises.
//!
//! The same seed chooses the same rounds: their plans, faults, instants and damages. An instant is
//! a time after the start, after a load or after a point; how far the program is by then is up to
//! the machine, so that a broken promise may need its round more than once to show again.
//! `SEED:ROUND` starts with that round.
//!
//! As a part of `cargo test` it runs for a minute, or for `TAILMARK_FAULTS_S` seconds. Faults of
//! file systems and devices need root and loop devices, rounds on a server need `TEST_CASSANDRA`;
//! what is left out without them is said.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a campaign that cannot be set up has failed, and says so"
)]

mod broken;
mod draw;
mod faults;
mod ground;
mod program;
mod promises;
mod quiet;
mod records;
mod round;
mod sweep;

use broken::{Broken, Kept};
use faults::FAULTS;
use round::{Choice, Here, Round};
use std::{
    collections::BTreeMap,
    env,
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

const SECONDS: u64 = 60;
const SEED: u64 = 1;
/// Set where it runs with mounts of its own.
const INSIDE: &str = "TAILMARK_FAULTS_INSIDE";

/// What was asked for.
struct Asked {
    time: Duration,
    seed: u64,
    first: u64,
}

/// What was done.
#[derive(Default)]
struct Done {
    rounds: u64,
    by_target: BTreeMap<&'static str, u64>,
    by_fault: BTreeMap<&'static str, u64>,
    skipped: BTreeMap<&'static str, u64>,
}

fn main() -> ExitCode {
    let requested = match requested() {
        Ok(Some(requested)) => requested,
        Ok(None) => return ExitCode::SUCCESS,
        Err(usage) => {
            println!("{usage}");
            return ExitCode::from(2);
        }
    };
    let refusal = ground::refusal();
    if refusal.is_none() && env::var_os(INSIDE).is_none() {
        // Whatever ends this program, its mounts and loop devices go with it.
        let mut inside = Command::new("unshare");
        inside.args(["--mount", "--propagation", "private", "--"]);
        inside
            .arg(env::current_exe().unwrap())
            .args(env::args_os().skip(1));
        println!("no mounts of its own: {}", inside.env(INSIDE, "1").exec());
    }
    let here = Here {
        disks: refusal.is_none(),
    };
    for driver in ["cassandra", "redis"] {
        if tailmark_testing::is_ci() && sweep::server(driver).is_none() {
            println!("no server of {driver} is named; in CI it must be");
            return ExitCode::FAILURE;
        }
    }
    if let Some(why) = refusal {
        println!("without loop devices ({why}): their faults are left out");
    }
    let (began, mut done) = (Instant::now(), Done::default());
    let mut number = requested.first;
    while began.elapsed() < requested.time || done.rounds == 0 {
        let choice = Choice::from_seed(requested.seed, number);
        match choice.lacks(here) {
            Some(what) => *done.skipped.entry(what).or_default() += 1,
            None if run(requested.seed, number, &choice, here).is_err() => {
                return ExitCode::FAILURE;
            }
            None => done.count(&choice),
        }
        number += 1;
    }
    done.tell(&requested, number, began.elapsed());
    ExitCode::SUCCESS
}

/// The words of the command line; none where a filter of `cargo test` asks for other tests.
fn requested() -> Result<Option<Asked>, String> {
    let usage = || "usage: faults [SECONDS] [SEED[:ROUND]]".to_owned();
    let number = |word: &str| word.parse::<u64>().map_err(|_| usage());
    let words: Vec<_> = env::args().skip(1).collect();
    let is_for_cargo = |word: &String| !word.starts_with(|c: char| c.is_ascii_digit());
    if words.iter().any(is_for_cargo) {
        println!(
            "faults: left out, for it is asked for other tests: {}",
            words.join(" ")
        );
        return Ok(None);
    }
    let seconds = match (words.first(), env::var("TAILMARK_FAULTS_S")) {
        (Some(word), _) => number(word)?,
        (None, Ok(word)) => number(&word)?,
        (None, Err(_)) => SECONDS,
    };
    let (seed, first) = match words
        .get(1)
        .map(|word| word.split_once(':').unwrap_or((word, "0")))
    {
        Some((seed, first)) => (number(seed)?, number(first)?),
        None => (SEED, 0),
    };
    Ok(Some(Asked {
        time: Duration::from_secs(seconds),
        seed,
        first,
    }))
}

/// One round in a directory of its own, which is kept where a promise was broken.
fn run(seed: u64, number: u64, choice: &Choice, here: Here) -> Kept {
    let names: Vec<_> = choice.faults.iter().map(|fault| fault.name).collect();
    let began = Instant::now();
    let dir = tempfile::Builder::new()
        .prefix("tailmark-faults-")
        .tempdir()
        .unwrap();
    let path = dir.path().canonicalize().unwrap();
    let mut round = Round::new(seed, number, &path, choice.target, here);
    let kept = round.run(&choice.faults);
    let took = began.elapsed().as_secs_f64();
    let what = format!(
        "round {seed}:{number} {}: {}",
        choice.target.name,
        names.join(", ")
    );
    match &kept {
        Ok(()) => println!("{what} ({took:.1} s)"),
        Err(Broken { expected, seen }) => {
            let _ = dir.keep();
            println!("{what}: A PROMISE IS BROKEN");
            round.log.iter().for_each(|line| println!("    {line}"));
            println!(
                "  expected: {expected}\n  seen: {seen}\n  kept: {}",
                path.display()
            );
            println!("  again: ./dev faults 1 {seed}:{number}");
        }
    }
    kept
}

impl Done {
    fn count(&mut self, choice: &Choice) {
        self.rounds += 1;
        *self.by_target.entry(choice.target.name).or_default() += 1;
        for fault in &choice.faults {
            *self.by_fault.entry(fault.name).or_default() += 1;
        }
    }

    fn tell(&self, requested: &Asked, end: u64, took: Duration) {
        let (seed, first, last) = (requested.seed, requested.first, end - 1);
        let rounds = self.rounds;
        println!(
            "\n{rounds} rounds of seed {seed} ({first} to {last}) in {:.0} s; all promises kept",
            took.as_secs_f64()
        );
        for (target, count) in &self.by_target {
            println!("  {count:4} on {target}");
        }
        for fault in FAULTS {
            let count = self.by_fault.get(fault.name).unwrap_or(&0);
            println!("  {count:4} {}: {}", fault.name, fault.about);
        }
        for (what, count) in &self.skipped {
            println!("  {count:4} left out for want of {what}");
        }
        println!(
            "Checked after each: every point once; kinds, intervals and operations agree; budgets\n\
             exact; load and marker agree; every acknowledged record is there; exit codes and\n\
             messages as documented; no process or file left over."
        );
    }
}
