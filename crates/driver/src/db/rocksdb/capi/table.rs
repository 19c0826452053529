//! The functions of RocksDB's C interface that the driver calls, as one table of addresses.
//!
//! The embedded RocksDB fills it with its linked functions, a loaded library with its exported
//! ones. Types are opaque, because their layout belongs to the library. A function that some
//! version since 5.11 lacks is optional. A few are those of the embedded RocksDB only: all loaded
//! versions are read by the same calls, so that a difference between them is theirs, and arguments
//! that changed between versions are never passed to another one.

use rust_librocksdb_sys as ffi;
use std::ffi::{c_char, c_int, c_uchar, c_void};

/// Something that only the library looks into.
pub(in super::super) type Handle = *mut c_void;
type Bytes = *const c_char;
/// Where a function puts its error; the caller frees it by `rocksdb_free`.
pub(super) type ErrorOut = *mut *mut c_char;

macro_rules! table {
    (
        required { $($name:ident($($argument:ty),*) $(-> $result:ty)?;)* }
        optional { $($maybe:ident($($maybe_argument:ty),*) $(-> $maybe_result:ty)?;)* }
        embedded { $($own:ident($($own_argument:ty),*) $(-> $own_result:ty)?;)* }
    ) => {
        /// The functions of one RocksDB.
        #[expect(non_snake_case, reason = "the names are RocksDB's")]
        pub(in super::super) struct Table {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            $(pub(super) $maybe: Option<unsafe extern "C" fn($($maybe_argument),*) $(-> $maybe_result)?>,)*
            $(pub(super) $own: Option<unsafe extern "C" fn($($own_argument),*) $(-> $own_result)?>,)*
        }

        #[expect(unsafe_code, reason = "addresses become functions")]
        #[expect(
            clippy::missing_transmute_annotations,
            reason = "the field has the type of its function"
        )]
        impl Table {
            /// That of the embedded RocksDB.
            pub(in super::super) fn embedded() -> Self {
                // SAFETY: the functions have these arguments (RocksDB's `c.h`), with pointers to
                // types of their own instead of opaque ones.
                unsafe {
                    Self {
                        $($name: as_function!(ffi::$name),)*
                        $($maybe: Some(as_function!(ffi::$maybe)),)*
                        $($own: Some(as_function!(ffi::$own)),)*
                    }
                }
            }

            /// Whether it is that of the embedded RocksDB.
            pub(in super::super) const fn is_embedded(&self) -> bool {
                self.rocksdb_compact_files_cf.is_some()
            }

            /// That of a library whose `address` of a name is known.
            ///
            /// # Errors
            /// The name of a missing function.
            ///
            /// # Safety
            /// An address must be that of the function of this name in a library of RocksDB, and
            /// stay valid forever.
            pub(in super::super) unsafe fn loaded(
                address: impl Fn(&str) -> Option<*const ()>,
            ) -> Result<Self, &'static str> {
                // SAFETY: the functions had these arguments in every version since 5.11.
                unsafe {
                    Ok(Self {
                        $($name: {
                            let name = stringify!($name);
                            as_function!(address(name).ok_or(name)?)
                        },)*
                        $($maybe: match address(stringify!($maybe)) {
                            Some(address) => Some(as_function!(address)),
                            None => None,
                        },)*
                        $($own: None,)*
                    })
                }
            }
        }
    };
}

macro_rules! as_function {
    ($address:expr) => {
        std::mem::transmute::<*const (), _>($address as *const ())
    };
}

