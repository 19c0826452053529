//! Facts, statistics and warnings from a server's `INFO` and `CONFIG GET`.

use super::{
    failure::Refusal,
    nodes::{Node, Nodes, UNMEASURED},
};
use crate::{Remark, RemarkCode, Settled, Statistic, error::BoxError};
use redis::cmd;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// The interval between questions to a busy server.
const POLL: Duration = Duration::from_millis(100);
/// After this time, a server that writes its log back every second has written everything
/// acknowledged before.
const EVERYSEC: Duration = Duration::from_secs(2);

/// Parameters that concern storage and memory.
const CONFIG: &[&str] = &[
    "appendfsync",
    "appendonly",
    "auto-aof-rewrite-percentage",
    "io-threads",
    "maxmemory",
    "maxmemory-policy",
    "no-appendfsync-on-rewrite",
    "rdbcompression",
    "save",
];

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
}

/// A line of INFO, our name for it, and whether it only grows.
const STATISTICS: &[(&str, &str, Kind)] = &[
    ("aof_current_size", "aof_bytes", Kind::Gauge),
    ("aof_delayed_fsync", "delayed_fsyncs", Kind::Counter),
    ("aof_pending_bio_fsync", "pending_fsyncs", Kind::Gauge),
    (
        "aof_rewrite_in_progress",
        "running_aof_rewrites",
        Kind::Gauge,
    ),
    ("aof_rewrites", "aof_rewrites", Kind::Counter),
    ("connected_clients", "connections", Kind::Gauge),
    ("evicted_keys", "evicted_keys", Kind::Counter),
    ("keyspace_hits", "key_hits", Kind::Counter),
    ("keyspace_misses", "key_misses", Kind::Counter),
    ("latest_fork_usec", "latest_fork_us", Kind::Gauge),
    ("lazyfree_pending_objects", "pending_removals", Kind::Gauge),
    ("rdb_bgsave_in_progress", "running_rdb_saves", Kind::Gauge),
    (
        "rdb_changes_since_last_save",
        "unsaved_changes",
        Kind::Gauge,
    ),
    ("rdb_saves", "rdb_saves", Kind::Counter),
    ("total_commands_processed", "commands", Kind::Counter),
    ("used_memory", "memory_bytes", Kind::Gauge),
    ("used_memory_rss", "resident_memory_bytes", Kind::Gauge),
];

/// Lines of INFO that are not 0 during background work.
const BUSY: &[&str] = &[
    "aof_pending_bio_fsync",
    "aof_rewrite_in_progress",
    "aof_rewrite_scheduled",
    "async_loading",
    "lazyfree_pending_objects",
    "loading",
    "rdb_bgsave_in_progress",
];

/// The lines `name:value` of an answer to INFO.
fn lines(answer: &str) -> BTreeMap<&str, &str> {
    answer
        .lines()
        .filter_map(|line| line.split_once(':'))
        .collect()
}

async fn info(node: &Node) -> Result<String, BoxError> {
    node.ask(cmd("INFO").arg("everything")).await
}

/// The value of a parameter; `None` if the server does not say.
async fn parameter(node: &Node, name: &str) -> Option<String> {
    let said: Result<Vec<String>, _> = node.ask(cmd("CONFIG").arg("GET").arg(name)).await;
    said.ok()?.into_iter().nth(1)
}

/// All available facts. Nodes of a cluster are assumed to be alike.
pub(super) async fn facts(nodes: &Nodes) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    if !nodes.is_single() {
        facts.insert("nodes".to_owned(), nodes.nodes.len().to_string());
    }
    let Some(node) = nodes.nodes.first() else {
        return facts;
    };
    let answer = info(node).await.unwrap_or_default();
    let told = lines(&answer);
    let version = told.get("valkey_version").or(told.get("redis_version"));
    let server = told.get("server_name").copied().unwrap_or("redis");
    facts.insert("server".to_owned(), server.to_owned());
    for (name, value) in [
        ("version", version),
        ("allocator", told.get("mem_allocator")),
        ("mode", told.get("redis_mode")),
    ] {
        if let Some(value) = value {
            facts.insert(name.to_owned(), (*value).to_owned());
        }
    }
    for name in CONFIG {
        if let Some(value) = parameter(node, name).await {
            facts.insert((*name).to_owned(), value);
        }
    }
    facts
}

/// The statistics of all nodes. Nodes that do not answer are left out.
pub(super) async fn statistics(nodes: &[Node]) -> Vec<Statistic> {
    let mut told = Vec::new();
    for node in nodes {
        let name = (nodes.len() > 1).then(|| node.address.clone());
        if let Ok(answer) = info(node).await {
            told.extend(read(name, &answer));
        }
    }
    told
}

