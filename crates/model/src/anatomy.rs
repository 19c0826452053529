//! Why the slowest requests were slow: requests taken apart, and what their parts add up to.

use crate::Kind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The fewest requests of which a band is shown.
pub const BAND_REQUESTS_MIN: u64 = 100;

/// The quantiles at which bands begin, after the first one.
pub const BAND_QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

/// The name of the group of reads, writes and syncs of files.
pub const DEVICE_GROUP: &str = "device";
/// The name of the group of waits without a known reason.
pub const UNEXPLAINED_GROUP: &str = "unexplained";

/// What a point tells whose requests were taken apart.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Anatomy {
    /// The parts that any request has. All times of parts are in this order.
    pub parts: Vec<AnatomyPart>,
    /// Of each client, every Nth request was taken apart; this is N.
    pub every: u32,
    /// Successful operations per second meanwhile.
    pub ops_per_sec: f64,
    /// Those of the ordinary point, if there is one.
    pub ordinary_ops_per_sec: Option<f64>,
    /// By kind of request; a read-modify-write is one request.
    pub kinds: BTreeMap<Kind, AnatomyKind>,
}

/// A leaf of the tree of parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnatomyPart {
    /// The stable name.
    pub name: String,
    /// What it is a part of: `device`, `stall` and so on.
    pub group: String,
    /// A noun for sentences and pictures.
    pub title: String,
    /// What tells it.
    pub source: String,
}

/// The requests of one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnatomyKind {
    /// How many were taken apart.
    pub timed: u64,
    /// Slow requests among them that are not in `slowest`, because too many came at once.
    pub lost: u64,
    /// From the fastest to the slowest; those with too few requests are left out.
    pub bands: Vec<Band>,
    /// The slowest, slowest first.
    pub slowest: Vec<Request>,
    /// A uniform sample of all, in the order of their sending.
    pub sample: Vec<Request>,
}

/// All requests between two quantiles of response time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// The quantile above which they are, from 0 to 1.
    pub above: f64,
    /// The quantile up to which they are; 1 for the slowest.
    pub up_to: f64,
    /// How many were taken apart.
    pub requests: u64,
    /// The sum of each part, nanoseconds.
    pub ns: Vec<u64>,
}

/// A request that was taken apart. Instants are nanoseconds since the start of the measured part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// When it was due.
    pub due: u64,
    /// When it was sent.
    pub sent: u64,
    /// When it was done.
    pub done: u64,
    /// The number of its client.
    pub client: u32,
    /// The number of its key.
    pub key: u64,
    /// Its parts, nanoseconds.
    pub ns: Vec<u64>,
    /// Data, index and filter blocks that it read from files.
    pub blocks: [u32; 3],
    /// Blocks that it found in the block cache.
    pub cache_hits: u32,
}

impl Request {
    /// From due to done, nanoseconds.
    pub const fn response_ns(&self) -> u64 {
        self.done.saturating_sub(self.due)
    }

    /// The second of the measured part in which it was done.
    pub const fn interval(&self) -> u64 {
        self.done / 1_000_000_000
    }
}

impl Band {
    /// The time of all its requests, nanoseconds.
    pub fn total_ns(&self) -> u64 {
        self.ns.iter().fold(0, |sum, ns| sum.saturating_add(*ns))
    }

    /// The share of each part, largest first, with its place in the list of parts.
    pub fn shares(&self) -> Vec<(usize, f64)> {
        let total = self.total_ns().max(1) as f64;
        let shares = self.ns.iter().map(|ns| *ns as f64 / total);
        let mut shares: Vec<_> = shares.enumerate().collect();
        shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        shares
    }

    /// Whether it is of the slowest.
    pub fn is_slowest(&self) -> bool {
        self.up_to >= 1.0
    }
}

impl Anatomy {
    /// The share of a group of parts in a band, from 0 to 1.
    pub fn share(&self, band: &Band, group: &str) -> f64 {
        let own = self.parts.iter().zip(&band.ns);
        let own = own.filter(|(part, _)| part.group == group);
        let sum = own.fold(0_u64, |sum, (_, ns)| sum.saturating_add(*ns));
        sum as f64 / band.total_ns().max(1) as f64
    }

    /// Which fraction of the ordinary ops/s it kept; `None` if there is no ordinary point.
    pub fn kept(&self) -> Option<f64> {
        let ordinary = self.ordinary_ops_per_sec.filter(|ops| *ops > 0.0)?;
        Some(self.ops_per_sec / ordinary)
    }

    /// Whether each request and band has a time for each part. One from a file may not.
    pub fn is_whole(&self) -> bool {
        let count = self.parts.len();
        self.kinds.values().all(|kind| {
            let mut requests = kind.slowest.iter().chain(&kind.sample);
            kind.bands.iter().all(|band| band.ns.len() == count)
                && requests.all(|request| request.ns.len() == count)
        })
    }
}
