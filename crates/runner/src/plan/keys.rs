//! Every key that a plan has, what it accepts and its default: one table, which the reader of
//! plans, the errors, `list keys` and the test of the documentation go by.

use bytesize::ByteSize;
use std::time::Duration;

/// One key of a plan.
#[derive(Debug)]
pub struct Key {
    /// The table that it is in; empty: the top of the plan.
    pub table: &'static str,
    /// Its name in that table.
    pub name: &'static str,
    /// What it accepts.
    pub accept: Accept,
    /// The value where none is given, as it would be written; empty: none.
    pub default: &'static str,
    /// One line for `list`.
    pub about: &'static str,
}

/// What a key accepts.
#[derive(Debug, Clone, Copy)]
pub enum Accept {
    /// Any text.
    Text,
    /// A list of words.
    Words,
    /// `true` or `false`.
    Flag,
    /// A whole number from the first to the last, both included.
    Count(u64, u64),
    /// A number from the first to the last, both included.
    Number(f64, f64),
    /// Bytes from the first to the last, both included.
    Size(u64, u64),
    /// Seconds from the first to the last, both included.
    Time(f64, f64),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Client counts.
    Threads,
    /// The name of a distribution, or a table with its parameters.
    Distribution,
    /// A table of keys.
    Table,
    /// Any number of tables of keys.
    Tables,
}

/// The most clients that a point may have.
pub const THREADS_MAX: u64 = 1024;
/// The most records of a data set.
pub const RECORDS_MAX: u64 = 1_000_000_000_000;
/// The driver where a plan names none.
pub const DRIVER_DEFAULT: &str = "rocksdb";
/// A year, seconds: longer than any phase.
const YEAR: f64 = 365.0 * 86_400.0;

const fn key(
    table: &'static str,
    name: &'static str,
    accept: Accept,
    default: &'static str,
    about: &'static str,
) -> Key {
    Key {
        table,
        name,
        accept,
        default,
        about,
    }
}

