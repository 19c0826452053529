//! The measured path: prepared statements, and one client that executes them.

use super::{
    attempts::Attempts,
    failure::failure,
    row::{Bound, FieldsPosition, Stored},
    schema::{Table, Tables},
    settings::consistency,
};
use crate::{
    Cause, Completion, Failure, FieldVisitor, Fields, Key, Operation, Outcome, Reply, Session,
    Settings, Values, error::BoxError, net::runtime_pool::pending,
};
use scylla::{
    client::session::Session as Connection,
    deserialize::row::ColumnIterator,
    frame::types::Consistency,
    response::query_result::QueryResult,
    statement::{Statement, prepared::PreparedStatement},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{runtime::Handle, sync::Mutex};

/// A refused or lost connection, or a replaced table, is reported no sooner than this. Otherwise
/// requests would spin as fast as the processor can.
const REFUSED: Duration = Duration::from_millis(10);

/// A connection to the cluster with its statements, shared by the clients of a runtime.
pub(super) struct Prepared {
    connection: Connection,
    stored: Stored,
    read: PerField,
    scan: PerField,
    update: PerField,
    insert: PreparedStatement,
    delete: PreparedStatement,
    opened: Opened,
}

/// The table of the statements.
pub(super) struct Opened {
    /// The table as it was opened.
    pub table: Arc<OpenedTable>,
    /// What is uncertain after a lost connection.
    pub lost: Lost,
}

/// A table, and whether it is still the one that was opened.
pub(super) struct OpenedTable {
    /// Its place.
    pub tables: Arc<Tables>,
    opened: Option<Table>,
    /// Whether it was dropped or created again since it was opened. The client crate prepares
    /// statements again by itself, and would then write to any table of that name.
    replaced: AtomicBool,
}

impl OpenedTable {
    pub fn new(tables: &Arc<Tables>, opened: Option<Table>) -> Self {
        Self {
            tables: Arc::clone(tables),
            opened,
            replaced: AtomicBool::new(false),
        }
    }

    /// Checks whether the server still has it.
    pub async fn look(&self, connection: &Connection) -> Result<(), BoxError> {
        let existing = self.tables.existing(connection).await?;
        if existing.table != self.opened {
            self.replaced.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn is_replaced(&self) -> bool {
        self.replaced.load(Ordering::Relaxed)
    }
}

/// A connection was lost. The table may have been replaced before it is back.
#[derive(Default)]
pub(super) struct Lost {
    /// Whether the table must be checked before the next request.
    is_open: AtomicBool,
    /// The number of failed checks. One check serves all requests that wait for it.
    failed: AtomicU64,
    one_looks: Mutex<()>,
}

impl Opened {
    /// Whether a request may be sent. After a lost connection, only once the table is known to be
    /// the same.
    async fn admit(&self, connection: &Connection) -> Result<(), Failure> {
        if self.lost.is_open.load(Ordering::Relaxed) {
            self.look_again(connection).await?;
        }
        if self.table.is_replaced() {
            return Err(Box::pin(self.replaced()).await);
        }
        Ok(())
    }

    #[cold]
    async fn look_again(&self, connection: &Connection) -> Result<(), Failure> {
        let lost = &self.lost;
        let failed = lost.failed.load(Ordering::Relaxed);
        let _one = lost.one_looks.lock().await;
        if !lost.is_open.load(Ordering::Relaxed) {
            return Ok(());
        }
        let unknown = |message: String| Failure {
            cause: Cause::Connection,
            message,
        };
        if lost.failed.load(Ordering::Relaxed) != failed {
            return Err(unknown("the server has not come back".to_owned()));
        }
        match self.table.look(connection).await {
            Ok(()) => {
                lost.is_open.store(false, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                lost.failed.fetch_add(1, Ordering::Relaxed);
                Err(unknown(error.to_string()))
            }
        }
    }

    #[cold]
    async fn replaced(&self) -> Failure {
        tokio::time::sleep(REFUSED).await;
        let Tables {
            keyspace, table, ..
        } = &*self.table.tables;
        Failure {
            cause: Cause::Other,
            message: format!("another program dropped or recreated table {keyspace}.{table}"),
        }
    }
}

/// A statement on all fields, and one for each single field.
struct PerField {
    all: PreparedStatement,
    one: Vec<PreparedStatement>,
}

impl Prepared {
    /// Prepares the statements on a connection.
    pub async fn new(
        connection: Connection,
        opened: Opened,
        settings: &Settings,
        attempts: &Arc<Attempts>,
    ) -> Result<Self, BoxError> {
        let Tables {
            keyspace,
            table,
            fields,
            ..
        } = &*opened.table.tables;
        let table = format!("{keyspace}.{table}");
        let counts = settings.flag("retries") || settings.integer("speculative_ms") != Some(0_u64);
        let maker = Maker {
            connection: &connection,
            attempts: counts.then_some(attempts),
        };
        let read = consistency(settings, "read_consistency");
        let write = consistency(settings, "write_consistency");
        let set: Vec<_> = fields.iter().map(|field| format!("{field} = ?")).collect();
        let marks = ", ?".repeat(fields.len());
        let insert = format!(
            "INSERT INTO {table} (y_id, {}) VALUES (?{marks})",
            fields.join(", ")
        );
        Ok(Self {
            stored: match settings.text("field_type") {
                Some("blob") => Stored::Bytes,
                _ => Stored::Ascii,
            },
            read: maker
                .per_field(fields, read, "*", |what| {
                    format!("SELECT {what} FROM {table} WHERE y_id = ?")
                })
                .await?,
            scan: maker
                .per_field(fields, read, "*", |what| {
                    format!("SELECT {what} FROM {table} WHERE token(y_id) >= token(?) LIMIT ?")
                })
                .await?,
            update: maker
                .per_field(&set, write, &set.join(", "), |what| {
                    format!("UPDATE {table} SET {what} WHERE y_id = ?")
                })
                .await?,
            insert: maker.make(&insert, write).await?,
            delete: maker
                .make(&format!("DELETE FROM {table} WHERE y_id = ?"), write)
                .await?,
            connection,
            opened,
        })
    }

    async fn execute(&self, operation: Operation<'_>) -> Reply {
        let reply = match operation {
            Operation::Read { key, fields } => self.read(key, fields, &mut |_, _| {}).await,
            Operation::Scan {
                start,
                records,
                fields,
            } => self.scan(start, records, fields).await,
            Operation::Insert { key, values } => {
                self.write(&self.insert, key, Some((FieldsPosition::AfterKey, values)))
                    .await
            }
            Operation::Update { key, values } => match self.update.statement(values) {
                Some(update) => {
                    self.write(update, key, Some((FieldsPosition::BeforeKey, values)))
                        .await
                }
                None => Err(Failure {
                    cause: Cause::Unsupported,
                    message: "an update writes one field or all of them".to_owned(),
                }),
            },
            Operation::Delete { key } => self.write(&self.delete, key, None).await,
            Operation::Special(_) => Err(Failure::unsupported("cassandra")),
        };
        if let Err(Failure {
            cause: Cause::Connection,
            ..
        }) = &reply
        {
            tokio::time::sleep(REFUSED).await;
        }
        reply
    }

    async fn read_verified(&self, key: Key<'_>, visit: FieldVisitor<'_>) -> Reply {
        let fields = &self.opened.table.tables.fields;
        let place = |name: &str| fields.iter().position(|field| field == name);
        let mut named = |name: &str, value: &[u8]| {
            if let Some(index) = place(name) {
                visit(index as u32, value);
            }
        };
        self.read(key, Fields::All, &mut named).await
    }

    async fn read(&self, key: Key<'_>, fields: Fields, visit: ColumnVisitor<'_>) -> Reply {
        let answer = self
            .send(self.read.requested(fields), key, None, None)
            .await?;
        // The key is a column of the answer only if all columns are requested.
        let unread = match fields {
            Fields::All => 0,
            Fields::One(_) => key.name.len() as u64,
        };
        found(answer, unread, visit)
    }

    async fn scan(&self, start: Key<'_>, records: u32, fields: Fields) -> Reply {
        let limit = i32::try_from(records).unwrap_or(i32::MAX);
        let statement = self.scan.requested(fields);
        let answer = self.send(statement, start, None, Some(limit)).await?;
        found(answer, 0, &mut |_, _| {})
    }

    async fn write(
        &self,
        statement: &PreparedStatement,
        key: Key<'_>,
        fields: Option<(FieldsPosition, Values<'_>)>,
    ) -> Reply {
        self.send(statement, key, fields, None).await?;
        let values = fields.map_or(0, |(_, values)| values.bytes.len());
        Ok(Outcome {
            records: 1,
            bytes: (key.name.len() + values) as u64,
        })
    }

    async fn send(
        &self,
        statement: &PreparedStatement,
        key: Key<'_>,
        fields: Option<(FieldsPosition, Values<'_>)>,
        limit: Option<i32>,
    ) -> Result<QueryResult, Failure> {
        let bound = Bound {
            fields,
            key,
            stored: self.stored,
            limit,
        };
        self.opened.admit(&self.connection).await?;
        let answer = self.connection.execute_unpaged(statement, bound).await;
        let failed = match answer {
            Ok(answer) => return Ok(answer),
            Err(error) => failure(&error),
        };
        match failed.cause {
            // If this fails too, the next such failure looks again.
            Cause::Other => drop(self.opened.table.look(&self.connection).await),
            Cause::Connection => self.opened.lost.is_open.store(true, Ordering::Relaxed),
            _ => {}
        }
        Err(failed)
    }
}

/// Prepares statements in the same way.
struct Maker<'a> {
    connection: &'a Connection,
    attempts: Option<&'a Arc<Attempts>>,
}

impl Maker<'_> {
    async fn make(&self, text: &str, level: Consistency) -> Result<PreparedStatement, BoxError> {
        let mut prepared = self.connection.prepare(Statement::new(text)).await?;
        prepared.set_consistency(level);
        // A statement that is sent twice leaves the same record.
        prepared.set_is_idempotent(true);
        prepared.set_use_cached_result_metadata(true);
        if let Some(attempts) = self.attempts {
            prepared.set_history_listener(Arc::clone(attempts) as _);
        }
        Ok(prepared)
    }

    /// The statement on `all`, and one for each of `one`.
    async fn per_field(
        &self,
        one: &[String],
        level: Consistency,
        all: &str,
        text: impl Fn(&str) -> String,
    ) -> Result<PerField, BoxError> {
        let all = self.make(&text(all), level).await?;
        let mut each = Vec::new();
        for what in one {
            each.push(self.make(&text(what), level).await?);
        }
        Ok(PerField { all, one: each })
    }
}

impl PerField {
    fn requested(&self, fields: Fields) -> &PreparedStatement {
        match fields {
            Fields::All => &self.all,
            Fields::One(field) => &self.one[field as usize],
        }
    }

    /// The statement that writes these fields.
    fn statement(&self, values: Values<'_>) -> Option<&PreparedStatement> {
        match (values.first, values.lengths.len()) {
            (0, all) if all == self.one.len() => Some(&self.all),
            (field, 1) => self.one.get(field as usize),
            _ => None,
        }
    }
}

/// Receives the name and value of each column of an answer.
type ColumnVisitor<'a> = &'a mut (dyn FnMut(&str, &[u8]) + 'a);

/// The records of an answer. Each of their columns is visited.
fn found(answer: QueryResult, bytes_unread: u64, visit: ColumnVisitor<'_>) -> Reply {
    let wrong = |error: &dyn std::fmt::Display| Failure {
        cause: Cause::Corruption,
        message: error.to_string(),
    };
    let answer = answer.into_rows_result().map_err(|error| wrong(&error))?;
    let rows = answer
        .rows::<ColumnIterator>()
        .map_err(|error| wrong(&error))?;
    let mut outcome = Outcome::default();
    for row in rows {
        outcome.records += 1;
        outcome.bytes += bytes_unread;
        for column in row.map_err(|error| wrong(&error))? {
            let column = column.map_err(|error| wrong(&error))?;
            if let Some(value) = column.slice.map(|value| value.as_slice()) {
                outcome.bytes += value.len() as u64;
                visit(column.spec.name(), value);
            }
        }
    }
    Ok(outcome)
}

/// One client.
pub(super) struct CassandraSession {
    /// The connection of its runtime.
    pub prepared: Arc<Prepared>,
    /// The runtime, if the client is not one of its tasks.
    pub outside: Option<Handle>,
}

impl Session for CassandraSession {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        pending(self.prepared.execute(operation), self.outside.clone())
    }

    fn read_verified<'a>(&'a mut self, key: Key<'a>, visit: FieldVisitor<'a>) -> Completion<'a> {
        pending(
            self.prepared.read_verified(key, visit),
            self.outside.clone(),
        )
    }
}
