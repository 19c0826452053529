//! `tailmark import` of published tables, fio and histogram logs, as it is typed.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use serde_json::Value;
use std::{fs, path::PathBuf, process::Stdio};
use tailmark_testing::{Program, err, out};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// A file among the tests of the crate that reads it.
fn shared(name: &str) -> String {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../study/tests");
    tests.join(name).display().to_string()
}

fn run(dir: &TempDir, args: &[&str]) -> String {
    let output = TAILMARK.run(dir.path(), args);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    out(&output)
}

fn export(dir: &TempDir) -> Value {
    serde_json::from_str(&run(dir, &["export", "study", "--format", "json"])).unwrap()
}

/// The comparisons at peaks: workload, and how much more the first does in whole percent.
fn peaks(export: &Value) -> Vec<(String, i64)> {
    let comparisons = export["comparisons"].as_array().unwrap();
    let at_peaks = comparisons.iter().filter(|c| c["place"] == "peak");
    let said = at_peaks.map(|c| {
        let more = c["ratio"].as_f64().unwrap() - 1.0;
        (
            c["workload"].as_str().unwrap().to_owned(),
            (more * 100.0).round() as i64,
        )
    });
    said.collect()
}

#[test]
fn a_published_table_becomes_a_study_with_its_peaks() {
    let dir = TempDir::new().unwrap();
    let table = shared("fixtures/micron-7400.csv");
    let report = run(&dir, &["import", "csv", &table, "-o", "study"]);
    assert!(dir.path().join(report.trim()).is_file());
    let export = export(&dir);
    let printed = [("a", 44), ("b", 28), ("c", 11), ("d", 31), ("f", 50)];
    let printed = printed.map(|(letter, more)| (format!("ycsb-{letter}"), more));
    assert_eq!(peaks(&export), printed);
    let point = &export["points"][0];
    assert_eq!(
        (&point["threads"], &point["ops_per_sec"]),
        (&4.into(), &17_060.0.into())
    );
    let facts = export["facts"].as_array().unwrap();
    let from = facts
        .iter()
        .find(|fact| fact["group"] == "imported from")
        .unwrap();
    assert_eq!(
        (&from["name"], &from["value"]),
        (&"micron-7400.csv".into(), &"csv".into())
    );
}

#[test]
fn peaks_alone_become_a_study_without_thread_counts() {
    let dir = TempDir::new().unwrap();
    let table = "system,workload,threads,ops/s\na,ycsb-a,peak,154815\nb,ycsb-a,peak,101593\n";
    fs::write(dir.path().join("peaks.csv"), table).unwrap();
    run(&dir, &["import", "csv", "peaks.csv", "-o", "study"]);
    let export = export(&dir);
    assert_eq!(peaks(&export), [("ycsb-a".to_owned(), 52)]);
    assert_eq!(export["comparisons"].as_array().unwrap().len(), 1);
    assert!(export["points"][0]["threads"].is_null());
    let report = fs::read_to_string(dir.path().join("study/report.html")).unwrap();
    assert!(report.contains("154,815") && !report.contains("0 threads"));
}

#[test]
fn latencies_at_peaks_of_unknown_thread_counts_are_marked_as_measured() {
    let dir = TempDir::new().unwrap();
    let table = "system,workload,threads,ops/s,read_p99_ms\na,w,peak,3000,4\nb,w,peak,2000,5\n";
    fs::write(dir.path().join("peaks.csv"), table).unwrap();
    run(&dir, &["import", "csv", "peaks.csv", "-o", "study"]);
    run(&dir, &["report", "study", "--format", "md", "-o", "study"]);
    let report = fs::read_to_string(dir.path().join("study/report.md")).unwrap();
    let said = "As measured at the peaks (an unknown thread count), the p99 read latency of **a** is \
                **20 % lower** than b's (4.00 ms against 5.00 ms)";
    assert!(report.contains(said), "{report}");
}

#[test]
fn fios_json_becomes_a_study_with_its_histograms() {
    let dir = TempDir::new().unwrap();
    let json = shared("inputs/fio-plus.json");
    run(
        &dir,
        &["import", "fio", &json, "-o", "study", "--system", "nvme0"],
    );
    let export = export(&dir);
    let point = &export["points"][0];
    assert_eq!(
        (&point["system"], &point["threads"]),
        (&"nvme0".into(), &8.into())
    );
    assert_eq!(point["kinds"]["read"]["only_summary"], false);
    assert!(point["kinds"]["read"]["service_us"]["p99"].is_number());
    assert_eq!(export["systems"][0]["settings"]["ioengine"], "libaio");
}

