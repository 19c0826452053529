//! What RocksDB tells of its flushes and compactions while it is open.
//!
//! Its own table of compactions is read as text: event listeners, which would tell without it, need
//! type information that the library is built without.

use super::RocksDb;
use crate::BackgroundCounts;
use rust_rocksdb::properties;

/// The table, without histograms.
const TABLE: &str = "rocksdb.cfstats-no-file-histogram";
/// Its column of jobs that were done.
const JOBS: &str = "Comp(cnt)";

impl RocksDb {
    /// What was done since the database was opened, and what compactions have yet to rewrite.
    pub(super) fn background_counts(&self) -> Option<BackgroundCounts> {
        let store = &self.store;
        let pending = properties::ESTIMATE_PENDING_COMPACTION_BYTES;
        let pending = store.db.property_int_value_cf(store.table, pending);
        let (flushes, compactions) = jobs(&self.report(TABLE)?)?;
        Some(BackgroundCounts {
            flushes,
            compactions,
            pending_compaction_bytes: pending.ok().flatten()?,
        })
    }
}

/// The flushes, which write to the first level, and the compactions of a table.
fn jobs(table: &str) -> Option<(u64, u64)> {
    let mut lines = table.lines().map(|line| line.split_whitespace());
    let columns: Vec<&str> = lines
        .find(|line| line.clone().next() == Some("Level"))?
        .collect();
    // Counted from the right: a size has its unit in a column of its own.
    let behind = columns.len() - 1 - columns.iter().position(|name| *name == JOBS)?;
    let count = |of: &str, mut lines: std::str::Lines<'_>| -> Option<u64> {
        let row = lines.find(|line| line.split_whitespace().next() == Some(of))?;
        row.split_whitespace().rev().nth(behind)?.parse().ok()
    };
    let all = count("Sum", table.lines())?;
    // A level that is empty and was never written to has no row.
    let flushes = count("L0", table.lines()).unwrap_or(0);
    Some((flushes, all.saturating_sub(flushes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_read_by_the_name_of_their_column() {
        let table = "\n** Compaction Stats [usertable] **\n\
            Level    Files   Size     Score Write(GB) Comp(sec) Comp(cnt) Avg(sec) KeyIn\n\
            --------------------------------------------------------\n  \
              L0      2/0   12.29 KB   0.5      1.2      3.10        17    0.182      0\n  \
              L6      4/1   1.20 GB   0.0      2.2      9.00         5    1.800   120K\n \
             Sum      6/1   1.21 GB   0.0      3.4     12.10        22    0.550   120K\n";
        assert_eq!(jobs(table), Some((17, 5)));
        assert_eq!(jobs("no table"), None);
    }
}
