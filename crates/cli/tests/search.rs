//! Searches for the highest rate that holds limits, as they are typed: on simulated databases, whose
//! answers are known.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use serde_json::Value;
use std::{
    path::Path,
    process::Stdio,
    thread::sleep,
    time::{Duration, Instant},
};
use tailmark_testing::{Program, err, out};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// One server and exponential service times: p99 is ln(100) / (1000 - rate), 15 ms at 693/s.
const MODEL: &str = "database.model=exponential 1ms; servers 1";

/// A run on a simulated database, short, with these arguments too.
fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let short = [
        "run",
        "--driver",
        "sim",
        "--system",
        "a=x",
        "--records",
        "1k",
        "--set",
        "sweep.workloads=ycsb-c",
        "--threads",
        "4",
        "--duration",
        "10s",
        "--warmup",
        "1s",
        "-o",
        "out",
    ];
    short.into_iter().chain(more.iter().copied()).collect()
}

fn searches(dir: &Path) -> Vec<Value> {
    TAILMARK.exported(dir, "slo")
}

fn run(dir: &Path, more: &[&str]) -> (Option<i32>, String) {
    let run = TAILMARK.run(dir, &args(more));
    (run.status.code(), err(&run))
}

const LIMIT: &str = "p99 read < 15ms";

#[test]
fn a_quick_search_finds_the_rate_and_every_number_says_that_it_was_quick() {
    let dir = TempDir::new().unwrap();
    // Time enough to confirm both ends.
    let more = [
        "--set",
        MODEL,
        "--set",
        "slo.time=20m",
        "--slo",
        LIMIT,
        "--quick",
    ];
    let (code, said) = run(dir.path(), &more);
    assert_eq!(code, Some(0), "{said}");
    let search = &searches(dir.path())[0];
    let (low, high) = (
        search["low"].as_f64().unwrap(),
        search["high"].as_f64().unwrap(),
    );
    assert!(low <= 693.0 * 1.1 && high >= 693.0 / 1.1, "{search}");
    assert_eq!(search["quick"], true);
    assert!(
        said.contains("left at most") && said.contains(", quick search)"),
        "{said}"
    );
    // An end is tried twice, and no try says the contrary.
    let trials = search["trials"].as_array().unwrap();
    for (end, verdict, contrary) in [(low, "pass", "fail"), (high, "fail", "pass")] {
        let same = trials.iter().filter(|trial| trial["rate"] == end);
        let verdicts: Vec<&Value> = same.map(|trial| &trial["verdict"]).collect();
        assert!(verdicts.len() >= 2, "{search}");
        assert!(verdicts.contains(&&Value::from(verdict)), "{verdicts:?}");
        assert!(!verdicts.contains(&&Value::from(contrary)), "{verdicts:?}");
    }
    let page = TAILMARK.run(dir.path(), &["report", "out", "--format", "terminal"]);
    let page = out(&page);
    assert!(page.contains("The highest rate that holds"), "{page}");
    assert!(
        page.contains("quick search") && page.contains(LIMIT),
        "{page}"
    );
    // The index of the folder has the answer beside the peak and the latency.
    let history = TAILMARK.run(dir.path(), &["history", "."]);
    assert_eq!(history.status.code(), Some(0), "{}", err(&history));
    let index = std::fs::read_to_string(dir.path().join("index.html")).unwrap();
    for title in [
        format!("that hold {LIMIT}"),
        "Operations per second at peak".to_owned(),
        "p99 read".to_owned(),
    ] {
        assert!(index.contains(&title.replace('<', "&lt;")), "{title}");
    }
}

#[test]
fn what_a_search_cannot_find_is_said_so() {
    let search = |more: &[&str]| {
        let dir = TempDir::new().unwrap();
        let (code, said) = run(dir.path(), &[&["--quick"], more].concat());
        assert_eq!(code, Some(0), "{said}");
        searches(dir.path()).remove(0)
    };
    // 1 ms on average: one in a hundred takes 4.6 ms even if it is alone.
    let never = search(&[
        "--set",
        MODEL,
        "--slo",
        "p99 read < 2ms",
        "--set",
        "slo.min_rate=100",
    ]);
    assert_eq!(never["status"], "not-at-any-rate");
    assert_eq!(never["low"], Value::Null);
    let all = search(&["--set", MODEL, "--slo", LIMIT, "--set", "slo.max_rate=300"]);
    assert_eq!(
        (&all["status"], &all["low"]),
        (&"max-rate".into(), &300.0.into())
    );
    // Two clients in flight at 5 ms each: no more than 400/s, whatever the database can do.
    let client = search(&[
        "--set",
        "database.model=constant 5ms",
        "--slo",
        "p99 read < 50ms",
        "--set",
        "slo.threads=2",
    ]);
    assert_eq!(
        (&client["status"], &client["high"]),
        (&"client-limit".into(), &Value::Null)
    );
    assert!(client["low"].as_f64().unwrap() <= 400.0, "{client}");
    let evidence = client["trials"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|finding| finding["evidence"].as_str());
    assert!(
        evidence.unwrap().contains("no client was free"),
        "{evidence:?}"
    );
    // A tenth of the requests fails: they are over every limit.
    let failing = search(&[
        "--set",
        "database.model=constant 1ms; errors 0s 1h 10%",
        "--slo",
        "p99 read < 50ms",
        "--set",
        "sweep.allow_errors=100%",
        "--set",
        "slo.min_rate=100",
    ]);
    assert_eq!(failing["status"], "not-at-any-rate");
}

