//! Sequential preconditioning: the whole device written, so that what is measured is a drive in use
//! and not one fresh from its box.
//!
//! SNIA's workload-independent preconditioning (SSS PTS 2.0.2) writes twice the capacity in blocks of
//! 128 KiB. The data is random, so that a drive cannot compress it, and another in each pass.

use super::{Claim, Error, Watch, erase, tag};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};

/// Bytes of a write.
pub const BLOCK: u64 = 128 << 10;
/// Writes in flight.
const WRITERS: u64 = 8;
/// How often it is told how far it is.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// What buffers begin at a multiple of.
const ALIGNMENT: usize = 4096;

/// What it does, as a dry run says it.
#[must_use]
pub fn plan_precondition(device: &str, bytes: u64, passes: u32) -> String {
    let from = tag::RESERVED_BYTES;
    format!(
        "zeros over the first and the last MiB of /dev/{device}; {passes} times: random data to \
         {from}..{} of /dev/{device}, in order, {BLOCK} bytes at \
         once, {WRITERS} in flight, O_DIRECT",
        bytes / BLOCK * BLOCK
    )
}

/// Writes the device that is held, so many times.
///
/// # Errors
/// Where it is not the device any more, a write fails, or it is stopped: then it starts again the
/// next time.
pub fn precondition(claim: &Claim, passes: u32, watch: &dyn Watch) -> Result<(), Error> {
    claim.confirm()?;
    let failed = |source: io::Error| claim.failed("write", source);
    let file = claim.file();
    // What was there must not show through the part that is left out.
    erase::zero_ends(file, claim.identity().bytes).map_err(failed)?;
    claim.tag()?;
    let flags = fcntl_getfl(file).map_err(|errno| failed(errno.into()))?;
    fcntl_setfl(file, flags | OFlags::DIRECT).map_err(|errno| failed(errno.into()))?;
    let written = write_all(file, claim.identity().bytes, passes, watch);
    fcntl_setfl(file, flags).map_err(|errno| failed(errno.into()))?;
    file.sync_all().map_err(failed)?;
    match written.map_err(failed)? {
        true => Ok(()),
        false => Err(Error::Stopped {
            device: claim.identity().name.clone(),
            doing: "written",
        }),
    }
}

/// Writes every block of every pass; false where it was stopped.
fn write_all(file: &File, bytes: u64, passes: u32, watch: &dyn Watch) -> io::Result<bool> {
    let blocks = bytes.saturating_sub(tag::RESERVED_BYTES) / BLOCK;
    let total = blocks * u64::from(passes);
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let stop = AtomicBool::new(false);
    let writer = || {
        let mut buffer = vec![0_u8; BLOCK as usize + ALIGNMENT];
        let skip = buffer.as_ptr().align_offset(ALIGNMENT);
        let block = &mut buffer[skip..skip + BLOCK as usize];
        while !stop.load(Relaxed) {
            let index = next.fetch_add(1, Relaxed);
            if index >= total {
                break;
            }
            fill(block, index);
            let at = tag::RESERVED_BYTES + index % blocks * BLOCK;
            if let Err(error) = file.write_all_at(block, at) {
                stop.store(true, Relaxed);
                return Err(error);
            }
            done.fetch_add(1, Relaxed);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(writer)).collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            thread::park_timeout(TELL_EVERY.min(Duration::from_millis(100)));
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

/// Random bytes that are others for each index: `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014).
fn fill(block: &mut [u8], index: u64) {
    let mut state = index.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x7461_696c_6d61_726b;
    for word in block.chunks_exact_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word.copy_from_slice(&(mixed ^ mixed >> 31).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    struct Told(Mutex<Vec<(u64, u64)>>, bool);

    impl Watch for Told {
        fn progress(&self, done: u64, of: u64) {
            self.0.lock().unwrap().push((done, of));
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
        assert!(write_all(&file, bytes, 2, &told).unwrap());
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
        assert_eq!(last.map(|(_, of)| of), Some(48 * BLOCK));
    }

    #[test]
    fn it_stops_where_that_is_asked_for() {
        let file = tempfile::tempfile().unwrap();
        let bytes = 64 << 30;
        file.set_len(bytes).unwrap();
        let told = Told(Mutex::default(), true);
        assert!(!write_all(&file, bytes, 100, &told).unwrap());
    }

    #[test]
    fn the_data_does_not_repeat_within_a_block_or_between_passes() {
        let block = |index| {
            let mut block = vec![0; BLOCK as usize];
            fill(&mut block, index);
            block
        };
        let (first, second) = (block(0), block(1));
        let mut words: Vec<_> = first.chunks(8).chain(second.chunks(8)).collect();
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}
