//! The parts of a request to RocksDB, from the counters that it keeps for each thread.
//!
//! RocksDB's timers overlap: reading an index block is within searching the tables, a wait for the
//! mutex within whatever needed it. [`Counters::parts`] makes leaves of them. The embedded RocksDB
//! is asked by `contexts.cc`, which also has the counters of the file system; a loaded library by
//! its C interface, which lacks those.

use super::capi::{PerfContext, Table};
use crate::{OperationKind, Part, Parts};

/// RocksDB measures times of writes: also waits for the mutex, and processor time, which costs more.
const WRITES_TIMED: i32 = 6;
/// And of reads: without those, which a read hardly has.
const READS_TIMED: i32 = 4;
/// RocksDB's default: it only counts.
const COUNTED: i32 = 2;

/// What a thread's contexts have, nanoseconds and counts, as `contexts.cc` fills it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counters {
    block_read: u64,
    checksum: u64,
    decompress: u64,
    memtable_get: u64,
    files_get: u64,
    post_process: u64,
    memtable_seek: u64,
    internal_seek: u64,
    next_user_entry: u64,
    table_iterator: u64,
    wal: u64,
    memtable_insert: u64,
    delay: u64,
    switching: u64,
    around_write: u64,
    mutex: u64,
    read_index: u64,
    read_filter: u64,
    blocks: u64,
    index_blocks: u64,
    filter_blocks: u64,
    cache_hits: u64,
    file_read: u64,
    file_write: u64,
    file_sync: u64,
}

/// The number of counters.
const COUNT: usize = size_of::<Counters>() / size_of::<u64>();

/// The numbers of these counters in RocksDB's `c.h`, in the order of [`Counters`]; `None` for those
/// that the C interface lacks.
const C_NUMBERS: [Option<i32>; COUNT] = [
    Some(4),
    Some(5),
    Some(6),
    Some(15),
    Some(18),
    Some(17),
    Some(19),
    Some(27),
    Some(28),
    Some(39),
    Some(29),
    Some(30),
    Some(31),
    None,
    Some(32),
    Some(33),
    Some(36),
    Some(37),
    Some(2),
    None,
    None,
    Some(1),
    None,
    None,
    None,
];

#[expect(unsafe_code, reason = "fields of one type are an array")]
impl Counters {
    const fn as_array(self) -> [u64; COUNT] {
        // SAFETY: all fields have this type, and the layout is that of C.
        unsafe { std::mem::transmute(self) }
    }

    const fn from_array(all: [u64; COUNT]) -> Self {
        // SAFETY: as above.
        unsafe { std::mem::transmute(all) }
    }

    /// What was added since.
    fn since(self, before: Self) -> Self {
        let (mut all, before) = (self.as_array(), before.as_array());
        for (now, then) in all.iter_mut().zip(before) {
            *now = now.saturating_sub(then);
        }
        Self::from_array(all)
    }

    /// As leaves, each nanosecond in one of them. `has_files`: whether the counters of the file
    /// system are there.
    fn parts(&self, has_files: bool, parts: &mut Parts) {
        let mut write = *self;
        // A wait for the mutex is within what needed it: most often switching memtables.
        let mutex = self.mutex;
        let mut waited = mutex;
        for within in [
            &mut write.switching,
            &mut write.around_write,
            &mut write.delay,
        ] {
            let taken = waited.min(*within);
            *within -= taken;
            waited -= taken;
        }
        let sync = self.file_sync.min(self.wal);
        let log = self.file_write.min(self.wal - sync);
        parts.add(Part::Mutex, mutex);
        parts.add(Part::Stall, write.delay);
        parts.add(Part::WriteGroup, write.around_write);
        parts.add(Part::LogSync, sync);
        parts.add(Part::LogWrite, log);
        parts.add(Part::LogOther, self.wal - sync - log);
        parts.add(Part::MemtableInsert, self.memtable_insert);
        parts.add(Part::MemtableSwitch, write.switching);
        let memtables = self.memtable_get + self.memtable_seek;
        parts.add(Part::MemtableRead, memtables);
        // Blocks that an iterator reads ahead are in the time of the file system alone.
        let read = if has_files {
            self.file_read
        } else {
            self.block_read
        };
        let within = |kind: u64, count: u64, left: u64| if count > 0 { kind.min(left) } else { 0 };
        let index = within(self.read_index, self.index_blocks, read);
        let filter = within(self.read_filter, self.filter_blocks, read - index);
        parts.add(Part::IndexRead, index);
        parts.add(Part::FilterRead, filter);
        parts.add(Part::DataRead, read - index - filter);
        parts.add(Part::Checksum, self.checksum);
        parts.add(Part::Decompression, self.decompress);
        let files = self.files_get
            + self.post_process
            + self.table_iterator
            + (self.internal_seek + self.next_user_entry).saturating_sub(self.memtable_seek);
        let leaves = read + self.checksum + self.decompress;
        parts.add(Part::TableSearch, files.saturating_sub(leaves));
        let others = [self.index_blocks, self.filter_blocks];
        let data = self.blocks.saturating_sub(others[0] + others[1]);
        let counts = [data, others[0], others[1]];
        for (sum, count) in parts.blocks.iter_mut().zip(counts) {
            *sum += count as u32;
        }
        parts.cache_hits += self.cache_hits as u32;
    }
}