#[test]
fn all_limits_must_hold_and_workloads_without_such_requests_are_not_searched() {
    let dir = TempDir::new().unwrap();
    let limits = "p99 read < 15ms, p99 update < 8ms";
    let more = [
        "--set",
        MODEL,
        "--set",
        "sweep.workloads=ycsb-a,ycsb-c",
        "--set",
        "slo.time=20m",
        "--slo",
        limits,
        "--quick",
    ];
    let (code, said) = run(dir.path(), &more);
    assert_eq!(code, Some(0), "{said}");
    let found = searches(dir.path());
    assert_eq!(found.len(), 2);
    // p99 of updates is 8 ms at 424/s, that of reads 15 ms at 693/s: what is looked for in the mix of
    // both is found below what is looked for in reads alone.
    let [mix, reads] = [&found[0], &found[1]].map(|answer| {
        let ends = [&answer["low"], &answer["high"]].map(Value::as_f64);
        assert!(ends[0].or(ends[1]).is_some(), "{answer}");
        ends
    });
    assert!(mix[0].is_none_or(|low| low <= 424.0 * 1.1), "{mix:?}");
    assert!(mix[1].is_none_or(|high| high >= 424.0 / 1.1), "{mix:?}");
    assert!(reads[0].is_none_or(|low| low <= 693.0 * 1.1), "{reads:?}");
    assert!(reads[1].is_none_or(|high| high >= 693.0 / 1.1), "{reads:?}");
    assert_eq!(found[0]["trials"][0]["limits"].as_array().unwrap().len(), 2);
    assert_eq!(found[1]["trials"][0]["limits"].as_array().unwrap().len(), 1);
    let fresh = TempDir::new().unwrap();
    let (refused, why) = run(fresh.path(), &["--slo", "p99 scan < 1ms"]);
    assert_eq!(refused, Some(2));
    assert!(why.contains("slo.latency") && why.contains("read"), "{why}");
}

#[test]
fn a_system_that_all_clients_wait_for_is_the_limit() {
    let dir = TempDir::new().unwrap();
    // 1,000/s in all; with 256 in flight a request takes 256 ms, which is within the limit.
    let more = [
        "--set",
        "database.model=exponential 10ms; servers 10",
        "--slo",
        "p99 read < 500ms",
        "--set",
        "slo.min_rate=900",
        "--quick",
    ];
    let (code, said) = run(dir.path(), &more);
    assert_eq!(code, Some(0), "{said}");
    let search = &searches(dir.path())[0];
    assert_ne!(search["status"], "client-limit", "{search}");
    let high = search["high"].as_f64().unwrap();
    assert!((950.0..1_200.0).contains(&high), "{search}");
}

#[test]
fn a_limit_on_requests_that_were_not_seen_is_not_held() {
    let dir = TempDir::new().unwrap();
    let plan = "[database]\ndriver = 'sim'\nmodel = 'exponential 10ms; servers 1'\n\
        [dataset]\nrecords = 1000\n\
        [sweep]\nworkloads = ['rare']\nthreads = [1, 4]\nduration = '1000s'\nwarmup = '1s'\n\
        [[workload]]\nname = 'rare'\nread = 1\nupdate = 20000\n\
        [slo]\nlatency = ['p50 read < 1ms', 'p99 update < 150ms']\nquick = true\n\
        [[system]]\nname = 'a'\n";
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let run = TAILMARK.run(dir.path(), &["run", "plan.toml", "-o", "out"]);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    let search = &searches(dir.path())[0];
    // No read is served within 1 ms, half of the time: that can never hold.
    assert_eq!(search["low"], Value::Null, "{search}");
}

#[test]
fn a_database_that_stops_to_answer_fails_trials_and_says_so() {
    let dir = TempDir::new().unwrap();
    let more = [
        "--set",
        "database.model=exponential 1ms; servers 1; errors 15s 3h 100%",
        "--slo",
        LIMIT,
        "--quick",
    ];
    let (code, said) = run(dir.path(), &more);
    assert_eq!(code, Some(0), "{said}");
    let search = &searches(dir.path())[0];
    assert_eq!(search["status"], "not-at-any-rate", "{search}");
    let trial = &search["trials"][0];
    assert_eq!(trial["verdict"], "fail");
    assert!(trial["evidence"].is_string() && said.contains(trial["evidence"].as_str().unwrap()));
    let codes = trial["findings"].as_array().unwrap().iter();
    let codes: Vec<&Value> = codes.map(|finding| &finding["code"]).collect();
    assert!(codes.contains(&&Value::from("no-answer")), "{codes:?}");
}

