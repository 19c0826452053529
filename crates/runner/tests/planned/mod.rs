//! What must hold of every text that is read as a plan. The fuzz target `plan` asks the same.

use std::path::Path;
use tailmark_plan::RawPlan;
use tailmark_runner::{Facts, dry_run};

/// Reads a plan, and says what it would do if it is one.
///
/// # Panics
/// If the dry run or the error says nothing.
pub fn plan(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match RawPlan::parse("plan", text).and_then(|raw| raw.check()) {
        Ok(plan) => {
            let lines = dry_run(&plan, Path::new("out"), &Facts::default()).lines;
            assert!(lines.len() > 3);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
