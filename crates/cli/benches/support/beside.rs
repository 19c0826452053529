//! `tailmark db-bench` beside each `db_bench`: the same benchmarks with the same flags on copies of
//! one data set.

use super::{Program, compare};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The same for every program: keys and values of RocksDB's benchmark.sh, all in cache, and a
/// format that older versions read.
const FLAGS: &[&str] = &[
    "--num=500000",
    "--key_size=20",
    "--value_size=400",
    "--seed=1",
    "--cache_size=1073741824",
    "--cache_type=lru_cache",
    "--compression_type=none",
    "--bloom_bits=10",
    "--format_version=5",
    "--checksum_type=1",
    "--open_files=-1",
    "--seek_nexts=10",
];

/// The programs and a data set.
pub struct Beside<'a> {
    scratch: &'a Path,
    programs: Vec<Program>,
}

impl<'a> Beside<'a> {
    /// Fills a data set in a directory, with these flags over those that are always the same.
    pub fn new(scratch: &'a Path, mut programs: Vec<Program>, flags: &[&str]) -> Self {
        programs.insert(0, Program::tailmark());
        measure(
            &programs[0],
            &scratch.join("base"),
            "fillseq,compact",
            flags,
        );
        Self { scratch, programs }
    }

    /// Compares tailmark with each of the others.
    pub fn compare(
        &self,
        name: &str,
        benchmark: &str,
        (threads, seconds): (&str, &str),
        flags: &[&str],
        pairs: usize,
    ) {
        let (time, threads) = (
            format!("--duration={seconds}"),
            format!("--threads={threads}"),
        );
        let given = [&[&time[..], &threads], flags].concat();
        let given = &given;
        let runs = self.programs.iter().map(|program| {
            let run = move || {
                let place = copy(&self.scratch.join("base"), &self.scratch.join("copy"));
                let rate = measure(program, &place, benchmark, given);
                fs::remove_dir_all(place).unwrap();
                rate
            };
            (
                program.name.clone(),
                Box::new(run) as Box<dyn FnMut() -> f64>,
            )
        });
        compare(name, "ops/s", pairs, runs.collect());
    }
}

/// A copy whose tables are those of the original: RocksDB never changes one.
fn copy(base: &Path, place: &Path) -> PathBuf {
    fs::create_dir(place).unwrap();
    for entry in fs::read_dir(base).unwrap() {
        let from = entry.unwrap().path();
        let to = place.join(from.file_name().unwrap());
        if from.extension().is_some_and(|end| end == "sst") {
            fs::hard_link(from, to).unwrap();
        } else {
            fs::copy(from, to).unwrap();
        }
    }
    place.to_owned()
}

/// Runs a benchmark after every record was read once; its operations per second.
pub fn measure(program: &Program, place: &Path, benchmark: &str, flags: &[&str]) -> f64 {
    let fills = benchmark.starts_with("fill");
    let list = if fills {
        benchmark.to_owned()
    } else {
        format!("readtocache,{benchmark}")
    };
    let output = program
        .command()
        .arg(format!("--benchmarks={list}"))
        .arg(format!("--db={}", place.display()))
        .arg(format!("--use_existing_db={}", !fills))
        .args(FLAGS)
        .args(flags)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", program.name);
    let text = String::from_utf8(output.stdout).unwrap();
    let name = benchmark.split(',').next().unwrap();
    let line = text.lines().rfind(|line| line.starts_with(name)).unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "ops/sec").unwrap();
    words[at - 1].parse().unwrap()
}