#[test]
fn a_scale_of_times_leaves_time_for_a_search() {
    let dir = TempDir::new().unwrap();
    let more = [
        "--dry-run",
        "--set",
        MODEL,
        "--slo",
        LIMIT,
        "--time-scale",
        "0.01",
    ];
    let dry = TAILMARK.run(dir.path(), &args(&more));
    assert_eq!(dry.status.code(), Some(0), "{}", err(&dry));
}

#[test]
fn a_search_that_was_killed_goes_on_as_it_would_have_gone_on() {
    let more = ["--set", MODEL, "--slo", LIMIT, "--quick"];
    let whole = TempDir::new().unwrap();
    assert_eq!(run(whole.path(), &more).0, Some(0));
    let parts = TempDir::new().unwrap();
    let rates = |dir: &Path| -> Vec<Value> {
        let trials = searches(dir)[0]["trials"].as_array().unwrap().clone();
        trials.iter().map(|trial| trial["rate"].clone()).collect()
    };
    let known = |dir: &Path| {
        if dir.join("out/study.sqlite").exists() {
            searches(dir)
                .first()
                .map_or(0, |search| search["trials"].as_array().unwrap().len())
        } else {
            0
        }
    };
    for kill in 1..4 {
        let mut child = TAILMARK.command(parts.path(), &args(&more));
        let mut child = child
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(120);
        while known(parts.path()) < kill && child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < end, "no trial for two minutes");
            sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let (code, said) = run(parts.path(), &more);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(rates(parts.path()), rates(whole.path()));
    let [a, b] = [&whole, &parts].map(|dir| searches(dir.path()).remove(0));
    assert_eq!(
        (&a["low"], &a["high"], &a["status"]),
        (&b["low"], &b["high"], &b["status"])
    );
    let (second, resumed) = run(parts.path(), &more);
    assert_eq!(second, Some(0));
    assert!(resumed.contains("are already measured"), "{resumed}");
}

#[test]
fn limits_may_change_until_there_are_trials() {
    let dir = TempDir::new().unwrap();
    assert_eq!(run(dir.path(), &["--set", MODEL]).0, Some(0));
    assert!(searches(dir.path()).is_empty());
    let (code, said) = run(dir.path(), &["--set", MODEL, "--slo", LIMIT, "--quick"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(searches(dir.path()).len(), 1);
    let other = ["--set", MODEL, "--slo", "p99 read < 100ms", "--quick"];
    let (refused, why) = run(dir.path(), &other);
    assert_eq!(refused, Some(2), "{why}");
    assert!(why.contains("slo.latency"), "{why}");
}

#[test]
fn the_dry_run_says_what_a_search_will_take() {
    let dir = TempDir::new().unwrap();
    let plan = |more: &[&str]| {
        let dry = TAILMARK.run(
            dir.path(),
            &args(&[&["--dry-run", "--set", MODEL], more].concat()),
        );
        out(&dry)
    };
    let said = plan(&["--slo", LIMIT, "--system", "b=y"]);
    assert!(
        said.contains("2 searches") && said.contains("each at most 40m"),
        "{said}"
    );
    let quick = plan(&["--slo", LIMIT, "--quick"]);
    assert!(
        quick.contains("1 quick search") && quick.contains("each at most 6m"),
        "{quick}"
    );
}

#[test]
fn a_search_that_no_rate_ended_is_no_change_in_a_history() {
    let dir = TempDir::new().unwrap();
    for study in 0..6 {
        let seed = format!("sweep.seed={study}");
        let highest = if study < 3 { "1000" } else { "300" };
        let highest = format!("slo.max_rate={highest}");
        let of_search = ["--slo", LIMIT, "--quick", "--set", &seed, "--set", &highest];
        let (code, said) = run(dir.path(), &[&["--set", MODEL][..], &of_search].concat());
        assert_eq!(code, Some(0), "{said}");
        let low = searches(dir.path())[0]["low"].as_f64().unwrap();
        assert_eq!(low < 400.0, study >= 3, "the second half has lower bounds");
        let kept = dir.path().join(format!("all/{study}"));
        std::fs::create_dir_all(dir.path().join("all")).unwrap();
        std::fs::rename(dir.path().join("out"), kept).unwrap();
    }
    let written = TAILMARK.run(dir.path(), &["history", "all"]);
    assert!(written.status.success(), "{}", err(&written));
    let said = format!("{}{}", out(&written), err(&written));
    assert!(!said.contains("that hold"), "{said}");
}
