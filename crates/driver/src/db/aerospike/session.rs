//! The measured path: one client, whose requests are those of the client crate.

use super::{
    connect::milliseconds,
    failure::failure,
    settings::{creates, replaces},
};
use crate::{
    Cause, Completion, Failure, FieldVisitor, Fields, Key, Operation, Outcome, Reply, Session,
    Settings, Values, net::runtime_pool::pending,
};
use aerospike::{
    Bin, Bins, Client, CommitLevel, Error, Key as RecordKey, ReadPolicy, RecordExistsAction,
    ResultCode, Value, WritePolicy, policy::BasePolicy,
};
use std::{sync::Arc, time::Duration};
use tokio::runtime::Handle;

/// A refused or lost connection is reported no sooner than this. Otherwise requests to a server
/// that is down would spin as fast as the processor can.
const REFUSED: Duration = Duration::from_millis(10);

/// The policies and place of each kind of request.
#[derive(Debug)]
pub(super) struct Requests {
    namespace: String,
    set: String,
    /// The names of the bins, which are the fields.
    fields: Vec<String>,
    read: ReadPolicy,
    insert: WritePolicy,
    update: WritePolicy,
    delete: WritePolicy,
}

impl Requests {
    /// Policies according to the settings.
    pub fn new(settings: &Settings, set: &str, fields: &[String]) -> Self {
        let timeout = milliseconds(settings, "request_timeout_ms");
        let base_policy = BasePolicy {
            total_timeout: timeout,
            socket_timeout: timeout,
            max_retries: settings.integer("retries").unwrap_or(0),
            ..BasePolicy::default()
        };
        let write = |record_exists_action| WritePolicy {
            base_policy: base_policy.clone(),
            record_exists_action,
            commit_level: match settings.text("commit_level") {
                Some("master") => CommitLevel::CommitMaster,
                _ => CommitLevel::CommitAll,
            },
            send_key: settings.flag("send_key"),
            ..WritePolicy::default()
        };
        Self {
            namespace: settings.text("namespace").unwrap_or_default().to_owned(),
            set: set.to_owned(),
            fields: fields.to_vec(),
            insert: write(if creates(settings) {
                RecordExistsAction::CreateOnly
            } else {
                RecordExistsAction::Replace
            }),
            delete: write(RecordExistsAction::Replace),
            update: write(if replaces(settings) {
                RecordExistsAction::ReplaceOnly
            } else {
                RecordExistsAction::UpdateOnly
            }),
            read: ReadPolicy { base_policy },
        }
    }

    fn key(&self, key: Key<'_>) -> Result<RecordKey, Failure> {
        let name = Value::String(String::from_utf8_lossy(key.name).into_owned());
        RecordKey::new(self.namespace.as_str(), self.set.as_str(), name)
            .map_err(|error| failure(&error))
    }
}

/// One client.
pub(super) struct AerospikeSession {
    /// The client crate's client for its runtime.
    pub client: Arc<Client>,
    /// How requests are made.
    pub requests: Arc<Requests>,
    /// The bins of a write. Their names and buffers are reused.
    pub bins: Vec<Bin>,
    /// The runtime, if the client is not one of its tasks.
    pub outside: Option<Handle>,
}

impl AerospikeSession {
    /// Passes the name and value of each bin of the record to `visit`.
    async fn read(
        &self,
        key: Key<'_>,
        fields: Fields,
        mut visit: impl FnMut(&str, &[u8]),
    ) -> Reply {
        let requests = &*self.requests;
        let bins = match fields {
            Fields::All => Bins::All,
            Fields::One(field) => Bins::Some(vec![requests.fields[field as usize].clone()]),
        };
        let record = match self
            .client
            .get(&requests.read, &requests.key(key)?, bins)
            .await
        {
            Ok(record) => record,
            Err(error) => return answer(&error).await,
        };
        let mut bytes = key.name.len();
        for (name, value) in &record.bins {
            let value = match value {
                Value::Blob(blob) => blob,
                Value::String(text) => text.as_bytes(),
                _ => &[],
            };
            bytes += value.len();
            visit(name, value);
        }
        Ok(Outcome {
            records: 1,
            bytes: bytes as u64,
        })
    }

    async fn write(&mut self, key: Key<'_>, values: Values<'_>, write: Write) -> Reply {
        // Shared by all clients: their count of holders is not touched for each request.
        let Self {
            client,
            requests,
            bins,
            ..
        } = self;
        bins.truncate(values.lengths.len());
        for (at, (field, value)) in values.iter().enumerate() {
            let name = &requests.fields[field as usize];
            match bins.get_mut(at) {
                Some(Bin {
                    name: bin,
                    value: Value::Blob(bytes),
                }) => {
                    name.clone_into(bin);
                    bytes.clear();
                    bytes.extend_from_slice(value);
                }
                _ => bins.push(Bin::new(name.as_str(), Value::Blob(value.to_vec()))),
            }
        }
        let policy = match write {
            Write::Insert => &requests.insert,
            Write::Update => &requests.update,
        };
        match client.put(policy, &requests.key(key)?, bins).await {
            Ok(()) => Ok(Outcome {
                records: 1,
                bytes: (key.name.len() + values.bytes.len()) as u64,
            }),
            Err(error) => answer(&error).await,
        }
    }

