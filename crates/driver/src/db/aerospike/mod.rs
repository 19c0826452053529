//! Aerospike, Community and Enterprise Edition, with YCSB's layout: the key is the user key of a
//! record in the set (by default `usertable`), and each field is a bin.
//!
//! An insert replaces any existing record. An update merges its bins with the others, or replaces
//! the record like YCSB's binding, which shrinks data sets. There are no scans, because records
//! have no order. A cluster counts as open once a record could be read and, before a load, also
//! written. A server accepts connections long before it serves its partitions.

mod connect;
mod durable;
mod facts;
mod failure;
mod marker;
mod session;
mod settings;
mod statistics;

use crate::{
    Clients, Connecting, DataFiles, Database, Driver, Error, Made, OperationKind, Params, Place,
    ServerContents, ServerLook, Session, Settled, Statistic, Stopped,
    error::BoxError,
    net::{aside::Aside, runtime_pool::RuntimePool},
};
use aerospike::Client;
use marker::{MARKERS, READY};
use session::{AerospikeSession, Requests};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::runtime::Handle;

/// The row of the driver.
pub const DRIVER: Driver = Driver {
    name: "aerospike",
    about: "Aerospike, over its own protocol",
    place: Place::Hosts,
    port: Some(3000),
    clients: Clients::Tasks,
    depth: |_| None,
    supports_special: false,
    supports: &[
        OperationKind::Read,
        OperationKind::Update,
        OperationKind::Insert,
        OperationKind::Delete,
    ],
    settings: settings::SETTINGS,
    stored: &["namespace", "send_key"],
    entry: "",
    files: DataFiles::CHANGED,
    check: settings::check,
    open: |params| Ok(Box::new(Aerospike::open(params)?)),
    check_open: |_| Ok(()),
    look: Some(ServerLook {
        at: look,
        of_empty: look_of_empty,
    }),
    identity: |_| Ok(None),
    destroy: |params, _| destroy(params),
    check_destroy: |_| Ok(()),
    space: |_, _| 0,
    cache: |_, _| 0,
    page_cache: |_| false,
    adopted: |_, settings| settings.clone(),
    background_threads: "",
    tells_nodes: false,
    reshapes: settings::replaces,
    semantics: settings::semantics,
    snapshot: None,
};

/// How long a truncated set may take to become empty.
const TRUNCATION: Duration = Duration::from_secs(600);

/// A cluster.
struct Aerospike {
    params: Params,
    requests: Arc<Requests>,
    /// For unmeasured requests.
    client: Arc<Client>,
    /// For questions while clients are at work.
    aside: Aside,
    /// The clients of all runtimes, kept for their counts of retries.
    opened: Mutex<Vec<Arc<Client>>>,
    /// Dropped last, because the connections run on it.
    pool: RuntimePool<Client>,
}

impl Aerospike {
    fn open(params: &Params) -> Result<Self, Error> {
        let refuse = |source: BoxError| Error::Open {
            driver: DRIVER.name,
            place: params.location.to_string(),
            source,
        };
        let pool = RuntimePool::new().map_err(|error| refuse(error.into()))?;
        let client = pool.wait(async {
            let (client, namespace) = (connect(params).await?, namespace(params));
            facts::require(&client, &connect::asking(), namespace).await?;
            if params.access.creates() {
                marker::prove(&client, namespace).await?;
            } else {
                marker::prove_reads(&client, namespace).await?;
            }
            Ok(client)
        });
        Ok(Self {
            client: Arc::new(client.map_err(refuse)?),
            aside: Aside::default(),
            requests: Arc::new(Requests::new(
                &params.settings,
                set(params),
                &params.data.schema.fields,
            )),
            params: params.clone(),
            opened: Mutex::default(),
            pool,
        })
    }

    /// The error of an action on the open database.
    fn failed(&self, action: &'static str, source: BoxError) -> Error {
        self.params.failed(&DRIVER, action, source)
    }

