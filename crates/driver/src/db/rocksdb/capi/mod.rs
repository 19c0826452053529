//! RocksDB by its C interface: safe wrappers around the functions of a [`Table`].
//!
//! The same code serves the embedded RocksDB and any loaded version. `./dev bench 15 3 1 reads`
//! compares reads through the table with direct calls.

mod client;
mod db;
mod options;
mod perf;
mod table;

use client::Value;
pub(super) use client::{Batch, ReadOptions, Walk, WriteOptions};
pub(super) use db::Db;
pub(super) use options::{Cache, Options, WithFamilies, list_families, load_latest};
pub(super) use perf::PerfContext;
pub(super) use table::Table;

use std::{
    ffi::{CStr, CString, c_char},
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr::null_mut,
};
use table::{ErrorOut, Handle};

/// How a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenFor {
    /// For reading and writing.
    Writing,
    /// Only for reading: no file of it changes.
    Reading,
}

/// A table file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LiveFile {
    /// The name of its column family.
    pub(super) family: String,
    /// Its own name.
    pub(super) name: String,
    /// Its level.
    pub(super) level: i32,
    /// Its length, bytes.
    pub(super) bytes: u64,
}

/// Calls a function that reports its error by its last argument.
#[inline]
fn checked<T>(functions: &Table, call: impl FnOnce(ErrorOut) -> T) -> Result<T, String> {
    let mut error = null_mut();
    let result = call(&raw mut error);
    if error.is_null() {
        Ok(result)
    } else {
        Err(taken(functions, error))
    }
}

/// A text of the library, which is freed by the library that allocated it.
#[cold]
#[expect(unsafe_code, reason = "the text is the library's")]
fn taken(functions: &Table, text: *mut c_char) -> String {
    // SAFETY: the library returned a text that ends in NUL, and no one else has it.
    unsafe {
        let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
        (functions.rocksdb_free)(text.cast());
        owned
    }
}

/// A text as C has it. What follows a NUL is left out; no path or option has one.
fn text(text: &[u8]) -> CString {
    let end = text.iter().position(|&byte| byte == 0);
    CString::new(&text[..end.unwrap_or(text.len())]).expect("it ends at its first NUL")
}

fn path(path: &Path) -> CString {
    text(path.as_os_str().as_bytes())
}
