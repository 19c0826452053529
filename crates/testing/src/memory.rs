//! The peak memory of a piece of work: allocations in Rust, counted per thread by the allocator;
//! and the memory of the whole process, which includes libraries in C.

#![expect(unsafe_code, reason = "an allocator that counts is one")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    fs,
};

struct CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

thread_local! {
    /// Bytes that this thread has in use, and the most since it was set back. What another thread
    /// gives back may make it less than nothing.
    static NOW: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: i64) {
    // A thread that ends has none of them any more.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        PEAK.with(|peak| peak.set(peak.get().max(now.get())));
    });
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are there while the bytes are copied.
        count(size as i64);
        count(-(layout.size() as i64));
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Watches memory.
#[derive(Debug)]
pub struct MemoryWatch {
    /// Of the last piece of work, and the most of all.
    peak: u64,
    most: u64,
    /// The memory of the process when its high-water mark was reset.
    resident: Option<u64>,
}

impl MemoryWatch {
    /// From here on.
    pub fn start() -> Self {
        Self {
            peak: 0,
            most: 0,
            resident: set_back(),
        }
    }

    /// Does a piece of work on this thread.
    pub fn measure<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = NOW.get();
        PEAK.set(before);
        let done = work();
        self.peak = u64::try_from(PEAK.get() - before).unwrap_or(0);
        self.most = self.most.max(self.peak);
        done
    }

    /// Bytes that the last piece of work had in use at most, in Rust.
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Bytes by which the process grew at most since the last call; 0 if the kernel does not say.
    pub fn of_process(&mut self) -> u64 {
        let (before, most) = (self.resident, status("VmHWM:"));
        self.resident = set_back();
        let grown = most
            .zip(before)
            .map_or(0, |(most, before)| most.saturating_sub(before));
        self.most = self.most.max(grown);
        grown
    }

    /// The most bytes of all pieces of work.
    pub fn most(&self) -> u64 {
        self.most
    }
}

/// Resets the high-water mark of the process to its current memory, which is returned.
fn set_back() -> Option<u64> {
    fs::write("/proc/self/clear_refs", "5").ok()?;
    status("VmRSS:")
}

/// A line of the process's status, in bytes.
fn status(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib << 10)
}
