//! All errors of a plan at once.
//!
//! A check ends at its first error. So the key of that error is removed from a copy, which is
//! checked again, until nothing is wrong or the next error is about no key. An error that mentions
//! a removed key may be due to the removal and is left out.

use super::RawPlan;
use crate::Error;
use std::error::Error as _;
use toml::{Table, Value};

/// More errors than these are not listed.
const ERRORS_MAX: usize = 20;

/// Copies that are checked at most.
const CHECKS_MAX: usize = 200;

impl RawPlan {
    /// The first error and all others that can be found, in the order of the file.
    pub(in super::super) fn with_others(&self, first: Error) -> Error {
        let mut found = Vec::new();
        let mut removed: Vec<String> = Vec::new();
        let mut rest = self.clone();
        let mut error = first;
        for _ in 0..CHECKS_MAX {
            let key = error.key().map(bare);
            if !is_due_to(&error, &removed) {
                found.push(self.located(error));
            }
            // The keys that a database may have depend on its driver.
            let key = key.filter(|key| !key.ends_with("database.driver"));
            let Some(key) = key.filter(|key| remove(&mut rest.table, key)) else {
                break;
            };
            removed.push(key);
            match rest.checked() {
                Ok(_) => break,
                Err(next) => error = next,
            }
        }
        // What a flag set, or what is about no key, comes after what the file says.
        found.sort_by_key(|(line, _)| line.unwrap_or(usize::MAX));
        let mut errors: Vec<Error> = found.into_iter().map(|(_, located)| located).collect();
        if errors.len() == 1 {
            return errors.remove(0);
        }
        let count = errors.len();
        errors.truncate(ERRORS_MAX);
        Error::Several { count, errors }
    }

    /// An error with its line, if it is about a key of the file.
    fn located(&self, error: Error) -> (Option<usize>, Error) {
        let line = self.lines.of_error(&error);
        (line, self.locate(error))
    }
}

/// A dotted key without the flag that set it: `sweep.threads` of `--threads (sweep.threads)`.
fn bare(label: &str) -> String {
    let key = label
        .split_once(" (")
        .and_then(|(_, key)| key.strip_suffix(')'));
    key.unwrap_or(label).to_owned()
}

/// Whether an error may be due to the absence of these keys.
fn is_due_to(error: &Error, removed: &[String]) -> bool {
    if matches!(error, Error::UnknownKey { .. }) {
        return false;
    }
    let cause = error.source().map(ToString::to_string);
    let text = format!("{error} {}", cause.unwrap_or_default());
    removed.iter().any(|key| {
        let is_of_workloads = key == "sweep.workloads" && text.contains("workload of the plan");
        is_of_workloads || mentions(&text, key)
    })
}

/// Whether a text has a key as a whole word, or a key below it.
fn mentions(text: &str, key: &str) -> bool {
    let is_of_key = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(key).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + key.len()..]);
        !before.ends_with(is_of_key) && !after.starts_with(is_of_key)
    })
}

/// Removes the value at a dotted key, in which a table of a list goes by its name or its index.
fn remove(table: &mut Table, path: &str) -> bool {
    if table.remove(path).is_some() {
        return true;
    }
    table.iter_mut().any(|(key, value)| {
        let Some(rest) = path.strip_prefix(key.as_str()) else {
            return false;
        };
        match value {
            Value::Table(inner) => {
                let rest = rest.strip_prefix('.');
                rest.is_some_and(|rest| remove(inner, rest))
            }
            Value::Array(items) => items.iter_mut().enumerate().any(|(index, item)| {
                let Some(inner) = item.as_table_mut() else {
                    return false;
                };
                let name = inner.get("name").and_then(Value::as_str);
                let name = name.map(|name| format!(".{name}."));
                let rest = name.and_then(|name| rest.strip_prefix(name.as_str()));
                let rest = rest.or_else(|| path_at(path, key, index));
                rest.is_some_and(|rest| remove(inner, rest))
            }),
            _ => false,
        }
    })
}

/// The rest of a path after `KEY[INDEX].`
fn path_at<'a>(path: &'a str, key: &str, index: usize) -> Option<&'a str> {
    path.strip_prefix(key)?.strip_prefix(&format!("[{index}]."))
}
