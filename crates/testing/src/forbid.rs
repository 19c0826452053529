//! A kernel that refuses io_uring.

use std::io;

/// Forbids io_uring to this thread and the programs that it starts, as the profile of a container
/// does. Safe between fork and exec.
///
/// # Errors
/// If the kernel has no filters of system calls.
#[expect(
    unsafe_code,
    reason = "a filter of system calls is a program for the kernel"
)]
pub fn forbid_io_uring() -> io::Result<()> {
    const SETUP: u32 = libc::SYS_io_uring_setup as u32;
    const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let step = |code: u32, k: u32, jf: u8| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf,
        k,
    };
    let mut steps = [
        // The number of the call is the first word of what is examined.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, SETUP, 1),
        step(libc::BPF_RET | libc::BPF_K, REFUSE, 0),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let filter = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: the kernel copies the filter.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter)
    };
    if failed == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
