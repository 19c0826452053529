//! The tables of the file, and its version: how one is made, recognised and brought up to date.

use super::{Study, foreign, study_error};
use crate::{Error, Header, System};
use rusqlite::Connection;
use std::path::Path;

/// In the header of every study (`PRAGMA application_id`): the letters `tmrk`.
const APPLICATION: u32 = u32::from_be_bytes(*b"tmrk");

/// The tables of the newest version.
const TABLES: &str = include_str!("schema.sql");

/// What brings a file from version i + 1 to i + 2.
const MIGRATIONS: [&str; Study::VERSION as usize - 1] = [
    "CREATE TABLE summary (
        phase INTEGER NOT NULL REFERENCES phase ON DELETE CASCADE,
        kind TEXT NOT NULL,
        time TEXT NOT NULL,
        name TEXT NOT NULL,
        ns REAL NOT NULL
    ) STRICT;
    CREATE INDEX summary_phase ON summary (phase);",
    // Null in what was there before: then it is made out from the kinds.
    "ALTER TABLE phase ADD COLUMN failed INTEGER;
    ALTER TABLE phase ADD COLUMN totals_digest BLOB;
    ALTER TABLE phase ADD COLUMN details_digest BLOB;
    ALTER TABLE interval ADD COLUMN failed INTEGER;",
    // Null in what was there before: nothing was drained or censored.
    "ALTER TABLE phase ADD COLUMN drained INTEGER;
    ALTER TABLE phase ADD COLUMN censored INTEGER;
    ALTER TABLE phase ADD COLUMN lag_no_client BLOB;
    ALTER TABLE phase ADD COLUMN lag_woken_late BLOB;
    ALTER TABLE kind ADD COLUMN censored_service BLOB;
    ALTER TABLE kind ADD COLUMN censored_response BLOB;
    ALTER TABLE point ADD COLUMN arrivals TEXT;
    DROP INDEX point_once;
    CREATE UNIQUE INDEX point_once ON point
        (system, workload, distribution, threads, repeat, ifnull(target_rate, -1),
         ifnull(arrivals, ''));
    CREATE TABLE resolved_rate (
        position INTEGER PRIMARY KEY,
        system TEXT NOT NULL,
        workload TEXT NOT NULL,
        distribution TEXT NOT NULL,
        asked TEXT NOT NULL,
        of_system TEXT NOT NULL,
        peak_ops_per_sec REAL NOT NULL,
        rate REAL NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX resolved_rate_once ON resolved_rate
        (system, workload, distribution, asked);",
    // Null in what was there before: nobody worked it out.
    "ALTER TABLE kind ADD COLUMN block_qos TEXT CHECK (block_qos IS NULL OR json_valid(block_qos));",
    // Null in what was there before: no warm-up was kept, and nothing was a probe.
    "ALTER TABLE phase ADD COLUMN warmup_of INTEGER REFERENCES phase ON DELETE CASCADE;
    ALTER TABLE phase ADD COLUMN steady_s REAL;
    ALTER TABLE phase ADD COLUMN not_steady TEXT;
    ALTER TABLE point ADD COLUMN is_probe INTEGER;
    DROP INDEX point_once;
    CREATE UNIQUE INDEX point_once ON point
        (system, workload, distribution, threads, repeat, ifnull(target_rate, -1),
         ifnull(arrivals, ''), ifnull(is_probe, 0));",
    // Null in what was there before: one process measured it, and nobody counted what failed, or
    // how many bytes were read and written, after the end.
    "ALTER TABLE phase ADD COLUMN ranks TEXT CHECK (ranks IS NULL OR json_valid(ranks));
    ALTER TABLE phase ADD COLUMN drained_failed INTEGER;
    ALTER TABLE kind ADD COLUMN drained_bytes INTEGER;",
    // Null in what was there before: one process measured it.
    "ALTER TABLE phase ADD COLUMN ranks TEXT CHECK (ranks IS NULL OR json_valid(ranks));",
    // Null in what was there before: the text has no gaps.
    "ALTER TABLE finding ADD COLUMN evidence TEXT CHECK (evidence IS NULL OR json_valid(evidence));",
];

