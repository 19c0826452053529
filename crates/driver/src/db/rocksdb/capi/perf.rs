//! The perf context of a thread.

use super::{Handle, Table};

/// What RocksDB counts and times of the requests of one thread. Made and used on that thread.
pub(in super::super) struct PerfContext {
    metric: unsafe extern "C" fn(Handle, i32) -> u64,
    destroy: unsafe extern "C" fn(Handle),
    handle: Handle,
}

// SAFETY: the handle is RocksDB's own context of a thread. Its client is made on another thread, but
// asks for it on its own.
#[expect(unsafe_code, reason = "a handle is a pointer")]
unsafe impl Send for PerfContext {}

#[expect(unsafe_code, reason = "calls of C functions with live handles")]
impl PerfContext {
    /// That of this thread; `None` if the library has none.
    pub(in super::super) fn new(functions: &'static Table) -> Option<Self> {
        let create = functions.rocksdb_perfcontext_create?;
        Some(Self {
            metric: functions.rocksdb_perfcontext_metric?,
            destroy: functions.rocksdb_perfcontext_destroy?,
            // SAFETY: it takes nothing.
            handle: unsafe { create() },
        })
    }

    /// Sets what RocksDB counts and times on this thread: a `PerfLevel`.
    pub(in super::super) fn set_level(functions: &Table, level: i32) {
        if let Some(set) = functions.rocksdb_set_perf_level {
            // SAFETY: the level is one of RocksDB's.
            unsafe { set(level) };
        }
    }

    /// A number, by its place in `c.h`.
    pub(in super::super) fn metric(&self, number: i32) -> u64 {
        // SAFETY: the handle is alive.
        unsafe { (self.metric)(self.handle, number) }
    }
}

#[expect(unsafe_code, reason = "frees what `new` made")]
impl Drop for PerfContext {
    fn drop(&mut self) {
        // SAFETY: it is the only owner. RocksDB's own context stays.
        unsafe { (self.destroy)(self.handle) };
    }
}
