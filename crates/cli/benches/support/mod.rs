//! What benches share: an interleaved comparison, a bare loop on threads, programs to compare with.
#![allow(dead_code, reason = "not every bench uses all of it")]

pub mod beside;
pub mod measured;
pub mod null;

use std::{
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Something to be measured: its name, and a run of it.
pub type Run<'a> = (String, Box<dyn FnMut() -> f64 + 'a>);

/// Runs tailmark and each of the others in turn, A B C C B A, so that what one leaves behind for
/// the next falls on each alike; prints the median of each and of the ratios.
pub fn compare(name: &str, unit: &str, pairs: usize, mut runs: Vec<Run<'_>>) {
    let mut figures = vec![Vec::new(); runs.len()];
    for pair in 0..pairs {
        let mut order: Vec<_> = (0..runs.len()).collect();
        if pair % 2 == 1 {
            order.reverse();
        }
        for index in order {
            figures[index].push(runs[index].1());
        }
    }
    let ours = median(&figures[0]);
    println!("{name}: tailmark {ours:.1} {unit}");
    for ((other, _), theirs) in runs.iter().zip(&figures).skip(1) {
        let ratios = sorted(figures[0].iter().zip(theirs).map(|(a, b)| a / b).collect());
        println!(
            "    to {other:<24} {:>6.3} ({:.3} to {:.3}), which did {:.1} {unit}",
            ratios[ratios.len() / 2],
            ratios[0],
            ratios[ratios.len() - 1],
            median(theirs),
        );
    }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The value in the middle.
pub fn median(values: &[f64]) -> f64 {
    sorted(values.to_vec())[values.len() / 2]
}

/// The two that every comparison has.
pub fn pair<'a>(ours: impl FnMut() -> f64 + 'a, bare: impl FnMut() -> f64 + 'a) -> Vec<Run<'a>> {
    vec![
        ("tailmark".into(), Box::new(ours)),
        ("a bare loop".into(), Box::new(bare)),
    ]
}

/// Runs `client` on so many threads for a time; operations per second.
///
/// The time begins before the threads do: once they run, the one that reads the clock may wait
/// behind all of them for some tenths of a second, in which they are not idle.
pub fn bare(threads: u32, time: Duration, client: impl Fn(u32, &AtomicBool) -> u64 + Sync) -> f64 {
    let (stop, operations) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = OnceLock::new();
    std::thread::scope(|scope| {
        for index in 0..threads {
            let (start, client, stop, operations) = (&start, &client, &stop, &operations);
            scope.spawn(move || {
                let _: &Instant = start.wait();
                operations.fetch_add(client(index, stop), Ordering::Relaxed);
            });
        }
        start.set(Instant::now()).unwrap();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
    });
    // To the end of the last client, as a phase is measured: many clients take a while to end.
    operations.load(Ordering::Relaxed) as f64 / start.wait().elapsed().as_secs_f64()
}

/// A program with db_bench's flags.
#[derive(Clone)]
pub struct Program {
    /// Its name in the comparison.
    pub name: String,
    /// The program and its first words.
    words: Vec<String>,
    /// A library whose allocator it uses instead of its own.
    preload: Option<String>,
}

impl Program {
    /// The drop-in.
    pub fn tailmark() -> Self {
        Self {
            name: "tailmark".to_owned(),
            words: vec![env!("CARGO_BIN_EXE_tailmark").to_owned(), "db-bench".into()],
            preload: None,
        }
    }

    /// A call of it without flags.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        if let Some(library) = &self.preload {
            command.env("LD_PRELOAD", library);
        }
        command
    }
}

/// The `db_bench` programs to compare with: `DB_BENCH=name=path,name=path+library`, where a library
/// is preloaded for its allocator.
pub fn programs() -> Vec<Program> {
    let given = std::env::var("DB_BENCH").unwrap_or_default();
    let program = |(name, path): (&str, &str)| {
        let (path, library) = path
            .split_once('+')
            .map_or((path, None), |(path, library)| (path, Some(library)));
        Program {
            name: name.to_owned(),
            words: vec![path.to_owned()],
            preload: library.map(str::to_owned),
        }
    };
    let given = given.split(',').filter_map(|p| p.split_once('='));
    given.map(program).collect()
}
