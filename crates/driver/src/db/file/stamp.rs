//! The stamp of a device or file: a text at its beginning, before the data. On a device it is the
//! marker of the data set; in a file it identifies the file.
//!
//! ```text
//! 0        64 KiB   128 KiB  192 KiB         1 MiB
//! | guard  | entry  | entry  | unused        | data ...
//! ```
//!
//! The guard repeats one text and contains nothing else. Anything that reuses the device (a
//! partition table, a file system, LVM, RAID, swap) writes there and so destroys the stamp. A new
//! text replaces the older of the two entries, so that an interrupted write leaves the newer one.
//! Each entry has an increasing number and a checksum.

use super::buffer::Buffer;
use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

/// Reserved bytes at the beginning, without data.
pub(super) const RESERVED_BYTES: u64 = 1 << 20;

/// Bytes of the guard, and of each entry.
const PART: usize = 64 << 10;
/// Where the entries begin.
const ENTRIES: [u64; 2] = [PART as u64, 2 * PART as u64];
/// Writes are a multiple of this: the largest block of a device.
const BLOCK: usize = 4096;
/// The repeated text of the guard.
const GUARD: &[u8; 64] = b"data set of tailmark: the device belongs to its driver `file`  \n";

/// The magic number of every entry.
const MAGIC: &[u8; 8] = b"tmkstamp";
/// The version that is written. Later versions are refused.
const VERSION: u32 = 1;
/// Why a place without a stamp is neither written nor removed.
pub(super) const MISSING: &str = "it has no stamp of tailmark, so it may hold data of another \
     program, and tailmark does not write to it; choose another place, or let `tailmark run` stamp \
     a device that it may overwrite (--erase SERIAL)";
/// Bytes before the text: magic, version, length, number, checksum.
const HEAD: usize = 8 + 4 + 4 + 8 + 8;

/// The text of a device's stamp; `None` if it has no stamp.
///
/// # Errors
/// If the device cannot be read, or its stamp has a later version.
pub fn read(device: &Path) -> io::Result<Option<String>> {
    read_from(&File::open(device)?)
}

pub(crate) fn read_from(file: &File) -> io::Result<Option<String>> {
    let mut buffer = Buffer::new(PART);
    if !is_ours(file, &mut buffer)? {
        return Ok(None);
    }
    let [first, second] = entries(file, &mut buffer)?;
    let newest = first
        .into_iter()
        .chain(second)
        .max_by_key(|entry| entry.number);
    Ok(newest.map(|entry| entry.text))
}

/// Stamps a device, whatever it contains, so that the driver `file` may write to it. Only for a
/// device that may be overwritten.
///
/// # Errors
/// If the device cannot be written.
pub fn stamp(file: &File, text: &str) -> io::Result<()> {
    let mut buffer = Buffer::new(PART);
    if !is_ours(file, &mut buffer)? {
        // The guard must not bring back an older entry.
        buffer.first(PART).fill(0);
        for at in ENTRIES {
            file.write_all_at(buffer.first(PART), at)?;
        }
        file.sync_data()?;
        buffer.first(PART).copy_from_slice(&guard());
        file.write_all_at(buffer.first(PART), 0)?;
        file.sync_data()?;
    }
    write_to(file, text)
}

/// Removes the stamp, the guard first, so that a kill leaves no valid stamp.
pub(super) fn remove(file: &File) -> io::Result<()> {
    let mut buffer = Buffer::new(PART);
    buffer.first(PART).fill(0);
    for at in [0, ENTRIES[0], ENTRIES[1]] {
        file.write_all_at(buffer.first(PART), at)?;
        file.sync_data()?;
    }
    Ok(())
}

/// Whether a device has the stamp, with or without a text.
///
/// # Errors
/// If the device cannot be read.
pub fn is_stamped(file: &File) -> io::Result<bool> {
    is_ours(file, &mut Buffer::new(PART))
}

/// Writes the text of a device's stamp. After a crash, either the old or the new text is there.
/// When the call returns, the text is on the device.
///
/// # Errors
/// If the device has no stamp, because its content may belong to another program.
pub(crate) fn write_to(file: &File, text: &str) -> io::Result<()> {
    let mut buffer = Buffer::new(PART);
    if !is_ours(file, &mut buffer)? {
        return Err(io::Error::other(MISSING));
    }
    let known = entries(file, &mut buffer)?;
    let number = |entry: &Option<StampEntry>| entry.as_ref().map_or(0, |entry| entry.number);
    let [first, second] = known.each_ref().map(number);
    let at = if first > second {
        ENTRIES[1]
    } else {
        ENTRIES[0]
    };
    let written = StampEntry {
        number: first.max(second) + 1,
        text: text.to_owned(),
    };
    let length = written.fill(buffer.first(PART))?;
    file.write_all_at(&buffer.first(PART)[..length], at)?;
    file.sync_data()
}

/// One of the two entries of a text.
struct StampEntry {
    number: u64,
    text: String,
}

