//! The parts of one request: where its time went.
//!
//! The parts are the leaves of one tree, so that none of a request's time is in two of them. What
//! no part explains is in [`Part::Rest`]. A driver fills those that its database tells.

/// A leaf of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Part {
    /// From due to sent: every client was busy.
    FreeClient,
    /// The database held or delayed writes.
    Stall,
    /// In a write group, while its leader did nothing that is known.
    WriteGroup,
    /// Writing the log.
    LogWrite,
    /// Syncing the log.
    LogSync,
    /// The rest of what is done for the log.
    LogOther,
    /// Inserting into the memtable.
    MemtableInsert,
    /// Switching memtables and logs, and scheduling flushes.
    MemtableSwitch,
    /// Searching memtables.
    MemtableRead,
    /// Searching tables and the block cache, reads excluded.
    TableSearch,
    /// Reading data blocks from files.
    DataRead,
    /// Reading index blocks from files.
    IndexRead,
    /// Reading filter blocks from files.
    FilterRead,
    /// Computing checksums of blocks.
    Checksum,
    /// Decompressing blocks.
    Decompression,
    /// Waiting for the database's mutex.
    Mutex,
    /// Ready to run, but without a processor.
    Processor,
    /// In a queue of the database or of its client.
    Queue,
    /// The device, of a database that says only that.
    Device,
    /// What no part explains.
    Rest,
}

/// What a part is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartGroup {
    /// Waiting for a client of tailmark.
    Client,
    /// Waiting because the database slows writes down.
    Stall,
    /// Waiting for others, without a known reason.
    Unexplained,
    /// Reads, writes and syncs of files: the device, or the page cache.
    Device,
    /// Work of the database itself.
    Database,
    /// Waiting for a lock or in a queue.
    Waiting,
    /// Waiting for a processor.
    Processor,
    /// What is left.
    Rest,
}

impl PartGroup {
    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Stall => "stall",
            Self::Unexplained => "unexplained",
            Self::Device => "device",
            Self::Database => "database",
            Self::Waiting => "waiting",
            Self::Processor => "processor",
            Self::Rest => "rest",
        }
    }
}

/// A row of the table of parts.
#[derive(Debug, Clone, Copy)]
pub struct PartRow {
    /// The part.
    pub part: Part,
    /// The stable name in files.
    pub name: &'static str,
    /// What it is a part of.
    pub group: PartGroup,
    /// A noun for sentences and pictures.
    pub title: &'static str,
    /// What tells it.
    pub source: &'static str,
}

const fn row(
    part: Part,
    name: &'static str,
    group: PartGroup,
    title: &'static str,
    source: &'static str,
) -> PartRow {
    PartRow {
        part,
        name,
        group,
        title,
        source,
    }
}

use PartGroup::{Client, Database, Device, Processor, Rest, Stall, Unexplained, Waiting};

/// Every part, in the order of [`Part`].
pub const PARTS: &[PartRow; Part::COUNT] = &[
    row(
        Part::FreeClient,
        "free-client",
        Client,
        "waiting for a free client",
        "tailmark's clock, from due to sent",
    ),
    row(
        Part::Stall,
        "stall",
        Stall,
        "write stalls",
        "RocksDB's write_delay_time: its own, or that of the leader of its write group",
    ),
    row(
        Part::WriteGroup,
        "write-group",
        Unexplained,
        "waiting in a write group, unexplained",
        "RocksDB's write_pre_and_post_process_time, without what a leader did meanwhile",
    ),
    row(
        Part::LogWrite,
        "log-write",
        Device,
        "log writes",
        "RocksDB's write_nanos and range_sync_nanos within write_wal_time",
    ),
    row(
        Part::LogSync,
        "log-sync",
        Device,
        "log syncs",
        "RocksDB's fsync_nanos within write_wal_time",
    ),
    row(
        Part::LogOther,
        "log-other",
        Database,
        "other work for the log",
        "RocksDB's write_wal_time, without writes and syncs; all of it if a library tells no more",
    ),
    row(
        Part::MemtableInsert,
        "memtable-insert",
        Database,
        "memtable inserts",
        "RocksDB's write_memtable_time",
    ),
    row(
        Part::MemtableSwitch,
        "memtable-switch",
        Database,
        "switching memtables",
        "RocksDB's write_scheduling_flushes_compactions_time",
    ),
    row(
        Part::MemtableRead,
        "memtable-read",
        Database,
        "memtable reads",
        "RocksDB's get_from_memtable_time and seek_on_memtable_time",
    ),
    row(
        Part::TableSearch,
        "table-search",
        Database,
        "searching tables and the block cache",
        "RocksDB's get_from_output_files_time and its like for iterators, without reads, checksums \
         and decompression",
    ),
    row(
        Part::DataRead,
        "data-read",
        Device,
        "data block reads",
        "RocksDB's read_nanos, without index and filter blocks; else block_read_time",
    ),
    row(
        Part::IndexRead,
        "index-read",
        Device,
        "index block reads",
        "RocksDB's read_index_block_nanos, if index blocks were read",
    ),
    row(
        Part::FilterRead,
        "filter-read",
        Device,
        "filter block reads",
        "RocksDB's read_filter_block_nanos, if filter blocks were read",
    ),
    row(
        Part::Checksum,
        "checksum",
        Database,
        "checksums",
        "RocksDB's block_checksum_time",
    ),
    row(
        Part::Decompression,
        "decompression",
        Database,
        "decompression",
        "RocksDB's block_decompress_time",
    ),
    row(
        Part::Mutex,
        "mutex",
        Waiting,
        "waiting for the database's mutex",
        "RocksDB's db_mutex_lock_nanos",
    ),
    row(
        Part::Processor,
        "processor",
        Processor,
        "waiting for a processor",
        "/proc/thread-self/schedstat, throttling by a quota included",
    ),
    row(
        Part::Queue,
        "queue",
        Waiting,
        "waiting in a queue",
        "the model of `sim`",
    ),
    row(
        Part::Device,
        "device",
        Device,
        "device reads and writes",
        "the model of `sim`",
    ),
    row(
        Part::Rest,
        "rest",
        Rest,
        "the rest",
        "the time of the request, without all other parts",
    ),
];

