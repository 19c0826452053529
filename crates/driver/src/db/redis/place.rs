//! The logical database and what tailmark keeps in it beside the records: a hash with the marker,
//! and with an id that no other data set has.

use super::{nodes::Nodes, settings};
use crate::{Access, Look, Params, error::BoxError};
use redis::{Cmd, Pipeline, cmd};
use std::{collections::BTreeMap, fmt::Write, fs::File, io::Read};

/// The key of tailmark's own hash.
pub(super) const OWN: &str = "tailmark";
/// The sorted set of the keys of all records, as YCSB's binding has it.
pub(super) const INDEX: &str = "_indices";

/// How many records are removed at a time.
const BATCH: i64 = 500;

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

/// What a logical database holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Existing {
    /// What tailmark keeps there.
    pub own: Option<Own>,
    /// How many keys the index has.
    pub indexed: u64,
    /// All keys.
    pub keys: u64,
}

impl Existing {
    /// Reads what is there.
    pub async fn read(nodes: &Nodes) -> Result<Self, BoxError> {
        let mut keys = 0;
        for node in &nodes.nodes {
            keys += node.ask::<u64>(&cmd("DBSIZE")).await?;
        }
        Ok(Self {
            own: own(nodes).await?,
            indexed: indexed(nodes).await?,
            keys,
        })
    }

    /// How many keys of the database are another program's.
    pub fn foreign(&self) -> u64 {
        let index = u64::from(self.indexed > 0);
        let own = self.own.as_ref().map_or(0, |_| self.indexed + index + 1);
        self.keys.saturating_sub(own)
    }

    /// Whether it holds no record, and nothing of another program if it is not tailmark's.
    pub fn is_empty(&self) -> bool {
        match self.own {
            Some(_) => self.indexed == 0,
            None => self.keys == 0,
        }
    }
}

/// How many keys the index has; 0 if the sorted set of its name is another program's.
async fn indexed(nodes: &Nodes) -> Result<u64, BoxError> {
    let first = cmd("ZRANGE")
        .arg(INDEX)
        .arg(0)
        .arg(15)
        .arg("WITHSCORES")
        .take();
    let first: Vec<(Vec<u8>, f64)> = nodes.ask(INDEX.as_bytes(), &first).await?;
    let is_score = |(key, score): &(Vec<u8>, f64)| f64::from(java_hash(key)) == *score;
    if !first.iter().all(is_score) {
        return Ok(0);
    }
    nodes.ask(INDEX.as_bytes(), cmd("ZCARD").arg(INDEX)).await
}

/// The score of a key in the index: the hash code of Java's strings, as YCSB's binding has it. The
/// names of keys are ASCII, so a byte is a character.
pub(super) fn java_hash(key: &[u8]) -> i32 {
    key.iter().fold(0_i32, |hash, &byte| {
        hash.wrapping_mul(31).wrapping_add(byte.into())
    })
}

/// What tailmark's own hash says, if it is there.
pub(super) async fn own(nodes: &Nodes) -> Result<Option<Own>, BoxError> {
    let kind: String = nodes.ask(OWN.as_bytes(), cmd("TYPE").arg(OWN)).await?;
    let own = match &*kind {
        "none" => return Ok(None),
        "hash" => parse_own(nodes.ask(OWN.as_bytes(), cmd("HGETALL").arg(OWN)).await?),
        _ => None,
    };
    own.map(Some).ok_or_else(|| {
        format!("the key `{OWN}` is another program's; use another `database`").into()
    })
}

/// What the hash says; none if tailmark did not write it.
fn parse_own(mut fields: BTreeMap<String, String>) -> Option<Own> {
    let own = Own {
        id: fields.remove("id").filter(|id| is_id(id))?,
        study: fields.remove("study").unwrap_or_default(),
        marker: fields.remove("marker"),
    };
    fields.is_empty().then_some(own)
}

/// Creates tailmark's own hash in a database that holds nothing.
pub(super) async fn make(nodes: &Nodes, params: &Params) -> Result<Existing, BoxError> {
    let existing = Existing::read(nodes).await?;
    let is_ours = existing.own.is_some() && params.access != Access::CreateNew;
    let foreign = if is_ours {
        existing.foreign()
    } else {
        existing.keys
    };
    if foreign > 0 {
        return Err(format!(
            "{} holds {foreign} keys that tailmark did not create; use another `database`",
            name(params)
        )
        .into());
    }
    if is_ours {
        return Ok(existing);
    }
    let study = if params.study.bytes().all(|b| b.is_ascii_hexdigit()) {
        &*params.study
    } else {
        ""
    };
    let is_new: bool = nodes
        .ask(
            OWN.as_bytes(),
            cmd("HSETNX").arg(OWN).arg("id").arg(new_id()?),
        )
        .await?;
    if !is_new {
        return Err(format!("another program began to load {} meanwhile", name(params)).into());
    }
    let set_study = cmd("HSET").arg(OWN).arg("study").arg(study).take();
    nodes.ask::<()>(OWN.as_bytes(), &set_study).await?;
    let made = Existing::read(nodes).await?;
    if let Some(own) = made.own.as_ref().filter(|_| made.keys > 1) {
        change_own(nodes, own, cmd("DEL").arg(OWN).take()).await?;
        return Err(format!("another program began to use {} meanwhile", name(params)).into());
    }
    Ok(made)
}

/// Whether it could be one that [`new_id`] drew.
fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn new_id() -> Result<String, BoxError> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let mut id = String::new();
    for byte in bytes {
        write!(id, "{byte:02x}")?;
    }
    Ok(id)
}