    async fn new_session(&self, outside: Option<Handle>) -> Result<Box<dyn Session>, Error> {
        let open = async || connect(&self.params).await;
        let client = self.pool.here(open).await;
        let client = client.map_err(|source| self.failed("connect to", source))?;
        if self.counts_attempts() {
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            if !opened.iter().any(|known| Arc::ptr_eq(known, &client)) {
                opened.push(Arc::clone(&client));
            }
        }
        let (requests, bins) = (Arc::clone(&self.requests), Vec::new());
        Ok(Box::new(AerospikeSession {
            client,
            requests,
            bins,
            outside,
        }))
    }

    fn counts_attempts(&self) -> bool {
        self.params.settings.integer("retries") != Some(0_usize)
    }
}

impl Database for Aerospike {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        self.pool
            .wait(self.new_session(Some(self.pool.own().clone())))
    }

    fn connect(&self) -> Connecting<'_> {
        Box::pin(self.new_session(None))
    }

    fn marker(&self) -> Result<Option<String>, Error> {
        let (namespace, set) = (namespace(&self.params), set(&self.params));
        let marker = self.pool.wait(marker::read(&self.client, namespace, set));
        marker.map_err(|source| self.failed("read the marker of", source))
    }

    fn set_marker(&self, text: &str) -> Result<(), Error> {
        let (namespace, set) = (namespace(&self.params), set(&self.params));
        let written = marker::write(&self.client, namespace, set, text);
        let written = self.pool.wait(written);
        written.map_err(|source| self.failed("write the marker of", source))
    }

    fn made(&self) -> Vec<Made> {
        vec![Made::Set(full_set(&self.params))]
    }

    fn removal(&self, _: &[Made]) -> Result<Vec<String>, Error> {
        let (namespace, set) = (namespace(&self.params), set(&self.params));
        Ok(vec![
            format!("truncate the set {namespace}.{set}"),
            format!("delete the records `{READY}` and `{set}` of the set {namespace}.{MARKERS}"),
        ])
    }

    fn remove(&self, made: &[Made]) -> Result<Vec<String>, Error> {
        destroy(&self.params)?;
        let (namespace, set) = (namespace(&self.params), set(&self.params));
        let deleted = marker::remove(&self.client, namespace, set);
        let deleted = self.pool.wait(deleted);
        deleted.map_err(|source| self.failed("remove the marker of", source))?;
        self.removal(made)
    }

    fn is_empty(&self) -> Result<bool, Error> {
        let (policy, set) = (connect::asking(), set(&self.params));
        let records = facts::records(&self.client, &policy, namespace(&self.params), set);
        let records = self.pool.wait(records);
        Ok(records.map_err(|source| self.failed("look into", source))? == 0)
    }

    /// Waits until the devices hold everything acknowledged. Until then it is in memory.
    fn sync(&self) -> Result<(), Error> {
        let (policy, namespace) = (connect::asking(), namespace(&self.params));
        let written = durable::wait(&self.client, &policy, namespace);
        let written = self.pool.wait(written);
        written.map_err(|source| self.failed("wait for the writes of", source))
    }

    fn settle(&self, timeout: Duration, stop: Stopped<'_>) -> Result<Settled, Error> {
        let (policy, namespace) = (connect::asking(), namespace(&self.params));
        let settled = facts::settle(&self.client, &policy, namespace, timeout);
        let settled = self.pool.wait_unless(stop, settled);
        Ok(settled.unwrap_or(Settled::Unknown))
    }

    fn facts(&self) -> BTreeMap<String, String> {
        let (policy, namespace) = (connect::asking(), namespace(&self.params));
        self.pool
            .wait(facts::facts(&self.client, &policy, namespace))
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        if !self.counts_attempts() {
            return BTreeMap::new();
        }
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = opened.iter().map(|client| failed_attempts(client)).sum();
        BTreeMap::from([("failed_attempts".to_owned(), failed)])
    }

    fn statistics(&self) -> Option<Vec<Statistic>> {
        let client = Arc::clone(&self.client);
        let namespace = namespace(&self.params).to_owned();
        let told = async move {
            let policy = connect::asking_aside();
            statistics::told(&client, &policy, &namespace).await
        };
        self.aside.ask(self.pool.own(), told)
    }
}

