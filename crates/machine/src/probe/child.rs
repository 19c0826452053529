//! Programs that sample for us.

use rustix::process::{Signal, set_parent_process_death_signal};
use std::{os::unix::process::CommandExt, process::Command};

/// Has the kernel end a program when the thread ends that starts it.
#[expect(
    unsafe_code,
    reason = "nothing else runs in a child before its program"
)]
pub fn die_with_us(command: &mut Command) {
    // SAFETY: it is one system call, which is safe between fork and exec.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
}
