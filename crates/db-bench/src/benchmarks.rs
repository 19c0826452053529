//! db_bench's benchmarks by name, and their equivalents here.

use super::measure::{Count, Measure, Needs};
use anyhow::{Context, bail};

/// The meaning of a name in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A workload.
    Measure(Measure),
    /// Something done to the database, or printed of it.
    Tool(Tool),
}

/// Actions besides measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Prints properties of the database, each under a blank line.
    Print(&'static str),
    /// Prints the state of the memtables.
    Memstats,
    /// Writes the memtables out.
    Flush,
    /// Compacts everything, with a result line.
    Compact,
    /// Compacts everything.
    CompactAll,
    /// Compacts a level into the next: the first (0), or the first beyond it (1).
    CompactLevel(u32),
    /// Waits until background work has settled.
    Wait,
}

const fn measure(row: &'static str, needs: Needs, count: Count) -> Action {
    Action::Measure(Measure {
        row,
        needs,
        count,
        timed: true,
        bytes: true,
    })
}

const fn untimed(row: &'static str, needs: Needs, count: Count, bytes: bool) -> Action {
    Action::Measure(Measure {
        row,
        needs,
        count,
        timed: false,
        bytes,
    })
}

const fn silent(row: &'static str, count: Count) -> Action {
    Action::Measure(Measure {
        row,
        needs: Needs::Nothing,
        count,
        timed: true,
        bytes: false,
    })
}

/// Benchmarks that db_bench has and this program has not: most need a merge operator, transactions
/// or backups, or measure no database.
const UNSUPPORTED: &[&str] = &[
    "acquireload",
    "appendrandom",
    "approximatememtablestats",
    "approximatesizerandom",
    "backup",
    "cache_report_problems",
    "compress",
    "crc32c",
    "fillanddeleteuniquerandom",
    "fillbatch",
    "fillseekseq",
    "fillseqdeterministic",
    "filluniquerandomdeterministic",
    "getmergeoperands",
    "heapprofile",
    "mergerandom",
    "multireadwhilewriting",
    "multiscan",
    "newiterator",
    "newiteratorwhilewriting",
    "openandcompact",
    "randomreplacekeys",
    "randomtransaction",
    "randomwithverify",
    "readrandomfast",
    "readrandommergerandom",
    "readrandomoperands",
    "readtorowcache",
    "readwhilemerging",
    "readwhilescanning",
    "replay",
    "resetstats",
    "restore",
    "seekrandomwhilemerging",
    "stats_history",
    "timeseries",
    "uncompress",
    "verify",
    "verifychecksum",
    "verifyfilechecksums",
    "xorupdaterandom",
    "xxh3",
    "xxhash",
    "xxhash64",
];

/// Every benchmark, sorted by name.
pub const BENCHMARKS: &[(&str, Action)] = &[
    (
        "block_cache_entry_stats",
        Action::Tool(Tool::Print("rocksdb.block-cache-entry-stats")),
    ),
    ("compact", Action::Tool(Tool::Compact)),
    ("compact0", Action::Tool(Tool::CompactLevel(0))),
    ("compact1", Action::Tool(Tool::CompactLevel(1))),
    ("compactall", Action::Tool(Tool::CompactAll)),
    ("deleterandom", silent("deleterandom", Count::Deletes)),
    (
        "deleteseq",
        untimed("deleteseq", Needs::Nothing, Count::Deletes, false),
    ),
    (
        "fill100K",
        measure("fillrandom", Needs::FreshLarge, Count::Writes),
    ),
    (
        "fillrandom",
        measure("fillrandom", Needs::Fresh, Count::Writes),
    ),
    (
        "fillseq",
        untimed("fillseq", Needs::Fresh, Count::Writes, true),
    ),
    (
        "fillsync",
        measure("fillrandom", Needs::FreshSync, Count::Writes),
    ),
    (
        "filluniquerandom",
        untimed("filluniquerandom", Needs::Fresh, Count::Writes, true),
    ),
    ("flush", Action::Tool(Tool::Flush)),
    (
        "levelstats",
        Action::Tool(Tool::Print("rocksdb.levelstats")),
    ),
    ("memstats", Action::Tool(Tool::Memstats)),
    (
        "mixgraph",
        measure("mixgraph", Needs::Nothing, Count::Reads),
    ),
    (
        "multireadrandom",
        measure("multireadrandom", Needs::Nothing, Count::Reads),
    ),
    (
        "overwrite",
        measure("overwrite", Needs::Nothing, Count::Writes),
    ),
    (
        "readmissing",
        measure("readmissing", Needs::Nothing, Count::Reads),
    ),
    (
        "readrandom",
        measure("readrandom", Needs::Nothing, Count::Reads),
    ),
    (
        "readrandomsmall",
        measure("readrandom", Needs::FewReads, Count::Reads),
    ),
    (
        "readrandomwriterandom",
        silent("readrandomwriterandom", Count::Both),
    ),
    (
        "readreverse",
        untimed("readreverse", Needs::Nothing, Count::Reads, true),
    ),
    (
        "readseq",
        untimed("readseq", Needs::Nothing, Count::Reads, true),
    ),
    (
        "readtocache",
        untimed("readseq", Needs::OneClient, Count::Reads, true),
    ),
    (
        "readwhilewriting",
        measure("readwhilewriting", Needs::Nothing, Count::Reads),
    ),
    (
        "seekrandom",
        measure("seekrandom", Needs::Nothing, Count::Reads),
    ),
    (
        "seekrandomwhilewriting",
        measure("seekrandomwhilewriting", Needs::Nothing, Count::Reads),
    ),
    ("sstables", Action::Tool(Tool::Print("rocksdb.sstables"))),
    ("stats", Action::Tool(Tool::Print("rocksdb.stats"))),
    (
        "updaterandom",
        measure("updaterandom", Needs::Nothing, Count::Both),
    ),
    ("waitforcompaction", Action::Tool(Tool::Wait)),
];

