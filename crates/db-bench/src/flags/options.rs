//! Flags that are RocksDB options, and the lines of RocksDB's options format for them.

use super::{
    FlagKind::{self, Flag, Integer, Number, Text},
    OptionSection,
};

/// A flag that is an option.
#[derive(Debug, Clone, Copy)]
pub struct OptionRow {
    /// The flag.
    pub name: &'static str,
    /// The type of its value.
    pub kind: FlagKind,
    /// db_bench's default.
    pub default: &'static str,
    /// The section of the option.
    pub section: OptionSection,
    /// The name of the option there.
    pub key: &'static str,
}

impl OptionRow {
    /// The same, called otherwise in RocksDB's options format.
    const fn called(self, key: &'static str) -> Self {
        Self { key, ..self }
    }
}

const fn database(name: &'static str, kind: FlagKind, default: &'static str) -> OptionRow {
    let (section, key) = (OptionSection::Database, name);
    OptionRow {
        name,
        kind,
        default,
        section,
        key,
    }
}

const fn family(name: &'static str, kind: FlagKind, default: &'static str) -> OptionRow {
    OptionRow {
        section: OptionSection::Family,
        ..database(name, kind, default)
    }
}

const fn table(name: &'static str, kind: FlagKind, default: &'static str) -> OptionRow {
    OptionRow {
        section: OptionSection::Table,
        ..database(name, kind, default)
    }
}

/// RocksDB 11 writes 7, which the db_bench that distributions ship cannot read.
pub const FORMAT_VERSION: &str = "5";

