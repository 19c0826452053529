//! What to write in a plan for words that users of other benchmarks know. An unknown key of a plan
//! gets its hint from here, before the nearest key is looked for.

use super::KEYS;

/// A word of another program, in lower case without `_` and `-`, and what to write in a plan.
const HINTS: &[(&str, &str)] = &[
    // YCSB.
    ("recordcount", "`dataset.records`"),
    ("operationcount", "`sweep.operations`"),
    ("threadcount", "`sweep.threads`"),
    ("maxexecutiontime", "`sweep.duration`"),
    ("target", "`sweep.rate`"),
    ("fieldcount", "`dataset.fields`"),
    ("fieldlength", "`dataset.field_length`"),
    ("requestdistribution", "`sweep.distribution`"),
    ("readproportion", "`workload.read` in a [[workload]] table"),
    (
        "updateproportion",
        "`workload.update` in a [[workload]] table",
    ),
    (
        "insertproportion",
        "`workload.insert` in a [[workload]] table",
    ),
    ("scanproportion", "`workload.scan` in a [[workload]] table"),
    (
        "readmodifywriteproportion",
        "`workload.read_modify_write` in a [[workload]] table",
    ),
    (
        "maxscanlength",
        "`workload.scan_length_max` in a [[workload]] table",
    ),
    (
        "minscanlength",
        "`workload.scan_length_min` in a [[workload]] table",
    ),
    ("writeallfields", "`dataset.write_all_fields`"),
    ("hosts", CONTACT_POINTS),
    ("host", CONTACT_POINTS),
    ("rocksdbdir", "`system.path`"),
    // fio.
    (
        "iodepth",
        "`sweep.threads` (with the driver file also `database.depth`)",
    ),
    ("numjobs", "`sweep.threads`"),
    ("runtime", "`sweep.duration`"),
    ("ramptime", "`sweep.warmup`"),
    ("rampup", "`sweep.warmup`"),
    ("rw", MIX),
    ("readwrite", MIX),
    ("rwmixread", MIX),
    ("bs", RECORD_SIZE),
    (
        "blocksize",
        "`database.block_size` for RocksDB, or --record-size for the size of a record",
    ),
    (
        "size",
        "`dataset.records`: tailmark counts records, not bytes",
    ),
    ("filename", "`system.path` or `system.device`"),
    ("ioengine", "`database.driver`"),
    ("rateiops", "`sweep.rate`"),
    ("randomdistribution", "`sweep.distribution`"),
    ("randseed", "`sweep.seed`"),
    ("loops", "`sweep.repeats`"),
    ("latencytarget", "`slo.latency`"),
    ("buffercompresspercentage", "`dataset.compressibility`"),
    // db_bench.
    ("benchmarks", "`sweep.workloads`"),
    ("num", "`dataset.records`"),
    ("reads", "`sweep.operations`"),
    ("writes", "`sweep.operations`"),
    ("valuesize", RECORD_SIZE),
    ("keysize", "`dataset.key_length`"),
    ("cachesize", "`database.block_cache`"),
    ("compressiontype", COMPRESSION),
    ("compressionratio", "`dataset.compressibility`"),
    ("usedirectreads", "`database.direct_reads`"),
    (
        "usedirectioforflushandcompaction",
        "`database.direct_flush_compaction`",
    ),
    ("writebuffersize", "`database.write_buffer`"),
    ("maxbackgroundjobs", "`database.background_jobs`"),
    ("openfiles", "`database.max_open_files`"),
    ("db", "`system.path`"),
    ("benchmarkwriteratelimit", "`sweep.background_rate`"),
    // asbench and latte.
    ("keys", "`dataset.records`"),
    ("throughput", "`sweep.rate`"),
    ("objectspec", RECORD_SIZE),
    ("concurrency", "`sweep.threads`"),
    (
        "consistency",
        "`database.read_consistency` and `database.write_consistency`",
    ),
    ("warmuptime", "`sweep.warmup`"),
    ("warmupduration", "`sweep.warmup`"),
    // Everyone.
    ("recordsize", RECORD_SIZE),
    ("objectsize", RECORD_SIZE),
    ("payload", RECORD_SIZE),
    ("compression", COMPRESSION),
    ("compressor", COMPRESSION),
    ("direct", DIRECT),
    ("directio", DIRECT),
    ("odirect", DIRECT),
    ("clients", "`sweep.threads`"),
    ("ops", "`sweep.operations`"),
    ("opspersec", "`sweep.rate`"),
    ("qps", "`sweep.rate`"),
    ("iops", "`sweep.rate`"),
    ("time", "`sweep.duration`"),
    ("seconds", "`sweep.duration`"),
    ("iterations", "`sweep.repeats`"),
    ("runs", "`sweep.repeats`"),
    ("directory", "`system.path`"),
    ("dir", "`system.path`"),
    ("memory", "`machine.memory_limit`"),
    ("cgroup", "`machine.memory_limit`"),
    ("fs", "`prepare.filesystem`"),
];

