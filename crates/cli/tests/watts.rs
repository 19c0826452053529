//! Watts, wear and money by the whole program, on simulated databases with stated power and prices.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use serde_json::Value;
use std::{fs, path::Path};
use tailmark_testing::{Program, assert_says, err, out};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// The footnote of a study of two drives: 25 % more requests at 20 W instead of 25 W are 56 % more
/// requests per watt.
const PLAN: &str = r#"
[database]
driver = "sim"
[dataset]
records = 1_000
[sweep]
workloads = "ycsb-c"
threads = 4
duration = "5s"
warmup = "0s"
repeats = 5
[report]
metric = "ops_per_server_watt"
[machine]
probes = ["none", "power-command"]
power_command = 'if [ "$TAILMARK_SYSTEM" = new ]; then echo 20 W; else echo 25 W; fi'
idle_seconds = 1
[cost]
kwh_price = 0.25
[[system]]
name = "new"
database.model = "constant 80us; run-noise 1%"
cost = { price = 1000, device_watts = 20 }
[[system]]
name = "old"
database.model = "constant 100us; run-noise 1%"
cost = { price = 1000, device_watts = 25 }
"#;

fn run(dir: &Path, plan: &str, more: &[&str]) -> String {
    fs::write(dir.join("plan.toml"), plan).unwrap();
    let run = TAILMARK.run(dir, &[&["run", "plan.toml", "-o", "out"], more].concat());
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    out(&run) + &err(&run)
}

/// A metric of each point of a system.
fn values(dir: &Path, system: &str, metric: &str) -> Vec<f64> {
    let points = TAILMARK.points(dir).into_iter();
    let own = points.filter(|point| point["system"] == system);
    let values = own.filter_map(|point| point["derived"][metric].as_f64());
    values.collect()
}

fn near(found: &[f64], expected: f64) {
    let is_near = |value: &f64| (value / expected - 1.0).abs() < 0.05;
    assert!(
        !found.is_empty() && found.iter().all(is_near),
        "{found:?}, not {expected}"
    );
}

#[test]
fn requests_per_watt_of_two_systems_have_a_ratio_and_a_verdict() {
    let dir = TempDir::new().unwrap();
    run(dir.path(), PLAN, &[]);
    for (system, ops, watts) in [("new", 50_000.0, 20.0), ("old", 40_000.0, 25.0)] {
        near(&values(dir.path(), system, "server_watts"), watts);
        near(&values(dir.path(), system, "server_idle_watts"), watts);
        for metric in ["ops_per_server_watt", "ops_per_device_watt"] {
            near(&values(dir.path(), system, metric), ops / watts);
        }
        let energy = values(dir.path(), system, "server_joules_per_million_ops");
        near(&energy, watts / ops * 1e6);
        // 5 years of 8,766 hours.
        let cost = 1000.0 + watts / 1e3 * 5.0 * 8_766.0 * 0.25;
        near(&values(dir.path(), system, "cost_of_ownership"), cost);
        let per_million = cost / (5.0 * 8_766.0 * 3_600.0 * ops) * 1e6;
        near(
            &values(dir.path(), system, "cost_per_million_ops"),
            per_million,
        );
        assert!(values(dir.path(), system, "life_years").is_empty());
    }
    for metric in ["ops_per_server_watt", "ops_per_device_watt"] {
        let gate = format!("{metric} better by 50%");
        let args = ["compare", "out", "--baseline", "old", "--fail-if", &gate];
        let compared = TAILMARK.run(dir.path(), &args);
        assert_says(&out(&compared), &[&format!("FAIL: {gate}")]);
        assert_eq!(compared.status.code(), Some(4));
    }
    // Runs differ by 1 %: the interval holds the true ratio, 1.25 x 1.25.
    let args = ["compare", "out", "--baseline", "old", "--format", "json"];
    let compared = TAILMARK.run(dir.path(), &args);
    let compared: Value = serde_json::from_slice(&compared.stdout).unwrap();
    let all = compared["comparisons"].as_array().unwrap().iter();
    let of_server: Vec<&Value> = all
        .filter(|own| own["metric"] == "ops_per_server_watt")
        .collect();
    assert_eq!(of_server.len(), 1, "{compared}");
    let end = |name: &str| of_server[0][name].as_f64().unwrap();
    assert!(
        end("low") <= 1.5625 && 1.5625 <= end("high"),
        "{of_server:?}"
    );
    assert_eq!(of_server[0]["verdict"], "better");
    let page = TAILMARK.run(dir.path(), &["report", "out", "--format", "terminal"]);
    let words = [
        "Watts, wear and money",
        "peak, 4 threads",
        "cost of ownership, EUR",
        "idle power of the server, W",
        "no drive reported its power",
    ];
    assert_says(&out(&page), &words);
}

