//! The measured path: one client, whose requests are those of the client crate.
//!
//! The clients of a runtime share one connection per server, because the client crate's pipelining
//! works best that way: a request costs two thirds of the CPU time of one on its own connection.

use super::{
    DRIVER,
    failure::{failure, is_lost},
    identity::Identity,
    nodes::{Node, Nodes},
    place::{INDEX, java_hash},
    settings::is_raw,
};
use crate::{
    Cause, Completion, Failure, FieldVisitor, Fields, Key, Operation, Outcome, Params, Reply,
    Session, Values, error::BoxError, net::runtime_pool::pending,
};
use redis::{Cmd, Pipeline, RedisError, Value};
use std::{
    sync::{
        Arc, Mutex as StdMutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{runtime::Handle, sync::Mutex};

/// A refused or lost connection is reported no sooner than this. Otherwise requests to a server
/// that is down would spin as fast as the processor can.
const REFUSED: Duration = Duration::from_millis(10);

/// State shared by all clients of an open database.
pub(super) struct SharedState {
    /// The parameters of opening.
    pub params: Params,
    /// Its identity.
    pub identity: Identity,
    /// Why nothing more is sent, once something forbids it.
    pub ended: OnceLock<String>,
}

/// State shared by the clients of a runtime.
pub(super) struct Connected {
    opened: Arc<SharedState>,
    nodes: StdMutex<Arc<Nodes>>,
    one_connects: Mutex<()>,
    /// The number of failed attempts to reconnect. One serves all requests that wait for it.
    failed: AtomicU64,
}

impl Connected {
    /// Connects, if the servers hold the opened data set.
    pub async fn new(opened: &Arc<SharedState>) -> Result<Self, BoxError> {
        Ok(Self {
            nodes: StdMutex::new(Arc::new(opened.connect().await?)),
            opened: Arc::clone(opened),
            one_connects: Mutex::default(),
            failed: AtomicU64::default(),
        })
    }

    fn nodes(&self) -> Arc<Nodes> {
        Arc::clone(&self.nodes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reconnects after a lost connection. One client does so while the others wait.
    #[cold]
    async fn again(&self) -> Result<Arc<Nodes>, Failure> {
        let failed = self.failed.load(Ordering::Relaxed);
        let _one = self.one_connects.lock().await;
        let nodes = self.nodes();
        if !nodes.is_lost.load(Ordering::Relaxed) {
            return Ok(nodes);
        }
        let unknown = |message: String| Failure {
            cause: Cause::Connection,
            message,
        };
        if self.failed.load(Ordering::Relaxed) != failed {
            return Err(unknown("the server has not come back".to_owned()));
        }
        match self.opened.connect().await {
            Ok(new) => {
                let new = Arc::new(new);
                *self.nodes.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&new);
                Ok(new)
            }
            Err(error) => {
                self.failed.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(REFUSED).await;
                Err(unknown(error.to_string()))
            }
        }
    }
}

impl SharedState {
    /// Connects to the servers, if they hold the opened data.
    async fn connect(&self) -> Result<Nodes, BoxError> {
        let Params {
            location, settings, ..
        } = &self.params;
        let timeout = settings.integer("request_timeout_ms").unwrap_or(1);
        let nodes = Nodes::connect(location, settings, Duration::from_millis(timeout)).await?;
        self.identity.refuse_another(&nodes).await?;
        Ok(nodes)
    }
}

/// One client.
pub(super) struct RedisSession {
    connected: Arc<Connected>,
    nodes: Arc<Nodes>,
    /// Handles to the connections of `nodes`.
    own: Vec<Node>,
    is_raw: bool,
    /// The requests, whose buffers are reused.
    command: Cmd,
    pipeline: Pipeline,
    /// The runtime, if the client is not one of its tasks.
    outside: Option<Handle>,
}

impl RedisSession {
    pub fn new(connected: Arc<Connected>, outside: Option<Handle>) -> Self {
        let nodes = connected.nodes();
        Self {
            own: nodes.nodes.clone(),
            nodes,
            is_raw: is_raw(&connected.opened.params.settings),
            connected,
            command: Cmd::new(),
            pipeline: Pipeline::new(),
            outside,
        }
    }

    /// Whether a request may be sent. After a lost connection, only once the servers are known to
    /// hold the same data.
    async fn admit(&mut self) -> Result<(), Failure> {
        if self.nodes.is_lost.load(Ordering::Relaxed) {
            self.nodes = Box::pin(self.connected.again()).await?;
            self.own.clone_from(&self.nodes.nodes);
        }
        if let Some(why) = self.connected.opened.ended.get() {
            tokio::time::sleep(REFUSED).await;
            return Err(Failure {
                cause: Cause::Other,
                message: why.clone(),
            });
        }
        Ok(())
    }

    /// The failure for an error.
    #[cold]
    async fn failed(&self, error: RedisError) -> Failure {
        let failure = failure(&error);
        if is_lost(&error) {
            self.nodes.is_lost.store(true, Ordering::Relaxed);
            tokio::time::sleep(REFUSED).await;
        }
        failure
    }

    /// Sends `self.command` to a node.
    async fn send(&mut self, node: usize) -> Result<Value, Failure> {
        let answer = self.own[node]
            .connection
            .send_packed_command(&self.command)
            .await;
        match answer {
            Ok(Value::ServerError(error)) => Err(self.failed(error.into()).await),
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.failed(error).await),
        }
    }

    /// Sends the first `count` commands of `self.pipeline` to a node.
    async fn send_all(&mut self, node: usize, count: usize) -> Result<Vec<Value>, Failure> {
        let connection = &mut self.own[node].connection;
        let mut answers = match connection
            .send_packed_commands(&self.pipeline, 0, count)
            .await
        {
            Ok(answers) => answers,
            Err(error) => return Err(self.failed(error).await),
        };
        let is_refusal = |answer: &Value| matches!(answer, Value::ServerError(_));
        if let Some(at) = answers.iter().position(is_refusal)
            && let Value::ServerError(error) = answers.swap_remove(at)
        {
            return Err(self.failed(error.into()).await);
        }
        Ok(answers)
    }

    async fn read(&mut self, key: Key<'_>, fields: Fields, visit: &mut Visit<'_>) -> Reply {
        self.admit().await?;
        let node = self.nodes.node_of(key.name);
        self.command.clear();
        let names = &self.connected.opened.params.data.schema.fields;
        read_command(&mut self.command, self.is_raw, key.name, fields, names);
        let answer = self.send(node).await?;
        found(key.name.len(), answer, visit)
    }

    async fn write(&mut self, key: Key<'_>, values: Values<'_>, write: Write) -> Reply {
        self.admit().await?;
        let node = self.nodes.node_of(key.name);
        let index = self.nodes.node_of(INDEX.as_bytes());
        let names = &self.connected.opened.params.data.schema.fields;
        match write {
            Write::Update => {
                self.command.clear();
                write_command(&mut self.command, self.is_raw, key.name, values, names);
                self.send(node).await?;
            }
            Write::Insert if node == index => {
                // Together, index first: if the client dies in between, the index names the record.
                self.pipeline.clear();
                let score = java_hash(key.name);
                self.pipeline
                    .cmd("ZADD")
                    .arg(INDEX)
                    .arg(score)
                    .arg(key.name);
                let mut command = Cmd::with_capacity(2 + 2 * names.len(), values.bytes.len() + 256);
                write_command(&mut command, self.is_raw, key.name, values, names);
                self.pipeline.add_command(command);
                self.send_all(node, 2).await?;
            }
            Write::Insert => {
                self.command.clear();
                let score = java_hash(key.name);
                self.command.arg("ZADD").arg(INDEX).arg(score).arg(key.name);
                self.send(index).await?;
                self.command.clear();
                let fields = &self.connected.opened.params.data.schema.fields;
                write_command(&mut self.command, self.is_raw, key.name, values, fields);
                self.send(node).await?;
            }
        }
        Ok(Outcome {
            records: 1,
            bytes: (key.name.len() + values.bytes.len()) as u64,
        })
    }

    async fn delete(&mut self, key: Key<'_>) -> Reply {
        self.admit().await?;
        let node = self.nodes.node_of(key.name);
        self.command.clear();
        self.command.arg("DEL").arg(key.name);
        let deleted = self.send(node).await?;
        let index = self.nodes.node_of(INDEX.as_bytes());
        self.command.clear();
        self.command.arg("ZREM").arg(INDEX).arg(key.name);
        self.send(index).await?;
        Ok(Outcome {
            records: u32::from(deleted == Value::Int(1)),
            bytes: key.name.len() as u64,
        })
    }

    /// Asks the index for the keys, then each node for all of its records at once.
    async fn scan(&mut self, start: Key<'_>, records: u32, fields: Fields) -> Reply {
        self.admit().await?;
        self.command.clear();
        self.command
            .arg("ZRANGEBYSCORE")
            .arg(INDEX)
            .arg(java_hash(start.name))
            .arg("+inf")
            .arg("LIMIT")
            .arg(0)
            .arg(records);
        let answer = self.send(self.nodes.node_of(INDEX.as_bytes())).await?;
        let Value::Array(keys) = answer else {
            return Err(unexpected());
        };
        let keys: Vec<&[u8]> = keys.iter().filter_map(bytes).collect();
        let mut outcome = Outcome::default();
        for node in 0..self.own.len() {
            self.pipeline.clear();
            let is_own = |key: &&&[u8]| self.nodes.node_of(key) == node;
            let own: Vec<&[u8]> = keys.iter().filter(is_own).copied().collect();
            let names = &self.connected.opened.params.data.schema.fields;
            for key in &own {
                let mut command = Cmd::new();
                read_command(&mut command, self.is_raw, key, fields, names);
                self.pipeline.add_command(command);
            }
            if own.is_empty() {
                continue;
            }
            let answers = self.send_all(node, own.len()).await?;
            for (key, record) in own.iter().zip(answers) {
                let one = found(key.len(), record, &mut |_, _| {})?;
                outcome.records += one.records;
                outcome.bytes += one.bytes;
            }
        }
        Ok(outcome)
    }
}

/// Whether a write creates a record or changes one.
#[derive(Debug, Clone, Copy)]
enum Write {
    Insert,
    Update,
}

/// Receives each field of a record: its name, or `None` if the record is its value, and the value.
type Visit<'a> = dyn FnMut(Option<&[u8]>, &[u8]) + 'a;

fn read_command(command: &mut Cmd, is_raw: bool, key: &[u8], fields: Fields, names: &[String]) {
    match fields {
        _ if is_raw => command.arg("GET").arg(key),
        Fields::All => command.arg("HGETALL").arg(key),
        Fields::One(field) => command.arg("HGET").arg(key).arg(&*names[field as usize]),
    };
}

fn write_command(
    command: &mut Cmd,
    is_raw: bool,
    key: &[u8],
    values: Values<'_>,
    names: &[String],
) {
    if is_raw {
        command.arg("SET").arg(key).arg(values.bytes);
        return;
    }
    command.arg("HSET").arg(key);
    for (field, value) in values.iter() {
        command.arg(&*names[field as usize]).arg(value);
    }
}

/// The bytes of a value, if it has any.
fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        _ => None,
    }
}

