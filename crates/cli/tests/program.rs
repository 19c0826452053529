//! The program as it is typed: exit codes, what goes where, and what is refused.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};
use tailmark_testing::{Program, assert_says, err, not_here, out, test};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

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

fn short_and(more: &[&str]) -> Vec<&'static str> {
    let more = more
        .iter()
        .map(|word| -> &'static str { Box::leak(word.to_string().into()) });
    SHORT.iter().copied().chain(more).collect()
}

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn a_run_prints_only_the_paths_of_its_reports() {
    let dir = TempDir::new().unwrap();
    let run = TAILMARK.run(dir.path(), SHORT);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    assert_eq!(
        out(&run),
        "out/report.html\nout/brief.pdf\nout/brief.html\n"
    );
    let page = std::fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.contains("ycsb-a"));
    let said = err(&run);
    assert!(
        said.contains("[2/2] a ycsb-a zipfian, 2 threads: "),
        "{said}"
    );
    assert!(
        said.contains(" ops/s, p99 read ") && !said.contains(" errors"),
        "{said}"
    );
}

#[test]
fn a_run_logs_its_steps_only_if_it_is_asked_to() {
    let dir = TempDir::new().unwrap();
    let with = |log: &str| {
        let mut command = TAILMARK.command(dir.path(), SHORT);
        let run = command.env("TAILMARK_LOG", log).output().unwrap();
        std::fs::remove_dir_all(dir.path().join("out")).unwrap_or_default();
        run
    };
    let is_logged = |said: &str| said.contains("DEBUG runner: opening the database");
    assert!(!is_logged(&err(&with(""))));
    let logged = with("runner=debug");
    assert_eq!(logged.status.code(), Some(0), "{}", err(&logged));
    assert!(is_logged(&err(&logged)), "{}", err(&logged));
    assert_eq!(
        out(&logged),
        "out/report.html\nout/brief.pdf\nout/brief.html\n"
    );
    assert!(!is_logged(&err(&with("remote=trace"))));
    let verbose = [&["-v"], SHORT].concat();
    assert!(is_logged(&err(&TAILMARK.run(dir.path(), &verbose))));
    let refused = with("runner=loud");
    assert_eq!(refused.status.code(), Some(2));
    assert_says(
        &err(&refused),
        &["TAILMARK_LOG is `runner=loud`", "runner=debug"],
    );
}

#[test]
fn a_run_ends_with_its_peaks_and_the_codes_of_its_findings() {
    let dir = TempDir::new().unwrap();
    let run = TAILMARK.run(dir.path(), &short_and(&["--system", "b=y"]));
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    let said = err(&run);
    let (_, end) = said.split_once("4 points measured\n").unwrap();
    let lines: Vec<&str> = end.lines().collect();
    assert!(
        lines[0].contains("Differences are not tested for significance: that takes 4 runs"),
        "{said}"
    );
    let peaks = lines
        .iter()
        .find(|line| line.starts_with("ycsb-a") || line.starts_with("YCSB A"));
    assert!(end.contains("peak ops/s") && peaks.is_some(), "{said}");
    let findings = lines
        .iter()
        .find_map(|line| line.strip_prefix("findings: "));
    let codes = findings.unwrap().split(", ");
    assert!(codes.into_iter().all(|code| {
        let (code, count) = code.split_once(' ').unwrap();
        code.chars().all(|c| c.is_ascii_lowercase() || c == '-') && count.parse::<u32>().is_ok()
    }));
    assert!(!said.contains('\u{1b}'), "it is no terminal");
}

