//! The table of all metrics, used by reports, comparisons, gates, exports and plans.
//!
//! A metric is its row. A new row can be shown, compared, gated on (`compare --fail-if`) and put at
//! the head of a report (`report.metric`).

mod costs;
mod figures;

pub use figures::{figures_from_text, figures_to_text};

use crate::{
    Bounded, Kind, Metric, Phase, STATISTICS, Statistic, SystemCost,
    cpu_shares::CPU_S,
    derived::STORED,
    series::{DATABASE, PENDING_COMPACTION},
};
use std::sync::LazyLock;

/// Which of two values is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The higher one.
    Higher,
    /// The lower one.
    Lower,
    /// Neither: the metric describes a run but does not rank it. It is shown and never compared.
    Neither,
}

/// The source of a value.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// Counts of the phase.
    Counted(fn(&Phase) -> Option<f64>),
    /// The histogram of one kind of request: response time at a fixed rate.
    Latency(Kind, Statistic),
    /// Samples of the phase. The second argument is the size of the data set in bytes, see
    /// [`crate::Header::value_bytes`]. The value is computed once, when the phase is written to a
    /// study.
    Sampled(fn(&Phase, Option<f64>) -> Option<f64>),
    /// The same, but the value is an upper bound.
    AtMost(fn(&Phase, Option<f64>) -> Option<f64>),
    /// The same of counters with coarse steps, which may bound the value.
    Stepped(fn(&Phase) -> Option<Bounded>),
    /// Sampled figures, and what the plan states of the system: prices, rated writes. The value is
    /// computed when a study is read, because a plan may change its prices.
    Stated(fn(&Phase, &SystemCost) -> Option<f64>),
}

/// A metric: a row of [`METRICS`].
#[derive(Debug, Clone, Copy)]
pub struct MetricRow {
    /// Its name in plans, conditions and exports, unit last: `p99.9 read`, `write_amplification`.
    pub name: &'static str,
    /// Its name in headings and, as a noun, in sentences: `A has a lower TITLE than B`.
    pub title: &'static str,
    /// The unit of raw values in tables and exports. Empty for a ratio.
    pub unit: &'static str,
    /// Its description, in one line.
    pub about: &'static str,
    /// Which of two values is better.
    pub better: Better,
    /// The source of its value.
    pub source: Source,
}

/// Operations per second, the first of all.
const OPS_PER_SEC: MetricRow = MetricRow {
    name: "ops_per_sec",
    title: "operations per second",
    unit: "ops/s",
    better: Better::Higher,
    about: "successful operations per second of the measured part",
    source: Source::Counted(|phase| Some(phase.ops_per_sec())),
};

/// Every metric in the order of reports: operations per second, the latencies of each kind of
/// request, then sampled and counted metrics.
pub static METRICS: LazyLock<Vec<MetricRow>> = LazyLock::new(|| {
    let latencies = Kind::ALL.into_iter().flat_map(|kind| {
        STATISTICS
            .into_iter()
            .map(move |statistic| latency(kind, statistic))
    });
    let first = std::iter::once(OPS_PER_SEC);
    first
        .chain(latencies)
        .chain(FIGURES.iter().copied())
        .chain(costs::COSTS.iter().copied())
        .collect()
});

/// Rows before the first metric of [`costs`].
pub(crate) const COSTS_FROM: usize = FIGURES_FROM + FIGURES.len();

/// Rows before the first figure.
pub(crate) const FIGURES_FROM: usize = 1 + Kind::ALL.len() * STATISTICS.len();

fn latency(kind: Kind, statistic: Statistic) -> MetricRow {
    let name = format!("{} {}", statistic.name, kind.name());
    MetricRow {
        title: format!("{name} latency").leak(),
        name: name.leak(),
        unit: "us",
        better: Better::Lower,
        about: "latency of requests of this kind; at a fixed rate, from when they were due",
        source: Source::Latency(kind, statistic),
    }
}

impl Metric {
    /// The value for a phase in the unit of the row, but latencies of requests in nanoseconds.
    /// `None` if it is unknown or has too few samples.
    pub fn value(self, phase: &Phase) -> Option<Bounded> {
        match self.row().source {
            Source::Counted(count) => count(phase).map(Bounded::exact),
            Source::Latency(kind, statistic) => {
                statistic.value(phase.kinds.get(&kind)?.ranked_response())
            }
            Source::Sampled(_) | Source::AtMost(_) | Source::Stepped(_) | Source::Stated(_) => {
                phase.figures.get(&self).copied()
            }
        }
    }
}

