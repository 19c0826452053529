//! What the tests of the drop-in share.

use serde_json::Value;
use std::{
    path::Path,
    process::{Command, Output},
};

/// The program.
pub const TAILMARK: &str = env!("CARGO_BIN_EXE_tailmark");

/// Our drop-in on this database.
pub fn ours(db: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(TAILMARK);
    command
        .arg("db-bench")
        .arg(format!("--db={}", db.display()))
        .args(flags);
    command.output().unwrap()
}

/// The points of a study.
pub fn points(study: &Path) -> Vec<Value> {
    let mut command = Command::new(TAILMARK);
    command.args(["export", "--format", "json"]).arg(study);
    let json: Value = serde_json::from_str(&stdout(&command.output().unwrap())).unwrap();
    json["points"].as_array().unwrap().clone()
}

/// What a program that succeeded said.
pub fn stdout(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// The result line of a benchmark.
pub fn result<'a>(text: &'a str, name: &str) -> &'a str {
    let is_result = |line: &&str| line.starts_with(name) && line.contains("micros/op");
    text.lines()
        .find(is_result)
        .unwrap_or_else(|| panic!("{name} is missing in\n{text}"))
}

/// `(632 of 1000 found)`
pub fn found(line: &str) -> &str {
    &line[line.find('(').expect(line)..]
}