#[test]
fn a_report_for_a_terminal_goes_to_standard_output_and_a_page_needs_a_directory() {
    let dir = TempDir::new().unwrap();
    assert_eq!(TAILMARK.run(dir.path(), SHORT).status.code(), Some(0));
    let text = TAILMARK.run(dir.path(), &["report", "out", "--format", "terminal"]);
    assert_eq!(text.status.code(), Some(0), "{}", err(&text));
    let said = out(&text);
    assert!(
        said.contains("\nPeaks\n─────\n") && said.contains("YCSB A"),
        "{said}"
    );
    assert!(!said.contains('\u{1b}') && err(&text).is_empty());
    let file = ["report", "out", "--format", "terminal", "-o", "page"];
    assert_eq!(out(&TAILMARK.run(dir.path(), &file)), "page/report.txt\n");
    let written = std::fs::read_to_string(dir.path().join("page/report.txt")).unwrap();
    assert_eq!(written, said);
    let page = TAILMARK.run(dir.path(), &["report", "out"]);
    assert_eq!(page.status.code(), Some(2));
    assert_eq!(
        err(&page),
        "error: --format html needs a directory to write into: -o OUT\n"
    );
}

#[test]
fn a_run_and_a_report_are_written_in_all_formats_that_are_asked_for() {
    let dir = TempDir::new().unwrap();
    let run = TAILMARK.run(dir.path(), &short_and(&["--format", "pdf,html"]));
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    assert_eq!(out(&run), "out/report.pdf\nout/report.html\n");
    let words = ["report", "out", "-o", "page", "--format", "md,csv,png"];
    let report = TAILMARK.run(dir.path(), &words);
    assert_eq!(report.status.code(), Some(0), "{}", err(&report));
    assert_eq!(out(&report), "page/report.md\npage/tables\npage/charts\n");
    for file in [
        "out/report.pdf",
        "page/charts/peaks.png",
        "page/tables/peaks.csv",
    ] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
    let terminal = ["report", "out", "--format", "terminal,md"];
    let nowhere = TAILMARK.run(dir.path(), &terminal);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(
        err(&nowhere).contains("--format terminal,md needs a directory"),
        "{}",
        err(&nowhere)
    );
    let unknown = TAILMARK.run(
        dir.path(),
        &["report", "out", "-o", "page", "--format", "html,doc"],
    );
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        err(&unknown).contains("'doc'") && err(&unknown).contains("pdf"),
        "{}",
        err(&unknown)
    );
}