#[test]
fn prices_may_change_and_nothing_is_measured_again() {
    let dir = TempDir::new().unwrap();
    run(dir.path(), PLAN, &[]);
    let ops = values(dir.path(), "new", "ops_per_server_watt");
    let cheaper = PLAN.replace("price = 1000", "price = 500");
    run(dir.path(), &cheaper, &[]);
    assert_eq!(values(dir.path(), "new", "ops_per_server_watt"), ops);
    let energy = 0.02 * 5.0 * 8_766.0 * 0.25;
    near(
        &values(dir.path(), "new", "cost_of_ownership"),
        500.0 + energy,
    );
}

#[test]
fn at_the_rate_that_holds_an_slo_energy_and_cost_are_stated() {
    let dir = TempDir::new().unwrap();
    // One server: p99 is ln(100) / (125 - rate), 200 ms at 102/s; of the other at 77/s.
    let plan = PLAN
        .replace("repeats = 5", "repeats = 1")
        .replace("constant 80us", "exponential 8ms; servers 1")
        .replace("constant 100us", "exponential 10ms; servers 1");
    let slo = [
        "--slo",
        "p99 read < 200ms",
        "--quick",
        "--set",
        "slo.time=20m",
    ];
    run(dir.path(), &plan, &slo);
    let page = TAILMARK.run(dir.path(), &["report", "out", "--format", "terminal"]);
    assert_says(&out(&page), &["within p99 read < 200ms"]);
}

#[test]
fn a_command_that_fails_leaves_its_metrics_out_and_says_why() {
    let dir = TempDir::new().unwrap();
    let broken = PLAN.replace("echo 20 W", "exit 7");
    let said = run(dir.path(), &broken, &["--set", "sweep.repeats=1"]);
    assert_says(&said, &["`power_command` failed: exit status: 7"]);
    assert!(values(dir.path(), "new", "server_watts").is_empty());
    near(&values(dir.path(), "old", "server_watts"), 25.0);
}

#[test]
fn a_wall_meters_log_is_joined_by_time() {
    let dir = TempDir::new().unwrap();
    // A row a second from before the run until long after it.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap().as_secs();
    let rows = (now - 60..now + 1_800).map(|second| format!("{second},123\n"));
    let log = format!("time,watts\n{}", rows.collect::<String>());
    fs::write(dir.path().join("meter.csv"), log).unwrap();
    let key = "power_log = \"meter.csv\"\nidle_seconds";
    let plan = PLAN.replace("idle_seconds", key);
    run(dir.path(), &plan, &["--set", "sweep.repeats=1"]);
    // The meter takes precedence over the command.
    near(&values(dir.path(), "new", "server_watts"), 123.0);
}

#[test]
fn a_command_that_hangs_delays_no_point_and_its_metric_says_why() {
    let dir = TempDir::new().unwrap();
    let hangs = PLAN.replace("echo 20 W", "sleep 600");
    let said = run(dir.path(), &hangs, &["--set", "sweep.repeats=1"]);
    assert_says(&said, &["probe `power-command`", "did not end within"]);
    assert!(values(dir.path(), "new", "server_watts").is_empty());
    near(&values(dir.path(), "old", "server_watts"), 25.0);
}

