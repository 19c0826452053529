//! The drop-in beside db_bench: the same benchmarks with the same flags on copies of one data set,
//! A B C C B A, medians of pairs, ratios only. `DB_BENCH=name=path,... ./dev bench db_bench [PAIRS]
//! [SECONDS] [THREADS,...] [BENCHMARK,...] [FLAG...]`; the results are in docs/PERFORMANCE.md.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program to look at"
)]

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use support::{Run, compare, programs};

/// What is measured, unless named.
const BENCHMARKS: &str = "readrandom,readwhilewriting,readrandomwriterandom,fillrandom,seekrandom";

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

fn main() {
    let mut args = std::env::args().skip(1).filter(|word| word != "--bench");
    let mut next = |default: &str| args.next().unwrap_or_else(|| default.to_owned());
    let (pairs, seconds) = (next("5").parse().unwrap(), next("3"));
    let (counts, benchmarks) = (next("1,2,16,64"), next(BENCHMARKS));
    let flags: Vec<_> = args.collect();
    let programs = programs();
    assert!(
        !programs.is_empty(),
        "DB_BENCH=name=path,... names no program"
    );
    println!("{pairs} pairs of {seconds} s, {flags:?}; tailmark's ops/s to the other's");
    let scratch = tempfile::tempdir().unwrap();
    let base = scratch.path().join("base");
    let ours = (env!("CARGO_BIN_EXE_tailmark").to_owned(), Some("db-bench"));
    measure(&ours, &base, "fillseq,compact", &[]);
    for benchmark in benchmarks.split(',') {
        for count in counts.split(',') {
            let count = count.trim();
            let (time, threads) = (
                format!("--duration={seconds}"),
                format!("--threads={count}"),
            );
            let given: Vec<_> = [&time[..], &threads]
                .into_iter()
                .chain(flags.iter().map(String::as_str))
                .collect();
            let run = |program: &(String, Option<&'static str>)| {
                let place = copy(&base, &scratch.path().join("copy"));
                let rate = measure(program, &place, benchmark, &given);
                fs::remove_dir_all(place).unwrap();
                rate
            };
            let run = &run;
            let ours = &ours;
            let mut runs: Vec<Run<'_>> = vec![("tailmark".to_owned(), Box::new(move || run(ours)))];
            for (name, path) in &programs {
                let program = (path.clone(), None);
                runs.push((name.clone(), Box::new(move || run(&program))));
            }
            compare(
                &format!("{benchmark}, {count} threads"),
                "ops/s",
                pairs,
                runs,
            );
        }
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

/// Runs a benchmark, with all of the data in cache before it; its operations per second.
fn measure(
    (program, first): &(String, Option<&'static str>),
    place: &Path,
    benchmark: &str,
    flags: &[&str],
) -> f64 {
    let fills = benchmark.starts_with("fill");
    let list = if fills {
        benchmark.to_owned()
    } else {
        format!("readtocache,{benchmark}")
    };
    let output = Command::new(program)
        .args(first)
        .arg(format!("--benchmarks={list}"))
        .arg(format!("--db={}", place.display()))
        .arg(format!("--use_existing_db={}", !fills))
        .args(FLAGS)
        .args(flags)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {said}");
    let text = String::from_utf8(output.stdout).unwrap();
    let name = benchmark.split(',').next().unwrap();
    let line = text.lines().rfind(|line| line.starts_with(name)).unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "ops/sec").unwrap();
    words[at - 1].parse().unwrap()
}
