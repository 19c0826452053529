//! What a data set is known by: tailmark's own hash, with the marker and an id that no other data set
//! has, or the servers that hold the data of another program.

use super::{nodes::Nodes, server::run_ids};
use crate::error::BoxError;
use redis::cmd;
use std::{fmt::Write, fs::File, io::Read};

/// The key of tailmark's own hash.
pub(super) const OWN: &str = "tailmark";
/// What tailmark's own hash says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Own {
    /// What the data set is known by; drawn when it is created.
    pub id: String,
    /// The study that had it created; empty if none.
    pub study: String,
    /// The text of the marker.
    pub marker: Option<String>,
}

impl Own {
    /// Refuses another data set than this: the address may lead to another server, or the server may have
    /// lost what it had in memory.
    pub async fn refuse_another(&self, nodes: &Nodes) -> Result<(), BoxError> {
        match find(nodes).await? {
            found if found.is(Some(self)) => Ok(()),
            Found::Missing => Err(
                "tailmark's key is gone: the server lost its data or evicted it, another program \
                 removed it, or the address leads to another server"
                    .into(),
            ),
            _ => Err(ANOTHER.into()),
        }
    }
}

const ANOTHER: &str = "another data set is in its place, or the address leads to another server";

/// What is compared on each new connection.
#[derive(Debug)]
pub(super) enum Identity {
    /// The id of a data set that tailmark created.
    Own(Own),
    /// The run id of each server that holds another program's data, which is written to.
    Servers(Vec<String>),
    /// Nothing: another program's data is only read.
    Unknown,
}

impl Identity {
    /// Of what was opened.
    pub async fn new(nodes: &Nodes, own: Option<Own>, is_read: bool) -> Result<Self, BoxError> {
        Ok(match own {
            Some(own) => Self::Own(own),
            None if is_read => Self::Unknown,
            None => Self::Servers(run_ids(nodes).await?),
        })
    }

    /// What tailmark kept there.
    pub const fn own(&self) -> Option<&Own> {
        match self {
            Self::Own(own) => Some(own),
            _ => None,
        }
    }

    /// Refuses servers that do not hold the data that was opened.
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

/// What is under the name of tailmark's own hash.
pub(super) enum Found {
    /// Nothing.
    Missing,
    /// The hash.
    Own(Own),
    /// What another program keeps there.
    Foreign,
}

impl Found {
    /// Whether it is what was found when the data set was opened.
    pub fn is(&self, opened: Option<&Own>) -> bool {
        match (self, opened) {
            (Self::Own(found), Some(opened)) => found.id == opened.id,
            (Self::Missing, None) => true,
            _ => false,
        }
    }
}

/// Finds what is under the name of tailmark's own hash.
///
/// # Errors
/// If the server does not answer.
pub(super) async fn find(nodes: &Nodes) -> Result<Found, BoxError> {
    let kind: String = nodes.ask(OWN.as_bytes(), cmd("TYPE").arg(OWN)).await?;
    match &*kind {
        "none" => return Ok(Found::Missing),
        "hash" => {}
        _ => return Ok(Found::Foreign),
    }
    let length: usize = nodes.ask(OWN.as_bytes(), cmd("HLEN").arg(OWN)).await?;
    let mut get = cmd("HMGET").arg(OWN).take();
    get.arg("id").arg("study").arg("marker");
    let [id, study, marker]: [Option<Vec<u8>>; 3] = nodes.ask(OWN.as_bytes(), &get).await?;
    let known = [&id, &study, &marker].into_iter().flatten().count();
    if length == 0 {
        return Ok(Found::Missing);
    }
    let text = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let id = text(id).filter(|id| length == known && is_id(id));
    Ok(id.map_or(Found::Foreign, |id| {
        Found::Own(Own {
            id,
            study: text(study).unwrap_or_default(),
            marker: text(marker),
        })
    }))
}

/// What tailmark's own hash says, if it is there; an error if the key is another program's.
pub(super) async fn own(nodes: &Nodes) -> Result<Option<Own>, BoxError> {
    match find(nodes).await? {
        Found::Missing => Ok(None),
        Found::Own(own) => Ok(Some(own)),
        Found::Foreign => {
            let why = format!("the key `{OWN}` is another program's; use another `database`");
            Err(why.into())
        }
    }
}

/// Whether it could be one that [`new_id`] draws.
fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// An id that no other data set has.
pub(super) fn new_id() -> Result<String, BoxError> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let mut id = String::new();
    for byte in bytes {
        write!(id, "{byte:02x}")?;
    }
    Ok(id)
}
