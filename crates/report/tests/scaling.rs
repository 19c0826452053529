//! How systems scale, in words under the charts: where ladders of thread counts have ended, and what
//! law the points follow.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod synthetic;

use synthetic::{SMALL, Shape};
use tailmark_report::html;
use tailmark_stats::ladder;
use tailmark_testing::assert_says;

const LAW: &str = "the Universal Scalability Law";

fn body(threads: &'static [u32]) -> String {
    let shape = Shape {
        threads,
        seconds: 2,
        ..SMALL
    };
    html::body(&synthetic::study(shape))
}

#[test]
fn from_six_thread_counts_on_each_workload_says_how_its_systems_scale() {
    let body = body(&[1, 2, 4, 8, 16, 24]);
    assert_eq!(body.matches(LAW).count(), 5, "one for each workload");
    let said = body.split(LAW).nth(1).unwrap();
    let said = &said[..said.find("</p>").unwrap()];
    assert_says(said, &["sigma 0.0", "kappa 0", "R² ", "threads"]);
    assert!(said.contains("Drive A"), "{said}");
}

#[test]
fn with_fewer_nothing_is_said() {
    assert!(!body(&[1, 2, 4, 8, 16]).contains(LAW));
}

#[test]
fn where_a_ladder_has_ended_is_said_once_under_the_charts_of_its_workload() {
    let mut data = synthetic::study(SMALL);
    let system = data.systems[0].name.clone();
    let end = "at 64 threads: ops/s fell by 5% from 16 to 64";
    let notice = ladder::beginning(&system, "ycsb-c") + end;
    let elsewhere = ladder::beginning("gone", "ycsb-c") + "at 8 threads";
    data.notices.extend([notice, elsewhere]);
    // Numbers and their units stay together.
    let body = html::body(&data).replace('\u{a0}', " ");
    assert_eq!(body.matches(end).count(), 1);
    let before = &body[..body.find(end).unwrap()];
    let heading = before.rfind("<h3").unwrap();
    assert!(
        before[heading..].contains("YCSB C"),
        "{}",
        &before[heading..]
    );
    assert!(
        before.ends_with("</strong> ended "),
        "{}",
        &before[before.len() - 60..]
    );
    // A system without points is named among the notices.
    assert_eq!(body.matches("has ended at 8 threads").count(), 1);
}
