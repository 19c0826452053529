//! What the server tells of itself, asked by its info protocol.

use crate::{Settled, error::BoxError};
use aerospike::{AdminPolicy, Client};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// What of a namespace's settings and counts bears on storage; devices have an index in between.
const NAMESPACE: &[&str] = &[
    "commit-to-device",
    "compression",
    "data_total_bytes",
    "default-ttl",
    "defrag-lwm-pct",
    "flush-size",
    "indexes-memory-budget",
    "post-write-cache",
    "post-write-queue",
    "read-page-cache",
    "replication-factor",
    "storage-engine",
    "strong-consistency",
    "write-block-size",
];

/// How often a server that is busy is asked again.
const POLL: Duration = Duration::from_millis(500);

/// The answers of every node to one question.
pub(super) async fn ask(
    client: &Client,
    policy: &AdminPolicy,
    question: &str,
) -> Result<Vec<String>, BoxError> {
    let mut answers = Vec::new();
    for node in client.nodes() {
        let answer = node.info(policy, &[question]).await?;
        answers.extend(answer.into_iter().map(|(_, text)| text));
    }
    if answers.is_empty() {
        Err("no node of the cluster answers".into())
    } else {
        Ok(answers)
    }
}

/// The words `name=value` of an answer.
pub(super) fn words(answer: &str) -> impl Iterator<Item = (&str, &str)> {
    answer
        .split([';', ':'])
        .filter_map(|word| word.split_once('='))
}

/// That the cluster has this namespace: it is made in the servers' settings, not by a client.
pub(super) async fn require(
    client: &Client,
    policy: &AdminPolicy,
    namespace: &str,
) -> Result<(), BoxError> {
    let answers = ask(client, policy, "namespaces").await?;
    let known: BTreeSet<&str> = answers
        .iter()
        .flat_map(|answer| answer.split(';'))
        .collect();
    if known.contains(namespace) {
        Ok(())
    } else {
        let known = known.into_iter().collect::<Vec<_>>().join("`, `");
        Err(format!("the server has no namespace `{namespace}`, but `{known}`").into())
    }
}

/// Records of a set over all nodes, replicas included.
pub(super) async fn records(
    client: &Client,
    policy: &AdminPolicy,
    namespace: &str,
    set: &str,
) -> Result<u64, BoxError> {
    let answers = ask(client, policy, &format!("sets/{namespace}/{set}")).await?;
    let objects = |answer: &String| {
        let count = words(answer).find(|(name, _)| *name == "objects");
        count
            .and_then(|(_, count)| count.parse::<u64>().ok())
            .unwrap_or(0)
    };
    Ok(answers.iter().map(objects).sum())
}

/// Everything that can be told; what cannot is left out.
pub(super) async fn facts(
    client: &Client,
    policy: &AdminPolicy,
    namespace: &str,
) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::from([("nodes".to_owned(), client.nodes().len().to_string())]);
    for (question, name) in [("build", "version"), ("edition", "edition")] {
        let answer = ask(client, policy, question).await.unwrap_or_default();
        if let Some(answer) = answer.into_iter().next() {
            facts.insert(name.to_owned(), answer);
        }
    }
    let answers = ask(client, policy, &format!("namespace/{namespace}")).await;
    for answer in answers.unwrap_or_default().iter().take(1) {
        let mut devices = 0;
        for (name, value) in words(answer) {
            let own = name.strip_prefix("storage-engine.").unwrap_or(name);
            devices += u32::from(is_of_device(own) && !own.contains("]."));
            if NAMESPACE.contains(&own) {
                facts.insert(own.to_owned(), value.to_owned());
            }
        }
        facts.insert("devices".to_owned(), devices.to_string());
    }
    facts
}

/// Whether a name is that of a device or file, or of one's counters: `device[0].write_q`.
pub(super) fn is_of_device(name: &str) -> bool {
    name.starts_with("device[") || name.starts_with("file[")
}

/// Waits until no device of any node has blocks to write or to defragment.
pub(super) async fn settle(
    client: &Client,
    policy: &AdminPolicy,
    namespace: &str,
    timeout: Duration,
) -> Settled {
    let end = Instant::now() + timeout;
    let question = format!("namespace/{namespace}");
    loop {
        let Ok(answers) = ask(client, policy, &question).await else {
            return Settled::Unknown;
        };
        match queued(&answers) {
            None => return Settled::Unknown,
            Some(0) => return Settled::Yes,
            Some(_) if Instant::now() >= end => return Settled::No,
            Some(_) => tokio::time::sleep(POLL).await,
        }
    }
}

/// Blocks that wait to be written or defragmented; none where nothing is stored on a device.
fn queued(answers: &[String]) -> Option<u64> {
    let queues = answers
        .iter()
        .flat_map(|answer| words(answer))
        .filter_map(|(name, value)| {
            let own = name.strip_prefix("storage-engine.").unwrap_or(name);
            let counts =
                is_of_device(own) && (own.ends_with("].write_q") || own.ends_with("].defrag_q"));
            counts.then(|| value.parse::<u64>().unwrap_or(0))
        });
    queues.fold(None, |sum, queued| Some(sum.unwrap_or(0) + queued))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_in_the_queues_of_all_devices_are_counted() {
        let answers = [
            "objects=7;storage-engine=device;storage-engine.device[0]=/dev/a;\
             storage-engine.device[0].write_q=2;storage-engine.device[0].defrag_q=3",
            "storage-engine.file[0].write_q=1",
        ];
        assert_eq!(queued(&answers.map(str::to_owned)), Some(6));
        assert_eq!(queued(&["storage-engine=memory".to_owned()]), None);
    }
}