/// The record of an answer.
fn found(key: usize, answer: Value, visit: &mut Visit<'_>) -> Reply {
    let mut outcome = Outcome {
        records: 1,
        bytes: key as u64,
    };
    match answer {
        Value::Nil => return Ok(Outcome::default()),
        Value::BulkString(value) => {
            outcome.bytes += value.len() as u64;
            visit(None, &value);
        }
        Value::Array(pairs) if pairs.is_empty() => return Ok(Outcome::default()),
        Value::Array(pairs) => {
            for pair in pairs.chunks_exact(2) {
                let (Some(name), Some(value)) = (bytes(&pair[0]), bytes(&pair[1])) else {
                    return Err(unexpected());
                };
                outcome.bytes += value.len() as u64;
                visit(Some(name), value);
            }
        }
        _ => return Err(unexpected()),
    }
    Ok(outcome)
}

#[cold]
fn unexpected() -> Failure {
    Failure {
        cause: Cause::Corruption,
        message: "the server's answer does not fit the request".to_owned(),
    }
}

impl Session for RedisSession {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        let outside = self.outside.clone();
        // Each kind has its own future: one for all would be as large as the largest, and moved.
        match operation {
            Operation::Read { key, fields } => {
                let read = async move { self.read(key, fields, &mut |_, _| {}).await };
                pending(read, outside)
            }
            Operation::Insert { key, values } => {
                pending(self.write(key, values, Write::Insert), outside)
            }
            Operation::Update { key, values } => {
                pending(self.write(key, values, Write::Update), outside)
            }
            Operation::Scan {
                start,
                records,
                fields,
            } => pending(self.scan(start, records, fields), outside),
            Operation::Delete { key } => pending(self.delete(key), outside),
            Operation::Special(_) => Completion::Ready(Err(Failure::unsupported(DRIVER.name))),
        }
    }

    fn read_verified<'a>(&'a mut self, key: Key<'a>, visit: FieldVisitor<'a>) -> Completion<'a> {
        let outside = self.outside.clone();
        let connected = Arc::clone(&self.connected);
        let read = async move {
            let names = &connected.opened.params.data.schema.fields;
            let mut named = |name: Option<&[u8]>, value: &[u8]| {
                let index = match name {
                    None => Some(0),
                    Some(name) => names.iter().position(|field| field.as_bytes() == name),
                };
                if let Some(index) = index {
                    visit(index as u32, value);
                }
            };
            self.read(key, Fields::All, &mut named).await
        };
        pending(read, outside)
    }
}
