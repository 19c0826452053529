// The counters that RocksDB keeps for each thread, in one call. Its C interface has those of the
// perf context, one by one, but not those of the file system (IOStatsContext).

#include <cstdint>

#include "rocksdb/iostats_context.h"
#include "rocksdb/perf_context.h"

// In the order of `Counters` in contexts.rs.
struct tailmark_counters {
  uint64_t block_read, checksum, decompress, memtable_get, files_get, post_process;
  uint64_t memtable_seek, internal_seek, next_user_entry, table_iterator;
  uint64_t wal, memtable_insert, delay, switching, around_write;
  uint64_t mutex, read_index, read_filter;
  uint64_t blocks, index_blocks, filter_blocks, cache_hits;
  uint64_t file_read, file_write, file_sync;
};

extern "C" void tailmark_rocksdb_counters(tailmark_counters* out) {
  const auto& perf = *ROCKSDB_NAMESPACE::get_perf_context();
  const auto& io = *ROCKSDB_NAMESPACE::get_iostats_context();
  *out = tailmark_counters{
      perf.block_read_time,
      perf.block_checksum_time,
      perf.block_decompress_time,
      perf.get_from_memtable_time,
      perf.get_from_output_files_time,
      perf.get_post_process_time,
      perf.seek_on_memtable_time,
      perf.seek_internal_seek_time,
      perf.find_next_user_entry_time,
      perf.new_table_iterator_nanos,
      perf.write_wal_time,
      perf.write_memtable_time,
      perf.write_delay_time,
      perf.write_scheduling_flushes_compactions_time,
      perf.write_pre_and_post_process_time,
      perf.db_mutex_lock_nanos,
      perf.read_index_block_nanos,
      perf.read_filter_block_nanos,
      perf.block_read_count,
      perf.index_block_read_count,
      perf.filter_block_read_count,
      perf.block_cache_hit_count,
      io.read_nanos,
      io.write_nanos + io.range_sync_nanos + io.prepare_write_nanos,
      io.fsync_nanos,
  };
}
