//! What was created around a data set, so that it can be removed with it.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Something that did not exist before a load. A marker lists it, and `tailmark clean` removes it
/// if nothing else is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    /// A directory that holds the data, or one above it.
    Directory(PathBuf),
    /// A keyspace of a server.
    Keyspace(String),
    /// A table of a server, as `KEYSPACE.TABLE`.
    Table(String),
    /// A set of a server, as `NAMESPACE.SET`.
    Set(String),
}
