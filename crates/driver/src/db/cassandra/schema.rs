//! The keyspace and its tables: YCSB's table, and the table of markers.

mod markers;

use super::{
    comment::{MadeFor, is_id},
    failure::ForeignTable,
    settings::{NAME, is_name},
};
use crate::{Made, Params, ServerContents, Settings, error::BoxError};
use scylla::{
    client::session::Session, frame::types::Consistency, policies::retry::FallthroughRetryPolicy,
    statement::Statement, value::CqlValue,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The table of markers, in the same keyspace as the data.
pub(super) const MARKERS: &str = "tailmark";

/// The existing parts of a keyspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Existing {
    /// Whether the keyspace exists.
    pub keyspace: bool,
    /// The table of markers, if it exists.
    pub markers: Option<Table>,
    /// The table of records, if it exists.
    pub table: Option<Table>,
}

/// A table of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    /// The server's id of the table. A table that is dropped and created again gets a new one.
    pub id: String,
    /// The content of its comment, if tailmark created it.
    pub made: Option<MadeFor>,
}

impl Existing {
    /// Whether tailmark created the keyspace.
    fn has_own_keyspace(&self) -> bool {
        let markers = self.markers.as_ref();
        let made = markers.and_then(|table| table.made.as_ref());
        made.is_some_and(|made| made.with_keyspace)
    }

    /// Whether another program has a table under the name of tailmark's markers.
    pub fn has_foreign_markers(&self) -> bool {
        let markers = self.markers.as_ref();
        markers.is_some_and(|table| table.made.is_none())
    }

    /// Whether tailmark did not create the table of records. Its user may keep other records in it,
    /// so none is removed.
    pub fn is_of_user(&self) -> bool {
        let table = self.table.as_ref();
        table.is_some_and(|table| table.made.is_none())
    }

    /// Whether these are exactly the same tables.
    pub fn has_tables_of(&self, other: &Self) -> bool {
        let ids = |existing: &Self| {
            let table = |table: &Option<Table>| table.as_ref().map(|table| table.id.clone());
            (table(&existing.table), table(&existing.markers))
        };
        ids(self) == ids(other)
    }

    /// The study that created all existing tables.
    pub fn made_for(&self) -> Option<&str> {
        let study = |table: &'_ Table| Some(table.made.as_ref()?.study.clone());
        let made = self.markers.as_ref()?.made.as_ref()?;
        let is_all = self
            .table
            .as_ref()
            .is_none_or(|table| study(table).as_ref() == Some(&made.study));
        (is_all && !made.study.is_empty()).then_some(&made.study)
    }
}

/// Name, type and kind of a column.
type Column = (String, String, String);

fn columns_of<const N: usize>(columns: [(&str, &str, &str); N]) -> BTreeSet<Column> {
    columns
        .map(|(name, field_type, kind)| (name.into(), field_type.into(), kind.into()))
        .into()
}

/// The place of the data.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    /// The keyspace.
    pub keyspace: String,
    /// YCSB's table.
    pub table: String,
    /// The names of its fields.
    pub fields: Vec<String>,
    /// The id of the study that uses them; empty if there is none.
    pub study: String,
}

/// The values of a column that a statement selects about a keyspace.
pub(super) async fn names(
    session: &Session,
    select: &str,
    keyspace: &str,
) -> Result<Vec<String>, BoxError> {
    let rows = session.query_unpaged(select, (keyspace,)).await?;
    let rows = rows.into_rows_result()?;
    let names: Vec<(String,)> = rows.rows()?.collect::<Result<_, _>>()?;
    Ok(names.into_iter().map(|(name,)| name).collect())
}

