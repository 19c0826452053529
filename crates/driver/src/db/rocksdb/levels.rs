//! The levels of the tree: their files and bytes, and the compaction of one into the next one with
//! files, like db_bench's `compact0`, so that later reads do not depend on the timing of compactions.

use super::{
    RocksDb,
    capi::{Db, LiveFile},
};
use crate::Statistic;
use std::collections::BTreeMap;

impl RocksDb {
    /// The tree: files and bytes, in all and of each level that has some, and the bytes that
    /// compactions still have to rewrite. Versions before 6 cannot tell levels of families apart.
    pub(super) fn tree(&self) -> Vec<Statistic> {
        let db = &self.store.db;
        let own = self.store.table_name(self.raw);
        let mut levels: BTreeMap<i32, (f64, f64)> = BTreeMap::new();
        let files = db.live_files();
        for file in files.iter().flatten().filter(|file| file.family == own) {
            let (count, bytes) = levels.entry(file.level).or_default();
            *count += 1.0;
            *bytes += file.bytes as f64;
        }
        let mut tree = Vec::new();
        if files.is_some() {
            let all = levels.values();
            let (count, bytes) = all.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
            tree.push(Statistic::gauge("files", count));
            tree.push(Statistic::gauge("bytes", bytes));
        }
        if let Some(bytes) = db.table_number(c"rocksdb.estimate-pending-compaction-bytes") {
            tree.push(Statistic::gauge("pending_compaction_bytes", bytes as f64));
        }
        tree.extend(levels.into_iter().flat_map(|(level, (count, bytes))| {
            [
                Statistic::gauge(format!("level{level}_files"), count),
                Statistic::gauge(format!("level{level}_bytes"), bytes),
            ]
        }));
        tree
    }
}

/// What a level was compacted into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compaction {
    /// Nothing, because it has no files.
    Empty,
    /// Itself, because no deeper level has files.
    Last(i32),
    /// From this level into the next one with files.
    Into(i32, i32),
}

/// Compacts the first level of `table` (`from` 0), or the next level with files (1). Returns a
/// sentence about it.
///
/// # Errors
/// If RocksDB fails, or if `version` cannot do it.
pub(super) fn compact(
    db: &Db,
    (table, version): (&str, &str),
    from: u32,
    file_bytes: u64,
) -> Result<String, String> {
    let cannot = || {
        format!(
            "RocksDB {version} has no call for it; use the embedded version, or compact all levels"
        )
    };
    let mut files = db.live_files().ok_or_else(cannot)?;
    files.retain(|file| file.family == table);
    Ok(match compaction(&files, from) {
        Compaction::Empty => format!("compact{from} found 0 files to compact"),
        Compaction::Last(level) => format!("compact{from} found no data beyond L{level}"),
        Compaction::Into(level, next) => {
            let names = files.iter().filter(|file| file.level == level);
            let names: Vec<_> = names.map(|file| file.name.clone()).collect();
            db.compact_files(&names, next, file_bytes)
                .ok_or_else(cannot)??;
            let count = names.len();
            format!("compact{from} found {count} files to compact from L{level} to L{next}")
        }
    })
}

fn compaction(files: &[LiveFile], from: u32) -> Compaction {
    let min_above = |level| files.iter().map(|f| f.level).filter(|l| *l > level).min();
    let level = match from {
        0 => files.iter().any(|file| file.level == 0).then_some(0),
        _ => min_above(0),
    };
    match level.map(|level| (level, min_above(level))) {
        None => Compaction::Empty,
        Some((level, None)) => Compaction::Last(level),
        Some((level, Some(next))) => Compaction::Into(level, next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(levels: &[i32]) -> Vec<LiveFile> {
        let file = |level: &i32| LiveFile {
            family: "default".to_owned(),
            name: "/1.sst".to_owned(),
            level: *level,
            bytes: 1,
        };
        levels.iter().map(file).collect()
    }

    #[test]
    fn a_level_goes_into_the_next_that_has_files() {
        assert_eq!(compaction(&files(&[0, 0, 4, 5]), 0), Compaction::Into(0, 4));
        assert_eq!(compaction(&files(&[0, 4, 5]), 1), Compaction::Into(4, 5));
        assert_eq!(compaction(&files(&[4, 5]), 0), Compaction::Empty);
        assert_eq!(compaction(&files(&[0, 0]), 0), Compaction::Last(0));
        assert_eq!(compaction(&files(&[0, 6]), 1), Compaction::Last(6));
        assert_eq!(compaction(&[], 1), Compaction::Empty);
    }
}
