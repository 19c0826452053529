//! Bare loops around the client crates: the least that does the same reads. Their clients are tasks
//! of as many runtime threads as those of tailmark are, and share a connection in the same way.

use crate::{
    DATABASE, KEYSPACE, Meter, NAMESPACE, RECORDS,
    support::measured::{stream, uniform_reads},
};
use aerospike::{Bins, ClientPolicy, Key, ReadPolicy, Value, policy::BasePolicy};
use scylla::{
    client::session_builder::SessionBuilder,
    deserialize::row::ColumnIterator,
    frame::types::Consistency,
    statement::{Statement, prepared::PreparedStatement},
};
use std::{
    hint::black_box,
    rc::Rc,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tailmark_driver::Operation;
use tailmark_workload::{Item, KeySpace};
use tokio::{runtime::Builder, task::LocalSet};

/// The clients of one runtime thread.
const CLIENTS: u32 = 16;

/// A client crate's client and how it reads a record.
pub trait Client: Sized + 'static {
    /// To one contact point.
    fn connect(hosts: &str) -> impl Future<Output = Self>;
    /// Reads every field.
    fn read(&self, key: &str) -> impl Future<Output = ()>;
}

/// Runs so many clients for a time; microseconds of processor time an operation.
pub fn run<C: Client>(hosts: &str, clients: u32, time: Duration) -> f64 {
    let processors = u32::try_from(tailmark_machine::cpus()).unwrap();
    let threads = clients.div_ceil(CLIENTS).min(processors);
    let gate = Barrier::new(threads as usize + 1);
    let (stop, operations) = (Arc::new(AtomicBool::new(false)), AtomicU64::new(0));
    let meter = Meter::start();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (gate, stop, operations) = (&gate, &stop, &operations);
            scope.spawn(move || {
                let runtime = Builder::new_current_thread().enable_all().build().unwrap();
                let done = LocalSet::new().block_on(&runtime, async {
                    let client = Rc::new(C::connect(hosts).await);
                    gate.wait();
                    let own = (thread..clients).step_by(threads as usize);
                    let tasks: Vec<_> = own
                        .map(|index| {
                            let task = reader(Rc::clone(&client), index, Arc::clone(stop));
                            tokio::task::spawn_local(task)
                        })
                        .collect();
                    let mut done = 0;
                    for task in tasks {
                        done += task.await.unwrap();
                    }
                    done
                });
                operations.fetch_add(done, Ordering::Relaxed);
            });
        }
        gate.wait();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
    });
    meter.per_operation(operations.into_inner())
}

/// One client; returns how many records it has read.
async fn reader<C: Client>(client: Rc<C>, index: u32, stop: Arc<AtomicBool>) -> u64 {
    let keys = Arc::new(KeySpace::new(RECORDS, RECORDS));
    let mut stream = stream(&uniform_reads(), RECORDS, index, &keys);
    let mut operations = 0;
    while !stop.load(Ordering::Relaxed) {
        let Item::One(Operation::Read { key, .. }) = stream.next_item() else {
            panic!("reads only");
        };
        client.read(std::str::from_utf8(key.name).unwrap()).await;
        operations += 1;
    }
    operations
}

/// `scylla`.
#[derive(Debug)]
pub struct Cassandra {
    session: scylla::client::session::Session,
    read: PreparedStatement,
}

impl Client for Cassandra {
    async fn connect(hosts: &str) -> Self {
        let session = SessionBuilder::new()
            .known_node(hosts)
            .build()
            .await
            .unwrap();
        let text = format!("SELECT * FROM {KEYSPACE}.usertable WHERE y_id = ?");
        let mut read = session.prepare(Statement::new(text)).await.unwrap();
        read.set_consistency(Consistency::Quorum);
        read.set_use_cached_result_metadata(true);
        Self { session, read }
    }

    async fn read(&self, key: &str) {
        let answer = self
            .session
            .execute_unpaged(&self.read, (key,))
            .await
            .unwrap();
        let answer = answer.into_rows_result().unwrap();
        let mut bytes = 0;
        for row in answer.rows::<ColumnIterator<'_, '_>>().unwrap() {
            for column in row.unwrap() {
                bytes += column
                    .unwrap()
                    .slice
                    .map_or(0, |value| value.as_slice().len());
            }
        }
        assert!(black_box(bytes) >= 4096, "every key is found");
    }
}

/// `aerospike`.
pub struct Aerospike {
    client: aerospike::Client,
    policy: ReadPolicy,
}

impl Client for Aerospike {
    async fn connect(hosts: &str) -> Self {
        let policy = ClientPolicy {
            max_conns_per_node: 1024,
            ..ClientPolicy::default()
        };
        let client = aerospike::Client::new(&policy, &hosts).await.unwrap();
        let base_policy = BasePolicy {
            total_timeout: 10_000,
            max_retries: 0,
            ..BasePolicy::default()
        };
        Self {
            client,
            policy: ReadPolicy { base_policy },
        }
    }

    async fn read(&self, key: &str) {
        let key = Key::new(NAMESPACE, "usertable", Value::String(key.to_owned())).unwrap();
        let record = self
            .client
            .get(&self.policy, &key, Bins::All)
            .await
            .unwrap();
        let length = |value: &Value| match value {
            Value::Blob(bytes) => bytes.len(),
            _ => 0,
        };
        let bytes: usize = record.bins.values().map(length).sum();
        assert!(black_box(bytes) >= 4096, "every key is found");
    }
}

/// `redis`.
#[derive(Debug)]
pub struct Redis {
    connection: redis::aio::MultiplexedConnection,
}

impl Client for Redis {
    async fn connect(hosts: &str) -> Self {
        let client = redis::Client::open(format!("redis://{hosts}/{DATABASE}")).unwrap();
        let config =
            redis::AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(10)));
        let connection = client.get_multiplexed_async_connection_with_config(&config);
        Self {
            connection: connection.await.unwrap(),
        }
    }

    async fn read(&self, key: &str) {
        let mut connection = self.connection.clone();
        let mut command = redis::cmd("HGETALL");
        let answer = connection.send_packed_command(command.arg(key)).await;
        let redis::Value::Array(pairs) = answer.unwrap() else {
            panic!("it is no record");
        };
        let length = |value: &redis::Value| match value {
            redis::Value::BulkString(bytes) => bytes.len(),
            _ => 0,
        };
        let bytes: usize = pairs.iter().skip(1).step_by(2).map(length).sum();
        assert!(black_box(bytes) >= 4096, "every key is found");
    }
}
