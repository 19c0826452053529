//! Examines a logical database, creates a data set in it, and removes its records.

use super::{
    failure::unmeasured,
    identity::{OWN, TailmarkHash, new_id, own},
    nodes::{Node, Nodes},
    settings,
};
use crate::{Access, Params, ServerContents, error::BoxError};
use redis::{Cmd, FromRedisValue, Pipeline, cmd};

/// The sorted set of the keys of all records, as YCSB's binding has it.
pub(super) const INDEX: &str = "_indices";

/// The number of records removed at a time.
const BATCH: usize = 500;

/// The content of a logical database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Existing {
    /// Tailmark's own hash.
    pub own: Option<TailmarkHash>,
    /// The number of keys in the index.
    pub indexed: u64,
    /// The number of all keys.
    pub keys: u64,
}

impl Existing {
    /// Reads the content.
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

    /// The least number of keys that belong to other programs. An index entry without a record
    /// hides one.
    pub fn foreign(&self) -> u64 {
        let index = u64::from(self.indexed > 0);
        let own = self.own.as_ref().map_or(0, |_| self.indexed + index + 1);
        self.keys.saturating_sub(own)
    }

    /// Whether it holds no record and, if it is not tailmark's, nothing of another program.
    pub fn is_empty(&self) -> bool {
        match self.own {
            Some(_) => self.indexed == 0,
            None => self.keys == 0,
        }
    }
}

/// The number of keys in the index; 0 if another program has a sorted set of that name.
async fn indexed(nodes: &Nodes) -> Result<u64, BoxError> {
    let first = members(nodes, 16).await?;
    if !first.iter().all(is_member) {
        return Ok(0);
    }
    nodes.ask(INDEX.as_bytes(), cmd("ZCARD").arg(INDEX)).await
}

/// The first members of the index, with their scores.
async fn members(nodes: &Nodes, count: usize) -> Result<Vec<(Vec<u8>, f64)>, BoxError> {
    let mut first = cmd("ZRANGE").arg(INDEX).arg(0).arg(count - 1).take();
    nodes.ask(INDEX.as_bytes(), first.arg("WITHSCORES")).await
}

/// Whether a member of the index has the score that YCSB's binding gives it.
fn is_member((key, score): &(Vec<u8>, f64)) -> bool {
    f64::from(java_hash(key)) == *score
}

/// The score of a key in the index: the hash code of Java's strings, as in YCSB's binding. Key
/// names are ASCII, so a byte is a character.
pub(super) fn java_hash(key: &[u8]) -> i32 {
    key.iter().fold(0_i32, |hash, &byte| {
        hash.wrapping_mul(31).wrapping_add(byte.into())
    })
}

/// Creates tailmark's own hash in an empty database.
pub(super) async fn make(nodes: &Nodes, params: &Params) -> Result<Existing, BoxError> {
    let existing = Existing::read(nodes).await?;
    if existing.own.is_some() && params.access != Access::CreateNew {
        return Ok(existing);
    }
    if existing.keys > 0 {
        return Err(format!(
            "{} holds {} keys that this run did not create; use another `database`",
            name(params),
            existing.keys
        )
        .into());
    }
    let study = if params.study.bytes().all(|b| b.is_ascii_hexdigit()) {
        &*params.study
    } else {
        ""
    };
    let id = new_id()?;
    let mut create = cmd("HSET").arg(OWN).arg("id").arg(&id).take();
    create.arg("study").arg(study);
    nodes
        .ask::<()>(OWN.as_bytes(), cmd("WATCH").arg(OWN))
        .await?;
    if own(nodes).await?.is_none() && unless_changed(nodes, [create]).await? {
        let made = Existing::read(nodes).await?;
        match made.own.as_ref().filter(|own| own.id == id) {
            Some(_) if made.keys == 1 => return Ok(made),
            Some(own) => change_own(nodes, own, cmd("DEL").arg(OWN).take()).await?,
            // Another data set took its place.
            None => {}
        }
    }
    let name = name(params);
    Err(format!("another program started to use {name}; use another `database`").into())
}

/// Refuses a data set without its index: nothing tells its records from keys of other programs.
pub(super) async fn refuse_unindexed(nodes: &Nodes, params: &Params) -> Result<(), BoxError> {
    let existing = Existing::read(nodes).await?;
    // Whoever is in it: a member of another program ends the removal by its name.
    let members: u64 = nodes.ask(INDEX.as_bytes(), cmd("ZCARD").arg(INDEX)).await?;
    if members > 0 || existing.foreign() == 0 {
        return Ok(());
    }
    Err(format!(
        "the index `{INDEX}` of {} is missing, so tailmark cannot tell its records from keys of \
         other programs (keys besides its own: {}); all of them are left",
        name(params),
        existing.foreign()
    )
    .into())
}

