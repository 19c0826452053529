//! What `compare` says of copies of runs, and of two peaks that are lower bounds.

use super::{TAILMARK, assert_gate, compared};
use std::fs;
use tailmark_testing::{err, out};
use tempfile::TempDir;

#[test]
fn copies_of_a_run_are_in_no_value_that_is_shown() {
    let dir = TempDir::new().unwrap();
    let import = |name: &str, rows: &str| {
        let head = "system,workload,threads,ops_per_sec,read_p99_us\n";
        fs::write(dir.path().join(name), format!("{head}{rows}")).unwrap();
        let args = ["import", "csv", name, "-o", "study"];
        assert!(TAILMARK.run(dir.path(), &args).status.success());
    };
    let a = "a,w,4,1000,100\na,w,4,1010,101\na,w,4,1020,102\na,w,4,1030,103\n";
    let b = "b,w,4,500,200\nb,w,4,1500,150\nb,w,4,1400,140\nb,w,4,1450,145\n";
    import("all.csv", &format!("{a}{b}"));
    for _ in 0..4 {
        import("one.csv", "b,w,4,500,200\n");
    }
    let args = ["study", "--system", "a", "--baseline", "b"];
    let said = out(&compared(dir.path(), &args));
    // One of the imports of `one.csv` counts, however often its row is elsewhere.
    assert_eq!(
        cells(&said)[2..6],
        ["1,015", "947", "1.1X", "4, 5"],
        "{said}"
    );
}

/// The cells of the row of workload `w`.
fn cells(said: &str) -> Vec<&str> {
    let row = said.lines().find(|line| line.starts_with("w ")).unwrap();
    let cells = row.split("  ").map(str::trim);
    cells.filter(|cell| !cell.is_empty()).collect()
}

#[test]
fn rows_of_one_file_with_equal_rounded_figures_are_repeats() {
    let dir = TempDir::new().unwrap();
    let row = |system: &str, ops: u32| format!("{system},w,4,{ops}\n");
    let a = [55_100, 55_100, 55_200, 55_000].map(|ops| row("a", ops));
    let b = [58_100, 58_200, 58_100, 58_000].map(|ops| row("b", ops));
    let rows = format!("{}{}", a.concat(), b.concat());
    let table = format!("system,workload,threads,ops/s\n{rows}");
    fs::write(dir.path().join("t.csv"), table).unwrap();
    for _ in 0..2 {
        let args = ["import", "csv", "t.csv", "-o", "study"];
        assert!(TAILMARK.run(dir.path(), &args).status.success());
    }
    let args = ["study", "--system", "a", "--baseline", "b"];
    let said = out(&compared(dir.path(), &args));
    assert_eq!(cells(&said)[5], "4, 4", "{said}");
    assert!(said.contains("worse"), "{said}");
}

#[test]
fn runs_without_noise_decide_no_gate() {
    let dir = TempDir::new().unwrap();
    let rows = "a,w,4,1000\n".repeat(4) + &"b,w,4,500\n".repeat(4);
    let table = format!("system,workload,threads,ops/s\n{rows}");
    fs::write(dir.path().join("t.csv"), table).unwrap();
    let import = ["import", "csv", "t.csv", "-o", "study"];
    assert!(TAILMARK.run(dir.path(), &import).status.success());
    let gate = ["--fail-if", "ops worse by 10%"];
    let args = [
        &["study", "--system", "b", "--baseline", "a"][..],
        &gate[..],
    ];
    let output = compared(dir.path(), &args.concat());
    assert_gate(&output, 5, "UNSURE: ops worse by 10%");
    let said = out(&output).replace("\n  ", " ");
    assert!(said.contains("so their noise is unknown"), "{said}");
}

#[test]
fn the_figures_of_peaks_are_those_that_their_ratio_is_of() {
    let dir = TempDir::new().unwrap();
    // The highest mean of `a` is at 32 threads, 1,034; its repeats choose 8 and 32 threads.
    let points = [
        ("a", 8, [1024.5, 1105.9, 947.1, 1063.1, 884.6]),
        ("a", 16, [1015.5, 996.7, 964.0, 949.1, 984.3]),
        ("a", 32, [897.1, 1031.3, 1120.0, 1030.6, 1107.0]),
        ("b", 8, [925.2, 1001.0, 966.0, 952.1, 968.0]),
        ("b", 16, [1030.5, 970.0, 1084.4, 947.0, 919.2]),
        ("b", 32, [1016.1, 953.0, 1030.8, 968.3, 924.1]),
    ];
    let rows = points.iter().flat_map(|(system, threads, runs)| {
        runs.map(|ops| format!("{system},w,{threads},{ops}\n"))
    });
    let head = "system,workload,threads,ops_per_sec\n".to_owned();
    fs::write(dir.path().join("t.csv"), head + &rows.collect::<String>()).unwrap();
    let args = ["import", "csv", "t.csv", "-o", "study"];
    assert!(TAILMARK.run(dir.path(), &args).status.success());
    let said = out(&compared(dir.path(), &["study", "--metric", "ops"]));
    let (_, peaks) = said.split_once("at peaks").unwrap();
    let found = cells(peaks);
    assert_eq!(found[2..5], ["956", "988", "−3.3 %"], "{said}");
}

#[test]
fn a_bound_of_three_runs_decides_no_gate() {
    const PLAN: &str = r#"
        [database]
        driver = "sim"
        [dataset]
        records = 1000
        [sweep]
        workloads = ["ycsb-c"]
        threads = [4]
        duration = "5s"
        warmup = "1s"
        repeats = 3
        allow_errors = "5%"
        [[system]]
        name = "a"
        database.model = "exponential 1ms; run-noise 0.1%; errors 1s 2s 2%"
        [[system]]
        name = "b"
        database.model = "exponential 1.1ms; run-noise 0.1%"
    "#;
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    let run = TAILMARK.run(dir.path(), &["run", "plan.toml", "-o", "study"]);
    assert!(run.status.success(), "{}", err(&run));
    let pair = ["study", "--system", "a", "--baseline", "b"];
    let gate = [
        "--metric",
        "mean read",
        "--fail-if",
        "mean read better by 30%",
    ];
    let output = compared(dir.path(), &[&pair[..], &gate[..]].concat());
    assert_gate(&output, 5, "UNSURE: mean read better by 30%");
}