#[test]
fn the_same_command_keeps_what_was_measured_and_a_changed_one_is_refused() {
    let dir = TempDir::new().unwrap();
    assert_eq!(TAILMARK.run(dir.path(), SHORT).status.code(), Some(0));
    let again = TAILMARK.run(dir.path(), SHORT);
    assert_eq!(again.status.code(), Some(0));
    assert!(
        err(&again).contains("0 points measured, 2 kept"),
        "{}",
        err(&again)
    );
    let changed = TAILMARK.run(dir.path(), &short_and(&["--seed", "7"]));
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
    let mut run = Command::new(TAILMARK.0);
    run.args(args)
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let run = run.spawn().unwrap();
    let study = dir.path().join("out");
    let started = Instant::now();
    loop {
        let export = TAILMARK.run(dir.path(), &["export", "out", "--format", "csv"]);
        if study.exists() && out(&export).lines().count() > 1 {
            break;
        }
        assert!(
            started.elapsed() < Duration::from_secs(30),
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
        said.contains("stopped; to resume: ") && said.contains("-o out"),
        "{said}"
    );
    assert_eq!(
        out(&stopped),
        "out/report.html\nout/brief.pdf\nout/brief.html\n"
    );
    let on = TAILMARK.run(dir.path(), &args);
    assert_eq!(on.status.code(), Some(0), "{}", err(&on));
    assert!(err(&on).contains("kept from before"), "{}", err(&on));
    let all = TAILMARK.run(dir.path(), &["export", "out", "--format", "json"]);
    let all: serde_json::Value = serde_json::from_slice(&all.stdout).unwrap();
    assert_eq!(all["points"].as_array().unwrap().len(), 3);
}

#[test]
fn a_dry_run_changes_nothing() {
    let dir = TempDir::new().unwrap();
    let run = TAILMARK.run(dir.path(), &short_and(&["--dry-run"]));
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    assert!(
        out(&run).contains("2 points, 400ms in all"),
        "{}",
        out(&run)
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_plan_with_example_places_is_explained_and_runs_where_they_are_given() {
    let dir = TempDir::new().unwrap();
    let small = [
        "run",
        "micron-7450-rocksdb",
        "--driver",
        "file",
        "--records",
        "100",
        "--threads",
        "1",
        "--operations",
        "100",
        "-o",
        "out",
    ];
    let dry = TAILMARK.run(dir.path(), &[&small[..], &["--dry-run"]].concat());
    assert_eq!(dry.status.code(), Some(2), "{}", err(&dry));
    let parts = [
        "cannot be run: the places in this plan are examples",
        "--system \"Device C=WHERE\"",
        "Device A: file in /mnt/device-a (an example)",
        "4 points in all",
    ];
    assert_says(&out(&dry), &parts);
    let given = ["--system", "Micron 7450=a", "--system", "Device A=b"];
    let given = [&small[..], &given, &["--set", "same_device=true"]].concat();
    let run = TAILMARK.run(dir.path(), &given);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    assert!(err(&run).contains("2 points measured"), "{}", err(&run));
}

#[test]
fn two_systems_on_one_device_are_refused_before_anything_is_made() {
    let dir = TempDir::new().unwrap();
    if tailmark_machine::physical_devices(dir.path()).is_empty() {
        not_here("the temporary directory is in memory");
    }
    let args = [
        "run",
        "--driver",
        "file",
        "--system",
        "a=one",
        "--system",
        "b=two",
        "--records",
        "100",
        "--threads",
        "1",
        "--operations",
        "100",
        "-o",
        "out",
    ];
    let run = TAILMARK.run(dir.path(), &args);
    assert_eq!(run.status.code(), Some(2), "{}", err(&run));
    assert!(err(&run).contains("`same_device = true`"), "{}", err(&run));
    let dry = TAILMARK.run(dir.path(), &[&args[..], &["--dry-run"]].concat());
    assert!(out(&dry).contains("one physical device"), "{}", out(&dry));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    let meant = TAILMARK.run(
        dir.path(),
        &[&args[..], &["--set", "same_device=true"]].concat(),
    );
    assert_eq!(meant.status.code(), Some(0), "{}", err(&meant));
    assert!(
        err(&meant).contains("settings, not devices"),
        "{}",
        err(&meant)
    );
    let json = TAILMARK.run(dir.path(), &["export", "out", "--format", "json"]);
    assert!(out(&json).contains("settings, not devices"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = TempDir::new().unwrap();
    assert_eq!(TAILMARK.run(dir.path(), SHORT).status.code(), Some(0));
    for args in [
        &["export", "out", "--format", "hlog"][..],
        &["list"],
        &["man"],
    ] {
        let mut run = Command::new(TAILMARK.0);
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
        assert_eq!(TAILMARK.run(dir.path(), &args).status.code(), Some(0));
    }
    let report = TAILMARK.run(dir.path(), &["report", "one", "two", "-o", "page"]);
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
        let said = TAILMARK.run(dir.path(), args);
        assert_eq!(said.status.code(), Some(0), "{args:?}");
        assert!(out(&said).contains(word), "{args:?} lacks {word}");
    }
    let man = TAILMARK.run(dir.path(), &["man", "-o", "pages"]);
    assert_eq!(man.status.code(), Some(0), "{}", err(&man));
    assert!(dir.path().join("pages/tailmark-run.1").exists());
}

#[test]
fn two_runs_of_one_plan_are_one_system_in_a_report() {
    let dir = TempDir::new().unwrap();
    for study in ["first", "second"] {
        let args = [
            "run",
            "--driver",
            "file",
            "--system",
            "a=data",
            "--records",
            "1k",
        ];
        let args = [&args[..], &["--threads", "1", "--operations", "100"]].concat();
        let run = TAILMARK.run(
            dir.path(),
            &[&args[..], &["--warmup", "0s", "-o", study]].concat(),
        );
        assert_eq!(run.status.code(), Some(0), "{}", err(&run));
        // The next one loads again, in another second.
        std::fs::remove_dir_all(dir.path().join("data")).unwrap();
        sleep(Duration::from_millis(1100));
    }
    let report = TAILMARK.run(dir.path(), &["report", "first", "second", "-o", "page"]);
    assert_eq!(report.status.code(), Some(0), "{}", err(&report));
    let page = std::fs::read_to_string(dir.path().join("page/report.html")).unwrap();
    assert!(!page.contains("under different conditions"));
}

#[test]
fn a_report_says_what_changed_and_a_folder_has_its_history() {
    let dir = TempDir::new().unwrap();
    for name in ["studies/one", "studies/two"] {
        let (last, words) = SHORT.split_last().unwrap();
        assert_eq!(*last, "out");
        let run = TAILMARK.run(dir.path(), &[words, &[name]].concat());
        assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    }
    let words = [
        "report",
        "studies/two",
        "--against",
        "studies/one",
        "--format",
        "terminal",
    ];
    let report = TAILMARK.run(dir.path(), &words);
    assert_eq!(report.status.code(), Some(0), "{}", err(&report));
    assert!(
        out(&report).contains("\nSince the earlier study\n"),
        "{}",
        out(&report)
    );
    let history = TAILMARK.run(dir.path(), &["history", "studies"]);
    assert_eq!(history.status.code(), Some(0), "{}", err(&history));
    assert_eq!(out(&history), "studies/index.html\n");
    let page = std::fs::read_to_string(dir.path().join("studies/index.html")).unwrap();
    for link in ["href=\"./one/report.html\"", "href=\"./two/report.html\""] {
        assert!(page.contains(link), "{link}");
    }
    std::fs::create_dir(dir.path().join("empty")).unwrap();
    let nothing = TAILMARK.run(dir.path(), &["history", "empty"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert_eq!(
        err(&nothing),
        "error: there is no study in `empty` that can be read\n"
    );
}

#[test]
fn any_metric_is_drawn_in_reports_and_followed_from_study_to_study() {
    let dir = TempDir::new().unwrap();
    for name in ["studies/one", "studies/two"] {
        let words = "run --driver sim-threads --system a=x --records 1k --threads 1,2 \
                     --duration 300ms --warmup 0s -o";
        let words: Vec<&str> = words.split_whitespace().chain([name]).collect();
        let run = TAILMARK.run(dir.path(), &words);
        assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    }
    let metric = ["--metric", "client_cpu_us_per_op"];
    let words = ["report", "studies/two", "--format", "terminal"];
    let report = TAILMARK.run(dir.path(), &[&words[..], &metric].concat());
    let said = out(&report);
    let title = "Client CPU per operation against operations per second";
    let (_, chart) = said.split_once(title).expect(title);
    assert!(
        [" us │", " ns │"].iter().any(|unit| chart.contains(unit)),
        "{chart}"
    );
    // What ranks no system is followed too.
    let by_metric = ["history", "studies", "--metric", "bytes_per_read"];
    let history = TAILMARK.run(dir.path(), &[&by_metric[..], &metric].concat());
    assert_eq!(history.status.code(), Some(0), "{}", err(&history));
    let page = std::fs::read_to_string(dir.path().join("studies/index.html")).unwrap();
    for heading in [
        "Operations per second at peak",
        "Bytes a read at 2 threads",
        "Client CPU per operation at 2 threads",
    ] {
        assert!(page.contains(heading), "{heading}");
    }
    let unknown = ["history", "studies", "--metric", "p98 read"];
    let refused = TAILMARK.run(dir.path(), &unknown);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        err(&refused).contains("tailmark list metrics"),
        "{}",
        err(&refused)
    );
}
