//! Our mark on a device: we have erased it, and may do so again.
//!
//! It lies between the stamp of the driver `file` and the data (`driver/src/db/file/stamp.rs`: 192
//! KiB to 1 MiB are unused). It contains the serial number of its device, so that a copy of a
//! device is not mistaken for the device.

use std::{fs::File, io, os::unix::fs::FileExt};

/// Its position.
const AT: u64 = 192 << 10;
/// Bytes of it.
const BYTES: usize = 4096;
/// Its first bytes.
const MAGIC: &[u8; 16] = b"tailmark device\n";
/// Before the serial number: the magic number, its length, a checksum.
const HEAD: usize = 16 + 8 + 8;
/// The first bytes of a stamp of the driver `file`.
const STAMP: &[u8] = b"data set of tailmark: the device belongs to its driver `file`  \n";

/// Bytes at the beginning of a device that hold no data of ours but stamp and tag.
pub(super) const RESERVED_BYTES: u64 = 1 << 20;

/// Where on a device the tag is, bytes.
pub(super) const PLACE: std::ops::Range<u64> = AT..AT + BYTES as u64;

/// What writing it does, as a dry run says it.
pub(super) fn plan() -> String {
    format!("the mark of tailmark at {AT}")
}

/// Writes the tag of the device of this serial number.
pub(super) fn write(file: &File, serial: &str) -> io::Result<()> {
    let mut bytes = vec![0; BYTES];
    let text = serial.as_bytes();
    if HEAD + text.len() > BYTES {
        return Err(io::Error::other("the serial number is too long for a tag"));
    }
    bytes[..16].copy_from_slice(MAGIC);
    bytes[16..24].copy_from_slice(&(text.len() as u64).to_le_bytes());
    bytes[24..HEAD].copy_from_slice(&checksum(text).to_le_bytes());
    bytes[HEAD..HEAD + text.len()].copy_from_slice(text);
    file.write_all_at(&bytes, AT)?;
    file.sync_data()
}

/// The serial number in a tag; `None` without a tag.
pub(super) fn read(file: &File) -> io::Result<Option<String>> {
    let mut bytes = vec![0; BYTES];
    match file.read_exact_at(&mut bytes, AT) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let long = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("in the tag"));
    let length = usize::try_from(long(16)).unwrap_or(BYTES);
    if &bytes[..16] != MAGIC || length > BYTES - HEAD {
        return Ok(None);
    }
    let text = &bytes[HEAD..HEAD + length];
    let is_whole = checksum(text) == long(24);
    Ok(is_whole.then(|| String::from_utf8_lossy(text).into_owned()))
}

/// Whether the driver `file` keeps a data set on the device.
pub(super) fn is_stamped(file: &File) -> io::Result<bool> {
    let mut bytes = vec![0; 64 << 10];
    match file.read_exact_at(&mut bytes, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| bytes.chunks(STAMP.len()).all(|part| part == STAMP)),
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    fnv1a(FNV_OFFSET, bytes)
}

/// The FNV-1a hash of nothing.
pub(super) const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash with further bytes added.
pub(super) fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_says_whose_it_is_and_a_damaged_one_nothing() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(read(&file).unwrap(), None);
        file.set_len(1 << 20).unwrap();
        assert_eq!(read(&file).unwrap(), None);
        write(&file, "S-0001").unwrap();
        assert_eq!(read(&file).unwrap().as_deref(), Some("S-0001"));
        file.write_all_at(b"?", AT + HEAD as u64).unwrap();
        assert_eq!(read(&file).unwrap(), None);
        assert!(!is_stamped(&file).unwrap());
    }
}