impl Tables {
    /// The place according to the settings and the data set.
    pub fn new(params: &Params) -> Self {
        let Params {
            settings,
            data,
            study,
            ..
        } = params;
        Self {
            keyspace: settings.text("keyspace").unwrap_or("ycsb").to_owned(),
            // In the form that CQL accepts.
            table: data.schema.table.to_ascii_lowercase(),
            fields: data
                .schema
                .fields
                .iter()
                .map(|field| field.to_ascii_lowercase())
                .collect(),
            study: if is_id(study) {
                study.clone()
            } else {
                String::new()
            },
        }
    }

    /// The existing parts of the keyspace, and which of them tailmark created.
    ///
    /// # Errors
    /// If CQL does not accept a name without quotes, or if a view has the name of a table. `CREATE
    /// TABLE` would then create a table beside the view, and the server would not start again.
    pub async fn existing(&self, session: &Session) -> Result<Existing, BoxError> {
        let mut names_of_data = std::iter::once(&self.table).chain(&self.fields);
        if let Some(name) = names_of_data.find(|name| !is_name(name)) {
            return Err(
                format!("`{name}` is not a valid table or field name: it must be {NAME}").into(),
            );
        }
        if self.table == MARKERS {
            return Err(format!(
                "the table `{MARKERS}` is reserved for tailmark's markers: choose \
                         another"
            )
            .into());
        }
        let keyspaces = session
            .query_unpaged(
                "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?",
                (&self.keyspace,),
            )
            .await?
            .into_rows_result()?;
        let select = "SELECT view_name FROM system_schema.views WHERE keyspace_name = ?";
        let views = names(session, select, &self.keyspace).await?;
        let is_ours = |name: &&String| *name == MARKERS || **name == self.table;
        if let Some(view) = views.iter().find(is_ours) {
            return Err(format!(
                "{}.{view} is a materialized view, but tailmark needs a table of that name: choose \
                 another keyspace",
                self.keyspace
            )
            .into());
        }
        let mut tables = self.tables(session).await?;
        Ok(Existing {
            keyspace: keyspaces.rows_num() > 0,
            markers: tables.remove(MARKERS),
            table: tables.remove(&self.table),
        })
    }

    /// The tables of the keyspace by name.
    async fn tables(&self, session: &Session) -> Result<BTreeMap<String, Table>, BoxError> {
        let rows = session
            .query_unpaged(
                "SELECT table_name, id, comment FROM system_schema.tables WHERE keyspace_name = ?",
                (&self.keyspace,),
            )
            .await?
            .into_rows_result()?;
        let table = |row: Result<(String, CqlValue, Option<String>), _>| {
            let (name, id, comment) = row?;
            let made = comment.as_deref().and_then(MadeFor::parse);
            let id = id.to_string();
            Ok((name, Table { id, made }))
        };
        rows.rows()?.map(table).collect()
    }

    /// The statements that create missing parts, in order. Existing parts stay as they are: a table
    /// with other options was prepared by the user. The comments of tables say that tailmark
    /// created them. The table of markers comes first, and its comment covers the keyspace too,
    /// which cannot have a comment.
    pub fn statements(&self, settings: &Settings, existing: &Existing) -> Vec<String> {
        let Self {
            keyspace,
            table,
            fields,
            ..
        } = self;
        let copies = settings.text("replication").unwrap_or("1");
        let kind = settings.text("field_type").unwrap_or("varchar");
        let columns: String = fields
            .iter()
            .map(|field| format!(", {field} {kind}"))
            .collect();
        let compression = match settings.text("compression") {
            None => String::new(),
            Some("none") => " AND compression = {'enabled': 'false'}".to_owned(),
            Some(name) => format!(" AND compression = {{'class': '{}'}}", compressor(name)),
        };
        // Without IF NOT EXISTS: a keyspace that another program creates meanwhile is foreign.
        let create_keyspace = (!existing.keyspace).then(|| {
            format!(
                "CREATE KEYSPACE {keyspace} WITH replication = \
                 {{'class': 'NetworkTopologyStrategy', 'replication_factor': {copies}}}"
            )
        });
        let made = MadeFor {
            study: self.study.clone(),
            with_keyspace: false,
        };
        let with_keyspace = MadeFor {
            with_keyspace: !existing.keyspace,
            ..made.clone()
        };
        let (made, with_keyspace) = (made.comment(), with_keyspace.comment());
        let create_markers = existing.markers.is_none().then(|| {
            format!(
                "CREATE TABLE IF NOT EXISTS {keyspace}.{MARKERS} \
                 (name varchar PRIMARY KEY, marker varchar) WITH comment = '{with_keyspace}'"
            )
        });
        let create_table = existing.table.is_none().then(|| {
            format!(
                "CREATE TABLE IF NOT EXISTS {keyspace}.{table} \
                 (y_id varchar PRIMARY KEY{columns}) WITH comment = '{made}'{compression}"
            )
        });
        let statements = [create_keyspace, create_markers, create_table];
        statements.into_iter().flatten().collect()
    }

