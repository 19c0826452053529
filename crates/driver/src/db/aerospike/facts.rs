//! Facts from the server's info protocol.

use crate::{Settled, error::BoxError};
use aerospike::{AdminPolicy, Client, Node};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

/// Settings and counts of a namespace that concern storage. Names of devices contain an index.
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

/// The interval between questions to a busy server.
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

/// Requires that the cluster has this namespace. Namespaces are configured on servers; clients
/// cannot create them.
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
        Err(format!("the server has no namespace `{namespace}`; its namespaces: `{known}`").into())
    }
}

/// All nodes of the cluster. An error if a node is unreachable or belongs to another cluster.
/// Otherwise the answers would not cover all records, or might name records of foreign data.
async fn all_nodes(client: &Client, policy: &AdminPolicy) -> Result<Vec<Arc<Node>>, BoxError> {
    let nodes = client.nodes();
    let mut told = Vec::new();
    for node in &nodes {
        told.extend(node.info(policy, &["statistics"]).await?.into_values());
    }
    is_one_cluster(nodes.len(), &told)?;
    Ok(nodes)
}

/// Checks by the statistics of each node that these nodes form one complete cluster.
fn is_one_cluster(nodes: usize, told: &[String]) -> Result<(), BoxError> {
    let mut keys = BTreeSet::new();
    for answer in told {
        let find = |wanted| words(answer).find(|(name, _)| *name == wanted);
        let (Some((_, size)), Some((_, key))) = (find("cluster_size"), find("cluster_key")) else {
            return Err("a node does not report the size of its cluster".into());
        };
        if size.parse() != Ok(nodes) {
            return Err(format!(
                "tailmark reaches {nodes} nodes, but one of them is in a cluster of {}: all nodes \
                 must be reachable and belong to one cluster",
                one_line(size)
            )
            .into());
        }
        keys.insert(key);
    }
    if keys.len() == 1 && told.len() == nodes {
        Ok(())
    } else {
        Err("the nodes do not belong to one cluster".into())
    }
}

/// Records of a set over all nodes, including replicas.
pub(super) async fn records(
    client: &Client,
    policy: &AdminPolicy,
    namespace: &str,
    set: &str,
) -> Result<u64, BoxError> {
    let question = format!("sets/{namespace}/{set}");
    let mut sum = 0_u64;
    for node in all_nodes(client, policy).await? {
        for answer in node.info(policy, &[&question]).await?.into_values() {
            sum = sum.saturating_add(objects(&answer)?);
        }
    }
    Ok(sum)
}

/// The records of a set in a node's answer. The answer is empty if the node has no such set.
fn objects(answer: &str) -> Result<u64, BoxError> {
    if answer.trim().is_empty() {
        return Ok(0);
    }
    let mut counts = words(answer).filter(|(name, _)| *name == "objects");
    match (counts.next().map(|(_, count)| count.parse()), counts.next()) {
        (Some(Ok(count)), None) => Ok(count),
        _ => Err(format!(
            "the server answered `{}` instead of the number of records in the set",
            one_line(answer)
        )
        .into()),
    }
}

/// An answer in the form used in errors.
fn one_line(answer: &str) -> String {
    const LONGEST: usize = 100;
    let shown = answer.chars().filter(|c| !c.is_control());
    shown.take(LONGEST).collect()
}

/// Removes the records of a set. The command goes to one of the checked nodes, which forwards it
/// within its cluster.
pub(super) async fn truncate(
    client: &Client,
    policy: &AdminPolicy,
    namespace: &str,
    set: &str,
) -> Result<(), BoxError> {
    let nodes = all_nodes(client, policy).await?;
    let node = nodes.first().ok_or("no node of the cluster answers")?;
    let command = format!("truncate:namespace={namespace};set={set}");
    let answers = node.info(policy, &[&command]).await?;
    match answers.into_values().next() {
        Some(answer) if answer.eq_ignore_ascii_case("ok") => Ok(()),
        answer => Err(format!(
            "the server did not truncate the set: `{}`",
            one_line(&answer.unwrap_or_default())
        )
        .into()),
    }
}

/// All available facts. Missing ones are left out.
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

/// Whether a name belongs to a device or file, or to one of its counters: `device[0].write_q`.
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

/// Blocks that wait to be written or defragmented; `None` if nothing is stored on a device.
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
    fn only_an_empty_answer_means_that_there_is_no_set() {
        assert_eq!(objects("").unwrap(), 0);
        assert_eq!(
            objects("objects=3:tombstones=0:truncate_lut=0;").unwrap(),
            3
        );
        for answer in [
            "ERROR:81:role violation",
            "FAIL:4:bad",
            "error-no-data-yet-or-back-too-small",
            "ns=ycsb:set=usertable:n_objects=3:",
            "OBJECTS=3",
            "objects=x",
            "objects=0:objects=3",
        ] {
            assert!(objects(answer).is_err(), "{answer}");
        }
    }

    #[test]
    fn nodes_are_one_cluster_where_each_counts_them_all_and_has_the_same_key() {
        let told = |size, key| format!("cluster_size={size};cluster_key={key};uptime=7");
        let are = |nodes: &[String]| is_one_cluster(nodes.len(), nodes).is_ok();
        assert!(are(&[told(1, "A1")]));
        assert!(are(&[told(2, "A1"), told(2, "A1")]));
        assert!(!are(&[told(2, "A1")]), "one is not reached");
        assert!(!are(&[told(2, "A1"), told(1, "B2")]));
        assert!(!are(&[told(2, "A1"), told(2, "B2")]));
        assert!(!are(&["uptime=7".to_owned()]) && !are(&[]));
    }

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
