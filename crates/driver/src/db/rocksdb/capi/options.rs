//! Options, and what they are made of.

use super::{Handle, Table, checked, path, taken, text};
use std::{
    ffi::{CStr, c_char},
    path::Path,
    ptr::null_mut,
    slice,
};

/// Options of a database or of a column family.
pub(in super::super) struct Options {
    pub(super) functions: &'static Table,
    pub(super) handle: Handle,
}

// SAFETY: after they are made, options are only read.
#[expect(unsafe_code, reason = "a handle is a pointer")]
unsafe impl Send for Options {}
// SAFETY: the same.
#[expect(unsafe_code, reason = "a handle is a pointer")]
unsafe impl Sync for Options {}

/// A cache of blocks.
pub(in super::super) struct Cache {
    functions: &'static Table,
    handle: Handle,
}

#[expect(unsafe_code, reason = "calls of C functions with live handles")]
impl Options {
    /// The version's defaults.
    pub(in super::super) fn new(functions: &'static Table) -> Self {
        // SAFETY: it takes nothing.
        let handle = unsafe { (functions.rocksdb_options_create)() };
        Self { functions, handle }
    }

    /// These options with those of a text, `name=value;...`.
    pub(in super::super) fn with(&self, options: &str) -> Result<Self, String> {
        let made = Self::new(self.functions);
        let options = text(options.as_bytes());
        checked(self.functions, |error| {
            // SAFETY: the handles are alive, and the text ends in NUL.
            unsafe {
                (self.functions.rocksdb_get_options_from_string)(
                    self.handle,
                    options.as_ptr(),
                    made.handle,
                    error,
                );
            }
        })?;
        Ok(made)
    }

    /// Whether missing parts are created, and whether an existing database is an error.
    pub(in super::super) fn set_creation(&mut self, creates: bool, exists: bool) {
        let functions = self.functions;
        // SAFETY: the handle is alive.
        unsafe {
            (functions.rocksdb_options_set_create_if_missing)(self.handle, creates.into());
            (functions.rocksdb_options_set_error_if_exists)(self.handle, (!exists).into());
            (functions.rocksdb_options_set_create_missing_column_families)(
                self.handle,
                creates.into(),
            );
        }
    }

    /// The directory of the log; empty: the database's own, in which RocksDB's own log always is.
    pub(in super::super) fn set_directories(&mut self, wal: &str) {
        let wal = text(wal.as_bytes());
        // SAFETY: the handle is alive, and the texts end in NUL.
        unsafe {
            (self.functions.rocksdb_options_set_wal_dir)(self.handle, wal.as_ptr());
            (self.functions.rocksdb_options_set_db_log_dir)(self.handle, c"".as_ptr());
        }
    }

    /// RocksDB counts what it does.
    pub(in super::super) fn enable_statistics(&mut self) {
        // SAFETY: the handle is alive.
        unsafe { (self.functions.rocksdb_options_enable_statistics)(self.handle) };
    }

    /// The limit of what flushes and compactions write. The period and the fairness are RocksDB's
    /// defaults.
    pub(in super::super) fn limit_background(&mut self, bytes_per_s: i64) {
        let functions = self.functions;
        // SAFETY: the options share the limiter, so this handle of it can be freed.
        unsafe {
            let limiter = (functions.rocksdb_ratelimiter_create)(bytes_per_s, 100_000, 10);
            (functions.rocksdb_options_set_ratelimiter)(self.handle, limiter);
            (functions.rocksdb_ratelimiter_destroy)(limiter);
        }
    }

    /// RocksDB's statistics as text; `None` if it does not count.
    pub(in super::super) fn statistics(&self) -> Option<String> {
        // SAFETY: the handle is alive.
        let text = unsafe { (self.functions.rocksdb_options_statistics_get_string)(self.handle) };
        (!text.is_null()).then(|| taken(self.functions, text))
    }
}

#[expect(unsafe_code, reason = "frees what `new` made")]
impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: it is the only owner.
        unsafe { (self.functions.rocksdb_options_destroy)(self.handle) };
    }
}

