//! A workload of db_bench as text, with everything that shapes its requests, so that different
//! workloads have different texts.

use tailmark_driver::{Direction, Semantics};
use tailmark_workload::db_bench::{DbBenchWorkload, MixGraph, Op, Order, Pareto, Sizes};

/// `read; keys of 16 B; ...`
pub(super) fn text(workload: &DbBenchWorkload) -> String {
    let layout = &workload.layout;
    let sizes = match layout.sizes {
        Sizes::Fixed => "fixed".to_owned(),
        Sizes::Uniform { min, max } => format!("uniform from {min} to {max} B"),
        Sizes::Normal { min, max } => format!("normal from {min} to {max} B"),
    };
    let mut parts = vec![
        op(&workload.op),
        format!("keys of {} B", layout.key_bytes),
        format!("values {sizes}"),
        format!("batch {}", layout.batch),
    ];
    let rest = [
        ("prefix of B", u64::from(layout.prefix_bytes)),
        ("keys a prefix", layout.keys_per_prefix),
        ("stride", layout.stride),
        ("writes over", layout.writes_over),
        ("starts empty", u64::from(workload.starts_empty)),
    ];
    let set = rest.iter().filter(|(_, value)| *value > 0);
    parts.extend(set.map(|(name, value)| format!("{name} {value}")));
    if layout.exp_range != 0.0 {
        parts.push(format!("skew {}", layout.exp_range));
    }
    parts.join("; ")
}

fn op(op: &Op) -> String {
    match op {
        Op::Write(keys) => format!("write, {}", order(*keys)),
        Op::Delete(keys) => format!("delete, {}", order(*keys)),
        Op::Read => "read".to_owned(),
        Op::ReadMissing => "read missing keys".to_owned(),
        Op::ReadMany => "read many".to_owned(),
        Op::Walk(to) => format!("walk {}", direction(*to)),
        Op::ReadThenWrite { read_percent } => format!("read {read_percent} %, then write"),
        Op::Update => "update".to_owned(),
        Op::Seek {
            nexts,
            direction: to,
            distance_max,
        } => format!(
            "seek, {nexts} nexts {}, distance {distance_max}",
            direction(*to)
        ),
        Op::MixGraph(graph) => mix_graph(graph),
    }
}

const fn order(order: Order) -> &'static str {
    match order {
        Order::Sequential => "sequential",
        Order::Random => "random",
        Order::Unique => "unique",
        Order::Insert => "insert",
    }
}

const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Backward => "backward",
    }
}

fn mix_graph(graph: &MixGraph) -> String {
    let [get, put, seek] = graph.weights;
    let (keys, ranges) = (&graph.keys, &graph.ranges);
    let pareto = |p: &Pareto, max: u32| format!("{} {} {} to {max}", p.theta, p.k, p.sigma);
    format!(
        "mixgraph, get {get}, put {put}, seek {seek}, keys {} {}, {} ranges {} {} {} {}, values \
         {}, \
         scans {}, {}",
        keys.a,
        keys.b,
        graph.range_count,
        ranges.a,
        ranges.b,
        ranges.c,
        ranges.d,
        pareto(&graph.values, graph.value_max),
        pareto(&graph.scans, graph.scan_max),
        match graph.semantics {
            Semantics::Faithful => "faithful",
            Semantics::Correct => "correct",
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tailmark_workload::WORKLOADS;

    #[test]
    fn workloads_that_differ_read_differently() {
        let mut texts = BTreeMap::new();
        for row in WORKLOADS {
            for workload in row.workload().db_bench() {
                let text = text(workload);
                assert!(!text.contains(['{', '(']), "{text}");
                let known = *texts.entry(text.clone()).or_insert(*workload);
                assert_eq!(known, *workload, "{text}");
            }
        }
        assert!(texts.len() > 10);
    }
}