impl Part {
    /// The number of parts.
    pub const COUNT: usize = Self::Rest as usize + 1;

    /// Its row.
    #[must_use]
    pub const fn row(self) -> &'static PartRow {
        &PARTS[self as usize]
    }
}

/// Where the time of a request went, and how many blocks it read. Fixed size: filling it allocates
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts {
    /// Nanoseconds by [`Part`].
    ns: [u64; Part::COUNT],
    /// Blocks that were read from files: data, index and filter blocks.
    pub blocks: [u32; 3],
    /// Blocks that were found in the block cache.
    pub cache_hits: u32,
}

impl Parts {
    /// The time of a part, nanoseconds.
    #[inline]
    #[must_use]
    pub const fn part_ns(&self, part: Part) -> u64 {
        self.ns[part as usize]
    }

    /// Adds to a part, nanoseconds.
    #[inline]
    pub const fn add(&mut self, part: Part, ns: u64) {
        self.ns[part as usize] += ns;
    }

    /// Takes up to this much from a part. Returns what was taken, nanoseconds.
    #[inline]
    pub fn take(&mut self, part: Part, ns: u64) -> u64 {
        let taken = ns.min(self.part_ns(part));
        self.ns[part as usize] -= taken;
        taken
    }

    /// All of them, by [`Part`].
    #[must_use]
    pub const fn all(&self) -> &[u64; Part::COUNT] {
        &self.ns
    }

    /// Their sum, nanoseconds.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.ns.iter().sum()
    }

    /// Makes them add up to the time of the request. What is missing is the rest. If clocks
    /// disagree and the parts take longer than the request, all shrink.
    pub fn fit(&mut self, request_ns: u64) {
        let sum = self.sum();
        if sum > request_ns {
            for ns in &mut self.ns {
                *ns = (u128::from(*ns) * u128::from(request_ns) / u128::from(sum)) as u64;
            }
        }
        let missing = request_ns - self.sum();
        self.add(Part::Rest, missing);
    }

    /// Charges a wait for a processor, which happened within the other parts: to the work of the
    /// database first, which takes microseconds unless it is interrupted, then to the waits, then to
    /// the device.
    pub fn charge_processor(&mut self, waited_ns: u64) {
        let mut left = waited_ns;
        for group in [Rest, Database, Waiting, Unexplained, Stall, Device] {
            for row in PARTS.iter().filter(|row| row.group == group) {
                let taken = self.take(row.part, left);
                self.add(Part::Processor, taken);
                left -= taken;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_row_in_order_and_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = PARTS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), Part::COUNT);
        for (index, row) in PARTS.iter().enumerate() {
            assert_eq!(row.part as usize, index, "{}", row.name);
        }
    }

    #[test]
    fn parts_add_up_to_the_request_also_if_clocks_disagree() {
        let mut parts = Parts::default();
        parts.add(Part::DataRead, 70);
        parts.add(Part::Checksum, 10);
        let mut longer = parts;
        longer.fit(100);
        assert_eq!((longer.sum(), longer.part_ns(Part::Rest)), (100, 20));
        parts.fit(40);
        assert_eq!(parts.sum(), 40);
        assert_eq!(parts.part_ns(Part::DataRead), 35);
    }

    #[test]
    fn a_throttled_request_is_not_blamed_on_the_device() {
        // 50 us of the device, then 30 ms without a processor before the read returns.
        let mut parts = Parts::default();
        parts.add(Part::DataRead, 30_050_000);
        parts.add(Part::TableSearch, 3_000);
        parts.fit(30_055_000);
        parts.charge_processor(30_000_000);
        assert_eq!(parts.sum(), 30_055_000);
        assert_eq!(parts.part_ns(Part::Processor), 30_000_000);
        assert!(parts.part_ns(Part::DataRead).abs_diff(50_000) <= 5_000);
        // Interrupted in the database's own work, the device keeps its time.
        let mut working = Parts::default();
        working.add(Part::DataRead, 50_000);
        working.add(Part::TableSearch, 30_003_000);
        working.fit(30_055_000);
        working.charge_processor(30_000_000);
        assert_eq!(working.part_ns(Part::DataRead), 50_000);
    }
}