#[test]
fn an_import_that_is_refused_leaves_no_study() {
    let dir = TempDir::new().unwrap();
    fs::write(
        dir.path().join("t.csv"),
        "system,workload,threads,ops/s\na,w,4,fast\n",
    )
    .unwrap();
    for (args, said) in [
        (
            vec!["import", "csv", "t.csv"],
            "line 2, column `ops/s`: `fast` is not a number",
        ),
        (
            vec!["import", "csv", "t.csv", "--unit", "us"],
            "--unit is only for hlog",
        ),
        (vec!["import", "hlog", "t.csv"], "give --unit ns, us or ms"),
        (vec!["import", "fio", "t.csv"], "it contains no JSON of fio"),
        (vec!["import", "fio", "/dev/zero"], "have more than 256 MiB"),
        (
            vec!["import", "csv", "t.csv", "--threads", "0"],
            "--threads",
        ),
        (vec!["import", "csv", "t.csv", "--system", ""], "--system"),
        (vec!["import", "csv", "t.csv", "--system", " "], "a name"),
        (vec!["import", "csv", "t.csv", "--workload", ""], "a name"),
    ] {
        let output = TAILMARK.run(dir.path(), &[args, vec!["-o", "study"]].concat());
        assert_ne!(output.status.code(), Some(0));
        assert!(err(&output).contains(said), "{}", err(&output));
        assert!(!dir.path().join("study").exists());
    }
}

/// The comparison of operations per second at a point.
fn ops_of(export: &Value) -> Value {
    let comparisons = export["comparisons"].as_array().unwrap();
    let is_it = |c: &&Value| c["metric"] == "ops_per_sec" && c["place"] == "point";
    comparisons.iter().find(is_it).unwrap().clone()
}

#[test]
fn the_same_file_imported_four_times_is_one_run() {
    let dir = TempDir::new().unwrap();
    let text = fs::read_to_string(shared("inputs/ycsb.txt")).unwrap();
    let slower = text.replace("RunTime(ms), 20000", "RunTime(ms), 40000");
    fs::write(dir.path().join("a.txt"), text).unwrap();
    fs::write(dir.path().join("b.txt"), slower).unwrap();
    for file in ["a.txt", "b.txt"].iter().cycle().take(8) {
        run(&dir, &["import", "ycsb", file, "-o", "study"]);
    }
    let ops = ops_of(&export(&dir));
    let said = (&ops["verdict"], &ops["runs_a"], &ops["runs_b"], &ops["p"]);
    let expected = ("too few runs".into(), 1.into(), 1.into(), Value::Null);
    assert_eq!(said, (&expected.0, &expected.1, &expected.2, &expected.3));
}

#[test]
fn a_figure_that_could_not_be_read_again_leaves_the_study_as_it_was() {
    let dir = TempDir::new().unwrap();
    let table = shared("fixtures/micron-7400.csv");
    run(&dir, &["import", "csv", &table, "-o", "study"]);
    let before = export(&dir);
    let log = "[OVERALL], RunTime(ms), 1e18\n[OVERALL], Throughput(ops/sec), 10\n\
               [READ], Operations, 10\n[READ], AverageLatency(us), 5\n";
    fs::write(dir.path().join("endless.txt"), log).unwrap();
    let args = "import ycsb endless.txt --threads 1 --system s --workload w -o study";
    let args: Vec<_> = args.split(' ').collect();
    let refused = TAILMARK.run(dir.path(), &args);
    assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
    assert!(err(&refused).contains("duration_s"), "{}", err(&refused));
    assert_eq!(export(&dir)["points"], before["points"]);
}

