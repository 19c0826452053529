//! The program as it is typed: exit codes, what goes where, and what is refused.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailmark");

/// A run of two short points of the driver that does nothing.
const SHORT: &[&str] = &[
    "run",
    "--driver",
    "null",
    "--system",
    "a=x",
    "--records",
    "1k",
    "--threads",
    "1,2",
    "--duration",
    "200ms",
    "--warmup",
    "0s",
    "-o",
    "out",
];

fn tailmark(dir: &Path, args: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn short_and(more: &[&str]) -> Vec<&'static str> {
    let more = more
        .iter()
        .map(|word| -> &'static str { Box::leak(word.to_string().into()) });
    SHORT.iter().copied().chain(more).collect()
}

#[test]
fn a_run_prints_only_the_path_of_its_report() {
    let dir = TempDir::new().unwrap();
    let run = tailmark(dir.path(), SHORT);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    assert_eq!(out(&run), "out/report.html\n");
    let page = std::fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.contains("ycsb-a"));
    let said = err(&run);
    assert!(
        said.contains("[2/2] a ycsb-a zipfian, 2 threads: "),
        "{said}"
    );
    assert!(
        said.contains(" ops/s, read p99 ") && said.contains("no errors"),
        "{said}"
    );
}

#[test]
fn the_same_command_keeps_what_was_measured_and_a_changed_one_is_refused() {
    let dir = TempDir::new().unwrap();
    assert_eq!(tailmark(dir.path(), SHORT).status.code(), Some(0));
    let again = tailmark(dir.path(), SHORT);
    assert_eq!(again.status.code(), Some(0));
    assert!(
        err(&again).contains("0 points measured, 2 kept"),
        "{}",
        err(&again)
    );
    let changed = tailmark(dir.path(), &short_and(&["--seed", "7"]));
    assert_eq!(changed.status.code(), Some(2));
    assert!(
        err(&changed).contains("sweep.seed is `7`, was `1`"),
        "{}",
        err(&changed)
    );
    assert!(out(&changed).is_empty());
}

