//! What removes a data set from a cluster, and nothing that another program put there.

use super::{schema::MARKERS, schema::Tables};
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
/// largest that holds nothing else.
pub(super) async fn statements(
    session: &Session,
    tables: &Tables,
    made: &[Made],
) -> Result<Vec<String>, BoxError> {
    let Tables {
        keyspace, table, ..
    } = tables;
    let others = others(session, tables).await?;
    let has_marker_of_others = others.markers;
    let is_made = |name: &str| made.contains(&Made::Table(format!("{keyspace}.{name}")));
    if made.contains(&Made::Keyspace(keyspace.clone())) && !others.objects && !others.markers {
        return Ok(vec![format!("DROP KEYSPACE {keyspace}")]);
    }
    let verb = if is_made(table) {
        "DROP TABLE"
    } else {
        "TRUNCATE"
    };
    let marker = if is_made(MARKERS) && !has_marker_of_others {
        format!("DROP TABLE {keyspace}.{MARKERS}")
    } else {
        format!("DELETE FROM {keyspace}.{MARKERS} WHERE name = '{table}'")
    };
    Ok(vec![format!("{verb} {keyspace}.{table}"), marker])
}

/// What a keyspace holds beside a data set.
struct Others {
    /// Tables, views, types, functions.
    objects: bool,
    /// Markers of other data sets.
    markers: bool,
}

async fn others(session: &Session, tables: &Tables) -> Result<Others, BoxError> {
    let own = BTreeSet::from([tables.table.as_str(), MARKERS]);
    let mut objects = false;
    for (kind, column) in KINDS {
        let select = format!("SELECT {column} FROM system_schema.{kind} WHERE keyspace_name = ?");
        let names = names(session, select, &tables.keyspace).await?;
        objects |= names.iter().any(|name| !own.contains(name.as_str()));
    }
    let select = format!("SELECT name FROM {}.{MARKERS}", tables.keyspace);
    let rows = session
        .query_unpaged(select, ())
        .await?
        .into_rows_result()?;
    let marked: Vec<(String,)> = rows.rows()?.collect::<Result<_, _>>()?;
    let markers = marked.iter().any(|(name,)| *name != tables.table);
    Ok(Others { objects, markers })
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
