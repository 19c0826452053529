//! Admin commands of NVMe by the kernel's ioctl, including Get Log Page.

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

/// `NVME_IOCTL_ADMIN_CMD`: a command to the controller.
const ADMIN: u8 = 0x41;
/// `NVME_IOCTL_IO_CMD`: a command to a namespace.
const IO: u8 = 0x43;

/// The ioctl, which returns the status of the command: 0 if the drive executed it.
struct Submit<'a>(&'a mut AdminCommand, u8);

#[expect(unsafe_code, reason = "ioctl has no other interface")]
// SAFETY: both opcodes are those of calls with the struct that the pointer leads to, and the kernel
// writes no more than that struct and the buffer that it names.
unsafe impl Ioctl for Submit<'_> {
    type Output = IoctlOutput;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<AdminCommand>(b'N', self.1)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self.0).cast()
    }

    unsafe fn output_from_ptr(status: IoctlOutput, _: *mut c_void) -> RustixResult<IoctlOutput> {
        Ok(status)
    }
}

/// What goes with a command.
#[derive(Debug)]
pub enum Data<'a> {
    /// Nothing.
    None,
    /// The drive writes these bytes.
    In(&'a mut [u8]),
    /// The drive reads these bytes.
    Out(&'a [u8]),
}

/// An admin command.
#[derive(Debug)]
pub struct Command<'a> {
    /// Its number in the specification.
    pub opcode: u8,
    /// The namespace that it is about; 0 none, `u32::MAX` all.
    pub namespace: u32,
    /// Dwords 10 to 15.
    pub dwords: [u32; 6],
    /// What goes with it.
    pub data: Data<'a>,
    /// When the kernel gives up, and resets the drive; 0: its own limit.
    pub timeout_ms: u32,
}

/// A drive's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// 0 if the command was executed.
    pub status: u32,
    /// Dword 0 of the completion.
    pub result: u32,
}

/// Executes an admin command.
///
/// # Errors
/// If the kernel does not pass it to the drive.
pub fn carry_out(device: impl AsFd, command: Command<'_>) -> Result<Answer, Errno> {
    submit(device, command, ADMIN)
}

/// Executes a command of the NVM command set.
///
/// # Errors
/// If the kernel does not pass it to the drive.
pub fn carry_out_io(device: impl AsFd, command: Command<'_>) -> Result<Answer, Errno> {
    submit(device, command, IO)
}

#[expect(unsafe_code, reason = "ioctl has no other interface")]
fn submit(device: impl AsFd, command: Command<'_>, call: u8) -> Result<Answer, Errno> {
    let mut submitted = submitted(command);
    // SAFETY: the command names a buffer and its length that were borrowed for as long as the call,
    // mutably where the drive writes it.
    let status = unsafe { ioctl(device, Submit(&mut submitted, call)) }?;
    Ok(Answer {
        status: status.cast_unsigned(),
        result: submitted.result,
    })
}

fn submitted(command: Command<'_>) -> AdminCommand {
    let (address, bytes) = match command.data {
        Data::None => (0, 0),
        Data::In(bytes) => (bytes.as_mut_ptr().addr(), bytes.len()),
        Data::Out(bytes) => (bytes.as_ptr().addr(), bytes.len()),
    };
    AdminCommand {
        opcode: command.opcode,
        namespace: command.namespace,
        address: address as u64,
        data_bytes: bytes as u32,
        dwords_10_15: command.dwords,
        timeout_ms: command.timeout_ms,
        ..AdminCommand::default()
    }
}

/// Reads a log into the buffer, whose length is a multiple of 4. Returns the status of the command.
///
/// # Errors
/// If the kernel does not pass it to the drive.
pub fn get_log(
    device: impl AsFd,
    page: u8,
    namespace: u32,
    buffer: &mut [u8],
) -> Result<u32, Errno> {
    carry_out(device, get_log_page(page, namespace, buffer)).map(|answer| answer.status)
}

fn get_log_page(page: u8, namespace: u32, buffer: &mut [u8]) -> Command<'_> {
    // Both halves of the number of dwords minus one.
    let dwords = (buffer.len() / 4 - 1) as u32;
    let first = u32::from(page) | RETAIN_EVENTS | (dwords & 0xffff) << 16;
    Command {
        opcode: GET_LOG_PAGE,
        namespace,
        dwords: [first, dwords >> 16, 0, 0, 0, 0],
        data: Data::In(buffer),
        timeout_ms: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_the_form_of_the_kernel() {
        assert_eq!(size_of::<AdminCommand>(), 72);
        let submitted = |call| Submit(&mut AdminCommand::default(), call).opcode();
        // _IOWR('N', 0x41, struct nvme_admin_cmd), and 0x43 with struct nvme_passthru_cmd, the same
        assert_eq!(
            (submitted(ADMIN), submitted(IO)),
            (0xc048_4e41, 0xc048_4e43)
        );
    }

    #[test]
    fn a_log_of_512_bytes_has_127_dwords_and_one() {
        let mut log = [0; 512];
        let command = submitted(get_log_page(0xc0, 7, &mut log));
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
