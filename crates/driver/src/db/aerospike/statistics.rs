//! Statistics of each node from its info protocol: queues of devices, defragmentation, reads from
//! its cache, refused writes.

use super::facts::{is_of_device, words};
use crate::Statistic;
use aerospike::{AdminPolicy, Client};
use std::collections::BTreeMap;

/// A name of the info protocol, our name, and whether it only grows.
type Row = (&'static str, &'static str, Rises);

#[derive(Clone, Copy, PartialEq)]
enum Rises {
    Only,
    AndFalls,
}

/// Statistics of a node and of the namespace. Those that a server's version or storage lacks are
/// left out.
const OF_NODE: &[Row] = &[
    ("cache_read_pct", "cache_read_percent", Rises::AndFalls),
    ("client_connections", "connections", Rises::AndFalls),
    ("client_read_error", "read_errors", Rises::Only),
    ("client_read_success", "reads", Rises::Only),
    ("client_read_timeout", "read_timeouts", Rises::Only),
    ("client_write_error", "write_errors", Rises::Only),
    ("client_write_success", "writes", Rises::Only),
    ("client_write_timeout", "write_timeouts", Rises::Only),
    ("data_used_bytes", "used_bytes", Rises::AndFalls),
    ("device_used_bytes", "used_bytes", Rises::AndFalls),
    ("rw_in_progress", "requests_in_progress", Rises::AndFalls),
];

/// Statistics of a device or file, summed over a node.
const OF_DEVICE: &[Row] = &[
    ("defrag_q", "defrag_queue", Rises::AndFalls),
    ("defrag_reads", "defrag_reads", Rises::Only),
    ("defrag_writes", "defrag_writes", Rises::Only),
    ("free_wblocks", "free_blocks", Rises::AndFalls),
    ("shadow_write_q", "shadow_write_queue", Rises::AndFalls),
    ("write_q", "write_queue", Rises::AndFalls),
    ("writes", "block_writes", Rises::Only),
];

/// The statistics of all nodes. Nodes that do not answer are left out.
pub(super) async fn told(client: &Client, policy: &AdminPolicy, namespace: &str) -> Vec<Statistic> {
    let mut told = Vec::new();
    let nodes = client.nodes();
    let is_one = nodes.len() == 1;
    for node in nodes {
        let of_namespace = format!("namespace/{namespace}");
        let answers = node.info(policy, &["statistics", &of_namespace]).await;
        let answers: Vec<String> = answers.into_iter().flatten().map(|(_, a)| a).collect();
        let name = (!is_one).then(|| node.address().to_owned());
        told.extend(read(name, &answers));
    }
    told
}

/// The statistics in the answers of one node.
fn read(node: Option<String>, answers: &[String]) -> Vec<Statistic> {
    let mut sums: BTreeMap<&str, (Rises, f64)> = BTreeMap::new();
    for (name, value) in answers.iter().flat_map(|answer| words(answer)) {
        let own = name.strip_prefix("storage-engine.").unwrap_or(name);
        let of_device = own.split_once("].").filter(|_| is_of_device(own));
        let (rows, own) = match of_device {
            Some((_, counter)) => (OF_DEVICE, counter),
            None => (OF_NODE, own),
        };
        let row = rows.iter().find(|(theirs, ..)| *theirs == own);
        let value = value.parse::<f64>().ok().filter(|value| value.is_finite());
        if let (Some((_, ours, rises)), Some(value)) = (row, value) {
            sums.entry(ours).or_insert((*rises, 0.0)).1 += value;
        }
    }
    let statistic = |(name, (rises, value)): (&str, (Rises, f64))| Statistic {
        node: node.clone(),
        ..match rises {
            Rises::Only => Statistic::counter(name, value),
            Rises::AndFalls => Statistic::gauge(name, value),
        }
    };
    sums.into_iter().map(statistic).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StatisticKind;

    #[test]
    fn the_devices_of_a_node_are_summed_and_other_words_skipped() {
        let answers = [
            "cluster_size=1;client_connections=12;uptime=7",
            "objects=7;data_used_bytes=4096;cache_read_pct=3;stop_writes=false;\
             storage-engine=device;storage-engine.device[0]=/dev/a;\
             storage-engine.device[0].write_q=2;storage-engine.device[0].writes=100;\
             storage-engine.device[1].write_q=3;storage-engine.device[1].writes=11",
        ];
        let told = read(
            Some("10.0.0.1:3000".to_owned()),
            &answers.map(str::to_owned),
        );
        let found: Vec<_> = told
            .iter()
            .map(|one| (&*one.name, one.kind, one.value))
            .collect();
        let expected = [
            ("block_writes", StatisticKind::Counter, 111.0),
            ("cache_read_percent", StatisticKind::Gauge, 3.0),
            ("connections", StatisticKind::Gauge, 12.0),
            ("used_bytes", StatisticKind::Gauge, 4096.0),
            ("write_queue", StatisticKind::Gauge, 5.0),
        ];
        assert_eq!(found, expected);
        assert!(
            told.iter()
                .all(|one| one.node.as_deref() == Some("10.0.0.1:3000"))
        );
    }
}
