//! The ioctls for block devices that this crate needs, each in a few lines.

use rustix::{
    fd::AsFd,
    io::{Errno, Result as RustixResult},
    ioctl::{Getter, Ioctl, IoctlOutput, Opcode, Setter, ioctl},
};
use std::{ffi::c_void, fs::File, io};

/// `LOOP_GET_STATUS64` of `linux/loop.h`.
const LOOP_GET_STATUS64: Opcode = 0x4c05;
/// `BLKDISCARD` of `linux/fs.h`: `_IO(0x12, 119)`.
const BLKDISCARD: Opcode = 0x1277;
/// `NVME_IOCTL_ID` of `linux/nvme_ioctl.h`: `_IO('N', 0x40)`.
const NVME_ID: Opcode = 0x4e40;
/// `BLKFLSBUF` of `linux/fs.h`: `_IO(0x12, 97)`.
const BLKFLSBUF: Opcode = 0x1261;

/// The backing of a loop device: the beginning of `struct loop_info64`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct LoopStatus {
    /// The device of the file system that the file is on.
    pub(super) device: u64,
    /// The inode of the file.
    pub(super) inode: u64,
    /// The number of the file's block device, if it is one.
    pub(super) of_device: u64,
    rest: [u64; 26],
}

/// Asks a loop device for its backing.
#[expect(unsafe_code, reason = "ioctl has no other interface")]
pub(super) fn loop_status(device: &File) -> io::Result<LoopStatus> {
    // SAFETY: the struct is as large as the kernel's, and any bytes are a value of it.
    let got = unsafe { ioctl(device, Getter::<LOOP_GET_STATUS64, LoopStatus>::new()) };
    Ok(got?)
}

/// Discards a range of a device, bytes.
#[expect(unsafe_code, reason = "ioctl has no other interface")]
pub(super) fn discard(device: &File, from: u64, bytes: u64) -> io::Result<()> {
    // SAFETY: the kernel reads two numbers of 64 bits.
    Ok(unsafe { ioctl(device, Setter::<BLKDISCARD, [u64; 2]>::new([from, bytes])) }?)
}

/// Drops a device's pages from the page cache.
#[expect(unsafe_code, reason = "ioctl has no other interface")]
pub(super) fn flush_buffers(device: &File) -> io::Result<()> {
    // SAFETY: the call takes no argument.
    Ok(unsafe { ioctl(device, rustix::ioctl::NoArg::<BLKFLSBUF>::new()) }?)
}

/// The call that answers with the number of an NVMe namespace.
struct NamespaceId;

#[expect(unsafe_code, reason = "ioctl has no other interface")]
// SAFETY: the call takes no argument, and answers by what it returns.
unsafe impl Ioctl for NamespaceId {
    type Output = IoctlOutput;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        NVME_ID
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(number: IoctlOutput, _: *mut c_void) -> RustixResult<IoctlOutput> {
        Ok(number)
    }
}

/// The number of the NVMe namespace behind an open file; `None` if it is not a namespace.
#[expect(unsafe_code, reason = "ioctl has no other interface")]
pub(super) fn nvme_namespace(device: impl AsFd) -> io::Result<Option<u32>> {
    // SAFETY: the call takes no argument.
    match unsafe { ioctl(device, NamespaceId) } {
        Ok(number) => Ok(Some(number.cast_unsigned())),
        Err(Errno::NOTTY) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_loop_device_has_the_size_of_the_kernels() {
        assert_eq!(size_of::<LoopStatus>(), 232);
    }

    #[test]
    fn what_is_no_device_refuses_every_call() {
        let file = tempfile::tempfile().unwrap();
        assert!(loop_status(&file).is_err() && discard(&file, 0, 4096).is_err());
        assert!(flush_buffers(&file).is_err());
        assert!(matches!(nvme_namespace(&file), Ok(None)));
    }
}
