//! What the tests of several crates share, imported by tests alone: parsers on trial with mutated
//! inputs, tests that may be ignored while they run, file systems and devices, a program and what
//! it said.

mod disk;
pub mod guest;
mod harness;
mod memory;
mod mpirun;
mod mutator;
mod network;
mod program;
mod ssh;
mod trial;

pub use disk::{LoopDevice, Mounted, Tmpfs, make_ext4, system};
pub use harness::{Test, is_ci, not_here, not_installed, run, server};
pub use inventory;
pub use memory::MemoryWatch;
pub use mpirun::{Ended, Job, Mpirun};
pub use mutator::Mutator;
pub use network::Hosts;
pub use program::{Program, err, out};
pub use ssh::{SshHosts, USER as SSH_USER};
pub use tailmark_testing_macros::test;
pub use trial::{MEMORY_MAX, Trial};
