//! Flushes that end.
//!
//! A flush of RocksDB 7 to 11 can wait forever if the database has several column families and
//! `min_write_buffer_number_to_merge` is above 1, as in YCSB (RocksDB's issues 12094, 12166 and
//! 13280). A flush that RocksDB has started by itself releases the database's mutex while it syncs
//! older logs. If another one is requested then, the first one clears the request, but does not
//! write the newest memtable, and no thread writes that until the next request. The jars of 7.10.2,
//! 8.1.1, 8.11.4, 9.10.0, 10.10.1 and 11.8.1 and Debian's 7.8.3 do so, also in a plain C program.
//! Compactions and, without a log, closing wait for flushes too. 6.22.1 picks all memtables, and the embedded version keeps the request.

use super::Db;
use crate::db::rocksdb::capi::{Handle, checked, path, table::ErrorOut};
use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

/// `rocksdb_flush_cf`.
type Flush = unsafe extern "C" fn(Handle, Handle, Handle, ErrorOut);

/// How often a flush that does not start is requested again.
const REQUEST: Duration = Duration::from_millis(20);

#[expect(unsafe_code, reason = "calls of C functions with live handles")]
impl Db {
    /// Writes the table's memtables to files. Versions before 6 flush all column families, when
    /// they make a checkpoint; it is removed again.
    pub(in crate::db::rocksdb) fn flush(&self) -> Result<(), String> {
        let functions = self.functions;
        let Some(flush) = functions.rocksdb_flush_cf else {
            return self.flush_by_checkpoint();
        };
        self.with_requests(|| self.call_flush(flush, true))
    }

    /// Makes a call that waits for a flush. While the flush does not start, requests it again.
    pub(super) fn with_requests<T>(&self, call: impl FnOnce() -> T) -> T {
        // The embedded version forgets none, and versions before 6 cannot be asked.
        let flush = self.functions.rocksdb_flush_cf;
        let Some(flush) = flush.filter(|_| !self.is_embedded()) else {
            return call();
        };
        let (unfinished, is_finished) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                while is_finished.recv_timeout(REQUEST) == Err(RecvTimeoutError::Timeout) {
                    self.request_flush(flush);
                }
            });
            let result = call();
            drop(unfinished);
            result
        })
    }

    pub(super) fn is_embedded(&self) -> bool {
        self.functions.rocksdb_get_into_buffer_cf.is_some()
    }

    /// Requests a flush without waiting for it, if full memtables wait and no flush runs.
    fn request_flush(&self, flush: Flush) {
        let waiting = self.table_number(c"rocksdb.num-immutable-mem-table");
        let running = self.table_number(c"rocksdb.num-running-flushes");
        if waiting == Some(0) || running != Some(0) {
            return;
        }
        // Its error is also that of the call that waits.
        let _ = self.call_flush(flush, false);
    }

    fn call_flush(&self, flush: Flush, waits: bool) -> Result<(), String> {
        let functions = self.functions;
        // SAFETY: the handles are alive.
        unsafe {
            let options = (functions.rocksdb_flushoptions_create)();
            (functions.rocksdb_flushoptions_set_wait)(options, waits.into());
            let flushed = checked(functions, |error| {
                flush(self.handle, options, self.table, error);
            });
            (functions.rocksdb_flushoptions_destroy)(options);
            flushed
        }
    }

    fn flush_by_checkpoint(&self) -> Result<(), String> {
        let functions = self.functions;
        let beside = self.place.parent().unwrap_or(&self.place);
        let folder = tempfile::Builder::new()
            .prefix(".tailmark-checkpoint-")
            .tempdir_in(beside)
            .map_err(|e| format!("failed to make a checkpoint in `{}`: {e}", beside.display()))?;
        let directory = path(&folder.path().join("files"));
        // SAFETY: the handles are alive, and the text ends in NUL.
        unsafe {
            let make = functions.rocksdb_checkpoint_object_create;
            let checkpoint = checked(functions, |error| make(self.handle, error))?;
            let made = checked(functions, |error| {
                (functions.rocksdb_checkpoint_create)(checkpoint, directory.as_ptr(), 0, error);
            });
            (functions.rocksdb_checkpoint_object_destroy)(checkpoint);
            made
        }
    }
}
