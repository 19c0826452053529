//! Apache Cassandra, and ScyllaDB by the same protocol, with YCSB's schema and statements.
//!
//! The table is `usertable (y_id varchar primary key, field0 varchar, ...)` in the keyspace `ycsb`,
//! so that YCSB and tailmark can use each other's data. An insert overwrites, and an update writes
//! its fields without reading, as INSERT and UPDATE do in CQL. A scan returns records in the order
//! of the tokens of their keys, starting with its first key. Near the end of the ring it finds
//! fewer than requested, as in YCSB.

mod attempts;
mod comment;
mod connect;
mod facts;
mod failure;
mod removal;
mod row;
mod schema;
mod session;
mod settings;
mod snapshot;
mod statistics;

use crate::{
    Access, Clients, Connecting, DataFiles, Database, Driver, Error, Made, OperationKind, Params,
    Place, Remark, ServerContents, ServerLook, Session, Settings, Settled, Statistic, Stopped,
    error::BoxError,
    net::{aside::Aside, login, runtime_pool::RuntimePool},
};
use attempts::Attempts;
use failure::ForeignTable;
use schema::{Existing, MARKERS, Tables};
use scylla::client::session::Session as Connection;
use session::{CassandraSession, Lost, Opened, OpenedTable, Prepared};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

/// The row of the driver.
pub const DRIVER: Driver = Driver {
    name: "cassandra",
    about: "Apache Cassandra and ScyllaDB, over CQL",
    place: Place::Hosts,
    port: Some(9042),
    clients: Clients::Tasks,
    depth: |_| None,
    supports: OperationKind::ALL,
    supports_special: false,
    settings: settings::SETTINGS,
    stored: &["compression", "field_type", "keyspace", "replication"],
    entry: "",
    files: DataFiles::CHANGED,
    check: settings::check,
    open: |params| Ok(Box::new(Cassandra::open(params)?)),
    check_open: |_| Ok(()),
    look: Some(ServerLook {
        at: look,
        of_empty: |params| {
            let tables = Tables::new(params);
            tables.look(&params.settings, &Existing::default())
        },
    }),
    identity: |_| Ok(None),
    destroy: |params, _| empty(params, Emptying::Done),
    check_destroy: |params| empty(params, Emptying::Checked),
    space: |_, _| 0,
    cache: |_, _| 0,
    page_cache: |_| true,
    adopted: |_, settings| settings.clone(),
    background_threads: "",
    tells_nodes: true,
    reshapes: |_| false,
    semantics: |_| None,
    snapshot: Some(snapshot::command),
};

/// A cluster.
struct Cassandra {
    params: Params,
    tables: Arc<Tables>,
    /// What existed when it was opened.
    existing: Existing,
    /// For unmeasured requests.
    connection: Arc<Connection>,
    /// For questions while clients are at work.
    aside: Aside,
    /// The virtual tables that describe a node.
    views: Arc<BTreeSet<String>>,
    /// The nodes that were down when it was opened.
    down: BTreeSet<String>,
    attempts: Arc<Attempts>,
    /// The opened table, and whether it is still the same.
    opened: Arc<OpenedTable>,
    /// Dropped last, because the connections run on it.
    pool: RuntimePool<Prepared>,
}

impl Cassandra {
    fn open(params: &Params) -> Result<Self, Error> {
        let refuse = |source| not_opened(params, source);
        let tables = Tables::new(params);
        let pool = RuntimePool::new().map_err(|error| refuse(error.into()))?;
        let opened = pool.wait(async {
            let connection = connect(params, &tables).await?;
            let mut existing = tables.existing(&connection).await?;
            if params.access.creates() {
                let settings = &params.settings;
                if params.access == Access::CreateNew {
                    existing = Existing::default();
                }
                if existing.has_foreign_markers() {
                    let keyspace = &tables.keyspace;
                    let why = format!(
                        "another program created the table `{keyspace}.{MARKERS}`, where tailmark \
                         keeps its markers; choose another keyspace"
                    );
                    return Err(ForeignTable(why).into());
                }
                tables.make(&connection, settings, &existing).await?;
                existing = tables.existing(&connection).await?;
            } else if existing.table.is_none() && existing.made_for() != Some(&tables.study) {
                let Tables {
                    keyspace, table, ..
                } = &tables;
                return Err(format!("there is no table `{keyspace}.{table}`").into());
            }
            tables
                .check(&connection, &params.settings, &existing)
                .await?;
            let views = statistics::views(&connection).await;
            Ok((connection, views, existing))
        });
        let (connection, views, existing) = opened.map_err(refuse)?;
        let tables = Arc::new(tables);
        Ok(Self {
            down: facts::down(&connection),
            connection: Arc::new(connection),
            aside: Aside::default(),
            views: Arc::new(views),
            params: params.clone(),
            opened: Arc::new(OpenedTable::new(&tables, existing.table.clone())),
            tables,
            existing,
            attempts: Arc::default(),
            pool,
        })
    }

