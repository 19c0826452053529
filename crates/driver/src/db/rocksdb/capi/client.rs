//! What one client needs for its requests: options, values, batches and iterators.

use super::{Handle, Table, checked};
use std::{ffi::c_char, marker::PhantomData, ops::Deref, slice};

/// A value that RocksDB has pinned.
pub(in super::super) struct Value<'a> {
    pub(super) functions: &'static Table,
    pub(super) handle: Handle,
    bytes: &'a [u8],
}

#[expect(unsafe_code, reason = "calls of C functions with live handles")]
impl Value<'_> {
    /// The value of a handle; `None` if the handle is null.
    #[inline]
    pub(super) fn new(functions: &'static Table, handle: Handle) -> Option<Self> {
        if handle.is_null() {
            return None;
        }
        let mut length = 0;
        // SAFETY: the bytes are pinned until the handle is freed.
        let bytes = unsafe {
            let bytes = (functions.rocksdb_pinnableslice_value)(handle, &raw mut length);
            slice_of(bytes, length)
        };
        Some(Self {
            functions,
            handle,
            bytes,
        })
    }
}

impl Deref for Value<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

#[expect(unsafe_code, reason = "frees the pinned value")]
impl Drop for Value<'_> {
    fn drop(&mut self) {
        // SAFETY: it is the only owner.
        unsafe { (self.functions.rocksdb_pinnableslice_destroy)(self.handle) };
    }
}

/// Bytes of the library, which may be null if there are none.
///
/// # Safety
/// The bytes must live as long as the result.
#[expect(unsafe_code, reason = "the bytes are the library's")]
unsafe fn slice_of<'a>(bytes: *const c_char, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { slice::from_raw_parts(bytes.cast(), length) }
}

/// How one client reads.
pub(in super::super) struct ReadOptions {
    pub(super) functions: &'static Table,
    pub(super) handle: Handle,
    /// RocksDB keeps only a pointer to it.
    bound: Box<[u8]>,
}

// SAFETY: one client uses it at a time.
#[expect(unsafe_code, reason = "a handle is a pointer")]
unsafe impl Send for ReadOptions {}

#[expect(unsafe_code, reason = "calls of C functions with live handles")]
impl ReadOptions {
    /// The version's defaults, with the embedded version's io_uring if it is wanted.
    pub(in super::super) fn new(functions: &'static Table, async_io: bool) -> Self {
        // SAFETY: the handle was just made.
        let handle = unsafe {
            let handle = (functions.rocksdb_readoptions_create)();
            if let Some(set) = functions.rocksdb_readoptions_set_async_io {
                set(handle, async_io.into());
            }
            handle
        };
        Self {
            functions,
            handle,
            bound: Box::default(),
        }
    }

    /// An iterator ends before this key.
    pub(in super::super) fn set_upper_bound(&mut self, bound: &[u8]) {
        self.bound = bound.into();
        let set = self.functions.rocksdb_readoptions_set_iterate_upper_bound;
        // SAFETY: the bound lives as long as the options.
        unsafe { set(self.handle, self.bound.as_ptr().cast(), self.bound.len()) };
    }

    /// An iterator ends at this key.
    pub(in super::super) fn set_lower_bound(&mut self, bound: &[u8]) {
        self.bound = bound.into();
        let set = self.functions.rocksdb_readoptions_set_iterate_lower_bound;
        // SAFETY: the bound lives as long as the options.
        unsafe { set(self.handle, self.bound.as_ptr().cast(), self.bound.len()) };
    }
}

#[expect(unsafe_code, reason = "frees what `new` made")]
impl Drop for ReadOptions {
    fn drop(&mut self) {
        // SAFETY: it is the only owner.
        unsafe { (self.functions.rocksdb_readoptions_destroy)(self.handle) };
    }
}

/// How one client writes.
pub(in super::super) struct WriteOptions {
    pub(super) functions: &'static Table,
    pub(super) handle: Handle,
}

// SAFETY: one client uses it at a time.
#[expect(unsafe_code, reason = "a handle is a pointer")]
unsafe impl Send for WriteOptions {}

#[expect(unsafe_code, reason = "calls of C functions with live handles")]
impl WriteOptions {
    /// Whether each write is synced, and whether it is written to no log.
    pub(in super::super) fn new(functions: &'static Table, sync: bool, disable_wal: bool) -> Self {
        // SAFETY: the handle was just made.
        let handle = unsafe {
            let handle = (functions.rocksdb_writeoptions_create)();
            (functions.rocksdb_writeoptions_set_sync)(handle, sync.into());
            (functions.rocksdb_writeoptions_disable_WAL)(handle, disable_wal.into());
            handle
        };
        Self { functions, handle }
    }
}

#[expect(unsafe_code, reason = "frees what `new` made")]
impl Drop for WriteOptions {
    fn drop(&mut self) {
        // SAFETY: it is the only owner.
        unsafe { (self.functions.rocksdb_writeoptions_destroy)(self.handle) };
    }
}

/// Writes that are sent together.
pub(in super::super) struct Batch {
    pub(super) functions: &'static Table,
    pub(super) handle: Handle,
}

// SAFETY: one client uses it at a time.
#[expect(unsafe_code, reason = "a handle is a pointer")]
unsafe impl Send for Batch {}

