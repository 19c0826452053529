//! Digests of the parts of a phase in the file. SQLite has no checksums, so a flipped bit on the
//! disk would silently be another number.

use rusqlite::{
    Connection, Error, Result,
    types::{Type, ValueRef},
};
use sha2::{Digest, Sha256};
use tailmark_model::Damaged;

/// The content of the digest `totals`: the rows of each statement, in this order.
const TOTALS: &[&str] = &[
    "SELECT started_ms, duration_s, operations, failed, drained, drained_failed, censored, start_lag,
            lag_no_client, lag_woken_late, counters, warmup_of, steady_s, not_steady, ranks, figures
     FROM phase WHERE id = ?",
    "SELECT id FROM phase WHERE warmup_of = ?",
    "SELECT system, records, threads FROM load WHERE phase = ?",
    "SELECT system, workload, distribution, threads, repeat, target_rate, arrivals, is_trial
     FROM point WHERE phase = ?",
    "SELECT kind, count, not_found, errors, bytes, service, response, failed, failed_response,
            censored_service, censored_response, block_qos, drained_bytes
     FROM kind WHERE phase = ? ORDER BY rowid",
    "SELECT kind, time, name, ns FROM summary WHERE phase = ? ORDER BY rowid",
    "SELECT kind, cause, count, example FROM error WHERE phase = ? ORDER BY rowid",
    "SELECT code, text, evidence FROM finding WHERE phase = ? ORDER BY rowid",
];

/// Of each interval of the phase, one after the other: as they are read.
const OF_INTERVALS: &str =
    "SELECT kind, count, errors, service, response FROM interval_kind WHERE interval = ?";

/// The content of the digest `details`. It includes the interval of each row and the instants of
/// each series by row numbers. If a bit of an index flips, a search would find the wrong rows.
const DETAILS: &[&str] = &[
    "SELECT id, start_s, length_s, operations, failed FROM interval WHERE phase = ? ORDER BY id",
    OF_INTERVALS,
    "SELECT id, at_s FROM tick WHERE phase = ? ORDER BY id",
    "SELECT tick, probe, subject, name, kind, \"values\" FROM series WHERE phase = ?
     ORDER BY rowid",
];

/// Puts the digests of a phase beside it, when all its rows are there.
pub fn seal(c: &Connection, phase: i64) -> Result<()> {
    let (totals, details) = (totals(c, phase)?, details(c, phase)?);
    c.prepare_cached("UPDATE phase SET totals_digest = ?, details_digest = ? WHERE id = ?")?
        .execute((totals, details, phase))
        .map(drop)
}

/// Seals every phase again, for tests that change a study on purpose.
pub fn seal_all(c: &Connection) -> Result<()> {
    let phases: Vec<i64> = c
        .prepare("SELECT id FROM phase")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_>>()?;
    phases.into_iter().try_for_each(|phase| seal(c, phase))
}

/// Refuses a phase that is not as it was written, with its intervals and series or without them, or
/// that has no digests.
pub fn verify(c: &Connection, phase: i64, with_details: bool) -> Result<()> {
    let sql = "SELECT totals_digest, details_digest FROM phase WHERE id = ?";
    let sealed: [Option<Vec<u8>>; 2] = c
        .prepare_cached(sql)?
        .query_row([phase], |row| Ok([row.get(0)?, row.get(1)?]))?;
    let [Some(sealed_totals), Some(sealed_details)] = sealed else {
        return Err(damaged("a load or a point (its digests are missing)"));
    };
    if sealed_totals != totals(c, phase)? || (with_details && sealed_details != details(c, phase)?)
    {
        return Err(damaged(
            "a load or a point (its rows have changed since they were written)",
        ));
    }
    Ok(())
}

fn damaged(what: &'static str) -> Error {
    Error::FromSqlConversionFailure(0, Type::Blob, Box::new(Damaged { what }))
}

fn totals(c: &Connection, phase: i64) -> Result<Vec<u8>> {
    digest(c, TOTALS, phase)
}

fn details(c: &Connection, phase: i64) -> Result<Vec<u8>> {
    digest(c, DETAILS, phase)
}

/// The first 16 bytes of the SHA-256 of the rows that the statements give of a phase: the number of
/// each statement, and each row by the count of its columns, each value by its type, its length and
/// its bytes.
fn digest(c: &Connection, statements: &[&str], phase: i64) -> Result<Vec<u8>> {
    let mut hash = Sha256::new();
    for (index, sql) in statements.iter().enumerate() {
        hash.update([index as u8]);
        let ids = match *sql {
            OF_INTERVALS => intervals(c, phase)?,
            _ => vec![phase],
        };
        let mut statement = c.prepare_cached(sql)?;
        let columns = statement.column_count();
        for id in ids {
            if *sql == OF_INTERVALS {
                add(&mut hash, ValueRef::Integer(id));
            }
            let mut rows = statement.query([id])?;
            while let Some(row) = rows.next()? {
                hash.update([columns as u8]);
                for column in 0..columns {
                    add(&mut hash, row.get_ref(column)?);
                }
            }
        }
    }
    Ok(hash.finalize()[..16].to_vec())
}

fn intervals(c: &Connection, phase: i64) -> Result<Vec<i64>> {
    c.prepare_cached("SELECT id FROM interval WHERE phase = ? ORDER BY id")?
        .query_map([phase], |row| row.get(0))?
        .collect()
}

fn add(hash: &mut Sha256, value: ValueRef<'_>) {
    let number: [u8; 8];
    let (kind, bytes): (u8, &[u8]) = match value {
        ValueRef::Null => (0, &[]),
        ValueRef::Integer(integer) => {
            number = integer.to_le_bytes();
            (1, &number)
        }
        ValueRef::Real(real) => {
            number = real.to_bits().to_le_bytes();
            (2, &number)
        }
        ValueRef::Text(text) => (3, text),
        ValueRef::Blob(blob) => (4, blob),
    };
    hash.update([kind]);
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}
