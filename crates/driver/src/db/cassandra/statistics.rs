//! Statistics of each node from its virtual tables (`system_views`, since Cassandra 4.0): stages
//! with running and waiting tasks, flushes, compactions, caches.
//!
//! A virtual table belongs to one node, so every node is asked separately. The tables differ
//! between versions, and ScyllaDB has none of them, so tailmark looks for each once.

use super::schema::Tables;
use crate::{Statistic, error::BoxError};
use scylla::{
    client::session::Session,
    cluster::Node,
    deserialize::row::DeserializeRow,
    policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy},
    statement::Statement,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The watched stages, and our name for one of their tasks.
const STAGES: [(&str, &str); 5] = [
    ("CompactionExecutor", "compaction_tasks"),
    ("MemtableFlushWriter", "flushes"),
    ("MutationStage", "writes"),
    ("Native-Transport-Requests", "requests"),
    ("ReadStage", "reads"),
];

/// The caches, and our names for them.
const CACHES: [(&str, &str); 3] = [
    ("chunks", "chunk_cache"),
    ("keys", "key_cache"),
    ("rows", "row_cache"),
];

const MIB: f64 = (1_u64 << 20) as f64;

/// The virtual tables among the server's own views; empty if it has none or does not say.
pub(super) async fn views(session: &Session) -> BTreeSet<String> {
    let select = "SELECT table_name FROM system_virtual_schema.tables \
                  WHERE keyspace_name = 'system_views'";
    let names = async || -> Result<BTreeSet<String>, BoxError> {
        let answer = session
            .query_unpaged(select, ())
            .await?
            .into_rows_result()?;
        let names: Result<Vec<(String,)>, _> = answer.rows()?.collect();
        Ok(names?.into_iter().map(|(name,)| name).collect())
    };
    names().await.unwrap_or_default()
}

/// The statistics of all connected nodes. Missing answers are left out.
pub(super) async fn told(
    session: &Session,
    views: &BTreeSet<String>,
    tables: &Tables,
) -> Vec<Statistic> {
    let state = session.get_cluster_state();
    let nodes: Vec<&Arc<Node>> = state
        .get_nodes_info()
        .iter()
        .filter(|n| n.is_connected())
        .collect();
    let is_one = state.get_nodes_info().len() == 1;
    let mut told = Vec::new();
    for node in nodes {
        let name = (!is_one).then(|| node.address.to_string());
        let requested = NodeViews {
            session,
            views,
            node,
        };
        let of_node = requested.all(tables).await.into_iter();
        told.extend(of_node.map(|one| Statistic {
            node: name.clone(),
            ..one
        }));
    }
    told
}

/// The virtual tables of one node.
struct NodeViews<'a> {
    session: &'a Session,
    views: &'a BTreeSet<String>,
    node: &'a Arc<Node>,
}

impl NodeViews<'_> {
    async fn all(&self, tables: &Tables) -> Vec<Statistic> {
        let stages = "name, active_tasks, pending_tasks, completed_tasks, blocked_tasks_all_time";
        let stages = self.rows("thread_pools", stages, "").await;
        let caches = "name, size_bytes, hit_count, request_count";
        let caches = self.rows("caches", caches, "").await;
        let tasks = self
            .rows("sstable_tasks", "kind, progress, total, unit", "")
            .await;
        let of_table = format!(
            " WHERE keyspace_name = '{}' AND table_name = '{}'",
            tables.keyspace, tables.table
        );
        let used = self.rows("disk_usage", "mebibytes", &of_table).await;
        let mut told = of_stages(&stages);
        told.extend(of_caches(&caches));
        if self.views.contains("sstable_tasks") {
            told.extend(of_tasks(&tasks));
        }
        let used = used
            .first()
            .map(|(mebibytes,): &(i64,)| *mebibytes as f64 * MIB);
        told.extend(used.map(|bytes| Statistic::gauge("disk_bytes", bytes)));
        told
    }

    /// The rows of a view; `None` if the node lacks it or does not answer.
    async fn rows<R>(&self, view: &str, columns: &str, filter: &str) -> Vec<R>
    where
        R: for<'f, 'm> DeserializeRow<'f, 'm>,
    {
        if !self.views.contains(view) {
            return Vec::new();
        }
        let select = format!("SELECT {columns} FROM system_views.{view}{filter}");
        self.answer(&select).await.unwrap_or_default()
    }

    async fn answer<R>(&self, select: &str) -> Result<Vec<R>, BoxError>
    where
        R: for<'f, 'm> DeserializeRow<'f, 'm>,
    {
        let mut select = Statement::new(select);
        let node = NodeIdentifier::Node(Arc::clone(self.node));
        select.set_load_balancing_policy(Some(SingleTargetLoadBalancingPolicy::new(node, None)));
        let answer = self.session.query_unpaged(select, ()).await?;
        let answer = answer.into_rows_result()?;
        Ok(answer.rows::<R>()?.collect::<Result<Vec<R>, _>>()?)
    }
}

