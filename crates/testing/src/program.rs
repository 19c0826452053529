//! A program under test, and its output.

use serde_json::Value;
use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

/// The path of a program. Cargo gives it to integration tests: `env!("CARGO_BIN_EXE_...")`.
#[derive(Debug, Clone, Copy)]
pub struct Program(pub &'static str);

impl Program {
    /// With these arguments, in a directory, and nothing to read.
    pub fn command(self, dir: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(self.0);
        command.args(args).current_dir(dir).stdin(Stdio::null());
        command
    }

    /// Runs to completion.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn run(self, dir: &Path, args: &[&str]) -> Output {
        let output = self.command(dir, args).output();
        output.expect("the program can be started")
    }

    /// The points of the study in `out`, as the export has them.
    pub fn points(self, dir: &Path) -> Vec<Value> {
        self.exported(dir, "points")
    }

    /// A part of the study in `out`, `points` or `loads`, from the export.
    ///
    /// # Panics
    /// If there is no such study.
    pub fn exported(self, dir: &Path, part: &str) -> Vec<Value> {
        let export = self.run(dir, &["export", "out", "--format", "json"]);
        let study = serde_json::from_slice::<Value>(&export.stdout);
        let study = study.unwrap_or_else(|error| panic!("{error}: {}", err(&export)));
        study[part].as_array().expect("the part is a list").clone()
    }
}

/// The standard output.
pub fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The standard error.
pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that all these are in the output.
///
/// # Panics
/// If one is not.
#[track_caller]
pub fn assert_says(said: &str, parts: &[impl AsRef<str>]) {
    for part in parts {
        let part = part.as_ref();
        assert!(said.contains(part), "{said}\nlacks {part}");
    }
}