/// Every key, in the order of the documentation. The settings of the drivers, which `database` and
/// `system.database` also take, are in the table of drivers.
#[rustfmt::skip]
pub const KEYS: &[Key] = {
    use Accept::{Choice, Count, Distribution, Flag, Number, Size, Table, Tables, Text, Threads, Time, Words};
    &[
        key("", "title", Text, "", "the headline of the report"),
        key("", "assumed", Words, "", "dotted keys whose values the described study does not publish"),
        key("", "scale", Number(1e-9, 1e3), "1", "multiplies records, operations, caches and memory limits"),
        key("", "time_scale", Number(1e-9, 1e3), "1", "multiplies durations, which stay at 10 s or more"),
        key("", "database", Table, "", "the database of every system, and its settings"),
        key("", "dataset", Table, "", "what is loaded"),
        key("", "sweep", Table, "", "what is run: the axes and the budget of each point"),
        key("", "host", Table, "", "what is done to the machine"),
        key("", "system", Tables, "", "a system under test; at least one"),
        key("", "workload", Tables, "", "a workload of one's own"),
        key("database", "driver", Text, DRIVER_DEFAULT, "which database; `list drivers` names them and their settings"),
        key("database", "semantics", Choice(&["faithful", "correct"]), "faithful", "YCSB's, faults included, or what the operation promises"),
        key("dataset", "records", Count(1, RECORDS_MAX), "1M", "how many records are loaded"),
        key("dataset", "fields", Count(1, 1_000), "4", "fields of a record"),
        key("dataset", "field_length", Size(1, 16 << 20), "1024", "bytes of a field"),
        key("dataset", "key_length", Count(1, 1_000), "16", "bytes of a key, with db_bench's workloads"),
        key("dataset", "compressibility", Number(0.0, 1.0), "0", "the part of each value that a compressor can remove"),
        key("dataset", "write_all_fields", Flag, "false", "whether an update writes all fields instead of one"),
        key("sweep", "workloads", Words, "ycsb-a", "names from `list workloads`, or of [[workload]] tables"),
        key("sweep", "distribution", Distribution, "", "how keys are drawn, for all workloads; none: each its own"),
        key("sweep", "threads", Threads, "1,4,16", "clients with one operation in flight each"),
        key("sweep", "operations", Count(1, 1_000_000_000_000_000), "", "ends a point after so many operations"),
        key("sweep", "duration", Time(0.1, YEAR), "", "ends a point after this time; 60s where neither is given"),
        key("sweep", "warmup", Time(0.0, YEAR), "", "runs before the measured part; a tenth of the duration, 1m at most"),
        key("sweep", "repeats", Count(1, 100), "1", "how often the whole sweep is measured"),
        key("sweep", "rate", Number(0.1, 1e9), "", "operations per second over all clients; none: as fast as they can"),
        key("sweep", "beside_rate", Number(0.1, 1e9), "", "operations per second of the clients beside the point, such as the writer of readwhilewriting"),
        key("sweep", "seed", Count(0, i64::MAX as u64), "1", "of every random draw"),
        key("sweep", "reload", Choice(&["never", "workload", "point"]), "never", "when the data set is loaded anew"),
        key("sweep", "load_threads", Count(1, THREADS_MAX), "16", "clients that load"),
        key("sweep", "settle", Time(0.0, YEAR), "30m", "how long background work may take to come to rest"),
        key("sweep", "ready_timeout", Time(0.1, YEAR), "5m", "how long a server may take until it answers"),
        key("host", "memory_limit", Size(16 << 20, 1 << 50), "", "memory that the run may use, page cache included"),
        key("host", "drop_caches", Flag, "true", "whether caches are dropped before each point"),
        key("system", "name", Text, "", "its name in the report; unique"),
        key("system", "path", Text, "", "the directory that the database is made in; of a server on this machine: what is watched"),
        key("system", "device", Text, "", "the block device that the driver writes itself; of a server: what is watched"),
        key("system", "hosts", Words, "", "the contact points of a server: [\"host:port\", ...]"),
        key("system", "ceiling_for", Text, "", "the system whose device ceiling this one measures, in the same place"),
        key("system", "optional", Flag, "false", "left out with a message where its place is missing or too small"),
        key("system", "database", Table, "", "keys of [database] that differ for this system"),
        key("system", "service", Table, "", "what is stopped and started around its points"),
        key("service", "systemd", Text, "", "the unit of systemd that it is"),
        key("service", "start", Text, "", "a command that starts it, or is the server"),
        key("service", "stop", Text, "", "a command that stops it; none: what `start` runs is terminated"),
        key("service", "ready", Text, "", "a command that succeeds when it is ready; none: the database is asked"),
        key("service", "log", Text, "", "its log, whose end errors show"),
        key("workload", "name", Text, "", "its name in `sweep.workloads`"),
        key("workload", "about", Text, "", "one line for the report"),
        key("workload", "read", Number(0.0, 1e9), "0", "weight of reads"),
        key("workload", "update", Number(0.0, 1e9), "0", "weight of updates"),
        key("workload", "insert", Number(0.0, 1e9), "0", "weight of inserts"),
        key("workload", "scan", Number(0.0, 1e9), "0", "weight of scans"),
        key("workload", "read_modify_write", Number(0.0, 1e9), "0", "weight of reads followed by an update of the same record"),
        key("workload", "distribution", Distribution, "uniform", "how keys are drawn"),
        key("workload", "scan_length_min", Count(1, 1_000_000), "1", "the fewest records of a scan"),
        key("workload", "scan_length_max", Count(1, 1_000_000), "100", "the most records of a scan"),
        key("workload", "scan_length", Choice(&["uniform", "zipfian"]), "uniform", "how the length of a scan is drawn"),
        key("workload", "read_all_fields", Flag, "true", "whether a read asks for all fields instead of one"),
        key("distribution", "name", Text, "", "a name from `list distributions`"),
        key("distribution", "theta", Number(0.01, 10.0), "0.99", "true-zipfian: the skew"),
        key("distribution", "data_fraction", Number(0.0, 1.0), "0.2", "hotspot: the part of the records that is hot"),
        key("distribution", "operation_fraction", Number(0.0, 1.0), "0.8", "hotspot: the part of the draws that go there"),
        key("distribution", "percentile", Number(0.01, 99.999), "95", "exponential: the part of the draws, in percent, ..."),
        key("distribution", "fraction", Number(1e-9, 1.0), "0.8571428571", "exponential: ... that fall into this part of the records"),
        key("threads", "from", Count(1, THREADS_MAX), "1", "the first client count"),
        key("threads", "to", Count(1, THREADS_MAX), "", "the last client count, at most"),
        key("threads", "factor", Number(1.01, 1024.0), "2", "from one client count to the next"),
    ]
};

