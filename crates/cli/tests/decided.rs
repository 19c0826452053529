//! Repeats that end once a verdict is reached, and points that end once their figures are known, by
//! the whole program on simulated databases.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{collections::BTreeMap, fs, path::Path, thread, time::Duration};
use tailmark_testing::{Program, assert_says, err, out};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// Two systems a quarter apart with one thread and alike with five, because one of them has four
/// servers and the other five.
const PLAN: &str = r#"
[database]
driver = "sim"
[dataset]
records = 1_000
[sweep]
workloads = "ycsb-c"
threads = [1, 5]
duration = "2s"
warmup = "0s"
repeats = "4..20"
[[system]]
name = "fast"
database.model = "constant 80us; servers 4; run-noise 5%"
[[system]]
name = "slow"
database.model = "constant 100us; servers 5; run-noise 5%"
"#;

fn run(dir: &Path, more: &[&str]) -> String {
    run_plan(dir, PLAN, more)
}

fn run_plan(dir: &Path, plan: &str, more: &[&str]) -> String {
    fs::write(dir.join("plan.toml"), plan).unwrap();
    let run = TAILMARK.run(dir, &[&["run", "plan.toml", "-o", "out"], more].concat());
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    out(&run) + &err(&run)
}

/// The repeats of each system at each thread count.
fn repeats(dir: &Path) -> BTreeMap<(String, u64), Vec<u64>> {
    let mut repeats: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for point in TAILMARK.points(dir) {
        let threads = point["threads"].as_u64().unwrap();
        let system = point["system"].as_str().unwrap().to_owned();
        let repeat = point["repeat"].as_u64().unwrap();
        repeats.entry((system, threads)).or_default().push(repeat);
    }
    repeats.values_mut().for_each(|own| own.sort_unstable());
    repeats
}