/// Removes the indexed records of the opened data set only. Other programs' data stays.
pub(super) async fn remove_records(nodes: &Nodes, opened: &TailmarkHash) -> Result<(), BoxError> {
    loop {
        watch(nodes, opened).await?;
        let members = members(nodes, BATCH).await?;
        if members.is_empty() {
            return Ok(());
        }
        if let Some((key, _)) = members.iter().find(|member| !is_member(member)) {
            let key = key.escape_ascii();
            return Err(format!("`{INDEX}` names `{key}`, which tailmark did not add").into());
        }
        let keys: Vec<&[u8]> = members.iter().map(|(key, _)| &**key).collect();
        let unlink = keys.iter().map(|key| cmd("UNLINK").arg(*key).take());
        // Last: a removal that is killed finds the rest by the index.
        let unindex = cmd("ZREM").arg(INDEX).arg(&keys).take();
        if nodes.is_single() {
            unless_changed(nodes, unlink.chain([unindex])).await?;
            continue;
        }
        // The keys of a transaction must be in one slot.
        for (index, node) in nodes.nodes.iter().enumerate() {
            let mut pipeline = Pipeline::new();
            let own = keys.iter().zip(unlink.clone());
            let own = own.filter(|(key, _)| nodes.node_of(key) == index);
            own.for_each(|(_, command)| {
                pipeline.add_command(command);
            });
            if !pipeline.is_empty() {
                let _: Vec<u64> = send(node, &pipeline).await?;
            }
        }
        nodes.ask::<()>(INDEX.as_bytes(), &unindex).await?;
    }
}

async fn send<T: FromRedisValue>(node: &Node, pipeline: &Pipeline) -> Result<T, BoxError> {
    let mut connection = node.connection.clone();
    let answer = pipeline.query_async(&mut connection).await;
    answer.map_err(|error| unmeasured(&error))
}

/// Changes tailmark's own hash, but only that of the opened data set.
pub(super) async fn change_own(
    nodes: &Nodes,
    opened: &TailmarkHash,
    change: Cmd,
) -> Result<(), BoxError> {
    loop {
        watch(nodes, opened).await?;
        if unless_changed(nodes, [change.clone()]).await? {
            return Ok(());
        }
    }
}

/// Refuses any other data set, and watches tailmark's own hash, because `SWAPDB` can replace the
/// data before the change. One change at a time per connection, because EXEC ends every WATCH.
async fn watch(nodes: &Nodes, opened: &TailmarkHash) -> Result<(), BoxError> {
    nodes
        .ask::<()>(OWN.as_bytes(), cmd("WATCH").arg(OWN))
        .await?;
    opened.refuse_another(nodes).await
}

/// Runs the commands in one transaction on the node of tailmark's own hash. False if the hash
/// changed since the watch began; then nothing was done.
async fn unless_changed(
    nodes: &Nodes,
    commands: impl IntoIterator<Item = Cmd>,
) -> Result<bool, BoxError> {
    let node = &nodes.nodes[nodes.node_of(OWN.as_bytes())];
    // Alone: if the user may not send it, commands after it would run at once.
    node.ask::<()>(&cmd("MULTI")).await?;
    let mut pipeline = Pipeline::new();
    for command in commands {
        pipeline.add_command(command).ignore();
    }
    pipeline.cmd("EXEC");
    let (done,): (Option<Vec<u64>>,) = send(node, &pipeline).await?;
    Ok(done.is_some())
}

/// The database's name in messages.
pub(super) fn name(params: &Params) -> String {
    format!("database {}", settings::database(&params.settings))
}

/// A description of how records are removed.
pub(super) fn removal(params: &Params) -> String {
    format!("UNLINK the keys that `{INDEX}` of {} names", name(params))
}

/// The report about a database with this content, and what would change it.
pub(super) fn look(params: &Params, existing: &Existing) -> ServerContents {
    let name = name(params);
    let is_foreign = existing.own.is_none() && existing.indexed == 0 && existing.keys > 0;
    let own = existing.own.as_ref();
    let marker = own.and_then(|own| own.marker.clone());
    let is_begun = marker.is_none() && existing.is_empty();
    ServerContents {
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
            || vec![format!("HSET {OWN} id ... study ... in {name}")],
            |_| Vec::new(),
        ),
        marks: format!(
            "BGSAVE, if the server keeps only snapshots, and HSET {OWN} marker ... in {name}"
        ),
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