#[test]
fn ctrl_c_keeps_finished_points_and_the_same_command_goes_on() {
    let dir = TempDir::new().unwrap();
    let args = [
        "run",
        "--driver",
        "null",
        "--system",
        "a=x",
        "--records",
        "1k",
        "--threads",
        "1,2,3",
        "--duration",
        "1s",
        "--warmup",
        "0s",
        "-o",
        "out",
    ];
    let mut run = Command::new(PROGRAM);
    run.args(args)
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let run = run.spawn().unwrap();
    let study = dir.path().join("out");
    let begun = Instant::now();
    loop {
        let export = tailmark(dir.path(), &["export", "out", "--format", "csv"]);
        if study.exists() && out(&export).lines().count() > 1 {
            break;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "no point was finished"
        );
        sleep(Duration::from_millis(50));
    }
    let kill = Command::new("kill")
        .args(["-INT", &run.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    let stopped = run.wait_with_output().unwrap();
    let said = err(&stopped);
    assert_eq!(stopped.status.code(), Some(130), "{said}");
    assert!(
        said.contains("stopped; to go on: ") && said.contains("-o out"),
        "{said}"
    );
    assert_eq!(out(&stopped), "out/report.html\n");
    let on = tailmark(dir.path(), &args);
    assert_eq!(on.status.code(), Some(0), "{}", err(&on));
    assert!(err(&on).contains("kept from before"), "{}", err(&on));
    let all = tailmark(dir.path(), &["export", "out", "--format", "json"]);
    let all: serde_json::Value = serde_json::from_slice(&all.stdout).unwrap();
    assert_eq!(all["points"].as_array().unwrap().len(), 3);
}

#[test]
fn failed_requests_are_an_exit_code_of_their_own() {
    let dir = TempDir::new().unwrap();
    let args = [
        "run",
        "--driver",
        "scripted",
        "--system",
        "a=x",
        "--records",
        "1k",
        "--threads",
        "1",
        "--workload",
        "ycsb-c",
        "--operations",
        "1000",
        "--set",
        "database.error_every=3000",
        "--set",
        "sweep.load_threads=1",
        "--warmup",
        "0s",
        "-o",
        "out",
    ];
    // The load's 1,000 requests of one client stay below the first failure; a point's do not.
    let mut args: Vec<&str> = args.to_vec();
    let run = tailmark(dir.path(), &args);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    args.extend(["--operations", "9000"]);
    let at = args.iter().position(|word| *word == "1000").unwrap();
    args.drain(at - 1..=at);
    let at = args.iter().position(|word| *word == "out").unwrap();
    args[at] = "other";
    let run = tailmark(dir.path(), &args);
    assert_eq!(run.status.code(), Some(3), "{}", err(&run));
    assert!(err(&run).contains("3 requests failed"), "{}", err(&run));
}

/// Arguments, and what the one line on standard error must name.
const REFUSED: &[(&[&str], &[&str])] = &[
    (
        &["run", "quickstrat"],
        &["quickstrat", "did you mean `quickstart`?"],
    ),
    (&["run", "missing.toml"], &["no plan file", "missing.toml"]),
    (
        &["run", "--driver", "null"],
        &["no system", "--system NAME=WHERE"],
    ),
    (
        &["run", "--driver", "nul", "--system", "a=x"],
        &["nul", "did you mean `null`?"],
    ),
    (
        &["run", "--driver", "null", "--system", "a"],
        &["--system is `a`", "NAME=WHERE"],
    ),
    (
        &[
            "run", "--driver", "null", "--system", "a=x", "--system", "a=y",
        ],
        &["[[system]]", "`a`", "unique"],
    ),
    (
        &[
            "run",
            "--driver",
            "null",
            "--system",
            "a=x",
            "--threads",
            "0",
        ],
        &["--threads", "`0`", "1 to 1,024"],
    ),
    (
        &[
            "run",
            "--driver",
            "null",
            "--system",
            "a=x",
            "--threads",
            "1,2000",
        ],
        &["--threads", "1,2000"],
    ),
    (
        &[
            "run",
            "--driver",
            "null",
            "--system",
            "a=x",
            "--records",
            "0",
        ],
        &["--records", "`0`", "from 1 to"],
    ),
    (
        &[
            "run",
            "--driver",
            "null",
            "--system",
            "a=x",
            "--records",
            "ten",
        ],
        &["--records", "`ten`", "`100k`"],
    ),
    (
        &[
            "run",
            "--driver",
            "null",
            "--system",
            "a=x",
            "--duration",
            "5",
        ],
        &["--duration", "`5`", "its unit"],
    ),
    (
        &["run", "--driver", "null", "--system", "a=x", "--rate", "-1"],
        &["--rate"],
    ),
    (
        &[
            "run",
            "--driver",
            "null",
            "--system",
            "a=x",
            "--workload",
            "ycsb-x",
        ],
        &["--workload", "ycsb-x", "ycsb-a"],
    ),
    (
        &[
            "run",
            "--driver",
            "null",
            "--system",
            "a=x",
            "--distribution",
            "zipf",
        ],
        &["--distribution", "zipf", "uniform"],
    ),
    (
        &["run", "--driver", "null", "--system", "a=x", "--scale", "0"],
        &["--scale", "`0`"],
    ),
    (
        &[
            "run",
            "--driver",
            "null",
            "--system",
            "a=x",
            "--set",
            "sweep.thread=1",
        ],
        &["sweep.thread", "`threads`"],
    ),
    (
        &[
            "run", "--driver", "null", "--system", "a=x", "--set", "records",
        ],
        &["KEY=VALUE"],
    ),
    (
        &[
            "run",
            "--driver",
            "file",
            "--system",
            "a=x",
            "--set",
            "database.dirct=true",
        ],
        &["database.dirct", "`direct`"],
    ),
    (
        &["run", "--driver", "file", "--system", "a=no/such/place"],
        &["`a`", "no/such/place", "exists"],
    ),
    (
        &[
            "run",
            "--driver",
            "file",
            "--system",
            "a=x",
            "--records",
            "1T",
        ],
        &["`a`", "free"],
    ),
    (
        &["report", "nothing", "-o", "page"],
        &["no study in `nothing`"],
    ),
    (
        &["export", "nothing", "--format", "csv"],
        &["no study in `nothing`"],
    ),
    (
        &["export", "nothing", "--format", "xml"],
        &["xml", "json", "csv", "hlog"],
    ),
    (&["list", "driver"], &["driver", "drivers"]),
    (&["runn"], &["runn", "run"]),
    (&[], &["Usage"]),
];

#[test]
fn what_is_wrong_is_said_once_and_nothing_is_measured() {
    for (args, words) in REFUSED {
        let dir = TempDir::new().unwrap();
        let run = tailmark(dir.path(), args);
        let said = err(&run);
        assert_eq!(run.status.code(), Some(2), "{args:?}: {said}");
        assert!(out(&run).is_empty(), "{args:?}");
        assert!(
            said.matches("error:").count() <= 1 && !said.contains("panicked"),
            "{said}"
        );
        for word in *words {
            assert!(said.contains(word), "{args:?}: {said}lacks {word}");
        }
        assert!(!said.contains("ops/s"), "{args:?}: {said}");
    }
}

#[test]
fn a_plan_that_is_not_toml_is_refused_with_its_line() {
    let dir = TempDir::new().unwrap();
    std::fs::write(
        dir.path().join("p.toml"),
        "[sweep]\nthreads = [1,\n\n[host\n",
    )
    .unwrap();
    let run = tailmark(dir.path(), &["run", "p.toml"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(
        err(&run).starts_with("error: p.toml, line "),
        "{}",
        err(&run)
    );
}

#[test]
fn a_data_set_of_other_parameters_is_refused() {
    let dir = TempDir::new().unwrap();
    let run = |records: &str, out: &str| {
        let args = [
            "run",
            "--driver",
            "file",
            "--system",
            "a=data",
            "--records",
            records,
            "--threads",
            "1",
            "--workload",
            "ycsb-c",
            "--operations",
            "100",
            "--warmup",
            "0s",
            "-o",
            out,
        ];
        tailmark(dir.path(), &args)
    };
    let first = run("100", "one");
    assert_eq!(first.status.code(), Some(0), "{}", err(&first));
    let other = run("200", "two");
    assert_eq!(other.status.code(), Some(2), "{}", err(&other));
    assert!(
        err(&other).contains("records is `200`, was `100`"),
        "{}",
        err(&other)
    );
}

#[test]
fn a_dry_run_changes_nothing() {
    let dir = TempDir::new().unwrap();
    let run = tailmark(dir.path(), &short_and(&["--dry-run"]));
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    assert!(
        out(&run).contains("2 points, 400ms in all"),
        "{}",
        out(&run)
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = TempDir::new().unwrap();
    assert_eq!(tailmark(dir.path(), SHORT).status.code(), Some(0));
    for args in [
        &["export", "out", "--format", "hlog"][..],
        &["list"],
        &["man"],
    ] {
        let mut run = Command::new(PROGRAM);
        run.args(args)
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut run = run.spawn().unwrap();
        drop(run.stdout.take());
        let run = run.wait_with_output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{args:?}: {}", err(&run));
        assert!(err(&run).is_empty(), "{args:?}: {}", err(&run));
    }
}

#[test]
fn a_report_is_written_again_and_over_several_studies() {
    let dir = TempDir::new().unwrap();
    for name in ["one", "two"] {
        let mut args = SHORT.to_vec();
        args[4] = if name == "one" { "first=x" } else { "second=x" };
        *args.last_mut().unwrap() = name;
        assert_eq!(tailmark(dir.path(), &args).status.code(), Some(0));
    }
    let report = tailmark(dir.path(), &["report", "one", "two", "-o", "page"]);
    assert_eq!(report.status.code(), Some(0), "{}", err(&report));
    assert_eq!(out(&report), "page/report.html\n");
    let page = std::fs::read_to_string(dir.path().join("page/report.html")).unwrap();
    assert!(page.contains("first") && page.contains("second"));
}

#[test]
fn the_program_explains_itself() {
    let dir = TempDir::new().unwrap();
    for (args, word) in [
        (&["--help"][..], "tailmark run quickstart"),
        (&["--help"], "130"),
        (&["run", "--help"], "--time-scale"),
        (&["--version"], "tailmark 0."),
        (&["list", "plans"], "quickstart"),
        (&["list", "keys"], "sweep.threads"),
        (&["completions", "bash"], "_tailmark"),
        (&["completions", "zsh"], "#compdef tailmark"),
        (&["man"], ".TH tailmark"),
    ] {
        let said = tailmark(dir.path(), args);
        assert_eq!(said.status.code(), Some(0), "{args:?}");
        assert!(out(&said).contains(word), "{args:?} lacks {word}");
    }
    let man = tailmark(dir.path(), &["man", "-o", "pages"]);
    assert_eq!(man.status.code(), Some(0), "{}", err(&man));
    assert!(dir.path().join("pages/tailmark-run.1").exists());
}
