//! Facts from the server: version, settings, nodes that are down, and whether it is idle.

use super::schema::Tables;
use crate::{Remark, RemarkCode, Settled, error::BoxError};
use scylla::{
    client::session::Session,
    cluster::Node,
    policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy},
    statement::Statement,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

/// Settings of the server that concern storage.
const SETTINGS: &[&str] = &[
    "commitlog_compression",
    "commitlog_sync",
    "commitlog_sync_period",
    "compaction_throughput",
    "concurrent_compactors",
    "concurrent_reads",
    "concurrent_writes",
    "disk_access_mode",
    "disk_optimization_strategy",
    "file_cache_size",
    "key_cache_size",
    "memtable_flush_writers",
    "memtable_heap_space",
    "memtable_offheap_space",
    "row_cache_size",
    "trickle_fsync",
];

/// The interval between questions to a busy server.
const POLL: Duration = Duration::from_millis(500);

/// All available facts. Missing ones are left out.
pub(super) async fn facts(session: &Session, tables: &Tables) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut put = |name: &str, value: String| {
        facts.insert(name.to_owned(), value);
    };
    let local = "SELECT release_version, cluster_name, partitioner FROM system.local";
    if let Ok((version, cluster, partitioner)) =
        first::<(String, String, String)>(session, local).await
    {
        put("version", format!("Cassandra {version}"));
        put("cluster", cluster);
        put(
            "partitioner",
            partitioner
                .rsplit('.')
                .next()
                .unwrap_or_default()
                .to_owned(),
        );
    }
    let scylla = "SELECT version FROM system.versions WHERE key = 'local'";
    if let Ok((version,)) = first::<(String,)>(session, scylla).await {
        put("version", format!("ScyllaDB {version}"));
    }
    let state = session.get_cluster_state();
    put("nodes", state.get_nodes_info().len().to_string());
    for (name, value) in table_options(session, tables).await.unwrap_or_default() {
        put(&format!("table.{name}"), value);
    }
    for name in SETTINGS {
        let setting = format!("SELECT value FROM system_views.settings WHERE name = '{name}'");
        if let Ok((Some(value),)) = first::<(Option<String>,)>(session, &setting).await {
            put(name, value);
        }
    }
    facts
}

async fn table_options(
    session: &Session,
    tables: &Tables,
) -> Result<Vec<(&'static str, String)>, BoxError> {
    type Options = BTreeMap<String, String>;
    let Tables {
        keyspace, table, ..
    } = tables;
    let replication = format!(
        "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = '{keyspace}'"
    );
    let options = format!(
        "SELECT compaction, compression, caching FROM system_schema.tables \
         WHERE keyspace_name = '{keyspace}' AND table_name = '{table}'"
    );
    let (replication,): (Options,) = first(session, &replication).await?;
    let (compaction, compression, caching): (Options, Options, Options) =
        first(session, &options).await?;
    let text = |map: Options| {
        let class = |value: &str| value.rsplit('.').next().unwrap_or_default().to_owned();
        let words = map
            .iter()
            .map(|(name, value)| format!("{name} {}", class(value)));
        words.collect::<Vec<_>>().join(", ")
    };
    Ok(vec![
        ("caching", text(caching)),
        ("compaction", text(compaction)),
        ("compression", text(compression)),
        ("replication", text(replication)),
    ])
}

/// The first row of an answer.
async fn first<R>(session: &Session, select: &str) -> Result<R, BoxError>
where
    R: for<'f, 'm> scylla::deserialize::row::DeserializeRow<'f, 'm>,
{
    let answer = session.query_unpaged(select, ()).await?;
    Ok(answer.into_rows_result()?.first_row::<R>()?)
}

/// The nodes of the cluster without a connection.
pub(super) fn down(session: &Session) -> BTreeSet<String> {
    let state = session.get_cluster_state();
    let down = state.get_nodes_info().iter().filter(|n| !n.is_connected());
    down.map(|node| node.address.to_string()).collect()
}

/// The remark if nodes were down before a point or are down after it. The other nodes then do the
/// work and, if the consistency allows it, no request fails. If all were down, the failures say so.
pub(super) fn nodes_down(session: &Session, before: &BTreeSet<String>) -> Option<Remark> {
    let all = session.get_cluster_state().get_nodes_info().len();
    nodes_down_of(all, before | &down(session))
}

fn nodes_down_of(all: usize, down: BTreeSet<String>) -> Option<Remark> {
    (!down.is_empty() && down.len() < all).then(|| Remark {
        code: RemarkCode::NodesDown,
        text: format!(
            "{} of {all} nodes accepted no connection before or after this point ({}), so the \
             other nodes did their work. Start these nodes, and measure the point again.",
            down.len(),
            down.into_iter().collect::<Vec<_>>().join(", ")
        ),
    })
}

/// Waits until no node flushes or compacts. A node that is down does neither; if all are down, the
/// result is unknown. Cassandra reports this since 4.0; ScyllaDB does not by CQL.
pub(super) async fn settle(session: &Session, timeout: Duration) -> Settled {
    let end = Instant::now() + timeout;
    loop {
        match busy(session).await {
            Err(_) => return Settled::Unknown,
            Ok(false) => return Settled::Yes,
            Ok(true) if Instant::now() >= end => return Settled::No,
            Ok(true) => tokio::time::sleep(POLL).await,
        }
    }
}

async fn busy(session: &Session) -> Result<bool, BoxError> {
    let state = session.get_cluster_state();
    let mut is_told = false;
    for node in state.get_nodes_info().iter().filter(|n| n.is_connected()) {
        if node_is_busy(session, node).await? {
            return Ok(true);
        }
        is_told = true;
    }
    if is_told {
        Ok(false)
    } else {
        Err("tailmark is connected to no node of the cluster".into())
    }
}

/// Whether a node has running or waiting flushes or compactions.
async fn node_is_busy(session: &Session, node: &Arc<Node>) -> Result<bool, BoxError> {
    const POOLS: [&str; 3] = [
        "CompactionExecutor",
        "MemtableFlushWriter",
        "MemtablePostFlush",
    ];
    let mut select =
        Statement::new("SELECT name, active_tasks, pending_tasks FROM system_views.thread_pools");
    let node = NodeIdentifier::Node(Arc::clone(node));
    select.set_load_balancing_policy(Some(SingleTargetLoadBalancingPolicy::new(node, None)));
    let answer = session
        .query_unpaged(select, ())
        .await?
        .into_rows_result()?;
    for row in answer.rows::<(String, i32, i32)>()? {
        let (name, active, pending) = row?;
        if POOLS.contains(&name.as_str()) && active + pending > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_are_down_are_named_and_counted() {
        assert_eq!(nodes_down_of(3, BTreeSet::new()), None);
        let down = ["10.0.0.2:9042", "10.0.0.3:9042"].map(str::to_owned);
        assert_eq!(nodes_down_of(2, down.clone().into()), None);
        let said = nodes_down_of(3, down.into()).unwrap();
        assert_eq!(said.code, RemarkCode::NodesDown);
        assert!(said.text.starts_with("2 of 3 nodes"), "{}", said.text);
        assert!(
            said.text.contains("(10.0.0.2:9042, 10.0.0.3:9042)"),
            "{}",
            said.text
        );
    }
}
