//! Redis and Valkey, with YCSB's layout: a record is a hash under its key, and the sorted set
//! `_indices` has the keys of all records, scored by the hash code of Java's strings.
//!
//! An insert writes the index entry and the record, an update writes its fields into the hash, and
//! a delete removes both. A scan asks the index for keys from the start's score on, then for their
//! records. With `record = raw` a record is a plain string. A logical database holds one data set.
//! Tailmark's own hash, `tailmark`, has the marker and an id, by which each new connection checks
//! that it leads to the same data.

mod failure;
mod identity;
mod nodes;
mod place;
mod server;
mod session;
mod settings;
mod slot;

use crate::{
    Access, Clients, Connecting, DataFiles, Database, Driver, Error, Made, OperationKind, Params,
    Place, Remark, ServerContents, ServerLook, Session, Settled, Statistic, Stopped,
    error::BoxError,
    net::{aside::Aside, login, runtime_pool::RuntimePool},
};
use failure::Refusal;
use identity::{Identity, OWN, TailmarkHash};
use nodes::{Nodes, UNMEASURED};
use place::{Existing, INDEX};
use redis::cmd;
use session::{Connected, RedisSession, SharedState};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::runtime::Handle;

/// The row of the driver.
pub const DRIVER: Driver = Driver {
    name: "redis",
    about: "Redis and Valkey, one server or a cluster",
    place: Place::Hosts,
    port: Some(6379),
    clients: Clients::Tasks,
    depth: |_| None,
    supports: OperationKind::ALL,
    supports_special: false,
    settings: settings::SETTINGS,
    stored: &["database", "record"],
    entry: "",
    files: DataFiles::CHANGED,
    check: settings::check,
    open: |params| Ok(Box::new(Redis::open(params)?)),
    check_open: |_| Ok(()),
    look: Some(ServerLook {
        at: look,
        of_empty: |params| {
            let nothing = Existing {
                own: None,
                indexed: 0,
                keys: 0,
            };
            place::look(params, &nothing)
        },
    }),
    identity: |_| Ok(None),
    destroy: |params, _| empty(params, Emptying::Done),
    check_destroy: |params| empty(params, Emptying::Checked),
    space: |_, _| 0,
    cache: |_, _| 0,
    page_cache: |_| false,
    adopted: |_, settings| settings.clone(),
    background_threads: "",
    tells_nodes: false,
    reshapes: |_| false,
    semantics: |_| None,
    snapshot: None,
};

/// One server, or the masters of a cluster.
struct Redis {
    opened: Arc<SharedState>,
    /// For unmeasured requests.
    nodes: Arc<Nodes>,
    /// For questions while clients are at work.
    aside: Aside,
    /// Dropped last, because the connections run on it.
    pool: RuntimePool<Connected>,
}

impl Redis {
    fn open(params: &Params) -> Result<Self, Error> {
        let refuse = |source| not_opened(params, source);
        let pool = RuntimePool::new().map_err(|error| refuse(error.into()))?;
        let found = pool.wait(async {
            let nodes = connect(params).await?;
            let mut existing = Existing::read(&nodes).await?;
            let is_read = matches!(params.access, Access::Read | Access::ReadCompatible);
            if !is_read {
                let database = settings::database(&params.settings);
                server::refuse_eviction(&nodes, database, existing.foreign()).await?;
            }
            if params.access.creates() {
                existing = place::make(&nodes, params).await?;
            }
            let has_records = existing.own.is_some() || existing.indexed > 0;
            if !has_records && (existing.keys == 0 || !is_read) {
                let name = place::name(params);
                return Err(
                    format!("{name} has no records: the index `{INDEX}` is missing").into(),
                );
            }
            let identity = Identity::new(&nodes, existing.own, is_read).await?;
            Ok((nodes, identity))
        });
        let (nodes, identity) = found.map_err(refuse)?;
        let opened = SharedState {
            params: params.clone(),
            identity,
            ended: OnceLock::new(),
        };
        Ok(Self {
            opened: Arc::new(opened),
            nodes: Arc::new(nodes),
            aside: Aside::default(),
            pool,
        })
    }

