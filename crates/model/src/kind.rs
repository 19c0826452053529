//! The kinds of request.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Categories of measurements: the kinds of request, and the pair of a read-modify-write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Fetch one record.
    Read,
    /// Change fields of a record.
    Update,
    /// Write a whole record.
    Insert,
    /// Fetch consecutive records.
    Scan,
    /// Remove a record.
    Delete,
    /// A read and an update of the same record; both are also recorded separately.
    ReadModifyWrite,
}

impl Kind {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::Read,
        Self::Update,
        Self::Insert,
        Self::Scan,
        Self::Delete,
        Self::ReadModifyWrite,
    ];

    /// The kinds of a map that are sent: all but the pair of a read-modify-write, whose halves are
    /// recorded too.
    pub fn sent<T>(kinds: &BTreeMap<Self, T>) -> impl Iterator<Item = &T> {
        let sent = kinds
            .iter()
            .filter(|(kind, _)| **kind != Self::ReadModifyWrite);
        sent.map(|(_, kind)| kind)
    }

    /// The name in exports and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::Scan => "scan",
            Self::Delete => "delete",
            Self::ReadModifyWrite => "read-modify-write",
        }
    }
}
