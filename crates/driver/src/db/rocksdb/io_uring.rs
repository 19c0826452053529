//! Whether RocksDB sends reads through io_uring, several at once.
//!
//! RocksDB asks the program when it opens a table file. With io_uring it reads the blocks of one
//! request for several records at once, and reads ahead of a scan while the client works. It needs
//! a build with liburing (`scripts/rocksdb`) and a kernel that permits io_uring, with the flags
//! that RocksDB sets (Linux 6.1).

use crate::{Remark, RemarkCode};
use io_uring::IoUring;
use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

/// Whether the database that was opened last has `async_io`. RocksDB keeps one answer per process;
/// systems are opened one after the other.
static ENABLED: AtomicBool = AtomicBool::new(false);

/// RocksDB looks for this name. In other builds than those of `scripts/rocksdb`, the package of
/// its sources has it.
#[cfg(rocksdb_io_uring)]
#[expect(unsafe_code, reason = "RocksDB calls it by this name")]
#[unsafe(no_mangle)]
extern "C" fn RocksDbIOUringEnable() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// Permits io_uring, or not, for the files of a database that is about to be opened. Returns the
/// reason if it was requested and is not possible.
pub(super) fn enable(requested: bool) -> Option<String> {
    let refusal = requested.then(refusal).flatten();
    ENABLED.store(requested && refusal.is_none(), Ordering::Relaxed);
    refusal
}

/// Why RocksDB cannot use io_uring here.
fn refusal() -> Option<String> {
    if !cfg!(rocksdb_io_uring) {
        return Some("RocksDB was built without it".to_owned());
    }
    let ring: io::Result<IoUring> = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(1);
    ring.err()
        .map(|why| format!("the kernel refuses it: {why}"))
}

/// The remark for a reason.
pub(super) fn remark(refusal: &str) -> Remark {
    Remark {
        code: RemarkCode::IoUringRefused,
        text: format!(
            "async_io has no effect, because io_uring is not available ({refusal}): RocksDB reads \
             one block after the other. Permit io_uring (Linux 6.1, sysctl \
             kernel.io_uring_disabled=0, a container's seccomp profile that has it), or set \
             async_io = false."
        ),
    }
}
