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

use support::{beside::Beside, programs};

/// What is measured, unless named.
const BENCHMARKS: &str = "readrandom,readwhilewriting,readrandomwriterandom,fillrandom,seekrandom";

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
    let beside = Beside::new(scratch.path(), programs, &[]);
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    for benchmark in benchmarks.split(',') {
        for threads in counts.split(',') {
            let threads = threads.trim();
            let name = format!("{benchmark}, {threads} threads");
            beside.compare(&name, benchmark, (threads, &seconds), &flags, pairs);
        }
    }
}