    /// The error of an action on the open database.
    fn failed(&self, action: &'static str, source: BoxError) -> Error {
        self.opened.params.failed(&DRIVER, action, source)
    }

    async fn new_session(&self, outside: Option<Handle>) -> Result<Box<dyn Session>, Error> {
        let connected = self.pool.here(async || Connected::new(&self.opened).await);
        let connected = connected.await;
        let connected = connected.map_err(|source| self.failed("connect to", source))?;
        Ok(Box::new(RedisSession::new(connected, outside)))
    }

    /// Tailmark's own hash. An error if it changed since the database was opened.
    async fn same(&self) -> Result<&TailmarkHash, BoxError> {
        let own = self.opened.identity.own();
        let own = own.ok_or("tailmark did not create the data set")?;
        own.refuse_another(&self.nodes).await?;
        Ok(own)
    }
}

impl Database for Redis {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        self.pool
            .wait(self.new_session(Some(self.pool.own().clone())))
    }

    fn connect(&self) -> Connecting<'_> {
        Box::pin(self.new_session(None))
    }

    fn marker(&self) -> Result<Option<String>, Error> {
        let own = self.pool.wait(identity::own(&self.nodes));
        let own = own.map_err(|source| self.failed("read the marker of", source))?;
        Ok(own.and_then(|own| own.marker))
    }

    fn set_marker(&self, text: &str) -> Result<(), Error> {
        let written = self.pool.wait(async {
            let set = cmd("HSET").arg(OWN).arg("marker").arg(text).take();
            place::change_own(&self.nodes, self.same().await?, set).await
        });
        written.map_err(|source| self.failed("write the marker of", source))
    }

    fn id(&self) -> Option<String> {
        self.opened.identity.own().map(|own| own.id.clone())
    }

    fn made(&self) -> Vec<Made> {
        let made = self.opened.identity.own();
        made.map(|_| Made::Set(place::name(&self.opened.params)))
            .into_iter()
            .collect()
    }

    fn removal(&self, _: &[Made]) -> Result<Vec<String>, Error> {
        let looked = self.pool.wait(async {
            self.same().await?;
            place::refuse_unindexed(&self.nodes, &self.opened.params).await
        });
        looked.map_err(|source| self.failed("find the records of", source))?;
        Ok(vec![
            place::removal(&self.opened.params),
            format!("DEL {OWN} in {}", place::name(&self.opened.params)),
        ])
    }

    fn remove(&self, made: &[Made]) -> Result<Vec<String>, Error> {
        let statements = self.removal(made)?;
        let removed = self.pool.wait(async {
            let own = self.same().await?;
            place::remove_records(&self.nodes, own).await?;
            place::change_own(&self.nodes, own, cmd("DEL").arg(OWN).take()).await
        });
        removed.map_err(|source| self.failed("remove the data set of", source))?;
        Ok(statements)
    }

    fn is_empty(&self) -> Result<bool, Error> {
        let existing = self.pool.wait(Existing::read(&self.nodes));
        let existing = existing.map_err(|source| self.failed("look into", source))?;
        Ok(existing.is_empty())
    }

    /// Waits until the log has everything acknowledged, if the server writes it back every second.
    /// A server that only saves snapshots loses unsaved data together with the marker.
    fn sync(&self) -> Result<(), Error> {
        let synced = self.pool.wait(server::sync(&self.nodes));
        synced.map_err(|source| self.failed("wait for the writes of", source))
    }

    /// Also has a server that keeps snapshots alone save one.
    fn flush(&self, stop: Stopped<'_>) -> Result<bool, Error> {
        self.sync()?;
        match self.pool.wait_unless(stop, server::save(&self.nodes)) {
            Some(saved) => saved
                .map(|()| true)
                .map_err(|source| self.failed("save", source)),
            None => Ok(false),
        }
    }

    fn settle(&self, timeout: Duration, stop: Stopped<'_>) -> Result<Settled, Error> {
        let settled = self
            .pool
            .wait_unless(stop, server::settle(&self.nodes, timeout));
        // No request failed during the wait, so a client would not notice.
        let look = look_again(&self.nodes, &self.opened);
        self.pool.wait_unless(stop, look);
        Ok(settled.unwrap_or(Settled::Unknown))
    }

    fn facts(&self) -> BTreeMap<String, String> {
        self.pool.wait(server::facts(&self.nodes))
    }

    fn remarks(&self) -> Vec<Remark> {
        self.pool.wait(server::remarks(&self.nodes))
    }

    fn statistics(&self) -> Option<Vec<Statistic>> {
        let (nodes, opened) = (Arc::clone(&self.nodes), Arc::clone(&self.opened));
        let told = async move {
            let look = look_again(&nodes, &opened);
            tokio::join!(look, server::statistics(&nodes.nodes)).1
        };
        self.aside.ask(self.pool.own(), told)
    }
}

