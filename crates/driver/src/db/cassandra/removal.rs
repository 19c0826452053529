//! What removes a data set from a cluster, and nothing that another program put there.

use super::schema::{Existing, MARKERS, Tables};
use crate::{Made, error::BoxError};
use scylla::client::session::Session;
use std::collections::BTreeSet;

/// What a keyspace can hold: the table of the server that lists it, and the column of its name.
const KINDS: [(&str, &str); 5] = [
    ("tables", "table_name"),
    ("views", "view_name"),
    ("types", "type_name"),
    ("functions", "function_name"),
    ("aggregates", "aggregate_name"),
];

/// The statements that remove the records and their marker, and of what was made around them the
/// largest that holds nothing else. `opened` is what there was when it was opened.
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
        return Err(format!("the tables of {keyspace} were changed meanwhile").into());
    }
    let has_marker = tables.marker(session, &existing).await?.is_some();
    if !has_marker && existing.made_for() != Some(&tables.study) {
        return Err(format!("table {keyspace}.{table} has no marker").into());
    }
    tables.refuse_of_user(session, &existing).await?;
    let has_marker_of_others = tables.has_other_markers(session, &existing).await?;
    let is_made = |name: &str| made.contains(&Made::Table(format!("{keyspace}.{name}")));
    let is_all_made = made.contains(&Made::Keyspace(keyspace.clone()))
        && (existing.table.is_none() || is_made(table))
        && is_made(MARKERS)
        && !has_marker_of_others;
    if is_all_made && !has_other_objects(session, tables).await? {
        return Ok(vec![format!("DROP KEYSPACE {keyspace}")]);
    }
    let data = is_made(table).then(|| format!("DROP TABLE {keyspace}.{table}"));
    let marker = if is_made(MARKERS) && !has_marker_of_others {
        Some(format!("DROP TABLE {keyspace}.{MARKERS}"))
    } else {
        let key = tables.marker_key(&existing).filter(|_| has_marker);
        key.map(|key| format!("DELETE FROM {keyspace}.{MARKERS} WHERE name = '{key}'"))
    };
    Ok(data.into_iter().chain(marker).collect())
}

/// Whether a keyspace holds tables, views, types or functions beside those of a data set.
pub(super) async fn has_other_objects(
    session: &Session,
    tables: &Tables,
) -> Result<bool, BoxError> {
    let own = BTreeSet::from([tables.table.as_str(), MARKERS]);
    for (kind, column) in KINDS {
        let select = format!("SELECT {column} FROM system_schema.{kind} WHERE keyspace_name = ?");
        let names = names(session, select, &tables.keyspace).await?;
        if names.iter().any(|name| !own.contains(name.as_str())) {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn names(session: &Session, select: String, keyspace: &str) -> Result<Vec<String>, BoxError> {
    let rows = session.query_unpaged(select, (keyspace,)).await?;
    let rows = rows.into_rows_result()?;
    let names: Vec<(String,)> = rows.rows()?.collect::<Result<_, _>>()?;
    Ok(names.into_iter().map(|(name,)| name).collect())
}

/// Carries out statements in their order: what is left of them, the next time.
pub(super) async fn carry_out(session: &Session, statements: &[String]) -> Result<(), BoxError> {
    for statement in statements {
        session.query_unpaged(statement.as_str(), ()).await?;
    }
    session.await_schema_agreement().await?;
    Ok(())
}
