//! An open database.

mod flush;

use super::{
    Batch, Handle, LiveFile, OpenFor, Options, ReadOptions, Table, Value, Walk, WriteOptions,
    checked, path, taken,
};
use std::{
    ffi::{CStr, CString, c_char, c_int},
    path::{Path, PathBuf},
    ptr::{null, null_mut},
};

/// An open database with one table, a column family.
pub(in super::super) struct Db {
    functions: &'static Table,
    handle: Handle,
    families: Vec<Handle>,
    /// One of `families`.
    table: Handle,
    place: PathBuf,
}

// SAFETY: RocksDB's database may be used by all threads at once (`db.h`).
#[expect(unsafe_code, reason = "a handle is a pointer")]
unsafe impl Send for Db {}
// SAFETY: the same.
#[expect(unsafe_code, reason = "a handle is a pointer")]
unsafe impl Sync for Db {}

#[expect(unsafe_code, reason = "calls of C functions with live handles")]
impl Db {
    /// Opens a database with all its column families, of which `table` is one.
    pub(in super::super) fn open(
        options: &Options,
        place: &Path,
        families: &[(String, Options)],
        table: &str,
        open_for: OpenFor,
    ) -> Result<Self, String> {
        let functions = options.functions;
        let names: Vec<CString> = families
            .iter()
            .map(|(name, _)| super::text(name.as_bytes()))
            .collect();
        let name_pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let family_options: Vec<_> = families.iter().map(|(_, of)| of.handle).collect();
        let mut handles = vec![null_mut(); families.len()];
        let count = families.len() as c_int;
        let position = families.iter().position(|(name, _)| name == table);
        let position = position.ok_or_else(|| format!("there is no column family `{table}`"))?;
        let directory = path(place);
        let handle = checked(functions, |error| {
            // SAFETY: each array has `count` elements, and the texts end in NUL.
            unsafe {
                match open_for {
                    OpenFor::Writing => (functions.rocksdb_open_column_families)(
                        options.handle,
                        directory.as_ptr(),
                        count,
                        name_pointers.as_ptr(),
                        family_options.as_ptr(),
                        handles.as_mut_ptr(),
                        error,
                    ),
                    OpenFor::Reading => (functions.rocksdb_open_for_read_only_column_families)(
                        options.handle,
                        directory.as_ptr(),
                        count,
                        name_pointers.as_ptr(),
                        family_options.as_ptr(),
                        handles.as_mut_ptr(),
                        0,
                        error,
                    ),
                }
            }
        })?;
        Ok(Self {
            functions,
            handle,
            table: handles[position],
            families: handles,
            place: place.to_owned(),
        })
    }

    /// Opens a new database with these options in memory, and closes it. Nothing is checked if the
    /// version has no file system in memory.
    ///
    /// No other options may share the block cache of these, as copies of the same options do: a
    /// cache of RocksDB 8.1 keeps the clock of its first database, which is gone afterwards.
    pub(in super::super) fn try_in_memory(
        mut options: Options,
        families: Vec<(String, Options)>,
        table: &str,
    ) -> Result<(), String> {
        let functions = options.functions;
        let Some(new_env) = functions.rocksdb_create_mem_env else {
            return Ok(());
        };
        // SAFETY: the handle is alive.
        let env = unsafe { new_env() };
        // SAFETY: both handles are alive, and the environment outlives the database.
        unsafe { (functions.rocksdb_options_set_env)(options.handle, env) };
        options.set_directories("");
        options.set_creation(true, false);
        let place = Path::new("/database");
        let opened = Self::open(&options, place, &families, table, OpenFor::Writing).map(drop);
        drop((options, families));
        // SAFETY: nothing uses it any more.
        unsafe { (functions.rocksdb_env_destroy)(env) };
        opened
    }

    /// The handles of the database and of its table, for direct calls of C functions.
    pub(in super::super) fn handles(&self) -> (Handle, Handle) {
        (self.handle, self.table)
    }

