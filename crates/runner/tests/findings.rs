//! Which findings a point gets: each rule on a driver that does what the rule looks for.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use std::{path::Path, time::Duration};
use support::{plan, points, run, system, system_with};
use tailmark_results::Point;
use tailmark_runner::plan::Plan;

/// The only point of a plan.
fn point(plan: &Plan) -> Point {
    let out = tempfile::tempdir().unwrap();
    run(plan, out.path()).unwrap();
    points(out.path()).remove(0)
}

fn text<'a>(point: &'a Point, code: &str) -> &'a str {
    let found = point.phase.findings.iter().find(|f| f.code == code);
    found.map_or("", |f| f.text.as_str())
}

fn scripted(settings: &[(&str, &str)]) -> Plan {
    plan(
        vec![system_with("a", "scripted", Path::new("x"), settings)],
        &["ycsb-c"],
        &[1],
    )
}

#[test]
fn failures_are_a_finding_with_their_cause() {
    let point = point(&scripted(&[("error_every", "10"), ("cause", "timeout")]));
    assert_eq!(point.phase.errors(), 50);
    assert_eq!(
        (
            point.phase.operations,
            point.phase.kinds.values().next().unwrap().count
        ),
        (500, 450)
    );
    let text = text(&point, "errors");
    assert!(
        text.contains("50 of 500") && text.contains("read timeout"),
        "{text}"
    );
}

#[test]
fn misses_are_a_finding() {
    let point = point(&scripted(&[("miss_every", "10")]));
    assert!(
        text(&point, "misses").starts_with("50 of 500 reads"),
        "{}",
        text(&point, "misses")
    );
}

#[test]
fn a_rate_that_is_not_reached_is_a_finding() {
    let mut plan = scripted(&[("latency_us", "10000")]);
    plan.sweep.rate = Some(1000.0);
    plan.sweep.operations = Some(40);
    let slow = point(&plan);
    assert!(
        text(&slow, "rate-not-met").contains("of 1000"),
        "{:?}",
        slow.phase.findings
    );
    // A client of 10 ms does 100 a second: the last of 40 is due after 39 ms and ends after 400.
    let read = slow.phase.kinds.values().next().unwrap();
    assert!(
        read.response().max() > 100_000_000,
        "a client that is late keeps its due times"
    );
    assert!(read.service.value_at_quantile(0.5) < 100_000_000);
    assert!(!text(&slow, "started-late").is_empty());
}

#[test]
fn a_rate_that_is_reached_is_none() {
    let mut plan = scripted(&[]);
    plan.sweep.rate = Some(10.0);
    plan.sweep.operations = Some(20);
    assert_eq!(text(&point(&plan), "rate-not-met"), "");
}

#[test]
fn too_few_samples_say_how_many_it_takes() {
    let text = text(&point(&scripted(&[])), "too-few-samples").to_owned();
    assert!(
        text.contains("500 reads") && text.contains("p99.999"),
        "{text}"
    );
}

#[test]
fn data_that_fits_in_the_page_cache_is_a_finding() {
    let place = tempfile::tempdir().unwrap();
    let buffered = system_with("a", "file", place.path(), &[("direct", "false")]);
    let found = point(&plan(vec![buffered], &["ycsb-c"], &[1]));
    assert!(
        text(&found, "fits-in-memory").contains("page cache"),
        "{:?}",
        found.phase.findings
    );
}

#[test]
fn data_read_past_every_cache_is_none() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let found = point(&plan(
        vec![system("a", "file", place.path())],
        &["ycsb-c"],
        &[1],
    ));
    assert_eq!(
        text(&found, "fits-in-memory"),
        "",
        "{:?}",
        found.phase.findings
    );
}

#[test]
fn kept_caches_are_a_finding() {
    let mut plan = scripted(&[]);
    plan.host.drop_caches = false;
    assert!(text(&point(&plan), "caches-not-dropped").contains("host.drop_caches"));
}

#[test]
fn a_memory_limit_that_cannot_be_applied_is_a_finding() {
    let mut plan = scripted(&[]);
    plan.host.memory_limit = Some(1 << 20); // less than the program itself uses
    assert!(text(&point(&plan), "memory-not-limited").contains("1.0 MiB"));
}

#[test]
fn busy_processors_are_a_finding() {
    let mut plan = plan(
        vec![system("a", "null", Path::new("x"))],
        &["ycsb-c"],
        &[64],
    );
    plan.sweep.operations = None;
    plan.sweep.duration = Some(Duration::from_secs(3));
    let text = text(&point(&plan), "client-saturated").to_owned();
    assert!(text.contains("% busy"), "{text}");
}

#[test]
fn every_rule_is_documented() {
    let document = include_str!("../../../docs/FINDINGS.md");
    for rule in tailmark_runner::RULES {
        assert!(
            document.contains(&format!("| `{}` |", rule.code)),
            "{}",
            rule.code
        );
    }
}
