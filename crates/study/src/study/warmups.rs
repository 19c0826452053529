//! The lengths of warm-ups, read without their measurements, because a run asks before each point.

use super::{Study, read};
use crate::Error;
use rusqlite::{Connection, Result, params};
use tailmark_model::{KeptWarmup, finding::NO_ANSWER};

impl Study {
    /// The lengths of warm-ups that rules ended, in the order in which their points were added.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn warmups(&self) -> std::result::Result<Vec<KeptWarmup>, Error> {
        self.read(warmups)
    }
}

fn warmups(c: &Connection) -> Result<Vec<KeptWarmup>> {
    let sql = "SELECT duration_s, EXISTS (SELECT 1 FROM finding
                   WHERE finding.phase = phase.id AND code = ?)
               FROM phase WHERE warmup_of = ?";
    let mut kept = Vec::new();
    for (id, key) in read::keys(c, read::Keyed::Point)? {
        kept.extend(read::rows(c, sql, params![NO_ANSWER.name, id], |row| {
            Ok(KeptWarmup {
                key: key.clone(),
                length_s: row.get(0)?,
                is_cut: row.get(1)?,
            })
        })?);
    }
    Ok(kept)
}
