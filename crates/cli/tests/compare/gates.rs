//! The lines of gates, and what makes them unsure.

use super::{FAST, SLOW, TAILMARK, assert_gate, compared, measured};
use tailmark_testing::{err, out};
use tempfile::TempDir;

#[test]
fn the_output_begins_with_a_line_for_each_gate_and_its_figures() {
    let dir = TempDir::new().unwrap();
    measured(dir.path(), "out", &[("slow", SLOW), ("fast", FAST)], 5, &[]);
    let gates = [
        "out",
        "--fail-if",
        "ops worse by 5%",
        "--fail-if",
        "ops worse by 90%",
        "--fail-if",
        "p99.999 read worse by 5%",
    ];
    let text = out(&compared(dir.path(), &gates));
    let lines: Vec<&str> = text.lines().take(4).collect();
    let begins = [
        "FAIL: ops worse by 5% (at 2 of 2 points): ycsb-c zipfian, ",
        "PASS: ops worse by 90% (ruled out at 2 points): ycsb-c zipfian, ",
        "UNSURE: p99.999 read worse by 5% (at 2 of 2 points): ycsb-c zipfian, ",
        "",
    ];
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "{text}");
    }
    assert!(
        lines[0].contains(" %") && lines[0].contains(", p "),
        "{text}"
    );
    assert_eq!(lines[3], "");
    let md = [&gates[..], &["--format", "md"]].concat();
    let md = out(&compared(dir.path(), &md));
    let expected = lines[..3].iter().map(|line| format!("- {line}"));
    assert!(md.lines().take(3).eq(expected), "{md}");
}

#[test]
fn a_background_rate_that_one_missed_is_an_unequal_condition_and_makes_a_gate_unsure() {
    // One writer at 1.2 ms a request does 833 of the 1,000 a second that are due.
    const PLAN: &str = r#"
        [database]
        driver = "sim"
        [dataset]
        records = 1000
        fields = 1
        field_length = 100
        [sweep]
        workloads = ["readwhilewriting"]
        threads = [4]
        background_rate = 1000
        duration = "10s"
        warmup = "1s"
        repeats = 5
        [[system]]
        name = "slow"
        database.model = "constant 1200us; run-noise 1%"
        [[system]]
        name = "fast"
        database.model = "constant 200us; run-noise 1%"
    "#;
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    let run = TAILMARK.run(dir.path(), &["run", "plan.toml", "-o", "out"]);
    assert!(run.status.success(), "{}", err(&run));
    let gate = compared(dir.path(), &["out", "--fail-if", "ops worse by 5%"]);
    assert_gate(&gate, 5, "UNSURE: ops worse by 5% (at 1 of 1 point)");
    let said = out(&gate);
    let cause = "; but background-rate-not-met in 5 of 5 runs of A may be the cause";
    assert!(said.lines().next().unwrap().ends_with(cause), "{said}");
    assert_gate(
        &gate,
        5,
        "unequal-conditions: background rate of readwhilewriting 83",
    );
    assert!(said.contains("% kept against kept"), "{said}");
}
