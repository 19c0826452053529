//! The dynamic symbols of loaded libraries, and where the dynamic linker finds them.

#![expect(unsafe_code, reason = "the dynamic linker is asked")]

use std::{
    collections::BTreeSet,
    ffi::{CStr, CString},
    fs,
    ops::Range,
};

/// A library that tailmark loaded.
#[derive(Debug)]
pub struct LoadedLibrary {
    path: String,
    /// Where its parts are in memory.
    ranges: Vec<Range<usize>>,
}

/// The libraries of this process that tailmark loaded from private copies.
pub fn loaded() -> Vec<LoadedLibrary> {
    let entries = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let is_copy = |entry: &fs::DirEntry| {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        target.to_string_lossy().contains("memfd:tailmark-rocksdb")
    };
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let copies = entries.filter(is_copy).map(|entry| {
        let path = format!("/proc/self/fd/{}", entry.file_name().to_str().unwrap());
        use std::os::unix::fs::MetadataExt;
        let inode = fs::metadata(&path).unwrap().ino().to_string();
        let of_it = |line: &&str| {
            line.contains("memfd:tailmark-rocksdb")
                && line.split_whitespace().nth(4) == Some(&inode)
        };
        let ranges = maps.lines().filter(of_it).map(|line| {
            let (from, rest) = line.split_once('-').unwrap();
            let to = rest.split_whitespace().next().unwrap();
            let number = |text| usize::from_str_radix(text, 16).unwrap();
            number(from)..number(to)
        });
        // What has no content in the file follows its last part.
        let mut ranges: Vec<_> = ranges.collect();
        let end = ranges.iter().map(|range| range.end).max().unwrap();
        let follows = |line: &&str| {
            line.starts_with(&format!("{end:08x}-")) || line.starts_with(&format!("{end:x}-"))
        };
        if let Some(line) = maps.lines().find(follows) {
            let to = line.split(['-', ' ']).nth(1).unwrap();
            ranges.push(end..usize::from_str_radix(to, 16).unwrap());
        }
        LoadedLibrary { path, ranges }
    });
    copies.collect()
}

impl LoadedLibrary {
    /// The names of its own symbols that the dynamic linker finds elsewhere.
    pub fn mixed(&self) -> Vec<String> {
        let path = CString::new(self.path.clone()).unwrap();
        // SAFETY: the library is loaded already.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        assert!(!handle.is_null(), "{}", self.path);
        let names = defined(&fs::read(&self.path).unwrap());
        assert!(names.len() > 1000, "{}", names.len());
        let is_mixed = |name: &&CString| {
            // SAFETY: only the address is taken.
            let (own, of_program) = unsafe {
                let own = libc::dlsym(handle, name.as_ptr()) as usize;
                (own, libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()))
            };
            let is_own = self.ranges.iter().any(|range| range.contains(&own));
            let is_rocksdbs = name.to_string_lossy().contains("rocksdb");
            !is_own || (is_rocksdbs && !of_program.is_null())
        };
        let mixed = names.iter().filter(is_mixed);
        mixed
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }
}

/// The names of the functions and variables that a library defines, from its table of dynamic
/// symbols.
fn defined(library: &[u8]) -> BTreeSet<CString> {
    let number = |at: usize, length: usize| {
        let mut bytes = [0; 8];
        bytes[..length].copy_from_slice(&library[at..at + length]);
        usize::try_from(u64::from_le_bytes(bytes)).unwrap()
    };
    let (sections, count) = (number(40, 8), number(60, 2));
    let header = |section: usize| sections + 64 * section;
    let table = (0..count).map(header).find(|at| number(at + 4, 4) == 11);
    let table = table.unwrap();
    let names = number(header(number(table + 40, 4)) + 24, 8);
    let from = number(table + 24, 8);
    let symbols = (from..from + number(table + 32, 8)).step_by(24);
    let is_defined = |at: &usize| {
        let (kind, section) = (library[at + 4] & 0xf, number(at + 6, 2));
        // Thread-local variables have no address of their own.
        section != 0 && matches!(kind, 1 | 2 | 10)
    };
    let name = |at: usize| {
        let name = &library[names + number(at, 4)..];
        CStr::from_bytes_until_nul(name).unwrap().to_owned()
    };
    symbols.filter(is_defined).map(name).collect()
}