    /// The error of an action on the open database.
    fn failed(&self, action: &'static str, source: BoxError) -> Error {
        self.params.failed(&DRIVER, action, source)
    }

    /// Refuses a connection to tables other than the opened ones: an address may lead to another
    /// cluster in the meantime.
    async fn refuse_another(&self, connection: &Connection) -> Result<(), BoxError> {
        let tables = &self.tables;
        let existing = tables.existing(connection).await?;
        if existing.has_tables_of(&self.existing) {
            Ok(())
        } else {
            Err(removal::changed(&tables.keyspace))
        }
    }

    /// The connection of the awaiting runtime.
    async fn prepared(&self) -> Result<Arc<Prepared>, Error> {
        let open = async || {
            let Params {
                location, settings, ..
            } = &self.params;
            let (tables, profile) = (&self.tables, connect::measured(settings));
            let connection =
                connect::connect(location, settings, &tables.keyspace, profile).await?;
            self.refuse_another(&connection).await?;
            let opened = Opened {
                table: Arc::clone(&self.opened),
                lost: Lost::default(),
            };
            let prepared = Prepared::new(connection, opened, settings, &self.attempts);
            login::in_time(location, settings, prepared).await
        };
        let prepared = self.pool.here(open).await;
        prepared.map_err(|source| self.failed("connect to", source))
    }
}

impl Database for Cassandra {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        let prepared = self.pool.wait(self.prepared())?;
        let outside = Some(self.pool.own().clone());
        Ok(Box::new(CassandraSession { prepared, outside }))
    }

    fn connect(&self) -> Connecting<'_> {
        Box::pin(async {
            let prepared = self.prepared().await?;
            Ok(Box::new(CassandraSession {
                prepared,
                outside: None,
            }) as Box<dyn Session>)
        })
    }

    fn marker(&self) -> Result<Option<String>, Error> {
        let marker = async {
            // The table may have been replaced since it was opened.
            let existing = self.tables.existing(&self.connection).await?;
            self.tables.marker(&self.connection, &existing).await
        };
        let marker: Result<_, BoxError> = self.pool.wait(marker);
        marker.map_err(|source| self.failed("read the marker of", source))
    }

    fn set_marker(&self, text: &str) -> Result<(), Error> {
        let (tables, existing) = (&self.tables, &self.existing);
        let written = self.pool.wait(async {
            self.refuse_another(&self.connection).await?;
            tables.set_marker(&self.connection, existing, text).await
        });
        written.map_err(|source| self.failed("write the marker of", source))
    }

    fn id(&self) -> Option<String> {
        let table = self.existing.table.as_ref();
        table.map(|table| table.id.clone())
    }

    fn made(&self) -> Vec<Made> {
        self.tables.made(&self.existing)
    }

    fn removal(&self, made: &[Made]) -> Result<Vec<String>, Error> {
        let statements = removal::statements(&self.connection, &self.tables, &self.existing, made);
        let statements = self.pool.wait(statements);
        statements.map_err(|source| self.failed("look into", source))
    }

    fn remove(&self, made: &[Made]) -> Result<Vec<String>, Error> {
        let stayed = self.pool.wait(connect::stay(&self.connection));
        stayed.map_err(|source| self.failed("look into", source))?;
        let statements = self.removal(made)?;
        let (tables, opened) = (&self.tables, &self.existing);
        let removed = removal::carry_out(&self.connection, tables, opened, statements);
        let removed = self.pool.wait(removed);
        removed.map_err(|source| self.failed("remove the data set of", source))
    }

    fn is_empty(&self) -> Result<bool, Error> {
        let empty = self.pool.wait(self.tables.are_empty(&self.connection));
        empty.map_err(|source| self.failed("look into", source))
    }

    fn settle(&self, timeout: Duration, stop: Stopped<'_>) -> Result<Settled, Error> {
        let settled = facts::settle(&self.connection, timeout);
        let settled = self.pool.wait_unless(stop, settled);
        // No request failed during the wait, so a client would not notice.
        let _ = self
            .pool
            .wait_unless(stop, self.opened.look(&self.connection));
        Ok(settled.unwrap_or(Settled::Unknown))
    }

    fn facts(&self) -> BTreeMap<String, String> {
        self.pool.wait(facts::facts(&self.connection, &self.tables))
    }

    fn remarks(&self) -> Vec<Remark> {
        let down = facts::nodes_down(&self.connection, &self.down);
        down.into_iter().collect()
    }

    fn nodes_down(&self) -> Option<u64> {
        Some(facts::down(&self.connection).len() as u64)
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        let settings = &self.params.settings;
        let mut counters = BTreeMap::new();
        if settings.flag("retries") {
            counters.insert("retries".to_owned(), self.attempts.retries());
        }
        if settings.integer("speculative_ms") != Some(0_u64) {
            let speculative = self.attempts.speculative();
            counters.insert("speculative_executions".to_owned(), speculative);
        }
        counters
    }

    /// Also checks the table here, because no request fails if another program created it again, or
    /// if a proxy turned to another cluster and kept its connections.
    fn statistics(&self) -> Option<Vec<Statistic>> {
        let (connection, views) = (Arc::clone(&self.connection), Arc::clone(&self.views));
        let opened = Arc::clone(&self.opened);
        let told = async move {
            let look = opened.look(&connection);
            let told = statistics::told(&connection, &views, &opened.tables);
            tokio::join!(look, told).1
        };
        let told = self.aside.ask(self.pool.own(), told);
        told.filter(|_| !self.views.is_empty())
    }
}

