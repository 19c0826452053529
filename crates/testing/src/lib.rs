//! Shared code for tests of several crates, imported only by tests: parsers under mutated inputs,
//! tests that may be ignored at run time, file systems and devices, and programs with their output.

#[cfg(feature = "cql")]
mod cql;
mod disk;
mod emulation;
mod forbid;
pub mod guest;
mod harness;
mod hostile;
mod live_page;
mod memory;
mod mpirun;
mod mutator;
mod network;
mod program;
mod resp;
mod ssh;
mod sys;
mod trial;

#[cfg(feature = "cql")]
pub use cql::cql;
pub use disk::{LoopDevice, Mounted, Tmpfs, contents, make_ext4, system};
pub use emulation::need_emulation;
pub use forbid::forbid_io_uring;
pub use harness::{Test, is_ci, not_here, not_installed, run, server};
pub use hostile::{HOSTILE_NAMES, is_raw};
pub use inventory;
pub use live_page::LivePage;
pub use memory::MemoryWatch;
pub use mpirun::{Ended, Job, Mpirun};
pub use mutator::{Mutator, draw};
pub use network::Hosts;
pub use program::{Program, assert_says, err, out};
pub use resp::resp;
pub use ssh::{
    AHEAD as SSH_AHEAD, FORWARDED as SSH_FORWARDED, GREETED as SSH_GREETED, LOCKED as SSH_LOCKED,
    SILENT as SSH_SILENT, SUDOER as SSH_SUDOER, SshHosts, USER as SSH_USER,
};
pub use sys::{recorded, sys_with};
pub use tailmark_testing_macros::test;
pub use trial::{MEMORY_MAX, Trial};