/// Large enough that the histogram of an interval leaves little of a page unused.
const PAGE_BYTES: u32 = 16 << 10;

/// Fills an empty file.
pub fn create(
    connection: &mut Connection,
    header: &Header,
    systems: &[System],
) -> rusqlite::Result<()> {
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    set_up(connection)?;
    let transaction = connection.transaction()?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", Study::VERSION)?;
    transaction.execute_batch(TABLES)?;
    super::write::header(&transaction, header)?;
    super::write::systems(&transaction, systems)?;
    transaction.commit()
}

/// Tables in memory, without a header.
pub fn in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.execute_batch(TABLES)?;
    Ok(connection)
}

/// What holds for a connection, not for the file.
pub fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "foreign_keys", true)?;
    be_durable(connection)
}

/// A transaction is committed when its rollback journal is gone. With `FULL` the directory is not
/// synced after that, so that a power cut brings the journal back, and what was committed is rolled
/// back; with `EXTRA` it is.
fn be_durable(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "EXTRA")
}

/// Refuses what is not a study of a known version; brings an older one up to date, unless it cannot
/// be written: then it is read as it is, and what its version did not have is not there.
pub fn check(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let number = |connection: &Connection, name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0))
    };
    let application = match number(connection, "application_id") {
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => 0,
        other => other.map_err(study_error("open", path))?,
    };
    if application != APPLICATION {
        return Err(Error::NotAStudy {
            path: path.to_owned(),
        });
    }
    let version = number(connection, "user_version").map_err(study_error("open", path))?;
    if version > Study::VERSION {
        let known = Study::VERSION;
        return Err(Error::Newer {
            path: path.to_owned(),
            version,
            known,
        });
    }
    foreign::check_tables(connection, version, path)?;
    let can_write = !connection
        .is_readonly("main")
        .map_err(study_error("open", path))?;
    if version < Study::VERSION && can_write {
        migrate(connection, version).map_err(study_error("bring up to date", path))?;
    }
    Ok(())
}

fn migrate(connection: &mut Connection, from: u32) -> rusqlite::Result<()> {
    be_durable(connection)?;
    let transaction = connection.transaction()?;
    for script in &MIGRATIONS[from.saturating_sub(1) as usize..] {
        transaction.execute_batch(script)?;
    }
    if from < 3 {
        super::digest::seal_all(&transaction)?;
    }
    transaction.pragma_update(None, "user_version", Study::VERSION)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{Detail, read, read::Keyed};
    use rusqlite::OpenFlags;

    /// What a file of an older version says where it is not brought up to date.
    fn read_as_it_is(version: u32) -> Vec<crate::Point> {
        let path = format!("tests/fixtures/version-{version}.study");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let before = std::fs::read(&path).unwrap();
        let mut connection =
            Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        check(&mut connection, &path).unwrap();
        let points = read::points(&connection, Detail::Whole).unwrap();
        let keys = read::keys(&connection, Keyed::Point).unwrap();
        assert_eq!(keys[0].1, points[0].key);
        let found = read::point(&connection, Keyed::Point, &points[0].key).unwrap();
        assert_eq!(found.as_ref(), points.first());
        let rates = read::resolved_rates(&connection).unwrap();
        assert_eq!(rates.is_empty(), version < 4);
        drop(connection);
        assert_eq!(std::fs::read(&path).unwrap(), before);
        points
    }

    #[test]
    fn an_older_study_that_cannot_be_written_is_read_as_it_is() {
        for version in 1..Study::VERSION {
            let points = read_as_it_is(version);
            let mut kinds = points[0].phase.kinds.values();
            assert!(kinds.all(|k| k.count > 0 && k.summary.is_some() == (version > 1)));
        }
    }
}