const COMPRESSION: &str = "`database.compression`, or --compression";
const CONTACT_POINTS: &str = "`system.contact_points`";
const DIRECT: &str =
    "`database.direct_reads` and `database.direct_flush_compaction` for RocksDB, or --direct";
const MIX: &str = "`sweep.workloads`, or the weights of a [[workload]] table";
const RECORD_SIZE: &str = "`dataset.fields` and `dataset.field_length`, or --record-size";

/// The tables whose keys have the same path in every plan.
const TABLES: &[&str] = &[
    "dataset", "sweep", "machine", "report", "prepare", "slo", "anatomy", "abort", "system",
];

/// A value of another program, in lower case without `_` and `-`, and what to write in a plan.
const VALUES: &[(&str, &str)] = &[
    ("workloada", "ycsb-a"),
    ("workloadb", "ycsb-b"),
    ("workloadc", "ycsb-c"),
    ("workloadd", "ycsb-d"),
    ("workloade", "ycsb-e"),
    ("workloadf", "ycsb-f"),
    // fio and asbench.
    ("random", "uniform"),
    ("rand", "uniform"),
];

/// What to write instead of a value that a key does not know: `; write ... instead`, if it is a word
/// of another program.
pub(super) fn value_hint(given: &str) -> Option<String> {
    let word = given.to_lowercase().replace(['_', '-'], "");
    let (_, write) = VALUES.iter().find(|(foreign, _)| *foreign == word)?;
    Some(format!("; write `{write}` instead"))
}

/// What to write instead of a key that is not in its table: `; write ... instead`, if it is a word
/// of another program, or a key of another table.
pub(super) fn hint(given: &str) -> Option<String> {
    let word = given.to_lowercase().replace(['_', '-'], "");
    let known = HINTS.iter().find(|(foreign, _)| *foreign == word);
    let write = known.map(|(_, write)| (*write).to_owned()).or_else(|| {
        let mut keys = KEYS.iter().filter(|key| TABLES.contains(&key.table));
        let key = keys.find(|key| key.name == given)?;
        Some(format!("`{}`", key.path()))
    });
    write.map(|write| format!("; write {write} instead"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyFlag, SETTING_FLAGS};
    use std::collections::BTreeSet;
    use tailmark_driver::db::DRIVERS;
    use tailmark_workload::Distribution;

    #[test]
    fn every_hint_names_keys_and_flags_that_exist() {
        let settings = DRIVERS.iter().flat_map(|driver| driver.settings);
        let mut known: BTreeSet<String> =
            settings.map(|s| format!("database.{}", s.name)).collect();
        known.extend(KEYS.iter().map(|key| key.path()));
        let flags = KEYS.iter().chain(SETTING_FLAGS).filter_map(|key| key.flag);
        let flags: BTreeSet<&str> = flags.map(|flag: KeyFlag| flag.name).collect();
        for (word, write) in HINTS {
            let keys = write.split('`').skip(1).step_by(2);
            let words = write.split([' ', ',', ':']).filter(|w| w.starts_with("--"));
            let (keys, words): (Vec<_>, Vec<_>) = (keys.collect(), words.collect());
            assert!(keys.len() + words.len() > 0, "{word}");
            assert!(
                keys.iter().all(|key| known.contains(*key)),
                "{word}: {write}"
            );
            assert!(
                words.iter().all(|flag| flags.contains(flag)),
                "{word}: {write}"
            );
        }
    }

    #[test]
    fn every_word_is_found_once_however_it_is_spelled() {
        let words: BTreeSet<_> = HINTS.iter().map(|(word, _)| word).collect();
        assert_eq!(words.len(), HINTS.len());
        for (word, write) in HINTS {
            assert!(word.chars().all(|c| c.is_ascii_lowercase()), "{word}");
            assert_eq!(hint(word), Some(format!("; write {write} instead")));
        }
        let records = Some("; write `dataset.records` instead".to_owned());
        for spelling in ["record_count", "RECORDCOUNT", "record-count"] {
            assert_eq!(hint(spelling), records);
        }
    }

    #[test]
    fn every_value_to_write_is_a_workload_or_a_distribution() {
        for (word, write) in VALUES {
            let is_workload = tailmark_workload::find(write).is_ok();
            assert!(is_workload || Distribution::parse(write).is_ok(), "{write}");
            assert!(tailmark_workload::find(word).is_err() && Distribution::parse(word).is_err());
            let hint = format!("; write `{write}` instead");
            assert_eq!(value_hint(&word.to_uppercase()), Some(hint));
        }
    }

    #[test]
    fn a_key_of_another_table_is_named_with_its_table() {
        assert_eq!(
            hint("threads"),
            Some("; write `sweep.threads` instead".to_owned())
        );
        assert_eq!(hint("colour"), None);
    }
}
