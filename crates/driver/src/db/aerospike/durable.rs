//! Waits until the devices of a cluster hold everything that its servers have acknowledged.
//!
//! A server acknowledges a write once it is in a block in memory. Full blocks are queued and
//! written. A block that is not full is queued after `flush-max-ms` at the latest. So everything
//! acknowledged now is on the devices once that time is over and each device has written as many
//! blocks as were queued then. If a server is killed earlier, it loses records.

use super::facts::{ask, is_of_device, words};
use crate::error::BoxError;
use aerospike::{AdminPolicy, Client};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// The default of `flush-max-ms`, for servers that do not report it.
const FLUSH_MAX: Duration = Duration::from_millis(1_000);
/// The longest time that is accepted from a server.
const FLUSH_LONGEST: Duration = Duration::from_secs(60);
/// How long queued blocks may take to be written.
const WRITTEN: Duration = Duration::from_secs(600);
/// The interval between questions to a server.
const POLL: Duration = Duration::from_millis(100);

/// The blocks of each device, by node and name.
type Devices = BTreeMap<(usize, String), Blocks>;

/// Blocks of one device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Blocks {
    /// Waiting to be written.
    queued: u64,
    /// Written since the server was started.
    written: u64,
}

/// Waits until the devices hold everything acknowledged before. Returns at once if nothing is on a
/// device, or if every write waits for its device.
pub(super) async fn wait(
    client: &Client,
    policy: &AdminPolicy,
    namespace: &str,
) -> Result<(), BoxError> {
    let question = format!("namespace/{namespace}");
    let answers = ask(client, policy, &question).await?;
    let Some(longest) = flush_max(&answers) else {
        return Ok(());
    };
    tokio::time::sleep(longest).await;
    let queued = devices(&ask(client, policy, &question).await?);
    let end = Instant::now() + WRITTEN;
    loop {
        let now = devices(&ask(client, policy, &question).await?);
        if are_written(&queued, &now) {
            return Ok(());
        }
        if Instant::now() >= end {
            return Err(
                "its devices have not finished writes that were queued ten minutes ago".into(),
            );
        }
        tokio::time::sleep(POLL).await;
    }
}

/// How long a block that is not full stays in memory. `None` if everything acknowledged is already
/// on a device, or if nothing is kept on one.
fn flush_max(answers: &[String]) -> Option<Duration> {
    let storage = |answer: &String| {
        let words: BTreeMap<String, String> = words(answer)
            .map(|(name, value)| {
                let own = name.strip_prefix("storage-engine.").unwrap_or(name);
                (own.to_owned(), value.to_owned())
            })
            .collect();
        let has_devices = words.keys().any(|name| is_of_device(name));
        let commits = words
            .get("commit-to-device")
            .is_some_and(|word| word == "true");
        (has_devices && !commits).then(|| {
            let given = words.get("flush-max-ms").and_then(|ms| ms.parse().ok());
            let given = given.map_or(FLUSH_MAX, Duration::from_millis);
            given.min(FLUSH_LONGEST)
        })
    };
    answers.iter().filter_map(storage).max()
}

fn devices(answers: &[String]) -> Devices {
    let mut devices = Devices::new();
    for (node, answer) in answers.iter().enumerate() {
        for (name, value) in words(answer) {
            let own = name.strip_prefix("storage-engine.").unwrap_or(name);
            let counter = own.split_once("].").filter(|_| is_of_device(own));
            let (Some((device, counter)), Ok(count)) = (counter, value.parse()) else {
                continue;
            };
            let blocks = devices.entry((node, device.to_owned())).or_default();
            match counter {
                "write_q" => blocks.queued = count,
                "writes" => blocks.written = count,
                _ => {}
            }
        }
    }
    devices
}

/// Whether each device has written as many blocks as were queued, or has none left. A device that
/// is gone is ignored, because requests to its node fail anyway.
fn are_written(queued: &Devices, now: &Devices) -> bool {
    queued.iter().all(|(device, before)| {
        let now = now.get(device).copied().unwrap_or_default();
        // A restarted server counts from 0.
        now.queued == 0 || now.written >= before.written.saturating_add(before.queued)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(queued: u64, written: u64, rest: &str) -> Vec<String> {
        vec![format!(
            "objects=7;storage-engine=device;storage-engine.file[0]=/a;{rest}\
             storage-engine.file[0].write_q={queued};storage-engine.file[0].writes={written};\
             storage-engine.file[0].defrag_q=9"
        )]
    }

    #[test]
    fn a_block_that_is_not_full_is_waited_for_as_long_as_the_server_says() {
        let longest = |rest: &str| flush_max(&told(0, 0, rest));
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(longest(""), ms(1_000));
        assert_eq!(longest("storage-engine.flush-max-ms=250;"), ms(250));
        assert_eq!(
            longest("storage-engine.flush-max-ms=99999999999;"),
            ms(60_000)
        );
        assert_eq!(longest("storage-engine.commit-to-device=true;"), None);
        assert_eq!(
            flush_max(&["objects=7;storage-engine=memory".to_owned()]),
            None
        );
        let mut nodes = told(0, 0, "storage-engine.flush-max-ms=250;");
        nodes.extend(told(0, 0, "storage-engine.flush-max-ms=400;"));
        assert_eq!(flush_max(&nodes), ms(400));
    }

    #[test]
    fn what_was_queued_is_written_when_as_many_blocks_are_whatever_came_after_it() {
        let at = |queued, written| devices(&told(queued, written, ""));
        assert!(!are_written(&at(5, 100), &at(5, 100)));
        assert!(!are_written(&at(5, 100), &at(9, 104)), "four of five");
        assert!(
            are_written(&at(5, 100), &at(9, 105)),
            "a load goes on meanwhile"
        );
        assert!(are_written(&at(5, 100), &at(0, 105)));
        assert!(are_written(&at(0, 100), &at(3, 100)), "nothing was queued");
        assert!(are_written(&at(5, 100), &at(0, 2)), "started anew");
    }
}