    /// The length of a value; `None` if there is no such key. Without a buffer, RocksDB's Get
    /// neither copies nor allocates. Loaded versions pin the value.
    #[inline]
    pub(in super::super) fn value_length(
        &self,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<usize>, String> {
        let Some(get) = self.functions.rocksdb_get_into_buffer_cf else {
            return Ok(self.get(key, options)?.map(|value| value.len()));
        };
        let (mut length, mut found) = (0, 0);
        checked(self.functions, |error| {
            // SAFETY: the handles are alive; nothing is written into a buffer of 0 bytes.
            unsafe {
                get(
                    self.handle,
                    options.handle,
                    self.table,
                    key.as_ptr().cast(),
                    key.len(),
                    null_mut(),
                    0,
                    &raw mut length,
                    &raw mut found,
                    error,
                );
            }
        })?;
        Ok((found != 0).then_some(length))
    }

    /// The value of a key, pinned and not copied.
    #[inline]
    pub(in super::super) fn get(
        &self,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Value<'_>>, String> {
        let handle = checked(self.functions, |error| {
            // SAFETY: the handles are alive.
            unsafe {
                (self.functions.rocksdb_get_pinned_cf)(
                    self.handle,
                    options.handle,
                    self.table,
                    key.as_ptr().cast(),
                    key.len(),
                    error,
                )
            }
        })?;
        Ok(Value::new(self.functions, handle))
    }

    /// Passes the number and the length of each found value to `found`.
    pub(in super::super) fn get_many(
        &self,
        keys: &[&[u8]],
        options: &ReadOptions,
        mut found: impl FnMut(usize, usize),
    ) -> Result<(), String> {
        let pointers: Vec<_> = keys.iter().map(|key| key.as_ptr().cast()).collect();
        let lengths: Vec<_> = keys.iter().map(|key| key.len()).collect();
        let mut errors = vec![null_mut(); keys.len()];
        let functions = self.functions;
        if let Some(get) = functions.rocksdb_batched_multi_get_cf {
            let mut values = vec![null_mut(); keys.len()];
            // SAFETY: each array has one element for each key, and the handles are alive.
            unsafe {
                get(
                    self.handle,
                    options.handle,
                    self.table,
                    keys.len(),
                    pointers.as_ptr(),
                    lengths.as_ptr(),
                    values.as_mut_ptr(),
                    errors.as_mut_ptr(),
                    false,
                );
            }
            for (at, handle) in values.into_iter().enumerate() {
                if let Some(value) = Value::new(functions, handle) {
                    found(at, value.len());
                }
            }
            return first_error(functions, errors);
        }
        let families = vec![self.table.cast_const(); keys.len()];
        let mut values: Vec<*mut c_char> = vec![null_mut(); keys.len()];
        let mut value_lengths = vec![0; keys.len()];
        // SAFETY: each array has one element for each key, and the handles are alive. The values
        // are copies, each freed once.
        unsafe {
            (functions.rocksdb_multi_get_cf)(
                self.handle,
                options.handle,
                families.as_ptr().cast(),
                keys.len(),
                pointers.as_ptr(),
                lengths.as_ptr(),
                values.as_mut_ptr(),
                value_lengths.as_mut_ptr(),
                errors.as_mut_ptr(),
            );
            for (at, (value, length)) in values.into_iter().zip(value_lengths).enumerate() {
                if !value.is_null() {
                    (functions.rocksdb_free)(value.cast());
                    found(at, length);
                }
            }
        }
        first_error(functions, errors)
    }

    /// Writes a value.
    #[inline]
    pub(in super::super) fn put(
        &self,
        key: &[u8],
        value: &[u8],
        options: &WriteOptions,
    ) -> Result<(), String> {
        checked(self.functions, |error| {
            // SAFETY: the handles are alive.
            unsafe {
                (self.functions.rocksdb_put_cf)(
                    self.handle,
                    options.handle,
                    self.table,
                    key.as_ptr().cast(),
                    key.len(),
                    value.as_ptr().cast(),
                    value.len(),
                    error,
                );
            }
        })
    }

    /// Removes a key.
    pub(in super::super) fn delete(
        &self,
        key: &[u8],
        options: &WriteOptions,
    ) -> Result<(), String> {
        checked(self.functions, |error| {
            // SAFETY: the handles are alive.
            unsafe {
                (self.functions.rocksdb_delete_cf)(
                    self.handle,
                    options.handle,
                    self.table,
                    key.as_ptr().cast(),
                    key.len(),
                    error,
                );
            }
        })
    }

    /// Writes a batch.
    pub(in super::super) fn write(
        &self,
        batch: &Batch,
        options: &WriteOptions,
    ) -> Result<(), String> {
        checked(self.functions, |error| {
            // SAFETY: the handles are alive.
            unsafe {
                (self.functions.rocksdb_write)(self.handle, options.handle, batch.handle, error);
            }
        })
    }

    /// Adds a value to a batch.
    pub(in super::super) fn put_later(&self, batch: &mut Batch, key: &[u8], value: &[u8]) {
        batch.put(self.table, key, value);
    }

    /// Adds a removal to a batch.
    pub(in super::super) fn delete_later(&self, batch: &mut Batch, key: &[u8]) {
        batch.delete(self.table, key);
    }

    /// An iterator without a position.
    pub(in super::super) fn walk(&self, options: ReadOptions) -> Walk<'_> {
        Walk::new(self.handles(), options)
    }

    /// A property of the database; `None` for an unknown name.
    pub(in super::super) fn property(&self, name: &CStr) -> Option<String> {
        // SAFETY: the handle is alive, and the text ends in NUL.
        let text = unsafe { (self.functions.rocksdb_property_value)(self.handle, name.as_ptr()) };
        (!text.is_null()).then(|| taken(self.functions, text))
    }

    /// A property of the table; `None` for an unknown name.
    pub(in super::super) fn table_property(&self, name: &CStr) -> Option<String> {
        // SAFETY: the handles are alive, and the text ends in NUL.
        let text = unsafe {
            (self.functions.rocksdb_property_value_cf)(self.handle, self.table, name.as_ptr())
        };
        (!text.is_null()).then(|| taken(self.functions, text))
    }

