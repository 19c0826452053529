//! Records that tailmark writes beside the data: in the set `tailmark` of the same namespace, a
//! marker for each set that it created, and a record that shows whether the server is ready.

use super::connect::{reading, writing};
use crate::error::BoxError;
use aerospike::{
    Bin, Bins, Client, GenerationPolicy, Key, RecordExistsAction, ResultCode, Value, WritePolicy,
};

/// The set of markers, in the same namespace as the data.
pub(super) const MARKERS: &str = "tailmark";
/// The record that is written and read to check that the server serves its partitions. It accepts
/// connections long before that.
pub(super) const READY: &str = "ready";
/// The only bin of each record.
const MARKER: &str = "marker";

/// A record of tailmark's, as it was read.
struct MarkerRecord {
    value: Value,
    generation: u32,
}

impl MarkerRecord {
    /// The policy that writes or removes a record only as it was found, or creates it only if it is
    /// missing.
    fn policy(found: Option<&Self>) -> WritePolicy {
        match found {
            None => WritePolicy {
                record_exists_action: RecordExistsAction::CreateOnly,
                ..writing()
            },
            Some(found) => WritePolicy {
                generation_policy: GenerationPolicy::ExpectGenEqual,
                generation: found.generation,
                ..writing()
            },
        }
    }
}

/// The marker of a set.
pub(super) async fn read(
    client: &Client,
    namespace: &str,
    set: &str,
) -> Result<Option<String>, BoxError> {
    let record = find(client, namespace, set).await?;
    let text = |found: MarkerRecord| match found.value {
        Value::String(text) => Ok(text),
        _ => Err(foreign(namespace, set)),
    };
    record.map(text).transpose()
}

/// Writes the marker of a set, unless another program did so in the meantime.
pub(super) async fn write(
    client: &Client,
    namespace: &str,
    set: &str,
    text: &str,
) -> Result<(), BoxError> {
    let policy = MarkerRecord::policy(find(client, namespace, set).await?.as_ref());
    let bins = [Bin::new(MARKER, Value::String(text.to_owned()))];
    client.put(&policy, &key(namespace, set)?, &bins).await?;
    Ok(())
}

/// Removes the marker of a set, and the record of [`prove`].
pub(super) async fn remove(client: &Client, namespace: &str, set: &str) -> Result<(), BoxError> {
    for name in [READY, set] {
        if let Some(found) = find(client, namespace, name).await? {
            let policy = MarkerRecord::policy(Some(&found));
            client.delete(&policy, &key(namespace, name)?).await?;
        }
    }
    Ok(())
}

/// Reads the record that [`prove`] writes; it may be missing.
pub(super) async fn prove_reads(client: &Client, namespace: &str) -> Result<(), BoxError> {
    find(client, namespace, READY).await.map(|_| ())
}

/// Writes a record beside the markers and reads it back.
pub(super) async fn prove(client: &Client, namespace: &str) -> Result<(), BoxError> {
    let policy = MarkerRecord::policy(find(client, namespace, READY).await?.as_ref());
    let bins = [Bin::new(MARKER, Value::Int(1))];
    let written = client.put(&policy, &key(namespace, READY)?, &bins).await;
    // Another run may prove the same thing.
    let is_late = |code| {
        matches!(
            code,
            ResultCode::KeyExistsError | ResultCode::GenerationError
        )
    };
    if let Err(error) = written
        && !error.server_result_code().is_some_and(is_late)
    {
        return Err(error.into());
    }
    match find(client, namespace, READY).await? {
        Some(MarkerRecord {
            value: Value::Int(1),
            ..
        }) => Ok(()),
        _ => Err("a record could not be read back after it was written".into()),
    }
}

/// A record of the set of markers. A record with unexpected content is an error.
async fn find(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<MarkerRecord>, BoxError> {
    let record = match client
        .get(&reading(), &key(namespace, name)?, Bins::All)
        .await
    {
        Ok(record) => record,
        Err(error) if error.server_result_code() == Some(ResultCode::KeyNotFoundError) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let generation = record.generation;
    let mut bins = record.bins.into_iter();
    match (bins.next(), bins.next()) {
        (Some((bin, value)), None) if bin == MARKER && is_own(name, &value) => {
            Ok(Some(MarkerRecord { value, generation }))
        }
        _ => Err(foreign(namespace, name)),
    }
}

fn is_own(name: &str, value: &Value) -> bool {
    match value {
        Value::Int(1) => name == READY,
        Value::String(_) => name != READY,
        _ => false,
    }
}

fn foreign(namespace: &str, name: &str) -> BoxError {
    format!(
        "another program wrote the record `{name}` of the set {namespace}.{MARKERS}, in which \
         tailmark keeps its markers; use another namespace"
    )
    .into()
}

fn key(namespace: &str, name: &str) -> Result<Key, BoxError> {
    Ok(Key::new(
        namespace,
        MARKERS,
        Value::String(name.to_owned()),
    )?)
}
