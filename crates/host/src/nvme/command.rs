//! The admin command Get Log Page, by the kernel's ioctl.

use rustix::{
    fd::AsFd,
    io::{Errno, Result as RustixResult},
    ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode},
};
use std::ffi::c_void;

/// Get Log Page (NVM Express Base Specification 2.0, figure 88).
const GET_LOG_PAGE: u8 = 0x02;
/// Keep asynchronous events: reading must not clear what an administrator waits for (bit 15 of
/// dword 10).
const RETAIN_EVENTS: u32 = 1 << 15;

/// `struct nvme_admin_cmd` of `linux/nvme_ioctl.h`.
#[repr(C)]
#[derive(Debug, Default)]
struct AdminCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    dwords_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    dwords_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// The call, whose output is the status of the command: 0 where the drive carried it out.
struct Submit<'a>(&'a mut AdminCommand);

#[expect(unsafe_code, reason = "ioctl has no other interface")]
// SAFETY: the opcode is that of NVME_IOCTL_ADMIN_CMD with the size of the struct that the pointer
// leads to, and the kernel writes no more than that struct and the buffer that it names.
unsafe impl Ioctl for Submit<'_> {
    type Output = IoctlOutput;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<AdminCommand>(b'N', 0x41)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self.0).cast()
    }

    unsafe fn output_from_ptr(status: IoctlOutput, _: *mut c_void) -> RustixResult<IoctlOutput> {
        Ok(status)
    }
}

/// Reads a log into the buffer, whose length is a multiple of 4; the status of the command.
#[expect(unsafe_code, reason = "ioctl has no other interface")]
pub(super) fn get_log(
    device: impl AsFd,
    page: u8,
    namespace: u32,
    buffer: &mut [u8],
) -> Result<IoctlOutput, Errno> {
    let mut command = get_log_page(page, namespace, buffer);
    // SAFETY: the command names a buffer of ours and its length, and both live beyond the call.
    unsafe { ioctl(device, Submit(&mut command)) }
}

fn get_log_page(page: u8, namespace: u32, buffer: &mut [u8]) -> AdminCommand {
    // Both halves of the number of dwords, of which there is one more than it says.
    let dwords = (buffer.len() / 4 - 1) as u32;
    let first = u32::from(page) | RETAIN_EVENTS | (dwords & 0xffff) << 16;
    AdminCommand {
        opcode: GET_LOG_PAGE,
        namespace,
        address: buffer.as_mut_ptr().addr() as u64,
        data_bytes: buffer.len() as u32,
        dwords_10_15: [first, dwords >> 16, 0, 0, 0, 0],
        ..AdminCommand::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_the_form_of_the_kernel() {
        assert_eq!(size_of::<AdminCommand>(), 72);
        let submitted = Submit(&mut AdminCommand::default()).opcode();
        // _IOWR('N', 0x41, struct nvme_admin_cmd)
        assert_eq!(submitted, 0xc048_4e41);
    }

    #[test]
    fn a_log_of_512_bytes_has_127_dwords_and_one() {
        let command = get_log_page(0xc0, 7, &mut [0; 512]);
        assert_eq!(command.dwords_10_15[0], 127 << 16 | 0x80c0);
        assert_eq!((command.namespace, command.data_bytes), (7, 512));
    }

    #[test]
    fn what_is_no_drive_refuses_the_command() {
        let file = tempfile::tempfile().unwrap();
        let refused = get_log(&file, 2, u32::MAX, &mut [0; 512]);
        assert_eq!(refused, Err(Errno::NOTTY));
    }
}
