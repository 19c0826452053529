//! The columns of tables of published figures: the meaning of their names, and the required
//! headings.

use super::{Given, Source, failed};
use crate::Error;
use csv::StringRecord;
use tailmark_model::Kind;

/// The names of each column.
const COLUMNS: &[(&str, Column)] = &[
    ("clients", Column::Threads),
    ("database", Column::Database),
    ("device", Column::System),
    ("distribution", Column::Distribution),
    ("ops/s", Column::OpsPerSec),
    ("ops_per_sec", Column::OpsPerSec),
    ("read_mb/s", Column::DeviceRead),
    ("read_mb_s", Column::DeviceRead),
    ("source", Column::Source),
    ("system", Column::System),
    ("threads", Column::Threads),
    ("use_case", Column::UseCase),
    ("workload", Column::Workload),
    ("write_mb/s", Column::DeviceWritten),
    ("write_mb_s", Column::DeviceWritten),
];

/// Units of latencies, and nanoseconds in one.
const UNITS: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// The meaning of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// The system's name.
    System,
    /// The workload's name.
    Workload,
    /// The number of clients, or that the row is a peak.
    Threads,
    /// Operations per second.
    OpsPerSec,
    /// The distribution of keys.
    Distribution,
    /// The database's name.
    Database,
    /// The source of the figures.
    Source,
    /// The use case of the workload.
    UseCase,
    /// What was read from the device, MB/s of a million bytes.
    DeviceRead,
    /// What was written to it.
    DeviceWritten,
    /// The number of requests of a kind behind its latencies.
    Count(Kind),
    /// A number of the latencies of a kind, and nanoseconds in one unit of it.
    Latency(Kind, Statistic, f64),
}

/// The meaning of a latency value.
#[derive(Debug, Clone, PartialEq)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// The quantile of a per cent, above 0 and below 100.
    Percentile(f64),
}

impl Column {
    fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase().replace(' ', "_");
        let known = COLUMNS.iter().find(|(known, _)| *known == name);
        known
            .map(|(_, column)| column.clone())
            .or_else(|| Self::of_kind(&name))
    }

    /// `read_p99.99_ms`, `update_mean_us`, `read_count`
    fn of_kind(name: &str) -> Option<Self> {
        let prefixed = |kind: &Kind| {
            let rest = [kind.name().to_owned(), kind.name().replace('-', "_")]
                .iter()
                .find_map(|prefix| Some(name.strip_prefix(prefix)?.strip_prefix('_')?.to_owned()));
            Some((*kind, rest?))
        };
        let (kind, rest) = Kind::ALL.iter().find_map(prefixed)?;
        if rest == "count" {
            return Some(Self::Count(kind));
        }
        let (statistic, unit) = rest.rsplit_once('_')?;
        let (_, ns) = UNITS.iter().find(|(known, _)| *known == unit)?;
        let statistic = match statistic {
            "mean" | "average" | "avg" => Statistic::Mean,
            "min" => Statistic::Min,
            "max" => Statistic::Max,
            other => {
                let percent: f64 = other.strip_prefix('p')?.parse().ok()?;
                let is_quantile = percent > 0.0 && percent < 100.0;
                is_quantile.then_some(Statistic::Percentile(percent))?
            }
        };
        Some(Self::Latency(kind, statistic, *ns))
    }
}

/// The header of a table: its names as written, and their meanings.
pub struct Head {
    /// In the order of the table.
    pub columns: Vec<(String, Column)>,
}

impl Head {
    /// Of the first record of a table.
    ///
    /// # Errors
    /// Names a column that is not known or is there twice, and one that is missing.
    pub fn new(source: &Source, record: &StringRecord, given: &Given) -> Result<Self, Error> {
        let mut columns: Vec<(String, Column)> = Vec::new();
        for name in record {
            let column = Column::from_name(name).ok_or_else(|| {
                failed(
                    source,
                    format!("there is no column `{name}`; {}", accepted()),
                )
            })?;
            if let Some((other, _)) = columns.iter().find(|(_, known)| *known == column) {
                let reason = format!("the columns `{other}` and `{name}` mean the same");
                return Err(failed(source, reason));
            }
            columns.push((name.to_owned(), column));
        }
        let head = Self { columns };
        let flags = [
            (Column::System, given.system.is_some(), "--system"),
            (Column::Workload, given.workload.is_some(), "--workload"),
            (Column::Threads, given.threads.is_some(), "--threads"),
        ];
        for (column, is_given, flag) in flags {
            if !is_given && head.position(&column).is_none() {
                let names = names_of(&column);
                let reason = format!("it has no column {names}; add the column, or give {flag}");
                return Err(failed(source, reason));
            }
        }
        match head.position(&Column::OpsPerSec) {
            Some(_) => Ok(head),
            None => {
                let names = names_of(&Column::OpsPerSec);
                Err(failed(source, format!("it has no column {names}")))
            }
        }
    }

    /// The index of a column.
    pub fn position(&self, column: &Column) -> Option<usize> {
        self.columns.iter().position(|(_, known)| known == column)
    }
}

/// `` `device` or `system` ``
fn names_of(column: &Column) -> String {
    let names = COLUMNS.iter().filter(|(_, known)| known == column);
    let names: Vec<_> = names.map(|(name, _)| format!("`{name}`")).collect();
    names.join(" or ")
}

/// The error about unknown columns.
fn accepted() -> String {
    let names: Vec<_> = COLUMNS.iter().map(|(name, _)| *name).collect();
    format!(
        "columns: {}, KIND_count, and latencies as KIND_STATISTIC_UNIT such as read_mean_us, \
         read_p99.99_ms or update_max_ms (units ns, us, ms, s)",
        names.join(", ")
    )
}
