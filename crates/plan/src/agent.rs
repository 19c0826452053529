//! The agent that may be copied to the host of a system with `ssh`.

use super::accept::{Accept, Accepted};
use std::path::PathBuf;
use toml::Value;

/// The agent that is copied to the host of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Agent {
    /// The agent of this program.
    #[default]
    Own,
    /// A file on the clients' machine, for another processor architecture.
    File(PathBuf),
    /// No agent may be copied.
    None,
}

/// `true`, `false` or a file.
impl Accepted for Agent {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        match (bool::read(value, Accept::Flag), value) {
            _ if !matches!(accept, Accept::FlagOrPath) => None,
            (Some(true), _) => Some(Self::Own),
            (Some(false), _) => Some(Self::None),
            (None, Value::String(path)) if !path.trim().is_empty() => Some(Self::File(path.into())),
            _ => None,
        }
    }
}
