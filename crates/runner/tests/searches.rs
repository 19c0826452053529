//! Searches on simulated databases of which the highest rate that holds is known. Each is a whole run:
//! a short sweep, then trials until the answer. `SEARCHES=500` gives the figures of docs/METHOD.md.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test, whose table is looked at"
)]

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};
use tailmark_engine::{Silent, Stop};
use tailmark_model::finding::BACKGROUND_RATE_NOT_MET;
use tailmark_plan::RawPlan;
use tailmark_stats::slo::{Answer, Status, Trial, Verdict};
use tailmark_study::{Study, searches};

/// A database whose answer is known.
struct Case {
    name: &'static str,
    model: &'static str,
    limit: &'static str,
    /// The rate at which the share over the limit is what is allowed.
    truth: f64,
}

fn plan(model: &str, limit: &str, seed: u64, more: &str) -> String {
    format!(
        "[database]\ndriver = 'sim'\nmodel = '{model}'\n\
         [dataset]\nrecords = 1000\nfields = 1\nfield_length = 10\n\
         [sweep]\nworkloads = ['ycsb-c']\nthreads = [1, 8]\nduration = '10s'\nwarmup = '1s'\n\
         seed = {seed}\n[machine]\ndrop_caches = false\n\
         [slo]\nlatency = '{limit}'\nwarmup = '10s'\n{more}\n[[system]]\nname = 'a'\n"
    )
}

/// Carries out a plan; the answer of its one search and how many trials it took.
fn search(text: &str, out: &Path) -> (Answer, usize) {
    let plan = RawPlan::parse("test", text).unwrap().check().unwrap();
    tailmark_runner::run(&plan, out, &Silent, &Stop::new()).unwrap();
    let study = Study::open_read_only(out).unwrap();
    let (settings, searches) = searches(&study).unwrap().unwrap();
    (searches[0].answer(&settings), searches[0].trials.len())
}

/// How many searches of each case are made.
fn number() -> u64 {
    let given = std::env::var("SEARCHES").ok();
    given.map_or(6, |text| text.parse().expect("SEARCHES is a number"))
}

/// The answers of searches with different seeds.
fn answers(case: &Case, more: &str) -> Vec<(Answer, usize)> {
    let next = AtomicU64::new(0);
    let work = || {
        let mut answers = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= number() {
                return answers;
            }
            let dir = tempfile::tempdir().unwrap();
            let text = plan(case.model, case.limit, seed, more);
            answers.push(search(&text, dir.path()));
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        let answers = threads.into_iter().map(|thread| thread.join().unwrap());
        answers.flatten().collect()
    })
}

/// The share of reads over the limit at the true rate, over a long time and without the noise of
/// runs, to what is allowed.
fn at_truth(case: &Case) -> f64 {
    let model = case.model;
    let dir = tempfile::tempdir().unwrap();
    let long = format!(
        "min_rate = {0}\nmax_rate = {1}\nblock = '250s'\ntime = '6000s'",
        case.truth,
        case.truth * 1.001
    );
    let text = plan(model, case.limit, 7, &long);
    let plan = RawPlan::parse("test", &text).unwrap().check().unwrap();
    tailmark_runner::run(&plan, dir.path(), &Silent, &Stop::new()).unwrap();
    let study = Study::open_read_only(dir.path()).unwrap();
    let (_, searches) = searches(&study).unwrap().unwrap();
    let worst = searches[0].trials[0].worst().unwrap();
    worst.over.unwrap().share / worst.limit.allowed()
}

const CASES: [Case; 3] = [
    // One server with exponential service times: the response time is exponential with mean
    // 1 / (mu - lambda), so p99 is ln(100) / (mu - lambda).
    Case {
        name: "smooth knee",
        model: "exponential 1ms; servers 1; noise 5% 2s",
        limit: "p99 read < 23026us",
        truth: 774.5,
    },
    Case {
        name: "cliff",
        model: "constant 50ms; servers 64; noise 5% 2s",
        limit: "p99 read < 75ms",
        truth: 1117.0,
    },
    Case {
        name: "periodic compaction",
        model: "exponential 1ms; servers 1; compaction 20s 4s 1.2; noise 5% 2s",
        limit: "p99 read < 23026us",
        truth: 682.0,
    },
];