#[test]
fn a_command_that_prints_anything_but_watts_is_one_clear_message() {
    for (command, why) in [
        ("echo 20 25", "did not print one number of watts"),
        (
            r#"printf "\033[31m20""#,
            "did not print one number of watts",
        ),
        ("kill -9 $$", "failed: signal: 9"),
    ] {
        let dir = TempDir::new().unwrap();
        let broken = PLAN.replace("echo 20 W", command);
        let said = run(dir.path(), &broken, &["--set", "sweep.repeats=1"]);
        assert_says(&said, &[why]);
        assert!(!said.contains('\u{1b}'), "{said}");
        assert!(values(dir.path(), "new", "server_watts").is_empty());
    }
}

#[test]
fn prices_and_ratings_that_are_none_are_refused_by_their_key() {
    let dir = TempDir::new().unwrap();
    for (key, values) in [
        ("price", &["-1", "inf", "nan", "1e300"][..]),
        ("kwh_price", &["-0.1", "nan"]),
        ("rated_tbw", &["0", "-7", "inf"]),
        ("years", &["0", "nan", "1e9"]),
        ("pue", &["0.5", "inf"]),
        ("capacity", &["0", "\"-4TB\""]),
        ("device_watts", &["0", "-3"]),
        (
            "currency",
            &["\"=1+1\"", "\"\\u001b[31mEUR\"", "\"\"", "\"E R\"", "7"],
        ),
    ] {
        for value in values {
            let plan = PLAN.replace("kwh_price = 0.25", &format!("{key} = {value}"));
            fs::write(dir.path().join("plan.toml"), plan).unwrap();
            let refused = TAILMARK.run(dir.path(), &["run", "plan.toml", "--dry-run"]);
            let said = err(&refused);
            assert_eq!(refused.status.code(), Some(2), "{key} = {value}: {said}");
            assert!(said.contains(&format!("cost.{key}")), "{value}: {said}");
            assert!(!said.contains('\u{1b}'), "{said}");
        }
    }
}

#[test]
fn a_free_system_costs_nothing_and_has_no_ratio() {
    let dir = TempDir::new().unwrap();
    let free =
        PLAN.replace("kwh_price = 0.25", "years = 1")
            .replacen("price = 1000", "price = 0", 1);
    run(dir.path(), &free, &["--set", "sweep.repeats=4"]);
    assert_eq!(values(dir.path(), "new", "cost_of_ownership"), [0.0; 4]);
    let gate = "cost_of_ownership worse by 5%";
    let args = ["compare", "out", "--fail-if", gate];
    let compared = TAILMARK.run(dir.path(), &args);
    assert_says(
        &out(&compared),
        &[&format!("UNSURE: {gate}"), "unknown or 0"],
    );
}

#[test]
fn systems_priced_in_two_currencies_are_not_compared_in_money() {
    let dir = TempDir::new().unwrap();
    let both = PLAN.replacen("price = 1000", "currency = \"USD\", price = 1000", 1);
    run(dir.path(), &both, &[]);
    let gate = "cost_per_million_ops worse by 5%";
    let args = ["compare", "out", "--baseline", "old", "--fail-if", gate];
    let compared = TAILMARK.run(dir.path(), &args);
    assert_says(
        &out(&compared),
        &[&format!("UNSURE: {gate}"), "their currencies differ"],
    );
    assert_ne!(compared.status.code(), Some(0));
    // Energy is compared as ever.
    let energy = "ops_per_server_watt better by 50%";
    let args_of_energy = ["compare", "out", "--baseline", "old", "--fail-if", energy];
    assert_says(
        &out(&TAILMARK.run(dir.path(), &args_of_energy)),
        &[&format!("FAIL: {energy}")],
    );
    let page = TAILMARK.run(dir.path(), &["report", "out", "--format", "terminal"]);
    let page = out(&page);
    assert_says(&page, &["Prices are in EUR and USD.", " USD", " EUR"]);
}
