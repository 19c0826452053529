//! RocksDB's statistics while it is open: flushes, compactions, stalls, memtables, caches.
//!
//! They come from its properties: numbers, and two text reports, whose columns and words are found
//! by name. Event listeners would report flushes and compactions without text, but they need type
//! information, which this build of the library lacks. RocksDB's own counters (tickers) are exact,
//! but every request pays for them. They are on only with the setting `statistics`, and then
//! replace rounded values.

use super::RocksDb;
use crate::Statistic;
use std::{collections::BTreeMap, ffi::CStr};

/// The report with the table of levels of the column family, without histograms.
const OF_TABLE: &CStr = c"rocksdb.cfstats-no-file-histogram";
/// The same with histograms.
const OF_TABLE_BEFORE: &CStr = c"rocksdb.cfstats";
/// The report with writes, log and stalls of the database.
const OF_DATABASE: &CStr = c"rocksdb.dbstats";
/// The column of completed jobs in the table of levels.
const JOBS: &str = "Comp(cnt)";
/// The column of files. Files being compacted follow after a slash.
const FILES: &str = "Files";
const GIB: f64 = (1_u64 << 30) as f64;

/// Gauges that are numbers of the column family.
const GAUGES: [(&str, &CStr); 9] = [
    (
        "pending_compaction_bytes",
        c"rocksdb.estimate-pending-compaction-bytes",
    ),
    ("running_compactions", c"rocksdb.num-running-compactions"),
    ("running_flushes", c"rocksdb.num-running-flushes"),
    ("write_stopped", c"rocksdb.is-write-stopped"),
    (
        "delayed_write_bytes_per_s",
        c"rocksdb.actual-delayed-write-rate",
    ),
    ("memtable_bytes", c"rocksdb.cur-size-all-mem-tables"),
    ("immutable_memtables", c"rocksdb.num-immutable-mem-table"),
    ("block_cache_bytes", c"rocksdb.block-cache-usage"),
    ("sst_bytes", c"rocksdb.total-sst-files-size"),
];

/// Counters, each the sum of some tickers.
const TICKERS: [(&str, &[&str], f64); 10] = [
    ("stall_s", &["rocksdb.stall.micros"], 1e-6),
    (
        "user_read_bytes",
        &["rocksdb.bytes.read", "rocksdb.db.iter.bytes.read"],
        1.0,
    ),
    ("user_write_bytes", &["rocksdb.bytes.written"], 1.0),
    ("wal_write_bytes", &["rocksdb.wal.bytes"], 1.0),
    ("wal_syncs", &["rocksdb.wal.synced"], 1.0),
    ("flush_write_bytes", &["rocksdb.flush.write.bytes"], 1.0),
    (
        "compaction_read_bytes",
        &["rocksdb.compact.read.bytes"],
        1.0,
    ),
    (
        "background_write_bytes",
        &["rocksdb.flush.write.bytes", "rocksdb.compact.write.bytes"],
        1.0,
    ),
    ("block_cache_hits", &["rocksdb.block.cache.hit"], 1.0),
    ("block_cache_misses", &["rocksdb.block.cache.miss"], 1.0),
];

impl RocksDb {
    /// What was done since the database was opened, and the current state.
    pub(super) fn told(&self) -> Option<Vec<Statistic>> {
        let db = &self.store.db;
        // Versions before 5.13 have only the report with histograms.
        let of_levels = db.table_property(OF_TABLE);
        let of_levels = of_levels.or_else(|| db.table_property(OF_TABLE_BEFORE));
        let mut told = of_table(&of_levels?)?;
        for (name, property) in GAUGES {
            if let Some(number) = db.table_number(property) {
                told.push(Statistic::gauge(name, number as f64));
            }
        }
        if self.statistics {
            let counts = self.tickers();
            told.retain(|one| TICKERS.iter().all(|(name, ..)| *name != one.name));
            told.extend(TICKERS.map(|(name, tickers, unit)| {
                let counts = tickers.iter().filter_map(|ticker| counts.get(*ticker));
                Statistic::counter(name, counts.sum::<u64>() as f64 * unit)
            }));
        } else {
            told.extend(of_database(&db.property(OF_DATABASE).unwrap_or_default()));
        }
        Some(told)
    }

    /// RocksDB's own counters by name. Their numbers differ between versions.
    pub(super) fn tickers(&self) -> BTreeMap<String, u64> {
        let report = self.options.statistics().unwrap_or_default();
        let lines = report.lines().filter_map(|line| {
            let (name, count) = line.split_once(" COUNT : ")?;
            Some((name.to_owned(), count.trim().parse().ok()?))
        });
        // A line of a histogram has its percentiles first.
        lines.filter(|(name, _)| !name.contains(' ')).collect()
    }
}

/// The statistics in the report of a column family; `None` if it is something else.
fn of_table(report: &str) -> Option<Vec<Statistic>> {
    let jobs = |level| number_in(report, level, JOBS);
    let all = jobs("Sum")?;
    // A level that is empty and was never written to has no row. Flushes write to the first.
    let flushes = jobs("L0").unwrap_or(0.0);
    let mut told = vec![
        Statistic::counter("flushes", flushes),
        Statistic::counter("compactions", (all - flushes).max(0.0)),
        Statistic::gauge("l0_files", number_in(report, "L0", FILES).unwrap_or(0.0)),
    ];
    let mut count = |name, line: &str, before: &str, behind: &str, unit: f64| {
        let number = word(report, line, before, behind);
        told.extend(number.map(|number| Statistic::counter(name, number * unit)));
    };
    count("flush_write_bytes", "Flush(GB):", "cumulative ", ",", GIB);
    let compaction = "Cumulative compaction:";
    count("background_write_bytes", compaction, ": ", " GB write", GIB);
    count(
        "compaction_read_bytes",
        compaction,
        "MB/s write, ",
        " GB read",
        GIB,
    );
    let stalls = "Write Stall (count):";
    count("write_delays", stalls, "total-delays: ", ",", 1.0);
    count("write_stops", stalls, "total-stops: ", ",", 1.0);
    Some(told)
}

