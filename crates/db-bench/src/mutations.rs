//! Any command line of db_bench is either accepted or refused. See `tailmark-testing` for how
//! inputs are generated, and how many.

use super::{
    benchmarks::{Action, ListedBenchmark},
    flags::Flags,
    options,
};
use tailmark_testing::Trial;

const CALLS: [&str; 3] = [
    "--benchmarks=fillseq,readrandom[X3-W1],stats\n--num=1000000\n--value_size=400\n\
     --key_size=20\n--threads=16\n--compression_type=none\n--seed=7\n--duration=60",
    "--benchmarks=readwhilewriting,mixgraph,seekrandom\n--benchmark_write_rate_limit=1e6\n\
     --mix_get_ratio=0.83\n--mix_put_ratio=0.14\n--mix_seek_ratio=0.03\n--key_dist_a=0.002\n\
     --keyrange_num=30\n--value_k=0.2\n--iter_sigma=2.5\n--sine_mix_rate\n--sine_a=1000",
    "--benchmarks=multireadrandom,deleteseq,compact\n--batch_size=32\n--cache_size=1048576\n\
     --bloom_bits=10\n--nouse_existing_db\n--histogram\n--stats_interval_seconds=5\n--prefix_size=8",
];

const WORDS: &[&str] = &[
    "\n--",
    "=",
    "--num=",
    "--benchmarks=",
    "[X3-W1]",
    "[",
    ",",
    "--no",
    "true",
    "--seed=",
    "--reads=",
];

#[test]
fn a_call_is_taken_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let trial = Trial {
        name: "call of db_bench",
        samples: &CALLS.map(Vec::from),
        words: WORDS,
        inputs: 1_000,
    };
    trial.run(|input| {
        let text = String::from_utf8_lossy(input);
        let words: Vec<_> = text.lines().map(str::to_owned).collect();
        let Ok(flags) = Flags::parse(&words) else {
            return;
        };
        let _ = options::settings(&flags, directory.path(), directory.path());
        let Ok(entries) = ListedBenchmark::list(flags.text("benchmarks")) else {
            return;
        };
        for entry in &entries {
            if let Action::Measure(measure) = entry.action {
                let _ = measure.counts(&flags);
                if let Ok(workload) = measure.workload(entry.name, &flags) {
                    let _ = (measure.rate(&workload, &flags), measure.batch(&workload));
                }
            }
        }
    });
}

#[test]
fn a_flag_file_that_names_itself_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flags").display().to_string();
    std::fs::write(&path, format!("--num=5\n--flagfile={path}\n")).unwrap();
    let error = Flags::parse(&[format!("--flagfile={path}")]).err().unwrap();
    assert!(
        error.to_string().contains("nested at most 10 deep"),
        "{error}"
    );
}
