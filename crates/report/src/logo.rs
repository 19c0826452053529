//! The author's picture over the title.
//!
//! It may come from a foreign study. So its size is limited before it is decoded, and one that
//! cannot be drawn is left out.

use crate::{Data, Error};
use base64::prelude::{BASE64_STANDARD, Engine as _};
#[cfg(feature = "documents")]
use krilla::{Document, geom::Size, image::Image};
use tailmark_model::{LOGO_ACCEPTED, Logo, LogoKind, ReportSettings};

/// The author's picture, if its bytes are one: its media type and the bytes.
#[must_use]
pub fn logo(data: &Data) -> Option<(LogoKind, Vec<u8>)> {
    picture(&data.report_settings().logo?).ok()
}

/// Refuses a picture that cannot be drawn. The report comes last, and is not to be lost after hours.
///
/// # Errors
/// Names the `key` that the file comes from, and the file.
pub fn refuse_logo(settings: &ReportSettings, key: &str) -> Result<(), Error> {
    let Some(logo) = &settings.logo else {
        return Ok(());
    };
    picture(logo).map(drop).map_err(|why| {
        let path = &logo.path;
        Error::Refused(format!(
            "{key} is `{path}`, but it must be {LOGO_ACCEPTED} ({why})"
        ))
    })
}

/// The type and the bytes of a picture that can be drawn.
fn picture(logo: &Logo) -> Result<(LogoKind, Vec<u8>), String> {
    let damaged = || "it is damaged".to_owned();
    let bytes = BASE64_STANDARD.decode(&logo.base64);
    let bytes = bytes.map_err(|_| damaged())?;
    let kind = LogoKind::from_bytes(&bytes)?;
    if can_draw(kind, &bytes) {
        Ok((kind, bytes))
    } else {
        Err(damaged())
    }
}

/// A picture of the author's; `None` if it cannot be read.
#[cfg(feature = "documents")]
pub fn image(kind: LogoKind, bytes: &[u8]) -> Option<Image> {
    let data: krilla::Data = bytes.to_vec().into();
    let image = match kind {
        LogoKind::Png => Image::from_png(data, true),
        LogoKind::Jpeg => Image::from_jpeg(data, true),
    };
    image
        .ok()
        .filter(|image| image.size().0 > 0 && image.size().1 > 0)
}

/// Whether a picture is whole. It is decoded only when a document with it is written.
#[cfg(feature = "documents")]
pub fn can_draw(kind: LogoKind, bytes: &[u8]) -> bool {
    let Some(image) = image(kind, bytes) else {
        return false;
    };
    let mut document = Document::new();
    let mut page = document.start_page();
    let mut surface = page.surface();
    if let Some(size) = Size::from_wh(1.0, 1.0) {
        surface.draw_image(image, size);
    }
    surface.finish();
    page.finish();
    document.finish().is_ok()
}

/// Browsers draw what they can of a picture.
#[cfg(not(feature = "documents"))]
const fn can_draw(_: LogoKind, _: &[u8]) -> bool {
    true
}