#[test]
fn first_imports_that_begin_at_once_are_all_in_the_study() {
    let dir = TempDir::new().unwrap();
    let log = fs::read_to_string(shared("inputs/db_bench.txt")).unwrap();
    let begin = |number: u32| {
        // The same file twice would be one run.
        let name = format!("run{number}.log");
        fs::write(dir.path().join(&name), format!("{log}\n{number}\n")).unwrap();
        let args = [
            "import", "db_bench", &name, "-o", "study", "--system", &name,
        ];
        let mut import = TAILMARK.command(dir.path(), &args);
        import.stdout(Stdio::piped()).stderr(Stdio::piped());
        import.spawn().unwrap()
    };
    let begun: Vec<_> = (0..4).map(begin).collect();
    for import in begun {
        let ended = import.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{}", err(&ended));
    }
    assert_eq!(export(&dir)["points"].as_array().unwrap().len(), 4 * 2);
}

#[test]
fn a_file_that_cannot_be_read_is_wrong_usage() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("notes.txt"), "no results").unwrap();
    for (file, why) in [("missing.log", "No such file"), ("notes.txt", "notes.txt")] {
        let refused = TAILMARK.run(dir.path(), &["import", "ycsb", file, "-o", "study"]);
        assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
        assert!(err(&refused).contains(why), "{}", err(&refused));
    }
}

#[test]
fn a_log_without_a_result_is_named_and_the_others_are_imported() {
    let dir = TempDir::new().unwrap();
    let log = fs::read_to_string(shared("inputs/db_bench.txt")).unwrap();
    fs::write(dir.path().join("good.log"), log).unwrap();
    fs::write(dir.path().join("killed.log"), "DB path: [/mnt/db]\n").unwrap();
    let args = [
        "import",
        "db_bench",
        "killed.log",
        "good.log",
        "-o",
        "study",
    ];
    let output = TAILMARK.run(dir.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let said = err(&output);
    assert!(
        said.contains("left out") && said.contains("killed.log"),
        "{said}"
    );
    assert_eq!(export(&dir)["points"].as_array().unwrap().len(), 2);
    let alone = TAILMARK.run(
        dir.path(),
        &["import", "db_bench", "killed.log", "-o", "new"],
    );
    assert_ne!(alone.status.code(), Some(0));
    assert!(err(&alone).contains("killed.log"), "{}", err(&alone));
}

#[test]
fn a_log_that_comes_back_has_the_same_points_valid_and_the_same_tests() {
    const PLAN: &str = r#"
        [database]
        driver = "sim"
        [dataset]
        records = 1000
        [sweep]
        workloads = ["ycsb-f"]
        threads = [4, 8]
        duration = "5s"
        warmup = "1s"
        repeats = 4
        allow_errors = "5%"
        [[system]]
        name = "a"
        database.model = "exponential 1ms; run-noise 2%; errors 1s 2s 2%"
        [[system]]
        name = "b"
        database.model = "exponential 1.1ms; run-noise 2%"
        [[system]]
        name = "c"
        ceiling_for = "a"
        database.model = "exponential 0.5ms; run-noise 2%"
    "#;
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    run(&dir, &["run", "plan.toml", "-o", "first"]);
    run(
        &dir,
        &["export", "first", "--format", "hlog", "-o", "log.hlog"],
    );
    run(
        &dir,
        &["import", "hlog", "log.hlog", "--unit", "ns", "-o", "study"],
    );
    let first: Value =
        serde_json::from_str(&run(&dir, &["export", "first", "--format", "json"])).unwrap();
    let again = export(&dir);
    let points = |export: &Value| {
        let points = export["points"].as_array().unwrap().clone();
        let has_failed = points.iter().any(|point| point["failed_operations"] != 0);
        assert!(has_failed, "none failed, so nothing is shown");
        let mut all: Vec<_> = points
            .iter()
            .map(|point| {
                let intervals = point["intervals"].as_array().unwrap().iter();
                let done: u64 = intervals
                    .map(|one| one["operations"].as_u64().unwrap())
                    .sum();
                let key = ["system", "threads", "repeat", "valid"].map(|name| point[name].clone());
                (format!("{key:?}"), done)
            })
            .collect();
        all.sort();
        all
    };
    assert_eq!(points(&again), points(&first));
    let tests = |export: &Value| {
        let comparisons = export["comparisons"].as_array().unwrap().iter();
        let names = ["a", "b", "place", "metric", "threads", "test"];
        let said = comparisons.map(|one| format!("{:?}", names.map(|name| one[name].clone())));
        said.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(tests(&again), tests(&first));
    assert!(
        tests(&first)
            .iter()
            .any(|said| said.contains("least squares with trend"))
    );
}
