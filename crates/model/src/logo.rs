//! The author's picture: what it may be, as far as its first bytes tell. A plan and a foreign study
//! are checked in the same way.

use crate::number;
use serde::{Deserialize, Serialize};

/// A small picture, with its content, so that a study needs no other file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logo {
    /// Where it was read from, as the plan has it.
    pub path: String,
    /// The bytes of the file in Base64.
    pub base64: String,
}

/// The kind of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogoKind {
    /// `image/png`.
    Png,
    /// `image/jpeg`.
    Jpeg,
}

/// The most bytes of a [`Logo`].
pub const LOGO_BYTES_MAX: u64 = 256 << 10;
/// The most pixels of it. A small file can hold a picture that needs gigabytes of memory.
pub const LOGO_PIXELS_MAX: u64 = 4_000_000;

/// What is accepted as one, for errors.
pub const LOGO_ACCEPTED: &str = "a PNG or JPEG file of at most 256 KiB and 4 megapixels";

impl LogoKind {
    /// The kind of a whole picture, by how its bytes begin and end.
    ///
    /// # Errors
    /// Why it is none, or too large.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() as u64 > LOGO_BYTES_MAX {
            return Err("it is larger".to_owned());
        }
        let is_png = bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.ends_with(b"IEND\xaeB`\x82");
        let is_jpeg = bytes.starts_with(b"\xff\xd8\xff") && bytes.ends_with(b"\xff\xd9");
        let (kind, size) = match (is_png, is_jpeg) {
            (true, _) => (Self::Png, png_size(bytes)),
            (_, true) => (Self::Jpeg, jpeg_size(bytes)),
            _ => return Err("it is another file, or incomplete".to_owned()),
        };
        match size {
            Some((width, height)) if width * height > LOGO_PIXELS_MAX => {
                let [width, height] = [width, height].map(number::count);
                Err(format!("it has {width} x {height} pixels"))
            }
            Some((1.., 1..)) => Ok(kind),
            _ => Err("it is damaged: it has no size".to_owned()),
        }
    }

    /// The name for browsers.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }
}

/// Width and height in the header of a PNG, which comes first.
fn png_size(bytes: &[u8]) -> Option<(u64, u64)> {
    let field = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?).into());
    (bytes.get(12..16)? == b"IHDR").then_some((field(16)?, field(20)?))
}

/// Width and height in the first frame header of a JPEG: a marker, two bytes of length, one of
/// precision, height and width.
fn jpeg_size(bytes: &[u8]) -> Option<(u64, u64)> {
    let field = |at: usize| Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        match *bytes.get(at + 1)? {
            // A byte that fills, and markers without content.
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((field(at + 7)?.into(), field(at + 5)?.into()));
            }
            _ => at += 2 + usize::from(field(at + 2)?.max(2)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let (width, height) = (width.to_be_bytes(), height.to_be_bytes());
        let parts: [&[u8]; 5] = [
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
            &width,
            &height,
            b"\x08\x02\0\0\0",
            b"\0\0\0\0IEND\xaeB`\x82",
        ];
        parts.concat()
    }

    fn jpeg(width: u16, height: u16) -> Vec<u8> {
        let (width, height) = (width.to_be_bytes(), height.to_be_bytes());
        let parts: [&[u8]; 5] = [
            b"\xff\xd8\xff\xe0\0\x04AB\xff\xff\xc0\0\x0b\x08",
            &height,
            &width,
            b"\x01\x01\x11\0",
            b"\xff\xd9",
        ];
        parts.concat()
    }

    #[test]
    fn a_picture_is_known_by_its_bytes_and_its_size_is_limited() {
        assert_eq!(LogoKind::from_bytes(&png(2000, 2000)), Ok(LogoKind::Png));
        assert_eq!(LogoKind::from_bytes(&jpeg(64, 65)), Ok(LogoKind::Jpeg));
        for (bytes, why) in [
            (png(30_000, 30_000), "it has 30,000 x 30,000 pixels"),
            (png(u32::MAX, u32::MAX), "pixels"),
            (jpeg(65_535, 65_535), "it has 65,535 x 65,535 pixels"),
            (png(0, 5), "no size"),
            (jpeg(5, 0), "no size"),
            (b"\xff\xd8\xff\xd9".to_vec(), "no size"),
            (b"\xff\xd8\xff\xe0\xff\xff\xff\xd9".to_vec(), "no size"),
            (png(1, 1)[..20].to_vec(), "another file"),
            (vec![0; 300 << 10], "larger"),
        ] {
            let refused = LogoKind::from_bytes(&bytes).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
