//! Removes a data set from a cluster, but nothing that another program put there.

use super::schema::{Existing, MARKERS, Tables, names};
use crate::{Made, error::BoxError};
use scylla::client::session::Session;
use std::collections::BTreeSet;

/// What a keyspace can hold: the server's table that lists it, and the column of its name.
const KINDS: [(&str, &str); 5] = [
    ("tables", "table_name"),
    ("views", "view_name"),
    ("types", "type_name"),
    ("functions", "function_name"),
    ("aggregates", "aggregate_name"),
];

/// The statements that remove the records and their marker and, at the end, the keyspace, if it was
/// created for them and holds nothing else. `opened` is what existed when it was opened.
pub(super) async fn statements(
    session: &Session,
    tables: &Tables,
    opened: &Existing,
    made: &[Made],
) -> Result<Vec<String>, BoxError> {
    let Tables {
        keyspace, table, ..
    } = tables;
    let existing = tables.existing(session).await?;
    if existing != *opened {
        return Err(changed(keyspace));
    }
    let has_marker = tables.marker(session, &existing).await?.is_some();
    if !has_marker && existing.made_for() != Some(&tables.study) {
        return Err(format!("table {keyspace}.{table} has no marker").into());
    }
    tables.refuse_of_user(session, &existing).await?;
    tables.refuse_unmarked(session, &existing).await?;
    let has_marker_of_others = tables.has_other_markers(session, &existing).await?;
    let is_made = |name: &str| made.contains(&Made::Table(format!("{keyspace}.{name}")));
    let is_all_made = made.contains(&Made::Keyspace(keyspace.clone()))
        && (existing.table.is_none() || is_made(table))
        && is_made(MARKERS)
        && !has_marker_of_others;
    let is_alone = is_all_made && !has_other_objects(session, tables).await?;
    let has_own = existing.table.is_some() && is_made(table);
    let data = has_own.then(|| format!("DROP TABLE {keyspace}.{table}"));
    let marker = if is_made(MARKERS) && !has_marker_of_others {
        Some(format!("DROP TABLE {keyspace}.{MARKERS}"))
    } else {
        let key = tables.marker_key(&existing).filter(|_| has_marker);
        key.map(|key| format!("DELETE FROM {keyspace}.{MARKERS} WHERE name = '{key}'"))
    };
    let around = is_alone.then(|| drop_keyspace(keyspace));
    Ok(data.into_iter().chain(marker).chain(around).collect())
}

pub(super) fn changed(keyspace: &str) -> BoxError {
    format!("another program changed the tables of {keyspace} in the meantime").into()
}

fn drop_keyspace(keyspace: &str) -> String {
    format!("DROP KEYSPACE {keyspace}")
}

/// Whether a keyspace holds tables, views, types or functions besides those of a data set.
pub(super) async fn has_other_objects(
    session: &Session,
    tables: &Tables,
) -> Result<bool, BoxError> {
    let own = [tables.table.as_str(), MARKERS];
    let objects = objects(session, &tables.keyspace).await?;
    Ok(objects.iter().any(|name| !own.contains(&name.as_str())))
}

/// The names of everything in a keyspace.
async fn objects(session: &Session, keyspace: &str) -> Result<BTreeSet<String>, BoxError> {
    let mut objects = BTreeSet::new();
    for (kind, column) in KINDS {
        let select = format!("SELECT {column} FROM system_schema.{kind} WHERE keyspace_name = ?");
        objects.extend(names(session, &select, keyspace).await?);
    }
    Ok(objects)
}

/// Executes statements in order, and returns those that it executed; a later call executes the
/// rest. Another program may create something after the statements were made, or while one is
/// executed. So the keyspace goes last, and only if it is empty by then, and a table goes only if
/// it is the one that was `opened`.
pub(super) async fn carry_out(
    session: &Session,
    tables: &Tables,
    opened: &Existing,
    statements: Vec<String>,
) -> Result<Vec<String>, BoxError> {
    let keyspace = &tables.keyspace;
    let mut done = Vec::new();
    for statement in statements {
        session.await_schema_agreement().await?;
        if statement == drop_keyspace(keyspace) {
            if !objects(session, keyspace).await?.is_empty() {
                continue;
            }
        } else {
            let now = tables.existing(session).await?;
            // The table of records is dropped first.
            let has_table = now.table == opened.table || !done.is_empty();
            if now.markers != opened.markers || !has_table {
                return Err(changed(keyspace));
            }
        }
        session.query_unpaged(statement.as_str(), ()).await?;
        done.push(statement);
    }
    session.await_schema_agreement().await?;
    Ok(done)
}
