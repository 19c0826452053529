//! Markers of tables that tailmark created or loaded, in a table of their own.

use super::{Existing, MARKERS, Tables};
use crate::error::BoxError;
use scylla::{client::session::Session, statement::Statement};

impl Tables {
    pub(super) fn insert_marker(&self) -> String {
        format!(
            "INSERT INTO {}.{MARKERS} (name, marker) VALUES (?, ?)",
            self.keyspace
        )
    }

    /// The key of a table's marker: the name of the table, its id and that of the table of markers,
    /// and whether tailmark created it. If one of these tables is created again, it has no marker,
    /// not even with the same id (`WITH id = ...`, as in backups of a schema).
    pub fn marker_key(&self, existing: &Existing) -> Option<String> {
        let (table, markers) = (existing.table.as_ref()?, existing.markers.as_ref()?);
        let whose = if table.made.is_some() {
            ""
        } else {
            " existing"
        };
        Some(format!("{} {} {}{whose}", self.table, table.id, markers.id))
    }

    /// The marker of the existing table.
    pub async fn marker(
        &self,
        session: &Session,
        existing: &Existing,
    ) -> Result<Option<String>, BoxError> {
        let Some(key) = self.marker_key(existing) else {
            return Ok(None);
        };
        let select = format!(
            "SELECT marker FROM {}.{MARKERS} WHERE name = ?",
            self.keyspace
        );
        let found = session.query_unpaged(select, (key,)).await?;
        let found = found.into_rows_result()?;
        Ok(found
            .maybe_first_row::<(String,)>()?
            .map(|(marker,)| marker))
    }

    /// Writes the marker of the existing table.
    pub async fn set_marker(
        &self,
        session: &Session,
        existing: &Existing,
        marker: &str,
    ) -> Result<(), BoxError> {
        let key = self.marker_key(existing).ok_or("a table is missing")?;
        let mut insert = Statement::new(self.insert_marker());
        insert.set_is_idempotent(true);
        session.query_unpaged(insert, (key, marker)).await?;
        Ok(())
    }

    /// Whether there are markers of other existing tables.
    pub async fn has_other_markers(
        &self,
        session: &Session,
        existing: &Existing,
    ) -> Result<bool, BoxError> {
        let own = self.marker_key(existing);
        let tables = self.tables(session).await?;
        let select = format!("SELECT name FROM {}.{MARKERS}", self.keyspace);
        let rows = session.query_unpaged(select, ()).await?;
        let rows = rows.into_rows_result()?;
        let keys: Vec<(String,)> = rows.rows()?.collect::<Result<_, _>>()?;
        Ok(keys.into_iter().any(|(key,)| {
            let mut parts = key.split(' ');
            let table = tables.get(parts.next().unwrap_or_default());
            let is_gone = parts
                .next()
                .is_some_and(|id| table.is_none_or(|t| t.id != id));
            Some(&key) != own.as_ref() && !is_gone
        }))
    }
}