/// A stage: its name, and tasks that run, wait, are done, and were blocked by a full queue.
type Stage = (String, i32, i32, i64, i64);

fn of_stages(rows: &[Stage]) -> Vec<Statistic> {
    let mut told = Vec::new();
    for (name, active, pending, completed, blocked) in rows {
        let Some((_, ours)) = STAGES.iter().find(|(theirs, _)| theirs == name) else {
            continue;
        };
        told.push(Statistic::counter(*ours, *completed as f64));
        told.push(Statistic::counter(
            format!("{ours}_blocked"),
            *blocked as f64,
        ));
        told.push(Statistic::gauge(
            format!("{ours}_active"),
            f64::from(*active),
        ));
        told.push(Statistic::gauge(
            format!("{ours}_pending"),
            f64::from(*pending),
        ));
    }
    told
}

/// A cache: its name, bytes, hits and requests.
type Cache = (String, i64, i64, i64);

fn of_caches(rows: &[Cache]) -> Vec<Statistic> {
    let mut told = Vec::new();
    for (name, bytes, hits, requests) in rows {
        let Some((_, ours)) = CACHES.iter().find(|(theirs, _)| theirs == name) else {
            continue;
        };
        told.push(Statistic::gauge(format!("{ours}_bytes"), *bytes as f64));
        told.push(Statistic::counter(format!("{ours}_hits"), *hits as f64));
        told.push(Statistic::counter(
            format!("{ours}_requests"),
            *requests as f64,
        ));
    }
    told
}

/// Running work on tables: its type, progress, total, and unit.
type Task = (String, i64, i64, String);

/// Running compactions, and the bytes that they still have to read. Waiting compactions are not
/// reported.
fn of_tasks(rows: &[Task]) -> Vec<Statistic> {
    let compactions = rows
        .iter()
        .filter(|row| row.0.to_lowercase() == "compaction");
    let mut left: BTreeMap<bool, (f64, f64)> = BTreeMap::new();
    for (_, progress, total, unit) in compactions {
        let of_unit = left.entry(unit == "bytes").or_default();
        of_unit.0 += 1.0;
        of_unit.1 += (total - progress).max(0) as f64;
    }
    // The sum of no numbers would be minus zero.
    let running = left.values().fold(0.0, |sum, (count, _)| sum + count);
    let bytes = left.get(&true).map_or(0.0, |(_, bytes)| *bytes);
    vec![
        Statistic::gauge("running_compactions", running),
        Statistic::gauge("running_compaction_bytes", bytes),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(told: &[Statistic]) -> Vec<(&str, f64)> {
        told.iter().map(|one| (&*one.name, one.value)).collect()
    }

    #[test]
    fn the_tasks_of_a_stage_are_told_by_what_they_are() {
        let stages = [
            ("MemtableFlushWriter".to_owned(), 1, 2, 30, 4),
            ("GossipStage".to_owned(), 9, 9, 9, 9),
        ];
        let flushes = [
            ("flushes", 30.0),
            ("flushes_blocked", 4.0),
            ("flushes_active", 1.0),
            ("flushes_pending", 2.0),
        ];
        assert_eq!(values(&of_stages(&stages)), flushes);
        let rows = [
            ("chunks".to_owned(), 10, 20, 30),
            ("counters".to_owned(), 1, 1, 1),
        ];
        let caches = [
            ("chunk_cache_bytes", 10.0),
            ("chunk_cache_hits", 20.0),
            ("chunk_cache_requests", 30.0),
        ];
        assert_eq!(values(&of_caches(&rows)), caches);
    }

    #[test]
    fn what_compactions_have_left_is_summed() {
        let row = |kind: &str, progress, total, unit: &str| {
            (kind.to_owned(), progress, total, unit.to_owned())
        };
        let rows = [
            row("compaction", 30, 100, "bytes"),
            row("Compaction", 5, 10, "bytes"),
            row("Validation", 0, 1000, "bytes"),
        ];
        let expected = [
            ("running_compactions", 2.0),
            ("running_compaction_bytes", 75.0),
        ];
        assert_eq!(values(&of_tasks(&rows)), expected);
        assert_eq!(of_tasks(&[])[0].value, 0.0);
    }
}