/// The keys of a table.
pub fn of(table: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.table == table)
}

impl Key {
    /// The dotted path, for example `sweep.threads`.
    #[must_use]
    pub fn path(&self) -> String {
        match self.table {
            "" => self.name.to_owned(),
            table => format!("{table}.{}", self.name),
        }
    }
}

impl std::fmt::Display for Accept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let grouped = super::units::grouped;
        match *self {
            Self::Text => write!(f, "text"),
            Self::Words => write!(f, "a list of words, such as [\"a\", \"b\"]"),
            Self::Flag => write!(f, "true or false"),
            Self::Count(min, max) => {
                write!(
                    f,
                    "a whole number from {} to {}, such as ",
                    grouped(min),
                    grouped(max)
                )?;
                f.write_str(if max > 1_000_000 {
                    "100000 or `100k`"
                } else {
                    "`1`"
                })
            }
            Self::Number(min, max) => write!(f, "a number from {min} to {max}"),
            Self::Size(min, max) => {
                write!(
                    f,
                    "a size such as `64MiB`, from {} to {}",
                    ByteSize(min),
                    ByteSize(max)
                )
            }
            Self::Time(min, max) => {
                let time = |s| humantime::format_duration(Duration::from_secs_f64(s));
                write!(f, "a time with its unit, such as `90s` or `20m`, ")?;
                write!(f, "from {} to {} days", time(min), max / 86_400.0)
            }
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::Threads => write!(
                f,
                "client counts from 1 to {}, such as [1, 4, 16] or \
                 {{ from = 1, to = 64, factor = 2 }}",
                grouped(THREADS_MAX)
            ),
            Self::Distribution => write!(
                f,
                "the name of a distribution, or a table such as \
                 {{ name = \"hotspot\", data_fraction = 0.1 }}"
            ),
            Self::Table => write!(f, "a table"),
            Self::Tables => write!(f, "tables, each with its name"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_unique_and_its_about_is_one_line() {
        let paths: std::collections::BTreeSet<_> = KEYS.iter().map(Key::path).collect();
        assert_eq!(paths.len(), KEYS.len());
        for key in KEYS {
            assert!(
                !key.about.is_empty() && !key.about.contains('\n'),
                "{}",
                key.path()
            );
        }
    }

    #[test]
    fn every_key_is_documented_with_its_default() {
        let document = include_str!("../../../../docs/PLANS.md");
        let mut table = "";
        let mut rows = std::collections::BTreeMap::new();
        for line in document.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                table = heading.split('`').nth(1).unwrap_or("");
            } else if let Some(name) = line.strip_prefix("| `") {
                let name = name.split('`').next().unwrap_or("");
                rows.insert((table.trim_matches(['[', ']']), name), line);
            }
        }
        for key in KEYS {
            let row = rows.get(&(key.table, key.name));
            let row = row.unwrap_or_else(|| panic!("docs/PLANS.md lacks `{}`", key.path()));
            let written = row.split('|').nth(2).unwrap_or("").replace(['`', ' '], "");
            let is_told = key.default.is_empty() || written.contains(key.default);
            assert!(
                is_told,
                "docs/PLANS.md: the default of `{}` is {}",
                key.path(),
                key.default
            );
        }
    }
}
