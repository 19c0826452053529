//! What YCSB's drop-in costs: `tailmark ycsb` beside `tailmark run` on the same work, and, where
//! Java and YCSB's jars are there, beside YCSB's own client on its BasicDB. Interleaved: A B C, C B
//! A, ...; ratios only. `./dev bench drop_in [PAIRS] [SECONDS] [WORDS OF CASES...]`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program to look at"
)]

mod support;

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};
use support::{Run, compare};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailmark");
const RECORDS: u64 = 100_000;
/// More operations than a run has time for.
const OPERATIONS: u64 = 2_000_000_000;

/// What is done: fields, their length, and the share of reads; the rest are updates of all fields.
#[derive(Clone, Copy)]
struct Work {
    name: &'static str,
    driver: &'static str,
    threads: u32,
    fields: (u32, u32),
    reads: f64,
    /// In correct semantics both make the same values; in faithful ones the drop-in makes YCSB's.
    semantics: &'static str,
    /// Whether YCSB's client, which has no database here, does it too.
    reference: bool,
}

const fn work(name: &'static str, driver: &'static str, threads: u32, reads: f64) -> Work {
    Work {
        name,
        driver,
        threads,
        fields: (10, 100),
        reads,
        semantics: "faithful",
        reference: false,
    }
}

const CASES: &[Work] = &[
    Work {
        reference: true,
        ..work("null, reads, 1 client", "null", 1, 1.0)
    },
    work("null, reads, 16 clients", "null", 16, 1.0),
    Work {
        reference: true,
        ..work("null, updates of 10 x 100 B, 1 client", "null", 1, 0.0)
    },
    Work {
        reference: true,
        fields: (4, 1024),
        ..work("null, updates of 4 x 1,024 B, 1 client", "null", 1, 0.0)
    },
    Work {
        semantics: "correct",
        ..work(
            "null, updates of 10 x 100 B, correct semantics",
            "null",
            1,
            0.0,
        )
    },
    Work {
        semantics: "correct",
        fields: (4, 1024),
        ..work(
            "null, updates of 4 x 1,024 B, correct semantics",
            "null",
            1,
            0.0,
        )
    },
    work("rocksdb in cache, reads, 1 client", "rocksdb", 1, 1.0),
    work("rocksdb in cache, reads, 16 clients", "rocksdb", 16, 1.0),
];

fn main() {
    let mut words = env::args().skip(1).filter(|word| !word.starts_with("--"));
    let pairs: usize = words.next().and_then(|word| word.parse().ok()).unwrap_or(5);
    let seconds: u32 = words.next().and_then(|word| word.parse().ok()).unwrap_or(3);
    let wanted: Vec<_> = words.collect();
    println!("{pairs} pairs of {seconds} s; ratio = the drop-in / the other, median (min to max)");
    let chosen = |work: &&Work| wanted.iter().all(|word| work.name.contains(word.as_str()));
    for work in CASES.iter().filter(chosen) {
        measure(*work, pairs, seconds);
    }
}

/// Every run of one case, in turn, and the ratios of each turn.
fn measure(work: Work, pairs: usize, seconds: u32) {
    let scratch = tempfile::tempdir().unwrap();
    let bench = Bench {
        work,
        seconds,
        place: scratch.path(),
    };
    let bench = &bench;
    bench.plan("load"); // Loads the data set.
    let mut turn = 0;
    let mut runs: Vec<Run<'_>> = vec![
        ("the drop-in".into(), Box::new(|| bench.drop_in())),
        (
            "tailmark run".into(),
            Box::new(move || {
                turn += 1;
                bench.plan(&turn.to_string())
            }),
        ),
    ];
    if let (true, Some(jars)) = (work.reference, jars()) {
        runs.push(("YCSB's client".into(), Box::new(move || bench.java(&jars))));
    }
    compare(work.name, "ops/s", pairs, runs);
}

/// The directory of YCSB's jars, as a class path.
fn jars() -> Option<String> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))?;
    let jars = cache.join("tailmark/ycsb");
    let is_there = jars.join("core-0.17.0.jar").exists()
        && Command::new("java").arg("-version").output().is_ok();
    if !is_there {
        println!(
            "without YCSB's client: there is no Java, or no jar in {}",
            jars.display()
        );
    }
    is_there.then(|| jars.join("*").display().to_string())
}

