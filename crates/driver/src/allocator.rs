//! The allocator of the whole program, C++ included: jemalloc.
//!
//! A read that misses RocksDB's block cache allocates a block, which another thread may free. With
//! glibc's allocator that is a tenth of the time of the read (docs/PERFORMANCE.md), and large users
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
    use std::{
        ffi::{CStr, c_char},
        ptr,
    };
    use tikv_jemalloc_sys::mallctl;

    pub fn name() -> String {
        let version = text(c"version");
        version.map_or_else(|| "jemalloc".to_owned(), |v| format!("jemalloc {v}"))
    }

    /// Settings that change speed or memory, in the notation of `MALLOC_CONF`. Memory that is no
    /// longer used returns to the kernel after the decay times.
    pub fn settings() -> Option<String> {
        let settings = [
            (
                "dirty_decay_ms",
                read::<isize>(c"opt.dirty_decay_ms")?.to_string(),
            ),
            (
                "muzzy_decay_ms",
                read::<isize>(c"opt.muzzy_decay_ms")?.to_string(),
            ),
            ("narenas", read::<u32>(c"opt.narenas")?.to_string()),
            ("background_thread", flag(c"opt.background_thread")?),
            ("tcache", flag(c"opt.tcache")?),
            ("retain", flag(c"opt.retain")?),
            ("thp", text(c"opt.thp")?),
            ("metadata_thp", text(c"opt.metadata_thp")?),
        ];
        let settings = settings.map(|(name, value)| format!("{name}:{value}"));
        Some(settings.join(","))
    }

    /// The settings of the environment and of `/etc/malloc.conf`.
    pub fn foreign_settings() -> Option<String> {
        let sources = [
            ("MALLOC_CONF", text(c"opt.malloc_conf.env_var")),
            ("/etc/malloc.conf", text(c"opt.malloc_conf.symlink")),
        ];
        let given = sources.into_iter().filter_map(|(source, text)| {
            let text = text.filter(|text| !text.is_empty())?;
            Some(format!("{source}: {text}"))
        });
        let given: Vec<_> = given.collect();
        (!given.is_empty()).then(|| given.join("; "))
    }

    /// A value of jemalloc, if it has one of this name and size.
    #[expect(unsafe_code, reason = "jemalloc's control interface has no types")]
    fn read<T: Copy + Default>(name: &CStr) -> Option<T> {
        let (mut value, mut bytes) = (T::default(), size_of::<T>());
        // SAFETY: jemalloc writes nothing unless the size is that of its value, which is a number.
        let failed = unsafe {
            mallctl(
                name.as_ptr(),
                (&raw mut value).cast(),
                &raw mut bytes,
                ptr::null_mut(),
                0,
            )
        };
        (failed == 0).then_some(value)
    }

    fn flag(name: &CStr) -> Option<String> {
        read::<u8>(name).map(|is_on| (is_on != 0).to_string())
    }

    #[expect(unsafe_code, reason = "jemalloc's control interface has no types")]
    fn text(name: &CStr) -> Option<String> {
        let start = read::<usize>(name)? as *const c_char;
        if start.is_null() {
            return None;
        }
        // SAFETY: values of these names are strings that end with a zero and stay.
        let text = unsafe { CStr::from_ptr(start) };
        Some(text.to_string_lossy().into_owned())
    }

    #[cfg(all(test, feature = "rocksdb"))]
    mod tests {
        use super::*;
        use rust_rocksdb::DB;

        /// Whether jemalloc allocated the memory at an address.
        #[expect(
            unsafe_code,
            reason = "jemalloc looks the address up without following it"
        )]
        fn is_ours<T>(address: *const T) -> bool {
            let mut arena = u32::MAX;
            let (mut address, mut bytes) = (address, size_of::<u32>());
            // SAFETY: the lookup takes a pointer and answers with an `unsigned`.
            let failed = unsafe {
                mallctl(
                    c"arenas.lookup".as_ptr(),
                    (&raw mut arena).cast(),
                    &raw mut bytes,
                    (&raw mut address).cast(),
                    size_of::<*const T>(),
                )
            };
            failed == 0
        }

        #[test]
        fn decay_times_are_stated() {
            let settings = settings().unwrap();
            let decay = "dirty_decay_ms:10000,muzzy_decay_ms:0,";
            assert!(settings.starts_with(decay), "{settings}");
            assert!(name().starts_with("jemalloc 5."), "{}", name());
        }

        #[test]
        #[expect(unsafe_code, reason = "what C allocates, it also frees")]
        fn rust_c_and_rocksdb_allocate_from_jemalloc() {
            let on_the_stack = 0;
            assert!(!is_ours(&raw const on_the_stack));
            assert!(is_ours(Box::new(0).as_ref()));
            // SAFETY: it is freed once, by the function for it.
            unsafe {
                let of_libc = libc::strdup(c"a text of the C library".as_ptr());
                assert!(is_ours(of_libc));
                libc::free(of_libc.cast());
            }
            let place = tempfile::tempdir().unwrap();
            let database = DB::open_default(place.path()).unwrap();
            database.put("key", [b'v'; 1000]).unwrap();
            // A copy that RocksDB made.
            let value = database.get_pinned("key").unwrap().unwrap();
            assert_eq!(value.len(), 1000);
            assert!(is_ours(value.as_ptr()));
        }
    }
}