    async fn delete(&self, key: Key<'_>) -> Reply {
        let requests = &*self.requests;
        match self
            .client
            .delete(&requests.delete, &requests.key(key)?)
            .await
        {
            Ok(existed) => Ok(Outcome {
                records: u32::from(existed),
                bytes: key.name.len() as u64,
            }),
            Err(error) => answer(&error).await,
        }
    }
}

/// Whether a write creates a record or changes one.
#[derive(Debug, Clone, Copy)]
enum Write {
    Insert,
    Update,
}

/// The reply for an error. A missing record is an answer, not a failure.
async fn answer(error: &Error) -> Reply {
    if error.server_result_code() == Some(ResultCode::KeyNotFoundError) {
        return Ok(Outcome::default());
    }
    let failure = failure(error);
    if failure.cause == Cause::Connection {
        tokio::time::sleep(REFUSED).await;
    }
    Err(failure)
}

impl Session for AerospikeSession {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        let outside = self.outside.clone();
        // Each kind has its own future: one for all would be as large as the largest, and moved.
        match operation {
            Operation::Read { key, fields } => pending(self.read(key, fields, |_, _| {}), outside),
            Operation::Insert { key, values } => {
                pending(self.write(key, values, Write::Insert), outside)
            }
            Operation::Update { key, values } => {
                pending(self.write(key, values, Write::Update), outside)
            }
            Operation::Delete { key } => pending(self.delete(key), outside),
            Operation::Scan { .. } | Operation::Special(_) => {
                Completion::Ready(Err(Failure::unsupported(super::DRIVER.name)))
            }
        }
    }

    fn read_verified<'a>(&'a mut self, key: Key<'a>, visit: FieldVisitor<'a>) -> Completion<'a> {
        let outside = self.outside.clone();
        let this: &'a Self = self;
        let fields = &this.requests.fields;
        let named = move |name: &str, value: &[u8]| {
            if let Some(index) = fields.iter().position(|field| field == name) {
                visit(index as u32, value);
            }
        };
        pending(this.read(key, Fields::All, named), outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSet, Schema, Semantics};
    use std::collections::BTreeMap;

    fn requests(given: &[(&str, &str)]) -> (Requests, Option<Semantics>) {
        let given = given.iter().map(|&(k, v)| (k.to_owned(), v.to_owned()));
        let schema = Schema {
            table: "usertable".to_owned(),
            fields: vec!["field0".to_owned()],
        };
        let data = DataSet {
            schema,
            records: 1,
            field_length: 1,
        };
        let driver = &super::super::DRIVER;
        let given: BTreeMap<_, _> = given.collect();
        let settings = Settings::check(driver, &given, &data, 1.0).unwrap();
        let requests = Requests::new(&settings, "usertable", &data.schema.fields);
        assert!(matches!(
            requests.delete.record_exists_action,
            RecordExistsAction::Replace
        ));
        (requests, (driver.semantics)(&settings))
    }

    /// The request to the server, and whose semantics it has.
    fn update(given: &[(&str, &str)]) -> (RecordExistsAction, Option<Semantics>) {
        let (requests, semantics) = requests(given);
        (requests.update.record_exists_action, semantics)
    }

    #[test]
    fn an_insert_of_a_key_that_is_there_replaces_the_record_or_fails() {
        use RecordExistsAction::{CreateOnly, Replace};
        let insert = |given: &[(&str, &str)]| requests(given).0.insert.record_exists_action;
        assert!(matches!(insert(&[]), Replace));
        assert!(matches!(insert(&[("insert", "replace")]), Replace));
        assert!(matches!(insert(&[("insert", "create")]), CreateOnly));
    }

    #[test]
    fn an_update_merges_or_replaces_and_makes_no_record() {
        use RecordExistsAction::{ReplaceOnly, UpdateOnly};
        let correct = Some(Semantics::Correct);
        assert!(matches!(update(&[]), (UpdateOnly, s) if s == correct));
        assert!(matches!(update(&[("update", "merge")]), (UpdateOnly, s) if s == correct));
        let faithful = Some(Semantics::Faithful);
        assert!(matches!(update(&[("update", "replace")]), (ReplaceOnly, s) if s == faithful));
    }
}