    /// Creates missing parts of keyspace and tables.
    pub async fn make(
        &self,
        session: &Session,
        settings: &Settings,
        existing: &Existing,
    ) -> Result<(), BoxError> {
        let statements = self.statements(settings, existing);
        if statements.is_empty() {
            return Ok(());
        }
        for statement in statements {
            session.query_unpaged(statement, ()).await?;
        }
        session.await_schema_agreement().await?;
        session.refresh_metadata().await?;
        Ok(())
    }

    /// The existing parts that tailmark created.
    pub fn made(&self, existing: &Existing) -> Vec<Made> {
        let Self {
            keyspace, table, ..
        } = self;
        let Existing {
            markers,
            table: data,
            ..
        } = existing;
        let is_made = |found: &Option<Table>| found.as_ref().is_some_and(|own| own.made.is_some());
        let made = [
            (
                existing.has_own_keyspace(),
                Made::Keyspace(keyspace.clone()),
            ),
            (
                is_made(markers),
                Made::Table(format!("{keyspace}.{MARKERS}")),
            ),
            (is_made(data), Made::Table(format!("{keyspace}.{table}"))),
        ];
        let made = made.into_iter().filter(|(is_own, _)| *is_own);
        made.map(|(_, name)| name).collect()
    }

    /// The report about a server with these parts, and what would change it.
    pub fn look(&self, settings: &Settings, existing: &Existing) -> ServerContents {
        let Self {
            keyspace, table, ..
        } = self;
        let foreign = if existing.keyspace && !existing.has_own_keyspace() {
            Some(format!("keyspace {keyspace}"))
        } else {
            let found = existing.table.as_ref();
            let foreign = found.filter(|own| own.made.is_none());
            foreign.map(|_| format!("table {keyspace}.{table}"))
        };
        ServerContents {
            name: format!("table {keyspace}.{table}"),
            marker: None,
            exists: existing.table.is_some(),
            id: existing.table.as_ref().map(|found| found.id.clone()),
            is_empty: true,
            foreign,
            is_bare: false,
            is_nothing: *existing == Existing::default(),
            made_for: None,
            creates: self.statements(settings, existing),
            marks: self.insert_marker(),
            removes: (!existing.is_of_user()).then(|| self.truncation()),
        }
    }