/// Every one of them, sorted by name.
pub const ROWS: &[OptionRow] = &[
    database("advise_random_on_open", Flag, "true"),
    database("allow_concurrent_memtable_write", Flag, "true"),
    database("allow_data_in_errors", Flag, "false"),
    family("arena_block_size", Integer, "0"),
    database("avoid_flush_during_recovery", Flag, "false"),
    database("avoid_flush_during_shutdown", Flag, "false"),
    family("blob_compaction_readahead_size", Integer, "0"),
    family("blob_compression_type", Text, "none"),
    family("blob_file_size", Integer, "268435456"),
    family("blob_file_starting_level", Integer, "0"),
    family("blob_garbage_collection_age_cutoff", Number, "0.25"),
    family("blob_garbage_collection_force_threshold", Number, "1"),
    table("block_align", Flag, "false"),
    family("block_protection_bytes_per_key", Integer, "0"),
    table("block_restart_interval", Integer, "16"),
    table("block_size", Integer, "4096"),
    table("bloom_bits", Integer, "-1").called("filter_policy"),
    family("bloom_locality", Integer, "0"),
    database("bytes_per_sync", Integer, "0"),
    table("cache_index_and_filter_blocks", Flag, "false"),
    table("checksum_type", Integer, "4").called("checksum"),
    family("compaction_pri", Integer, "3"),
    database("compaction_readahead_size", Integer, "2097152"),
    family("compaction_style", Integer, "0"),
    family("compression_type", Text, "snappy").called("compression"),
    table("data_block_hash_table_util_ratio", Number, "0.75"),
    database("db_write_buffer_size", Integer, "0"),
    table("decouple_partitioned_filters", Flag, "true"),
    database("delayed_write_rate", Integer, "8388608"),
    database("delete_obsolete_files_period_micros", Integer, "0"),
    family("disable_auto_compactions", Flag, "false"),
    database("dump_malloc_stats", Flag, "true"),
    family("enable_blob_files", Flag, "false"),
    family("enable_blob_garbage_collection", Flag, "false"),
    table("enable_index_compression", Flag, "true"),
    database("enable_pipelined_write", Flag, "true"),
    database("enable_write_thread_adaptive_yield", Flag, "true"),
    database("file_opening_threads", Integer, "16").called("max_file_opening_threads"),
    family("force_consistency_checks", Flag, "true"),
    table("format_version", Integer, FORMAT_VERSION),
    family(
        "hard_pending_compaction_bytes_limit",
        Integer,
        "137438953472",
    ),
    table("index_block_restart_interval", Integer, "1"),
    table("index_shortening_mode", Integer, "2").called("index_shortening"),
    table("initial_auto_readahead_size", Integer, "8192"),
    family("inplace_update_num_locks", Integer, "10000"),
    family("inplace_update_support", Flag, "false"),
    family("level0_file_num_compaction_trigger", Integer, "4"),
    family("level0_slowdown_writes_trigger", Integer, "20"),
    family("level0_stop_writes_trigger", Integer, "36"),
    family("level_compaction_dynamic_level_bytes", Flag, "false"),
    database("log_readahead_size", Integer, "0"),
    database("manual_wal_flush", Flag, "false"),
    table("max_auto_readahead_size", Integer, "262144"),
    database("max_background_compactions", Integer, "-1"),
    database("max_background_flushes", Integer, "-1"),
    database("max_background_jobs", Integer, "2"),
    family("max_bytes_for_level_base", Integer, "268435456"),
    family("max_bytes_for_level_multiplier", Number, "10"),
    family("max_compaction_bytes", Integer, "0"),
    database("max_manifest_file_size", Integer, "1073741824"),
    family("max_successive_merges", Integer, "0"),
    database("max_total_wal_size", Integer, "0"),
    family("max_write_buffer_number", Integer, "2"),
    family("max_write_buffer_size_to_maintain", Integer, "0"),
    family("memtable_bloom_size_ratio", Number, "0").called("memtable_prefix_bloom_size_ratio"),
    family("memtable_protection_bytes_per_key", Integer, "0"),
    family("memtable_whole_key_filtering", Flag, "false"),
    family("memtablerep", Text, "skip_list").called("memtable_factory"),
    table("metadata_block_size", Integer, "4096"),
    family("min_blob_size", Integer, "0"),
    family("min_write_buffer_number_to_merge", Integer, "1"),
    database("mmap_read", Flag, "false").called("allow_mmap_reads"),
    database("mmap_write", Flag, "false").called("allow_mmap_writes"),
    table("num_file_reads_for_auto_readahead", Integer, "2"),
    family("num_levels", Integer, "7"),
    database("open_files", Integer, "-1").called("max_open_files"),
    family("optimize_filters_for_hits", Flag, "false"),
    table("optimize_filters_for_memory", Flag, "true"),
    database("paranoid_checks", Flag, "true"),
    family("paranoid_memory_checks", Flag, "false"),
    table("partition_index_and_filters", Flag, "false").called("partition_filters"),
    family(
        "periodic_compaction_seconds",
        Integer,
        "18446744073709551614",
    ),
    database("persist_stats_to_disk", Flag, "false"),
    table("pin_l0_filter_and_index_blocks_in_cache", Flag, "false"),
    table("pin_top_level_index_and_filter", Flag, "false"),
    family("preclude_last_level_data_seconds", Integer, "0"),
    family("prefix_size", Integer, "0").called("prefix_extractor"),
    table("prepopulate_block_cache", Integer, "0"),
    family("preserve_internal_time_seconds", Integer, "0"),
    table("read_amp_bytes_per_bit", Integer, "0"),
    family("report_bg_io_stats", Flag, "false"),
    family("sample_for_compression", Integer, "0"),
    database("skip_stats_update_on_db_open", Flag, "false"),
    family(
        "soft_pending_compaction_bytes_limit",
        Integer,
        "68719476736",
    ),
    database("stats_dump_period_sec", Integer, "600"),
    database("stats_history_buffer_size", Integer, "1048576"),
    database("stats_persist_period_sec", Integer, "600"),
    database("subcompactions", Integer, "1").called("max_subcompactions"),
    database("table_cache_numshardbits", Integer, "4"),
    family("target_file_size_base", Integer, "67108864"),
    family("target_file_size_multiplier", Integer, "1"),
    family("ttl_seconds", Integer, "18446744073709551614").called("ttl"),
    database("unordered_write", Flag, "false"),
    database("use_adaptive_mutex", Flag, "false"),
    table("use_data_block_hash_index", Flag, "false").called("data_block_index_type"),
    database("use_direct_io_for_flush_and_compaction", Flag, "false"),
    database("use_direct_reads", Flag, "false"),
    database("use_fsync", Flag, "false"),
    table("verify_compression", Flag, "false"),
    database("verify_manifest_content_on_close", Flag, "false"),
    database("wal_bytes_per_sync", Integer, "0"),
    database("wal_size_limit_MB", Integer, "0").called("WAL_size_limit_MB"),
    database("wal_ttl_seconds", Integer, "0").called("WAL_ttl_seconds"),
    table("whole_key_filtering", Flag, "true"),
    database("writable_file_max_buffer_size", Integer, "1048576"),
    family("write_buffer_size", Integer, "67108864"),
    database("write_thread_max_yield_usec", Integer, "100"),
    database("write_thread_slow_yield_usec", Integer, "3"),
];
