//! A mix that brings a device to its steady state: `prepare.steady`.

use super::roles::PREPARATION;
use crate::{
    Accept::{Choice, Count, Size, Time},
    Error, PlanKey,
    reader::TableReader,
    units,
};
use std::time::Duration;
use toml::Value;

/// What requests go to that bring a device to its steady state.
pub const STEADY_OVER: &[&str] = &["device", "filesystem"];
/// Requests have whole blocks of this many bytes.
const STEADY_BLOCK: u64 = 4096;

/// The keys of `steady`.
pub(super) const STEADY_KEYS: &[PlanKey] = &[
    PlanKey::new("steady", "over", PREPARATION, Choice(STEADY_OVER))
        .about("where to send requests; filesystem: a temporary file in it")
        .or("device"),
    PlanKey::new("steady", "fill", PREPARATION, Count(1, 95))
        .about("size of that file, percent of the free space")
        .or("90"),
    PlanKey::new("steady", "read", PREPARATION, Count(0, 100))
        .about("percent of reads; the rest are writes")
        .or("0"),
    PlanKey::new("steady", "block", PREPARATION, Size(4096, 16 << 20))
        .about("bytes per request, a multiple of 4 KiB")
        .or("4KiB"),
    PlanKey::new("steady", "depth", PREPARATION, Count(1, 1024))
        .about("requests in flight")
        .or("32"),
    PlanKey::new("steady", "round", PREPARATION, Time(1.0, 86_400.0))
        .about("length of a round; 25 rounds at most")
        .or("1m"),
];

/// A mix of requests that is sent in rounds until the device is steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steady {
    /// The part of the file system's room that a file fills, percent; none: over the device.
    pub fill: Option<u32>,
    /// Reads of a hundred requests.
    pub read: u32,
    /// Bytes of a request.
    pub block: u64,
    /// Requests in flight.
    pub depth: u32,
    /// How long a round lasts.
    pub round: Duration,
}

impl Steady {
    /// What the table `steady` of preparing says.
    pub(crate) fn read(prepare: &TableReader<'_>) -> Result<Option<Self>, Error> {
        let table = match prepare.given().get("steady") {
            None => return Ok(None),
            Some(Value::Table(table)) => table,
            Some(other) => return Err(prepare.refuse("steady", other)),
        };
        let keys = prepare.inline("steady", table, "steady")?;
        let over: String = keys.get("over")?;
        let is_device = over == "device";
        if let Some(fill) = table.get("fill").filter(|_| is_device) {
            return Err(Error::BadValue {
                key: keys.label("fill"),
                value: units::text(fill),
                accepted: "absent with over = \"device\", which is written whole".to_owned(),
            });
        }
        let block: u64 = keys.get("block")?;
        if !block.is_multiple_of(STEADY_BLOCK) {
            return Err(Error::BadValue {
                key: keys.label("block"),
                value: block.to_string(),
                accepted: format!("a multiple of {STEADY_BLOCK} bytes"),
            });
        }
        let fill: u32 = keys.get("fill")?;
        Ok(Some(Self {
            fill: (!is_device).then_some(fill),
            read: keys.get("read")?,
            block,
            depth: keys.get("depth")?,
            round: keys.get("round")?,
        }))
    }

    /// In one line: what the study keeps.
    pub(crate) fn text(&self) -> String {
        let over = match self.fill {
            Some(fill) => format!("filesystem, fill = {fill}"),
            None => "device".to_owned(),
        };
        format!(
            "over = {over}, read = {}, block = {}, depth = {}, round = {}",
            self.read,
            self.block,
            self.depth,
            humantime::format_duration(self.round)
        )
    }
}
