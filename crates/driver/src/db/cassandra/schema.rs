//! The keyspace and its tables: YCSB's, and one that holds the marker.

use crate::{DataSet, Settings, error::BoxError};
use scylla::{client::session::Session, statement::Statement};
use std::collections::BTreeSet;

/// The table of markers, in the same keyspace as the data.
pub(super) const MARKERS: &str = "tailmark";

/// Where the data is.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    /// The keyspace.
    pub keyspace: String,
    /// YCSB's table.
    pub table: String,
    /// The names of its fields.
    pub fields: Vec<String>,
}

impl Tables {
    /// As the settings and the data set say.
    pub fn new(settings: &Settings, data: &DataSet) -> Self {
        Self {
            keyspace: settings.text("keyspace").unwrap_or("ycsb").to_owned(),
            table: data.schema.table.clone(),
            fields: data.schema.fields.clone(),
        }
    }

    /// Whether the table is there.
    pub async fn exist(&self, session: &Session) -> Result<bool, BoxError> {
        Ok(!self.columns(session, &self.table).await?.is_empty())
    }

    /// Makes what is missing of keyspace and tables. What is there stays as it is: a table with
    /// other options than ours is one that somebody prepared.
    pub async fn make(&self, session: &Session, settings: &Settings) -> Result<(), BoxError> {
        if self.exist(session).await? && !self.columns(session, MARKERS).await?.is_empty() {
            return Ok(());
        }
        let Self {
            keyspace,
            table,
            fields,
        } = self;
        let copies = settings.text("replication").unwrap_or("1");
        let kind = settings.text("field_type").unwrap_or("varchar");
        let columns: String = fields
            .iter()
            .map(|field| format!(", {field} {kind}"))
            .collect();
        let compression = match settings.text("compression") {
            None => String::new(),
            Some("none") => " WITH compression = {'enabled': 'false'}".to_owned(),
            Some(name) => format!(" WITH compression = {{'class': '{}'}}", compressor(name)),
        };
        for statement in [
            format!(
                "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = \
                 {{'class': 'NetworkTopologyStrategy', 'replication_factor': {copies}}}"
            ),
            format!(
                "CREATE TABLE IF NOT EXISTS {keyspace}.{table} \
                 (y_id varchar PRIMARY KEY{columns}){compression}"
            ),
            format!(
                "CREATE TABLE IF NOT EXISTS {keyspace}.{MARKERS} \
                 (name varchar PRIMARY KEY, marker varchar)"
            ),
        ] {
            session.query_unpaged(statement, ()).await?;
        }
        session.await_schema_agreement().await?;
        session.refresh_metadata().await?;
        Ok(())
    }

    /// That the table has every field, in the type that the settings name.
    pub async fn check(&self, session: &Session, settings: &Settings) -> Result<(), BoxError> {
        let Self {
            keyspace, table, ..
        } = self;
        let columns = self.columns(session, table).await?;
        let kind = match settings.text("field_type") {
            Some("blob") => "blob",
            _ => "text",
        };
        for name in &self.fields {
            if !columns.contains(&(name.clone(), kind.to_owned())) {
                return Err(format!(
                    "table `{keyspace}.{table}` has no column `{name}` of type {kind}; drop the \
                     table, or give another `keyspace`"
                )
                .into());
            }
        }
        Ok(())
    }

    /// The columns of a table with their types; none where there is no such table.
    async fn columns(
        &self,
        session: &Session,
        table: &str,
    ) -> Result<BTreeSet<(String, String)>, BoxError> {
        let rows = session
            .query_unpaged(
                "SELECT column_name, type FROM system_schema.columns \
                 WHERE keyspace_name = ? AND table_name = ?",
                (&self.keyspace, table),
            )
            .await?
            .into_rows_result()?;
        Ok(rows.rows::<(String, String)>()?.collect::<Result<_, _>>()?)
    }

    /// Whether the table holds no record.
    pub async fn are_empty(&self, session: &Session) -> Result<bool, BoxError> {
        let one = format!("SELECT y_id FROM {}.{} LIMIT 1", self.keyspace, self.table);
        let rows = session.query_unpaged(one, ()).await?.into_rows_result()?;
        Ok(rows.rows_num() == 0)
    }

    /// Removes every record; table and marker stay.
    pub async fn truncate(&self, session: &Session) -> Result<(), BoxError> {
        let truncate = format!("TRUNCATE {}.{}", self.keyspace, self.table);
        session.query_unpaged(truncate, ()).await?;
        Ok(())
    }

    /// The marker of the table.
    pub async fn marker(&self, session: &Session) -> Result<Option<String>, BoxError> {
        let select = format!(
            "SELECT marker FROM {}.{MARKERS} WHERE name = ?",
            self.keyspace
        );
        let found = session.query_unpaged(select, (&self.table,)).await?;
        let found = found.into_rows_result()?;
        Ok(found
            .maybe_first_row::<(String,)>()?
            .map(|(marker,)| marker))
    }

    /// Writes the marker of the table.
    pub async fn set_marker(&self, session: &Session, marker: &str) -> Result<(), BoxError> {
        let insert = format!(
            "INSERT INTO {}.{MARKERS} (name, marker) VALUES (?, ?)",
            self.keyspace
        );
        let mut insert = Statement::new(insert);
        insert.set_is_idempotent(true);
        session.query_unpaged(insert, (&self.table, marker)).await?;
        Ok(())
    }
}

/// The class that compresses.
fn compressor(name: &str) -> &'static str {
    match name {
        "deflate" => "DeflateCompressor",
        "snappy" => "SnappyCompressor",
        "zstd" => "ZstdCompressor",
        _ => "LZ4Compressor",
    }
}