fn read(node: Option<String>, answer: &str) -> Vec<Statistic> {
    let told = lines(answer);
    let statistic = |&(theirs, ours, kind): &(&str, &str, Kind)| {
        let value: f64 = told.get(theirs)?.trim().parse().ok()?;
        Some(Statistic {
            node: node.clone(),
            ..match kind {
                Kind::Counter => Statistic::counter(ours, value),
                Kind::Gauge => Statistic::gauge(ours, value),
            }
        })
    };
    STATISTICS.iter().filter_map(statistic).collect()
}

/// Waits until no node rewrites its log, saves, loads or removes in the background.
pub(super) async fn settle(nodes: &Nodes, timeout: Duration) -> Settled {
    let end = Instant::now() + timeout;
    for node in &nodes.nodes {
        loop {
            match info(node).await {
                Err(_) => return Settled::Unknown,
                Ok(answer) if !is_busy(&answer) => break,
                Ok(_) if Instant::now() >= end => return Settled::No,
                Ok(_) => tokio::time::sleep(POLL).await,
            }
        }
    }
    Settled::Yes
}

fn is_busy(answer: &str) -> bool {
    let told = lines(answer);
    BUSY.iter().any(|name| is_positive(&told, name))
}

fn is_positive(told: &BTreeMap<&str, &str>, name: &str) -> bool {
    let number = told.get(name).and_then(|value| value.trim().parse().ok());
    number.is_some_and(|number: i64| number > 0)
}

/// The run id of each server: a new one after every start.
pub(super) async fn run_ids(nodes: &Nodes) -> Result<Vec<String>, BoxError> {
    let mut ids = Vec::new();
    for node in &nodes.nodes {
        let told = info(node).await?;
        ids.extend(lines(&told).get("run_id").map(|id| id.trim().to_owned()));
    }
    ids.sort();
    Ok(ids)
}

/// Refuses a server on which new records could evict another program's keys: those in its other
/// databases, and the `foreign` ones in this database.
pub(super) async fn refuse_eviction(
    nodes: &Nodes,
    database: i64,
    foreign: u64,
) -> Result<(), BoxError> {
    for node in &nodes.nodes {
        let told = info(node).await?;
        let Some(policy) = eviction(&told) else {
            continue;
        };
        let others = if policy.starts_with("volatile") {
            expiring_keys(&told)
        } else {
            foreign + keys_beside(&told, database)
        };
        if others > 0 {
            return Err(Refusal::new(format!(
                "the server evicts keys when its memory is full (maxmemory-policy {policy}), and \
                 holds {others} keys of other programs; set maxmemory-policy to noeviction, or use \
                 a separate server"
            ))
            .into());
        }
    }
    Ok(())
}

/// The eviction policy; `None` if the server never evicts keys.
fn eviction(answer: &str) -> Option<&str> {
    let told = lines(answer);
    let policy = told.get("maxmemory_policy")?.trim();
    let limit = told.get("maxmemory")?.trim();
    (limit != "0" && policy != "noeviction").then_some(policy)
}

/// The number of keys that expire, in all databases. None is tailmark's, which sets no expiry.
fn expiring_keys(answer: &str) -> u64 {
    let databases = key_counts(answer);
    databases.map(|(_, [_, expiring])| expiring).sum()
}

/// The number of keys in other databases.
fn keys_beside(answer: &str, database: i64) -> u64 {
    let own = format!("db{database}");
    let others = key_counts(answer).filter(|(name, _)| **name != *own);
    others.map(|(_, [keys, _])| keys).sum()
}

/// The names of databases, each with its number of keys and of keys that expire.
fn key_counts(answer: &str) -> impl Iterator<Item = (&str, [u64; 2])> {
    let count = |value: &str, name| {
        let count = value.split(',').find_map(|part| part.strip_prefix(name));
        count
            .and_then(|count| count.trim().parse().ok())
            .unwrap_or(0)
    };
    let databases = lines(answer).into_iter();
    let databases = databases.filter(|(_, value)| value.starts_with("keys="));
    databases.map(move |(name, value)| (name, [count(value, "keys="), count(value, "expires=")]))
}

/// How a server persists its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Persistence {
    /// Each write is on the disk before it is acknowledged.
    Always,
    /// The log is written back every second.
    EverySecond,
    /// The kernel writes the log back.
    Kernel,
    /// The server saves a snapshot now and then.
    Snapshots,
    /// It does not.
    No,
    /// It does not say.
    Unknown,
}

impl Persistence {
    async fn of_node(node: &Node) -> Self {
        let appends = parameter(node, "appendonly").await;
        match appends.as_deref() {
            Some("yes") => match parameter(node, "appendfsync").await.as_deref() {
                Some("always") => Self::Always,
                Some("no") => Self::Kernel,
                _ => Self::EverySecond,
            },
            Some(_) => match parameter(node, "save").await.as_deref() {
                Some("") => Self::No,
                Some(_) => Self::Snapshots,
                None => Self::Unknown,
            },
            None => Self::Unknown,
        }
    }
}

