//! Sequential preconditioning: writes the whole device, so that a drive in use is measured and not
//! a fresh one.
//!
//! SNIA's workload-independent preconditioning (SSS PTS 2.0.2) writes twice the capacity in blocks
//! of 128 KiB. The data is random, so that a drive cannot compress it, and different in each pass.

use super::{Claim, Error, Watch, data::Data, erase, tag};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::{
    fs::File,
    io,
    ops::Range,
    os::unix::fs::FileExt,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};

/// Bytes of a write.
pub const BLOCK: u64 = 128 << 10;
/// Writes in flight.
const WRITERS: u64 = 8;
/// How often stops are checked and progress is reported.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What buffers begin at a multiple of.
const ALIGNMENT: usize = 4096;

/// Its effect, for a dry run.
#[must_use]
pub fn plan_precondition(device: &str, bytes: u64, passes: u32) -> String {
    let Range { start, end } = part(bytes);
    format!(
        "zeros over the first and the last MiB of /dev/{device}, {}; {passes} times: random data \
         to {start}..{end} of /dev/{device}, in order, {BLOCK} bytes at a time, {WRITERS} in \
         flight, O_DIRECT",
        tag::plan()
    )
}

/// The part of a device that is written: after our mark, in whole blocks.
pub(super) const fn part(bytes: u64) -> Range<u64> {
    let from = tag::RESERVED_BYTES;
    from..from + bytes.saturating_sub(from) / BLOCK * BLOCK
}

/// Writes the held device `passes` times.
///
/// # Errors
/// If it is no longer the same device, a write fails, or it is stopped.
pub fn precondition(claim: &Claim, passes: u32, watch: &dyn Watch) -> Result<(), Error> {
    claim.confirm()?;
    let failed = |source: io::Error| claim.failed("write", source);
    let file = claim.file();
    // What was there must not show through the part that is left out.
    erase::zero_ends(file, claim.identity().bytes).map_err(failed)?;
    claim.tag()?;
    let part = part(claim.identity().bytes);
    let written = past_cache(file, || write_all(file, &part, passes, watch)).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    if written {
        Ok(())
    } else {
        Err(Error::Stopped {
            device: claim.identity().name.clone(),
            doing: "written",
        })
    }
}

/// Does something with a file while it is read and written past the page cache.
pub(super) fn past_cache<T>(file: &File, what: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let flags = fcntl_getfl(file)?;
    fcntl_setfl(file, flags | OFlags::DIRECT)?;
    let done = what();
    fcntl_setfl(file, flags)?;
    done
}

/// Writes every block of every pass; false if it was stopped.
pub(super) fn write_all(
    file: &File,
    part: &Range<u64>,
    passes: u32,
    watch: &dyn Watch,
) -> io::Result<bool> {
    let blocks = (part.end - part.start) / BLOCK;
    let total = blocks * u64::from(passes);
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let stop = AtomicBool::new(false);
    let data = Data::default();
    let write = || {
        let mut buffer = Aligned::new(BLOCK as usize);
        while !stop.load(Relaxed) {
            let index = next.fetch_add(1, Relaxed);
            if index >= total {
                break;
            }
            data.fill(buffer.bytes());
            let at = part.start + index % blocks * BLOCK;
            if let Err(error) = file.write_all_at(buffer.bytes(), at) {
                stop.store(true, Relaxed);
                return Err(error);
            }
            done.fetch_add(1, Relaxed);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(write)).collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            thread::park_timeout(LOOK_EVERY);
            watch.progress(done.load(Relaxed) * BLOCK, total * BLOCK);
            if watch.is_stopped() {
                stop.store(true, Relaxed);
            }
        }
        for writer in writers {
            writer.join().expect("a writer does not panic")?;
        }
        Ok(done.load(Relaxed) == total)
    })
}

/// A buffer as reading and writing past the page cache need it.
pub(super) struct Aligned {
    all: Vec<u8>,
    from: usize,
    length: usize,
}

impl Aligned {
    pub(super) fn new(length: usize) -> Self {
        let all = vec![0; length + ALIGNMENT];
        let from = all.as_ptr().align_offset(ALIGNMENT);
        Self { all, from, length }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.all[self.from..self.from + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    struct Told(Mutex<Vec<(u64, u64)>>, bool);

    impl Watch for Told {
        fn progress(&self, done: u64, total: u64) {
            self.0.lock().unwrap().push((done, total));
        }

        fn is_stopped(&self) -> bool {
            self.1
        }
    }

    #[test]
    fn every_block_behind_the_mark_is_written_with_data_of_its_own() {
        let file = tempfile::tempfile().unwrap();
        let bytes = (4 << 20) + 5;
        file.set_len(bytes).unwrap();
        let told = Told(Mutex::default(), false);
        assert!(write_all(&file, &part(bytes), 2, &told).unwrap());
        let mut all = vec![0; bytes as usize];
        file.read_exact_at(&mut all, 0).unwrap();
        let (before, behind) = all.split_at(1 << 20);
        assert!(before.iter().all(|byte| *byte == 0), "the mark stays");
        let mut blocks: Vec<_> = behind.chunks_exact(BLOCK as usize).collect();
        let count = blocks.len();
        assert!(
            blocks
                .iter()
                .all(|block| block.iter().any(|byte| *byte != 0))
        );
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!((blocks.len(), count), (24, 24));
        let last = told.0.lock().unwrap().last().copied();
        assert_eq!(last.map(|(_, total)| total), Some(48 * BLOCK));
    }

    #[test]
    fn it_stops_where_that_is_asked_for() {
        let file = tempfile::tempfile().unwrap();
        let bytes = 64 << 30;
        file.set_len(bytes).unwrap();
        let told = Told(Mutex::default(), true);
        assert!(!write_all(&file, &part(bytes), 100, &told).unwrap());
    }
}