struct Bench<'a> {
    work: Work,
    seconds: u32,
    place: &'a Path,
}

impl Bench<'_> {
    /// The properties of a YCSB call, as words.
    fn properties(&self) -> Vec<String> {
        let Work {
            fields,
            reads,
            semantics,
            ..
        } = self.work;
        let all = [
            "workload=site.ycsb.workloads.CoreWorkload".to_owned(),
            format!("recordcount={RECORDS}"),
            format!("operationcount={OPERATIONS}"),
            format!("maxexecutiontime={}", self.seconds),
            format!("fieldcount={}", fields.0),
            format!("fieldlength={}", fields.1),
            format!("readproportion={reads}"),
            format!("updateproportion={}", 1.0 - reads),
            "writeallfields=true".to_owned(),
            "basicdb.verbose=false".to_owned(),
            format!("tailmark.semantics={semantics}"),
        ];
        let threads = ["-threads".to_owned(), self.work.threads.to_string()];
        all.into_iter()
            .flat_map(|pair| ["-p".to_owned(), pair])
            .chain(threads)
            .collect()
    }

    fn drop_in(&self) -> f64 {
        let mut words = ["ycsb", "run", "basic"].map(str::to_owned).to_vec();
        if self.work.driver == "rocksdb" {
            words[2] = "rocksdb".to_owned();
            let place = format!("rocksdb.dir={}", self.place.join("data/rocksdb").display());
            words.extend(["-p".to_owned(), place]);
            words.extend(["-p", "rocksdb.block_cache=1GiB"].map(str::to_owned));
        }
        throughput(&output(
            Command::new(PROGRAM).args(words).args(self.properties()),
        ))
    }

    fn java(&self, jars: &str) -> f64 {
        let mut java = Command::new("java");
        java.args([
            "-cp",
            jars,
            "site.ycsb.Client",
            "-db",
            "site.ycsb.BasicDB",
            "-t",
        ]);
        throughput(&output(java.args(self.properties())))
    }

    /// The same by a plan.
    fn plan(&self, turn: &str) -> f64 {
        let Work {
            driver,
            threads,
            fields,
            reads,
            semantics,
            ..
        } = self.work;
        let out = self.place.join(format!("study-{turn}"));
        let mut text = format!(
            "[database]\ndriver = '{driver}'\nsemantics = '{semantics}'\n\
             [dataset]\nrecords = {RECORDS}\nfields = {}\n\
             field_length = {}\nwrite_all_fields = true\n[sweep]\nworkloads = ['bench']\n\
             threads = [{threads}]\noperations = {OPERATIONS}\nduration = '{}s'\nwarmup = '0s'\n\
             distribution = 'uniform'\n\
             [machine]\ndrop_caches = false\n\
             [[workload]]\nname = 'bench'\nread = {reads}\nupdate = {}\n\
             [[system]]\nname = 'bench'\npath = '{}'\n",
            fields.0,
            fields.1,
            self.seconds,
            1.0 - reads,
            self.place.join("data").display(),
        );
        if driver == "rocksdb" {
            text = text.replace("[dataset]", "block_cache = '1GiB'\n[dataset]");
        }
        let plan = self.place.join("plan.toml");
        std::fs::write(&plan, text).unwrap();
        output(
            Command::new(PROGRAM)
                .arg("run")
                .arg(&plan)
                .arg("-o")
                .arg(&out),
        );
        let mut export = Command::new(PROGRAM);
        let json = output(export.arg("export").arg(&out).args(["--format", "json"]));
        let document: serde_json::Value = serde_json::from_str(&json).unwrap();
        document["points"][0]["ops_per_sec"].as_f64().unwrap()
    }
}

fn throughput(text: &str) -> f64 {
    let value = |line: &str| {
        let (_, value) = line.split_once("[OVERALL], Throughput(ops/sec), ")?;
        value.parse().ok()
    };
    text.lines().find_map(value).unwrap()
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}
