//! All errors of a plan are named at once.

use super::{check, message};
use crate::RawPlan;

/// The lines of the error of a plan.
fn lines(text: &str) -> Vec<String> {
    let error = message(&check(text).unwrap_err());
    error.lines().map(ToOwned::to_owned).collect()
}

#[test]
fn every_error_is_named_once_with_its_line_in_the_order_of_the_file() {
    let found = lines(
        "scale = 0
[[system]]
name = 'a'
colour = 'red'
[database]
driver = 'null'
[sweep]
workloads = ['workloada']
thread = [1]
distribution = 'random'
[[workload]]
name = 'w'
reed = 1
read = 1
[report]
metric = 'p98 read'
",
    );
    let begins = [
        "the plan has 7 errors:",
        "test, line 1: scale is `0`",
        "test, line 4: there is no key `system.a.colour`",
        "test, line 8: sweep.workloads is `workloada`",
        "test, line 9: there is no key `sweep.thread`",
        "test, line 10: sweep.distribution is `random`",
        "test, line 13: there is no key `workload.w.reed`",
        "test, line 16: report.metric is `p98 read`",
    ];
    assert_eq!(found.len(), begins.len(), "{found:#?}");
    for (line, begin) in found.iter().zip(begins) {
        assert!(line.starts_with(begin), "{line}");
    }
}

#[test]
fn what_is_wrong_only_without_a_removed_key_is_no_error() {
    // A wrong `warmup` is not `auto`, and a wrong workload `w` sends no scans: errors that follow.
    for text in [
        "[sweep]\nwarmup = 'atuo'\nwarmup_least = '1m'\n",
        "[sweep]\nworkloads = ['w ']\n[slo]\nlatency = 'p99 scan < 1ms'\n\
         [[workload]]\nname = 'w'\nscan = 1\n",
        "[sweep]\nrates = 'fast'\nrate_threads = 8\narrivals = 'even'\n",
        "[slo]\nlatency = 'p99 read'\nmax_rate = 100\n",
    ] {
        let found = lines(&format!("[[system]]\nname = 'a'\npath = '/x'\n{text}"));
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(found[0].starts_with("test, line 5: "), "{found:?}");
    }
}

#[test]
fn an_unknown_driver_makes_no_errors_of_its_settings() {
    let found =
        lines("[database]\ndriver = 'rockdb'\nblock_cashe = '1GiB'\n[[system]]\nname = 'a'\n");
    assert_eq!(found.len(), 1, "{found:#?}");
    let parts = [
        "test, line 2: database.driver",
        "`rockdb`",
        "did you mean `rocksdb`",
    ];
    assert!(
        parts.iter().all(|part| found[0].contains(part)),
        "{found:?}"
    );
}

#[test]
fn of_more_than_twenty_errors_the_first_twenty_are_named() {
    let keys: String = (1..=25).map(|n| format!("key_{n} = {n}\n")).collect();
    let found = lines(&format!("{keys}[[system]]\nname = 'a'\npath = '/x'\n"));
    assert_eq!(found.len(), 21);
    assert_eq!(found[0], "the plan has 25 errors; the first 20:");
    assert!(
        found[20].starts_with("test, line 20: there is no key `key_20`"),
        "{found:?}"
    );
}

#[test]
fn an_error_of_a_flag_comes_after_those_of_the_file() {
    let mut raw =
        RawPlan::parse("test", "[[system]]\nname = 'a'\npath = '/x'\ncolour = 1\n").unwrap();
    raw.set("--threads", "sweep.threads", "many".into())
        .unwrap();
    let error = message(&raw.check().unwrap_err());
    let found: Vec<&str> = error.lines().collect();
    assert_eq!(found.len(), 3, "{error}");
    assert!(found[1].starts_with("test, line 4: "), "{error}");
    assert!(
        found[2].starts_with("--threads (sweep.threads) is `many`"),
        "{error}"
    );
}

#[test]
fn a_missing_key_is_named_with_the_line_of_its_table() {
    let found = lines("[sweep]\nthread = [1]\n[[system]]\nname = 'a'\n");
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(
        found[1].starts_with("test, line 2: there is no key `sweep.thread`"),
        "{found:?}"
    );
    assert!(
        found[2].starts_with("test, line 4: system.a.path is missing"),
        "{found:?}"
    );
}