/// Connects for unmeasured requests.
async fn connect(params: &Params, tables: &Tables) -> Result<Connection, BoxError> {
    let Params {
        location, settings, ..
    } = params;
    let profile = connect::unmeasured(settings);
    connect::connect(location, settings, &tables.keyspace, profile).await
}

fn not_opened(params: &Params, source: BoxError) -> Error {
    login::not_opened(&DRIVER, params, failure::is_final(&*source), source)
}

/// Looks at the server without changing it.
fn look(params: &Params) -> Result<ServerContents, Error> {
    let refuse = |source| not_opened(params, source);
    let (tables, settings) = (Tables::new(params), &params.settings);
    let pool = RuntimePool::<Prepared>::new().map_err(|error| refuse(error.into()))?;
    let opened = pool.wait(async {
        let connection = connect(params, &tables).await?;
        let existing = tables.existing(&connection).await?;
        tables.check(&connection, settings, &existing).await?;
        Ok((connection, existing))
    });
    let (connection, existing) = opened.map_err(refuse)?;
    let look_at = |found| pool.wait(look_at(&tables, &connection, settings, found));
    // Another run may create or drop the table between two statements.
    let looked = look_at(existing).or_else(|_| look_at(pool.wait(tables.existing(&connection))?));
    looked.map_err(|source| params.failed(&DRIVER, "look into", source))
}

async fn look_at(
    tables: &Tables,
    connection: &Connection,
    settings: &Settings,
    existing: Existing,
) -> Result<ServerContents, BoxError> {
    let mut look = tables.look(settings, &existing);
    look.marker = tables.marker(connection, &existing).await?;
    if existing.table.is_some() {
        look.is_empty = tables.are_empty(connection).await?;
    }
    if look.marker.is_none() && look.is_empty {
        look.made_for = existing.made_for().map(ToOwned::to_owned);
    }
    look.is_bare = look.foreign.is_some()
        && existing.markers.is_none()
        && existing.table.is_none()
        && !removal::has_other_objects(connection, tables).await?;
    // Data with a marker was loaded with the user's consent.
    look.foreign = look.foreign.filter(|_| look.marker.is_none());
    Ok(look)
}

/// How far a removal of records goes.
#[derive(PartialEq, Eq)]
enum Emptying {
    /// It is only checked that they could be removed.
    Checked,
    /// They are removed.
    Done,
}

/// Removes the records of a table that tailmark created. The table stays.
fn empty(params: &Params, how: Emptying) -> Result<(), Error> {
    let removed = || {
        let tables = Tables::new(params);
        let pool = RuntimePool::<Prepared>::new()?;
        pool.wait(async {
            let connection = connect(params, &tables).await?;
            connect::stay(&connection).await?;
            let existing = tables.existing(&connection).await?;
            tables.refuse_of_user(&connection, &existing).await?;
            if how == Emptying::Done && existing.table.is_some() && !existing.is_of_user() {
                tables.refuse_unmarked(&connection, &existing).await?;
                tables.truncate(&connection).await?;
            }
            Ok(())
        })
    };
    removed().map_err(|source| params.failed(&DRIVER, "remove the records of", source))
}
