//! Digests of what a phase consists of in the file. SQLite has no checksums: without them a bit
//! that turned on the disk is another number.

use crate::error::Damaged;
use rusqlite::{Connection, Error, Result, types::ValueRef};
use sha2::{Digest, Sha256};

/// What the digest `totals` is of: the rows of each statement, in this order.
const TOTALS: &[&str] = &[
    "SELECT started_ms, duration_s, operations, failed, start_lag, counters
     FROM phase WHERE id = ?",
    "SELECT system, records, threads FROM load WHERE phase = ?",
    "SELECT system, workload, distribution, threads, repeat, target_rate
     FROM point WHERE phase = ?",
    "SELECT kind, count, not_found, errors, bytes, service, response, failed
     FROM kind WHERE phase = ? ORDER BY rowid",
    "SELECT kind, time, name, ns FROM summary WHERE phase = ? ORDER BY rowid",
    "SELECT kind, cause, count, example FROM error WHERE phase = ? ORDER BY rowid",
    "SELECT code, text FROM finding WHERE phase = ? ORDER BY rowid",
];

/// What the digest `details` is of.
const DETAILS: &[&str] = &[
    "SELECT start_s, length_s, operations, failed FROM interval WHERE phase = ? ORDER BY id",
    "SELECT kind, count, errors, service, response FROM interval_kind
     WHERE interval IN (SELECT id FROM interval WHERE phase = ?) ORDER BY interval, rowid",
    "SELECT at_s FROM tick WHERE phase = ? ORDER BY id",
    "SELECT probe, subject, name, kind, \"values\" FROM series WHERE phase = ? ORDER BY rowid",
];

/// Puts the digests of a phase beside it, when all its rows are there.
pub fn seal(c: &Connection, phase: i64) -> Result<()> {
    let (totals, details) = (digest(c, TOTALS, phase)?, digest(c, DETAILS, phase)?);
    c.prepare_cached("UPDATE phase SET totals_digest = ?, details_digest = ? WHERE id = ?")?
        .execute((totals, details, phase))
        .map(drop)
}

/// Refuses a phase that is not as it was written, with its intervals and series or without them. Of
/// a study of before version 3, and of a phase measured by then, nothing is known.
pub fn verify(c: &Connection, phase: i64, with_details: bool) -> Result<()> {
    if !c.column_exists(None, "phase", "totals_digest")? {
        return Ok(());
    }
    let sealed = |column: &str| {
        let sql = format!("SELECT {column} FROM phase WHERE id = ?");
        c.prepare_cached(&sql)?
            .query_row([phase], |row| row.get::<_, Option<Vec<u8>>>(0))
    };
    let differs = |column, statements| {
        let sealed: Option<Vec<u8>> = sealed(column)?;
        Ok::<_, Error>(match sealed {
            Some(sealed) => sealed != digest(c, statements, phase)?,
            None => false,
        })
    };
    if differs("totals_digest", TOTALS)? || (with_details && differs("details_digest", DETAILS)?) {
        let damaged = Damaged {
            what: "a load or a point (its rows are not those that were written)",
        };
        return Err(Error::FromSqlConversionFailure(
            0,
            rusqlite::types::Type::Blob,
            Box::new(damaged),
        ));
    }
    Ok(())
}

/// The first 16 bytes of the SHA-256 of what the statements give of a phase: each row by the count
/// of its columns, each value by its type, its length and its bytes.
fn digest(c: &Connection, statements: &[&str], phase: i64) -> Result<Vec<u8>> {
    let mut hash = Sha256::new();
    for (index, sql) in statements.iter().enumerate() {
        hash.update([index as u8]);
        let mut statement = c.prepare_cached(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([phase])?;
        while let Some(row) = rows.next()? {
            hash.update([columns as u8]);
            for column in 0..columns {
                add(&mut hash, row.get_ref(column)?);
            }
        }
    }
    Ok(hash.finalize()[..16].to_vec())
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
