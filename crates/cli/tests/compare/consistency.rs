//! What `compare` says is what reports and exports say, and each run counts once.

use super::{FAST, SLOW, TAILMARK, compared, measured};
use serde_json::Value;
use tailmark_testing::err;
use tempfile::TempDir;

#[test]
fn the_verdicts_on_two_of_three_systems_are_those_of_the_export() {
    let dir = TempDir::new().unwrap();
    let systems = &[("a", FAST), ("b", FAST), ("c", SLOW)];
    measured(dir.path(), "out", systems, 4, &[]);
    let export = ["export", "out", "--format", "json"];
    let exported: Value =
        serde_json::from_slice(&TAILMARK.run(dir.path(), &export).stdout).unwrap();
    let args = [
        "out",
        "--system",
        "c",
        "--baseline",
        "a",
        "--format",
        "json",
    ];
    let said: Value = serde_json::from_slice(&compared(dir.path(), &args).stdout).unwrap();
    let mut seen = 0;
    for one in said["comparisons"].as_array().unwrap() {
        let members = ["metric", "place", "threads"];
        let is_same = |other: &&Value| {
            other["a"] == "a" && other["b"] == "c" && members.iter().all(|m| other[m] == one[m])
        };
        let mut all = exported["comparisons"].as_array().unwrap().iter();
        let same = all.find(is_same).unwrap();
        assert_eq!(one["p_adjusted"], same["p_adjusted"]);
        let verdicts = (one["verdict"].as_str(), same["verdict"].as_str());
        assert!(
            verdicts.0 == verdicts.1 || verdicts == (Some("worse"), Some("better")),
            "{verdicts:?}"
        );
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn a_copy_of_a_study_is_no_second_study() {
    let dir = TempDir::new().unwrap();
    measured(dir.path(), "out", &[("a", FAST)], 4, &[]);
    std::fs::create_dir(dir.path().join("copy")).unwrap();
    let file = |study: &str| dir.path().join(study).join("study.sqlite");
    std::fs::copy(file("out"), file("copy")).unwrap();
    let refused = compared(dir.path(), &["out", "copy"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = err(&refused);
    assert!(said.contains("copies of one study"), "{said}");
}