/// How far an end may be from the true rate: the resolution.
const RESOLUTION: f64 = 1.05;

#[test]
fn the_answer_holds_the_true_rate() {
    println!("\n| database | right | both ends | one end | none | width, median | trials, mean |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for case in &CASES {
        let at_truth = at_truth(case);
        assert!((0.7..1.4).contains(&at_truth), "{}: {at_truth}", case.name);
        let answers = answers(case, "");
        let ends = |wanted: usize| {
            let known = |a: &Answer| usize::from(a.low.is_some()) + usize::from(a.high.is_some());
            answers.iter().filter(|(a, _)| known(a) == wanted).count()
        };
        // Claims must be true. An end that was not confirmed claims nothing.
        let is_right = |(a, _): &&(Answer, usize)| {
            a.low.is_none_or(|low| low <= case.truth * RESOLUTION)
                && a.high.is_none_or(|high| high >= case.truth / RESOLUTION)
        };
        let right = answers.iter().filter(is_right).count();
        let both = answers.iter().filter_map(|(a, _)| a.low.zip(a.high));
        let mut widths: Vec<f64> = both.map(|(low, high)| high / low).collect();
        widths.sort_by(f64::total_cmp);
        let width = widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN);
        let trials: usize = answers.iter().map(|(_, trials)| trials).sum();
        println!(
            "| {} | {right} of {} | {} | {} | {} | {width:.2} | {:.1} |",
            case.name,
            answers.len(),
            ends(2),
            ends(1),
            ends(0),
            trials as f64 / answers.len() as f64,
        );
        let wrong = answers.len() - right;
        assert!(
            wrong <= (answers.len() / 20).max(1),
            "{}: {wrong}",
            case.name
        );
        assert!(ends(2) + ends(1) > answers.len() / 2, "{}", case.name);
    }
}

#[test]
fn what_drifts_is_not_found() {
    let case = Case {
        name: "drift",
        model: "exponential 1ms; servers 1; drift 20% 1m; noise 5% 2s",
        limit: "p99 read < 23026us",
        truth: f64::NAN,
    };
    for (answer, trials) in answers(&case, "") {
        assert_eq!(answer.low, None, "{trials}: {answer:?}");
        assert!(
            matches!(answer.status, Status::NotSteady | Status::Undecided),
            "{answer:?}"
        );
    }
}

/// The trials of a search beside one writer that is due so often, and takes 2 ms each time.
fn beside_a_writer(limit: &str, background_rate: u32) -> Vec<Trial> {
    let text = plan("constant 2ms", limit, 1, "min_rate = 100\nmax_rate = 1000")
        .replace("'ycsb-c'", "'readwhilewriting'")
        .replace(
            "[1, 8]",
            &format!("[8]\nbackground_rate = {background_rate}"),
        );
    let dir = tempfile::tempdir().unwrap();
    search(&text, dir.path());
    let study = Study::open_read_only(dir.path()).unwrap();
    searches(&study).unwrap().unwrap().1.remove(0).trials
}

#[test]
fn a_background_writer_that_cannot_keep_its_rate_is_not_blamed_on_the_system() {
    for (limit, verdict) in [
        ("p99 insert < 10ms", Verdict::ClientLimit),
        ("p99 read < 10ms", Verdict::Pass),
    ] {
        for trial in beside_a_writer(limit, 1_000) {
            assert_eq!(trial.verdict, verdict, "{limit}: {:?}", trial.evidence);
            assert!(BACKGROUND_RATE_NOT_MET.is_among(&trial.findings));
            let why = trial.evidence.unwrap_or_default();
            let is_named = why.contains("background clients cannot keep their rate");
            assert_eq!(is_named, verdict == Verdict::ClientLimit, "{why}");
        }
        for trial in beside_a_writer(limit, 400) {
            assert_eq!(
                trial.verdict,
                Verdict::Pass,
                "{limit}: {:?}",
                trial.evidence
            );
            assert!(!BACKGROUND_RATE_NOT_MET.is_among(&trial.findings));
        }
    }
}