/// Waits until logs that are written back every second are.
pub(super) async fn sync(nodes: &Nodes) -> Result<(), BoxError> {
    let mut has_slept = false;
    for node in &nodes.nodes {
        if Persistence::of_node(node).await != Persistence::EverySecond {
            continue;
        }
        if !std::mem::replace(&mut has_slept, true) {
            tokio::time::sleep(EVERYSEC).await;
        }
        let end = Instant::now() + UNMEASURED;
        while is_positive(&lines(&info(node).await?), "aof_pending_bio_fsync") {
            if Instant::now() >= end {
                let limit = UNMEASURED.as_secs();
                return Err(format!(
                    "the server did not write its log to disk within {limit} s; check its disk"
                )
                .into());
            }
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(())
}

/// Makes servers that only keep snapshots save one, and waits for it.
pub(super) async fn save(nodes: &Nodes) -> Result<(), BoxError> {
    for node in &nodes.nodes {
        if Persistence::of_node(node).await != Persistence::Snapshots {
            continue;
        }
        // A running save may have begun before the last write.
        while is_busy(&info(node).await?) {
            tokio::time::sleep(POLL).await;
        }
        node.ask::<String>(&cmd("BGSAVE")).await?;
        loop {
            let answer = info(node).await?;
            let told = lines(&answer);
            if told.get("rdb_bgsave_in_progress") == Some(&"0") {
                if told.get("rdb_last_bgsave_status") == Some(&"ok") {
                    break;
                }
                return Err("the server could not save its data".into());
            }
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(())
}

/// Warnings about the numbers.
pub(super) async fn remarks(nodes: &Nodes) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut evicted = 0_u64;
    let mut unsaved = Vec::new();
    for node in &nodes.nodes {
        let answer = info(node).await.unwrap_or_default();
        let told = lines(&answer);
        let keys = told.get("evicted_keys").and_then(|keys| keys.parse().ok());
        evicted += keys.unwrap_or(0_u64);
        if Persistence::of_node(node).await == Persistence::No {
            unsaved.push(node.address.clone());
        }
    }
    if evicted > 0 {
        remarks.push(Remark {
            code: RemarkCode::DataEvicted,
            text: format!(
                "The server has evicted {evicted} keys since it started, because its memory was \
                 full. Reads of evicted records find nothing. Give it more memory (`maxmemory`), \
                 or load fewer records."
            ),
        });
    }
    if !unsaved.is_empty() {
        remarks.push(Remark {
            code: RemarkCode::NotPersistent,
            text: format!(
                "{} keeps its data only in memory (`appendonly no`, `save \"\"`): no storage was \
                 measured, and a restart loses the data. Set `appendonly yes` or `save`.",
                unsaved.join(", ")
            ),
        });
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StatisticKind;

    const ANSWER: &str = "# Memory\r\nused_memory:1048576\r\nused_memory_human:1.00M\r\n\
        # Persistence\r\nloading:0\r\nrdb_bgsave_in_progress:0\r\naof_delayed_fsync:3\r\n\
        # Clients\r\nconnected_clients:9\r\n";

    #[test]
    fn lines_of_info_become_statistics_and_others_are_skipped() {
        let told = read(None, ANSWER);
        let told: Vec<_> = told
            .iter()
            .map(|one| (&*one.name, one.kind, one.value))
            .collect();
        let expected = [
            ("delayed_fsyncs", StatisticKind::Counter, 3.0),
            ("connections", StatisticKind::Gauge, 9.0),
            ("running_rdb_saves", StatisticKind::Gauge, 0.0),
            ("memory_bytes", StatisticKind::Gauge, 1_048_576.0),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn keys_that_can_be_evicted_are_those_of_other_databases() {
        let answer = "maxmemory:1000\r\nmaxmemory_policy:volatile-lru\r\n# Keyspace\r\n\
                      db0:keys=40,expires=7,avg_ttl=0\r\ndb3:keys=500,expires=0,avg_ttl=0\r\n";
        assert_eq!(eviction(answer), Some("volatile-lru"));
        assert_eq!(expiring_keys(answer), 7);
        assert_eq!(keys_beside(answer, 3), 40);
        assert_eq!(keys_beside(answer, 0), 500);
        for keeps in [
            ("maxmemory:1000", "maxmemory:0"),
            ("volatile-lru", "noeviction"),
        ] {
            assert_eq!(eviction(&answer.replace(keeps.0, keeps.1)), None);
        }
    }

    #[test]
    fn a_server_is_busy_while_it_saves_rewrites_loads_or_removes() {
        assert!(!is_busy(ANSWER));
        for line in BUSY {
            assert!(is_busy(&format!("{line}:1\r\n")), "{line}");
        }
    }

    #[test]
    fn the_rows_of_statistics_are_sorted() {
        assert!(STATISTICS.is_sorted_by(|a, b| a.0 < b.0));
    }
}