    /// A property of the table that is a number.
    pub(in super::super) fn table_number(&self, name: &CStr) -> Option<u64> {
        self.table_property(name)?.trim().parse().ok()
    }

    /// Writes the log to the device. Versions before 6.22 do that when they write a synced batch,
    /// which may be empty.
    pub(in super::super) fn sync_log(&self) -> Result<(), String> {
        let Some(flush) = self.functions.rocksdb_flush_wal else {
            let options = WriteOptions::new(self.functions, true, false);
            return self.write(&Batch::new(self.functions), &options);
        };
        // SAFETY: the handle is alive.
        checked(self.functions, |error| unsafe {
            flush(self.handle, 1, error)
        })
    }

    /// Compacts the whole table, also what lies in the last level already, but not what this call
    /// has put there (of versions that have such a setting).
    pub(in super::super) fn compact(&self) {
        const FORCE_OPTIMIZED: u8 = 3;
        let functions = self.functions;
        // SAFETY: the handles are alive; no key means from the first to the last.
        self.with_requests(|| unsafe {
            let options = (functions.rocksdb_compactoptions_create)();
            if let Some(set) = functions.rocksdb_compactoptions_set_bottommost_level_compaction {
                set(options, FORCE_OPTIMIZED);
            }
            (functions.rocksdb_compact_range_cf_opt)(
                self.handle,
                self.table,
                options,
                null(),
                0,
                null(),
                0,
            );
            (functions.rocksdb_compactoptions_destroy)(options);
        });
    }

    /// Asks background work to end, of versions that can be asked.
    pub(in super::super) fn cancel_background_work(&self) {
        if let Some(cancel) = self.functions.rocksdb_cancel_all_background_work {
            // SAFETY: the handle is alive.
            self.with_requests(|| unsafe { cancel(self.handle, 0) });
        }
    }

    /// The table files; `None` if the version cannot name their column families.
    pub(in super::super) fn live_files(&self) -> Option<Vec<LiveFile>> {
        let functions = self.functions;
        let family = functions.rocksdb_livefiles_column_family_name?;
        let owned = |text: *const c_char| {
            // SAFETY: the text ends in NUL, and lives as long as the list.
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned()
        };
        // SAFETY: the handle is alive, and each number is below the count.
        unsafe {
            let list = (functions.rocksdb_livefiles)(self.handle);
            let files = (0..(functions.rocksdb_livefiles_count)(list)).map(|at| LiveFile {
                family: owned(family(list, at)),
                name: owned((functions.rocksdb_livefiles_name)(list, at)),
                level: (functions.rocksdb_livefiles_level)(list, at),
                bytes: (functions.rocksdb_livefiles_size)(list, at) as u64,
            });
            let files = files.collect();
            (functions.rocksdb_livefiles_destroy)(list);
            Some(files)
        }
    }

    /// Compacts files of the table into a level, of files of this size; `None` if this is not the
    /// embedded version.
    pub(in super::super) fn compact_files(
        &self,
        names: &[String],
        level: i32,
        file_bytes: u64,
    ) -> Option<Result<(), String>> {
        let functions = self.functions;
        let compact = functions.rocksdb_compact_files_cf?;
        let create = functions.rocksdb_compaction_options_create?;
        let destroy = functions.rocksdb_compaction_options_destroy?;
        let limit = functions.rocksdb_compaction_options_set_output_file_size_limit?;
        let names: Vec<_> = names.iter().map(|n| super::text(n.as_bytes())).collect();
        let pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        // SAFETY: the handles are alive, the texts end in NUL, and the results are not asked for.
        unsafe {
            let options = create();
            limit(options, file_bytes);
            let compacted = checked(functions, |error| {
                compact(
                    self.handle,
                    self.table,
                    options,
                    pointers.as_ptr(),
                    pointers.len(),
                    level,
                    -1,
                    null_mut(),
                    null_mut(),
                    null_mut(),
                    error,
                );
            });
            destroy(options);
            Some(compacted)
        }
    }
}

#[expect(unsafe_code, reason = "frees what `open` made")]
impl Drop for Db {
    fn drop(&mut self) {
        // Without a log, RocksDB flushes when it closes. It does that here already.
        if !self.is_embedded() {
            self.cancel_background_work();
        }
        // SAFETY: values and iterators borrow the database, so none is left.
        unsafe {
            for &family in &self.families {
                (self.functions.rocksdb_column_family_handle_destroy)(family);
            }
            (self.functions.rocksdb_close)(self.handle);
        }
    }
}

fn first_error(functions: &Table, errors: Vec<*mut c_char>) -> Result<(), String> {
    let errors = errors.into_iter().filter(|error| !error.is_null());
    // Every one is freed.
    let errors: Vec<_> = errors.map(|error| taken(functions, error)).collect();
    errors.into_iter().next().map_or(Ok(()), Err)
}