/// Checks whether the data set still exists, and whether writes could evict keys that another
/// program has created since. If a server is replaced its clients do not notice, because no request
/// fails.
async fn look_again(nodes: &Nodes, opened: &SharedState) {
    let found = identity::find(nodes).await;
    let why = if found.is_ok_and(|found| !found.is(opened.identity.own())) {
        Some("another program removed or replaced the data set".to_owned())
    } else if matches!(opened.params.access, Access::Read | Access::ReadCompatible) {
        None
    } else {
        let database = settings::database(&opened.params.settings);
        let refused = server::refuse_eviction(nodes, database, 0).await.err();
        let refused = refused.filter(|why| why.is::<Refusal>());
        refused.map(|why| why.to_string())
    };
    if let Some(why) = why {
        // Keep the first reason.
        let _ = opened.ended.set(why);
    }
}

/// Connects for unmeasured requests.
async fn connect(params: &Params) -> Result<Nodes, BoxError> {
    if settings::is_raw(&params.settings) && params.data.schema.fields.len() > 1 {
        return Err("`record = raw` stores one field per record, but the data set has more".into());
    }
    Nodes::connect(&params.location, &params.settings, UNMEASURED).await
}

fn not_opened(params: &Params, source: BoxError) -> Error {
    login::not_opened(&DRIVER, params, source.is::<Refusal>(), source)
}

/// Looks at the server without changing it.
fn look(params: &Params) -> Result<ServerContents, Error> {
    let looked = || -> Result<ServerContents, BoxError> {
        let pool = RuntimePool::<Connected>::new()?;
        pool.wait(async {
            let nodes = connect(params).await?;
            Ok(place::look(params, &Existing::read(&nodes).await?))
        })
    };
    looked().map_err(|source| not_opened(params, source))
}

/// How far a removal of records goes.
#[derive(PartialEq, Eq)]
enum Emptying {
    /// It is only checked that they could be removed.
    Checked,
    /// They are removed.
    Done,
}

/// Removes the records of a data set that tailmark created, but not its marker.
fn empty(params: &Params, how: Emptying) -> Result<(), Error> {
    let removed = || -> Result<(), BoxError> {
        let pool = RuntimePool::<Connected>::new()?;
        pool.wait(async {
            let nodes = connect(params).await?;
            let existing = Existing::read(&nodes).await?;
            match existing.own {
                Some(own) if how == Emptying::Done => place::remove_records(&nodes, &own).await,
                None if existing.keys > 0 => Err(format!(
                    "{} holds keys that tailmark did not create",
                    place::name(params)
                )
                .into()),
                _ => Ok(()),
            }
        })
    };
    removed().map_err(|source| params.failed(&DRIVER, "remove the records of", source))
}