#[expect(unsafe_code, reason = "calls of C functions with live handles")]
impl Cache {
    /// One that drops what was used least recently.
    pub(in super::super) fn lru(functions: &'static Table, bytes: usize) -> Self {
        // SAFETY: any size is accepted.
        let handle = unsafe { (functions.rocksdb_cache_create_lru)(bytes) };
        Self { functions, handle }
    }

    /// A lock-free one, of more than 0 bytes; `None` if the version has none.
    pub(in super::super) fn hyper_clock(functions: &'static Table, bytes: usize) -> Option<Self> {
        // 0: the cache learns the size of its entries by itself.
        // SAFETY: any size but 0 is accepted.
        let handle = unsafe { functions.rocksdb_cache_create_hyper_clock?(bytes, 0) };
        Some(Self { functions, handle })
    }
}

#[expect(unsafe_code, reason = "frees what was made")]
impl Drop for Cache {
    fn drop(&mut self) {
        // SAFETY: it is the only owner of this handle; options share the cache itself.
        unsafe { (self.functions.rocksdb_cache_destroy)(self.handle) };
    }
}

/// Options of a database, and of each of its column families.
pub(in super::super) type WithFamilies = (Options, Vec<(String, Options)>);

/// Reads the newest options file in a directory; `None` if the version has no function for it
/// (before 7).
#[expect(unsafe_code, reason = "calls of C functions with live handles")]
pub(in super::super) fn load_latest(
    functions: &'static Table,
    directory: &Path,
    cache: &Cache,
) -> Option<Result<WithFamilies, String>> {
    let load = functions.rocksdb_load_latest_options?;
    let directory = path(directory);
    let (mut database, mut count) = (null_mut(), 0);
    let (mut names, mut options) = (null_mut(), null_mut());
    let loaded = checked(functions, |error| {
        // SAFETY: the texts end in NUL, the handles are alive, and the results are written once.
        unsafe {
            let env = (functions.rocksdb_create_default_env)();
            load(
                directory.as_ptr(),
                env,
                false,
                cache.handle,
                &raw mut database,
                &raw mut count,
                &raw mut names,
                &raw mut options,
                error,
            );
            (functions.rocksdb_env_destroy)(env);
        }
    });
    if let Err(why) = loaded {
        return Some(Err(why));
    }
    let handle = |handle| Options { functions, handle };
    // SAFETY: both arrays have `count` elements, each of which is taken over; then the arrays
    // themselves are freed.
    let families = unsafe {
        let all = slice::from_raw_parts(names, count).iter();
        let all = all.zip(slice::from_raw_parts(options, count));
        let families = all.map(|(&name, &of_it)| (taken(functions, name), handle(of_it)));
        let families = families.collect();
        (functions.rocksdb_free)(names.cast());
        (functions.rocksdb_free)(options.cast());
        families
    };
    Some(Ok((handle(database), families)))
}

/// The names of the column families of the database in a directory.
#[expect(unsafe_code, reason = "calls of C functions with live handles")]
pub(in super::super) fn list_families(
    functions: &'static Table,
    place: &Path,
) -> Result<Vec<String>, String> {
    let options = Options::new(functions);
    let place = path(place);
    let mut count = 0;
    let names = checked(functions, |error| {
        // SAFETY: the handle is alive, and the text ends in NUL.
        unsafe {
            (functions.rocksdb_list_column_families)(
                options.handle,
                place.as_ptr(),
                &raw mut count,
                error,
            )
        }
    })?;
    let owned = |&name: &*mut c_char| {
        // SAFETY: each name ends in NUL.
        unsafe { CStr::from_ptr(name) }
            .to_string_lossy()
            .into_owned()
    };
    // SAFETY: there are `count` names, which are freed together.
    unsafe {
        let families = slice::from_raw_parts(names, count);
        let families = families.iter().map(owned).collect();
        (functions.rocksdb_list_column_families_destroy)(names, count);
        Ok(families)
    }
}
