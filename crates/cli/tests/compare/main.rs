//! `tailmark compare`: systems whose truth is known, by the driver that simulates them.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod bounds;
mod consistency;
mod gates;
mod hostile;

use serde_json::{Value, json};
use std::{path::Path, process::Output};
use tailmark_testing::{Program, err, out};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// A simulated database and its service.
type System<'a> = (&'a str, &'a str);

/// Measures these systems into a directory, each so often; `more` are flags.
fn measured(dir: &Path, out: &str, systems: &[System<'_>], repeats: u32, more: &[&str]) {
    let mut plan = "title = \"Simulated\"\n".to_owned();
    for (name, model) in systems {
        plan += &format!("[[system]]\nname = \"{name}\"\npath = \"nowhere\"\n");
        plan += &format!("[system.database]\nmodel = \"{model}\"\n");
    }
    std::fs::write(dir.join(format!("{out}.toml")), plan).unwrap();
    let (file, repeats) = (format!("{out}.toml"), repeats.to_string());
    let args = [
        "run",
        &file,
        "-o",
        out,
        "--driver",
        "sim",
        "--records",
        "1k",
    ];
    let sweep = [
        "--repeats",
        &repeats,
        "--duration",
        "1500ms",
        "--warmup",
        "0s",
    ];
    let which = if more.contains(&"--threads") {
        &["--workload", "ycsb-c"][..]
    } else {
        &["--workload", "ycsb-c", "--threads", "2,4"]
    };
    let run = TAILMARK.run(dir, &[&args[..], &sweep, which, more].concat());
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
}

fn compared(dir: &Path, args: &[&str]) -> Output {
    TAILMARK.run(dir, &[&["compare"], args].concat())
}

/// That a line begins so: of a paragraph, of a heading or of a list.
#[track_caller]
fn assert_gate(output: &Output, code: i32, line: &str) {
    let said = out(output);
    assert_eq!(output.status.code(), Some(code), "{said}{}", err(output));
    let is_said = said
        .lines()
        .any(|reason| reason.trim_start_matches("- ").starts_with(line));
    assert!(is_said, "{said}lacks `{line}`");
}

const FAST: &str = "constant 200us; run-noise 3%";
const SLOW: &str = "constant 250us; run-noise 3%";
const NOISY: &str = "constant 200us; run-noise 30%";

#[test]
fn a_true_slowdown_of_a_fifth_is_shown_in_operations_and_in_latency() {
    let dir = TempDir::new().unwrap();
    measured(dir.path(), "out", &[("slow", SLOW), ("fast", FAST)], 5, &[]);
    for condition in [
        "ops worse by 5%",
        "p99.9 read worse by 10%",
        "mean read differs by 5%",
    ] {
        let gate = compared(dir.path(), &["out", "--fail-if", condition]);
        let line = format!("FAIL: {condition} (at 2 of 2 points)");
        assert_gate(&gate, 4, &line);
    }
    let peak = compared(dir.path(), &["out", "--fail-if", "peak ops worse by 5%"]);
    assert_gate(&peak, 4, "FAIL: peak ops worse by 5% (at 1 of 1 peak)");
    // Seen from the other side it is a gain, and no loss of any size.
    let turned = ["out", "--system", "fast", "--fail-if", "ops worse by 5%"];
    let turned = compared(dir.path(), &turned);
    assert_gate(&turned, 0, "PASS: ops worse by 5% (ruled out at 2 points)");
    assert!(out(&turned).contains("A is better"), "{}", out(&turned));
    let better = ["out", "--baseline", "slow", "--fail-if", "ops better by 5%"];
    let better = compared(dir.path(), &better);
    assert_gate(&better, 4, "FAIL: ops better by 5%");
}

#[test]
fn equal_systems_are_ruled_out_to_differ_by_a_fifth_but_not_by_a_thousandth() {
    let dir = TempDir::new().unwrap();
    measured(dir.path(), "out", &[("a", FAST), ("b", FAST)], 5, &[]);
    let both = [
        "out",
        "--fail-if",
        "ops worse by 20%",
        "--fail-if",
        "p99 read worse by 20%",
    ];
    let both = compared(dir.path(), &both);
    assert_gate(&both, 0, "PASS: ops worse by 20% (ruled out at 2 points)");
    assert_gate(
        &both,
        0,
        "PASS: p99 read worse by 20% (ruled out at 2 points)",
    );
    let fine = compared(dir.path(), &["out", "--fail-if", "ops differs by 0.1%"]);
    assert_gate(&fine, 5, "UNSURE: ops differs by 0.1%");
    // The outcomes of several are the worst of them.
    let with = [
        "out",
        "--fail-if",
        "ops worse by 20%",
        "--fail-if",
        "ops differs by 0.1%",
    ];
    assert_eq!(compared(dir.path(), &with).status.code(), Some(5));
}

#[test]
fn three_repeats_cannot_tell_however_large_the_difference() {
    let dir = TempDir::new().unwrap();
    measured(dir.path(), "out", &[("slow", SLOW), ("fast", FAST)], 3, &[]);
    let args = ["out", "--fail-if", "ops worse by 5%"];
    let gate = compared(dir.path(), &args);
    assert_gate(&gate, 5, "UNSURE: ops worse by 5% (at 2 of 2 points)");
    assert_gate(&gate, 5, "ycsb-c zipfian, 2 threads: ");
    let said = out(&gate);
    assert!(said.contains("3 and 3 runs are too few: "), "{said}");
    assert!(said.contains("There is no verdict"), "{said}");
    let allowed = compared(dir.path(), &[&args[..], &["--allow-unsure"]].concat());
    assert_gate(&allowed, 0, "UNSURE: ops worse by 5%");
}

#[test]
fn noise_of_a_third_cannot_tell_a_twentieth_and_says_how_many_repeats_would() {
    let dir = TempDir::new().unwrap();
    measured(dir.path(), "out", &[("a", NOISY), ("b", NOISY)], 5, &[]);
    let text = compared(dir.path(), &["out", "--fail-if", "ops worse by 5%"]);
    assert_gate(&text, 5, "UNSURE: ops worse by 5%");
    let args = ["out", "--fail-if", "ops worse by 20%", "--format", "json"];
    let gate = compared(dir.path(), &args);
    assert_eq!(gate.status.code(), Some(5), "{}", out(&gate));
    let said: Value = serde_json::from_slice(&gate.stdout).unwrap();
    let gates = said["gates"].as_array().unwrap();
    assert_eq!(gates[0]["outcome"], "unsure");
    let points = gates[0]["points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    // (t(0.9875) + z(0.9) with what it takes for an unknown noise) noise sqrt(2 / n) is the logarithm
    // of how far the ratio is from 0.8, or below that from 1; the noise that ten runs show is between
    // half of the true 0.3 and one and a half.
    for point in points.iter().filter(|point| point["reason"] == "noise") {
        let ratio = point["ratio"].as_f64().unwrap();
        let distance = if ratio <= 0.8 {
            1.0 / ratio
        } else {
            ratio / 0.8
        };
        let repeats = |sum: f64, noise: f64| 2.0 * (sum * noise / distance.ln()).powi(2);
        let needed = point["repeats_needed"].as_f64().unwrap();
        let expected = repeats(3.2, 0.15)..repeats(6.0, 0.45).max(5.0);
        assert!(expected.contains(&needed), "{point}: {expected:?}");
    }
    assert!(
        points.iter().any(|point| point["reason"] == "noise"),
        "{points:?}"
    );
}

#[test]
fn two_studies_compare_each_system_with_itself() {
    let dir = TempDir::new().unwrap();
    let (one, two) = (
        &[("a", FAST), ("b", FAST)],
        &[("a", SLOW), ("b", FAST), ("c", FAST)],
    );
    measured(dir.path(), "base", one, 5, &[]);
    measured(dir.path(), "branch", two, 5, &["--seed", "2"]);
    let args = [
        "branch/study.sqlite",
        "base",
        "--fail-if",
        "ops worse by 5%",
    ];
    let gate = compared(dir.path(), &args);
    assert_gate(&gate, 4, "FAIL: ops worse by 5% (at 2 of 4 points)");
    assert_gate(&gate, 4, "a, ycsb-c zipfian, 2 threads: ");
    assert_gate(&gate, 4, "unequal-conditions: a, model constant 250us");
    let alone = [
        "branch",
        "base",
        "--system",
        "b",
        "--fail-if",
        "ops worse by 20%",
    ];
    let alone = compared(dir.path(), &alone);
    assert_gate(&alone, 0, "PASS: ops worse by 20% (ruled out at 2 points)");
    assert!(
        !out(&alone).contains("unequal-conditions"),
        "{}",
        out(&alone)
    );
    // Two that differ in their names too.
    let across = ["branch", "base", "--system", "a", "--baseline", "b"];
    let across = compared(
        dir.path(),
        &[&across[..], &["--fail-if", "ops worse by 5%"]].concat(),
    );
    assert_gate(&across, 4, "FAIL: ops worse by 5% (at 2 of 2 points)");
}

#[test]
fn what_the_systems_differ_in_is_named_beside_the_verdicts() {
    let dir = TempDir::new().unwrap();
    measured(dir.path(), "out", &[("slow", SLOW), ("fast", FAST)], 4, &[]);
    let said = compared(dir.path(), &["out"]);
    assert_gate(
        &said,
        0,
        &format!("unequal-conditions: model {SLOW} against {FAST}"),
    );
    assert_gate(
        &said,
        0,
        "Verdicts hold for these devices under this load on ",
    );
    let output = |format: &str| compared(dir.path(), &["out", "--format", format]);
    let json: Value = serde_json::from_slice(&output("json").stdout).unwrap();
    let unequal = &json["unequal"];
    assert_eq!(unequal.as_array().unwrap().len(), 1, "{unequal}");
    assert_eq!(
        (&unequal[0]["condition"], &unequal[0]["value_a"]),
        (&json!("model"), &json!(SLOW))
    );
    let md = out(&output("md"));
    assert!(md.contains("unequal-conditions"), "{md}");
}

#[test]
fn the_metric_of_the_plan_is_compared_unless_others_are_asked_for() {
    let dir = TempDir::new().unwrap();
    let metric = ["--metric", "p95 read"];
    measured(
        dir.path(),
        "out",
        &[("slow", SLOW), ("fast", FAST)],
        1,
        &metric,
    );
    let has = |args: &[&str]| {
        let said = compared(dir.path(), &[&["out", "--format", "json"], args].concat());
        let json: Value = serde_json::from_slice(&said.stdout).unwrap();
        let all = json["comparisons"].as_array().unwrap();
        all.iter().any(|one| one["metric"] == "p95 read")
    };
    assert!(has(&[]) && !has(&["--metric", "p99 read"]));
}

#[test]
fn json_has_every_comparison_and_its_ratio_is_of_the_first_to_the_second() {
    let dir = TempDir::new().unwrap();
    measured(dir.path(), "out", &[("slow", SLOW), ("fast", FAST)], 5, &[]);
    let said = compared(
        dir.path(),
        &["out", "--format", "json", "--metric", "p50 read"],
    );
    assert_eq!(said.status.code(), Some(0), "{}", err(&said));
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!((&said["version"], &said["gates"]), (&json!(1), &json!([])));
    assert_eq!(
        (&said["a"][0]["name"], &said["b"][0]["system"]),
        (&json!("slow"), &json!("fast"))
    );
    let comparisons = said["comparisons"].as_array().unwrap();
    let found: Vec<_> = comparisons
        .iter()
        .map(|c| (&c["metric"], &c["threads"]))
        .collect();
    let p50 = json!("p50 read");
    assert_eq!(found, [(&p50, &json!(2)), (&p50, &json!(4))]);
    for comparison in comparisons {
        let ratio = comparison["ratio"].as_f64().unwrap();
        assert!((1.15..1.36).contains(&ratio), "{comparison}");
        assert_eq!(
            (&comparison["verdict"], &comparison["runs_a"]),
            (&json!("worse"), &json!(5))
        );
        assert_eq!(comparison["runs_most"], Value::Null);
        assert_eq!(comparison.as_object().unwrap().len(), 26);
    }
    let usual = compared(dir.path(), &["out", "--format", "json"]);
    let usual: Value = serde_json::from_slice(&usual.stdout).unwrap();
    let usual = usual["comparisons"].as_array().unwrap();
    let mut metrics: Vec<_> = usual
        .iter()
        .map(|c| c["metric"].as_str().unwrap())
        .collect();
    metrics.sort_unstable();
    metrics.dedup();
    assert_eq!(
        metrics,
        ["mean read", "ops_per_sec", "p99 read", "p99.9 read"]
    );
    assert_eq!(usual.iter().filter(|c| c["place"] == "peak").count(), 1);
}

#[test]
fn markdown_is_tables_of_as_many_cells_in_every_row() {
    let dir = TempDir::new().unwrap();
    measured(
        dir.path(),
        "out",
        &[("slow|er", SLOW), ("fast", FAST)],
        5,
        &[],
    );
    let args = ["out", "--format", "md", "--fail-if", "ops worse by 5%"];
    let said = compared(dir.path(), &args);
    assert_eq!(said.status.code(), Some(4), "{}", err(&said));
    let said = out(&said);
    let rows: Vec<&str> = said.lines().filter(|line| line.starts_with('|')).collect();
    // Four metrics and the peaks: a header, a rule and a row for each point.
    assert_eq!(rows.len(), 4 * 4 + 3, "{said}");
    for row in rows {
        assert_eq!(row.replace("\\|", "").matches('|').count(), 9, "{row}");
    }
    assert!(said.contains("\n- A: slow\\|er in out"), "{said}");
    assert!(said.contains("\n### FAIL: ops worse by 5%"), "{said}");
    assert!(said.contains("| A is worse |"), "{said}");
}

#[test]
fn a_point_that_only_one_has_is_named_and_one_of_which_a_run_failed_cannot_tell() {
    let dir = TempDir::new().unwrap();
    let failing = format!("{FAST}; errors 0s 2s 50%");
    measured(dir.path(), "base", &[("a", FAST)], 4, &["--threads", "4,8"]);
    measured(dir.path(), "branch", &[("a", FAST)], 4, &["--seed", "2"]);
    let some = compared(
        dir.path(),
        &["branch", "base", "--fail-if", "ops worse by 20%"],
    );
    assert_gate(&some, 0, "PASS: ops worse by 20% (ruled out at 1 point)");
    let left_out = "2 of 3 points are not compared: only A has it (1), only B has it (1).";
    assert_gate(&some, 0, left_out);
    assert_gate(&some, 0, "ycsb-c zipfian, 2 threads: only A has it");
    assert_gate(&some, 0, "ycsb-c zipfian, 8 threads: only B has it");
    let plan = format!(
        "[[system]]\nname = \"a\"\npath = \"nowhere\"\n\
         [system.database]\nmodel = \"{failing}\"\n"
    );
    std::fs::write(dir.path().join("failing.toml"), plan).unwrap();
    let run = "run failing.toml -o failing --driver sim --records 1k --repeats 4 --duration 1500ms \
               --warmup 0s --workload ycsb-c --threads 2,4";
    let run = TAILMARK.run(dir.path(), &run.split_whitespace().collect::<Vec<_>>());
    assert_eq!(run.status.code(), Some(3), "{}", err(&run));
    let failed = compared(
        dir.path(),
        &["failing", "branch", "--fail-if", "ops worse by 20%"],
    );
    assert_gate(&failed, 5, "UNSURE: ops worse by 20% (at 2 of 2 points)");
    assert_gate(&failed, 5, "ycsb-c zipfian, 4 threads: a run of A failed");
    let peak = ["failing", "branch", "--fail-if", "peak ops worse by 20%"];
    let peak = compared(dir.path(), &peak);
    assert_gate(&peak, 5, "ycsb-c zipfian, peaks: one of them has no peak");
    let none = ["branch", "base", "--fail-if", "p99 scan worse by 5%"];
    let none = compared(dir.path(), &none);
    assert_gate(
        &none,
        5,
        "UNSURE: p99 scan worse by 5% (no point of both has p99 scan)",
    );
}

#[test]
fn numbers_that_are_bounds_or_not_known_cannot_tell() {
    let dir = TempDir::new().unwrap();
    // A serves about 1,000 a second of the 20,000 that are due, and most are never done.
    let systems = [
        ("late", "constant 1ms; servers 1; run-noise 1%"),
        ("fast", FAST),
    ];
    let rate = ["--threads", "16", "--rate", "20k"];
    measured(dir.path(), "out", &systems, 4, &rate);
    let gate = compared(dir.path(), &["out", "--fail-if", "p99 read worse by 5%"]);
    assert_gate(&gate, 5, "UNSURE: p99 read worse by 5% (at 1 of 1 point)");
    assert_gate(
        &gate,
        5,
        "ycsb-c zipfian, 20,000/s even, 16 threads: the rate was not reached, so latencies",
    );
    let tail = compared(
        dir.path(),
        &["out", "--fail-if", "p99.999 read worse by 5%"],
    );
    assert_gate(
        &tail,
        5,
        "UNSURE: p99.999 read worse by 5% (at 1 of 1 point)",
    );
    assert!(
        out(&tail).contains("the rate was not reached"),
        "{}",
        out(&tail)
    );
    // How much is done in a second is known.
    let throughput = compared(dir.path(), &["out", "--fail-if", "ops worse by 50%"]);
    assert_gate(&throughput, 4, "FAIL: ops worse by 50% (at 1 of 1 point)");
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let dir = TempDir::new().unwrap();
    let three = [("a", FAST), ("b", FAST), ("c", FAST)];
    measured(dir.path(), "three", &three, 1, &[]);
    measured(dir.path(), "other", &[("d", FAST)], 1, &[]);
    measured(dir.path(), "other2", &[("d", FAST)], 1, &["--seed", "2"]);
    for (args, words) in [
        (&["three"][..], &["--system and --baseline", "a, b, c"][..]),
        (
            &["three", "--system", "a"],
            &["--system and --baseline", "a, b, c"],
        ),
        (
            &["three", "--system", "x", "--baseline", "a"],
            &["--system is `x`", "a, b, c"],
        ),
        (
            &["other", "other2", "--fail-if", "ops worse by 5% in ycbs-c"],
            &[
                "no compared point has workload `ycbs-c`",
                "did you mean `ycsb-c`?",
            ],
        ),
        (
            &["three", "--fail-if", "p99.9 raed worse by 5%"],
            &["did you mean `p99.9 read`?"],
        ),
        (
            &["three", "--system", "a", "--baseline", "a"],
            &["both `a`"],
        ),
        (&["other"], &["second study", "`other` has: d"]),
        (
            &["three", "other"],
            &["no system is in both", "a, b, c", "`other` has: d"],
        ),
        (
            &["three", "other", "--system", "a"],
            &["--baseline is `a`", "`other` has: d"],
        ),
        (&["three", "three/study.sqlite"], &["given twice"]),
        (&["three", "nothing"], &["no study in `nothing`"]),
        (
            &["three", "--metric", "p98 read"],
            &["p99.9", "read-modify-write"],
        ),
        (
            &["three", "--fail-if", "ops slower by 5%"],
            &["worse|better|differs"],
        ),
        (&["three", "--equivalence", "3"], &["percentage"]),
        (
            &["three", "--format", "xml"],
            &["text", "md", "html", "json"],
        ),
    ] {
        let refused = compared(dir.path(), args);
        let said = err(&refused);
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {said}");
        assert!(out(&refused).is_empty(), "{args:?}");
        for word in words {
            assert!(said.contains(word), "{args:?}: {said}lacks {word}");
        }
    }
}