table! {
    required {
        rocksdb_free(Handle);

        rocksdb_options_create() -> Handle;
        rocksdb_options_destroy(Handle);
        rocksdb_get_options_from_string(Handle, Bytes, Handle, ErrorOut);
        rocksdb_options_enable_statistics(Handle);
        rocksdb_options_statistics_get_string(Handle) -> *mut c_char;
        rocksdb_options_set_create_if_missing(Handle, c_uchar);
        rocksdb_options_set_create_missing_column_families(Handle, c_uchar);
        rocksdb_options_set_error_if_exists(Handle, c_uchar);
        rocksdb_options_set_wal_dir(Handle, Bytes);
        rocksdb_options_set_db_log_dir(Handle, Bytes);
        rocksdb_options_set_env(Handle, Handle);
        rocksdb_options_set_ratelimiter(Handle, Handle);
        rocksdb_ratelimiter_create(i64, i64, i32) -> Handle;
        rocksdb_ratelimiter_destroy(Handle);
        rocksdb_cache_create_lru(usize) -> Handle;
        rocksdb_cache_destroy(Handle);
        rocksdb_create_default_env() -> Handle;
        rocksdb_env_destroy(Handle);

        rocksdb_list_column_families(Handle, Bytes, *mut usize, ErrorOut) -> *mut *mut c_char;
        rocksdb_list_column_families_destroy(*mut *mut c_char, usize);
        rocksdb_open_column_families(Handle, Bytes, c_int, *const Bytes, *const Handle, *mut Handle,
            ErrorOut) -> Handle;
        rocksdb_open_for_read_only_column_families(Handle, Bytes, c_int, *const Bytes,
            *const Handle, *mut Handle, c_uchar, ErrorOut) -> Handle;
        rocksdb_column_family_handle_destroy(Handle);
        rocksdb_close(Handle);

        rocksdb_readoptions_create() -> Handle;
        rocksdb_readoptions_destroy(Handle);
        rocksdb_readoptions_set_iterate_upper_bound(Handle, Bytes, usize);
        rocksdb_readoptions_set_iterate_lower_bound(Handle, Bytes, usize);
        rocksdb_writeoptions_create() -> Handle;
        rocksdb_writeoptions_destroy(Handle);
        rocksdb_writeoptions_set_sync(Handle, c_uchar);
        rocksdb_writeoptions_disable_WAL(Handle, c_int);

        rocksdb_put_cf(Handle, Handle, Handle, Bytes, usize, Bytes, usize, ErrorOut);
        rocksdb_delete_cf(Handle, Handle, Handle, Bytes, usize, ErrorOut);
        rocksdb_get_pinned_cf(Handle, Handle, Handle, Bytes, usize, ErrorOut) -> Handle;
        rocksdb_pinnableslice_value(Handle, *mut usize) -> Bytes;
        rocksdb_pinnableslice_destroy(Handle);
        rocksdb_multi_get_cf(Handle, Handle, *const Handle, usize, *const Bytes, *const usize,
            *mut *mut c_char, *mut usize, *mut *mut c_char);

        rocksdb_writebatch_create() -> Handle;
        rocksdb_writebatch_destroy(Handle);
        rocksdb_writebatch_clear(Handle);
        rocksdb_writebatch_put_cf(Handle, Handle, Bytes, usize, Bytes, usize);
        rocksdb_writebatch_delete_cf(Handle, Handle, Bytes, usize);
        rocksdb_write(Handle, Handle, Handle, ErrorOut);

        rocksdb_create_iterator_cf(Handle, Handle, Handle) -> Handle;
        rocksdb_iter_destroy(Handle);
        rocksdb_iter_valid(Handle) -> c_uchar;
        rocksdb_iter_seek(Handle, Bytes, usize);
        rocksdb_iter_seek_to_first(Handle);
        rocksdb_iter_seek_to_last(Handle);
        rocksdb_iter_next(Handle);
        rocksdb_iter_prev(Handle);
        rocksdb_iter_key(Handle, *mut usize) -> Bytes;
        rocksdb_iter_value(Handle, *mut usize) -> Bytes;
        rocksdb_iter_get_error(Handle, ErrorOut);

        rocksdb_property_value(Handle, Bytes) -> *mut c_char;
        rocksdb_property_value_cf(Handle, Handle, Bytes) -> *mut c_char;
        rocksdb_flushoptions_create() -> Handle;
        rocksdb_flushoptions_destroy(Handle);
        rocksdb_flushoptions_set_wait(Handle, c_uchar);
        rocksdb_compactoptions_create() -> Handle;
        rocksdb_compactoptions_destroy(Handle);
        rocksdb_compact_range_cf_opt(Handle, Handle, Handle, Bytes, usize, Bytes, usize);
        rocksdb_checkpoint_object_create(Handle, ErrorOut) -> Handle;
        rocksdb_checkpoint_object_destroy(Handle);
        rocksdb_checkpoint_create(Handle, Bytes, u64, ErrorOut);
        rocksdb_livefiles(Handle) -> Handle;
        rocksdb_livefiles_destroy(Handle);
        rocksdb_livefiles_count(Handle) -> c_int;
        rocksdb_livefiles_name(Handle, c_int) -> Bytes;
        rocksdb_livefiles_level(Handle, c_int) -> c_int;
        rocksdb_livefiles_size(Handle, c_int) -> usize;
    }
    optional {
        rocksdb_load_latest_options(Bytes, Handle, bool, Handle, *mut Handle, *mut usize,
            *mut *mut *mut c_char, *mut *mut Handle, ErrorOut);
        rocksdb_create_mem_env() -> Handle;
        rocksdb_cache_create_hyper_clock(usize, usize) -> Handle;
        rocksdb_batched_multi_get_cf(Handle, Handle, Handle, usize, *const Bytes, *const usize,
            *mut Handle, *mut *mut c_char, bool);
        rocksdb_flush_cf(Handle, Handle, Handle, ErrorOut);
        rocksdb_flush_wal(Handle, c_uchar, ErrorOut);
        rocksdb_compactoptions_set_bottommost_level_compaction(Handle, c_uchar);
        rocksdb_cancel_all_background_work(Handle, c_uchar);
        rocksdb_livefiles_column_family_name(Handle, c_int) -> Bytes;
        rocksdb_set_perf_level(c_int);
        rocksdb_perfcontext_create() -> Handle;
        rocksdb_perfcontext_destroy(Handle);
        rocksdb_perfcontext_metric(Handle, c_int) -> u64;
    }
    embedded {
        rocksdb_get_into_buffer_cf(Handle, Handle, Handle, Bytes, usize, *mut c_char, usize,
            *mut usize, *mut c_uchar, ErrorOut) -> c_uchar;
        rocksdb_readoptions_set_async_io(Handle, c_uchar);
        rocksdb_compaction_options_create() -> Handle;
        rocksdb_compaction_options_destroy(Handle);
        rocksdb_compaction_options_set_output_file_size_limit(Handle, u64);
        rocksdb_compact_files_cf(Handle, Handle, Handle, *const Bytes, usize, c_int, c_int,
            *mut *mut *mut c_char, *mut usize, Handle, ErrorOut);
    }
}
