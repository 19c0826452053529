//! The allocator of the whole program, C++ included: jemalloc.
//!
//! A read that misses RocksDB's block cache allocates a block, which another thread may free. With
//! glibc's allocator that is a fifth of the time of the read (docs/PERFORMANCE.md), and large users
//! of RocksDB run it with jemalloc. Its functions have the names of the C library's, so RocksDB and
//! every shared library call them. That is also why preloading another allocator has no effect.

use crate::{Remark, RemarkCode};

/// The allocator and its settings in effect, by name, for the study.
#[must_use]
pub fn allocator_facts() -> Vec<(&'static str, String)> {
    let mut facts = vec![("allocator", name())];
    facts.extend(settings().map(|settings| ("allocator settings", settings)));
    facts.extend(foreign_settings().map(|text| ("allocator settings of this machine", text)));
    facts
}

/// The remark that the environment or the machine changes the allocator's settings.
#[must_use]
pub fn allocator_remark() -> Option<Remark> {
    foreign_settings().map(|text| Remark {
        code: RemarkCode::AllocatorSettings,
        text: format!(
            "The memory allocator runs with settings from outside ({text}), which change speed and \
             memory. Unset them, unless they are what you measure."
        ),
    })
}

#[cfg(not(feature = "jemalloc"))]
fn name() -> String {
    "the C library's".to_owned()
}

#[cfg(not(feature = "jemalloc"))]
fn settings() -> Option<String> {
    None
}

#[cfg(not(feature = "jemalloc"))]
fn foreign_settings() -> Option<String> {
    None
}

#[cfg(feature = "jemalloc")]
use jemalloc::{foreign_settings, name, settings};

#[cfg(feature = "jemalloc")]
mod jemalloc {
    use std::ffi::{CStr, c_char};
    use tikv_jemalloc_ctl::{raw, version};

    #[global_allocator]
    static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

    pub fn name() -> String {
        version::read().map_or_else(
            |_| "jemalloc".to_owned(),
            |version| format!("jemalloc {version}"),
        )
    }

    /// Settings that change speed or memory, in the notation of `MALLOC_CONF`. Memory that is no
    /// longer used returns to the kernel after the decay times.
    pub fn settings() -> Option<String> {
        let settings = [
            ("dirty_decay_ms", signed(b"opt.dirty_decay_ms\0")?),
            ("muzzy_decay_ms", signed(b"opt.muzzy_decay_ms\0")?),
            ("narenas", u32::to_string(&number(b"opt.narenas\0")?)),
            ("background_thread", flag(b"opt.background_thread\0")?),
            ("tcache", flag(b"opt.tcache\0")?),
            ("retain", flag(b"opt.retain\0")?),
            ("thp", text(b"opt.thp\0")?),
            ("metadata_thp", text(b"opt.metadata_thp\0")?),
        ];
        let settings = settings.map(|(name, value)| format!("{name}:{value}"));
        Some(settings.join(","))
    }

    /// The settings of the environment and of `/etc/malloc.conf`.
    pub fn foreign_settings() -> Option<String> {
        let sources = [
            ("MALLOC_CONF", text(b"opt.malloc_conf.env_var\0")),
            ("/etc/malloc.conf", text(b"opt.malloc_conf.symlink\0")),
        ];
        let given = sources.into_iter().filter_map(|(source, text)| {
            let text = text.filter(|text| !text.is_empty())?;
            Some(format!("{source}: {text}"))
        });
        let given: Vec<_> = given.collect();
        (!given.is_empty()).then(|| given.join("; "))
    }

    #[expect(unsafe_code, reason = "jemalloc's control interface has no types")]
    fn signed(name: &[u8]) -> Option<String> {
        // SAFETY: the name is one of an option that is an `ssize_t`.
        unsafe { raw::read::<isize>(name) }
            .ok()
            .map(|value| value.to_string())
    }

    #[expect(unsafe_code, reason = "jemalloc's control interface has no types")]
    fn number(name: &[u8]) -> Option<u32> {
        // SAFETY: the name is one of an option that is an `unsigned`.
        unsafe { raw::read::<u32>(name) }.ok()
    }

    #[expect(unsafe_code, reason = "jemalloc's control interface has no types")]
    fn flag(name: &[u8]) -> Option<String> {
        // SAFETY: the name is one of an option that is a `bool`.
        unsafe { raw::read::<bool>(name) }
            .ok()
            .map(|value| value.to_string())
    }

    #[expect(unsafe_code, reason = "jemalloc's control interface has no types")]
    fn text(name: &[u8]) -> Option<String> {
        // SAFETY: the name is one of an option that is a string, or nothing, in memory that stays.
        let start = unsafe { raw::read::<*const c_char>(name) }.ok()?;
        if start.is_null() {
            return None;
        }
        // SAFETY: jemalloc ends its strings with a zero.
        let text = unsafe { CStr::from_ptr(start) };
        Some(text.to_string_lossy().into_owned())
    }

    #[cfg(all(test, feature = "rocksdb"))]
    mod tests {
        use super::*;
        use rust_rocksdb::ffi_raw as rocksdb;
        use std::ffi::{c_int, c_void};

        #[expect(
            unsafe_code,
            reason = "the lookup takes one type and answers with another"
        )]
        unsafe extern "C" {
            fn mallctl(
                name: *const c_char,
                old: *mut c_void,
                old_bytes: *mut usize,
                new: *mut c_void,
                new_bytes: usize,
            ) -> c_int;
        }

        /// Whether jemalloc allocated the memory at an address.
        #[expect(
            unsafe_code,
            reason = "jemalloc looks the address up without following it"
        )]
        fn is_ours<T>(address: *mut T) -> bool {
            let mut arena = u32::MAX;
            let (mut address, mut bytes) = (address, size_of::<u32>());
            // SAFETY: the lookup takes a pointer and answers with an `unsigned`.
            let failed = unsafe {
                mallctl(
                    c"arenas.lookup".as_ptr(),
                    (&raw mut arena).cast(),
                    &raw mut bytes,
                    (&raw mut address).cast(),
                    size_of::<*mut T>(),
                )
            };
            failed == 0
        }

        #[test]
        fn decay_times_are_stated() {
            let settings = settings().unwrap();
            assert!(
                settings.starts_with("dirty_decay_ms:10000,muzzy_decay_ms:0,"),
                "{settings}"
            );
            assert!(name().starts_with("jemalloc 5."), "{}", name());
        }

        #[test]
        #[expect(unsafe_code, reason = "what C and C++ allocate, they also free")]
        fn rust_c_and_rocksdb_allocate_from_jemalloc() {
            let mut on_the_stack = 0;
            assert!(!is_ours(&raw mut on_the_stack));
            assert!(is_ours(Box::leak(Box::new(0))));
            // SAFETY: each is freed once, by the function for it.
            unsafe {
                let of_libc = libc::strdup(c"a text of the C library".as_ptr());
                assert!(is_ours(of_libc));
                libc::free(of_libc.cast());
                let of_rocksdb = rocksdb::rocksdb_options_create();
                assert!(is_ours(of_rocksdb));
                rocksdb::rocksdb_options_destroy(of_rocksdb);
            }
        }
    }
}
