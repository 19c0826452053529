//! The settings of RocksDB that decide what of a workload reaches the device: its cache, compression,
//! the log and direct I/O, in words.

/// What RocksDB reported of its settings, each by its name: `block cache 10.3 MB; LZ4 compression from
/// level 2; log synced at each write; direct I/O`.
pub fn rocksdb(fact: impl Fn(&str) -> Option<String>) -> Option<String> {
    let is_set = |name: &str| fact(name).map(|value| value == "true");
    let cache = fact("block_cache_capacity").and_then(|bytes| bytes.parse().ok());
    let cache = cache.map(|bytes: f64| match bytes {
        0.0 => "no block cache".to_owned(),
        _ => format!("block cache {}", tailmark_model::number::bytes(bytes)),
    });
    let per_level = fact("compression_per_level").filter(|levels| !levels.is_empty());
    let compression = per_level.or_else(|| fact("compression"));
    let log = match (is_set("disable_wal"), is_set("sync")) {
        (Some(true), _) => Some("no write-ahead log"),
        (_, Some(true)) => Some("log synced at each write"),
        (_, Some(false)) => Some("log not synced"),
        (_, None) => None,
    };
    let reads = is_set("use_direct_reads");
    let direct = match (reads, is_set("use_direct_io_for_flush_and_compaction")) {
        (Some(true), Some(true)) => Some("direct I/O"),
        (Some(true), _) => Some("direct reads, buffered flush and compaction"),
        (_, Some(true)) => Some("buffered reads, direct flush and compaction"),
        (Some(false), _) => Some("buffered I/O"),
        (None, _) => None,
    };
    let log = log.map(str::to_owned);
    let direct = direct.map(str::to_owned);
    let all = [cache, compression.map(|own| compressed(&own)), log, direct];
    let known: Vec<String> = all.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join("; "))
}

/// `LZ4 compression from level 2`, given what RocksDB calls the algorithm of each level.
fn compressed(levels: &str) -> String {
    let levels: Vec<&str> = levels.split(':').map(algorithm).collect();
    let is_none = |level: &&str| *level == NONE;
    let first = levels.iter().take_while(|level| is_none(level)).count();
    match levels[first..] {
        [] => "no compression".to_owned(),
        [one, ref rest @ ..] if rest.iter().all(|other| *other == one) => match first {
            0 => format!("{one} compression"),
            _ => format!("{one} compression from level {first}"),
        },
        _ => format!("compression by level: {}", levels.join(", ")),
    }
}

const NONE: &str = "none";

/// `LZ4` of `kLZ4Compression`.
fn algorithm(name: &str) -> &str {
    let bare = name.strip_prefix('k').unwrap_or(name);
    match bare.strip_suffix("Compression").unwrap_or(bare) {
        "No" => NONE,
        own => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_told_in_words() {
        let told = |facts: &[(&str, &str)]| {
            let fact = |name: &str| {
                let own = facts.iter().find(|(known, _)| *known == name)?;
                Some(own.1.to_owned())
            };
            rocksdb(fact).unwrap_or_default()
        };
        assert_eq!(
            told(&[
                ("block_cache_capacity", "10297500"),
                ("compression", "kSnappyCompression"),
                (
                    "compression_per_level",
                    "kNoCompression:kNoCompression:kLZ4Compression"
                ),
                ("disable_wal", "false"),
                ("sync", "true"),
                ("use_direct_reads", "true"),
                ("use_direct_io_for_flush_and_compaction", "true"),
            ]),
            "block cache 10.3 MB; LZ4 compression from level 2; log synced at each write; direct I/O"
        );
        assert_eq!(
            told(&[
                ("compression", "kNoCompression"),
                ("disable_wal", "true"),
                ("use_direct_reads", "false"),
            ]),
            "no compression; no write-ahead log; buffered I/O"
        );
        assert_eq!(
            told(&[("compression_per_level", "kLZ4Compression:kZSTD")]),
            "compression by level: LZ4, ZSTD"
        );
        assert_eq!(told(&[("version", "11.12.0")]), "");
    }
}
