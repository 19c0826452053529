//! Where each key of a plan file stands, so that an error names file and line.

use super::Error;
use std::collections::BTreeMap;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// The lines of the keys of one text.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    /// The file or shipped plan.
    name: String,
    /// By dotted key, the line from 1 up. A table of a list goes by its `name`, as in errors.
    of_key: BTreeMap<String, usize>,
}

impl Lines {
    /// The lines of a text; empty if it is not TOML.
    pub(super) fn new(name: &str, text: &str) -> Self {
        let mut lines = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        if let Ok(table) = DeTable::parse(text) {
            lines.add("", table.get_ref(), text);
        }
        lines
    }

    fn add(&mut self, above: &str, table: &DeTable<'_>, text: &str) {
        for (key, value) in table {
            let path = match above {
                "" => key.get_ref().to_string(),
                above => format!("{above}.{}", key.get_ref()),
            };
            let line = line_of(text, key.span().start);
            match value.get_ref() {
                DeValue::Table(inner) => self.add(&path, inner, text),
                DeValue::Array(items) => {
                    for (index, item) in items.iter().enumerate() {
                        if let DeValue::Table(inner) = item.get_ref() {
                            let name = inner.get("name").map(Spanned::get_ref);
                            let name = name.and_then(|name| name.as_str());
                            let own = name.map_or_else(
                                || format!("{path}[{index}]"),
                                |name| format!("{path}.{name}"),
                            );
                            self.add(&own, inner, text);
                        }
                    }
                }
                _ => {}
            }
            self.of_key.entry(path).or_insert(line);
        }
    }

    /// The line of a key, or of the name of its `[[...]]` table.
    pub(super) fn of(&self, key: &str) -> Option<usize> {
        let own = self.of_key.get(key);
        let named = || self.of_key.get(&format!("{key}.name"));
        own.or_else(named).copied()
    }

    /// `plan.toml, line 3`
    pub(super) fn place(&self, key: &str) -> Option<String> {
        self.of(key).map(|line| self.at(line))
    }

    /// The line of the key that an error is about. If the key is missing, that of its table.
    pub(super) fn of_error(&self, error: &Error) -> Option<usize> {
        let key = error.key()?;
        match error {
            Error::Missing { .. } => self.of(key.rsplit_once('.')?.0),
            _ => self.of(key),
        }
    }

    /// An error about a key of the text, with its place.
    pub(super) fn locate(&self, error: Error) -> Error {
        match self.of_error(&error) {
            Some(line) => Error::At {
                place: self.at(line),
                error: Box::new(error),
            },
            None => error,
        }
    }

    fn at(&self, line: usize) -> String {
        format!("{}, line {line}", self.name)
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
}
