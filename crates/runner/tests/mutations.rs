//! Whatever a plan says, it is checked or refused, and so is what it would do. See
//! `tailmark-testing` for how inputs are made and how many.

mod planned;

use tailmark_plan::{KEYS, PLANS, RawPlan};
use tailmark_testing::{Trial, draw};

/// A plan with a table and a value of every kind.
const PLAN: &str = r#"
title = "Disk against memory"
scale = 0.5
time_scale = 0.1
[database]
driver = "null"
semantics = "correct"
[dataset]
records = "2.5M"
fields = 4
field_length = "1KiB"
[sweep]
workloads = ["ycsb-a", "mine", "dbbench-readrandom"]
distribution = "zipfian"
threads = [1, 4, 16]
operations = 200_000
duration = "20m"
warmup = "10s"
rate = "20k"
repeats = 3
seed = 7
settle = "1h"
compressibility = 0.5
[machine]
memory_limit = "1GiB"
drop_caches = true
[[workload]]
name = "mine"
read = 0.5
scan = 0.25
insert = 0.25
distribution = "latest"
[[system]]
name = "disk"
path = "/nowhere/a"
[[system]]
name = "memory"
path = "/nowhere/b"
ceiling_for = "disk"
database = { driver = "sim-threads", latency_us = 3 }
"#;

#[test]
fn a_plan_is_checked_or_refused() {
    let mut samples = vec![PLAN.as_bytes().to_vec()];
    // Without `[database]`, a mutation seldom reaches the other checks.
    samples.extend(PLANS.iter().map(|plan| plan.text.as_bytes().to_vec()));
    let mut words: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    words.extend([
        "[[system]]\n",
        "[sweep]\n",
        "\"\"\"",
        "'",
        "= {",
        "KiB",
        "h",
        "ms",
        "uniform",
    ]);
    let trial = Trial {
        name: "plan",
        samples: &samples,
        words: &words,
        inputs: 1_000,
    };
    trial.run(planned::plan);
}

#[test]
fn lines_of_any_plans_are_checked_or_refused() {
    let plans = PLANS.iter().map(|plan| plan.text).chain([PLAN]);
    let lines: Vec<&str> = plans.flat_map(str::lines).collect();
    for at in 0..500 {
        draw(&("lines of plans", at), |mut mutator| {
            let drawn = (0..mutator.below(50)).map(|_| *mutator.one(&lines));
            planned::plan(drawn.collect::<Vec<_>>().join("\n").as_bytes());
        });
    }
}

#[test]
fn an_assignment_is_taken_or_refused() {
    let mut samples: Vec<_> = KEYS
        .iter()
        .map(|key| format!("{}={}", key.path(), key.fixed_default()).into_bytes())
        .collect();
    samples.extend(["system.disk.path=/a", "system.\"a b\".path='x'"].map(Vec::from));
    let trial = Trial {
        name: "assignment",
        samples: &samples,
        words: &["system.disk.", "database.", "[1, 2]", "\"", "{ a = 1 }"],
        inputs: 2_000,
    };
    let raw = RawPlan::parse("plan", PLAN).expect("the plan is right");
    trial.run(|input| {
        let mut raw = raw.clone();
        let text = String::from_utf8_lossy(input);
        if raw.assign(&text).is_ok() {
            let _ = raw.check();
        }
    });
}
