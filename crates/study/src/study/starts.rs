//! The states from which points started, read without their other series, because a run compares
//! each new point with them.

use super::{Study, bounded, numbers, read};
use crate::Error;
use rusqlite::{Connection, Result, params};
use tailmark_model::{PointKey, START, StartState};

impl Study {
    /// The points whose state before them is known, with it.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn starts(&self) -> std::result::Result<Vec<(PointKey, StartState)>, Error> {
        self.read(starts)
    }
}

fn starts(c: &Connection) -> Result<Vec<(PointKey, StartState)>> {
    let sql = "SELECT name, \"values\" FROM series WHERE phase = ? AND probe = ?";
    let mut starts = Vec::new();
    for (id, key) in read::keys(c, read::Keyed::Point)? {
        let values = read::rows(c, sql, params![id, START], |row| {
            let values = read::decoded(row, 1, numbers::decode)?;
            Ok((bounded::name(row, 0)?, values))
        })?;
        let first = values.into_iter();
        let first = first.filter_map(|(name, of_name)| Some((name, *of_name.first()?)));
        let state = StartState::from_values(first);
        if !state.is_empty() {
            starts.push((key, state));
        }
    }
    Ok(starts)
}
