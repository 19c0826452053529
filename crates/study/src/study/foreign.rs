//! Protects readers from a hostile file. A study is input and not code. But a database can contain
//! views, triggers and computed columns that run forever or fill the memory when they are read. So
//! SQLite is told to trust nothing in it, the file may have only the tables of a study, and reading
//! may take only as many steps as a file of its size can need.

use super::{schema, study_error};
use crate::Error;
use rusqlite::{Connection, config::DbConfig, limits::Limit};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tailmark_model::printable;

/// SQLite's limits for a file, far above what a study needs.
const LIMITS: [(Limit, i32); 6] = [
    // Bytes of a value and of a row. A series has 8 MiB at most.
    (Limit::SQLITE_LIMIT_LENGTH, 32 << 20),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
    (Limit::SQLITE_LIMIT_COLUMN, 100),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    // Rows that are removed with the phase that they are of count as such.
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 10),
];

/// Steps of SQLite's virtual machine after which it asks whether to stop.
const STEPS: u32 = 10_000;
/// Steps that reading anything may take, and more for each byte of the file: an honest study takes
/// about one for each.
const STEPS_MIN: u64 = 20_000_000;
const STEPS_PER_BYTE: u64 = 20;

/// The remaining steps of the current read.
#[derive(Debug, Clone)]
pub struct Budget(Arc<AtomicU64>);

impl Budget {
    const ENDLESS: u64 = u64::MAX;

    /// For a file of this many bytes, from now on.
    pub fn begin(&self, bytes: u64) {
        let steps = STEPS_MIN.saturating_add(bytes.saturating_mul(STEPS_PER_BYTE));
        self.0.store(steps, Ordering::Relaxed);
    }

    /// From now on there is none.
    pub fn end(&self) {
        self.0.store(Self::ENDLESS, Ordering::Relaxed);
    }

    /// Whether SQLite is to stop.
    fn is_spent(&self) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        if left == Self::ENDLESS {
            return false;
        }
        let left = left.saturating_sub(STEPS.into());
        self.0.store(left, Ordering::Relaxed);
        left == 0
    }
}

/// Protects a connection, before anything of its file is read.
pub fn distrust(connection: &mut Connection) -> rusqlite::Result<Budget> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    for (limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    connection.pragma_update(None, "cell_size_check", true)?;
    let budget = Budget(Arc::new(AtomicU64::new(Budget::ENDLESS)));
    let watched = budget.clone();
    connection.progress_handler(STEPS as i32, Some(move || watched.is_spent()))?;
    Ok(budget)
}

/// The definition of a table or an index: for a table its columns with types, for an index its SQL.
type Parts = BTreeMap<(String, String), Vec<String>>;

/// Refuses a file with anything else than the tables and indexes of a study.
pub fn check_tables(connection: &Connection, path: &Path) -> Result<(), Error> {
    let failed = || study_error("read the tables of", path);
    let own = schema::in_memory().map_err(failed())?;
    let known = parts(&own).map_err(failed())?;
    let found = parts(connection).map_err(failed())?;
    let foreign = |what: String| Error::ForeignTables {
        path: path.to_owned(),
        what,
    };
    for ((kind, name), parts) in &found {
        let named = || format!("{} `{}`", printable(kind), printable(name));
        let Some(expected) = known.get(&(kind.clone(), name.clone())) else {
            return Err(foreign(named()));
        };
        if let Some(part) = parts.iter().find(|part| !expected.contains(part)) {
            return Err(foreign(format!("`{}` of {}", printable(part), named())));
        }
    }
    let is_newer = |key: &(String, String)| schema::NEWER.contains(&key.1.as_str());
    let mut missing = known.keys().filter(|key| !found.contains_key(*key));
    match missing.find(|key| !is_newer(key)) {
        Some((kind, name)) => Err(foreign(format!("no {kind} `{name}`"))),
        None => Ok(()),
    }
}

fn parts(connection: &Connection) -> rusqlite::Result<Parts> {
    let select = "SELECT type, name, ifnull(sql, ''), sql LIKE 'CREATE VIRTUAL%'
                  FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\'";
    let mut objects = connection.prepare(select)?;
    let mut rows = objects.query([])?;
    let mut parts = Parts::new();
    while let Some(row) = rows.next()? {
        let (kind, name, sql): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let kind = match row.get::<_, Option<bool>>(3)? {
            Some(true) => "virtual table".to_owned(),
            _ => kind,
        };
        let definition = match kind.as_str() {
            "table" => columns(connection, &name)?,
            "index" => vec![sql.split_whitespace().collect::<Vec<_>>().join(" ")],
            _ => Vec::new(),
        };
        parts.insert((kind, name), definition);
    }
    Ok(parts)
}

/// The columns of a table with their types, and whether they are computed.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let sql =
        "SELECT name || ' ' || type || iif(hidden, ' computed', '') FROM pragma_table_xinfo(?)";
    let mut columns = connection.prepare(sql)?;
    columns.query_map([table], |row| row.get(0))?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_for_ever_is_interrupted_and_what_does_not_is_read() {
        let mut connection = Connection::open_in_memory().unwrap();
        let budget = distrust(&mut connection).unwrap();
        let count = |rows: &str| {
            let sql = format!(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n {rows})
                 SELECT count(*) FROM n"
            );
            connection.query_row(&sql, [], |row| row.get::<_, i64>(0))
        };
        budget.begin(0);
        assert_eq!(count("LIMIT 10000"), Ok(10_000));
        let error = count("").unwrap_err();
        let code = error.sqlite_error_code();
        assert_eq!(code, Some(rusqlite::ErrorCode::OperationInterrupted));
        // A file of more bytes may take more steps, and writing may take all.
        assert!(count("LIMIT 10000").is_err());
        budget.begin(1 << 30);
        assert_eq!(count("LIMIT 1000000"), Ok(1_000_000));
        budget.end();
        assert_eq!(count("LIMIT 1000000"), Ok(1_000_000));
    }

    #[test]
    fn nothing_that_a_file_names_is_attached_or_trusted() {
        let mut connection = Connection::open_in_memory().unwrap();
        distrust(&mut connection).unwrap();
        assert!(
            connection
                .execute("ATTACH ':memory:' AS other", [])
                .is_err()
        );
        let big = connection.query_row("SELECT length(zeroblob(100000000))", [], |row| {
            row.get::<_, i64>(0)
        });
        assert!(big.is_err());
        assert!(connection.execute_batch("PRAGMA writable_schema = ON; CREATE TABLE a (b); UPDATE sqlite_schema SET sql = ''").is_err());
    }
}