impl StampEntry {
    /// Writes it to the front of `bytes`. Returns how many of them to write.
    fn fill(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let text = self.text.as_bytes();
        let length = (HEAD + text.len()).next_multiple_of(BLOCK);
        if length > bytes.len() {
            return Err(io::Error::other("the marker is too long for a stamp"));
        }
        bytes[..length].fill(0);
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(text.len() as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[HEAD..HEAD + text.len()].copy_from_slice(text);
        let sum = checksum(&bytes[..HEAD + text.len()]);
        bytes[24..HEAD].copy_from_slice(&sum.to_le_bytes());
        Ok(length)
    }

    /// The content of an entry; `None` if it was never written completely.
    fn parse(bytes: &[u8]) -> io::Result<Option<Self>> {
        let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("in an entry"));
        let long = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("in an entry"));
        if &bytes[..8] != MAGIC {
            return Ok(None);
        }
        let version = word(8);
        if version > VERSION {
            return Err(io::Error::other(format!(
                "its stamp has version {version}, but this program reads version {VERSION}"
            )));
        }
        let end = HEAD + word(12) as usize;
        if end > bytes.len() || checksum(&bytes[..end]) != long(24) {
            return Ok(None);
        }
        Ok(Some(Self {
            number: long(16),
            text: String::from_utf8_lossy(&bytes[HEAD..end]).into_owned(),
        }))
    }
}

/// FNV-1a over the head, without the checksum, and the text.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let summed = bytes[..24].iter().chain(&bytes[HEAD..]);
    summed.fold(0xcbf2_9ce4_8422_2325, step)
}

fn guard() -> Vec<u8> {
    GUARD.repeat(PART / GUARD.len())
}

/// Whether the guard is intact.
fn is_ours(file: &File, buffer: &mut Buffer) -> io::Result<bool> {
    match file.read_exact_at(buffer.first(PART), 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| buffer.first(PART) == guard()),
    }
}

fn entries(file: &File, buffer: &mut Buffer) -> io::Result<[Option<StampEntry>; 2]> {
    let mut entry = |at| {
        file.read_exact_at(buffer.first(PART), at)?;
        StampEntry::parse(buffer.first(PART))
    };
    Ok([entry(ENTRIES[0])?, entry(ENTRIES[1])?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(RESERVED_BYTES).unwrap();
        file
    }

    fn text(device: &File) -> Option<String> {
        read_from(device).unwrap()
    }

    #[test]
    fn the_newest_text_is_read() {
        let device = device();
        assert_eq!(text(&device), None);
        let refused = write_to(&device, "0").unwrap_err().to_string();
        assert!(refused.contains("has no stamp"), "{refused}");
        assert_eq!(text(&device), None);
        stamp(&device, "of another program before").unwrap();
        for number in 0..5 {
            write_to(&device, &number.to_string()).unwrap();
            assert_eq!(text(&device), Some(number.to_string()));
        }
    }

    #[test]
    fn a_write_that_is_cut_short_leaves_the_text_before() {
        let device = device();
        for (number, at) in (1..).zip([ENTRIES[0], ENTRIES[1], ENTRIES[0]]) {
            stamp(&device, &format!("text {number}")).unwrap();
            // The part that the next write would overwrite, and one byte of this one.
            let mut byte = [0];
            let last = at + HEAD as u64 + 5;
            device.read_exact_at(&mut byte, last).unwrap();
            device.write_all_at(b"?", last).unwrap();
            let before = (number > 1).then(|| format!("text {}", number - 1));
            assert_eq!(text(&device), before);
            device.write_all_at(&byte, last).unwrap();
        }
    }

    #[test]
    fn what_else_is_made_of_the_device_ends_the_stamp_for_good() {
        for at in [0, 510, 1080, 4096, 32_768, PART as u64 - 1] {
            let device = device();
            stamp(&device, "complete").unwrap();
            device.write_all_at(b"\x55", at).unwrap();
            assert_eq!(text(&device), None, "written at {at}");
            assert!(write_to(&device, "complete").is_err(), "written at {at}");
            // It does not come back with the guard either.
            device.write_all_at(&guard(), 0).unwrap();
            write_to(&device, "complete").unwrap();
            device.write_all_at(b"\x55", at).unwrap();
            stamp(&device, "0 records").unwrap();
            assert_eq!(text(&device).as_deref(), Some("0 records"));
            device.write_all_at(&[0; BLOCK], ENTRIES[0]).unwrap();
            assert_eq!(text(&device), None);
        }
    }

    #[test]
    fn a_stamp_of_a_later_version_is_refused_by_number() {
        let device = device();
        stamp(&device, "complete").unwrap();
        device
            .write_all_at(&9_u32.to_le_bytes(), ENTRIES[0] + 8)
            .unwrap();
        let error = read_from(&device).unwrap_err().to_string();
        assert!(error.contains("version 9"), "{error}");
    }

    #[test]
    fn a_text_that_is_too_long_is_refused_and_the_one_before_stays() {
        let device = device();
        stamp(&device, "short").unwrap();
        write_to(&device, &"x".repeat(PART)).unwrap_err();
        assert_eq!(text(&device).as_deref(), Some("short"));
    }
}