/// One entry of `--benchmarks`: `readrandom`, `readrandom[X3]`, `readrandom[X3-W1]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedBenchmark {
    /// Its name, as it is printed.
    pub name: &'static str,
    /// The action.
    pub action: Action,
    /// The number of measured repeats.
    pub repeats: u32,
    /// The number of warm-ups before them.
    pub warmups: u32,
}

impl ListedBenchmark {
    /// Reads a whole list.
    ///
    /// # Errors
    /// Names the benchmark that is not known, with the nearest that is.
    pub fn list(text: &str) -> anyhow::Result<Vec<Self>> {
        text.split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(Self::parse)
            .collect()
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let (name, suffix) = match text.split_once('[') {
            Some((name, suffix)) => (
                name,
                suffix
                    .strip_suffix(']')
                    .with_context(|| format!("`{text}` lacks a `]`"))?,
            ),
            None => (text, ""),
        };
        let Some(&(name, action)) = BENCHMARKS.iter().find(|(known, _)| *known == name) else {
            if UNSUPPORTED.contains(&name) {
                bail!("tailmark does not support the db_bench benchmark `{name}`");
            }
            let known = BENCHMARKS.iter().map(|(known, _)| *known);
            let hint = tailmark_driver::did_you_mean(name, known);
            bail!("unknown benchmark `{name}`{hint}");
        };
        let mut entry = Self {
            name,
            action,
            repeats: 1,
            warmups: 0,
        };
        for part in suffix.split('-').filter(|part| !part.is_empty()) {
            let count = || {
                part[1..]
                    .parse()
                    .ok()
                    .filter(|count| (1..=10_000).contains(count))
            };
            let count = part.is_char_boundary(1).then(count).flatten();
            let count =
                count.with_context(|| format!("`{part}` of `{text}` is not X or W and a count"))?;
            match &part[..1] {
                "X" => entry.repeats = count,
                "W" => entry.warmups = count,
                _ => bail!("`{part}` of `{text}` is not X or W and a count"),
            }
        }
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_sorted() {
        let names: Vec<_> = BENCHMARKS
            .iter()
            .map(|(name, _)| name.to_lowercase())
            .collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    }

    #[test]
    fn what_only_db_bench_has_differs_from_what_is_misspelt() {
        let error = |name| ListedBenchmark::list(name).unwrap_err().to_string();
        for name in [
            "mergerandom",
            "fillbatch",
            "openandcompact",
            "stats_history",
        ] {
            let expected = format!("tailmark does not support the db_bench benchmark `{name}`");
            assert_eq!(error(name), expected);
        }
        assert!(error("readrandm").ends_with("did you mean `readrandom`?"));
        assert!(UNSUPPORTED.is_sorted());
        assert!(
            BENCHMARKS
                .iter()
                .all(|(name, _)| !UNSUPPORTED.contains(name))
        );
    }

    #[test]
    fn suffixes_say_how_often() {
        let entry = ListedBenchmark::list("readrandom[X3-W1]").unwrap()[0];
        assert_eq!(
            (entry.name, entry.repeats, entry.warmups),
            ("readrandom", 3, 1)
        );
        for bad in [
            "readrandom[X0]",
            "readrandom[Y1]",
            "readrandom[X3",
            "readrandm",
        ] {
            assert!(ListedBenchmark::list(bad).is_err(), "{bad}");
        }
    }
}