    /// Checks that existing tables match: every field has the type that the settings name, and
    /// there is no other key.
    pub async fn check(
        &self,
        session: &Session,
        settings: &Settings,
        existing: &Existing,
    ) -> Result<(), BoxError> {
        let Self {
            keyspace, table, ..
        } = self;
        if existing.markers.is_some() {
            let columns = self.columns(session, MARKERS).await?;
            let ours = [
                ("name", "text", "partition_key"),
                ("marker", "text", "regular"),
            ];
            if columns != columns_of(ours) {
                let why = format!(
                    "table `{keyspace}.{MARKERS}` is not tailmark's table of markers: its columns \
                     differ"
                );
                return Err(ForeignTable(why).into());
            }
        }
        if existing.table.is_none() {
            return Ok(());
        }
        let columns = self.columns(session, table).await?;
        let keys = columns
            .iter()
            .filter(|(_, _, kind)| kind != "regular" && kind != "static");
        let keys: BTreeSet<_> = keys.cloned().collect();
        if keys != columns_of([("y_id", "text", "partition_key")]) {
            let why =
                format!("the primary key of table `{keyspace}.{table}` is not `y_id` of type text");
            return Err(ForeignTable(why).into());
        }
        let field_type = match settings.text("field_type") {
            Some("blob") => "blob",
            _ => "text",
        };
        let is_there = |field: &String| {
            let mut columns = columns.iter();
            columns.any(|(name, own_type, _)| name == field && own_type == field_type)
        };
        match self.fields.iter().find(|field| !is_there(field)) {
            Some(name) => Err(format!(
                "table `{keyspace}.{table}` has no column `{name}` of type {field_type}; give \
                 another `keyspace`, or set `fields` and `field_type` as in the table"
            )
            .into()),
            None => Ok(()),
        }
    }

    /// The columns of a table.
    async fn columns(&self, session: &Session, table: &str) -> Result<BTreeSet<Column>, BoxError> {
        let rows = session
            .query_unpaged(
                "SELECT column_name, type, kind FROM system_schema.columns \
                 WHERE keyspace_name = ? AND table_name = ?",
                (&self.keyspace, table),
            )
            .await?
            .into_rows_result()?;
        Ok(rows.rows::<Column>()?.collect::<Result<_, _>>()?)
    }

    /// Whether the table has no record. A quorum decides that, whatever the settings, because one
    /// replica may lack what others have.
    pub async fn are_empty(&self, session: &Session) -> Result<bool, BoxError> {
        let one = format!("SELECT y_id FROM {}.{} LIMIT 1", self.keyspace, self.table);
        let mut one = Statement::new(one);
        let found = session.query_unpaged(one.clone(), ()).await?;
        if found.into_rows_result()?.rows_num() > 0 {
            return Ok(false);
        }
        one.set_consistency(Consistency::Quorum);
        one.set_retry_policy(Some(Arc::new(FallthroughRetryPolicy::new())));
        let rows = session.query_unpaged(one, ()).await?.into_rows_result()?;
        Ok(rows.rows_num() == 0)
    }

    /// Refuses to remove the records of a table that tailmark did not create.
    pub async fn refuse_of_user(
        &self,
        session: &Session,
        existing: &Existing,
    ) -> Result<(), BoxError> {
        if !existing.is_of_user() || self.are_empty(session).await? {
            return Ok(());
        }
        let Self {
            keyspace, table, ..
        } = self;
        Err(format!(
            "table {keyspace}.{table} existed before tailmark loaded it and may hold records of \
             other programs: tailmark removes none"
        )
        .into())
    }

    /// Refuses to remove records without a marker, because a marker is always written first.
    pub async fn refuse_unmarked(
        &self,
        session: &Session,
        existing: &Existing,
    ) -> Result<(), BoxError> {
        let is_marked = self.marker(session, existing).await?.is_some();
        if is_marked || existing.table.is_none() || self.are_empty(session).await? {
            return Ok(());
        }
        let Self {
            keyspace, table, ..
        } = self;
        Err(format!("table {keyspace}.{table} holds records but no marker of tailmark").into())
    }

    /// Removes every record but keeps table and marker.
    pub async fn truncate(&self, session: &Session) -> Result<(), BoxError> {
        session.query_unpaged(self.truncation(), ()).await?;
        Ok(())
    }

    fn truncation(&self) -> String {
        format!("TRUNCATE {}.{}", self.keyspace, self.table)
    }
}

/// The class name of a compressor.
fn compressor(name: &str) -> &'static str {
    match name {
        "deflate" => "DeflateCompressor",
        "snappy" => "SnappyCompressor",
        "zstd" => "ZstdCompressor",
        _ => "LZ4Compressor",
    }
}