#[test]
fn a_point_has_repeats_until_its_verdicts_are_decided() {
    let dir = TempDir::new().unwrap();
    let said = run(dir.path(), &[]);
    let found = repeats(dir.path());
    let count = |system: &str, threads: u64| found[&(system.to_owned(), threads)].len();
    let (at_1, at_5) = (count("fast", 1), count("fast", 5));
    assert!((4..10).contains(&at_1), "{at_1}");
    assert_eq!(at_5, 20, "equal with 5 % of noise is not decided");
    for ((system, threads), own) in &found {
        assert_eq!(own.len(), count("fast", *threads), "{system} {threads}");
        assert!(own.iter().copied().eq(1..=own.len() as u64), "{own:?}");
    }
    let begun = format!(
        "repeat {} of at most 20: 1 of 2 points is open (ycsb-c at 5 threads)",
        at_1 + 1
    );
    assert_says(&said, &[&begun]);
    let report = TAILMARK.run(
        dir.path(),
        &["report", "out", "-o", "out", "--format", "md"],
    );
    let page = fs::read_to_string(dir.path().join("out/report.md"));
    let page = page.unwrap_or_else(|_| err(&report));
    let compared = TAILMARK.run(dir.path(), &["compare", "out", "--format", "json"]);
    let compared: serde_json::Value = serde_json::from_str(&out(&compared)).unwrap();
    let of_ops = |one: &&serde_json::Value| one["metric"] == "ops_per_sec" && one["threads"] == 1;
    let mut of_ops = compared["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .filter(of_ops);
    let one = of_ops.next().unwrap();
    assert_eq!([&one["runs_a"], &one["runs_most"]], [at_1 as u64, 20]);
    let ended = format!("Verdicts on ops/s were decided after {at_1} of at most 20 repeats");
    assert_says(
        &page,
        &[&ended, "at 5 threads those on ops/s are open after 20"],
    );
}

#[test]
fn a_killed_run_comes_to_the_same_points() {
    let dir = TempDir::new().unwrap();
    let whole = TempDir::new().unwrap();
    run(whole.path(), &[]);
    fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    for after_ms in [100, 200, 400, 800, 1_600, 3_200] {
        let mut child = TAILMARK
            .command(dir.path(), &["run", "plan.toml", "-o", "out"])
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(after_ms));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    run(dir.path(), &[]);
    assert_eq!(repeats(dir.path()), repeats(whole.path()));
}

#[test]
fn a_point_ends_by_the_verdicts_of_the_report_also_beside_points_with_too_few_samples() {
    // With 4 threads a point has too few reads for p99.99, which counts in the family of tests.
    let plan = r#"
report.metric = "p99.99 read"
[database]
driver = "sim"
model = "exponential 200us; servers 8; run-noise 2%"
[dataset]
records = "10k"
[sweep]
workloads = ["ycsb-c"]
threads = [4, 16]
duration = "3s"
warmup = "0s"
repeats = "4..12"
[[system]]
name = "a"
[[system]]
name = "b"
database = { model = "exponential 230us; servers 8; run-noise 2%" }
"#;
    let dir = TempDir::new().unwrap();
    run_plan(dir.path(), plan, &[]);
    let metrics = ["--metric", "ops", "--metric", "p99.99 read"];
    let args = [&["compare", "out", "--format", "json"][..], &metrics].concat();
    let compared = TAILMARK.run(dir.path(), &args);
    let compared: serde_json::Value = serde_json::from_slice(&compared.stdout).unwrap();
    let all = compared["comparisons"].as_array().unwrap();
    let latencies = all.iter().filter(|one| one["metric"] != "ops_per_sec");
    assert_eq!(latencies.count(), 1, "{all:#?}");
    for one in all {
        let verdict = one["verdict"].as_str().unwrap();
        let is_decided = ["better", "worse", "equivalent"].contains(&verdict);
        assert!(is_decided || one["runs_a"] == 12, "{one:#}");
    }
}

#[test]
fn a_log_beside_another_is_judged_as_before() {
    let dir = TempDir::new().unwrap();
    let tailmark = |args: &str| {
        let args: Vec<&str> = args.split(' ').collect();
        let run = TAILMARK.run(dir.path(), &args);
        assert_eq!(run.status.code(), Some(0), "{args:?}: {}", err(&run));
        out(&run)
    };
    fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    tailmark("run plan.toml -o range --repeats 4..6 --threads 5");
    tailmark("run plan.toml -o fixed --repeats 1 --threads 5 --workload ycsb-b");
    for study in ["range", "fixed"] {
        tailmark(&format!("export {study} --format hlog -o {study}.hlog"));
    }
    tailmark("import hlog range.hlog --unit ns -o alone");
    tailmark("import hlog range.hlog fixed.hlog --unit ns -o before");
    tailmark("import hlog fixed.hlog range.hlog --unit ns -o after");
    let p = |study: &str| {
        let verdicts = tailmark(&format!("compare {study} --metric ops --format json"));
        let verdicts: serde_json::Value = serde_json::from_str(&verdicts).unwrap();
        let all = verdicts["comparisons"].as_array().unwrap().iter();
        let points = all.filter(|one| one["workload"] == "ycsb-c");
        let p: Vec<f64> = points.filter_map(|one| one["p"].as_f64()).collect();
        assert!(!p.is_empty(), "{verdicts}");
        p
    };
    // Beside a run that took no turns the drift of the others stays in their noise.
    assert_eq!(p("before"), p("after"));
    assert_eq!(p("alone"), p("range"));
    let looked = tailmark("report after -o after --format md");
    let page = fs::read_to_string(dir.path().join("after/report.md")).unwrap_or(looked);
    assert_says(
        &page,
        &["p and intervals allow for looking after each repeat"],
    );
}

#[test]
fn a_dry_run_says_how_many_there_may_be() {
    let dir = TempDir::new().unwrap();
    let said = run(dir.path(), &["--dry-run"]);
    assert_says(
        &said,
        &[
            "2 systems x 1 workload x 2 thread counts x 4 to 20 repeats: up to 80 points in all",
            "4 of each point, then more until every pair of systems is better, worse or equivalent \
             in ops/s, 20 at most",
            "4 times over, then each point again until its verdicts are decided",
            "repeats until systems 10% apart are told from each other: about 6 if runs differ by 3%",
        ],
    );
}

#[test]
fn runs_that_are_copies_of_one_another_are_not_said_to_be_open_after_one() {
    let dir = TempDir::new().unwrap();
    let constant = EXPONENTIAL
        .replace("exponential", "constant")
        .replace("5s..1h", "1s");
    let constant =
        constant.replace("repeats = 20", "repeats = '4..6'") + "[[system]]\nname = 'b'\n";
    run_plan(dir.path(), &constant, &[]);
    let report = TAILMARK.run(
        dir.path(),
        &["report", "out", "-o", "out", "--format", "md"],
    );
    assert_eq!(report.status.code(), Some(0), "{}", err(&report));
    let page = fs::read_to_string(dir.path().join("out/report.md")).unwrap();
    assert!(!page.contains("of at most 6 repeats"), "{page}");
}

/// Reads of 1 ms on average, whose p99 is 4.605 ms.
const EXPONENTIAL: &str = r#"
[database]
driver = "sim"
model = "exponential 1ms"
[dataset]
records = 1_000
[sweep]
workloads = "ycsb-c"
threads = 4
duration = "5s..1h"
warmup = "0s"
repeats = 20
[report]
metric = "p99 read"
[[system]]
name = "a"
"#;

#[test]
fn a_point_ends_once_its_figures_are_known_and_they_are() {
    let dir = TempDir::new().unwrap();
    let said = run_plan(dir.path(), EXPONENTIAL, &["--dry-run"]);
    let budget = "measure 5s to 1h, until ops/s and the latency are known within 5%";
    assert_says(&said, &[budget, "at most"]);
    run_plan(dir.path(), EXPONENTIAL, &[]);
    let points = TAILMARK.points(dir.path());
    let lengths = points
        .iter()
        .map(|point| point["duration_s"].as_f64().unwrap());
    assert!(lengths.clone().all(|length| (5.0..600.0).contains(&length)));
    assert!(points.iter().all(|point| point["figures_known"] == true));
    let p99 = |point: &serde_json::Value| point["kinds"]["read"]["service_us"]["p99"].as_f64();
    let is_near = |us: &f64| (us / 4_605.2 - 1.0).abs() <= 0.05;
    let near = points.iter().filter_map(p99).filter(is_near).count();
    assert!(near >= 18, "{near} of 20 are within 5 %");
    TAILMARK.run(
        dir.path(),
        &["report", "out", "-o", "out", "--format", "md"],
    );
    let page = fs::read_to_string(dir.path().join("out/report.md")).unwrap();
    assert_says(
        &page,
        &["of at most 1h, once their figures were known within 5 %"],
    );
}