#[expect(unsafe_code, reason = "calls of C functions with live handles")]
impl Batch {
    /// Without writes.
    pub(in super::super) fn new(functions: &'static Table) -> Self {
        // SAFETY: it takes nothing.
        let handle = unsafe { (functions.rocksdb_writebatch_create)() };
        Self { functions, handle }
    }

    /// Adds a value of a database's table.
    pub(super) fn put(&mut self, table: Handle, key: &[u8], value: &[u8]) {
        // SAFETY: the handles are alive, and the bytes are copied.
        unsafe {
            (self.functions.rocksdb_writebatch_put_cf)(
                self.handle,
                table,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
            );
        }
    }

    /// Adds a removal from a database's table.
    pub(super) fn delete(&mut self, table: Handle, key: &[u8]) {
        // SAFETY: the handles are alive, and the bytes are copied.
        unsafe {
            (self.functions.rocksdb_writebatch_delete_cf)(
                self.handle,
                table,
                key.as_ptr().cast(),
                key.len(),
            );
        }
    }

    /// Removes all writes from it.
    pub(in super::super) fn clear(&mut self) {
        // SAFETY: the handle is alive.
        unsafe { (self.functions.rocksdb_writebatch_clear)(self.handle) };
    }
}

#[expect(unsafe_code, reason = "frees what `new` made")]
impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: it is the only owner.
        unsafe { (self.functions.rocksdb_writebatch_destroy)(self.handle) };
    }
}

/// A position in the table that moves over its records.
pub(in super::super) struct Walk<'a> {
    pub(super) functions: &'static Table,
    pub(super) handle: Handle,
    /// RocksDB keeps a pointer to its bound.
    _options: ReadOptions,
    _db: PhantomData<&'a ()>,
}

// SAFETY: one client uses it at a time.
#[expect(unsafe_code, reason = "a handle is a pointer")]
unsafe impl Send for Walk<'_> {}

#[expect(unsafe_code, reason = "calls of C functions with live handles")]
impl Walk<'_> {
    /// An iterator of a database's table, without a position. It must not outlive the database.
    pub(super) fn new((db, table): (Handle, Handle), options: ReadOptions) -> Self {
        let functions = options.functions;
        // SAFETY: the handles are alive, and the iterator keeps its options.
        let handle = unsafe { (functions.rocksdb_create_iterator_cf)(db, options.handle, table) };
        Self {
            functions,
            handle,
            _options: options,
            _db: PhantomData,
        }
    }

    /// Moves to the first record that is not before a key.
    pub(in super::super) fn seek(&mut self, key: &[u8]) {
        // SAFETY: the handle is alive.
        unsafe { (self.functions.rocksdb_iter_seek)(self.handle, key.as_ptr().cast(), key.len()) };
    }

    /// Moves to the first record.
    pub(in super::super) fn seek_to_first(&mut self) {
        // SAFETY: the handle is alive.
        unsafe { (self.functions.rocksdb_iter_seek_to_first)(self.handle) };
    }

    /// Moves to the last record.
    pub(in super::super) fn seek_to_last(&mut self) {
        // SAFETY: the handle is alive.
        unsafe { (self.functions.rocksdb_iter_seek_to_last)(self.handle) };
    }

    /// Moves on, from a record.
    pub(in super::super) fn next(&mut self) {
        if self.is_at_record() {
            // SAFETY: the handle is alive, and at a record.
            unsafe { (self.functions.rocksdb_iter_next)(self.handle) };
        }
    }

    /// Moves back, from a record.
    pub(in super::super) fn prev(&mut self) {
        if self.is_at_record() {
            // SAFETY: the handle is alive, and at a record.
            unsafe { (self.functions.rocksdb_iter_prev)(self.handle) };
        }
    }

    /// Whether it is at a record.
    pub(in super::super) fn is_at_record(&self) -> bool {
        // SAFETY: the handle is alive.
        unsafe { (self.functions.rocksdb_iter_valid)(self.handle) != 0 }
    }

    /// The key and the value of the record that it is at.
    pub(in super::super) fn record(&self) -> Option<(&[u8], &[u8])> {
        if !self.is_at_record() {
            return None;
        }
        let (mut key_length, mut value_length) = (0, 0);
        // SAFETY: it is at a record, whose bytes stay until it moves, for which it is borrowed
        // mutably.
        unsafe {
            let key = (self.functions.rocksdb_iter_key)(self.handle, &raw mut key_length);
            let value = (self.functions.rocksdb_iter_value)(self.handle, &raw mut value_length);
            Some((slice_of(key, key_length), slice_of(value, value_length)))
        }
    }

    /// The error for which it is at no record, if there is one.
    pub(in super::super) fn status(&self) -> Result<(), String> {
        // SAFETY: the handle is alive.
        checked(self.functions, |error| unsafe {
            (self.functions.rocksdb_iter_get_error)(self.handle, error);
        })
    }
}

#[expect(unsafe_code, reason = "frees the iterator")]
impl Drop for Walk<'_> {
    fn drop(&mut self) {
        // SAFETY: it is the only owner.
        unsafe { (self.functions.rocksdb_iter_destroy)(self.handle) };
    }
}
