//! The tables of the file and its version: how a study is created and recognised.

use super::Study;
use rusqlite::Connection;
use tailmark_model::{Header, System};

/// In the header of every study (`PRAGMA application_id`): the letters `tmrk`.
pub const APPLICATION: u32 = u32::from_be_bytes(*b"tmrk");

/// The tables of this version.
const TABLES: &str = include_str!("schema.sql");

/// The tables that few studies need. They get them when they need them.
pub const NEWER: &[&str] = &["anatomy"];

/// The statement that makes the table of requests that were taken apart.
const ANATOMY: &str = "CREATE TABLE IF NOT EXISTS anatomy (
    phase INTEGER PRIMARY KEY REFERENCES phase ON DELETE CASCADE,
    found BLOB NOT NULL,
    digest BLOB NOT NULL
) STRICT";

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
    add_newer(&connection)?;
    Ok(connection)
}

/// Adds the tables of [`NEWER`], unless they are there.
pub fn add_newer(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(ANATOMY)
}

/// What holds for a connection, not for the file.
pub fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "foreign_keys", true)?;
    be_durable(connection)
}

/// A transaction is committed when its rollback journal is gone. With `FULL` the directory is not
/// synced afterwards, so a power cut can bring the journal back and roll back the commit. `EXTRA`
/// syncs it.
fn be_durable(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "EXTRA")
}
