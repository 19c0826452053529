//! The identity of a data set: tailmark's own hash, with the marker and a unique id, or the servers
//! that hold another program's data.

use super::{nodes::Nodes, server::run_ids};
use crate::error::BoxError;
use redis::cmd;
use std::{fmt::Write, fs::File, io::Read};

/// The key of tailmark's own hash.
pub(super) const OWN: &str = "tailmark";
/// The content of tailmark's own hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TailmarkHash {
    /// The id of the data set, drawn when it was created.
    pub id: String,
    /// The study that created it; empty if there is none.
    pub study: String,
    /// The text of the marker.
    pub marker: Option<String>,
}

impl TailmarkHash {
    /// Refuses any other data set: the address may lead to another server, or the server may have
    /// lost the data in its memory.
    pub async fn refuse_another(&self, nodes: &Nodes) -> Result<(), BoxError> {
        match find(nodes).await? {
            found if found.is(Some(self)) => Ok(()),
            HashOwner::Missing => Err(
                "tailmark's key is gone: the server lost its data or evicted it, another program \
                 removed it, or the address leads to another server"
                    .into(),
            ),
            _ => Err(ANOTHER.into()),
        }
    }
}

const ANOTHER: &str = "another data set is in its place, or the address leads to another server";

/// What each new connection compares.
#[derive(Debug)]
pub(super) enum Identity {
    /// The hash of a data set that tailmark created.
    Own(TailmarkHash),
    /// The run id of each server, if another program's data is written.
    Servers(Vec<String>),
    /// Nothing, if another program's data is only read.
    Unknown,
}

impl Identity {
    /// The identity of the opened data.
    pub async fn new(
        nodes: &Nodes,
        own: Option<TailmarkHash>,
        is_read: bool,
    ) -> Result<Self, BoxError> {
        Ok(match own {
            Some(own) => Self::Own(own),
            None if is_read => Self::Unknown,
            None => Self::Servers(run_ids(nodes).await?),
        })
    }

    /// Tailmark's own hash.
    pub const fn own(&self) -> Option<&TailmarkHash> {
        match self {
            Self::Own(own) => Some(own),
            _ => None,
        }
    }

    /// Refuses servers that do not hold the opened data.
    pub async fn refuse_another(&self, nodes: &Nodes) -> Result<(), BoxError> {
        if let Self::Own(own) = self {
            return own.refuse_another(nodes).await;
        }
        if !find(nodes).await?.is(None) {
            return Err(ANOTHER.into());
        }
        match self {
            Self::Servers(opened) if run_ids(nodes).await? != *opened => Err(
                "the server was restarted, or the address leads to another server; tailmark did \
                 not create this data, so it has no id to compare"
                    .into(),
            ),
            _ => Ok(()),
        }
    }
}

/// What exists under the name of tailmark's own hash.
pub(super) enum HashOwner {
    /// Nothing.
    Missing,
    /// The hash.
    Own(TailmarkHash),
    /// A key of another program.
    Foreign,
}

impl HashOwner {
    /// Whether it is the same as when the data set was opened.
    pub fn is(&self, opened: Option<&TailmarkHash>) -> bool {
        match (self, opened) {
            (Self::Own(found), Some(opened)) => found.id == opened.id,
            (Self::Missing, None) => true,
            _ => false,
        }
    }
}

/// Looks up the name of tailmark's own hash.
///
/// # Errors
/// If the server does not answer.
pub(super) async fn find(nodes: &Nodes) -> Result<HashOwner, BoxError> {
    let kind: String = nodes.ask(OWN.as_bytes(), cmd("TYPE").arg(OWN)).await?;
    match &*kind {
        "none" => return Ok(HashOwner::Missing),
        "hash" => {}
        _ => return Ok(HashOwner::Foreign),
    }
    let length: usize = nodes.ask(OWN.as_bytes(), cmd("HLEN").arg(OWN)).await?;
    let mut get = cmd("HMGET").arg(OWN).take();
    get.arg("id").arg("study").arg("marker");
    let [id, study, marker]: [Option<Vec<u8>>; 3] = nodes.ask(OWN.as_bytes(), &get).await?;
    let known = [&id, &study, &marker].into_iter().flatten().count();
    if length == 0 {
        return Ok(HashOwner::Missing);
    }
    let text = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let id = text(id).filter(|id| length == known && is_id(id));
    Ok(id.map_or(HashOwner::Foreign, |id| {
        HashOwner::Own(TailmarkHash {
            id,
            study: text(study).unwrap_or_default(),
            marker: text(marker),
        })
    }))
}

/// The content of tailmark's own hash, if it exists. An error if the key belongs to another
/// program.
pub(super) async fn own(nodes: &Nodes) -> Result<Option<TailmarkHash>, BoxError> {
    match find(nodes).await? {
        HashOwner::Missing => Ok(None),
        HashOwner::Own(own) => Ok(Some(own)),
        HashOwner::Foreign => {
            let why = format!("another program wrote the key `{OWN}`; use another `database`");
            Err(why.into())
        }
    }
}

/// Whether [`new_id`] could have drawn it.
fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A unique id for a data set.
pub(super) fn new_id() -> Result<String, BoxError> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let mut id = String::new();
    for byte in bytes {
        write!(id, "{byte:02x}")?;
    }
    Ok(id)
}