/// Refuses another data set than the one that was opened: the address may lead to another server, or
/// the server may have lost what it had in memory.
pub(super) async fn refuse_another(nodes: &Nodes, opened: Option<&Own>) -> Result<(), BoxError> {
    let found = own(nodes).await?;
    let (found, opened) = (found.map(|own| own.id), opened.map(|own| own.id.clone()));
    match (found, opened) {
        (found, opened) if found == opened => Ok(()),
        (None, _) => Err(
            "tailmark's key is gone: the server lost its data or evicted it, another program removed it, or \
             the address leads to another server"
                .into(),
        ),
        _ => Err("another data set is in its place, or the address leads to another server".into()),
    }
}

/// Removes the records that the index names, of the data set that was opened and no other. What
/// another program keeps there stays.
pub(super) async fn remove_records(nodes: &Nodes, opened: &Own) -> Result<(), BoxError> {
    let next = cmd("ZRANGE").arg(INDEX).arg(0).arg(BATCH - 1).take();
    loop {
        watch(nodes, opened).await?;
        let keys: Vec<Vec<u8>> = nodes.ask(INDEX.as_bytes(), &next).await?;
        if keys.is_empty() {
            return Ok(());
        }
        let unlink = keys.iter().map(|key| cmd("UNLINK").arg(key).take());
        // Last: a removal that is killed finds the rest by the index.
        let unindex = cmd("ZREM").arg(INDEX).arg(&keys).take();
        if nodes.is_single() {
            unless_changed(nodes, unlink.chain([unindex])).await?;
            continue;
        }
        // A transaction has the keys of one slot.
        for (index, node) in nodes.nodes.iter().enumerate() {
            let mut pipeline = Pipeline::new();
            let own = keys.iter().zip(unlink.clone());
            let own = own.filter(|(key, _)| nodes.node_of(key) == index);
            own.for_each(|(_, command)| {
                pipeline.add_command(command);
            });
            if !pipeline.is_empty() {
                let mut connection = node.connection.clone();
                pipeline.query_async::<Vec<u64>>(&mut connection).await?;
            }
        }
        nodes.ask::<()>(INDEX.as_bytes(), &unindex).await?;
    }
}

/// Changes tailmark's own hash, of the data set that was opened and no other.
pub(super) async fn change_own(nodes: &Nodes, opened: &Own, change: Cmd) -> Result<(), BoxError> {
    loop {
        watch(nodes, opened).await?;
        if unless_changed(nodes, [change.clone()]).await? {
            return Ok(());
        }
    }
}

/// Refuses another data set than the one that was opened, and has the server watch tailmark's own hash
/// for what follows: between a look and a change, `SWAPDB` can put other data in its place.
async fn watch(nodes: &Nodes, opened: &Own) -> Result<(), BoxError> {
    nodes
        .ask::<()>(OWN.as_bytes(), cmd("WATCH").arg(OWN))
        .await?;
    refuse_another(nodes, Some(opened)).await
}

/// Has the node of tailmark's own hash do all of this, or nothing and false where the hash changed since
/// it is watched.
async fn unless_changed(
    nodes: &Nodes,
    commands: impl IntoIterator<Item = Cmd>,
) -> Result<bool, BoxError> {
    let mut pipeline = Pipeline::new();
    pipeline.atomic();
    for command in commands {
        pipeline.add_command(command);
    }
    let mut connection = nodes.nodes[nodes.node_of(OWN.as_bytes())]
        .connection
        .clone();
    let done: Option<Vec<u64>> = pipeline.query_async(&mut connection).await?;
    Ok(done.is_some())
}

/// The database for messages.
pub(super) fn name(params: &Params) -> String {
    format!("database {}", settings::database(&params.settings))
}

/// What removes the records, in words.
pub(super) fn removal(params: &Params) -> String {
    format!("UNLINK the keys that `{INDEX}` of {} names", name(params))
}

/// What is found in a database that holds this, and what would change it.
pub(super) fn look(params: &Params, existing: &Existing) -> Look {
    let name = name(params);
    let is_foreign = existing.own.is_none() && existing.indexed == 0 && existing.keys > 0;
    let own = existing.own.as_ref();
    let marker = own.and_then(|own| own.marker.clone());
    let is_begun = marker.is_none() && existing.is_empty();
    Look {
        exists: own.is_some() || existing.indexed > 0,
        id: own.map(|own| own.id.clone()),
        is_empty: existing.is_empty(),
        foreign: is_foreign.then(|| name.clone()),
        is_bare: false,
        is_nothing: own.is_none() && existing.keys == 0,
        made_for: own
            .filter(|own| is_begun && !own.study.is_empty())
            .map(|own| own.study.clone()),
        creates: own.map_or_else(
            || {
                vec![format!(
                    "HSETNX {OWN} id ... in {name}, HSET {OWN} study ..."
                )]
            },
            |_| Vec::new(),
        ),
        marks: format!("HSET {OWN} marker ... in {name}"),
        removes: (own.is_some() || existing.keys == 0).then(|| removal(params)),
        marker,
        name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_of_a_key_is_the_hash_code_of_a_java_string() {
        // By `"...".hashCode()` of OpenJDK 17.
        for (key, expected) in [
            ("", 0),
            ("a", 97),
            ("hello", 99_162_322),
            ("polygenelubricants", i32::MIN),
        ] {
            assert_eq!(java_hash(key.as_bytes()), expected, "{key}");
        }
    }
}