/// The unit of amounts of money. Their currency is what the plan states.
pub(crate) const MONEY: &str = "money";

/// The name of the size that a read found. It is counted, not sampled, and a report shows it only
/// if systems differ in it.
pub const READ_BYTES: &str = "bytes_per_read";

/// Every metric that is neither a rate nor a latency of requests.
const FIGURES: &[MetricRow] = &[
    MetricRow {
        name: "device_reads_per_sec",
        title: "reads/s",
        unit: "1/s",
        better: Better::Neither,
        about: "read requests that the devices completed",
        source: Source::Sampled(|phase, _| phase.sampled("disk").rate("reads")),
    },
    MetricRow {
        name: "device_writes_per_sec",
        title: "writes/s",
        unit: "1/s",
        better: Better::Neither,
        about: "write requests that the devices completed",
        source: Source::Sampled(|phase, _| phase.sampled("disk").rate("writes")),
    },
    MetricRow {
        name: "device_read_await_us",
        title: "read await",
        unit: "us",
        better: Better::Lower,
        about: "average time of a read request at the devices, queueing included",
        source: Source::Sampled(|phase, _| phase.sampled("disk").mean_us("read_s", "reads")),
    },
    MetricRow {
        name: "device_write_await_us",
        title: "write await",
        unit: "us",
        better: Better::Lower,
        about: "average time of a write request at the devices, queueing included",
        source: Source::Sampled(|phase, _| phase.sampled("disk").mean_us("write_s", "writes")),
    },
    MetricRow {
        name: "device_queue",
        title: "queue",
        unit: "",
        better: Better::Neither,
        about: "average number of requests queued or in flight at the devices",
        source: Source::Sampled(|phase, _| phase.sampled("disk").rate("weighted_s")),
    },
    MetricRow {
        name: "device_read_p99_us",
        title: "read p99 at the device",
        unit: "us",
        better: Better::Lower,
        about: "99 % of the read requests took the devices at most this long, without queueing",
        source: Source::AtMost(|phase, _| phase.sampled("block-latency").at_most_us("read", 0.99)),
    },
    MetricRow {
        name: "device_write_p99_us",
        title: "write p99 at the device",
        unit: "us",
        better: Better::Lower,
        about: "99 % of the write requests took the devices at most this long, without queueing",
        source: Source::AtMost(|phase, _| phase.sampled("block-latency").at_most_us("write", 0.99)),
    },
    MetricRow {
        name: "read_amplification",
        title: "read amplification",
        unit: "",
        better: Better::Lower,
        about: "bytes read from the devices for each byte that clients read",
        source: Source::Sampled(|phase, _| phase.per_byte("read_bytes", &[Kind::Read, Kind::Scan])),
    },
    MetricRow {
        name: "write_amplification",
        title: "write amplification",
        unit: "",
        better: Better::Lower,
        about: "bytes written to the devices for each byte that clients wrote",
        source: Source::Sampled(|phase, _| {
            phase.per_byte("write_bytes", &[Kind::Insert, Kind::Update])
        }),
    },
    MetricRow {
        name: "space_amplification",
        title: "space amplification",
        unit: "",
        better: Better::Lower,
        about: "bytes that the database stored at the end for each byte of values in the data set",
        source: Source::Sampled(|phase, value_bytes| {
            let stored = STORED
                .iter()
                .find_map(|name| phase.sampled(DATABASE).last(name));
            Some(stored? / value_bytes.filter(|bytes| *bytes > 0.0)?)
        }),
    },
    MetricRow {
        name: "device_write_amplification",
        title: "write amplification inside the device",
        unit: "",
        better: Better::Lower,
        about: "bytes that the drives wrote to their media for each byte that the host wrote",
        source: Source::Stepped(|phase| {
            phase.media_writes()?.over(phase.smart_writes()?)?.stated()
        }),
    },
    MetricRow {
        name: READ_BYTES,
        title: "bytes a read",
        unit: "bytes",
        better: Better::Neither,
        about: "bytes of keys and values per read that found a record",
        source: Source::Counted(Phase::read_bytes),
    },
    MetricRow {
        name: "client_cpu_us_per_op",
        title: "client CPU per operation",
        unit: "us",
        better: Better::Lower,
        about: "processor time of this process per operation, embedded database included; requests \
                of background clients count as operations",
        source: Source::Sampled(|phase, _| phase.per_operation_us("process", CPU_S)),
    },
    MetricRow {
        name: "server_cpu_us_per_op",
        title: "server CPU per operation",
        unit: "us",
        better: Better::Lower,
        about: "processor time of the database's servers per operation, if they can be seen",
        source: Source::Sampled(|phase, _| phase.per_operation_us("database-process", CPU_S)),
    },
    MetricRow {
        name: "cpu_busy_percent",
        title: "processors busy",
        unit: "%",
        better: Better::Neither,
        about: "share of the time of all processors of the machine that was not idle",
        source: Source::Sampled(|phase, _| Some(100.0 * phase.cpu_busy()?)),
    },
    MetricRow {
        name: "cpu_client_percent",
        title: "processors: clients",
        unit: "%",
        better: Better::Neither,
        about: "share of the time of all processors that the clients' threads used",
        source: Source::Sampled(|phase, _| Some(100.0 * phase.cpu_shares()?.client)),
    },
    MetricRow {
        name: "cpu_database_percent",
        title: "processors: database",
        unit: "%",
        better: Better::Neither,
        about: "share of the time of all processors that an embedded database's background \
                threads, or a server on this machine, used",
        source: Source::Sampled(|phase, _| Some(100.0 * phase.cpu_shares()?.database?)),
    },
    MetricRow {
        name: "cpu_others_percent",
        title: "processors: others",
        unit: "%",
        better: Better::Neither,
        about: "share of the time of all processors that other programs and kernel threads used",
        source: Source::Sampled(|phase, _| Some(100.0 * phase.cpu_shares()?.others)),
    },
    MetricRow {
        name: "cpu_steal_percent",
        title: "steal",
        unit: "%",
        better: Better::Neither,
        about: "share of the time of all processors that the hypervisor gave to others",
        source: Source::Sampled(|phase, _| Some(100.0 * phase.cpu_steal()?)),
    },
    MetricRow {
        name: "io_stalled_percent",
        title: "waited for I/O",
        unit: "%",
        better: Better::Neither,
        about: "share of the time in which some task of the machine waited for I/O",
        source: Source::Sampled(|phase, _| Some(100.0 * phase.io_stalled(None)?)),
    },
    MetricRow {
        name: "server_cpu_busy_percent",
        title: "servers' processors busy",
        unit: "%",
        better: Better::Neither,
        about: "share of the time of all processors of the servers' hosts that was not idle",
        source: Source::Sampled(|phase, _| Some(100.0 * phase.servers_cpu_busy()?)),
    },
    MetricRow {
        name: "server_io_stalled_percent",
        title: "waited for I/O at the servers",
        unit: "%",
        better: Better::Neither,
        about: "share of the time in which some task of a server's host waited for I/O, averaged \
                over the hosts",
        source: Source::Sampled(|phase, _| Some(100.0 * phase.servers_io_stalled()?)),
    },
    MetricRow {
        name: "database_stalled_percent",
        title: "database stall time",
        unit: "%",
        better: Better::Lower,
        about: "total time for which the database held writers back",
        source: Source::Sampled(|phase, _| Some(100.0 * phase.sampled(DATABASE).rate("stall_s")?)),
    },
    MetricRow {
        name: "pending_compaction_bytes",
        title: "pending compaction",
        unit: "bytes",
        better: Better::Lower,
        about: "average amount that compactions had yet to rewrite",
        source: Source::Sampled(|phase, _| phase.sampled(DATABASE).mean(PENDING_COMPACTION)),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_descriptions_are_one_line() {
        let names: BTreeSet<_> = METRICS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), METRICS.len());
        assert!(METRICS.iter().all(|row| !row.about.contains('\n')));
        assert_eq!(METRICS[FIGURES_FROM].name, FIGURES[0].name);
        assert_eq!(METRICS[COSTS_FROM].name, costs::COSTS[0].name);
    }
}
