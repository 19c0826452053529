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

/// What the digest `totals` is of besides since version 4: of each statement only where it gives
/// anything, so that what was sealed by version 3, which has null in these columns, is still as it
/// was sealed.
const TOTALS_SINCE_4: &[&str] = &[
    "SELECT drained, censored, lag_no_client, lag_woken_late FROM phase WHERE id = ?
     AND coalesce(drained, censored, lag_no_client, lag_woken_late) IS NOT NULL",
    "SELECT arrivals FROM point WHERE phase = ? AND arrivals IS NOT NULL",
    "SELECT kind, censored_service, censored_response FROM kind WHERE phase = ?
     AND coalesce(censored_service, censored_response) IS NOT NULL ORDER BY rowid",
];

/// And since version 5.
const TOTALS_SINCE_5: &[&str] =
    &["SELECT kind, block_qos FROM kind WHERE phase = ? AND block_qos IS NOT NULL ORDER BY rowid"];

/// And since version 6: what a warm-up came to, which one a point has, and whether it is a probe.
const TOTALS_SINCE_6: &[&str] = &[
    "SELECT warmup_of, steady_s, not_steady FROM phase WHERE id = ? AND warmup_of IS NOT NULL",
    "SELECT id FROM phase WHERE warmup_of = ?",
    "SELECT is_probe FROM point WHERE phase = ? AND is_probe IS NOT NULL",
];

/// And since version 7: what each process did of it, and what else was done after its end.
const TOTALS_SINCE_7: &[&str] = &[
    "SELECT ranks FROM phase WHERE id = ? AND ranks IS NOT NULL",
    "SELECT drained_failed FROM phase WHERE id = ? AND drained_failed IS NOT NULL",
    "SELECT kind, drained_bytes FROM kind WHERE phase = ? AND drained_bytes IS NOT NULL
     ORDER BY rowid",
];

/// And since version 8: what the gaps of findings are filled with.
const TOTALS_SINCE_8: &[&str] =
    &["SELECT code, evidence FROM finding WHERE phase = ? AND evidence IS NOT NULL ORDER BY rowid"];

/// Of each interval of the phase, one after the other: as they are read.
const OF_INTERVALS: &str =
    "SELECT kind, count, errors, service, response FROM interval_kind WHERE interval = ?";

/// What the digest `details` is of. Which interval a row is of, and which instants a series has, is
/// in it by the numbers of the rows: where a bit of an index turned, a search finds the rows of
/// another.
const DETAILS: &[&str] = &[
    "SELECT id, start_s, length_s, operations, failed FROM interval WHERE phase = ? ORDER BY id",
    OF_INTERVALS,
    "SELECT id, at_s FROM tick WHERE phase = ? ORDER BY id",
    "SELECT tick, probe, subject, name, kind, \"values\" FROM series WHERE phase = ?
     ORDER BY rowid",
];

/// What it was of in version 3.
const DETAILS_OF_3: &[&str] = &[
    "SELECT start_s, length_s, operations, failed FROM interval WHERE phase = ? ORDER BY id",
    "SELECT kind, count, errors, service, response FROM interval_kind
     WHERE interval IN (SELECT id FROM interval WHERE phase = ?) ORDER BY interval, rowid",
    "SELECT at_s FROM tick WHERE phase = ? ORDER BY id",
    "SELECT probe, subject, name, kind, \"values\" FROM series WHERE phase = ? ORDER BY rowid",
];

/// Puts the digests of a phase beside it, when all its rows are there.
pub fn seal(c: &Connection, phase: i64) -> Result<()> {
    let (totals, details) = (totals(c, phase)?, details(c, phase)?);
    c.prepare_cached("UPDATE phase SET totals_digest = ?, details_digest = ? WHERE id = ?")?
        .execute((totals, details, phase))
        .map(drop)
}

/// Puts digests beside every phase as it is found: of a study of before version 3, which had none.
pub fn seal_all(c: &Connection) -> Result<()> {
    let phases: Vec<i64> = c
        .prepare("SELECT id FROM phase")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_>>()?;
    phases.into_iter().try_for_each(|phase| seal(c, phase))
}

/// Refuses a phase that is not as it was written, with its intervals and series or without them, or
/// that has no digests. A study of before version 3 has none, and nothing is known of it.
pub fn verify(c: &Connection, phase: i64, with_details: bool) -> Result<()> {
    if !c.column_exists(None, "phase", "totals_digest")? {
        return Ok(());
    }
    let sealed = |column: &str| {
        let sql = format!("SELECT {column} FROM phase WHERE id = ?");
        let mut statement = c.prepare_cached(&sql)?;
        statement.query_row([phase], |row| row.get::<_, Option<Vec<u8>>>(0))
    };
    let (totals_sealed, details_sealed) = (sealed("totals_digest")?, sealed("details_digest")?);
    let is_sealed = totals_sealed.is_some() && details_sealed.is_some();
    let totals_differ = totals_sealed != Some(totals(c, phase)?);
    let details_differ = with_details
        && details_sealed != Some(details(c, phase)?)
        && details_sealed != Some(digest(c, DETAILS_OF_3, &[], phase)?);
    if !is_sealed || totals_differ || details_differ {
        let what = if is_sealed {
            "a load or a point (its rows are not those that were written)"
        } else {
            "a load or a point (its digests are missing)"
        };
        let damaged = Damaged { what };
        return Err(Error::FromSqlConversionFailure(
            0,
            rusqlite::types::Type::Blob,
            Box::new(damaged),
        ));
    }
    Ok(())
}

fn totals(c: &Connection, phase: i64) -> Result<Vec<u8>> {
    // A file of an earlier version that cannot be written has no such columns.
    let mut later = Vec::new();
    if c.column_exists(None, "phase", "drained")? {
        later.extend(TOTALS_SINCE_4);
    }
    if c.column_exists(None, "kind", "block_qos")? {
        later.extend(TOTALS_SINCE_5);
    }
    if c.column_exists(None, "phase", "warmup_of")? {
        later.extend(TOTALS_SINCE_6);
    }
    if c.column_exists(None, "phase", "ranks")? {
        later.extend(TOTALS_SINCE_7);
    }
    if c.column_exists(None, "finding", "evidence")? {
        later.extend(TOTALS_SINCE_8);
    }
    digest(c, TOTALS, &later, phase)
}

fn details(c: &Connection, phase: i64) -> Result<Vec<u8>> {
    digest(c, DETAILS, &[], phase)
}

/// The first 16 bytes of the SHA-256 of what the statements give of a phase: the number of each, and
/// each row by the count of its columns, each value by its type, its length and its bytes. A later
/// statement that gives nothing is not there at all.
fn digest(c: &Connection, statements: &[&str], later: &[&str], phase: i64) -> Result<Vec<u8>> {
    let mut hash = Sha256::new();
    for (index, sql) in statements.iter().chain(later).enumerate() {
        let mut numbered = index < statements.len();
        if numbered {
            hash.update([index as u8]);
        }
        let of = match *sql {
            OF_INTERVALS => intervals(c, phase)?,
            _ => vec![phase],
        };
        let mut statement = c.prepare_cached(sql)?;
        let columns = statement.column_count();
        for id in of {
            if *sql == OF_INTERVALS {
                add(&mut hash, ValueRef::Integer(id));
            }
            let mut rows = statement.query([id])?;
            while let Some(row) = rows.next()? {
                if !std::mem::replace(&mut numbered, true) {
                    hash.update([index as u8]);
                }
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
