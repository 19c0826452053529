//! Points whose requests were taken apart: a phase as of a point, and what was found.

use super::{Study, read, read::Keyed, schema, write};
use crate::{Error, Redaction, encoding::decompress};
use rusqlite::{Connection, OptionalExtension, Result, params, types::Type};
use sha2::{Digest, Sha256};
use tailmark_model::{Anatomy, Damaged, Point, PointKey};

/// The most bytes of what was found, uncompressed.
const BYTES_MAX: usize = 32 << 20;
/// The most parts.
const PARTS_MAX: usize = 100;
const ZSTD_LEVEL: i32 = 9;

const DAMAGED: Damaged = Damaged {
    what: "requests that were taken apart",
};

impl Study {
    /// Adds a point whose requests were taken apart; one of the same key is replaced.
    ///
    /// # Errors
    /// As [`Study::set_facts`].
    pub fn add_anatomy(&self, point: &Point, anatomy: &Anatomy) -> std::result::Result<(), Error> {
        self.write(|c| {
            schema::add_newer(c)?;
            write::point(c, Keyed::Anatomy, point)?;
            let phase = read::phase_of(c, Keyed::Anatomy, &point.key)?;
            let found = encode(anatomy)?;
            c.execute(
                "INSERT INTO anatomy (phase, found, digest) VALUES (?, ?, ?)",
                params![phase, found, digest(&found)],
            )
            .map(drop)
        })
    }

    /// The keys of the points whose requests were taken apart, in the order in which they were
    /// added.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn anatomy_keys(&self) -> std::result::Result<Vec<PointKey>, Error> {
        let keys = self.read(|c| read::keys(c, Keyed::Anatomy))?;
        Ok(keys.into_iter().map(|(_, key)| key).collect())
    }

    /// A point whose requests were taken apart, with intervals and series.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn anatomy(&self, key: &PointKey) -> std::result::Result<Option<(Point, Anatomy)>, Error> {
        let found = self.read(|c| {
            let point = read::point(c, Keyed::Anatomy, key)?;
            let anatomy = found(c, key)?;
            Ok(point.zip(anatomy))
        })?;
        Ok(found.map(|(point, anatomy)| (self.shown(point, Redaction::point), anatomy)))
    }

    /// Reads one after the other, in the order in which they were added.
    ///
    /// # Errors
    /// As [`Study::header`], and that of `act`.
    pub fn each_anatomy(
        &self,
        mut act: impl FnMut(Point, Anatomy) -> std::result::Result<(), Error>,
    ) -> std::result::Result<(), Error> {
        for key in self.anatomy_keys()? {
            if let Some((point, anatomy)) = self.anatomy(&key)? {
                act(point, anatomy)?;
            }
        }
        Ok(())
    }
}

/// What was found of a point.
fn found(c: &Connection, key: &PointKey) -> Result<Option<Anatomy>> {
    let Some(phase) = read::phase_of(c, Keyed::Anatomy, key)? else {
        return Ok(None);
    };
    let sql = "SELECT found, digest FROM anatomy WHERE phase = ?";
    let row = c.query_row(sql, [phase], |row| {
        Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?))
    });
    let Some((bytes, sealed)) = row.optional()? else {
        return Ok(None);
    };
    let anatomy = decode(&bytes).filter(|_| digest(&bytes) == sealed);
    let damaged = || rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, Box::new(DAMAGED));
    anatomy.map(Some).ok_or_else(damaged)
}

fn encode(anatomy: &Anatomy) -> Result<Vec<u8>> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::ToSqlConversionFailure(error)
    };
    let json = serde_json::to_vec(anatomy).map_err(|error| failed(error.into()))?;
    zstd::bulk::compress(&json, ZSTD_LEVEL).map_err(|error| failed(error.into()))
}

fn decode(bytes: &[u8]) -> Option<Anatomy> {
    let json = decompress(bytes, BYTES_MAX)?;
    let anatomy: Anatomy = serde_json::from_slice(&json).ok()?;
    (anatomy.parts.len() <= PARTS_MAX && anatomy.is_whole()).then_some(anatomy)
}

/// The first 16 bytes of the SHA-256.
fn digest(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes)[..16].to_vec()
}