/// Failed attempts of a client's requests, repeated or not. The client crate reports nothing more
/// specific.
fn failed_attempts(client: &Client) -> u64 {
    let nodes = client.metrics().nodes;
    nodes
        .values()
        .map(|node| node.counters.transaction_retry_count)
        .sum()
}

/// Connects, unless a name must not be sent to a server.
async fn connect(params: &Params) -> Result<Client, BoxError> {
    for (what, name) in [("namespace", namespace(params)), ("set", set(params))] {
        if !settings::is_name(name) {
            return Err(format!("the {what} {name:?} must be {}", settings::NAME).into());
        }
    }
    if [MARKERS, READY].contains(&set(params)) {
        return Err(format!("the set `{}` is tailmark's own; use another", set(params)).into());
    }
    connect::connect(&params.location, &params.settings).await
}

fn namespace(params: &Params) -> &str {
    params.settings.text("namespace").unwrap_or_default()
}

/// The set of the records.
fn set(params: &Params) -> &str {
    let table = &params.data.schema.table;
    params.settings.text("set").unwrap_or(table)
}

/// The set of the records with its namespace.
fn full_set(params: &Params) -> String {
    format!("{}.{}", namespace(params), set(params))
}

/// The state of a set without records and marker, and what would change it. A namespace is
/// configured on the server, and a set exists as long as it has records.
fn look_of_empty(params: &Params) -> ServerContents {
    let (namespace, set) = (namespace(params), set(params));
    ServerContents {
        name: format!("set {}", full_set(params)),
        marker: None,
        exists: false,
        id: None,
        is_empty: true,
        foreign: None,
        is_bare: false,
        // A set exists while it has a record.
        is_nothing: false,
        made_for: None,
        creates: vec![format!(
            "write the record `{READY}` to set {namespace}.{MARKERS}"
        )],
        marks: format!("write the record `{set}` to set {namespace}.{MARKERS}"),
        removes: Some(format!("truncate set {namespace}.{set}")),
    }
}

/// Looks at the server without changing it.
fn look(params: &Params) -> Result<ServerContents, Error> {
    let looked = || -> Result<ServerContents, BoxError> {
        let pool = RuntimePool::<Client>::new()?;
        let (namespace, policy) = (namespace(params), connect::asking());
        pool.wait(async {
            let client = connect(params).await?;
            facts::require(&client, &policy, namespace).await?;
            marker::prove_reads(&client, namespace).await?;
            let records = facts::records(&client, &policy, namespace, set(params)).await?;
            Ok(ServerContents {
                marker: marker::read(&client, namespace, set(params)).await?,
                exists: records > 0,
                is_empty: records == 0,
                ..look_of_empty(params)
            })
        })
    };
    looked().map_err(|source| Error::Open {
        driver: DRIVER.name,
        place: params.location.to_string(),
        source,
    })
}

/// Truncates the set and waits until it is empty, because the server removes records in the
/// background.
fn destroy(params: &Params) -> Result<(), Error> {
    let removed = || -> Result<(), BoxError> {
        let pool = RuntimePool::<Client>::new()?;
        let (namespace, set) = (namespace(params), set(params));
        let policy = connect::asking();
        pool.wait(async {
            let client = connect(params).await?;
            facts::truncate(&client, &policy, namespace, set).await?;
            let end = Instant::now() + TRUNCATION;
            while facts::records(&client, &policy, namespace, set).await? > 0 {
                if Instant::now() > end {
                    return Err("the set is still not empty long after it was truncated".into());
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Ok(())
        })
    };
    removed().map_err(|source| params.failed(&DRIVER, "remove the records of", source))
}