/// What the report of the database says.
fn of_database(report: &str) -> Vec<Statistic> {
    let gib = |name, line, before| {
        let number = word(report, line, before, " GB");
        number.map(|number| Statistic::counter(name, number * GIB))
    };
    let stalled = stall_s(report).map(|seconds| Statistic::counter("stall_s", seconds));
    let all = [
        stalled,
        gib("user_write_bytes", "Cumulative writes:", "ingest: "),
        gib("wal_write_bytes", "Cumulative WAL:", "written: "),
    ];
    all.into_iter().flatten().collect()
}

/// The number in a row and a column of the table of levels. Columns are counted from the right,
/// except the files, because the unit of a size is a column of its own.
fn number_in(report: &str, row: &str, column: &str) -> Option<f64> {
    let line = |first: &str| {
        let mut lines = report.lines().map(|line| line.split_whitespace());
        lines.find(|line| line.clone().next() == Some(first))
    };
    let columns: Vec<&str> = line("Level")?.collect();
    let at = columns.iter().position(|name| *name == column)?;
    let text = match column {
        FILES => line(row)?.nth(at)?.split('/').next()?,
        _ => line(row)?.rev().nth(columns.len() - 1 - at)?,
    };
    text.parse().ok()
}

/// The number in the line that begins with `line`, between two texts or up to its end.
fn word(report: &str, line: &str, before: &str, behind: &str) -> Option<f64> {
    let line = report.lines().find(|text| text.starts_with(line))?;
    let (_, rest) = line.split_once(before)?;
    let number = rest.split_once(behind).map_or(rest, |(number, _)| number);
    number.trim().parse().ok()
}

/// How long writes were stalled: `Cumulative stall: 00:01:02.500 H:M:S, 3.1 percent`.
fn stall_s(report: &str) -> Option<f64> {
    let mut lines = report.lines();
    let told = lines.find_map(|line| line.strip_prefix("Cumulative stall:"))?;
    let time = told.split_whitespace().next()?;
    let parts: Option<Vec<f64>> = time.split(':').map(|part| part.parse().ok()).collect();
    let [hours, minutes, seconds] = parts?[..] else {
        return None;
    };
    Some((hours * 60.0 + minutes) * 60.0 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\n** Compaction Stats [usertable] **\n\
        Level    Files   Size     Score Write(GB) Comp(sec) Comp(cnt) Avg(sec) KeyIn\n\
        --------------------------------------------------------\n  \
          L0      2/1   12.29 KB   0.5      1.2      3.10        17    0.182      0\n  \
          L6      4/1   1.20 GB   0.0      2.2      9.00         5    1.800   120K\n \
         Sum      6/1   1.21 GB   0.0      3.4     12.10        22    0.550   120K\n\
        \n\
        Flush(GB): cumulative 1.500, interval 0.000\n\
        Cumulative compaction: 3.50 GB write, 6.95 MB/s write, 0.25 GB read, 5.73 MB/s read, \
        0.9 seconds\n\
        Write Stall (count): cf-l0-file-count-limit-delays-with-ongoing-compaction: 0, \
        total-delays: 12, total-stops: 3\n";

    const DATABASE: &str = "\n** DB Stats **\nUptime(secs): 64.7 total, 0.0 interval\n\
        Cumulative writes: 5K writes, 5K keys, 5K commit groups, 1.0 writes per commit group, \
        ingest: 0.50 GB, 0.08 MB/s\n\
        Cumulative WAL: 5K writes, 0 syncs, 5.00 writes per sync, written: 0.25 GB, 0.08 MB/s\n\
        Cumulative stall: 01:02:03.500 H:M:S, 0.1 percent\n\
        Interval stall: 00:00:0.000 H:M:S, 0.0 percent\n";

    fn values(told: &[Statistic]) -> Vec<(&str, f64)> {
        told.iter().map(|one| (&*one.name, one.value)).collect()
    }

    #[test]
    fn reports_are_read_by_the_names_of_their_columns_and_lines() {
        let of_levels = [
            ("flushes", 17.0),
            ("compactions", 5.0),
            ("l0_files", 2.0),
            ("flush_write_bytes", 1.5 * GIB),
            ("background_write_bytes", 3.5 * GIB),
            ("compaction_read_bytes", 0.25 * GIB),
            ("write_delays", 12.0),
            ("write_stops", 3.0),
        ];
        assert_eq!(values(&of_table(TABLE).unwrap()), of_levels);
        let expected = [
            ("stall_s", 3723.5),
            ("user_write_bytes", 0.5 * GIB),
            ("wal_write_bytes", 0.25 * GIB),
        ];
        assert_eq!(values(&of_database(DATABASE)), expected);
    }

    #[test]
    fn what_is_no_report_tells_nothing() {
        assert_eq!(of_table("no table"), None);
        assert_eq!(of_database("no report"), []);
    }
}