/// Takes apart what one client requests.
pub(super) struct Contexts {
    functions: &'static Table,
    /// That of the client's thread, asked for on it. The embedded RocksDB needs none.
    perf: Option<PerfContext>,
    before: Counters,
}

#[cfg(rocksdb_contexts)]
#[expect(unsafe_code, reason = "a C++ function")]
mod own {
    use super::Counters;

    unsafe extern "C" {
        fn tailmark_rocksdb_counters(out: *mut Counters);
    }

    /// The counters of this thread in the embedded RocksDB.
    pub(super) fn counters() -> Option<Counters> {
        let mut counters = Counters::default();
        // SAFETY: it fills the structure, whose fields are the same in `contexts.cc`.
        unsafe { tailmark_rocksdb_counters(&raw mut counters) };
        Some(counters)
    }
}

#[cfg(not(rocksdb_contexts))]
mod own {
    /// RocksDB's headers were missing when tailmark was built.
    pub(super) const fn counters() -> Option<super::Counters> {
        None
    }
}

impl Contexts {
    pub(super) fn new(functions: &'static Table) -> Self {
        Self {
            functions,
            perf: None,
            before: Counters::default(),
        }
    }

    /// The counters, and whether those of the file system are among them.
    fn counters(&mut self) -> Option<(Counters, bool)> {
        if self.functions.is_embedded()
            && let Some(counters) = own::counters()
        {
            return Some((counters, true));
        }
        if self.perf.is_none() {
            self.perf = PerfContext::new(self.functions);
        }
        let perf = self.perf.as_ref()?;
        let all = C_NUMBERS.map(|number| number.map_or(0, |number| perf.metric(number)));
        Some((Counters::from_array(all), false))
    }

    pub(super) fn take_apart(&mut self, kind: OperationKind) {
        let level = if kind.writes() {
            WRITES_TIMED
        } else {
            READS_TIMED
        };
        PerfContext::set_level(self.functions, level);
        if let Some((counters, _)) = self.counters() {
            self.before = counters;
        }
    }

    pub(super) fn parts(&mut self, parts: &mut Parts) {
        if let Some((counters, has_files)) = self.counters() {
            counters.since(self.before).parts(has_files, parts);
        }
        PerfContext::set_level(self.functions, COUNTED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_in_rocksdb_is_counted_once() {
        // A read of 100 us: 80 in files, of which 60 in reads, half of that of an index block.
        let counters = Counters {
            memtable_get: 5_000,
            files_get: 80_000,
            block_read: 61_000,
            file_read: 60_000,
            read_index: 30_000,
            checksum: 4_000,
            blocks: 2,
            index_blocks: 1,
            ..Counters::default()
        };
        let mut parts = Parts::default();
        counters.parts(true, &mut parts);
        parts.fit(100_000);
        for (part, ns) in [
            (Part::IndexRead, 30_000),
            (Part::DataRead, 30_000),
            (Part::Checksum, 4_000),
            (Part::TableSearch, 16_000),
            (Part::MemtableRead, 5_000),
            (Part::Rest, 15_000),
        ] {
            assert_eq!(parts.part_ns(part), ns, "{}", part.row().name);
        }
        assert_eq!(parts.blocks, [1, 1, 0]);
    }

    #[test]
    fn a_write_that_waits_for_the_mutex_while_it_switches_memtables_waits_once() {
        let counters = Counters {
            switching: 9_000,
            mutex: 7_000,
            delay: 1_000_000,
            wal: 20_000,
            file_write: 8_000,
            file_sync: 11_000,
            ..Counters::default()
        };
        let mut parts = Parts::default();
        counters.parts(true, &mut parts);
        for (part, ns) in [
            (Part::Mutex, 7_000),
            (Part::MemtableSwitch, 2_000),
            (Part::Stall, 1_000_000),
            (Part::LogSync, 11_000),
            (Part::LogWrite, 8_000),
            (Part::LogOther, 1_000),
        ] {
            assert_eq!(parts.part_ns(part), ns, "{}", part.row().name);
        }
    }
}
