//! Parameters with which a file system was created.
//!
//! XFS is queried by an ioctl, which any user may do. For ext4 the superblock is read from its
//! device, which needs root; otherwise the parameters are left out.

use super::binary;
use crate::mount::Mount;
use rustix::ioctl::{Getter, ioctl, opcode};
use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

/// Names and values.
pub type Parameters = Vec<(String, String)>;

/// A kind of file system, and how its parameters are read.
type Reader = fn(&Mount, &Path) -> Option<Parameters>;

/// Every kind that is known, by type.
const READERS: &[(&str, Reader)] = &[
    ("ext2", of_ext),
    ("ext3", of_ext),
    ("ext4", of_ext),
    ("xfs", |_, place| of_xfs(place)),
];

/// The parameters with which a place's file system was created; empty if unknown.
pub fn parameters(mount: &Mount, place: &Path) -> Parameters {
    let row = READERS.iter().find(|(kind, _)| *kind == mount.kind);
    row.and_then(|(_, read)| read(mount, place))
        .unwrap_or_default()
}

/// Bytes of `struct xfs_fsop_geom_v1` (`fs/xfs/libxfs/xfs_fs.h`).
const XFS_GEOMETRY_BYTES: usize = 112;
/// `XFS_IOC_FSGEOMETRY_V1`, which every version of XFS answers.
const XFS_GEOMETRY: rustix::ioctl::Opcode = opcode::read::<[u8; XFS_GEOMETRY_BYTES]>(b'X', 100);
/// Features of an XFS: the bit of its flags, and the name that `xfs_info` has for it.
const XFS_FLAGS: &[(u32, &str)] = &[(15, "crc"), (17, "finobt"), (19, "rmapbt"), (20, "reflink")];

#[expect(
    unsafe_code,
    reason = "an ioctl writes into memory that is given to it"
)]
fn of_xfs(place: &Path) -> Option<Parameters> {
    let file = File::open(place).ok()?;
    // SAFETY: the request fills a structure of this many bytes, and every bit pattern is valid.
    let geometry = unsafe {
        ioctl(
            &file,
            Getter::<XFS_GEOMETRY, [u8; XFS_GEOMETRY_BYTES]>::new(),
        )
    };
    Some(xfs_parameters(&geometry.ok()?))
}

/// Parses the geometry of an XFS: 32-bit numbers at these offsets, except for the blocks.
fn xfs_parameters(geometry: &[u8; XFS_GEOMETRY_BYTES]) -> Parameters {
    let number = |at: usize| {
        let bytes = geometry[at..at + 4]
            .try_into()
            .expect("four bytes are four bytes");
        u32::from_ne_bytes(bytes)
    };
    let (block, groups, log) = (number(0), number(12), number(16));
    let (stripe_unit, stripe_width) = (number(80), number(84));
    let flags = number(92);
    let features = XFS_FLAGS.iter().filter(|(bit, _)| flags & (1 << bit) != 0);
    let features: Vec<&str> = features.map(|(_, name)| *name).collect();
    let blocks = |count: u32| binary(u64::from(count) * u64::from(block));
    named(&[
        ("made with blocks of", format!("{block} bytes")),
        ("allocation groups", groups.to_string()),
        ("sector", format!("{} bytes", number(20))),
        ("inode", format!("{} bytes", number(24))),
        ("journal", blocks(log)),
        ("stripe unit", blocks(stripe_unit)),
        ("stripe width", blocks(stripe_width)),
        ("features", features.join(",")),
    ])
}

/// Position and length of the superblock of ext2, ext3 and ext4 (`Documentation/filesystems/ext4`).
const EXT_AT: u64 = 1024;
const EXT_BYTES: usize = 1024;
/// The magic number of its superblock, at 0x38.
const EXT_MAGIC: u16 = 0xef53;
/// Features: the word (at 0x5c, 0x60 or 0x64), its bit, and its name.
const EXT_FEATURES: &[(usize, u32, &str)] = &[
    (0x5c, 2, "has_journal"),
    (0x60, 6, "extent"),
    (0x60, 7, "64bit"),
    (0x60, 9, "flex_bg"),
    (0x64, 9, "bigalloc"),
    (0x64, 10, "metadata_csum"),
];

fn of_ext(mount: &Mount, _: &Path) -> Option<Parameters> {
    let mut device = File::open(&mount.source).ok()?;
    let mut superblock = [0; EXT_BYTES];
    device.seek(SeekFrom::Start(EXT_AT)).ok()?;
    device.read_exact(&mut superblock).ok()?;
    ext_parameters(&superblock)
}

fn ext_parameters(superblock: &[u8; EXT_BYTES]) -> Option<Parameters> {
    let short = |at: usize| u16::from_le_bytes([superblock[at], superblock[at + 1]]);
    let number = |at: usize| u32::from(short(at)) | u32::from(short(at + 2)) << 16;
    if short(0x38) != EXT_MAGIC {
        return None;
    }
    let block = 1024_u64
        .checked_shl(number(0x18))
        .filter(|_| number(0x18) <= 6)?;
    let has = |(at, bit, _): &&(usize, u32, &str)| number(*at) & (1 << bit) != 0;
    let features: Vec<&str> = EXT_FEATURES.iter().filter(has).map(|row| row.2).collect();
    let blocks = |count: u64| {
        if count == 0 {
            String::new()
        } else {
            binary(count * block)
        }
    };
    Some(named(&[
        ("made with blocks of", format!("{block} bytes")),
        ("inode", format!("{} bytes", short(0x58))),
        ("stripe unit", blocks(u64::from(short(0x164)))),
        ("stripe width", blocks(u64::from(number(0x170)))),
        ("features", features.join(",")),
    ]))
}

fn named(parameters: &[(&str, String)]) -> Parameters {
    let owned = |(name, value): &(&str, String)| ((*name).to_owned(), value.clone());
    parameters.iter().map(owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_unique_and_sorted() {
        assert!(READERS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn the_geometry_of_an_xfs_is_read_at_its_offsets() {
        let mut geometry = [0; XFS_GEOMETRY_BYTES];
        let mut put = |at: usize, value: u32| {
            geometry[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        };
        for (at, value) in [
            (0, 4096),
            (12, 4),
            (16, 2560),
            (20, 512),
            (24, 512),
            (80, 32),
            (92, 0x0018_8000),
        ] {
            put(at, value);
        }
        let said = xfs_parameters(&geometry);
        let value = |name: &str| said.iter().find(|(own, _)| own == name).unwrap().1.clone();
        assert_eq!(value("allocation groups"), "4");
        assert_eq!(value("journal"), "10.0 MiB");
        assert_eq!(value("stripe unit"), "128.0 KiB");
        assert_eq!(value("features"), "crc,rmapbt,reflink");
    }

    #[test]
    fn what_is_no_superblock_says_nothing() {
        assert_eq!(ext_parameters(&[0; EXT_BYTES]), None);
        assert_eq!(ext_parameters(&[0xff; EXT_BYTES]), None);
    }
}
